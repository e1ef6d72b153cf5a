//! What is written in expressions and calls: `use broadloom::prelude::*;`

pub use crate::{ArrayView, ArrayViewMut, CompileOptions, DType, Element, Executable, Graph, Outputs};
pub use crate::{Symbol, Tensor, eval, inputs, outputs, select, shape, slice};
