//! Whether short rows of a table can be walked as one: promise 7.

use super::*;

impl Scope<'_> {
    /// Whether a [`Stream`] reads only contiguous rows of tables, nothing else distinguishes the elements of two rows, and there
    /// are lanes for several: then a walk may continue from one row into the next.
    pub(super) fn has_dense_rows(&self, stream: &Stream) -> bool {
        let has_lanes =
            |entry: &StreamAccumulator| entry.tree.is_some() && !entry.accumulator.operand.is_indexed();
        let mut filled = Vec::new();
        stream.per_step.is_empty()
            && stream.accumulators.iter().all(has_lanes)
            && [&stream.prologue, &stream.body]
                .into_iter()
                .all(|body| self.is_dense(stream, body, &mut filled))
    }

    fn is_dense(&self, stream: &Stream, body: &[Stmt], filled: &mut Vec<RowId>) -> bool {
        body.iter().all(|stmt| match stmt {
            Stmt::Let(value) => self.is_dense_value(stream, &self.kernel.values[value.index()].def, filled),
            Stmt::Put { row, axis, .. } => {
                filled.push(*row);
                *axis == stream.strip
            }
            Stmt::For { axis, body, .. } => *axis == stream.strip && self.is_dense(stream, body, filled),
            Stmt::Call { target, args, axis, .. } => {
                let is_dense = |arg: &Operand| match *arg {
                    Operand::Row(row) => filled.contains(&row),
                    Operand::Array { access, .. } => self.is_dense_access(stream, access),
                };
                let are_dense = args.iter().all(is_dense);
                filled.extend(target.row());
                *axis == stream.strip && are_dense && target.row().is_some()
            }
            _ => false,
        })
    }

    fn is_dense_value(&self, stream: &Stream, def: &Def, filled: &[RowId]) -> bool {
        match def {
            Def::Index(axis) => *axis != stream.axis && *axis != stream.strip,
            Def::Row(row, axis) => *axis == stream.strip && filled.contains(row),
            Def::Take { .. } | Def::Search { .. } | Def::Checked { .. } => false,
            Def::Constant(_)
            | Def::Param(_)
            | Def::Load { .. }
            | Def::Op { .. }
            | Def::Select(_)
            | Def::Cast(_)
            | Def::Reduced => {
                def.accesses().into_iter().all(|(access, _)| self.is_dense_access(stream, access))
            }
        }
    }

    fn is_dense_access(&self, stream: &Stream, access: AccessId) -> bool {
        let along_rows = match self.kernel.axes[stream.strip.index()].extent {
            Extent::Constant(extent) => Stride::Constant(extent),
            Extent::Param(extent) => Stride::Param(extent),
        };
        let access = &self.kernel.accesses[access.index()];
        match (access.stride(stream.axis), access.stride(stream.strip)) {
            (None, None) => true,
            (along, Some(Stride::Constant(1))) => along == Some(along_rows),
            _ => false,
        }
    }
}
