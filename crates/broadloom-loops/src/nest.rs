//! One kernel's expressions over loop axes.
//!
//! ```text
//! roots (whole tensors) ──index maps, from the results down to the arrays──▶ values over axes
//! ```
//!
//! A node of the flat graph becomes a value by an index map: per axis of the node an affine function of one loop
//! axis. Views only change the map; arrays turn it into strides. The same node under the same map is one value, so
//! common work is shared. Nothing is placed yet: a value knows on which axes it depends, no more.

use crate::LowerError;
use crate::flat::{Flat, FlatId, Kind, Reduction, dense_strides};
use crate::kernel::*;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

/// A set of axes of a kernel.
pub(crate) type AxisSet = u64;
/// Axes of a kernel, at most.
const MAX_AXES: usize = 64;
/// A trailing constant axis of at most this length is unrolled rather than looped over.
const UNROLL_FREE: i64 = 4;

pub(crate) fn bit(axis: AxisId) -> AxisSet {
    1 << axis.index()
}

/// One axis of a tensor as a function of a loop axis: `start + step * axis`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Index {
    axis: Option<AxisId>,
    step: i64,
    start: Dim,
}

impl Index {
    fn at(position: i64) -> Index {
        Index { axis: None, step: 0, start: Dim::constant(position) }
    }

    fn along(axis: AxisId) -> Index {
        Index { axis: Some(axis), step: 1, start: Dim::ZERO }
    }
}

type Map = SmallVec<[Index; 4]>;

/// A loop axis before loops exist.
#[derive(Debug, Clone)]
pub(crate) struct NestAxis {
    pub extent: Dim,
    /// For a reduction axis: the deepest free or reduction axis around it.
    pub parent: Option<AxisId>,
    pub reduction: bool,
    /// For partial results: the axis that counts groups, and which group.
    pub group: Option<(AxisId, usize)>,
    pub combines: bool,
}

/// An access whose strides are still dims, so that axes can be merged.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct NestAccess {
    pub buffer: Option<BufferId>,
    pub dtype: DType,
    pub offset: Dim,
    pub strides: SmallVec<[(AxisId, Dim); 4]>,
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
    /// Of two reductions one of which is computed from the other, it nests deeper.
    nested: usize,
    group: Option<usize>,
    combines: bool,
    /// The extremes of a sum over pairs, and which: they may be the work of a tile function of their own.
    pairs: Option<(FlatId, bool)>,
}

/// A sum of terms of pairs that was unrolled.
#[derive(Debug, Clone)]
pub(crate) struct PairSum {
    pub term: PairTerm,
    pub pairs: Vec<(ValueId, ValueId)>,
}

/// What is written.
#[derive(Debug, Clone)]
pub(crate) struct NestStore {
    pub access: AccessId,
    pub delta: i64,
    pub value: ValueId,
}

/// The values of one kernel.
#[derive(Debug)]
pub(crate) struct Nest<'a> {
    pub flat: &'a Flat,
    stored: &'a HashMap<FlatId, BufferId>,
    roots: Vec<FlatId>,
    pub values: Vec<Value>,
    /// On which axes each value depends: within their loops it has to be placed.
    pub depends: Vec<AxisSet>,
    /// Along which axes each value varies: a subset of those, without the loops that a reduction merely stands in.
    pub varies: Vec<AxisSet>,
    pub nodes: Vec<FlatId>,
    pub accesses: Vec<NestAccess>,
    pub axes: Vec<NestAxis>,
    /// The free axes, outermost first.
    pub free: Vec<AxisId>,
    pub reductions: HashMap<ValueId, NestReduction>,
    /// Unrolled sums over pairs, by their values.
    pub pair_sums: HashMap<ValueId, PairSum>,
    pub stores: Vec<NestStore>,
    pub params: Vec<Dim>,
    pub narrow: bool,
    /// Nodes that have to be stored before this nest can be made.
    pub wanted: Vec<FlatId>,
    memo: HashMap<(FlatId, Map), ValueId>,
    by_def: HashMap<(Def, DType), ValueId>,
    reduction_axes: HashMap<AxisKey, AxisId>,
    looped: HashMap<FlatId, usize>,
}

impl<'a> Nest<'a> {
    /// The values of `roots`, which have equal shapes but for literal 1s. `targets` are the arrays that each writes.
    /// When [`Nest::wanted`] is not empty the nest is void: store those nodes and begin again.
    pub fn new(
        flat: &'a Flat,
        stored: &'a HashMap<FlatId, BufferId>,
        roots: &[(FlatId, Vec<BufferId>)],
        narrow: bool,
    ) -> Result<Nest<'a>, LowerError> {
        let mut nest = Nest {
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
            pair_sums: HashMap::new(),
            stores: Vec::new(),
            params: Vec::new(),
            narrow,
            wanted: Vec::new(),
            memo: HashMap::new(),
            by_def: HashMap::new(),
            reduction_axes: HashMap::new(),
            looped: HashMap::new(),
        };
        let sizes: Vec<Dim> =
            flat.node(roots[0].0).shape.iter().filter(|dim| !dim.is_one()).cloned().collect();
        let reduces = roots.iter().any(|(root, _)| flat.node(*root).nested > 0);
        let unrolled = match sizes.last().and_then(Dim::as_constant) {
            Some(extent) if (1..=UNROLL_FREE).contains(&extent) && (sizes.len() > 1 || reduces) => {
                Some(extent)
            }
            _ => None,
        };
        for extent in &sizes[..sizes.len() - usize::from(unrolled.is_some())] {
            let axis = nest.axis(NestAxis {
                extent: extent.clone(),
                parent: nest.free.last().copied(),
                reduction: false,
                group: None,
                combines: false,
            })?;
            nest.free.push(axis);
        }
        for (root, targets) in roots {
            for last in 0..unrolled.unwrap_or(1) {
                let mut indices = nest.free.iter().map(|&axis| Index::along(axis)).collect::<Vec<_>>();
                if unrolled.is_some() {
                    indices.push(Index::at(last));
                }
                let mut indices = indices.into_iter();
                let map: Map = flat
                    .node(*root)
                    .shape
                    .iter()
                    .map(|dim| {
                        if dim.is_one() { None } else { indices.next() }.unwrap_or_else(|| Index::at(0))
                    })
                    .collect();
                let value = nest.instantiate(*root, map.clone())?;
                for &target in targets {
                    let (access, delta) = nest.address(target, &map)?;
                    nest.stores.push(NestStore { access, delta, value });
                }
            }
        }
        Ok(nest)
    }

    fn axis(&mut self, axis: NestAxis) -> Result<AxisId, LowerError> {
        if self.axes.len() == MAX_AXES {
            return Err(LowerError::TooManyAxes);
        }
        self.axes.push(axis);
        Ok(AxisId::new(self.axes.len() - 1))
    }

    /// A parameter with the value of a dim.
    pub fn param(&mut self, dim: &Dim) -> ParamId {
        let found = self.params.iter().position(|param| param == dim);
        ParamId::new(found.unwrap_or_else(|| {
            self.params.push(dim.clone());
            self.params.len() - 1
        }))
    }

    /// A number of steps as a constant or a parameter.
    pub fn extent(&mut self, dim: &Dim) -> Extent {
        dim.as_constant().map_or_else(|| Extent::Param(self.param(dim)), Extent::Constant)
    }

    /// The axes around an axis, outermost first, itself included.
    pub fn path(&self, axis: Option<AxisId>) -> Vec<AxisId> {
        let mut path: Vec<AxisId> =
            std::iter::successors(axis, |axis| self.axes[axis.index()].parent).collect();
        path.reverse();
        path
    }

    /// How many axes stand around an axis, itself included.
    pub fn depth(&self, axis: AxisId) -> usize {
        std::iter::successors(Some(axis), |axis| self.axes[axis.index()].parent).count()
    }

    /// The deepest axis of a set, whose axes lie on one path.
    pub fn deepest(&self, set: AxisSet) -> Option<AxisId> {
        (0..self.axes.len())
            .map(AxisId::new)
            .filter(|axis| set & bit(*axis) != 0)
            .max_by_key(|axis| self.depth(*axis))
    }

    fn instantiate(&mut self, root: FlatId, map: Map) -> Result<ValueId, LowerError> {
        let mut stack = vec![(root, map.clone())];
        while let Some((node, map)) = stack.last().cloned() {
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
                let value = self.build(node, &map, &args)?;
                self.memo.insert((node, map), value);
                stack.pop();
            } else {
                stack.extend(missing.into_iter().rev());
            }
        }
        Ok(self.memo[&(root, map)])
    }

    /// Whether a node is read from its array.
    fn is_loaded(&self, node: FlatId) -> bool {
        self.stored.contains_key(&node) && !self.roots.contains(&node)
    }

    /// What a node under a map is computed from.
    fn operands(&mut self, id: FlatId, map: &Map) -> Result<SmallVec<[(FlatId, Map); 4]>, LowerError> {
        if self.is_loaded(id) {
            return Ok(smallvec![]);
        }
        let flat = self.flat;
        let node = flat.node(id);
        let broadcast = |operand: FlatId, map: &Map, result: &[Dim]| -> (FlatId, Map) {
            let axes = flat.aligned(operand, result);
            (
                operand,
                axes.iter().map(|axis| axis.map_or_else(|| Index::at(0), |axis| map[axis].clone())).collect(),
            )
        };
        Ok(match &node.kind {
            Kind::Buffer(_) | Kind::Constant(_) | Kind::Size(_) | Kind::Iota | Kind::Reshape(_) => {
                smallvec![]
            }
            Kind::Op { args, .. } => args.iter().map(|arg| broadcast(*arg, map, &node.shape)).collect(),
            Kind::Select(args) => args.iter().map(|arg| broadcast(*arg, map, &node.shape)).collect(),
            Kind::Cast(operand) => smallvec![(*operand, map.clone())],
            Kind::Reindex { operand, axes } => {
                let map = axes
                    .iter()
                    .map(|axis| axis.map_or_else(|| Index::at(0), |axis| map[axis].clone()))
                    .collect();
                smallvec![(*operand, map)]
            }
            Kind::Slice { operand, axes } => {
                let map = axes.iter().zip(map).map(|((start, step), index)| -> Result<Index, LowerError> {
                    Ok(Index {
                        axis: index.axis,
                        step: index.step.checked_mul(*step).ok_or(LowerError::TooLarge)?,
                        start: start.add(&index.start.scale(*step)?)?,
                    })
                });
                smallvec![(*operand, map.collect::<Result<Map, _>>()?)]
            }
            Kind::Take { indices, axis, .. } => {
                let rank = flat.node(*indices).shape.rank();
                smallvec![(*indices, map[*axis..*axis + rank].iter().cloned().collect())]
            }
            Kind::Reduce(reduction) => {
                let operand_shape = &flat.node(reduction.operand).shape;
                let terms: Vec<Index> = if flat.unrolls(reduction) {
                    let extent = operand_shape[reduction.axis].as_constant().unwrap_or(0);
                    (0..extent).map(Index::at).collect()
                } else {
                    let axis = self.reduction_axis(id, reduction, map)?;
                    vec![Index::along(axis)]
                };
                let mut operands = smallvec![];
                for term in terms {
                    let mut inner: Map =
                        if reduction.group.is_some() { map[1..].into() } else { map.clone() };
                    inner.insert(reduction.axis, term);
                    match reduction.factors {
                        Some(factors) => {
                            operands.extend(factors.map(|factor| broadcast(factor, &inner, operand_shape)));
                        }
                        None => operands.push((reduction.operand, inner.clone())),
                    }
                    if let Some(index) = reduction.index {
                        operands.push((index, inner));
                    }
                }
                operands
            }
        })
    }

    /// The loop axis of a reduction: shared by reductions over axes of one size at one place, unless one is
    /// computed from the other.
    fn reduction_axis(&mut self, id: FlatId, reduction: &Reduction, map: &Map) -> Result<AxisId, LowerError> {
        let around = map.iter().filter_map(|index| index.axis).fold(0, |set, axis| set | bit(axis));
        let parent = self.deepest(around);
        let extent = self.flat.node(reduction.operand).shape[reduction.axis].clone();
        let least = matches!(reduction.op, ReduceOp::Min | ReduceOp::ArgMin);
        let key = AxisKey {
            parent,
            extent: extent.clone(),
            nested: self.flat.node(id).nested,
            group: reduction.group,
            combines: reduction.combines,
            pairs: self.flat.extreme_of_pairs(reduction).map(|sum| (sum, least)),
        };
        if let Some(&axis) = self.reduction_axes.get(&key) {
            return Ok(axis);
        }
        let group = reduction.group.and_then(|group| Some((map[0].axis?, group)));
        let axis =
            self.axis(NestAxis { extent, parent, reduction: true, group, combines: reduction.combines })?;
        self.reduction_axes.insert(key, axis);
        Ok(axis)
    }

    /// A value, or the equal one that exists.
    fn value(&mut self, def: Def, dtype: DType, depends: AxisSet, node: FlatId) -> ValueId {
        if let Some(&found) = self.by_def.get(&(def.clone(), dtype)) {
            return found;
        }
        let varies = self.varying(&def, depends);
        let id = self.fresh(def.clone(), dtype, depends, varies, node);
        self.by_def.insert((def, dtype), id);
        id
    }

    /// Along which axes a value varies that depends on `depends`.
    fn varying(&self, def: &Def, depends: AxisSet) -> AxisSet {
        let union = |args: &[ValueId]| args.iter().fold(0, |set, arg| set | self.varies[arg.index()]);
        match def {
            Def::Op { args, .. } => union(args),
            Def::Select(args) => union(args),
            Def::Cast(arg) => union(&[*arg]),
            Def::Take { access, index, .. } => union(&[*index]) | self.accesses[access.index()].axes(),
            Def::Constant(_)
            | Def::Param(_)
            | Def::Index(_)
            | Def::Load { .. }
            | Def::Row(..)
            | Def::Reduced => depends,
        }
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

    /// A size as an i64 value.
    fn size(&mut self, dim: &Dim, node: FlatId) -> ValueId {
        match dim.as_constant() {
            Some(size) => self.constant(Scalar::I64(size), node),
            None => {
                let param = self.param(dim);
                self.value(Def::Param(param), DType::I64, 0, node)
            }
        }
    }

    fn build(&mut self, id: FlatId, map: &Map, args: &[ValueId]) -> Result<ValueId, LowerError> {
        let flat = self.flat;
        let node = flat.node(id);
        if self.is_loaded(id) {
            return self.load(self.stored[&id], map, id);
        }
        Ok(match &node.kind {
            Kind::Buffer(buffer) => self.load(*buffer, map, id)?,
            Kind::Reshape(operand) => match self.dense(*operand) {
                Some(buffer) => self.load_as(buffer, &node.shape, map, id)?,
                None => self.want(*operand, id),
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
            Kind::Reindex { .. } | Kind::Slice { .. } => args[0],
            Kind::Iota => self.iota(&map[0], id),
            Kind::Take { table, indices, axis } => self.take(*table, *indices, *axis, map, args[0], id)?,
            Kind::Reduce(reduction) if flat.unrolls(reduction) => {
                let value = self.unrolled(reduction, args, id);
                if let Some(sum) = self.pair_sum(reduction, args) {
                    self.pair_sums.insert(value, sum);
                }
                value
            }
            Kind::Reduce(reduction) => self.looped(reduction, map, args, id)?,
        })
    }

    fn want(&mut self, node: FlatId, user: FlatId) -> ValueId {
        self.wanted.push(node);
        self.constant(Scalar::I64(0).cast(self.flat.node(user).dtype), user)
    }

    /// The array of a node whose elements lie in row-major order.
    fn dense(&self, node: FlatId) -> Option<BufferId> {
        let buffer = match self.stored.get(&node) {
            Some(buffer) => *buffer,
            None => match self.flat.node(node).kind {
                Kind::Buffer(buffer) => buffer,
                _ => return None,
            },
        };
        (self.flat.layouts[buffer.index()] == crate::Layout::Dense).then_some(buffer)
    }

    fn iota(&mut self, index: &Index, node: FlatId) -> ValueId {
        let mut value = self.size(&index.start, node);
        if let Some(axis) = index.axis {
            let mut position = self.value(Def::Index(axis), DType::I64, bit(axis), node);
            if index.step != 1 {
                let step = self.constant(Scalar::I64(index.step), node);
                position = self.op(Op::Multiply, smallvec![position, step], node);
            }
            value = if index.start.is_zero() {
                position
            } else {
                self.op(Op::Add, smallvec![position, value], node)
            };
        }
        value
    }

    fn load(&mut self, buffer: BufferId, map: &Map, node: FlatId) -> Result<ValueId, LowerError> {
        let (access, delta) = self.address(buffer, map)?;
        Ok(self.load_value(access, delta, node))
    }

    /// Loads from a dense buffer under another shape of as many elements.
    fn load_as(
        &mut self,
        buffer: BufferId,
        shape: &Shape,
        map: &Map,
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        let strides = dense_strides(shape)?;
        let dtype = self.flat.buffers[buffer.index()].dtype;
        let (access, delta) = self.access(Some(buffer), dtype, &strides, map)?;
        Ok(self.load_value(access, delta, node))
    }

    fn load_value(&mut self, access: AccessId, delta: i64, node: FlatId) -> ValueId {
        let NestAccess { dtype, .. } = self.accesses[access.index()];
        let depends = self.accesses[access.index()].axes();
        self.value(Def::Load { access, delta }, dtype, depends, node)
    }

    fn address(&mut self, buffer: BufferId, map: &Map) -> Result<(AccessId, i64), LowerError> {
        let strides = self.flat.strides(buffer)?;
        let dtype = self.flat.buffers[buffer.index()].dtype;
        self.access(Some(buffer), dtype, &strides, map)
    }

    fn access(
        &mut self,
        buffer: Option<BufferId>,
        dtype: DType,
        strides: &[Dim],
        map: &Map,
    ) -> Result<(AccessId, i64), LowerError> {
        let mut offset = Dim::ZERO;
        let mut by_axis: SmallVec<[(AxisId, Dim); 4]> = smallvec![];
        for (index, stride) in map.iter().zip(strides) {
            offset = offset.add(&index.start.mul(stride)?)?;
            if let Some(axis) = index.axis {
                let stride = stride.scale(index.step)?;
                match by_axis.iter_mut().find(|(of, _)| *of == axis) {
                    Some((_, sum)) => *sum = sum.add(&stride)?,
                    None => by_axis.push((axis, stride)),
                }
            }
        }
        by_axis.retain(|(_, stride)| !stride.is_zero());
        by_axis.sort_by_key(|(axis, _)| *axis);
        let (offset, delta) = match offset.as_constant() {
            Some(delta) if buffer.is_some() && i32::try_from(delta.saturating_mul(8)).is_ok() => {
                (Dim::ZERO, delta)
            }
            _ => (offset, 0),
        };
        let access = NestAccess { buffer, dtype, offset, strides: by_axis };
        let found = self.accesses.iter().position(|other| *other == access);
        let id = found.unwrap_or_else(|| {
            self.accesses.push(access);
            self.accesses.len() - 1
        });
        Ok((AccessId::new(id), delta))
    }

    /// The row-major position in a tensor of a shape, for error reports.
    fn position(&mut self, shape: &Shape, map: &Map) -> Result<AccessId, LowerError> {
        let strides = dense_strides(shape)?;
        Ok(self.access(None, DType::I64, &strides, map)?.0)
    }

    fn take(
        &mut self,
        table: FlatId,
        indices: FlatId,
        axis: usize,
        map: &Map,
        index: ValueId,
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        let flat = self.flat;
        let rank = flat.node(indices).shape.rank();
        // The table's axis moves along an axis of its own, whose stride is taken out of the access again.
        let data = AxisId::new(MAX_AXES);
        let mut table_map: Map = map[..axis].into();
        table_map.push(Index::along(data));
        table_map.extend(map[axis + rank..].iter().cloned());
        let size = flat.node(table).shape[axis].clone();
        let Some((buffer, shape, table_map)) = self.resolve(table, table_map)? else {
            return Ok(self.want(table, node));
        };
        let strides = match shape {
            Some(shape) => dense_strides(&shape)?,
            None => flat.strides(buffer)?,
        };
        let dtype = flat.buffers[buffer.index()].dtype;
        let (whole, delta) = self.access(Some(buffer), dtype, &strides, &table_map)?;
        let mut access = self.accesses[whole.index()].clone();
        access.offset = access.offset.add(&Dim::constant(delta))?;
        let along = access.stride(data);
        access.strides.retain(|(of, _)| *of != data);
        // The access with the data axis is nobody else's: it was the last one made, or equal to one of another take.
        if whole.index() + 1 == self.accesses.len() {
            self.accesses.pop();
        }
        let access = match self.accesses.iter().position(|other| *other == access) {
            Some(found) => AccessId::new(found),
            None => {
                self.accesses.push(access);
                AccessId::new(self.accesses.len() - 1)
            }
        };
        let indices_map: Map = map[axis..axis + rank].into();
        let shape = flat.node(indices).shape.clone();
        let position = self.position(&shape, &indices_map)?;
        let stride = match along.as_constant() {
            Some(stride) => Stride::Constant(stride),
            None => Stride::Param(self.param(&along)),
        };
        let size = self.extent(&size);
        let depends = self.depends[index.index()]
            | self.accesses[access.index()].axes()
            | self.accesses[position.index()].axes();
        Ok(self.value(Def::Take { access, index, stride, size, position }, dtype, depends, node))
    }

    /// The array behind a chain of views, with the map in it, and the shape if the array is read as another one.
    #[allow(clippy::type_complexity, reason = "three parts of one address")]
    fn resolve(
        &mut self,
        node: FlatId,
        map: Map,
    ) -> Result<Option<(BufferId, Option<Shape>, Map)>, LowerError> {
        let (mut node, mut map) = (node, map);
        loop {
            if self.is_loaded(node) {
                return Ok(Some((self.stored[&node], None, map)));
            }
            match &self.flat.node(node).kind {
                Kind::Buffer(buffer) => return Ok(Some((*buffer, None, map))),
                Kind::Reshape(operand) => {
                    let shape = self.flat.node(node).shape.clone();
                    return Ok(self.dense(*operand).map(|buffer| (buffer, Some(shape), map)));
                }
                Kind::Reindex { .. } | Kind::Slice { .. } => {
                    let operand = self.operands(node, &map)?.remove(0);
                    (node, map) = operand;
                }
                Kind::Constant(_)
                | Kind::Size(_)
                | Kind::Op { .. }
                | Kind::Select(_)
                | Kind::Cast(_)
                | Kind::Reduce(_)
                | Kind::Take { .. }
                | Kind::Iota => return Ok(None),
            }
        }
    }

    /// A short reduction over a constant axis as a chain of ops, in index order.
    fn unrolled(&mut self, reduction: &Reduction, args: &[ValueId], node: FlatId) -> ValueId {
        let accumulator = self.flat.node(reduction.operand).dtype;
        if args.is_empty() {
            return self.constant(reduction.op.empty(accumulator), node);
        }
        if reduction.factors.is_some() {
            let mut terms = args.chunks_exact(2);
            let mut sum = terms.next().map(|xy| self.op(Op::Multiply, SmallVec::from_slice(xy), node));
            for xy in terms {
                sum = sum.map(|sum| self.multiply_add(xy[0], xy[1], sum, node));
            }
            return match sum {
                // Squares are never negative zeros.
                Some(sum) if args.chunks_exact(2).all(|xy| xy[0] == xy[1]) => sum,
                Some(sum) => self.finished(reduction.op, sum, node),
                None => self.constant(reduction.op.empty(accumulator), node),
            };
        }
        let is_arg = matches!(reduction.op, ReduceOp::ArgMin | ReduceOp::ArgMax);
        if is_arg {
            return self.unrolled_arg(reduction.op, args, node);
        }
        let op = match reduction.op {
            ReduceOp::Prod => Op::Multiply,
            ReduceOp::Min => Op::Minimum,
            ReduceOp::Max => Op::Maximum,
            ReduceOp::Sum | ReduceOp::Mean | ReduceOp::ArgMin | ReduceOp::ArgMax => Op::Add,
        };
        let mut result = args[0];
        for &arg in &args[1..] {
            result = self.op(op, smallvec![result, arg], node);
        }
        self.finished(reduction.op, result, node)
    }

    /// The end of a reduction that was unrolled.
    fn finished(&mut self, op: ReduceOp, value: ValueId, node: FlatId) -> ValueId {
        match op.finish(self.values[value.index()].dtype) {
            Some(zero) => {
                let zero = self.constant(zero, node);
                self.op(Op::Add, smallvec![value, zero], node)
            }
            None => value,
        }
    }

    /// The pairs of an unrolled sum, if it is one.
    fn pair_sum(&self, reduction: &Reduction, args: &[ValueId]) -> Option<PairSum> {
        let operands = |value: ValueId, of: Op| match &self.values[value.index()].def {
            Def::Op { op, args, .. } if *op == of => Some(args.clone()),
            _ => None,
        };
        let difference = |value: ValueId| operands(value, Op::Subtract).map(|args| (args[0], args[1]));
        if reduction.op != ReduceOp::Sum || args.is_empty() || !self.values[args[0].index()].dtype.is_float()
        {
            return None;
        }
        let (term, pairs) = match reduction.factors {
            Some([x, y]) if x == y => {
                let pairs = args.chunks_exact(2).map(|xy| difference(xy[0])).collect();
                (PairTerm::SquaredDifference, pairs)
            }
            Some(_) => (PairTerm::Product, args.chunks_exact(2).map(|xy| Some((xy[0], xy[1]))).collect()),
            None => {
                let pairs = args.iter().map(|arg| difference(operands(*arg, Op::Abs)?[0])).collect();
                (PairTerm::AbsoluteDifference, pairs)
            }
        };
        let pairs: Option<Vec<(ValueId, ValueId)>> = pairs;
        Some(PairSum { term, pairs: pairs? })
    }

    /// `x * y + sum` as the numerics level contracts it.
    fn multiply_add(&mut self, x: ValueId, y: ValueId, sum: ValueId, node: FlatId) -> ValueId {
        if self.flat.fused {
            return self.op(Op::Fma, smallvec![x, y, sum], node);
        }
        let product = self.op(Op::Multiply, smallvec![x, y], node);
        self.op(Op::Add, smallvec![sum, product], node)
    }

    fn unrolled_arg(&mut self, op: ReduceOp, args: &[ValueId], node: FlatId) -> ValueId {
        let compare = if op == ReduceOp::ArgMin { Op::Less } else { Op::Greater };
        let mut best = args[0];
        let mut index = self.constant(Scalar::I64(0), node);
        for (position, &arg) in (0i64..).zip(args).skip(1) {
            let mut better = self.op(compare, smallvec![arg, best], node);
            if self.values[arg.index()].dtype.is_float() {
                let nan = self.op(Op::NotEqual, smallvec![arg, arg], node);
                let no_nan = self.op(Op::Equal, smallvec![best, best], node);
                let first_nan = self.op(Op::LogicalAnd, smallvec![nan, no_nan], node);
                better = self.op(Op::LogicalOr, smallvec![better, first_nan], node);
            }
            let position = self.constant(Scalar::I64(position), node);
            index = self.select([better, position, index], node);
            best = self.select([better, arg, best], node);
        }
        index
    }

    fn looped(
        &mut self,
        reduction: &Reduction,
        map: &Map,
        args: &[ValueId],
        node: FlatId,
    ) -> Result<ValueId, LowerError> {
        let axis = self.reduction_axis(node, reduction, map)?;
        let accumulator = self.flat.node(reduction.operand).dtype;
        let is_arg = matches!(reduction.op, ReduceOp::ArgMin | ReduceOp::ArgMax);
        let operand = match (reduction.factors, is_arg) {
            (Some(_), _) => Contribution::Product(args[0], args[1]),
            (None, true) => Contribution::Indexed {
                value: args[0],
                index: args.get(1).copied(),
                narrow: self.narrow && accumulator.size() <= 4 && args.len() == 1,
            },
            (None, false) => Contribution::Value(args[0]),
        };
        let group = self.axes[axis.index()].group.map_or(0, |(group, _)| bit(group));
        let parent = self.axes[axis.index()].parent.map_or(0, bit);
        let varies = args.iter().fold(group, |set, arg| set | self.varies[arg.index()]) & !bit(axis);
        let depends =
            args.iter().fold(group | parent, |set, arg| set | self.depends[arg.index()]) & !bit(axis);
        let dtype = reduction.op.result_dtype(accumulator);
        let value = self.fresh(Def::Reduced, dtype, depends, varies, node);
        self.reductions.insert(value, NestReduction { axis, op: reduction.op, dtype: accumulator, operand });
        // The same loop under two maps does its work twice: cheaper to store it once.
        *self.looped.entry(node).or_default() += 1;
        if self.looped[&node] > 1
            && reduction.group.is_none()
            && !reduction.combines
            && !self.roots.contains(&node)
        {
            self.wanted.push(node);
        }
        Ok(value)
    }
}
