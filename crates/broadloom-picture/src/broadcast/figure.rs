//! The page: figures below each other, each with its heading, its arrays in a row, its table and suggestions.

use super::block::{Block, Extent, MAX_AXES, cell_width};
use super::canvas::{Anchor, Canvas, Line, width};
use super::cells::{self, Array};
use super::table::Table;
use super::{Broadcast, BroadcastFigures, Ending, Mismatch, Operator, theme};
use crate::label::Escaped;
use crate::text::{COLUMN, FONTS, wrapped};

const MARGIN: f64 = 24.0;
/// Font sizes: headings, labels of arrays, and other lines.
const HEADING: f64 = 15.0;
const LABEL: f64 = 13.0;
const DETAIL: f64 = 12.0;
/// Line height relative to the font size.
const LINE: f64 = 1.5;
/// Font sizes of operators and of names of functions.
const SYMBOL: f64 = 22.0;
const NAME: f64 = 15.0;
/// Distance between an array and what is beside it.
const SPACE: f64 = 14.0;
/// The least width for lines of text.
const LEAST_WIDTH: f64 = 460.0;
/// The notes below cells.
const PLAIN: &str = "Numbers in cells are positions in the operands.";
const STRETCHED: &str =
    "Numbers in cells are positions in the operands. Dashed cells repeat an element and take no memory.";
/// The class of code.
const CODE: &str = "code";
/// The size of the cross in the place of an impossible result.
const CROSS: f64 = 26.0;

impl Operator {
    /// What is written between two positions in a cell of the result.
    pub fn separator(&self) -> &'static str {
        match self {
            Operator::Infix(symbol) => symbol,
            Operator::Call(_) => ";",
        }
    }
}

/// All figures.
pub fn svg(figures: &BroadcastFigures) -> String {
    let laid: Vec<Figure<'_>> = figures.drawn.iter().map(Figure::new).collect();
    let more = match figures.more {
        0 => String::new(),
        1 => "1 more operation stretches its operands".to_owned(),
        more => format!("{more} more operations stretch their operands"),
    };
    let inner = laid.iter().map(|figure| figure.width).fold(LEAST_WIDTH, f64::max);
    let most = columns_in(inner);
    let heights: Vec<f64> = laid.iter().map(|figure| figure.height(most)).collect();
    let end = if more.is_empty() { 0.0 } else { DETAIL * LINE + MARGIN };
    let (width, height) =
        (inner + 2.0 * MARGIN, heights.iter().map(|height| height + 2.0 * MARGIN).sum::<f64>() + end);
    let mut out = Canvas::default();
    out.line(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"broadcast\" width=\"{width:.0}\" \
         height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         font-family=\"{FONTS}\" style=\"max-width:100%;height:auto\">"
    ));
    let headings: Vec<&str> = figures.drawn.iter().map(|drawn| &*drawn.heading).collect();
    let sentences: Vec<String> = figures.drawn.iter().map(Broadcast::sentence).collect();
    out.line(format_args!("<title>Broadcasting of {}</title>", Escaped(&headings.join("; "))));
    out.line(format_args!("<desc>{}</desc>", Escaped(&sentences.join(" "))));
    out.line(format_args!("<style>\n{}\n</style>", theme::STYLE));
    out.rect("page", [0.5, 0.5, width - 1.0, height - 1.0], 10.0);
    let mut y = 0.0;
    for (index, (figure, height)) in laid.iter().zip(&heights).enumerate() {
        if index > 0 {
            out.path("rule", &[(MARGIN, y), (width - MARGIN, y)], false);
        }
        figure.draw(&mut out, y + MARGIN, inner);
        y += height + 2.0 * MARGIN;
    }
    if !more.is_empty() {
        out.write(start(y + DETAIL, "pale", DETAIL), &more);
    }
    out.line(format_args!("</svg>"));
    out.text
}

fn columns_in(width: f64) -> usize {
    (width / (DETAIL * COLUMN)) as usize
}

/// A line at the left margin.
fn start(y: f64, class: &str, size: f64) -> Line<'_> {
    Line { x: MARGIN, y, size, anchor: Anchor::Start, class, is_bold: false }
}

/// What stands in the row of arrays.
enum Item<'a> {
    /// The class and the captions of an array.
    Array {
        class: String,
        label: &'a str,
        type_: &'a str,
        array: Array,
        cell_width: f64,
    },
    Symbol {
        text: String,
        size: f64,
    },
    Cross(&'a Mismatch),
}

struct Figure<'a> {
    broadcast: &'a Broadcast,
    /// The row of arrays; empty if there are too many axes.
    items: Vec<Item<'a>>,
    table: Table,
    width: f64,
}

impl<'a> Figure<'a> {
    fn new(broadcast: &'a Broadcast) -> Figure<'a> {
        let items = if broadcast.rank() <= MAX_AXES { items(broadcast) } else { Vec::new() };
        let table = Table::new(broadcast);
        let row: f64 = items.iter().map(Item::width).sum::<f64>() + items.len() as f64 * SPACE;
        let mut figure = Figure { broadcast, items, table, width: 0.0 };
        let notes = figure.notes(usize::MAX).into_iter().filter(|(class, _)| *class == CODE);
        let code = notes.map(|(_, line)| width(&line, DETAIL)).fold(0.0, f64::max);
        let heading = width(&broadcast.heading, HEADING);
        figure.width = row.max(figure.table.width()).max(heading).max(code);
        figure
    }

    /// The extents of the row of arrays above and below the line on which operators stand.
    fn row(&self) -> (f64, f64) {
        let extents = self.items.iter().map(Item::around);
        extents.fold((0.0, 0.0), |all, one| (f64::max(all.0, one.0), f64::max(all.1, one.1)))
    }

    /// The lines of text below the heading, with their classes.
    fn sentence(&self, most: usize) -> Vec<String> {
        wrapped(&self.broadcast.sentence(), most)
    }

    /// The lines below the table, with their classes.
    fn notes(&self, most: usize) -> Vec<(&'static str, String)> {
        let Some(mismatch) = self.broadcast.mismatch() else {
            let note = match self.broadcast.rank() {
                0 => return Vec::new(),
                1..=MAX_AXES if self.broadcast.is_stretched() => STRETCHED,
                1..=MAX_AXES => PLAIN,
                _ => "Cells are drawn for up to 4 axes.",
            };
            return wrapped(note, most).into_iter().map(|line| ("pale", line)).collect();
        };
        let mut lines = Vec::new();
        for help in &mismatch.helps {
            lines.extend(wrapped(&format!("help: {}", help.text), most).into_iter().map(|line| ("", line)));
            if let Some(code) = &help.code {
                let result = help.result.as_ref().map_or(String::new(), |result| format!("   -> {result}"));
                lines.push((CODE, format!("    {code}{result}")));
            }
        }
        lines
    }

    fn height(&self, most: usize) -> f64 {
        let lines = self.sentence(most).len() + self.notes(most).len();
        let (above, below) = self.row();
        let row = if self.items.is_empty() { 0.0 } else { above + below + 2.0 * SPACE };
        HEADING * LINE + lines as f64 * DETAIL * LINE + row + self.table.height() + 2.0 * SPACE
    }

    fn draw(&self, out: &mut Canvas, top: f64, inner: f64) {
        let most = columns_in(inner);
        out.open("figure");
        let mut y = top + HEADING;
        out.write(Line { is_bold: true, ..start(y, "", HEADING) }, &self.broadcast.heading);
        y += HEADING * (LINE - 1.0);
        let class = if self.broadcast.mismatch().is_some() { "clash" } else { "pale" };
        for line in self.sentence(most) {
            y += DETAIL * LINE;
            out.write(start(y - DETAIL * 0.35, class, DETAIL), &line);
        }
        if !self.items.is_empty() {
            let (above, below) = self.row();
            y += SPACE + above;
            let row: f64 = self.items.iter().map(Item::width).sum::<f64>() + self.items.len() as f64 * SPACE;
            let mut x = MARGIN + (inner - row + SPACE) / 2.0;
            for item in &self.items {
                item.draw(out, (x, y));
                x += item.width() + SPACE;
            }
            y += below + SPACE;
        }
        y += SPACE;
        self.table.draw(out, (MARGIN + (inner - self.table.width()) / 2.0, y));
        y += self.table.height() + SPACE;
        for (class, line) in self.notes(most) {
            y += DETAIL * LINE;
            out.write(start(y - DETAIL * 0.35, class, DETAIL), &line);
        }
        out.close();
    }
}

fn items(broadcast: &Broadcast) -> Vec<Item<'_>> {
    let symbol = |text: &str, size| Item::Symbol { text: text.to_owned(), size };
    let mut items = Vec::new();
    if let Operator::Call(name) = &broadcast.operator {
        items.push(symbol(&format!("{name}("), NAME));
    }
    let arrays: Vec<Array> = (broadcast.operands.iter().enumerate())
        .map(|(index, operand)| cells::operand(broadcast, index, operand))
        .collect();
    let result = cells::result(broadcast);
    let drawn = arrays.iter().chain(broadcast.mismatch().is_none().then_some(&result));
    let cell_width = cell_width(drawn);
    for (index, (operand, array)) in broadcast.operands.iter().zip(arrays).enumerate() {
        if index > 0 {
            items.push(match &broadcast.operator {
                Operator::Infix(operator) => symbol(operator, SYMBOL),
                Operator::Call(_) => symbol(",", SYMBOL),
            });
        }
        let class = theme::operand(index);
        items.push(Item::Array { class, label: &operand.label, type_: &operand.type_, array, cell_width });
    }
    if matches!(broadcast.operator, Operator::Call(_)) {
        items.push(symbol(")", NAME));
    }
    match &broadcast.result {
        Ending::Fits(type_) => {
            items.push(symbol("=", SYMBOL));
            let class = theme::RESULT.to_owned();
            // The result of a part is not what the heading computes.
            let result_label = if broadcast.part_of.is_some() { "this step" } else { "result" };
            items.push(Item::Array { class, label: result_label, type_, array: result, cell_width });
        }
        Ending::Mismatch(mismatch) => items.push(Item::Cross(mismatch)),
    }
    items
}

impl Item<'_> {
    /// The width, and for arrays the distance from the left to the origin of the cells.
    fn sides(&self) -> (f64, f64) {
        match self {
            Item::Array { label, type_, array, cell_width, .. } => {
                let Extent { left, right, .. } = Block::new(array, *cell_width).extent();
                // Captions are centred above the cells.
                let half = width(label, LABEL).max(width(type_, DETAIL)) / 2.0;
                let before = f64::max(left, half - right / 2.0);
                (before + f64::max(right, right / 2.0 + half), before)
            }
            Item::Symbol { text, size } => (width(text, *size), 0.0),
            Item::Cross(mismatch) => {
                let texts = mismatch.clashes.iter().map(|(_, text)| width(text, LABEL));
                (texts.fold(2.0 * CROSS, f64::max), 0.0)
            }
        }
    }

    fn width(&self) -> f64 {
        self.sides().0
    }

    /// The extents above and below the line on which operators stand, which is at the middle of the fronts.
    fn around(&self) -> (f64, f64) {
        match self {
            Item::Array { array, cell_width, .. } => {
                let Extent { up, down, height, .. } = Block::new(array, *cell_width).extent();
                (height / 2.0 + up + (LABEL + DETAIL) * LINE + 4.0, down - height / 2.0)
            }
            Item::Symbol { size, .. } => (*size, *size),
            Item::Cross(mismatch) => (CROSS, CROSS + mismatch.clashes.len() as f64 * LABEL * LINE),
        }
    }

    fn draw(&self, out: &mut Canvas, (x, y): (f64, f64)) {
        let line = |x, y, size, class| Line { x, y, size, anchor: Anchor::Middle, class, is_bold: false };
        match self {
            Item::Array { class, label, type_, array, cell_width } => {
                let block = Block::new(array, *cell_width);
                let Extent { up, height, right, .. } = block.extent();
                let origin = (x + self.sides().1, y - height / 2.0);
                let middle = origin.0 + right / 2.0;
                out.open(&format!("array {class}"));
                let base = origin.1 - up - 10.0;
                let caption = line(middle, base - DETAIL * LINE, LABEL, "");
                out.write(Line { is_bold: true, ..caption }, label);
                out.write(line(middle, base, DETAIL, "pale"), type_);
                block.draw(out, origin);
                out.close();
            }
            Item::Symbol { text, size } => {
                out.write(line(x + self.width() / 2.0, y + size * 0.33, *size, "pale"), text);
            }
            Item::Cross(mismatch) => {
                let middle = x + self.width() / 2.0;
                let arm = CROSS * 0.6;
                out.open("mismatch");
                for side in [-1.0, 1.0] {
                    let points = [(middle - arm, y - side * arm), (middle + arm, y + side * arm)];
                    out.path("cross", &points, false);
                }
                for (index, (_, text)) in mismatch.clashes.iter().enumerate() {
                    let base = y + CROSS + LABEL + index as f64 * LABEL * LINE;
                    out.write(line(middle, base, LABEL, "clash"), text);
                }
                out.close();
            }
        }
    }
}
