//! Symbolic sizes: names, declared facts and declared equalities.
//!
//! A fact is declared before the symbol is used, so it holds for the whole graph, and accepted expressions stay
//! accepted. A size that is a multiple of `k` is `k` times its symbol, so divisibility is plain arithmetic. A
//! declared equality is a substitution.

use super::{Graph, MAX_IDS, MAX_NAME, Obligation, Site, clipped};
use crate::dim::{Dim, Facts, Named, gcd};
use crate::ids::{ExprId, SymbolId};
use crate::problem::{NameKind, Problem, Requirement};
use std::collections::HashMap;

/// How a symbol gets its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// It stands for one size of any value: from the arrays, or given by name.
    Rigid,
    /// An axis of an input whose size is inferred from its use (`_`).
    Flexible,
    /// Given by name at each call.
    Parameter,
    /// How many elements a mask selects, which each run finds out.
    Count(ExprId),
    /// A computed integer of rank 0, which each run finds out.
    Computed(ExprId),
}

impl SymbolKind {
    /// Returns the expression whose elements decide the size in each run: a mask, or an integer.
    pub fn decided_by(self) -> Option<ExprId> {
        match self {
            SymbolKind::Count(expr) | SymbolKind::Computed(expr) => Some(expr),
            SymbolKind::Rigid | SymbolKind::Flexible | SymbolKind::Parameter => None,
        }
    }

    /// Returns the kind with another expression in place of the one that decides.
    pub(super) fn renumbered(self, id: impl FnOnce(ExprId) -> Option<ExprId>) -> SymbolKind {
        let of = |kind: fn(ExprId) -> SymbolKind, expr| id(expr).map_or(SymbolKind::Rigid, kind);
        match self {
            SymbolKind::Count(expr) => of(SymbolKind::Count, expr),
            SymbolKind::Computed(expr) => of(SymbolKind::Computed, expr),
            SymbolKind::Rigid | SymbolKind::Flexible | SymbolKind::Parameter => self,
        }
    }
}

/// A symbolic size of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolInfo {
    /// Its name.
    pub name: Box<str>,
    /// The place where it was first made.
    pub site: Site,
    /// How it gets its value.
    pub kind: SymbolKind,
    /// The size with this name is this many times the symbol; positive, and 1 unless it was declared a multiple.
    pub unit: i64,
    /// What is known of the symbol's values; checked when a graph is bound.
    pub facts: Facts,
    /// The expected size of this name. It is a hint: it affects results only through the rounding of an `einsum` of
    /// three or more operands, whose order it may determine.
    pub likely: Option<i64>,
}

impl SymbolInfo {
    /// Returns the name and its unit.
    pub fn named(&self) -> Named<'_> {
        Named { name: &self.name, unit: self.unit }
    }
}

/// Returns the name of a size that data decide, after so many others. Names from the user contain no `@`.
pub(super) fn decided_name(before: usize) -> Box<str> {
    match before {
        0 => "@k".into(),
        before => format!("@k{}", before + 1).into(),
    }
}

/// Returns the symbol whose name stands for exactly this size, if there is one.
pub fn symbol_named(size: &Dim, symbols: &[SymbolInfo]) -> Option<SymbolId> {
    let &[symbol] = size.symbols().as_slice() else { return None };
    let unit = symbols.get(symbol.index())?.unit;
    (Dim::symbol(symbol).scale(unit).as_ref() == Ok(size)).then_some(symbol)
}

/// The outcome of a declared equality.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// One symbol stands for the other side from now on: both are the same size in every shape.
    Substituted,
    /// Neither side is an unused symbol: the equality is checked when arrays are bound, and shapes do not use it.
    Checked,
    /// A mistake, which has been recorded.
    Refused,
}

/// The symbols of a graph.
#[derive(Default)]
pub(super) struct Symbols {
    infos: Vec<SymbolInfo>,
    of_name: HashMap<Box<str>, SymbolId>,
    /// The sizes that declarations substituted for symbols.
    declared: HashMap<SymbolId, Dim>,
    used: HashMap<SymbolId, Site>,
    has_flexible: bool,
    /// The symbols that data decide, by what decides them.
    decided: HashMap<ExprId, SymbolId>,
}

impl Symbols {
    pub(super) fn all(&self) -> &[SymbolInfo] {
        &self.infos
    }

    pub(super) fn get(&self, symbol: SymbolId) -> Option<&SymbolInfo> {
        self.infos.get(symbol.index())
    }

    pub(super) fn facts(&self, symbol: SymbolId) -> Facts {
        self.get(symbol).map_or_else(Facts::default, |info| info.facts)
    }

    pub(super) fn is_flexible(&self, symbol: SymbolId) -> bool {
        self.has_flexible && self.get(symbol).is_some_and(|info| info.kind == SymbolKind::Flexible)
    }

    pub(super) fn has_flexible(&self) -> bool {
        self.has_flexible
    }

    pub(super) fn is_full(&self) -> bool {
        self.infos.len() >= MAX_IDS
    }

    /// Returns the kind of a symbol.
    pub(super) fn kind(&self, symbol: SymbolId) -> Option<SymbolKind> {
        self.get(symbol).map(|info| info.kind)
    }

    pub(super) fn has_decided(&self) -> bool {
        !self.decided.is_empty()
    }

    /// Returns the symbol of a size that an expression decides. A mask and an integer are different expressions.
    pub(super) fn decided(&mut self, kind: SymbolKind, by: ExprId, site: Site) -> SymbolId {
        if let Some(&symbol) = self.decided.get(&by) {
            return symbol;
        }
        let name = decided_name(self.decided.len());
        let symbol = self.add(&name, kind, site);
        self.used.insert(symbol, site);
        self.decided.insert(by, symbol);
        symbol
    }

    /// Returns the sizes that declarations substituted for symbols.
    pub(super) fn declared(&self) -> impl Iterator<Item = (SymbolId, &Dim)> {
        self.declared.iter().map(|(symbol, value)| (*symbol, value))
    }

    /// Returns the size that the symbol's name stands for.
    fn size(&self, symbol: SymbolId) -> Dim {
        let value = self.declared.get(&symbol).cloned().unwrap_or(Dim::symbol(symbol));
        let unit = self.get(symbol).map_or(1, |info| info.unit);
        // A declaration whose size cannot be represented was refused.
        value.scale(unit).unwrap_or(value)
    }

    /// Accepts a size for an op: declarations replace symbols, and its symbols count as used from now on.
    pub(super) fn accept(&mut self, dim: &Dim, site: Site) -> Result<Dim, Problem> {
        let accepted = self.expand(dim)?;
        for symbol in dim.symbols() {
            self.used.entry(symbol).or_insert(site);
        }
        Ok(accepted)
    }

    /// Returns a size with the substitutions of declarations applied.
    fn expand(&self, dim: &Dim) -> Result<Dim, Problem> {
        if dim.symbols().iter().any(|symbol| symbol.index() >= self.infos.len()) {
            return Err(Problem::ForeignSymbol);
        }
        dim.substitute_all(&|symbol| self.declared.get(&symbol)).map_err(Problem::Size)
    }

    /// Adds a symbol. The caller has checked the name.
    fn add(&mut self, name: &str, kind: SymbolKind, site: Site) -> SymbolId {
        let symbol = SymbolId::new(self.infos.len());
        let facts = Facts::default();
        self.infos.push(SymbolInfo { name: clipped(name), site, kind, unit: 1, facts, likely: None });
        self.of_name.insert(name.into(), symbol);
        self.has_flexible |= kind == SymbolKind::Flexible;
        symbol
    }

    /// Takes over the symbols of another graph under the same ids, if there are none yet. The caller supplies them
    /// all.
    pub(super) fn take_over(&mut self, symbols: &[SymbolInfo]) {
        for info in symbols {
            self.of_name.insert(info.name.clone(), SymbolId::new(self.infos.len()));
            self.infos.push(SymbolInfo { kind: SymbolKind::Parameter, ..info.clone() });
        }
    }

    /// Gives a symbol that was taken over its kind.
    pub(super) fn settle(&mut self, symbol: SymbolId, kind: SymbolKind) {
        let Some(info) = self.infos.get_mut(symbol.index()) else { return };
        info.kind = kind;
        self.decided.retain(|_, of| *of != symbol);
        if let Some(by) = kind.decided_by() {
            self.decided.insert(by, symbol);
        }
    }

    pub(super) fn forget_facts(&mut self, symbol: SymbolId) {
        if let Some(info) = self.infos.get_mut(symbol.index()) {
            info.facts = Facts::default();
            info.likely = None;
        }
    }

    /// Adds the flexible size of an axis of an input. Names from the user contain no `?`.
    pub(super) fn flexible(&mut self, input: &str, axis: usize, site: Site) -> SymbolId {
        let name = format!("?{input}.{axis}");
        match self.of_name.get(&*name) {
            Some(&symbol) => symbol,
            None => self.add_flexible(&name, site),
        }
    }

    /// Adds the inferred size of a reshape. Its name has no dot, unlike those of axes (`?w.0`).
    pub(super) fn quotient(&mut self, site: Site) -> SymbolId {
        let name = format!("?reshape{}", self.infos.len());
        self.add_flexible(&name, site)
    }

    /// Adds a size that counts as used from the start, so no facts can be declared about it.
    fn add_flexible(&mut self, name: &str, site: Site) -> SymbolId {
        let symbol = self.add(name, SymbolKind::Flexible, site);
        self.used.insert(symbol, site);
        symbol
    }

    /// Returns a symbol about which facts can still be declared.
    fn unused(&mut self, symbol: SymbolId) -> Result<&mut SymbolInfo, Problem> {
        let Some(info) = self.infos.get_mut(symbol.index()) else { return Err(Problem::ForeignSymbol) };
        match self.used.get(&symbol) {
            Some(&used) => Err(Problem::LateFact { name: info.name.clone(), used }),
            None => Ok(info),
        }
    }
}

impl Graph {
    /// Returns the symbol of this name: zero or more, and the same size wherever the name is used in this graph.
    ///
    /// Names consist of letters, digits and `_`; they neither start with a digit nor are `_` alone.
    pub fn symbol(&mut self, name: &str, site: Site) -> SymbolId {
        self.make_symbol(name, SymbolKind::Rigid, site)
    }

    /// Like [`Graph::symbol`], for a size that each call gives by name, so that no input has to determine it.
    pub fn parameter(&mut self, name: &str, site: Site) -> SymbolId {
        let symbol = self.make_symbol(name, SymbolKind::Parameter, site);
        if let Some(info) = self.symbols.infos.get_mut(symbol.index()) {
            info.kind = SymbolKind::Parameter;
        }
        symbol
    }

    fn make_symbol(&mut self, name: &str, kind: SymbolKind, site: Site) -> SymbolId {
        if let Some(&symbol) = self.symbols.of_name.get(name)
            && !self.symbols.is_flexible(symbol)
        {
            return symbol;
        }
        let mut letters = name.chars();
        let good = letters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
            && letters.all(|letter| letter == '_' || letter.is_alphanumeric())
            && name != "_"
            && name.len() <= MAX_NAME;
        if !good {
            let problem = Problem::BadName { kind: NameKind::Symbol, name: clipped(name) };
            self.report(problem, Some("symbol"), site);
        }
        if self.symbols.is_full() {
            self.report(Problem::TooLarge, None, site);
            return SymbolId::new(0);
        }
        self.symbols.add(name, kind, site)
    }

    /// Returns the symbols in the order of creation.
    pub fn symbols(&self) -> &[SymbolInfo] {
        self.symbols.all()
    }

    /// Returns the size that a symbol's name stands for: a multiple of the symbol, or the size that a declaration
    /// substituted for it.
    pub fn symbol_size(&self, symbol: SymbolId) -> Dim {
        self.symbols.size(symbol)
    }

    /// Marks a size as used, for example by arithmetic: from now on no fact about its symbols can be declared.
    pub fn use_size(&mut self, dim: &Dim, site: Site) {
        for symbol in dim.symbols() {
            self.symbols.used.entry(symbol).or_insert(site);
        }
    }

    /// Declares that the size of a symbol's name is within bounds, both included. Every call checks this.
    pub fn state_range(&mut self, symbol: SymbolId, lower: Option<i64>, upper: Option<i64>, site: Site) {
        let result = self.symbols.unused(symbol).and_then(|info| {
            let unit = info.unit;
            let lower = lower.map_or(0, |lower| ceil_div(lower.max(0), unit));
            let upper = upper.map(|upper| upper.div_euclid(unit));
            let lower = lower.max(info.facts.lower);
            let upper = [upper, info.facts.upper].into_iter().flatten().min();
            if upper.is_some_and(|upper| upper < lower) {
                return Err(Problem::ImpossibleFact { name: info.name.clone() });
            }
            info.facts = Facts { lower, upper };
            Ok(())
        });
        self.settle_fact(result, "range", site);
    }

    /// Declares that the size of a symbol's name is a multiple of a positive number. Every call checks this.
    pub fn state_multiple(&mut self, symbol: SymbolId, of: i64, site: Site) {
        let result = self.symbols.unused(symbol).and_then(|info| {
            let Facts { lower, upper } = info.facts;
            // The least common multiple of the old unit and the new one.
            let common = i64::try_from(gcd(info.unit.into(), of.into())).unwrap_or(1);
            let factor = (of > 0).then(|| of / common);
            let unit = factor.and_then(|factor| info.unit.checked_mul(factor));
            let (Some(factor), Some(unit)) = (factor, unit) else {
                return Err(Problem::ImpossibleFact { name: info.name.clone() });
            };
            let facts =
                Facts { lower: ceil_div(lower, factor), upper: upper.map(|upper| upper.div_euclid(factor)) };
            if facts.upper.is_some_and(|upper| upper < facts.lower) {
                return Err(Problem::ImpossibleFact { name: info.name.clone() });
            }
            (info.unit, info.facts) = (unit, facts);
            Ok(())
        });
        self.settle_fact(result, "multiple_of", site);
    }

    /// Records an expected size.
    pub fn state_likely(&mut self, symbol: SymbolId, size: i64) {
        if let Some(info) = self.symbols.infos.get_mut(symbol.index()) {
            info.likely = Some(size);
        }
    }

    /// Declares that two sizes are equal. If one of them is an unused symbol, it stands for the other size from now
    /// on.
    pub fn declare_equal(&mut self, left: &Dim, right: &Dim, site: Site) -> Declared {
        let result = self.try_declare(left, right, site);
        match result {
            Ok(declared) => declared,
            Err(problem) => {
                self.settle_fact(Err(problem), "declare_equal", site);
                Declared::Refused
            }
        }
    }

    fn try_declare(&mut self, left: &Dim, right: &Dim, site: Site) -> Result<Declared, Problem> {
        let (left, right) = (self.symbols.expand(left)?, self.symbols.expand(right)?);
        let difference = left.sub(&right).map_err(Problem::Size)?;
        if difference.is_zero() {
            return Ok(Declared::Substituted);
        }
        if difference.is_never_zero(&|symbol| self.symbols.facts(symbol)) {
            let (left, right) = (self.size(&left), self.size(&right));
            return Err(Problem::NeverEqual { left, right });
        }
        let mut late = None;
        // A parameter keeps the value that the caller gives, so the other symbol is replaced if possible.
        let is_parameter = |side: &&Dim| {
            let symbol = side.symbols().first().copied();
            symbol.and_then(|symbol| self.symbols.get(symbol)).map(|info| info.kind)
                == Some(SymbolKind::Parameter)
        };
        let mut sides = [&left, &right];
        sides.sort_by_key(is_parameter);
        for side in sides {
            let &[symbol] = side.symbols().as_slice() else { continue };
            if *side != self.symbols.size(symbol) {
                continue;
            }
            let Some((factor, rest)) = difference.linear_in(symbol) else { continue };
            let value = rest.neg().ok().and_then(|rest| rest.exact_div(&Dim::constant(factor)));
            let Some(value) = value else { continue };
            if let Err(problem) = self.symbols.unused(symbol) {
                late.get_or_insert(problem);
                continue;
            }
            return self.substitute_symbol(symbol, value, site);
        }
        // It would have been a substitution if the symbol had not been used before.
        if let Some(problem) = late {
            return Err(problem);
        }
        let demand = super::Demand::Equal(left, right);
        let requirement = Requirement::Declared;
        self.declarations.push(Obligation {
            demand,
            origin: None,
            site,
            requirement,
            call: None,
            bounds_size: false,
        });
        Ok(Declared::Checked)
    }

    fn substitute_symbol(&mut self, symbol: SymbolId, value: Dim, site: Site) -> Result<Declared, Problem> {
        let info = &self.symbols.infos[symbol.index()];
        let (facts, unit) = (info.facts, info.unit);
        // The facts declared about the symbol must hold for the value that replaces it.
        let mut demands = vec![value.sub(&Dim::constant(facts.lower)).map_err(Problem::Size)?];
        if let Some(upper) = facts.upper {
            demands.push(Dim::constant(upper).sub(&value).map_err(Problem::Size)?);
        }
        for demand in demands {
            let interval = demand.interval(&|symbol| self.symbols.facts(symbol));
            if interval.upper < 0 {
                let name = self.symbols.infos[symbol.index()].name.clone();
                return Err(Problem::ImpossibleFact { name });
            }
            if interval.lower < 0 {
                let (demand, requirement) = (super::Demand::NonNegative(demand), Requirement::Range);
                self.declarations.push(Obligation {
                    demand,
                    origin: None,
                    site,
                    requirement,
                    call: None,
                    bounds_size: false,
                });
            }
        }
        value.scale(unit).map_err(Problem::Size)?;
        self.use_size(&value, site);
        // No fact can be declared about a symbol that no longer occurs.
        self.symbols.used.insert(symbol, site);
        self.symbols.declared.insert(symbol, value);
        Ok(Declared::Substituted)
    }

    fn settle_fact(&mut self, result: Result<(), Problem>, op: &str, site: Site) {
        if let Err(problem) = result {
            self.report(problem, Some(op), site);
        }
    }
}

fn ceil_div(value: i64, divisor: i64) -> i64 {
    value.div_euclid(divisor) + i64::from(value.rem_euclid(divisor) != 0)
}
