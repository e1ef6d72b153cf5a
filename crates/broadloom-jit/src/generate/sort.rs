//! Sorts of rows and searches in sorted tables, by function calls.

use super::Generator;
use super::polls::{SEARCHED, SORTED};
use crate::emit::{LaneStride, Val};
use crate::failure::Watch;
use broadloom_ir::dtype::DType;
use broadloom_loops::kernel::*;
use broadloom_math::{ElementType, Sorting, search_function, sort_function};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, types};

impl Generator<'_, '_, '_> {
    /// Sorts the row at the current position.
    pub(super) fn sort(&mut self, sort: &SortRow) {
        let dtype = self.kernel.accesses[sort.source.index()].dtype;
        let sorting = Sorting { indices: sort.indices, descending: sort.descending };
        let address = sort_function(element_type(dtype), sorting, self.emit.level) as usize;
        let (first, last) = self.bounds(sort.axis);
        let [target, source] = [sort.target, sort.source]
            .map(|access| self.at(sort.axis, first, 1, |generator| generator.address(access, 0)));
        let count = self.ins().isub(last, first);
        let (watch, flags) = (self.watch, MemFlagsData::trusted().with_readonly());
        let stop = self.ins().load(types::I64, flags, watch, Watch::STOP);
        self.call_host(address, &[target, source, count, stop]);
        self.spend(count, SORTED);
    }

    /// Returns the places of values in a sorted table. The function reads the values from the stack, and leaves the places there.
    pub(super) fn search(
        &mut self,
        access: AccessId,
        wanted: &Val,
        stride: Stride,
        size: Extent,
        right: bool,
    ) -> Val {
        let dtype = self.kernel.accesses[access.index()].dtype;
        let address = search_function(element_type(dtype), right, self.emit.level) as usize;
        let table = self.origin(access);
        let stride = self.stride_bytes(stride, dtype.size() as i64);
        let count = self.extent(size);
        let [values, places] =
            [dtype, DType::I64].map(|dtype| self.emit.stack_of_lines((wanted.lanes * dtype.size()) as u32));
        self.emit.store(values, 0, wanted, LaneStride::Unit);
        let lanes = self.constant(wanted.lanes as i64);
        self.weigh(SEARCHED * wanted.lanes);
        self.call_host(address, &[places, table, stride, count, values, lanes]);
        self.emit.load(places, 0, DType::I64, wanted.lanes, LaneStride::Unit)
    }
}

/// Returns the type of the elements of a dtype in memory.
pub(super) fn element_type(dtype: DType) -> ElementType {
    match dtype {
        DType::Bool => ElementType::Bool,
        DType::I8 => ElementType::I8,
        DType::I16 => ElementType::I16,
        DType::I32 => ElementType::I32,
        DType::I64 => ElementType::I64,
        DType::U8 => ElementType::U8,
        DType::U16 => ElementType::U16,
        DType::U32 => ElementType::U32,
        DType::U64 => ElementType::U64,
        DType::F16 => ElementType::F16,
        DType::Bf16 => ElementType::Bf16,
        DType::F32 => ElementType::F32,
        DType::F64 => ElementType::F64,
    }
}
