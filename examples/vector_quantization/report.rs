//! The printed report.

use crate::common::picture::Picture;
use crate::common::report::{grouped, milliseconds};
use std::io::IsTerminal;
use std::time::Duration;

/// Most colours that are printed.
const SHOWN: usize = 32;

/// How long an assignment of pixels took.
pub struct Measured {
    pub name: &'static str,
    pub time: Duration,
    pub pixels: usize,
    /// Most bytes in use during the call beyond those before it, if they were counted.
    pub temporaries: Option<usize>,
}

pub fn compile_times(times: &[(&str, Duration)]) {
    let total: Duration = times.iter().map(|(_, time)| *time).sum();
    println!(
        "compiled {} kernels in {:.2} ms, for any number of pixels and colours:",
        times.len(),
        milliseconds(total)
    );
    for (name, time) in times {
        println!("  {name:20} {:6.2} ms", milliseconds(*time));
    }
}

pub fn measured(rows: &[Measured]) {
    println!("  {:24} {:>10} {:>15} {:>20}", "", "ms", "pixels/s", "bytes of temporaries");
    for row in rows {
        let rate = row.pixels as f64 / row.time.as_secs_f64().max(1e-9);
        let temporaries = row.temporaries.map_or("not counted".to_string(), grouped);
        let part = match rows.iter().map(|row| row.pixels).max() {
            Some(all) if row.pixels < all => format!("   stopped after {} pixels", grouped(row.pixels)),
            _ => String::new(),
        };
        let milliseconds = milliseconds(row.time);
        println!(
            "  {:24} {milliseconds:>10.2} {:>15} {temporaries:>20}{part}",
            row.name,
            grouped(rate as usize)
        );
    }
}

/// Prints the colours that occur, most frequent first, and returns them.
pub fn palette(colors: &[u8], code: &[i64]) -> Vec<[u8; 3]> {
    let (colors, _) = colors.as_chunks::<3>();
    let mut counts = vec![0usize; colors.len()];
    for &code in code {
        counts[code as usize] += 1;
    }
    let mut used: Vec<([u8; 3], usize)> =
        colors.iter().copied().zip(counts).filter(|(_, count)| *count > 0).collect();
    used.sort_by_key(|(color, count)| (std::cmp::Reverse(*count), *color));

    println!("palette ({} in use)", used.len());
    let is_colored = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    for ([r, g, b], count) in used.iter().take(SHOWN) {
        let swatch = if is_colored { format!("\x1b[48;2;{r};{g};{b}m    \x1b[0m ") } else { String::new() };
        let share = *count as f64 / code.len() as f64 * 100.0;
        println!("  {swatch}#{r:02x}{g:02x}{b:02x} {share:5.1} %");
    }
    if used.len() > SHOWN {
        println!("  and {} more", used.len() - SHOWN);
    }
    used.into_iter().map(|(color, _)| color).collect()
}

/// Squares of the colours, in rows of at most sixteen.
pub fn swatches(colors: &[[u8; 3]]) -> Picture {
    const SIDE: usize = 48;
    let columns = colors.len().clamp(1, 16);
    let mut picture = Picture::new(columns * SIDE, colors.len().div_ceil(columns) * SIDE, [255; 3]);
    for (index, color) in colors.iter().enumerate() {
        picture.fill((index % columns * SIDE, index / columns * SIDE), (SIDE, SIDE), *color);
    }
    picture
}
