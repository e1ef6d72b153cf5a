//! Derivatives: a graph in, a graph out.
//!
//! ```text
//! reverse  loss ──walk in operand order──▶ a cotangent for each value, the sum of what its users send ──▶ grad, vjp
//! forward  tangents of some values ──operands first──▶ a tangent for each value that depends on them ──▶ jvp
//! ```
//!
//! The op table states the partial derivatives of elementwise ops ([`crate::partial`]); both directions read the same
//! column. The other nodes have a rule for each direction, in [`reverse`] and [`forward`], and so do some compositions
//! ([`Rule`]), which derive badly node by node. A derivative consists of ordinary expressions.
//!
//! The order of all sums follows a walk from the loss, not the numbers of nodes, so statements that the loss does not read
//! change no bit.

mod forward;
mod loops;
mod moves;
mod reduced;
mod reverse;
mod rule;
mod term;
mod variable;
mod views;

use super::reduction::Empty;
use super::views::signed;
use super::{Demand, Graph, Node, Operands, Site};
use crate::dim::Dim;
use crate::dtype::{AnyNumber, Class, DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::{Problem, Requirement};
use crate::reduce::ReduceOp;
use crate::shape::Shape;
pub(super) use rule::{Normalized, Rule};
use std::collections::HashSet;
use term::Slope;

/// What a derivation works on: a graph, and the place of the call.
struct Derivation<'g> {
    graph: &'g mut Graph,
    site: Site,
}

/// The values that matter to a derivative.
struct Walk {
    /// Those that depend on a value by which is derived, each after those that it depends on.
    active: Vec<ExprId>,
    is_active: HashSet<ExprId>,
}

impl Graph {
    /// Returns the derivatives of a loss without axes by tensors, in their shapes and dtypes. The derivative by a tensor that
    /// the loss does not read is 0.
    ///
    /// Where there is no derivative, it is the one of least norm among those that stay on one side (a subgradient), ties
    /// between operands share it, and a tie with a constant is 0. Elements that a selection leaves out have no part in it,
    /// whatever their values are.
    pub fn grad(&mut self, loss: ExprId, by: &[ExprId], site: Site) -> Vec<ExprId> {
        self.slopes_of("grad", loss, by, site)
    }

    fn slopes_of(&mut self, name: &str, loss: ExprId, by: &[ExprId], site: Site) -> Vec<ExprId> {
        let result = match self.written(loss).rank() {
            0 => self.try_vjp(loss, None, by, site),
            _ => Err(Problem::Argument(
                "needs a loss without axes: take its `sum()` or `mean()`, or give the weights of its elements to `vjp`",
            )),
        };
        self.settle_each(result, name, loss, by, site)
    }

    /// Returns the derivatives of the sum of `y * cotangent` by tensors, in their shapes and dtypes. The cotangent is a
    /// constant that broadcasts to `y`.
    pub fn vjp(&mut self, y: ExprId, cotangent: ExprId, by: &[ExprId], site: Site) -> Vec<ExprId> {
        if let Err(problem) = self.check_stretch(cotangent, y, site) {
            return vec![self.settle(Err(problem), "vjp", &[cotangent], site); by.len()];
        }
        let result = self.try_vjp(y, Some(cotangent), by, site);
        self.settle_each(result, "vjp", y, by, site)
    }

    /// Returns the change of `y` per change of tensors: the derivative of `y` along a direction, which gives for each tensor
    /// its tangent. A tangent broadcasts to its tensor.
    pub fn jvp(&mut self, y: ExprId, along: &[(ExprId, ExprId)], site: Site) -> ExprId {
        self.change_of("jvp", y, along, site)
    }

    /// Returns the changes of the [derivatives](Graph::grad) of a loss by tensors along a direction, which gives for each its
    /// tangent: the products of the Hessian matrix and the direction.
    pub fn hvp(&mut self, loss: ExprId, along: &[(ExprId, ExprId)], site: Site) -> Vec<ExprId> {
        let by: Vec<ExprId> = along.iter().map(|(by, _)| *by).collect();
        let slopes = self.slopes_of("hvp", loss, &by, site);
        slopes.into_iter().map(|slope| self.change_of("hvp", slope, along, site)).collect()
    }

    fn change_of(&mut self, name: &str, y: ExprId, along: &[(ExprId, ExprId)], site: Site) -> ExprId {
        for &(by, tangent) in along {
            if let Err(problem) = self.check_stretch(tangent, by, site) {
                return self.settle(Err(problem), name, &[tangent], site);
            }
        }
        let result = self.try_jvp(y, along, site);
        let operands = match &result {
            Err(Problem::NotDerivable { dtype }) => {
                let by: Vec<ExprId> = along.iter().map(|(by, _)| *by).collect();
                self.of_dtype(*dtype, y, &by)
            }
            _ => vec![y],
        };
        self.settle(result, name, &operands, site)
    }

    /// Takes several results of one call, or its mistake.
    fn settle_each(
        &mut self,
        result: Result<Vec<ExprId>, Problem>,
        name: &str,
        y: ExprId,
        by: &[ExprId],
        site: Site,
    ) -> Vec<ExprId> {
        match result {
            Ok(exprs) => {
                let last = exprs.last().copied().unwrap_or(y);
                self.settle(Ok(last), name, &[y], site);
                exprs
            }
            Err(problem) => {
                let operands: Vec<ExprId> = match &problem {
                    Problem::NotDerivable { dtype } => self.of_dtype(*dtype, y, by),
                    _ => vec![y],
                };
                vec![self.settle(Err(problem), name, &operands, site); by.len()]
            }
        }
    }

    fn try_vjp(
        &mut self,
        y: ExprId,
        cotangent: Option<ExprId>,
        by: &[ExprId],
        site: Site,
    ) -> Result<Vec<ExprId>, Problem> {
        if self.is_poisoned(y)
            || self.any_poisoned(by)
            || cotangent.is_some_and(|given| self.is_poisoned(given))
        {
            return Ok(vec![self.poison(); by.len()]);
        }
        self.check_floats(y, by)?;
        let walk = self.walk(y, by);
        for unread in by.iter().filter(|expr| !walk.is_active.contains(expr)) {
            self.warn(Problem::NotRead, if cotangent.is_some() { "vjp" } else { "grad" }, &[*unread], site);
        }
        let dtype = self.dtype(y).arithmetic();
        let mut derivation = Derivation { graph: self, site };
        let seed = match cotangent {
            None => derivation.number(1.0, dtype)?,
            Some(given) => derivation.graph.convert(given, dtype, site)?,
        };
        let results = derivation.reverse(y, seed, by, &walk)?;
        self.keep_conditions(&walk, &results, site);
        Ok(results)
    }

    fn try_jvp(&mut self, y: ExprId, along: &[(ExprId, ExprId)], site: Site) -> Result<ExprId, Problem> {
        let (by, directions): (Vec<ExprId>, Vec<ExprId>) = along.iter().copied().unzip();
        if self.is_poisoned(y) || self.any_poisoned(&by) || self.any_poisoned(&directions) {
            return Ok(self.poison());
        }
        self.check_floats(y, &by)?;
        let walk = self.walk(y, &by);
        let mut derivation = Derivation { graph: self, site };
        let result = derivation.forward(y, along, &walk)?;
        self.keep_conditions(&walk, &[result], site);
        Ok(result)
    }

    /// Checks that a cotangent or a tangent broadcasts to its tensor.
    fn check_stretch(&mut self, weight: ExprId, to: ExprId, site: Site) -> Result<(), Problem> {
        if self.any_poisoned(&[weight, to]) {
            return Ok(());
        }
        let shape = self.written(to).clone();
        self.try_broadcast_to(weight, shape, site).map(drop)
    }

    /// Returns the first of the tensors of a derivative that has a dtype.
    fn of_dtype(&self, dtype: DType, y: ExprId, by: &[ExprId]) -> Vec<ExprId> {
        by.iter().copied().chain([y]).filter(|&expr| self.dtype(expr) == dtype).take(1).collect()
    }

    /// Checks that everything consists of floats, and that no input may have another size than the derivative by it.
    fn check_floats(&self, y: ExprId, by: &[ExprId]) -> Result<(), Problem> {
        let may_be_one = |expr: &ExprId| match self.node(*expr) {
            Node::Input(input) => !self.inputs[input.index()].may_be_one.is_empty(),
            _ => false,
        };
        if by.iter().any(may_be_one) {
            return Err(Problem::Argument(
                "cannot derive by an input with axes that may be 1: declare their sizes, or 1, in a graph for each",
            ));
        }
        let Some(dtype) = by.iter().chain([&y]).map(|&expr| self.dtype(expr)).find(|dtype| !dtype.is_float())
        else {
            return Ok(());
        };
        Err(Problem::NotDerivable { dtype })
    }

    /// Returns the values on the way from `y` to those by which is derived.
    fn walk(&self, y: ExprId, by: &[ExprId]) -> Walk {
        let mut reached: Vec<ExprId> = Vec::new();
        let mut seen = HashSet::from([y]);
        let mut open = vec![y];
        while let Some(expr) = open.pop() {
            reached.push(expr);
            open.extend(self.derived_operands(expr).into_iter().filter(|operand| seen.insert(*operand)));
        }
        // Operands have smaller numbers.
        reached.sort_unstable();
        let by: HashSet<ExprId> = by.iter().copied().collect();
        let mut is_active = HashSet::new();
        for expr in reached {
            let reads = |operand: &ExprId| is_active.contains(operand);
            let depends = by.contains(&expr) || self.derived_operands(expr).iter().any(reads);
            if depends && self.dtype(expr).is_float() {
                is_active.insert(expr);
            }
        }
        let mut active = Vec::new();
        let mut entered = HashSet::new();
        let mut stack = vec![(y, false)];
        while let Some((expr, is_done)) = stack.pop() {
            if is_done {
                active.push(expr);
            } else if is_active.contains(&expr) && entered.insert(expr) {
                stack.push((expr, true));
                // The last one pushed is walked first.
                stack.extend(self.derived_operands(expr).into_iter().rev().map(|operand| (operand, false)));
            }
        }
        Walk { active, is_active }
    }

    /// Returns what a value derives by: its operands, or those of its rule.
    fn derived_operands(&self, expr: ExprId) -> Operands {
        match self.rules.get(&expr) {
            Some(rule) => rule.operands(),
            None => self.node(expr).operands(),
        }
    }

    /// Conditions of the values hold for their derivatives, which may not read them.
    fn keep_conditions(&mut self, walk: &Walk, results: &[ExprId], site: Site) {
        let conditions: Vec<(Dim, Requirement)> = (self.obligations.iter())
            .filter(|condition| condition.origin.is_some_and(|origin| walk.is_active.contains(&origin)))
            .filter_map(|condition| match &condition.demand {
                Demand::NonNegative(dim) => Some((dim.clone(), condition.requirement)),
                Demand::Equal(..) => None,
            })
            .collect();
        for result in results {
            self.oblige(*result, conditions.clone(), site);
        }
    }
}

impl Derivation<'_> {
    fn number(&mut self, value: f64, dtype: DType) -> Result<ExprId, Problem> {
        self.graph.number(value, dtype, self.site)
    }

    fn op(&mut self, op: Op, operands: &[ExprId]) -> Result<ExprId, Problem> {
        self.graph.try_elementwise(op, operands, self.site)
    }

    /// Returns a product; a factor of 1 is left out.
    fn times(&mut self, left: ExprId, right: ExprId) -> Result<ExprId, Problem> {
        if self.is_number(left, 1.0) {
            Ok(right)
        } else if self.is_number(right, 1.0) {
            Ok(left)
        } else {
            self.op(Op::Multiply, &[left, right])
        }
    }

    /// Returns the value of a constant float.
    fn value(&self, expr: ExprId) -> Option<f64> {
        match self.graph.node(expr) {
            Node::Constant(constant) => match constant.number() {
                AnyNumber::Float(value) => Some(value),
                AnyNumber::Int(_) => None,
            },
            _ => None,
        }
    }

    fn is_number(&self, expr: ExprId, value: f64) -> bool {
        self.value(expr) == Some(value)
    }

    /// Returns a value where a condition holds, and 0 elsewhere.
    fn only(&mut self, condition: ExprId, value: ExprId) -> Result<ExprId, Problem> {
        let zero = self.number(0.0, self.graph.dtype(value))?;
        self.graph.try_select([condition, value, zero], self.site)
    }

    /// Returns the condition that both hold; one that is missing holds everywhere.
    fn both(&mut self, one: Option<ExprId>, other: Option<ExprId>) -> Result<Option<ExprId>, Problem> {
        match (one, other) {
            (Some(one), Some(other)) if one == other => Ok(Some(one)),
            (Some(one), Some(other)) => self.op(Op::LogicalAnd, &[one, other]).map(Some),
            (one, other) => Ok(one.or(other)),
        }
    }

    /// Returns a reduction whose axes stay as literal 1s.
    fn reduce(&mut self, op: ReduceOp, operand: ExprId, axes: &[usize]) -> Result<ExprId, Problem> {
        self.graph.try_reduce(op, operand, Some(&signed(axes)), true, Empty::Identity, self.site)
    }

    /// Returns zeros of a shape.
    fn zeros(&mut self, shape: Shape, dtype: DType) -> Result<ExprId, Problem> {
        let zero = self.graph.insert_constant(Scalar::I64(0).cast(dtype), self.site)?;
        self.graph.try_broadcast_to(zero, shape, self.site)
    }

    /// Returns a product of sizes as a number.
    fn count<'d>(
        &mut self,
        sizes: impl IntoIterator<Item = &'d Dim>,
        dtype: DType,
    ) -> Result<ExprId, Problem> {
        let count = Dim::product(sizes).map_err(Problem::Size)?;
        let count = self.graph.try_size(count, self.site)?;
        self.graph.convert(count, dtype, self.site)
    }

    /// Returns an expression with leading axes of size 1 up to a rank.
    fn of_rank(&mut self, expr: ExprId, rank: usize) -> Result<ExprId, Problem> {
        let missing = rank.saturating_sub(self.graph.written(expr).rank());
        let axes: Vec<i64> = (0..missing as i64).collect();
        self.graph.try_expand_dims(expr, &axes, self.site)
    }

    /// Returns an operand or a result in the dtype in which derivatives are computed.
    fn computed(&mut self, expr: ExprId) -> Result<ExprId, Problem> {
        let dtype = self.graph.dtype(expr);
        let dtype = if dtype.class() == Class::Float { dtype.arithmetic() } else { dtype };
        self.graph.convert(expr, dtype, self.site)
    }

    /// Returns the derivative of an elementwise op by an operand.
    fn slope(&mut self, op: Op, by: usize, operands: &[ExprId], result: ExprId) -> Result<Slope, Problem> {
        let mut of = Operands::new();
        for operand in operands {
            of.push(self.computed(*operand)?);
        }
        let result = self.computed(result)?;
        term::slope(self.graph, self.site, &of, result, |of, result| op.derivative(by, of, result))
    }
}
