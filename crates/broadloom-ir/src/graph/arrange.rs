//! Rearrangements composed of views, joins and selections: axes moved; elements reversed, repeated and padded;
//! diagonals and triangles.
//!
//! Sizes may be symbols. Each call checks the conditions of the slices (a `roll` by 3 needs at least 3 elements),
//! as it does for slices in the program.

mod rolled;

use super::reduction::{Empty, resolve_axes, resolve_axis};
use super::{Graph, Operands, Site, SliceSpec};
use crate::dim::Dim;
use crate::dtype::Scalar;
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::reduce::ReduceOp;

/// The elements that a `pad` adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pad {
    /// A value of rank 0.
    Constant(ExprId),
    /// The element at the end, repeated.
    Edge,
    /// The elements mirrored at the end, without the end itself.
    Reflect,
    /// The elements mirrored at the end, including the end itself.
    Symmetric,
    /// The elements from the other end.
    Wrap,
}

impl Pad {
    /// Returns the number of elements after which the pattern beyond an axis repeats; `None` if it does not repeat,
    /// or if there are no elements.
    fn period(self, size: i64) -> Option<i64> {
        let period = match self {
            Pad::Constant(_) | Pad::Edge => None,
            Pad::Wrap => Some(size),
            Pad::Symmetric => size.checked_mul(2),
            // A mirrored single element is that element.
            Pad::Reflect => size.checked_sub(1)?.checked_mul(2).map(|period| period.max(1)),
        };
        period.filter(|_| size > 0)
    }

    /// Returns for how many elements the pattern continues in one direction.
    fn reach(self, size: i64) -> i64 {
        if self == Pad::Reflect { size - 1 } else { size }
    }
}

/// The elements in reverse.
const REVERSED: SliceSpec = SliceSpec::Range { start: None, stop: None, step: -1 };

impl Graph {
    /// Reverses the order of the elements along axes; `None` means all axes.
    pub fn flip(&mut self, operand: ExprId, axes: Option<&[i64]>, site: Site) -> ExprId {
        let result = self.try_flip(operand, axes, site);
        self.settle(result, "flip", &[operand], site)
    }

    pub(super) fn try_flip(
        &mut self,
        operand: ExprId,
        axes: Option<&[i64]>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let mut specs = vec![SliceSpec::All; self.written(operand).rank()];
        match axes {
            Some(axes) => resolve_axes(axes, specs.len())?.iter().for_each(|&axis| specs[axis] = REVERSED),
            None => specs.fill(REVERSED),
        }
        self.try_slice(operand, &specs, site)
    }

    /// Exchanges two axes.
    pub fn swapaxes(&mut self, operand: ExprId, first: i64, second: i64, site: Site) -> ExprId {
        let rank = self.written(operand).rank();
        let result = resolve_axis(first, rank).and_then(|first| {
            let mut order: Vec<i64> = (0..rank as i64).collect();
            order.swap(first, resolve_axis(second, rank)?);
            self.try_permute(operand, &order, site)
        });
        self.settle_view(result, "swapaxes", operand, site)
    }

    /// Moves the axes `from` to the positions `to` of the result; the other axes keep their order.
    pub fn moveaxis(&mut self, operand: ExprId, from: &[i64], to: &[i64], site: Site) -> ExprId {
        let result = self.try_moveaxis(operand, from, to, site);
        self.settle_view(result, "moveaxis", operand, site)
    }

    pub(super) fn try_moveaxis(
        &mut self,
        operand: ExprId,
        from: &[i64],
        to: &[i64],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let rank = self.written(operand).rank();
        let (from, to) = (resolve_axes(from, rank)?, resolve_axes(to, rank)?);
        if from.len() != to.len() {
            return Err(Problem::Argument("needs one destination for each axis that it moves"));
        }
        let mut others = (0..rank).filter(|axis| !from.contains(axis));
        let order = (0..rank).filter_map(|place| match to.iter().position(|to| *to == place) {
            Some(moved) => Some(from[moved] as i64),
            None => others.next().map(|axis| axis as i64),
        });
        let order: Vec<i64> = order.collect();
        self.try_permute(operand, &order, site)
    }

    /// Adds axes of size 1 until there are at least `rank`, up to 3. They are inserted in front; of three, the last
    /// is added at the end.
    pub fn atleast(&mut self, operand: ExprId, rank: usize, site: Site) -> ExprId {
        let axes: &[i64] = match (self.written(operand).rank(), rank) {
            (0, 1) | (1, 2) => &[0],
            (0, 2) => &[0, 1],
            (0, 3) => &[0, 1, 2],
            (1, 3) => &[0, 2],
            (2, 3) => &[2],
            _ => &[],
        };
        let result = self.try_expand_dims(operand, axes, site);
        self.settle_view(result, "atleast", operand, site)
    }

    /// Rotates by quarter turns in the plane of two axes, from the first towards the second.
    pub fn rot90(&mut self, operand: ExprId, quarters: i64, axes: [i64; 2], site: Site) -> ExprId {
        let result = self.try_rot90(operand, quarters, axes, site);
        self.settle_view(result, "rot90", operand, site)
    }

    fn try_rot90(
        &mut self,
        operand: ExprId,
        quarters: i64,
        axes: [i64; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let rank = self.written(operand).rank();
        let plane = resolve_axes(&axes, rank)?;
        let [first, second] = [plane[0] as i64, plane[1] as i64];
        let mut swapped: Vec<i64> = (0..rank as i64).collect();
        swapped.swap(plane[0], plane[1]);
        match quarters.rem_euclid(4) {
            0 => Ok(operand),
            1 => {
                let flipped = self.try_flip(operand, Some(&[second]), site)?;
                self.try_permute(flipped, &swapped, site)
            }
            2 => self.try_flip(operand, Some(&[first, second]), site),
            _ => {
                let transposed = self.try_permute(operand, &swapped, site)?;
                self.try_flip(transposed, Some(&[second]), site)
            }
        }
    }

    /// Returns a range of one axis.
    pub(super) fn part(
        &mut self,
        operand: ExprId,
        axis: usize,
        start: Option<Dim>,
        stop: Option<Dim>,
        step: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let mut specs = vec![SliceSpec::All; axis];
        specs.push(SliceSpec::Range { start, stop, step });
        self.try_slice(operand, &specs, site)
    }

    /// Returns the size of an operand that must have one axis.
    pub(super) fn length_of(&self, vector: ExprId, name: &str) -> Result<Dim, Problem> {
        match self.written(vector).dims() {
            [length] => Ok(length.clone()),
            dims => Err(Problem::Rank { name: name.into(), expected: 1, rank: dims.len() }),
        }
    }

    /// Returns the later and the earlier of each two neighbours along an axis; of no elements, there are none.
    pub(super) fn neighbours(
        &mut self,
        operand: ExprId,
        axis: usize,
        site: Site,
    ) -> Result<[ExprId; 2], Problem> {
        if self.written(operand)[axis].is_zero() {
            return Ok([operand, operand]);
        }
        let later = self.part(operand, axis, Some(Dim::ONE), None, 1, site)?;
        let earlier = self.part(operand, axis, None, Some(Dim::constant(-1)), 1, site)?;
        Ok([later, earlier])
    }

    /// Returns the differences of neighbours along an axis.
    pub(super) fn steps_of(&mut self, operand: ExprId, axis: usize, site: Site) -> Result<ExprId, Problem> {
        let neighbours = self.neighbours(operand, axis, site)?;
        self.try_elementwise(Op::Subtract, &neighbours, site)
    }

    /// Repeats each element along an axis; the copies are adjacent. `None` repeats all elements in row-major order.
    pub fn repeat(&mut self, operand: ExprId, times: Dim, axis: Option<i64>, site: Site) -> ExprId {
        let result = self.try_repeat(operand, &times, axis, site);
        self.settle_view(result, "repeat", operand, site)
    }

    fn try_repeat(
        &mut self,
        operand: ExprId,
        times: &Dim,
        axis: Option<i64>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let Some(axis) = axis else {
            let all = self.try_reshape(operand, &[None], site)?;
            return self.try_repeat(all, times, Some(0), site);
        };
        let (operand, axis) = self.along(operand, axis, site)?;
        self.repeated(operand, axis, axis + 1, times, site)
    }

    /// Repeats each element by its own count, one for each element along an axis of constant size; `None` repeats
    /// all elements in row-major order.
    pub fn repeat_each(&mut self, operand: ExprId, counts: &[i64], axis: Option<i64>, site: Site) -> ExprId {
        let result = self.try_repeat_each(operand, counts, axis, site);
        self.settle_view(result, "repeat", operand, site)
    }

    fn try_repeat_each(
        &mut self,
        operand: ExprId,
        counts: &[i64],
        axis: Option<i64>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let Some(axis) = axis else {
            let all = self.try_reshape(operand, &[None], site)?;
            return self.try_repeat_each(all, counts, Some(0), site);
        };
        let (operand, axis) = self.along(operand, axis, site)?;
        let size = self.written(operand)[axis].as_constant();
        if size.is_none_or(|size| usize::try_from(size) != Ok(counts.len())) {
            return Err(Problem::Argument(
                "takes one number, or one for each element of an axis of constant size",
            ));
        }
        let mut pieces = Operands::new();
        let mut start = 0;
        // Neighbours with equal counts form one piece.
        for run in counts.chunk_by(|left, right| left == right) {
            let stop = start + run.len() as i64;
            let range = [start, stop].map(Dim::constant);
            start = stop;
            let Some(&times) = run.first().filter(|times| **times != 0) else { continue };
            let [first, past_end] = range;
            let part = self.part(operand, axis, Some(first), Some(past_end), 1, site)?;
            pieces.push(self.repeated(part, axis, axis + 1, &Dim::constant(times), site)?);
        }
        if pieces.is_empty() {
            return self.part(operand, axis, Some(Dim::ZERO), Some(Dim::ZERO), 1, site);
        }
        self.try_concat(&pieces, axis as i64, site)
    }

    /// Repeats the whole tensor along each axis; `times` is aligned with the last axis.
    pub fn tile(&mut self, operand: ExprId, times: &[Dim], site: Site) -> ExprId {
        let result = self.try_tile(operand, times, site);
        self.settle_view(result, "tile", operand, site)
    }

    fn try_tile(&mut self, operand: ExprId, times: &[Dim], site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let rank = self.written(operand).rank();
        let added: Vec<i64> = (0..times.len().saturating_sub(rank) as i64).collect();
        let mut tiled = self.try_expand_dims(operand, &added, site)?;
        let first = self.written(tiled).rank() - times.len();
        for (axis, times) in times.iter().enumerate() {
            tiled = self.repeated(tiled, first + axis, first + axis, times, site)?;
        }
        Ok(tiled)
    }

    /// Merges an axis with a new one of `times` elements at `place`, before or after it.
    fn repeated(
        &mut self,
        operand: ExprId,
        axis: usize,
        place: usize,
        times: &Dim,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let times = self.symbols.accept(times, site)?;
        if times.is_one() {
            return Ok(operand);
        }
        if times.interval(&|symbol| self.facts(symbol)).upper < 0 {
            return Err(Problem::Argument("cannot repeat elements a negative number of times"));
        }
        let mut merged: Vec<Dim> = self.written(operand).to_vec();
        let mut shape = merged.clone();
        shape.insert(place, times.clone());
        merged[axis] = merged[axis].mul(&times).map_err(Problem::Size)?;
        let expanded = self.try_expand_dims(operand, &[place as i64], site)?;
        let stretched = self.try_broadcast_to(expanded, shape.into(), site)?;
        let sizes: Vec<Option<Dim>> = merged.into_iter().map(Some).collect();
        self.try_reshape(stretched, &sizes, site)
    }

    /// Adds elements before and after those of each axis.
    pub fn pad(&mut self, operand: ExprId, widths: &[[Dim; 2]], mode: Pad, site: Site) -> ExprId {
        let result = self.try_pad(operand, widths, mode, site);
        self.settle_view(result, "pad", operand, site)
    }

    pub(super) fn try_pad(
        &mut self,
        operand: ExprId,
        widths: &[[Dim; 2]],
        mode: Pad,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if widths.len() != self.written(operand).rank() {
            return Err(Problem::Argument("needs the widths before and after each axis"));
        }
        let mut padded = operand;
        for (axis, widths) in widths.iter().enumerate() {
            let mut pieces = Operands::new();
            for (side, width) in widths.iter().enumerate() {
                let width = self.symbols.accept(width, site)?;
                if !width.is_zero() {
                    pieces.push(self.padding(padded, axis, side == 0, &width, mode, site)?);
                }
                if side == 0 {
                    pieces.push(padded);
                }
            }
            padded = self.try_concat(&pieces, axis as i64, site)?;
        }
        Ok(padded)
    }

    /// Returns the padding before or after an axis.
    fn padding(
        &mut self,
        operand: ExprId,
        axis: usize,
        is_before: bool,
        width: &Dim,
        mode: Pad,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let mut shape = self.written(operand).to_vec();
        let size = std::mem::replace(&mut shape[axis], width.clone());
        if size.is_zero() && !matches!(mode, Pad::Constant(_)) {
            return Err(Problem::Argument(
                "cannot extend an empty axis by its own elements: pad with a constant",
            ));
        }
        if let (Some(width), Some(size)) = (width.as_constant(), size.as_constant())
            && let Some(period) = mode.period(size).filter(|_| width > mode.reach(size))
        {
            return self.periodic(operand, axis, is_before, [width, size, period], site);
        }
        let less = |larger: &Dim, smaller: &Dim| larger.sub(smaller).map_err(Problem::Size);
        let more = |width: &Dim| width.add(&Dim::ONE).map_err(Problem::Size);
        let (start, stop, step) = match (mode, is_before) {
            (Pad::Constant(value), _) => {
                if self.written(value).rank() > 0 {
                    return Err(Problem::Argument("pads with a single value, of rank 0"));
                }
                let value = self.convert(value, self.dtype(operand), site)?;
                return self.try_broadcast_to(value, shape.into(), site);
            }
            (Pad::Edge, true) => (None, Some(Dim::ONE), 1),
            (Pad::Edge, false) => (Some(less(&size, &Dim::ONE)?), None, 1),
            (Pad::Reflect, true) => (Some(Dim::ONE), Some(more(width)?), -1),
            (Pad::Reflect, false) => (Some(less(&size, &more(width)?)?), Some(less(&size, &Dim::ONE)?), -1),
            (Pad::Symmetric, true) | (Pad::Wrap, false) => {
                (None, Some(width.clone()), if mode == Pad::Wrap { 1 } else { -1 })
            }
            (Pad::Symmetric, false) | (Pad::Wrap, true) => {
                (Some(less(&size, width)?), None, if mode == Pad::Wrap { 1 } else { -1 })
            }
        };
        let part = self.part(operand, axis, start, stop, step, site)?;
        if mode == Pad::Edge { self.try_broadcast_to(part, shape.into(), site) } else { Ok(part) }
    }

    /// Returns the padding before or after an axis where the pattern repeats more than once. Elements are taken by
    /// position, which goes up through the elements and, for mirrored padding, down again.
    fn periodic(
        &mut self,
        operand: ExprId,
        axis: usize,
        is_before: bool,
        [width, size, period]: [i64; 3],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let first = if is_before { width.checked_neg() } else { Some(size) };
        let first = first.map(|first| first.rem_euclid(period)).ok_or(Problem::TooManyElements)?;
        // Positions run to the end of the axis and back; `Symmetric` repeats the last element.
        let turn = Scalar::I64(if period == 2 * size { period - 1 } else { period });
        let [first, period_value, turn] =
            [Scalar::I64(first), Scalar::I64(period), turn].map(|value| self.insert_constant(value, site));
        let (first, period_value, turn) = (first?, period_value?, turn?);
        let position = self.try_iota(Dim::constant(width), site)?;
        let position = self.try_elementwise(Op::Add, &[position, first], site)?;
        let mut position = self.try_elementwise(Op::Remainder, &[position, period_value], site)?;
        if period != size {
            let down = self.try_elementwise(Op::Subtract, &[turn, position], site)?;
            position = self.try_elementwise(Op::Minimum, &[position, down], site)?;
        }
        self.try_take(operand, position, axis as i64, site)
    }

    /// Returns the elements of two axes whose second index is the first plus `offset`, along a new last axis. Sizes
    /// that are not equal must be constants.
    pub fn diagonal(&mut self, operand: ExprId, offset: i64, axes: [i64; 2], site: Site) -> ExprId {
        let result = self.try_diagonal(operand, offset, axes, site);
        self.settle_view(result, "diagonal", operand, site)
    }

    /// Returns the sum of [`Graph::diagonal`].
    pub fn trace(&mut self, operand: ExprId, offset: i64, axes: [i64; 2], site: Site) -> ExprId {
        let result = self.try_diagonal(operand, offset, axes, site).and_then(|diagonal| {
            self.try_reduce(ReduceOp::Sum, diagonal, Some(&[-1]), false, Empty::Refused, site)
        });
        self.settle_view(result, "trace", operand, site)
    }

    pub(super) fn try_diagonal(
        &mut self,
        operand: ExprId,
        offset: i64,
        axes: [i64; 2],
        site: Site,
    ) -> Result<ExprId, Problem> {
        let shape = self.written(operand).clone();
        let plane = resolve_axes(&axes, shape.rank())?;
        // The row and column where the diagonal starts.
        let starts = [offset.saturating_neg().max(0), offset.max(0)].map(Dim::constant);
        let mut left = [Dim::ZERO, Dim::ZERO];
        for (left, (axis, start)) in left.iter_mut().zip(plane.iter().zip(&starts)) {
            *left = shape[*axis].sub(start).map_err(Problem::Size)?;
        }
        let spare = left[0].sub(&left[1]).map_err(Problem::Size)?.interval(&|symbol| self.facts(symbol));
        let length = match () {
            () if spare.upper <= 0 => left[0].clone(),
            () if spare.lower >= 0 => left[1].clone(),
            () => {
                return Err(Problem::Argument(
                    "needs to know which of the two sizes is smaller: `slice` the axes first",
                ));
            }
        };
        let length = if length.as_constant().is_some_and(|length| length < 0) { Dim::ZERO } else { length };
        let mut specs = vec![SliceSpec::All; shape.rank()];
        for (axis, start) in plane.iter().zip(starts) {
            let start = if length.is_zero() { Dim::ZERO } else { start };
            let stop = start.add(&length).map_err(Problem::Size)?;
            specs[*axis] = SliceSpec::Range { start: Some(start), stop: Some(stop), step: 1 };
        }
        let square = self.try_slice(operand, &specs, site)?;
        let others: Vec<usize> = (0..shape.rank()).filter(|axis| !plane.contains(axis)).collect();
        let first = self.take_diagonal(square, &plane, &others, site)?;
        let order: Vec<i64> = (1..=others.len() as i64).chain([0]).collect();
        self.try_permute(first, &order, site)
    }

    /// For each index, returns the element of the table at that position of the axis, and at the position of the
    /// index along all other axes, where the table or the indices may be stretched from 1.
    pub fn take_along_axis(&mut self, table: ExprId, indices: ExprId, axis: i64, site: Site) -> ExprId {
        let result = self.try_take_along_axis(table, indices, axis, site);
        if self.any_poisoned(&[table, indices]) {
            return self.poison();
        }
        self.settle(result, "take_along_axis", &[table, indices], site)
    }

    /// The table is indexed in row-major order: by the positions on all axes, each times the product of the sizes
    /// after it.
    pub(super) fn try_take_along_axis(
        &mut self,
        table: ExprId,
        indices: ExprId,
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let index = self.as_index(indices, site)?;
        let shape = self.written(table).clone();
        let axis = resolve_axis(axis, shape.rank())?;
        let rank = self.written(indices).rank();
        if rank != shape.rank() {
            return Err(Problem::Rank { name: "the indices".into(), expected: shape.rank(), rank });
        }
        // The indices stretch to the table's sizes on all other axes, which is checked separately.
        let mut wanted = shape.to_vec();
        wanted[axis] = self.written(indices)[axis].clone();
        for (wanted, own) in wanted.iter_mut().zip(self.written(indices).iter()) {
            if wanted.is_one() {
                *wanted = own.clone();
            }
        }
        let index = self.try_broadcast_to(index, wanted.into(), site)?;
        // These positions count along the axis: an index out of range is reported as the user gave it, and a
        // negative one counts from the end.
        let along = self.try_iota(shape[axis].clone(), site)?;
        let place = self.try_take(along, index, 0, site)?;
        let mut flat = place;
        let after = Dim::product(&shape[axis + 1..]).map_err(Problem::Size)?;
        if !after.is_one() {
            let step = self.try_size(after, site)?;
            flat = self.try_elementwise(Op::Multiply, &[flat, step], site)?;
        }
        for (other, dim) in shape.iter().enumerate().filter(|(other, dim)| *other != axis && !dim.is_one()) {
            let step = self.try_size(Dim::product(&shape[other + 1..]).map_err(Problem::Size)?, site)?;
            let along = self.try_iota(dim.clone(), site)?;
            let along = self.try_elementwise(Op::Multiply, &[along, step], site)?;
            let new: Vec<i64> = (1..(shape.rank() - other) as i64).collect();
            let along = self.try_expand_dims(along, &new, site)?;
            flat = self.try_elementwise(Op::Add, &[flat, along], site)?;
        }
        let all = self.try_reshape(table, &[None], site)?;
        self.try_take(all, flat, 0, site)
    }

    /// Settles an op composed on one operand; if the operand is poisoned, nothing more is reported.
    pub(super) fn settle_view(
        &mut self,
        result: Result<ExprId, Problem>,
        name: &str,
        operand: ExprId,
        site: Site,
    ) -> ExprId {
        if self.is_poisoned(operand) {
            return operand;
        }
        self.settle(result, name, &[operand], site)
    }
}
