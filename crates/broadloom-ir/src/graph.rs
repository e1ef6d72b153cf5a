//! The expression graph: an arena of interned nodes, each with its dtype and shape.
//!
//! ```text
//! builder call ──convert operands, infer dtype and shape──▶ node interned, ExprId
//!        └──────────── mistake ──▶ Mistake recorded, poisoned ExprId (further use is silent)
//! finish ──▶ CheckedGraph (no mistakes: proof of well-typed and well-shaped) or Diagnostics, which explain them
//! ```
//!
//! Operands have smaller ids than the nodes that use them, so arena order is topological order, and cycles are
//! impossible. Equal nodes are one node (common subexpressions). Every node has a dtype and a shape. Nothing here
//! recurses over nodes: a chain of 100,000 nodes works as well as a short one.

mod arrange;
mod assign;
mod bins;
mod change;
mod checked;
mod compose;
mod composed;
mod compress;
mod derive;
mod einsum;
pub(crate) mod elementwise;
mod filtered;
mod index;
pub(crate) mod infer;
mod join;
mod lints;
mod loops;
mod makers;
mod mistake;
mod node;
mod order;
mod placed;
mod print;
pub(crate) mod product;
mod quantile;
mod recurrences;
pub(crate) mod reduction;
mod relations;
mod role;
mod samples;
mod scan;
mod segment;
mod solve;
mod symbols;
mod topk;
mod transplant;
mod unify;
mod unique;
mod views;

use crate::dim::{Dim, DimError, Facts};
use crate::dtype::{DType, Scalar};
use crate::ids::{ExprId, InputId, LoopId, SymbolId};
pub use crate::literal::Literal;
use crate::problem::{Made, NameKind, Operand, Problem, Requirement, Size};
use crate::shape::{MAX_RANK, Shape};
pub use crate::site::{Site, SiteId};
pub use arrange::Pad;
pub use assign::Assignment;
pub use bins::{Bins, BoundsFault};
pub use checked::{CheckedGraph, OutputInfo};
pub use compose::{MAX_DIFF, Norm, Spread};
pub use composed::{Composed, Tolerance};
pub use filtered::{Filter, Terms};
pub use index::IndexItem;
pub use join::NO_TENSORS;
pub(crate) use lints::wider;
pub use loops::{Carried, Loop, MAX_LOOP_DEPTH, OpenLoop, Repeat, StepValue, Steps, ValueOf};
pub use makers::Triangle;
pub use mistake::{LIST, Mistake};
pub use node::{Axes, Node, Operands, Permutation, SliceAxis, View};
pub use order::{SEARCH, Sort};
pub use placed::PLACED_OPS;
pub use product::{Pairs, Product};
pub use quantile::{QuantileMethod, Quantiles};
pub use recurrences::{Ewm, EwmOf, MAX_FILTER_ORDER};
pub use role::LiteralRole;
pub use samples::{Overlap, Sliding, Spacing};
pub use scan::{Running, scan_name};
pub use segment::{SegmentOp, Segmented};
pub use solve::Solution;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
pub use symbols::{Declared, SymbolInfo, SymbolKind, symbol_named};
use symbols::{Symbols, decided_name};
pub use topk::{MAX_TOPK, TopK};
use unify::{Cause, Compared, Equation, Fit, Unifier};
pub use unique::{SetOp, Unique};
pub use views::SliceSpec;

/// An input of a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputInfo {
    /// Its name.
    pub name: Box<str>,
    /// Its dtype.
    pub dtype: DType,
    /// Its shape.
    pub shape: Shape,
    /// Axes along which an array may have size 1 and be stretched when it is bound.
    pub may_be_one: Axes,
    /// The place where it was first declared.
    pub site: Site,
}

/// The size of an axis of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputDim {
    /// The given size.
    Size(Dim),
    /// Inferred from the input's use.
    Inferred,
    /// The given size or 1; a size of 1 is stretched when arrays are bound. Nothing else in the graph sees this.
    OneOr(Dim),
}

/// A condition on the values of symbols.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Demand {
    /// Zero or more.
    NonNegative(Dim),
    /// Equal sizes.
    Equal(Dim, Dim),
}

impl Demand {
    /// Returns the symbols that occur.
    pub fn symbols(&self) -> Vec<SymbolId> {
        match self {
            Demand::NonNegative(dim) => dim.symbols(),
            Demand::Equal(left, right) => left.symbols().into_iter().chain(right.symbols()).collect(),
        }
    }

    /// Returns the difference that must be zero, or must not be negative.
    ///
    /// # Errors
    /// Returns an error if it cannot be represented.
    pub fn difference(&self) -> Result<Dim, DimError> {
        match self {
            Demand::NonNegative(dim) => Ok(dim.clone()),
            Demand::Equal(left, right) => left.sub(right),
        }
    }

    fn map(&self, action: &mut dyn FnMut(&Dim) -> Dim) -> Demand {
        match self {
            Demand::NonNegative(dim) => Demand::NonNegative(action(dim)),
            Demand::Equal(left, right) => Demand::Equal(action(left), action(right)),
        }
    }
}

/// A condition on symbol values that could not be decided while the graph was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obligation {
    /// The condition to check when the graph is bound.
    pub demand: Demand,
    /// The expression that requires it; `None` for a declaration.
    pub origin: Option<ExprId>,
    /// The place where that was made.
    pub site: Site,
    /// The reason.
    pub requirement: Requirement,
    /// The function that the user called; `None` for a declaration.
    pub call: Option<Arc<str>>,
    /// Whether a size that was handed out is right only under this condition (see [`Graph::measure`]): then it is checked also
    /// where nothing else needs the sizes that it mentions.
    pub bounds_size: bool,
}

#[derive(Debug, Clone)]
struct Entry {
    node: Node,
    dtype: DType,
    shape: Shape,
    site: Site,
    /// The function that the user called, once it has been settled.
    call: Option<Arc<str>>,
}

/// The single poisoned expression of a graph. It always exists, so a mistake has a result even in a full graph.
const POISON: usize = 0;
/// Ids are `u32`.
const MAX_IDS: usize = u32::MAX as usize;
/// The longest name of a symbol or tensor in bytes, so that messages stay readable.
const MAX_NAME: usize = 256;

/// A graph under construction. Ids belong to one graph: in another graph, an id means something else or nothing.
pub struct Graph {
    entries: Vec<Entry>,
    interned: HashMap<(Node, DType, Shape), ExprId>,
    inputs: Vec<InputInfo>,
    input_of_name: HashMap<Box<str>, ExprId>,
    symbols: Symbols,
    unifier: Unifier,
    /// Conditions from expressions.
    obligations: Vec<Obligation>,
    obliged: HashSet<(ExprId, Dim)>,
    /// Expressions whose sizes were handed out by [`Graph::measure`].
    measured: HashSet<ExprId>,
    /// Conditions from the user.
    declarations: Vec<Obligation>,
    assignments: Vec<Assignment>,
    mistakes: Vec<Mistake>,
    /// The number of expressions and obligations that belong to settled calls.
    settled: [usize; 2],
    warns_of_pointwise: bool,
    /// Results that are composed of other nodes than reductions, with the operand whose axes they reduce.
    reduced: HashMap<ExprId, (ExprId, Axes)>,
    /// Results that derive by a rule of their own instead of those of their nodes.
    rules: HashMap<ExprId, derive::Rule>,
    pub(crate) warnings: Vec<Mistake>,
    /// Shapes known to be small enough, so that the elements of a common shape are counted only once.
    sized: HashSet<Shape>,
    /// The number of expressions requested so far, equal ones included, and how many may be.
    requested: usize,
    most_requested: usize,
    /// For expressions along axes from which a mask has selected, the expression of all elements, if there is one.
    wholes: HashMap<(ExprId, usize), Option<ExprId>>,
    /// The number of loops that have begun, and those of them that have not ended, outermost first.
    loops: usize,
    open_loops: Vec<LoopId>,
}

impl Default for Graph {
    #[track_caller]
    fn default() -> Self {
        Graph::new()
    }
}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph")
            .field("expressions", &self.entries.len())
            .field("inputs", &self.inputs.len())
            .field("symbols", &self.symbols().len())
            .field("mistakes", &self.mistakes.len())
            .finish()
    }
}

impl Graph {
    /// Creates a graph without inputs.
    #[track_caller]
    pub fn new() -> Graph {
        // The dtype of poison can hold every literal, so no literal is reported in addition to the mistake.
        let (dtype, shape) = (DType::F64, Shape::scalar());
        let poison = Entry { node: Node::Poison, dtype, shape, site: Site::caller(), call: None };
        Graph {
            entries: vec![poison],
            interned: HashMap::new(),
            inputs: Vec::new(),
            input_of_name: HashMap::new(),
            symbols: Symbols::default(),
            unifier: Unifier::default(),
            obligations: Vec::new(),
            obliged: HashSet::new(),
            measured: HashSet::new(),
            declarations: Vec::new(),
            assignments: Vec::new(),
            mistakes: Vec::new(),
            settled: [1, 0],
            warns_of_pointwise: false,
            reduced: HashMap::new(),
            rules: HashMap::new(),
            warnings: Vec::new(),
            sized: HashSet::new(),
            requested: 0,
            most_requested: usize::MAX,
            wholes: HashMap::new(),
            loops: 0,
            open_loops: Vec::new(),
        }
    }

    /// Limits the expressions that builder calls may request, those that a call is composed of and equal ones
    /// included. Beyond the limit, calls report [`Problem::TooLarge`]. This bounds memory and time for graphs of
    /// untrusted origin; without a call of this method, only the range of ids is a limit.
    pub fn limit_requests(&mut self, most: usize) {
        self.most_requested = most;
    }

    /// Returns whether more expressions were requested than the [limit](Graph::limit_requests) allows.
    pub fn is_exhausted(&self) -> bool {
        self.requested > self.most_requested
    }

    /// Declares an array that the caller passes. The same name with the same dtype and shape is the same input.
    pub fn input(&mut self, name: &str, dtype: DType, shape: Shape, site: Site) -> ExprId {
        let dims: Vec<InputDim> = shape.iter().cloned().map(InputDim::Size).collect();
        self.input_of(name, dtype, &dims, site)
    }

    /// Like [`Graph::input`], with axes whose size is inferred or that may have size 1.
    pub fn input_of(&mut self, name: &str, dtype: DType, dims: &[InputDim], site: Site) -> ExprId {
        let result = self.try_input(name, dtype, dims, site);
        let op = match &result {
            Err(Problem::BadName { .. }) | Ok(_) => "input".to_owned(),
            Err(_) => format!("input {name:?}"),
        };
        self.settle(result, &op, &[], site)
    }

    fn try_input(
        &mut self,
        name: &str,
        dtype: DType,
        dims: &[InputDim],
        site: Site,
    ) -> Result<ExprId, Problem> {
        check_tensor_name(name)?;
        if dims.len() > MAX_RANK {
            return Err(Problem::RankTooLarge { rank: dims.len() });
        }
        if self.symbols.is_full() {
            return Err(Problem::TooLarge);
        }
        let mut may_be_one = Axes::new();
        let mut sizes = Vec::new();
        for (axis, dim) in dims.iter().enumerate() {
            sizes.push(match dim {
                InputDim::Size(dim) => self.symbols.accept(dim, site)?,
                InputDim::Inferred => Dim::symbol(self.symbols.flexible(name, axis, site)),
                InputDim::OneOr(dim) => {
                    may_be_one.push(axis);
                    self.symbols.accept(dim, site)?
                }
            });
        }
        let shape = Shape::from(sizes);
        if let Some(&known) = self.input_of_name.get(name) {
            let entry = self.entry(known);
            let info = self.inputs.iter().find(|info| *info.name == *name);
            let is_same = info.is_some_and(|info| info.may_be_one == may_be_one);
            if entry.dtype == dtype && entry.shape == shape && is_same {
                return Ok(known);
            }
            let first = Box::new(Operand {
                name: name.into(),
                dtype: Some(entry.dtype),
                dims: self.sizes(&entry.shape),
                columns: None,
                made: Made::Input(name.into()),
                site: entry.site,
            });
            return Err(Problem::DuplicateInput { dtype, dims: self.sizes(&shape), first });
        }
        // There are no more inputs than expressions, so this id fits if the expression's does.
        let input = InputId::new(self.inputs.len());
        let expr = self.insert(Node::Input(input), dtype, shape.clone(), Vec::new(), site)?;
        self.inputs.push(InputInfo { name: name.into(), dtype, shape, may_be_one, site });
        self.input_of_name.insert(name.into(), expr);
        Ok(expr)
    }

    /// Returns a constant of rank 0.
    pub fn constant(&mut self, value: Scalar, site: Site) -> ExprId {
        let result = self.insert_constant(value, site);
        self.settle(result, "constant", &[], site)
    }

    fn insert_constant(&mut self, value: Scalar, site: Site) -> Result<ExprId, Problem> {
        self.insert(Node::Constant(value), value.dtype(), Shape::scalar(), Vec::new(), site)
    }

    /// Returns a number in a dtype.
    fn number(&mut self, value: f64, dtype: DType, site: Site) -> Result<ExprId, Problem> {
        self.insert_constant(Scalar::F64(value).cast(dtype), site)
    }

    /// Returns a poisoned expression, for a mistake that has been reported.
    pub fn poison(&mut self) -> ExprId {
        ExprId::new(POISON)
    }

    /// Turns on warnings: for ops that broadcast operands with equal numbers of elements, which torch before 0.2
    /// combined element by element, and for others that are rarely meant as they are written.
    pub fn warn_of_pointwise(&mut self) {
        self.warns_of_pointwise = true;
    }

    /// Returns the expressions from a position on, in the order in which they were made; operands come first.
    pub fn exprs_from(&self, first: usize) -> impl Iterator<Item = ExprId> + use<> {
        (first..self.entries.len()).map(ExprId::new)
    }

    /// Returns whether the expression depends on a mistake. An id from another graph counts as poisoned.
    pub fn is_poisoned(&self, expr: ExprId) -> bool {
        matches!(self.node(expr), Node::Poison)
    }

    /// Returns the dtype of an expression.
    pub fn dtype(&self, expr: ExprId) -> DType {
        self.entry(expr).dtype
    }

    /// Returns the shape of an expression, including everything found about inferred sizes.
    pub fn shape(&self, expr: ExprId) -> Shape {
        match self.resolved(self.written(expr)) {
            Cow::Borrowed(_) => self.written(expr).clone(),
            Cow::Owned(dims) => dims.into(),
        }
    }

    /// Returns the shape of an expression for a caller that makes other sizes of it. The size of `x[-4:]` is 4 only where `x`
    /// has four elements and more: such bounds of the expression hold from now on, also if no output needs its elements.
    pub fn measure(&mut self, expr: ExprId) -> Shape {
        self.measured.insert(expr);
        self.shape(expr)
    }

    /// Returns the axes of the literal size 1.
    pub fn unit_axes(&self, expr: ExprId) -> Vec<usize> {
        let ones = self.written(expr).iter().enumerate().filter(|(_, dim)| dim.is_one());
        ones.map(|(axis, _)| axis).collect()
    }

    /// Returns the shape of an expression as the ops gave it; only this shape decides whether a size is the literal
    /// 1.
    fn written(&self, expr: ExprId) -> &Shape {
        &self.entry(expr).shape
    }

    /// Returns the node of an expression.
    pub fn node(&self, expr: ExprId) -> &Node {
        &self.entry(expr).node
    }

    /// Returns the place where an expression was first made.
    pub fn site(&self, expr: ExprId) -> Site {
        self.entry(expr).site
    }

    /// Returns the inputs in the order of declaration.
    pub fn inputs(&self) -> &[InputInfo] {
        &self.inputs
    }

    fn entry(&self, expr: ExprId) -> &Entry {
        self.entries.get(expr.index()).unwrap_or(&self.entries[POISON])
    }

    pub(crate) fn facts(&self, symbol: SymbolId) -> Facts {
        self.symbols.facts(symbol)
    }

    /// Returns a size with everything found about inferred sizes; unchanged if the result cannot be represented.
    fn resolved_dim(&self, dim: &Dim) -> Dim {
        self.unifier.resolved(dim).unwrap_or_else(|_| dim.clone())
    }

    fn resolved<'a>(&self, dims: &'a [Dim]) -> Cow<'a, [Dim]> {
        if !self.symbols.has_flexible() {
            return Cow::Borrowed(dims);
        }
        Cow::Owned(dims.iter().map(|dim| self.resolved_dim(dim)).collect())
    }

    fn size(&self, dim: &Dim) -> Size {
        Size::new(self.resolved_dim(dim), &|symbol| self.symbols.get(symbol).map(SymbolInfo::named))
    }

    /// Returns a size with inferred sizes as written, `?w.0`.
    pub(crate) fn size_as_written(&self, dim: &Dim) -> Size {
        Size::new(dim.clone(), &|symbol| self.symbols.get(symbol).map(SymbolInfo::named))
    }

    fn sizes(&self, dims: &[Dim]) -> Vec<Size> {
        dims.iter().map(|dim| self.size(dim)).collect()
    }

    fn any_poisoned(&self, exprs: &[ExprId]) -> bool {
        exprs.iter().any(|&expr| self.is_poisoned(expr))
    }

    /// Returns the expression of this node: an equal one if it exists, otherwise a new one.
    fn insert(
        &mut self,
        node: Node,
        dtype: DType,
        shape: Shape,
        obligations: Vec<(Dim, Requirement)>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        self.requested = self.requested.saturating_add(1);
        if self.is_exhausted() {
            return Err(Problem::TooLarge);
        }
        self.check_size(&shape)?;
        let key = (node, dtype, shape);
        if let Some(&known) = self.interned.get(&key) {
            self.oblige(known, obligations, site);
            return Ok(known);
        }
        if self.entries.len() >= MAX_IDS {
            return Err(Problem::TooLarge);
        }
        if let Node::Step { of, .. } = &key.0 {
            // A rewriter copies loops of another graph.
            self.loops = self.loops.max(of.index() + 1);
        }
        let expr = ExprId::new(self.entries.len());
        let (node, dtype, shape) = key.clone();
        self.entries.push(Entry { node, dtype, shape, site, call: None });
        self.interned.insert(key, expr);
        self.oblige(expr, obligations, site);
        Ok(expr)
    }

    /// Records the conditions of an expression, once each: only some of the callers that make equal expressions may
    /// require them.
    fn oblige(&mut self, origin: ExprId, obligations: Vec<(Dim, Requirement)>, site: Site) {
        for (dim, requirement) in obligations {
            if self.obliged.insert((origin, dim.clone())) {
                let demand = Demand::NonNegative(dim);
                let origin = Some(origin);
                self.obligations.push(Obligation {
                    demand,
                    origin,
                    site,
                    requirement,
                    call: None,
                    bounds_size: false,
                });
            }
        }
    }

    /// Checks that no size is always negative, and that the elements can be counted and addressed.
    fn check_size(&mut self, shape: &Shape) -> Result<(), Problem> {
        if !self.sized.contains(shape) {
            self.check_elements(shape)?;
            self.sized.insert(shape.clone());
        }
        Ok(())
    }

    fn check_elements(&self, shape: &Shape) -> Result<(), Problem> {
        if shape.rank() > MAX_RANK {
            return Err(Problem::RankTooLarge { rank: shape.rank() });
        }
        // Count eight bytes per element whatever the dtype, so that a cast never fails. Skip zeros: strides are
        // products of the other sizes even if there are no elements.
        let mut bytes = 8_i64;
        for (axis, dim) in shape.iter().enumerate() {
            if dim.interval(&|symbol| self.facts(symbol)).upper < 0 {
                return Err(Problem::NegativeSize { axis, size: self.size(dim) });
            }
            let factor = dim.as_constant().unwrap_or(1).max(1);
            bytes = bytes.checked_mul(factor).ok_or(Problem::TooManyElements)?;
        }
        shape.elements().map_err(Problem::Size).map(drop)
    }

    /// Reduces the requirement `dim >= 0`: `None` if it certainly holds, an obligation if it depends on symbols.
    ///
    /// # Errors
    /// Returns `dim` itself if it certainly fails.
    fn require(
        &self,
        dim: Dim,
        requirement: Requirement,
        obligations: &mut Vec<(Dim, Requirement)>,
    ) -> Result<(), Dim> {
        let interval = self.resolved_dim(&dim).interval(&|symbol| self.facts(symbol));
        if interval.upper < 0 {
            return Err(dim);
        }
        if interval.lower < 0 {
            obligations.push((dim, requirement));
        }
        Ok(())
    }

    /// Requires that sizes written by the user are not negative. Products of neighbouring sizes of the operand
    /// never are, and need no check.
    fn require_sizes(&self, dims: &[Dim], known: &[Dim]) -> Result<Vec<(Dim, Requirement)>, Problem> {
        let mut obligations = Vec::new();
        for (axis, dim) in dims.iter().enumerate() {
            let before = obligations.len();
            self.require(dim.clone(), Requirement::Size, &mut obligations)
                .map_err(|size| Problem::NegativeSize { axis, size: self.size(&size) })?;
            if obligations.len() > before && is_product(dim, known) {
                obligations.truncate(before);
            }
        }
        Ok(obligations)
    }
}

/// Returns whether a size is the product of some neighbouring sizes.
fn is_product(dim: &Dim, sizes: &[Dim]) -> bool {
    (0..sizes.len()).any(|start| {
        let mut product = Dim::ONE;
        sizes[start..].iter().any(|size| match product.mul(size) {
            Ok(next) => {
                product = next;
                product == *dim
            }
            Err(_) => false,
        })
    })
}

fn check_tensor_name(name: &str) -> Result<(), Problem> {
    let good = !name.is_empty()
        && name.len() <= MAX_NAME
        && !name.chars().any(|letter| letter.is_control() || letter == '"');
    if good { Ok(()) } else { Err(Problem::BadName { kind: NameKind::Tensor, name: clipped(name) }) }
}

/// Returns a name cut to the maximal length.
fn clipped(name: &str) -> Box<str> {
    match name.char_indices().find(|(at, _)| *at > MAX_NAME) {
        Some((at, _)) => name[..at].into(),
        None => name.into(),
    }
}
