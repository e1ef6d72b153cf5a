//! Figures of broadcasting, which notebooks show.

use crate::error::{Class, caught, of_mistakes};
use crate::program::quoted;
use broadloom_text::{Mistakes, Program};
use pyo3::prelude::*;

/// Figures of the operations of a program that broadcast their operands.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct BroadcastFigures(broadloom_picture::BroadcastFigures);

impl BroadcastFigures {
    /// Returns the figures of mistakes, if all of them are shapes that do not fit.
    pub fn of_mistakes(mistakes: &Mistakes) -> Option<BroadcastFigures> {
        let places = mistakes.places();
        let figures = broadloom_picture::BroadcastFigures::of_mistakes(mistakes.diagnostics(), Some(places));
        (figures.len() == mistakes.as_slice().len()).then_some(BroadcastFigures(figures))
    }
}

#[pymethods]
impl BroadcastFigures {
    /// The figures of a program, whose inputs are declared by pairs of a name and a type.
    #[staticmethod]
    fn of_program(py: Python<'_>, text: &str, inputs: Vec<(String, String)>) -> PyResult<BroadcastFigures> {
        let declarations: Vec<String> =
            inputs.iter().map(|(name, declared)| format!("{}: {declared}", quoted(name))).collect();
        let declarations: Vec<&str> = declarations.iter().map(String::as_str).collect();
        let resolved = caught(py, || {
            Program::parse_declared("program", &declarations, text)
                .and_then(|program| program.resolve_in_full(&[]))
        })?;
        let figures = match resolved {
            Ok(resolved) => {
                broadloom_picture::BroadcastFigures::of_graph(&resolved.graph, Some(&resolved.places))
            }
            // The figure explains the mistake.
            Err(mistakes) => match BroadcastFigures::of_mistakes(&mistakes) {
                Some(figures) => return Ok(figures),
                None => return Err(of_mistakes(py, &mistakes)),
            },
        };
        if figures.is_empty() {
            let text =
                "no operation of the program combines arrays element by element, as `x[:, None] + y` does";
            return Err(Class::Value.error(py, text));
        }
        Ok(BroadcastFigures(figures))
    }

    /// All figures as one SVG file.
    fn svg(&self) -> String {
        self.0.svg()
    }

    fn _repr_svg_(&self) -> String {
        self.0.svg()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        match self.0.len() {
            1 => "<1 figure of broadcasting>".to_owned(),
            count => format!("<{count} figures of broadcasting>"),
        }
    }
}
