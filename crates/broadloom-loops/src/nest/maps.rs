//! Affine maps: the positions of a node's elements, in terms of the loops of a kernel.

use crate::LowerError;
use crate::flat::{Flat, FlatId, Kind, Replaced};
use crate::kernel::{AxisId, ValueId};
use broadloom_ir::dim::Dim;
use smallvec::{SmallVec, smallvec};

/// One axis of a tensor as a function of a loop axis: `start + step * axis`, plus the terms that reshapes add.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct AffineIndex {
    pub axis: Option<AxisId>,
    pub step: i64,
    pub start: Dim,
    /// Further terms: `factor * term` each. If there are several terms, all of them are here.
    pub more: Vec<(Term, Dim)>,
}

/// A variable part of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Term {
    /// The position on a loop axis.
    Axis(AxisId),
    /// A value (i64).
    Value(ValueId),
}

impl AffineIndex {
    pub fn at(position: i64) -> AffineIndex {
        AffineIndex::at_dim(Dim::constant(position))
    }

    pub fn at_dim(start: Dim) -> AffineIndex {
        AffineIndex { axis: None, step: 0, start, more: Vec::new() }
    }

    pub fn along(axis: AxisId) -> AffineIndex {
        AffineIndex { axis: Some(axis), step: 1, start: Dim::ZERO, more: Vec::new() }
    }

    /// Returns the index given by a value.
    pub fn by_value(value: ValueId) -> AffineIndex {
        AffineIndex { more: vec![(Term::Value(value), Dim::ONE)], ..AffineIndex::at(0) }
    }

    /// Returns the sum of indices, each times a number of elements.
    pub fn sum<'i>(
        parts: impl IntoIterator<Item = (&'i AffineIndex, Dim)>,
    ) -> Result<AffineIndex, LowerError> {
        let mut start = Dim::ZERO;
        let mut more: Vec<(Term, Dim)> = Vec::new();
        for (index, factor) in parts {
            start = start.add(&index.start.mul(&factor)?)?;
            for (term, step) in index.terms() {
                let step = step.mul(&factor)?;
                match more.iter_mut().find(|(of, _)| *of == term) {
                    Some((_, sum)) => *sum = sum.add(&step)?,
                    None => more.push((term, step)),
                }
            }
        }
        if let [(Term::Axis(axis), step)] = more.as_slice()
            && let Some(step) = step.as_constant()
        {
            return Ok(AffineIndex { axis: Some(*axis), step, start, more: Vec::new() });
        }
        Ok(AffineIndex { more, ..AffineIndex::at_dim(start) })
    }

    /// Returns its variable terms, and the number of elements per step.
    pub fn terms(&self) -> impl Iterator<Item = (Term, Dim)> {
        let first = self.axis.map(|axis| (Term::Axis(axis), Dim::constant(self.step)));
        first.into_iter().chain(self.more.iter().cloned())
    }

    /// Returns the loop axes that move it directly.
    pub fn axes(&self) -> impl Iterator<Item = AxisId> {
        self.terms().filter_map(|(term, _)| match term {
            Term::Axis(axis) => Some(axis),
            Term::Value(_) => None,
        })
    }

    /// Returns whether a value moves it.
    pub fn has_values(&self) -> bool {
        self.more.iter().any(|(term, _)| matches!(term, Term::Value(_)))
    }

    /// Returns the index with one loop axis replaced by another.
    pub fn along_other(&self, axis: AxisId, other: AxisId) -> AffineIndex {
        let swap = |of: AxisId| if of == axis { other } else { of };
        let more = self.more.iter().map(|(term, factor)| match term {
            Term::Axis(of) => (Term::Axis(swap(*of)), factor.clone()),
            Term::Value(_) => (*term, factor.clone()),
        });
        AffineIndex { axis: self.axis.map(swap), more: more.collect(), ..self.clone() }
    }

    /// Returns the index moved by a number of elements.
    pub fn moved(&self, by: &Dim) -> Result<AffineIndex, LowerError> {
        Ok(AffineIndex { start: self.start.add(by)?, ..self.clone() })
    }

    /// Returns the least and the greatest position of an index with at most one term, if the loop axis has this
    /// many steps.
    pub fn bounds(&self, extent: &Dim) -> Result<[Dim; 2], LowerError> {
        let end = match self.axis {
            Some(_) => self.start.add(&extent.sub(&Dim::ONE)?.scale(self.step)?)?,
            None => self.start.clone(),
        };
        Ok(if self.step < 0 { [end, self.start.clone()] } else { [self.start.clone(), end] })
    }
}

/// The positions of a node's elements along each of its axes.
pub(crate) type AffineMap = SmallVec<[AffineIndex; 4]>;

/// Nodes and the maps under which they are read.
pub(crate) type Reads = SmallVec<[(FlatId, AffineMap); 4]>;

impl Flat {
    /// Returns what a node under a map is computed from. A reduction reads its axis at each of the `terms`. A join
    /// reads nothing if the map does not stay within one operand; it then has to be stored. Changes that are not `loaded` from
    /// arrays are passed where their base or their value is read: a chain of them is followed in one step.
    pub fn reads(
        &self,
        id: FlatId,
        map: &AffineMap,
        terms: &[AffineIndex],
        extent: &dyn Fn(AxisId) -> Dim,
        loaded: &dyn Fn(FlatId) -> bool,
    ) -> Result<Reads, LowerError> {
        let mut reads = self.operands_under(id, map, terms, extent)?;
        for (operand, map) in &mut reads {
            while let Kind::Set { base, value, region } = &self.node(*operand).kind
                && !loaded(*operand)
            {
                *operand = match self.replaced_at(region, map, extent)? {
                    Replaced::Base => *base,
                    Replaced::Value(inside) => {
                        *map = *inside;
                        *value
                    }
                    Replaced::Unknown => break,
                };
            }
        }
        Ok(reads)
    }

    fn operands_under(
        &self,
        id: FlatId,
        map: &AffineMap,
        terms: &[AffineIndex],
        extent: &dyn Fn(AxisId) -> Dim,
    ) -> Result<Reads, LowerError> {
        let node = self.node(id);
        let broadcast = |operand: FlatId, map: &AffineMap, result: &[Dim]| -> (FlatId, AffineMap) {
            let axes = self.aligned(operand, result);
            (
                operand,
                axes.iter()
                    .map(|axis| axis.map_or_else(|| AffineIndex::at(0), |axis| map[axis].clone()))
                    .collect(),
            )
        };
        Ok(match &node.kind {
            Kind::Buffer(_)
            | Kind::Constant(_)
            | Kind::Size(_)
            | Kind::Iota
            | Kind::Reshape(_)
            | Kind::TopK { .. }
            | Kind::Sort { .. }
            | Kind::Scatter { .. }
            | Kind::Segment { .. } => smallvec![],
            Kind::Op { args, .. } => args.iter().map(|arg| broadcast(*arg, map, &node.shape)).collect(),
            Kind::Select(args) => args.iter().map(|arg| broadcast(*arg, map, &node.shape)).collect(),
            Kind::Cast(operand) | Kind::Search { values: operand, .. } => smallvec![(*operand, map.clone())],
            Kind::Reindex { operand, axes } => {
                let map = axes
                    .iter()
                    .map(|axis| axis.map_or_else(|| AffineIndex::at(0), |axis| map[axis].clone()))
                    .collect();
                smallvec![(*operand, map)]
            }
            Kind::Slice { operand, axes } => {
                let map =
                    axes.iter().zip(map).map(|((start, step), index)| -> Result<AffineIndex, LowerError> {
                        let more = index.more.iter().map(|(term, factor)| Ok((*term, factor.scale(*step)?)));
                        Ok(AffineIndex {
                            axis: index.axis,
                            step: index.step.checked_mul(*step).ok_or(LowerError::TooLarge)?,
                            start: start.add(&index.start.scale(*step)?)?,
                            more: more.collect::<Result<_, LowerError>>()?,
                        })
                    });
                smallvec![(*operand, map.collect::<Result<AffineMap, _>>()?)]
            }
            Kind::Windows { operand, axis } => {
                let mut inner = map.clone();
                if let Some(within) = inner.pop() {
                    inner[*axis] = AffineIndex::sum([(&inner[*axis], Dim::ONE), (&within, Dim::ONE)])?;
                }
                smallvec![(*operand, inner)]
            }
            Kind::Take { indices, axis, .. } => {
                let rank = self.node(*indices).shape.rank();
                smallvec![(*indices, map[*axis..*axis + rank].iter().cloned().collect())]
            }
            Kind::Concat { operands, axis, ends } => {
                let index = &map[*axis];
                let extent = index.axis.map_or(Dim::ONE, extent);
                match self.operand_around(ends, index, &extent)? {
                    Some((operand, index)) => {
                        let mut map = map.clone();
                        map[*axis] = index;
                        smallvec![(operands[operand], map)]
                    }
                    None => smallvec![],
                }
            }
            Kind::Set { base, value, region } => match self.replaced_at(region, map, extent)? {
                Replaced::Base => smallvec![(*base, map.clone())],
                Replaced::Value(inside) => smallvec![(*value, *inside)],
                Replaced::Unknown => smallvec![],
            },
            // A scan reads up to this element: the previous result comes from the same node.
            Kind::Scan { operand, axis, initial, .. } => {
                let mut across = map.clone();
                let index = across.remove(*axis);
                let before = match index.axis {
                    None if !index.start.is_zero() => {
                        let mut before = map.clone();
                        before[*axis] = index.moved(&Dim::constant(-1))?;
                        Some((id, before))
                    }
                    _ => initial.map(|initial| (initial, across)),
                };
                std::iter::once((*operand, map.clone())).chain(before).collect()
            }
            Kind::Reduce(reduction) => {
                let operand_shape = &self.node(reduction.operand).shape;
                let mut reads = smallvec![];
                for term in terms {
                    let mut inner: AffineMap =
                        if reduction.group.is_some() { map[1..].into() } else { map.clone() };
                    inner.insert(reduction.axis, term.clone());
                    match reduction.factors {
                        Some(factors) => {
                            reads.extend(factors.map(|factor| broadcast(factor, &inner, operand_shape)));
                        }
                        None => reads.push((reduction.operand, inner.clone())),
                    }
                    if let Some(index) = reduction.index {
                        reads.push((index, inner));
                    }
                }
                reads
            }
        })
    }

    /// Returns the number of the join's operand that certainly contains an index, and the index within it.
    fn operand_around(
        &self,
        ends: &[Dim],
        index: &AffineIndex,
        extent: &Dim,
    ) -> Result<Option<(usize, AffineIndex)>, LowerError> {
        if !index.more.is_empty() {
            return Ok(None);
        }
        let [least, greatest] = index.bounds(extent)?;
        let past_end = greatest.add(&Dim::ONE)?;
        // Usually a piece is a whole operand, which is found without a proof for each of many operands.
        let whole = ends.iter().position(|end| *end == past_end);
        for operand in whole.into_iter().chain(0..ends.len()) {
            let start = operand.checked_sub(1).map_or(Dim::ZERO, |before| ends[before].clone());
            if self.at_least(&least, &start)? && self.at_least(&ends[operand], &past_end)? {
                return Ok(Some((operand, index.moved(&start.neg()?)?)));
            }
        }
        Ok(None)
    }

    /// Returns whether `x >= y` for all sizes that a call accepts, as far as this can be proved.
    pub fn at_least(&self, x: &Dim, y: &Dim) -> Result<bool, LowerError> {
        if x == y {
            return Ok(true);
        }
        if let (Some(x), Some(y)) = (x.as_constant(), y.as_constant()) {
            return Ok(x >= y);
        }
        Ok(self.known().is_size(&x.sub(y)?))
    }
}
