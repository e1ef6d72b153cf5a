//! Arrays whose elements data choose: tables of segments, and arrays with rows changed.

use super::{Flat, FlatId, FlatNode, Kind, Range, Region};
use crate::LowerError;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Node, View};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// How values go to rows that indices choose.
pub(crate) struct Scattered {
    /// How they combine with the elements of the row; `None` if they replace these.
    pub op: Option<Op>,
    /// Whether the row has sums, and what rounding has lost of them.
    pub compensated: bool,
    pub values: FlatId,
    pub indices: FlatId,
    pub before: Before,
    /// `None` if there is a single array, without an axis that counts tables.
    pub tables: Option<Tables>,
    /// What has the rows, on each axis.
    pub ranges: Vec<Range>,
    /// The axis along which the indices choose.
    pub axis: usize,
    /// The first axis after it that is one of a row.
    pub row: usize,
}

/// What the rows are before.
#[derive(Clone, Copy)]
pub(crate) enum Before {
    Array(FlatId),
    Identity(ReduceOp),
}

/// Tables that share the indices, along the leading axis.
pub(crate) struct Tables {
    pub count: Dim,
    /// The number of indices that each takes in a block of them.
    pub taken: Dim,
}

/// A change of rows of a region that the change of the region puts back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    set: ExprId,
    /// What has the region.
    base: ExprId,
}

/// For each axis of an array, the elements that a part has of it, and the axis of the part if it is more than a single one.
type Axes = SmallVec<[(Option<usize>, Range); 4]>;

/// What a tensor is of an array.
struct Part {
    array: FlatId,
    axes: Axes,
}

impl Flat {
    /// Returns an array with rows changed, written over its base: the array of which the base is a permutation, or, if the
    /// change of a region follows that puts the rows back, the array that they are in.
    pub(super) fn scatter(
        &mut self,
        op: Option<Op>,
        base: FlatId,
        [indices, values]: [FlatId; 2],
        origin: ExprId,
    ) -> Result<FlatId, LowerError> {
        let placed = self.placed.get(&origin).map(|placed| (placed.set, self.memo[&placed.base]));
        let mut part = self.part(base, None)?;
        // The array with the region, and what it is of the array that it is a permutation of.
        let mut whole = None;
        if let Some((set, array)) = placed {
            let (sliced, of_array) = (self.part(base, Some(array))?, self.part(array, None)?);
            if sliced.array == of_array.array {
                (part, whole) = (sliced, Some((set, array, of_array)));
            }
        }
        let change = whole.as_ref().map_or(origin, |(set, ..)| *set);
        let axis = part.axes.iter().position(|(to, _)| *to == Some(0)).unwrap_or(0);
        let values = self.in_order_of(&part, axis, indices, values);
        // They may read rows that are changed before them, or that were by changes before this one.
        let first = self.first_version(part.array);
        for read in [indices, values] {
            let is_array = matches!(self.node(read).kind, Kind::Buffer(_));
            if !is_array && self.reaches(read, first) {
                self.replacements.push(read);
                self.store(read);
            }
        }
        // The caller's array must keep its elements if an index is out of range: all are checked first.
        let indices = match self.in_place.contains(&change) {
            true => self.checked(indices, &part.axes[axis].1.length, origin),
            false => indices,
        };
        let FlatNode { dtype, shape, .. } = self.node(part.array).clone();
        let ranges = part.axes.iter().map(|(_, range)| range).zip(&*shape);
        let region: Region = ranges
            .map(|(range, size)| (*range != Range::new(Dim::ZERO, size.clone())).then(|| range.clone()))
            .collect();
        let scatter =
            |base| (Kind::Scatter { op, base, axis, region, indices, values }, dtype, shape, origin);
        let changed = self.over(part.array, scatter);
        if let Some((set, array, of_array)) = whole {
            let array = self.shown(array, &of_array, changed);
            self.changed.insert(set, array);
        }
        Ok(self.shown(base, &part, changed))
    }

    /// Returns what a tensor is of an array, of which it is a permutation, or of one of which `sliced` is, if it is a part of that.
    fn part(&self, id: FlatId, sliced: Option<FlatId>) -> Result<Part, LowerError> {
        let shape = &self.node(id).shape;
        let whole = |(axis, size): (usize, &Dim)| (Some(axis), Range::new(Dim::ZERO, size.clone()));
        let mut part = Part { array: id, axes: shape.iter().enumerate().map(whole).collect() };
        let mut takes_slices = sliced.is_some();
        loop {
            takes_slices &= sliced != Some(part.array);
            let (array, axes): (FlatId, Axes) = match &self.node(part.array).kind {
                Kind::Reindex { operand, axes }
                    if takes_slices || axes.iter().all(Option::is_some) && axes.len() == part.axes.len() =>
                {
                    let of = |to: &Option<usize>| match to {
                        Some(to) => part.axes[*to].clone(),
                        None => (None, Range::new(Dim::ZERO, Dim::ONE)),
                    };
                    (*operand, axes.iter().map(of).collect())
                }
                Kind::Slice { operand, axes } if takes_slices && axes.iter().all(|(_, step)| *step > 0) => {
                    let of = |((start, step), (to, range)): (&(Dim, i64), &(Option<usize>, Range))| {
                        let all = Range { start: start.clone(), length: range.length.clone(), step: *step };
                        Ok((*to, all.part(range)?))
                    };
                    (*operand, axes.iter().zip(&part.axes).map(of).collect::<Result<_, LowerError>>()?)
                }
                _ => return Ok(part),
            };
            let mut found: Vec<usize> = axes.iter().filter_map(|(to, _)| *to).collect();
            found.sort_unstable();
            if !found.into_iter().eq(0..shape.rank()) {
                return Ok(part);
            }
            part = Part { array, axes };
        }
    }

    /// Returns the same part of an array with other elements.
    fn shown(&mut self, tensor: FlatId, part: &Part, array: FlatId) -> FlatId {
        if part.array == tensor {
            return array;
        }
        let (FlatNode { dtype, shape, origin, .. }, whole) =
            (self.node(tensor).clone(), self.node(array).shape.clone());
        let lengths: Shape = part.axes.iter().map(|(_, range)| range.length.clone()).collect();
        let operand = match lengths == whole {
            true => array,
            false => {
                let axes = part.axes.iter().map(|(_, range)| (range.start.clone(), range.step)).collect();
                self.push(Kind::Slice { operand: array, axes }, dtype, lengths, origin)
            }
        };
        let axes = part.axes.iter().map(|(to, _)| *to).collect();
        self.push(Kind::Reindex { operand, axes }, dtype, shape, origin)
    }

    /// Returns the tensor that changes in turn have made into this one.
    fn first_version(&self, mut id: FlatId) -> FlatId {
        loop {
            id = match self.node(id).kind {
                Kind::Set { base, .. } | Kind::Scatter { base, .. } | Kind::Reshape(base) => base,
                _ if let Some((array, _)) = self.permuted(id) => array,
                _ => return id,
            };
        }
    }

    /// Returns values for the rows of a part with their axes in the order of its array.
    fn in_order_of(&mut self, part: &Part, axis: usize, indices: FlatId, values: FlatId) -> FlatId {
        let FlatNode { dtype, shape, origin, .. } = self.node(values).clone();
        let chosen = self.node(indices).shape.rank();
        let others = part.axes.iter().enumerate().filter(|(of, _)| *of != axis);
        // Elsewhere than along the rows, the axes of the part follow those of the indices.
        let others = others.map(|(_, (to, _))| to.map(|to| chosen + to - 1));
        let from: Vec<Option<usize>> = (0..chosen).map(Some).chain(others).collect();
        if from.iter().copied().eq((0..shape.rank()).map(Some)) {
            return values;
        }
        let axes = (0..shape.rank()).map(|axis| from.iter().position(|of| *of == Some(axis))).collect();
        let sizes = from.iter().map(|of| of.map_or(Dim::ONE, |of| shape[of].clone())).collect();
        self.push(Kind::Reindex { operand: values, axes }, dtype, sizes, origin)
    }

    /// Stores indices of an axis, counted from its start, before anything that needs them is written.
    fn checked(&mut self, indices: FlatId, size: &Dim, origin: ExprId) -> FlatId {
        let table = self.push(Kind::Iota, DType::I64, [size.clone()].into_iter().collect(), origin);
        let shape = self.node(indices).shape.clone();
        let checked = self.push(Kind::Take { table, indices, axis: 0 }, DType::I64, shape, origin);
        self.store(checked);
        checked
    }

    /// Returns how the elements of an array are chosen, if data choose them.
    pub fn scattered(&self, id: FlatId) -> Option<Scattered> {
        let node = self.node(id);
        let whole = |size: &Dim| Range::new(Dim::ZERO, size.clone());
        Some(match node.kind {
            Kind::Segment { op, compensated, ref taken, values, ids, initial } => Scattered {
                op: Some(op.combine()),
                compensated,
                values,
                indices: ids,
                before: initial.map_or(Before::Identity(op), Before::Array),
                tables: Some(Tables { count: node.shape[0].clone(), taken: taken.clone() }),
                ranges: node.shape.iter().map(whole).collect(),
                axis: 1,
                row: 2 + usize::from(compensated),
            },
            Kind::Scatter { op, base, axis, ref region, indices, values } => Scattered {
                op,
                compensated: false,
                values,
                indices,
                before: Before::Array(base),
                tables: None,
                ranges: std::iter::zip(region, &*node.shape)
                    .map(|(range, size)| range.clone().unwrap_or_else(|| whole(size)))
                    .collect(),
                axis,
                row: axis + 1,
            },
            _ => return None,
        })
    }
}

/// Returns the changes that make assigned values of the inputs that these replace.
pub(super) fn changes_in_place(graph: &CheckedGraph) -> HashSet<ExprId> {
    let mut changes = HashSet::new();
    for output in graph.outputs() {
        let mut expr = output.expr;
        let mut chain = Vec::new();
        while let Node::Set { base, .. }
        | Node::Scatter { base, .. }
        | Node::View { view: View::Reshape | View::Permute(_), operand: base } = graph.node(expr)
        {
            chain.push(expr);
            expr = *base;
        }
        if output.assigned.is_some_and(|input| matches!(graph.node(expr), Node::Input(of) if *of == input)) {
            changes.extend(chain);
        }
    }
    changes
}

/// Returns the changes of regions whose values are these regions with rows changed, which nothing else reads.
pub(super) fn placed(graph: &CheckedGraph) -> HashMap<ExprId, Placed> {
    let mut users: HashMap<ExprId, usize> = HashMap::new();
    let read = graph.exprs().flat_map(|expr| graph.operands(expr));
    for expr in read.chain(graph.outputs().iter().map(|output| output.expr)) {
        *users.entry(expr).or_default() += 1;
    }
    let arranged = |expr: ExprId| match graph.node(expr) {
        Node::View {
            view: View::Permute(_) | View::Squeeze(_) | View::ExpandDims(_) | View::Reshape,
            operand,
        } => Some(*operand),
        _ => None,
    };
    let of_set = |expr: ExprId| {
        let Node::Set { base, value, region } = graph.node(expr) else { return None };
        let chain: Vec<ExprId> = std::iter::successors(Some(*value), |expr| arranged(*expr)).collect();
        let scatter = *chain.last()?;
        let Node::Scatter { base: rows, .. } = graph.node(scatter) else { return None };
        let source = std::iter::successors(Some(*rows), |expr| arranged(*expr)).last()?;
        let is_region = match graph.node(source) {
            Node::View { view: View::Slice(slices), operand } => operand == base && slices == region,
            _ => false,
        };
        let is_alone = chain.iter().all(|expr| users.get(expr) == Some(&1));
        (is_region && is_alone).then_some((scatter, Placed { set: expr, base: *base }))
    };
    graph.exprs().filter_map(of_set).collect()
}
