//! Programs compiled and run, and compared with the interpreter.

use crate::arrays::{Lay, Memory, Random, index_bounds, random_array};
use crate::case::Outcome;
use broadloom::{
    BindError, CallError, CheckedGraph, CompileOptions, CpuLevel, Executable, Inputs, OutputsMut, Scalar,
    Threads,
};
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{Node, SymbolKind, View};
use broadloom_ir::interp::{Array, InterpretError, interpret_with_sizes};
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;

/// What the symbols stand for.
const SIZES: [i64; 12] = [0, 1, 2, 3, 1, 2, 3, 5, 7, 17, 33, 67];
/// Elements of all tensors together, of which the interpreter computes each.
const MOST_ELEMENTS: i64 = 60_000;
/// Sets of sizes on which a program runs.
const ROUNDS: usize = 3;

/// Compiles a graph and runs it on a few sets of sizes.
///
/// # Errors
/// Whatever differs from the interpreter.
pub fn run(graph: &CheckedGraph, random: &mut Random) -> Result<Outcome, String> {
    let options = CompileOptions {
        threads: if random.below(4) == 0 { Threads::Global } else { Threads::Calling },
        vectorize: random.below(4) != 0,
        parallel_threshold: 0,
        ..CompileOptions::default()
    };
    let executable = match Executable::compile(graph, &options) {
        Ok(executable) => executable,
        // A size beyond 64 bits is found only here.
        Err(error) if ["overflows", "64 bits"].iter().any(|what| error.to_string().contains(what)) => {
            return Ok(Outcome::Accepted);
        }
        Err(error) => return Err(format!("does not compile: {error}")),
    };
    // An executable knows nothing of inputs that it does not need, and so not what their sizes say.
    if executable.inputs().len() < graph.inputs().len() {
        return Ok(Outcome::Compiled);
    }
    let mut outcome = Outcome::Compiled;
    for round in 0..ROUNDS {
        let values: Vec<i64> = graph
            .symbols()
            .iter()
            .map(|symbol| {
                let wanted = SIZES[random.below(SIZES.len())].max(symbol.facts.lower);
                symbol.facts.upper.map_or(wanted, |upper| wanted.min(upper))
            })
            .collect();
        if let Some(values) = small_enough(graph, values)
            && on_sizes(graph, &executable, &values, round > 0 && random.below(3) == 0, random)?
        {
            outcome = Outcome::Ran;
        }
    }
    Ok(outcome)
}

fn size(dim: &Dim, values: &[i64]) -> usize {
    let size = dim.evaluate(&|symbol| values.get(symbol.index()).copied());
    usize::try_from(size.unwrap_or(0)).unwrap_or(0)
}

fn sizes(shape: &Shape, values: &[i64]) -> Vec<usize> {
    shape.iter().map(|dim| size(dim, values)).collect()
}

/// Values of the symbols, made smaller until the interpreter is done soon; nothing if a constant is too large.
fn small_enough(graph: &CheckedGraph, mut values: Vec<i64>) -> Option<Vec<i64>> {
    let count = |shape: &Shape, values: &[i64]| {
        // Strides count the elements of the other axes even where there are none.
        let factor = |size: &usize| i64::try_from(*size).unwrap_or(i64::MAX).max(1);
        sizes(shape, values).iter().map(factor).fold(1, i64::saturating_mul)
    };
    loop {
        let inputs = graph.inputs().iter().map(|input| count(&input.shape, &values));
        let all = graph.exprs().map(|expr| count(graph.shape(expr), &values)).chain(inputs);
        if all.fold(0, i64::saturating_add) <= MOST_ELEMENTS {
            return Some(values);
        }
        if values.iter().all(|value| *value == 0) {
            return None;
        }
        values.iter_mut().for_each(|value| *value /= 2);
    }
}

/// Runs on arrays of some sizes; whether there was a result.
fn on_sizes(
    graph: &CheckedGraph,
    executable: &Executable,
    values: &[i64],
    strided: bool,
    random: &mut Random,
) -> Result<bool, String> {
    let bounds = index_bounds(graph, &|expr, axis| size(&graph.shape(expr)[axis], values));
    let mut arrays = Vec::new();
    let mut memories = Vec::new();
    for (input, bound) in graph.inputs().iter().zip(bounds) {
        let mut shape = sizes(&input.shape, values);
        for axis in &input.may_be_one {
            if random.below(2) == 0 && is_known_elsewhere(graph, &input.shape[*axis]) {
                shape[*axis] = 1;
            }
        }
        let (array, still) = random_array(input.dtype, &shape, bound, random);
        let lay = if strided { Lay::ALL[random.below(Lay::ALL.len())] } else { Lay::Dense };
        memories.push(Memory::holding(&array, &still, lay));
        arrays.push(array);
    }
    let parameters =
        graph.symbols().iter().zip(values).filter(|(info, _)| info.kind == SymbolKind::Parameter);
    let parameters: Vec<(&str, i64)> =
        parameters.map(|(info, value)| (&*info.name, value.saturating_mul(info.unit))).collect();
    let want = interpret_with_sizes(graph, &arrays, &parameters, CpuLevel::detect().is_fused());
    let mut inputs = Inputs::new();
    for (info, memory) in graph.inputs().iter().zip(&memories) {
        let view = memory.view().map_err(|error| format!("input {}: {error}", info.name))?;
        inputs = inputs.named(&*info.name, view);
    }
    for (name, value) in parameters {
        inputs = inputs.with_size(name, value as usize);
    }
    let of_output = |at: usize| graph.outputs()[at].expr;
    let lays: Vec<Lay> = graph.outputs().iter().map(|_| Lay::DISTINCT[1 + random.below(4)]).collect();
    // Without a result there is no shape for it.
    let shapes = want.iter().flatten().map(|want| &want.shape);
    let arrays_of = shapes.zip(&lays).enumerate();
    let mut results: Vec<Memory> =
        arrays_of.map(|(at, (shape, lay))| Memory::empty(graph.dtype(of_output(at)), shape, *lay)).collect();
    let done = if want.is_ok() {
        let mut outputs = OutputsMut::new();
        for result in &mut results {
            outputs = outputs.next(result.view_mut().map_err(|error| error.to_string())?);
        }
        executable.run_into(inputs, outputs)
    } else {
        executable.run(inputs).map(|_| ())
    };
    let at = |problem: String| {
        let shapes: Vec<&[usize]> = arrays.iter().map(|array| &*array.shape).collect();
        Err(format!("differs on arrays of {shapes:?}, layouts {lays:?}, strided {strided}: {problem}"))
    };
    let mut got = Vec::new();
    for (index, result) in results.iter().enumerate() {
        match result.elements(graph.dtype(of_output(index))) {
            Some(elements) => got.push(elements),
            None => return at("something beside an output was written".into()),
        }
    }
    match (want, done) {
        (Ok(want), Ok(())) => {
            for ((want, got), output) in want.iter().zip(&got).zip(graph.outputs()) {
                if let Some(difference) = difference(want, got) {
                    return at(format!("output {:?}: {difference}", output.name));
                }
            }
            Ok(true)
        }
        (Err(InterpretError::TooLarge { .. }), _) => Ok(false),
        // What sizes forbid is refused before anything runs.
        (Err(error), Err(CallError::Bind(_))) if is_of_sizes(&error) => Ok(false),
        (Err(_), Err(CallError::Run(_))) if graph.can_fail() => Ok(true),
        (Err(InterpretError::Index { .. } | InterpretError::NegativeExponent { .. }), Ok(()))
            if may_discard(graph, values) =>
        {
            Ok(true)
        }
        // So does the product of sizes of which each is small, where one has a step of 64 bits.
        (_, Err(error)) if error.to_string().contains("overflows") => Ok(false),
        // Two indices are wrong, of which one is into an axis that is empty.
        (
            Err(InterpretError::Index { .. } | InterpretError::NegativeExponent { .. }),
            Err(CallError::Bind(BindError::EmptyTable(_))),
        ) => Ok(true),
        (Ok(_), Err(error)) => at(format!("fails: {error:?}")),
        (Err(error), Ok(())) => at(format!("gives a result, but should fail: {error}")),
        (Err(expected), Err(error)) => at(format!("fails: {error:?}\nbut should fail: {expected}")),
    }
}

/// Whether every symbol of a size is also the size of an axis that cannot be 1 instead.
fn is_known_elsewhere(graph: &CheckedGraph, dim: &Dim) -> bool {
    dim.symbols().into_iter().all(|symbol| {
        graph.inputs().iter().any(|input| {
            let mut axes = input.shape.iter().enumerate();
            axes.any(|(axis, dim)| dim.as_symbol() == Some(symbol) && !input.may_be_one.contains(&axis))
        })
    })
}

/// Whether elements may go nowhere, of which an error may or may not be told.
fn may_discard(graph: &CheckedGraph, values: &[i64]) -> bool {
    graph.exprs().any(|expr| {
        let is_slice = matches!(graph.node(expr), Node::View { view: View::Slice(_), .. });
        // Of one element the place of the extreme is 0, whatever it is.
        let is_place = |op: ReduceOp| matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax);
        is_slice
            || matches!(graph.node(expr), Node::Set { .. })
            || matches!(graph.node(expr), Node::Reduce { op, .. } if is_place(*op))
            || sizes(graph.shape(expr), values).contains(&0)
    })
}

/// Whether an error follows from the arrays' sizes alone.
fn is_of_sizes(error: &InterpretError) -> bool {
    matches!(
        error,
        InterpretError::Obligation { .. }
            | InterpretError::SizesDisagree { .. }
            | InterpretError::NoSolution { .. }
            | InterpretError::Facts { .. }
            | InterpretError::Index { size: 0, .. }
    )
}

/// The first element that differs; all NaNs are the same.
fn difference(want: &Array, got: &[Scalar]) -> Option<String> {
    if want.elements.len() != got.len() {
        return Some(format!("{} elements instead of {:?}", got.len(), want.shape));
    }
    let mut both = want.elements.iter().zip(got).enumerate();
    let (at, (want, got)) = both.find(|(_, (want, got))| !want.same(**got))?;
    Some(format!("element {at} is {got:?} instead of {want:?}"))
}
