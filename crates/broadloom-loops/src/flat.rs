//! The graph in the few forms that loops are made from.
//!
//! ```text
//! mean over axes        ──▶ sum / size
//! several axes          ──▶ one reduction after the other, innermost first
//! arg over several axes ──▶ arg over one axis of a reshape
//! permute, squeeze, ..  ──▶ Reindex
//! reshape of ops        ──▶ ops of reshapes of arrays, where that is the same
//! reduction to a few    ──▶ partial results by group, then their combination (so that threads can share it)
//! ```
//!
//! Nothing here knows loops: every node is still a whole tensor.

use crate::kernel::{Buffer, BufferId, Group, HostSymbol, Role};
use crate::{Layout, LowerError, LowerOptions};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{CheckedGraph, Node, View};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::{BLOCK, ReduceOp, SEQUENTIAL_LIMIT};
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, InputId, SymbolId, define_ids};
use smallvec::{SmallVec, smallvec};
use std::collections::HashMap;

define_ids! {
    /// A node of the flat graph.
    FlatId "f";
}

/// A result of at most this many elements is reduced by groups: it has too few for the threads to share.
const FEW: i64 = 16;
/// A constant axis that is shorter is not worth cutting into groups.
const WORTH_GROUPS: i64 = 65_536;
/// A reshape moves through at most this many nodes.
const RESHAPE_REACH: usize = 64;
/// Reductions inside one another's bodies, at most, before one is stored.
const MAX_NESTED: usize = 6;
/// An inner constant axis of at most this length is unrolled into its consumer.
pub(crate) const UNROLL_REDUCTION: i64 = 8;
/// How many nodes an unrolled body may have.
const UNROLL_NODES: u32 = 24;
/// A sum over pairs of a broadcast is unrolled up to the length of which the order is that of the index.
const UNROLL_PAIRS: i64 = SEQUENTIAL_LIMIT as i64;

/// A tensor of the flat graph.
#[derive(Debug, Clone)]
pub(crate) struct FlatNode {
    pub kind: Kind,
    pub dtype: DType,
    pub shape: Shape,
    /// The expression that it belongs to.
    pub origin: ExprId,
    /// Reductions that run as loops and stand in a chain below this node, itself included.
    pub nested: usize,
    /// Nodes that are computed with this one, as a saturating estimate.
    pub weight: u32,
}

/// The forms of a tensor.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Buffer(BufferId),
    Constant(Scalar),
    /// A size as an i64.
    Size(Dim),
    Op {
        op: Op,
        args: SmallVec<[FlatId; 3]>,
    },
    Select([FlatId; 3]),
    Cast(FlatId),
    Reduce(Reduction),
    /// Axis `j` of the operand is axis `axes[j]` of the node; `None` where the operand's axis is a literal 1.
    Reindex {
        operand: FlatId,
        axes: SmallVec<[Option<usize>; 4]>,
    },
    /// Element `i` of axis `j` is element `start + i * step` of the operand's.
    Slice {
        operand: FlatId,
        axes: SmallVec<[(Dim, i64); 4]>,
    },
    /// The same elements in row-major order.
    Reshape(FlatId),
    Take {
        table: FlatId,
        indices: FlatId,
        axis: usize,
    },
    Iota,
}

/// A reduction over one axis, which disappears.
#[derive(Debug, Clone)]
pub(crate) struct Reduction {
    /// Not `Mean`.
    pub op: ReduceOp,
    pub operand: FlatId,
    pub axis: usize,
    /// The factors of a sum of products that is accumulated by fma; they broadcast to the operand's shape.
    pub factors: Option<[FlatId; 2]>,
    /// For arg-reductions: the results belonging to the operands, where it is not the position.
    pub index: Option<FlatId>,
    /// Partial results by group: the node has a leading axis that counts them.
    pub group: Option<usize>,
    /// Combines partial results of groups, in the order of the fixed tree.
    pub combines: bool,
}

/// The flat graph with its arrays.
#[derive(Debug)]
pub(crate) struct Flat {
    pub nodes: Vec<FlatNode>,
    pub buffers: Vec<Buffer>,
    pub layouts: Vec<Layout>,
    pub outputs: Vec<FlatId>,
    pub symbols: Vec<String>,
    pub host_symbols: Vec<HostSymbol>,
    pub groups: Vec<Group>,
    /// Nodes that must be stored, whoever uses them.
    pub stored: Vec<FlatId>,
    /// Whether the numerics level has fma.
    pub fused: bool,
    /// Symbols of the strides of arrays that are not dense.
    strides: HashMap<(BufferId, usize), SymbolId>,
    memo: HashMap<ExprId, FlatId>,
}

impl Flat {
    /// The flat form of a graph whose arrays have the given layouts.
    pub fn new(graph: &CheckedGraph, options: &LowerOptions) -> Result<Flat, LowerError> {
        let mut flat = Flat {
            nodes: Vec::new(),
            buffers: Vec::new(),
            layouts: Vec::new(),
            outputs: Vec::new(),
            symbols: graph.symbols().iter().map(|symbol| symbol.name.to_string()).collect(),
            host_symbols: Vec::new(),
            groups: Vec::new(),
            stored: Vec::new(),
            fused: options.fused,
            strides: HashMap::new(),
            memo: HashMap::new(),
        };
        for (index, input) in graph.inputs().iter().enumerate() {
            let layout = options.inputs.get(index).cloned().unwrap_or(Layout::Dense);
            flat.buffer(
                &input.name,
                Role::Input(InputId::new(index)),
                input.dtype,
                input.shape.clone(),
                layout,
            );
        }
        for (index, output) in graph.outputs().iter().enumerate() {
            let layout = options.outputs.get(index).cloned().unwrap_or(Layout::Dense);
            let shape = graph.shape(output.expr).clone();
            flat.buffer(&output.name, Role::Output(index), graph.dtype(output.expr), shape, layout);
        }
        for expr in graph.exprs() {
            let id = flat.translate(graph, expr)?;
            flat.memo.insert(expr, id);
        }
        flat.outputs = graph.outputs().iter().map(|output| flat.memo[&output.expr]).collect();
        Ok(flat)
    }

    pub fn node(&self, id: FlatId) -> &FlatNode {
        &self.nodes[id.index()]
    }

    /// A new symbol that the host binds.
    pub fn host_symbol(&mut self, what: HostSymbol) -> SymbolId {
        self.host_symbols.push(what);
        SymbolId::new(self.symbols.len() + self.host_symbols.len() - 1)
    }

    /// A new array.
    pub fn buffer(&mut self, name: &str, role: Role, dtype: DType, shape: Shape, layout: Layout) -> BufferId {
        let id = BufferId::new(self.buffers.len());
        if let Layout::Strided { unit } = layout {
            for axis in (0..shape.rank()).filter(|axis| unit != Some(*axis)) {
                let symbol = self.host_symbol(HostSymbol::Stride { buffer: id, axis });
                self.strides.insert((id, axis), symbol);
            }
        }
        self.buffers.push(Buffer { name: name.to_string(), role, dtype, shape });
        self.layouts.push(layout);
        id
    }

    /// Strides, in elements, of a buffer's axes.
    pub fn strides(&self, buffer: BufferId) -> Result<Vec<Dim>, LowerError> {
        let shape = &self.buffers[buffer.index()].shape;
        let dense = dense_strides(shape)?;
        Ok(match self.layouts[buffer.index()] {
            Layout::Dense => dense,
            Layout::Strided { .. } => (0..shape.rank())
                .map(|axis| self.strides.get(&(buffer, axis)).map_or(Dim::ONE, |symbol| Dim::symbol(*symbol)))
                .collect(),
        })
    }

    fn push(&mut self, kind: Kind, dtype: DType, shape: Shape, origin: ExprId) -> FlatId {
        let unrolled = match &kind {
            Kind::Reduce(reduction) if self.unrolls(reduction) => {
                self.node(reduction.operand).shape[reduction.axis].as_constant()
            }
            _ => None,
        };
        let loops = usize::from(matches!(&kind, Kind::Reduce(_)) && unrolled.is_none());
        let mut nested = 0;
        let mut weight: u32 = 1;
        for operand in self.operands_of(&kind) {
            nested = nested.max(self.node(operand).nested);
            weight = weight.saturating_add(self.node(operand).weight);
        }
        // The body of an unrolled reduction is there once per element of the axis.
        let times = unrolled.and_then(|extent| u32::try_from(extent).ok()).unwrap_or(1).max(1);
        let weight = weight.saturating_mul(times);
        self.nodes.push(FlatNode { kind, dtype, shape, origin, nested: nested + loops, weight });
        let id = FlatId::new(self.nodes.len() - 1);
        if nested + loops > MAX_NESTED {
            // What is reduced as well, so that a chain of such steps is cut, and not computed from its beginning by
            // each of them.
            if let Kind::Reduce(reduction) = &self.node(id).kind {
                let operand = reduction.operand;
                if !matches!(self.node(operand).kind, Kind::Buffer(_) | Kind::Constant(_)) {
                    self.store(operand);
                }
            }
            self.store(id);
        }
        id
    }

    /// Stores a node: it counts as an array from here on.
    fn store(&mut self, id: FlatId) {
        if !self.stored.contains(&id) {
            self.stored.push(id);
        }
        let node = &mut self.nodes[id.index()];
        node.nested = 0;
        node.weight = 1;
    }

    /// The nodes that a kind reads.
    pub fn operands_of(&self, kind: &Kind) -> SmallVec<[FlatId; 3]> {
        match kind {
            Kind::Buffer(_) | Kind::Constant(_) | Kind::Size(_) | Kind::Iota => smallvec![],
            Kind::Op { args, .. } => args.clone(),
            Kind::Select(args) => SmallVec::from_slice(args),
            Kind::Cast(operand)
            | Kind::Reindex { operand, .. }
            | Kind::Slice { operand, .. }
            | Kind::Reshape(operand) => {
                smallvec![*operand]
            }
            Kind::Reduce(reduction) => {
                let mut operands: SmallVec<[FlatId; 3]> = match reduction.factors {
                    Some(factors) => SmallVec::from_slice(&factors),
                    None => smallvec![reduction.operand],
                };
                operands.extend(reduction.index);
                operands
            }
            Kind::Take { table, indices, .. } => smallvec![*table, *indices],
        }
    }

    /// Whether a reduction is a short chain of ops rather than a loop.
    pub fn unrolls(&self, reduction: &Reduction) -> bool {
        let operand = self.node(reduction.operand);
        let longest = if self.sums_pairs(reduction) { UNROLL_PAIRS } else { UNROLL_REDUCTION };
        reduction.group.is_none()
            && !reduction.combines
            && operand.nested == 0
            && operand.shape[reduction.axis].as_constant().is_some_and(|extent| extent <= longest)
            && operand.weight <= UNROLL_NODES
    }

    /// Whether a reduction sums products or differences of two tensors, each of which stretches along an axis of the
    /// other.
    fn sums_pairs(&self, reduction: &Reduction) -> bool {
        let pair = match (reduction.op, reduction.factors) {
            (ReduceOp::Sum, Some([x, y])) if x != y => Some([x, y]),
            (ReduceOp::Sum, Some([x, _])) => self.difference(x),
            (ReduceOp::Sum, None) => match &self.node(reduction.operand).kind {
                Kind::Op { op: Op::Abs, args } => self.difference(args[0]),
                _ => None,
            },
            _ => None,
        };
        let Some([x, y]) = pair else { return false };
        let shape = &self.node(reduction.operand).shape;
        let present = |id: FlatId| -> Vec<bool> {
            let missing = shape.rank() - self.node(id).shape.rank();
            (0..shape.rank())
                .map(|axis| axis >= missing && !self.node(id).shape[axis - missing].is_one())
                .collect()
        };
        let (x, y) = (present(x), present(y));
        let alone =
            |these: &[bool], others: &[bool]| these.iter().zip(others).any(|(this, other)| *this && !*other);
        alone(&x, &y) && alone(&y, &x)
    }

    /// The sum over pairs, or its square root, whose extreme a reduction is.
    pub fn extreme_of_pairs(&self, reduction: &Reduction) -> Option<FlatId> {
        let inner = match &self.node(reduction.operand).kind {
            Kind::Op { op: Op::Sqrt, args } => args[0],
            _ => reduction.operand,
        };
        match (&self.node(inner).kind, reduction.op) {
            (_, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean) => None,
            (Kind::Reduce(sum), _) if self.sums_pairs(sum) && self.unrolls(sum) => Some(reduction.operand),
            _ => None,
        }
    }

    /// The operands of a difference.
    fn difference(&self, id: FlatId) -> Option<[FlatId; 2]> {
        match &self.node(id).kind {
            Kind::Op { op: Op::Subtract, args } => Some([args[0], args[1]]),
            _ => None,
        }
    }

    fn translate(&mut self, graph: &CheckedGraph, expr: ExprId) -> Result<FlatId, LowerError> {
        let dtype = graph.dtype(expr);
        let shape = graph.shape(expr).clone();
        let kind = match graph.node(expr) {
            Node::Input(input) => Kind::Buffer(BufferId::new(input.index())),
            Node::Constant(value) => Kind::Constant(*value),
            Node::Elementwise { op, operands } => {
                Kind::Op { op: *op, args: operands.iter().map(|operand| self.memo[operand]).collect() }
            }
            Node::Select { condition, on_true, on_false } => {
                Kind::Select([self.memo[condition], self.memo[on_true], self.memo[on_false]])
            }
            Node::Cast(operand) => Kind::Cast(self.memo[operand]),
            Node::Reduce { op, operand, axes, keepdims } => {
                let factors = graph.factors(expr).map(|[x, y]| [self.memo[&x], self.memo[&y]]);
                let operand = self.memo[operand];
                return self.reduce(*op, operand, axes, *keepdims, factors, expr, shape);
            }
            Node::View { view, operand } => {
                let operand = self.memo[operand];
                return self.view(view, operand, shape, expr);
            }
            Node::Take { table, indices, axis } => {
                Kind::Take { table: self.memo[table], indices: self.memo[indices], axis: *axis }
            }
            Node::Iota => Kind::Iota,
            // A checked graph has no poison; the value is arbitrary.
            Node::Poison => Kind::Constant(Scalar::Bool(false)),
        };
        Ok(self.push(kind, dtype, shape, expr))
    }

    fn view(
        &mut self,
        view: &View,
        operand: FlatId,
        shape: Shape,
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let rank = self.node(operand).shape.rank();
        let dtype = self.node(operand).dtype;
        let axes = match view {
            View::Reshape => return self.reshape(operand, shape, origin),
            View::Slice(slices) => {
                let axes = slices.iter().map(|slice| (slice.start.clone(), slice.step)).collect();
                return Ok(self.push(Kind::Slice { operand, axes }, dtype, shape, origin));
            }
            View::Permute(permutation) => {
                let mut axes: SmallVec<[Option<usize>; 4]> = smallvec![None; rank];
                for (to, &from) in permutation.iter().enumerate() {
                    axes[from] = Some(to);
                }
                axes
            }
            View::ExpandDims(inserted) => {
                (0..shape.rank()).filter(|axis| !inserted.contains(axis)).map(Some).collect()
            }
            View::Squeeze(removed) => {
                let mut next = 0..;
                (0..rank).map(|axis| if removed.contains(&axis) { None } else { next.next() }).collect()
            }
            View::BroadcastTo => self.aligned(operand, &shape),
        };
        Ok(self.push(Kind::Reindex { operand, axes }, dtype, shape, origin))
    }

    /// How an operand is indexed by the axes of a result to which it broadcasts, aligned at the last axis.
    pub fn aligned(&self, operand: FlatId, result: &[Dim]) -> SmallVec<[Option<usize>; 4]> {
        let shape = &self.node(operand).shape;
        let shift = result.len() - shape.rank();
        let stretches = |axis: usize| shape[axis].is_one();
        (0..shape.rank()).map(|axis| (!stretches(axis)).then_some(axis + shift)).collect()
    }

    fn reshape(&mut self, operand: FlatId, shape: Shape, origin: ExprId) -> Result<FlatId, LowerError> {
        let sizes = |shape: &Shape| -> Vec<usize> {
            shape.iter().enumerate().filter(|(_, dim)| !dim.is_one()).map(|(axis, _)| axis).collect()
        };
        let from = self.node(operand).shape.clone();
        let dtype = self.node(operand).dtype;
        let (old, new) = (sizes(&from), sizes(&shape));
        if old.len() == new.len() && old.iter().zip(&new).all(|(&old, &new)| from[old] == shape[new]) {
            // Only literal 1s come or go.
            let mut axes = smallvec![None; from.rank()];
            for (old, new) in old.into_iter().zip(new) {
                axes[old] = Some(new);
            }
            return Ok(self.push(Kind::Reindex { operand, axes }, dtype, shape, origin));
        }
        let Some(order) = self.reshapable(operand) else {
            return Ok(self.push(Kind::Reshape(operand), dtype, shape, origin));
        };
        let mut moved: HashMap<FlatId, FlatId> = HashMap::new();
        for id in order {
            let node = self.node(id).clone();
            let of = |moved: &HashMap<FlatId, FlatId>, arg: &FlatId| moved.get(arg).copied().unwrap_or(*arg);
            let kind = match node.kind {
                Kind::Op { op, args } => {
                    Kind::Op { op, args: args.iter().map(|arg| of(&moved, arg)).collect() }
                }
                Kind::Select(args) => Kind::Select(args.map(|arg| of(&moved, &arg))),
                Kind::Cast(arg) => Kind::Cast(of(&moved, &arg)),
                Kind::Reshape(array) => Kind::Reshape(array),
                _ => Kind::Reshape(id),
            };
            let id_moved = self.push(kind, node.dtype, shape.clone(), node.origin);
            moved.insert(id, id_moved);
        }
        Ok(moved[&operand])
    }

    /// The nodes of full shape that a reshape of `root` has to change, operands first, if it can move through all of
    /// them to whole arrays. Operands of one element stay as they are.
    fn reshapable(&self, root: FlatId) -> Option<Vec<FlatId>> {
        let shape = &self.node(root).shape;
        let single = |id: FlatId| self.node(id).shape.iter().all(Dim::is_one);
        let mut order: Vec<FlatId> = Vec::new();
        let mut stack = vec![(root, false)];
        while let Some((id, entered)) = stack.pop() {
            if order.contains(&id) {
                continue;
            }
            let node = self.node(id);
            if entered {
                order.push(id);
                continue;
            }
            if order.len() + stack.len() > RESHAPE_REACH || self.stored.contains(&id) {
                return None;
            }
            match &node.kind {
                Kind::Buffer(_) | Kind::Reshape(_) => order.push(id),
                Kind::Op { .. } | Kind::Select(_) | Kind::Cast(_) => {
                    stack.push((id, true));
                    for arg in self.operands_of(&node.kind) {
                        // An operand of one element must have rank 0 to stay aligned under any new shape.
                        if single(arg) && self.node(arg).shape.rank() == 0 {
                            continue;
                        }
                        if self.node(arg).shape != *shape {
                            return None;
                        }
                        stack.push((arg, false));
                    }
                }
                Kind::Constant(_)
                | Kind::Size(_)
                | Kind::Reduce(_)
                | Kind::Reindex { .. }
                | Kind::Slice { .. }
                | Kind::Take { .. }
                | Kind::Iota => return None,
            }
        }
        Some(order)
    }

    fn cast(&mut self, operand: FlatId, to: DType) -> FlatId {
        let node = self.node(operand);
        if node.dtype == to {
            return operand;
        }
        let (shape, origin) = (node.shape.clone(), node.origin);
        self.push(Kind::Cast(operand), to, shape, origin)
    }

    #[allow(clippy::too_many_arguments, reason = "the fields of one graph node")]
    fn reduce(
        &mut self,
        op: ReduceOp,
        operand: FlatId,
        axes: &[usize],
        keepdims: bool,
        factors: Option<[FlatId; 2]>,
        origin: ExprId,
        shape: Shape,
    ) -> Result<FlatId, LowerError> {
        let accumulator = op.accumulator(self.node(operand).dtype);
        let operand = self.cast(operand, accumulator);
        let full = self.node(operand).shape.clone();
        let is_arg = matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax);
        let mut result = operand;
        if is_arg && axes.len() != 1 {
            let (flattened, axis) = self.flatten_last(operand, axes, origin)?;
            result = self.reduce_axis(op, flattened, axis, None, origin)?;
        } else {
            let mut factors = factors;
            for &axis in axes.iter().rev() {
                let single = if op == ReduceOp::Mean { ReduceOp::Sum } else { op };
                result = self.reduce_axis(single, result, axis, factors.take(), origin)?;
            }
        }
        if op == ReduceOp::Mean {
            let size = Dim::product(axes.iter().map(|&axis| &full[axis]))?;
            let size = self.push(Kind::Size(size), DType::I64, Shape::default(), origin);
            let size = self.cast(size, accumulator);
            let sum_shape = self.node(result).shape.clone();
            result = self.push(
                Kind::Op { op: Op::Divide, args: smallvec![result, size] },
                accumulator,
                sum_shape,
                origin,
            );
        }
        if keepdims {
            let axes = (0..full.rank()).filter(|axis| !axes.contains(axis)).map(Some).collect();
            let dtype = self.node(result).dtype;
            result = self.push(Kind::Reindex { operand: result, axes }, dtype, shape, origin);
        }
        Ok(result)
    }

    /// The operand with the given axes moved to the end and merged into one, and the number of that axis.
    fn flatten_last(
        &mut self,
        operand: FlatId,
        axes: &[usize],
        origin: ExprId,
    ) -> Result<(FlatId, usize), LowerError> {
        let node = self.node(operand).clone();
        let kept: Vec<usize> = (0..node.shape.rank()).filter(|axis| !axes.contains(axis)).collect();
        let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
        let mut places = smallvec![None; order.len()];
        for (to, &from) in order.iter().enumerate() {
            places[from] = Some(to);
        }
        let moved = if order.is_sorted() {
            operand
        } else {
            let shape: Shape = order.iter().map(|&axis| node.shape[axis].clone()).collect();
            self.push(Kind::Reindex { operand, axes: places }, node.dtype, shape, origin)
        };
        let last = Dim::product(axes.iter().map(|&axis| &node.shape[axis]))?;
        let shape: Shape = kept.iter().map(|&axis| node.shape[axis].clone()).chain([last]).collect();
        Ok((self.reshape(moved, shape, origin)?, kept.len()))
    }

    fn reduce_axis(
        &mut self,
        op: ReduceOp,
        operand: FlatId,
        axis: usize,
        factors: Option<[FlatId; 2]>,
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let node = self.node(operand).clone();
        let shape: Shape =
            node.shape.iter().enumerate().filter(|(of, _)| *of != axis).map(|(_, dim)| dim.clone()).collect();
        let dtype = op.result_dtype(node.dtype);
        let whole = Reduction { op, operand, axis, factors, index: None, group: None, combines: false };
        let extent = node.shape[axis].clone();
        if !self.is_few(&shape) || extent.as_constant().is_some_and(|extent| extent < WORTH_GROUPS) {
            return Ok(self.push(Kind::Reduce(whole), dtype, shape, origin));
        }
        let group = self.group(extent);
        let count = Dim::symbol(self.groups[group].count);
        let partial_shape: Shape = std::iter::once(count).chain(shape.iter().cloned()).collect();
        let partial = Reduction { group: Some(group), ..whole.clone() };
        let is_arg = matches!(op, ReduceOp::ArgMin | ReduceOp::ArgMax);
        let (values, index) = if is_arg {
            let extreme = if op == ReduceOp::ArgMin { ReduceOp::Min } else { ReduceOp::Max };
            let values = Reduction { op: extreme, ..partial.clone() };
            let values = self.push(Kind::Reduce(values), node.dtype, partial_shape.clone(), origin);
            let index = self.push(Kind::Reduce(partial), DType::I64, partial_shape, origin);
            self.store(index);
            (values, Some(index))
        } else {
            (self.push(Kind::Reduce(partial), dtype, partial_shape, origin), None)
        };
        self.store(values);
        let combined = Reduction { operand: values, axis: 0, factors: None, index, combines: true, ..whole };
        Ok(self.push(Kind::Reduce(combined), dtype, shape, origin))
    }

    fn is_few(&self, shape: &[Dim]) -> bool {
        shape
            .iter()
            .try_fold(1i64, |count, dim| count.checked_mul(dim.as_constant()?))
            .is_some_and(|count| count <= FEW)
    }

    fn group(&mut self, extent: Dim) -> usize {
        if let Some(found) = self.groups.iter().position(|group| group.extent == extent) {
            return found;
        }
        let index = self.groups.len();
        let count = self.host_symbol(HostSymbol::GroupCount(index));
        let length = self.host_symbol(HostSymbol::GroupLength(index));
        self.groups.push(Group { extent, count, length, unit: BLOCK });
        index
    }
}

/// Row-major strides of a shape, in elements.
pub(crate) fn dense_strides(shape: &[Dim]) -> Result<Vec<Dim>, LowerError> {
    let mut strides = vec![Dim::ONE; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].mul(&shape[axis])?;
    }
    Ok(strides)
}
