//! The stores of a kernel and its loops over free axes: one chain per piece, shared as far as lengths agree.

use super::{AffineIndex, AffineMap, Nest, NestAxis, NestScatter, NestStore, bit};
use crate::LowerError;
use crate::flat::{Before, Flat, FlatId, Kind, Range, Scattered, Tables, dense_strides, merged_axes};
use crate::kernel::*;
use crate::pieces::Piece;
use crate::thresholds::{MAX_UNROLLED_RIGHT_SIDES, MAX_UNROLLED_TRAILING};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::reduce::SEGMENT_BLOCK;
use smallvec::smallvec;
use std::collections::{BTreeSet, HashMap};

/// The treatment of a short axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Short {
    /// A loop, which may become part of a longer one or of a contraction.
    Looped,
    /// Unrolled.
    Unrolled,
}

/// How short reductions over pairs are computed that may be contractions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// By a loop over the last axis. Short reductions of its results over other axes are unrolled: several are accumulated side
    /// by side.
    LastLooped,
    /// By loops over all axes.
    AllLooped,
    /// Unrolled.
    Unrolled,
}

/// Loops that chains share: by the loop around, the axis of the tensor, and the length.
pub(super) type Shared = HashMap<(Option<AxisId>, usize, Dim), AxisId>;

/// A node and the arrays that it is written to.
pub(crate) type Target = (FlatId, Vec<BufferId>);

impl<'a> Nest<'a> {
    pub(super) fn empty(
        flat: &'a Flat,
        stored: &'a HashMap<FlatId, BufferId>,
        roots: &[Target],
        narrow: bool,
    ) -> Nest<'a> {
        Nest {
            flat,
            stored,
            roots: roots.iter().map(|(root, _)| *root).collect(),
            values: Vec::new(),
            depends: Vec::new(),
            varies: Vec::new(),
            nodes: Vec::new(),
            accesses: Vec::new(),
            axes: Vec::new(),
            free: Vec::new(),
            reductions: HashMap::new(),
            scans: HashMap::new(),
            scanned: None,
            is_whole: false,
            found: HashMap::new(),
            pairs: Pairs::LastLooped,
            looped_pairs: Vec::new(),
            unrolls_results_of_pairs: false,
            stores: Vec::new(),
            params: Vec::new(),
            innermost: None,
            narrow,
            wanted: Vec::new(),
            long_rows: Vec::new(),
            has_short_axis: false,
            has_right_sides: false,
            memo: HashMap::new(),
            by_def: HashMap::new(),
            reduction_axes: HashMap::new(),
        }
    }

    /// Builds the values of some pieces of `roots`, whose shapes are equal except for literal 1s. If
    /// [`Nest::wanted`] is not empty, the nest is void: store those nodes and start again. `last` and `pairs` give
    /// the treatment of a short last axis, and of short reductions over pairs.
    pub fn new(
        flat: &'a Flat,
        stored: &'a HashMap<FlatId, BufferId>,
        roots: &[Target],
        pieces: &[Piece],
        narrow: bool,
        last: Short,
        pairs: Pairs,
    ) -> Result<Nest<'a>, LowerError> {
        let mut nest = Nest::empty(flat, stored, roots, narrow);
        nest.pairs = pairs;
        nest.is_whole = pieces.len() == 1;
        let mut shared = Shared::new();
        // Threads share the outermost loop: either all pieces are in it, or there is none.
        let single = pieces.iter().all(Piece::is_line);
        for piece in pieces {
            let loops = nest.loops_of(piece);
            let axes: Vec<(usize, &Dim)> = loops
                .iter()
                .enumerate()
                .flat_map(|(of, sizes)| sizes.iter().map(move |size| (of, size)))
                .filter(|of| !of.1.is_one())
                .collect();
            let longest = if piece.reduces { MAX_UNROLLED_RIGHT_SIDES } else { MAX_UNROLLED_TRAILING };
            let unrolled = unrolled(&axes, longest, piece.reduces && single);
            nest.has_short_axis |= unrolled.is_some_and(|length| length <= MAX_UNROLLED_TRAILING);
            nest.has_right_sides |= unrolled.is_some();
            let unrolled = unrolled.filter(|_| last == Short::Unrolled);
            let looped = &axes[..axes.len() - usize::from(unrolled.is_some())];
            let (level, indices) = nest.chain(None, looped, &mut shared)?;
            nest.innermost = level;
            for (root, targets) in roots {
                for last in 0..unrolled.unwrap_or(1) {
                    let mut indices = indices.iter().cloned();
                    let ranges: Vec<AffineIndex> = piece
                        .ranges
                        .iter()
                        .zip(&loops)
                        .map(|(Range { start, length, step }, sizes)| match length.is_one() {
                            true => Ok(AffineIndex::at_dim(start.clone())),
                            false => {
                                let mut along = || indices.next().unwrap_or_else(|| AffineIndex::at(last));
                                let parts: Vec<AffineIndex> = sizes.iter().map(|_| along()).collect();
                                let strides = dense_strides(sizes)?;
                                let strides = strides.iter().map(|stride| stride.scale(*step));
                                let strides = strides.collect::<Result<Vec<Dim>, _>>()?;
                                AffineIndex::sum(parts.iter().zip(strides))?.moved(start)
                            }
                        })
                        .collect::<Result<_, _>>()?;
                    let mut ranges = ranges.into_iter();
                    let map: AffineMap = flat
                        .node(*root)
                        .shape
                        .iter()
                        .map(|dim| {
                            if dim.is_one() { None } else { ranges.next() }
                                .unwrap_or_else(|| AffineIndex::at(0))
                        })
                        .collect();
                    let value = nest.instantiate(*root, map.clone())?;
                    for &target in targets {
                        let (access, delta) = nest.address(target, &map)?;
                        nest.stores.push(NestStore { access, delta, value, level, scatter: None });
                    }
                }
            }
        }
        Ok(nest)
    }

    /// Returns whether a loop inside others is short because it did not become part of a longer one.
    pub fn has_short_loops(&self) -> bool {
        self.free.iter().map(|axis| &self.axes[axis.index()]).any(|axis| {
            let is_short = axis.extent.as_constant().is_some_and(|extent| extent <= MAX_UNROLLED_TRAILING);
            is_short && axis.parent.is_some() && axis.part.is_none()
        })
    }

    /// Builds arrays whose elements the same indices choose, in one walk over the rows of each table:
    ///
    /// ```text
    /// for table {
    ///   for segment, .. { store initial }
    ///   for block { for row of table in block { index; for .. { value; scatter } } }
    /// }
    /// ```
    ///
    /// Rows that are changed have neither tables nor blocks: the array starts as its base, and there are only the loops over the
    /// axes before that of the rows, the indices, and the axes of a row.
    pub fn of_scattered(
        flat: &'a Flat,
        stored: &'a HashMap<FlatId, BufferId>,
        roots: &[Target],
        narrow: bool,
    ) -> Result<Nest<'a>, LowerError> {
        let mut nest = Nest::empty(flat, stored, roots, narrow);
        let mut shared = Shared::new();
        let Some(first) = flat.scattered(roots[0].0) else { return Ok(nest) };
        let rows = first.axis;
        let mut outer = AffineMap::new();
        let outermost = match &first.tables {
            Some(tables) => {
                let table = nest.free_axis(None, tables.count.clone())?;
                outer.push(AffineIndex::along(table));
                Some(table)
            }
            None => {
                let before: Vec<Dim> =
                    first.ranges[..rows].iter().map(|range| range.length.clone()).collect();
                nest.along(None, &before, 0, &mut Shared::new(), &mut outer)?
            }
        };
        for (root, targets) in roots {
            let node = flat.node(*root);
            let Some(Scattered { before, .. }) = flat.scattered(*root) else { continue };
            if flat.overwritten.contains_key(root) {
                continue;
            }
            // The axis of rows has a loop even for a single one: the indices come after it.
            let mut along = outer.clone();
            // Separate loops can merge.
            let level = nest.along(outermost, &node.shape[rows..], 1, &mut Shared::new(), &mut along)?;
            let value = match before {
                Before::Array(before) => nest.instantiate(before, along.clone())?,
                Before::Identity(op) => nest.constant(op.identity(node.dtype), *root),
            };
            for &target in targets {
                let (access, delta) = nest.address(target, &along)?;
                nest.stores.push(NestStore { access, delta, value, level, scatter: None });
            }
        }
        let indexed = &flat.node(first.indices).shape;
        let mut along = AffineMap::new();
        let around = match (&first.tables, outermost) {
            (Some(Tables { taken, .. }), Some(table)) => {
                let block = nest.free_axis(Some(table), indexed[0].ceil_div(SEGMENT_BLOCK as i64)?)?;
                let row = nest.free_axis(Some(block), indexed[0].clone())?;
                let length = Dim::constant(SEGMENT_BLOCK as i64);
                nest.axes[row.index()].groups = smallvec![(block, length), (table, taken.clone())];
                along.push(AffineIndex::along(row));
                Some(row)
            }
            _ => nest.along(outermost, indexed, 0, &mut Shared::new(), &mut along)?,
        };
        let id = nest.instantiate(first.indices, along.clone())?;
        let position = nest.position(indexed, &along)?;
        let size = nest.extent(&first.ranges[rows].length);
        let index = nest.value(
            Def::Checked { index: id, size, wraps: first.tables.is_none(), position: Some(position) },
            DType::I64,
            nest.depends[id.index()] | around.map_or(0, bit),
            roots[0].0,
        );
        for (root, targets) in roots {
            let node = flat.node(*root);
            let Some(Scattered { op, compensated, values, row, ranges, .. }) = flat.scattered(*root) else {
                continue;
            };
            let lengths = ranges.iter().map(|range| &range.length).enumerate();
            let axes: Vec<(usize, &Dim)> = lengths.skip(row).filter(|(_, dim)| !dim.is_one()).collect();
            let unrolled = unrolled(&axes, MAX_UNROLLED_TRAILING, true);
            let looped = &axes[..axes.len() - usize::from(unrolled.is_some())];
            let (level, indices) = nest.chain(around, looped, &mut shared)?;
            for last in 0..unrolled.unwrap_or(1) {
                let mut map = outer.clone();
                map.resize(node.shape.rank(), AffineIndex::at(0));
                let indices = indices.iter().cloned().chain(unrolled.map(|_| AffineIndex::at(last)));
                for ((axis, _), index) in axes.iter().zip(indices) {
                    map[*axis] = index;
                }
                let before = if first.tables.is_some() { &[][..] } else { &outer };
                let of_values: AffineMap = along.iter().chain(before).chain(&map[row..]).cloned().collect();
                let value = nest.instantiate(values, of_values)?;
                let in_range = |(index, range): (&AffineIndex, &Range)| {
                    AffineIndex::sum([(index, Dim::constant(range.step))])?.moved(&range.start)
                };
                let map: AffineMap = map.iter().zip(&ranges).map(in_range).collect::<Result<_, _>>()?;
                for &target in targets {
                    let stride = flat.strides(target)?[rows].scale(ranges[rows].step)?;
                    let stride = nest.stride(&stride);
                    let (access, delta) = nest.address(target, &map)?;
                    let lost = match compensated {
                        true => {
                            let mut map = map.clone();
                            map[row - 1] = AffineIndex::at(1);
                            Some(nest.address(target, &map)?)
                        }
                        false => None,
                    };
                    let scatter = Some(NestScatter { op, index, stride, size, lost });
                    nest.stores.push(NestStore { access, delta, value, level, scatter });
                }
            }
        }
        Ok(nest)
    }

    /// Nests loops for sizes and appends the indices along them to a map: 0 for the literal size 1, from the first `kept` sizes
    /// on. Returns the innermost loop.
    fn along(
        &mut self,
        around: Option<AxisId>,
        sizes: &[Dim],
        kept: usize,
        shared: &mut Shared,
        map: &mut AffineMap,
    ) -> Result<Option<AxisId>, LowerError> {
        let has_loop = |(of, size): &(usize, &Dim)| *of < kept || !size.is_one();
        let axes: Vec<(usize, &Dim)> = sizes.iter().enumerate().filter(has_loop).collect();
        let (level, indices) = self.chain(around, &axes, shared)?;
        let first = map.len();
        map.resize(first + sizes.len(), AffineIndex::at(0));
        for ((of, _), index) in axes.into_iter().zip(indices) {
            map[first + of] = index;
        }
        Ok(level)
    }

    /// Returns the sizes of the loops along each range of a piece. If the piece is a whole tensor, these are the
    /// axes that a reshape of a computed value merged.
    fn loops_of(&self, piece: &Piece) -> Vec<Vec<Dim>> {
        let whole: Vec<Vec<Dim>> = piece.ranges.iter().map(|range| vec![range.length.clone()]).collect();
        let mut seen = BTreeSet::new();
        let mut stack = self.roots.clone();
        while let Some(id) = stack.pop() {
            let node = self.flat.node(id);
            let sizes: Vec<&Dim> = node.shape.iter().filter(|dim| !dim.is_one()).collect();
            let mut ranges = piece.ranges.iter().zip(&sizes);
            let is_whole = ranges.all(|(range, size)| range.length == **size && range.step == 1);
            if sizes.len() != whole.len() || !is_whole || self.is_loaded(id) || !seen.insert(id) {
                continue;
            }
            match &node.kind {
                Kind::Op { .. } | Kind::Select(_) | Kind::Cast(_) => {
                    stack.extend(node.kind.operands());
                }
                Kind::Reshape(from) if self.dense(*from).is_none() => {
                    let from = &self.flat.node(*from).shape;
                    let merged = |axis: usize| merged_axes(from, &node.shape, axis);
                    let wide = (0..node.shape.rank()).filter(|axis| !node.shape[*axis].is_one());
                    let parts: Vec<Option<Vec<Dim>>> = wide.map(merged).collect();
                    if parts.iter().any(Option::is_some) {
                        return parts
                            .into_iter()
                            .zip(whole)
                            .map(|(parts, whole)| parts.unwrap_or(whole))
                            .collect();
                    }
                }
                _ => {}
            }
        }
        whole
    }

    pub(super) fn free_axis(&mut self, parent: Option<AxisId>, extent: Dim) -> Result<AxisId, LowerError> {
        let axis = self.axis(NestAxis::free(extent, parent))?;
        self.free.push(axis);
        Ok(axis)
    }

    /// Nests loops, and reuses existing ones where they agree. Returns the innermost loop, and the indices along
    /// the loops.
    pub(super) fn chain(
        &mut self,
        around: Option<AxisId>,
        axes: &[(usize, &Dim)],
        shared: &mut Shared,
    ) -> Result<(Option<AxisId>, Vec<AffineIndex>), LowerError> {
        let mut level = around;
        let mut indices = Vec::with_capacity(axes.len());
        for &(of, length) in axes {
            let key = (level, of, length.clone());
            let axis = match shared.get(&key) {
                Some(axis) => *axis,
                None => self.free_axis(level, length.clone())?,
            };
            shared.insert(key, axis);
            indices.push(AffineIndex::along(axis));
            level = Some(axis);
        }
        Ok((level, indices))
    }
}

/// Returns the length of the last axis, if it may be unrolled.
fn unrolled(axes: &[(usize, &Dim)], longest: i64, alone: bool) -> Option<i64> {
    let length = axes.last()?.1.as_constant()?;
    ((1..=longest).contains(&length) && (axes.len() > 1 || alone)).then_some(length)
}
