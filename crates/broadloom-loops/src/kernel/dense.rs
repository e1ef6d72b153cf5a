//! Whether short rows of a table can be walked as one.

use super::*;

impl Kernel {
    /// Whether all that a [`Stream`] reads of the rows of tables lies row behind row, as along one axis, and nothing
    /// else tells the elements of two rows apart: then a walk may go on from one row into the next.
    pub fn has_dense_rows(&self, stream: &Stream) -> bool {
        let is_value = |entry: &StreamAccumulator| {
            matches!(entry.accumulator.operand, Contribution::Value(_) | Contribution::Product(..))
        };
        let mut filled = Vec::new();
        stream.per_step.is_empty()
            && stream.accumulators.iter().all(is_value)
            && [&stream.prologue, &stream.body]
                .into_iter()
                .all(|body| self.is_dense(stream, body, &mut filled))
    }

    fn is_dense(&self, stream: &Stream, body: &[Stmt], filled: &mut Vec<RowId>) -> bool {
        body.iter().all(|stmt| match stmt {
            Stmt::Let(value) => self.is_dense_value(stream, &self.values[value.index()].def, filled),
            Stmt::Put { row, axis, .. } => {
                filled.push(*row);
                *axis == stream.strip
            }
            Stmt::For { axis, body, .. } => *axis == stream.strip && self.is_dense(stream, body, filled),
            Stmt::Call { target, args, axis, .. } => {
                let are_filled = args.iter().all(|row| filled.contains(row));
                filled.push(*target);
                *axis == stream.strip && are_filled
            }
            Stmt::Store { .. }
            | Stmt::Scatter { .. }
            | Stmt::Strip { .. }
            | Stmt::Reduce(_)
            | Stmt::Stream(_)
            | Stmt::Pairs(_)
            | Stmt::Transpose { .. }
            | Stmt::Gather { .. } => false,
        })
    }

    fn is_dense_value(&self, stream: &Stream, def: &Def, filled: &[RowId]) -> bool {
        let along_rows = match self.axes[stream.strip.index()].extent {
            Extent::Constant(extent) => Stride::Constant(extent),
            Extent::Param(extent) => Stride::Param(extent),
        };
        let is_dense = |access: AccessId| {
            let access = &self.accesses[access.index()];
            match (access.stride(stream.axis), access.stride(stream.strip)) {
                (None, None) => true,
                (along, Some(Stride::Constant(1))) => along == Some(along_rows),
                _ => false,
            }
        };
        match def {
            Def::Index(axis) => *axis != stream.axis && *axis != stream.strip,
            Def::Row(row, axis) => *axis == stream.strip && filled.contains(row),
            Def::Take { .. } | Def::Segment { .. } => false,
            Def::Constant(_)
            | Def::Param(_)
            | Def::Load { .. }
            | Def::Op { .. }
            | Def::Select(_)
            | Def::Cast(_)
            | Def::Reduced => def.accesses().into_iter().all(|(access, _)| is_dense(access)),
        }
    }
}
