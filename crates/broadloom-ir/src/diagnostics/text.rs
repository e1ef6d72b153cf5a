//! Text whose parts know their role, so that one rendering prints with or without colours.

use crate::site::Site;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::panic::Location;

/// The longest source line shown, in characters.
const MAX_LINE: usize = 160;
/// The number of bytes of a source file to read when looking for a line.
const MAX_SOURCE: u64 = 4 << 20;

/// The role of a part of a text.
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
    /// Returns the parameters of the ANSI escape sequence that starts the style.
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

/// Prints places for front ends whose source is not Rust.
pub trait Places {
    /// Returns a place as printed, usually `file:line:column`. A text that only refers to a place is left out if
    /// there is none.
    fn place(&self, site: Site) -> Option<String>;
    /// Returns the lines below a headline that point at a place: `  --> file:line:column` and the source with
    /// carets.
    fn lines(&self, site: Site) -> Vec<String>;
    /// Returns the expression that is written at a place, if the front end has its text.
    fn expression(&self, _site: Site) -> Option<String> {
        None
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Words(Style, String),
    /// A place, and the line there with a caret.
    Source(Site, Style),
    Row(Row),
    /// A suggestion in Rust.
    InRust(Text),
}

/// Lines of text in parts. `Display` prints them without colours, and with places in Rust.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(Vec<Part>);

impl Text {
    /// Starts a message with its label, such as `error[S001]`, and its headline.
    pub fn message(severity: Style, label: String, headline: String) -> Text {
        let mut text = Text::default();
        text.add(severity, label);
        text.add(Style::Headline, format!(": {headline}"));
        text
    }

    /// Adds a part to the last line. Control characters, which names of files and inputs may contain, are escaped.
    pub fn add(&mut self, style: Style, part: impl Into<String>) {
        let part = part.into();
        let controls = |letter: char| letter.is_control() && letter != '\n';
        let part = match part.contains(controls) {
            false => part,
            true => part.chars().fold(String::new(), |mut text, letter| {
                match controls(letter) {
                    true => text.extend(letter.escape_default()),
                    false => text.push(letter),
                }
                text
            }),
        };
        self.0.push(Part::Words(style, part));
    }

    /// Adds a line, indented like all lines of a message.
    pub fn line(&mut self, style: Style, part: impl Into<String>) {
        self.add(Style::Plain, "\n   ");
        self.add(style, part);
    }

    /// Adds another text to the last line.
    pub fn append(&mut self, text: Text) {
        self.0.extend(text.0);
    }

    /// Adds one line per row; the places they refer to are aligned in one column.
    pub fn rows(&mut self, rows: Vec<Row>) {
        let placed = rows.iter().filter(|row| row.place.is_some());
        let column = placed.map(|row| row.width()).max().unwrap_or(0) + 4;
        self.0.extend(rows.into_iter().map(|row| Part::Row(Row { column, ..row })));
    }

    /// Adds a suggestion: a sentence, and the code to write, if it is an expression.
    pub fn help(&mut self, sentence: &str, code: Option<&str>) {
        self.line(Style::Help, "help");
        self.add(Style::Plain, format!(": {sentence}"));
        if let Some(code) = code {
            self.add(Style::Plain, "   ");
            self.add(Style::Code, code);
        }
    }

    /// Adds a suggestion in Rust code, which is left out if the source is in another language.
    pub fn help_in_rust(&mut self, sentence: &str, code: Option<&str>) {
        let mut help = Text::default();
        help.help(sentence, code);
        self.0.push(Part::InRust(help));
    }

    /// Adds a place, and its line with a caret if the file can be read.
    pub fn source(&mut self, site: Site, caret: Style) {
        self.0.push(Part::Source(site, caret));
    }

    /// Adds lines that point at a place: `  --> file:line:column`, and the source with carets in the last one.
    pub fn pointing(&mut self, lines: Vec<String>, caret: Style) {
        let count = lines.len();
        for (index, line) in lines.into_iter().enumerate() {
            let frame = ["--> ", " | "].iter().find_map(|end| Some(line.find(end)? + end.len()));
            let (frame, rest) = line.split_at(frame.unwrap_or(line.len()));
            self.add(Style::Frame, format!("\n{frame}"));
            let is_last = index > 0 && index + 1 == count;
            self.add(if is_last { caret } else { Style::Plain }, rest);
        }
    }

    /// Returns the text with places other than those in Rust, and without suggestions in Rust.
    pub fn at(&self, places: &dyn Places) -> Text {
        let mut text = Text::default();
        for part in &self.0 {
            match part {
                Part::Words(style, words) => text.add(*style, words),
                Part::Source(site, caret) => text.pointing(places.lines(*site), *caret),
                Part::Row(row) => row.write(places, &mut text),
                Part::InRust(_) => {}
            }
        }
        text
    }

    /// Returns the text with places in Rust.
    fn words(&self) -> Vec<(Style, String)> {
        let mut text = Text::default();
        for part in &self.0 {
            match part {
                Part::Words(style, words) => text.add(*style, words),
                Part::Source(site, caret) => source(*site, *caret, &mut text),
                Part::Row(row) => row.write(&InRust, &mut text),
                Part::InRust(help) => text.append(help.clone()),
            }
        }
        let words = text.0.into_iter().filter_map(|part| match part {
            Part::Words(style, words) => Some((style, words)),
            Part::Source(..) | Part::Row(_) | Part::InRust(_) => None,
        });
        words.collect()
    }

    /// Returns the text with ANSI escape sequences for colours, for a terminal.
    pub fn colored(self) -> impl fmt::Display {
        Colored(self)
    }
}

/// Adds a place in Rust, and its line with a caret if the file can be read.
fn source(site: Site, caret: Style, text: &mut Text) {
    let Some(location) = site.location() else { return };
    let number = location.line().to_string();
    let width = number.len().max(2);
    text.add(Style::Frame, format!("\n{:width$}--> ", ""));
    text.add(Style::Plain, place(location));
    let Some(line) = source_line(location) else { return };
    let column = location.column() as usize;
    if column > line.chars().count() {
        return;
    }
    text.add(Style::Frame, format!("\n{:width$} |\n{number:>width$} | ", ""));
    text.add(Style::Plain, line);
    text.add(Style::Frame, format!("\n{:width$} | ", ""));
    text.add(caret, format!("{:>column$}", "^"));
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.words().iter().try_for_each(|(_, words)| f.write_str(words))
    }
}

struct Colored(Text);

impl fmt::Display for Colored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.words().iter().try_for_each(|(style, words)| match style.escape() {
            Some(escape) => write!(f, "\x1b[{escape}m{words}\x1b[0m"),
            None => f.write_str(words),
        })
    }
}

/// A line that may refer to a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    words: Vec<(Style, String)>,
    place: Option<Site>,
    /// The words between the text and the place, left out if there is no place.
    lead: String,
    /// The column at which the place starts.
    column: usize,
}

impl Row {
    /// Creates a sentence with the place it refers to.
    pub fn new(sentence: impl Into<String>, place: Option<Site>) -> Row {
        Row { words: vec![(Style::Plain, sentence.into())], ..Row::empty(place) }
    }

    /// Creates a sentence, which may be empty, with the words that lead from it to a place, `, declared at`.
    pub fn leading(sentence: impl Into<String>, lead: impl Into<String>, place: Site) -> Row {
        Row { lead: lead.into(), ..Row::new(sentence, Some(place)) }
    }

    /// Creates an empty row.
    pub fn empty(place: Option<Site>) -> Row {
        Row { words: Vec::new(), lead: String::new(), place, column: 0 }
    }

    /// Adds words.
    pub fn add(&mut self, style: Style, words: impl Into<String>) {
        self.words.push((style, words.into()));
    }

    fn width(&self) -> usize {
        let words: usize = self.words.iter().map(|(_, words)| words.chars().count()).sum();
        words + self.lead.chars().count()
    }

    fn write(&self, places: &dyn Places, text: &mut Text) {
        let place = self.place.and_then(|site| places.place(site));
        let mut words = self.words.clone();
        match place {
            Some(place) => {
                let gap = self.column.saturating_sub(self.width());
                words.push((Style::Plain, format!("{}{:gap$}{place}", self.lead, "")));
            }
            // The padding up to the column of the place.
            None => {
                while let Some((_, last)) = words.last_mut() {
                    last.truncate(last.trim_end().len());
                    if !last.is_empty() {
                        break;
                    }
                    words.pop();
                }
            }
        }
        if words.is_empty() && !self.lead.is_empty() {
            return;
        }
        text.add(Style::Plain, "\n   ");
        words.into_iter().for_each(|(style, words)| text.add(style, words));
    }
}

/// Places in Rust.
struct InRust;

impl Places for InRust {
    fn place(&self, site: Site) -> Option<String> {
        site.location().map(place)
    }

    fn lines(&self, site: Site) -> Vec<String> {
        let mut text = Text::default();
        source(site, Style::Error, &mut text);
        text.to_string().lines().skip(1).map(str::to_owned).collect()
    }
}

fn place(location: &Location<'_>) -> String {
    if is_hidden(location) { "caller unknown".to_owned() } else { location.to_string() }
}

/// A call through a function pointer reports a line of the standard library.
fn is_hidden(location: &Location<'_>) -> bool {
    location.file().starts_with("/rustc/")
}

/// Returns the line if the file can be read. Its path is relative to where the program was built: this directory
/// or, for tests of a package in a workspace, some directories up.
fn source_line(location: &Location<'_>) -> Option<String> {
    if is_hidden(location) {
        return None;
    }
    let file = ["", "../", "../../", "../../../"].iter().find_map(|up| {
        let file = File::open(format!("{up}{}", location.file())).ok()?;
        file.metadata().ok()?.is_file().then_some(file)
    })?;
    let index = usize::try_from(location.line()).ok()?.checked_sub(1)?;
    let line = BufReader::new(file.take(MAX_SOURCE)).lines().nth(index)?.ok()?;
    let shown: String = line.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    (shown.chars().count() <= MAX_LINE).then(|| shown.trim_end().to_owned())
}
