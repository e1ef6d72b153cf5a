//! Functions composed of other expressions: statistics, softmax and norms, differences, grids, and exact
//! comparisons across integer dtypes.
//!
//! Each is rewritten when it is built, so every path computes it in the same way, and fusion sees through it.
//! 16-bit floats are computed in `f32` and rounded once.

use super::derive::{Normalized, Rule};
use super::reduction::{Empty, reduced_axes, resolve_axis};
use super::{Axes, Filter, Graph, Node, Site};
use crate::dim::Dim;
use crate::dtype::{Class, DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use crate::shape::Shape;

/// The most times that differences can be taken of differences: each time needs more nodes.
pub const MAX_DIFF: usize = 16;

/// A norm of vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// The sum of magnitudes.
    One,
    /// The square root of the sum of squares.
    Two,
    /// The greatest magnitude; the axes must not be empty.
    Infinity,
}

/// A variance, or its square root.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spread {
    /// The amount subtracted from the number of elements before dividing by it: 1 for the unbiased estimate from a
    /// sample.
    pub correction: f64,
    /// The elements that take part.
    pub filter: Filter,
    /// Whether to take the square root of the variance.
    pub root: bool,
}

impl Spread {
    fn name(self) -> &'static str {
        match (self.filter.numbers, self.root) {
            (false, false) => "var",
            (false, true) => "std",
            (true, false) => "nanvar",
            (true, true) => "nanstd",
        }
    }
}

impl Graph {
    /// Returns the mean squared deviation from the mean, in two passes: `sum((x - mean)^2) / max(count -
    /// correction, 0)`. Integers and bool are computed in `f64`.
    pub fn var(
        &mut self,
        operand: ExprId,
        axes: Option<&[i64]>,
        correction: f64,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        self.spread(Spread { correction, ..Spread::default() }, operand, axes, keepdims, site)
    }

    /// Returns the square root of [`Graph::var`].
    pub fn std(
        &mut self,
        operand: ExprId,
        axes: Option<&[i64]>,
        correction: f64,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        let spread = Spread { correction, root: true, ..Spread::default() };
        self.spread(spread, operand, axes, keepdims, site)
    }

    /// Returns a variance or a standard deviation of some of the elements.
    pub fn spread(
        &mut self,
        spread: Spread,
        operand: ExprId,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        let skips = spread.filter.numbers && self.dtype(operand).class() == Class::Float;
        let made = self.in_floats(operand, site, |graph, x| {
            let filter = graph.filter_of(x, Filter { numbers: skips, ..spread.filter }, site)?;
            let var = graph.try_var(x, filter, axes, keepdims, spread.correction, skips, site)?;
            if spread.root { graph.try_elementwise(Op::Sqrt, &[var], site) } else { Ok(var) }
        });
        self.warn_of_wrapped(spread.name(), &[operand], site);
        self.settle_filtered(made, spread.name(), operand, spread.filter, site)
    }

    /// Computes it for the selected elements. If NaNs are `skipped`, too few numbers give NaN, as in NumPy; without
    /// skipping, too few elements may give infinity.
    #[allow(clippy::too_many_arguments, reason = "those of a reduction, and three of a variance")]
    fn try_var(
        &mut self,
        x: ExprId,
        filter: Option<ExprId>,
        axes: Option<&[i64]>,
        keepdims: bool,
        correction: f64,
        skipped: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let work = self.dtype(x);
        let mean = self.reduce_filtered(ReduceOp::Mean, x, filter, axes, true, Empty::Refused, site)?;
        let deviation = self.try_elementwise(Op::Subtract, &[x, mean], site)?;
        let square = self.try_elementwise(Op::Square, &[deviation], site)?;
        let total =
            self.reduce_filtered(ReduceOp::Sum, square, filter, axes, keepdims, Empty::Refused, site)?;
        if filter.is_none() {
            let axes = self.axes_of(x, axes)?;
            self.derives_by(total, Rule::Deviations { operand: x, deviation, axes, keepdims });
        }
        let count = self.number_of(x, filter, axes, keepdims, site)?;
        let count = self.convert(count, work, site)?;
        let correction = self.number(correction, work, site)?;
        let zero = self.number(0.0, work, site)?;
        let freedom = self.try_elementwise(Op::Subtract, &[count, correction], site)?;
        let positive = self.try_elementwise(Op::Maximum, &[freedom, zero], site)?;
        let var = self.try_elementwise(Op::Divide, &[total, positive], site)?;
        if !skipped {
            return Ok(var);
        }
        let has_some = self.try_elementwise(Op::Greater, &[freedom, zero], site)?;
        let nan = self.number(f64::NAN, work, site)?;
        self.try_select([has_some, var, nan], site)
    }

    /// Returns the differences of neighbours along an axis, taken `order` times: `x[1:] - x[:-1]`; for bool,
    /// whether neighbours differ.
    ///
    /// Each time removes an element from the axis. A constant size stops at 0, while a symbolic size must be at
    /// least `order`.
    pub fn diff(&mut self, operand: ExprId, order: i64, axis: i64, site: Site) -> ExprId {
        let result = self.try_diff(operand, order, axis, site);
        self.settle(result, "diff", &[operand], site)
    }

    fn try_diff(&mut self, operand: ExprId, order: i64, axis: i64, site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let shape = self.written(operand).clone();
        let axis = resolve_axis(axis, shape.rank())?;
        let times = usize::try_from(order).ok().filter(|times| *times <= MAX_DIFF);
        let times = times.ok_or(Problem::DiffOrder { order })?;
        let length = shape[axis].as_constant().and_then(|size| usize::try_from(size).ok());
        let op = if self.dtype(operand) == DType::Bool { Op::NotEqual } else { Op::Subtract };
        let mut result = operand;
        for _ in 0..times.min(length.unwrap_or(times)) {
            let neighbours = self.neighbours(result, axis, site)?;
            result = self.try_elementwise(op, &neighbours, site)?;
        }
        Ok(result)
    }

    /// Returns the number of nonzero elements (`i64`).
    pub fn count_nonzero(
        &mut self,
        operand: ExprId,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        let result = self
            .convert(operand, DType::Bool, site)
            .and_then(|truth| self.try_reduce(ReduceOp::Sum, truth, axes, keepdims, Empty::Refused, site));
        self.settle(result, "count_nonzero", &[operand], site)
    }

    /// Returns `log(sum(exp(x)))` without overflow; minus infinity over an empty axis. Integers and bool are
    /// computed in `f64`.
    pub fn logsumexp(&mut self, operand: ExprId, axes: Option<&[i64]>, keepdims: bool, site: Site) -> ExprId {
        self.statistic("logsumexp", operand, site, |graph, x| graph.try_logsumexp(x, axes, keepdims, site))
    }

    fn try_logsumexp(
        &mut self,
        x: ExprId,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let (shift, (_, total)) = self.shifted_exponentials(x, axes, site)?;
        let log = self.try_elementwise(Op::Log, &[total], site)?;
        let result = self.try_elementwise(Op::Add, &[log, shift], site)?;
        self.derives_along(Normalized::LogSumExp, result, x, axes)?;
        if keepdims {
            return Ok(result);
        }
        let over: Vec<i64> = self.axes_of(x, axes)?.iter().map(|&axis| axis as i64).collect();
        self.try_squeeze(result, &over, site)
    }

    /// Returns `exp(x) / sum(exp(x))` along axes, without overflow. Integers and bool are computed in `f64`.
    pub fn softmax(&mut self, operand: ExprId, axes: Option<&[i64]>, site: Site) -> ExprId {
        self.statistic("softmax", operand, site, |graph, x| graph.try_softmax(x, axes, site))
    }

    fn try_softmax(&mut self, x: ExprId, axes: Option<&[i64]>, site: Site) -> Result<ExprId, Problem> {
        let (_, (exponentials, total)) = self.shifted_exponentials(x, axes, site)?;
        let result = self.try_elementwise(Op::Divide, &[exponentials, total], site)?;
        self.derives_along(Normalized::Softmax, result, x, axes)?;
        Ok(result)
    }

    /// Returns the logarithm of [`Graph::softmax`], `x - logsumexp(x)`.
    pub fn log_softmax(&mut self, operand: ExprId, axes: Option<&[i64]>, site: Site) -> ExprId {
        self.statistic("log_softmax", operand, site, |graph, x| graph.try_log_softmax(x, axes, site))
    }

    fn try_log_softmax(&mut self, x: ExprId, axes: Option<&[i64]>, site: Site) -> Result<ExprId, Problem> {
        let (shift, (_, total)) = self.shifted_exponentials(x, axes, site)?;
        let log = self.try_elementwise(Op::Log, &[total], site)?;
        let shifted = self.try_elementwise(Op::Subtract, &[x, shift], site)?;
        let result = self.try_elementwise(Op::Subtract, &[shifted, log], site)?;
        self.derives_along(Normalized::LogSoftmax, result, x, axes)?;
        Ok(result)
    }

    fn derives_along(
        &mut self,
        function: Normalized,
        result: ExprId,
        operand: ExprId,
        axes: Option<&[i64]>,
    ) -> Result<(), Problem> {
        let axes = self.axes_of(operand, axes)?;
        self.derives_by(result, Rule::Along { function, operand, axes });
        Ok(())
    }

    /// Returns `(x - mean(x)) / sqrt(var(x) + epsilon)` along axes, times `scale` plus `offset`, which stretch to
    /// the shape of the operand. Integers and bool are computed in `f64`.
    pub fn layer_norm(
        &mut self,
        operand: ExprId,
        axes: Option<&[i64]>,
        affine: [Option<ExprId>; 2],
        epsilon: f64,
        site: Site,
    ) -> ExprId {
        let shape = self.written(operand).clone();
        // Stretch each separately, so that a mistake names the one that does not fit.
        let [scale, offset] = affine.map(|part| {
            let part = part.filter(|_| !self.is_poisoned(operand))?;
            let stretched = self.try_broadcast_to(part, shape.clone(), site);
            Some(self.settle(stretched, "layer_norm", &[part], site))
        });
        self.statistic("layer_norm", operand, site, |graph, x| {
            let dtype = graph.dtype(x);
            let mean = graph.try_reduce(ReduceOp::Mean, x, axes, true, Empty::Refused, site)?;
            let deviation = graph.try_elementwise(Op::Subtract, &[x, mean], site)?;
            let var = graph.try_var(x, None, axes, true, 0.0, false, site)?;
            let epsilon = graph.number(epsilon, dtype, site)?;
            let var = graph.try_elementwise(Op::Add, &[var, epsilon], site)?;
            let root = graph.try_elementwise(Op::Sqrt, &[var], site)?;
            let mut made = graph.try_elementwise(Op::Divide, &[deviation, root], site)?;
            for (op, part) in [(Op::Multiply, scale), (Op::Add, offset)] {
                if let Some(part) = part {
                    let part = graph.convert(part, dtype, site)?;
                    made = graph.try_elementwise(op, &[made, part], site)?;
                }
            }
            Ok(made)
        })
    }

    /// Returns the greatest element (0 where it is not finite), `exp(x - greatest)` and the sum of those; all keep
    /// their axes.
    fn shifted_exponentials(
        &mut self,
        x: ExprId,
        axes: Option<&[i64]>,
        site: Site,
    ) -> Result<(ExprId, (ExprId, ExprId)), Problem> {
        let greatest = self.try_reduce(ReduceOp::Max, x, axes, true, Empty::Identity, site)?;
        let finite = self.try_elementwise(Op::Isfinite, &[greatest], site)?;
        let zero = self.number(0.0, self.dtype(x), site)?;
        let shift = self.try_select([finite, greatest, zero], site)?;
        let shifted = self.try_elementwise(Op::Subtract, &[x, shift], site)?;
        let exponentials = self.try_elementwise(Op::Exp, &[shifted], site)?;
        let total = self.try_reduce(ReduceOp::Sum, exponentials, axes, true, Empty::Refused, site)?;
        Ok((shift, (exponentials, total)))
    }

    /// Returns a norm of the vectors along axes. Integers and bool are computed in `f64`.
    pub fn norm(
        &mut self,
        norm: Norm,
        operand: ExprId,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        self.statistic("norm", operand, site, |graph, x| graph.try_norm(norm, x, axes, keepdims, site))
    }

    fn try_norm(
        &mut self,
        norm: Norm,
        x: ExprId,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        match norm {
            Norm::One => {
                let magnitude = self.try_elementwise(Op::Abs, &[x], site)?;
                self.try_reduce(ReduceOp::Sum, magnitude, axes, keepdims, Empty::Refused, site)
            }
            Norm::Two => {
                let square = self.try_elementwise(Op::Square, &[x], site)?;
                let total = self.try_reduce(ReduceOp::Sum, square, axes, keepdims, Empty::Refused, site)?;
                self.try_elementwise(Op::Sqrt, &[total], site)
            }
            Norm::Infinity => {
                let magnitude = self.try_elementwise(Op::Abs, &[x], site)?;
                self.try_reduce(ReduceOp::Max, magnitude, axes, keepdims, Empty::Refused, site)
            }
        }
    }

    /// Returns `length` evenly spaced numbers (`f64`) from `start` to `stop`, both included.
    pub fn linspace(&mut self, start: f64, stop: f64, length: Dim, site: Site) -> ExprId {
        let result = self.try_linspace(start, stop, length, site);
        self.settle(result, "linspace", &[], site)
    }

    fn try_linspace(&mut self, start: f64, stop: f64, length: Dim, site: Site) -> Result<ExprId, Problem> {
        let ends = [start, stop].map(|end| self.insert_constant(Scalar::F64(end), site));
        let [start, stop] = ends;
        self.try_spaced_between([start?, stop?], length, true, site)
    }

    /// Returns `length` evenly spaced numbers between two tensors without axes, in their common dtype of floats:
    /// integers and bool become `f64` before anything is computed. Without its `endpoint`, the last number is one step
    /// before the second end.
    pub fn linspace_between(&mut self, ends: [ExprId; 2], length: Dim, endpoint: bool, site: Site) -> ExprId {
        let result = self.try_spaced_between(ends, length, endpoint, site);
        self.settle_all(result, "linspace", &ends, site)
    }

    fn try_spaced_between(
        &mut self,
        ends: [ExprId; 2],
        length: Dim,
        endpoint: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if ends.iter().any(|end| self.written(*end).rank() > 0) {
            return Err(Problem::Argument(
                "takes ends without axes; between tensors, write `x + (y - x) * linspace(0, 1, n)[:, None]`",
            ));
        }
        let (work, dtype) = self.floats_of(&ends);
        let [start, stop] = ends.map(|end| self.convert(end, work, site));
        let mut steps = self.try_size(length.clone(), site)?;
        if endpoint {
            let one = self.insert_constant(Scalar::I64(1), site)?;
            steps = self.try_elementwise(Op::Subtract, &[steps, one], site)?;
        }
        let spaced = self.try_spaced([start?, stop?], length, steps, site)?;
        self.convert(spaced, dtype, site)
    }

    /// Returns `length` evenly spaced numbers from one float to another, both included; a single number is the
    /// first. `steps` is the length less 1, as a value.
    ///
    /// As in NumPy, number `i` is `i * (span / steps) + start`, or `i / steps * span + start` if the quotient
    /// vanishes. If the span overflows, it is `start * (1 - i / steps) + stop * (i / steps)`.
    pub(super) fn try_spaced(
        &mut self,
        [start, stop]: [ExprId; 2],
        length: Dim,
        steps: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        /// The least span of which no number of steps is a vanishing part.
        const TINY: f64 = 1e-290;
        let dtype = self.dtype(start);
        let position = self.try_iota(length, site)?;
        let [zero, one] = [0, 1].map(|value| self.insert_constant(Scalar::I64(value), site));
        let (zero, one) = (zero?, one?);
        let divisor = self.try_elementwise(Op::Maximum, &[steps, one], site)?;
        let divisor = self.convert(divisor, dtype, site)?;
        let span = self.try_elementwise(Op::Subtract, &[stop, start], site)?;
        // Ordinary constants need none of the other formulas.
        let known = match *self.node(span) {
            Node::Constant(Scalar::F64(span)) => Some(span),
            _ => None,
        };
        let step = self.try_elementwise(Op::Divide, &[span, divisor], site)?;
        let number = self.convert(position, dtype, site)?;
        let mut way = self.try_elementwise(Op::Multiply, &[number, step], site)?;
        if known.is_none_or(|span| span != 0.0 && span.abs() < TINY) {
            let share = self.try_elementwise(Op::Divide, &[number, divisor], site)?;
            let part = self.try_elementwise(Op::Multiply, &[share, span], site)?;
            let [none] = self.numbers_like(step, [0.0], site)?;
            let vanishes = self.try_elementwise(Op::Equal, &[step, none], site)?;
            way = self.try_select([vanishes, part, way], site)?;
        }
        let mut x = self.try_elementwise(Op::Add, &[way, start], site)?;
        let is_later = self.try_elementwise(Op::Greater, &[position, zero], site)?;
        if known.is_none_or(|span| !span.is_finite()) {
            let share = self.try_elementwise(Op::Divide, &[number, divisor], site)?;
            let mixed = self.mixed_by_share([start, stop], share, site)?;
            let is_finite = self.try_elementwise(Op::Isfinite, &[span], site)?;
            let mixed = self.try_select([is_later, mixed, start], site)?;
            x = self.try_select([is_finite, x, mixed], site)?;
        }
        // The last number is `stop` itself, whatever the rounding; a single number is `start`.
        let is_last = self.try_elementwise(Op::Equal, &[position, steps], site)?;
        let is_end = self.try_elementwise(Op::LogicalAnd, &[is_last, is_later], site)?;
        self.try_select([is_end, stop, x], site)
    }

    /// Returns `start * (1 - share) + stop * share`, which does not overflow between finite numbers.
    pub(super) fn mixed_by_share(
        &mut self,
        [start, stop]: [ExprId; 2],
        share: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let [one] = self.numbers_like(share, [1.0], site)?;
        let other = self.try_elementwise(Op::Subtract, &[one, share], site)?;
        let first = self.try_elementwise(Op::Multiply, &[start, other], site)?;
        let second = self.try_elementwise(Op::Multiply, &[stop, share], site)?;
        self.try_elementwise(Op::Add, &[first, second], site)
    }

    /// Returns a size as a value (`i64`, rank 0).
    pub fn size_value(&mut self, size: Dim, site: Site) -> ExprId {
        let result = self.try_size(size, site);
        self.settle(result, "size", &[], site)
    }

    pub(super) fn try_size(&mut self, size: Dim, site: Site) -> Result<ExprId, Problem> {
        let size = self.symbols.accept(&size, site)?;
        match size.as_constant() {
            Some(value) => self.insert_constant(Scalar::I64(value), site),
            None => match self.counted_value(&size, site)? {
                Some(value) => Ok(value),
                None => self.insert(Node::Size(size), DType::I64, Shape::scalar(), Vec::new(), site),
            },
        }
    }

    /// Compares signed integers with `u64`. No integer dtype holds both; this is exact, unlike a comparison in
    /// `f64`.
    pub(super) fn compare_with_u64(
        &mut self,
        op: Op,
        operands: [ExprId; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let [left, right] = operands;
        let signed_first = self.dtype(left).is_signed_integer();
        let signed = if signed_first { left } else { right };
        let zero = self.insert_constant(Scalar::I64(0).cast(self.dtype(signed)), site)?;
        let below = self.try_elementwise(Op::Less, &[signed, zero], site)?;
        let bits = self.convert(signed, DType::U64, site)?;
        let pair = if signed_first { [bits, right] } else { [left, bits] };
        let compared = self.try_elementwise(op, &pair, site)?;
        let holds_below = match op {
            Op::NotEqual => true,
            Op::Less | Op::LessEqual => signed_first,
            Op::Greater | Op::GreaterEqual => !signed_first,
            _ => false,
        };
        if holds_below {
            return self.try_elementwise(Op::LogicalOr, &[below, compared], site);
        }
        let not_below = self.try_elementwise(Op::LogicalNot, &[below], site)?;
        self.try_elementwise(Op::LogicalAnd, &[not_below, compared], site)
    }

    /// Returns the 16-bit float next to `from` in the direction of `to`. The row of the table would step from `f32`
    /// to `f32` and round back to the start.
    ///
    /// In `f64`, `from` is moved by 5/8 (for its least significand) to 5/4 of its last place. The nearest 16-bit
    /// float is then its neighbour, also downwards from a power of two, where the last place is half as large.
    pub(super) fn nextafter_of_16_bits(
        &mut self,
        [from, to]: [ExprId; 2],
        dtype: DType,
        site: Site,
    ) -> Result<ExprId, Problem> {
        // The digits of the significand, the least exponent of a normal number, and the exponent of infinity.
        let (digits, least, infinite) = if dtype == DType::F16 { (11, -14, 16) } else { (8, -126, 128) };
        let part = 0.625 * 2_f64.powi(1 - digits);
        let [part, smallest, end] = [part, part * 2_f64.powi(least), 2_f64.powi(infinite)]
            .map(|value| self.insert_constant(Scalar::F64(value), site));
        let (part, smallest, end) = (part?, smallest?, end?);
        let (from, to) = (self.convert(from, dtype, site)?, self.convert(to, dtype, site)?);
        let (x, y) = (self.convert(from, DType::F64, site)?, self.convert(to, DType::F64, site)?);
        // Infinity steps like the power of two after the greatest number.
        let low = self.try_elementwise(Op::Negative, &[end], site)?;
        let x = self.try_elementwise(Op::Clip, &[x, low, end], site)?;
        let size = self.try_elementwise(Op::Abs, &[x], site)?;
        let step = self.try_elementwise(Op::Multiply, &[size, part], site)?;
        let step = self.try_elementwise(Op::Maximum, &[step, smallest], site)?;
        let is_below = self.try_elementwise(Op::Less, &[x, y], site)?;
        let down = self.try_elementwise(Op::Negative, &[step], site)?;
        let step = self.try_select([is_below, step, down], site)?;
        let moved = self.try_elementwise(Op::Add, &[x, step], site)?;
        let moved = self.convert(moved, dtype, site)?;
        // This includes a direction of NaN.
        let differs = self.try_elementwise(Op::NotEqual, &[from, to], site)?;
        let is_known = self.try_elementwise(Op::Equal, &[to, to], site)?;
        let moves = self.try_elementwise(Op::LogicalAnd, &[differs, is_known], site)?;
        self.try_select([moves, moved, to], site)
    }

    /// Applies `build` to a float operand: integers and bool as `f64`, 16-bit floats as `f32` with one rounding.
    fn statistic(
        &mut self,
        name: &'static str,
        operand: ExprId,
        site: Site,
        build: impl FnOnce(&mut Graph, ExprId) -> Result<ExprId, Problem>,
    ) -> ExprId {
        let made = self.in_floats(operand, site, build);
        self.warn_of_wrapped(name, &[operand], site);
        self.settle(made, name, &[operand], site)
    }

    fn in_floats(
        &mut self,
        operand: ExprId,
        site: Site,
        build: impl FnOnce(&mut Graph, ExprId) -> Result<ExprId, Problem>,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let dtype = self.dtype(operand);
        let (work, result) = match dtype.class() {
            Class::Bool | Class::Int => (DType::F64, DType::F64),
            Class::Float => (dtype.arithmetic(), dtype),
        };
        let x = self.convert(operand, work, site)?;
        let made = build(self, x)?;
        self.convert(made, result, site)
    }

    /// Returns axes counted from the beginning; `None` means all of them.
    pub(super) fn axes_of(&self, operand: ExprId, axes: Option<&[i64]>) -> Result<Axes, Problem> {
        reduced_axes(axes, self.written(operand).rank())
    }
}
