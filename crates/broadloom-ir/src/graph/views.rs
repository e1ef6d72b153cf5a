//! Views: the same elements under other indices. A view that changes nothing is its operand.

use super::infer::{self, StretchError};
use super::reduction::resolve_axes;
use super::{Axes, Graph, Node, Permutation, Site, SliceAxis, View};
use crate::diagnostics::{Problem, Requirement};
use crate::dim::Dim;
use crate::ids::ExprId;
use crate::shape::{MAX_RANK, Shape};

/// What to take of an axis. Negative constants count from the end of the axis. Bounds are strict: `0..16` of `n`
/// elements demands `n >= 16`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SliceSpec {
    /// All of it.
    All,
    /// The elements `start..stop`, every `step`-th of them; for a negative step from the last one backwards.
    Range {
        /// First element; 0 if absent.
        start: Option<Dim>,
        /// After the last element; the size of the axis if absent.
        stop: Option<Dim>,
        /// Not zero.
        step: i64,
    },
    /// One element; the axis disappears.
    At(Dim),
    /// A new axis of the literal size 1, which takes no axis of the operand.
    NewAxis,
}

impl Graph {
    /// The same elements in row-major order under other sizes, of which one (`None`) may be left to inference.
    pub fn reshape(&mut self, operand: ExprId, dims: &[Option<Dim>], site: Site) -> ExprId {
        let result = self.try_reshape(operand, dims, site);
        self.settle(result, "reshape", &[operand], site)
    }

    fn try_reshape(&mut self, operand: ExprId, dims: &[Option<Dim>], site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        if dims.len() > MAX_RANK {
            return Err(Problem::RankTooLarge { rank: dims.len() });
        }
        self.check_symbols(dims.iter().flatten())?;
        let source = self.shape(operand).clone();
        let have = source.elements().map_err(Problem::Size)?;
        let given = Dim::product(dims.iter().flatten()).map_err(Problem::Size)?;
        let shape: Shape = match dims.iter().filter(|dim| dim.is_none()).count() {
            0 if given != have => {
                let wanted = dims.iter().flatten().map(|dim| self.size(dim)).collect();
                let certainty = infer::certainty(&have, &given, &|symbol| self.facts(symbol));
                let only_if = Box::new(self.only_if(&have, &given));
                let (have, want) = (self.size(&have), self.size(&given));
                return Err(Problem::Count { wanted, have, want, certainty, only_if });
            }
            0 => dims.iter().flatten().cloned().collect(),
            1 => {
                let Some(inferred) = have.exact_div(&given) else {
                    return Err(Problem::Indivisible { have: self.size(&have), by: self.size(&given) });
                };
                dims.iter().map(|dim| dim.clone().unwrap_or_else(|| inferred.clone())).collect()
            }
            _ => return Err(Problem::TwoInferred),
        };
        if shape == source {
            return Ok(operand);
        }
        let obligations = self.require_sizes(&shape, &source)?;
        self.insert_view(View::Reshape, operand, shape, obligations, site)
    }

    /// Axis `i` of the result is axis `axes[i]` of the operand.
    pub fn permute_dims(&mut self, operand: ExprId, axes: &[i64], site: Site) -> ExprId {
        let result = self.try_permute(operand, axes, site);
        self.settle(result, "permute_dims", &[operand], site)
    }

    fn try_permute(&mut self, operand: ExprId, axes: &[i64], site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let source = self.shape(operand);
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
        let source = self.shape(operand);
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

    /// Removes axes, which must be of the literal size 1.
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
        let source = self.shape(operand);
        let mut axes: Axes = resolve_axes(axes, source.rank())?;
        axes.sort_unstable();
        if let Some(&axis) = axes.iter().find(|&&axis| !source[axis].is_one()) {
            return Err(Problem::NotOne { axis, size: self.size(&source[axis]) });
        }
        let left = source.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        let shape = left.map(|(_, dim)| dim.clone()).collect();
        self.insert_view(View::Squeeze(axes), operand, shape, Vec::new(), site)
    }

    /// The operand stretched to a shape: each of its axes is the literal 1 or the wanted size.
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
        self.check_symbols(&shape)?;
        let source = self.shape(operand);
        infer::stretch(source, &shape, &|symbol| self.facts(symbol)).map_err(|error| match error {
            StretchError::Rank => Problem::RankTooSmall { wanted: shape.rank(), rank: source.rank() },
            StretchError::Clashes(clashes) => Problem::Stretch {
                wanted: self.sizes(&shape),
                conflicts: self.conflicts(clashes, &["operand", "wanted"]),
            },
        })?;
        if *source == shape {
            return Ok(operand);
        }
        let obligations = self.require_sizes(&shape, source)?;
        self.insert_view(View::BroadcastTo, operand, shape, obligations, site)
    }

    /// Parts of axes, single elements and new axes, from the first axis on; axes that are not named stay whole.
    pub fn slice(&mut self, operand: ExprId, slices: &[SliceSpec], site: Site) -> ExprId {
        let result = self.try_slice(operand, slices, site);
        self.settle(result, "slice", &[operand], site)
    }

    fn try_slice(&mut self, operand: ExprId, slices: &[SliceSpec], site: Site) -> Result<ExprId, Problem> {
        if self.is_poisoned(operand) {
            return Ok(operand);
        }
        let source = self.shape(operand).clone();
        let given = slices.iter().filter(|slice| **slice != SliceSpec::NewAxis).count();
        if given > source.rank() {
            return Err(Problem::TooManyIndices { given, rank: source.rank() });
        }
        if slices.len() > 2 * MAX_RANK {
            return Err(Problem::RankTooLarge { rank: slices.len() - given });
        }
        let mut obligations = Vec::new();
        let mut parts = Vec::new();
        let mut sizes = Vec::new();
        let mut dropped = Vec::new();
        let mut new = Vec::new();
        let whole = std::iter::repeat_n(&SliceSpec::All, source.rank() - given);
        for slice in slices.iter().chain(whole) {
            let axis = parts.len();
            if *slice == SliceSpec::NewAxis {
                new.push((axis - dropped.len() + new.len()) as i64);
                continue;
            }
            let (part, size) = self.slice_axis(slice, axis, &source[axis], &mut obligations)?;
            if matches!(slice, SliceSpec::At(_)) {
                dropped.push(axis as i64);
            }
            parts.push(part);
            sizes.push(size);
        }
        let shape = Shape::from(sizes);
        let is_whole = shape == source && parts.iter().all(|part| part.start.is_zero() && part.step == 1);
        let sliced = match is_whole {
            true => operand,
            false => self.insert_view(View::Slice(parts.into()), operand, shape, obligations, site)?,
        };
        let squeezed = self.try_squeeze(sliced, &dropped, site)?;
        self.try_expand_dims(squeezed, &new, site)
    }

    /// Start, step and size of what is taken of an axis of size `whole`.
    fn slice_axis(
        &self,
        slice: &SliceSpec,
        axis: usize,
        whole: &Dim,
        obligations: &mut Vec<(Dim, Requirement)>,
    ) -> Result<(SliceAxis, Dim), Problem> {
        let position = |dim: &Dim| -> Result<Dim, Problem> {
            self.check_symbols([dim])?;
            match dim.as_constant() {
                Some(constant) if constant < 0 => whole.add(dim).map_err(Problem::Size),
                _ => Ok(dim.clone()),
            }
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
            SliceSpec::At(index) => {
                let start = position(index)?;
                require(&start, &Dim::ZERO, Requirement::IndexStart)?;
                let last = whole.sub(&Dim::ONE).map_err(Problem::Size)?;
                require(&last, &start, Requirement::IndexStop)?;
                Ok((SliceAxis { start, step: 1 }, Dim::ONE))
            }
            SliceSpec::Range { start, stop, step } => {
                let start = start.as_ref().map_or(Ok(Dim::ZERO), position)?;
                let stop = stop.as_ref().map_or(Ok(whole.clone()), position)?;
                require(&start, &Dim::ZERO, Requirement::SliceStart)?;
                require(&stop, &start, Requirement::SliceOrder)?;
                require(whole, &stop, Requirement::SliceStop)?;
                let stride = step.checked_abs().ok_or(Problem::TooManyElements)?;
                if stride == 0 {
                    return Err(Problem::ZeroStep);
                }
                let size = stop.sub(&start).and_then(|span| span.ceil_div(stride)).map_err(Problem::Size)?;
                let first = if *step > 0 { start } else { stop.sub(&Dim::ONE).map_err(Problem::Size)? };
                // Where at most one element is taken, every step is the same view.
                let part = match size.as_constant() {
                    Some(0) => SliceAxis { start: Dim::ZERO, step: 1 },
                    Some(1) => SliceAxis { start: first, step: 1 },
                    _ => SliceAxis { start: first, step: *step },
                };
                Ok((part, size))
            }
        }
    }

    fn outside(&self, axis: usize, requirement: Requirement, by: &Dim) -> Problem {
        Problem::Outside { axis, requirement, by: self.size(by) }
    }

    fn insert_view(
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
