//! The shapes of the operands, aligned as broadcasting aligns them.

use super::canvas::{Anchor, Canvas, Line, width};
use super::{Broadcast, Ending, Fit, theme};

const SIZE: f64 = 12.0;
const ROW: f64 = 20.0;
const GAP: f64 = 22.0;

/// A table: a row of axes, a row for each operand, and the result.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Row>,
    /// The widths of the columns, and of the labels before them.
    widths: Vec<f64>,
    labels: f64,
    /// Columns that clash.
    marked: Vec<usize>,
}

#[derive(Debug)]
struct Row {
    label: (String, String),
    /// Texts with their classes.
    cells: Vec<(String, String)>,
}

impl Table {
    pub fn new(broadcast: &Broadcast) -> Table {
        let pale = || "pale".to_owned();
        let rank = broadcast.rank();
        let mut rows = vec![Row {
            label: (pale(), "axis".to_owned()),
            cells: (0..rank).map(|axis| (pale(), axis.to_string())).collect(),
        }];
        for (index, operand) in broadcast.operands.iter().enumerate() {
            let ink = theme::ink(index);
            let cells = operand.axes.iter().zip(&broadcast.sizes).map(|(axis, size)| {
                let own = axis.own.as_ref().map_or("·", |own| &own.text);
                match axis.fit {
                    Fit::Equal => (String::new(), own.to_owned()),
                    Fit::Stretched => (ink.clone(), format!("{own} → {}", size.text)),
                    Fit::Clash => ("clash".to_owned(), own.to_owned()),
                }
            });
            let cells = cells.collect();
            rows.push(Row { label: (ink, operand.label.clone()), cells });
        }
        let mut marked = Vec::new();
        let sizes = broadcast.sizes.iter().map(|size| (String::new(), size.text.clone()));
        let cells = match &broadcast.result {
            Ending::Fits(_) => sizes.collect(),
            Ending::Mismatch(mismatch) => {
                let mut cells: Vec<(String, String)> = sizes.collect();
                for (axis, text) in &mismatch.clashes {
                    if let Some(cell) = cells.get_mut(*axis) {
                        *cell = ("clash".to_owned(), text.clone());
                        marked.push(*axis);
                    }
                }
                cells
            }
        };
        rows.push(Row { label: (String::new(), "result".to_owned()), cells });
        let cell_width = |axis: usize| {
            let cells = rows.iter().filter_map(|row| row.cells.get(axis));
            cells.map(|(_, text)| width(text, SIZE)).fold(0.0, f64::max)
        };
        let widths = (0..rank).map(cell_width).collect();
        let labels = rows.iter().map(|row| width(&row.label.1, SIZE)).fold(0.0, f64::max);
        Table { rows, widths, labels, marked }
    }

    pub fn width(&self) -> f64 {
        self.labels + self.widths.iter().map(|width| width + GAP).sum::<f64>()
    }

    pub fn height(&self) -> f64 {
        self.rows.len() as f64 * ROW + 4.0
    }

    pub fn draw(&self, out: &mut Canvas, (x, y): (f64, f64)) {
        out.open("table");
        let mut right = x + self.labels;
        for (axis, width) in self.widths.iter().enumerate() {
            right += width + GAP;
            if self.marked.contains(&axis) {
                out.rect("hint", [right - width - 7.0, y + 1.0, width + 14.0, self.height() - 2.0], 4.0);
            }
        }
        let line = |x, y, anchor, class| Line { x, y, size: SIZE, anchor, class, is_bold: false };
        for (index, row) in self.rows.iter().enumerate() {
            // The result stands below a rule.
            let is_last = index + 1 == self.rows.len();
            let base = y + index as f64 * ROW + 15.0 + if is_last { 3.0 } else { 0.0 };
            if is_last {
                let at = base - 15.0;
                out.path("rule", &[(x, at), (x + self.width(), at)], false);
            }
            out.write(line(x, base, Anchor::Start, &row.label.0), &row.label.1);
            let mut right = x + self.labels;
            for ((class, text), width) in row.cells.iter().zip(&self.widths) {
                right += width + GAP;
                out.write(line(right, base, Anchor::End, class), text);
            }
        }
        out.close();
    }
}
