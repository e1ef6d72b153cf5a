//! Dots and lines with smooth edges. Places are in pixels, from the top left corner.

use super::picture::Picture;

impl Picture {
    /// Draws a disc.
    pub fn dot(&mut self, place: [f32; 2], radius: f32, color: [u8; 3]) {
        self.segment([place, place], radius, color);
    }

    /// Draws lines from each place to the next.
    pub fn stroke(&mut self, places: &[[f32; 2]], width: f32, color: [u8; 3]) {
        for pair in places.windows(2) {
            self.segment([pair[0], pair[1]], width / 2.0, color);
        }
    }

    /// Colours the pixels within a distance of a line; those on the edge in part.
    fn segment(&mut self, [from, to]: [[f32; 2]; 2], radius: f32, color: [u8; 3]) {
        let [along_x, along_y] = [to[0] - from[0], to[1] - from[1]];
        let square = along_x * along_x + along_y * along_y;
        let reach = |axis: usize, end: usize| {
            let (low, high) = (from[axis].min(to[axis]), from[axis].max(to[axis]));
            // A negative number becomes 0.
            ((low - radius - 1.0) as usize).min(end)..((high + radius + 2.0) as usize).min(end)
        };
        for y in reach(1, self.height) {
            for x in reach(0, self.width) {
                let [dx, dy] = [x as f32 + 0.5 - from[0], y as f32 + 0.5 - from[1]];
                let part = if square > 0.0 { (dx * along_x + dy * along_y) / square } else { 0.0 };
                let part = part.clamp(0.0, 1.0);
                let distance = (dx - part * along_x).hypot(dy - part * along_y);
                let cover = (radius + 0.5 - distance).clamp(0.0, 1.0);
                let start = (y * self.width + x) * 3;
                for (old, new) in self.pixels[start..start + 3].iter_mut().zip(color) {
                    *old = (f32::from(*old) + (f32::from(new) - f32::from(*old)) * cover).round() as u8;
                }
            }
        }
    }
}

/// The place of a point of the plane, which goes from -1 to 1, in a picture of so many pixels along a side.
pub fn place_of([x, y]: [f32; 2], side: usize) -> [f32; 2] {
    [x, y].map(|coordinate| (coordinate + 1.0) * 0.5 * side as f32)
}
