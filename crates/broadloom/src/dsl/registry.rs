//! The process-wide table behind the `Copy` handles of the DSL.
//!
//! A handle is the key of a graph and an id within it. Keys are never reused, so a handle that outlives its graph
//! finds nothing, and using it gives a poisoned tensor instead of a panic. At most one graph is locked at a time,
//! and never while user code runs.

use super::call::Call;
use super::dims::{Dim, Unusable};
use super::script::{Declarations, Draft, Replay, Script, Scripts};
use super::tensor::Tensor;
use broadloom_ir::diagnostics::{Diagnostic, Diagnostics, Problem};
use broadloom_ir::dim::{self as ir, Named};
use broadloom_ir::graph::{Graph, NO_TENSORS, Site, SymbolInfo};
use broadloom_ir::{ExprId, SymbolId};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};

/// Identifies one graph of the process; never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct GraphKey(u64);

/// A live graph.
pub(crate) struct Entry {
    /// The place where `Graph::new` was called.
    pub(crate) made_at: Site,
    content: Mutex<Content>,
}

/// A graph, built when it is needed.
#[derive(Default)]
struct Content {
    /// Set while the calls repeat an earlier script.
    replay: Option<Replay>,
    state: Option<Box<State>>,
}

/// The contents of a built graph.
pub(crate) struct State {
    pub(crate) graph: Graph,
    dims: Vec<ir::Dim>,
    interned: HashMap<ir::Dim, usize>,
    /// The recorded calls, if recording was requested and every change so far can be recorded.
    draft: Option<Draft>,
}

/// Hashes keys by a product, which spreads consecutive numbers well enough.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Entries = HashMap<GraphKey, Arc<Entry>, BuildHasherDefault<KeyHasher>>;

static GRAPHS: LazyLock<RwLock<Entries>> = LazyLock::new(RwLock::default);
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Registers a graph.
pub(crate) fn insert(graph: Graph, made_at: Site) -> GraphKey {
    enter(made_at, Content { replay: None, state: Some(Box::new(State::new(graph, None))) })
}

/// Registers a graph with inputs, and records its calls as a script if possible. If scripts with these inputs are
/// known, nothing is built as long as the calls repeat one of them.
pub(crate) fn insert_scripted(
    declarations: &Declarations,
    scripts: &Scripts,
    made_at: Site,
) -> (GraphKey, SmallVec<[Tensor; 4]>) {
    let (content, inputs) = match Replay::new(scripts) {
        Some(replay) => {
            let inputs: SmallVec<[ExprId; 4]> = replay.inputs().into();
            (Content { replay: Some(replay), state: None }, inputs)
        }
        None => {
            let (graph, draft) = Draft::begin(declarations.clone(), made_at);
            let inputs = draft.inputs.clone();
            (Content { replay: None, state: Some(Box::new(State::new(graph, Some(draft)))) }, inputs)
        }
    };
    let key = enter(made_at, content);
    (key, inputs.into_iter().map(|expr| Tensor { graph: key, expr }).collect())
}

fn enter(made_at: Site, content: Content) -> GraphKey {
    let key = GraphKey(NEXT.fetch_add(1, Ordering::Relaxed));
    let entry = Arc::new(Entry { made_at, content: Mutex::new(content) });
    GRAPHS.write().unwrap_or_else(PoisonError::into_inner).insert(key, entry);
    key
}

/// Frees a graph; its handles become stale.
pub(crate) fn remove(key: GraphKey) {
    let entry = GRAPHS.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
    drop(entry);
}

/// Removes a graph and returns it. A thread that is just building in it does so before; later it finds none.
pub(crate) fn take(key: GraphKey) -> Option<Graph> {
    let entry = GRAPHS.write().unwrap_or_else(PoisonError::into_inner).remove(&key)?;
    Some(std::mem::take(&mut entry.lock().state().graph))
}

/// Returns the graph of a key, if it still exists.
pub(crate) fn find(key: GraphKey) -> Option<Arc<Entry>> {
    GRAPHS.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
}

/// Runs `action` in a graph, if it still exists. Its changes are not recorded.
pub(crate) fn with<R>(key: GraphKey, action: impl FnOnce(&mut State) -> R) -> Option<R> {
    let entry = find(key)?;
    let mut content = entry.lock();
    let state = content.state();
    state.draft = None;
    Some(action(state))
}

/// Returns which script of [`insert_scripted`] the calls and outputs of a graph repeat from beginning to end.
pub(crate) fn finished(key: GraphKey, outputs: &[Tensor]) -> Option<usize> {
    let outputs = exprs_of(key, outputs)?;
    find(key)?.lock().replay.as_ref()?.finished(&outputs)
}

/// Returns the calls that made a graph with these outputs, if all of them were recorded.
pub(crate) fn script(key: GraphKey, outputs: &[Tensor]) -> Option<Script> {
    let outputs = exprs_of(key, outputs)?;
    let draft = find(key)?.lock().state().draft.take();
    draft.map(|draft| draft.end(&outputs))
}

/// Returns the expressions, if all belong to one graph.
fn exprs_of(key: GraphKey, tensors: &[Tensor]) -> Option<SmallVec<[ExprId; 4]>> {
    tensors.iter().map(|tensor| (tensor.graph == key).then_some(tensor.expr)).collect()
}

impl Entry {
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Content {
    fn state(&mut self) -> &mut State {
        let replay = &mut self.replay;
        self.state.get_or_insert_with(|| {
            let (graph, draft) = match replay.take() {
                Some(replay) => {
                    let (graph, draft) = replay.build();
                    (graph, Some(draft))
                }
                None => (Graph::new(), None),
            };
            Box::new(State::new(graph, draft))
        })
    }
}

impl State {
    fn new(graph: Graph, draft: Option<Draft>) -> State {
        State { graph, dims: Vec::new(), interned: HashMap::new(), draft }
    }

    /// Returns the index under which a dim is stored for `Copy` handles.
    pub(crate) fn intern(&mut self, dim: ir::Dim) -> usize {
        let State { dims, interned, .. } = self;
        *interned.entry(dim).or_insert_with_key(|dim| {
            dims.push(dim.clone());
            dims.len() - 1
        })
    }

    /// Returns the dim at an index from [`State::intern`].
    pub(crate) fn dim(&self, index: usize) -> ir::Dim {
        self.dims[index].clone()
    }

    /// Returns how a symbol is printed.
    pub(crate) fn named(&self, symbol: SymbolId) -> Named<'_> {
        self.graph.symbols().get(symbol.index()).map_or("?".into(), SymbolInfo::named)
    }

    /// Returns a poisoned expression for an unusable size, and reports the reason unless that has been done.
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

/// Returns the graph for the result of an operation on tensors: the first of their graphs that still exists.
///
/// `operands` must not be empty.
pub(crate) fn home(operands: &[Tensor]) -> GraphKey {
    let first = operands[0].graph;
    if operands.iter().all(|tensor| tensor.graph == first) {
        return first;
    }
    let alive = operands.iter().map(|tensor| tensor.graph).find(|key| find(*key).is_some());
    alive.unwrap_or(first)
}

/// Builds an expression from tensors and sizes of one graph. Operands of other graphs, and sizes that could not be
/// computed, give a poisoned tensor and a diagnostic in the graph. If the graph no longer exists, the tensor is
/// stale, and a check of it says so.
pub(crate) fn build(
    key: GraphKey,
    operands: &[Tensor],
    dims: &[Dim],
    site: Site,
    action: impl FnOnce(&mut Graph, Vec<ir::Dim>) -> ExprId,
) -> Tensor {
    let Some(entry) = find(key) else { return Tensor { graph: key, expr: ExprId::new(0) } };
    let foreign = foreign(key, &entry, operands);
    let mut content = entry.lock();
    let state = content.state();
    state.draft = None;
    Tensor { graph: key, expr: state.insert(key, foreign, dims, site, action) }
}

/// Like [`build`], for a call as data, which is recorded.
pub(crate) fn call(operands: &[Tensor], call: Call, site: Site) -> Tensor {
    let key = home(operands);
    let Some(entry) = find(key) else { return Tensor { graph: key, expr: ExprId::new(0) } };
    let foreign = foreign(key, &entry, operands);
    let is_own = foreign.is_none();
    let mut content = entry.lock();
    let known = content.replay.as_mut().filter(|_| is_own).and_then(|replay| replay.next(&call, site));
    if let Some(expr) = known {
        return Tensor { graph: key, expr };
    }
    let state = content.state();
    let expr = state.insert(key, foreign, &[], site, |graph, _| call.apply(graph, site));
    match &mut state.draft {
        Some(draft) if is_own => draft.add(call, site, expr),
        draft => *draft = None,
    }
    Tensor { graph: key, expr }
}

/// Like [`build`], but removes the recorded mistakes and returns them.
pub(crate) fn attempt(
    key: GraphKey,
    operands: &[Tensor],
    site: Site,
    action: impl FnOnce(&mut Graph, Vec<ir::Dim>) -> ExprId,
) -> Result<Tensor, Diagnostics> {
    let gone = || {
        let (problem, op) = misplaced(Some(key), site);
        Diagnostics::from(Diagnostic::new(problem, op, site))
    };
    let entry = find(key).ok_or_else(gone)?;
    let foreign = foreign(key, &entry, operands);
    let mut content = entry.lock();
    let state = content.state();
    state.draft = None;
    let mark = state.graph.mistakes().len();
    let expr = state.insert(key, foreign, &[], site, action);
    match state.graph.withdraw_diagnostics(mark) {
        Some(diagnostics) => Err(diagnostics),
        None if state.graph.is_poisoned(expr) => Err(state.graph.check().err().unwrap_or_else(gone)),
        None => Ok(Tensor { graph: key, expr }),
    }
}

/// A function of a list of tensors. Without any there is no graph for its result.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Joining {
    Concat,
    Stack,
    Einsum,
}

impl Joining {
    const ALL: [Joining; 3] = [Joining::Concat, Joining::Stack, Joining::Einsum];

    /// The key of no graph, which the result of a call without tensors has.
    fn key(self) -> GraphKey {
        GraphKey(u64::MAX - self as u64)
    }

    fn name(self) -> &'static str {
        match self {
            Joining::Concat => "concat",
            Joining::Stack => "stack",
            Joining::Einsum => "einsum",
        }
    }

    /// Returns the result of a call without tensors. A check of it says what is wrong.
    pub(crate) fn of_nothing(self) -> Tensor {
        Tensor { graph: self.key(), expr: ExprId::new(0) }
    }
}

/// A mistake, and the function whose call it is.
pub(crate) type Misplaced = (Problem, Option<&'static str>);

/// Returns the mistake of a tensor with the key `there` where those of `here` belong, and the function that made it.
pub(crate) fn misplaced(there: Option<GraphKey>, here: Site) -> Misplaced {
    match Joining::ALL.into_iter().find(|joining| Some(joining.key()) == there) {
        Some(joining) => (Problem::Argument(NO_TENSORS), Some(joining.name())),
        None => {
            let there = there.and_then(find).map(|entry| entry.made_at);
            (Problem::ForeignTensor { here, there }, None)
        }
    }
}

/// Returns the mistake of operands from another graph. It is looked up before this graph is locked: no thread ever
/// holds two locks.
fn foreign(key: GraphKey, entry: &Entry, operands: &[Tensor]) -> Option<Misplaced> {
    let other = operands.iter().find(|tensor| tensor.graph != key)?;
    Some(misplaced(Some(other.graph), entry.made_at))
}

impl State {
    /// Returns the expression that an action makes in the graph of `key`, which is `state`, unless its operands
    /// contain a mistake.
    fn insert(
        &mut self,
        key: GraphKey,
        foreign: Option<Misplaced>,
        dims: &[Dim],
        site: Site,
        action: impl FnOnce(&mut Graph, Vec<ir::Dim>) -> ExprId,
    ) -> ExprId {
        if let Some((problem, op)) = foreign {
            return self.graph.report(problem, op, site);
        }
        let resolved: Result<Vec<ir::Dim>, Unusable> =
            dims.iter().map(|dim| dim.resolve(key, self)).collect();
        match resolved {
            Ok(dims) => action(&mut self.graph, dims),
            Err(unusable) => self.poison(unusable, site),
        }
    }
}
