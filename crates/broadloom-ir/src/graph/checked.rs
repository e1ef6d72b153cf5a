//! Checked graphs: proof that every expression is well typed and well shaped.

mod sizes;

use super::solve::{Solution, solve};
use super::{
    Compared, Entry, Equation, Graph, InputInfo, Mistake, Node, Obligation, Operands, Site, SymbolInfo,
    SymbolKind, check_tensor_name, decided_name, infer,
};
use crate::dim::{Dim, DimError, Named};
use crate::dtype::DType;
use crate::ids::{ExprId, InputId, SymbolId};
use crate::problem::{Problem, Requirement};
use crate::shape::Shape;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// An output of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputInfo {
    /// Its name.
    pub name: Box<str>,
    /// Its value.
    pub expr: ExprId,
    /// The input that the output is [assigned](Graph::assign) to, whose name it has.
    pub assigned: Option<InputId>,
}

/// The part of a [`Graph`] that some outputs need, without mistakes. Clones share it.
#[derive(Clone)]
pub struct CheckedGraph(Arc<Checked>);

/// The name and value of an output, and the input that it is assigned to.
type Destination<'a> = (&'a str, ExprId, Option<InputId>);

#[derive(Clone)]
struct Checked {
    entries: Vec<Entry>,
    inputs: Vec<InputInfo>,
    outputs: Vec<OutputInfo>,
    symbols: Vec<SymbolInfo>,
    declared: HashMap<SymbolId, Dim>,
    obligations: Vec<Obligation>,
    solutions: Vec<Solution>,
}

impl Graph {
    /// Like [`Graph::finish_numbered`], before its mistakes are explained.
    ///
    /// # Errors
    /// Returns every mistake.
    pub(crate) fn try_finish(
        &self,
        outputs: &[(&str, ExprId)],
    ) -> Result<(CheckedGraph, Vec<Option<ExprId>>), Vec<Mistake>> {
        let mut mistakes = self.mistakes.clone();
        let found_late = |problem, op, site| self.mistake(problem, op, &[], site);
        let assigned = self.assignments.iter().map(|assignment| {
            (&*self.inputs[assignment.input.index()].name, assignment.value, Some(assignment.input))
        });
        let outputs: Vec<Destination<'_>> =
            outputs.iter().map(|&(name, expr)| (name, expr, None)).chain(assigned).collect();
        mistakes.extend(self.mistaken_outputs(&outputs));
        let escaping = self.escaping(outputs.iter().map(|(_, expr, _)| *expr));
        mistakes.extend(
            escaping.into_iter().map(|(name, site)| found_late(Problem::OutsideLoop { name }, None, site)),
        );
        let needed = self.needed(&outputs);
        mistakes.extend(self.decided_in_steps(&needed));
        mistakes.extend(self.unifier.undecided().map(|equation| self.undecided(equation)));
        let found = self.unifier.solution().unwrap_or_else(|error| {
            let site = self.entry(ExprId::new(super::POISON)).site;
            mistakes.push(found_late(Problem::Size(error), None, site));
            HashMap::new()
        });
        let mut negative: Vec<(&SymbolId, &Dim)> = (found.iter())
            .filter(|(_, size)| size.interval(&|symbol| self.facts(symbol)).upper < 0)
            .collect();
        negative.sort_unstable();
        mistakes.extend(negative.into_iter().map(|(symbol, size)| {
            let problem = Problem::NeverMet { requirement: Requirement::Size, size: self.size(size) };
            found_late(problem, None, self.symbols()[symbol.index()].site)
        }));
        let unproven = self.maybe_negative(&found, &needed);
        let mut found = Substitution { values: found, error: None };
        let mut inputs = self.inputs.clone();
        inputs.iter_mut().for_each(|input| found.apply_to(&mut input.shape));
        mistakes.extend(self.decided_inputs(&inputs));
        let solutions = solve(&inputs, self.symbols());
        let is_known = |kind: SymbolKind| kind == SymbolKind::Parameter || kind.decided_by().is_some();
        let mut known: Vec<bool> = self.symbols().iter().map(|symbol| is_known(symbol.kind)).collect();
        for solution in &solutions {
            known[solution.symbol.index()] = true;
        }
        let (entries, number) = self.renumbered(&needed, &mut found);
        // A shape was measured when it was built, before the sizes in it were found.
        if !found.is_empty()
            && let Some((problem, entry)) = self.too_large(&entries)
        {
            mistakes.push(self.mistake(problem, entry.call.as_deref(), &[], entry.site));
        }
        let output = |&(name, expr, assigned): &Destination<'_>| OutputInfo {
            name: name.into(),
            expr: numbered(&number, expr),
            assigned,
        };
        let symbol = |info: &SymbolInfo| SymbolInfo {
            kind: info.kind.renumbered(|expr| number.get(expr.index()).copied().flatten()),
            ..info.clone()
        };
        let mut checked = Checked {
            entries,
            inputs,
            outputs: outputs.iter().map(output).collect(),
            symbols: self.symbols().iter().map(symbol).collect(),
            declared: HashMap::new(),
            obligations: Vec::new(),
            solutions,
        };
        let measured = self.reached(self.measured.iter().copied());
        for obligation in self.declarations.iter().chain(&self.obligations) {
            let origin = obligation.origin.and_then(|origin| number.get(origin.index()).copied().flatten());
            // Without a bound, a size that was handed out is wrong. Of two sizes that should be equal, the other is not needed.
            let bounds_size = obligation.origin.is_some_and(|origin| measured[origin.index()])
                && matches!(obligation.demand, super::Demand::NonNegative(_));
            if obligation.origin.is_some() && origin.is_none() && !bounds_size {
                continue;
            }
            let demand = obligation.demand.map(&mut |dim| found.apply(dim));
            match self.decide(&Obligation { demand, origin, bounds_size, ..obligation.clone() }) {
                Ok(Some(left)) => checked.obligations.push(left),
                Ok(None) => {}
                Err(mistake) => mistakes.push(*mistake),
            }
        }
        checked.declared =
            self.symbols.declared().map(|(symbol, value)| (symbol, found.apply(value))).collect();
        for (index, size) in unproven {
            let Entry { site, ref call, .. } = self.entries[index];
            let (demand, origin) = (super::Demand::NonNegative(found.apply(&size)), number[index]);
            let (requirement, call) = (Requirement::Size, call.clone());
            let bounds_size = false;
            checked.obligations.push(Obligation { demand, origin, site, requirement, call, bounds_size });
        }
        if self.symbols.has_decided() {
            checked.settle_decided();
        }
        mistakes.extend(checked.unsolved(known).into_iter().map(|(symbol, site)| {
            let symbol = self.symbols()[symbol.index()].name.clone();
            found_late(Problem::Unsolvable { symbol }, None, site)
        }));
        if let Some(error) = found.error {
            let site = self.entry(ExprId::new(super::POISON)).site;
            mistakes.push(found_late(Problem::Size(error), None, site));
        }
        if mistakes.is_empty() { Ok((CheckedGraph(Arc::new(checked)), number)) } else { Err(mistakes) }
    }

    /// Returns the sizes that may be negative and that no input's axis has, each with the index of the first needed
    /// expression that mentions it. There are two kinds. Inferred sizes were assumed to be nonnegative while the
    /// graph was built, before their values were known. And if an axis is `n - 5` or 1, an array of size 1 does not
    /// prove `n >= 5`.
    fn maybe_negative(&self, found: &HashMap<SymbolId, Dim>, needed: &[bool]) -> Vec<(usize, Dim)> {
        let unproven = |size: &Dim| size.interval(&|symbol| self.facts(symbol)).lower < 0;
        let open: HashSet<SymbolId> =
            found.iter().filter(|(_, size)| unproven(size)).map(|(symbol, _)| *symbol).collect();
        let entries = || self.entries.iter().enumerate().filter(|(index, _)| needed[*index]);
        let mut proven = HashSet::new();
        for (_, entry) in entries() {
            if let Node::Input(input) = entry.node {
                let may_be_one = &self.inputs[input.index()].may_be_one;
                let has = entry.shape.iter().enumerate().filter(|(axis, _)| !may_be_one.contains(axis));
                proven.extend(has.map(|(_, size)| size.clone()));
            }
        }
        let mut sizes = Vec::new();
        for (index, entry) in entries() {
            let mut mentioned: Vec<Dim> = Vec::new();
            if let Node::Input(input) = entry.node {
                let stretched = self.inputs[input.index()].may_be_one.iter().map(|&axis| &entry.shape[axis]);
                mentioned.extend(stretched.filter(|size| unproven(size)).cloned());
            }
            if !open.is_empty() {
                let mut symbols: Vec<SymbolId> = entry.shape.iter().flat_map(Dim::symbols).collect();
                entry.node.clone().visit_dims(&mut |dim| symbols.extend(dim.symbols()));
                mentioned.extend(symbols.into_iter().filter(|symbol| open.contains(symbol)).map(Dim::symbol));
            }
            sizes.extend(
                mentioned.into_iter().filter(|size| proven.insert(size.clone())).map(|size| (index, size)),
            );
        }
        sizes
    }

    /// Returns the mistakes of inputs whose sizes would be known only after a run has begun.
    fn decided_inputs(&self, inputs: &[InputInfo]) -> Vec<Mistake> {
        if !self.symbols.has_decided() {
            return Vec::new();
        }
        let is_decided =
            |symbol: &SymbolId| self.symbols.kind(*symbol).and_then(SymbolKind::decided_by).is_some();
        let mut mistakes = Vec::new();
        for input in inputs {
            if let Some(symbol) = input.shape.iter().flat_map(Dim::symbols).find(is_decided) {
                let size = self.size(&Dim::symbol(symbol));
                let problem = Problem::DecidedInput { name: input.name.clone(), size };
                mistakes.push(self.mistake(problem, None, &[], input.site));
            }
        }
        mistakes
    }

    /// Returns the rest of an obligation once all sizes are found.
    fn decide(&self, obligation: &Obligation) -> Result<Option<Obligation>, Box<Mistake>> {
        let Obligation { demand, site, requirement, .. } = obligation;
        let mistake = |problem| Err(Box::new(self.mistake(problem, None, &[], *site)));
        let difference = match demand.difference() {
            Ok(difference) => difference,
            Err(error) => return mistake(Problem::Size(error)),
        };
        let facts = |symbol| self.facts(symbol);
        let interval = difference.interval(&facts);
        match demand {
            super::Demand::NonNegative(_) if interval.upper < 0 => {
                mistake(Problem::NeverMet { requirement: *requirement, size: self.size(&difference) })
            }
            super::Demand::NonNegative(_) if interval.lower >= 0 => Ok(None),
            super::Demand::Equal(left, right) if difference.is_never_zero(&facts) => {
                mistake(Problem::NeverEqual { left: self.size(left), right: self.size(right) })
            }
            super::Demand::Equal(..) if difference.is_zero() => Ok(None),
            super::Demand::NonNegative(_) | super::Demand::Equal(..) => Ok(Some(obligation.clone())),
        }
    }

    /// Returns the mistake of a postponed equation that is still undecided at the end.
    fn undecided(&self, equation: &Equation) -> Mistake {
        let Equation { left, right, cause } = equation;
        let problem = match &cause.compared {
            Compared::Quotient { by, .. } => {
                let (have, by) = (self.resolved_dim(left), self.resolved_dim(by));
                let multiple = self.stated_multiple(&have, &by);
                Problem::Indivisible { have: self.size(&have), by: self.size(&by), multiple }
            }
            Compared::Meeting { meeting, operands, alignment } => {
                let [one, other] = *operands;
                let column = alignment.columns[other][meeting.axes[1]];
                let certainty =
                    infer::certainty(&self.resolved_dim(left), &self.resolved_dim(right), &|symbol| {
                        self.facts(symbol)
                    });
                let sides = [(one, left.clone()), (other, right.clone())];
                let conflicts = vec![self.met(column, sides, certainty, cause.operands.len())];
                Problem::Contraction { alignment: alignment.clone(), meetings: vec![*meeting], conflicts }
            }
            Compared::Axis { .. } | Compared::Count => {
                let (known_left, known_right) = (self.resolved_dim(left), self.resolved_dim(right));
                let certainty = infer::certainty(&known_left, &known_right, &|symbol| self.facts(symbol));
                let axis = match cause.compared {
                    Compared::Axis { axis, .. } => Some(axis),
                    Compared::Count | Compared::Meeting { .. } | Compared::Quotient { .. } => None,
                };
                let sizes = Box::new([self.size(left), self.size(right)]);
                let only_if = Box::new(self.only_if(left, right));
                Problem::Undecided { axis, sizes, certainty, only_if }
            }
        };
        self.mistake(problem, Some(cause.op), &cause.operands, cause.site)
    }

    /// Returns the mistakes in the outputs themselves.
    fn mistaken_outputs(&self, outputs: &[Destination<'_>]) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        let mistake = |problem, op, site| self.mistake(problem, op, &[], site);
        // A refused assignment counts as an intended output.
        if outputs.is_empty() && self.mistakes.is_empty() {
            let site = self.entry(ExprId::new(super::POISON)).site;
            mistakes.push(mistake(Problem::NoOutputs, None, site));
        }
        let mut names = HashSet::new();
        for &(name, expr, _) in outputs {
            let site = self.site(expr);
            if let Err(problem) = check_tensor_name(name) {
                mistakes.push(mistake(problem, Some("output"), site));
            }
            if !names.insert(name) {
                mistakes.push(mistake(Problem::DuplicateOutput { name: name.into() }, None, site));
            }
            if self.is_poisoned(expr) && self.mistakes.is_empty() {
                mistakes.push(mistake(Problem::PoisonedOutput { name: name.into() }, None, site));
            }
        }
        mistakes
    }

    /// Returns the needed expressions with the found sizes inserted, and the number of each expression among them.
    fn renumbered(&self, needed: &[bool], found: &mut Substitution) -> (Vec<Entry>, Vec<Option<ExprId>>) {
        let mut entries = Vec::new();
        let mut number = vec![None; self.entries.len()];
        let mut interned = HashMap::new();
        for (index, entry) in self.entries.iter().enumerate().filter(|(index, _)| needed[*index]) {
            let mut entry = entry.clone();
            entry.node.renumber(|expr| numbered(&number, expr));
            found.apply_to(&mut entry.shape);
            entry.node.visit_dims(&mut |dim| *dim = found.apply(dim));
            let shape_of =
                |operand: ExprId| entries.get(operand.index()).map_or(&[][..], |entry: &Entry| &entry.shape);
            entry.node.settle_parts(&entry.shape, shape_of);
            let next = ExprId::new(entries.len());
            // Nodes that were written differently may be equal once inferred sizes are known.
            let expr = match found.is_empty() {
                true => next,
                false => {
                    *interned.entry((entry.node.clone(), entry.dtype, entry.shape.clone())).or_insert(next)
                }
            };
            number[index] = Some(expr);
            if expr == next {
                entries.push(entry);
            }
        }
        (entries, number)
    }

    /// Returns the first expression whose elements cannot be counted or addressed.
    fn too_large<'e>(&self, entries: &'e [Entry]) -> Option<(Problem, &'e Entry)> {
        entries.iter().find_map(|entry| match self.check_elements(&entry.shape) {
            Err(problem @ (Problem::TooManyElements | Problem::Size(_))) => Some((problem, entry)),
            _ => None,
        })
    }

    /// Returns which expressions the outputs need, by index.
    fn needed(&self, outputs: &[Destination<'_>]) -> Vec<bool> {
        self.reached(outputs.iter().map(|(_, expr, _)| *expr))
    }

    /// Returns which expressions some of them are made of, by index: themselves and all operands.
    fn reached(&self, exprs: impl Iterator<Item = ExprId>) -> Vec<bool> {
        let mut needed = vec![false; self.entries.len()];
        for expr in exprs {
            if let Some(needed) = needed.get_mut(expr.index()) {
                *needed = true;
            }
        }
        let has_decided = self.symbols.has_decided();
        for index in (0..needed.len()).rev() {
            if needed[index] {
                let entry = &self.entries[index];
                for operand in entry.node.operands() {
                    needed[operand.index()] = true;
                }
                if has_decided {
                    // What decides a size was made before anything that has it.
                    self.deciding(entry).into_iter().for_each(|expr| needed[expr.index()] = true);
                }
            }
        }
        needed
    }

    /// Returns the expressions that decide the sizes of another one.
    pub(super) fn deciding(&self, entry: &Entry) -> Vec<ExprId> {
        let mut symbols: Vec<SymbolId> = entry.shape.iter().flat_map(Dim::symbols).collect();
        entry.node.clone().visit_dims(&mut |dim| symbols.extend(dim.symbols()));
        let kind = |symbol: SymbolId| self.symbols.kind(symbol).and_then(SymbolKind::decided_by);
        symbols.into_iter().filter_map(kind).collect()
    }
}

/// Returns the new number of an expression. An id from another graph stays as it is.
fn numbered(number: &[Option<ExprId>], expr: ExprId) -> ExprId {
    number.get(expr.index()).copied().flatten().unwrap_or(expr)
}

/// The sizes that symbols stand for, and the first error where a result could not be represented.
struct Substitution {
    values: HashMap<SymbolId, Dim>,
    error: Option<DimError>,
}

impl Substitution {
    fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns a size with all substitutions applied.
    fn apply(&mut self, dim: &Dim) -> Dim {
        match dim.substitute_all(&|symbol| self.values.get(&symbol)) {
            Ok(dim) => dim,
            Err(error) => {
                self.error = Some(error);
                dim.clone()
            }
        }
    }

    fn apply_to(&mut self, shape: &mut Shape) {
        let mentioned = !self.is_empty()
            && shape.iter().flat_map(Dim::symbols).any(|symbol| self.values.contains_key(&symbol));
        if mentioned {
            *shape = shape.iter().map(|dim| self.apply(dim)).collect();
        }
    }
}

impl Checked {
    /// Forgets what decides sizes that nothing has, and names the others in the order of what decides them, so that equal graphs
    /// have equal names.
    fn settle_decided(&mut self) {
        let mut is_mentioned = vec![false; self.symbols.len()];
        let mut mention =
            |dim: &Dim| dim.symbols().into_iter().for_each(|symbol| is_mentioned[symbol.index()] = true);
        for entry in &self.entries {
            entry.shape.iter().for_each(&mut mention);
            entry.node.clone().visit_dims(&mut |dim| mention(dim));
        }
        for obligation in &self.obligations {
            obligation.demand.symbols().into_iter().map(Dim::symbol).for_each(|dim| mention(&dim));
        }
        let mut decided: Vec<(ExprId, usize)> = Vec::new();
        for (index, info) in self.symbols.iter_mut().enumerate() {
            match info.kind.decided_by() {
                Some(expr) if is_mentioned[index] => decided.push((expr, index)),
                Some(_) => info.kind = SymbolKind::Rigid,
                None => {}
            }
        }
        decided.sort_unstable();
        for (number, (_, index)) in decided.into_iter().enumerate() {
            self.symbols[index].name = decided_name(number);
        }
    }

    /// Returns the symbols that are mentioned but determined neither by an input nor by the caller, each with its
    /// first use.
    fn unsolved(&self, mut known: Vec<bool>) -> Vec<(SymbolId, Site)> {
        let mut unsolved = Vec::new();
        let mut seen_shapes = HashSet::new();
        let mut report = |symbol: SymbolId, site: Site| {
            if let Some(known) = known.get_mut(symbol.index()).filter(|known| !**known) {
                *known = true;
                unsolved.push((symbol, site));
            }
        };
        for entry in &self.entries {
            if seen_shapes.insert(&entry.shape) {
                let symbols = entry.shape.iter().flat_map(|dim| dim.symbols());
                symbols.for_each(|symbol| report(symbol, entry.site));
            }
            let mut node = entry.node.clone();
            node.visit_dims(&mut |dim| {
                dim.symbols().into_iter().for_each(|symbol| report(symbol, entry.site))
            });
        }
        for obligation in self.obligations.iter().filter(|obligation| obligation.origin.is_some()) {
            obligation.demand.symbols().into_iter().for_each(|symbol| report(symbol, obligation.site));
        }
        unsolved
    }
}

impl CheckedGraph {
    /// Returns the number of expressions.
    #[allow(clippy::len_without_is_empty, reason = "a checked graph has an output, so it is never empty")]
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Returns the expressions; operands come before the expressions that use them.
    pub fn exprs(&self) -> impl Iterator<Item = ExprId> + use<> {
        (0..self.len()).map(ExprId::new)
    }

    /// Returns the node of an expression. It is never [`Node::Poison`].
    ///
    /// # Panics
    /// This and the other look-ups panic for an id from another graph.
    pub fn node(&self, expr: ExprId) -> &Node {
        &self.0.entries[expr.index()].node
    }

    /// Returns the dtype of an expression.
    #[inline]
    pub fn dtype(&self, expr: ExprId) -> DType {
        self.0.entries[expr.index()].dtype
    }

    /// Returns the shape of an expression.
    #[inline]
    pub fn shape(&self, expr: ExprId) -> &Shape {
        &self.0.entries[expr.index()].shape
    }

    /// Returns the place where an expression was first made.
    pub fn site(&self, expr: ExprId) -> Site {
        self.0.entries[expr.index()].site
    }

    /// Returns the function that the user called to make an expression.
    pub fn call(&self, expr: ExprId) -> &str {
        self.0.entries[expr.index()].call.as_deref().unwrap_or("expression")
    }

    /// Returns the operands of an expression in order.
    pub fn operands(&self, expr: ExprId) -> Operands {
        self.node(expr).operands()
    }

    /// Returns the sizes that the node of an expression itself has.
    pub(crate) fn sizes_of_node(&self, expr: ExprId) -> Vec<Dim> {
        let mut sizes = Vec::new();
        self.node(expr).clone().visit_dims(&mut |dim| sizes.push(dim.clone()));
        sizes
    }

    /// Returns all declared inputs in the order of declaration, whether or not the outputs need them.
    #[inline]
    pub fn inputs(&self) -> &[InputInfo] {
        &self.0.inputs
    }

    /// Returns the outputs in the given order, then the assignments; there is at least one.
    #[inline]
    pub fn outputs(&self) -> &[OutputInfo] {
        &self.0.outputs
    }

    /// Returns the outputs that are not assignments, in the given order.
    #[inline]
    pub fn results(&self) -> &[OutputInfo] {
        let outputs = self.outputs();
        let assigned = outputs.iter().rev().take_while(|output| output.assigned.is_some()).count();
        &outputs[..outputs.len() - assigned]
    }

    /// Returns all symbols in the order of creation. Symbols that the outputs do not need may have no solution.
    #[inline]
    pub fn symbols(&self) -> &[SymbolInfo] {
        &self.0.symbols
    }

    /// Returns the expression whose elements decide a size in each run, if the data decide it.
    pub fn decided_by(&self, symbol: SymbolId) -> Option<ExprId> {
        self.symbols().get(symbol.index())?.kind.decided_by()
    }

    /// Returns whether the data of a run decide sizes.
    pub fn has_decided_sizes(&self) -> bool {
        self.symbols().iter().any(|info| info.kind.decided_by().is_some())
    }

    /// Returns the symbols that the data of a run decide among the sizes that an expression has, and that its node mentions.
    pub fn decided_sizes(&self, expr: ExprId) -> Vec<SymbolId> {
        let mut symbols: Vec<SymbolId> = self.shape(expr).iter().flat_map(Dim::symbols).collect();
        symbols.extend(self.sizes_of_node(expr).iter().flat_map(Dim::symbols));
        symbols.retain(|symbol| self.decided_by(*symbol).is_some());
        symbols.sort_unstable();
        symbols.dedup();
        symbols
    }

    /// Returns the expressions that decide [the sizes](CheckedGraph::decided_sizes) of another one.
    pub fn deciding(&self, expr: ExprId) -> impl Iterator<Item = ExprId> {
        self.decided_sizes(expr).into_iter().filter_map(|symbol| self.decided_by(symbol))
    }

    /// Returns whether the data of a run decide a size.
    pub fn is_decided(&self, dim: &Dim) -> bool {
        dim.symbols().into_iter().any(|symbol| self.decided_by(symbol).is_some())
    }

    /// Returns the size that a declaration substituted for a symbol; nothing else in the graph mentions the symbol.
    pub fn declared(&self, symbol: SymbolId) -> Option<&Dim> {
        self.0.declared.get(&symbol)
    }

    /// Returns the conditions on the values of the symbols: declarations, then those of expressions in order.
    /// Declarations may mention symbols that nothing determines; such declarations are not checked.
    pub fn obligations(&self) -> &[Obligation] {
        &self.0.obligations
    }

    /// Returns how to compute the symbols from the sizes of the inputs, in a valid order.
    pub fn solutions(&self) -> &[Solution] {
        &self.0.solutions
    }

    /// Returns the same expressions with other facts and obligations.
    pub(super) fn edited(&self, edit: impl FnOnce(&mut [SymbolInfo], &mut Vec<Obligation>)) -> CheckedGraph {
        let mut checked = Checked::clone(&self.0);
        edit(&mut checked.symbols, &mut checked.obligations);
        CheckedGraph(Arc::new(checked))
    }

    /// Returns this graph with its expressions replaced by those of `built`; `images` maps each expression to its
    /// replacement. Inputs, symbols and conditions stay the same. The second result maps the expressions of `built`
    /// to those of the new graph. `None` if `built` has mistakes.
    pub(crate) fn rebuilt(
        &self,
        built: Graph,
        images: &[ExprId],
    ) -> Option<(CheckedGraph, Vec<Option<ExprId>>)> {
        let image = |expr: ExprId| images[expr.index()];
        let mut roots: Vec<Destination<'_>> = (self.outputs().iter())
            .map(|output| (&*output.name, image(output.expr), output.assigned))
            .collect();
        let demanded = self.obligations().iter().filter_map(|obligation| obligation.origin);
        let deciding = self.symbols().iter().filter_map(|info| info.kind.decided_by());
        roots.extend(demanded.chain(deciding).map(|origin| ("", image(origin), None)));
        let needed = built.needed(&roots);
        if !built.mistakes.is_empty() || needed[super::POISON] {
            return None;
        }
        let mut checked = Checked { entries: Vec::new(), ..Checked::clone(&self.0) };
        let mut number: Vec<Option<ExprId>> = vec![None; needed.len()];
        for (index, mut entry) in built.entries.into_iter().enumerate().filter(|(index, _)| needed[*index]) {
            entry.node.renumber(|operand| number[operand.index()].unwrap_or(operand));
            number[index] = Some(ExprId::new(checked.entries.len()));
            checked.entries.push(entry);
        }
        let renumbered = |expr: ExprId| number[image(expr).index()].unwrap_or(expr);
        checked.outputs.iter_mut().for_each(|output| output.expr = renumbered(output.expr));
        for obligation in &mut checked.obligations {
            obligation.origin = obligation.origin.map(renumbered);
        }
        for info in &mut checked.symbols {
            info.kind = info.kind.renumbered(|expr| Some(renumbered(expr)));
        }
        Some((CheckedGraph(Arc::new(checked)), number))
    }

    /// Returns how a symbol is printed.
    pub fn named(&self, symbol: SymbolId) -> Named<'_> {
        self.0.symbols.get(symbol.index()).map_or("?".into(), SymbolInfo::named)
    }
}
