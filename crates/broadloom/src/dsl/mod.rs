//! The language in which tensor expressions are written: [`Graph`], [`Tensor`] and sizes, all but the graph `Copy`.

mod axes;
mod dims;
mod elementwise;
mod graph;
mod operand;
mod registry;
mod tensor;
mod views;

pub use axes::{IntoAxes, IntoAxis};
pub use dims::{Dim, Shape, Symbol};
pub use elementwise::select;
pub use graph::Graph;
pub use operand::Operand;
pub use tensor::Tensor;
pub use views::{IntoNewShape, NewSize, SliceItem};
