//! Messages for arrays that do not fit: a headline, and a frame that shows where sizes came from.

use super::error::{
    BindError, EmptyTable, GivenSize, MissedObligation, Role, SizeMismatch, Solved, SolvedFrom,
};
use broadloom_ir::diagnostics::{Places, Requirement, Row, Style, Text};
use broadloom_ir::graph::Site;
use std::fmt;

impl BindError {
    /// Returns the code of the kind of error: `S` for sizes, `T` for types, `N` for names, `M` for memory.
    pub fn code(&self) -> &'static str {
        match self {
            BindError::Size(_) => "S101",
            BindError::Obligation(_) => "S102",
            BindError::GivenSize(_) | BindError::ImpossibleSize { .. } => "S103",
            BindError::Rank { .. } => "S104",
            BindError::EmptyTable(_) => "S105",
            BindError::Arithmetic(_) | BindError::TooLarge { .. } => "S106",
            BindError::DType { .. } => "T101",
            BindError::Missing { .. }
            | BindError::Unknown { .. }
            | BindError::Repeated { .. }
            | BindError::Number { .. } => "N101",
            BindError::MissingSize { .. } | BindError::UnknownSize { .. } => "N102",
            BindError::Layout { .. } | BindError::Shared { .. } | BindError::SameArray { .. } => "M101",
            BindError::Compile(_) => "M102",
            BindError::Limit { .. } => "M103",
        }
    }

    /// Returns the whole text with ANSI escape sequences for colours; see
    /// [`Diagnostic::colored`](crate::Diagnostic::colored).
    pub fn colored(&self) -> impl fmt::Display {
        self.text().colored()
    }

    /// Returns the whole text with places other than those in Rust; see
    /// [`Diagnostic::display_at`](crate::Diagnostic::display_at).
    pub fn display_at(&self, places: &dyn Places) -> Text {
        self.text().at(places)
    }

    pub(crate) fn text(&self) -> Text {
        let mut text = Text::message(Style::Error, format!("error[{}]", self.code()), self.to_string());
        match self {
            BindError::Size(mismatch) => size(mismatch, &mut text),
            BindError::Obligation(missed) => obligation(missed, &mut text),
            BindError::GivenSize(given) => {
                text.rows(aligned(solved(&given.solved, &[&given.symbol])));
                text.help("pass arrays of the given size, or leave the size out", None);
            }
            BindError::MissingSize { symbol, site } => {
                text.rows(vec![Row::leading("", format!("`{symbol}` was made at"), *site)]);
                let code = format!(".with_size({symbol:?}, ..)");
                text.help_in_rust("no input determines it; pass it by name:", Some(&code));
            }
            BindError::Missing { name, .. } => {
                let code = format!("inputs! {{ {name:?} => .., }}");
                text.help_in_rust(
                    "pass it by name, or by position in the order of declaration:",
                    Some(&code),
                );
            }
            BindError::EmptyTable(table) => text.source(table.site, Style::Error),
            BindError::Unknown { array, suggestion: Some(_), known } => {
                text.rows(vec![Row::new(format!("the {} are {known:?}", plural(array.role)), None)]);
            }
            BindError::UnknownSize { suggestion: Some(_), known, .. } => {
                text.rows(vec![Row::new(format!("the sizes are {known:?}"), None)]);
            }
            BindError::DType { array, found, expected } if array.role == Role::Input => {
                let sentence =
                    format!("pass an array of {expected}, or change the declaration of the input:");
                text.help_in_rust(&sentence, Some(&format!("g.input::<{found}>({:?}, ..)", array.name)));
            }
            BindError::Rank { array, declared, found, .. } if found.len() == 1 => {
                let view = if array.role == Role::Input { "ArrayView" } else { "ArrayViewMut" };
                let sentence = "a slice has one axis; give the sizes of all axes:";
                text.help_in_rust(sentence, Some(&format!("{view}::new(.., &{declared})")));
            }
            BindError::Limit { of, .. } => {
                let sentence = "give smaller arrays, or raise the limit in the options of the kernel:";
                let code = format!("CallLimits {{ {}: .., ..CallLimits::default() }}", of.field());
                text.help_in_rust(sentence, Some(&code));
            }
            _ => {}
        }
        text
    }
}

fn plural(role: Role) -> &'static str {
    match role {
        Role::Input => "inputs",
        Role::Output => "outputs",
    }
}

/// Continues a headline about an unknown name.
pub(crate) fn did_you_mean(suggestion: Option<&String>, known: &[String]) -> String {
    match suggestion {
        Some(name) => format!("; did you mean {name:?}?"),
        None => format!("; the known names are {known:?}"),
    }
}

impl fmt::Display for BindError {
    /// Prints the headline; with `#` the whole text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return write!(f, "{}", self.text());
        }
        match self {
            BindError::Missing { name, expected } => write!(f, "input {name:?} is missing: {expected}"),
            BindError::Unknown { array, suggestion, known } => {
                write!(f, "there is no {array}{}", did_you_mean(suggestion.as_ref(), known))
            }
            BindError::MissingSize { symbol, .. } => {
                write!(f, "the size {symbol:?} is not given")
            }
            BindError::UnknownSize { name, suggestion, known } => {
                write!(f, "there is no size {name:?}{}", did_you_mean(suggestion.as_ref(), known))
            }
            BindError::ImpossibleSize { symbol, given, stated } => {
                write!(f, "the size {symbol:?} cannot be {given}: it must be {stated}")
            }
            BindError::GivenSize(given) => {
                let GivenSize { symbol, given, found, .. } = &**given;
                write!(f, "the size {symbol:?} is given as {given}, but the arrays make it {found}")
            }
            BindError::Repeated { array } => write!(f, "{array} is passed twice"),
            BindError::Number { role, expected, found } => {
                let passed = match (role, found) {
                    (Role::Input, 1) => "input is",
                    (Role::Output, 1) => "output is",
                    (Role::Input, _) => "inputs are",
                    (Role::Output, _) => "outputs are",
                };
                let count = expected.len();
                write!(f, "{found} {passed} passed by position, but the kernel has {count}: {expected:?}")
            }
            BindError::DType { array, expected, found } => {
                write!(f, "{array} has dtype {found}, but should have {expected}")
            }
            BindError::Rank { array, rank, declared, found } => {
                let axes = if *rank == 1 { "axis" } else { "axes" };
                write!(f, "{array} has shape {found:?}, but should have {rank} {axes}: {declared}")
            }
            BindError::Size(mismatch) => size_headline(mismatch, f),
            BindError::Obligation(missed) => {
                let MissedObligation { needs, have, .. } = &**missed;
                write!(f, "{have}, but {} needs {needs}", missed.subject())
            }
            BindError::EmptyTable(table) => {
                let EmptyTable { axis, indices, call, is_own, .. } = &**table;
                match axis {
                    Some(_) if *is_own => {
                        write!(f, "`{call}` is not defined for zero elements: an axis that it needs is empty")
                    }
                    Some(axis) => {
                        let noun = if *indices == 1 { "index" } else { "indices" };
                        write!(f, "`{call}` has {indices} {noun} into axis {axis}, which is empty")
                    }
                    None => write!(f, "`{call}` has {indices} rows, but no segments"),
                }
            }
            BindError::Arithmetic(error) => {
                write!(f, "a size of the expression cannot be computed: {error}")
            }
            BindError::TooLarge { elements, dtype } => {
                write!(f, "an array of {elements} elements of {dtype} is too large")
            }
            BindError::Limit { of, asked, most } => {
                write!(f, "the call asks for {asked} {of}, but the limit is {most}")
            }
            BindError::Layout { array, reason } => write!(f, "{array} cannot be written to: {reason}"),
            BindError::Shared { array } => {
                write!(f, "{array} is written to by the kernel: pass it as `&mut`")
            }
            BindError::SameArray { first, second } => {
                write!(f, "{first} and {second} are the same array, and both are written to")
            }
            BindError::Compile(error) => {
                write!(f, "the kernel cannot be compiled for these strides: {error}")
            }
        }
    }
}

impl fmt::Debug for BindError {
    /// Prints the full text, so that `unwrap` shows it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:#}")
    }
}

fn size_headline(mismatch: &SizeMismatch, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let SizeMismatch { array, axis, declared, expected, stated, or_one, found, .. } = mismatch;
    write!(f, "{array} does not fit: axis {axis} is {found}, ")?;
    match (expected, stated) {
        (Some(expected), _) if *declared == expected.to_string() => write!(f, "but should be {expected}")?,
        (Some(expected), _) => write!(f, "but {declared} is {expected}")?,
        (None, Some(stated)) => write!(f, "but {declared} must be {stated}")?,
        (None, None) => write!(f, "but {declared} never has that value")?,
    }
    f.write_str(if *or_one { ", and only 1 stretches" } else { "" })
}

fn size(mismatch: &SizeMismatch, text: &mut Text) {
    let SizeMismatch {
        array,
        axis,
        declared,
        expected,
        shape,
        declared_shape,
        site,
        solved: known,
        needed_by,
        called,
        ..
    } = mismatch;
    let mut table = solved(known, &[declared]);
    let lead = if array.role == Role::Input { ", declared at" } else { ", computed at" };
    let wants = format!("has shape {shape:?}, but should have {declared_shape}");
    table.push((format!("{:?}", array.name), wants, Some((lead, *site))));
    let mut rows = aligned(table);
    rows.extend(
        needed_by
            .iter()
            .map(|(op, site)| Row::leading(format!("`{op}` needs the sizes to be equal"), " at", *site)),
    );
    rows.extend(called_from(*called));
    text.rows(rows);
    let Some(expected) = expected else { return };
    let pass = format!("pass {:?} with {expected} along axis {axis}", array.name);
    let is_symbolic = declared.parse::<i64>().is_err() && array.role == Role::Input;
    let otherwise = if is_symbolic { "; if it may differ, give that axis its own symbol" } else { "" };
    text.help(&format!("{pass}{otherwise}"), None);
}

impl MissedObligation {
    /// Returns what requires the condition: the function that was called, unless the words for slices and
    /// declarations are clearer.
    fn subject(&self) -> String {
        let is_written = matches!(
            self.requirement,
            Requirement::SliceStart
                | Requirement::SliceOrder
                | Requirement::SliceStop
                | Requirement::IndexStart
                | Requirement::IndexStop
                | Requirement::Declared
                | Requirement::Range
                | Requirement::Rebound
        );
        match &self.call {
            Some(call) if !is_written => format!("`{call}`"),
            _ => self.requirement.subject().to_owned(),
        }
    }
}

fn obligation(missed: &MissedObligation, text: &mut Text) {
    let MissedObligation { requirement, needs, site, solved: known, called, .. } = missed;
    text.source(*site, Style::Error);
    let mut rows = aligned(solved(known, &[needs]));
    rows.extend(called_from(*called));
    rows.push(Row::new(format!("{requirement}; the sizes were not known when the graph was built"), None));
    text.rows(rows);
    let is_fact = !matches!(requirement, Requirement::Declared | Requirement::Range | Requirement::Rebound);
    if let Some((symbol, bound)) = needs.split_once(" >= ").filter(|_| is_fact)
        && known.iter().any(|known| known.symbol == symbol)
    {
        let sentence = format!("to reject such arrays by their sizes, state that where `{symbol}` is made:");
        text.help_in_rust(&sentence, Some(&format!("g.symbol({symbol:?}).range({bound}..)")));
    }
}

/// The thing that has a size, what is known of it, and the place where that was declared.
type Fact = (String, String, Option<(&'static str, Site)>);

/// Returns the facts as rows, with their second halves aligned in one column.
fn aligned(facts: Vec<Fact>) -> Vec<Row> {
    let width = facts.iter().map(|(what, ..)| what.chars().count()).max().unwrap_or(0);
    let row = |(what, known, said): Fact| {
        let sentence = format!("{what:width$}    {known}");
        match said {
            Some((lead, site)) => Row::leading(sentence, lead, site),
            None => Row::new(sentence, None),
        }
    };
    facts.into_iter().map(row).collect()
}

/// Returns the symbols that one of the sizes mentions, and the symbols that these were solved from.
fn solved(known: &[Solved], sizes: &[&str]) -> Vec<Fact> {
    let is_letter = |letter: char| letter == '_' || letter.is_alphanumeric();
    let mut sizes = sizes.to_vec();
    let mut facts = Vec::new();
    // A symbol comes after the symbols that it was solved from.
    for Solved { symbol, value, from } in known.iter().rev() {
        let mut words = sizes.iter().flat_map(|size| size.split(|letter| !is_letter(letter)));
        if !words.any(|word| word == symbol) {
            continue;
        }
        let what = format!("{symbol} = {value}");
        facts.push(match from {
            Some(SolvedFrom { input, axis, declared, shape, site }) => {
                sizes.push(declared);
                let axis = if declared == symbol { axis.to_string() } else { format!("{axis}, {declared}") };
                let from = format!("from input {input:?} axis {axis} (shape {shape:?})");
                (what, from, Some((", declared at", *site)))
            }
            None => (what, "as given".to_owned(), None),
        });
    }
    facts.reverse();
    facts
}

fn called_from(called: Option<Site>) -> Option<Row> {
    called.map(|site| Row::leading("", "called from", site))
}
