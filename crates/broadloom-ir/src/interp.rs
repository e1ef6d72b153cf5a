//! The reference interpreter: the meaning of a graph, defined as simply as possible.
//!
//! ```text
//! arrays ──bind──▶ sizes ──every node whole, in arena order──▶ outputs
//!                                └── concrete shape == inferred shape at these sizes, or ShapeDisagrees
//! ```
//!
//! It is the oracle for compiled code, which is compared with it bit by bit. So it shares only the rows of the op
//! table and the constants of the reduction table with compiled code; it computes shapes, broadcasting and views
//! again, on concrete sizes. It is written to be obviously right, and it is slow.
//!
//! It does not recurse, so a graph of any depth fits the stack, and it drops an array after its last use.

mod bind;
mod error;
mod join;
mod loops;
mod order;
mod reduce;
mod topk;
mod view;

pub use error::{InterpretError, Rule};

use crate::dtype::{Class, DType, Element, Scalar};
use crate::graph::{CheckedGraph, Node, SliceAxis, View};
use crate::ids::{ExprId, InputId, LoopId};
use crate::ops::Op;
use bind::Sizes;
use error::Fault;
use smallvec::{SmallVec, smallvec};

/// The most elements of an array in the interpreter, which take 4 GiB.
pub const MAX_ELEMENTS: usize = 1 << 28;

/// An array of concrete shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// The dtype of all elements.
    pub dtype: DType,
    /// The size of each axis.
    pub shape: Vec<usize>,
    /// The elements in row-major order.
    pub elements: Vec<Scalar>,
}

impl Array {
    /// Creates an array from a Rust type's elements in row-major order. [`interpret`] checks that they fill the
    /// shape.
    pub fn new<T: Element>(shape: &[usize], elements: &[T]) -> Array {
        let elements = elements.iter().map(|element| element.into_scalar()).collect();
        Array { dtype: T::DTYPE, shape: shape.to_vec(), elements }
    }

    /// Returns the elements in row-major order as values of a Rust type, if all have that type.
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        self.elements.iter().map(|element| T::from_scalar(*element)).collect()
    }
}

/// Evaluates the outputs of a graph, in their order, on one array per declared input. `fused` is the numerics level:
/// whether elementary functions and sums of products use fma.
///
/// # Errors
/// Returns an error if the arrays do not match the declared inputs, if their sizes disagree or break an obligation
/// of the graph, if the data contain an index out of range, a negative exponent, or an element without a bin (the
/// earliest expression, then the smallest position), or if an array would be too large. [`InterpretError::ShapeDisagrees`] and
/// [`InterpretError::Unsound`] are bugs in Broadloom.
pub fn interpret(graph: &CheckedGraph, inputs: &[Array], fused: bool) -> Result<Vec<Array>, InterpretError> {
    interpret_with_sizes(graph, inputs, &[], fused)
}

/// Like [`interpret`], with sizes of symbols given by name.
///
/// # Errors
/// Returns the errors of [`interpret`], or an error for a name that belongs to no symbol, or for a size that the
/// symbol cannot have.
pub fn interpret_with_sizes(
    graph: &CheckedGraph,
    inputs: &[Array],
    given: &[(&str, i64)],
    fused: bool,
) -> Result<Vec<Array>, InterpretError> {
    let sizes = bind::bind(graph, inputs, given)?;
    let loops = graph.innermost();
    let last_uses = last_uses(graph, fused, &loops);
    let arrays = vec![None; graph.len()];
    let mut run = Run { graph, inputs, fused, sizes, arrays, loops, last_uses };
    run.steps_of(None)?;
    let outputs = graph.outputs().iter();
    outputs.map(|output| run.array(output.expr).cloned().map_err(|fault| fault.at(output.expr))).collect()
}

/// Returns the last expression that reads each expression; `None` for outputs, which stay to the end, and for what the steps
/// of a loop compute or read.
fn last_uses(graph: &CheckedGraph, fused: bool, loops: &[Option<LoopId>]) -> Vec<Option<ExprId>> {
    let mut last = vec![None; graph.len()];
    let mut stays = vec![false; graph.len()];
    for expr in graph.exprs() {
        let is_of_step = |expr: ExprId| loops[expr.index()].is_some();
        stays[expr.index()] |= is_of_step(expr);
        for used in uses(graph, expr, fused) {
            last[used.index()] = Some(expr);
            stays[used.index()] |= is_of_step(expr) || matches!(graph.node(expr), Node::Loop { .. });
        }
    }
    let outputs = graph.outputs().iter().map(|output| output.expr.index());
    let stay = stays.iter().enumerate().filter(|(_, stays)| **stays).map(|(index, _)| index);
    outputs.chain(stay).for_each(|index| last[index] = None);
    last
}

/// Returns what an expression reads: its operands, and the factors of a sum of products.
fn uses(graph: &CheckedGraph, expr: ExprId, fused: bool) -> impl Iterator<Item = ExprId> {
    let factors = if fused { graph.factors(expr) } else { None };
    graph.operands(expr).into_iter().chain(factors.into_iter().flatten())
}

struct Run<'a> {
    graph: &'a CheckedGraph,
    inputs: &'a [Array],
    fused: bool,
    sizes: Sizes<'a>,
    arrays: Vec<Option<Array>>,
    /// The innermost loop in each of whose steps an expression is computed.
    loops: Vec<Option<LoopId>>,
    last_uses: Vec<Option<ExprId>>,
}

impl Run<'_> {
    /// Computes what belongs to one step of a loop, or to none.
    fn steps_of(&mut self, of: Option<LoopId>) -> Result<(), InterpretError> {
        self.compute(of, |_| true)
    }

    fn compute(
        &mut self,
        of: Option<LoopId>,
        is_wanted: impl Fn(ExprId) -> bool,
    ) -> Result<(), InterpretError> {
        let graph = self.graph;
        for expr in graph.exprs() {
            if self.loops[expr.index()] != of || !is_wanted(expr) {
                continue;
            }
            match graph.node(expr) {
                Node::Step { .. } => continue,
                // A condition was computed first, and all results of a loop are found at once.
                _ if self.arrays[expr.index()].is_some() => {}
                Node::Loop { repeated, .. } => self.repeat(repeated, expr)?,
                _ => {
                    let array = self.node(expr)?;
                    self.keep(expr, array)?;
                }
            }
            for used in self.uses(expr) {
                if self.last_uses[used.index()] == Some(expr) {
                    self.arrays[used.index()] = None;
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, expr: ExprId, array: Array) -> Result<(), InterpretError> {
        self.check(expr, &array)?;
        self.sizes.decide(expr, &array)?;
        self.arrays[expr.index()] = Some(array);
        Ok(())
    }

    fn uses(&self, expr: ExprId) -> SmallVec<[ExprId; 5]> {
        uses(self.graph, expr, self.fused).collect()
    }

    fn array(&self, expr: ExprId) -> Result<&Array, Fault> {
        self.arrays.get(expr.index()).and_then(Option::as_ref).ok_or(Fault::Unsound(Rule::Operand))
    }

    fn node(&self, expr: ExprId) -> Result<Array, InterpretError> {
        let at = |fault: Fault| fault.at(expr);
        let array = |operand: &ExprId| self.array(*operand).map_err(at);
        match self.graph.node(expr) {
            Node::Input(id) => self.input(expr, *id),
            Node::Constant(value) => {
                Ok(Array { dtype: value.dtype(), shape: Vec::new(), elements: vec![*value] })
            }
            Node::Elementwise { op, operands } => {
                let operands = operands.iter().map(array).collect::<Result<SmallVec<[&Array; 3]>, _>>()?;
                elementwise(*op, &operands, self.fused).map_err(at)
            }
            Node::Select { condition, on_true, on_false } => {
                select(array(condition)?, array(on_true)?, array(on_false)?).map_err(at)
            }
            Node::Cast(operand) => {
                let (operand, dtype) = (array(operand)?, self.graph.dtype(expr));
                let elements = operand.elements.iter().map(|element| element.cast(dtype)).collect();
                Ok(Array { dtype, shape: operand.shape.clone(), elements })
            }
            Node::Reduce { op, operand, axes, keepdims } => {
                let factors = match self.graph.factors(expr) {
                    Some([x, y]) if self.fused => Some([array(&x)?, array(&y)?]),
                    Some(_) | None => None,
                };
                reduce::reduce(*op, array(operand)?, factors, axes, *keepdims, self.fused).map_err(at)
            }
            Node::View { view, operand } => self.view(expr, view, array(operand)?),
            Node::Take { table, indices, axis } => {
                view::take(array(table)?, array(indices)?, *axis).map_err(|fault| self.taken_at(fault, expr))
            }
            Node::Compress { operand, mask, axis } => {
                view::compress(array(operand)?, array(mask)?, *axis).map_err(at)
            }
            Node::Iota => self.iota(expr),
            Node::Size(size) => {
                let value = Scalar::I64(self.sizes.evaluate(size)?);
                Ok(Array { dtype: DType::I64, shape: Vec::new(), elements: vec![value] })
            }
            Node::Concat { operands, axis } => {
                let operands = operands.iter().map(array).collect::<Result<SmallVec<[&Array; 3]>, _>>()?;
                join::concat(&operands, *axis).map_err(at)
            }
            Node::Set { base, value, region } => {
                let value = array(value)?;
                let picked = self.picked(region, &value.shape, expr)?;
                view::set(array(base)?, &picked, value).map_err(at)
            }
            Node::Scatter { op, base, indices, values } => {
                join::scatter(*op, array(base)?, array(indices)?, array(values)?).map_err(at)
            }
            Node::Segment { op, compensated, elements, values, ids, initial } => {
                let tables = join::Tables {
                    shape: self.declared_shape(expr)?,
                    compensated: *compensated,
                    elements: self.sizes.evaluate(elements)?,
                    initial: initial.as_ref().map(array).transpose()?,
                };
                join::segment(*op, array(values)?, array(ids)?, tables, self.fused).map_err(at)
            }
            Node::TopK { operand, topk } => topk::topk(*topk, array(operand)?, self.fused).map_err(at),
            Node::Sort { operand, sort } => order::sort(*sort, array(operand)?, self.fused).map_err(at),
            Node::Search { table, values, right } => {
                order::search(array(table)?, array(values)?, *right, self.fused).map_err(at)
            }
            Node::Scan { op, operand, axis, initial } => {
                let initial = initial.as_ref().map(array).transpose()?;
                reduce::scan(*op, array(operand)?, *axis, initial, self.fused).map_err(at)
            }
            // Their loop computes them.
            Node::Step { .. } | Node::Loop { .. } => Err(at(Fault::Unsound(Rule::Operand))),
            Node::Poison => Err(at(Fault::Unsound(Rule::Poison))),
        }
    }

    /// Returns the error of a `take`, which in a histogram checks the data and its bounds.
    fn taken_at(&self, fault: Fault, expr: ExprId) -> InterpretError {
        match fault {
            Fault::Index { position, value, .. } => match self.graph.value_without_bin(expr, value) {
                Some(value) => InterpretError::NoBin { expr, position, value },
                None => match self.graph.fault_of_bounds(expr, value) {
                    Some(fault) => InterpretError::Bounds { expr, position: position + 1, fault },
                    None => fault.at(expr),
                },
            },
            fault => fault.at(expr),
        }
    }

    fn input(&self, expr: ExprId, id: InputId) -> Result<Array, InterpretError> {
        let Some(array) = self.inputs.get(id.index()) else {
            return Err(Fault::Unsound(Rule::Operand).at(expr));
        };
        let info = &self.graph.inputs()[id.index()];
        if info.may_be_one.is_empty() {
            return Ok(array.clone());
        }
        let shape = self.declared_shape(expr)?;
        let elements = view::stretch(array, &shape).map_err(|fault| fault.at(expr))?.into_owned();
        Ok(Array { dtype: array.dtype, shape, elements })
    }

    fn view(&self, expr: ExprId, view: &View, operand: &Array) -> Result<Array, InterpretError> {
        let at = |fault: Fault| fault.at(expr);
        match view {
            View::Reshape => view::reshape(operand, self.declared_shape(expr)?).map_err(at),
            View::Permute(permutation) => view::permute(operand, permutation).map_err(at),
            View::ExpandDims(axes) => view::expand_dims(operand, axes).map_err(at),
            View::Squeeze(axes) => view::squeeze(operand, axes).map_err(at),
            View::BroadcastTo => {
                let shape = self.declared_shape(expr)?;
                let elements = view::stretch(operand, &shape).map_err(at)?.into_owned();
                Ok(Array { dtype: operand.dtype, shape, elements })
            }
            View::Rebind if operand.shape == self.declared_shape(expr)? => Ok(operand.clone()),
            View::Rebind => Err(at(Fault::Unsound(Rule::Reshape))),
            View::Windows(axis) => {
                let shape = self.declared_shape(expr)?;
                let width = *shape.last().ok_or_else(|| at(Fault::Unsound(Rule::Axes)))?;
                view::windows(operand, *axis, width).map_err(at)
            }
            View::Slice(axes) => {
                let picked = self.picked(axes, &self.declared_shape(expr)?, expr)?;
                view::slice(operand, &picked).map_err(at)
            }
        }
    }

    /// Returns the elements on each axis of a region with the given shape.
    fn picked(
        &self,
        axes: &[SliceAxis],
        shape: &[usize],
        expr: ExprId,
    ) -> Result<Vec<view::Picked>, InterpretError> {
        if shape.len() != axes.len() {
            return Err(Fault::Unsound(Rule::Axes).at(expr));
        }
        let pick = |(axis, size): (&SliceAxis, &usize)| {
            Ok(view::Picked { start: self.sizes.evaluate(&axis.start)?, step: axis.step, size: *size })
        };
        axes.iter().zip(shape).map(pick).collect()
    }

    fn iota(&self, expr: ExprId) -> Result<Array, InterpretError> {
        let at = |fault: Fault| fault.at(expr);
        let shape = self.declared_shape(expr)?;
        let [length] = shape[..] else { return Err(at(Fault::Unsound(Rule::Axes))) };
        let mut elements = view::with_room(&shape).map_err(at)?;
        elements.extend((0_i64..).take(length).map(Scalar::I64));
        Ok(Array { dtype: DType::I64, shape, elements })
    }

    /// Returns the inferred shape, for nodes whose operands do not determine it.
    fn declared_shape(&self, expr: ExprId) -> Result<Vec<usize>, InterpretError> {
        let inferred = self.sizes.inferred(expr)?;
        let shape = inferred.iter().map(|size| usize::try_from(*size).ok()).collect::<Option<Vec<_>>>();
        shape.ok_or(InterpretError::ShapeDisagrees { expr, inferred, concrete: Vec::new() })
    }

    /// Compares the result of the concrete rules with the inferred one.
    fn check(&self, expr: ExprId, array: &Array) -> Result<(), InterpretError> {
        let inferred = self.sizes.inferred(expr)?;
        let same = |(inferred, concrete): (&i64, &usize)| usize::try_from(*inferred) == Ok(*concrete);
        if inferred.len() != array.shape.len() || !inferred.iter().zip(&array.shape).all(same) {
            return Err(InterpretError::ShapeDisagrees { expr, inferred, concrete: array.shape.clone() });
        }
        if array.dtype != self.graph.dtype(expr) {
            return Err(InterpretError::Unsound { expr, rule: Rule::Types });
        }
        Ok(())
    }
}

/// Applies a row of the op table to every element of operands that broadcast.
fn elementwise(op: Op, operands: &[&Array], fused: bool) -> Result<Array, Fault> {
    let dtype = operands.first().ok_or(Fault::Unsound(Rule::Types))?.dtype;
    let shape = view::broadcast_shape(operands.iter().map(|operand| &operand.shape[..]))?;
    let stretched = operands.iter().map(|operand| view::stretch(operand, &shape));
    let stretched = stretched.collect::<Result<SmallVec<[_; 3]>, _>>()?;
    let can_fail = op.can_fail(dtype);
    let mut elements = view::with_room(&shape)?;
    let mut arguments: SmallVec<[Scalar; 3]> = smallvec![Scalar::Bool(false); stretched.len()];
    for position in 0..view::element_count(&shape)? {
        for (argument, operand) in arguments.iter_mut().zip(&stretched) {
            *argument = operand[position];
        }
        if can_fail && op.fails(&arguments) {
            return Err(negative_exponent(position, &arguments));
        }
        elements.push(reduce::apply(op, fused, &arguments)?);
    }
    Ok(Array { dtype: op.result_dtype(dtype), shape, elements })
}

/// Returns the fault of an integer power, the only op that can fail.
fn negative_exponent(position: usize, arguments: &[Scalar]) -> Fault {
    match arguments.last().map(|exponent| exponent.cast(DType::I64)) {
        Some(Scalar::I64(value)) => Fault::NegativeExponent { position, value },
        _ => Fault::Unsound(Rule::Types),
    }
}

/// Returns the elements of `on_true` where the condition holds, and of `on_false` elsewhere.
fn select(condition: &Array, on_true: &Array, on_false: &Array) -> Result<Array, Fault> {
    if condition.dtype.class() != Class::Bool || on_true.dtype != on_false.dtype {
        return Err(Fault::Unsound(Rule::Types));
    }
    let shape = view::broadcast_shape([&condition.shape[..], &on_true.shape, &on_false.shape])?;
    let condition = view::stretch(condition, &shape)?;
    let (yes, no) = (view::stretch(on_true, &shape)?, view::stretch(on_false, &shape)?);
    let mut elements = view::with_room(&shape)?;
    for ((condition, yes), no) in condition.iter().zip(yes.iter()).zip(no.iter()) {
        elements.push(if matches!(condition, Scalar::Bool(true)) { *yes } else { *no });
    }
    Ok(Array { dtype: on_true.dtype, shape, elements })
}
