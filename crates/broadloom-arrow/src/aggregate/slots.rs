//! Partial results of an aggregate, and tables of segments among them.

use crate::bounds::bounded;
use crate::bytes::{array_from_bytes, write_array};
use crate::error::ColumnError;
use crate::graph::RowGraph;
use broadloom::{AnyArray, CompileOptions, DType, Executable};
use broadloom_ir::SymbolId;
use broadloom_ir::chunks::{Destination, Part};
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Graph, Node, Site};
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use std::borrow::Cow;

/// A partial result.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) number: usize,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    /// For tables of segments, which are combined into one along the leading axis: the kernels that do this.
    pub(super) tables: Option<Tables>,
}

/// Kernels for tables of segments.
#[derive(Debug)]
pub(super) struct Tables {
    /// Combines any number of them into one.
    pub(super) combine: Executable,
    /// Puts as many empty tables behind one as the remaining graph expects.
    pub(super) fill: Executable,
}

impl Slot {
    /// Returns the partial results that a part leaves.
    pub(super) fn all(
        graph: &RowGraph,
        part: &Part,
        value: &dyn Fn(SymbolId) -> Option<i64>,
        options: &CompileOptions,
    ) -> Result<Vec<Slot>, ColumnError> {
        let slots = part.graph.outputs().iter().zip(&part.outputs).map(|(output, destination)| {
            let (dtype, shape) = (part.graph.dtype(output.expr), part.graph.shape(output.expr));
            let size = |dim: &Dim| {
                let size = dim.evaluate(value).ok().and_then(|size| usize::try_from(size).ok());
                size.ok_or_else(|| ColumnError::Size { output: output.name.to_string() })
            };
            match destination {
                Destination::Merged(number) => {
                    let shape = shape.iter().map(size).collect::<Result<_, _>>()?;
                    Ok(Slot { number: *number, dtype, shape, tables: None })
                }
                Destination::Carried(number) => {
                    let Node::Segment { op, .. } = graph.graph().node(part.origins[output.expr.index()])
                    else {
                        return Err(ColumnError::Size { output: output.name.to_string() });
                    };
                    let mut shape = shape.iter().map(size).collect::<Result<Vec<usize>, _>>()?;
                    let tables = Some(Tables::of(*op, dtype, &shape, options)?);
                    shape[0] = 1;
                    Ok(Slot { number: *number, dtype, shape, tables })
                }
                Destination::Rows(_) | Destination::Whole(_) | Destination::Slot(_) => {
                    Err(ColumnError::Size { output: output.name.to_string() })
                }
            }
        });
        slots.collect()
    }

    /// Combines several tables into one.
    pub(super) fn combined(&self, array: AnyArray) -> Result<AnyArray, ColumnError> {
        match &self.tables {
            Some(tables) if array.shape().first() != Some(&1) => {
                Ok(bounded(&tables.combine, &array)?.try_into()?)
            }
            _ => Ok(array),
        }
    }

    /// Returns a partial result as the remaining graph expects it.
    pub(super) fn filled<'a>(&self, array: &'a AnyArray) -> Result<Cow<'a, AnyArray>, ColumnError> {
        match &self.tables {
            Some(tables) => Ok(Cow::Owned(bounded(&tables.fill, array)?.try_into()?)),
            None => Ok(Cow::Borrowed(array)),
        }
    }

    pub(super) fn joined(&self, left: AnyArray, right: AnyArray) -> Result<AnyArray, ColumnError> {
        let mut bytes = Vec::new();
        write_array(&left, &mut bytes);
        write_array(&right, &mut bytes);
        let mut shape = self.shape.clone();
        if let Some(tables) = shape.first_mut() {
            *tables = 2;
        }
        let both = array_from_bytes(self.dtype, &shape, &bytes);
        self.combined(both.ok_or(ColumnError::State { what: "a partial result has another size" })?)
    }
}

impl Tables {
    /// Compiles the kernels for tables of this shape, whose leading axis counts them.
    pub(super) fn of(
        op: ReduceOp,
        dtype: DType,
        shape: &[usize],
        options: &CompileOptions,
    ) -> Result<Tables, ColumnError> {
        let size = |size: usize| Dim::constant(i64::try_from(size).unwrap_or(i64::MAX));
        let (count, rest) = shape.split_first().map_or((1, shape), |(count, rest)| (*count, rest));
        let of =
            |tables: Dim| std::iter::once(tables).chain(rest.iter().copied().map(size)).collect::<Shape>();
        let mut graph = Graph::new();
        let several = Dim::symbol(graph.symbol("tables", Site::Nowhere));
        let tables = graph.input("tables", dtype, of(several), Site::Nowhere);
        let table = graph.reduce_or_identity(op, tables, Some(&[0]), true, Site::Nowhere);
        let table = graph.cast(table, dtype, Site::Nowhere);
        let combine = Executable::compile(&graph.finish(&[("table", table)])?, options)?;

        let mut graph = Graph::new();
        let table = graph.input("table", dtype, of(Dim::ONE), Site::Nowhere);
        let identity = graph.constant(op.identity(dtype), Site::Nowhere);
        let empty = graph.broadcast_to(identity, of(size(count.saturating_sub(1))), Site::Nowhere);
        let tables = graph.concat(&[table, empty], 0, Site::Nowhere);
        let fill = Executable::compile(&graph.finish(&[("tables", tables)])?, options)?;
        Ok(Tables { combine, fill })
    }
}
