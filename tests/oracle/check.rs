//! One case: a graph, run in every way on several sizes.

use crate::arrays::{Lay, Memory, Random, index_bounds, random_array, read};
use crate::build::Built;
use crate::recipe::SIZES;
use crate::substitute::substitute;
use broadloom::{
    ArrayView, CallError, CheckedGraph, CompileOptions, CpuLevel, Executable, Graph, Inputs, OutputsMut,
    Scalar, Tensor, Threads,
};
use broadloom_ir::SymbolId;
use broadloom_ir::interp::{Array, InterpretError, interpret};
use broadloom_ir::shape::Shape;
use std::cell::OnceCell;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

/// Elements of all tensors of a graph together, of which the interpreter computes each.
/// The second bound holds for one set of sizes in eight, so that fixed trees and strips come to several blocks.
pub const ELEMENTS: [i64; 2] = [40_000, 600_000];
/// The bounds on elements where there are many graphs rather than many ways to run each.
const FEWER_ELEMENTS: [i64; 2] = [4_000, 40_000];

static POOL: LazyLock<Arc<rayon::ThreadPool>> = LazyLock::new(|| {
    Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads can be started"))
});

/// The ways in which a graph is compiled and run, each with machine code or threads of its own.
fn ways() -> Vec<CompileOptions> {
    let way = |level, vectorize, shared| CompileOptions {
        threads: if shared { Threads::Pool(POOL.clone()) } else { Threads::Calling },
        level,
        vectorize,
        parallel_threshold: 0,
        ..CompileOptions::default()
    };
    let mut ways = vec![way(None, true, false), way(None, true, true), way(None, false, false)];
    let own = CpuLevel::detect();
    if own != CpuLevel::Baseline {
        ways.push(way(Some(CpuLevel::Baseline), true, true));
        ways.push(CompileOptions { vector_bytes: 16, ..way(None, true, false) });
        ways.push(way(Some(CpuLevel::Baseline), false, false));
    }
    if CpuLevel::Avx2Fma.is_supported() && own != CpuLevel::Avx2Fma {
        ways.push(way(Some(CpuLevel::Avx2Fma), true, false));
    }
    ways
}

/// Which of all ways a graph goes, which has a number: by default one in three, so that neighbours in a list of graphs go
/// different ways, and all of them if many cases are asked for.
fn goes(number: u64, way: u64) -> bool {
    (number.wrapping_add(way)).is_multiple_of(3) || is_deep()
}

/// Whether the environment asks for more than an ordinary run.
pub fn is_deep() -> bool {
    ["BROADLOOM_DEEP", "PROPTEST_CASES"].into_iter().any(|name| std::env::var_os(name).is_some())
}

/// The inputs of a case at some sizes, and what the interpreter makes of them.
pub struct Data {
    graph: CheckedGraph,
    sizes: [usize; 3],
    arrays: Vec<Array>,
    /// Dense, and in the layouts of the case.
    inputs: [Vec<Memory>; 2],
    /// Unfused and fused, each once it is asked for.
    want: [OnceCell<Result<Vec<Array>, InterpretError>>; 2],
}

impl Data {
    /// Given inputs in some layouts; `sizes` are those of the graph's symbols.
    pub fn of(graph: &CheckedGraph, sizes: [usize; 3], arrays: Vec<Array>, lays: &[Lay]) -> Data {
        let still = arrays.iter().map(|array| vec![false; array.shape.len()]).collect();
        Data::repeating(graph, sizes, arrays, still, lays)
    }

    /// Given inputs in some layouts; `still` says for each array the axes along which its elements are all the same.
    fn repeating(
        graph: &CheckedGraph,
        sizes: [usize; 3],
        arrays: Vec<Array>,
        still: Vec<Vec<bool>>,
        lays: &[Lay],
    ) -> Data {
        let holding = |dense: bool| -> Vec<Memory> {
            let lay = |lay: Lay| if dense { Lay::Dense } else { lay };
            let each = arrays.iter().zip(&still).zip(lays);
            each.map(|((array, still), of)| Memory::holding(array, still, lay(*of))).collect()
        };
        let inputs = [holding(true), holding(false)];
        Data { graph: graph.clone(), sizes, arrays, inputs, want: Default::default() }
    }

    /// What the interpreter computes, on levels that fuse products with sums or on others.
    pub fn want(&self, fused: bool) -> &Result<Vec<Array>, InterpretError> {
        self.want[usize::from(fused)].get_or_init(|| interpret(&self.graph, &self.arrays, fused))
    }

    /// The inputs by name, dense.
    pub fn views(&self) -> Vec<(String, ArrayView<'_>)> {
        let views = self.inputs[0].iter().map(|memory| memory.view().expect("an input fits its memory"));
        self.graph.inputs().iter().map(|input| input.name.to_string()).zip(views).collect()
    }
}

/// Whether the compiled outputs of a graph agree with the interpreter at all of some sizes, given as indices of
/// [`SIZES`]; if not, all about it. Elements and layouts follow from the seed.
pub fn check(built: &Built, all_sizes: &[[usize; 3]], seed: u64) -> Result<(), String> {
    let (data, outputs) = case(built, all_sizes, seed, ELEMENTS)?;
    compare(&built.graph, &built.named_outputs(), &data, &outputs, seed)
}

/// Whether the compiled outputs of a graph agree with the interpreter in one way and at one of the sizes, both chosen by the
/// seed: a tenth of the work of [`check`], for many more graphs.
pub fn check_in_one_way(built: &Built, all_sizes: &[[usize; 3]], seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed, 98);
    let sizes = all_sizes[random.below(all_sizes.len())];
    let (data, outputs) = case(built, &[sizes], seed, FEWER_ELEMENTS)?;
    let ways = ways();
    let options = &ways[random.below(ways.len())];
    let layouts = (random.below(4) == 0).then_some(&outputs[..]);
    compare_in(options, &built.graph, &built.named_outputs(), &data, layouts)
}

/// The data of a graph at some sizes, and layouts of its outputs. `most` is as in [`data`].
fn case(
    built: &Built,
    all_sizes: &[[usize; 3]],
    seed: u64,
    most: [i64; 2],
) -> Result<(Vec<Data>, Vec<Lay>), String> {
    let graph = built.graph.finish(built.named_outputs()).map_err(|mistakes| mistakes.to_string())?;
    let last_case = concat!(env!("CARGO_TARGET_TMPDIR"), "/oracle-last-case.txt");
    let _ = std::fs::write(last_case, format!("{graph}\nsizes {all_sizes:?}, seed {seed}\n"));
    let mut random = Random::new(seed, 99);
    let mut lays = |count: usize, some: &[Lay]| -> Vec<Lay> {
        (0..count).map(|_| some[random.below(some.len())]).collect()
    };
    let inputs = lays(graph.inputs().len(), &Lay::ALL);
    let outputs = lays(graph.outputs().len(), &Lay::DISTINCT);
    let numbered = (0..).zip(all_sizes);
    let of =
        |(index, sizes): (u64, &[usize; 3])| data(&graph, *sizes, Random::new(seed, index), &inputs, most);
    Ok((numbered.map(of).collect(), outputs))
}

/// Whether a graph with numbers in place of its symbols is accepted, with the same shapes, and computes the same bits,
/// also where the numbers are put when it is checked already; and that one executable of the graph with symbols does so
/// for all sizes without being compiled again, but for short ones.
pub fn check_substituted(built: &Built, all_sizes: &[[usize; 3]], seed: u64) -> Result<(), String> {
    let graph = built.graph.finish(built.named_outputs()).map_err(|mistakes| mistakes.to_string())?;
    let symbolic = built.graph.compile(built.named_outputs()).map_err(|error| error.to_string())?;
    let dense = vec![Lay::Dense; graph.inputs().len()];
    for (index, sizes) in (0..).zip(all_sizes) {
        let data = data(&graph, *sizes, Random::new(seed, index), &dense, ELEMENTS);
        let want = data.want(CpuLevel::detect().is_fused());
        if want.is_err() {
            continue;
        }
        // Symbols of inferred sizes that nothing decides are 0, as in the data.
        let value = |symbol: SymbolId| Some(data.sizes.get(symbol.index()).map_or(0, |size| *size as i64));
        let concrete = substitute(&graph, &value);
        let outputs = concrete.outputs.iter().map(|(name, tensor)| (name.as_str(), *tensor));
        let executable = concrete.graph.compile(outputs).map_err(|error| error.to_string())?;
        run(&executable, &data, want, None).map_err(|problem| format!("with numbers: {problem}\n{graph}"))?;
        run(&symbolic, &data, want, None).map_err(|problem| format!("with symbols: {problem}\n{graph}"))?;
        let numbers = (0..graph.symbols().len()).map(SymbolId::new);
        let numbers: Vec<(SymbolId, i64)> = numbers
            .filter_map(|symbol| Some((symbol, value(symbol)?)))
            .filter(|(_, size)| *size > 1)
            .collect();
        let put = graph.with_sizes(&numbers).map_err(|error| error.to_string())?;
        let executable =
            Executable::compile(&put, &CompileOptions::default()).map_err(|error| error.to_string())?;
        run(&executable, &data, want, None)
            .map_err(|problem| format!("with numbers put: {problem}\n{put}"))?;
    }
    let stretches = graph.inputs().iter().any(|input| !input.may_be_one.is_empty());
    match symbolic.explain().variants() {
        // The general code, and few for what some sizes allow.
        1..=16 => Ok(()),
        _ if stretches => Ok(()),
        variants => Err(format!("compiled {variants} times\n{graph}")),
    }
}

/// Whether the compiled outputs of a graph agree with the interpreter in the ways that its number selects: on dense arrays, and
/// in half of the ways also on arrays of other layouts.
pub fn compare(
    graph: &Graph,
    outputs: &[(&str, Tensor)],
    data: &[Data],
    lays: &[Lay],
    number: u64,
) -> Result<(), String> {
    let ways = ways();
    for (way, options) in (0..).zip(&ways).filter(|(way, _)| goes(number, *way)) {
        // Code for other layouts takes long to compile: not in every way.
        let layouts = (number / 3 + way).is_multiple_of(2).then_some(lays);
        compare_in(options, graph, outputs, data, layouts)?;
    }
    Ok(())
}

/// Whether the compiled outputs of a graph agree with the interpreter with some options: on dense arrays, and if `layouts`
/// are given, on arrays of other layouts as well.
fn compare_in(
    options: &CompileOptions,
    graph: &Graph,
    outputs: &[(&str, Tensor)],
    data: &[Data],
    layouts: Option<&[Lay]>,
) -> Result<(), String> {
    let compiled = catch_unwind(AssertUnwindSafe(|| graph.compile_with(outputs.iter().copied(), options)));
    let executable = match compiled {
        Ok(Ok(executable)) => executable,
        Ok(Err(error)) => return Err(format!("does not compile: {error}\n{options:?}")),
        Err(_) => return Err(format!("compiling panics\n{options:?}")),
    };
    let level = options.level.unwrap_or_else(CpuLevel::detect);
    let results = catch_unwind(AssertUnwindSafe(|| {
        for data in data {
            let want = data.want(level.is_fused());
            run(&executable, data, want, None)?;
            if layouts.is_some() {
                run(&executable, data, want, layouts)?;
            }
        }
        Ok(())
    }));
    let problem = match results {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(problem)) => problem,
        Err(_) => "running panics".to_string(),
    };
    let explanation = executable.explain();
    let graph = executable.graph();
    Err(format!("{problem}\n\n{graph}\n{explanation}\nlevel {level}, {options:?}"))
}

/// Concrete shapes of expressions at some sizes; what cannot be computed, or is negative, is 0. Sizes that the data decide, whose
/// symbols come later, count as the largest of these.
fn concrete(shape: &Shape, sizes: &[usize; 3]) -> Vec<usize> {
    let most = sizes.iter().copied().max();
    let value = |dim: &broadloom_ir::dim::Dim| {
        dim.evaluate(&|symbol| sizes.get(symbol.index()).copied().or(most).map(|size| size as i64))
            .map_or(0, |size| size.max(0))
    };
    shape.iter().map(|dim| value(dim) as usize).collect()
}

fn elements(graph: &CheckedGraph, sizes: &[usize; 3]) -> i64 {
    let count =
        |shape: &Shape| concrete(shape, sizes).iter().fold(1i64, |n, size| n.saturating_mul(*size as i64));
    let inputs = graph.inputs().iter().map(|input| count(&input.shape));
    graph.exprs().map(|expr| count(graph.shape(expr))).chain(inputs).fold(0, i64::saturating_add)
}

/// Sizes, reduced until the interpreter is done soon, and inputs of these sizes. All tensors have at most as many
/// elements as the first of `most` says, and for one set of sizes in eight as the second.
pub fn data(
    graph: &CheckedGraph,
    mut chosen: [usize; 3],
    mut random: Random,
    lays: &[Lay],
    most: [i64; 2],
) -> Data {
    let most = most[usize::from(random.below(8) == 0)];
    let kept = random.below(3);
    let sizes = loop {
        let sizes = chosen.map(|size| SIZES[size]);
        // The sizes beside one of them are reduced before it.
        let larger = |of: &usize| (chosen[*of] > 2, *of != kept, chosen[*of]);
        let reduced = (0..3).max_by_key(larger).filter(|of| chosen[*of] > 0);
        match reduced {
            Some(reduced) if elements(graph, &sizes) > most => chosen[reduced] -= 1,
            _ => break sizes,
        }
    };
    let bounds = index_bounds(graph, &|expr, axis| concrete(graph.shape(expr), &sizes)[axis]);
    let (arrays, still) = graph
        .inputs()
        .iter()
        .zip(bounds)
        .map(|(input, bound)| {
            let mut shape = concrete(&input.shape, &sizes);
            for &axis in &input.may_be_one {
                if random.below(2) == 0 && is_known_elsewhere(graph, &input.shape[axis]) {
                    shape[axis] = 1;
                }
            }
            random_array(input.dtype, &shape, bound, &mut random)
        })
        .unzip();
    Data::repeating(graph, sizes, arrays, still, lays)
}

/// Whether every symbol of a size is the size of an axis that cannot be 1 instead.
fn is_known_elsewhere(graph: &CheckedGraph, dim: &broadloom_ir::dim::Dim) -> bool {
    dim.symbols().into_iter().all(|symbol| {
        graph.inputs().iter().any(|input| {
            let axes = input.shape.iter().enumerate();
            axes.into_iter()
                .any(|(axis, dim)| dim.as_symbol() == Some(symbol) && !input.may_be_one.contains(&axis))
        })
    })
}

/// Runs on dense arrays, or on arrays of some layouts into arrays of some layouts.
fn run(
    executable: &Executable,
    data: &Data,
    want: &Result<Vec<Array>, InterpretError>,
    lays: Option<&[Lay]>,
) -> Result<(), String> {
    let graph = executable.graph();
    let at = |text: String| {
        let symbols = ["n", "m", "k"].iter().zip(data.sizes).map(|(name, size)| format!("{name} = {size}"));
        let sizes = symbols.collect::<Vec<_>>().join(", ");
        Err(format!("at {sizes}, output layouts {lays:?}: {text}"))
    };
    let mut inputs = Inputs::new();
    for (info, memory) in graph.inputs().iter().zip(&data.inputs[usize::from(lays.is_some())]) {
        inputs = inputs.named(&*info.name, memory.view().expect("an input fits its memory"));
    }
    let shapes: Vec<Vec<usize>> = match want {
        Ok(want) => want.iter().map(|array| array.shape.clone()).collect(),
        Err(_) => {
            graph.outputs().iter().map(|output| concrete(graph.shape(output.expr), &data.sizes)).collect()
        }
    };
    let got: Result<Vec<Vec<Scalar>>, CallError> = match lays {
        None => executable.run(inputs).map(|outputs| outputs.iter().map(|(_, array)| read(array)).collect()),
        Some(lays) => {
            let dtypes: Vec<_> = graph.outputs().iter().map(|output| graph.dtype(output.expr)).collect();
            let arrays = shapes.iter().zip(&dtypes).zip(lays);
            let mut results: Vec<Memory> =
                arrays.map(|((shape, dtype), lay)| Memory::empty(*dtype, shape, *lay)).collect();
            let mut outputs = OutputsMut::new();
            for result in &mut results {
                outputs = outputs.next(result.view_mut().expect("no element has two indices"));
            }
            let done = executable.run_into(inputs, outputs);
            let elements: Option<Vec<_>> =
                results.iter().zip(&dtypes).map(|(result, dtype)| result.elements(*dtype)).collect();
            match elements {
                Some(elements) => done.map(|()| elements),
                None => return at("something beside an output was written".into()),
            }
        }
    };
    match (want, got) {
        (Ok(want), Ok(got)) => {
            for ((want, got), output) in want.iter().zip(&got).zip(graph.outputs()) {
                if let Some(difference) = difference(want, got) {
                    return at(format!("output {:?} = {}: {difference}", output.name, output.expr));
                }
            }
            Ok(())
        }
        // Which of several mistakes is found depends on the phase that finds it.
        (Err(_), Err(CallError::Run(_))) if graph.has_decided_sizes() => Ok(()),
        // What sizes forbid is refused before anything runs.
        (Err(error), Err(CallError::Bind(_))) if is_of_sizes(error) => Ok(()),
        (Err(InterpretError::TooLarge { .. }), _) => Ok(()),
        (Ok(_), Err(error)) => at(format!("fails: {error}")),
        // The interpreter also checks inputs that no output needs.
        (Err(error), Ok(_)) if is_of_sizes(error) && executable.inputs().len() < graph.inputs().len() => {
            Ok(())
        }
        (Err(error), Ok(_)) => at(format!("gives a result, but should fail: {error}")),
        (Err(expected), Err(error)) => at(format!("fails: {error}\nbut should fail: {expected}")),
    }
}

/// Whether an error follows from sizes alone.
pub fn is_of_sizes(error: &InterpretError) -> bool {
    matches!(
        error,
        InterpretError::Obligation { .. }
            | InterpretError::SizesDisagree { .. }
            | InterpretError::NoSolution { .. }
            | InterpretError::Facts { .. }
            | InterpretError::Index { size: 0, .. }
    )
}

/// How many elements differ, and the first few of them.
pub fn difference(want: &Array, got: &[Scalar]) -> Option<String> {
    if want.elements.len() != got.len() {
        return Some(format!("{} elements instead of {:?}", got.len(), want.shape));
    }
    let differing = want.elements.iter().zip(got).enumerate().filter(|(_, (want, got))| !want.same(**got));
    let mut text = String::new();
    let count = differing.clone().count();
    for (position, (want, got)) in differing.take(4) {
        let _ = write!(
            text,
            ", at {position} {got} (bits {:x}) instead of {want} ({:x})",
            got.bits(),
            want.bits()
        );
    }
    (count > 0)
        .then(|| format!("{count} of {} elements of {}{:?} differ{text}", got.len(), want.dtype, want.shape))
}
