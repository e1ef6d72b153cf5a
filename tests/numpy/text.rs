//! Cases that are NumPy's own text, read by the text language.

use crate::compiled::{Elements, read};
use crate::table::Case;
use broadloom::{CompileOptions, Executable, Inputs, Threads};
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::interp::Array;
use broadloom_text::{Given, Program};

/// The graph of a case, or why there is none.
pub fn graph(case: &Case) -> Result<CheckedGraph, String> {
    let inputs = case.inputs.iter();
    let given: Vec<Given> = inputs
        .map(|(name, array)| Given { name, dtype: array.dtype, shape: &array.shape, rows: None, names: None })
        .collect();
    let program = Program::parse("case", &case.expression).map_err(|mistakes| mistakes.to_string())?;
    program.resolve_with(&given).map_err(|mistakes| mistakes.to_string())
}

/// The result of compiled code.
pub fn run(case: &Case, vectorize: bool) -> Result<Array, String> {
    let options = CompileOptions { threads: Threads::Calling, vectorize, ..CompileOptions::default() };
    let executable = Executable::compile(&graph(case)?, &options).map_err(|error| error.to_string())?;
    let arrays: Vec<Elements> = case.inputs.iter().map(|(_, array)| Elements::of(array)).collect();
    let mut inputs = Inputs::new();
    for ((name, array), elements) in case.inputs.iter().zip(&arrays) {
        inputs = inputs.named(name.clone(), elements.view(&array.shape));
    }
    let outputs = executable.run(inputs).map_err(|error| error.to_string())?;
    // The lines of a notebook have an output each, and the last one is what the case is about.
    let (_, array) = outputs.iter().last().ok_or("there is no output")?;
    Ok(read(array))
}
