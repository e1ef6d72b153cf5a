//! Functions of samples along an axis: areas, slopes, convolutions and polynomials.

use super::reduction::{Empty, resolve_axis};
use super::{Graph, Pad, Site, SliceSpec};
use crate::dim::Dim;
use crate::dtype::{Class, DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;

/// The spacing of samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spacing {
    /// A constant distance between neighbours.
    Step(f64),
    /// Positions: one for each sample along the axis, or a tensor with the shape of the samples.
    At(ExprId),
}

/// The part of a convolution to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// All positions where the two overlap.
    Full,
    /// As many elements as the longer one has, from the middle.
    Same,
    /// The positions where the shorter one lies within the longer.
    Valid,
}

/// Whether the second sequence is reversed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sliding {
    /// Reversed: products of polynomials, and filters.
    Convolve,
    /// Not reversed: the similarity of the two at each position.
    Correlate,
}

impl Sliding {
    fn name(self) -> &'static str {
        match self {
            Sliding::Convolve => "convolve",
            Sliding::Correlate => "correlate",
        }
    }
}

impl Graph {
    /// Returns the area under samples along an axis by the trapezoidal rule. Integers and bool are computed in
    /// `f64`.
    pub fn trapezoid(&mut self, samples: ExprId, spacing: Spacing, axis: i64, site: Site) -> ExprId {
        let result = self.try_trapezoid(samples, spacing, axis, site);
        self.settle_all(result, "trapezoid", &samples_and_places(samples, spacing), site)
    }

    fn try_trapezoid(
        &mut self,
        samples: ExprId,
        spacing: Spacing,
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let axis = resolve_axis(axis, self.written(samples).rank())?;
        let (work, dtype) = self.floats_of(&samples_and_places(samples, spacing));
        let y = self.convert(samples, work, site)?;
        let neighbours = self.neighbours(y, axis, site)?;
        let height = self.try_elementwise(Op::Add, &neighbours, site)?;
        let width = self.distances(samples, spacing, axis, work, site)?;
        let twice = self.try_elementwise(Op::Multiply, &[width, height], site)?;
        let half = self.number(0.5, work, site)?;
        let area = self.try_elementwise(Op::Multiply, &[twice, half], site)?;
        // The mean of the two does not overflow, nor does its product if the area does not.
        let mean = self.mean_of_two(neighbours, site)?;
        let product = self.try_elementwise(Op::Multiply, &[width, mean], site)?;
        let is_finite = self.try_elementwise(Op::Isfinite, &[twice], site)?;
        let area = self.try_select([is_finite, area, product], site)?;
        let total =
            self.try_reduce(ReduceOp::Sum, area, Some(&[axis as i64]), false, Empty::Refused, site)?;
        self.convert(total, dtype, site)
    }

    /// Returns the distances between neighbours, which broadcast with results per neighbour.
    fn distances(
        &mut self,
        samples: ExprId,
        spacing: Spacing,
        axis: usize,
        work: DType,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let places = match spacing {
            Spacing::Step(step) => return self.number(step, work, site),
            Spacing::At(places) => places,
        };
        let rank = self.written(samples).rank();
        let at = self.convert(places, work, site)?;
        let along = match self.written(places).rank() {
            1 => 0,
            own if own == rank => axis,
            _ => {
                return Err(Problem::Argument(
                    "takes positions along the axis, or positions in the shape of the samples",
                ));
            }
        };
        let widths = self.steps_of(at, along, site)?;
        if self.written(places).rank() == rank {
            return Ok(widths);
        }
        let after: Vec<i64> = (1..(rank - axis) as i64).collect();
        self.try_expand_dims(widths, &after, site)
    }

    /// Returns the slopes of samples along an axis: half the difference of the two neighbours, and at the ends the
    /// difference to the only neighbour. Samples at given positions use the slopes of parabolas through three
    /// samples. Integers and bool are computed in `f64`.
    pub fn gradient(&mut self, samples: ExprId, spacing: Spacing, axis: i64, site: Site) -> ExprId {
        let result = self.try_gradient(samples, spacing, axis, site);
        self.settle_all(result, "gradient", &samples_and_places(samples, spacing), site)
    }

    fn try_gradient(
        &mut self,
        samples: ExprId,
        spacing: Spacing,
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let shape = self.written(samples).clone();
        let axis = resolve_axis(axis, shape.rank())?;
        if shape[axis].as_constant().is_some_and(|size| size < 2) {
            return Err(Problem::Argument("needs at least two elements along the axis"));
        }
        let (work, _) = self.floats_of(&samples_and_places(samples, spacing));
        let (_, dtype) = self.floats_of(&[samples]);
        let y = self.convert(samples, work, site)?;
        let part = |graph: &mut Graph, x, start: i64, stop: Option<i64>| {
            let start = (start != 0).then(|| Dim::constant(start));
            graph.part(x, axis, start, stop.map(Dim::constant), 1, site)
        };
        let neighbours = self.neighbours(y, axis, site)?;
        let width = self.distances(samples, spacing, axis, work, site)?;
        let slope = self.slope_of(neighbours, width, site)?;
        let first = part(self, slope, 0, Some(1))?;
        let last = part(self, slope, -1, None)?;
        let [before, here, after] =
            [part(self, y, 0, Some(-2))?, part(self, y, 1, Some(-1))?, part(self, y, 2, None)?];
        let middle = match spacing {
            Spacing::Step(step) => {
                let width = self.number(2.0 * step, work, site)?;
                self.slope_of([after, before], width, site)?
            }
            Spacing::At(_) => {
                // The axis of the widths, which are a vector followed by the remaining axes, or have the samples'
                // shape.
                let along = self.written(width).rank() - (shape.rank() - axis);
                let [right, left] = self.neighbours(width, along, site)?;
                let both = self.try_elementwise(Op::Add, &[left, right], site)?;
                let product = self.try_elementwise(Op::Multiply, &[left, both], site)?;
                let share = self.try_elementwise(Op::Divide, &[right, product], site)?;
                let share = self.try_elementwise(Op::Negative, &[share], site)?;
                let of_before = self.try_elementwise(Op::Multiply, &[share, before], site)?;
                let difference = self.try_elementwise(Op::Subtract, &[right, left], site)?;
                let product = self.try_elementwise(Op::Multiply, &[left, right], site)?;
                let share = self.try_elementwise(Op::Divide, &[difference, product], site)?;
                let of_here = self.try_elementwise(Op::Multiply, &[share, here], site)?;
                let product = self.try_elementwise(Op::Multiply, &[right, both], site)?;
                let share = self.try_elementwise(Op::Divide, &[left, product], site)?;
                let of_after = self.try_elementwise(Op::Multiply, &[share, after], site)?;
                let sum = self.try_elementwise(Op::Add, &[of_before, of_here], site)?;
                let uneven = self.try_elementwise(Op::Add, &[sum, of_after], site)?;
                // Between equal steps the sample has no weight: if it is NaN or infinite, the slope is not.
                let is_even = self.try_elementwise(Op::Equal, &[left, right], site)?;
                let even = self.slope_of([after, before], both, site)?;
                self.try_select([is_even, even, uneven], site)?
            }
        };
        let joined = self.try_concat(&[first, middle, last], axis as i64, site)?;
        self.convert(joined, dtype, site)
    }

    /// Returns `(later - earlier) / width`, also where the difference overflows.
    fn slope_of(
        &mut self,
        [later, earlier]: [ExprId; 2],
        width: ExprId,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let rise = self.try_elementwise(Op::Subtract, &[later, earlier], site)?;
        let slope = self.try_elementwise(Op::Divide, &[rise, width], site)?;
        let parts = [
            self.try_elementwise(Op::Divide, &[later, width], site)?,
            self.try_elementwise(Op::Divide, &[earlier, width], site)?,
        ];
        let difference = self.try_elementwise(Op::Subtract, &parts, site)?;
        let is_finite = self.try_elementwise(Op::Isfinite, &[rise], site)?;
        self.try_select([is_finite, slope, difference], site)
    }

    /// Slides one vector along another: at each position, sums the products of the overlapping elements in the
    /// common dtype; for bool, whether any of them holds. If a length is a symbol, it belongs to the second and
    /// shorter vector.
    pub fn slide(&mut self, sliding: Sliding, vectors: [ExprId; 2], overlap: Overlap, site: Site) -> ExprId {
        let result = self.try_slide(sliding, vectors, overlap, site);
        self.settle_all(result, sliding.name(), &vectors, site)
    }

    fn try_slide(
        &mut self,
        sliding: Sliding,
        [left, right]: [ExprId; 2],
        overlap: Overlap,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let mut lengths = Vec::with_capacity(2);
        for vector in [left, right] {
            let length = self.length_of(vector, "each operand")?;
            if length.is_zero() {
                return Err(Problem::Argument("needs at least one element in each operand"));
            }
            lengths.push(length);
        }
        let dtype = self.dtype(left).promote(self.dtype(right));
        let is_shorter = lengths[0].as_constant().zip(lengths[1].as_constant()).is_some_and(|(x, y)| x < y);
        let (long, short, width) =
            if is_shorter { (right, left, lengths[0].clone()) } else { (left, right, lengths[1].clone()) };
        let less = width.sub(&Dim::ONE).map_err(Problem::Size)?;
        let half = less.ceil_div(2).map_err(Problem::Size)?;
        let widths = match overlap {
            Overlap::Full => [less.clone(), less],
            Overlap::Same => [half.clone(), less.sub(&half).map_err(Problem::Size)?],
            Overlap::Valid => [Dim::ZERO, Dim::ZERO],
        };
        let zero = self.insert_constant(Scalar::I64(0).cast(dtype), site)?;
        let long = self.convert(long, dtype, site)?;
        let padded = self.try_pad(long, std::slice::from_ref(&widths), Pad::Constant(zero), site)?;
        let windows = self.try_windows(padded, &width, 0, site)?;
        let mut short = self.convert(short, dtype, site)?;
        if sliding == Sliding::Convolve {
            short = self.part(short, 0, None, None, -1, site)?;
        }
        if dtype.class() == Class::Float && overlap != Overlap::Valid {
            short = self.where_overlapping(short, [long, windows], widths, site)?;
        }
        let (times, total) = match dtype {
            DType::Bool => (Op::LogicalAnd, ReduceOp::Any),
            _ => (Op::Multiply, ReduceOp::Sum),
        };
        let products = self.try_elementwise(times, &[windows, short], site)?;
        let sums = self.try_reduce(total, products, Some(&[-1]), false, Empty::Refused, site)?;
        let sums = self.convert(sums, dtype, site)?;
        // The shorter one was slid along the longer one, so the result is in reverse order.
        if is_shorter && sliding == Sliding::Correlate {
            return self.part(sums, 0, None, None, -1, site);
        }
        Ok(sums)
    }

    /// Returns the elements of the shorter vector for each window, with 0 beside padding: its zeros would turn an
    /// infinity or NaN of the shorter vector into NaN.
    fn where_overlapping(
        &mut self,
        short: ExprId,
        [long, windows]: [ExprId; 2],
        widths: [Dim; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let [yes, no] = [true, false].map(|value| self.insert_constant(Scalar::Bool(value), site));
        let real = self.try_broadcast_to(yes?, self.written(long).clone(), site)?;
        let real = self.try_pad(real, &[widths], Pad::Constant(no?), site)?;
        let width = self.length_of(short, "each operand")?;
        let real = self.try_windows(real, &width, 0, site)?;
        let [zero] = self.numbers_like(windows, [0.0], site)?;
        self.try_select([real, short, zero], site)
    }

    /// Evaluates a polynomial at `x` by Horner's rule; its coefficients are a vector of constant length, highest
    /// power first.
    pub fn polyval(&mut self, coefficients: ExprId, x: ExprId, site: Site) -> ExprId {
        let result = self.try_polyval(coefficients, x, site);
        self.settle_all(result, "polyval", &[coefficients, x], site)
    }

    fn try_polyval(&mut self, coefficients: ExprId, x: ExprId, site: Site) -> Result<ExprId, Problem> {
        /// The most coefficients; each is a product and a sum.
        const MOST: i64 = 64;
        let count = self.length_of(coefficients, "the coefficients")?.as_constant();
        let count = count.filter(|count| *count <= MOST);
        let count = count.ok_or(Problem::Argument("takes a constant number of coefficients, at most 64"))?;
        let dtype = self.dtype(coefficients).promote(self.dtype(x));
        let [x, coefficients] = [self.convert(x, dtype, site)?, self.convert(coefficients, dtype, site)?];
        let zero = self.insert_constant(Scalar::I64(0).cast(dtype), site)?;
        let mut value = self.try_broadcast_to(zero, self.written(x).clone(), site)?;
        for position in 0..count {
            let coefficient =
                self.try_slice(coefficients, &[SliceSpec::At(Dim::constant(position))], site)?;
            value = self.try_elementwise(Op::Multiply, &[value, x], site)?;
            value = self.try_elementwise(Op::Add, &[value, coefficient], site)?;
        }
        Ok(value)
    }

    /// Returns the float dtype in which a function of operands is computed, and that of the result: integers and
    /// bool are computed in `f64`, 16-bit floats in `f32`.
    pub(super) fn floats_of(&self, operands: &[ExprId]) -> (DType, DType) {
        let dtypes = operands.iter().map(|operand| match self.dtype(*operand) {
            float if float.class() == Class::Float => float,
            _ => DType::F64,
        });
        let dtype = DType::promote_all(dtypes).unwrap_or(DType::F64);
        (dtype.arithmetic(), dtype)
    }

    /// Settles an op composed on several operands; if one of them is poisoned, nothing more is reported.
    pub(super) fn settle_all(
        &mut self,
        result: Result<ExprId, Problem>,
        name: &str,
        operands: &[ExprId],
        site: Site,
    ) -> ExprId {
        if self.any_poisoned(operands) {
            return self.poison();
        }
        self.settle(result, name, operands, site)
    }

    /// Settles an op composed on several operands that has two results.
    pub(super) fn settle_two(
        &mut self,
        results: Result<[ExprId; 2], Problem>,
        name: &str,
        operands: &[ExprId],
        site: Site,
    ) -> [ExprId; 2] {
        let (first, second) = match results {
            Ok([first, second]) => (Ok(first), second),
            Err(problem) => (Err(problem), self.poison()),
        };
        let first = self.settle_all(first, name, operands, site);
        [first, if self.is_poisoned(first) { first } else { second }]
    }
}

fn samples_and_places(samples: ExprId, spacing: Spacing) -> Vec<ExprId> {
    match spacing {
        Spacing::Step(_) => vec![samples],
        Spacing::At(places) => vec![samples, places],
    }
}
