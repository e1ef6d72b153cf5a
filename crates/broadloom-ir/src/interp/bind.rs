//! Sizes of the symbols, solved from the shapes of the arrays.
//!
//! ```text
//! arrays ──count, dtype, rank, elements──▶ axes ──solve until nothing is new──▶ Sizes ──▶ every axis agrees
//!                                                                                    └──▶ obligations hold
//! ```

use super::Array;
use super::error::{Fault, InterpretError, Rule};
use super::view::product;
use crate::dim::{Dim, DimError};
use crate::dtype::Scalar;
use crate::graph::{CheckedGraph, Demand, Obligation, SymbolInfo, SymbolKind, symbol_named};
use crate::ids::{ExprId, SymbolId};

/// The value of every symbol.
pub(super) struct Sizes<'a> {
    graph: &'a CheckedGraph,
    values: Vec<Option<i64>>,
}

/// An axis of an input: the declared size and the array's size.
struct InputAxis<'a> {
    name: &'a str,
    axis: usize,
    dim: &'a Dim,
    size: usize,
    /// Whether the size may be 1 instead.
    may_be_one: bool,
}

/// Checks the arrays against the inputs of the graph and solves its symbols.
pub(super) fn bind<'a>(
    graph: &'a CheckedGraph,
    arrays: &[Array],
    given: &[(&str, i64)],
) -> Result<Sizes<'a>, InterpretError> {
    let inputs = graph.inputs();
    if inputs.len() != arrays.len() {
        return Err(InterpretError::InputCount { expected: inputs.len(), found: arrays.len() });
    }
    let mut axes = Vec::new();
    for (input, array) in inputs.iter().zip(arrays) {
        let name = || Box::from(&*input.name);
        if array.dtype != input.dtype {
            return Err(InterpretError::InputDType {
                name: name(),
                expected: input.dtype,
                found: array.dtype,
            });
        }
        if array.shape.len() != input.shape.rank() {
            let (expected, found) = (input.shape.rank(), array.shape.len());
            return Err(InterpretError::InputRank { name: name(), expected, found });
        }
        if product(&array.shape) != Some(array.elements.len()) {
            let (shape, found) = (array.shape.clone(), array.elements.len());
            return Err(InterpretError::ElementCount { name: name(), shape, found });
        }
        if let Some(position) = array.elements.iter().position(|element| element.dtype() != array.dtype) {
            let (expected, found) = (array.dtype, array.elements[position].dtype());
            return Err(InterpretError::ElementDType { name: name(), position, expected, found });
        }
        for (axis, (dim, &size)) in input.shape.dims().iter().zip(&array.shape).enumerate() {
            let may_be_one = input.may_be_one.contains(&axis);
            axes.push(InputAxis { name: &input.name, axis, dim, size, may_be_one });
        }
    }

    let mut sizes = Sizes { graph, values: vec![None; graph.symbols().len()] };
    for &(name, size) in given {
        sizes.give(name, size)?;
    }
    // Each round except the last solves a symbol, so there is at most one round more than there are symbols.
    while sizes.solve_round(&axes)? || sizes.solve_stretched(&axes)? {}
    sizes.check_axes(&axes)?;
    sizes.check_declared()?;
    sizes.check_facts()?;
    sizes.check_obligations()?;
    Ok(sizes)
}

impl Sizes<'_> {
    /// Takes the size that the caller gives for a symbol's name.
    fn give(&mut self, name: &str, size: i64) -> Result<(), InterpretError> {
        let is_it = |info: &SymbolInfo| {
            let has_name = info.kind != SymbolKind::Flexible && info.kind.decided_by().is_none();
            has_name && *info.name == *name
        };
        let position = self.graph.symbols().iter().position(is_it);
        let Some((position, info)) = position.map(|position| (position, &self.graph.symbols()[position]))
        else {
            return Err(InterpretError::NoSymbol { name: name.into() });
        };
        if size < 0 || size % info.unit != 0 {
            let (symbol, unit, facts) = (info.name.clone(), info.unit, info.facts);
            return Err(InterpretError::Facts { symbol, value: size, unit, facts });
        }
        match self.values[position].replace(size / info.unit) {
            Some(other) if other != size / info.unit => {
                let (symbol, found) = (info.name.clone(), other.saturating_mul(info.unit));
                Err(InterpretError::GivenSize { symbol, given: size, found })
            }
            _ => Ok(()),
        }
    }

    /// Checks sizes given for symbols that declarations replaced by others.
    fn check_declared(&self) -> Result<(), InterpretError> {
        for (position, info) in self.graph.symbols().iter().enumerate() {
            let (Some(given), Some(size)) =
                (self.values[position], self.graph.declared(SymbolId::new(position)))
            else {
                continue;
            };
            let found = self.evaluate(size)?;
            if found != given {
                let [given, found] = [given, found].map(|size| size.saturating_mul(info.unit));
                return Err(InterpretError::GivenSize { symbol: info.name.clone(), given, found });
            }
        }
        Ok(())
    }

    /// Solves a symbol that occurs only on axes which may be 1: its value is the size that is not 1, if there is
    /// one.
    fn solve_stretched(&mut self, axes: &[InputAxis<'_>]) -> Result<bool, InterpretError> {
        let symbols = self.graph.symbols();
        let named = |axis: &InputAxis<'_>| symbol_named(axis.dim, symbols).filter(|_| axis.may_be_one);
        let open = axes.iter().find_map(|axis| named(axis).filter(|symbol| self.value(*symbol).is_none()));
        let Some(symbol) = open else { return Ok(false) };
        let alike = axes.iter().filter(|axis| named(axis) == Some(symbol));
        let size = alike.map(|axis| axis.size).find(|size| *size != 1).unwrap_or(1);
        let info = &symbols[symbol.index()];
        match exact_quotient(size, 0, info.unit) {
            Some(value) => {
                self.values[symbol.index()] = Some(value);
                Ok(true)
            }
            None => {
                let (symbol, unit, facts) = (info.name.clone(), info.unit, info.facts);
                let value = i64::try_from(size).unwrap_or(i64::MAX);
                Err(InterpretError::Facts { symbol, value, unit, facts })
            }
        }
    }

    /// Solves every axis that is affine in its only unknown symbol. Returns whether there was one.
    fn solve_round(&mut self, axes: &[InputAxis<'_>]) -> Result<bool, InterpretError> {
        let mut progress = false;
        for axis in axes.iter().filter(|axis| !axis.may_be_one) {
            let mut unknown = axis.dim.symbols().into_iter().filter(|symbol| self.value(*symbol).is_none());
            let (Some(symbol), None) = (unknown.next(), unknown.next()) else { continue };
            let Some((factor, rest)) = axis.dim.linear_in(symbol) else { continue };
            let rest = self.evaluate(&rest)?;
            let value =
                exact_quotient(axis.size, rest, factor).ok_or_else(|| InterpretError::NoSolution {
                    name: axis.name.into(),
                    axis: axis.axis,
                    found: axis.size,
                    dim: self.spell(axis.dim),
                    symbol: self.symbol_name(symbol),
                })?;
            if let Some(slot) = self.values.get_mut(symbol.index()) {
                *slot = Some(value);
                progress = true;
            }
        }
        Ok(progress)
    }

    fn check_axes(&self, axes: &[InputAxis<'_>]) -> Result<(), InterpretError> {
        for axis in axes {
            // Sizes of inputs that no output needs may stay unsolved.
            if axis.dim.symbols().into_iter().any(|symbol| self.value(symbol).is_none()) {
                continue;
            }
            let expected = self.evaluate(axis.dim)?;
            if usize::try_from(expected) != Ok(axis.size) && !(axis.may_be_one && axis.size == 1) {
                return Err(InterpretError::SizesDisagree {
                    name: axis.name.into(),
                    axis: axis.axis,
                    found: axis.size,
                    dim: self.spell(axis.dim),
                    expected,
                });
            }
        }
        Ok(())
    }

    fn check_facts(&self) -> Result<(), InterpretError> {
        for (info, value) in self.graph.symbols().iter().zip(&self.values) {
            let (Some(value), facts) = (*value, info.facts) else { continue };
            let above = facts.upper.is_some_and(|upper| value > upper);
            if value < facts.lower || above {
                let (symbol, value) = (info.name.clone(), value.saturating_mul(info.unit));
                return Err(InterpretError::Facts { symbol, value, unit: info.unit, facts });
            }
        }
        Ok(())
    }

    /// Finds the sizes that the elements of an expression decide.
    pub(super) fn decide(&mut self, expr: ExprId, array: &Array) -> Result<(), InterpretError> {
        for (index, info) in self.graph.symbols().iter().enumerate() {
            if info.kind.decided_by() != Some(expr) {
                continue;
            }
            let value = match info.kind {
                SymbolKind::Count(_) => {
                    array.elements.iter().filter(|element| **element == Scalar::Bool(true)).count() as i64
                }
                _ => match array.elements.first() {
                    Some(Scalar::I64(value)) => *value,
                    _ => return Err(Fault::Unsound(Rule::Types).at(expr)),
                },
            };
            if value < 0 {
                return Err(InterpretError::NegativeSize { expr, value });
            }
            self.values[index] = Some(value);
            let symbol = SymbolId::new(index);
            self.check_some_obligations(|obligation| obligation.demand.symbols().contains(&symbol))?;
        }
        Ok(())
    }

    fn check_obligations(&self) -> Result<(), InterpretError> {
        self.check_some_obligations(|_| true)
    }

    /// Checks the obligations of which it is asked, unless sizes of them are decided later.
    fn check_some_obligations(&self, is_asked: impl Fn(&Obligation) -> bool) -> Result<(), InterpretError> {
        for obligation in self.graph.obligations().iter().filter(|obligation| is_asked(obligation)) {
            let is_solved = |symbol: &SymbolId| self.value(*symbol).is_some();
            let is_decided_later =
                |symbol: &SymbolId| !is_solved(symbol) && self.graph.decided_by(*symbol).is_some();
            let symbols = obligation.demand.symbols();
            if symbols.iter().any(is_decided_later)
                || obligation.origin.is_none() && !symbols.iter().all(is_solved)
            {
                continue;
            }
            let (value, holds) = match &obligation.demand {
                Demand::NonNegative(dim) => {
                    let value = self.evaluate(dim)?;
                    (value, value >= 0)
                }
                Demand::Equal(left, right) => {
                    let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
                    (left.saturating_sub(right), left == right)
                }
            };
            if !holds {
                let nonnegative = match obligation.demand.difference() {
                    Ok(difference) => self.spell(&difference),
                    Err(_) => "a difference".into(),
                };
                let (expr, requirement) = (obligation.origin, obligation.requirement);
                return Err(InterpretError::Obligation { expr, requirement, nonnegative, value });
            }
        }
        Ok(())
    }

    /// Returns the value of a dim at the solved sizes.
    pub(super) fn evaluate(&self, dim: &Dim) -> Result<i64, InterpretError> {
        dim.evaluate(&|symbol| self.value(symbol)).map_err(|error| match error {
            DimError::Unbound(symbol) => InterpretError::Unsolved { symbol: self.symbol_name(symbol) },
            DimError::Overflow | DimError::TooLarge | DimError::Divisor(_) => {
                InterpretError::Size { dim: self.spell(dim), source: error }
            }
        })
    }

    /// Returns the inferred shape of an expression at the solved sizes.
    pub(super) fn inferred(&self, expr: ExprId) -> Result<Vec<i64>, InterpretError> {
        self.graph.shape(expr).dims().iter().map(|dim| self.evaluate(dim)).collect()
    }

    fn value(&self, symbol: SymbolId) -> Option<i64> {
        self.values.get(symbol.index()).copied().flatten()
    }

    fn symbol_name(&self, symbol: SymbolId) -> Box<str> {
        self.graph.symbols().get(symbol.index()).map_or("?", |info| &*info.name).into()
    }

    fn spell(&self, dim: &Dim) -> Box<str> {
        dim.display(&|symbol| self.graph.named(symbol)).to_string().into()
    }
}

/// Returns the `n >= 0` with `factor * n + rest == size`.
fn exact_quotient(size: usize, rest: i64, factor: i64) -> Option<i64> {
    let difference = i64::try_from(size).ok()?.checked_sub(rest)?;
    let quotient = difference.checked_div(factor)?;
    (quotient >= 0 && difference.checked_rem(factor) == Some(0)).then_some(quotient)
}
