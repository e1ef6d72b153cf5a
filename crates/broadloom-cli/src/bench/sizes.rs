//! Sizes of random inputs: the given ones, or else sizes that make arrays large and keep the work bounded.

use crate::failure::Failure;
use broadloom::{CheckedGraph, Executable};
use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The most elements of an input or output.
const ELEMENTS: i64 = 1_000_000;
/// The most elements of an expression, stored or not.
const WORK: i64 = 100_000_000;
/// The size of an axis once others have used up the elements.
const SHORT: i64 = 16;

/// The values of a graph's symbols.
#[derive(Debug)]
pub struct Sizes {
    symbols: HashMap<SymbolId, i64>,
    /// The sizes by name, and whether they were chosen here.
    pub named: Vec<(String, i64, bool)>,
}

impl Sizes {
    /// Chooses the sizes that the inputs and parameters of a kernel need. `known` are the sizes of given arrays.
    ///
    /// # Errors
    /// Returns an error for a size that the program does not have or does not accept.
    pub fn choose(
        kernel: &Executable,
        given: &BTreeMap<String, i64>,
        known: &HashMap<SymbolId, i64>,
    ) -> Result<Sizes, Failure> {
        let graph = kernel.graph();
        let (inputs, parameters) = (kernel.inputs(), kernel.parameters());
        let required =
            graph.inputs().iter().filter(|input| inputs.iter().any(|info| info.name == *input.name));
        let mut needed: Vec<SymbolId> =
            required.flat_map(|input| input.shape.iter()).flat_map(Dim::symbols).collect();
        let is_parameter = |index: usize| {
            graph.symbols().get(index).is_some_and(|info| parameters.iter().any(|name| **name == *info.name))
        };
        needed.extend((0..graph.symbols().len()).filter(|index| is_parameter(*index)).map(SymbolId::new));
        let mut seen = HashSet::new();
        needed.retain(|symbol| seen.insert(*symbol));

        let mut symbols = known.clone();
        let mut open = Vec::new();
        let mut unused = given.clone();
        for symbol in &needed {
            let Some(info) = graph.symbols().get(symbol.index()) else { continue };
            let size = unused.remove(&*info.name);
            if known.contains_key(symbol) {
                continue;
            }
            match size.or(info.likely) {
                Some(size) if size % info.unit == 0 => {
                    symbols.insert(*symbol, size / info.unit);
                }
                Some(size) => {
                    let (name, unit) = (&info.name, info.unit);
                    return Err(Failure::usage(format!("{name} = {size} is not a multiple of {unit}"))
                        .help(format!("pass --size {name}={}", size / unit * unit)));
                }
                None => open.push(*symbol),
            }
        }
        if let Some((name, _)) = unused.first_key_value() {
            let names: Vec<&str> = needed
                .iter()
                .filter_map(|symbol| Some(&*graph.symbols().get(symbol.index())?.name))
                .collect();
            let has = match names.as_slice() {
                [] => "all sizes of its inputs are numbers".to_string(),
                names => format!("its sizes are {}", names.join(", ")),
            };
            return Err(Failure::usage(format!("the program has no size {name}")).help(has));
        }
        let bounds = |symbol: &SymbolId| {
            let info = graph.symbols().get(symbol.index());
            let facts = info.map(|info| info.facts).unwrap_or_default();
            let unit = info.map_or(1, |info| info.unit);
            (facts.lower.max(0), facts.upper.unwrap_or(i64::MAX), unit)
        };
        for symbol in &open {
            let (lower, upper, unit) = bounds(symbol);
            symbols.insert(*symbol, (SHORT / unit).max(1).max(lower).min(upper));
        }
        // A size that no input has counts results, such as segments: choose it small, unless it is the only one.
        let has_sizes = open.iter().any(|symbol| !is_parameter(symbol.index()));
        for symbol in open.iter().filter(|symbol| !(has_sizes && is_parameter(symbol.index()))) {
            let (_, upper, unit) = bounds(symbol);
            let start = symbols.get(symbol).copied().unwrap_or(1);
            let (mut fits, mut too_large) = (start, upper.min(ELEMENTS / unit).saturating_add(1));
            while fits + 1 < too_large {
                let middle = fits + (too_large - fits) / 2;
                symbols.insert(*symbol, middle);
                *(if is_bounded(graph, &symbols) { &mut fits } else { &mut too_large }) = middle;
            }
            symbols.insert(*symbol, fits);
        }
        let named = |symbol: &SymbolId| {
            let info = graph.symbols().get(symbol.index())?;
            let size = symbols.get(symbol)?.checked_mul(info.unit)?;
            Some((info.name.to_string(), size, open.contains(symbol)))
        };
        Ok(Sizes { named: needed.iter().filter_map(named).collect(), symbols })
    }

    /// The sizes of a shape, if they are sizes.
    pub fn of(&self, shape: &[Dim]) -> Option<Vec<usize>> {
        let size = |dim: &Dim| {
            let size = dim.evaluate(&|symbol| self.symbols.get(&symbol).copied()).ok()?;
            usize::try_from(size).ok()
        };
        shape.iter().map(size).collect()
    }
}

/// The values of symbols that the shapes of arrays determine.
pub fn known(graph: &CheckedGraph, shape_of: &dyn Fn(&str) -> Option<Vec<usize>>) -> HashMap<SymbolId, i64> {
    let mut known = HashMap::new();
    for solution in graph.solutions() {
        let value = || {
            let input = graph.inputs().get(solution.input.index())?;
            let size = *shape_of(&input.name)?.get(solution.axis)?;
            let (factor, rest) = input.shape.get(solution.axis)?.linear_in(solution.symbol)?;
            let rest = rest.evaluate(&|symbol| known.get(&symbol).copied()).ok()?;
            i64::try_from(size).ok()?.checked_sub(rest)?.checked_div(factor)
        };
        // Binding the arrays reports what does not fit.
        if let Some(value) = value().filter(|value| *value >= 0) {
            known.insert(solution.symbol, value);
        }
    }
    known
}

/// Whether arrays and work are within their bounds.
fn is_bounded(graph: &CheckedGraph, symbols: &HashMap<SymbolId, i64>) -> bool {
    let elements = |shape: &[Dim]| {
        shape.iter().try_fold(1i64, |count, dim| {
            // A size that no input has is unknown before the run.
            let size = dim.evaluate(&|symbol| Some(symbols.get(&symbol).copied().unwrap_or(1))).ok()?;
            count.checked_mul(size)
        })
    };
    let within = |shape: &[Dim], most| elements(shape).is_some_and(|count| count <= most);
    let outputs = graph.outputs().iter().map(|output| graph.shape(output.expr).dims());
    let arrays = graph.inputs().iter().map(|input| input.shape.dims()).chain(outputs);
    arrays.into_iter().all(|shape| within(shape, ELEMENTS))
        && graph.exprs().all(|expr| within(graph.shape(expr).dims(), WORK))
}
