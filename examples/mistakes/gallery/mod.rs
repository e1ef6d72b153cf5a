//! Mistakes as data: what a person meant, what was written, and what the library says of it.
//!
//! The example prints the list; `tests/docs` makes the page docs/errors.md of it.

mod broadcasting;
mod calls;
mod chunks;
mod derivatives;
mod joins;
mod loops;
mod places;
mod products;
mod symbols;
mod texts;
mod values;
mod views;

use broadloom::prelude::*;
use broadloom::{BindError, CallError, ChunkError, CompileError, Diagnostics, LayoutError, RunError};
use std::panic::Location;

/// A part of the gallery.
pub struct Section {
    /// Its title.
    pub title: &'static str,
    /// When such mistakes are found.
    pub about: &'static str,
    pub mistakes: &'static [Mistake],
}

/// All of it.
pub const GALLERY: &[Section] = &[
    Section {
        title: "Broadcasting",
        about: "Reported at the line of the operator, before anything runs and while most sizes are unknown.",
        mistakes: broadcasting::MISTAKES,
    },
    Section {
        title: "Placement by `axis=`, updates in place, changed elements, and a warning",
        about: "Reported at the line of the operator. `g.warn_of_pointwise()` turns the warnings on.",
        mistakes: places::MISTAKES,
    },
    Section {
        title: "Symbols",
        about: "Reported at the line of the operator or the declaration; some only when you finish the graph.",
        mistakes: symbols::MISTAKES,
    },
    Section {
        title: "Views",
        about: "Reported at the line of the method. A reshape or a slice must fit for every size.",
        mistakes: views::MISTAKES,
    },
    Section {
        title: "Reductions, joins and segments",
        about: "Reported at the line of the method.",
        mistakes: joins::MISTAKES,
    },
    Section { title: "Loops", about: "Reported at the line of the function.", mistakes: loops::MISTAKES },
    Section {
        title: "Derivatives",
        about: "Reported at the line of the method. [derivatives.md](derivatives.md) has the rules.",
        mistakes: derivatives::MISTAKES,
    },
    Section {
        title: "Sums of products",
        about: "Reported at the line of the method. Axes that are matched share a column; axes that are summed over have the heading `sum`.",
        mistakes: products::MISTAKES,
    },
    Section {
        title: "Types, names and graphs",
        about: "Reported at the line of the method, or when you finish the graph.",
        mistakes: values::MISTAKES,
    },
    Section {
        title: "Calls",
        about: "Reported when you pass arrays: Broadloom checks all sizes before anything runs. The last ones depend on the data \
                and are reported while the kernel runs.",
        mistakes: calls::MISTAKES,
    },
    Section {
        title: "Chunks",
        about: "Reported when you ask for chunks of rows, or when you pass chunks.",
        mistakes: chunks::MISTAKES,
    },
    Section {
        title: "Texts",
        about: "Reported when a program in the text language is parsed (`broadloom_text::Program`, or the command `broadloom`).",
        mistakes: texts::MISTAKES,
    },
];

/// One mistake.
pub struct Mistake {
    /// Its kind.
    pub title: &'static str,
    /// The intention, in one sentence.
    pub meant: &'static str,
    make: Make,
    /// Its section of the gallery.
    pub site: &'static Location<'static>,
}

#[derive(Clone, Copy)]
enum Make {
    Written(fn(&Graph) -> Tensor),
    Called(fn(&Graph) -> Result<Outputs, Caught>),
    Read(&'static str),
}

/// A mistake that the expression shows.
#[track_caller]
const fn written(title: &'static str, meant: &'static str, make: fn(&Graph) -> Tensor) -> Mistake {
    Mistake { title, meant, make: Make::Written(make), site: Location::caller() }
}

/// A mistake that a call shows.
#[track_caller]
const fn called(
    title: &'static str,
    meant: &'static str,
    make: fn(&Graph) -> Result<Outputs, Caught>,
) -> Mistake {
    Mistake { title, meant, make: Make::Called(make), site: Location::caller() }
}

/// A mistake in a text.
#[track_caller]
const fn read(title: &'static str, meant: &'static str, text: &'static str) -> Mistake {
    Mistake { title, meant, make: Make::Read(text), site: Location::caller() }
}

/// The message of the library.
pub enum Caught {
    Graph(Diagnostics),
    Bind(BindError),
    Run(RunError),
    Chunk(ChunkError),
    Text(broadloom_text::Mistakes),
    /// In one line.
    Other(String),
}

impl Mistake {
    /// Makes the mistake; `None` if the library says nothing.
    pub fn make(&self) -> Option<Caught> {
        let graph = Graph::new();
        match self.make {
            Make::Written(make) => match make(&graph).finish() {
                Ok(_) => Diagnostics::new(graph.warnings()).map(Caught::Graph),
                Err(diagnostics) => Some(Caught::Graph(diagnostics)),
            },
            Make::Called(make) => make(&graph).err(),
            Make::Read(text) => {
                let graph =
                    broadloom_text::Program::parse("program", text).and_then(|program| program.resolve());
                graph.err().map(Caught::Text)
            }
        }
    }

    /// The program, if the mistake is one of a text.
    #[allow(dead_code, reason = "the page docs/errors.md shows it")]
    pub fn program(&self) -> Option<&'static str> {
        match self.make {
            Make::Read(text) => Some(text),
            Make::Written(_) | Make::Called(_) => None,
        }
    }
}

impl Caught {
    /// The whole text, with ANSI colours or without.
    pub fn text(&self, is_colored: bool) -> String {
        match self {
            Caught::Graph(diagnostics) if is_colored => diagnostics.colored().to_string(),
            Caught::Graph(diagnostics) => format!("{diagnostics:#}"),
            Caught::Bind(error) if is_colored => error.colored().to_string(),
            Caught::Bind(error) => format!("{error:#}"),
            Caught::Run(error) if is_colored => error.colored().to_string(),
            Caught::Run(error) => format!("{error:#}"),
            Caught::Chunk(error) if is_colored => error.colored().to_string(),
            Caught::Chunk(error) => format!("{error:#}"),
            Caught::Text(mistakes) if is_colored => mistakes.colored().to_string(),
            Caught::Text(mistakes) => format!("{mistakes:#}"),
            Caught::Other(text) => text.clone(),
        }
    }
}

impl From<CompileError> for Caught {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::Graph(diagnostics) => Caught::Graph(diagnostics),
            other => Caught::Other(other.to_string()),
        }
    }
}

impl From<CallError> for Caught {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Bind(error) => Caught::Bind(error),
            CallError::Run(error) => Caught::Run(error),
        }
    }
}

impl From<ChunkError> for Caught {
    fn from(error: ChunkError) -> Self {
        Caught::Chunk(error)
    }
}

impl From<LayoutError> for Caught {
    fn from(error: LayoutError) -> Self {
        Caught::Other(error.to_string())
    }
}
