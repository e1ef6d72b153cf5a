//! Correlations as colours.

use crate::common::letters;
use crate::common::palette::{self, BLUE_WHITE_RED};
use crate::common::picture::Picture;

const CELL: usize = 104;
const GAP: usize = 2;
/// Room for the names at the left, and above.
const LEFT: usize = 116;
const TOP: usize = 44;
const SCALE: usize = 2;
/// The number of letters of a name that fit.
const LONGEST: usize = 8;
/// Most columns that are drawn.
const MOST: usize = 24;

const INK: [u8; 3] = [40; 3];
/// The colour of NaN: the correlation with a constant column.
const NOTHING: [u8; 3] = [200; 3];

/// A square for every two columns: blue where one falls as the other rises, red where both rise.
pub fn draw(names: &[String], correlation: &[f64]) -> Picture {
    let colors = palette::ramp(&BLUE_WHITE_RED, 256);
    let (colors, _) = colors.as_chunks::<3>();
    let shown = names.len().min(MOST);
    let mut picture = Picture::new(LEFT + shown * CELL + 2 * GAP, TOP + shown * CELL + 2 * GAP, [255; 3]);
    for (row, name) in names.iter().take(shown).enumerate() {
        let name: String = name.chars().take(LONGEST).collect();
        let wide = letters::width(&name) * SCALE;
        let (x, y) = (LEFT + row * CELL, TOP + row * CELL);
        picture.write_text((LEFT - 12 - wide, y + middle(letters::HEIGHT * SCALE)), SCALE, INK, &name);
        picture.write_text((x + middle(wide), middle_of(TOP, letters::HEIGHT * SCALE)), SCALE, INK, &name);
        for column in 0..shown {
            let value = correlation[row * names.len() + column];
            let color = match value.is_nan() {
                true => NOTHING,
                false => colors[((value + 1.0) * 127.5).round().clamp(0.0, 255.0) as usize],
            };
            let (left, top) = (LEFT + column * CELL, y);
            picture.fill((left, top), (CELL - GAP, CELL - GAP), color);
            let text = format!("{value:.2}");
            let ink = if value.abs() > 0.55 { [255; 3] } else { INK };
            let place = (left + middle(letters::width(&text) * SCALE), top + middle(letters::HEIGHT * SCALE));
            picture.write_text(place, SCALE, ink, &text);
        }
    }
    picture
}

/// Returns the start of something of a given size that is centred in a cell.
fn middle(size: usize) -> usize {
    middle_of(CELL - GAP, size)
}

fn middle_of(room: usize, size: usize) -> usize {
    room.saturating_sub(size) / 2
}
