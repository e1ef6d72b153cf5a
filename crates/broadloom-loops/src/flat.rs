//! The graph in the few forms from which loops are made.
//!
//! ```text
//! mean over axes        ──▶ sum / size
//! several axes          ──▶ one reduction after the other, innermost first
//! arg over several axes ──▶ arg over one axis of a view, or one after the other with the indices found so far
//! order-free reduction of a reshape ──▶ reduction over the axes that it merged
//! permute, squeeze, ..  ──▶ Reindex
//! sort along an axis    ──▶ sort along the last one, of a view
//! tensor without elements ──▶ a constant
//! reshape of ops        ──▶ ops of reshapes of arrays, where that is the same
//! reduction to a few    ──▶ partial results by group, then their combination (so that threads can share it)
//! op on floats of 16 bits ──▶ casts to f32, the op, and a cast back, which rounds
//! ```
//!
//! So after this stage, 16-bit floats appear only in arrays, rows and casts.
//!
//! This stage does not know loops: every node is still a whole tensor.

mod below;
mod integers;
mod kind;
mod order;
mod reduced;
mod reductions;
mod scattered;
mod set;
mod sizes;
mod views;

use below::NodeSet;
pub(crate) use kind::Kind;
use reduced::{Reduced, reduced};
pub use reductions::{is_few, most_unrolled};
pub(crate) use scattered::{Before, Scattered, Tables};
use scattered::{Placed, changes_in_place, placed};
pub(crate) use set::{Range, Region, Replaced, Side};
use sizes::{conditions, with_sizes};
pub(crate) use views::{merged_axes, runs};

use crate::band::Known;
use crate::interval::Interval;
use crate::kernel::{Buffer, BufferId, Group, HostSymbol, Role};
use crate::thresholds::MAX_NESTED_REDUCTIONS;
use crate::{Layout, LowerError, LowerOptions};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{CheckedGraph, Demand, Node, SymbolInfo, TopK};
use broadloom_ir::reduce::{ReduceOp, rows_of_table, segment_tables};
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, InputId, SymbolId, define_ids};
use smallvec::{SmallVec, smallvec};
use std::cell::Cell;
use std::collections::{HashMap, HashSet};

define_ids! {
    /// A node of the flat graph.
    FlatId "f";
}

/// A tensor of the flat graph.
#[derive(Debug, Clone)]
pub(crate) struct FlatNode {
    pub kind: Kind,
    pub dtype: DType,
    pub shape: Shape,
    /// The expression that it belongs to.
    pub origin: ExprId,
    /// The depth of reductions that run as loops in the chain below this node, including the node itself.
    pub nested: usize,
    /// The number of nodes computed with this one, as a saturating estimate.
    pub weight: u32,
    /// Whether this node or anything that it is computed from is a join.
    pub joins: bool,
    /// Between which integers the elements lie, if they are integers that `i64` holds.
    pub interval: Option<Interval>,
}

/// A reduction over one axis, which it removes.
#[derive(Debug, Clone)]
pub(crate) struct Reduction {
    /// Not `Mean`.
    pub op: ReduceOp,
    pub operand: FlatId,
    pub axis: usize,
    /// The factors of a sum of products that is accumulated by fma; they broadcast to the operand's shape.
    pub factors: Option<[FlatId; 2]>,
    /// For arg-reductions: the results that belong to the operands, unless they are the positions.
    pub index: Option<FlatId>,
    /// Partial results by group: the node has a leading axis that counts the groups.
    pub group: Option<usize>,
    /// Combines partial results of groups, in the order of the fixed tree.
    pub combines: bool,
}

/// A copy of an array with another order of axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pack {
    /// The copy, which is a materialised node.
    pub copy: FlatId,
    /// The array's axis that is the copy's last one.
    pub axis: usize,
}

/// The flat graph with its arrays.
#[derive(Debug)]
pub(crate) struct Flat {
    pub nodes: Vec<FlatNode>,
    pub buffers: Vec<Buffer>,
    pub layouts: Vec<Layout>,
    pub outputs: Vec<FlatId>,
    pub symbols: Vec<SymbolInfo>,
    /// Numbers that a call checks to be at least zero.
    pub conditions: Vec<Demand>,
    pub host_symbols: Vec<HostSymbol>,
    pub groups: Vec<Group>,
    /// Nodes that must be stored, whatever uses them.
    pub stored: NodeSet,
    /// What replaces regions of other tensors.
    pub replacements: Vec<FlatId>,
    /// Changes that are written over their base, with a copy of it that no other node reads.
    pub overwritten: HashMap<FlatId, FlatId>,
    /// Copies of arrays with one of their axes innermost.
    pub packs: HashMap<FlatId, Pack>,
    /// Whether the numerics level has fma.
    pub fused: bool,
    /// Whether axes of symbolic size are assumed to be long.
    long_rows: bool,
    /// Shapes of results with too few elements for the threads to share.
    shared: Vec<Shape>,
    /// Shapes of products whose columns threads share.
    pub by_columns: Vec<Shape>,
    /// Symbols of the strides of arrays that are not dense.
    strides: HashMap<(BufferId, usize), SymbolId>,
    /// Changes of arrays of the caller, which must keep their elements if an index is out of range.
    in_place: HashSet<ExprId>,
    /// Changes of rows of regions that changes of these regions put back, and what they make of the arrays with the regions.
    placed: HashMap<ExprId, Placed>,
    changed: HashMap<ExprId, FlatId>,
    memo: HashMap<ExprId, FlatId>,
    /// The expressions of `memo`.
    exprs: HashMap<FlatId, SmallVec<[ExprId; 1]>>,
    /// How reductions read expressions.
    reduced: HashMap<ExprId, Reduced>,
    /// Reductions over one axis whose results a reduction over several axes combines over the others, with the number of elements
    /// of all axes, if it is constant.
    combined: HashMap<FlatId, Option<i64>>,
    /// The number of values that may still be made.
    budget: Cell<usize>,
    max_values: usize,
}

impl Flat {
    /// Returns the flat form of a graph whose arrays have the given layouts.
    pub fn new(graph: &CheckedGraph, options: &LowerOptions) -> Result<Flat, LowerError> {
        let mut flat = Flat {
            nodes: Vec::new(),
            buffers: Vec::new(),
            layouts: Vec::new(),
            outputs: Vec::new(),
            symbols: graph.symbols().to_vec(),
            conditions: conditions(graph),
            host_symbols: Vec::new(),
            groups: Vec::new(),
            stored: NodeSet::default(),
            replacements: Vec::new(),
            overwritten: HashMap::new(),
            in_place: changes_in_place(graph),
            placed: placed(graph),
            changed: HashMap::new(),
            packs: HashMap::new(),
            fused: options.fused,
            long_rows: options.long_rows,
            shared: with_sizes(&options.shared, &options.sizes)?,
            by_columns: with_sizes(&options.by_columns, &options.sizes)?,
            strides: HashMap::new(),
            memo: HashMap::new(),
            exprs: HashMap::new(),
            reduced: reduced(graph, options.long_rows),
            combined: HashMap::new(),
            budget: Cell::new(options.max_values),
            max_values: options.max_values,
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
            flat.spend()?;
            let id = flat.translate(graph, expr)?;
            flat.memo.insert(expr, id);
            flat.exprs.entry(id).or_default().push(expr);
        }
        for (index, output) in graph.outputs().iter().enumerate() {
            let layout = options.outputs.get(index).cloned().unwrap_or(Layout::Dense);
            let node = flat.output(flat.memo[&output.expr], &layout);
            flat.outputs.push(node);
        }
        Ok(flat)
    }

    /// Counts a value that is made, in any attempt at a kernel.
    ///
    /// # Errors
    /// Returns an error if there are more than the options allow.
    pub fn spend(&self) -> Result<(), LowerError> {
        let too_many = LowerError::TooManyValues { most: self.max_values };
        let left = self.budget.get().checked_sub(1).ok_or(too_many)?;
        self.budget.set(left);
        Ok(())
    }

    pub fn node(&self, id: FlatId) -> &FlatNode {
        &self.nodes[id.index()]
    }

    /// Returns the expressions whose values a node has.
    pub fn exprs_of(&self, node: FlatId) -> &[ExprId] {
        self.exprs.get(&node).map_or(&[], |exprs| exprs)
    }

    /// Returns what is known of sizes.
    pub fn known(&self) -> Known<'_> {
        Known::new(&self.symbols, &self.conditions)
    }

    /// Adds a symbol that the host binds.
    pub fn host_symbol(&mut self, what: HostSymbol) -> SymbolId {
        self.host_symbols.push(what);
        SymbolId::new(self.symbols.len() + self.host_symbols.len() - 1)
    }

    /// Adds an array.
    pub fn buffer(&mut self, name: &str, role: Role, dtype: DType, shape: Shape, layout: Layout) -> BufferId {
        let id = BufferId::new(self.buffers.len());
        if let Layout::Strided { unit } = layout {
            for axis in (0..shape.rank()).filter(|axis| unit != Some(*axis)) {
                let symbol = self.host_symbol(HostSymbol::Stride { buffer: id, axis });
                self.strides.insert((id, axis), symbol);
            }
        }
        self.buffers.push(Buffer {
            name: name.to_string(),
            role,
            dtype,
            shape,
            holds: None,
            reason: None,
            starts_as: None,
        });
        self.layouts.push(layout);
        id
    }

    /// Returns the strides of a buffer's axes, in elements.
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
            Kind::Reduce(reduction) if self.unrolls(reduction) => self.terms(reduction),
            _ => None,
        };
        let loops = usize::from(matches!(&kind, Kind::Reduce(_)) && unrolled.is_none());
        let mut nested = 0;
        let mut weight: u32 = 1;
        for operand in kind.operands() {
            nested = nested.max(self.node(operand).nested);
            weight = match kind.is_join() {
                // Each element is computed from one operand.
                true => weight.max(self.node(operand).weight),
                false => weight.saturating_add(self.node(operand).weight),
            };
        }
        // The body of an unrolled reduction occurs once per element of the axis.
        let times = unrolled.and_then(|extent| u32::try_from(extent).ok()).unwrap_or(1).max(1);
        let weight = weight.saturating_mul(times);
        // Scans are not cut into pieces.
        let joins = !matches!(kind, Kind::Scan { .. })
            && (kind.is_join() || kind.operands().iter().any(|operand| self.node(*operand).joins));
        let interval = self.interval_of(&kind, dtype, &shape);
        self.nodes.push(FlatNode {
            kind,
            dtype,
            shape,
            origin,
            nested: nested + loops,
            weight,
            joins,
            interval,
        });
        let id = FlatId::new(self.nodes.len() - 1);
        if nested + loops > MAX_NESTED_REDUCTIONS {
            // Count the reduced operand too, so that a chain of such steps is cut instead of being recomputed from
            // its start by each of them.
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

    /// Adds the copy of an array whose last axis is `axis`, the others in order.
    pub fn pack(&mut self, array: FlatId, axis: usize) -> FlatId {
        let FlatNode { dtype, shape, origin, .. } = self.node(array).clone();
        let last = shape.rank() - 1;
        let place = |of: usize| Some(if of == axis { last } else { of - usize::from(of > axis) });
        let mut sizes: Vec<Dim> = shape.to_vec();
        let size = sizes.remove(axis);
        sizes.push(size);
        let axes = (0..shape.rank()).map(place).collect();
        let copy = self.push(Kind::Reindex { operand: array, axes }, dtype, sizes.into(), origin);
        self.packs.insert(array, Pack { copy, axis });
        copy
    }

    /// Returns whether a node is the copy of an array.
    pub fn is_pack(&self, id: FlatId) -> bool {
        self.packs.values().any(|pack| pack.copy == id)
    }

    /// Stores a node: from here on it counts as an array.
    pub fn store(&mut self, id: FlatId) {
        self.stored.insert(id);
        let node = &mut self.nodes[id.index()];
        node.nested = 0;
        node.weight = 1;
    }

    /// Returns whether a node is an array in row-major order.
    pub fn is_dense(&self, id: FlatId) -> bool {
        match self.node(id).kind {
            Kind::Buffer(buffer) => self.layouts[buffer.index()] == Layout::Dense,
            _ => self.stored.contains(id),
        }
    }

    /// Returns the arrays of the outputs that a node represents.
    pub fn output_buffers(&self, node: FlatId) -> Vec<BufferId> {
        let first =
            self.buffers.iter().position(|buffer| matches!(buffer.role, Role::Output(_))).unwrap_or(0);
        let of = self.outputs.iter().enumerate().filter(|(_, output)| **output == node);
        of.map(|(index, _)| BufferId::new(first + index)).collect()
    }

    fn translate(&mut self, graph: &CheckedGraph, expr: ExprId) -> Result<FlatId, LowerError> {
        let dtype = graph.dtype(expr);
        let shape = graph.shape(expr).clone();
        let kind = match graph.node(expr) {
            // Nothing is read of a tensor without elements. The index of one may be that of an element which its operands
            // do not have either: 0 for all of them.
            node if shape.iter().any(Dim::is_zero)
                && !matches!(node, Node::Segment { .. } | Node::Scatter { .. }) =>
            {
                Kind::Constant(Scalar::Bool(false).cast(dtype))
            }
            Node::Input(input) => Kind::Buffer(BufferId::new(input.index())),
            Node::Constant(value) => Kind::Constant(*value),
            Node::Elementwise { op, operands } => {
                let args: SmallVec<[FlatId; 3]> =
                    operands.iter().map(|operand| self.widened(self.memo[operand])).collect();
                let result = op.result_dtype(self.node(args[0]).dtype);
                let result = self.push(Kind::Op { op: *op, args }, result, shape, expr);
                return Ok(self.cast(result, dtype));
            }
            Node::Select { condition, on_true, on_false } => {
                let condition = self.memo[condition];
                let [on_true, on_false] = [on_true, on_false].map(|operand| self.widened(self.memo[operand]));
                let kind = Kind::Select([condition, on_true, on_false]);
                let result = self.push(kind, self.node(on_true).dtype, shape, expr);
                return Ok(self.cast(result, dtype));
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
                let (table, indices) = (self.memo[table], self.memo[indices]);
                if let Some(computed) = self.computed_at(table, indices, &shape, expr) {
                    return Ok(computed);
                }
                Kind::Take { table, indices, axis: *axis }
            }
            Node::Iota => Kind::Iota,
            Node::Size(size) => Kind::Size(size.clone()),
            Node::Concat { operands, axis } => {
                let operands = operands.iter().map(|operand| self.memo[operand]).collect();
                self.concat(operands, *axis)?
            }
            Node::Set { .. } if let Some(changed) = self.changed.get(&expr) => return Ok(*changed),
            Node::Set { base, value, region } => {
                self.replacements.push(self.memo[value]);
                return self.set(self.memo[base], self.memo[value], region, expr);
            }
            Node::Scatter { op, base, indices, values } => {
                let [base, indices, values] = [base, indices, values].map(|operand| self.memo[operand]);
                return self.scatter(*op, base, [indices, values], expr);
            }
            Node::Segment { op, compensated, elements, values, ids, initial } => {
                let values = self.widened(self.memo[values]);
                let initial = initial.map(|initial| self.widened(self.memo[&initial]));
                let kind = Kind::Segment {
                    op: *op,
                    compensated: *compensated,
                    taken: rows_of_table(&segment_tables(elements)?)?,
                    values,
                    ids: self.memo[ids],
                    initial,
                };
                let tables = self.push(kind, self.node(values).dtype, shape, expr);
                self.store(tables);
                return Ok(self.cast(tables, dtype));
            }
            // The single best element is an extreme, which can be fused with other reductions and computed where it
            // is read.
            Node::TopK { operand, topk } if topk.k == 1 => {
                let operand = self.memo[operand];
                return self.reduce(topk.first(), operand, &[topk.axis], true, None, expr, shape);
            }
            Node::TopK { operand, topk } => {
                let operand = self.memo[operand];
                let found = if topk.indices { dtype } else { dtype.arithmetic() };
                let best = self.push(Kind::TopK { operand, topk: *topk }, found, shape, expr);
                self.store(best);
                return Ok(self.cast(best, dtype));
            }
            Node::Sort { operand, sort } => return Ok(self.in_order(self.memo[operand], *sort, dtype, expr)),
            Node::Search { table, values, right } => {
                let [table, values] = [table, values].map(|operand| self.widened(self.memo[operand]));
                Kind::Search { table, values, right: *right }
            }
            Node::Scan { op, operand, axis, initial } => {
                let operand = self.widened(self.memo[operand]);
                let initial = initial.map(|initial| self.widened(self.memo[&initial]));
                let scan = self.scan(*op, operand, *axis, initial, expr);
                return Ok(self.cast(scan, dtype));
            }
            Node::Step { .. } | Node::Loop { .. } => return Err(LowerError::Loop),
            Node::Compress { .. } => return Err(LowerError::DecidedSize),
            // A checked graph has no poison; the value is arbitrary.
            Node::Poison => Kind::Constant(Scalar::Bool(false)),
        };
        Ok(self.push(kind, dtype, shape, expr))
    }

    /// Adds a scan; a scan of one element is that element.
    fn scan(
        &mut self,
        op: ReduceOp,
        operand: FlatId,
        axis: usize,
        initial: Option<FlatId>,
        origin: ExprId,
    ) -> FlatId {
        let FlatNode { dtype, shape, .. } = self.node(operand).clone();
        if !shape[axis].is_one() {
            return self.push(Kind::Scan { op, operand, axis, initial }, dtype, shape, origin);
        }
        let Some(initial) = initial else { return operand };
        let axes = (0..shape.rank()).filter(|of| *of != axis).map(Some).collect();
        let initial = self.push(Kind::Reindex { operand: initial, axes }, dtype, shape.clone(), origin);
        let args = smallvec![initial, operand];
        self.push(Kind::Op { op: op.combine(), args }, dtype, shape, origin)
    }

    /// Returns what one walk along an axis finds: both the values and the indices.
    pub fn walk(&self, node: FlatId) -> Option<(FlatId, TopK)> {
        match self.node(node).kind {
            Kind::TopK { operand, topk } => Some((operand, TopK { indices: false, ..topk })),
            _ => None,
        }
    }

    fn concat(&self, operands: SmallVec<[FlatId; 3]>, axis: usize) -> Result<Kind, LowerError> {
        let mut ends: SmallVec<[Dim; 3]> = smallvec![];
        for &operand in &operands {
            let size = &self.node(operand).shape[axis];
            ends.push(ends.last().unwrap_or(&Dim::ZERO).add(size)?);
        }
        Ok(Kind::Concat { operands, axis, ends })
    }

    /// Converts an operand of arithmetic: a 16-bit float becomes f32.
    fn widened(&mut self, operand: FlatId) -> FlatId {
        let dtype = self.node(operand).dtype;
        self.cast(operand, dtype.arithmetic())
    }

    fn cast(&mut self, operand: FlatId, to: DType) -> FlatId {
        let node = self.node(operand);
        if node.dtype == to {
            return operand;
        }
        let (shape, origin) = (node.shape.clone(), node.origin);
        self.push(Kind::Cast(operand), to, shape, origin)
    }
}

/// Returns the row-major strides of a shape, in elements.
pub(crate) fn dense_strides(shape: &[Dim]) -> Result<Vec<Dim>, LowerError> {
    let mut strides = vec![Dim::ONE; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].mul(&shape[axis])?;
    }
    Ok(strides)
}
