//! Drawings as SVG: one file with its own background, in fonts that every system has.

use crate::drawing::{Drawing, DrawnNode, Kind, Place};
use crate::label::{Escaped, columns};
use crate::layers::layers;
use crate::layout::{Item, PORTS, Wire, layout};
use crate::text::{COLUMN, FONTS, wrapped};
use std::fmt::{self, Write as _};

/// Font sizes: first line of a node, its other lines, and titles.
const CAPTION: f64 = 13.0;
const DETAIL: f64 = 12.0;
/// Font size beside wires.
const SMALL: f64 = 10.0;
/// Distance from one labelled wire to the next.
const LABEL_ROOM: f64 = 40.0;
/// Line height relative to the font size.
const LINE: f64 = 1.4;
/// Padding around the text of a node.
const PADDING: f64 = 10.0;
/// Distance between rows.
const ROW_GAP: f64 = 36.0;
/// Padding around the nodes of a kernel.
const KERNEL_PADDING: f64 = 18.0;
const MARGIN: f64 = 24.0;
/// Columns that a kernel's title may use even if its nodes are narrower.
const TITLE_COLUMNS: usize = 50;

/// Colours of texts and of less important texts.
const INK: &str = "#1f2733";
const PALE: &str = "#5b677a";

struct Look {
    name: &'static str,
    fill: &'static str,
    stroke: &'static str,
    dashes: Option<&'static str>,
    radius: f64,
}

fn look(kind: Kind) -> Look {
    let look = |name, fill, stroke, radius| Look { name, fill, stroke, dashes: None, radius };
    match kind {
        Kind::Input => look("input", "#e1efff", "#3b7dd8", 14.0),
        Kind::Op => look("op", "#ffffff", "#8a96a8", 5.0),
        Kind::Reduction => look("reduction", "#ffeedb", "#dc8420", 5.0),
        Kind::View => Look { dashes: Some("4 3"), ..look("view", "#ffffff", "#8a96a8", 5.0) },
        Kind::Temporary => look("stored", "#fdf3c0", "#c19a06", 2.0),
        Kind::Output => look("output", "#dff5e4", "#2c9a50", 14.0),
        Kind::Reference => Look { dashes: Some("2 3"), ..look("elsewhere", "#ffffff", "#5b677a", 12.0) },
    }
}

/// Font size and text of each line.
fn lines(node: &DrawnNode) -> impl Iterator<Item = (f64, &String)> {
    node.lines.iter().enumerate().map(|(index, line)| (if index == 0 { CAPTION } else { DETAIL }, line))
}

fn width(node: &DrawnNode) -> f64 {
    lines(node).map(|(size, line)| columns(line) as f64 * size * COLUMN).fold(20.0, f64::max) + 2.0 * PADDING
}

fn height(node: &DrawnNode) -> f64 {
    let padding = if node.kind == Kind::Reference { 6.0 } else { 14.0 };
    lines(node).map(|(size, _)| size * LINE).sum::<f64>() + padding
}

/// The box around a kernel.
struct Frame {
    kernel: usize,
    title: Vec<String>,
    left: f64,
    width: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    /// Height of the title; wires pass behind it.
    fn head(&self) -> f64 {
        self.title.len() as f64 * CAPTION * LINE + 10.0
    }
}

/// A row of nodes.
#[derive(Clone, Copy, Default)]
struct Row {
    top: f64,
    bottom: f64,
    /// The height at which wires from above become vertical: above the title, if there is one.
    entry: f64,
}

/// The picture.
pub fn svg(mut drawing: Drawing) -> String {
    let layers = layers(&mut drawing);
    let mut boxes: Vec<(f64, f64)> = drawing.nodes.iter().map(|node| (width(node), height(node))).collect();
    // Two labels fit on the two sides; more need space between the wires.
    let mut labels = vec![0usize; boxes.len()];
    for edge in drawing.edges.iter().filter(|edge| edge.label.is_some()) {
        labels[edge.to] += 1;
        if labels[edge.to] > 2 {
            boxes[edge.to].0 = boxes[edge.to].0.max(labels[edge.to] as f64 * LABEL_ROOM / PORTS);
        }
    }
    let items: Vec<Item> =
        layers.of.iter().zip(&boxes).map(|(row, (width, _))| Item { row: *row, width: *width }).collect();
    let wires: Vec<Wire> = (drawing.edges.iter())
        .map(|edge| {
            // A reference is placed beside the path of computed values.
            let weight = if drawing.nodes[edge.from].kind == Kind::Reference { 0.02 } else { 1.0 };
            Wire { from: edge.from, to: edge.to, weight }
        })
        .collect();
    let mut layout = layout(&items, &wires);
    let mut heights = vec![0.0; layers.places.len()];
    for (row, (_, height)) in layers.of.iter().zip(&boxes) {
        heights[*row] = f64::max(heights[*row], *height);
    }
    let (rows, mut frames, mut bottom) = stack(&drawing, &layers.places, &heights, &layout.spans);
    let spans = layout.spans.iter().copied().chain(frames.iter().map(|f| (f.left, f.left + f.width)));
    let (left, right) = spans.fold((f64::MAX, f64::MIN), |all, span| (all.0.min(span.0), all.1.max(span.1)));
    let mut kinds: Vec<Kind> = drawing.nodes.iter().map(|node| node.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let legend: f64 = kinds.iter().map(|kind| legend_width(*kind)).sum();
    let summary = columns(&drawing.summary) as f64 * DETAIL * COLUMN;
    let width = (right - left).max(legend).max(summary) + 2.0 * MARGIN;
    let shift = (width - (right - left)) / 2.0 - left;
    layout.centers.iter_mut().for_each(|x| *x += shift);
    layout.ways.iter_mut().flatten().for_each(|x| *x += shift);
    frames.iter_mut().for_each(|frame| frame.left += shift);
    bottom += MARGIN;
    let height = bottom + 2.0 * DETAIL * LINE + MARGIN;

    let mut out = Svg { text: String::new() };
    out.line(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" font-family=\"{FONTS}\">"
    ));
    out.line(format_args!("<title>{}</title>", Escaped(&drawing.summary)));
    out.line(format_args!(
        "<rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"10\" fill=\"#ffffff\" stroke=\"#d5dbe4\"/>"
    ));
    frames.iter().for_each(|frame| out.frame(frame));
    out.line(format_args!("<g fill=\"none\" stroke=\"#6d7a8f\" stroke-width=\"1.3\">"));
    let ends: Vec<Row> = (layers.of.iter().zip(&boxes))
        .map(|(row, (_, height))| {
            let Row { top, bottom, entry } = rows[*row];
            let middle = (top + bottom) / 2.0;
            Row { top: middle - height / 2.0, bottom: middle + height / 2.0, entry }
        })
        .collect();
    for (wire, way) in wires.iter().zip(&layout.ways) {
        out.wire(way, &rows[layers.of[wire.from]..], ends[wire.from].bottom, ends[wire.to].top);
    }
    out.line(format_args!("</g>"));
    frames.iter().for_each(|frame| out.head(frame));
    let mut ports: Vec<(f64, f64)> = vec![(f64::MAX, f64::MIN); drawing.nodes.len()];
    for (wire, way) in wires.iter().zip(&layout.ways) {
        let (first, last) = ports[wire.to];
        let x = way.last().copied().unwrap_or_default();
        ports[wire.to] = (first.min(x), last.max(x));
    }
    for ((edge, way), wire) in drawing.edges.iter().zip(&layout.ways).zip(&wires) {
        if let (Some(x), Some(y)) = (way.last(), ends.get(wire.to).map(|end| end.top)) {
            out.arrow(*x, y);
            if let Some(label) = edge.label {
                let is_first = *x <= ports[wire.to].0;
                let (anchor, beside) = if is_first { ("end", -6.0) } else { ("start", 6.0) };
                let (x, y) = (x + beside, y - 3.0);
                out.line(format_args!(
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{SMALL}\" \
                     fill=\"{PALE}\">{}</text>",
                    Escaped(label)
                ));
            }
        }
    }
    for (index, node) in drawing.nodes.iter().enumerate() {
        out.node(node, layout.centers[index] - boxes[index].0 / 2.0, ends[index].top, boxes[index]);
    }
    let mut x = (width - legend) / 2.0;
    for kind in kinds {
        out.legend(kind, x, bottom);
        x += legend_width(kind);
    }
    let y = bottom + 2.0 * DETAIL * LINE;
    out.line(format_args!(
        "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" font-size=\"{DETAIL}\" fill=\"{PALE}\">{}</text>",
        width / 2.0,
        Escaped(&drawing.summary)
    ));
    out.line(format_args!("</svg>"));
    out.text
}

fn legend_width(kind: Kind) -> f64 {
    columns(look(kind).name) as f64 * DETAIL * COLUMN + 46.0
}

/// Places rows from the top down, with frames around those of kernels. Returns the end of the last.
fn stack(
    drawing: &Drawing,
    places: &[Place],
    heights: &[f64],
    spans: &[(f64, f64)],
) -> (Vec<Row>, Vec<Frame>, f64) {
    let mut rows = Vec::with_capacity(places.len());
    let mut frames: Vec<Frame> = Vec::new();
    let mut y = MARGIN;
    for (index, (&place, &height)) in places.iter().zip(heights).enumerate() {
        y += if index == 0 { 0.0 } else { ROW_GAP };
        let entry = y;
        if let Place::In(kernel) = place {
            let (left, right) = spans[index];
            let (left, right) = (left - KERNEL_PADDING, right + KERNEL_PADDING);
            match frames.last_mut().filter(|frame| frame.kernel == kernel) {
                Some(frame) => {
                    let end = (frame.left + frame.width).max(right);
                    frame.left = frame.left.min(left);
                    frame.width = end - frame.left;
                }
                None => {
                    let width = right - left;
                    frames.push(Frame { kernel, title: Vec::new(), left, width, top: y, bottom: y });
                    let rows_of = places.iter().zip(spans).filter(|(of, _)| **of == place);
                    let (least, most) =
                        rows_of.fold((left, right), |all, (_, span)| (all.0.min(span.0), all.1.max(span.1)));
                    let room = ((most - least) / (CAPTION * COLUMN)) as usize;
                    let title = drawing.kernels.get(kernel).map_or("", String::as_str);
                    let title = wrapped(title, room.max(TITLE_COLUMNS));
                    if let Some(frame) = frames.last_mut() {
                        frame.title = title;
                        y += frame.head() + KERNEL_PADDING;
                    }
                }
            }
        }
        rows.push(Row { top: y, bottom: y + height, entry });
        y += height;
        if matches!(place, Place::In(_)) && places.get(index + 1) != Some(&place) {
            y += KERNEL_PADDING;
            if let Some(frame) = frames.last_mut() {
                frame.bottom = y;
                let widest = frame.title.iter().map(|line| columns(line)).max().unwrap_or(0);
                let least = widest as f64 * CAPTION * COLUMN + 2.0 * KERNEL_PADDING;
                let more = (least - frame.width).max(0.0);
                frame.left -= more / 2.0;
                frame.width += more;
            }
        }
    }
    (rows, frames, y)
}

struct Svg {
    text: String,
}

impl Svg {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn frame(&mut self, frame: &Frame) {
        let Frame { left, width, top, bottom, .. } = frame;
        let height = bottom - top;
        self.line(format_args!(
            "<rect class=\"kernel\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" rx=\"8\" fill=\"#f4f6fa\" stroke=\"#b9c4d4\"/>"
        ));
    }

    fn head(&mut self, frame: &Frame) {
        let Frame { left, width, top, .. } = frame;
        let height = frame.head();
        self.line(format_args!("<g class=\"head\">"));
        self.line(format_args!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"8\" \
             fill=\"#e2e8f1\" stroke=\"#b9c4d4\"/>"
        ));
        for (index, line) in frame.title.iter().enumerate() {
            let (x, y) = (left + KERNEL_PADDING, top + 5.0 + index as f64 * CAPTION * LINE + CAPTION * 1.05);
            self.line(format_args!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{CAPTION}\" fill=\"#3a4a66\">{}</text>",
                Escaped(line)
            ));
        }
        self.line(format_args!("</g>"));
    }

    /// A wire through rows: straight within each, curved between them.
    fn wire(&mut self, way: &[f64], rows: &[Row], start: f64, end: f64) {
        let Some(&first) = way.first() else { return };
        let mut path = format!("M{first:.1} {start:.1}");
        for (step, pair) in way.windows(2).enumerate() {
            let (Some(above), Some(below)) = (rows.get(step), rows.get(step + 1)) else { break };
            let [from, to] = [pair[0], pair[1]];
            let (top, bottom) = (above.bottom, below.entry);
            let middle = (top + bottom) / 2.0;
            let _ = write!(path, "V{top:.1}C{from:.1} {middle:.1} {to:.1} {middle:.1} {to:.1} {bottom:.1}");
        }
        self.line(format_args!("<path d=\"{path}V{end:.1}\"/>"));
    }

    fn arrow(&mut self, x: f64, y: f64) {
        let (left, right, top) = (x - 3.5, x + 3.5, y - 7.0);
        self.line(format_args!(
            "<path d=\"M{x:.1} {y:.1}L{left:.1} {top:.1}L{right:.1} {top:.1}Z\" fill=\"#6d7a8f\"/>"
        ));
    }

    fn shape(&mut self, kind: Kind, [x, y, width, height]: [f64; 4]) {
        let look = look(kind);
        let dashes = look.dashes.map(|dashes| format!(" stroke-dasharray=\"{dashes}\"")).unwrap_or_default();
        let (fill, stroke, radius) = (look.fill, look.stroke, look.radius.min(height / 2.0));
        self.line(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius:.0}\" \
             fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.3\"{dashes}/>"
        ));
    }

    fn node(&mut self, node: &DrawnNode, x: f64, y: f64, (width, height): (f64, f64)) {
        let expr = node.expr.map(|expr| format!(" data-e=\"{}\"", expr.index())).unwrap_or_default();
        self.line(format_args!("<g class=\"node {}\"{expr}>", look(node.kind).name));
        self.shape(node.kind, [x, y, width, height]);
        let total: f64 = lines(node).map(|(size, _)| size * LINE).sum();
        let mut base = y + (height - total) / 2.0;
        for (index, (size, line)) in lines(node).enumerate() {
            let is_caption = index == 0 && node.kind != Kind::Reference;
            let ink = if is_caption { INK } else { PALE };
            let weight = if is_caption { " font-weight=\"600\"" } else { "" };
            let (x, y) = (x + width / 2.0, base + size * 1.05);
            self.line(format_args!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" font-size=\"{size}\"{weight} \
                 fill=\"{ink}\">{}</text>",
                Escaped(line)
            ));
            base += size * LINE;
        }
        self.line(format_args!("</g>"));
    }

    fn legend(&mut self, kind: Kind, x: f64, y: f64) {
        self.shape(kind, [x, y, 18.0, 12.0]);
        let (x, y) = (x + 24.0, y + 10.0);
        self.line(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{DETAIL}\" fill=\"{PALE}\">{}</text>",
            look(kind).name
        ));
    }
}
