//! Random graphs run chunk by chunk: the interpreter's bits again, for any leading axis that can be cut.

use crate::arrays::{Random, read};
use crate::build::Built;
use crate::check::{Data, ELEMENTS, data, difference, is_of_sizes};
use broadloom::{
    ArrayInfo, ArrayView, ChunkError, Chunked, CompileOptions, CpuLevel, Inputs, Outputs, Scalar, Threads,
};
use broadloom_ir::ExprId;
use broadloom_ir::graph::Node;
use broadloom_ir::interp::{Array, InterpretError};
use std::collections::BTreeMap;

/// What was cut so far.
#[derive(Debug, Default)]
pub struct Tally {
    /// Graphs and axes along which they were run in chunks.
    pub cut: usize,
    /// Those that needed several passes.
    pub several_passes: usize,
    /// Those of which chunks are whole blocks.
    pub by_blocks: usize,
    /// Runs whose last rows were fewer than a block behind others.
    pub tails: usize,
    /// Those whose rows are reduced over along another axis than the first: those of the second operand of a pair.
    pub reduced: usize,
    /// Those that find the best of their rows.
    pub best: usize,
    /// Those that have sizes which the data decide.
    pub decided: usize,
    /// By the kind of refusal.
    pub refused: BTreeMap<String, usize>,
}

/// Whether a graph, run in chunks along each of its leading axes that can be cut, computes what the interpreter does.
pub fn check(built: &Built, all_sizes: &[[usize; 3]], seed: u64, tally: &mut Tally) -> Result<(), String> {
    let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
    let compiled = built.graph.compile_with(built.named_outputs(), &options);
    let executable = compiled.map_err(|error| match built.graph.finish(built.named_outputs()) {
        Ok(graph) => format!("{error}\n{graph}"),
        Err(_) => error.to_string(),
    })?;
    let graph = executable.graph();
    for rows in executable.leading_sizes() {
        let chunked = match executable.in_chunks(&rows) {
            Ok(chunked) => chunked,
            Err(ChunkError::Refused { refusal, .. }) => {
                *tally.refused.entry(format!("{refusal:?}")).or_default() += 1;
                continue;
            }
            Err(error) => return Err(format!("{rows}: {error:?}\n{graph}")),
        };
        tally.cut += 1;
        let is_of_rows = |operand: &ExprId, axis: usize| {
            let size = graph.shape(*operand)[axis].as_symbol();
            size.is_some_and(|symbol| *graph.symbols()[symbol.index()].name == *rows)
        };
        tally.reduced += usize::from(graph.exprs().any(|expr| match graph.node(expr) {
            Node::Reduce { operand, axes, .. } => {
                axes.iter().any(|axis| *axis > 0 && is_of_rows(operand, *axis))
            }
            _ => false,
        }));
        tally.best += usize::from(graph.exprs().any(|expr| match graph.node(expr) {
            Node::TopK { operand, topk } => is_of_rows(operand, topk.axis),
            _ => false,
        }));
        tally.decided += usize::from(graph.has_decided_sizes());
        tally.several_passes += usize::from(chunked.passes() > 1);
        tally.by_blocks += usize::from(chunked.multiple() == 1024);
        let dense = vec![crate::arrays::Lay::Dense; graph.inputs().len()];
        for (index, sizes) in (0..).zip(all_sizes) {
            let data = data(graph, *sizes, Random::new(seed, index), &dense, ELEMENTS);
            let want = data.want(CpuLevel::detect().is_fused());
            let mut random = Random::new(seed, 1000 + index);
            let got = run(&chunked, &data, &mut random, tally);
            let whole =
                data.views().into_iter().fold(Inputs::new(), |all, (name, view)| all.named(name, view));
            let runs_whole = executable.run(whole).is_ok();
            compare(&chunked, want, got, runs_whole)
                .map_err(|problem| format!("{rows} of {sizes:?}: {problem}\n{graph}"))?;
        }
    }
    Ok(())
}

/// Elements of the outputs by name.
type Elements = BTreeMap<String, Vec<Scalar>>;

fn extend(all: &mut Elements, outputs: &Outputs) {
    for (name, array) in outputs.iter() {
        all.entry(name.to_string()).or_default().extend(read(array));
    }
}

/// The arrays of these names.
fn among<'a>(infos: &[ArrayInfo], inputs: &[(String, ArrayView<'a>)]) -> Vec<(String, ArrayView<'a>)> {
    let is_one = |name: &String| infos.iter().any(|info| info.name == *name);
    inputs.iter().filter(|(name, _)| is_one(name)).cloned().collect()
}

fn run(
    chunked: &Chunked,
    data: &Data,
    random: &mut Random,
    tally: &mut Tally,
) -> Result<Elements, ChunkError> {
    let all: Vec<(String, ArrayView<'_>)> = data.views();
    let streamed = among(&chunked.streamed(), &all);
    let mut fixed = Inputs::new();
    for (name, view) in among(&chunked.fixed(), &all) {
        fixed = fixed.named(name, view);
    }
    // Rows beyond those of the shortest input are left out, as no chunk has them.
    let length = streamed.iter().filter_map(|(_, view)| view.shape().first().copied()).min().unwrap_or(0);
    let mut run = chunked.start(fixed)?;
    let mut elements = Elements::new();
    let most = [1, 2, 5, 40][random.below(4)];
    for _ in 0..chunked.passes() {
        let mut start = 0;
        loop {
            let rows = (chunked.multiple() * (1 + random.below(most))).min(length - start);
            tally.tails += usize::from(start > 0 && rows % 1024 != 0);
            let part = streamed.iter().fold(Inputs::new(), |inputs, (name, view)| {
                inputs.named(name.clone(), view.rows(start..start + rows).expect("rows within the array"))
            });
            extend(&mut elements, &run.push(part)?);
            start += rows;
            if start == length {
                break;
            }
        }
        run.end_pass()?;
    }
    extend(&mut elements, &run.finish()?);
    Ok(elements)
}

fn compare(
    chunked: &Chunked,
    want: &Result<Vec<Array>, InterpretError>,
    got: Result<Elements, ChunkError>,
    runs_whole: bool,
) -> Result<(), String> {
    match (want, got) {
        (Ok(want), Ok(got)) => {
            let outputs = chunked.executable().graph().outputs();
            for (want, output) in want.iter().zip(outputs) {
                let Some(got) = got.get(&*output.name) else {
                    return Err(format!("there is no output {:?}", output.name));
                };
                if let Some(difference) = difference(want, got) {
                    return Err(format!("output {:?}: {difference}", output.name));
                }
            }
            Ok(())
        }
        (Err(InterpretError::TooLarge { .. }), _) => Ok(()),
        (Err(error), Err(ChunkError::Bind(_) | ChunkError::Changed { .. })) if is_of_sizes(error) => Ok(()),
        (Err(_), Err(ChunkError::Run(_))) => Ok(()),
        (Ok(_), Err(error)) => Err(format!("fails: {error:?}")),
        // The interpreter also checks inputs that no output needs.
        (Err(error), Ok(_)) if is_of_sizes(error) && runs_whole => Ok(()),
        (Err(error), Ok(_)) => Err(format!("gives a result, but should fail: {error}")),
        (Err(expected), Err(error)) => Err(format!("fails: {error}\nbut should fail: {expected}")),
    }
}
