//! Views: the same elements under other indices. A view that changes nothing is its operand.

use super::infer::{self, StretchError};
use super::reduction::{reduced_axes, resolve_axes, resolve_axis};
use super::{
    Axes, Cause, Compared, Demand, Equation, Fit, Graph, Node, Obligation, Permutation, Site, SliceAxis, View,
};
use crate::dim::Dim;
use crate::ids::ExprId;
use crate::problem::{Problem, Requirement};
use crate::shape::{MAX_RANK, Shape};
use smallvec::smallvec;

/// The part of an axis to take. Negative constants count from the end of the axis. Bounds are strict: `0..16` of
/// `n` elements requires `n >= 16`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceSpec {
    /// The whole axis.
    All,
    /// Every `step`-th of the elements `start..stop`; a negative step goes backwards from the last one.
    Range {
        /// The first element; 0 if absent.
        start: Option<Dim>,
        /// The position after the last element; the size of the axis if absent.
        stop: Option<Dim>,
        /// The step; not zero.
        step: i64,
    },
    /// One element; the axis disappears.
    At(Dim),
    /// A new axis of the literal size 1, which consumes no axis of the operand.
    NewAxis,
}

/// The part of a tensor that slices describe.
#[derive(Debug, Default)]
pub(super) struct Region {
    /// For each axis of the tensor.
    pub parts: Vec<SliceAxis>,
    /// The size on each axis of the tensor.
    pub sizes: Vec<Dim>,
    /// The axes of one element that an index removes.
    pub dropped: Vec<i64>,
    /// The axes that are added, by their positions in the result.
    pub new: Vec<i64>,
    /// The demands on sizes.
    pub obligations: Vec<(Dim, Requirement)>,
}

/// Whether a region of some sizes is all of a tensor of the shape `source`, in its order.
pub(super) fn is_whole(parts: &[SliceAxis], sizes: &Shape, source: &Shape) -> bool {
    sizes == source && parts.iter().all(|part| part.start.is_zero() && part.step == 1)
}

/// Returns the order that undoes a permutation of axes.
pub(super) fn inverse(order: &[usize]) -> Vec<i64> {
    let place = |axis: usize| order.iter().position(|from| *from == axis);
    (0..order.len()).filter_map(place).map(|to| to as i64).collect()
}

/// Returns axes as numbers that may count from the end.
pub(super) fn signed(axes: &[usize]) -> Vec<i64> {
    axes.iter().map(|&axis| axis as i64).collect()
}

impl Graph {
    /// Returns the same elements in row-major order under other sizes. One size (`None`) may be inferred.
    pub fn reshape(&mut self, operand: ExprId, dims: &[Option<Dim>], site: Site) -> ExprId {
        let result = self.try_reshape(operand, dims, site);
        self.settle(result, "reshape", &[operand], site)
    }

    pub(super) fn try_reshape(
        &mut self,
        operand: ExprId,
        dims: &[Option<Dim>],
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        if dims.len() > MAX_RANK {
            return Err(Problem::RankTooLarge { rank: dims.len() });
        }
        let mut wanted = Vec::new();
        for dim in dims {
            wanted.push(dim.as_ref().map(|dim| self.symbols.accept(dim, site)).transpose()?);
        }
        let source = self.written(operand).clone();
        let have = source.elements().map_err(Problem::Size)?;
        let given = Dim::product(wanted.iter().flatten()).map_err(Problem::Size)?;
        let shape: Shape = match wanted.iter().filter(|dim| dim.is_none()).count() {
            0 => {
                let cause =
                    Cause { op: "reshape", operands: smallvec![operand], site, compared: Compared::Count };
                if let Fit::Clash(certainty) = self.unifier.meet(&self.symbols, &have, &given, &cause) {
                    let only_if = Box::new(self.only_if(&have, &given));
                    let wanted = wanted.iter().flatten().map(|dim| self.size(dim)).collect();
                    let (have, want) = (self.size(&have), self.size(&given));
                    return Err(Problem::Count { wanted, have, want, certainty, only_if });
                }
                wanted.into_iter().flatten().collect()
            }
            1 => {
                let inferred = self.quotient(operand, &have, &given, site)?;
                wanted.into_iter().map(|dim| dim.unwrap_or_else(|| inferred.clone())).collect()
            }
            _ => return Err(Problem::TwoInferred),
        };
        if shape == source {
            return Ok(operand);
        }
        let obligations = self.require_sizes(&shape, &source)?;
        self.insert_view(View::Reshape, operand, shape, obligations, site)
    }

    /// Returns the number of elements divided by the product of the given sizes. While inferred sizes are unknown,
    /// the quotient is an inferred size too.
    fn quotient(&mut self, operand: ExprId, have: &Dim, given: &Dim, site: Site) -> Result<Dim, Problem> {
        let resolved = [self.resolved_dim(have), self.resolved_dim(given)];
        if let Some(quotient) = resolved[0].exact_div(&resolved[1]) {
            return Ok(quotient);
        }
        let is_open = resolved.iter().flat_map(Dim::symbols).any(|symbol| self.symbols.is_flexible(symbol));
        if !is_open {
            let [have, by] = resolved;
            let multiple = self.stated_multiple(&have, &by);
            return Err(Problem::Indivisible { have: self.size(&have), by: self.size(&by), multiple });
        }
        let quotient = self.symbols.quotient(site);
        let right = Dim::symbol(quotient).mul(given).map_err(Problem::Size)?;
        let compared = Compared::Quotient { by: given.clone(), quotient };
        let cause = Cause { op: "reshape", operands: smallvec![operand], site, compared };
        self.unifier.settle(&self.symbols, Equation { left: have.clone(), right, cause });
        Ok(Dim::symbol(quotient))
    }

    /// Returns `(n, k)` if the quotient becomes a size once the symbol `n` is declared a multiple of `k`.
    pub(super) fn stated_multiple(&self, have: &Dim, by: &Dim) -> Option<(Box<str>, i64)> {
        /// The greatest factor tried directly; greater ones are tried as quotients of the size by these.
        const MOST: i64 = 4096;
        let by = by.as_constant().filter(|by| *by > 0)?;
        let least: Vec<i64> = (1..=MOST.min(by)).filter(|k| by % k == 0).collect();
        let greatest = least.iter().rev().map(|k| by / k).filter(|k| *k > MOST);
        let factors: Vec<i64> = least.iter().copied().chain(greatest).skip(1).collect();
        have.symbols().into_iter().find_map(|symbol| {
            let k = factors.iter().copied().find(|k| {
                let multiple = Dim::symbol(symbol).scale(*k).and_then(|n| have.substitute(symbol, &n));
                multiple.is_ok_and(|have| have.exact_div(&Dim::constant(by)).is_some())
            })?;
            let info = self.symbols.get(symbol)?;
            Some((info.name.clone(), k.checked_mul(info.unit)?))
        })
    }

    /// Replaces sizes by equal ones where shapes do not show the equality; each call checks it. `None` keeps a
    /// size. This is the only way to turn a symbol into a literal 1.
    pub fn rebind(&mut self, operand: ExprId, dims: &[Option<Dim>], site: Site) -> ExprId {
        let result = self.try_rebind(operand, dims, site);
        self.settle(result, "rebind", &[operand], site)
    }

    fn try_rebind(&mut self, operand: ExprId, dims: &[Option<Dim>], site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let source = self.written(operand).clone();
        if dims.len() != source.rank() {
            return Err(Problem::Rank {
                name: "the operand".into(),
                expected: dims.len(),
                rank: source.rank(),
            });
        }
        let mut sizes = Vec::new();
        let mut demands = Vec::new();
        for (axis, (dim, have)) in dims.iter().zip(&source).enumerate() {
            let size = match dim {
                Some(dim) => self.symbols.accept(dim, site)?,
                None => have.clone(),
            };
            let (known, wanted) = (self.resolved_dim(have), self.resolved_dim(&size));
            if known != wanted {
                if known.sub(&wanted).is_ok_and(|spare| spare.is_never_zero(&|symbol| self.facts(symbol))) {
                    let (left, right) = (self.size(have), self.size(&size));
                    return Err(Problem::NeverRebound { axis, sizes: Box::new([left, right]) });
                }
                demands.push(Demand::Equal(have.clone(), size.clone()));
            }
            sizes.push(size);
        }
        let shape = Shape::from(sizes);
        if shape == source {
            return Ok(operand);
        }
        let expr = self.insert_view(View::Rebind, operand, shape, Vec::new(), site)?;
        let requirement = Requirement::Rebound;
        let origin = Some(expr);
        let obligation =
            |demand| Obligation { demand, origin, site, requirement, call: None, bounds_size: false };
        self.obligations.extend(demands.into_iter().map(obligation));
        Ok(expr)
    }

    /// Permutes the axes: axis `i` of the result is axis `axes[i]` of the operand.
    pub fn permute_dims(&mut self, operand: ExprId, axes: &[i64], site: Site) -> ExprId {
        let result = self.try_permute(operand, axes, site);
        self.settle(result, "permute_dims", &[operand], site)
    }

    pub(super) fn try_permute(
        &mut self,
        operand: ExprId,
        axes: &[i64],
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let source = self.written(operand);
        let permutation: Permutation = resolve_axes(axes, source.rank())?;
        if permutation.len() != source.rank() {
            return Err(Problem::NotPermutation { given: axes.len(), rank: source.rank() });
        }
        if permutation.is_sorted() {
            return Ok(operand);
        }
        let shape = permutation.iter().map(|&axis| source[axis].clone()).collect();
        self.insert_view(View::Permute(permutation), operand, shape, Vec::new(), site)
    }

    /// Inserts axes of the literal size 1; `axes` are those of the result.
    pub fn expand_dims(&mut self, operand: ExprId, axes: &[i64], site: Site) -> ExprId {
        let result = self.try_expand_dims(operand, axes, site);
        self.settle(result, "expand_dims", &[operand], site)
    }

    pub(super) fn try_expand_dims(
        &mut self,
        operand: ExprId,
        axes: &[i64],
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) || axes.is_empty() {
            return Ok(operand);
        }
        let source = self.written(operand);
        let rank = source.rank() + axes.len();
        if rank > MAX_RANK {
            return Err(Problem::RankTooLarge { rank });
        }
        let mut axes: Axes = resolve_axes(axes, rank)?;
        axes.sort_unstable();
        let mut old = source.iter();
        let dim = |axis| if axes.contains(&axis) { Some(Dim::ONE) } else { old.next().cloned() };
        let shape = (0..rank).filter_map(dim).collect();
        self.insert_view(View::ExpandDims(axes), operand, shape, Vec::new(), site)
    }

    /// Removes axes, which must be of the literal size 1. As in NumPy, a tensor without axes accepts the axis 0 or -1.
    pub fn squeeze(&mut self, operand: ExprId, axes: &[i64], site: Site) -> ExprId {
        let result = self.try_squeeze(operand, axes, site);
        self.settle(result, "squeeze", &[operand], site)
    }

    pub(super) fn try_squeeze(
        &mut self,
        operand: ExprId,
        axes: &[i64],
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) || axes.is_empty() {
            return Ok(operand);
        }
        let source = self.written(operand);
        let mut axes = reduced_axes(Some(axes), source.rank())?;
        axes.sort_unstable();
        if axes.is_empty() {
            return Ok(operand);
        }
        if let Some(&axis) = axes.iter().find(|&&axis| !source[axis].is_one()) {
            return Err(Problem::NotOne { axis, size: self.size(&source[axis]) });
        }
        let left = source.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        let shape = left.map(|(_, dim)| dim.clone()).collect();
        self.insert_view(View::Squeeze(axes), operand, shape, Vec::new(), site)
    }

    /// Stretches the operand to a shape: each of its axes is the literal 1 or the wanted size.
    pub fn broadcast_to(&mut self, operand: ExprId, shape: Shape, site: Site) -> ExprId {
        let result = self.try_broadcast_to(operand, shape, site);
        self.settle(result, "broadcast_to", &[operand], site)
    }

    pub(super) fn try_broadcast_to(
        &mut self,
        operand: ExprId,
        shape: Shape,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        if shape.rank() > MAX_RANK {
            return Err(Problem::RankTooLarge { rank: shape.rank() });
        }
        let mut wanted = Vec::new();
        for dim in &shape {
            wanted.push(self.symbols.accept(dim, site)?);
        }
        let shape = Shape::from(wanted);
        let source = self.written(operand).clone();
        let stretched = self
            .comparing("broadcast_to", &[operand], site, |compare| infer::stretch(&source, &shape, compare));
        stretched.map_err(|error| match error {
            StretchError::Rank => Problem::RankTooSmall { wanted: shape.rank(), rank: source.rank() },
            StretchError::Clashes(clashes) => Problem::Stretch {
                wanted: self.sizes(&shape),
                conflicts: self.conflicts(clashes, &["operand", "wanted"]),
            },
        })?;
        if source == shape {
            return Ok(operand);
        }
        let obligations = self.require_sizes(&shape, &source)?;
        self.insert_view(View::BroadcastTo, operand, shape, obligations, site)
    }

    /// Takes parts of axes, single elements and new axes, from the first axis on; remaining axes stay whole.
    pub fn slice(&mut self, operand: ExprId, slices: &[SliceSpec], site: Site) -> ExprId {
        self.slice_as("slice", operand, slices, site)
    }

    /// Slices like [`Graph::slice`]; messages name the function that the user called: `slice`, `slice_axis` or
    /// `index`.
    pub fn slice_as(&mut self, name: &str, operand: ExprId, slices: &[SliceSpec], site: Site) -> ExprId {
        let result = self.try_slice(operand, slices, site);
        self.settle(result, name, &[operand], site)
    }

    pub(super) fn try_slice(
        &mut self,
        operand: ExprId,
        slices: &[SliceSpec],
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let source = self.written(operand).clone();
        let Region { parts, sizes, dropped, new, obligations } = self.region(&source, slices, site)?;
        let shape = Shape::from(sizes);
        let sliced = match is_whole(&parts, &shape, &source) {
            true => operand,
            false => self.insert_view(View::Slice(parts.into()), operand, shape, obligations, site)?,
        };
        let squeezed = self.try_squeeze(sliced, &dropped, site)?;
        self.try_expand_dims(squeezed, &new, site)
    }

    /// Returns the region of a tensor of the shape `source` that slices describe.
    pub(super) fn region(
        &mut self,
        source: &Shape,
        slices: &[SliceSpec],
        site: Site,
    ) -> Result<Region, Problem> {
        let given = slices.iter().filter(|slice| **slice != SliceSpec::NewAxis).count();
        if given > source.rank() {
            return Err(Problem::TooManyIndices { given, rank: source.rank() });
        }
        if slices.len() > 2 * MAX_RANK {
            return Err(Problem::RankTooLarge { rank: slices.len() - given });
        }
        let mut region = Region::default();
        let whole = std::iter::repeat_n(&SliceSpec::All, source.rank() - given);
        for slice in slices.iter().chain(whole) {
            let axis = region.parts.len();
            if *slice == SliceSpec::NewAxis {
                region.new.push((axis - region.dropped.len() + region.new.len()) as i64);
                continue;
            }
            let (part, size) = self.slice_axis(slice, axis, &source[axis], &mut region.obligations, site)?;
            if matches!(slice, SliceSpec::At(_)) {
                region.dropped.push(axis as i64);
            }
            region.parts.push(part);
            region.sizes.push(size);
        }
        Ok(region)
    }

    /// Returns start, step and size of the part taken of an axis of size `whole`.
    fn slice_axis(
        &mut self,
        slice: &SliceSpec,
        axis: usize,
        whole: &Dim,
        obligations: &mut Vec<(Dim, Requirement)>,
        site: Site,
    ) -> Result<(SliceAxis, Dim), Problem> {
        let mut position = |dim: &Dim| -> Result<Dim, Problem> {
            let dim = self.symbols.accept(dim, site)?;
            match dim.as_constant() {
                Some(constant) if constant < 0 => whole.add(&dim).map_err(Problem::Size),
                _ => Ok(dim),
            }
        };
        let (first, last) = match slice {
            SliceSpec::All | SliceSpec::NewAxis => (None, None),
            SliceSpec::At(index) => (Some(position(index)?), None),
            SliceSpec::Range { start, stop, .. } => (
                start.as_ref().map(&mut position).transpose()?,
                stop.as_ref().map(&mut position).transpose()?,
            ),
        };
        let mut require = |larger: &Dim, smaller: &Dim, requirement| -> Result<(), Problem> {
            let spare = larger.sub(smaller).map_err(Problem::Size)?;
            self.require(spare, requirement, obligations).map_err(|value| {
                value.neg().map_or_else(Problem::Size, |by| self.outside(axis, requirement, &by))
            })
        };
        match slice {
            SliceSpec::All | SliceSpec::NewAxis => {
                Ok((SliceAxis { start: Dim::ZERO, step: 1 }, whole.clone()))
            }
            SliceSpec::At(_) => {
                let start = first.unwrap_or(Dim::ZERO);
                require(&start, &Dim::ZERO, Requirement::IndexStart)?;
                let last = whole.sub(&Dim::ONE).map_err(Problem::Size)?;
                require(&last, &start, Requirement::IndexStop)?;
                Ok((SliceAxis { start, step: 1 }, Dim::ONE))
            }
            SliceSpec::Range { step, .. } => {
                let start = first.unwrap_or(Dim::ZERO);
                let stop = last.unwrap_or(whole.clone());
                // A constant stop before the first element is wrong wherever the slice starts.
                if stop.as_constant().is_some() {
                    require(&stop, &Dim::ZERO, Requirement::SliceOrder)?;
                }
                require(&start, &Dim::ZERO, Requirement::SliceStart)?;
                require(&stop, &start, Requirement::SliceOrder)?;
                require(whole, &stop, Requirement::SliceStop)?;
                let stride = step.checked_abs().ok_or(Problem::TooManyElements)?;
                if stride == 0 {
                    return Err(Problem::ZeroStep);
                }
                let size = stop.sub(&start).and_then(|span| span.ceil_div(stride)).map_err(Problem::Size)?;
                let first = if *step > 0 { start } else { stop.sub(&Dim::ONE).map_err(Problem::Size)? };
                Ok((SliceAxis { start: first, step: *step }.of_size(&size), size))
            }
        }
    }

    /// Returns every window of `width` elements along an axis: the axis counts positions, and the elements of a
    /// window lie along a new last axis. Windows overlap, and nothing is copied.
    pub fn windows(&mut self, operand: ExprId, width: Dim, axis: i64, site: Site) -> ExprId {
        let result = self.try_windows(operand, &width, axis, site);
        self.settle(result, "sliding_window_view", &[operand], site)
    }

    pub(super) fn try_windows(
        &mut self,
        operand: ExprId,
        width: &Dim,
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let source = self.written(operand).clone();
        let axis = resolve_axis(axis, source.rank())?;
        let width = self.symbols.accept(width, site)?;
        let mut obligations = self.require_sizes(std::slice::from_ref(&width), &[])?;
        let spare = source[axis].sub(&width).map_err(Problem::Size)?;
        if let Err(spare) = self.require(spare.clone(), Requirement::Window, &mut obligations) {
            let by = spare.neg().map_err(Problem::Size)?;
            return Err(self.outside(axis, Requirement::Window, &by));
        }
        let places = spare.add(&Dim::ONE).map_err(Problem::Size)?;
        let sizes = source.iter().enumerate().map(|(of, dim)| if of == axis { &places } else { dim });
        let shape = sizes.chain([&width]).cloned().collect();
        self.insert_view(View::Windows(axis), operand, shape, obligations, site)
    }

    /// Returns every `step`-th [window](Graph::windows) along an axis.
    pub fn unfold(&mut self, operand: ExprId, width: Dim, axis: i64, step: i64, site: Site) -> ExprId {
        let result = self.try_unfold(operand, &width, axis, step, site);
        self.settle(result, "unfold", &[operand], site)
    }

    fn try_unfold(
        &mut self,
        operand: ExprId,
        width: &Dim,
        axis: i64,
        step: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        if step < 1 {
            return Err(Problem::Argument("needs a positive `step`"));
        }
        let axis = resolve_axis(axis, self.written(operand).rank())?;
        let windows = self.try_windows(operand, width, axis as i64, site)?;
        self.part(windows, axis, None, None, step, site)
    }

    fn outside(&self, axis: usize, requirement: Requirement, by: &Dim) -> Problem {
        Problem::Outside { axis, requirement, by: self.size(by) }
    }

    pub(super) fn insert_view(
        &mut self,
        view: View,
        operand: ExprId,
        shape: Shape,
        obligations: Vec<(Dim, Requirement)>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let dtype = self.dtype(operand);
        self.insert(Node::View { view, operand }, dtype, shape, obligations, site)
    }
}
