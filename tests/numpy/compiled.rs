//! Expressions written in Rust, compiled, and run.

use crate::dsl::Writer;
use crate::expression::parse;
use crate::table::Case;
use broadloom::prelude::*;
use broadloom::{AnyArray, CallError, CompileError, Inputs, Scalar, Threads};
use broadloom_ir::for_each_dtype;
use broadloom_ir::interp::Array;
use std::collections::HashMap;

macro_rules! define_elements {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        /// The elements of an array as the facade takes them.
        pub enum Elements {
            $($variant(Vec<$rust>),)*
        }

        impl Elements {
            pub fn of(array: &Array) -> Elements {
                match array.dtype {
                    $(DType::$variant => Elements::$variant(array.to_vec().expect("elements of the dtype")),)*
                }
            }

            pub fn view<'a>(&'a self, shape: &'a [usize]) -> ArrayView<'a> {
                let view = match self { $(Elements::$variant(elements) => ArrayView::new(elements, shape),)* };
                view.expect("the elements fill the shape")
            }
        }

        pub fn read(array: &AnyArray) -> Array {
            let elements: Vec<Scalar> = match array.dtype() {
                $(DType::$variant => {
                    let elements = array.as_slice::<$rust>().expect("the dtype is that of the array");
                    elements.iter().map(|element| Scalar::$variant(*element)).collect()
                })*
            };
            Array { dtype: array.dtype(), shape: array.shape().to_vec(), elements }
        }
    };
}
for_each_dtype!(define_elements);

/// Cases whose graphs are compiled as one, each an output.
pub struct Batch<'a> {
    graph: Graph,
    cases: Vec<(&'a Case, Tensor)>,
}

/// What running gave.
pub enum Ran {
    Array(Array),
    /// The data are a mistake.
    Fails,
    /// Something that must not happen.
    Broken(String),
}

/// The text of the graph of a case, for a comparison; `None` if it has no form in Rust, or is refused.
pub enum Written {
    NoForm,
    Refused,
    Text(String),
}

fn write(graph: &Graph, case: &Case, prefix: &str) -> Option<Tensor> {
    let inputs = case.inputs.iter().map(|(name, array)| {
        let shape: Vec<i64> = array.shape.iter().map(|&size| size as i64).collect();
        (name.clone(), graph.input_dyn(&format!("{prefix}{name}"), array.dtype, shape))
    });
    let inputs: HashMap<String, Tensor> = inputs.collect();
    Writer { graph, inputs: &inputs }.tensor(&parse(&case.expression))
}

/// The graph that Rust's notation gives.
pub fn written(case: &Case) -> Written {
    let graph = Graph::new();
    match write(&graph, case, "") {
        None => Written::NoForm,
        Some(tensor) => match graph.finish([("out", tensor)]) {
            Ok(checked) => Written::Text(checked.to_string()),
            Err(_) => Written::Refused,
        },
    }
}

impl<'a> Batch<'a> {
    /// The cases that Rust can write, in one graph.
    pub fn new(cases: &[&'a Case]) -> Batch<'a> {
        let graph = Graph::new();
        let has_form = cases.iter().filter(|case| !matches!(written(case), Written::NoForm));
        let numbered = has_form.enumerate();
        let written =
            numbered.filter_map(|(index, case)| Some((*case, write(&graph, case, &format!("{index}_"))?)));
        let cases = written.collect();
        Batch { graph, cases }
    }

    /// Compiles and runs all of them, in vector or in scalar code.
    pub fn run(&self, vectorize: bool) -> Vec<(&'a Case, Ran)> {
        let broken = |text: String| -> Vec<(&'a Case, Ran)> {
            self.cases.iter().map(|(case, _)| (*case, Ran::Broken(text.clone()))).collect()
        };
        let names: Vec<String> = (0..self.cases.len()).map(|index| format!("out{index}")).collect();
        let outputs = names.iter().zip(&self.cases).map(|(name, (_, tensor))| (name.as_str(), *tensor));
        let options = CompileOptions { threads: Threads::Calling, vectorize, ..CompileOptions::default() };
        let executable = match self.graph.compile_with(outputs, &options) {
            Ok(executable) => executable,
            Err(error) => return broken(format!("it does not compile: {}", first_line(&error))),
        };
        let arrays: Vec<Vec<Elements>> = self
            .cases
            .iter()
            .map(|(case, _)| case.inputs.iter().map(|(_, array)| Elements::of(array)).collect())
            .collect();
        let given: HashMap<String, ArrayView> = self
            .cases
            .iter()
            .zip(&arrays)
            .enumerate()
            .flat_map(|(index, ((case, _), arrays))| {
                case.inputs.iter().zip(arrays).map(move |((name, array), elements)| {
                    (format!("{index}_{name}"), elements.view(&array.shape))
                })
            })
            .collect();
        let mut inputs = Inputs::new();
        for info in executable.graph().inputs() {
            inputs = inputs.named(info.name.to_string(), given[&*info.name].clone());
        }
        match executable.run(inputs) {
            Ok(outputs) => {
                let arrays = outputs.iter().map(|(_, array)| Ran::Array(read(array)));
                self.cases.iter().map(|(case, _)| *case).zip(arrays).collect()
            }
            Err(CallError::Run(_)) if self.cases.len() == 1 => vec![(self.cases[0].0, Ran::Fails)],
            Err(error) => broken(format!("it does not run: {error}")),
        }
    }
}

fn first_line(error: &CompileError) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}
