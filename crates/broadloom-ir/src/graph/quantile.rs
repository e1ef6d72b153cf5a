//! Medians and quantiles, composed of a sort, elements at computed positions, and interpolation between two of
//! them.
//!
//! ```text
//! x ──axes at the end, as one──▶ sort ──▶ element at floor(v), element behind it ──▶ a + (b - a) t
//! number n of elements, fraction q ──method──▶ v, t
//! ```
//!
//! Positions are computed in `f64`, as in NumPy, which the formulas come from.

use super::reduction::Empty;
use super::{Axes, Graph, Site, Sort};
use crate::dim::Dim;
use crate::dtype::{Class, DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;

/// The value of a quantile whose position lies between elements.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum QuantileMethod {
    /// Linear interpolation between the elements around position `(n - 1) q`.
    #[default]
    Linear,
    /// The element before that position.
    Lower,
    /// The element after it.
    Higher,
    /// The mean of both.
    Midpoint,
    /// The nearer one; if both are equally near, the one at an even index.
    Nearest,
    /// The first method of Hyndman and Fan: the inverse of the empirical distribution function.
    InvertedCdf,
    /// The second: like the first, with means where that function is flat.
    AveragedInvertedCdf,
    /// The third: the element nearest to position `n q - 1/2`.
    ClosestObservation,
    /// The fourth: linear interpolation of the empirical distribution function.
    InterpolatedInvertedCdf,
    /// The fifth: linear interpolation between midpoints of its steps.
    Hazen,
    /// The sixth: position `(n + 1) q`.
    Weibull,
    /// The eighth: approximately median-unbiased, whatever the distribution.
    MedianUnbiased,
    /// The ninth: approximately mean-unbiased for a normal distribution.
    NormalUnbiased,
}

impl QuantileMethod {
    /// All methods, the default first.
    pub const ALL: [QuantileMethod; 13] = [
        QuantileMethod::Linear,
        QuantileMethod::Lower,
        QuantileMethod::Higher,
        QuantileMethod::Midpoint,
        QuantileMethod::Nearest,
        QuantileMethod::InvertedCdf,
        QuantileMethod::AveragedInvertedCdf,
        QuantileMethod::ClosestObservation,
        QuantileMethod::InterpolatedInvertedCdf,
        QuantileMethod::Hazen,
        QuantileMethod::Weibull,
        QuantileMethod::MedianUnbiased,
        QuantileMethod::NormalUnbiased,
    ];

    /// Returns NumPy's name.
    pub fn name(self) -> &'static str {
        match self {
            QuantileMethod::Linear => "linear",
            QuantileMethod::Lower => "lower",
            QuantileMethod::Higher => "higher",
            QuantileMethod::Midpoint => "midpoint",
            QuantileMethod::Nearest => "nearest",
            QuantileMethod::InvertedCdf => "inverted_cdf",
            QuantileMethod::AveragedInvertedCdf => "averaged_inverted_cdf",
            QuantileMethod::ClosestObservation => "closest_observation",
            QuantileMethod::InterpolatedInvertedCdf => "interpolated_inverted_cdf",
            QuantileMethod::Hazen => "hazen",
            QuantileMethod::Weibull => "weibull",
            QuantileMethod::MedianUnbiased => "median_unbiased",
            QuantileMethod::NormalUnbiased => "normal_unbiased",
        }
    }
}

/// The requested quantiles, and their elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantiles<'a> {
    /// Fractions from 0 to 1, or percentages.
    pub at: &'a [f64],
    /// Whether the result has a leading axis for them; otherwise there is exactly one.
    pub several: bool,
    /// Whether `at` holds percentages.
    pub percents: bool,
    /// The method between elements.
    pub method: QuantileMethod,
    /// Whether NaNs are ignored.
    pub numbers: bool,
}

impl Quantiles<'_> {
    fn name(&self) -> &'static str {
        match (self.percents, self.numbers) {
            (false, false) => "quantile",
            (false, true) => "nanquantile",
            (true, false) => "percentile",
            (true, true) => "nanpercentile",
        }
    }

    /// Returns the fractions.
    fn fractions(&self) -> Result<Vec<f64>, Problem> {
        let whole = if self.percents { 100.0 } else { 1.0 };
        let fractions: Vec<f64> = self.at.iter().map(|at| at / whole).collect();
        let rule = match self.percents {
            _ if fractions.is_empty() => "needs at least one number",
            true => "takes numbers from 0 to 100; for fractions, write `quantile(x, 0.5)`",
            false => "takes numbers from 0 to 1; for percents, write `percentile(x, 50)`",
        };
        let is_fraction = |fraction: &f64| (0.0..=1.0).contains(fraction);
        let is_good = !fractions.is_empty() && fractions.iter().all(is_fraction);
        if is_good { Ok(fractions) } else { Err(Problem::Argument(rule)) }
    }
}

/// Rows sorted along the last axis, and the number of elements that count in each.
struct Rows {
    sorted: ExprId,
    /// The number of elements that count; in place of the sorted axis if rows have counts of their own.
    count: ExprId,
    /// Whether rows have counts of their own.
    by_row: bool,
    /// Whether a NaN at the end of a row makes the result NaN.
    tells_nan: bool,
    /// The tensor from which the rows are, and the merged axes.
    of: ExprId,
    over: Axes,
}

impl Graph {
    /// Returns the middle element along axes, or the mean of the two middle elements; `None` means all axes. NaN if
    /// any element is NaN, unless only `numbers` count. Integers and bool give `f64`.
    pub fn median(
        &mut self,
        operand: ExprId,
        axes: Option<&[i64]>,
        numbers: bool,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        let result = self.try_median(operand, axes, numbers, keepdims, site);
        self.settle(result, if numbers { "nanmedian" } else { "median" }, &[operand], site)
    }

    /// Returns quantiles along axes; `None` means all axes. NaN if any element is NaN, unless only numbers count.
    /// If elements are interpolated, integers and bool give `f64`, and so do floats whose quantiles have an axis.
    pub fn quantile(
        &mut self,
        operand: ExprId,
        quantiles: Quantiles<'_>,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> ExprId {
        let result = self.try_quantile(operand, quantiles, axes, keepdims, site);
        self.settle(result, quantiles.name(), &[operand], site)
    }

    fn try_median(
        &mut self,
        operand: ExprId,
        axes: Option<&[i64]>,
        numbers: bool,
        keepdims: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let rows = self.sorted_rows(operand, axes, numbers, site)?;
        let [one, two] = [1, 2].map(|number| self.insert_constant(Scalar::I64(number), site));
        let (one, two) = (one?, two?);
        let before = self.try_elementwise(Op::Subtract, &[rows.count, one], site)?;
        let lower = self.try_elementwise(Op::FloorDivide, &[before, two], site)?;
        let upper = self.try_elementwise(Op::FloorDivide, &[rows.count, two], site)?;
        let is_one = self.try_elementwise(Op::Equal, &[lower, upper], site)?;
        let dtype = self.dtype(operand);
        let (work, result) = match dtype.class() {
            Class::Bool | Class::Int => (DType::F64, DType::F64),
            Class::Float => (dtype.arithmetic(), dtype),
        };
        let [a, b] = [lower, upper].map(|position| {
            let element = self.element(&rows, position, site)?;
            self.convert(element, work, site)
        });
        let (a, b) = (a?, b?);
        let mean = self.mean_of_two([a, b], site)?;
        let median = self.try_select([is_one, a, mean], site)?;
        let median = self.convert(median, result, site)?;
        let median = self.or_nan(&rows, median, site)?;
        self.reduced_from(&rows, median, keepdims, site)
    }

    /// Returns the mean of two floats, which does not overflow.
    pub(super) fn mean_of_two(&mut self, parts: [ExprId; 2], site: Site) -> Result<ExprId, Problem> {
        let [two] = self.numbers_like(parts[0], [2.0], site)?;
        let sum = self.try_elementwise(Op::Add, &parts, site)?;
        let mean = self.try_elementwise(Op::Divide, &[sum, two], site)?;
        let mut halves = parts;
        for half in &mut halves {
            *half = self.try_elementwise(Op::Divide, &[*half, two], site)?;
        }
        let of_halves = self.try_elementwise(Op::Add, &halves, site)?;
        let is_finite = self.try_elementwise(Op::Isfinite, &[sum], site)?;
        self.try_select([is_finite, mean, of_halves], site)
    }

    fn try_quantile(
        &mut self,
        operand: ExprId,
        quantiles: Quantiles<'_>,
        axes: Option<&[i64]>,
        keepdims: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let fractions = quantiles.fractions()?;
        let rows = self.sorted_rows(operand, axes, quantiles.numbers, site)?;
        let mut made = Vec::with_capacity(fractions.len());
        for fraction in fractions {
            let quantile = self.quantile_of(&rows, fraction, quantiles, site)?;
            let quantile = self.or_nan(&rows, quantile, site)?;
            made.push(self.reduced_from(&rows, quantile, keepdims, site)?);
        }
        match made[..] {
            [quantile] if !quantiles.several => Ok(quantile),
            _ => self.try_stack(&made, 0, site),
        }
    }

    /// Merges the axes into one at the end, and sorts it.
    fn sorted_rows(
        &mut self,
        operand: ExprId,
        axes: Option<&[i64]>,
        numbers: bool,
        site: Site,
    ) -> Result<Rows, Problem> {
        let shape = self.written(operand).clone();
        let mut over = self.axes_of(operand, axes)?;
        over.sort_unstable();
        // A size that turns out to be 0 in a call has no element at any position, which `take` reports.
        if let Some(&axis) = over.iter().find(|axis| self.resolved_dim(&shape[**axis]).is_zero()) {
            return Err(Problem::EmptyReduction { axis });
        }
        let others = (0..shape.rank()).filter(|axis| !over.contains(axis));
        let order: Vec<i64> = others.clone().chain(over.iter().copied()).map(|axis| axis as i64).collect();
        let mut rows = self.try_permute(operand, &order, site)?;
        let length = Dim::product(over.iter().map(|&axis| &shape[axis])).map_err(Problem::Size)?;
        if over.len() != 1 {
            let kept = others.map(|axis| Some(shape[axis].clone()));
            let merged: Vec<Option<Dim>> = kept.chain([Some(length.clone())]).collect();
            rows = self.try_reshape(rows, &merged, site)?;
        }
        let is_float = self.dtype(operand).class() == Class::Float;
        let by_row = numbers && is_float;
        let count = match by_row {
            true => {
                let is_number = self.try_elementwise(Op::Equal, &[rows, rows], site)?;
                self.try_reduce(ReduceOp::Sum, is_number, Some(&[-1]), true, Empty::Identity, site)?
            }
            false => self.try_size(length, site)?,
        };
        let axis = self.written(rows).rank() - 1;
        let sort = Sort { axis, indices: false, descending: false };
        let sorted = self.insert_sort(rows, sort, site)?;
        Ok(Rows { sorted, count, by_row, tells_nan: is_float && !numbers, of: operand, over })
    }

    /// Returns the element of each row at a position. The position is that of an element, or -1 if no element of
    /// the row counts; it then selects the NaN at the end.
    fn element(&mut self, rows: &Rows, position: ExprId, site: Site) -> Result<ExprId, Problem> {
        match rows.by_row {
            true => self.try_take_along_axis(rows.sorted, position, -1, site),
            false => {
                let one = self.try_expand_dims(position, &[0], site)?;
                self.try_take(rows.sorted, one, -1, site)
            }
        }
    }

    /// Replaces the values of rows that contain a NaN by NaN.
    fn or_nan(&mut self, rows: &Rows, value: ExprId, site: Site) -> Result<ExprId, Problem> {
        if !rows.tells_nan {
            return Ok(value);
        }
        let one = self.insert_constant(Scalar::I64(1), site)?;
        let position = self.try_elementwise(Op::Subtract, &[rows.count, one], site)?;
        let last = self.element(rows, position, site)?;
        let is_nan = self.try_elementwise(Op::Isnan, &[last], site)?;
        let nan = self.number(f64::NAN, self.dtype(value), site)?;
        self.try_select([is_nan, nan, value], site)
    }

    /// Removes the row axis from results with one element per row, or restores the merged axes as size 1.
    fn reduced_from(
        &mut self,
        rows: &Rows,
        value: ExprId,
        keepdims: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let value = self.try_squeeze(value, &[-1], site)?;
        if !keepdims || rows.over.is_empty() {
            self.reduced.insert(value, (rows.of, rows.over.clone()));
            return Ok(value);
        }
        let over: Vec<i64> = rows.over.iter().map(|&axis| axis as i64).collect();
        self.try_expand_dims(value, &over, site)
    }

    /// Returns one quantile of each row; the row axis has one element.
    fn quantile_of(
        &mut self,
        rows: &Rows,
        fraction: f64,
        quantiles: Quantiles<'_>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let mut formula = Formula { graph: self, site };
        let count = formula.convert(rows.count, DType::F64)?;
        let last = formula.less(count, 1.0)?;
        let line = |formula: &mut Formula<'_>| formula.times(last, fraction);
        // Hyndman and Fan: n q + (alpha + q (1 - alpha - beta)) - 1.
        let between = |formula: &mut Formula<'_>, alpha: f64, beta: f64| {
            let part = formula.times(count, fraction)?;
            let part = formula.with(Op::Add, part, alpha + fraction * (1.0 - alpha - beta))?;
            formula.less(part, 1.0)
        };
        // The element at a position, or between it and the next element.
        let (position, weight) = match quantiles.method {
            QuantileMethod::Linear => (line(&mut formula)?, Weight::Rest),
            QuantileMethod::Lower => {
                let position = line(&mut formula)?;
                (formula.op(Op::Floor, &[position])?, Weight::None)
            }
            QuantileMethod::Higher => {
                let position = line(&mut formula)?;
                (formula.op(Op::Ceil, &[position])?, Weight::None)
            }
            QuantileMethod::Nearest => {
                let position = line(&mut formula)?;
                (formula.op(Op::Round, &[position])?, Weight::None)
            }
            QuantileMethod::Midpoint => {
                let position = line(&mut formula)?;
                let [floor, ceil] = [Op::Floor, Op::Ceil].map(|op| formula.op(op, &[position]));
                let sum = formula.op(Op::Add, &[floor?, ceil?])?;
                (formula.times(sum, 0.5)?, Weight::Rest)
            }
            QuantileMethod::InvertedCdf | QuantileMethod::AveragedInvertedCdf => {
                let position = formula.times(count, fraction)?;
                let position = formula.less(position, 1.0)?;
                match quantiles.method {
                    QuantileMethod::InvertedCdf => (formula.op(Op::Ceil, &[position])?, Weight::None),
                    _ => (position, Weight::HalfOrAll),
                }
            }
            QuantileMethod::ClosestObservation => {
                let position = formula.times(count, fraction)?;
                let position = formula.less(position, 1.0)?;
                let position = formula.less(position, 0.5)?;
                // If both are equally near, take the one whose number, counted from 1, is even.
                let floor = formula.op(Op::Floor, &[position])?;
                let next = formula.with(Op::Add, floor, 1.0)?;
                let is_whole = formula.op(Op::Equal, &[position, floor])?;
                let half = formula.with(Op::Remainder, floor, 2.0)?;
                let is_odd = formula.with(Op::Equal, half, 1.0)?;
                let is_floor = formula.op(Op::LogicalAnd, &[is_whole, is_odd])?;
                (formula.select([is_floor, floor, next])?, Weight::None)
            }
            QuantileMethod::InterpolatedInvertedCdf => (between(&mut formula, 0.0, 1.0)?, Weight::Rest),
            QuantileMethod::Hazen => (between(&mut formula, 0.5, 0.5)?, Weight::Rest),
            QuantileMethod::Weibull => (between(&mut formula, 0.0, 0.0)?, Weight::Rest),
            QuantileMethod::MedianUnbiased => (between(&mut formula, 1.0 / 3.0, 1.0 / 3.0)?, Weight::Rest),
            QuantileMethod::NormalUnbiased => (between(&mut formula, 3.0 / 8.0, 3.0 / 8.0)?, Weight::Rest),
        };
        let floor = formula.op(Op::Floor, &[position])?;
        let [this, next] = [0.0, 1.0].map(|step| {
            let place = formula.with(Op::Add, floor, step)?;
            let place = formula.with(Op::Maximum, place, 0.0)?;
            let place = formula.op(Op::Minimum, &[place, last])?;
            formula.convert(place, DType::I64)
        });
        let this = this?;
        if weight == Weight::None {
            return self.element(rows, this, site);
        }
        let next = next?;
        let rest = formula.op(Op::Subtract, &[position, floor])?;
        if weight == Weight::Rest {
            let (a, b) = (self.element(rows, this, site)?, self.element(rows, next, site)?);
            return self.mixed(a, b, rest, quantiles.several, site);
        }
        // Beside an infinite element, the next one would be lost in a sum in which it has the whole weight.
        let is_whole = formula.with(Op::Equal, rest, 0.0)?;
        let half = formula.number(0.5, DType::F64)?;
        let (a, b) = (self.element(rows, this, site)?, self.element(rows, next, site)?);
        let mean = self.mixed(a, b, half, quantiles.several, site)?;
        self.try_select([is_whole, mean, b], site)
    }

    /// Returns `a + (b - a) t`, computed from the nearer end, as NumPy rounds it: in the dtype of the elements, or
    /// in `f64` for weights with an axis and for integers, whose difference is exact. Between equal elements, and
    /// at the position of an element, the result is that element, even infinity. If the difference overflows, the
    /// result is `a (1 - t) + b t`, which lies between the two.
    fn mixed(
        &mut self,
        a: ExprId,
        b: ExprId,
        weight: ExprId,
        several: bool,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let mut formula = Formula { graph: self, site };
        let dtype = formula.graph.dtype(a);
        let (exact, work) = match dtype.class() {
            Class::Bool => (DType::I64, DType::F64),
            Class::Int => (if dtype == DType::U64 { dtype } else { DType::I64 }, DType::F64),
            Class::Float if several => (dtype, DType::F64),
            Class::Float => (dtype, dtype),
        };
        let (a, b) = (formula.convert(a, exact)?, formula.convert(b, exact)?);
        let mut difference = formula.op(Op::Subtract, &[b, a])?;
        if exact == DType::I64 {
            // The difference may exceed `i64`. It is not negative, so its bits are those of a `u64`.
            difference = formula.convert(difference, DType::U64)?;
        }
        let is_equal = formula.op(Op::Equal, &[a, b])?;
        let is_at = formula.with(Op::Equal, weight, 0.0)?;
        let is_alone = formula.op(Op::LogicalOr, &[is_equal, is_at])?;
        let [a, b, difference] = [a, b, difference].map(|part| formula.convert(part, work));
        let (a, b, difference) = (a?, b?, difference?);
        let one = formula.number(1.0, DType::F64)?;
        let other = formula.op(Op::Subtract, &[one, weight])?;
        let is_nearer = formula.with(Op::GreaterEqual, weight, 0.5)?;
        let (weight, other) = (formula.convert(weight, work)?, formula.convert(other, work)?);
        let [from_a, from_b] = [weight, other].map(|weight| formula.op(Op::Multiply, &[difference, weight]));
        let (from_a, from_b) = (from_a?, from_b?);
        let from_a = formula.op(Op::Add, &[a, from_a])?;
        let from_b = formula.op(Op::Subtract, &[b, from_b])?;
        let mut mixed = formula.select([is_nearer, from_b, from_a])?;
        if dtype.class() == Class::Float {
            let is_finite = formula.op(Op::Isfinite, &[difference])?;
            let parts = [formula.op(Op::Multiply, &[a, other])?, formula.op(Op::Multiply, &[b, weight])?];
            let weighted = formula.op(Op::Add, &parts)?;
            mixed = formula.select([is_finite, mixed, weighted])?;
        }
        formula.select([is_alone, a, mixed])
    }
}

/// The weight with which the next element is mixed in.
#[derive(Clone, Copy, PartialEq)]
enum Weight {
    /// The element at the position alone.
    None,
    /// The distance of the position from the element.
    Rest,
    /// One half if the position is that of an element; otherwise the next element alone.
    HalfOrAll,
}

/// Builds formulas of floats.
struct Formula<'g> {
    graph: &'g mut Graph,
    site: Site,
}

impl Formula<'_> {
    fn op(&mut self, op: Op, operands: &[ExprId]) -> Result<ExprId, Problem> {
        self.graph.try_elementwise(op, operands, self.site)
    }

    fn with(&mut self, op: Op, x: ExprId, number: f64) -> Result<ExprId, Problem> {
        let number = self.number(number, self.graph.dtype(x))?;
        self.op(op, &[x, number])
    }

    fn times(&mut self, x: ExprId, number: f64) -> Result<ExprId, Problem> {
        self.with(Op::Multiply, x, number)
    }

    fn less(&mut self, x: ExprId, number: f64) -> Result<ExprId, Problem> {
        self.with(Op::Subtract, x, number)
    }

    fn number(&mut self, number: f64, dtype: DType) -> Result<ExprId, Problem> {
        self.graph.number(number, dtype, self.site)
    }

    fn select(&mut self, operands: [ExprId; 3]) -> Result<ExprId, Problem> {
        self.graph.try_select(operands, self.site)
    }

    fn convert(&mut self, x: ExprId, to: DType) -> Result<ExprId, Problem> {
        self.graph.convert(x, to, self.site)
    }
}
