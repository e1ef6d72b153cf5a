//! The contents of a drawing: the expressions of each kernel, the arrays between kernels, and the edges.
//!
//! An expression appears in each kernel that computes it. Constants and sizes have no node: they appear where they
//! are used.

use crate::label;
use broadloom::{ArrayPlace, CheckedGraph, Explanation, KernelInfo, TemporaryInfo};
use broadloom_ir::ExprId;
use broadloom_ir::graph::Node;
use std::collections::{HashMap, HashSet};

/// Nodes, the edges between them, and the titles of the kernels.
#[derive(Debug)]
pub struct Drawing {
    pub nodes: Vec<DrawnNode>,
    pub edges: Vec<Edge>,
    /// The kernels' titles, in launch order.
    pub kernels: Vec<String>,
    /// A caption for the whole drawing.
    pub summary: String,
}

#[derive(Debug, Clone)]
pub struct DrawnNode {
    pub kind: Kind,
    /// The name of the node, and below it its dtype, shape and size.
    pub lines: Vec<String>,
    pub place: Place,
    /// The expression whose value it is.
    pub expr: Option<ExprId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Input,
    Op,
    Reduction,
    View,
    Temporary,
    Output,
    /// A reference to a distant node.
    Reference,
}

/// The place of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// Above the kernel of this number, below the one before.
    Above(usize),
    /// In the kernel of this number.
    In(usize),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    /// The position of the operand, where it matters.
    pub label: Option<&'static str>,
}

impl Drawing {
    pub fn new(explanation: &Explanation) -> Drawing {
        let (infos, temporaries) = (explanation.kernel_infos(), explanation.temporaries());
        let title =
            |(index, info): (usize, &KernelInfo)| format!("kernel {index}: {}", label::visible(&info.loops));
        let stored = explanation.materialized_bytes();
        let summary = match infos.len() {
            1 => "1 kernel, nothing stored on the way".to_string(),
            count if stored == 0 => format!("{count} kernels, nothing stored between them"),
            count => format!("{count} kernels, {stored} bytes stored between them"),
        };
        let drawing = Drawing {
            nodes: Vec::new(),
            edges: Vec::new(),
            kernels: infos.iter().enumerate().map(title).collect(),
            summary,
        };
        let graph = explanation.graph();
        let mut drawer =
            Drawer { graph, infos: &infos, temporaries: &temporaries, drawing, arrays: HashMap::new() };
        drawer.arrays();
        for kernel in 0..infos.len() {
            drawer.kernel(kernel);
        }
        drawer.drawing
    }
}

struct Drawer<'a> {
    graph: &'a CheckedGraph,
    infos: &'a [KernelInfo],
    temporaries: &'a [TemporaryInfo],
    drawing: Drawing,
    arrays: HashMap<ArrayPlace, usize>,
}

impl Drawer<'_> {
    fn node(&mut self, kind: Kind, lines: Vec<String>, place: Place, expr: Option<ExprId>) -> usize {
        self.drawing.nodes.push(DrawnNode { kind, lines, place, expr });
        self.drawing.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, label: Option<&'static str>) {
        self.drawing.edges.push(Edge { from, to, label });
    }

    /// Places inputs above the first kernel that reads them, and other arrays below the last that writes them.
    fn arrays(&mut self) {
        let infos = self.infos;
        for (index, input) in self.graph.inputs().iter().enumerate() {
            let place = ArrayPlace::Input(index);
            if let Some(first) = infos.iter().position(|info| info.reads.contains(&place)) {
                let type_ = label::type_text(self.graph, input.dtype, &input.shape);
                let is_input =
                    |expr: &ExprId| matches!(self.graph.node(*expr), Node::Input(of) if of.index() == index);
                let expr = self.graph.exprs().find(is_input);
                let lines = vec![label::name(&input.name), type_];
                let node = self.node(Kind::Input, lines, Place::Above(first), expr);
                self.arrays.insert(place, node);
            }
        }
        let below = |place| {
            let last = infos.iter().rposition(|info| info.writes.contains(&place));
            Place::Above(last.map_or(0, |last| last + 1))
        };
        for (index, temporary) in self.temporaries.iter().enumerate() {
            let place = ArrayPlace::Temporary(index);
            let lines = vec![
                temporary.name.clone(),
                label::name(&format!("{}[{}]", temporary.dtype, temporary.sizes.join(", "))),
                label::name(&format!("{} bytes stored", temporary.bytes)),
            ];
            let node = self.node(Kind::Temporary, lines, below(place), Some(temporary.expr));
            self.arrays.insert(place, node);
        }
        for (index, output) in self.graph.outputs().iter().enumerate() {
            let place = ArrayPlace::Output(index);
            let (dtype, shape) = (self.graph.dtype(output.expr), self.graph.shape(output.expr));
            let mut lines = vec![label::name(&output.name), label::type_text(self.graph, dtype, shape)];
            lines.extend(output.assigned.map(|_| "assigned to the input".to_string()));
            let node = self.node(Kind::Output, lines, below(place), Some(output.expr));
            self.arrays.insert(place, node);
        }
    }

    /// The expression whose value an array holds.
    fn held(&self, place: ArrayPlace) -> Option<ExprId> {
        match place {
            ArrayPlace::Input(_) => None,
            ArrayPlace::Output(index) => self.graph.outputs().get(index).map(|output| output.expr),
            ArrayPlace::Temporary(index) => self.temporaries.get(index).map(|temporary| temporary.expr),
        }
    }

    /// Whether an array holds partial results of its expression.
    fn is_partial(&self, place: ArrayPlace) -> bool {
        let ArrayPlace::Temporary(index) = place else { return false };
        self.temporaries.get(index).is_some_and(|temporary| {
            let sizes = self.graph.shape(temporary.expr).iter();
            let whole = sizes.map(|dim| dim.display(&|symbol| self.graph.named(symbol)).to_string());
            !whole.eq(temporary.sizes.iter().cloned())
        })
    }

    /// From what a kernel writes down to what it reads.
    fn kernel(&mut self, kernel: usize) {
        let info = &self.infos[kernel];
        let mut scope = Scope {
            kernel,
            computed: info.exprs.iter().copied().collect(),
            read: HashMap::new(),
            partial: HashMap::new(),
            nodes: HashMap::new(),
            waiting: Vec::new(),
        };
        for &place in &info.reads {
            match (place, self.held(place)) {
                (_, Some(expr)) if self.is_partial(place) => {
                    scope.partial.entry(expr).or_default().push(place)
                }
                (_, Some(expr)) => {
                    scope.read.insert(expr, place);
                }
                (_, None) => {}
            }
        }
        for &place in &info.writes {
            let Some(expr) = self.held(place) else { continue };
            let from = self.computed(&mut scope, expr, self.is_partial(place));
            if let Some(&to) = self.arrays.get(&place) {
                self.edge(from, to, None);
            }
        }
        while let Some((expr, user)) = scope.waiting.pop() {
            self.operands(&mut scope, expr, user);
        }
    }

    /// Returns the node of an expression in a kernel, and makes it on first use.
    fn computed(&mut self, scope: &mut Scope, expr: ExprId, partial: bool) -> usize {
        if let Some(&node) = scope.nodes.get(&expr) {
            return node;
        }
        let (kind, mut what) = label::expression(self.graph, expr);
        if partial {
            what.push_str(" of parts");
        } else if scope.partial.contains_key(&expr) {
            what.push_str(" of all parts");
        }
        let type_ = label::type_text(self.graph, self.graph.dtype(expr), self.graph.shape(expr));
        let node = self.node(kind, vec![label::clipped(&what), type_], Place::In(scope.kernel), Some(expr));
        scope.nodes.insert(expr, node);
        scope.waiting.push((expr, node));
        node
    }

    fn operands(&mut self, scope: &mut Scope, expr: ExprId, user: usize) {
        let partial = scope.partial.get(&expr).cloned().unwrap_or_default();
        for place in &partial {
            if let Some(&from) = self.arrays.get(place) {
                self.edge(from, user, None);
            }
        }
        let node = self.graph.node(expr);
        // An output may be an unchanged input.
        let operands = match node {
            Node::Input(_) => std::iter::once(expr).collect(),
            _ => node.operands(),
        };
        for (position, operand) in operands.into_iter().enumerate() {
            let from = match self.graph.node(operand) {
                _ if label::inline(self.graph, operand).is_some() => None,
                // One that belongs to a piece or a part of another kernel is not read here.
                Node::Input(input) => Some(ArrayPlace::Input(input.index()))
                    .filter(|place| self.infos[scope.kernel].reads.contains(place))
                    .and_then(|place| self.arrays.get(&place).copied()),
                _ => match scope.read.get(&operand) {
                    Some(place) => self.arrays.get(place).copied(),
                    // Combined parts, and pieces of a join that other kernels write, are not computed
                    // here.
                    None if !partial.is_empty() => None,
                    None if matches!(node, Node::Concat { .. }) && !scope.computed.contains(&operand) => None,
                    None => Some(self.computed(scope, operand, false)),
                },
            };
            if let Some(from) = from {
                self.edge(from, user, label::operand(self.graph, node, position));
            }
        }
    }
}

/// The state while a kernel is drawn.
struct Scope {
    kernel: usize,
    computed: HashSet<ExprId>,
    /// Expressions that are read from arrays.
    read: HashMap<ExprId, ArrayPlace>,
    /// Expressions that are read from arrays in part.
    partial: HashMap<ExprId, Vec<ArrayPlace>>,
    nodes: HashMap<ExprId, usize>,
    waiting: Vec<(ExprId, usize)>,
}
