//! Distinct elements: NumPy's `unique` and the operations on sets. Equal elements are neighbours once they are sorted, and the
//! first of each run is selected.

use super::elementwise::mixes_u64;
use super::reduction::Empty;
use super::{Graph, Node, Site};
use crate::dim::Dim;
use crate::dtype::{Class, DType};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;

/// The distinct elements of a tensor in ascending order, and what is known of them. The last three are `i64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unique {
    /// The distinct elements.
    pub values: ExprId,
    /// The position, in row-major order, of the first element that equals each.
    pub indices: ExprId,
    /// The number of the distinct element that each element equals, in the shape of the tensor.
    pub inverse: ExprId,
    /// How many elements equal each.
    pub counts: ExprId,
}

/// An operation on two sets of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetOp {
    /// The elements of one or the other: `union1d`.
    Union,
    /// The elements of both: `intersect1d`.
    Intersection,
    /// The elements of the first alone: `setdiff1d`.
    Difference,
    /// The elements of just one: `setxor1d`.
    SymmetricDifference,
}

impl SetOp {
    /// Returns NumPy's name.
    pub fn name(self) -> &'static str {
        match self {
            SetOp::Union => "union1d",
            SetOp::Intersection => "intersect1d",
            SetOp::Difference => "setdiff1d",
            SetOp::SymmetricDifference => "setxor1d",
        }
    }
}

impl Graph {
    /// Returns the distinct elements of a tensor. All NaNs count as one if they are `equal_nan`, and each by itself otherwise.
    pub fn unique(&mut self, operand: ExprId, equal_nan: bool, site: Site) -> Unique {
        match self.try_unique(operand, equal_nan, site) {
            Ok(found) => {
                for expr in [found.values, found.indices, found.inverse, found.counts] {
                    self.settle(Ok(expr), "unique", &[operand], site);
                }
                found
            }
            Err(problem) => {
                let poison = self.settle(Err(problem), "unique", &[operand], site);
                Unique { values: poison, indices: poison, inverse: poison, counts: poison }
            }
        }
    }

    fn try_unique(&mut self, operand: ExprId, equal_nan: bool, site: Site) -> Result<Unique, Problem> {
        if self.is_poisoned(operand) {
            return Ok(Unique { values: operand, indices: operand, inverse: operand, counts: operand });
        }
        let shape = self.written(operand).clone();
        let flat = self.try_reshape(operand, &[None], site)?;
        let sorted = self.try_sort(flat, None, false, false, site)?;
        let is_first = self.first_of_runs(sorted, equal_nan, site)?;
        let values = self.compressed(sorted, is_first, 0, site)?;
        let order = self.try_sort(flat, None, true, false, site)?;
        let indices = self.compressed(order, is_first, 0, site)?;
        let length = self.written(flat)[0].clone();
        let positions = self.try_iota(length.clone(), site)?;
        let starts = self.convert(is_first, DType::I64, site)?;
        let rank = self.try_scan(ReduceOp::Sum, starts, 0, None, site)?;
        let [one, zero] = [1.0, 0.0].map(|value| self.number(value, DType::I64, site));
        let (one, zero) = (one?, zero?);
        let rank = self.try_elementwise(Op::Subtract, &[rank, one], site)?;
        let base = self.try_broadcast_to(zero, self.written(flat).clone(), site)?;
        let node = Node::Scatter { op: None, base, indices: order, values: rank };
        let inverse = self.insert(node, DType::I64, self.written(flat).clone(), Vec::new(), site)?;
        let sizes: Vec<_> = shape.iter().cloned().map(Some).collect();
        let inverse = self.try_reshape(inverse, &sizes, site)?;
        // A run ends where the next one begins, or with the last element.
        let end = self.try_size(length, site)?;
        let starts = self.try_select([is_first, positions, end], site)?;
        let starts = self.try_flip(starts, Some(&[0]), site)?;
        let starts = self.try_scan(ReduceOp::Min, starts, 0, None, site)?;
        let starts = self.try_flip(starts, Some(&[0]), site)?;
        let next = self.shifted(starts, 1.0, site)?;
        let last = self.try_elementwise(Op::Subtract, &[end, one], site)?;
        let is_last = self.try_elementwise(Op::Equal, &[positions, last], site)?;
        let next = self.try_select([is_last, end, next], site)?;
        let counts = self.try_elementwise(Op::Subtract, &[next, positions], site)?;
        let counts = self.compressed(counts, is_first, 0, site)?;
        Ok(Unique { values, indices, inverse, counts })
    }

    /// Returns the element that comes so many after each one, or the first or the last where there is none. A vector without
    /// elements has no parts that could be joined.
    fn shifted(&mut self, operand: ExprId, by: f64, site: Site) -> Result<ExprId, Problem> {
        let length = self.written(operand)[0].clone();
        let positions = self.try_iota(length.clone(), site)?;
        let [by, zero, one] = [by, 0.0, 1.0].map(|value| self.number(value, DType::I64, site));
        let end = self.try_size(length, site)?;
        let last = self.try_elementwise(Op::Subtract, &[end, one?], site)?;
        let from = self.try_elementwise(Op::Add, &[positions, by?], site)?;
        let from = self.try_elementwise(Op::Clip, &[from, zero?, last], site)?;
        self.try_take(operand, from, 0, site)
    }

    /// Returns whether each sorted element differs from the one before it.
    fn first_of_runs(&mut self, sorted: ExprId, equal_nan: bool, site: Site) -> Result<ExprId, Problem> {
        let before = self.shifted(sorted, -1.0, site)?;
        let mut differs = self.try_elementwise(Op::NotEqual, &[sorted, before], site)?;
        if equal_nan && self.dtype(sorted).class() == Class::Float {
            // NaNs come last, so that all but the first follow another one.
            let are_numbers =
                [sorted, before].map(|each| self.try_elementwise(Op::Equal, &[each, each], site));
            let [of_own, of_before] = are_numbers;
            let is_number = self.try_elementwise(Op::LogicalOr, &[of_own?, of_before?], site)?;
            differs = self.try_elementwise(Op::LogicalAnd, &[differs, is_number], site)?;
        }
        let positions = self.try_iota(self.written(sorted)[0].clone(), site)?;
        let zero = self.number(0.0, DType::I64, site)?;
        let is_at_start = self.try_elementwise(Op::Equal, &[positions, zero], site)?;
        self.try_elementwise(Op::LogicalOr, &[is_at_start, differs], site)
    }

    /// Returns the result of an operation on two sets: distinct elements in ascending order.
    pub fn set_operation(&mut self, op: SetOp, operands: [ExprId; 2], site: Site) -> ExprId {
        let result = self.try_set_operation(op, operands, site);
        self.settle_all(result, op.name(), &operands, site)
    }

    fn try_set_operation(
        &mut self,
        op: SetOp,
        [left, right]: [ExprId; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.any_poisoned(&[left, right]) {
            return Ok(self.poison());
        }
        let dtypes = [self.dtype(left), self.dtype(right)];
        let dtype = dtypes[0].promote(dtypes[1]);
        // Elements of the result that are also in the first operand stay as they are. No integer dtype holds both signed
        // integers and `u64`: they are compared as integers, and only the result is converted.
        let is_kept = op == SetOp::Difference || mixes_u64(dtypes[0], dtypes[1]);
        let mut sides = [left, right];
        for side in &mut sides {
            if !is_kept {
                *side = self.convert(*side, dtype, site)?;
            }
            *side = self.try_reshape(*side, &[None], site)?;
        }
        let parts = match op {
            SetOp::Union if !is_kept => {
                let all = self.try_concat(&sides, 0, site)?;
                return Ok(self.try_unique(all, true, site)?.values);
            }
            SetOp::Difference => return self.distinct(sides, false, site),
            SetOp::Intersection => {
                let both = self.distinct(sides, true, site)?;
                return self.convert(both, dtype, site);
            }
            SetOp::Union => {
                let left = self.try_unique(sides[0], true, site)?.values;
                [left, self.distinct([sides[1], sides[0]], false, site)?]
            }
            SetOp::SymmetricDifference => {
                let left = self.distinct(sides, false, site)?;
                [left, self.distinct([sides[1], sides[0]], false, site)?]
            }
        };
        let [left, right] = parts.map(|part| self.convert(part, dtype, site));
        let both = self.try_concat(&[left?, right?], 0, site)?;
        self.try_sort(both, None, false, false, site)
    }

    /// Returns the distinct elements of the first operand that the second one has, or that it has not.
    fn distinct(&mut self, [of, other]: [ExprId; 2], has: bool, site: Site) -> Result<ExprId, Problem> {
        let values = self.try_unique(of, true, site)?.values;
        let mut mask = self.try_isin(values, other, site)?;
        if !has {
            mask = self.try_elementwise(Op::LogicalNot, &[mask], site)?;
        }
        self.compressed(values, mask, 0, site)
    }

    /// Returns a vector without the zeros at its beginning and at its end, or at one of them: NumPy's `trim_zeros`.
    pub fn trim_zeros(&mut self, operand: ExprId, [front, back]: [bool; 2], site: Site) -> ExprId {
        let result = self.try_trim_zeros(operand, [front, back], site);
        self.settle(result, "trim_zeros", &[operand], site)
    }

    fn try_trim_zeros(
        &mut self,
        operand: ExprId,
        [front, back]: [bool; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        self.length_of(operand, "the operand")?;
        let mask = self.convert(operand, DType::Bool, site)?;
        let own = self.convert(mask, DType::I64, site)?;
        let zero = self.number(0.0, DType::I64, site)?;
        let mut kept = None;
        for (is_trimmed, is_reversed) in [(front, false), (back, true)] {
            if !is_trimmed {
                continue;
            }
            let in_order = if is_reversed { self.try_flip(own, Some(&[0]), site)? } else { own };
            let so_far = self.try_scan(ReduceOp::Sum, in_order, 0, None, site)?;
            let so_far = if is_reversed { self.try_flip(so_far, Some(&[0]), site)? } else { so_far };
            let follows = self.try_elementwise(Op::Greater, &[so_far, zero], site)?;
            kept = Some(match kept {
                Some(kept) => self.try_elementwise(Op::LogicalAnd, &[kept, follows], site)?,
                None => follows,
            });
        }
        match kept {
            Some(kept) => self.compressed(operand, kept, 0, site),
            None => Ok(operand),
        }
    }

    /// Returns how often each of the integers from 0 to the greatest one occurs, or the sums of their weights; `least` is the
    /// least length of the result: NumPy's `bincount`.
    pub fn bincount_all(
        &mut self,
        operand: ExprId,
        weights: Option<ExprId>,
        least: i64,
        site: Site,
    ) -> ExprId {
        let operands: Vec<ExprId> = [Some(operand), weights].into_iter().flatten().collect();
        let result = self.try_bincount_all(operand, weights, least, site);
        self.settle_all(result, "bincount", &operands, site)
    }

    fn try_bincount_all(
        &mut self,
        operand: ExprId,
        weights: Option<ExprId>,
        least: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let numbers = self.as_index(operand, site)?;
        let greatest = self.try_reduce(ReduceOp::Max, numbers, None, false, Empty::Identity, site)?;
        let least = self.number((least - 1) as f64, DType::I64, site)?;
        let one = self.number(1.0, DType::I64, site)?;
        let greatest = self.try_elementwise(Op::Maximum, &[greatest, least], site)?;
        // Negative elements have no place among the counts; there must be counts for the run to say so.
        let count = Dim::product(self.written(operand).iter()).map_err(Problem::Size)?;
        let count = self.try_size(count, site)?;
        let some = self.try_elementwise(Op::Minimum, &[count, one], site)?;
        let some = self.try_elementwise(Op::Subtract, &[some, one], site)?;
        let greatest = self.try_elementwise(Op::Maximum, &[greatest, some], site)?;
        let length = self.try_elementwise(Op::Add, &[greatest, one], site)?;
        let length = self.try_size_of_value(length, site)?;
        self.try_bincount(operand, weights, length, site)
    }
}
