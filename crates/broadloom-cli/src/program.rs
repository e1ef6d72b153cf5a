//! The program that a command runs: an expression or a file, with its inputs.

use crate::failure::Failure;
use crate::io::argument::Argument;
use crate::io::content::{STDIN, STDIO};
use crate::io::inputs::Files;
use crate::io::source::Opened;
use crate::io::table::TableOptions;
use crate::io::table::numbers::Spelling;
use crate::labels::Labels;
use crate::terminal::Terminal;
use broadloom::CheckedGraph;
use broadloom_text::{Given, Limits, Mistakes, NameOf, Problem, Program, Resolved};
use clap::Args;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A program and its inputs, for eval, check, explain, graph and bench.
#[derive(Debug, Args)]
pub struct ProgramArgs {
    /// The expression in NumPy's notation, or several as `name = expr; ...`; leave it out with --file
    #[arg(value_name = "EXPR", required_unless_present = "file", allow_hyphen_values = true)]
    expression: Option<OsString>,
    /// Inputs: name=FILE, name=FILE:PART, name=NUMBER, FILE that contains names, or name:f32[n, 3] without data; the
    /// file `-` is standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<OsString>,
    /// Read the program from a file; `-` is standard input
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// A size such as k=3 or n=1e6: of a parameter, which no input determines; in bench, of any symbol
    #[arg(long = "size", value_name = "NAME=N", value_parser = size)]
    sizes: Vec<(String, usize)>,
    /// Delimiter of cells in tables; by default a comma in .csv and a tab in .tsv
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// Cells of tables to read as missing numbers, besides empty cells, NA, N/A, nan, null and None
    #[arg(long, value_name = "CELL,CELL,..", value_delimiter = ',')]
    missing: Vec<String>,
    /// Mark before the decimals of numbers in tables of text; by default a point
    #[arg(long, value_name = "CHARACTER", default_value_t = '.', hide_default_value = true, value_parser = decimal)]
    decimal: char,
    /// Mark between groups of three digits in tables of text; by default none
    #[arg(long, value_name = "CHARACTER", value_parser = thousands)]
    thousands: Option<char>,
    /// Reject operations on arrays with the same number of elements but different shapes
    #[arg(long)]
    strict: bool,
}

fn size(text: &str) -> Result<(String, usize), String> {
    let (name, size) = text.split_once('=').ok_or("expected NAME=N, as in k=3")?;
    let size = whole(size.trim()).ok_or_else(|| {
        format!("{size:?} is not a size: expected a whole number, such as 1000, 1_000 or 1e3")
    })?;
    Ok((name.trim().to_owned(), size))
}

/// Reads a whole number without a sign, in Python's notation, that is exact.
fn whole(text: &str) -> Option<usize> {
    let digits = |text: &str| {
        let is_plain = text.starts_with(|first: char| first.is_ascii_digit())
            && text.ends_with(|last: char| last.is_ascii_digit())
            && !text.contains("__");
        is_plain.then(|| text.replace('_', ""))
    };
    match text.split_once(['e', 'E']) {
        None => digits(text)?.parse().ok(),
        Some((number, exponent)) => {
            let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
            let (whole, fraction) = (digits(whole)?, digits(fraction)?);
            let fraction = fraction.trim_end_matches('0');
            let zeros = digits(exponent.strip_prefix('+').unwrap_or(exponent))?.parse::<usize>().ok()?;
            let zeros = zeros.checked_sub(fraction.len()).filter(|zeros| *zeros < 20)?;
            format!("{whole}{fraction}{}", "0".repeat(zeros)).parse().ok()
        }
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        _ => Err("expected one ASCII character other than a quote, such as ';'".to_owned()),
    }
}

fn decimal(text: &str) -> Result<char, String> {
    match text {
        "." => Ok('.'),
        "," => Ok(','),
        _ => Err("expected a point or a comma, as in --decimal ','".to_owned()),
    }
}

fn thousands(text: &str) -> Result<char, String> {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(mark), None) if !mark.is_alphanumeric() && !matches!(mark, '"' | '+' | '-') => Ok(mark),
        _ => Err("expected one character between digits, as in --thousands ','".to_owned()),
    }
}

/// The text of a program and its name in messages.
#[derive(Debug)]
struct Text {
    name: String,
    text: String,
}

/// A program whose inputs are known.
#[derive(Debug)]
pub struct Loaded {
    pub graph: CheckedGraph,
    /// The inputs that have data.
    pub inputs: Vec<Opened>,
    /// The time to inspect the input files.
    pub reading: Duration,
    /// The meaning of the indices of results.
    pub labels: Labels,
    program: Program,
}

impl ProgramArgs {
    /// The inputs as given.
    fn inputs(&self) -> impl Iterator<Item = &OsStr> {
        // With --file, the first word is not an expression.
        let first = self.expression.as_ref().filter(|_| self.file.is_some());
        first.into_iter().chain(&self.inputs).map(OsString::as_os_str)
    }

    /// The sizes of parameters.
    pub fn sizes(&self) -> impl Iterator<Item = (&str, usize)> {
        self.sizes.iter().map(|(name, size)| (name.as_str(), *size))
    }

    /// The delimiter of tables, if it is not the default of their kind.
    pub fn delimiter(&self) -> Option<u8> {
        self.delimiter
    }

    fn table_options(&self) -> Result<TableOptions, Failure> {
        let ProgramArgs { delimiter, decimal, thousands, .. } = *self;
        if thousands == Some(decimal) {
            return Err(Failure::usage(format!("{decimal:?} cannot separate both decimals and thousands"))
                .help_code("choose different marks:", "--decimal ',' --thousands '.'"));
        }
        let spelling = Spelling { missing: self.missing.clone(), decimal, thousands };
        Ok(TableOptions { delimiter, spelling })
    }

    fn text(&self) -> Result<Text, Failure> {
        match &self.file {
            Some(file) => read(file),
            None => {
                let text = self.expression.clone().unwrap_or_default().into_string();
                let text = text.map_err(|_| {
                    Failure::usage("the expression is not valid UTF-8")
                        .help("only the names of input files may contain other bytes")
                })?;
                Ok(Text { name: "expression".to_owned(), text })
            }
        }
    }
}

fn read(path: &Path) -> Result<Text, Failure> {
    let is_stdin = path == Path::new(STDIO);
    let name = if is_stdin { STDIN.to_owned() } else { path.display().to_string() };
    let mut text = String::new();
    // Read one byte more than accepted, so that the parser reports that it is too long.
    let most = Limits::default().length as u64 + 1;
    let result = if is_stdin {
        std::io::stdin().lock().take(most).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(most).read_to_string(&mut text))
    };
    match result {
        Ok(_) => Ok(Text { name, text }),
        Err(error) => Err(Failure::usage(format!("the program {name} cannot be read: {error}"))
            .help("pass a text file in UTF-8, or the expression itself without --file")),
    }
}

impl Loaded {
    /// The graph for any number of rows, if the data that the program does not declare have `length` rows.
    ///
    /// # Errors
    /// Returns an error if the program works only for this number.
    pub fn by_rows(&self, length: usize) -> Result<CheckedGraph, Mistakes> {
        let is_taken = |name: &str| self.graph.symbols().iter().any(|symbol| *symbol.name == *name);
        let symbol = if is_taken("rows") { "rows_of_the_inputs" } else { "rows" };
        let missing = [self.program.missing_inputs(), self.program.constants()].concat();
        let given = self.inputs.iter().filter(|input| missing.contains(&input.name.as_str()));
        let given = given.map(|Opened { name, source, .. }| {
            let rows = (source.shape().first() == Some(&length)).then_some(symbol);
            let names = source.names().map(|names| &**names);
            Given { name, dtype: source.dtype(), shape: source.shape(), rows, names }
        });
        self.program.resolve_with(&given.collect::<Vec<Given<'_>>>())
    }
}

/// The graph of a program. Inputs without data are declared by the program itself or by `name:f32[n]`.
///
/// # Errors
/// Returns the errors of [`load`].
pub fn checked(args: &ProgramArgs, terminal: &Terminal) -> Result<CheckedGraph, Failure> {
    Ok(load(args, terminal)?.graph)
}

/// The graph of a program and its inputs, whose elements are not read yet. The data determine inputs that the program
/// does not declare.
///
/// # Errors
/// Returns every mistake in the program, and files that cannot be opened.
pub fn load(args: &ProgramArgs, terminal: &Terminal) -> Result<Loaded, Failure> {
    let first = args.expression.as_deref().map(OsStr::as_encoded_bytes).unwrap_or_default();
    let may_be_option = first.starts_with(b"-o") || first.starts_with(b"-f");
    understand(args, terminal).map_err(|failure| match may_be_option {
        true => failure.help("before the expression, separate an option from its value by a space: -o FILE"),
        false => failure,
    })
}

fn understand(args: &ProgramArgs, terminal: &Terminal) -> Result<Loaded, Failure> {
    let Text { name, text } = args.text()?;
    let arguments = args.inputs().map(Argument::parse).collect::<Result<Vec<Argument>, Failure>>()?;
    let declarations: Vec<&str> = arguments.iter().filter_map(declaration).collect();
    if args.file.as_deref() == Some(Path::new(STDIO)) && arguments.iter().any(Argument::is_stdin) {
        return Err(Failure::usage(format!("{STDIN} is already the program, so it cannot also be an input"))
            .help("write one of them to a file first"));
    }
    let program = Program::parse_declared(&name, &declarations, &text)?;
    let missing = program.missing_inputs();
    let constants = program.constants();

    // Open the inputs that the program does not declare, to know their dtypes and shapes.
    let mut files = Files::new(args.table_options()?);
    let mut inputs: Vec<Opened> = Vec::new();
    let is_missing = |name: &str| missing.contains(&name) || constants.contains(&name);
    // What is given by name is not read from files of several arrays too: it may be there in a form that is refused.
    let named: Vec<&str> = arguments.iter().filter_map(Argument::name).collect();
    let is_wanted = |name: &str| is_missing(name) && !named.contains(&name);
    let start = Instant::now();
    for argument in arguments.iter().filter(|argument| argument.name().is_none_or(is_missing)) {
        add(&mut inputs, files.open(argument, &is_wanted)?)?;
    }
    let mut reading = start.elapsed();
    let is_number =
        |name: &&String| constants.contains(&name.as_str()) && broadloom_text::dtype(name).is_none();
    for name in inputs.iter().map(|input| &input.name).filter(is_number) {
        let help = format!("rename the input to use the constant `{name}`");
        terminal.warn(format!("`{name}` refers to the input of that name, not to the constant"), Some(&help));
    }
    let given: Vec<Given<'_>> = inputs
        .iter()
        .map(|Opened { name, source, .. }| Given {
            name,
            dtype: source.dtype(),
            shape: source.shape(),
            rows: None,
            names: source.names().map(|names| &**names),
        })
        .collect();
    let resolved = program.resolve_in_full(&given).map_err(|mistakes| {
        let is_unknown = |name: &str| {
            mistakes.as_slice().iter().any(
                |mistake| matches!(&mistake.problem, Problem::Unknown { of: NameOf::Value, name: found } if **found == *name),
            )
        };
        let unknown = missing.iter().find(|name| is_unknown(name));
        let unused = arguments.iter().filter_map(Argument::name).filter(|name| !is_missing(name));
        unmet(Failure::from(mistakes), unknown.copied(), unused)
    })?;

    let Resolved { graph, warnings, places, texts } = resolved;
    terminal.speak_of(places);
    match warnings {
        Some(warnings) if args.strict => {
            return Err(Failure::from(warnings)
                .help("--strict turns warnings into errors: follow the advice, or leave out --strict if you mean this"));
        }
        Some(warnings) => {
            warnings.likely_wrong().into_iter().for_each(|warnings| terminal.warn_of(warnings.text()));
        }
        None => {}
    }
    for (name, texts) in &texts.joined {
        inputs.iter_mut().filter(|input| *input.name == **name).for_each(|input| input.source.rename(texts));
    }
    let known = || graph.inputs().iter().map(|input| &*input.name);
    let is_declared = |name: &str| !is_missing(name) && known().any(|known| known == name);
    let start = Instant::now();
    for argument in &arguments {
        match argument.name() {
            Some(name) if is_missing(name) => {}
            Some(name) if !is_declared(name) => {
                let help = match broadloom_text::nearest(name, known()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "leave it out, or use it in the expression".to_owned(),
                };
                terminal.warn(format!("the program has no input {name:?}"), Some(&help));
            }
            _ => {
                let declared = files.open(argument, &is_declared)?;
                declared.iter().try_for_each(refuse_text)?;
                add(&mut inputs, declared)?;
            }
        }
    }
    reading += start.elapsed();
    for [warning, help] in inputs.iter().flat_map(|input| &input.warnings) {
        terminal.warn(warning, Some(help));
    }
    let labels = Labels::new(&graph, &inputs, &texts);
    for Opened { name, source, .. } in &inputs {
        terminal.note(|| format!("input {name}: {}{:?}", source.dtype(), source.shape()));
    }
    Ok(Loaded { graph, inputs, reading, labels, program })
}

/// Refuses text for an input that the program declares as numbers: its codes would pass for them.
fn refuse_text(input: &Opened) -> Result<(), Failure> {
    let name = &input.name;
    match input.source.names() {
        None => Ok(()),
        Some(_) => {
            Err(Failure::usage(format!("the program declares {name:?} as numbers, but its data are text"))
                .help(format!("leave out the declaration of {name:?}: then it is text"))
                .help_code("for its codes as numbers, write in the program:", format!("{name}.astype(i64)")))
        }
    }
}

/// The declaration of an input without data.
fn declaration(argument: &Argument) -> Option<&str> {
    match argument {
        Argument::Declared { text } => Some(text),
        Argument::Number { .. } | Argument::File { .. } => None,
    }
}

/// Adds inputs. A name on the command line takes precedence over names in files.
fn add(inputs: &mut Vec<Opened>, further: Vec<Opened>) -> Result<(), Failure> {
    for input in further {
        let Some(known) = inputs.iter_mut().find(|known| known.name == input.name) else {
            inputs.push(input);
            continue;
        };
        match (known.is_named, input.is_named) {
            (false, true) => *known = input,
            (true, false) => {}
            _ => {
                return Err(Failure::usage(format!("the input {:?} is given twice", known.name))
                    .help_code("give it only once:", format!("{}=FILE:PART", known.name)));
            }
        }
    }
    Ok(())
}

/// Explains how to give an input that the program uses and that is missing.
fn unmet<'a>(failure: Failure, unknown: Option<&str>, unused: impl Iterator<Item = &'a str>) -> Failure {
    let Some(name) = unknown else { return failure };
    match broadloom_text::nearest(name, unused) {
        Some(near) => failure.help(format!("did you mean the input `{near}`, which is given but not used?")),
        None => failure.help(format!(
            "if `{name}` is an input, give it after the expression: {name}=FILE, {name}=3.5 or {name}:f32[n, 3]"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_numbers() {
        for (text, expected) in [
            ("0", Some(0)),
            ("1000", Some(1000)),
            ("1_000_000", Some(1_000_000)),
            ("1e6", Some(1_000_000)),
            ("1E+3", Some(1000)),
            ("2.5e1", Some(25)),
            ("1.50e1", Some(15)),
            ("1e0", Some(1)),
            ("2.5", None),
            ("2.55e1", None),
            ("1e-3", None),
            ("1e++3", None),
            ("1e30", None),
            ("1e99999999999999999999", None),
            ("99999999999999999999", None),
            ("-3", None),
            ("+3", None),
            ("_1", None),
            ("1_", None),
            ("1__0", None),
            ("1e", None),
            ("e3", None),
            (".5e1", None),
            ("", None),
            ("inf", None),
        ] {
            assert_eq!(whole(text), expected, "{text}");
        }
    }
}
