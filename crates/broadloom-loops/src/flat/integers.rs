//! Tables that are computed from their positions, which need not be stored; and between which numbers integers lie, which decides
//! comparisons in them. Whether an index of a kernel is checked, `index.rs` decides when the kernel is finished.

use super::{Flat, FlatId, Kind};
use crate::cost;
use crate::interval::{Interval, of_constant, of_dtype, of_op, union};
use crate::thresholds::MAX_COMPUTED_ELEMENT;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{Class, DType, Scalar};
use broadloom_ir::ops::Op;
use broadloom_ir::shape::Shape;
use smallvec::SmallVec;
use std::collections::HashMap;

/// What a node is without computing it.
enum Decided {
    Is(FlatId),
    Truth(bool),
}

impl Flat {
    /// Returns the interval of a node's elements, if they are integers that `i64` holds.
    pub(super) fn interval_of(&self, kind: &Kind, dtype: DType, shape: &Shape) -> Option<Interval> {
        let all = of_dtype(dtype)?;
        let of = |id: FlatId| self.node(id).interval;
        let found = match kind {
            Kind::Constant(value) => of_constant(*value),
            Kind::Size(size) => size.as_constant().map(|size| [size; 2]),
            Kind::Iota => {
                Some([0, shape[0].as_constant().map_or(i64::MAX, |size| size.saturating_sub(1).max(0))])
            }
            Kind::Op { op, .. } if op.is_comparison() => Some([0, 1]),
            Kind::Op { op, args } => {
                let args: Option<SmallVec<[Interval; 3]>> = args.iter().map(|arg| of(*arg)).collect();
                args.and_then(|args| of_op(*op, &args))
            }
            Kind::Select([_, on_true, on_false]) => union([*on_true, *on_false].map(of)),
            Kind::Cast(operand) => of(*operand),
            Kind::Reindex { operand, .. } | Kind::Slice { operand, .. } | Kind::Windows { operand, .. } => {
                of(*operand)
            }
            Kind::Reshape(operand) => of(*operand),
            Kind::Concat { operands, .. } => union(operands.iter().map(|id| of(*id))),
            Kind::Set { base, value, .. } => union([*base, *value].map(of)),
            // In place of an element that does not exist stands any other: the run ends with an error.
            Kind::Take { table, .. } => of(*table),
            Kind::Search { table, .. } => {
                Some([0, self.node(*table).shape[0].as_constant().unwrap_or(i64::MAX)])
            }
            Kind::Buffer(_)
            | Kind::Reduce(_)
            | Kind::TopK { .. }
            | Kind::Sort { .. }
            | Kind::Scan { .. }
            | Kind::Scatter { .. }
            | Kind::Segment { .. } => None,
        };
        // What exceeds the dtype wraps, to any number of it.
        Some(found.filter(|[least, most]| all[0] <= *least && *most <= all[1]).unwrap_or(all))
    }

    /// Returns whether every element of a node is an index below a size.
    fn is_below(&self, node: FlatId, size: &Dim) -> bool {
        let interval = self.node(node).interval;
        interval.zip(size.as_constant()).is_some_and(|([least, most], size)| 0 <= least && most < size)
    }

    /// Returns the elements of a table along its only axis at indices, if they are computed from their positions and scalars
    /// in less time than it takes to read them at places that data choose.
    pub(super) fn computed_at(
        &mut self,
        table: FlatId,
        indices: FlatId,
        shape: &Shape,
        origin: ExprId,
    ) -> Option<FlatId> {
        if self.node(table).shape.rank() != 1 {
            return None;
        }
        // Operands have smaller numbers.
        let mut found = vec![table];
        let mut next = 0;
        let mut cost = 0;
        while let Some(id) = found.get(next).copied() {
            next += 1;
            let node = self.node(id);
            cost += match &node.kind {
                Kind::Iota => 0,
                Kind::Op { op, .. } if op.can_fail(node.dtype) => return None,
                Kind::Op { op, args } => cost::op(*op, self.node(args[0]).dtype),
                Kind::Select(_) | Kind::Cast(_) => cost::SELECT,
                _ => return None,
            };
            // Along an axis of a literal 1, the index is another one.
            let is_alike = node.shape == self.node(table).shape;
            if cost > MAX_COMPUTED_ELEMENT || self.stored.contains(id) || !is_alike {
                return None;
            }
            for operand in node.kind.operands() {
                if self.node(operand).shape.rank() > 0 && !found.contains(&operand) {
                    found.push(operand);
                }
            }
        }
        found.sort_unstable();
        let within = self.is_below(indices, &self.node(table).shape[0]);
        let mut images: HashMap<FlatId, FlatId> = HashMap::new();
        for id in found {
            let node = self.node(id).clone();
            let image = |operand: &FlatId| images.get(operand).copied().unwrap_or(*operand);
            let kind = match &node.kind {
                Kind::Iota if within => {
                    images.insert(id, indices);
                    continue;
                }
                Kind::Iota => Kind::Take { table: id, indices, axis: 0 },
                Kind::Op { op, args } => Kind::Op { op: *op, args: args.iter().map(image).collect() },
                Kind::Select(args) => Kind::Select(args.each_ref().map(image)),
                Kind::Cast(operand) => Kind::Cast(image(operand)),
                _ => return None,
            };
            // An index that may be out of range stays, whatever the elements are.
            let made = match self.decided(&kind).filter(|_| within) {
                Some(Decided::Is(id)) => id,
                Some(Decided::Truth(truth)) => {
                    self.push(Kind::Constant(Scalar::Bool(truth)), DType::Bool, Shape::scalar(), origin)
                }
                None => {
                    let kind = self.narrowed(kind, origin);
                    // What comparisons have decided is a scalar.
                    let is_scalar = |id: &FlatId| self.node(*id).shape.rank() == 0;
                    let of_scalars = kind.operands().iter().all(is_scalar);
                    let shape = if of_scalars { Shape::scalar() } else { shape.clone() };
                    self.push(kind, node.dtype, shape, origin)
                }
            };
            images.insert(id, made);
        }
        let made = *images.get(&table)?;
        if self.node(made).shape == *shape {
            return Some(made);
        }
        let axes = self.aligned(made, shape);
        Some(self.push(Kind::Reindex { operand: made, axes }, self.node(table).dtype, shape.clone(), origin))
    }

    /// Returns what a node is, if the intervals of integers decide that.
    fn decided(&self, kind: &Kind) -> Option<Decided> {
        let truth = |id: FlatId| match self.node(id).kind {
            Kind::Constant(Scalar::Bool(truth)) => Some(truth),
            _ => None,
        };
        match kind {
            Kind::Op { op, args } if op.is_comparison() => {
                let [[a, b], [c, d]] = [self.node(args[0]).interval?, self.node(args[1]).interval?];
                let (are_apart, are_equal) = (b < c || d < a, a == b && c == d && a == c);
                let decided = match op {
                    Op::Equal if are_apart || are_equal => are_equal,
                    Op::NotEqual if are_apart || are_equal => are_apart,
                    Op::Less if b < c || a >= d => b < c,
                    Op::LessEqual if b <= c || a > d => b <= c,
                    Op::Greater if a > d || b <= c => a > d,
                    Op::GreaterEqual if a >= d || b < c => a >= d,
                    _ => return None,
                };
                Some(Decided::Truth(decided))
            }
            Kind::Op { op: Op::LogicalAnd, args } => match [truth(args[0]), truth(args[1])] {
                [Some(false), _] | [_, Some(false)] => Some(Decided::Truth(false)),
                [Some(true), _] => Some(Decided::Is(args[1])),
                [_, Some(true)] => Some(Decided::Is(args[0])),
                [None, None] => None,
            },
            Kind::Select([condition, on_true, on_false]) => {
                let chosen = if truth(*condition)? { on_true } else { on_false };
                Some(Decided::Is(*chosen))
            }
            _ => None,
        }
    }

    /// Returns an equal node that converts no integers to more bits: casts and comparisons of such integers take those that were
    /// converted.
    fn narrowed(&mut self, kind: Kind, origin: ExprId) -> Kind {
        match kind {
            Kind::Cast(operand) => Kind::Cast(self.before_widening(operand).unwrap_or(operand)),
            Kind::Op { op, args } if op.is_comparison() => {
                let before = args.iter().find_map(|arg| self.before_widening(*arg));
                let Some(dtype) = before.map(|before| self.node(before).dtype) else {
                    return Kind::Op { op, args };
                };
                let narrow = |flat: &mut Flat, arg: FlatId| match flat.node(arg).kind {
                    Kind::Constant(value) => {
                        let narrow = value.cast(dtype);
                        let same = narrow.cast(flat.node(arg).dtype).same(value);
                        let shape = flat.node(arg).shape.clone();
                        same.then(|| flat.push(Kind::Constant(narrow), dtype, shape, origin))
                    }
                    _ => flat.before_widening(arg).filter(|before| flat.node(*before).dtype == dtype),
                };
                let narrow: Option<SmallVec<[FlatId; 3]>> =
                    args.iter().map(|arg| narrow(self, *arg)).collect();
                Kind::Op { op, args: narrow.unwrap_or(args) }
            }
            kind => kind,
        }
    }

    /// Returns the integers that a node converts to integers of more bits, if it does that.
    fn before_widening(&self, id: FlatId) -> Option<FlatId> {
        let node = self.node(id);
        let Kind::Cast(operand) = node.kind else { return None };
        let from = self.node(operand).dtype;
        let widens = from.class() == Class::Int
            && node.dtype.class() == Class::Int
            && of_dtype(from)
                .zip(of_dtype(node.dtype))
                .is_some_and(|(from, to)| to[0] <= from[0] && from[1] <= to[1]);
        widens.then_some(operand)
    }
}
