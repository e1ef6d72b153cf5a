//! Loops: steps that are repeated.
//!
//! ```text
//! begin_loop ──▶ values of a step: counter, carried values, rows ──builder calls──▶ next values ──end_loop──▶ results
//! ```
//!
//! The steps live in the same arena as everything else, so what depends on no value of a step is computed once. Which
//! expressions are computed anew follows from the values that they depend on, see [`CheckedGraph::innermost`]. Loops nest, and
//! inner ones may use the values of outer ones.

use super::infer;
use super::{CheckedGraph, Entry, Fit, Graph, Mistake, Node, Operands, Site, SymbolInfo};
use crate::dim::Dim;
use crate::dtype::{Class, DType};
use crate::ids::{ExprId, LoopId};
use crate::problem::Problem;
use crate::shape::Shape;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::sync::Arc;

/// The most loops that stand in one another.
pub const MAX_LOOP_DEPTH: usize = 16;

/// A value that a loop provides in each of its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepValue {
    /// The number of steps before this one (i64, rank 0).
    Counter,
    /// The carried value with this number, before the step.
    Carried(usize),
    /// The row for this step of the array with this number.
    Row(usize),
}

/// A loop, as one of the nodes of its results has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Loop {
    /// The loop.
    pub id: LoopId,
    /// How often it steps.
    pub steps: Steps,
    /// The values that it carries from step to step.
    pub carried: Vec<Carried>,
    /// The arrays of which each step takes a row along axis 0, in order.
    pub rows: Vec<ExprId>,
    /// The values of a step that are stacked along a new axis 0.
    pub stacked: Vec<ExprId>,
}

/// What a result of a loop is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueOf {
    /// The carried value with this number, after the last step.
    Carried(usize),
    /// This value of all steps.
    Stacked(ExprId),
}

/// A value that a loop carries from step to step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Carried {
    /// Its value before the first step.
    pub initial: ExprId,
    /// Its value after a step, of the same dtype and shape.
    pub next: ExprId,
}

/// How often a loop steps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Steps {
    /// As often as an axis is long.
    Size(Dim),
    /// This number of times (i64, rank 0); not at all if it is negative.
    Count(ExprId),
    /// As long as this holds of the values of a step (bool, rank 0), which is found before each step.
    While(ExprId),
}

impl Loop {
    /// Returns everything that the loop reads: what determines its number of steps, initial and next values, rows and
    /// stacked values.
    pub fn operands(&self) -> Operands {
        let steps = match self.steps {
            Steps::Size(_) => None,
            Steps::Count(steps) | Steps::While(steps) => Some(steps),
        };
        let carried = self.carried.iter().flat_map(|carried| [carried.initial, carried.next]);
        steps
            .into_iter()
            .chain(carried)
            .chain(self.rows.iter().copied())
            .chain(self.stacked.iter().copied())
            .collect()
    }

    /// Returns what is computed anew in each step: the condition, the next values and the stacked ones.
    pub fn of_step(&self) -> impl Iterator<Item = ExprId> + '_ {
        let condition = match self.steps {
            Steps::While(condition) => Some(condition),
            Steps::Size(_) | Steps::Count(_) => None,
        };
        condition
            .into_iter()
            .chain(self.carried.iter().map(|carried| carried.next))
            .chain(self.stacked.iter().copied())
    }

    /// Returns what is computed before the first step: the number of steps, the initial values, and the arrays of rows.
    pub fn before(&self) -> impl Iterator<Item = ExprId> + '_ {
        self.begins_with().chain(self.rows.iter().copied())
    }

    /// Returns the number of steps, if it is computed, and the initial values.
    pub fn begins_with(&self) -> impl Iterator<Item = ExprId> + '_ {
        let count = match self.steps {
            Steps::Count(count) => Some(count),
            Steps::Size(_) | Steps::While(_) => None,
        };
        count.into_iter().chain(self.carried.iter().map(|carried| carried.initial))
    }

    /// Returns the value whose results a result has, in one step or after the last one: that of the carried value with a number,
    /// or a stacked one.
    pub fn value_of(&self, result: usize) -> ValueOf {
        match result.checked_sub(self.carried.len()) {
            None => ValueOf::Carried(result),
            Some(stacked) => ValueOf::Stacked(self.stacked[stacked]),
        }
    }

    /// Adds the stacked values of the same loop, as others have them who read more of it.
    pub fn merge(&mut self, other: &Loop) {
        let more: Vec<ExprId> =
            other.stacked.iter().copied().filter(|expr| !self.stacked.contains(expr)).collect();
        self.stacked.extend(more);
    }

    /// Returns the number of a result that is this value, if there is one.
    pub fn result_of(&self, value: ValueOf) -> Option<usize> {
        match value {
            ValueOf::Carried(number) => Some(number),
            ValueOf::Stacked(expr) => {
                let place = self.stacked.iter().position(|stacked| *stacked == expr)?;
                Some(self.carried.len() + place)
            }
        }
    }

    /// Returns the number of results: the last carried values, then the stacked values.
    pub fn results(&self) -> usize {
        self.carried.len() + self.stacked.len()
    }

    pub(super) fn renumber(&mut self, id: impl Fn(ExprId) -> ExprId) {
        if let Steps::Count(steps) | Steps::While(steps) = &mut self.steps {
            *steps = id(*steps);
        }
        for carried in &mut self.carried {
            *carried = Carried { initial: id(carried.initial), next: id(carried.next) };
        }
        self.rows.iter_mut().chain(&mut self.stacked).for_each(|expr| *expr = id(*expr));
    }
}

/// A loop whose steps are being built.
#[derive(Debug, Clone)]
pub struct OpenLoop {
    id: LoopId,
    call: &'static str,
    site: Site,
    names: Vec<Arc<str>>,
    initial: Vec<ExprId>,
    arrays: Vec<ExprId>,
    /// The counter.
    pub counter: ExprId,
    /// The carried values before a step, in order.
    pub carried: Vec<ExprId>,
    /// The rows of a step, in order.
    pub rows: Vec<ExprId>,
}

/// How often a loop steps, as its builder is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repeat {
    /// A whole number (rank 0) of times.
    Times(ExprId),
    /// As often as the axis of its rows is long, or this size if there are no rows.
    Along(Option<Dim>),
    /// As long as this holds of the values of a step (bool, rank 0).
    While(ExprId),
}

impl Graph {
    /// Begins a loop that counts its steps, carries named values, and takes rows along axis 0 of arrays. `call` is the function
    /// that the user called.
    pub fn begin_loop(
        &mut self,
        call: &'static str,
        counter: &str,
        carried: &[(&str, ExprId)],
        rows: &[(&str, ExprId)],
        site: Site,
    ) -> OpenLoop {
        let id = LoopId::new(self.loops);
        self.loops += 1;
        self.open_loops.push(id);
        let names = carried.iter().map(|(name, _)| Arc::from(*name)).collect();
        let [initial, arrays] =
            [carried, rows].map(|named| named.iter().map(|(_, expr)| *expr).collect::<Vec<_>>());
        let mut open = OpenLoop {
            id,
            call,
            site,
            names,
            initial,
            arrays,
            counter: self.poison(),
            carried: Vec::new(),
            rows: Vec::new(),
        };
        let depth = self.open_loops.len();
        let counter = match depth > MAX_LOOP_DEPTH {
            true => Err(Problem::Argument("stands in more than 15 other loops")),
            false => self.step_value(id, StepValue::Counter, counter, (DType::I64, Shape::scalar()), site),
        };
        open.counter = self.settle(counter, call, &[], site);
        for (number, (name, expr)) in carried.iter().enumerate() {
            let of = (self.dtype(*expr), self.written(*expr).clone());
            let value = match self.any_poisoned(&[*expr, open.counter]) {
                true => Ok(self.poison()),
                false => self.step_value(id, StepValue::Carried(number), name, of, site),
            };
            open.carried.push(self.settle(value, call, &[*expr], site));
        }
        for (number, (name, array)) in rows.iter().enumerate() {
            let row = self.row(id, number, name, *array, site);
            open.rows.push(self.settle(row, call, &[*array], site));
        }
        open
    }

    fn row(
        &mut self,
        id: LoopId,
        number: usize,
        name: &str,
        array: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(array) {
            return Ok(array);
        }
        let (dtype, shape) = (self.dtype(array), self.written(array).clone());
        let Some((_, row)) = shape.split_first() else {
            return Err(Problem::Rank { name: format!("`{name}`").into(), expected: 1, rank: 0 });
        };
        self.step_value(id, StepValue::Row(number), name, (dtype, row.iter().cloned().collect()), site)
    }

    /// Returns a carried value of a loop as a step finds it. A copy of a loop has no expression of what no step reads.
    pub(super) fn carried_value(
        &mut self,
        repeated: &Loop,
        number: usize,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let value = StepValue::Carried(number);
        let known = self.step_values(repeated.id).find(|(its, _)| *its == value);
        if let Some((_, known)) = known {
            return Ok(known);
        }
        let initial = repeated.carried[number].initial;
        let of = (self.dtype(initial), self.written(initial).clone());
        self.step_value(repeated.id, value, "value", of, site)
    }

    /// Returns the values of the steps of a loop that have expressions.
    pub(super) fn step_values(&self, of: LoopId) -> impl Iterator<Item = (StepValue, ExprId)> {
        values_of_step(self.entries.iter().map(|entry| &entry.node), of)
    }

    fn step_value(
        &mut self,
        of: LoopId,
        value: StepValue,
        name: &str,
        (dtype, shape): (DType, Shape),
        site: Site,
    ) -> Result<ExprId, Problem> {
        let name = super::clipped(name);
        self.insert(Node::Step { of, value, name }, dtype, shape, Vec::new(), site)
    }

    /// Ends a loop without results, and all loops in it that have not ended.
    pub fn abandon_loop(&mut self, open: &OpenLoop) {
        let place = self.open_loops.iter().position(|known| *known == open.id);
        self.open_loops.truncate(place.unwrap_or(self.open_loops.len()));
    }

    /// Ends a loop with the values after a step, and with values of each step that are stacked along a new axis 0. Returns
    /// the results: the carried values after the last step, then the stacked values, of as many as there are steps.
    pub fn end_loop(
        &mut self,
        open: OpenLoop,
        repeat: &Repeat,
        next: &[ExprId],
        stacked: &[ExprId],
    ) -> Vec<ExprId> {
        let (call, site, count) = (open.call, open.site, next.len() + stacked.len());
        let operands: Vec<ExprId> = open.initial.clone();
        let results = self.try_end_loop(&open, repeat, next, stacked);
        self.abandon_loop(&open);
        match results {
            Ok(results) => {
                // One call made them all.
                let last = results.last().copied().unwrap_or_else(|| self.poison());
                self.settle(Ok(last), call, &operands, site);
                results
            }
            Err(problem) => {
                let operands =
                    if matches!(problem, Problem::Unequal { .. }) { open.arrays } else { operands };
                let poison = self.settle(Err(problem), call, &operands, site);
                vec![poison; count]
            }
        }
    }

    fn try_end_loop(
        &mut self,
        open: &OpenLoop,
        repeat: &Repeat,
        next: &[ExprId],
        stacked: &[ExprId],
    ) -> Result<Vec<ExprId>, Problem> {
        let (id, site) = (open.id, open.site);
        let poison = vec![self.poison(); next.len() + stacked.len()];
        if next.len() != open.carried.len() {
            return Err(Problem::CarriedCount { expected: open.carried.len(), given: next.len() });
        }
        let exprs = open.carried.iter().chain(&open.rows).chain(next).chain(stacked);
        let exprs: Vec<ExprId> = exprs.copied().chain([open.counter]).collect();
        if self.any_poisoned(&exprs) {
            return Ok(poison);
        }
        if !self.open_loops.contains(&id) {
            return Err(Problem::Argument("must end before the loop around it"));
        }
        let steps = match repeat {
            Repeat::Times(count) | Repeat::While(count) if self.is_poisoned(*count) => return Ok(poison),
            Repeat::Times(count) => Steps::Count(self.count_of_steps(*count, site)?),
            Repeat::Along(length) => Steps::Size(self.length_of_rows(open, length.as_ref())?),
            Repeat::While(condition) => {
                self.require_scalar("the condition", *condition)?;
                if self.dtype(*condition) != DType::Bool {
                    return Err(Problem::ConditionNotBool { dtype: self.dtype(*condition) });
                }
                Steps::While(*condition)
            }
        };
        let mut values = Vec::new();
        for ((&initial, &next), name) in open.initial.iter().zip(next).zip(&open.names) {
            self.require_same(open.call, name, initial, next, site)?;
            values.push(Carried { initial, next });
        }
        let of_step = match &steps {
            Steps::Size(length) => Some(length.clone()),
            Steps::Count(_) | Steps::While(_) if stacked.is_empty() => None,
            Steps::Count(_) | Steps::While(_) => {
                return Err(Problem::Argument(
                    "stacks values only along an axis whose size is known before it runs",
                ));
            }
        };
        let (rows, stacked) = (open.arrays.clone(), stacked.to_vec());
        let repeated = Loop { id, steps, carried: values, rows, stacked };
        let mut results = Vec::new();
        for result in 0..repeated.results() {
            let (dtype, shape) = match result.checked_sub(repeated.carried.len()) {
                None => {
                    let initial = repeated.carried[result].initial;
                    (self.dtype(initial), self.written(initial).clone())
                }
                Some(number) => {
                    let value = repeated.stacked[number];
                    let row = self.written(value).iter().cloned();
                    (self.dtype(value), of_step.iter().cloned().chain(row).collect())
                }
            };
            let node = Node::Loop { repeated: Box::new(repeated.clone()), result };
            results.push(self.insert(node, dtype, shape, Vec::new(), site)?);
        }
        Ok(results)
    }

    fn count_of_steps(&mut self, count: ExprId, site: Site) -> Result<ExprId, Problem> {
        self.require_scalar("the number of steps", count)?;
        if self.dtype(count).class() != Class::Int {
            return Err(Problem::StepsNotInteger { dtype: self.dtype(count) });
        }
        self.as_index(count, site)
    }

    pub(super) fn require_scalar(&self, name: &str, expr: ExprId) -> Result<(), Problem> {
        match self.written(expr).rank() {
            0 => Ok(()),
            rank => Err(Problem::Rank { name: name.into(), expected: 0, rank }),
        }
    }

    /// Returns the size of axis 0 of the rows.
    fn length_of_rows(&mut self, open: &OpenLoop, given: Option<&Dim>) -> Result<Dim, Problem> {
        let lengths = open.arrays.iter().map(|array| self.written(*array)[0].clone());
        let lengths: Vec<Dim> = given.cloned().into_iter().chain(lengths).collect();
        let Some((first, others)) = lengths.split_first() else {
            return Err(Problem::Argument("needs an array of rows, or a number of steps"));
        };
        let clash = self.comparing(open.call, &open.arrays, open.site, |compare| {
            let mut others = (1..).zip(others);
            others.try_for_each(|(number, other)| infer::equal(compare, 0, (0, first), (number, other)))
        });
        let name = |of: usize| match of.checked_sub(usize::from(given.is_some())) {
            None => Box::from("the number of steps"),
            Some(array) => format!("array {array}").into(),
        };
        clash.map_err(|clash| self.unequal(&clash, [name(clash.left.0), name(clash.right.0)]))?;
        Ok(first.clone())
    }

    /// Requires that a carried value keeps its dtype and its shape.
    fn require_same(
        &mut self,
        call: &'static str,
        name: &str,
        initial: ExprId,
        next: ExprId,
        site: Site,
    ) -> Result<(), Problem> {
        let [before, after] = [initial, next].map(|expr| self.dtype(expr));
        if before != after {
            return Err(Problem::CarriedDType { name: name.into(), before, after });
        }
        let [had, has] = [initial, next].map(|expr| self.written(expr).clone());
        let differs = |this: &Graph| {
            let [before, after] = [&had, &has].map(|shape| this.sizes(shape));
            Problem::CarriedShape { name: name.into(), before, after }
        };
        if had.rank() != has.rank() {
            return Err(differs(self));
        }
        let fits = self.comparing(call, &[initial, next], site, |compare| {
            let mut is_same =
                |axis, before, after| matches!(compare(axis, (0, before), (1, after)), Fit::Same);
            let mut axes = had.iter().zip(has.iter()).enumerate();
            axes.all(|(axis, (before, after))| is_same(axis, before, after)).then_some(()).ok_or(())
        });
        fits.map_err(|()| differs(self))
    }

    /// Returns the mistakes of sizes that would differ from step to step of a loop. Selected elements that are only read as
    /// elements of all, as by `x.at[m].set(x[m] * 2)`, are not needed, and neither is their number.
    pub(super) fn decided_in_steps(&self, needed: &[bool]) -> Vec<Mistake> {
        if self.loops == 0 || !self.symbols.has_decided() {
            return Vec::new();
        }
        let around = loops_around(self.entries.iter().map(|entry: &Entry| &entry.node));
        let entries = self.entries.iter().zip(needed).filter(|(_, needed)| **needed);
        let mut deciding: HashSet<ExprId> = entries.flat_map(|(entry, _)| self.deciding(entry)).collect();
        let is_needed =
            |expr: Option<ExprId>| expr.is_none_or(|expr| needed.get(expr.index()) == Some(&true));
        let demanded = self.obligations.iter().filter(|obligation| is_needed(obligation.origin));
        let demanded = demanded.flat_map(|obligation| obligation.demand.symbols());
        deciding.extend(demanded.filter_map(|symbol| self.symbols.kind(symbol)?.decided_by()));
        let is_in_step = |info: &&SymbolInfo| {
            let expr = info.kind.decided_by().filter(|expr| deciding.contains(expr));
            expr.is_some_and(|expr| !around[expr.index()].is_empty())
        };
        let decided = self.symbols().iter().filter(is_in_step);
        decided.map(|info| self.mistake(Problem::DecidedInStep, None, &[], info.site)).collect()
    }

    /// Returns the values of loops that are used outside of their loop, each with its name and the place of the use, among
    /// the outputs.
    pub(super) fn escaping(&self, outputs: impl Iterator<Item = ExprId>) -> Vec<(Box<str>, Site)> {
        if self.loops == 0 {
            return Vec::new();
        }
        let around = loops_around(self.entries.iter().map(|entry: &Entry| &entry.node));
        let name = |of: &LoopId| {
            let named = self.entries.iter().find_map(|entry| match &entry.node {
                Node::Step { of: its, name, value } if its == of && *value != StepValue::Counter => {
                    Some(name.clone())
                }
                _ => None,
            });
            named.unwrap_or_else(|| "the step".into())
        };
        outputs
            .filter_map(|expr| {
                let of = around.get(expr.index())?.last()?;
                Some((name(of), self.site(expr)))
            })
            .collect()
    }
}

/// Returns the values of the steps of a loop among nodes.
fn values_of_step<'n>(
    nodes: impl Iterator<Item = &'n Node>,
    of: LoopId,
) -> impl Iterator<Item = (StepValue, ExprId)> {
    nodes.enumerate().filter_map(move |(index, node)| match node {
        Node::Step { of: its, value, .. } if *its == of => Some((*value, ExprId::new(index))),
        _ => None,
    })
}

/// The loops of which an expression is computed anew in each step, outermost first.
type Around = SmallVec<[LoopId; 2]>;

/// Returns for each expression the loops on whose steps it depends, outermost first.
fn loops_around<'n>(nodes: impl Iterator<Item = &'n Node>) -> Vec<Around> {
    let mut around: Vec<Around> = Vec::new();
    for node in nodes {
        let mut own = Around::new();
        match node {
            Node::Step { of, .. } => own.push(*of),
            node => {
                for operand in node.operands() {
                    own.extend(around[operand.index()].iter().copied());
                }
            }
        }
        own.sort_unstable();
        own.dedup();
        if let Node::Loop { repeated, .. } = node {
            own.retain(|of| *of != repeated.id);
        }
        around.push(own);
    }
    around
}

impl CheckedGraph {
    /// Returns whether there are loops.
    pub fn has_loops(&self) -> bool {
        self.exprs().any(|expr| matches!(self.node(expr), Node::Loop { .. }))
    }

    /// Returns the values of the steps of a loop that have expressions.
    pub(crate) fn step_values(&self, of: LoopId) -> impl Iterator<Item = (StepValue, ExprId)> {
        values_of_step(self.exprs().map(|expr| self.node(expr)), of)
    }

    /// Returns a loop with everything that is stacked of it, as any of its results has it.
    pub(crate) fn whole_loop(&self, repeated: &Loop) -> Loop {
        let mut whole = repeated.clone();
        for expr in self.exprs() {
            if let Node::Loop { repeated: of, .. } = self.node(expr)
                && of.id == whole.id
            {
                whole.merge(of);
            }
        }
        whole
    }

    /// Returns for each expression the innermost loop in each of whose steps it is computed anew; `None` for what is
    /// computed once.
    pub fn innermost(&self) -> Vec<Option<LoopId>> {
        if !self.has_loops() {
            return vec![None; self.len()];
        }
        let around = loops_around(self.exprs().map(|expr| self.node(expr)));
        around.iter().map(|around| around.last().copied()).collect()
    }
}
