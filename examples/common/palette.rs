//! Colours for numbers.

/// Colours in a row, `u8[count, 3]`, that go evenly from each stop to the next.
pub fn ramp(stops: &[[u8; 3]], count: usize) -> Vec<u8> {
    let color = |index: usize| {
        let place = index as f32 / (count.max(2) - 1) as f32 * (stops.len() - 1) as f32;
        let first = (place as usize).min(stops.len() - 2);
        let part = place - first as f32;
        let mix = |c: usize| {
            let (a, b) = (f32::from(stops[first][c]), f32::from(stops[first + 1][c]));
            (a + (b - a) * part).round() as u8
        };
        std::array::from_fn::<u8, 3, _>(mix)
    };
    (0..count).flat_map(color).collect()
}

/// From little to much: dark violet, red, orange, pale yellow.
pub const HEAT: [[u8; 3]; 6] =
    [[8, 6, 28], [74, 16, 94], [156, 38, 104], [222, 82, 70], [250, 158, 50], [252, 248, 190]];

/// From less to more than the middle: blue, white, red.
pub const BLUE_WHITE_RED: [[u8; 3]; 5] =
    [[22, 62, 128], [96, 156, 206], [246, 246, 244], [230, 128, 100], [146, 20, 42]];

/// The same, for points to stand out from.
pub const PALE_BLUE_WHITE_RED: [[u8; 3]; 5] =
    [[134, 174, 218], [196, 215, 236], [250, 250, 248], [244, 206, 190], [232, 146, 126]];
