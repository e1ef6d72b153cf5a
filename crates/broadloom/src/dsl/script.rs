//! Graphs that are written repeatedly, as [`eval`](crate::eval()) does at each call.
//!
//! ```text
//! first      declarations, calls ──▶ Graph ──▶ Script
//! again      declarations, calls == Script: the expressions are those of before, and nothing is built
//!                          └── another call: Graph of the calls so far ──▶ as at first
//! ```
//!
//! A graph numbers its expressions in the order of the calls, so the same calls give the same handles.

use super::call::Call;
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, InputDim, Site};
use smallvec::SmallVec;
use std::sync::Arc;

/// An input: its dtype and sizes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Declaration {
    pub(crate) dtype: DType,
    pub(crate) sizes: SmallVec<[Size; 4]>,
}

/// The size of an axis of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Size {
    Constant(i64),
    /// A symbol, by number. The numbers are consecutive from 0.
    Symbol(usize),
}

/// The inputs of a graph.
pub(crate) type Declarations = SmallVec<[Declaration; 4]>;

/// All calls that made a graph, in order.
#[derive(Debug)]
pub(crate) struct Script {
    draft: Draft,
    outputs: SmallVec<[ExprId; 4]>,
}

/// The scripts that start with the same declarations.
pub(crate) type Scripts = Arc<[Arc<Script>]>;

/// The calls that have made a graph so far.
#[derive(Debug)]
pub(super) struct Draft {
    made_at: Site,
    declarations: Declarations,
    pub(super) inputs: SmallVec<[ExprId; 4]>,
    calls: Vec<Told>,
}

/// A call, the place where it was made, and its result.
#[derive(Debug, Clone)]
struct Told {
    call: Call,
    site: Site,
    expr: ExprId,
}

impl Told {
    fn is(&self, call: &Call, site: Site) -> bool {
        self.site == site && self.call == *call
    }
}

impl Draft {
    /// Creates a graph with inputs only.
    pub(super) fn begin(declarations: Declarations, made_at: Site) -> (Graph, Draft) {
        let mut graph = Graph::new();
        let inputs = declare(&mut graph, &declarations, made_at);
        (graph, Draft { made_at, declarations, inputs, calls: Vec::new() })
    }

    /// Records a call.
    pub(super) fn add(&mut self, call: Call, site: Site, expr: ExprId) {
        self.calls.push(Told { call, site, expr });
    }

    pub(super) fn end(self, outputs: &[ExprId]) -> Script {
        Script { draft: self, outputs: outputs.into() }
    }

    fn begins_like(&self, other: &Draft, count: usize) -> bool {
        let (this, that) = (self.calls.get(..count), other.calls.get(..count));
        this.zip(that).is_some_and(|(this, that)| {
            this.iter().zip(that).all(|(this, that)| this.is(&that.call, that.site))
        })
    }
}

/// A graph whose calls repeat those of an earlier script.
#[derive(Debug)]
pub(super) struct Replay {
    scripts: Scripts,
    /// The script that it follows.
    current: Arc<Script>,
    /// The number of calls that have matched the script.
    count: usize,
}

impl Replay {
    /// Starts a replay of these scripts, if there are any.
    pub(super) fn new(scripts: &Scripts) -> Option<Replay> {
        let current = scripts.first()?.clone();
        Some(Replay { scripts: scripts.clone(), current, count: 0 })
    }

    pub(super) fn inputs(&self) -> &[ExprId] {
        &self.current.draft.inputs
    }

    /// Returns the result of the next call, if a script has that call.
    pub(super) fn next(&mut self, call: &Call, site: Site) -> Option<ExprId> {
        let count = self.count;
        let is_next = |script: &Script| script.draft.calls.get(count).is_some_and(|told| told.is(call, site));
        if !is_next(&self.current) {
            let same = |script: &&Arc<Script>| {
                is_next(script) && script.draft.begins_like(&self.current.draft, count)
            };
            self.current = self.scripts.iter().find(same)?.clone();
        }
        self.count += 1;
        Some(self.current.draft.calls[count].expr)
    }

    /// Returns which script was repeated from beginning to end.
    pub(super) fn finished(&self, outputs: &[ExprId]) -> Option<usize> {
        let is_it = |script: &Arc<Script>| {
            script.draft.calls.len() == self.count
                && *script.outputs == *outputs
                && (Arc::ptr_eq(script, &self.current)
                    || script.draft.begins_like(&self.current.draft, self.count))
        };
        self.scripts.iter().position(is_it)
    }

    /// Builds the graph that the calls so far make.
    pub(super) fn build(self) -> (Graph, Draft) {
        let script = &self.current.draft;
        let (mut graph, mut draft) = Draft::begin(script.declarations.clone(), script.made_at);
        for &Told { ref call, site, .. } in &script.calls[..self.count] {
            let expr = call.apply(&mut graph, site);
            draft.add(call.clone(), site, expr);
        }
        (graph, draft)
    }
}

/// Adds inputs to an empty graph.
fn declare(graph: &mut Graph, declarations: &Declarations, site: Site) -> SmallVec<[ExprId; 4]> {
    let mut input = |(position, declaration): (usize, &Declaration)| {
        let mut size = |size: &Size| match *size {
            Size::Constant(size) => Dim::constant(size),
            Size::Symbol(number) => {
                let symbol = graph.symbol(&format!("n{number}"), site);
                graph.symbol_size(symbol)
            }
        };
        let sizes: Vec<InputDim> = declaration.sizes.iter().map(|of| InputDim::Size(size(of))).collect();
        graph.input_of(&format!("arg{position}"), declaration.dtype, &sizes, site)
    };
    declarations.iter().enumerate().map(&mut input).collect()
}
