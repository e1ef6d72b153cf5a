//! Command-line arguments. This module declares the arguments of each command; the command's module defines their
//! meaning.

use crate::bench::Range;
use crate::io::destinations::OutputArgs;
use crate::program::ProgramArgs;
use crate::terminal::MessageArgs;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// NumPy-like expressions on files, compiled to fused loops.
#[derive(Debug, Parser)]
#[command(name = "broadloom", version, max_term_width = 100, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub messages: MessageArgs,
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 for success, 1 for errors in data and while running, 2 for errors in usage and expressions.";

const EVAL: &str = "\
Inputs:
  x=x.npy            any memory order, mapped and not copied; x=x.npy:bf16 if NumPy shows V2
  x=a.npz:key        one array of the archive; a.npz alone passes all under their own names
  x=t.csv:column     i64 if all cells are integers, bool if all are True or False; f64 if some are
                     fractions, or missing: empty or NA (--missing names more); else text, for
                     city == 'Oslo' and segment_mean(x, city)
  x=t.csv:col:days   dates as days since 1970-01-01; :seconds for dates and times, :text for numbers
                     that are names
  x=t.csv:a,b        columns as f64[rows, columns]; x=t.csv:temp_* by pattern, x=t.csv all columns
                     of numbers
  t.csv              all columns under the names in the first row, or c0, c1, .. if the first row
                     holds numbers
  x=t.parquet:col    columns of .parquet and .arrow in the same ways, with their own dtypes; lists of
                     fixed size are [rows, d]; a null is nan, in f64 unless the column has floats
  x=p.png            u8[H, W] if grey, else u8[H, W, 3] or u8[H, W, 4]; u16 if 16-bit; .jpg too
  x=FILE:f32[_, 3]   raw elements; the length of the file determines one size, written _
  x=-                standard input, in any of these formats; x=-:column, x=-:f32[_, 3]
  x=3, x=3.5, x=true, x=f32:3.5
Do not change files while they are read.

Outputs: .npy, .npz, .csv and .tsv with up to two axes or several columns, .parquet and .arrow with a
column for each result, .png and .jpg from u8, .bin for the elements alone; `-o - --format KIND` is
standard output. They appear complete or not at all.

Examples:
  broadloom eval 'argmin(sum((codes[None] - obs[:, None])**2, axis=-1), axis=1)' obs=obs.npy codes=codes.npy -o code.npy
  broadloom eval '(x - x.mean(axis=0)) / x.std(axis=0)' x=table.csv -o standardised.csv
  broadloom eval 'mean = segment_mean(height, city); count = segment_count(city)' people.csv
  broadloom eval 'sqrt(x*x + y*y)' points.parquet -o r.parquet
  broadloom eval 'clip(x * 1.5, 0, 255).astype(u8)' x=photo.jpg -o bright.png
  broadloom eval 'mean = x.mean(); deviation = x.std()' x=samples.bin:f32[_]
  xz -dc x.npy.xz | broadloom eval 'x.mean(axis=0)' x=- -o - --format csv
  broadloom eval -f model.bl obs=obs.npy --size k=16 -o code=code.npy -o distance=distance.npy";

const CHECK: &str = "\
Examples:
  broadloom check 'x[:, None] - y' 'x:f32[n, 3]' 'y:f32[k, 3]'
  broadloom check --inputs -f model.bl
  broadloom check --print 'np.sqrt(x ** 2)' 'x:f64[n]'";

const EXPLAIN: &str = "\
Examples:
  broadloom explain 'exp(x[:, None]) * sin(y)' 'x:f32[n]' 'y:f32[m]'
  broadloom explain --asm '2.5 * x + y' 'x:f32[n]' 'y:f32[n]'
  broadloom explain --html norm.html 'sqrt(x*x + y*y)' 'x:f32[n]' 'y:f32[n]'";

const OPS: &str = "\
Examples:
  broadloom ops
  broadloom ops arctan2";

const COMPLETIONS: &str = "\
Examples:
  broadloom completions bash > ~/.local/share/bash-completion/completions/broadloom
  broadloom completions zsh > ~/.zfunc/_broadloom";

const MAN: &str = "\
Examples:
  broadloom man ~/.local/share/man/man1";

#[derive(Debug, Subcommand)]
pub enum Command {
    Eval(EvalArgs),
    Check(CheckArgs),
    Explain(ExplainArgs),
    Graph(GraphArgs),
    Bench(BenchArgs),
    Ops(OpsArgs),
    Help(HelpArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Compute an expression or a program on files.
#[derive(Debug, Args)]
#[command(after_help = EVAL)]
pub struct EvalArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    #[command(flatten)]
    pub outputs: OutputArgs,
    /// Maximum number of threads; by default the number of processors
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Compute about this many rows at once; by default, large inputs run in chunks of a few megabytes where possible
    #[arg(long, value_name = "ROWS")]
    pub chunk: Option<NonZeroUsize>,
    /// Report how long reading, compiling, running and writing took
    #[arg(long)]
    pub time: bool,
}

/// Check a program without data, and print the dtypes and shapes of its results.
#[derive(Debug, Args)]
#[command(after_help = CHECK)]
pub struct CheckArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Also print the inputs, before the results
    #[arg(long = "inputs")]
    pub with_inputs: bool,
    /// Print the program in normal form instead
    #[arg(long, conflicts_with = "with_inputs")]
    pub print: bool,
}

/// Show the loops, the costs and the code that a program is compiled to.
#[derive(Debug, Args)]
#[command(after_help = EXPLAIN)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Print loops and costs (the default)
    #[arg(long)]
    pub loops: bool,
    /// Print Cranelift's intermediate code
    #[arg(long)]
    pub clif: bool,
    /// Print machine code
    #[arg(long)]
    pub asm: bool,
    /// Write a page for a browser: the program, its loops and its machine code side by side; `-` is standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Draw the graph of a program and the kernels that it is compiled to, or how its operations broadcast.
#[derive(Debug, Args)]
#[command(after_help = GRAPH_EXAMPLES)]
pub struct GraphArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Draw instead the shapes of each operation that broadcasts, as cells; also of one whose shapes do not fit
    #[arg(long)]
    pub broadcast: bool,
    /// The picture file, .svg or .dot; standard output by default
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The format of the picture; by default the extension of the file, or on standard output dot, and svg for
    /// --broadcast
    #[arg(long, value_enum)]
    pub format: Option<PictureFormat>,
}

/// The kinds of picture.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum PictureFormat {
    /// A picture that browsers show.
    Svg,
    /// For Graphviz, which places the nodes itself.
    Dot,
}

const GRAPH_EXAMPLES: &str = "\
Examples:
  broadloom graph 'exp(x) / sum(exp(x), axis=1, keepdims=True)' 'x:f32[n, m]' -o softmax.svg
  broadloom graph 'mean((x - y)**2)' 'x:f32[n]' 'y:f32[n]' --format svg > loss.svg
  broadloom graph -f model.bl | dot -Tpdf > model.pdf
  broadloom graph --broadcast 'a[:, None] + b' 'a:f64[4]' 'b:f64[3]' -o sum.svg
  broadloom graph --broadcast 'table - offsets' 'table:f64[4, 3]' 'offsets:f64[4]' > mismatch.svg";

/// Time a program on files or random inputs, and compare it with copying the same number of bytes.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub struct BenchArgs {
    #[command(flatten)]
    pub program: ProgramArgs,
    /// Range of an input's random numbers; by default 0..1 for floats and 0..100 for integers
    #[arg(long, value_name = "NAME=FROM..TO", value_parser = named_range)]
    pub range: Vec<(String, Range)>,
    /// Seed of the random numbers
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub seed: u64,
    /// Number of threads; by default one, and then the number of processors
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// How long to measure each number of threads
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub seconds: f64,
    /// Print JSON, with times in seconds
    #[arg(long)]
    pub json: bool,
}

const BENCH_EXAMPLES: &str = "\
Examples:
  broadloom bench 'sqrt(x*x + y*y)' 'x:f32[n]' 'y:f32[n]'
  broadloom bench 'argmin(sum((codes[None] - obs[:, None])**2, axis=-1), axis=1)' obs=obs.npy codes=codes.npy
  broadloom bench '(x - mean(x, axis=0)) / std(x, axis=0)' 'x:f32[n, m]' --size n=1000000 --size m=4
  broadloom bench 'take(table, i)' 'table:f64[k]' 'i:i64[n]' --size k=1000 --range i=0..1000 --json

Inputs declared without data are random. --size sets their sizes (n=1000); other sizes are chosen so that arrays have up to a million elements.

`copy` is the speed of copying as many bytes as the inputs and results have, on the same number of threads, measured in alternation with the runs.";

fn named_range(text: &str) -> Result<(String, Range), String> {
    let (name, range) = text.split_once('=').ok_or("expected NAME=FROM..TO, as in i=0..100")?;
    Ok((name.to_owned(), range.parse()?))
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "expected a number of seconds, at most 3600".to_owned())
}

/// Print the reference of operations.
#[derive(Debug, Args)]
#[command(after_help = OPS)]
pub struct OpsArgs {
    /// An operation, by any of its names
    pub name: Option<String>,
}

/// Print the help of a command, or the reference of the language.
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A command, or `language`
    pub topic: Option<String>,
}

/// Print a script that completes commands in a shell.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub struct CompletionsArgs {
    pub shell: Shell,
}

/// Write man pages into a folder.
#[derive(Debug, Args)]
#[command(after_help = MAN)]
pub struct ManArgs {
    /// The folder, which is made if it does not exist
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Splits a command into words as a shell does, without redirections.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(['>', '|']).find(|part| part.contains("broadloom ")).unwrap_or(line);
        let mut words = vec![String::new()];
        for (at, part) in line.split('\'').enumerate() {
            let is_quoted = at % 2 == 1;
            for letter in part.chars() {
                match letter {
                    ' ' if !is_quoted => words.push(String::new()),
                    letter => words.last_mut().unwrap().push(letter),
                }
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn examples_are_accepted() {
        let mut examples = 0;
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines().filter(|line| line.starts_with("  ") && line.contains("broadloom ")) {
                examples += 1;
                if let Err(error) = Cli::try_parse_from(words(line)) {
                    panic!("{line}\n{error}");
                }
            }
        }
        assert!(examples >= 13, "{examples}");
    }

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
