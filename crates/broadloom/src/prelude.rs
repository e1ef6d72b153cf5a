//! The names used in expressions and calls: `use broadloom::prelude::*;`

pub use crate::{
    ArrayView, ArrayViewMut, CompileOptions, DType, Dim, Element, Executable, Graph, Norm, Outputs,
};
pub use crate::{
    Symbol, Tensor, bf16, concat, einsum, eval, f16, inputs, meshgrid, outputs, repeat, repeat_while, scan,
    select, shape, slice, stack,
};
