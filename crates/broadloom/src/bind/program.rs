//! How sizes are solved and checked when arrays are bound: a flat list of steps made once per executable.

use super::error::{
    ArrayName, BindError, EmptyTable, GivenSize, MissedObligation, Role, SizeMismatch, Solved, SolvedFrom,
};
use super::names::{SymbolNames, stated};
use crate::array::Geometry;
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::graph::{CheckedGraph, Demand, InputInfo, Node, Site, SymbolKind, View, symbol_named};
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, InputId, SymbolId};
use smallvec::SmallVec;
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

/// Sizes of symbols that the caller gives, in units of the symbols.
pub(crate) type Given = SmallVec<[(SymbolId, i64); 2]>;

/// Solves and checks the sizes of inputs.
#[derive(Debug)]
pub(crate) struct Program {
    /// Per input whether it must be passed: the outputs read it, or need its sizes.
    pub(crate) required: Vec<bool>,
    /// Symbols that no axis of a required input determines: the caller gives them.
    pub(crate) parameters: Vec<SymbolId>,
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
    /// Only axes that may have size 1 mention the symbol: it is the size that is not 1, if there is one. All of them.
    SolveStretched { symbol: SymbolId, axes: Vec<(InputId, usize)> },
    /// The axis has this size, all symbols of which are solved.
    Check(Dim),
    /// The axis has this size, or 1.
    CheckStretched(Dim),
}

#[derive(Debug)]
struct Take {
    size: Dim,
    indices: Shape,
    axis: Option<usize>,
    expr: ExprId,
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
                    expr,
                    site: graph.site(expr),
                }),
                Node::Segment { ids, .. } => takes.push(Take {
                    size: graph.shape(expr)[1].clone(),
                    indices: graph.shape(*ids).clone(),
                    axis: None,
                    expr,
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
        let demands = graph.obligations().iter().filter(|obligation| obligation.origin.is_some());
        needed.extend(demands.flat_map(|obligation| obligation.demand.symbols()));
        let mut required = read;
        let (mut steps, mut solved) = solve(graph, &required, HashSet::new());
        let is_parameter = |symbol: &SymbolId| graph.symbols()[symbol.index()].kind == SymbolKind::Parameter;
        let mut open: Vec<SymbolId> = needed
            .iter()
            .copied()
            .filter(|symbol| !solved.contains(symbol) && is_parameter(symbol))
            .collect();
        if !needed.iter().all(|symbol| solved.contains(symbol) || is_parameter(symbol)) {
            required.fill(true);
            (steps, solved) = solve(graph, &required, HashSet::new());
            open.retain(|symbol| !solved.contains(symbol));
        }
        // With parameters more can be solved, among it what was not needed to be.
        open.extend(graph.inputs().iter().zip(&required).filter(|(_, required)| **required).flat_map(
            |(input, _)| {
                let symbols = input.shape.iter().flat_map(Dim::symbols);
                symbols.filter(|symbol| !solved.contains(symbol) && is_parameter(symbol)).collect::<Vec<_>>()
            },
        ));
        open.sort_unstable();
        open.dedup();
        if !open.is_empty() {
            (steps, _) = solve(graph, &required, open.iter().copied().collect());
        }
        Program { required, parameters: open, steps, takes }
    }

    /// Values of the symbols that the inputs' sizes give, if all sizes agree with each other and with the given ones.
    /// Dtypes and ranks have been checked, and all required inputs are there.
    pub(crate) fn run(
        &self,
        graph: &CheckedGraph,
        inputs: &[Option<&Geometry>],
        given: &Given,
    ) -> Result<Values, BindError> {
        let mut values: Values = vec![None; graph.symbols().len()];
        for symbol in &self.parameters {
            let value = given.iter().find(|(of, _)| of == symbol).map(|(_, value)| *value);
            let info = &graph.symbols()[symbol.index()];
            if value.is_none() {
                return Err(BindError::MissingSize { symbol: info.name.to_string(), site: info.site });
            }
            values[symbol.index()] = value;
        }
        for (position, step) in self.steps.iter().enumerate() {
            let Some(geometry) = inputs[step.input.index()] else { continue };
            let found = geometry.axes[step.axis].size;
            let expected = match &step.action {
                Action::Solve { symbol, coefficient, rest } => {
                    let rest = evaluate(rest, &values)?;
                    let scaled = i128::from(found) - i128::from(rest);
                    let (value, remainder) =
                        (scaled / i128::from(*coefficient), scaled % i128::from(*coefficient));
                    let value = i64::try_from(value).ok().filter(|_| remainder == 0);
                    match value.filter(|value| holds(graph, *symbol, *value)) {
                        Some(value) => {
                            values[symbol.index()] = Some(value);
                            continue;
                        }
                        None => None,
                    }
                }
                Action::SolveStretched { symbol, axes } => {
                    let sizes =
                        axes.iter().filter_map(|(input, axis)| Some(inputs[input.index()]?.axes[*axis].size));
                    let size = sizes.into_iter().find(|size| *size != 1).unwrap_or(1);
                    let unit = graph.symbols()[symbol.index()].unit;
                    match size % unit == 0 && holds(graph, *symbol, size / unit) {
                        true => {
                            values[symbol.index()] = Some(size / unit);
                            continue;
                        }
                        false => None,
                    }
                }
                Action::CheckStretched(_) if found == 1 => continue,
                Action::Check(dim) | Action::CheckStretched(dim) => match evaluate(dim, &values)? {
                    expected if expected == found => continue,
                    expected => Some(expected),
                },
            };
            // Of axes that may be 1, it is another size that is at fault.
            let (input, axis) = match &step.action {
                Action::SolveStretched { axes, .. } => {
                    let size = |(input, axis): &&(InputId, usize)| {
                        inputs[input.index()].is_some_and(|input| input.axes[*axis].size != 1)
                    };
                    axes.iter().find(size).copied().unwrap_or((step.input, step.axis))
                }
                Action::Solve { .. } | Action::Check(_) | Action::CheckStretched(_) => {
                    (step.input, step.axis)
                }
            };
            let Some(geometry) = inputs[input.index()] else { continue };
            let found = geometry.axes[axis].size;
            let info = &graph.inputs()[input.index()];
            let names = SymbolNames(graph);
            let declared = names.dim(&info.shape[axis]);
            return Err(BindError::Size(Box::new(SizeMismatch {
                array: ArrayName { role: Role::Input, name: info.name.to_string() },
                axis,
                expected,
                stated: match &step.action {
                    Action::Solve { symbol, .. } | Action::SolveStretched { symbol, .. } => {
                        let symbol = &graph.symbols()[symbol.index()];
                        stated(symbol).filter(|_| *symbol.name == *declared)
                    }
                    Action::Check(_) | Action::CheckStretched(_) => None,
                },
                or_one: info.may_be_one.contains(&axis),
                found,
                declared,
                shape: geometry.shape(),
                declared_shape: names.input(info),
                site: info.site,
                solved: self.solved(graph, inputs, &values, position),
                needed_by: needed_by(graph, input, &info.shape[axis]),
                called: None,
            })));
        }
        for &(symbol, value) in given {
            let info = &graph.symbols()[symbol.index()];
            let declared = graph.declared(symbol).map(|size| evaluate(size, &values));
            let known = match declared {
                // Nothing that is computed needs it.
                None | Some(Err(DimError::Unbound(_))) => values[symbol.index()],
                Some(size) => Some(size?),
            };
            if let Some(found) = known.filter(|found| *found != value) {
                return Err(BindError::GivenSize(Box::new(GivenSize {
                    symbol: info.name.to_string(),
                    given: value.saturating_mul(info.unit),
                    found: found.saturating_mul(info.unit),
                    solved: self.solved(graph, inputs, &values, self.steps.len()),
                })));
            }
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
            let is_solved = |symbol: &SymbolId| values[symbol.index()].is_some();
            if obligation.origin.is_none() && !obligation.demand.symbols().iter().all(is_solved) {
                continue;
            }
            let met = match &obligation.demand {
                Demand::NonNegative(dim) => evaluate(dim, values)? >= 0,
                Demand::Equal(left, right) => evaluate(left, values)? == evaluate(right, values)?,
            };
            if !met {
                let (needs, have) = SymbolNames(graph).demand(&obligation.demand, values);
                return Err(BindError::Obligation(Box::new(MissedObligation {
                    requirement: obligation.requirement,
                    needs,
                    have,
                    site: obligation.site,
                    solved: self.solved(graph, inputs, values, self.steps.len()),
                    called: None,
                })));
            }
        }
        for take in &self.takes {
            if evaluate(&take.size, values)? == 0 {
                let indices = count(&take.indices, values)?;
                if indices > 0 {
                    return Err(BindError::EmptyTable(Box::new(EmptyTable {
                        expr: take.expr,
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
        let given = self.parameters.iter().filter_map(|symbol| {
            let info = &graph.symbols()[symbol.index()];
            let value = values[symbol.index()]?.saturating_mul(info.unit);
            Some(Solved { symbol: info.name.to_string(), value, from: None })
        });
        let solved = self.steps.iter().take(count).filter_map(|step| {
            let (symbol, (input, axis)) = match &step.action {
                Action::Solve { symbol, .. } => (*symbol, (step.input, step.axis)),
                Action::SolveStretched { symbol, axes } => {
                    let unit = graph.symbols()[symbol.index()].unit;
                    let size = values[symbol.index()]?.checked_mul(unit)?;
                    let is_it = |(input, axis): &&(InputId, usize)| {
                        inputs[input.index()].is_some_and(|input| input.axes[*axis].size == size)
                    };
                    (*symbol, *axes.iter().find(is_it)?)
                }
                Action::Check(_) | Action::CheckStretched(_) => return None,
            };
            let info = &graph.symbols()[symbol.index()];
            let from = &graph.inputs()[input.index()];
            Some(Solved {
                symbol: info.name.to_string(),
                value: values[symbol.index()]?.saturating_mul(info.unit),
                from: Some(SolvedFrom {
                    input: from.name.to_string(),
                    axis,
                    declared: SymbolNames(graph).dim(&from.shape[axis]),
                    shape: inputs[input.index()]?.shape(),
                    site: from.site,
                }),
            })
        });
        given.chain(solved).collect()
    }

    /// The arrays as the kernels see them: axes of size 1 that stand for another size have that, and stride 0.
    pub(crate) fn stretched(
        &self,
        graph: &CheckedGraph,
        inputs: &[Option<&Geometry>],
        values: &Values,
    ) -> Result<SmallVec<[Option<Geometry>; 4]>, BindError> {
        let stretch = |(info, geometry): (&InputInfo, &Option<&Geometry>)| {
            let Some(geometry) = geometry.filter(|_| !info.may_be_one.is_empty()) else { return Ok(None) };
            let mut shape = geometry.shape();
            for &axis in &info.may_be_one {
                let size = evaluate(&info.shape[axis], values)?;
                shape[axis] = usize::try_from(size).map_err(|_| DimError::Overflow)?;
            }
            let stretched = geometry.stretched(&shape).map_err(|_| DimError::Overflow)?;
            Ok((stretched != *geometry).then_some(stretched))
        };
        graph.inputs().iter().zip(inputs).map(stretch).collect()
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

/// Whether a symbol may have a value.
fn holds(graph: &CheckedGraph, symbol: SymbolId, value: i64) -> bool {
    let facts = graph.symbols()[symbol.index()].facts;
    value >= 0.max(facts.lower) && facts.upper.is_none_or(|upper| value <= upper)
}

/// The first op in which an axis of this size of an input meets the same size of something else.
fn needed_by(graph: &CheckedGraph, input: InputId, size: &Dim) -> Option<(String, Site)> {
    let mut from_input = vec![false; graph.len()];
    for expr in graph.exprs() {
        let operands = graph.operands(expr);
        let is_own = match graph.node(expr) {
            Node::Input(of) => *of == input,
            _ => operands.iter().any(|operand| from_input[operand.index()]),
        };
        from_input[expr.index()] = is_own;
        let has_size = |operand: &&ExprId| graph.shape(**operand).contains(size);
        let (own, others): (Vec<&ExprId>, Vec<&ExprId>) =
            operands.iter().filter(has_size).partition(|operand| from_input[operand.index()]);
        if let (Node::Elementwise { op, .. }, [_, ..], [_, ..]) = (graph.node(expr), &*own, &*others) {
            return Some((op.name().to_owned(), graph.site(expr)));
        }
    }
    None
}

/// Steps over the axes of the chosen inputs, each solving at most one symbol that earlier steps leave open, and the
/// symbols solved.
fn solve(
    graph: &CheckedGraph,
    chosen: &[bool],
    mut solved: HashSet<SymbolId>,
) -> (Vec<Step>, HashSet<SymbolId>) {
    let mut open: Vec<(InputId, usize, &Dim)> = Vec::new();
    let mut stretched: Vec<(InputId, usize, &Dim)> = Vec::new();
    for (index, input) in graph.inputs().iter().enumerate().filter(|(index, _)| chosen[*index]) {
        for (axis, dim) in input.shape.iter().enumerate() {
            let axes = if input.may_be_one.contains(&axis) { &mut stretched } else { &mut open };
            axes.push((InputId::new(index), axis, dim));
        }
    }
    let mut steps = Vec::new();
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
        if open.len() < before {
            continue;
        }
        // What may be 1 determines a size only where nothing else does.
        let lone = |&(input, axis, dim): &(InputId, usize, &Dim)| {
            Some((input, axis, symbol_named(dim, graph.symbols()).filter(|symbol| !solved.contains(symbol))?))
        };
        let Some((input, axis, symbol)) = stretched.iter().find_map(lone) else { break };
        let alike = stretched.iter().filter(|(_, _, dim)| symbol_named(dim, graph.symbols()) == Some(symbol));
        let axes = alike.map(|&(input, axis, _)| (input, axis)).collect();
        steps.push(Step { input, axis, action: Action::SolveStretched { symbol, axes } });
        solved.insert(symbol);
    }
    for (input, axis, dim) in stretched {
        if dim.symbols().iter().all(|symbol| solved.contains(symbol)) {
            steps.push(Step { input, axis, action: Action::CheckStretched(dim.clone()) });
        }
    }
    (steps, solved)
}
