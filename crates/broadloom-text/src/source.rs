//! Places in a text.

use std::ops::Range;

/// The longest line shown, in characters.
const MAX_LINE: usize = 160;

/// A part of a text, as byte positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    /// The position of its start.
    pub start: usize,
    /// The position after its end.
    pub end: usize,
}

impl Span {
    /// Returns the part from the start of this one to the end of another.
    pub(crate) fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end.max(self.end) }
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Span { start: range.start, end: range.end }
    }
}

/// A text and its name in messages, such as that of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub name: Box<str>,
    pub text: Box<str>,
    /// The length of the leading lines that do not belong to the named text.
    pub preamble: usize,
}

/// The name of the preamble.
const PREAMBLE: &str = "input";

impl Source {
    pub(crate) fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// Returns line and column, counted from 1; the column counts characters.
    pub(crate) fn position(&self, at: usize) -> (usize, usize) {
        let first = if at < self.preamble { 0 } else { self.preamble };
        let before = self.text.get(first..at).unwrap_or(&self.text);
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
    }

    /// Returns a place as `name:line:column`.
    pub(crate) fn place(&self, span: Span) -> String {
        let (line, column) = self.position(span.start);
        let name = if span.start < self.preamble { PREAMBLE } else { &self.name };
        format!("{name}:{line}:{column}")
    }

    /// Returns the lines that point at a part: its place, and the source with carets under the portion on its first
    /// line.
    pub(crate) fn point_at(&self, span: Span) -> Vec<String> {
        let (number, column) = self.position(span.start);
        let number = number.to_string();
        let width = number.len().max(2);
        let mut lines = vec![format!("{:width$}--> {}", "", self.place(span))];
        let start = span.start.min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |end| end + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |end| start + end);
        let line = &self.text[line_start..line_end];
        if line.chars().count() > MAX_LINE {
            return lines;
        }
        let shown: String =
            line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let carets = self.text[start..span.end.clamp(start, line_end)].chars().count().max(1);
        lines.push(format!("{:width$} |", ""));
        lines.push(format!("{number:>width$} | {}", shown.trim_end()));
        lines.push(format!("{:width$} | {:indent$}{}", "", "", "^".repeat(carets), indent = column - 1));
        lines
    }
}
