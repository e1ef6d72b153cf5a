//! An array as a row, a sheet, a block of sheets, or a column of such blocks, with brackets that state the sizes.

use super::canvas::{Anchor, Canvas, Line, width};
use super::cells::{Array, DrawnAxis, Slot, SlotKind};
use super::{Fit, theme};
use crate::text::COLUMN;

/// The most axes that cells show.
pub const MAX_AXES: usize = 4;
/// Font size of sizes.
const SIZES: f64 = 12.0;
/// The greatest and the least font size in cells.
const INDEX: f64 = 10.0;
const LEAST_INDEX: f64 = 8.0;
/// The space beside a text in a cell.
const INDEX_SPACE: f64 = 4.0;
/// The greatest width of a cell. Longer texts are left out, in all cells of the array.
const WIDEST: f64 = 46.0;
/// Distance of a bracket from the cells, and its depth.
const BRACKET_GAP: f64 = 6.0;
const BRACKET: f64 = 4.0;
/// Distance between blocks along the first of four axes.
const BLOCK_GAP: f64 = 16.0;

/// The lengths of slots.
#[derive(Debug, Clone, Copy)]
struct Scale {
    cell: f64,
    gap: f64,
    empty: f64,
}

impl Scale {
    fn of_rank(rank: usize) -> Scale {
        match rank {
            0..=2 => Scale { cell: 34.0, gap: 24.0, empty: 12.0 },
            _ => Scale { cell: 27.0, gap: 22.0, empty: 10.0 },
        }
    }

    fn length(self, slot: &Slot) -> f64 {
        match slot.kind {
            SlotKind::Cell => self.cell,
            SlotKind::Gap => self.gap,
            SlotKind::Empty => self.empty,
        }
    }
}

/// Returns the width of cells for arrays that stand in a row: it suffices for all texts that are not too long.
pub fn cell_width<'a>(arrays: impl Iterator<Item = &'a Array>) -> f64 {
    let widths = arrays.map(|array| {
        let text = array.text_columns() as f64 * COLUMN * LEAST_INDEX + INDEX_SPACE;
        let least = Scale::of_rank(array.axes.len()).cell;
        if text > WIDEST { least } else { f64::max(least, text) }
    });
    widths.fold(0.0, f64::max)
}

/// The direction of the axis that leads to the back.
const DEPTH: (f64, f64) = (0.52, -0.4);

/// A drawn array. The origin is the top left corner of the front.
#[derive(Debug)]
pub struct Block<'a> {
    array: &'a Array,
    scale: Scale,
    /// The font size in cells; `None` if the texts do not fit.
    index: Option<f64>,
    outer: Along<'a>,
    depth: Along<'a>,
    rows: Along<'a>,
    columns: Along<'a>,
}

/// The slots along a direction of the drawing.
#[derive(Debug)]
struct Along<'a> {
    /// The axis, if the array has it; otherwise there is one slot.
    axis: Option<&'a DrawnAxis>,
    slots: Vec<Placed>,
    length: f64,
}

#[derive(Debug)]
struct Placed {
    slot: Slot,
    start: f64,
    length: f64,
}

impl<'a> Along<'a> {
    fn new(axis: Option<&'a DrawnAxis>, scale: Scale) -> Along<'a> {
        let only =
            || Slot { kind: SlotKind::Cell, is_ghost: false, is_unmatched: false, index: String::new() };
        let mut end = 0.0;
        let place = |slot: Slot| {
            let (start, length) = (end, scale.length(&slot));
            end += length;
            Placed { slot, start, length }
        };
        let slots = axis.map_or_else(|| vec![only()], |axis| axis.slots.clone());
        let slots = slots.into_iter().map(place).collect();
        Along { axis, slots, length: end }
    }
}

/// The extent of a drawn array around its origin.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    pub left: f64,
    pub right: f64,
    pub up: f64,
    pub down: f64,
    /// The height of the fronts, from the first to the last.
    pub height: f64,
}

impl<'a> Block<'a> {
    pub fn new(array: &'a Array, cell_width: f64) -> Block<'a> {
        let rank = array.axes.len();
        let axis = |from_last: usize| rank.checked_sub(from_last).and_then(|axis| array.axes.get(axis));
        let scale = Scale::of_rank(rank);
        let size = (cell_width - INDEX_SPACE) / (array.text_columns().max(1) as f64 * COLUMN);
        Block {
            array,
            scale,
            index: (size >= LEAST_INDEX - 0.01).then(|| size.min(INDEX)),
            outer: Along::new(axis(4), scale),
            depth: Along::new(axis(3), scale),
            rows: Along::new(axis(2), scale),
            columns: Along::new(axis(1), Scale { cell: cell_width, ..scale }),
        }
    }

    /// The vector from front to back.
    fn to_back(&self) -> (f64, f64) {
        let length = self.depth.axis.map_or(0.0, |_| self.depth.length);
        (length * DEPTH.0, length * DEPTH.1)
    }

    /// The starts of the blocks along the first of four axes, and the end of the last.
    fn starts(&self) -> (Vec<f64>, f64) {
        let (height, (_, back)) = (self.rows.length, self.to_back());
        let mut starts = Vec::new();
        let mut y = 0.0;
        for Placed { slot, .. } in &self.outer.slots {
            let is_block = slot.kind != SlotKind::Gap;
            if !starts.is_empty() {
                y += BLOCK_GAP - if is_block { back } else { 0.0 };
            }
            starts.push(y);
            y += if is_block { height } else { self.scale.gap };
        }
        (starts, y)
    }

    pub fn extent(&self) -> Extent {
        let (width, (right, up)) = (self.columns.length, self.to_back());
        let side = |along: &Along<'_>| {
            along.axis.map_or(0.0, |axis| self::width(&axis.label, SIZES) + BRACKET_GAP + BRACKET + 5.0)
        };
        let left = side(&self.rows).max(side(&self.depth) - right / 2.0) + side(&self.outer);
        let below = self.columns.axis.map_or(0.0, |_| BRACKET_GAP + BRACKET + SIZES + 4.0);
        let height = self.starts().1;
        Extent { left, right: width + right, up: -up, down: height + below, height }
    }

    pub fn draw(&self, out: &mut Canvas, (x, y): (f64, f64)) {
        let (starts, end) = self.starts();
        out.open("cells");
        for (Placed { slot, .. }, start) in self.outer.slots.iter().zip(starts) {
            match slot.kind {
                SlotKind::Cell | SlotKind::Empty => self.sheets(out, slot, (x, y + start)),
                SlotKind::Gap => {
                    let across = (self.columns.length + self.to_back().0) / 2.0;
                    dots(out, (x + across, y + start + self.scale.gap / 2.0), (0.0, 7.0));
                }
            }
        }
        out.close();
        self.brackets(out, (x, y), end);
    }

    /// The visible faces of one block: the front, the top and the right.
    fn sheets(&self, out: &mut Canvas, outer: &Slot, (x, y): (f64, f64)) {
        let Block { depth, rows, columns, .. } = self;
        let (Some(nearest), Some(first_row), Some(last_column)) =
            (depth.slots.first(), rows.slots.first(), columns.slots.last())
        else {
            return;
        };
        if depth.axis.is_some() {
            let right = x + columns.length;
            for Placed { slot, start, length } in depth.slots.iter().rev() {
                let at = |along: f64| (along * DEPTH.0, along * DEPTH.1);
                let (near, far) = (at(*start), at(start + length));
                for column in &columns.slots {
                    let left = x + column.start;
                    let right = left + column.length;
                    let corners = [
                        (left + near.0, y + near.1),
                        (right + near.0, y + near.1),
                        (right + far.0, y + far.1),
                        (left + far.0, y + far.1),
                    ];
                    face(out, "top", &[outer, slot, &first_row.slot, &column.slot], corners);
                }
                for row in &rows.slots {
                    let top = y + row.start;
                    let bottom = top + row.length;
                    let corners = [
                        (right + near.0, top + near.1),
                        (right + far.0, top + far.1),
                        (right + far.0, bottom + far.1),
                        (right + near.0, bottom + near.1),
                    ];
                    face(out, "side", &[outer, slot, &row.slot, &last_column.slot], corners);
                }
            }
        }
        for row in &rows.slots {
            for column in &columns.slots {
                let slots = [outer, &nearest.slot, &row.slot, &column.slot];
                self.front(out, slots, [x + column.start, y + row.start, column.length, row.length]);
            }
        }
    }

    fn front(&self, out: &mut Canvas, slots: [&Slot; 4], [x, y, width, height]: [f64; 4]) {
        let corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)];
        let kind = face(out, "front", &slots, corners);
        let Some(size) = self.index.filter(|_| kind == SlotKind::Cell) else { return };
        let own = &slots[slots.len().saturating_sub(self.array.axes.len())..];
        let mut parts: Vec<(String, String)> = Vec::new();
        for shown in &self.array.shown {
            if !parts.is_empty() {
                parts.push((String::new(), self.array.separator.to_owned()));
            }
            parts.push((theme::ink(shown.operand), shown.position(own)));
        }
        let line = Line {
            x: x + width / 2.0,
            y: y + height / 2.0 + size * 0.35,
            size,
            anchor: Anchor::Middle,
            class: if slots.iter().any(|slot| slot.is_ghost) { "ghost" } else { "" },
            is_bold: false,
        };
        let parts: Vec<(&str, &str)> = parts.iter().map(|(class, text)| (&**class, &**text)).collect();
        out.write_parts(line, &parts);
    }

    fn brackets(&self, out: &mut Canvas, (x, y): (f64, f64), end: f64) {
        let (width, height) = (self.columns.length, self.rows.length);
        let line = |x, y, anchor, class| Line { x, y, size: SIZES, anchor, class, is_bold: false };
        if let Some(columns) = self.columns.axis {
            let (line_class, class) = classes(columns);
            let y = y + end + BRACKET_GAP;
            let points = [(x, y), (x, y + BRACKET), (x + width, y + BRACKET), (x + width, y)];
            out.path(line_class, &points, false);
            out.write(
                line(x + width / 2.0, y + BRACKET + SIZES + 1.0, Anchor::Middle, class),
                &columns.label,
            );
        }
        let mut left = x - BRACKET_GAP;
        if let Some(rows) = self.rows.axis {
            let (line_class, class) = classes(rows);
            let points = [(left, y), (left - BRACKET, y), (left - BRACKET, y + height), (left, y + height)];
            out.path(line_class, &points, false);
            let middle = y + height / 2.0 + SIZES * 0.35;
            out.write(line(left - BRACKET - 5.0, middle, Anchor::End, class), &rows.label);
        }
        if let Some(depth) = self.depth.axis {
            let (line_class, class) = classes(depth);
            let (right, up) = self.to_back();
            let (from, to) = ((left, y - 3.0), (left + right, y - 3.0 + up));
            let tick = (-BRACKET * 0.6, -BRACKET * 0.8);
            let points = [from, (from.0 + tick.0, from.1 + tick.1), (to.0 + tick.0, to.1 + tick.1), to];
            out.path(line_class, &points, false);
            let (x, y) = (left + right / 2.0 - BRACKET - 5.0, y - 3.0 + up / 2.0);
            out.write(line(x, y, Anchor::End, class), &depth.label);
        }
        if let Some(outer) = self.outer.axis {
            let (line_class, class) = classes(outer);
            let inner = [self.rows.axis, self.depth.axis].into_iter().flatten();
            let widths = inner.map(|axis| self::width(&axis.label, SIZES) + BRACKET + 9.0);
            left -= widths.fold(0.0, f64::max);
            let up = self.to_back().1;
            let points =
                [(left, y + up), (left - BRACKET, y + up), (left - BRACKET, y + end), (left, y + end)];
            out.path(line_class, &points, false);
            let middle = y + (end + up) / 2.0 + SIZES * 0.35;
            out.write(line(left - BRACKET - 5.0, middle, Anchor::End, class), &outer.label);
        }
    }
}

/// The classes of the bracket and the label of an axis.
fn classes(axis: &DrawnAxis) -> (&'static str, &'static str) {
    match axis.fit {
        Fit::Equal => ("line", "pale"),
        Fit::Stretched => ("line", ""),
        Fit::Clash => ("line clash", "clash"),
    }
}

/// Draws a face of a cell, and returns what is there.
fn face(out: &mut Canvas, side: &str, slots: &[&Slot], corners: [(f64, f64); 4]) -> SlotKind {
    let kind = slots.iter().map(|slot| slot.kind).max().unwrap_or(SlotKind::Cell);
    let mut class = format!("cell {side}");
    class += match kind {
        SlotKind::Cell => "",
        SlotKind::Gap => " gap",
        SlotKind::Empty => " empty",
    };
    if slots.iter().any(|slot| slot.is_ghost) {
        class += " ghost";
    }
    if slots.iter().any(|slot| slot.is_unmatched) {
        class += " unmatched";
    }
    out.path(&class, &corners, true);
    if kind == SlotKind::Gap {
        let [a, b, c, d] = corners;
        let center = ((a.0 + c.0) / 2.0, (a.1 + c.1) / 2.0);
        // Along each axis that has a gap: the dots lead from the cells before it to those after it.
        let is_gap = |slot: Option<&&Slot>| slot.is_some_and(|slot| slot.kind == SlotKind::Gap);
        let (first, second) = match side {
            "top" => (is_gap(slots.get(3)), is_gap(slots.get(1))),
            "side" => (is_gap(slots.get(1)), is_gap(slots.get(2))),
            _ => (is_gap(slots.get(3)), is_gap(slots.get(2))),
        };
        let along = |from: (f64, f64), to: (f64, f64), is_gap: bool| {
            let (x, y) = (to.0 - from.0, to.1 - from.1);
            let length = x.hypot(y).max(0.1);
            if is_gap { (x / length * 5.0, y / length * 5.0) } else { (0.0, 0.0) }
        };
        let (one, other) = (along(a, b, first), along(a, d, second));
        dots(out, center, (one.0 + other.0, one.1 + other.1));
    }
    kind
}

/// Three dots, this far from each other.
fn dots(out: &mut Canvas, (x, y): (f64, f64), (dx, dy): (f64, f64)) {
    for step in [-1.0, 0.0, 1.0] {
        let (x, y) = (x + step * dx, y + step * dy);
        out.line(format_args!("<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.2\"/>"));
    }
}
