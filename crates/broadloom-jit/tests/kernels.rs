//! Whole kernels on dense arrays against the interpreter, through the smallest possible host.
#![allow(unsafe_code, reason = "kernels are called on arrays of the shapes they were compiled for")]

#[path = "../../../tests/cases/expressions.rs"]
mod expressions;
mod host;

use broadloom_ir::dtype::Scalar;
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::interp::{Array, InterpretError, interpret};
use broadloom_ir::ops::Op;
use broadloom_jit::{CpuLevel, Failure, FailureAt, JitOptions, Module, Stop, UnknownKernel, compile};
use broadloom_loops::kernel::{KernelId, Role, Schedule, Stmt};
use broadloom_loops::{IndexWidth, LowerOptions, lower};
use host::{Host, Sizes, arrays, bytes, symbols};

fn run(
    schedule: &Schedule,
    module: &Module,
    inputs: &[Array],
    symbols: &[i64],
    groups: i64,
) -> Result<Vec<Vec<u8>>, Failure> {
    let host = Host { schedule, symbols: symbols.to_vec(), groups };
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
    // Versions of an array share memory.
    let last_versions = schedule.last_versions();
    for (index, kernel) in schedule.kernels.iter().enumerate() {
        let mut args: Vec<u64> =
            kernel.params.iter().map(|param| host.evaluate(param).cast_unsigned()).collect();
        for access in &kernel.accesses {
            if let Some(buffer) = access.buffer {
                let base = memory[last_versions[buffer.index()].index()].as_mut_ptr();
                let offset = host.evaluate(&access.offset) * access.dtype.size() as i64;
                args.push(base.wrapping_offset(offset as isize) as u64);
            }
        }
        let extent = host.evaluate(&kernel.steps().unwrap());
        let mut scratch = vec![[0u64; 8]; kernel.scratch_bytes() / 64 + 2];
        let scratch = scratch.as_mut_ptr().cast::<u8>();
        let scratch = scratch.wrapping_add(scratch.align_offset(64));
        let mut failure = Failure::default();
        for range in [0..extent / 3, extent / 3..extent] {
            // SAFETY: the arrays have the shapes that the schedule gives, all dense.
            unsafe { module.run(KernelId::new(index), &args, range, scratch, Stop::NEVER, &mut failure) }
                .unwrap();
        }
        if failure != Failure::default() {
            return Err(failure);
        }
    }
    let outputs =
        schedule.buffers.iter().zip(memory).filter(|(buffer, _)| matches!(buffer.role, Role::Output(_)));
    Ok(outputs.map(|(_, memory)| memory).collect())
}

#[test]
fn kernels_agree_with_the_interpreter() {
    let sizes: &[Sizes] = &[
        [("n", 5), ("m", 7), ("k", 3)].into(),
        [("n", 1), ("m", 1), ("k", 1)].into(),
        [("n", 70), ("m", 33), ("k", 17)].into(),
        [("n", 3), ("m", 1100), ("k", 65)].into(),
        [("n", 2100), ("m", 40), ("k", 5)].into(),
        [("n", 9), ("m", 5000), ("k", 2)].into(),
    ];
    for (name, build) in expressions::CASES {
        agrees(name, &expressions::graph(*build), sizes);
    }
}

#[test]
fn the_best_elements_are_those_of_the_interpreter() {
    let sizes: &[Sizes] =
        &[[("n", 5), ("m", 7)].into(), [("n", 1), ("m", 1)].into(), [("n", 70), ("m", 0)].into()];
    for (name, build) in expressions::BEST {
        agrees(name, &expressions::graph(*build), sizes);
    }
}

#[test]
fn what_is_in_order_is_that_of_the_interpreter() {
    let sizes: &[Sizes] = &[
        [("b", 3), ("n", 5), ("m", 7)].into(),
        [("b", 1), ("n", 1), ("m", 1)].into(),
        [("b", 2), ("n", 70), ("m", 0)].into(),
        [("b", 4), ("n", 0), ("m", 3)].into(),
        [("b", 2), ("n", 3), ("m", 1000)].into(),
    ];
    for (name, build) in expressions::ORDER {
        agrees(name, &expressions::graph(*build), sizes);
    }
}

#[test]
fn running_results_are_those_of_the_interpreter() {
    let sizes: &[Sizes] = &[
        [("n", 5), ("m", 7)].into(),
        [("n", 1), ("m", 1)].into(),
        [("n", 70), ("m", 0)].into(),
        [("n", 0), ("m", 3)].into(),
        // Several rows at once, over several strips.
        [("n", 7), ("m", 2100)].into(),
        [("n", 1100), ("m", 18)].into(),
    ];
    for (name, build) in expressions::SCANS {
        agrees(name, &expressions::graph(*build), sizes);
    }
}

#[test]
fn joins_and_segments_agree_with_the_interpreter() {
    let sizes: &[Sizes] = &[
        [("n", 5), ("m", 7), ("k", 3)].into(),
        [("n", 1), ("m", 1), ("k", 1)].into(),
        [("n", 70), ("m", 33), ("k", 17)].into(),
        [("n", 37), ("m", 1100), ("k", 2)].into(),
        [("n", 2), ("m", 2), ("k", 40)].into(),
        [("n", 0), ("m", 5), ("k", 2)].into(),
        [("n", 6), ("m", 3), ("k", 0)].into(),
    ];
    for (name, build) in expressions::JOINS {
        let graph = expressions::graph(*build);
        // What takes the first row of a join, or a segment, needs one.
        let can = |sizes: &Sizes| sizes["k"] > 0 || name.starts_with("concat of");
        agrees(name, &graph, &sizes.iter().filter(|sizes| can(sizes)).cloned().collect::<Vec<_>>());
    }
}

#[test]
fn reshapes_agree_with_the_interpreter() {
    let sizes: &[Sizes] = &[
        [("n", 5), ("m", 7), ("k", 3)].into(),
        [("n", 1), ("m", 1), ("k", 1)].into(),
        [("n", 70), ("m", 33), ("k", 17)].into(),
        [("n", 3), ("m", 1100), ("k", 2)].into(),
        [("n", 2100), ("m", 2), ("k", 1)].into(),
    ];
    for (name, build) in expressions::RESHAPES {
        agrees(name, &expressions::graph(*build), sizes);
    }
    let empty: &[Sizes] = &[[("n", 0), ("m", 5)].into(), [("n", 4), ("m", 0)].into()];
    for (name, build) in expressions::RESHAPES {
        if matches!(*name, "float sum of a ravelled table" | "ravelled table" | "slice of a ravelled table") {
            agrees(name, &expressions::graph(*build), empty);
        }
    }
}

#[test]
fn floats_of_16_bits_agree_with_the_interpreter() {
    let sizes: &[Sizes] = &[
        [("n", 5), ("m", 7)].into(),
        [("n", 1), ("m", 1)].into(),
        [("n", 70), ("m", 33)].into(),
        [("n", 37), ("m", 1100)].into(),
    ];
    for (name, build) in expressions::HALVES {
        agrees(name, &expressions::graph(*build), sizes);
    }
}

/// What is done once for many rows is one loop over accumulators of a kind, not code for each.
#[test]
fn sums_of_columns_share_code() {
    let bytes = |sums: usize| {
        let graph = expressions::sums_of_columns(sums);
        let options = JitOptions { verify: true, ..JitOptions::default() };
        let schedule = lower(&graph, &LowerOptions::dense(&graph, options.level.is_fused())).unwrap();
        compile(&schedule, &options).unwrap().code_bytes()
    };
    let each = (bytes(40) - bytes(10)) / 30;
    assert!(each < 1000, "{each} bytes for each sum");
}

#[test]
fn segments_of_several_blocks_agree_with_the_interpreter() {
    let sizes: &[Sizes] = &[[("n", 140_000), ("m", 2), ("k", 3)].into()];
    for (name, build) in expressions::JOINS.iter().filter(|(name, _)| matches!(*name, "segments" | "k means"))
    {
        agrees(name, &expressions::graph(*build), sizes);
    }
}

fn agrees(name: &str, graph: &CheckedGraph, sizes: &[Sizes]) {
    for level in [CpuLevel::detect(), CpuLevel::Baseline] {
        let expected: Vec<_> = sizes
            .iter()
            .map(|sizes| {
                let symbols = symbols(graph, sizes);
                let inputs = arrays(graph, &symbols);
                let outputs = interpret(graph, &inputs, level.is_fused()).unwrap();
                (symbols, inputs, outputs)
            })
            .collect();
        for vectorize in [true, false] {
            for groups in [1, 1 << 20] {
                // Both widths of running indices compute the same.
                let index_width = if groups == 1 { IndexWidth::Wide } else { IndexWidth::Narrow };
                let dense = LowerOptions::dense(graph, level.is_fused());
                let schedule =
                    lower(graph, &LowerOptions { vectorize, index_width, long_rows: groups == 1, ..dense })
                        .unwrap();
                // Code that looks whether it should end, after a few instructions, computes the same.
                for looks_after in [None, Some(64)] {
                    let options = JitOptions { verify: true, looks_after, ..JitOptions::of(level) };
                    let module = compile(&schedule, &options).unwrap();
                    for (symbols, inputs, expected) in &expected {
                        let found = run(&schedule, &module, inputs, symbols, groups).unwrap();
                        for (index, (expected, found)) in expected.iter().zip(&found).enumerate() {
                            if let Some((at, found)) = first_difference(expected, found) {
                                panic!(
                                    "{name}, output {index}, {symbols:?}, {level:?}, vectorize {vectorize}, groups {groups}, looks after {looks_after:?}: element {at} of {:?} is {found:?}, not {}\n{schedule}",
                                    expected.shape, expected.elements[at],
                                );
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the position of the first element with other bits than expected, and the bytes found there.
fn first_difference<'f>(expected: &Array, found: &'f [u8]) -> Option<(usize, &'f [u8])> {
    let (wanted, size) = (bytes(expected), expected.dtype.size());
    let mut elements = wanted.chunks(size).zip(found.chunks(size)).enumerate();
    elements.find_map(|(at, (wanted, found))| (wanted != found).then_some((at, found)))
}

#[test]
fn segments_out_of_range_are_reported_and_write_nothing_outside() {
    for (segments, wrong) in [(4, 4), (4, -1), (4, i64::MIN), (0, 0), (1, i64::MAX)] {
        for by_symbol in [false, true] {
            let graph = expressions::segments_of(if by_symbol { "k" } else { "4" });
            if !by_symbol && segments != 4 {
                continue;
            }
            let symbols: Vec<i64> = graph
                .symbols()
                .iter()
                .map(|symbol| if &*symbol.name == "n" { 70 } else { segments })
                .collect();
            let mut inputs = arrays(&graph, &symbols);
            for (row, id) in inputs[1].elements.iter_mut().enumerate() {
                *id = Scalar::I64(if row == 37 || row == 41 {
                    wrong
                } else {
                    (row as i64 % 4).min(segments - 1)
                });
            }
            let level = CpuLevel::detect();
            let Err(InterpretError::Index { expr, position, value, size }) =
                interpret(&graph, &inputs, level.is_fused())
            else {
                panic!("an id out of range is an error");
            };
            let expected = FailureAt { origin: expr, position: position as i64, value, size: size as i64 };
            for vectorize in [true, false] {
                let dense = LowerOptions::dense(&graph, level.is_fused());
                let schedule = lower(&graph, &LowerOptions { vectorize, ..dense }).unwrap();
                let options = JitOptions { verify: true, ..JitOptions::of(level) };
                let module = compile(&schedule, &options).unwrap();
                let found = run(&schedule, &module, &inputs, &symbols, 1);
                assert_eq!(found, Err(Failure { first: Some(expected) }), "{schedule}");
            }
        }
    }
}

/// Else `.ci/run` would not test what lesser CPUs run.
#[test]
fn tests_as_on_lesser_cpus_compile_for_them() {
    let most = match std::env::var("BROADLOOM_LEVEL").as_deref() {
        Ok("baseline") => CpuLevel::Baseline,
        Ok("avx2") => CpuLevel::Avx2Fma,
        _ => CpuLevel::Neon,
    };
    let widest = CpuLevel::ALL.into_iter().filter(|level| *level <= most && level.is_supported()).max();
    assert_eq!(Some(CpuLevel::detect()), widest);
}

fn tile_call() -> Schedule {
    let (_, build) = expressions::CASES.iter().find(|(name, _)| *name == "tile call").unwrap();
    let graph = expressions::graph(*build);
    lower(&graph, &LowerOptions::dense(&graph, false)).unwrap()
}

#[test]
fn what_has_no_code_is_refused() {
    let options = JitOptions::of(CpuLevel::Baseline);
    let mut schedule = tile_call();
    for stmt in &mut schedule.kernels[0].body {
        for inside in stmt.children_mut().into_iter().flatten() {
            if let Stmt::Call { op, .. } = inside {
                *op = Op::Abs;
            }
        }
    }
    let error = compile(&schedule, &options).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel k0 was refused by the code generator: abs has no tile function for f32"
    );
}

#[test]
fn a_kernel_of_another_schedule_is_an_error() {
    let options = JitOptions::of(CpuLevel::Baseline);
    let module = compile(&tile_call(), &options).unwrap();
    let unknown = KernelId::new(1);
    // SAFETY: the module has one kernel, so nothing is called.
    let result =
        unsafe { module.run(unknown, &[], 0..1, std::ptr::null_mut(), Stop::NEVER, &mut Failure::default()) };
    assert_eq!(result, Err(UnknownKernel(unknown)));
}
