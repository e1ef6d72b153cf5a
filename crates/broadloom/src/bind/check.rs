//! Sizes of arrays: solves and checks the values of symbols step by step.

use super::error::{
    ArrayName, BindError, EmptyTable, GivenSize, MissedObligation, Role, SizeMismatch, Solved, SolvedFrom,
};
use super::names::{SymbolNames, stated};
use super::rules::{Action, SizeRules, Step};
use super::sizes::{Given, Values, count, evaluate};
use crate::array::Geometry;
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::graph::{CheckedGraph, Demand, InputInfo, Node, Site};
use broadloom_ir::{ExprId, InputId, SymbolId};
use smallvec::SmallVec;

impl SizeRules {
    /// Returns the values of the symbols that follow from the inputs' sizes, if all sizes agree with each other and
    /// with the given ones. Dtypes and ranks have been checked, and all required inputs are present.
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
                Action::Solve { symbol, .. } | Action::SolveStretched { symbol, .. } => {
                    let value = solve(graph, step, found, inputs, &values)?;
                    if value.is_some() {
                        values[symbol.index()] = value;
                        continue;
                    }
                    None
                }
                Action::CheckStretched(_) if found == 1 => continue,
                Action::Check(dim) | Action::CheckStretched(dim) => match evaluate(dim, &values)? {
                    expected if expected == found => continue,
                    expected => Some(expected),
                },
            };
            // Among axes that may be 1, a size other than 1 is at fault.
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
                // No computation needs the value.
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
        let numbers: Vec<usize> = (0..graph.obligations().len()).collect();
        self.check_obligations(graph, inputs, &values, &numbers)?;
        self.check_takes(graph, &values)?;
        Ok(values)
    }

    /// Checks the conditions with these numbers, unless the data of the run decide a size of them.
    pub(crate) fn check_obligations(
        &self,
        graph: &CheckedGraph,
        inputs: &[Option<&Geometry>],
        values: &Values,
        numbers: &[usize],
    ) -> Result<(), BindError> {
        for obligation in numbers.iter().map(|number| &graph.obligations()[*number]) {
            let is_open =
                |symbol: &SymbolId| values[symbol.index()].is_none() && graph.decided_by(*symbol).is_some();
            if obligation.demand.symbols().iter().any(is_open) {
                continue;
            }
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
                    call: obligation.call.clone(),
                    needs,
                    have,
                    site: obligation.site,
                    solved: self.solved(graph, inputs, values, self.steps.len()),
                    called: None,
                })));
            }
        }
        Ok(())
    }

    fn check_takes(&self, graph: &CheckedGraph, values: &Values) -> Result<(), BindError> {
        for take in &self.takes {
            if evaluate(&take.size, values)? == 0 {
                let indices = count(&take.indices, values)?;
                if indices > 0 {
                    return Err(BindError::EmptyTable(Box::new(EmptyTable {
                        expr: take.expr,
                        site: take.site,
                        call: graph.call(take.expr).into(),
                        axis: take.axis,
                        is_own: take.is_own,
                        indices,
                    })));
                }
            }
        }
        Ok(())
    }

    /// Returns where the symbols that the first `count` steps solved came from.
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

    /// Returns the arrays as the kernels see them: an axis of size 1 that represents another size gets that size,
    /// and stride 0.
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

    /// Returns the number of steps, for a list of all solved symbols.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }
}

/// Returns the value of the symbol that a step solves, if the axis of size `found` gives it an allowed value.
fn solve(
    graph: &CheckedGraph,
    step: &Step,
    found: i64,
    inputs: &[Option<&Geometry>],
    values: &Values,
) -> Result<Option<i64>, DimError> {
    let (symbol, size, factor) = match &step.action {
        Action::Solve { symbol, coefficient, rest } => {
            let rest = evaluate(rest, values)?;
            (*symbol, i128::from(found) - i128::from(rest), *coefficient)
        }
        Action::SolveStretched { symbol, axes } => {
            let mut sizes =
                axes.iter().filter_map(|(input, axis)| Some(inputs[input.index()]?.axes[*axis].size));
            let size = sizes.find(|size| *size != 1).unwrap_or(1);
            (*symbol, size.into(), graph.symbols()[symbol.index()].unit)
        }
        Action::Check(_) | Action::CheckStretched(_) => return Ok(None),
    };
    let (value, remainder) = (size / i128::from(factor), size % i128::from(factor));
    let value = i64::try_from(value).ok().filter(|_| remainder == 0);
    Ok(value.filter(|value| holds(graph, symbol, *value)))
}

/// Returns whether a symbol may have a value.
fn holds(graph: &CheckedGraph, symbol: SymbolId, value: i64) -> bool {
    let facts = graph.symbols()[symbol.index()].facts;
    value >= 0.max(facts.lower) && facts.upper.is_none_or(|upper| value <= upper)
}

/// Returns the first op in which an axis of this size of an input meets the same size of something else.
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
