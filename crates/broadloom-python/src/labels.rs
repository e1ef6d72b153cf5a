//! Labels of rows: the index of pandas' objects among the arguments of a program, which results with the same rows get.

use broadloom::CheckedGraph;
use broadloom_arrow::RowGraph;
use pyo3::intern;
use pyo3::prelude::*;

/// Returns for each result whether its rows are those of the arrays with as many rows, each in its place: what sorts or selects rows
/// has none.
pub fn in_rows(graph: &CheckedGraph) -> Vec<bool> {
    let keeps =
        |output: &str, name: &str| RowGraph::new(graph, name).is_ok_and(|rows| rows.keeps_rows(output));
    let results = graph.results().iter().map(|output| {
        let rows = graph.shape(output.expr).first().and_then(|rows| rows.as_symbol());
        rows.is_some_and(|symbol| keeps(&output.name, &graph.symbols()[symbol.index()].name))
    });
    results.collect()
}

/// Takes the arrays out of pandas' objects if all have the same index, that of a frame included, and returns the index.
///
/// # Errors
/// Returns an error if pandas does.
pub fn take<'py>(
    py: Python<'py>,
    frame: Option<&Bound<'py, PyAny>>,
    arrays: &mut Vec<Bound<'py, PyAny>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    if !modules.contains(intern!(py, "pandas"))? {
        return Ok(None);
    }
    let taken = module(py)?.call_method1("unlabelled", (frame, &*arrays))?;
    let (unlabelled, index): (Vec<Bound<'py, PyAny>>, Option<Bound<'py, PyAny>>) = taken.extract()?;
    *arrays = unlabelled;
    Ok(index)
}

/// Returns results with an index, where their rows have one.
///
/// # Errors
/// Returns an error if pandas does.
pub fn give<'py>(
    results: Bound<'py, PyAny>,
    index: &Bound<'py, PyAny>,
    in_rows: Vec<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    module(results.py())?.call_method1("labelled", (results, index, in_rows))
}

fn module(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("broadloom._labels")
}
