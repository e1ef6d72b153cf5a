//! Simplifications that keep the same bits and the same errors.
//!
//! Each rule is a row of [`RULES`]. NaNs count as one value, as everywhere; zeros have a sign. An operand that can
//! fail on data is never dropped. These candidates were rejected:
//!
//! | not a rule | because of |
//! | --- | --- |
//! | `x + 0`, `0 + x` of floats | `-0 + 0` is `+0` (`x + -0` is one) |
//! | `x - -0` of floats | `-0 - -0` is `+0` |
//! | `0 * x`, `x - x`, `x / x`, `0 / x` of floats | NaN and infinity, and the sign of zero |
//! | `x // 1`, `x % 1` of floats | they round |
//! | `x / c` as `x * (1 / c)` | rounds twice, unless `c` is a power of two (then it is one) |
//! | `-(x - y)` as `y - x` | `x - y` of equal numbers is `+0`, its negation `-0` |
//! | `x + -y` as `x - y` | the same bits, but nothing less to compute |
//! | `square(-x)`, `abs` of factors | a sum of squares rounds once where it has fma: its factors stay what they are |
//! | `sqrt(square(x))`, `log(exp(x))`, `x ** 1` of an operand | they round, or overflow on the way |
//! | `maximum(x, -inf)` by NumPy's `fmax` | `fmax` drops a NaN |
//! | `maximum(x, 0)` of `x` that may be -0 | it is `+0` |
//! | sums and products in another order or shape | the order is part of the meaning |
//! | casts over a dtype that loses something | `f64` to `f32` and back rounds; `u8` to `f32` to `i8` saturates where `u8` to `i8` wraps |
//! | `0 * x` of integers, `select(c, x, y)` of a `c` that can fail | the error would vanish |

use super::{Rewriter, Rewritten};
use crate::dtype::{Class, DType, Scalar};
use crate::graph::reduction::factors;
use crate::graph::{CheckedGraph, Graph, Node, Operands, View};
use crate::ids::ExprId;
use crate::ops::Op;
use crate::reduce::ReduceOp;
use crate::shape::Shape;

/// A simplification.
pub struct Rule {
    /// The simplification, in formulas.
    pub name: &'static str,
    apply: fn(&Term<'_>) -> Option<Simpler>,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

const fn rule(name: &'static str, apply: fn(&Term<'_>) -> Option<Simpler>) -> Rule {
    Rule { name, apply }
}

/// The rules, tried in this order.
pub static RULES: &[Rule] = &[
    rule("op of constants = constant", |term| term.folded()),
    rule("x + 0 = x of integers, x + -0 = x of floats", |term| term.without(Op::Add, zero_of_sums)),
    rule("x - 0 = x", |term| term.without_right(Op::Subtract, |dtype| number(dtype, 0))),
    rule("x * 1 = x", |term| term.without(Op::Multiply, |dtype| number(dtype, 1))),
    rule("c * x = select(c, x, 0) of a truth value and integers", |term| term.chosen()),
    rule("x / 1 = x", |term| term.without_right(Op::Divide, |dtype| number(dtype, 1))),
    rule("x // 1 = x of integers", |term| term.without_right(Op::FloorDivide, |dtype| integer(dtype, 1))),
    rule("x / c = x * (1 / c) of powers of two", |term| term.by_reciprocal()),
    rule("x & ones = x", |term| {
        term.without(Op::BitwiseAnd, |dtype| integer(dtype, -1).or(truth(dtype, true)))
    }),
    rule("x | 0 = x", |term| term.without(Op::BitwiseOr, |dtype| integer(dtype, 0).or(truth(dtype, false)))),
    rule("x ^ 0 = x", |term| term.without(Op::BitwiseXor, |dtype| integer(dtype, 0).or(truth(dtype, false)))),
    rule("x << 0 = x", |term| term.without_right(Op::BitwiseLeftShift, |dtype| integer(dtype, 0))),
    rule("x >> 0 = x", |term| term.without_right(Op::BitwiseRightShift, |dtype| integer(dtype, 0))),
    rule("x and true = x", |term| term.without(Op::LogicalAnd, |dtype| truth(dtype, true))),
    rule("x or false = x", |term| term.without(Op::LogicalOr, |dtype| truth(dtype, false))),
    rule("x xor false = x", |term| term.without(Op::LogicalXor, |dtype| truth(dtype, false))),
    rule("maximum(x, least) = x", |term| term.without(Op::Maximum, |dtype| extreme(dtype, ReduceOp::Max))),
    rule("minimum(x, greatest) = x", |term| term.without(Op::Minimum, |dtype| extreme(dtype, ReduceOp::Min))),
    rule("maximum(x, 0) = x of x that is not negative", |term| match term.node {
        Node::Elementwise { op: Op::Maximum, operands } => term.greater(operands[0], operands[1]),
        Node::Elementwise { op: Op::Relu, operands } if term.known.is_natural(operands[0]) => {
            Some(Simpler::Is(operands[0]))
        }
        _ => None,
    }),
    rule("abs(x) = x of x that is not negative", |term| match term.node {
        Node::Elementwise { op: Op::Abs, operands } if term.known.is_natural(operands[0]) => {
            Some(Simpler::Is(operands[0]))
        }
        _ => None,
    }),
    rule("x & x, x | x, maximum(x, x), minimum(x, x) = x", |term| match term.node {
        Node::Elementwise {
            op:
                Op::BitwiseAnd
                | Op::BitwiseOr
                | Op::LogicalAnd
                | Op::LogicalOr
                | Op::Maximum
                | Op::Minimum
                | Op::Fmax
                | Op::Fmin,
            operands,
        } if operands[0] == operands[1] => Some(Simpler::Is(operands[0])),
        _ => None,
    }),
    rule("+x, stop_gradient(x) = x", |term| match term.node {
        Node::Elementwise { op: Op::Positive | Op::StopGradient, operands } => Some(Simpler::Is(operands[0])),
        _ => None,
    }),
    rule("with_gradient(x, y) = x", |term| match term.node {
        Node::Elementwise { op: Op::WithGradient, operands }
            if *term.graph.shape(operands[0]) == term.shape[..] =>
        {
            term.drops(operands[1], operands[0])
        }
        _ => None,
    }),
    rule("--x = x, ~~x = x, not not x = x", |term| match term.node {
        Node::Elementwise { op: op @ (Op::Negative | Op::BitwiseInvert | Op::LogicalNot), operands } => {
            match term.graph.node(operands[0]) {
                Node::Elementwise { op: inner, operands } if inner == op => Some(Simpler::Is(operands[0])),
                _ => None,
            }
        }
        _ => None,
    }),
    rule("floor, ceil, trunc, round of integers = x", |term| match term.node {
        Node::Elementwise { op: Op::Floor | Op::Ceil | Op::Trunc | Op::Round, operands }
            if term.dtype.class() != Class::Float =>
        {
            Some(Simpler::Is(operands[0]))
        }
        _ => None,
    }),
    rule("cast of a cast that loses nothing = cast", |term| term.direct_cast()),
    rule("x.at[r].set(v)[r] = v", |term| {
        let Node::View { view: View::Slice(parts), operand } = term.node else { return None };
        let Node::Set { base, value, region } = term.graph.node(*operand) else { return None };
        let is_same = parts == region && term.shape[..] == *term.graph.shape(*value);
        if is_same { term.drops(*base, *value) } else { None }
    }),
    rule("x.at[r].set(u).at[r].set(v) = x.at[r].set(v)", |term| {
        let Node::Set { base, value, region } = term.node else { return None };
        let Node::Set { base: first, value: dropped, region: other } = term.graph.node(*base) else {
            return None;
        };
        let is_same = region == other && term.graph.shape(*dropped) == term.graph.shape(*value);
        (is_same && !term.known.can_fail(*dropped)).then_some(Simpler::Set(*first))
    }),
    rule("select(c, x, x) = x, select(true, x, y) = x", |term| match term.node {
        Node::Select { condition, on_true, on_false } => {
            if on_true == on_false {
                return term.drops(*condition, *on_true);
            }
            match term.known.constant(*condition)? {
                Scalar::Bool(true) => term.drops(*on_false, *on_true),
                _ => term.drops(*on_true, *on_false),
            }
        }
        _ => None,
    }),
];

fn number(dtype: DType, value: i64) -> Option<Scalar> {
    Some(Scalar::I64(value).cast(dtype))
}

fn integer(dtype: DType, value: i64) -> Option<Scalar> {
    (dtype.class() == Class::Int).then(|| Scalar::I64(value).cast(dtype))
}

fn truth(dtype: DType, value: bool) -> Option<Scalar> {
    (dtype == DType::Bool).then_some(Scalar::Bool(value))
}

fn zero_of_sums(dtype: DType) -> Option<Scalar> {
    Some(Scalar::F64(-0.0).cast(dtype))
}

/// Returns the value that changes nothing in a minimum or maximum: the identity of the reduction.
fn extreme(dtype: DType, of: ReduceOp) -> Option<Scalar> {
    Some(of.identity(dtype))
}

/// The replacement of an expression.
enum Simpler {
    /// Another one.
    Is(ExprId),
    Constant(Scalar),
    /// Another one, converted.
    Cast(ExprId),
    Product(ExprId, Scalar),
    /// An operand where a condition holds, else zero.
    Where(ExprId, ExprId),
    /// The same change of another base.
    Set(ExprId),
}

/// An expression to simplify; its operands are already simplified.
struct Term<'a> {
    graph: &'a Graph,
    known: &'a Known,
    node: &'a Node,
    dtype: DType,
    shape: &'a Shape,
}

impl Term<'_> {
    /// Returns `kept`, if the dropped operand cannot fail.
    fn drops(&self, dropped: ExprId, kept: ExprId) -> Option<Simpler> {
        (!self.known.can_fail(dropped)).then_some(Simpler::Is(kept))
    }

    fn is_constant(&self, expr: ExprId, value: Option<Scalar>) -> bool {
        self.known.constant(expr).zip(value).is_some_and(|(have, want)| have.same(want))
    }

    /// Returns the left operand of an op whose right operand is `neutral`.
    fn without_right(&self, of: Op, neutral: fn(DType) -> Option<Scalar>) -> Option<Simpler> {
        match self.node {
            Node::Elementwise { op, operands } if *op == of => {
                self.is_constant(operands[1], neutral(self.dtype)).then_some(Simpler::Is(operands[0]))
            }
            _ => None,
        }
    }

    /// Returns the operand of an op whose other operand is `neutral`.
    fn without(&self, of: Op, neutral: fn(DType) -> Option<Scalar>) -> Option<Simpler> {
        match self.node {
            Node::Elementwise { op, operands } if *op == of => {
                self.without_right(of, neutral).or_else(|| {
                    self.is_constant(operands[0], neutral(self.dtype)).then_some(Simpler::Is(operands[1]))
                })
            }
            _ => None,
        }
    }

    /// Returns the greater of two operands, if one is not negative and the other is a constant that is not
    /// positive.
    fn greater(&self, left: ExprId, right: ExprId) -> Option<Simpler> {
        let is_below = |expr: ExprId| match self.known.constant(expr).map(|value| value.cast(DType::F64)) {
            Some(Scalar::F64(value)) => value <= 0.0,
            _ => false,
        };
        [(left, right), (right, left)]
            .into_iter()
            .find(|(kept, other)| self.known.is_natural(*kept) && is_below(*other))
            .map(|(kept, _)| Simpler::Is(kept))
    }

    /// Returns the value of an op on constants. Larger tensors of one value stay ops: a sum may take the product of
    /// two of them without rounding it.
    fn folded(&self) -> Option<Simpler> {
        if self.shape.rank() > 0 {
            return None;
        }
        let values = |operands: &[ExprId]| -> Option<Vec<Scalar>> {
            operands.iter().map(|operand| self.known.constant(*operand)).collect()
        };
        match self.node {
            Node::Elementwise { op, operands } => op.folded(&values(operands)?).map(Simpler::Constant),
            Node::Cast(operand) => Some(Simpler::Constant(self.known.constant(*operand)?.cast(self.dtype))),
            Node::Size(size) => size.as_constant().map(|value| Simpler::Constant(Scalar::I64(value))),
            _ => None,
        }
    }

    /// Rewrites a quotient by a power of two as a product, where both round the same number.
    fn by_reciprocal(&self) -> Option<Simpler> {
        let Node::Elementwise { op: Op::Divide, operands } = self.node else { return None };
        let divisor = self.known.constant(operands[1])?;
        let Scalar::F64(value) = divisor.cast(DType::F64) else { return None };
        let is_power = value.is_normal() && value.to_bits() << 12 == 0;
        let reciprocal = Scalar::F64(1.0 / value).cast(self.dtype);
        let is_exact = reciprocal.cast(DType::F64).same(Scalar::F64(1.0 / value));
        (is_power && is_exact).then_some(Simpler::Product(operands[0], reciprocal))
    }

    /// Rewrites a product with a truth value as a select, for which every integer dtype has an instruction.
    fn chosen(&self) -> Option<Simpler> {
        let Node::Elementwise { op: Op::Multiply, operands } = self.node else { return None };
        let truth = |expr: ExprId| match *self.graph.node(expr) {
            Node::Cast(of) if self.graph.dtype(of) == DType::Bool => Some(of),
            _ => None,
        };
        let (condition, chosen) = match [truth(operands[0]), truth(operands[1])] {
            [Some(condition), None] => (condition, operands[1]),
            [None, Some(condition)] => (condition, operands[0]),
            _ => return None,
        };
        (self.dtype.class() == Class::Int).then_some(Simpler::Where(condition, chosen))
    }

    fn direct_cast(&self) -> Option<Simpler> {
        let Node::Cast(middle) = self.node else { return None };
        let Node::Cast(inner) = self.graph.node(*middle) else { return None };
        let (from, over, to) = (self.graph.dtype(*inner), self.graph.dtype(*middle), self.dtype);
        // Integers wrap where floats saturate.
        let is_alike =
            !(from.class() == Class::Int && over.class() == Class::Float && to.class() == Class::Int)
                || from.is_exact_in(to);
        (from.is_exact_in(over) && is_alike).then_some(Simpler::Cast(*inner))
    }
}

/// What is known of the values of the new graph's expressions.
#[derive(Default)]
struct Known {
    /// The common value of all elements.
    constants: Vec<Option<Scalar>>,
    /// Whether it, or an expression it depends on, can fail on data.
    fails: Vec<bool>,
    /// Whether all elements are `+0` or greater, or NaN.
    natural: Vec<bool>,
}

impl Known {
    fn constant(&self, expr: ExprId) -> Option<Scalar> {
        self.constants[expr.index()]
    }

    fn can_fail(&self, expr: ExprId) -> bool {
        self.fails[expr.index()]
    }

    fn is_natural(&self, expr: ExprId) -> bool {
        self.natural[expr.index()]
    }

    /// Derives facts about the expressions made since the last call.
    fn learn(&mut self, graph: &Graph) {
        for index in self.fails.len()..graph.count() {
            let expr = ExprId::new(index);
            let node = graph.node(expr);
            let operands = node.operands();
            let fails = node.can_fail(|operand| graph.dtype(operand));
            let constant = match node {
                Node::Constant(value) => Some(*value),
                Node::View { operand, .. } => self.constant(*operand),
                _ => None,
            };
            let natural = graph.dtype(expr).is_exact_in(DType::U64)
                || self.makes_natural(graph, node, graph.dtype(expr));
            self.fails.push(fails || operands.iter().any(|operand| self.can_fail(*operand)));
            self.constants.push(constant);
            self.natural.push(natural);
        }
    }

    fn makes_natural(&self, graph: &Graph, node: &Node, dtype: DType) -> bool {
        let all = |operands: &[ExprId]| operands.iter().all(|operand| self.is_natural(*operand));
        let any = |operands: &Operands| operands.iter().any(|operand| self.is_natural(*operand));
        let is_float = dtype.is_float();
        match node {
            Node::Constant(value) => match value.cast(DType::F64) {
                Scalar::F64(value) => value >= 0.0 && value.is_sign_positive(),
                _ => false,
            },
            Node::Size(size) => size.interval(&|symbol| graph.facts(symbol)).lower >= 0,
            Node::Iota => true,
            Node::Cast(operand) => {
                self.is_natural(*operand) && (is_float || graph.dtype(*operand).is_exact_in(dtype))
            }
            Node::Elementwise { op, operands } => match op {
                // The least integer has no representable magnitude.
                Op::Abs | Op::Square => is_float,
                Op::Relu => true,
                Op::Maximum => any(operands),
                Op::Minimum | Op::Sqrt => all(operands),
                Op::Add | Op::Multiply | Op::Divide => is_float && all(operands),
                _ => false,
            },
            Node::Select { on_true, on_false, .. } => all(&[*on_true, *on_false]),
            Node::Reduce { op, operand, .. } => match op {
                ReduceOp::ArgMin | ReduceOp::ArgMax => true,
                ReduceOp::Sum | ReduceOp::Mean => is_float && self.is_natural(*operand),
                _ => false,
            },
            Node::View { operand, .. } => self.is_natural(*operand),
            // If the greatest elements are missing, they are minus infinity.
            Node::TopK { operand, topk } => topk.indices || !topk.largest && self.is_natural(*operand),
            Node::Sort { operand, sort } => sort.indices || self.is_natural(*operand),
            Node::Search { .. } => true,
            Node::Scan { op, operand, initial, .. } => {
                let keeps = matches!(op, ReduceOp::Min | ReduceOp::Max) || is_float && *op == ReduceOp::Sum;
                keeps && initial.is_none() && self.is_natural(*operand)
            }
            Node::Take { table: operand, .. } | Node::Compress { operand, .. } => self.is_natural(*operand),
            Node::Concat { operands, .. } => all(operands),
            Node::Set { base, value, .. } => all(&[*base, *value]),
            Node::Scatter { op, base, values, .. } => {
                let keeps = match op {
                    None | Some(Op::Minimum | Op::Maximum) => true,
                    Some(Op::Add) => is_float,
                    _ => false,
                };
                keeps && all(&[*base, *values])
            }
            Node::Input(_) | Node::Segment { .. } | Node::Step { .. } | Node::Loop { .. } | Node::Poison => {
                false
            }
        }
    }
}

/// Returns the graph with all [`RULES`] applied and equal expressions computed once.
pub fn simplify(graph: &CheckedGraph) -> Rewritten {
    let mut known = Known::default();
    Rewriter::map(graph, |rewriter, expr| {
        known.learn(rewriter.graph());
        let node = rewriter.node(expr);
        let (dtype, shape, site) = (graph.dtype(expr), graph.shape(expr), graph.site(expr));
        let term = Term { graph: rewriter.graph(), known: &known, node: &node, dtype, shape };
        let image = match RULES.iter().find_map(|rule| (rule.apply)(&term)) {
            Some(Simpler::Is(other)) => other,
            Some(Simpler::Constant(value)) => rewriter.builder().constant(value, site),
            Some(Simpler::Cast(operand)) => rewriter.builder().cast(operand, dtype, site),
            Some(Simpler::Product(operand, by)) => {
                let by = rewriter.builder().constant(by, site);
                rewriter.builder().elementwise(Op::Multiply, &[operand, by], site)
            }
            Some(Simpler::Where(condition, chosen)) => {
                let zero = rewriter.builder().constant(Scalar::I64(0).cast(dtype), site);
                rewriter.builder().select(condition, chosen, zero, site)
            }
            Some(Simpler::Set(base)) => {
                let Node::Set { value, region, .. } = node.clone() else {
                    return copied(rewriter, expr, node);
                };
                let node = Node::Set { base, value, region };
                let call = graph.call(expr);
                rewriter.builder().place_node(node, dtype, shape.clone(), call, site)
            }
            None => return copied(rewriter, expr, node),
        };
        // An op that stretches its operand cannot be replaced by it.
        if rewriter.graph().shape(image) == *shape { image } else { copied(rewriter, expr, node) }
    })
}

/// Copies the expression, or returns an equal existing one.
fn copied(rewriter: &mut Rewriter<'_>, expr: ExprId, node: Node) -> ExprId {
    let source = rewriter.source();
    let (dtype, shape, site) = (source.dtype(expr), source.shape(expr).clone(), source.site(expr));
    match node {
        Node::Elementwise { op, operands } if op.is_commutative() => {
            let node = Node::Elementwise { op, operands: operands.iter().rev().copied().collect() };
            rewriter.graph().find(node, dtype, shape).unwrap_or_else(|| rewriter.copy(expr))
        }
        Node::Reduce { op, operand, axes, keepdims } => {
            let graph = rewriter.graph();
            let (of, shape_of) = (graph.dtype(operand), graph.shape(operand));
            let after = factors(op, graph.node(operand), of);
            let before = source.factors(expr).map(|factors| factors.map(|factor| rewriter.image(factor)));
            // A sum keeps adding the same products unrounded, and no others. A product that disappeared was a
            // product with 1, which is exact.
            let becomes_product = after.is_some_and(|[x, y]| ![Some([x, y]), Some([y, x])].contains(&before));
            let operand = if becomes_product {
                let node = Node::Elementwise { op: Op::Positive, operands: Operands::from_slice(&[operand]) };
                rewriter.builder().place_node(node, of, shape_of, source.call(expr), site)
            } else {
                operand
            };
            let node = Node::Reduce { op, operand, axes, keepdims };
            rewriter.builder().place_node(node, dtype, shape, source.call(expr), site)
        }
        _ => rewriter.copy(expr),
    }
}
