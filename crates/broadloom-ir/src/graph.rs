//! The expression graph: an arena of interned nodes, each with its dtype and shape.
//!
//! ```text
//! builder call ──convert operands, infer dtype and shape──▶ node interned, ExprId
//!        └──────────── mistake ──▶ Mistake recorded, poisoned ExprId (further use is silent)
//! finish ──▶ CheckedGraph (no mistakes: proof of well-typed and well-shaped) or Diagnostics, which explain them
//! ```
//!
//! Operands have smaller ids than the nodes that use them, so arena order is topological order and a cycle cannot
//! be written. Equal nodes are one node (common subexpressions). A node without dtype and shape cannot exist.
//! Nothing here recurses over nodes: a chain of 100,000 of them is as good as a short one.

mod arrange;
mod assign;
mod bins;
mod checked;
mod compose;
mod composed;
mod einsum;
pub(crate) mod elementwise;
mod filtered;
pub(crate) mod infer;
mod join;
mod makers;
mod mistake;
mod node;
mod order;
mod placed;
mod print;
pub(crate) mod product;
mod quantile;
pub(crate) mod reduction;
mod relations;
mod samples;
mod scan;
mod solve;
mod symbols;
mod topk;
mod transplant;
mod unify;
mod views;

use crate::dim::{Dim, DimError, Facts};
use crate::dtype::{DType, Scalar};
use crate::ids::{ExprId, InputId, SymbolId};
pub use crate::literal::Literal;
use crate::problem::{Made, NameKind, Operand, Problem, Requirement, Size};
use crate::shape::{MAX_RANK, Shape};
pub use crate::site::{Site, SiteId};
pub use arrange::Pad;
pub use assign::Assignment;
pub use bins::Bins;
pub use checked::{CheckedGraph, OutputInfo};
pub use compose::{MAX_DIFF, Norm, Spread};
pub use composed::{Composed, Tolerance};
pub use filtered::{Filter, Terms};
pub use join::SegmentOp;
pub use makers::Triangle;
pub use mistake::Mistake;
pub use node::{Axes, Node, Operands, Permutation, SliceAxis, View};
pub use order::{SEARCH, Sort};
pub use placed::PLACED_OPS;
pub use product::{Pairs, Product};
pub use quantile::{QuantileMethod, Quantiles};
pub use samples::{Overlap, Sliding, Spacing};
pub use scan::{Running, scan_name};
pub use solve::Solution;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;
use symbols::Symbols;
pub use symbols::{Declared, SymbolInfo, SymbolKind, symbol_named};
pub use topk::{MAX_TOPK, TopK};
use unify::{Cause, Compared, Equation, Fit, Unifier};
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
    /// Where it was declared first.
    pub site: Site,
}

/// The size of an axis of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputDim {
    /// As given.
    Size(Dim),
    /// Inferred from the input's use.
    Inferred,
    /// As given, or 1, which is stretched when arrays are bound. Nothing else in the graph knows of it.
    OneOr(Dim),
}

/// What must hold for the values of symbols.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Demand {
    /// Zero or more.
    NonNegative(Dim),
    /// Equal sizes.
    Equal(Dim, Dim),
}

impl Demand {
    /// The symbols that occur.
    pub fn symbols(&self) -> Vec<SymbolId> {
        match self {
            Demand::NonNegative(dim) => dim.symbols(),
            Demand::Equal(left, right) => left.symbols().into_iter().chain(right.symbols()).collect(),
        }
    }

    /// The difference that must be zero, or must not be negative.
    ///
    /// # Errors
    /// If it cannot be written.
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

/// What a graph demands of its symbols' values and could not decide while it was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obligation {
    /// What must hold when the graph is bound.
    pub demand: Demand,
    /// The expression that needs it; none of a declaration.
    pub origin: Option<ExprId>,
    /// Where that was made.
    pub site: Site,
    /// Why.
    pub requirement: Requirement,
    /// The function that the user called; none of a declaration.
    pub call: Option<Arc<str>>,
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

/// The single poisoned expression of a graph. It always exists, so that a mistake has a result even in a full graph.
const POISON: usize = 0;
/// Ids are `u32`.
const MAX_IDS: usize = u32::MAX as usize;
/// Longest name of a symbol or tensor in bytes, so that a message stays readable.
const MAX_NAME: usize = 256;

/// A graph under construction. Ids are its own: the id of another graph means something else or nothing.
pub struct Graph {
    entries: Vec<Entry>,
    interned: HashMap<(Node, DType, Shape), ExprId>,
    inputs: Vec<InputInfo>,
    input_of_name: HashMap<Box<str>, ExprId>,
    symbols: Symbols,
    unifier: Unifier,
    /// Demands of expressions.
    obligations: Vec<Obligation>,
    obliged: HashSet<(ExprId, Dim)>,
    /// Demands of the user.
    declarations: Vec<Obligation>,
    assignments: Vec<Assignment>,
    mistakes: Vec<Mistake>,
    /// How many expressions and obligations belong to calls that were settled.
    settled: [usize; 2],
    warns_of_pointwise: bool,
    pub(crate) warnings: Vec<Mistake>,
    /// Shapes known to be small enough, so that the elements of a shape that many nodes have are counted once.
    sized: HashSet<Shape>,
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
    /// A graph without inputs.
    #[track_caller]
    pub fn new() -> Graph {
        // Every literal fits the dtype of poison, so that none is reported beside the mistake.
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
            declarations: Vec::new(),
            assignments: Vec::new(),
            mistakes: Vec::new(),
            settled: [1, 0],
            warns_of_pointwise: false,
            warnings: Vec::new(),
            sized: HashSet::new(),
        }
    }

    /// An array that the caller passes. The same name with the same dtype and shape is the same input.
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
        // There are fewer inputs than expressions, so this id fits if the expression's does.
        let input = InputId::new(self.inputs.len());
        let expr = self.insert(Node::Input(input), dtype, shape.clone(), Vec::new(), site)?;
        self.inputs.push(InputInfo { name: name.into(), dtype, shape, may_be_one, site });
        self.input_of_name.insert(name.into(), expr);
        Ok(expr)
    }

    /// A constant of rank 0.
    pub fn constant(&mut self, value: Scalar, site: Site) -> ExprId {
        let result = self.insert_constant(value, site);
        self.settle(result, "constant", &[], site)
    }

    fn insert_constant(&mut self, value: Scalar, site: Site) -> Result<ExprId, Problem> {
        self.insert(Node::Constant(value), value.dtype(), Shape::scalar(), Vec::new(), site)
    }

    /// A poisoned expression, for a mistake that was reported before.
    pub fn poison(&mut self) -> ExprId {
        ExprId::new(POISON)
    }

    /// Asks for warnings of ops that broadcast operands of equally many elements, which programs for torch before 0.2
    /// meant element by element.
    pub fn warn_of_pointwise(&mut self) {
        self.warns_of_pointwise = true;
    }

    /// Whether a mistake went into the expression. An id that is not of this graph is poisoned as well.
    pub fn is_poisoned(&self, expr: ExprId) -> bool {
        matches!(self.node(expr), Node::Poison)
    }

    /// The dtype of an expression.
    pub fn dtype(&self, expr: ExprId) -> DType {
        self.entry(expr).dtype
    }

    /// The shape of an expression, with all that was found of inferred sizes.
    pub fn shape(&self, expr: ExprId) -> Shape {
        match self.resolved(self.written(expr)) {
            Cow::Borrowed(_) => self.written(expr).clone(),
            Cow::Owned(dims) => dims.into(),
        }
    }

    /// The axes of the literal size 1.
    pub fn unit_axes(&self, expr: ExprId) -> Vec<usize> {
        let ones = self.written(expr).iter().enumerate().filter(|(_, dim)| dim.is_one());
        ones.map(|(axis, _)| axis).collect()
    }

    /// The shape of an expression as the ops gave it, which alone decides whether a size is the literal 1.
    fn written(&self, expr: ExprId) -> &Shape {
        &self.entry(expr).shape
    }

    /// What an expression is.
    pub fn node(&self, expr: ExprId) -> &Node {
        &self.entry(expr).node
    }

    /// Where an expression was made first.
    pub fn site(&self, expr: ExprId) -> Site {
        self.entry(expr).site
    }

    /// The inputs in order of declaration.
    pub fn inputs(&self) -> &[InputInfo] {
        &self.inputs
    }

    fn entry(&self, expr: ExprId) -> &Entry {
        self.entries.get(expr.index()).unwrap_or(&self.entries[POISON])
    }

    pub(crate) fn facts(&self, symbol: SymbolId) -> Facts {
        self.symbols.facts(symbol)
    }

    /// A size with all that was found of inferred sizes; as it is if that cannot be written.
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

    /// A size with inferred ones as they were written, `?w.0`.
    pub(crate) fn size_as_written(&self, dim: &Dim) -> Size {
        Size::new(dim.clone(), &|symbol| self.symbols.get(symbol).map(SymbolInfo::named))
    }

    fn sizes(&self, dims: &[Dim]) -> Vec<Size> {
        dims.iter().map(|dim| self.size(dim)).collect()
    }

    fn any_poisoned(&self, exprs: &[ExprId]) -> bool {
        exprs.iter().any(|&expr| self.is_poisoned(expr))
    }

    /// The expression of this node, which is new unless there is an equal one.
    fn insert(
        &mut self,
        node: Node,
        dtype: DType,
        shape: Shape,
        obligations: Vec<(Dim, Requirement)>,
        site: Site,
    ) -> Result<ExprId, Problem> {
        self.check_size(&shape)?;
        let key = (node, dtype, shape);
        if let Some(&known) = self.interned.get(&key) {
            self.oblige(known, obligations, site);
            return Ok(known);
        }
        if self.entries.len() >= MAX_IDS {
            return Err(Problem::TooLarge);
        }
        let expr = ExprId::new(self.entries.len());
        let (node, dtype, shape) = key.clone();
        self.entries.push(Entry { node, dtype, shape, site, call: None });
        self.interned.insert(key, expr);
        self.oblige(expr, obligations, site);
        Ok(expr)
    }

    /// Records what an expression demands, once each: equal expressions may come from callers of which only some
    /// demand it.
    fn oblige(&mut self, origin: ExprId, obligations: Vec<(Dim, Requirement)>, site: Site) {
        for (dim, requirement) in obligations {
            if self.obliged.insert((origin, dim.clone())) {
                let demand = Demand::NonNegative(dim);
                let origin = Some(origin);
                self.obligations.push(Obligation { demand, origin, site, requirement, call: None });
            }
        }
    }

    /// Checks that no size is always negative and that the elements can be counted and addressed.
    fn check_size(&mut self, shape: &Shape) -> Result<(), Problem> {
        if self.sized.contains(shape) {
            return Ok(());
        }
        if shape.rank() > MAX_RANK {
            return Err(Problem::RankTooLarge { rank: shape.rank() });
        }
        // Eight bytes per element whatever the dtype, so that a cast never fails. Zeros are skipped: strides are
        // products of the other sizes even if there are no elements.
        let mut bytes = 8_i64;
        for (axis, dim) in shape.iter().enumerate() {
            if dim.interval(&|symbol| self.facts(symbol)).upper < 0 {
                return Err(Problem::NegativeSize { axis, size: self.size(dim) });
            }
            let factor = dim.as_constant().unwrap_or(1).max(1);
            bytes = bytes.checked_mul(factor).ok_or(Problem::TooManyElements)?;
        }
        shape.elements().map_err(Problem::Size)?;
        self.sized.insert(shape.clone());
        Ok(())
    }

    /// What is left of the requirement `dim >= 0`: nothing if it is certain, an obligation if it depends.
    ///
    /// # Errors
    /// If it certainly fails: `dim` itself.
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

    /// Requires that sizes which the user wrote are not negative, unless they are products of neighbouring sizes of
    /// the operand, which are not.
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

/// Whether a size is the product of some neighbouring sizes.
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

/// A name of bounded length.
fn clipped(name: &str) -> Box<str> {
    match name.char_indices().find(|(at, _)| *at > MAX_NAME) {
        Some((at, _)) => name[..at].into(),
        None => name.into(),
    }
}
