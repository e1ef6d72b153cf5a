//! Checked graphs: proof that every expression is well typed and well shaped.

use super::solve::{Solution, solve};
use super::{Entry, Graph, InputInfo, Node, Obligation, Operands, Site, SymbolInfo, View, check_tensor_name};
use crate::diagnostics::{Diagnostic, Diagnostics, Problem};
use crate::dtype::DType;
use crate::ids::{ExprId, InputId, SymbolId};
use crate::ops::Op;
use crate::reduce::ReduceOp;
use crate::shape::Shape;
use smallvec::smallvec;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// An output of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputInfo {
    /// Its name.
    pub name: Box<str>,
    /// Its value.
    pub expr: ExprId,
    /// The input to which it is [assigned](Graph::assign), whose name it bears.
    pub assigned: Option<InputId>,
}

/// What some outputs of a [`Graph`] need, without mistakes. Cloning shares it.
#[derive(Clone)]
pub struct CheckedGraph(Arc<Checked>);

/// Name and value of an output, and the input to which it is assigned.
type Destination<'a> = (&'a str, ExprId, Option<InputId>);

struct Checked {
    entries: Vec<Entry>,
    inputs: Vec<InputInfo>,
    outputs: Vec<OutputInfo>,
    symbols: Vec<SymbolInfo>,
    obligations: Vec<Obligation>,
    solutions: Vec<Solution>,
}

impl Node {
    /// The operands in order.
    pub fn operands(&self) -> Operands {
        match self {
            Node::Input(_) | Node::Constant(_) | Node::Iota | Node::Size(_) | Node::Poison => Operands::new(),
            Node::Elementwise { operands, .. } | Node::Concat { operands, .. } => operands.clone(),
            Node::Segment { values, ids, .. } => smallvec![*values, *ids],
            Node::Select { condition, on_true, on_false } => smallvec![*condition, *on_true, *on_false],
            Node::Cast(operand) | Node::Reduce { operand, .. } | Node::View { operand, .. } => {
                smallvec![*operand]
            }
            Node::Take { table, indices, .. } => smallvec![*table, *indices],
        }
    }

    fn renumber(&mut self, id: impl Fn(ExprId) -> ExprId) {
        let operands: &mut [&mut ExprId] = match self {
            Node::Input(_) | Node::Constant(_) | Node::Iota | Node::Size(_) | Node::Poison => return,
            Node::Segment { values, ids, .. } => &mut [values, ids],
            Node::Elementwise { operands, .. } | Node::Concat { operands, .. } => {
                operands.iter_mut().for_each(|operand| *operand = id(*operand));
                return;
            }
            Node::Select { condition, on_true, on_false } => &mut [condition, on_true, on_false],
            Node::Cast(operand) | Node::Reduce { operand, .. } | Node::View { operand, .. } => &mut [operand],
            Node::Take { table, indices, .. } => &mut [table, indices],
        };
        for operand in operands {
            **operand = id(**operand);
        }
    }
}

impl Graph {
    /// What the outputs and the [assignments](Graph::assign) need, renumbered densely, if the graph has no mistakes.
    /// Assignments are outputs that follow the others, in order.
    ///
    /// # Errors
    /// Every mistake recorded so far, whether the outputs need it or not; no outputs; bad or repeated names of
    /// outputs; symbols that outputs need and no input determines.
    pub fn finish(&self, outputs: &[(&str, ExprId)]) -> Result<CheckedGraph, Diagnostics> {
        let mut mistakes = self.diagnostics.clone();
        let assigned = self.assignments.iter().map(|assignment| {
            (&*self.inputs[assignment.input.index()].name, assignment.value, Some(assignment.input))
        });
        let outputs: Vec<Destination<'_>> =
            outputs.iter().map(|&(name, expr)| (name, expr, None)).chain(assigned).collect();
        if outputs.is_empty() {
            let site = self.entry(ExprId::new(super::POISON)).site;
            mistakes.push(Diagnostic::new(Problem::NoOutputs, None, site));
        }
        let mut names = HashSet::new();
        for &(name, expr, _) in &outputs {
            let site = self.site(expr);
            if let Err(problem) = check_tensor_name(name) {
                mistakes.push(Diagnostic::new(problem, Some("output"), site));
            }
            if !names.insert(name) {
                mistakes.push(Diagnostic::new(Problem::DuplicateOutput { name: name.into() }, None, site));
            }
            if self.is_poisoned(expr) && self.diagnostics.is_empty() {
                mistakes.push(Diagnostic::new(Problem::PoisonedOutput { name: name.into() }, None, site));
            }
        }
        let needed = self.needed(&outputs);
        let solutions = solve(&self.inputs, self.symbols.len());
        self.check_solvable(&needed, &solutions, &mut mistakes);
        if let Some(mistakes) = Diagnostics::new(mistakes) {
            return Err(mistakes);
        }
        let mut number = vec![None; self.entries.len()];
        let mut entries: Vec<Entry> = Vec::new();
        let renumbered = |number: &[Option<ExprId>], expr: ExprId| {
            number.get(expr.index()).copied().flatten().unwrap_or(expr)
        };
        for (index, entry) in self.entries.iter().enumerate().filter(|(index, _)| needed[*index]) {
            number[index] = Some(ExprId::new(entries.len()));
            let mut entry = entry.clone();
            entry.node.renumber(|expr| renumbered(&number, expr));
            entries.push(entry);
        }
        let output = |&(name, expr, assigned): &Destination<'_>| OutputInfo {
            name: name.into(),
            expr: renumbered(&number, expr),
            assigned,
        };
        let obligation = |obligation: &Obligation| {
            let origin = number.get(obligation.origin.index()).copied().flatten()?;
            Some(Obligation { origin, ..obligation.clone() })
        };
        Ok(CheckedGraph(Arc::new(Checked {
            outputs: outputs.iter().map(output).collect(),
            obligations: self.obligations.iter().filter_map(obligation).collect(),
            entries,
            inputs: self.inputs.clone(),
            symbols: self.symbols.clone(),
            solutions,
        })))
    }

    /// Which expressions the outputs need, by index.
    fn needed(&self, outputs: &[Destination<'_>]) -> Vec<bool> {
        let mut needed = vec![false; self.entries.len()];
        for (_, expr, _) in outputs {
            if let Some(needed) = needed.get_mut(expr.index()) {
                *needed = true;
            }
        }
        for index in (0..needed.len()).rev() {
            if needed[index] {
                for operand in self.entries[index].node.operands() {
                    needed[operand.index()] = true;
                }
            }
        }
        needed
    }

    /// Reports each symbol that a needed expression mentions and no input determines, at its first use.
    fn check_solvable(&self, needed: &[bool], solutions: &[Solution], mistakes: &mut Vec<Diagnostic>) {
        let mut known = vec![false; self.symbols.len()];
        for solution in solutions {
            known[solution.symbol.index()] = true;
        }
        let mut seen_shapes = HashSet::new();
        let mut report = |symbol: SymbolId, site: Site| {
            if let Some(known) = known.get_mut(symbol.index()).filter(|known| !**known) {
                *known = true;
                let symbol = self.symbols[symbol.index()].name.clone();
                mistakes.push(Diagnostic::new(Problem::Unsolvable { symbol }, None, site));
            }
        };
        for (entry, _) in self.entries.iter().zip(needed).filter(|(_, needed)| **needed) {
            if seen_shapes.insert(&entry.shape) {
                let symbols = entry.shape.iter().flat_map(|dim| dim.symbols());
                symbols.for_each(|symbol| report(symbol, entry.site));
            }
            let symbols: Vec<SymbolId> = match &entry.node {
                Node::View { view: View::Slice(parts), .. } => {
                    parts.iter().flat_map(|part| part.start.symbols()).collect()
                }
                Node::Size(size) => size.symbols().into_iter().collect(),
                _ => Vec::new(),
            };
            symbols.into_iter().for_each(|symbol| report(symbol, entry.site));
        }
        for obligation in &self.obligations {
            if needed.get(obligation.origin.index()) == Some(&true) {
                obligation
                    .nonnegative
                    .symbols()
                    .into_iter()
                    .for_each(|symbol| report(symbol, obligation.site));
            }
        }
    }
}

impl CheckedGraph {
    /// The number of expressions.
    #[allow(clippy::len_without_is_empty, reason = "a checked graph has an output, so it is never empty")]
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// The expressions; operands before the expressions that use them.
    pub fn exprs(&self) -> impl Iterator<Item = ExprId> + use<> {
        (0..self.len()).map(ExprId::new)
    }

    /// What an expression is. Never [`Node::Poison`].
    ///
    /// # Panics
    /// This and the other look-ups panic for an id that is not of this graph.
    pub fn node(&self, expr: ExprId) -> &Node {
        &self.0.entries[expr.index()].node
    }

    /// The dtype of an expression.
    pub fn dtype(&self, expr: ExprId) -> DType {
        self.0.entries[expr.index()].dtype
    }

    /// The shape of an expression.
    pub fn shape(&self, expr: ExprId) -> &Shape {
        &self.0.entries[expr.index()].shape
    }

    /// Where an expression was made first.
    pub fn site(&self, expr: ExprId) -> Site {
        self.0.entries[expr.index()].site
    }

    /// The operands of an expression in order.
    pub fn operands(&self, expr: ExprId) -> Operands {
        self.node(expr).operands()
    }

    /// All declared inputs in order of declaration, whether the outputs need them or not.
    pub fn inputs(&self) -> &[InputInfo] {
        &self.0.inputs
    }

    /// The outputs in the given order, then the assignments; at least one.
    pub fn outputs(&self) -> &[OutputInfo] {
        &self.0.outputs
    }

    /// The outputs that are no assignments, in the given order.
    pub fn results(&self) -> &[OutputInfo] {
        let outputs = self.outputs();
        &outputs[..outputs.partition_point(|output| output.assigned.is_none())]
    }

    /// All symbols in order of creation. Some that the outputs do not need may have no solution.
    pub fn symbols(&self) -> &[SymbolInfo] {
        &self.0.symbols
    }

    /// What must hold for the values of the symbols, in order of the expressions that need it.
    pub fn obligations(&self) -> &[Obligation] {
        &self.0.obligations
    }

    /// How the symbols are computed from the sizes of the inputs, in an order in which they can be.
    pub fn solutions(&self) -> &[Solution] {
        &self.0.solutions
    }

    /// `x` and `y`, if this is a sum or mean of `x * y` (or of `x` squared) that accumulates with fma where the
    /// numerics level is fused.
    pub fn factors(&self, reduce: ExprId) -> Option<[ExprId; 2]> {
        let Node::Reduce { op: ReduceOp::Sum | ReduceOp::Mean, operand, .. } = self.node(reduce) else {
            return None;
        };
        // A product of 16-bit floats is rounded to their type before it is added.
        if !matches!(self.dtype(*operand), DType::F32 | DType::F64) {
            return None;
        }
        match self.node(*operand) {
            Node::Elementwise { op: Op::Multiply, operands } => {
                <[ExprId; 2]>::try_from(operands.as_slice()).ok()
            }
            Node::Elementwise { op: Op::Square, operands } => operands.first().map(|&x| [x, x]),
            _ => None,
        }
    }

    fn symbol_name(&self, symbol: SymbolId) -> &str {
        self.0.symbols.get(symbol.index()).map_or("?", |info| &info.name)
    }

    fn write_shape(&self, f: &mut fmt::Formatter<'_>, shape: &Shape) -> fmt::Result {
        f.write_str("[")?;
        for (axis, dim) in shape.iter().enumerate() {
            f.write_str(if axis == 0 { "" } else { ", " })?;
            write!(f, "{}", dim.display(&|symbol| self.symbol_name(symbol)))?;
        }
        f.write_str("]")
    }

    fn write_node(&self, f: &mut fmt::Formatter<'_>, node: &Node) -> fmt::Result {
        match node {
            Node::Input(input) => write!(f, "input {:?}", self.0.inputs[input.index()].name),
            Node::Constant(value) => write!(f, "constant {value}"),
            Node::Elementwise { op, .. } => write!(f, "{op}"),
            Node::Select { .. } => f.write_str("select"),
            Node::Cast(_) => f.write_str("cast"),
            Node::Reduce { op, .. } => write!(f, "{op}"),
            Node::View { view, .. } => f.write_str(view.name()),
            Node::Take { .. } => f.write_str("take"),
            Node::Iota => f.write_str("iota"),
            Node::Size(size) => write!(f, "size {}", size.display(&|symbol| self.symbol_name(symbol))),
            Node::Concat { .. } => f.write_str("concat"),
            Node::Segment { op, .. } => write!(f, "segment_{op}"),
            Node::Poison => f.write_str("poison"),
        }?;
        for operand in node.operands() {
            write!(f, " {operand}")?;
        }
        match node {
            Node::Reduce { axes, keepdims, .. } => {
                write!(f, " axes={:?}{}", axes.as_slice(), if *keepdims { " keepdims" } else { "" })
            }
            Node::View { view: View::Permute(axes), .. } => write!(f, " axes={:?}", axes.as_slice()),
            Node::View { view: View::ExpandDims(axes) | View::Squeeze(axes), .. } => {
                write!(f, " axes={:?}", axes.as_slice())
            }
            Node::View { view: View::Slice(parts), .. } => {
                for (axis, part) in parts.iter().enumerate() {
                    let start = part.start.display(&|symbol| self.symbol_name(symbol)).to_string();
                    write!(f, "{}{start}..:{}", if axis == 0 { " [" } else { ", " }, part.step)?;
                }
                f.write_str("]")
            }
            Node::Take { axis, .. } | Node::Concat { axis, .. } => write!(f, " axis={axis}"),
            Node::Input(_)
            | Node::Constant(_)
            | Node::Elementwise { .. }
            | Node::Select { .. }
            | Node::Cast(_)
            | Node::View { view: View::Reshape | View::BroadcastTo, .. }
            | Node::Iota
            | Node::Size(_)
            | Node::Segment { .. }
            | Node::Poison => Ok(()),
        }
    }
}

impl View {
    /// The name of the op that makes such a view.
    pub fn name(&self) -> &'static str {
        match self {
            View::Reshape => "reshape",
            View::Permute(_) => "permute_dims",
            View::ExpandDims(_) => "expand_dims",
            View::Squeeze(_) => "squeeze",
            View::BroadcastTo => "broadcast_to",
            View::Slice(_) => "slice",
        }
    }
}

impl fmt::Display for CheckedGraph {
    /// One line per expression, `%3 = add %1 %2 : f32[n, 3]`, then one per output.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for expr in self.exprs() {
            write!(f, "{expr} = ")?;
            self.write_node(f, self.node(expr))?;
            write!(f, " : {}", self.dtype(expr))?;
            self.write_shape(f, self.shape(expr))?;
            writeln!(f)?;
        }
        for output in self.outputs() {
            let verb = if output.assigned.is_some() { "assign" } else { "output" };
            writeln!(f, "{verb} {:?} = {}", output.name, output.expr)?;
        }
        Ok(())
    }
}

impl fmt::Debug for CheckedGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
