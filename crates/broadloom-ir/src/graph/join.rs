//! Ops that join tensors along an axis: `concat` and `stack`.

use super::infer::{self, AxisClash};
use super::reduction::resolve_axis;
use super::{Graph, Node, Operands, Site};
use crate::dtype::{Class, DType, Scalar};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::problem::Problem;
use crate::shape::Shape;

/// The rule that a call without tensors breaks.
pub const NO_TENSORS: &str = "takes at least one tensor";

impl Graph {
    /// Concatenates the operands along an axis. They are converted to their common dtype; all other sizes are equal
    /// (a literal 1 does not stretch).
    pub fn concat(&mut self, operands: &[ExprId], axis: i64, site: Site) -> ExprId {
        let result = self.try_concat(operands, axis, site);
        self.settle(result, "concat", operands, site)
    }

    pub(super) fn try_concat(
        &mut self,
        operands: &[ExprId],
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let Some(&first) = operands.first() else {
            return Err(Problem::Argument(NO_TENSORS));
        };
        if self.any_poisoned(operands) {
            return Ok(self.poison());
        }
        let shape = self.written(first).clone();
        let axis = resolve_axis(axis, shape.rank())?;
        let shapes: Vec<Shape> = operands.iter().map(|&operand| self.written(operand).clone()).collect();
        let mut length = shape[axis].clone();
        let name = |operand: usize| Box::from(format!("operand {operand}"));
        for (position, next) in shapes.iter().enumerate() {
            if next.rank() != shape.rank() {
                return Err(Problem::Rank {
                    name: name(position),
                    expected: shape.rank(),
                    rank: next.rank(),
                });
            }
            if position > 0 {
                length = length.add(&next[axis]).map_err(Problem::Size)?;
            }
        }
        let clash = self.comparing("concat", operands, site, |compare| {
            for (position, next) in shapes.iter().enumerate() {
                for (of, (left, right)) in shape.iter().zip(next.iter()).enumerate() {
                    if of != axis {
                        infer::equal(compare, of, (0, left), (position, right))?;
                    }
                }
            }
            Ok(())
        });
        clash.map_err(|clash| self.unequal(&clash, [name(clash.left.0), name(clash.right.0)]))?;
        let dtypes = operands.iter().map(|&operand| self.dtype(operand));
        let dtype = DType::promote_all(dtypes).unwrap_or_else(|| self.dtype(first));
        let mut pieces = Operands::new();
        for &operand in operands {
            pieces.push(self.convert(operand, dtype, site)?);
        }
        if pieces.len() == 1 {
            return Ok(pieces[0]);
        }
        let dims =
            shape.iter().enumerate().map(|(of, dim)| if of == axis { length.clone() } else { dim.clone() });
        let joined: Shape = dims.collect();
        self.insert(Node::Concat { operands: pieces, axis }, dtype, joined, Vec::new(), site)
    }

    /// Stacks the operands, of equal shapes, along a new axis.
    pub fn stack(&mut self, operands: &[ExprId], axis: i64, site: Site) -> ExprId {
        let result = self.try_stack(operands, axis, site);
        self.settle(result, "stack", operands, site)
    }

    pub(super) fn try_stack(
        &mut self,
        operands: &[ExprId],
        axis: i64,
        site: Site,
    ) -> Result<ExprId, Problem> {
        let mut expanded = Operands::new();
        for &operand in operands {
            expanded.push(self.try_expand_dims(operand, &[axis], site)?);
        }
        let added =
            operands.first().map_or(Ok(0), |&first| resolve_axis(axis, self.written(first).rank() + 1))?;
        self.try_concat(&expanded, axis, site).map_err(|problem| match problem {
            // This describes the operands as they were written, without the new axis.
            Problem::Unequal { axis, names, sizes, certainty, only_if } => {
                let axis = axis - usize::from(axis > added);
                Problem::Unequal { axis, names, sizes, certainty, only_if }
            }
            Problem::Rank { name, expected, rank } => {
                Problem::Rank { name, expected: expected - 1, rank: rank - 1 }
            }
            problem => problem,
        })
    }

    /// Converts integers to indices (`i64`); those beyond `i64` become its maximum, which is out of range
    /// everywhere.
    pub(super) fn as_index(&mut self, indices: ExprId, site: Site) -> Result<ExprId, Problem> {
        let dtype = self.dtype(indices);
        if dtype.class() != Class::Int {
            return Err(Problem::IndicesNotInteger { dtype });
        }
        let mut indices = indices;
        if dtype == DType::U64 {
            let greatest = self.insert_constant(Scalar::U64(i64::MAX.cast_unsigned()), site)?;
            indices = self.try_elementwise(Op::Minimum, &[indices, greatest], site)?;
        }
        self.convert(indices, DType::I64, site)
    }

    pub(super) fn unequal(&self, clash: &AxisClash, names: [Box<str>; 2]) -> Problem {
        let AxisClash { axis, left: (_, left), right: (_, right), certainty } = clash;
        let sizes = Box::new([self.size(left), self.size(right)]);
        let only_if = Box::new(self.only_if(left, right));
        Problem::Unequal { axis: *axis, names, sizes, certainty: *certainty, only_if }
    }
}
