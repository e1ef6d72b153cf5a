//! From the notation to a graph.

use crate::expression::Expression;
use crate::table::dtype_of;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, Literal, LiteralRole, Norm, Pairs, Product, SegmentOp, Site, SliceSpec};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use std::collections::HashMap;

/// Builds expressions into a graph.
pub struct Builder<'a> {
    pub graph: &'a mut Graph,
    pub inputs: &'a HashMap<String, ExprId>,
    pub site: Site,
}

/// What stands as an operand.
enum Operand {
    Tensor(ExprId),
    Literal(Literal),
}

/// Positional and named arguments of a call.
struct Arguments<'a> {
    call: &'a str,
    arguments: &'a [Expression],
    named: &'a [(String, Expression)],
}

impl<'a> Arguments<'a> {
    fn at(&self, position: usize) -> &'a Expression {
        self.arguments.get(position).unwrap_or_else(|| panic!("{} needs argument {position}", self.call))
    }

    fn named(&self, name: &str) -> Option<&'a Expression> {
        self.named.iter().find(|(given, _)| given == name).map(|(_, value)| value)
    }

    fn axes(&self) -> Option<Vec<i64>> {
        match self.named("axes") {
            None | Some(Expression::Nothing) => None,
            Some(axes) => Some(integers(axes)),
        }
    }

    fn keepdims(&self) -> bool {
        self.named("keepdims") == Some(&Expression::Bool(true))
    }
}

pub fn integer(expression: &Expression) -> i64 {
    match expression {
        Expression::Int(value) => i64::try_from(*value).expect("a small number"),
        other => panic!("{other:?} is no integer"),
    }
}

pub fn integers(expression: &Expression) -> Vec<i64> {
    match expression {
        Expression::List(values) => values.iter().map(integer).collect(),
        other => panic!("{other:?} is no list"),
    }
}

pub fn float(expression: &Expression) -> f64 {
    match expression {
        Expression::Float(value) => *value,
        other => integer(other) as f64,
    }
}

pub fn text(expression: &Expression) -> &str {
    match expression {
        Expression::Text(text) => text,
        other => panic!("{other:?} is no text"),
    }
}

/// The axes of a `tensordot`: a number of them, or those of both operands.
pub fn pairs(expression: &Expression) -> Result<usize, [Vec<i64>; 2]> {
    match expression {
        Expression::List(sides) => Err([integers(&sides[0]), integers(&sides[1])]),
        count => Ok(usize::try_from(integer(count)).expect("not negative")),
    }
}

/// The product of two operands that a call is.
fn product(call: &Arguments) -> Option<Product> {
    Some(match call.call {
        "matmul" => Product::Matmul,
        "dot" => Product::Dot,
        "vdot" => Product::Vdot,
        "inner" => Product::Inner,
        "outer" => Product::Outer,
        "kron" => Product::Kron,
        "vecdot" => Product::Vecdot(integer(call.at(2))),
        "tensordot" => Product::Tensordot(match pairs(call.at(2)) {
            Ok(count) => Pairs::Adjacent(count),
            Err([left, right]) => Pairs::Axes(left, right),
        }),
        _ => return None,
    })
}

fn dim(expression: &Expression) -> Dim {
    integer(expression).into()
}

fn dims(expression: &Expression) -> Shape {
    integers(expression).into_iter().map(Dim::from).collect()
}

fn slice(expression: &Expression) -> SliceSpec {
    match expression {
        Expression::Name(name) if name == "whole" => SliceSpec::All,
        Expression::Name(name) if name == "new" => SliceSpec::NewAxis,
        Expression::Call { name, arguments, .. } if name == "at" => SliceSpec::At(dim(&arguments[0])),
        Expression::Call { name, arguments, .. } if name == "span" => {
            let bound = |bound: &Expression| (*bound != Expression::Nothing).then(|| dim(bound));
            let (start, stop) = (bound(&arguments[0]), bound(&arguments[1]));
            SliceSpec::Range { start, stop, step: integer(&arguments[2]) }
        }
        other => panic!("{other:?} is no part of an axis"),
    }
}

impl Builder<'_> {
    /// The tensor of an expression.
    pub fn tensor(&mut self, expression: &Expression) -> ExprId {
        match expression {
            Expression::Name(name) => self.inputs[name],
            Expression::Call { name, arguments, named } => {
                self.call(&Arguments { call: name, arguments, named })
            }
            other => panic!("{other:?} is no tensor"),
        }
    }

    fn tensors(&mut self, expression: &Expression) -> Vec<ExprId> {
        match expression {
            Expression::List(values) => values.iter().map(|value| self.tensor(value)).collect(),
            other => panic!("{other:?} is no list"),
        }
    }

    fn operand(&mut self, expression: &Expression) -> Operand {
        match expression {
            Expression::Bool(value) => Operand::Literal(Literal::Bool(*value)),
            Expression::Int(value) => Operand::Literal(Literal::Int(*value)),
            Expression::Float(value) => Operand::Literal(Literal::Float(*value)),
            tensor => Operand::Tensor(self.tensor(tensor)),
        }
    }

    /// Tensors, and literals of the dtype that they take when they meet these tensors.
    fn operands(&mut self, expressions: &[Expression]) -> Vec<ExprId> {
        self.operands_of(|_| LiteralRole::Value, expressions)
    }

    fn operands_of(
        &mut self,
        role: impl Fn(usize) -> LiteralRole,
        expressions: &[Expression],
    ) -> Vec<ExprId> {
        let operands: Vec<Operand> = expressions.iter().map(|operand| self.operand(operand)).collect();
        let dtypes = operands.iter().filter_map(|operand| match operand {
            Operand::Tensor(expr) => Some(self.graph.dtype(*expr)),
            Operand::Literal(_) => None,
        });
        let meets = DType::promote_all(dtypes).expect("one operand is a tensor");
        let convert = |(position, operand)| match operand {
            Operand::Tensor(expr) => expr,
            Operand::Literal(literal) => {
                self.graph.operand_literal(role(position), literal, meets, self.site)
            }
        };
        operands.into_iter().enumerate().map(convert).collect()
    }

    fn call(&mut self, call: &Arguments) -> ExprId {
        let site = self.site;
        if call.call == "pow"
            && let Expression::Bool(_) | Expression::Int(_) | Expression::Float(_) = call.at(1)
        {
            let base = self.tensor(call.at(0));
            let Operand::Literal(exponent) = self.operand(call.at(1)) else { panic!("a number") };
            return self.graph.power_literal(base, exponent, site);
        }
        if let Some(op) = Op::from_name(call.call) {
            let operands = self.operands_of(|position| LiteralRole::of(op, position), call.arguments);
            return self.graph.elementwise(op, &operands, site);
        }
        match call.call {
            "select" => {
                let condition = self.tensor(call.at(0));
                let [on_true, on_false] = self.operands(&call.arguments[1..])[..] else { panic!("two") };
                return self.graph.select(condition, on_true, on_false, site);
            }
            "concat" => {
                let operands = self.tensors(call.at(0));
                return self.graph.concat(&operands, integer(call.at(1)), site);
            }
            "stack" => {
                let operands = self.tensors(call.at(0));
                return self.graph.stack(&operands, integer(call.at(1)), site);
            }
            "einsum" => {
                let operands = self.tensors(call.at(1));
                return self.graph.einsum(text(call.at(0)), &operands, site);
            }
            "iota" => return self.graph.iota(dim(call.at(0)), site),
            "linspace" => {
                let (start, stop) = (float(call.at(0)), float(call.at(1)));
                return self.graph.linspace(start, stop, dim(call.at(2)), site);
            }
            _ => {}
        }
        let x = self.tensor(call.at(0));
        if let Some(product) = product(call) {
            let y = self.tensor(call.at(1));
            return self.graph.product(&product, [x, y], site);
        }
        match call.call {
            "cast" => {
                let Expression::Name(name) = call.at(1) else { panic!("the name of a dtype") };
                self.graph.cast(x, dtype_of(name), site)
            }
            "take" => {
                let indices = self.tensor(call.at(1));
                self.graph.take(x, indices, integer(call.at(2)), site)
            }
            "topk" | "argtopk" => {
                let (k, axis) = (integer(call.at(1)), integer(call.at(2)));
                let largest = *call.at(3) == Expression::Bool(true);
                match call.call {
                    "topk" => self.graph.topk(x, k, axis, largest, site),
                    _ => self.graph.argtopk(x, k, axis, largest, site),
                }
            }
            "diff" => self.graph.diff(x, integer(call.at(1)), integer(call.at(2)), site),
            "segment_count" => self.graph.segment_count(x, dim(call.at(1)), site),
            "segment_sum" => self.segment(SegmentOp::Sum, x, call),
            "segment_min" => self.segment(SegmentOp::Min, x, call),
            "segment_max" => self.segment(SegmentOp::Max, x, call),
            "segment_mean" => self.segment(SegmentOp::Mean, x, call),
            _ => self.reduction(x, call),
        }
    }

    fn segment(&mut self, op: SegmentOp, values: ExprId, call: &Arguments) -> ExprId {
        let ids = self.tensor(call.at(1));
        self.graph.segment(op, values, ids, dim(call.at(2)), self.site)
    }

    fn reduction(&mut self, x: ExprId, call: &Arguments) -> ExprId {
        let (site, keepdims) = (self.site, call.keepdims());
        let axes = call.axes();
        let axes = axes.as_deref();
        if let Some(op) = ReduceOp::ALL.iter().find(|op| op.name() == call.call) {
            return self.graph.reduce(*op, x, axes, keepdims, site);
        }
        let correction = call.named("correction").map_or(0.0, float);
        match call.call {
            "var" => self.graph.var(x, axes, correction, keepdims, site),
            "std" => self.graph.std(x, axes, correction, keepdims, site),
            "count_nonzero" => self.graph.count_nonzero(x, axes, keepdims, site),
            "logsumexp" => self.graph.logsumexp(x, axes, keepdims, site),
            "softmax" => self.graph.softmax(x, axes, site),
            "log_softmax" => self.graph.log_softmax(x, axes, site),
            "norm" => {
                let norm = match call.at(1) {
                    Expression::Int(1) => Norm::One,
                    Expression::Int(2) => Norm::Two,
                    _ => Norm::Infinity,
                };
                self.graph.norm(norm, x, axes, keepdims, site)
            }
            _ => self.view(x, call),
        }
    }

    fn view(&mut self, x: ExprId, call: &Arguments) -> ExprId {
        let site = self.site;
        match call.call {
            "reshape" => {
                let sizes = integers(call.at(1)).into_iter();
                let sizes: Vec<Option<Dim>> = sizes.map(|size| (size >= 0).then(|| size.into())).collect();
                self.graph.reshape(x, &sizes, site)
            }
            "permute" => self.graph.permute_dims(x, &integers(call.at(1)), site),
            "expand_dims" => self.graph.expand_dims(x, &integers(call.at(1)), site),
            "squeeze" => self.graph.squeeze(x, &integers(call.at(1)), site),
            "broadcast_to" => self.graph.broadcast_to(x, dims(call.at(1)), site),
            "flip" => {
                let (axis, rank) = (integer(call.at(1)), self.graph.shape(x).rank() as i64);
                let axis = if axis < 0 { axis + rank } else { axis };
                if !(0..rank).contains(&axis) {
                    return self.graph.squeeze(x, &[axis], site);
                }
                let mut slices = vec![SliceSpec::All; axis as usize];
                slices.push(SliceSpec::Range { start: None, stop: None, step: -1 });
                self.graph.slice(x, &slices, site)
            }
            "slice" => {
                let slices: Vec<SliceSpec> = call.arguments[1..].iter().map(slice).collect();
                self.graph.slice(x, &slices, site)
            }
            other => panic!("{other} is not in the notation"),
        }
    }
}

/// The place to which graphs are ascribed.
#[track_caller]
pub fn here() -> Site {
    Site::caller()
}
