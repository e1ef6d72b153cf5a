//! A scene to work on when no picture is given: balloons over a lake at dusk.

use super::picture::Picture;

type Color = [f32; 3];

const WIDTH: usize = 960;
const HEIGHT: usize = 640;
/// The start of the lake from the top, as a fraction of the height.
const SHORE: f32 = 0.70;

/// Draws the scene.
pub fn draw() -> Picture {
    let mut pixels = Vec::with_capacity(WIDTH * HEIGHT * 3);
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            // Four points of each pixel, for smooth edges.
            let mut sum = [0.0; 3];
            for (dx, dy) in [(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)] {
                // The height is 1; so is the unit of both axes.
                let color = color((x as f32 + dx) / HEIGHT as f32, (y as f32 + dy) / HEIGHT as f32);
                sum = std::array::from_fn(|c| sum[c] + color[c]);
            }
            pixels.extend(sum.map(|value| (value * 0.25 * 255.0).round().clamp(0.0, 255.0) as u8));
        }
    }
    Picture { width: WIDTH, height: HEIGHT, pixels }
}

fn color(x: f32, y: f32) -> Color {
    if y < SHORE {
        return above(x, y);
    }
    // The lake shows what is above it, shaken by waves that grow towards us, and darker.
    let depth = (y - SHORE) / (1.0 - SHORE);
    let swell = |waves: f32, slant: f32| (y * waves / (0.3 + depth) + (x * slant).sin() * 2.0).sin();
    let wave = 0.6 * swell(230.0, 7.0) + 0.4 * swell(410.0, -13.0);
    let mirrored = above(x + wave * 0.012 * (0.2 + depth), SHORE - (y - SHORE) * 1.5 + wave * 0.01);
    let tint = mix([0.10, 0.20, 0.42], [0.03, 0.10, 0.20], depth);
    mix(mirrored, tint, 0.35 + 0.30 * depth)
}

/// Sky, mountains and balloons.
fn above(x: f32, y: f32) -> Color {
    let mut color = sky(x, y);
    for (height, roughness, shade) in
        [(0.50, 1.0, [0.45, 0.33, 0.55]), (0.58, 1.7, [0.28, 0.24, 0.44]), (0.645, 2.6, [0.10, 0.22, 0.24])]
    {
        if y > ridge(x, height, roughness) {
            // Haze lies in the valleys.
            color = mix(shade, [0.95, 0.62, 0.47], 0.45 * smooth((y - height) / 0.22));
        }
    }
    for balloon in &BALLOONS {
        if let Some(shown) = balloon.color(x, y) {
            color = shown;
        }
    }
    color
}

fn sky(x: f32, y: f32) -> Color {
    const BANDS: [(f32, Color); 5] = [
        (0.00, [0.10, 0.12, 0.36]),
        (0.22, [0.33, 0.25, 0.58]),
        (0.42, [0.87, 0.42, 0.48]),
        (0.56, [0.98, 0.66, 0.36]),
        (0.70, [1.00, 0.86, 0.56]),
    ];
    let mut color = BANDS[0].1;
    for pair in BANDS.windows(2) {
        let ((start, above), (end, below)) = (pair[0], pair[1]);
        if y >= start {
            color = mix(above, below, smooth((y - start) / (end - start)));
        }
    }
    let sun = distance(x, y, 1.02, 0.50);
    color = mix(color, [1.0, 0.93, 0.62], (0.75 * (-sun * 7.0).exp()).min(1.0));
    if sun < 0.055 { [1.0, 0.97, 0.80] } else { color }
}

/// The line of a chain of mountains.
fn ridge(x: f32, height: f32, roughness: f32) -> f32 {
    let waves = [(2.1, 0.040, 0.3), (5.3, 0.022, 1.9), (11.7, 0.011, 4.1), (29.0, 0.004, 0.7)];
    let rise = waves.iter().map(|(frequency, size, phase)| {
        size * (x * frequency * roughness.sqrt() + phase + roughness * 2.0).sin()
    });
    height - rise.sum::<f32>()
}

struct Balloon {
    x: f32,
    y: f32,
    radius: f32,
    stripes: [Color; 3],
}

const BALLOONS: [Balloon; 4] = [
    Balloon {
        x: 0.34,
        y: 0.25,
        radius: 0.135,
        stripes: [[0.86, 0.12, 0.16], [0.99, 0.80, 0.15], [0.95, 0.93, 0.88]],
    },
    Balloon {
        x: 0.80,
        y: 0.17,
        radius: 0.085,
        stripes: [[0.05, 0.55, 0.55], [0.93, 0.96, 0.93], [0.05, 0.55, 0.55]],
    },
    Balloon {
        x: 1.27,
        y: 0.30,
        radius: 0.105,
        stripes: [[0.20, 0.55, 0.18], [0.98, 0.55, 0.10], [0.30, 0.16, 0.50]],
    },
    Balloon {
        x: 0.63,
        y: 0.43,
        radius: 0.04,
        stripes: [[0.15, 0.30, 0.75], [0.95, 0.45, 0.60], [0.15, 0.30, 0.75]],
    },
];

impl Balloon {
    /// The part of the balloon that is visible at a point.
    fn color(&self, x: f32, y: f32) -> Option<Color> {
        let (u, v) = ((x - self.x) / self.radius, (y - self.y) / self.radius);
        // A circle that narrows to the mouth below.
        let half_width = if v < 0.35 { (1.0 - v * v).max(0.0).sqrt() } else { 0.937 - (v - 0.35) * 0.85 };
        if (-1.0..1.25).contains(&v) && u.abs() < half_width {
            // Stripes run around a ball: equal angles, not equal widths.
            let angle = (u / half_width).clamp(-1.0, 1.0).asin() / std::f32::consts::PI + 0.5;
            let stripe = self.stripes[(angle * 9.0) as usize % 3];
            let light = 0.62 + 0.38 * (1.0 - distance(u, v, 0.45, -0.1) / 1.6).max(0.0);
            return Some(stripe.map(|value| value * light));
        }
        let is_rope = (1.25..1.5).contains(&v) && (u.abs() - 0.15).abs() < 0.02;
        let is_basket = (1.5..1.72).contains(&v) && u.abs() < 0.18;
        (is_rope || is_basket).then_some([0.30, 0.17, 0.10])
    }
}

fn distance(x: f32, y: f32, to_x: f32, to_y: f32) -> f32 {
    (x - to_x).hypot(y - to_y)
}

fn mix(a: Color, b: Color, part: f32) -> Color {
    std::array::from_fn(|c| a[c] + (b[c] - a[c]) * part)
}

/// 0 below 0, 1 above 1, and a smooth step between.
fn smooth(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
