//! Sorts of rows and searches in sorted tables, by function calls.

use super::Generator;
use crate::emit::Val;
use broadloom_ir::dtype::{Class, DType};
use broadloom_loops::kernel::*;
use broadloom_math::{ElementType, Sorting, search_function, sort_function};
use cranelift_codegen::ir::{self, InstBuilder, types};
use smallvec::SmallVec;

impl Generator<'_, '_, '_> {
    /// Sorts the row at the current position.
    pub(super) fn sort(&mut self, sort: &SortRow) {
        let dtype = self.kernel.accesses[sort.source.index()].dtype;
        let sorting = Sorting { indices: sort.indices, descending: sort.descending };
        let address = sort_function(element_type(dtype), sorting) as usize;
        let (first, last) = self.bounds(sort.axis);
        let [target, source] = [sort.target, sort.source]
            .map(|access| self.at(sort.axis, first, 1, |generator| generator.address(access, 0)));
        let count = self.ins().isub(last, first);
        self.call_host(address, &[target, source, count]);
    }

    /// Returns the places of values in a sorted table, lane by lane.
    pub(super) fn search(
        &mut self,
        access: AccessId,
        wanted: &Val,
        stride: Stride,
        size: Extent,
        right: bool,
    ) -> Val {
        let dtype = self.kernel.accesses[access.index()].dtype;
        let address = search_function(element_type(dtype), right) as usize;
        let table = self.origin(access);
        let stride = self.stride_bytes(stride, dtype.size() as i64);
        let count = self.extent(size);
        let places: SmallVec<[Val; 16]> = (0..wanted.lanes)
            .map(|lane| {
                let value = self.emit.lane(wanted, lane).regs[0];
                let value = self.wide_bits(value, dtype);
                let call = self.call_host_for(address, &[table, stride, count, value], &[types::I64]);
                Val::scalar(DType::I64, self.emit.builder.inst_results(call)[0])
            })
            .collect();
        self.emit.from_lanes(DType::I64, &places)
    }

    /// Returns the bits of a scalar as an integer of 64 bits.
    fn wide_bits(&mut self, value: ir::Value, dtype: DType) -> ir::Value {
        let bits = match dtype {
            DType::F64 => return self.ins().bitcast(types::I64, ir::MemFlagsData::new(), value),
            _ if dtype.class() == Class::Float => {
                self.ins().bitcast(types::I32, ir::MemFlagsData::new(), value)
            }
            _ => value,
        };
        if dtype.size() == 8 { bits } else { self.ins().uextend(types::I64, bits) }
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
