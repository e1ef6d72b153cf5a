//! Determines which input axis gives the value of which symbol.

use super::{InputInfo, SymbolInfo, symbol_named};
use crate::dim::Dim;
use crate::ids::{InputId, SymbolId};
use std::collections::VecDeque;

/// The computation of a symbol when a graph is bound: the size of an axis of an input is `k * symbol + rest`
/// ([`Dim::linear_in`]), and `rest` contains only symbols that are solved earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Solution {
    /// The symbol that is computed.
    pub symbol: SymbolId,
    /// The input that determines it.
    pub input: InputId,
    /// The axis whose size determines it.
    pub axis: usize,
}

/// Returns solutions in a valid order. Symbols that no axis determines are left out.
pub(super) fn solve(inputs: &[InputInfo], symbols: &[SymbolInfo]) -> Vec<Solution> {
    struct Equation<'a> {
        input: InputId,
        axis: usize,
        size: &'a Dim,
        unknown: Vec<SymbolId>,
        may_be_one: bool,
    }
    let mut equations = Vec::new();
    let mut mentions = vec![Vec::new(); symbols.len()];
    for (index, input) in inputs.iter().enumerate() {
        for (axis, size) in input.shape.iter().enumerate() {
            let unknown = size.symbols();
            for symbol in &unknown {
                if let Some(mentions) = mentions.get_mut(symbol.index()) {
                    mentions.push(equations.len());
                }
            }
            let may_be_one = input.may_be_one.contains(&axis);
            equations.push(Equation { input: InputId::new(index), axis, size, unknown, may_be_one });
        }
    }
    let mut solved = vec![false; symbols.len()];
    let mut solutions = Vec::new();
    let mut queue: VecDeque<usize> = (0..equations.len()).collect();
    // Axes that may be 1 come last: only if nothing else determines a symbol, the size that is not 1 does.
    let mut stretched: VecDeque<usize> =
        (0..equations.len()).filter(|index| equations[*index].may_be_one).collect();
    loop {
        let (index, is_last) = match (queue.pop_front(), stretched.front()) {
            (Some(index), _) => (index, false),
            (None, Some(&index)) => (index, true),
            (None, None) => return solutions,
        };
        if is_last {
            stretched.pop_front();
        }
        let Some(equation) = equations.get_mut(index) else { continue };
        equation.unknown.retain(|symbol| !solved.get(symbol.index()).copied().unwrap_or(true));
        let &[symbol] = equation.unknown.as_slice() else { continue };
        let determines = match equation.may_be_one {
            true => is_last && symbol_named(equation.size, symbols).is_some(),
            false => equation.size.linear_in(symbol).is_some(),
        };
        if !determines {
            continue;
        }
        solutions.push(Solution { symbol, input: equation.input, axis: equation.axis });
        if let (Some(solved), Some(mentions)) = (solved.get_mut(symbol.index()), mentions.get(symbol.index()))
        {
            *solved = true;
            queue.extend(mentions);
        }
    }
}
