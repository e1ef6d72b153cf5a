//! What tests of kernels know of sizes and arrays, from outside of this crate and from inside.

use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{CheckedGraph, InputInfo};
use broadloom_ir::interp::Array;
use broadloom_loops::kernel::{HostSymbol, Schedule};
use std::collections::HashMap;

/// Sizes by the names of symbols.
pub type Sizes = HashMap<&'static str, i64>;

/// A small value, the next of a sequence.
fn value(dtype: DType, state: &mut u64) -> Scalar {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let bits = *state >> 33;
    match dtype {
        // With as many bits as the dtype has, so that it matters where products are rounded.
        _ if dtype.is_float() => Scalar::F64((bits % 2000) as f64 / 300.0 - 4.0).cast(dtype),
        _ => Scalar::I64((bits % 8) as i64 - 4).cast(dtype),
    }
}

/// The elements of an array in memory.
pub fn bytes(array: &Array) -> Vec<u8> {
    let element =
        |value: &Scalar| value.bits().to_le_bytes().into_iter().take(array.dtype.size()).collect::<Vec<_>>();
    array.elements.iter().flat_map(element).collect()
}

/// Sizes of the graph's symbols and values of the schedule's own ones.
pub struct Host<'a> {
    pub schedule: &'a Schedule,
    pub symbols: Vec<i64>,
    pub groups: i64,
}

impl Host<'_> {
    pub fn evaluate(&self, dim: &Dim) -> i64 {
        dim.evaluate(&|symbol: SymbolId| {
            let index = symbol.index();
            if let Some(&value) = self.symbols.get(index) {
                return Some(value);
            }
            match self.schedule.host_symbols[index - self.symbols.len()] {
                HostSymbol::Stride { .. } | HostSymbol::Steps | HostSymbol::StepsBefore => None,
                HostSymbol::GroupCount(group) => {
                    let extent = self.evaluate(&self.schedule.groups[group].extent);
                    Some((extent + self.length(group) - 1).div_euclid(self.length(group)).max(1))
                }
                HostSymbol::GroupLength(group) => Some(self.length(group)),
                HostSymbol::Rows(band) => Some(self.evaluate(&self.schedule.bands[band].extent)),
            }
        })
        .unwrap()
    }

    fn length(&self, group: usize) -> i64 {
        self.schedule.groups[group].unit as i64 * self.groups
    }
}

/// The values of a graph's symbols.
pub fn symbols(graph: &CheckedGraph, sizes: &Sizes) -> Vec<i64> {
    graph.symbols().iter().map(|symbol| sizes[&*symbol.name.to_string()]).collect()
}

/// Arrays for a graph's inputs.
pub fn arrays(graph: &CheckedGraph, symbols: &[i64]) -> Vec<Array> {
    let mut state = 7;
    let array = |input: &InputInfo| {
        let evaluate = |dim: &Dim| dim.evaluate(&|symbol| Some(symbols[symbol.index()])).unwrap() as usize;
        let shape: Vec<usize> = input.shape.iter().map(evaluate).collect();
        let count = shape.iter().product();
        let elements = (0..count).map(|_| value(input.dtype, &mut state)).collect();
        Array { dtype: input.dtype, shape, elements }
    };
    graph.inputs().iter().map(array).collect()
}
