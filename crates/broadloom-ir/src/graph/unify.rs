//! Equality of sizes while a graph is built, and inference of flexible sizes.
//!
//! ```text
//! meet(p, q)   p ≡ q                           same
//!              p - q = k·(?a - e)              ?a, which is not in e, stands for e from now on
//!              p - q can never be 0            clash
//!              p - q mentions flexible sizes   postponed: tried again when one of them is found, and at the end
//!              else                            clash for some sizes
//! ```
//!
//! Shapes in the graph stay as written. Found sizes are inserted when sizes are compared or shown, and when the
//! graph is finished. So inference never affects whether a size is the literal 1, and acceptance does not depend on
//! the order of the ops.

use super::{Operands, Site, Symbols};
use crate::dim::{Dim, DimError};
use crate::ids::SymbolId;
use crate::problem::{Alignment, Certainty, Meeting};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// The reason why two sizes have to be equal.
#[derive(Debug, Clone)]
pub(crate) struct Cause {
    /// Name of the op.
    pub op: &'static str,
    /// Its operands.
    pub operands: Operands,
    pub site: Site,
    /// The compared properties of the operands.
    pub compared: Compared,
}

/// The compared properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Compared {
    /// The sizes of two operands on an axis of the result.
    Axis { axis: usize, operands: [usize; 2] },
    /// The sizes of two axes that meet in a product.
    Meeting { meeting: Meeting, operands: [usize; 2], alignment: Arc<Alignment> },
    /// The numbers of elements.
    Count,
    /// The number of elements, and the product of the given sizes (`by`) times the inferred size.
    Quotient { by: Dim, quotient: SymbolId },
}

/// The outcome of a comparison of two sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// They are equal, or the equation is kept and settled later.
    Same,
    Clash(Certainty),
}

/// A pair of sizes that an op requires to be equal.
#[derive(Debug, Clone)]
pub(crate) struct Equation {
    pub left: Dim,
    pub right: Dim,
    pub cause: Cause,
}

impl Equation {
    /// Returns the symbols of both sides, each once.
    fn symbols(&self) -> Vec<SymbolId> {
        let mut symbols = self.left.symbols();
        symbols.extend(self.right.symbols());
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }
}

/// What is known of flexible sizes.
#[derive(Default)]
pub(super) struct Unifier {
    values: HashMap<SymbolId, Dim>,
    /// The pairs from which sizes were found, as written: the edges of a forest in which the path between two sizes
    /// explains why they are equal.
    links: Vec<Equation>,
    /// The links in which a size occurs.
    linked: HashMap<SymbolId, Vec<usize>>,
    /// Undecided pairs; `None` once they are decided.
    postponed: Vec<Option<Equation>>,
    /// The pairs to try again when a size is found, each once however often it has been tried.
    waiting: HashMap<SymbolId, BTreeSet<usize>>,
    /// The entries that undo the changes since [`Unifier::keep`].
    journal: Vec<Undo>,
}

enum Undo {
    Value(SymbolId, Option<Dim>),
    Link,
    Postponed,
    Decided(usize, Equation),
    Waiting(SymbolId, usize),
}

impl Unifier {
    /// Keeps the sizes found: the op is done.
    pub(super) fn keep(&mut self) {
        self.journal.clear();
    }

    /// Returns the length of the journal, for [`Unifier::undo`].
    pub(super) fn mark(&self) -> usize {
        self.journal.len()
    }

    /// Undoes everything that the current op has found since `mark`.
    pub(super) fn undo(&mut self, mark: usize) {
        for undo in self.journal.drain(mark..).rev() {
            match undo {
                Undo::Value(symbol, Some(before)) => {
                    self.values.insert(symbol, before);
                }
                Undo::Value(symbol, None) => {
                    self.values.remove(&symbol);
                }
                Undo::Link => {
                    for symbol in self.links.pop().iter().flat_map(Equation::symbols) {
                        self.linked.entry(symbol).or_default().pop();
                    }
                }
                Undo::Postponed => {
                    self.postponed.pop();
                }
                Undo::Decided(index, equation) => self.postponed[index] = Some(equation),
                Undo::Waiting(symbol, index) => {
                    self.waiting.entry(symbol).or_default().remove(&index);
                }
            }
        }
    }

    /// Returns a size with all found sizes inserted.
    pub(super) fn resolved(&self, dim: &Dim) -> Result<Dim, DimError> {
        let mut resolved = dim.clone();
        if self.values.is_empty() {
            return Ok(resolved);
        }
        while resolved.symbols().iter().any(|symbol| self.values.contains_key(symbol)) {
            resolved = resolved.substitute_all(&|symbol| self.values.get(&symbol))?;
        }
        Ok(resolved)
    }

    /// Compresses paths: resolves the values of the symbols of a size. Without this, each comparison at the end of
    /// a long chain would walk the whole chain.
    fn shorten(&mut self, dim: &Dim) {
        let known = |values: &HashMap<SymbolId, Dim>, dim: &Dim| -> Vec<SymbolId> {
            dim.symbols().into_iter().filter(|symbol| values.contains_key(symbol)).collect()
        };
        let mut stack = known(&self.values, dim);
        while let Some(&symbol) = stack.last() {
            let before = &self.values[&symbol];
            let parts = known(&self.values, before);
            let open = stack.len();
            stack.extend(parts.iter().filter(|part| !known(&self.values, &self.values[part]).is_empty()));
            if stack.len() > open {
                continue;
            }
            stack.pop();
            if parts.is_empty() {
                continue;
            }
            // A size that cannot be represented stays as it is; whoever needs it reports it.
            let Ok(value) = before.substitute_all(&|part| self.values.get(&part)) else { return };
            self.journal.push(Undo::Value(symbol, self.values.insert(symbol, value)));
        }
    }

    /// Returns the values of all found sizes, fully resolved.
    pub(super) fn solution(&self) -> Result<HashMap<SymbolId, Dim>, DimError> {
        let mut found: Vec<SymbolId> = self.values.keys().copied().collect();
        // Older symbols come first: newer ones stand for older ones, so paths stay short.
        found.sort_unstable();
        let mut short = Unifier { values: self.values.clone(), ..Unifier::default() };
        for symbol in found {
            let value = short.resolved(&Dim::symbol(symbol))?;
            short.values.insert(symbol, value);
        }
        Ok(short.values)
    }

    /// Requires that two sizes are equal, which may determine flexible sizes.
    pub(super) fn meet(&mut self, symbols: &Symbols, left: &Dim, right: &Dim, cause: &Cause) -> Fit {
        if left == right {
            return Fit::Same;
        }
        if !symbols.has_flexible() {
            return match self.compare(symbols, left, right) {
                Decision::Clash(certainty) => Fit::Clash(certainty),
                Decision::Same | Decision::Found(..) | Decision::Postpone => Fit::Same,
            };
        }
        self.settle(symbols, Equation { left: left.clone(), right: right.clone(), cause: cause.clone() })
    }

    /// Decides an equation if that is possible already, then the postponed ones that depend on what it determines.
    pub(super) fn settle(&mut self, symbols: &Symbols, equation: Equation) -> Fit {
        let mut queue = vec![(None, equation)];
        while let Some((index, equation)) = queue.pop() {
            self.shorten(&equation.left);
            self.shorten(&equation.right);
            let decision = match &equation.cause.compared {
                Compared::Quotient { by, quotient } => self.divide(symbols, &equation.left, by, *quotient),
                Compared::Axis { .. } | Compared::Meeting { .. } | Compared::Count => {
                    self.compare(symbols, &equation.left, &equation.right)
                }
            };
            match decision {
                Decision::Clash(certainty) => return Fit::Clash(certainty),
                Decision::Postpone => {
                    self.postpone(index, equation);
                    continue;
                }
                Decision::Same => {}
                Decision::Found(symbol, value) => {
                    self.journal.push(Undo::Value(symbol, self.values.insert(symbol, value)));
                    self.journal.push(Undo::Link);
                    for symbol in equation.symbols() {
                        self.linked.entry(symbol).or_default().push(self.links.len());
                    }
                    self.links.push(equation);
                    let waiting = self.waiting.get(&symbol).into_iter().flatten();
                    queue.extend(waiting.filter_map(|&at| Some((Some(at), self.postponed[at].clone()?))));
                }
            }
            if let Some(decided) = index.and_then(|index: usize| Some((index, self.postponed[index].take()?)))
            {
                self.journal.push(Undo::Decided(decided.0, decided.1));
            }
        }
        Fit::Same
    }

    /// Keeps an equation until one of its flexible sizes is found.
    fn postpone(&mut self, index: Option<usize>, equation: Equation) {
        let index = index.unwrap_or(self.postponed.len());
        for side in [&equation.left, &equation.right] {
            // A side that cannot be represented is reported when the graph is finished.
            let Ok(side) = self.resolved(side) else { continue };
            for symbol in side.symbols() {
                if self.waiting.entry(symbol).or_default().insert(index) {
                    self.journal.push(Undo::Waiting(symbol, index));
                }
            }
        }
        if index == self.postponed.len() {
            self.postponed.push(Some(equation));
            self.journal.push(Undo::Postponed);
        }
    }

    fn compare(&self, symbols: &Symbols, left: &Dim, right: &Dim) -> Decision {
        let (Ok(left), Ok(right)) = (self.resolved(left), self.resolved(right)) else {
            return Decision::Clash(Certainty::Sometimes);
        };
        if left == right {
            return Decision::Same;
        }
        let Ok(difference) = left.sub(&right) else { return Decision::Clash(Certainty::Sometimes) };
        if difference.is_never_zero(&|symbol| symbols.facts(symbol)) {
            return Decision::Clash(Certainty::Never);
        }
        if !symbols.has_flexible() {
            return Decision::Clash(Certainty::Sometimes);
        }
        let mut mentioned = difference.symbols();
        mentioned.retain(|symbol| symbols.is_flexible(*symbol));
        // Solve for the newest symbol, so that older ones stay. A symbol on both sides is solved like any other: if
        // `?a` against `2*?a` were refused, the order of the ops would decide about the equivalent `?a+?b` against
        // `?a` and `?b` against `?a`.
        let lone = mentioned.iter().rev().find_map(|&symbol| {
            let (factor, rest) = difference.linear_in(symbol)?;
            let value = rest.neg().ok()?.exact_div(&Dim::constant(factor))?;
            Some(Decision::Found(symbol, value))
        });
        match lone {
            Some(found) => found,
            None if mentioned.is_empty() => Decision::Clash(Certainty::Sometimes),
            None => Decision::Postpone,
        }
    }

    /// Divides to find the inferred size of a reshape.
    fn divide(&self, symbols: &Symbols, count: &Dim, by: &Dim, quotient: SymbolId) -> Decision {
        match (self.resolved(count), self.resolved(by)) {
            (Ok(count), Ok(by)) => match count.exact_div(&by) {
                Some(value) => self.compare(symbols, &Dim::symbol(quotient), &value),
                None => Decision::Postpone,
            },
            _ => Decision::Clash(Certainty::Sometimes),
        }
    }

    /// Returns the equations that are still postponed.
    pub(super) fn undecided(&self) -> impl Iterator<Item = &Equation> {
        self.postponed.iter().flatten()
    }

    /// Returns the reasons for the value of a flexible size: pairs that lead from it to the size found, nearest
    /// first.
    pub(super) fn reasons(&self, symbol: SymbolId) -> Vec<&Equation> {
        let Ok(target) = self.resolved(&Dim::symbol(symbol)) else { return Vec::new() };
        /// A longer path than this explains nothing.
        const MOST: usize = 64;
        // A breadth-first search that records the link over which each symbol was reached.
        let mut reached: Vec<(SymbolId, Option<(usize, usize)>)> = vec![(symbol, None)];
        let mut next = 0;
        while let Some(&(symbol, _)) = reached.get(next) {
            for &index in self.linked.get(&symbol).into_iter().flatten() {
                let link = &self.links[index];
                let sides = [link.left.symbols(), link.right.symbols()];
                let Some(own) = sides.iter().position(|side| side.contains(&symbol)) else { continue };
                let other = if own == 0 { &link.right } else { &link.left };
                if *other == target {
                    let mut path = vec![index];
                    let mut at = Some(next);
                    while let Some(position) = at {
                        let (_, from) = reached[position];
                        path.extend(from.map(|(_, link)| link));
                        at = from.map(|(position, _)| position);
                    }
                    path.reverse();
                    return path.into_iter().map(|index| &self.links[index]).collect();
                }
                for found in &sides[1 - own] {
                    if reached.len() < MOST && !reached.iter().any(|(symbol, _)| symbol == found) {
                        reached.push((*found, Some((next, index))));
                    }
                }
            }
            next += 1;
        }
        Vec::new()
    }
}

enum Decision {
    Same,
    Clash(Certainty),
    Found(SymbolId, Dim),
    Postpone,
}
