//! Sizes: symbols, expressions over them, and shapes.

use super::registry::{self, GraphKey, State};
use broadloom_ir::SymbolId;
use broadloom_ir::diagnostics::Problem;
use broadloom_ir::dim::{self, DimError};
use broadloom_ir::graph::{InputDim, Site};
use std::fmt;
use std::ops::{Add, Bound, Deref, Div, Mul, Neg, RangeBounds, Sub};

/// A size known only at run time, made by [`Graph::symbols`](crate::Graph::symbols). Two axes of one symbol have
/// the same size.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// let x = g.input::<f32>("x", shape![n, m]);
/// assert_eq!(x.t().to_string(), "f32[m, n]");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol {
    pub(super) graph: GraphKey,
    pub(super) id: SymbolId,
}

/// A size: a number, a [`Symbol`], or a polynomial of them, such as `2 * n + 1` or `n * m`.
///
/// Two dims are equal if their normal forms show that they are the same for all values of their symbols. Mistakes
/// in an expression, such as mixing symbols of two graphs, are reported when the graph is checked.
///
/// ```
/// use broadloom::{Dim, Graph};
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// assert_eq!(2 * n, n + n);
/// assert_eq!(((n + 1) * m).to_string(), "n*m+m");
/// assert_eq!((4 * n + 6) / 4, n + 1);
/// assert_eq!(Dim::from(3).as_constant(), Some(3));
/// ```
#[derive(Clone, Copy)]
pub struct Dim {
    repr: Repr,
    /// Whether the axis may have size 1 instead.
    or_one: bool,
}

/// Normal forms. Constants and lone symbols are never interned, so derived equality is equality of sizes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repr {
    Constant(i64),
    /// The size that the symbol's name stands for.
    Symbol(Symbol),
    Interned(GraphKey, usize),
    /// The size of an axis of an input, to be inferred.
    Inferred,
    /// A mistake, recorded in the graph if it still exists.
    Poisoned(GraphKey),
    /// Constant arithmetic that overflowed; reported on use.
    Overflow,
    /// Arithmetic on a marker for an axis of an input, which is not a size; reported on use.
    Misused,
}

/// The reason why a [`Dim`] is not a valid size in a graph.
pub(crate) enum Unusable {
    /// Already reported in this graph.
    Reported,
    /// Not reported yet.
    Problem(Problem),
}

impl Dim {
    /// The size of an axis of an input, inferred from the input's use: `_` in [`shape!`](crate::shape).
    pub const INFERRED: Dim = Dim::new(Repr::Inferred);

    const fn new(repr: Repr) -> Dim {
        Dim { repr, or_one: false }
    }

    /// Allows the size of an axis of an input to be 1 instead; such an array is stretched when it is passed: `#n`
    /// in [`shape!`](crate::shape). The expression knows only `n`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let (x, scale) = (g.input::<f32>("x", shape![n]), g.input::<f32>("scale", shape![#n]));
    /// let kernel = (x * scale).compile()?;
    /// let one: Vec<f32> = kernel.run((&[1.0f32, 2.0], &[10.0f32]))?.try_into()?;
    /// let each: Vec<f32> = kernel.run((&[1.0f32, 2.0], &[10.0f32, 20.0]))?.try_into()?;
    /// assert_eq!((one, each), (vec![10.0, 20.0], vec![10.0, 40.0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn or_one(self) -> Dim {
        Dim { or_one: true, ..self }
    }

    pub(super) fn is_inferred(self) -> bool {
        self.repr == Repr::Inferred && !self.or_one
    }

    /// Returns the value if this is a number.
    ///
    /// ```
    /// let dim = broadloom::Dim::from(3) * 2;
    /// assert_eq!(dim.as_constant(), Some(6));
    /// ```
    pub fn as_constant(self) -> Option<i64> {
        if let Repr::Constant(value) = self.canonical() { Some(value) } else { None }
    }

    /// Returns the symbol if this is a lone symbol.
    ///
    /// ```
    /// use broadloom::{Dim, Graph};
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// assert_eq!((2 * n - n).as_symbol(), Some(n));
    /// assert_eq!((n + 1).as_symbol(), None);
    /// ```
    pub fn as_symbol(self) -> Option<Symbol> {
        if let Repr::Symbol(symbol) = self.canonical() { Some(symbol) } else { None }
    }

    /// Returns the quotient by a positive number, rounded up.
    ///
    /// ```
    /// let g = broadloom::Graph::new();
    /// let n = g.symbol("n");
    /// assert_eq!((2 * n).ceil_div(3).to_string(), "(2*n+2)//3");
    /// ```
    #[track_caller]
    pub fn ceil_div(self, divisor: i64) -> Dim {
        Dim::combine(self, Dim::from(0), Site::caller(), |dim, _| dim.ceil_div(divisor))
    }

    /// Converts to a size in the graph of `key`, whose state is `state`.
    pub(crate) fn resolve(self, key: GraphKey, state: &State) -> Result<dim::Dim, Unusable> {
        match self.resolve_for_input(key, state)? {
            InputDim::Size(dim) => Ok(dim),
            InputDim::Inferred | InputDim::OneOr(_) => Err(Unusable::Problem(Problem::NotOfInput)),
        }
    }

    /// Converts to the size of an axis of an input in the graph of `key`, whose state is `state`.
    pub(crate) fn resolve_for_input(self, key: GraphKey, state: &State) -> Result<InputDim, Unusable> {
        let dim = match self.repr {
            Repr::Constant(value) => dim::Dim::constant(value),
            Repr::Symbol(symbol) if symbol.graph == key => state.graph.symbol_size(symbol.id),
            Repr::Interned(graph, index) if graph == key => state.dim(index),
            Repr::Inferred if !self.or_one => return Ok(InputDim::Inferred),
            Repr::Inferred | Repr::Misused => return Err(Unusable::Problem(Problem::NotOfInput)),
            Repr::Poisoned(graph) if graph == key => return Err(Unusable::Reported),
            Repr::Overflow => return Err(Unusable::Problem(Problem::Size(DimError::Overflow))),
            Repr::Symbol(_) | Repr::Interned(..) | Repr::Poisoned(_) => {
                return Err(Unusable::Problem(Problem::ForeignSymbol));
            }
        };
        Ok(if self.or_one { InputDim::OneOr(dim) } else { InputDim::Size(dim) })
    }

    /// Returns a handle to a size in the graph of `key`, whose state is `state`.
    pub(crate) fn handle(dim: &dim::Dim, key: GraphKey, state: &mut State) -> Dim {
        let named = || match dim.symbols().as_slice() {
            &[id] if state.graph.symbol_size(id) == *dim => Some(Symbol { graph: key, id }),
            _ => None,
        };
        Dim::new(match (dim.as_constant(), named()) {
            (Some(value), _) => Repr::Constant(value),
            (None, Some(symbol)) => Repr::Symbol(symbol),
            (None, None) => Repr::Interned(key, state.intern(dim.clone())),
        })
    }

    /// Returns the form in which equal sizes compare equal: a symbol may have been declared equal to another size.
    fn canonical(self) -> Repr {
        let Repr::Symbol(symbol) = self.repr else { return self.repr };
        let canonical = registry::with(symbol.graph, |state| {
            let size = state.graph.symbol_size(symbol.id);
            Dim::handle(&size, symbol.graph, state).repr
        });
        canonical.unwrap_or(self.repr)
    }

    fn graph(self) -> Option<GraphKey> {
        match self.repr {
            Repr::Symbol(symbol) => Some(symbol.graph),
            Repr::Interned(key, _) | Repr::Poisoned(key) => Some(key),
            Repr::Constant(_) | Repr::Inferred | Repr::Overflow | Repr::Misused => None,
        }
    }

    fn combine(
        left: Dim,
        right: Dim,
        site: Site,
        action: impl FnOnce(&dim::Dim, &dim::Dim) -> Result<dim::Dim, DimError>,
    ) -> Dim {
        let Some(key) = left.graph().or(right.graph()) else {
            return match (left.repr, right.repr) {
                _ if left.or_one || right.or_one => Dim::new(Repr::Misused),
                (Repr::Constant(a), Repr::Constant(b)) => {
                    let result = action(&dim::Dim::constant(a), &dim::Dim::constant(b));
                    result.ok().and_then(|dim| dim.as_constant()).map_or(Dim::new(Repr::Overflow), Dim::from)
                }
                (Repr::Inferred | Repr::Misused, _) | (_, Repr::Inferred | Repr::Misused) => {
                    Dim::new(Repr::Misused)
                }
                _ => Dim::new(Repr::Overflow),
            };
        };
        let combined = registry::with(key, |state| {
            let operands = left.resolve(key, state).and_then(|left| Ok((left, right.resolve(key, state)?)));
            let result = operands.and_then(|(left, right)| {
                state.graph.use_size(&left, site);
                state.graph.use_size(&right, site);
                action(&left, &right).map_err(|error| Unusable::Problem(Problem::Size(error)))
            });
            match result {
                Ok(dim) => Dim::handle(&dim, key, state),
                Err(unusable) => {
                    state.poison(unusable, site);
                    Dim::new(Repr::Poisoned(key))
                }
            }
        });
        combined.unwrap_or(Dim::new(Repr::Poisoned(key)))
    }
}

/// Facts about a symbol, which each call checks. State them before the symbol is used, so that they hold for the
/// whole graph.
impl Symbol {
    /// Returns the name, also of a symbol that was declared equal to another size. It is empty if the graph no longer exists.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let [n, m] = g.symbols(["n", "m"]);
    /// g.declare_equal(m, n + 1);
    /// assert_eq!((m.name().as_str(), m.to_string().as_str()), ("m", "n+1"));
    /// ```
    pub fn name(self) -> String {
        let name = registry::with(self.graph, |state| {
            state.graph.symbols().get(self.id.index()).map(|symbol| symbol.name.to_string())
        });
        name.flatten().unwrap_or_default()
    }

    /// Bounds the size: `n.range(1..)`, `n.range(..=4096)`.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n").range(1..=4096);
    /// let x = g.input::<f32>("x", shape![n]);
    /// let kernel = x.max(0).compile()?;
    /// let none: &[f32] = &[];
    /// assert_eq!(kernel.run(none).unwrap_err().to_string(),
    ///     "input \"x\" does not fit: axis 0 is 0, but n must be at least 1 and at most 4096");
    /// # Ok::<(), broadloom::CompileError>(())
    /// ```
    #[track_caller]
    pub fn range(self, bounds: impl RangeBounds<i64>) -> Symbol {
        let site = Site::caller();
        let lower = match bounds.start_bound() {
            Bound::Included(lower) => Some(*lower),
            Bound::Excluded(lower) => Some(lower.saturating_add(1)),
            Bound::Unbounded => None,
        };
        let upper = match bounds.end_bound() {
            Bound::Included(upper) => Some(*upper),
            Bound::Excluded(upper) => Some(upper.saturating_sub(1)),
            Bound::Unbounded => None,
        };
        registry::with(self.graph, |state| state.graph.state_range(self.id, lower, upper, site));
        self
    }

    /// Declares the size to be a multiple of a positive number.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n").multiple_of(2);
    /// let x = g.input::<f32>("x", shape![n, 6]);
    /// assert_eq!(x.reshape([-1, 4]).to_string(), "f32[(3*n)//2, 4]");
    /// # g.check().unwrap();
    /// ```
    #[track_caller]
    pub fn multiple_of(self, divisor: i64) -> Symbol {
        let site = Site::caller();
        registry::with(self.graph, |state| state.graph.state_multiple(self.id, divisor, site));
        self
    }

    /// Gives the expected size as a hint: for what is compiled in advance, and for the order of products in an
    /// [`einsum`](crate::einsum) written later. It affects results only through the rounding of such an `einsum` of
    /// three or more tensors. It can be given at any time.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n").likely(3 << 30);
    /// let x = g.input::<u8>("x", shape![n]);
    /// let kernel = x.argmax(0).compile()?;
    /// let place: i64 = kernel.run(&[1u8, 3, 2])?.try_into()?;
    /// assert_eq!(place, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[allow(clippy::must_use_candidate, reason = "the symbol is the same")]
    pub fn likely(self, size: i64) -> Symbol {
        registry::with(self.graph, |state| state.graph.state_likely(self.id, size));
        self
    }

    /// Returns the quotient by a positive number, rounded up.
    ///
    /// ```
    /// let g = broadloom::Graph::new();
    /// assert_eq!(g.symbol("n").ceil_div(2).to_string(), "(n+1)//2");
    /// ```
    #[track_caller]
    pub fn ceil_div(self, divisor: i64) -> Dim {
        Dim::from(self).ceil_div(divisor)
    }
}

impl From<Symbol> for Dim {
    fn from(symbol: Symbol) -> Self {
        Dim::new(Repr::Symbol(symbol))
    }
}

macro_rules! from_integers {
    ($($t:ty)*) => {$(
        impl From<$t> for Dim {
            fn from(value: $t) -> Self {
                Dim::new(i64::try_from(value).map_or(Repr::Overflow, Repr::Constant))
            }
        }
    )*};
}
from_integers!(i32 i64 u32 u64 usize isize);

/// Operators between size types, with integers on the right, and with `i64` on the left. With more types on the
/// left, the compiler could not infer the type of the `2` in `(2 * n).ceil_div(3)`.
macro_rules! arithmetic {
    ($($trait:ident $method:ident;)*) => {$(
        impl<D: Into<Dim>> $trait<D> for Dim {
            type Output = Dim;
            #[track_caller]
            fn $method(self, other: D) -> Dim {
                Dim::combine(self, other.into(), Site::caller(), |left, right| left.$method(right))
            }
        }

        impl<D: Into<Dim>> $trait<D> for Symbol {
            type Output = Dim;
            #[track_caller]
            fn $method(self, other: D) -> Dim {
                Dim::from(self).$method(other)
            }
        }

        impl $trait<Dim> for i64 {
            type Output = Dim;
            #[track_caller]
            fn $method(self, other: Dim) -> Dim {
                Dim::from(self).$method(other)
            }
        }

        impl $trait<Symbol> for i64 {
            type Output = Dim;
            #[track_caller]
            fn $method(self, other: Symbol) -> Dim {
                Dim::from(self).$method(other)
            }
        }
    )*};
}
arithmetic! {
    Add add;
    Sub sub;
    Mul mul;
}

macro_rules! division {
    ($($left:ty)*) => {$(
        /// Divides by a positive number and rounds down.
        impl Div<i64> for $left {
            type Output = Dim;
            #[track_caller]
            fn div(self, divisor: i64) -> Dim {
                Dim::combine(self.into(), Dim::from(0), Site::caller(), |dim, _| dim.floor_div(divisor))
            }
        }

        impl Neg for $left {
            type Output = Dim;
            #[track_caller]
            fn neg(self) -> Dim {
                Dim::combine(self.into(), Dim::from(0), Site::caller(), |dim, _| dim.neg())
            }
        }
    )*};
}
division!(Dim Symbol);

macro_rules! equality {
    ($(($left:ty, $right:ty))*) => {$(
        impl PartialEq<$right> for $left {
            fn eq(&self, other: &$right) -> bool {
                let (left, right) = (Dim::from(*self), Dim::from(*other));
                left.or_one == right.or_one && left.canonical() == right.canonical()
            }
        }
    )*};
}
equality!((Dim, Dim)(Dim, Symbol)(Symbol, Dim)(Dim, i64));

impl Eq for Dim {}

impl fmt::Display for Dim {
    /// Prints `2*n+1`, or `?` after a mistake or once the graph is dropped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.repr {
            Repr::Constant(value) if !self.or_one => return fmt::Display::fmt(&value, f),
            Repr::Inferred => return f.pad("_"),
            _ => {}
        }
        let text = self.graph().and_then(|key| {
            registry::with(key, |state| {
                let dim = Dim { or_one: false, ..self.to_owned() }.resolve(key, state).ok()?;
                Some(dim.display(&|symbol| state.named(symbol)).to_string())
            })?
        });
        let text = text.or(self.as_constant().map(|value| value.to_string()));
        f.pad(&format!("{}{}", if self.or_one { "#" } else { "" }, text.as_deref().unwrap_or("?")))
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Symbol {
    /// Prints the name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Dim::from(*self), f)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The sizes of a tensor, outermost axis first, written `shape![n, 3]`.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let n = g.symbol("n");
/// let shape = shape![n, 2 * n + 1, 3];
/// assert_eq!((shape.rank(), shape.to_string().as_str()), (3, "[n, 2*n+1, 3]"));
/// assert_eq!(g.input::<f32>("x", shape.clone()).shape(), shape);
/// ```
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Shape(Vec<Dim>);

impl Shape {
    /// Returns the number of axes.
    ///
    /// ```
    /// assert_eq!(broadloom::shape![2, 3].rank(), 2);
    /// ```
    pub fn rank(&self) -> usize {
        self.0.len()
    }
}

impl Deref for Shape {
    type Target = [Dim];
    fn deref(&self) -> &[Dim] {
        &self.0
    }
}

impl<D: Into<Dim>> FromIterator<D> for Shape {
    fn from_iter<I: IntoIterator<Item = D>>(dims: I) -> Self {
        Shape(dims.into_iter().map(Into::into).collect())
    }
}

impl<D: Into<Dim>, const N: usize> From<[D; N]> for Shape {
    fn from(dims: [D; N]) -> Self {
        dims.into_iter().collect()
    }
}

impl<D: Into<Dim> + Copy> From<&[D]> for Shape {
    fn from(dims: &[D]) -> Self {
        dims.iter().copied().collect()
    }
}

impl<D: Into<Dim>> From<Vec<D>> for Shape {
    fn from(dims: Vec<D>) -> Self {
        dims.into_iter().collect()
    }
}

impl fmt::Display for Shape {
    /// Prints `[n, 3]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (axis, dim) in self.0.iter().enumerate() {
            write!(f, "{}{dim}", if axis == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Makes a [`Shape`] from numbers, symbols and expressions of them. For an axis of an input, `_` is a size inferred
/// from the input's use, and `#n` is a size that is `n` or 1.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// assert_eq!(shape![2 * n, n + 1, n * m, 3].to_string(), "[2*n, n+1, n*m, 3]");
/// assert_eq!(shape![].rank(), 0);
///
/// let x = g.input::<f32>("x", shape![n, 3]);
/// let w = g.input::<f32>("w", shape![_, #3]);
/// assert_eq!((x + w).to_string(), "f32[n, 3]");
/// assert_eq!(w.to_string(), "f32[n, 3]");
/// ```
#[macro_export]
macro_rules! shape {
    () => { $crate::Shape::default() };
    (@dims [$($done:expr,)*]) => { $crate::Shape::from([$($done),*]) };
    (@dims [$($done:expr,)*] _ $(, $($rest:tt)*)?) => {
        $crate::shape!(@dims [$($done,)* $crate::Dim::INFERRED,] $($($rest)*)?)
    };
    (@dims [$($done:expr,)*] # $dim:expr $(, $($rest:tt)*)?) => {
        $crate::shape!(@dims [$($done,)* $crate::Dim::from($dim).or_one(),] $($($rest)*)?)
    };
    (@dims [$($done:expr,)*] $dim:expr $(, $($rest:tt)*)?) => {
        $crate::shape!(@dims [$($done,)* $crate::Dim::from($dim),] $($($rest)*)?)
    };
    ($($dims:tt)+) => { $crate::shape!(@dims [] $($dims)+) };
}
