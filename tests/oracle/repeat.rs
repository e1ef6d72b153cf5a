//! Compiling a graph again gives the same code, whatever the order in which hash maps hold things.

use crate::build::Built;
use broadloom::CheckedGraph;
use broadloom_ir::transform::prepare;
use broadloom_jit::{CpuLevel, JitOptions, target_of};
use broadloom_loops::LowerOptions;
use broadloom_loops::kernel::KernelId;
use std::fmt::Write;

/// Compilations of a graph. Two orders of a map with few entries are often the same.
const TIMES: usize = 4;

/// Whether compiling a graph again gives the same loops and the same instructions.
pub fn check(built: &Built) -> Result<(), String> {
    let graph = built.graph.finish(built.named_outputs()).map_err(|mistakes| mistakes.to_string())?;
    let first = code(&graph)?;
    for _ in 1..TIMES {
        let again = code(&graph)?;
        if again != first {
            return Err(format!("{graph}\ncompiled to\n{first}\nand to\n{again}"));
        }
    }
    Ok(())
}

/// The loops of a graph, and what they are as instructions, without their addresses.
fn code(graph: &CheckedGraph) -> Result<String, String> {
    let level = CpuLevel::detect();
    let options = JitOptions { keep_text: true, ..JitOptions::of(level) };
    let facts = LowerOptions {
        target: target_of(level, options.vector_bytes),
        ..LowerOptions::dense(graph, level.is_fused())
    };
    let schedule =
        broadloom_loops::lower(&prepare(graph).graph, &facts).map_err(|error| error.to_string())?;
    let module = broadloom_jit::compile(&schedule, &options).map_err(|error| error.to_string())?;
    let mut code = format!("{schedule}\n{:?}\n", schedule.assumptions);
    for kernel in (0..schedule.kernels.len()).map(KernelId::new) {
        for text in [module.clif(kernel), module.disassembly(kernel)].into_iter().flatten() {
            writeln!(code, "{text}").map_err(|error| error.to_string())?;
        }
    }
    Ok(code)
}
