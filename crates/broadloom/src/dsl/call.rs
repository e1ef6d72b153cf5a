//! Calls of the language as data, which can be compared and repeated.

use super::operand::{Kind, Operand};
use broadloom_ir::ExprId;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Composed, Graph, Literal, LiteralRole, Product, Running, Site, Tolerance};
use broadloom_ir::ops::Op;
use smallvec::SmallVec;

/// A call that adds expressions to a graph, with everything that the result depends on.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Call {
    /// A row of the op table.
    Elementwise(Op, Arguments),
    /// A function composed of such rows.
    Composed(Composed, Arguments),
    /// A test whether numbers are close to each other.
    IsClose([Argument; 2], Tolerance),
    /// A choice by a condition.
    Select(ExprId, Arguments),
    /// A conversion.
    Cast(ExprId, DType),
    /// A function of axes.
    Along(Along),
    /// A sum of products of two operands.
    Product(Product, [Argument; 2]),
    /// A sum of products described by subscripts.
    Einsum(Box<str>, SmallVec<[ExprId; 3]>),
    /// The best elements along an axis.
    Best(Best),
    /// The indices that belong to the elements found by another call.
    PlacesOfBest(ExprId),
    /// The positions of values in a sorted table, after equal elements or before them.
    Search([Argument; 2], bool),
    /// A scan: which one, its operand, and the axis.
    Scan(Running, ExprId, i64),
    /// Differences of neighbours: the operand, the order, and the axis.
    Diff(ExprId, i64, i64),
}

/// The requested elements along an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Best {
    pub(super) operand: ExprId,
    pub(super) k: i64,
    pub(super) axis: i64,
    pub(super) largest: bool,
}

/// The operands of an elementwise call.
type Arguments = SmallVec<[Argument; 3]>;

/// An [`Operand`] of the current graph.
#[derive(Debug, Clone, Copy)]
pub(super) enum Argument {
    Expr(ExprId),
    Literal(Literal),
}

/// A function of an expression and axes.
#[derive(Debug, Clone)]
pub(super) struct Along {
    /// Identifies everything that the function does.
    pub(super) name: &'static str,
    pub(super) function: AlongFn,
    pub(super) operand: ExprId,
    pub(super) axes: Option<Vec<i64>>,
    pub(super) keepdims: bool,
}

/// `None` stands for all axes.
pub(super) type AlongFn = fn(&mut Graph, ExprId, Option<&[i64]>, bool, Site) -> ExprId;

impl PartialEq for Argument {
    /// Numbers are equal if their bits are: 0.0 differs from -0.0.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Argument::Expr(this), Argument::Expr(that)) => this == that,
            (Argument::Literal(Literal::Float(this)), Argument::Literal(Literal::Float(that))) => {
                this.to_bits() == that.to_bits()
            }
            (Argument::Literal(this), Argument::Literal(that)) => this == that,
            (Argument::Expr(_), Argument::Literal(_)) | (Argument::Literal(_), Argument::Expr(_)) => false,
        }
    }
}

impl PartialEq for Along {
    /// Names tell functions apart, because two functions may or may not have the same address.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.operand == other.operand
            && self.axes == other.axes
            && self.keepdims == other.keepdims
    }
}

impl From<&Operand> for Argument {
    fn from(operand: &Operand) -> Self {
        match operand.0 {
            Kind::Tensor(tensor) => Argument::Expr(tensor.expr),
            Kind::Literal(literal) => Argument::Literal(literal),
        }
    }
}

impl Call {
    pub(super) fn elementwise(op: Op, operands: &[Operand]) -> Call {
        Call::Elementwise(op, operands.iter().map(Argument::from).collect())
    }

    pub(super) fn composed(function: Composed, operands: &[Operand]) -> Call {
        Call::Composed(function, operands.iter().map(Argument::from).collect())
    }

    pub(super) fn select(condition: ExprId, sides: &[Operand; 2]) -> Call {
        Call::Select(condition, sides.iter().map(Argument::from).collect())
    }

    pub(super) fn product(product: Product, left: ExprId, right: &Operand) -> Call {
        Call::Product(product, [Argument::Expr(left), Argument::from(right)])
    }

    /// Makes the call in a graph.
    pub(super) fn apply(&self, graph: &mut Graph, site: Site) -> ExprId {
        match self {
            Call::Elementwise(op, operands) => match (op, operands.as_slice()) {
                (Op::Pow, [Argument::Expr(base), Argument::Literal(exponent)]) => {
                    graph.power_literal(*base, *exponent, site)
                }
                (op, operands) => {
                    let exprs = exprs_by(graph, operands, |position| LiteralRole::of(*op, position), site);
                    graph.elementwise(*op, &exprs, site)
                }
            },
            Call::Composed(function, operands) => {
                let exprs = match function {
                    // The exponent is an integer, whatever the other operand is.
                    Composed::Ldexp => {
                        exprs_beside(graph, operands, DType::Bool, |_| LiteralRole::Value, site)
                    }
                    function => exprs_by(graph, operands, |_| function.literal_role(), site),
                };
                graph.composed(*function, &exprs, site)
            }
            Call::IsClose(operands, tolerance) => {
                let exprs = exprs_by(graph, operands, |_| LiteralRole::Compared, site);
                graph.isclose(exprs[0], exprs[1], *tolerance, site)
            }
            Call::Select(condition, sides) => {
                let exprs = exprs(graph, sides, site);
                graph.select(*condition, exprs[0], exprs[1], site)
            }
            Call::Cast(operand, dtype) => graph.cast(*operand, *dtype, site),
            Call::Product(product, operands) => {
                let exprs = exprs(graph, operands, site);
                graph.product(product, [exprs[0], exprs[1]], site)
            }
            Call::Einsum(subscripts, operands) => graph.einsum(subscripts, operands, site),
            Call::Best(Best { operand, k, axis, largest }) => graph.topk(*operand, *k, *axis, *largest, site),
            Call::PlacesOfBest(values) => graph.indices_of_topk(*values, site),
            Call::Search(operands, right) => {
                let exprs = exprs_by(graph, operands, |_| LiteralRole::Compared, site);
                graph.searchsorted(exprs[0], exprs[1], *right, site)
            }
            Call::Scan(running, operand, axis) => graph.scan(*running, *operand, Some(*axis), site),
            Call::Diff(operand, order, axis) => graph.diff(*operand, *order, *axis, site),
            Call::Along(Along { function, operand, axes, keepdims, .. }) => {
                function(graph, *operand, axes.as_deref(), *keepdims, site)
            }
        }
    }
}

/// Returns the expressions of the operands; literals adapt to the common dtype of the tensors.
fn exprs(graph: &mut Graph, operands: &[Argument], site: Site) -> SmallVec<[ExprId; 3]> {
    exprs_by(graph, operands, |_| LiteralRole::Value, site)
}

/// Like [`exprs`]; literals have the role of their position.
fn exprs_by(
    graph: &mut Graph,
    operands: &[Argument],
    role: impl Fn(usize) -> LiteralRole,
    site: Site,
) -> SmallVec<[ExprId; 3]> {
    let dtypes = operands.iter().filter_map(|operand| match operand {
        Argument::Expr(expr) => Some(graph.dtype(*expr)),
        Argument::Literal(_) => None,
    });
    let meets = DType::promote_all(dtypes).unwrap_or(DType::Bool);
    exprs_beside(graph, operands, meets, role, site)
}

/// Like [`exprs_by`], with the dtype that literals adapt to.
fn exprs_beside(
    graph: &mut Graph,
    operands: &[Argument],
    meets: DType,
    role: impl Fn(usize) -> LiteralRole,
    site: Site,
) -> SmallVec<[ExprId; 3]> {
    let expr = |(position, operand): (usize, &Argument)| match operand {
        Argument::Expr(expr) => *expr,
        Argument::Literal(literal) => graph.operand_literal(role(position), *literal, meets, site),
    };
    operands.iter().enumerate().map(expr).collect()
}
