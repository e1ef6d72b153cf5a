//! Text whose parts know what they are, so that one rendering prints with colours or without.

use crate::graph::Site;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// Longest source line that is shown, in characters.
const MAX_LINE: usize = 160;
/// How much of a source file is read to find a line, in bytes.
const MAX_SOURCE: u64 = 4 << 20;

/// What a part of a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A sentence.
    Plain,
    /// What is wrong.
    Error,
    /// What may be wrong.
    Warning,
    /// The headline.
    Headline,
    /// Arrows, bars and numbers of lines and axes.
    Frame,
    /// The word that begins a help or a note.
    Help,
    /// What to write.
    Code,
}

impl Style {
    /// The parameters of the ANSI escape sequence that begins it.
    fn escape(self) -> Option<&'static str> {
        match self {
            Style::Plain => None,
            Style::Error => Some("1;31"),
            Style::Warning => Some("1;33"),
            Style::Headline => Some("1"),
            Style::Frame => Some("1;34"),
            Style::Help => Some("1;36"),
            Style::Code => Some("32"),
        }
    }
}

/// Lines of text in parts. `Display` prints them without colours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(Vec<(Style, String)>);

impl Text {
    /// A message: its label, such as `error[S001]`, and its headline.
    pub fn message(severity: Style, label: String, headline: String) -> Text {
        Text(vec![(severity, label), (Style::Headline, format!(": {headline}"))])
    }

    /// Adds a part to the last line.
    pub fn add(&mut self, style: Style, part: impl Into<String>) {
        self.0.push((style, part.into()));
    }

    /// Adds a line, indented as all of a message are.
    pub fn line(&mut self, style: Style, part: impl Into<String>) {
        self.add(Style::Plain, "\n   ");
        self.add(style, part);
    }

    /// Adds another text to the last line.
    pub fn append(&mut self, text: Text) {
        self.0.extend(text.0);
    }

    /// Adds a line each for rows and the places that they speak of, which stand in one column.
    pub fn rows(&mut self, rows: Vec<Row>) {
        let placed = rows.iter().filter(|row| row.place.is_some());
        let column = placed.map(|row| row.text.width()).max().unwrap_or(0) + 4;
        for Row { mut text, place } in rows {
            match place {
                Some(place) => {
                    let gap = column - text.width();
                    text.add(Style::Plain, format!("{:gap$}{place}", ""));
                }
                None => text.trim_end(),
            }
            self.add(Style::Plain, "\n   ");
            self.append(text);
        }
    }

    /// Adds a help: a sentence, and what to write, if it is an expression.
    pub fn help(&mut self, sentence: &str, code: Option<&str>) {
        self.line(Style::Help, "help");
        self.add(Style::Plain, format!(": {sentence}"));
        if let Some(code) = code {
            self.add(Style::Plain, "   ");
            self.add(Style::Code, code);
        }
    }

    /// Adds a place, and the line there with a caret, if the file can be read.
    pub fn source(&mut self, site: Site, caret: Style) {
        let number = site.line().to_string();
        let width = number.len().max(2);
        self.add(Style::Frame, format!("\n{:width$}--> ", ""));
        self.add(Style::Plain, place(site));
        let Some(line) = source_line(site) else { return };
        let column = site.column() as usize;
        if column > line.chars().count() {
            return;
        }
        self.add(Style::Frame, format!("\n{:width$} |\n{number:>width$} | ", ""));
        self.add(Style::Plain, line);
        self.add(Style::Frame, format!("\n{:width$} | ", ""));
        self.add(caret, format!("{:>column$}", "^"));
    }

    /// Number of characters of a single line.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, part)| part.chars().count()).sum()
    }

    fn trim_end(&mut self) {
        while let Some((_, last)) = self.0.last_mut() {
            last.truncate(last.trim_end().len());
            if !last.is_empty() {
                return;
            }
            self.0.pop();
        }
    }

    /// The text with ANSI escape sequences for colours, to be printed on a terminal.
    pub fn colored(self) -> impl fmt::Display {
        Colored(self)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(_, part)| f.write_str(part))
    }
}

struct Colored(Text);

impl fmt::Display for Colored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.iter().try_for_each(|(style, part)| match style.escape() {
            Some(escape) => write!(f, "\x1b[{escape}m{part}\x1b[0m"),
            None => f.write_str(part),
        })
    }
}

/// A line that may speak of a place.
#[derive(Debug, Clone)]
pub struct Row {
    /// What it says.
    pub text: Text,
    /// The place, as it is printed.
    pub place: Option<String>,
}

impl Row {
    /// A sentence on a place in Rust.
    pub fn new(sentence: impl Into<String>, site: Option<Site>) -> Row {
        Row::at(sentence, site.map(place))
    }

    /// A sentence on a place.
    pub fn at(sentence: impl Into<String>, place: Option<String>) -> Row {
        Row { text: Text(vec![(Style::Plain, sentence.into())]), place }
    }
}

/// A place as `file:line:column`.
pub(super) fn place(site: Site) -> String {
    if is_hidden(site) { "caller unknown".to_owned() } else { site.to_string() }
}

/// A call through a function pointer reports a line of the standard library.
fn is_hidden(site: Site) -> bool {
    site.file().starts_with("/rustc/")
}

/// The line, if the file can be read: its path is relative to where the program was built, which is here or, for
/// tests of a package in a workspace, some directories up.
fn source_line(site: Site) -> Option<String> {
    if is_hidden(site) {
        return None;
    }
    let file = ["", "../", "../../", "../../../"].iter().find_map(|up| {
        let file = File::open(format!("{up}{}", site.file())).ok()?;
        file.metadata().ok()?.is_file().then_some(file)
    })?;
    let index = usize::try_from(site.line()).ok()?.checked_sub(1)?;
    let line = BufReader::new(file.take(MAX_SOURCE)).lines().nth(index)?.ok()?;
    let shown: String = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    (shown.chars().count() <= MAX_LINE).then(|| shown.trim_end().to_owned())
}
