//! Figures of broadcasting, which notebooks show.

use crate::error::{Class, caught, of_mistakes};
use crate::program::quoted;
use broadloom_text::{Mistakes, Program};
use pyo3::prelude::*;

/// Figures of the operations of a program that broadcast their operands. They can be copied and pickled, as the exceptions
/// that have them can.
#[pyclass(frozen, module = "broadloom._broadloom")]
pub struct BroadcastFigures {
    svg: String,
    count: usize,
}

/// The pickled form: a function, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (String, usize));

impl BroadcastFigures {
    fn new(figures: &broadloom_picture::BroadcastFigures) -> BroadcastFigures {
        BroadcastFigures { svg: figures.svg(), count: figures.len() }
    }

    /// Returns the figures of mistakes, if all of them are shapes that do not fit.
    pub fn of_mistakes(mistakes: &Mistakes) -> Option<BroadcastFigures> {
        let places = mistakes.places();
        let figures = broadloom_picture::BroadcastFigures::of_mistakes(mistakes.diagnostics(), Some(places));
        (figures.len() == mistakes.as_slice().len()).then(|| BroadcastFigures::new(&figures))
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
        Ok(BroadcastFigures::new(&figures))
    }

    #[staticmethod]
    fn _drawn(svg: String, count: usize) -> BroadcastFigures {
        BroadcastFigures { svg, count }
    }

    /// All figures as one SVG file.
    fn svg(&self) -> &str {
        &self.svg
    }

    fn _repr_svg_(&self) -> &str {
        &self.svg
    }

    fn __len__(&self) -> usize {
        self.count
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Reduced<'py>> {
        let make = slf.py().get_type::<BroadcastFigures>().getattr("_drawn")?;
        Ok((make, (slf.get().svg.clone(), slf.get().count)))
    }

    fn __repr__(&self) -> String {
        match self.count {
            1 => "<1 figure of broadcasting>".to_owned(),
            count => format!("<{count} figures of broadcasting>"),
        }
    }
}
