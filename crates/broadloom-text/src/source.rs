//! Places in a text.

use std::collections::BTreeMap;
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

/// The place from which a front end took a line of a text, for messages that point there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The name of the file.
    pub file: String,
    /// The number of the line, counted from 1.
    pub line: usize,
    /// The characters to point at: the first one, counted from 1, and their number.
    pub columns: (usize, usize),
    /// The line; empty if it is not known.
    pub text: String,
}

/// A text and its name in messages, such as that of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Source {
    pub name: Box<str>,
    pub text: String,
    /// The length of the leading lines that do not belong to the named text.
    pub preamble: usize,
    /// The lines that were written elsewhere, by their number from 1.
    pub written: BTreeMap<usize, Written>,
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

    /// Returns the place from which the line at a position was taken, if it was written elsewhere.
    fn written(&self, at: usize) -> Option<&Written> {
        if self.written.is_empty() { None } else { self.written.get(&self.position(at).0) }
    }

    /// Returns a place as `name:line:column`.
    pub(crate) fn place(&self, span: Span) -> String {
        if let Some(Written { file, line, .. }) = self.written(span.start) {
            return format!("{file}:{line}");
        }
        let (line, column) = self.position(span.start);
        let name = if span.start < self.preamble { PREAMBLE } else { &self.name };
        format!("{name}:{line}:{column}")
    }

    /// Returns the lines that point at a part: its place, and the source with carets under the portion on its first
    /// line.
    pub(crate) fn point_at(&self, span: Span) -> Vec<String> {
        if let Some(Written { line, columns, text, .. }) = self.written(span.start) {
            return self.frame(span, *line, text, *columns);
        }
        let (number, column) = self.position(span.start);
        let start = span.start.min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |end| end + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |end| start + end);
        let width = self.text[start..span.end.clamp(start, line_end)].chars().count();
        self.frame(span, number, &self.text[line_start..line_end], (column, width))
    }

    fn frame(&self, span: Span, number: usize, line: &str, (column, width): (usize, usize)) -> Vec<String> {
        let number = number.to_string();
        let margin = number.len().max(2);
        let mut lines = vec![format!("{:margin$}--> {}", "", self.place(span))];
        if line.chars().count() > MAX_LINE || line.is_empty() && self.written(span.start).is_some() {
            return lines;
        }
        let shown: String =
            line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let (indent, carets) = (column.saturating_sub(1), "^".repeat(width.max(1)));
        lines.push(format!("{:margin$} |", ""));
        lines.push(format!("{number:>margin$} | {}", shown.trim_end()));
        lines.push(format!("{:margin$} | {:indent$}{carets}", "", ""));
        lines
    }
}
