//! Promises of sorted rows.

use super::{Fault, Scope};
use crate::kernel::*;
use broadloom_ir::dtype::DType;

impl Scope<'_> {
    pub(super) fn sort(&mut self, sort: &SortRow) -> Result<(), Fault> {
        let axis = sort.axis;
        self.extent(self.axis(axis)?.extent)?;
        if self.walked[axis.index()] || self.strips[axis.index()].is_some() {
            return Err(Fault::Nested(axis));
        }
        if self.vector.is_some() || self.kernel.parallel == Some(axis) {
            return Err(Fault::Form(axis));
        }
        let access = self.moved(sort.source, &[axis])?;
        let source = self.buffer(sort.source, access)?.dtype;
        let target = self.target(sort.target, &[axis])?;
        for id in [sort.source, sort.target] {
            if !self.moved(id, &[axis])?.is_unit(axis) {
                return Err(Fault::Moved(id));
            }
        }
        // The function reads one row and writes another, in separate memory.
        let target_access = self.moved(sort.target, &[axis])?;
        let is_apart = target_access.buffer != access.buffer;
        let left = if sort.indices { DType::I64 } else { source };
        if target == left && is_apart { Ok(()) } else { Err(Fault::Buffer(sort.target)) }
    }
}
