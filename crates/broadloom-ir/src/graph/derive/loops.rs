//! Loops in both directions.
//!
//! ```text
//! forward  a loop that carries values and their tangents
//! reverse  the loop again, which stacks what it carries before each step; and a loop over these, the last step first, which
//!          carries cotangents, and adds up what each step sends to what it reads
//! ```
//!
//! Both copy the steps, with other values in place of those of the step.

use super::super::{Carried, Loop, Node, OpenLoop, Repeat, SliceSpec, StepValue, Steps};
use super::{Derivation, Rule, Walk};
use crate::dim::Dim;
use crate::dtype::DType;
use crate::ids::{ExprId, LoopId};
use crate::ops::Op;
use crate::problem::Problem;
use crate::shape::Shape;
use std::collections::{BTreeSet, HashMap};

/// A copy of the steps of a loop.
struct Copied {
    /// What stands for each expression of a step, and for what it reads that matters to a derivative.
    images: HashMap<ExprId, ExprId>,
    /// What the steps read that matters, each with the value that stands for it.
    read: Vec<(ExprId, ExprId)>,
}

impl Copied {
    fn of(&self, expr: ExprId) -> ExprId {
        self.images.get(&expr).copied().unwrap_or(expr)
    }
}

/// The derivatives of what a loop begins with and reads, by its results.
pub(super) type SentByLoop = Vec<(ExprId, ExprId)>;

impl Derivation<'_> {
    fn is_float(&self, expr: ExprId) -> bool {
        self.graph.dtype(expr).is_float()
    }

    fn work(&self, expr: ExprId) -> DType {
        self.graph.dtype(expr).arithmetic()
    }

    /// Returns the first result of a loop in the order of a walk, and the loop with all that is stacked of it there.
    pub(super) fn merged(&self, repeated: &Loop, walk: &Walk) -> (Option<ExprId>, Loop) {
        let (mut first, mut all) = (None, repeated.clone());
        for expr in &walk.active {
            if let Node::Loop { repeated: of, .. } = self.graph.node(*expr)
                && of.id == repeated.id
            {
                first = first.or(Some(*expr));
                all.merge(of);
            }
        }
        (first, all)
    }

    /// Returns what depends on a step of a loop, or of one in it, whose ids are larger.
    fn of_step(&self, repeated: &Loop) -> BTreeSet<ExprId> {
        let mut reached: BTreeSet<ExprId> = BTreeSet::new();
        let mut open: Vec<ExprId> = repeated.of_step().collect();
        while let Some(expr) = open.pop() {
            if reached.insert(expr) {
                open.extend(self.read_by(expr));
            }
        }
        let mut of_step = BTreeSet::new();
        for expr in reached {
            let depends = match self.graph.node(expr) {
                Node::Step { of, .. } => *of >= repeated.id,
                _ => self.read_by(expr).any(|operand| of_step.contains(&operand)),
            };
            if depends {
                of_step.insert(expr);
            }
        }
        of_step
    }

    /// Returns what an expression is computed from, and what it derives by.
    fn read_by(&self, expr: ExprId) -> impl Iterator<Item = ExprId> {
        let by_rule = self.graph.rules.get(&expr).map(Rule::read).unwrap_or_default();
        self.graph.node(expr).operands().into_iter().chain(by_rule)
    }

    /// Copies the steps of a loop, with `images` for the values of a step. What they read of `active` values is replaced by
    /// values of their own, by which can be derived.
    fn copied(
        &mut self,
        repeated: &Loop,
        mut images: HashMap<ExprId, ExprId>,
        is_active: &dyn Fn(ExprId) -> bool,
    ) -> Result<Copied, Problem> {
        let of_step = self.of_step(repeated);
        let mut read = Vec::new();
        let mut inner: HashMap<LoopId, LoopId> = HashMap::new();
        for expr in of_step {
            if images.contains_key(&expr) {
                continue;
            }
            let (mut node, dtype) = (self.graph.node(expr).clone(), self.graph.dtype(expr));
            let shape = self.graph.written(expr).clone();
            let operands: Vec<ExprId> = self.read_by(expr).collect();
            for operand in operands {
                if !images.contains_key(&operand) && is_active(operand) {
                    let own = self.graph.variable(operand, self.site);
                    images.insert(operand, own);
                    read.push((operand, own));
                }
            }
            node.renumber(|operand| images.get(&operand).copied().unwrap_or(operand));
            match &mut node {
                Node::Step { of, .. } => *of = self.fresh(&mut inner, *of),
                Node::Loop { repeated, .. } => repeated.id = self.fresh(&mut inner, repeated.id),
                _ => {}
            }
            let image = self.graph.insert(node, dtype, shape, Vec::new(), self.site)?;
            if let Some(mut rule) = self.graph.rules.get(&expr).cloned() {
                rule.renumber(|read| images.get(&read).copied().unwrap_or(read));
                self.graph.derives_by(image, rule);
            }
            images.insert(expr, image);
        }
        // A step may give what it reads as it is.
        for expr in repeated.of_step() {
            if !images.contains_key(&expr) && is_active(expr) {
                let own = self.graph.variable(expr, self.site);
                images.insert(expr, own);
                read.push((expr, own));
            }
        }
        Ok(Copied { images, read })
    }

    fn fresh(&mut self, inner: &mut HashMap<LoopId, LoopId>, of: LoopId) -> LoopId {
        *inner.entry(of).or_insert_with(|| {
            self.graph.loops += 1;
            LoopId::new(self.graph.loops - 1)
        })
    }

    /// Returns what stands for the values of a step in a loop that begins with the same carried values and rows.
    fn images_of(
        &self,
        repeated: &Loop,
        counter: ExprId,
        carried: &[ExprId],
        rows: &[ExprId],
    ) -> HashMap<ExprId, ExprId> {
        let image = |(value, expr): (StepValue, ExprId)| {
            let image = match value {
                StepValue::Counter => Some(counter),
                StepValue::Carried(number) => carried.get(number).copied(),
                StepValue::Row(number) => rows.get(number).copied(),
            };
            Some((expr, image?))
        };
        self.graph.step_values(repeated.id).filter_map(image).collect()
    }

    /// Returns the tangents of the results of a loop; `None` for those that are no floats.
    pub(super) fn tangents_of_loop(
        &mut self,
        repeated: &Loop,
        tangents: &HashMap<ExprId, ExprId>,
    ) -> Result<Vec<Option<ExprId>>, Problem> {
        let floats: Vec<usize> =
            (0..repeated.carried.len()).filter(|at| self.is_float(repeated.carried[*at].initial)).collect();
        let mut carried: Vec<(&str, ExprId)> =
            repeated.carried.iter().map(|carried| ("value", carried.initial)).collect();
        for &at in &floats {
            carried.push(("tangent", self.whole_tangent(repeated.carried[at].initial, tangents)?));
        }
        let moving: Vec<usize> =
            (0..repeated.rows.len()).filter(|at| tangents.contains_key(&repeated.rows[*at])).collect();
        let mut rows: Vec<(&str, ExprId)> = repeated.rows.iter().map(|rows| ("row", *rows)).collect();
        for &at in &moving {
            rows.push(("tangent", self.whole_tangent(repeated.rows[at], tangents)?));
        }
        let open = self.graph.begin_loop("jvp", "step", &carried, &rows, self.site);
        let (count, of_rows) = (repeated.carried.len(), repeated.rows.len());
        let images = self.images_of(repeated, open.counter, &open.carried[..count], &open.rows[..of_rows]);
        let copied = self.copied(repeated, images, &|expr| tangents.contains_key(&expr))?;
        let mut along: Vec<(ExprId, ExprId)> = floats
            .iter()
            .enumerate()
            .map(|(place, at)| (open.carried[*at], open.carried[count + place]))
            .collect();
        along.extend(
            moving.iter().enumerate().map(|(place, at)| (open.rows[*at], open.rows[of_rows + place])),
        );
        for (expr, own) in &copied.read {
            along.push((*own, self.whole_tangent(*expr, tangents)?));
        }
        let mut next: Vec<ExprId> = repeated.carried.iter().map(|carried| copied.of(carried.next)).collect();
        for &at in &floats {
            next.push(self.tangent_along(next[at], &along)?);
        }
        let mut stacked: Vec<ExprId> = repeated.stacked.iter().map(|expr| copied.of(*expr)).collect();
        let of_stacked: Vec<usize> = (0..stacked.len()).filter(|at| self.is_float(stacked[*at])).collect();
        for &at in &of_stacked {
            stacked.push(self.tangent_along(stacked[at], &along)?);
        }
        let repeat = match &repeated.steps {
            Steps::Size(length) => Repeat::Along(Some(length.clone())),
            Steps::Count(times) => Repeat::Times(*times),
            Steps::While(condition) => Repeat::While(copied.of(*condition)),
        };
        let results = self.graph.end_loop(open, &repeat, &next, &stacked);
        let first_stacked = count + floats.len();
        let of_carried =
            (0..count).map(|at| floats.iter().position(|of| *of == at).map(|place| count + place));
        let of_steps = (0..repeated.stacked.len()).map(|at| {
            let place = of_stacked.iter().position(|of| *of == at);
            place.map(|place| first_stacked + repeated.stacked.len() + place)
        });
        Ok(of_carried.chain(of_steps).map(|place| results.get(place?).copied()).collect())
    }

    fn whole_tangent(&mut self, expr: ExprId, tangents: &HashMap<ExprId, ExprId>) -> Result<ExprId, Problem> {
        let (shape, work) = (self.graph.written(expr).clone(), self.work(expr));
        match tangents.get(&expr) {
            Some(tangent) => {
                let tangent = self.graph.convert(*tangent, work, self.site)?;
                self.graph.try_broadcast_to(tangent, shape, self.site)
            }
            None => self.zeros(shape, work),
        }
    }

    fn tangent_along(&mut self, y: ExprId, along: &[(ExprId, ExprId)]) -> Result<ExprId, Problem> {
        let by: Vec<ExprId> = along.iter().map(|(by, _)| *by).collect();
        let walk = self.graph.walk(y, &by);
        let tangent = self.forward(y, along, &walk)?;
        self.graph.convert(tangent, self.work(y), self.site)
    }

    /// Returns what the cotangents of the results of a loop, by their numbers, send to what it begins with and reads.
    pub(super) fn sent_by_loop(
        &mut self,
        repeated: &Loop,
        cotangents: &HashMap<usize, ExprId>,
        is_active: &dyn Fn(ExprId) -> bool,
    ) -> Result<SentByLoop, Problem> {
        let length = match &repeated.steps {
            Steps::Size(length) => length.clone(),
            Steps::Count(_) | Steps::While(_) => {
                return Err(Problem::Argument(
                    "needs loops whose number of steps is a size: only such a loop keeps what the way back needs; write the number \
                     of steps as a number or a size, or derive forwards, by `jvp`",
                ));
            }
        };
        let count = repeated.carried.len();
        let mut rows = Vec::new();
        for at in 0..count {
            let before = self.graph.carried_value(repeated, at, self.site)?;
            let before = self.stacked_again(repeated, before, &length)?;
            rows.push(("value", self.flipped(before)?));
        }
        for array in &repeated.rows {
            rows.push(("row", self.flipped(*array)?));
        }
        let mut weighted = Vec::new();
        for at in 0..repeated.stacked.len() {
            if let Some(cotangent) = cotangents.get(&(count + at)) {
                rows.push(("cotangent", self.flipped(*cotangent)?));
                weighted.push(at);
            }
        }
        let floats: Vec<usize> =
            (0..count).filter(|at| self.is_float(repeated.carried[*at].initial)).collect();
        let mut carried = Vec::new();
        for &at in &floats {
            let Carried { initial, .. } = repeated.carried[at];
            let (shape, work) = (self.graph.written(initial).clone(), self.work(initial));
            carried.push((
                "cotangent",
                match cotangents.get(&at) {
                    Some(cotangent) => self.graph.convert(*cotangent, work, self.site)?,
                    None => self.zeros(shape, work)?,
                },
            ));
        }
        // What the steps read is known before the loop, whose sums begin with zeros.
        let read = self.read_by_steps(repeated, is_active);
        for expr in &read {
            let (shape, work) = (self.graph.written(*expr).clone(), self.work(*expr));
            carried.push(("sum", self.zeros(shape, work)?));
        }
        let open = self.graph.begin_loop("grad", "step", &carried, &rows, self.site);
        let (next, stacked) =
            self.steps_back(repeated, &open, &length, &floats, &weighted, &read, is_active)?;
        let results = self.graph.end_loop(open, &Repeat::Along(Some(length)), &next, &stacked);
        let mut sent: SentByLoop = Vec::new();
        for (place, &at) in floats.iter().enumerate() {
            sent.push((repeated.carried[at].initial, results[place]));
        }
        sent.extend(read.iter().copied().zip(results[floats.len()..].iter().copied()));
        let arrays = repeated.rows.iter().filter(|rows| is_active(**rows));
        for (array, back) in arrays.zip(&results[next.len()..]) {
            sent.push((*array, self.flipped(*back)?));
        }
        Ok(sent)
    }

    /// Makes a step of the way back: the cotangents before the step, the sums with what it sends, and the cotangents of rows.
    #[allow(clippy::too_many_arguments, reason = "one caller, which has found all of this")]
    fn steps_back(
        &mut self,
        repeated: &Loop,
        open: &OpenLoop,
        length: &Dim,
        floats: &[usize],
        weighted: &[usize],
        read: &[ExprId],
        is_active: &dyn Fn(ExprId) -> bool,
    ) -> Result<(Vec<ExprId>, Vec<ExprId>), Problem> {
        let (count, of_rows) = (repeated.carried.len(), repeated.rows.len());
        let last = self.graph.try_size(length.sub(&Dim::ONE).map_err(Problem::Size)?, self.site)?;
        let counter = self.op(Op::Subtract, &[last, open.counter])?;
        let rows = &open.rows[count..count + of_rows];
        let images = self.images_of(repeated, counter, &open.rows[..count], rows);
        let copied = self.copied(repeated, images, is_active)?;
        let mut total: Option<ExprId> = None;
        let carried =
            floats.iter().enumerate().map(|(place, at)| (repeated.carried[*at].next, open.carried[place]));
        let stacked = weighted.iter().enumerate();
        let stacked = stacked.map(|(place, at)| (repeated.stacked[*at], open.rows[count + of_rows + place]));
        for (value, cotangent) in carried.chain(stacked) {
            let value = self.computed(copied.of(value))?;
            let cotangent = self.graph.convert(cotangent, self.graph.dtype(value), self.site)?;
            let product = self.op(Op::Multiply, &[value, cotangent])?;
            let rank = self.graph.written(product).rank();
            let sum = match rank {
                0 => product,
                _ => {
                    let axes: Vec<usize> = (0..rank).collect();
                    let sum = self.reduce(crate::reduce::ReduceOp::Sum, product, &axes)?;
                    self.graph.try_squeeze(sum, &super::signed(&axes), self.site)?
                }
            };
            total = Some(match total {
                Some(total) => self.op(Op::Add, &[total, sum])?,
                None => sum,
            });
        }
        let of_read = |expr: &ExprId| copied.read.iter().find(|(of, _)| of == expr).map(|(_, own)| *own);
        let active_rows = (0..of_rows).filter(|at| is_active(repeated.rows[*at])).map(|at| rows[at]);
        let mut by: Vec<ExprId> = floats.iter().map(|at| open.rows[*at]).collect();
        by.extend(read.iter().map(|expr| of_read(expr).unwrap_or(*expr)));
        by.extend(active_rows);
        let slopes = match total {
            Some(total) => {
                let walk = self.graph.walk(total, &by);
                let seed = self.number(1.0, self.work(total))?;
                self.reverse(total, seed, &by, &walk)?
            }
            None => Vec::new(),
        };
        let mut next = Vec::new();
        let mut stacked = Vec::new();
        for (place, (&by, slope)) in by.iter().zip(slopes).enumerate() {
            let slope = self.graph.convert(slope, self.work(by), self.site)?;
            if place < floats.len() {
                next.push(slope);
            } else if place < floats.len() + read.len() {
                next.push(self.op(Op::Add, &[open.carried[place], slope])?);
            } else {
                stacked.push(slope);
            }
        }
        Ok((next, stacked))
    }

    /// Returns what the steps of a loop read of values that matter, in order.
    fn read_by_steps(&self, repeated: &Loop, is_active: &dyn Fn(ExprId) -> bool) -> Vec<ExprId> {
        let of_step = self.of_step(repeated);
        let operands = of_step.iter().flat_map(|expr| self.read_by(*expr));
        let read: BTreeSet<ExprId> = operands
            .chain(repeated.of_step())
            .filter(|expr| !of_step.contains(expr) && is_active(*expr))
            .collect();
        read.into_iter().collect()
    }

    /// Returns the values that a loop has before each of its steps, stacked.
    fn stacked_again(&mut self, repeated: &Loop, value: ExprId, length: &Dim) -> Result<ExprId, Problem> {
        let mut more = repeated.clone();
        let result = more.results();
        more.stacked.push(value);
        let row = self.graph.written(value).iter().cloned();
        let shape: Shape = std::iter::once(length.clone()).chain(row).collect();
        let node = Node::Loop { repeated: Box::new(more), result };
        self.graph.insert(node, self.graph.dtype(value), shape, Vec::new(), self.site)
    }

    /// Returns an array with its rows in reverse order.
    fn flipped(&mut self, array: ExprId) -> Result<ExprId, Problem> {
        self.graph.try_slice(array, &[SliceSpec::Range { start: None, stop: None, step: -1 }], self.site)
    }
}
