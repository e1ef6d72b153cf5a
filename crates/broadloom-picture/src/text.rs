//! Text in SVG: fonts, widths and lines.

use crate::label::columns;

/// Width of a column relative to the font size: no common fixed-width font is wider.
pub const COLUMN: f64 = 0.63;
pub const FONTS: &str = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/// Breaks a text into lines of at most `columns` columns, unless a word is longer.
pub fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}
