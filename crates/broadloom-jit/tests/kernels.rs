//! Whole kernels on dense arrays against the interpreter, through the smallest possible host.
#![allow(unsafe_code, reason = "kernels are called on arrays of the shapes they were compiled for")]

#[path = "../../../tests/cases/expressions.rs"]
mod expressions;

use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::interp::{Array, interpret};
use broadloom_jit::{CpuLevel, Failure, JitOptions, compile};
use broadloom_loops::kernel::{HostSymbol, KernelId, Role, Schedule};
use broadloom_loops::{IndexWidth, LowerOptions, lower};
use std::collections::HashMap;

fn value(dtype: DType, state: &mut u64) -> Scalar {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let bits = *state >> 33;
    match dtype {
        DType::F32 | DType::F64 => Scalar::F64((bits % 2000) as f64 / 256.0 - 4.0).cast(dtype),
        DType::Bool | DType::U8 | DType::I32 | DType::I64 => Scalar::I64((bits % 8) as i64 - 4).cast(dtype),
    }
}

fn bytes(array: &Array) -> Vec<u8> {
    let element =
        |value: &Scalar| value.bits().to_le_bytes().into_iter().take(array.dtype.size()).collect::<Vec<_>>();
    array.elements.iter().flat_map(element).collect()
}

/// Sizes of the graph's symbols and values of the schedule's own ones.
struct Host<'a> {
    schedule: &'a Schedule,
    symbols: Vec<i64>,
    groups: i64,
}

impl Host<'_> {
    fn evaluate(&self, dim: &Dim) -> i64 {
        dim.evaluate(&|symbol: SymbolId| {
            let index = symbol.index();
            if let Some(&value) = self.symbols.get(index) {
                return Some(value);
            }
            match self.schedule.host_symbols[index - self.symbols.len()] {
                HostSymbol::Stride { .. } => None,
                HostSymbol::GroupCount(group) => {
                    let extent = self.evaluate(&self.schedule.groups[group].extent);
                    Some((extent + self.length(group) - 1).div_euclid(self.length(group)).max(1))
                }
                HostSymbol::GroupLength(group) => Some(self.length(group)),
            }
        })
        .unwrap()
    }

    fn length(&self, group: usize) -> i64 {
        self.schedule.groups[group].unit as i64 * self.groups
    }
}

fn run(
    graph: &CheckedGraph,
    inputs: &[Array],
    symbols: &[i64],
    groups: i64,
    options: &LowerOptions,
    level: CpuLevel,
) -> Vec<Vec<u8>> {
    let schedule = lower(graph, options).unwrap();
    let module = compile(&schedule, &JitOptions { level, keep_text: false, verify: true }).unwrap();
    let host = Host { schedule: &schedule, symbols: symbols.to_vec(), groups };
    let mut memory: Vec<Vec<u8>> = schedule
        .buffers
        .iter()
        .map(|buffer| match buffer.role {
            Role::Input(input) => bytes(&inputs[input.index()]),
            Role::Output(_) | Role::Temporary => {
                let count: i64 = buffer.shape.iter().map(|dim| host.evaluate(dim)).product();
                vec![0xa5; count as usize * buffer.dtype.size()]
            }
        })
        .collect();
    for (index, kernel) in schedule.kernels.iter().enumerate() {
        let mut args: Vec<u64> =
            kernel.params.iter().map(|param| host.evaluate(param).cast_unsigned()).collect();
        for access in &kernel.accesses {
            if let Some(buffer) = access.buffer {
                let base = memory[buffer.index()].as_mut_ptr();
                let offset = host.evaluate(&access.offset) * access.dtype.size() as i64;
                args.push(base.wrapping_offset(offset as isize) as u64);
            }
        }
        let extent = kernel.parallel.map_or(1, |axis| match kernel.axes[axis.index()].extent {
            broadloom_loops::kernel::Extent::Constant(extent) => extent,
            broadloom_loops::kernel::Extent::Param(param) => args[param.index()].cast_signed(),
        });
        let mut scratch = vec![[0u64; 8]; kernel.scratch_bytes() / 64 + 2];
        let scratch = scratch.as_mut_ptr().cast::<u8>();
        let scratch = scratch.wrapping_add(scratch.align_offset(64));
        let mut failure = Failure::default();
        for range in [0..extent / 3, extent / 3..extent] {
            // SAFETY: the arrays have the shapes that the schedule gives, all dense.
            unsafe { module.run(KernelId::new(index), &args, range, scratch, &mut failure) };
        }
        assert_eq!(failure, Failure::default());
    }
    let outputs =
        schedule.buffers.iter().zip(memory).filter(|(buffer, _)| matches!(buffer.role, Role::Output(_)));
    outputs.map(|(_, memory)| memory).collect()
}

#[test]
fn kernels_agree_with_the_interpreter() {
    let sizes: &[HashMap<&str, i64>] = &[
        [("n", 5), ("m", 7), ("k", 3)].into(),
        [("n", 1), ("m", 1), ("k", 1)].into(),
        [("n", 70), ("m", 33), ("k", 17)].into(),
        [("n", 3), ("m", 1100), ("k", 65)].into(),
        [("n", 2100), ("m", 40), ("k", 5)].into(),
        [("n", 9), ("m", 5000), ("k", 2)].into(),
    ];
    for (name, build) in expressions::CASES {
        let graph = expressions::graph(*build);
        for sizes in sizes {
            let symbols: Vec<i64> =
                graph.symbols().iter().map(|symbol| sizes[&*symbol.name.to_string()]).collect();
            let mut state = 7;
            let inputs: Vec<Array> = graph
                .inputs()
                .iter()
                .map(|input| {
                    let evaluate =
                        |dim: &Dim| dim.evaluate(&|symbol| Some(symbols[symbol.index()])).unwrap() as usize;
                    let shape: Vec<usize> = input.shape.iter().map(evaluate).collect();
                    let count = shape.iter().product();
                    Array {
                        dtype: input.dtype,
                        shape,
                        elements: (0..count).map(|_| value(input.dtype, &mut state)).collect(),
                    }
                })
                .collect();
            for level in [CpuLevel::detect(), CpuLevel::Baseline] {
                let expected = interpret(&graph, &inputs, level.is_fused()).unwrap();
                for vectorize in [true, false] {
                    for groups in [1, 1 << 20] {
                        // Both widths of running indices compute the same.
                        let index_width = if groups == 1 { IndexWidth::Wide } else { IndexWidth::Narrow };
                        let dense = LowerOptions::dense(&graph, level.is_fused());
                        let options = LowerOptions { vectorize, index_width, ..dense };
                        let found = run(&graph, &inputs, &symbols, groups, &options, level);
                        for (index, (expected, found)) in expected.iter().zip(&found).enumerate() {
                            let wanted = bytes(expected);
                            let size = expected.dtype.size();
                            if let Some(at) = (0..wanted.len() / size)
                                .find(|at| wanted[at * size..][..size] != found[at * size..][..size])
                            {
                                panic!(
                                    "{name}, output {index}, {sizes:?}, {level:?}, vectorize {vectorize}, groups {groups}: element {at} of {:?} is {:?}, not {}\n{}",
                                    expected.shape,
                                    &found[at * size..][..size],
                                    expected.elements[at],
                                    lower(&graph, &options).unwrap(),
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}
