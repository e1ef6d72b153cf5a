//! The language of tensor expressions: [`Graph`], [`Tensor`] and sizes. All but the graph are `Copy`.

// This module comes first: its macros are in scope for the modules that follow.
#[macro_use]
mod examples;

mod arrange;
mod assign;
mod axes;
mod call;
mod change;
mod compress;
mod derive;
mod dims;
mod elementwise;
mod filtered;
mod function;
mod graph;
mod grids;
mod join;
mod loops;
mod operand;
mod operators;
mod order;
mod products;
mod recurrences;
mod reductions;
mod registry;
mod samples;
mod scan;
mod script;
mod tensor;
mod topk;
mod views;

pub use arrange::{Padding, meshgrid};
pub use axes::{IntoAxes, IntoAxis};
pub use change::{At, Chosen};
pub use dims::{Dim, Shape, Symbol};
pub use elementwise::select;
pub use filtered::Filtered;
pub use function::function;
pub use graph::Graph;
pub use grids::RangeNumber;
pub use join::{concat, stack};
pub use loops::{Times, repeat, repeat_while, scan};
pub use operand::Operand;
pub use order::IntoFractions;
pub use products::{IntoPairs, einsum};
pub use recurrences::Ewm;
pub use samples::Spacing;
pub(crate) use script::{Declaration, Declarations, Script, Scripts, Size};
pub use tensor::Tensor;
pub use views::{IntoNewShape, NewSize, SliceItem};
