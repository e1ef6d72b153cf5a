//! One kernel's expressions over loop axes.
//!
//! ```text
//! roots (whole tensors) ──index maps, from the results down to the arrays──▶ values over axes
//! ```
//!
//! An index map turns a node of the flat graph into a value: for each axis of the node, it is an affine function of
//! one loop axis. Views only change the map; arrays turn it into strides. The same node under the same map is one
//! value, so common work is shared. Nothing is placed yet: a value knows only which axes it depends on.

mod address;
mod best;
mod maps;
mod reductions;
mod reshape;
mod roots;
mod scan;

pub(crate) use best::Found;
pub(crate) use maps::{AffineIndex, AffineMap};
pub(crate) use roots::{Pairs, Short, Target};
pub(crate) use scan::NestScan;

use crate::LowerError;
use crate::flat::{Flat, FlatId, Kind, Reduction};
use crate::kernel::*;
use crate::plan::Reason;
use crate::thresholds::{MAX_KERNEL_VALUES, MAX_NEST_ENTRIES};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use maps::{Reads, Term};
use smallvec::{SmallVec, smallvec};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A set of axes of a kernel.
pub(crate) type AxisSet = u64;
/// The most axes of a kernel.
pub(crate) const MAX_AXES: usize = 64;
pub(crate) fn bit(axis: AxisId) -> AxisSet {
    1 << axis.index()
}

/// A loop axis before loops exist.
#[derive(Debug, Clone)]
pub(crate) struct NestAxis {
    pub extent: Dim,
    /// For a reduction axis: the deepest free or reduction axis around it.
    pub parent: Option<AxisId>,
    pub reduction: bool,
    /// For partial results: the axis that counts groups, and the length of a group; then those of groups of each group.
    pub groups: SmallVec<[(AxisId, Dim); 2]>,
    pub combines: bool,
    /// Its role in the axis into which it was merged, which represents everything that moves along both.
    pub part: Option<Part>,
}

impl NestAxis {
    /// Creates the axis of a free loop.
    pub fn free(extent: Dim, parent: Option<AxisId>) -> NestAxis {
        let groups = SmallVec::new();
        NestAxis { extent, parent, reduction: false, groups, combines: false, part: None }
    }

    /// Returns the axes that count the groups of this axis.
    pub fn counters(&self) -> impl Iterator<Item = AxisId> + use<'_> {
        self.groups.iter().map(|(counter, _)| *counter)
    }
}

/// The role of an axis that was merged into another but still represents what moves along it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The inner axis: its elements recur along the other. Its loop comes before the other's.
    Inner(AxisId),
    /// The outer axis: each of its elements is stretched over this many steps of the other. Its loop is inside the
    /// other's, and runs through the part that the current strip covers.
    Outer(AxisId, Extent),
}

/// An access whose strides are still dims, so that axes can be merged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NestAccess {
    pub buffer: Option<BufferId>,
    pub dtype: DType,
    pub offset: Dim,
    pub strides: SmallVec<[(AxisId, Dim); 4]>,
    /// How it moves along a merged axis, if not as along one: strides say nothing about that axis.
    pub gathered: Option<Gathered>,
}

/// The way in which an access moves along a merged axis.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Gathered {
    pub axis: AxisId,
    /// The number of steps of the inner axis.
    pub steps: Dim,
    /// The strides along the outer axis and the inner axis.
    pub strides: [Dim; 2],
}

impl NestAccess {
    pub fn stride(&self, axis: AxisId) -> Dim {
        self.strides.iter().find(|(of, _)| *of == axis).map_or(Dim::ZERO, |(_, stride)| stride.clone())
    }

    pub fn axes(&self) -> AxisSet {
        self.strides.iter().fold(0, |set, (axis, _)| set | bit(*axis))
    }
}

/// A reduction as a value.
#[derive(Debug, Clone)]
pub(crate) struct NestReduction {
    pub axis: AxisId,
    pub op: ReduceOp,
    pub dtype: DType,
    pub operand: Contribution,
}

/// Reductions with equal keys share a loop.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct AxisKey {
    parent: Option<AxisId>,
    extent: Dim,
    /// If one reduction is computed from another, it is nested deeper.
    nested: usize,
    group: Option<usize>,
    combines: bool,
}

/// A write to an array.
#[derive(Debug, Clone)]
pub(crate) struct NestStore {
    pub access: AccessId,
    pub delta: i64,
    pub value: ValueId,
    /// The loop that contains it.
    pub level: Option<AxisId>,
    /// For a write at a position given by data: the position, and the op that combines with the element there, if any.
    pub scatter: Option<NestScatter>,
}

/// A position given by data.
#[derive(Debug, Clone)]
pub(crate) struct NestScatter {
    pub op: Option<Op>,
    pub index: ValueId,
    pub stride: Stride,
    pub size: Extent,
    /// For a compensated sum: where what rounding loses is added.
    pub lost: Option<(AccessId, i64)>,
}

impl NestStore {
    /// Returns the values that the store reads.
    pub fn reads(&self) -> impl Iterator<Item = ValueId> + use<> {
        std::iter::once(self.value).chain(self.scatter.as_ref().map(|scatter| scatter.index))
    }
}

/// The values of one kernel.
#[derive(Debug)]
pub(crate) struct Nest<'a> {
    pub flat: &'a Flat,
    stored: &'a HashMap<FlatId, BufferId>,
    roots: Vec<FlatId>,
    pub values: Vec<Value>,
    /// The axes that each value depends on: it has to be placed within their loops.
    pub depends: Vec<AxisSet>,
    /// The axes along which each value varies: a subset of the above, without the loops that merely contain a
    /// reduction.
    pub varies: Vec<AxisSet>,
    pub nodes: Vec<FlatId>,
    pub accesses: Vec<NestAccess>,
    pub axes: Vec<NestAxis>,
    /// The free axes, each after the one around it; the first is the outermost of all.
    pub free: Vec<AxisId>,
    pub reductions: HashMap<ValueId, NestReduction>,
    /// The scans, which are in the innermost loop.
    pub scans: HashMap<ValueId, NestScan>,
    /// The axis of the scans, whose steps run in order.
    pub scanned: Option<AxisId>,
    /// Whether all loops cover the whole of the result.
    is_whole: bool,
    /// The results of walks for the best elements, by the axes of the walks.
    pub found: HashMap<AxisId, Found>,
    /// The treatment of short reductions over pairs that may be contractions, and those that are loops.
    pairs: Pairs,
    pub looped_pairs: Vec<ValueId>,
    /// Whether reductions of their results over other axes are unrolled.
    pub unrolls_results_of_pairs: bool,
    pub stores: Vec<NestStore>,
    pub params: Vec<Dim>,
    /// The innermost loop around the current computation.
    innermost: Option<AxisId>,
    pub narrow: bool,
    /// Nodes that have to be stored before this nest can be made, with the reasons.
    pub wanted: Vec<(FlatId, Reason)>,
    /// Symbolic lengths of rows that are assumed to be long, with the least length that is.
    pub long_rows: Vec<(Dim, i64)>,
    /// Whether a last axis is short enough that it may be unrolled.
    pub has_short_axis: bool,
    /// Whether an axis around reductions is short enough that it may be unrolled. It may be longer than a last axis.
    pub has_right_sides: bool,
    memo: HashMap<(FlatId, AffineMap), ValueId>,
    by_def: HashMap<(Def, DType), ValueId>,
    reduction_axes: HashMap<AxisKey, AxisId>,
}

impl<'a> Nest<'a> {
    pub fn axis(&mut self, axis: NestAxis) -> Result<AxisId, LowerError> {
        if self.axes.len() == MAX_AXES {
            return Err(LowerError::TooManyAxes);
        }
        self.axes.push(axis);
        Ok(AxisId::new(self.axes.len() - 1))
    }

    /// Returns a parameter with the value of a dim.
    pub fn param(&mut self, dim: &Dim) -> ParamId {
        let found = self.params.iter().position(|param| param == dim);
        ParamId::new(found.unwrap_or_else(|| {
            self.params.push(dim.clone());
            self.params.len() - 1
        }))
    }

    /// Returns a number of steps as a constant or a parameter.
    pub fn extent(&mut self, dim: &Dim) -> Extent {
        dim.as_constant().map_or_else(|| Extent::Param(self.param(dim)), Extent::Constant)
    }

    /// Returns pairs of values that are the same function, one of a reduction axis and one of a free axis.
    pub fn same_along_both_axes(&self, reduction: AxisId, free: AxisId) -> Vec<(ValueId, ValueId)> {
        let along = |map: &AffineMap| map.iter().any(|index| index.axes().any(|axis| axis == reduction));
        let moved = |map: &AffineMap| -> AffineMap {
            map.iter().map(|index| index.along_other(reduction, free)).collect()
        };
        let pair = |((node, map), value): (&(FlatId, AffineMap), &ValueId)| {
            along(map).then(|| Some((*value, *self.memo.get(&(*node, moved(map)))?)))?
        };
        self.memo.iter().filter_map(pair).collect()
    }

    /// Returns a stride as a constant or a parameter.
    fn stride(&mut self, dim: &Dim) -> Stride {
        dim.as_constant().map_or_else(|| Stride::Param(self.param(dim)), Stride::Constant)
    }

    /// Returns the axes around an axis, outermost first, including the axis.
    pub fn path(&self, axis: Option<AxisId>) -> Vec<AxisId> {
        let mut path: Vec<AxisId> =
            std::iter::successors(axis, |axis| self.axes[axis.index()].parent).collect();
        path.reverse();
        path
    }

    /// Returns the number of axes around an axis, including the axis.
    pub fn depth(&self, axis: AxisId) -> usize {
        std::iter::successors(Some(axis), |axis| self.axes[axis.index()].parent).count()
    }

    /// Returns the deepest axis of a set whose axes lie on one path.
    pub fn deepest(&self, set: AxisSet) -> Option<AxisId> {
        (0..self.axes.len())
            .map(AxisId::new)
            .filter(|axis| set & bit(*axis) != 0)
            .max_by_key(|axis| self.depth(*axis))
    }

    fn instantiate(&mut self, root: FlatId, map: AffineMap) -> Result<ValueId, LowerError> {
        let mut stack = vec![(root, map.clone())];
        while let Some((node, map)) = stack.last().cloned() {
            if self.is_far_too_large() {
                return Ok(self.constant(Scalar::Bool(false), root));
            }
            if self.memo.contains_key(&(node, map.clone())) {
                stack.pop();
                continue;
            }
            let operands = self.operands(node, &map)?;
            let missing: Vec<_> =
                operands.iter().filter(|operand| !self.memo.contains_key(*operand)).cloned().collect();
            if missing.is_empty() {
                let args: SmallVec<[ValueId; 4]> =
                    operands.iter().map(|operand| self.memo[operand]).collect();
                self.flat.spend()?;
                let value = self.build(node, &map, &args)?;
                self.memo.insert((node, map), value);
                stack.pop();
                if self.memo.len().is_multiple_of(MAX_NEST_ENTRIES) {
                    self.wanted.extend(self.read_often().map(|node| (node, Reason::Large)));
                }
            } else {
                stack.extend(missing.into_iter().rev());
            }
        }
        Ok(self.memo[&(root, map)])
    }

    /// Returns whether the nest is void because of its size: the rest of its values would be built in vain.
    fn is_far_too_large(&self) -> bool {
        self.memo.len() >= MAX_NEST_ENTRIES && !self.wanted.is_empty()
    }

    /// Returns the last node that is computed under so many index maps that a few such nodes fill a kernel: the number
    /// may double with each node before it.
    fn read_often(&self) -> Option<FlatId> {
        let mut maps: HashMap<FlatId, usize> = HashMap::new();
        for (node, _) in self.memo.keys() {
            *maps.entry(*node).or_default() += 1;
        }
        let is_computed = |node: FlatId| {
            let kind = &self.flat.node(node).kind;
            matches!(kind, Kind::Op { .. } | Kind::Select(_) | Kind::Cast(_) | Kind::Reduce(_))
        };
        let often = maps.into_iter().filter(|(_, maps)| 4 * maps > MAX_KERNEL_VALUES).map(|(node, _)| node);
        often.filter(|node| is_computed(*node) && !self.is_loaded(*node) && !self.roots.contains(node)).max()
    }

    /// Returns the expressions that are computed here, in whole or in part.
    pub fn exprs(&self) -> Vec<ExprId> {
        let nodes = self.memo.keys().map(|(node, _)| *node).chain(self.roots.iter().copied());
        let computed: HashSet<FlatId> = nodes.filter(|node| !self.is_loaded(*node)).collect();
        let mut exprs: BTreeSet<ExprId> = BTreeSet::new();
        for node in computed {
            exprs.extend(self.flat.exprs_of(node));
            let node = self.flat.node(node);
            exprs.insert(node.origin);
            // A sum that contracts products computes them.
            if let Kind::Reduce(Reduction { operand, factors: Some(_), .. }) = node.kind {
                exprs.insert(self.flat.node(operand).origin);
            }
        }
        exprs.into_iter().collect()
    }

    /// Returns whether a reduction is a chain of ops here.
    fn unrolls(&self, id: FlatId, reduction: &Reduction) -> bool {
        match self.flat.is_short_table(id) {
            true => self.pairs == Pairs::Unrolled,
            false => {
                self.flat.unrolls(reduction)
                    && (self.pairs != Pairs::AllLooped || !self.flat.is_over_short_table(reduction))
            }
        }
    }

    /// Returns whether a node is read from its array.
    fn is_loaded(&self, node: FlatId) -> bool {
        self.stored.contains_key(&node) && !self.roots.contains(&node)
    }

    /// Returns what a node under a map is computed from.
    fn operands(&mut self, id: FlatId, map: &AffineMap) -> Result<Reads, LowerError> {
        if self.is_loaded(id) {
            return Ok(smallvec![]);
        }
        if map.iter().any(AffineIndex::has_values) && !self.is_gathered(id) {
            return Ok(smallvec![]);
        }
        if let Kind::Reshape(operand) = self.flat.node(id).kind
            && self.dense(operand).is_none()
        {
            return self.reshaped(id, operand, map);
        }
        if matches!(self.flat.node(id).kind, Kind::Scan { .. }) && !self.follows(id, map) {
            return Ok(smallvec![]);
        }
        let mut terms = Vec::new();
        if let Kind::Reduce(reduction) = &self.flat.node(id).kind {
            if self.unrolls(id, reduction) {
                terms.extend((0..self.flat.terms(reduction).unwrap_or(0)).map(AffineIndex::at));
            } else {
                terms.push(AffineIndex::along(self.reduction_axis(id, reduction, map)?));
            }
        }
        let extent = |axis: AxisId| self.axes[axis.index()].extent.clone();
        self.flat.reads(id, map, &terms, &extent, &|node| self.is_loaded(node))
    }

    /// Returns a value, or the equal one that exists.
    fn value(&mut self, def: Def, dtype: DType, depends: AxisSet, node: FlatId) -> ValueId {
        if let Some(&found) = self.by_def.get(&(def.clone(), dtype)) {
            return found;
        }
        let varies = self.varying(&def, depends);
        let id = self.fresh(def.clone(), dtype, depends, varies, node);
        self.by_def.insert((def, dtype), id);
        id
    }

    /// Returns the axes along which a value that depends on `depends` varies.
    fn varying(&self, def: &Def, depends: AxisSet) -> AxisSet {
        let operands = def.operands();
        if operands.is_empty() {
            return depends;
        }
        let read = def.accesses().into_iter().filter(|(_, used)| used.reads());
        let moved = read.fold(0, |set, (access, _)| set | self.accesses[access.index()].axes());
        operands.iter().fold(moved, |set, operand| set | self.varies[operand.index()])
    }

    fn fresh(&mut self, def: Def, dtype: DType, depends: AxisSet, varies: AxisSet, node: FlatId) -> ValueId {
        let origin = self.flat.node(node).origin;
        self.values.push(Value { dtype, def, origin });
        self.depends.push(depends);
        self.varies.push(varies);
        self.nodes.push(node);
        ValueId::new(self.values.len() - 1)
    }

    fn op(&mut self, op: Op, args: SmallVec<[ValueId; 3]>, node: FlatId) -> ValueId {
        self.op_at(op, args, None, node)
    }

    fn op_at(
        &mut self,
        op: Op,
        args: SmallVec<[ValueId; 3]>,
        position: Option<AccessId>,
        node: FlatId,
    ) -> ValueId {
        let mut depends = args.iter().fold(0, |set, arg| set | self.depends[arg.index()]);
        if let Some(position) = position {
            depends |= self.accesses[position.index()].axes();
        }
        let operand = self.values[args[0].index()].dtype;
        self.value(Def::Op { op, args, position }, op.result_dtype(operand), depends, node)
    }

    fn select(&mut self, args: [ValueId; 3], node: FlatId) -> ValueId {
        let depends = args.iter().fold(0, |set, arg| set | self.depends[arg.index()]);
        let dtype = self.values[args[1].index()].dtype;
        self.value(Def::Select(args), dtype, depends, node)
    }

    fn constant(&mut self, value: Scalar, node: FlatId) -> ValueId {
        self.value(Def::Constant(value), value.dtype(), 0, node)
    }

    /// Returns a size as an i64 value.
    fn size(&mut self, dim: &Dim, node: FlatId) -> ValueId {
        match dim.as_constant() {
            Some(size) => self.constant(Scalar::I64(size), node),
            None => {
                let param = self.param(dim);
                self.value(Def::Param(param), DType::I64, 0, node)
            }
        }
    }

    fn build(&mut self, id: FlatId, map: &AffineMap, args: &[ValueId]) -> Result<ValueId, LowerError> {
        let flat = self.flat;
        let node = flat.node(id);
        if self.is_loaded(id) {
            return self.load_packed(self.stored[&id], map, id);
        }
        if map.iter().any(AffineIndex::has_values) && !self.is_gathered(id) {
            return Ok(self.want(id, Reason::Reshaped, id));
        }
        Ok(match &node.kind {
            Kind::Buffer(buffer) => self.load_packed(*buffer, map, id)?,
            Kind::Reshape(operand) => match (self.dense(*operand), args) {
                (Some(buffer), _) => self.load_as(buffer, &node.shape, map, id)?,
                (None, [value]) => *value,
                // What it is computed from is wanted.
                (None, _) => self.constant(Scalar::I64(0).cast(node.dtype), id),
            },
            Kind::Constant(value) => self.constant(*value, id),
            Kind::Size(dim) => self.size(dim, id),
            Kind::Op { op, .. } => {
                let operand = self.values[args[0].index()].dtype;
                let position = match op.can_fail(operand) {
                    true => Some(self.position(&node.shape, map)?),
                    false => None,
                };
                self.op_at(*op, args.iter().copied().collect(), position, id)
            }
            Kind::Select(_) => self.select([args[0], args[1], args[2]], id),
            Kind::Cast(_) => self.value(Def::Cast(args[0]), node.dtype, self.depends[args[0].index()], id),
            Kind::Reindex { .. } | Kind::Slice { .. } | Kind::Windows { .. } => args[0],
            Kind::Concat { .. } | Kind::Set { .. } => match args {
                [operand] => *operand,
                _ if matches!(node.kind, Kind::Set { .. }) => self.want(id, Reason::Changed, id),
                _ => self.want(id, Reason::Loops, id),
            },
            Kind::Scatter { .. } => self.want(id, Reason::Scattered, id),
            Kind::Segment { .. } => self.want(id, Reason::Partials, id),
            Kind::TopK { .. } => self.want(id, Reason::Best, id),
            Kind::Sort { .. } => self.want(id, Reason::Sorted, id),
            Kind::Search { table, right, .. } => self.search(*table, args[0], *right, id)?,
            Kind::Scan { op, axis, .. } => self.scan(*op, *axis, map, args, id),
            Kind::Iota => self.iota(&map[0], id),
            Kind::Take { table, indices, axis } => self.take(*table, *indices, *axis, map, args[0], id)?,
            Kind::Reduce(reduction) if self.unrolls(id, reduction) => {
                self.unrolls_results_of_pairs |= flat.is_over_short_table(reduction);
                self.unrolled(reduction, args, id)
            }
            Kind::Reduce(reduction) => {
                let value = self.looped(reduction, map, args, id)?;
                if flat.is_short_table(id) {
                    self.looped_pairs.push(value);
                }
                value
            }
        })
    }

    fn want(&mut self, node: FlatId, reason: Reason, user: FlatId) -> ValueId {
        self.wanted.push((node, reason));
        self.constant(Scalar::I64(0).cast(self.flat.node(user).dtype), user)
    }

    fn iota(&mut self, index: &AffineIndex, node: FlatId) -> ValueId {
        let start = self.size(&index.start, node);
        let mut sum = None;
        for (term, step) in index.terms() {
            let mut position = match term {
                Term::Axis(axis) => self.value(Def::Index(axis), DType::I64, bit(axis), node),
                Term::Value(value) => value,
            };
            if !step.is_one() {
                let step = self.size(&step, node);
                position = self.op(Op::Multiply, smallvec![position, step], node);
            }
            sum = Some(match sum {
                Some(sum) => self.op(Op::Add, smallvec![sum, position], node),
                None => position,
            });
        }
        match sum {
            Some(sum) if index.start.is_zero() => sum,
            Some(sum) => self.op(Op::Add, smallvec![sum, start], node),
            None => start,
        }
    }
}
