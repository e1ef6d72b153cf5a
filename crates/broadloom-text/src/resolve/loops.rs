//! Loops: the statements between `for` or `while` and `end` are steps.

use super::{Outcome, Resolver, Value, as_size, mistake};
use crate::error::{Mistake, Problem};
use crate::source::Span;
use crate::syntax::{Header, Id, Name, StepsOf, Tree};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{OpenLoop, Repeat};
use std::collections::HashMap;
use std::sync::Arc;

/// A loop whose steps are being resolved.
#[derive(Debug)]
pub(super) struct OpenSteps {
    /// `None` after a mistake in its first line.
    open: Option<OpenLoop>,
    /// The text that began it, and the number of the statement there.
    tree: Arc<Tree>,
    statement: usize,
    /// What names stood for before.
    names: HashMap<Box<str>, Value>,
    /// The names of the counter and of rows.
    others: Vec<Box<str>>,
    carried: Vec<CarriedName>,
    stacked: Vec<(Name, ExprId)>,
    /// What determines the steps; `None` as long as a condition has not been met.
    steps: Option<Repeat>,
    /// Statements that make results. They are mistakes if the loop ends: otherwise its end is what is missing.
    misplaced: Vec<Mistake>,
    pub(super) span: Span,
}

/// A carried value of a loop whose steps are being resolved.
#[derive(Debug)]
struct CarriedName {
    name: Name,
    /// Whether it began as a number, which takes the dtype of what follows it.
    begins_as_number: bool,
    /// Whether it is a number still, because nothing has given it a dtype.
    is_number: bool,
    next: Option<ExprId>,
}

impl Resolver<'_> {
    /// Begins a loop.
    pub(super) fn begin_loop(&mut self, header: &Header, statement: usize, span: Span) -> Outcome<()> {
        let Header { steps, carried } = header;
        let dtypes = self.dtypes_of_numbers.get(&statement).cloned().unwrap_or_default();
        let mut initial: Vec<(&str, ExprId)> = Vec::new();
        let mut names = Vec::new();
        for (name, id) in carried {
            if names.iter().any(|known: &CarriedName| known.name.text == name.text) {
                return mistake(Problem::Taken { name: name.text.clone() }, name.span);
            }
            let found = dtypes.get(&name.text).copied();
            let is_number = matches!(self.value(*id), Value::Literal(_) | Value::Size(_) | Value::Number(_));
            let expr = self.tensor(*id, found.unwrap_or(DType::Bool))?;
            let mut expr = expr.unwrap_or_else(|| self.graph.poison());
            if let Some(dtype) = found.filter(|_| is_number) {
                expr = self.build(self.tree.span(*id), |graph, site| graph.cast(expr, dtype, site))?;
            }
            initial.push((&name.text, expr));
            names.push(CarriedName {
                name: name.clone(),
                begins_as_number: is_number,
                is_number: is_number && found.is_none(),
                next: None,
            });
        }
        let mut arrays: Vec<(&str, ExprId)> = Vec::new();
        let (counter, steps) = match steps {
            StepsOf::Range { counter, count } => (Some(counter), Some(self.times(*count)?)),
            StepsOf::Rows { counter, rows } => {
                for (name, id) in rows {
                    let expr = self.tensor(*id, DType::F64)?;
                    arrays.push((&name.text, expr.unwrap_or_else(|| self.graph.poison())));
                }
                (counter.as_ref(), Some(Repeat::Along(None)))
            }
            StepsOf::While => (None, None),
        };
        let call = if steps.is_some() { "for" } else { "while" };
        let site = self.sites.site(span);
        let open =
            self.graph.begin_loop(call, counter.map_or("step", |name| &name.text), &initial, &arrays, site);
        let carried_axes = open.carried.iter().zip(&initial).map(|of| (of, 0));
        for ((value, (_, from)), first) in carried_axes.chain(open.rows.iter().zip(&arrays).map(|of| (of, 1)))
        {
            if !self.graph.is_poisoned(*value) {
                self.texts.add_like(*value, *from);
                self.groups.add_like(*value, *from, first);
            }
        }
        let before = self.names.clone();
        for ((of, value), (name, _)) in names.iter().zip(&open.carried).zip(&initial) {
            let value = if of.is_number { Value::Number(*value) } else { Value::Tensor(*value) };
            self.names.insert((*name).into(), value);
        }
        for (value, (name, _)) in open.rows.iter().zip(&arrays) {
            self.names.insert((*name).into(), Value::Tensor(*value));
        }
        if let Some(counter) = counter {
            self.names.insert(counter.text.clone(), Value::Number(open.counter));
        }
        let others =
            arrays.iter().map(|(name, _)| Box::from(*name)).chain(counter.map(|name| name.text.clone()));
        let (others, carried, stacked) = (others.collect(), names, Vec::new());
        let (open, tree, names) = (Some(open), self.tree.clone(), before);
        let misplaced = Vec::new();
        self.loops.push(OpenSteps {
            open,
            tree,
            statement,
            names,
            others,
            carried,
            stacked,
            steps,
            misplaced,
            span,
        });
        Ok(())
    }

    /// Begins a loop of which nothing is known, so that only its first line is reported.
    pub(super) fn begin_broken_loop(&mut self, span: Span) {
        let (tree, names, steps) = (self.tree.clone(), self.names.clone(), None);
        let (others, carried, stacked) = (Vec::new(), Vec::new(), Vec::new());
        self.loops.push(OpenSteps {
            open: None,
            tree,
            statement: 0,
            names,
            others,
            carried,
            stacked,
            steps,
            misplaced: Vec::new(),
            span,
        });
    }

    /// Takes a condition that could not be read as the one of the innermost loop, so that only it is reported.
    pub(super) fn broken_condition(&mut self) {
        let poison = self.graph.poison();
        if let Some(innermost) = self.loops.last_mut() {
            innermost.steps.get_or_insert(Repeat::While(poison));
        }
    }

    /// The number of steps: a size, or a number that is known when the graph runs.
    fn times(&mut self, id: Id) -> Outcome<Repeat> {
        match as_size(self.value(id)) {
            // As of Python's ranges, a negative number of steps is none.
            Some(size) if size.as_constant().is_some_and(|steps| steps < 0) => {
                Ok(Repeat::Along(Some(Dim::ZERO)))
            }
            Some(size) => Ok(Repeat::Along(Some(size))),
            None => {
                let count = self.tensor(id, DType::I64)?;
                if count.is_some_and(|count| self.texts.is_text(count)) {
                    return Err(self.not_numbers(self.tree.span(id)));
                }
                Ok(Repeat::Times(count.unwrap_or_else(|| self.graph.poison())))
            }
        }
    }

    fn innermost(&mut self, what: &'static str, span: Span) -> Outcome<&mut OpenSteps> {
        match self.loops.last_mut() {
            Some(innermost) => Ok(innermost),
            None => mistake(Problem::Program { what }, span),
        }
    }

    /// The condition of the innermost loop.
    pub(super) fn condition(&mut self, id: Id, span: Span) -> Outcome<()> {
        let poison = self.graph.poison();
        let innermost = self.innermost("a condition belongs to a loop", span)?;
        let (what, help) = match innermost.steps {
            // A wrong condition is one all the same: only it is reported.
            None => {
                innermost.steps = Some(Repeat::While(poison));
                let condition = self.tensor(id, DType::Bool)?.unwrap_or(poison);
                self.require_one_truth(condition, id)?;
                self.innermost("a condition belongs to a loop", span)?.steps = Some(Repeat::While(condition));
                return Ok(());
            }
            Some(Repeat::While(_)) => {
                ("the loop has a condition already", "join the conditions: `while (t < 10) & (u > 1)`")
            }
            Some(Repeat::Times(_) | Repeat::Along(_)) => (
                "the steps of `for` are counted, so the loop has no condition",
                "count in the condition: `loop with t = 0, u = x`, `while (t < 10) & (u > 1)`, `next t = t + 1`",
            ),
        };
        Err(Box::new(Mistake::new(Problem::Program { what }, span).help(help)))
    }

    /// Requires that a condition has one value, not one for each element.
    fn require_one_truth(&self, condition: ExprId, id: Id) -> Outcome<()> {
        if self.graph.is_poisoned(condition) || self.graph.shape(condition).rank() == 0 {
            return Ok(());
        }
        let span = self.tree.span(id);
        let written = self.source.slice(span);
        let what = "the condition of a loop is one truth value, not one for each element";
        let mistake = Mistake::new(Problem::Program { what }, span)
            .help(format!("to go on while it holds for some element, write `any({written})`"))
            .help(format!("to go on while it holds for all elements, write `all({written})`"));
        Err(Box::new(mistake))
    }

    /// Whether a statement that makes a result is inside of a loop, whose steps are repeated: that is a mistake, and the name, if
    /// it has one, stands for nothing.
    pub(super) fn is_misplaced(&mut self, statement: &str, name: Option<&Name>, span: Span) -> bool {
        let Some(innermost) = self.loops.last_mut() else { return false };
        let what = format!("{statement} is inside of a loop, whose statements are repeated");
        let written = name.map_or("values", |name| &*name.text);
        let help = match innermost.carried.iter().any(|carried| &*carried.name.text == written) {
            true => format!("for the next value of `{written}`, write `next {written} = ..`"),
            false => format!("to keep the value of each step, write `stack {written} = ..`"),
        };
        let mistake = Mistake::new(Problem::Habit { what: what.into() }, span)
            .help("write it after the `end` of the loop")
            .help(help);
        innermost.misplaced.push(mistake);
        if let Some(name) = name {
            self.names.entry(name.text.clone()).or_insert(Value::Poison);
        }
        true
    }

    /// The value of a carried one after a step.
    pub(super) fn next_value(&mut self, name: &Name, id: Id) -> Outcome<()> {
        let innermost = self.innermost("`next` belongs to a loop", name.span)?;
        let Some(open) = &innermost.open else { return Ok(()) };
        let before = open.carried.clone();
        let carried = innermost.carried.iter().position(|carried| carried.name.text == name.text);
        let Some(number) = carried else {
            let names: Vec<String> =
                innermost.carried.iter().map(|carried| carried.name.text.to_string()).collect();
            let problem = Problem::Program { what: "`next` takes a value that the loop carries" };
            let help = format!("carry it: `with {} = ..`", name.text);
            let names = names.join(", ");
            let help = if names.is_empty() { help } else { format!("the loop carries {names}; {help}") };
            return Err(Box::new(Mistake::new(problem, name.span).help(help)));
        };
        if innermost.carried[number].next.is_some() {
            let what = format!("gives `{}` two values in one step", name.text);
            let problem = Problem::Argument { function: "next".into(), what: what.into() };
            let help = format!("name the first one, and use it: `let v = ..; next {} = v + 1`", name.text);
            return Err(Box::new(Mistake::new(problem, name.span).help(help)));
        }
        let next = self.tensor(id, self.graph.dtype(before[number]))?.unwrap_or_else(|| self.graph.poison());
        if let Some(innermost) = self.loops.last_mut() {
            innermost.carried[number].next = Some(next);
        }
        Ok(())
    }

    /// A value of each step.
    pub(super) fn stacked_value(&mut self, name: &Name, id: Id) -> Outcome<()> {
        // A number keeps its dtype: it meets nothing that would give it another one.
        let value = self.tensor(id, DType::Bool)?.unwrap_or_else(|| self.graph.poison());
        let innermost = self.innermost("`stack` belongs to a loop", name.span)?;
        let mut taken = innermost.carried.iter().map(|carried| &carried.name);
        let mut taken = taken.by_ref().chain(innermost.stacked.iter().map(|(stacked, _)| stacked));
        if taken.any(|known| known.text == name.text) {
            return mistake(Problem::Taken { name: name.text.clone() }, name.span);
        }
        innermost.stacked.push((name.clone(), value));
        Ok(())
    }

    /// Gives the names of the values of a step back what they stood for. Other names of the steps keep their meaning, of which
    /// only what does not depend on a step can be used, and may be defined again.
    fn leave(&mut self, before: HashMap<Box<str>, Value>, names: Vec<Box<str>>) {
        let own = self.names.keys().filter(|name| !before.contains_key(*name)).cloned();
        self.of_steps.extend(own.filter(|name| !names.contains(name)));
        for name in names {
            match before.get(&name) {
                Some(value) => drop(self.names.insert(name, value.clone())),
                None => drop(self.names.remove(&name)),
            }
        }
    }

    /// Forgets the innermost loop and what its steps defined.
    pub(super) fn abandon_loop(&mut self) {
        if let Some(OpenSteps { open, names, .. }) = self.loops.pop() {
            open.iter().for_each(|open| self.graph.abandon_loop(open));
            self.names = names;
        }
    }

    /// Ends the innermost loop. Returns the statement from which to resolve again, if a number turned out to have another
    /// dtype.
    pub(super) fn end_loop(&mut self, span: Span) -> Outcome<Option<usize>> {
        let Some(ended) = self.loops.pop() else {
            return mistake(Problem::Program { what: "`end` belongs to a loop" }, span);
        };
        let OpenSteps { open, tree, statement, names, others, carried, stacked, steps, misplaced, span } =
            ended;
        let Some(open) = open else {
            self.names.extend(names);
            let stacked = stacked.into_iter().map(|(name, _)| (name.text, Value::Poison));
            self.names.extend(stacked);
            return Ok(None);
        };
        let own = open.carried.iter().copied();
        let next: Vec<ExprId> =
            carried.iter().zip(own).map(|(carried, own)| carried.next.unwrap_or(own)).collect();
        let of_step = carried.iter().map(|carried| carried.name.text.clone()).chain(others);
        self.leave(names, of_step.collect());
        // Dtypes only ever grow from one attempt to the next, so that attempts come to an end.
        let mut grown: Vec<(Box<str>, DType)> = Vec::new();
        for ((carried, next), own) in carried.iter().zip(&next).zip(&open.carried) {
            let (before, after) = (self.graph.dtype(*own), self.graph.dtype(*next));
            // A number takes any dtype that can have its value.
            let takes = carried.is_number && (after.is_float() || !before.is_float());
            let dtype = if takes { after } else { before.promote(after) };
            if carried.begins_as_number && !self.graph.is_poisoned(*next) && dtype != before {
                grown.push((carried.name.text.clone(), dtype));
            }
        }
        if !grown.is_empty() && Arc::ptr_eq(&tree, &self.tree) {
            self.graph.abandon_loop(&open);
            self.dtypes_of_numbers.entry(statement).or_default().extend(grown);
            return Ok(Some(statement));
        }
        self.mistakes.extend(misplaced);
        if self.loops.is_empty() {
            // Loops around this one, which are tried again, begin with what is known of it.
            self.dtypes_of_numbers.clear();
        }
        let Some(repeat) = steps else {
            self.graph.abandon_loop(&open);
            let stacked = stacked.into_iter().map(|(name, _)| name);
            for name in carried.into_iter().map(|carried| carried.name).chain(stacked) {
                self.names.insert(name.text, Value::Poison);
            }
            let mistake = Mistake::new(Problem::Program { what: "`loop` has no condition" }, span);
            return Err(Box::new(
                mistake.help("write `while ..` before `end`, or count the steps: `for t in range(10)`"),
            ));
        };
        let values: Vec<ExprId> = stacked.iter().map(|(_, value)| *value).collect();
        let mut results = Vec::new();
        self.build(span, |graph, _| {
            results = graph.end_loop(open, &repeat, &next, &values);
            results.last().copied().unwrap_or_else(|| graph.poison())
        })?;
        let named = carried.iter().map(|carried| (&carried.name, carried.is_number));
        let named = named.chain(stacked.iter().map(|(name, _)| (name, false)));
        for ((name, is_number), result) in named.zip(results) {
            let value = if is_number { Value::Number(result) } else { Value::Tensor(result) };
            self.names.insert(name.text.clone(), value);
        }
        Ok(None)
    }
}
