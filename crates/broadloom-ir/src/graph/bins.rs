//! Positions among sorted numbers: bins, histograms, interpolation and membership.
//!
//! The position of an element is found by comparing it with each number if they are few, and by binary search
//! otherwise.

mod bounds;

pub use bounds::BoundsFault;

use super::derive::Rule;
use super::elementwise::mixes_u64;
use super::infer;
use super::reduction::Empty;
use super::{CheckedGraph, Graph, Literal, Node, SegmentOp, Site, SliceSpec};
use crate::dim::Dim;
use crate::dtype::{Class, DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;
use bounds::Order;

/// The bins of a histogram.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bins {
    /// This many bins of equal width, between two numbers, or between the least and the greatest element.
    Count(i64, Option<[f64; 2]>),
    /// Bins between neighbours in a vector of numbers that do not decrease. Other bounds are an error, of the run if
    /// they are not constants.
    Edges(ExprId),
}

const HISTOGRAM: &str = "histogram";

/// The values that have no bin in the range of the data. The index that stands for one in
/// [`Graph::checked_finite`] is its position here, counted from 1.
const WITHOUT_BIN: [&str; 3] = ["nan", "inf", "-inf"];

impl CheckedGraph {
    /// Returns the value that has no bin, where `expr` is the expression in which a histogram checks its data, and
    /// `index` is out of range there; `None` for other expressions.
    pub fn value_without_bin(&self, expr: ExprId, index: i64) -> Option<&'static str> {
        let is_check = self.call(expr) == HISTOGRAM && matches!(self.node(expr), Node::Take { .. });
        let place = usize::try_from(index).ok()?.checked_sub(1)?;
        WITHOUT_BIN.get(place).copied().filter(|_| is_check)
    }
}

impl Graph {
    /// Returns the bin of each element (`i64`). `edges` are the bounds, in increasing or decreasing order: bin `i`
    /// contains values from `edges[i - 1]` to before `edges[i]`, or, with `right`, from after `edges[i - 1]` to
    /// `edges[i]`. Both operands are converted to their common dtype; integers compare exactly. NaN is greater than all
    /// numbers. Bounds without order are an error, of the run if they are not constants.
    pub fn digitize(&mut self, operand: ExprId, edges: ExprId, right: bool, site: Site) -> ExprId {
        let result = self.try_digitize(operand, edges, right, site);
        self.settle_all(result, "digitize", &[operand, edges], site)
    }

    fn try_digitize(
        &mut self,
        operand: ExprId,
        edges: ExprId,
        right: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let length = self.length_of(edges, "the bounds")?;
        if length.as_constant().is_some_and(|length| length < 2) {
            return self.passed(operand, edges, !right, site);
        }
        let is_rising = self.increases(edges, site)?;
        let reversed = self.part(edges, 0, None, None, -1, site)?;
        let rising = self.passed(operand, edges, !right, site)?;
        // For decreasing bounds, count those above the element: all that it does not pass in increasing order.
        let passed = self.passed(operand, reversed, !right, site)?;
        let length = self.try_size(length, site)?;
        let falling = self.try_elementwise(Op::Subtract, &[length, passed], site)?;
        self.try_select([is_rising, rising, falling], site)
    }

    /// Returns whether a vector has so few elements that comparing with each of them, several elements at a time, is
    /// faster than a binary search for one element after the other.
    fn is_short(&self, vector: ExprId) -> bool {
        /// The most elements of a short vector.
        const MOST: i64 = 16;
        matches!(self.written(vector).dims(), [length] if length.as_constant().is_some_and(|length| length <= MOST))
    }

    /// Compares each element with each number of a vector, along a new last axis.
    fn compared(&mut self, operand: ExprId, with: ExprId, op: Op, site: Site) -> Result<ExprId, Problem> {
        let column = self.try_expand_dims(operand, &[-1], site)?;
        self.try_elementwise(op, &[column, with], site)
    }

    /// Returns how many numbers of an increasing vector are less than each element or, with `right`, not greater
    /// (`i64`); NaN comes last.
    fn passed(&mut self, operand: ExprId, edges: ExprId, right: bool, site: Site) -> Result<ExprId, Problem> {
        if !self.is_short(edges) {
            return self.try_searchsorted(edges, operand, right, site);
        }
        let dtypes = [operand, edges].map(|operand| self.dtype(operand));
        let [x, edges] = match mixes_u64(dtypes[0], dtypes[1]) {
            // Compared exactly, without a common dtype.
            true => [operand, edges],
            false => {
                let common = dtypes[0].promote(dtypes[1]);
                [self.convert(operand, common, site)?, self.convert(edges, common, site)?]
            }
        };
        let is_passed = self.compared(x, edges, if right { Op::GreaterEqual } else { Op::Greater }, site)?;
        let passed = self.try_reduce(ReduceOp::Sum, is_passed, Some(&[-1]), false, Empty::Refused, site)?;
        if self.dtype(x).class() != Class::Float {
            return Ok(passed);
        }
        // NaN passes all numbers and, with `right`, every other NaN.
        let passed_by_nan = match right {
            true => self.try_size(self.written(edges)[0].clone(), site)?,
            false => {
                let are_numbers = self.try_elementwise(Op::Equal, &[edges, edges], site)?;
                self.try_reduce(ReduceOp::Sum, are_numbers, None, false, Empty::Refused, site)?
            }
        };
        let is_nan = self.try_elementwise(Op::Isnan, &[x], site)?;
        self.try_select([is_nan, passed_by_nan, passed], site)
    }

    /// Interpolates linearly at `x` between values known at increasing positions, in `f64`. Before the first and
    /// after the last position it returns the values there, unless others are given.
    pub fn interp(
        &mut self,
        x: ExprId,
        [places, values]: [ExprId; 2],
        beyond: [Option<f64>; 2],
        site: Site,
    ) -> ExprId {
        let result = self.try_interp(x, [places, values], beyond, site);
        self.settle_all(result, "interp", &[x, places, values], site)
    }

    fn try_interp(
        &mut self,
        x: ExprId,
        [places, values]: [ExprId; 2],
        beyond: [Option<f64>; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let length = self.length_of(places, "the positions")?;
        let other = self.length_of(values, "the values")?;
        // The ops on both would stretch a single one.
        let compared = self.comparing("interp", &[places, values], site, |compare| {
            infer::equal(compare, 0, (0, &length), (1, &other))
        });
        compared.map_err(|clash| self.unequal(&clash, ["the positions".into(), "the values".into()]))?;
        if length.is_zero() {
            return Err(Problem::Argument("needs at least one position and its value"));
        }
        let [x, places, values] = [
            self.convert(x, DType::F64, site)?,
            self.convert(places, DType::F64, site)?,
            self.convert(values, DType::F64, site)?,
        ];
        let steps = [self.steps_of(places, 0, site)?, self.steps_of(values, 0, site)?];
        let slopes = self.try_elementwise(Op::Divide, &[steps[1], steps[0]], site)?;
        let end =
            |graph: &mut Graph, of, at: i64| graph.try_slice(of, &[SliceSpec::At(Dim::constant(at))], site);
        let [first, last] = [end(self, places, 0)?, end(self, places, -1)?];
        let [mut left, mut right] = [end(self, values, 0)?, end(self, values, -1)?];
        let last_value = right;
        for (side, number) in [&mut left, &mut right].into_iter().zip(beyond) {
            if let Some(number) = number {
                *side = self.insert_constant(Scalar::F64(number), site)?;
            }
        }
        let between = if length.is_one() {
            last_value
        } else {
            let passed = self.passed(x, places, true, site)?;
            let [zero, one] =
                [self.insert_constant(Scalar::I64(0), site)?, self.insert_constant(Scalar::I64(1), site)?];
            let interval = self.try_elementwise(Op::Subtract, &[passed, one], site)?;
            let most = self.try_size(length.sub(&Dim::constant(2)).map_err(Problem::Size)?, site)?;
            let interval = self.try_elementwise(Op::Minimum, &[interval, most], site)?;
            let interval = self.try_elementwise(Op::Maximum, &[interval, zero], site)?;
            let slope = self.try_take(slopes, interval, 0, site)?;
            let place = self.try_take(places, interval, 0, site)?;
            let value = self.try_take(values, interval, 0, site)?;
            let way = self.try_elementwise(Op::Subtract, &[x, place], site)?;
            let way = self.try_elementwise(Op::Multiply, &[slope, way], site)?;
            let sum = self.try_elementwise(Op::Add, &[way, value], site)?;
            let behind = self.try_elementwise(Op::Add, &[interval, one], site)?;
            let ends = [place, self.try_take(places, behind, 0, site)?];
            let both = [value, self.try_take(values, behind, 0, site)?];
            let sum = self.interpolated(x, ends, both, sum, site)?;
            let is_there = self.try_elementwise(Op::Equal, &[x, place], site)?;
            self.try_select([is_there, value, sum], site)?
        };
        let is_last = self.try_elementwise(Op::Equal, &[x, last], site)?;
        let is_before = self.try_elementwise(Op::Less, &[x, first], site)?;
        let is_after = self.try_elementwise(Op::Greater, &[x, last], site)?;
        let is_nan = self.try_elementwise(Op::Isnan, &[x], site)?;
        let mut value = between;
        for (holds, other) in [(is_last, last_value), (is_after, right), (is_before, left), (is_nan, x)] {
            value = self.try_select([holds, other, value], site)?;
        }
        Ok(value)
    }

    /// Returns the sum that NumPy computes from the slope; where that or the distance of the places overflows, or one of
    /// them is infinite, the mean of the two values, weighted by the share of the way.
    fn interpolated(
        &mut self,
        x: ExprId,
        [first, last]: [ExprId; 2],
        values: [ExprId; 2],
        sum: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let share = self.share_of_way(x, [first, last], site)?;
        // The way from an infinite place is infinite; that to the other place is not.
        let rest = self.share_of_way(x, [last, first], site)?;
        let [one] = self.numbers_like(x, [1.0], site)?;
        let from_rest = self.try_elementwise(Op::Subtract, &[one, rest], site)?;
        let is_unknown = self.try_elementwise(Op::Isnan, &[share], site)?;
        let share = self.try_select([is_unknown, from_rest, share], site)?;
        let mixed = self.mixed_by_share(values, share, site)?;
        let distance = self.try_elementwise(Op::Subtract, &[last, first], site)?;
        let are_finite = [
            self.try_elementwise(Op::Isfinite, &[distance], site)?,
            self.try_elementwise(Op::Isfinite, &[sum], site)?,
        ];
        let is_finite = self.try_elementwise(Op::LogicalAnd, &are_finite, site)?;
        self.try_select([is_finite, sum, mixed], site)
    }

    /// Returns the number of elements in each bin (`i64`), or with `density` the fraction per unit of width
    /// (`f64`), and the bounds of the bins. The last bin includes its upper bound; elements outside all bins, and
    /// NaN, are not counted.
    pub fn histogram(&mut self, operand: ExprId, bins: Bins, density: bool, site: Site) -> [ExprId; 2] {
        let operands = match bins {
            Bins::Count(..) => vec![operand],
            Bins::Edges(edges) => vec![operand, edges],
        };
        let results = self.try_histogram(operand, bins, density, site);
        self.settle_two(results, HISTOGRAM, &operands, site)
    }

    fn try_histogram(
        &mut self,
        operand: ExprId,
        bins: Bins,
        density: bool,
        site: Site,
    ) -> Result<[ExprId; 2], Problem> {
        let all = self.try_reshape(operand, &[None], site)?;
        let (x, mut edges, bin, count, order) = match bins {
            Bins::Count(count, range) => {
                let (work, _) = self.floats_of(&[operand]);
                let x = self.convert(all, work, site)?;
                let (edges, bin) = self.equal_bins(operand, x, count, range, site)?;
                let order = match range {
                    Some(range) if are_apart(range, count, self.dtype(edges)) => Order::Right,
                    _ => Order::Zero(self.check_distinct(edges, site)?),
                };
                (x, edges, bin, Dim::constant(count), order)
            }
            Bins::Edges(edges) => {
                let count = self.length_of(edges, "the bounds")?.sub(&Dim::ONE).map_err(Problem::Size)?;
                if count.as_constant().is_some_and(|count| count < 1) {
                    return Err(Problem::Argument("needs at least two bounds"));
                }
                let order = self.check_increase(edges, site)?;
                (all, edges, self.bin_between(all, edges, site)?, count, order)
            }
        };
        let end =
            |graph: &mut Graph, at: i64| graph.try_slice(edges, &[SliceSpec::At(Dim::constant(at))], site);
        let [first, last] = [end(self, 0)?, end(self, -1)?];
        let is_above = self.try_elementwise(Op::GreaterEqual, &[x, first], site)?;
        let is_below = self.try_elementwise(Op::LessEqual, &[x, last], site)?;
        let is_within = self.try_elementwise(Op::LogicalAnd, &[is_above, is_below], site)?;
        // Elements in no bin are counted in an extra one, which is dropped.
        let mut rest = self.try_size(count.clone(), site)?;
        if let Order::Zero(zero) = order {
            rest = self.try_elementwise(Op::Add, &[rest, zero], site)?;
            if self.dtype(edges) != DType::Bool {
                let zero = self.convert(zero, self.dtype(edges), site)?;
                edges = self.try_elementwise(Op::Subtract, &[edges, zero], site)?;
            }
        }
        let rest = self.convert(rest, self.dtype(bin), site)?;
        let bin = self.try_select([is_within, bin, rest], site)?;
        let bin = self.convert(bin, DType::I64, site)?;
        let more = count.add(&Dim::ONE).map_err(Problem::Size)?;
        let one = self.insert_constant(Scalar::I64(1), site)?;
        let ones = self.try_broadcast_to(one, self.written(bin).clone(), site)?;
        let counts = self.try_segment(SegmentOp::Sum, ones, bin, more, site)?;
        let counts = self.part(counts, 0, None, Some(count), 1, site)?;
        if !density {
            return Ok([counts, edges]);
        }
        let widths = self.widths_of(edges, site)?;
        let total = self.try_reduce(ReduceOp::Sum, counts, None, false, Empty::Refused, site)?;
        let shares = self.try_elementwise(Op::Divide, &[counts, widths], site)?;
        Ok([self.try_elementwise(Op::Divide, &[shares, total], site)?, edges])
    }

    /// Returns the bin of each element between bounds, found by a search (`i64`); that of elements in no bin is anything.
    fn bin_between(&mut self, x: ExprId, edges: ExprId, site: Site) -> Result<ExprId, Problem> {
        let passed = self.passed(x, edges, true, site)?;
        let most = self.length_of(edges, "the bounds")?.sub(&Dim::constant(2)).map_err(Problem::Size)?;
        let [one, most] = [self.insert_constant(Scalar::I64(1), site)?, self.try_size(most, site)?];
        let bin = self.try_elementwise(Op::Subtract, &[passed, one], site)?;
        self.try_elementwise(Op::Minimum, &[bin, most], site)
    }

    /// Returns the differences of increasing bounds (`f64`); those of integers are exact before they are rounded.
    fn widths_of(&mut self, edges: ExprId, site: Site) -> Result<ExprId, Problem> {
        let widths = match self.dtype(edges) {
            dtype if dtype.is_signed_integer() => {
                let edges = self.convert(edges, DType::I64, site)?;
                let widths = self.steps_of(edges, 0, site)?;
                // A width may exceed `i64`. It is not negative, so its bits are those of a `u64`.
                self.convert(widths, DType::U64, site)?
            }
            _ => self.steps_of(edges, 0, site)?,
        };
        self.convert(widths, DType::F64, site)
    }

    /// Returns the bounds of bins of equal width, and the bin of each element within them: found by division, then
    /// corrected by one where the division was rounded across a bound. `x` is the operand as a vector of floats.
    fn equal_bins(
        &mut self,
        operand: ExprId,
        x: ExprId,
        count: i64,
        range: Option<[f64; 2]>,
        site: Site,
    ) -> Result<(ExprId, ExprId), Problem> {
        /// The most bins, whose numbers are exact in every float dtype used.
        const MOST: i64 = 1 << 24;
        if !(1..=MOST).contains(&count) {
            return Err(Problem::Argument("supports 1 to 16777216 bins"));
        }
        let is_empty = self.written(x).iter().any(Dim::is_zero);
        let range = range.or(is_empty.then_some([0.0, 1.0]));
        let [low, high] = match range {
            Some([low, high]) if !(low.is_finite() && high.is_finite() && low <= high) => {
                return Err(Problem::Argument("takes two finite numbers as `range`, the lower one first"));
            }
            Some(range) => {
                if !range.iter().all(|end| Literal::Float(*end).fits(self.dtype(x))) {
                    return Err(Problem::Argument("takes a `range` that the dtype of the data holds"));
                }
                self.numbers_like(x, range, site)?
            }
            None => {
                let finite = self.checked_finite(operand, self.dtype(x), site)?;
                [
                    self.try_reduce(ReduceOp::Min, finite, None, false, Empty::Refused, site)?,
                    self.try_reduce(ReduceOp::Max, finite, None, false, Empty::Refused, site)?,
                ]
            }
        };
        // If all numbers are equal, put the bins around that number.
        let [half, bins] = self.numbers_like(x, [0.5, count as f64], site)?;
        let is_one = self.try_elementwise(Op::Equal, &[low, high], site)?;
        let lower = self.try_elementwise(Op::Subtract, &[low, half], site)?;
        let upper = self.try_elementwise(Op::Add, &[high, half], site)?;
        let low = self.try_select([is_one, lower, low], site)?;
        let high = self.try_select([is_one, upper, high], site)?;
        let steps = self.insert_constant(Scalar::I64(count), site)?;
        let edges = self.try_spaced([low, high], Dim::constant(count + 1), steps, site)?;
        let dtype = self.floats_of(&[operand]).1;
        if self.dtype(edges) != dtype {
            // Elements belong between the bounds that are returned, which rounding moves by any number of bins.
            let edges = self.convert(edges, dtype, site)?;
            return Ok((edges, self.bin_between(x, edges, site)?));
        }

        let share = self.share_of_way(x, [low, high], site)?;
        let bin = self.try_elementwise(Op::Multiply, &[share, bins], site)?;
        // Their numbers fit 32 bits, of which a vector has as many as of floats.
        let bin = self.convert(bin, DType::I32, site)?;
        let [zero, one, most] =
            [0, 1, count as i32 - 1].map(|value| self.insert_constant(Scalar::I32(value), site));
        let (zero, one, most) = (zero?, one?, most?);
        let bin = self.try_elementwise(Op::Clip, &[bin, zero, most], site)?;
        let bound = self.try_take(edges, bin, 0, site)?;
        let is_before = self.try_elementwise(Op::Less, &[x, bound], site)?;
        let before = self.try_elementwise(Op::Subtract, &[bin, one], site)?;
        let before = self.try_elementwise(Op::Maximum, &[before, zero], site)?;
        let bin = self.try_select([is_before, before, bin], site)?;
        let after = self.try_elementwise(Op::Add, &[bin, one], site)?;
        let bound = self.try_take(edges, after, 0, site)?;
        let is_after = self.try_elementwise(Op::GreaterEqual, &[x, bound], site)?;
        let after = self.try_elementwise(Op::Minimum, &[after, most], site)?;
        Ok((edges, self.try_select([is_after, after, bin], site)?))
    }

    /// Returns the operand in a float dtype. An element that is not finite is an error at run time, because the range
    /// of the data then has no bins; see [`CheckedGraph::value_without_bin`].
    fn checked_finite(&mut self, operand: ExprId, work: DType, site: Site) -> Result<ExprId, Problem> {
        let x = self.convert(operand, work, site)?;
        if self.dtype(operand).class() != Class::Float {
            return Ok(x);
        }
        let [zero, up, down] = self.numbers_like(x, [0.0, f64::INFINITY, f64::NEG_INFINITY], site)?;
        let are_met = [
            self.try_elementwise(Op::Isnan, &[x], site)?,
            self.try_elementwise(Op::Equal, &[x, up], site)?,
            self.try_elementwise(Op::Equal, &[x, down], site)?,
        ];
        let mut index = self.insert_constant(Scalar::I64(0), site)?;
        for (number, is_met) in (1..).zip(are_met) {
            let number = self.insert_constant(Scalar::I64(number), site)?;
            index = self.try_select([is_met, number, index], site)?;
        }
        // Only the first index is within this table.
        let table = self.try_broadcast_to(zero, [Dim::ONE].into_iter().collect(), site)?;
        let nothing = self.try_take(table, index, 0, site)?;
        self.try_elementwise(Op::Add, &[x, nothing], site)
    }

    /// Returns `(x - low) / (high - low)`, also where the differences overflow.
    fn share_of_way(&mut self, x: ExprId, [low, high]: [ExprId; 2], site: Site) -> Result<ExprId, Problem> {
        let [one, half] = self.numbers_like(x, [1.0, 0.5], site)?;
        let span = self.try_elementwise(Op::Subtract, &[high, low], site)?;
        let is_finite = self.try_elementwise(Op::Isfinite, &[span], site)?;
        let scale = self.try_select([is_finite, one, half], site)?;
        let mut scaled = [x, low, high];
        for part in &mut scaled {
            *part = self.try_elementwise(Op::Multiply, &[*part, scale], site)?;
        }
        let [x, low, high] = scaled;
        let way = self.try_elementwise(Op::Subtract, &[x, low], site)?;
        let span = self.try_elementwise(Op::Subtract, &[high, low], site)?;
        self.try_elementwise(Op::Divide, &[way, span], site)
    }

    /// Returns how often each of the integers 0 to before `count` occurs (`i64`), or the sums of their weights
    /// (`f64`). Any other integer is an error at run time.
    pub fn bincount(&mut self, operand: ExprId, weights: Option<ExprId>, count: Dim, site: Site) -> ExprId {
        let operands: Vec<ExprId> = [Some(operand), weights].into_iter().flatten().collect();
        let result = self.try_bincount(operand, weights, count, site);
        self.settle_all(result, "bincount", &operands, site)
    }

    pub(super) fn try_bincount(
        &mut self,
        operand: ExprId,
        weights: Option<ExprId>,
        count: Dim,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let weights = match weights {
            Some(weights) => self.convert(weights, DType::F64, site)?,
            None => {
                let one = self.insert_constant(Scalar::I64(1), site)?;
                self.try_broadcast_to(one, self.written(operand).clone(), site)?
            }
        };
        self.try_segment(SegmentOp::Sum, weights, operand, count, site)
    }

    /// Returns whether each element is one of some values.
    pub fn isin(&mut self, operand: ExprId, values: ExprId, site: Site) -> ExprId {
        let result = self.try_isin(operand, values, site);
        self.settle_all(result, "isin", &[operand, values], site)
    }

    pub(super) fn try_isin(
        &mut self,
        operand: ExprId,
        values: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let all = self.try_reshape(values, &[None], site)?;
        if self.is_short(all) {
            let is_equal = self.compared(operand, all, Op::Equal, site)?;
            return self.try_reduce(ReduceOp::Any, is_equal, Some(&[-1]), false, Empty::Refused, site);
        }
        let dtypes = [self.dtype(operand), self.dtype(values)];
        let common = match dtypes.map(DType::class) {
            // No dtype holds both signed integers and `u64`.
            [Class::Int, Class::Int] => dtypes[1],
            _ => dtypes[0].promote(dtypes[1]),
        };
        let [x, all] = [self.convert(operand, common, site)?, self.convert(all, common, site)?];
        let sorted = self.try_sort(all, None, false, false, site)?;
        let before = self.try_searchsorted(sorted, x, false, site)?;
        let after = self.try_searchsorted(sorted, x, true, site)?;
        let is_found = self.try_elementwise(Op::Less, &[before, after], site)?;
        // Not NaN, nor an integer that the conversion changed.
        let is_kept = self.try_elementwise(Op::Equal, &[operand, x], site)?;
        self.try_elementwise(Op::LogicalAnd, &[is_found, is_kept], site)
    }

    /// Returns the fractional part of each number, with its sign, and the integer part. Integers and bool give the
    /// dtype of float functions.
    pub fn modf(&mut self, operand: ExprId, site: Site) -> [ExprId; 2] {
        let results = self.try_modf(operand, site);
        self.settle_two(results, "modf", &[operand], site)
    }

    fn try_modf(&mut self, operand: ExprId, site: Site) -> Result<[ExprId; 2], Problem> {
        if self.dtype(operand).class() == Class::Float && self.is_poisoned(operand) {
            return Ok([operand, operand]);
        }
        let [x] = self.as_floats([operand], site)?;
        let whole = self.try_elementwise(Op::Trunc, &[x], site)?;
        let part = self.try_elementwise(Op::Subtract, &[x, whole], site)?;
        // Infinity has no fractional part.
        let is_infinite = self.try_elementwise(Op::Isinf, &[x], site)?;
        let [zero] = self.numbers_like(x, [0.0], site)?;
        let part = self.try_select([is_infinite, zero, part], site)?;
        let signed = self.try_elementwise(Op::Copysign, &[part, x], site)?;
        // The sign of a zero is not a kink: the part of an integer grows with it.
        self.derives_by(signed, Rule::As(part));
        Ok([signed, whole])
    }
}

/// Returns whether rounded bounds of equal bins between two numbers certainly differ: they are several units in the last place
/// of the larger one apart.
fn are_apart([low, high]: [f64; 2], bins: i64, dtype: DType) -> bool {
    // The least normal number, below which units are no smaller.
    let least = match dtype {
        DType::F16 => 2f64.powi(-14),
        DType::F64 => f64::MIN_POSITIVE,
        _ => f64::from(f32::MIN_POSITIVE),
    };
    let unit = low.abs().max(high.abs()).max(least) * 2f64.powi(1 - dtype.digits() as i32);
    (high - low) / bins as f64 > 4.0 * unit
}
