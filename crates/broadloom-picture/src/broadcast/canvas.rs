//! SVG elements, written one per line.

use crate::label::Escaped;
use crate::label::columns;
use crate::text::COLUMN;
use std::fmt::{self, Write as _};

/// How a text stands at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    pub x: f64,
    /// The baseline.
    pub y: f64,
    pub size: f64,
    pub anchor: Anchor,
    pub class: &'a str,
    pub is_bold: bool,
}

/// The text of a picture.
#[derive(Debug, Default)]
pub struct Canvas {
    pub text: String,
}

impl Canvas {
    pub fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    pub fn open(&mut self, class: &str) {
        self.line(format_args!("<g class=\"{class}\">"));
    }

    pub fn close(&mut self) {
        self.line(format_args!("</g>"));
    }

    pub fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4], radius: f64) {
        self.line(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             rx=\"{radius}\"/>"
        ));
    }

    /// A path through points, closed if `is_closed`.
    pub fn path(&mut self, class: &str, points: &[(f64, f64)], is_closed: bool) {
        let mut path = String::new();
        for (index, (x, y)) in points.iter().enumerate() {
            let _ = write!(path, "{}{x:.1} {y:.1}", if index == 0 { "M" } else { "L" });
        }
        let end = if is_closed { "Z" } else { "" };
        self.line(format_args!("<path class=\"{class}\" d=\"{path}{end}\"/>"));
    }

    pub fn write(&mut self, line: Line<'_>, text: &str) {
        self.write_parts(line, &[("", text)]);
    }

    /// A line of texts of different classes.
    pub fn write_parts(&mut self, line: Line<'_>, parts: &[(&str, &str)]) {
        let Line { x, y, size, anchor, class, is_bold } = line;
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if is_bold { " font-weight=\"600\"" } else { "" };
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let mut content = String::new();
        for (class, text) in parts {
            let text = Escaped(text);
            let _ = match class.is_empty() {
                true => write!(content, "{text}"),
                false => write!(content, "<tspan class=\"{class}\">{text}</tspan>"),
            };
        }
        self.line(format_args!(
            "<text{class} x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size:.1}\"{anchor}{weight} \
             xml:space=\"preserve\">{content}</text>"
        ));
    }
}

/// Returns the width of a text.
pub fn width(text: &str, size: f64) -> f64 {
    columns(text) as f64 * size * COLUMN
}
