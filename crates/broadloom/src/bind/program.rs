//! How sizes are solved and checked when arrays are bound: a flat list of steps made once per executable.

use super::error::{ArrayName, BindError, EmptyTable, MissedObligation, Role, SizeMismatch, Solved};
use super::names::SymbolNames;
use crate::array::Geometry;
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::graph::{CheckedGraph, Node, Site, View};
use broadloom_ir::shape::Shape;
use broadloom_ir::{InputId, SymbolId};
use std::collections::HashSet;

/// Values of symbols; `None` where no input determines one, which then nothing needs.
pub(crate) type Values = Vec<Option<i64>>;

/// The value of a size.
pub(crate) fn evaluate(dim: &Dim, values: &[Option<i64>]) -> Result<i64, DimError> {
    match (dim.as_constant(), dim.as_symbol()) {
        (Some(value), _) => Ok(value),
        _ => dim.evaluate(&|symbol| values.get(symbol.index()).copied().flatten()),
    }
}

/// Solves and checks the sizes of inputs.
#[derive(Debug)]
pub(crate) struct Program {
    /// Per input whether it must be passed: the outputs read it, or need its sizes.
    pub(crate) required: Vec<bool>,
    steps: Vec<Step>,
    takes: Vec<Take>,
}

#[derive(Debug)]
struct Step {
    input: InputId,
    axis: usize,
    action: Action,
}

#[derive(Debug)]
enum Action {
    /// The axis has the size `coefficient * symbol + rest`, which gives the symbol.
    Solve { symbol: SymbolId, coefficient: i64, rest: Dim },
    /// The axis has this size, all symbols of which are solved.
    Check(Dim),
}

#[derive(Debug)]
struct Take {
    size: Dim,
    indices: Shape,
    axis: Option<usize>,
    site: Site,
}

impl Program {
    /// The program of a graph.
    pub(crate) fn new(graph: &CheckedGraph) -> Program {
        let mut read = vec![false; graph.inputs().len()];
        for input in graph.outputs().iter().filter_map(|output| output.assigned) {
            read[input.index()] = true;
        }
        let mut needed = HashSet::new();
        let mut seen = HashSet::new();
        let mut takes = Vec::new();
        for expr in graph.exprs() {
            if seen.insert(graph.shape(expr)) {
                needed.extend(graph.shape(expr).iter().flat_map(Dim::symbols));
            }
            match graph.node(expr) {
                Node::Input(input) => read[input.index()] = true,
                Node::View { view: View::Slice(parts), .. } => {
                    needed.extend(parts.iter().flat_map(|part| part.start.symbols()));
                }
                Node::Take { table, indices, axis } => takes.push(Take {
                    size: graph.shape(*table)[*axis].clone(),
                    indices: graph.shape(*indices).clone(),
                    axis: Some(*axis),
                    site: graph.site(expr),
                }),
                Node::Segment { ids, .. } => takes.push(Take {
                    size: graph.shape(expr)[1].clone(),
                    indices: graph.shape(*ids).clone(),
                    axis: None,
                    site: graph.site(expr),
                }),
                Node::Size(size) => needed.extend(size.symbols()),
                Node::Constant(_)
                | Node::Concat { .. }
                | Node::Elementwise { .. }
                | Node::Select { .. }
                | Node::Cast(_)
                | Node::Reduce { .. }
                | Node::View { .. }
                | Node::Iota
                | Node::Poison => {}
            }
        }
        needed.extend(graph.obligations().iter().flat_map(|obligation| obligation.nonnegative.symbols()));
        let (steps, solved) = solve(graph, &read);
        if needed.iter().all(|symbol| solved.contains(symbol)) {
            return Program { required: read, steps, takes };
        }
        let all = vec![true; read.len()];
        let (steps, _) = solve(graph, &all);
        Program { required: all, steps, takes }
    }

    /// Values of the symbols that the inputs' sizes give, if all sizes agree. Dtypes and ranks have been checked,
    /// and all required inputs are there.
    pub(crate) fn run(
        &self,
        graph: &CheckedGraph,
        inputs: &[Option<&Geometry>],
    ) -> Result<Values, BindError> {
        let mut values: Values = vec![None; graph.symbols().len()];
        for (position, step) in self.steps.iter().enumerate() {
            let Some(geometry) = inputs[step.input.index()] else { continue };
            let found = geometry.axes[step.axis].size;
            let expected = match &step.action {
                Action::Solve { symbol, coefficient, rest } => {
                    let rest = evaluate(rest, &values)?;
                    let scaled = i128::from(found) - i128::from(rest);
                    let (value, remainder) =
                        (scaled / i128::from(*coefficient), scaled % i128::from(*coefficient));
                    let value = i64::try_from(value).ok().filter(|value| remainder == 0 && *value >= 0);
                    let facts = graph.symbols()[symbol.index()].facts;
                    let holds = |value: &i64| {
                        *value >= facts.lower
                            && facts.upper.is_none_or(|upper| *value <= upper)
                            && value % facts.multiple_of.max(1) == 0
                    };
                    match value.filter(holds) {
                        Some(value) => {
                            values[symbol.index()] = Some(value);
                            continue;
                        }
                        None => None,
                    }
                }
                Action::Check(dim) => match evaluate(dim, &values)? {
                    expected if expected == found => continue,
                    expected => Some(expected),
                },
            };
            let info = &graph.inputs()[step.input.index()];
            let names = SymbolNames(graph);
            return Err(BindError::Size(Box::new(SizeMismatch {
                array: ArrayName { role: Role::Input, name: info.name.to_string() },
                axis: step.axis,
                declared: names.dim(&info.shape[step.axis]),
                expected,
                found,
                shape: geometry.shape(),
                declared_shape: names.shape(&info.shape),
                site: info.site,
                solved: self.solved(graph, inputs, &values, position),
            })));
        }
        self.check_demands(graph, inputs, &values)?;
        Ok(values)
    }

    fn check_demands(
        &self,
        graph: &CheckedGraph,
        inputs: &[Option<&Geometry>],
        values: &Values,
    ) -> Result<(), BindError> {
        for obligation in graph.obligations() {
            let value = evaluate(&obligation.nonnegative, values)?;
            if value < 0 {
                return Err(BindError::Obligation(Box::new(MissedObligation {
                    requirement: obligation.requirement,
                    nonnegative: SymbolNames(graph).dim(&obligation.nonnegative),
                    value,
                    site: obligation.site,
                    solved: self.solved(graph, inputs, values, self.steps.len()),
                })));
            }
        }
        for take in &self.takes {
            if evaluate(&take.size, values)? == 0 {
                let indices = count(&take.indices, values)?;
                if indices > 0 {
                    return Err(BindError::EmptyTable(Box::new(EmptyTable {
                        site: take.site,
                        axis: take.axis,
                        indices,
                    })));
                }
            }
        }
        Ok(())
    }

    /// Where the symbols came from that the first `count` steps solved.
    pub(crate) fn solved(
        &self,
        graph: &CheckedGraph,
        inputs: &[Option<&Geometry>],
        values: &Values,
        count: usize,
    ) -> Vec<Solved> {
        let solved = self.steps.iter().take(count).filter_map(|step| {
            let Action::Solve { symbol, .. } = step.action else { return None };
            Some(Solved {
                symbol: SymbolNames(graph).name(symbol).to_string(),
                value: values[symbol.index()]?,
                input: graph.inputs()[step.input.index()].name.to_string(),
                axis: step.axis,
                shape: inputs[step.input.index()]?.shape(),
            })
        });
        solved.collect()
    }

    /// Number of steps, to list all solved symbols.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }
}

/// The number of elements; 0 if a size is, however large the others are.
pub(crate) fn count(shape: &Shape, values: &[Option<i64>]) -> Result<i64, DimError> {
    let mut count = Some(1i64);
    for dim in shape {
        match evaluate(dim, values)? {
            0 => return Ok(0),
            size => count = count.and_then(|count| count.checked_mul(size)),
        }
    }
    count.ok_or(DimError::Overflow)
}

/// Steps over the axes of the chosen inputs, each solving at most one symbol that earlier steps leave open, and the
/// symbols solved.
fn solve(graph: &CheckedGraph, chosen: &[bool]) -> (Vec<Step>, HashSet<SymbolId>) {
    let mut open: Vec<(InputId, usize, &Dim)> = Vec::new();
    for (index, input) in graph.inputs().iter().enumerate().filter(|(index, _)| chosen[*index]) {
        open.extend(input.shape.iter().enumerate().map(|(axis, dim)| (InputId::new(index), axis, dim)));
    }
    let (mut steps, mut solved) = (Vec::new(), HashSet::new());
    loop {
        let before = open.len();
        open.retain(|&(input, axis, dim)| {
            let unknown: Vec<SymbolId> =
                dim.symbols().into_iter().filter(|symbol| !solved.contains(symbol)).collect();
            let action = match unknown.as_slice() {
                [] => Action::Check(dim.clone()),
                [symbol] => match dim.linear_in(*symbol) {
                    Some((coefficient, rest)) => Action::Solve { symbol: *symbol, coefficient, rest },
                    None => return true,
                },
                _ => return true,
            };
            solved.extend(unknown);
            steps.push(Step { input, axis, action });
            false
        });
        if open.len() == before {
            return (steps, solved);
        }
    }
}
