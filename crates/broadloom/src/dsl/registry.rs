//! The process-wide table behind the `Copy` handles of the DSL.
//!
//! A handle is the key of a graph and an id within it. Keys are never reused, so a handle that outlives its graph
//! finds nothing, and what is done with it becomes a poisoned tensor instead of a panic. At most one graph is
//! locked at a time, and never while code of the user runs.

use super::dims::{Dim, Unusable};
use super::tensor::Tensor;
use broadloom_ir::diagnostics::{Diagnostic, Diagnostics, Problem};
use broadloom_ir::dim::{self as ir, Named};
use broadloom_ir::graph::{Graph, Site, SymbolInfo};
use broadloom_ir::{ExprId, SymbolId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};

/// Names one graph of the process, for all time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GraphKey(u64);

/// A live graph.
pub(crate) struct Entry {
    /// Where `Graph::new` was called.
    pub(crate) made_at: Site,
    state: Mutex<State>,
}

/// What is built in a graph.
pub(crate) struct State {
    pub(crate) graph: Graph,
    dims: Vec<ir::Dim>,
    interned: HashMap<ir::Dim, usize>,
}

static GRAPHS: LazyLock<RwLock<HashMap<GraphKey, Arc<Entry>>>> = LazyLock::new(RwLock::default);
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Enters an empty graph.
pub(crate) fn insert(made_at: Site) -> GraphKey {
    let key = GraphKey(NEXT.fetch_add(1, Ordering::Relaxed));
    let state = State { graph: Graph::new(), dims: Vec::new(), interned: HashMap::new() };
    let entry = Arc::new(Entry { made_at, state: Mutex::new(state) });
    GRAPHS.write().unwrap_or_else(PoisonError::into_inner).insert(key, entry);
    key
}

/// Frees a graph; its handles are stale from now on.
pub(crate) fn remove(key: GraphKey) {
    let entry = GRAPHS.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
    drop(entry);
}

/// The graph of a key, if it still lives.
pub(crate) fn find(key: GraphKey) -> Option<Arc<Entry>> {
    GRAPHS.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
}

/// Runs `action` in a graph, if it still lives.
pub(crate) fn with<R>(key: GraphKey, action: impl FnOnce(&mut State) -> R) -> Option<R> {
    Some(action(&mut find(key)?.lock()))
}

impl Entry {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The index under which a dim is kept for `Copy` handles.
    pub(crate) fn intern(&mut self, dim: ir::Dim) -> usize {
        let State { dims, interned, .. } = self;
        *interned.entry(dim).or_insert_with_key(|dim| {
            dims.push(dim.clone());
            dims.len() - 1
        })
    }

    /// The dim of an index that [`State::intern`] gave.
    pub(crate) fn dim(&self, index: usize) -> ir::Dim {
        self.dims[index].clone()
    }

    /// How a symbol is printed.
    pub(crate) fn named(&self, symbol: SymbolId) -> Named<'_> {
        self.graph.symbols().get(symbol.index()).map_or("?".into(), SymbolInfo::named)
    }

    /// A poisoned expression for a size that is none; reports it unless that has been done.
    pub(crate) fn poison(&mut self, unusable: Unusable, site: Site) -> ExprId {
        match unusable {
            Unusable::Problem(problem) => self.report(problem, site),
            Unusable::Reported => self.graph.poison(),
        }
    }

    /// Records a mistake in the use of handles.
    pub(crate) fn report(&mut self, problem: Problem, site: Site) -> ExprId {
        self.graph.report(problem, None, site)
    }
}

/// Where the result of an operation on tensors lives: the first of their graphs that still does.
///
/// `operands` must not be empty.
pub(crate) fn home(operands: &[Tensor]) -> GraphKey {
    let alive = operands.iter().map(|tensor| tensor.graph).find(|key| find(*key).is_some());
    alive.unwrap_or(operands[0].graph)
}

/// Builds an expression of a graph from tensors and sizes that should be of that graph. Those of other graphs, and
/// sizes that could not be computed, give a poisoned tensor and a diagnostic in the graph; if the graph is gone, the
/// tensor is stale, and whoever checks it will say so.
pub(crate) fn build(
    key: GraphKey,
    operands: &[Tensor],
    dims: &[Dim],
    site: Site,
    action: impl FnOnce(&mut Graph, Vec<ir::Dim>) -> ExprId,
) -> Tensor {
    match find(key) {
        Some(entry) => Tensor { graph: key, expr: insert_in(key, &entry, operands, dims, site, action).0 },
        None => Tensor { graph: key, expr: ExprId::new(0) },
    }
}

/// Like [`build`], but what was recorded is taken back and returned.
pub(crate) fn attempt(
    key: GraphKey,
    operands: &[Tensor],
    site: Site,
    action: impl FnOnce(&mut Graph, Vec<ir::Dim>) -> ExprId,
) -> Result<Tensor, Diagnostics> {
    let gone =
        || Diagnostics::from(Diagnostic::new(Problem::ForeignTensor { here: site, there: None }, None, site));
    let entry = find(key).ok_or_else(gone)?;
    let (expr, mut state, mark) = insert_in(key, &entry, operands, &[], site, action);
    match state.graph.withdraw_diagnostics(mark) {
        Some(diagnostics) => Err(diagnostics),
        None if state.graph.is_poisoned(expr) => Err(state.graph.check().err().unwrap_or_else(gone)),
        None => Ok(Tensor { graph: key, expr }),
    }
}

/// A tensor of no graph.
pub(crate) fn stale() -> Tensor {
    Tensor { graph: GraphKey(u64::MAX), expr: ExprId::new(0) }
}

/// The expression, the locked graph, and how many diagnostics it had before.
fn insert_in<'e>(
    key: GraphKey,
    entry: &'e Entry,
    operands: &[Tensor],
    dims: &[Dim],
    site: Site,
    action: impl FnOnce(&mut Graph, Vec<ir::Dim>) -> ExprId,
) -> (ExprId, MutexGuard<'e, State>, usize) {
    // Looked up before this graph is locked: no thread ever holds two locks.
    let foreign = operands.iter().find(|tensor| tensor.graph != key).map(|tensor| {
        let there = find(tensor.graph).map(|entry| entry.made_at);
        Problem::ForeignTensor { here: entry.made_at, there }
    });
    let mut state = entry.lock();
    let mark = state.graph.mistakes().len();
    let resolved: Result<Vec<ir::Dim>, Unusable> = match foreign {
        Some(problem) => Err(Unusable::Problem(problem)),
        None => dims.iter().map(|dim| dim.resolve(key, &state)).collect(),
    };
    let expr = match resolved {
        Ok(dims) => action(&mut state.graph, dims),
        Err(unusable) => state.poison(unusable, site),
    };
    (expr, state, mark)
}
