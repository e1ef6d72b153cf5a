//! Sizes: symbols, expressions over them, and shapes.

use super::registry::{self, GraphKey, State};
use broadloom_ir::SymbolId;
use broadloom_ir::diagnostics::Problem;
use broadloom_ir::dim::{self, DimError};
use broadloom_ir::graph::Site;
use std::fmt;
use std::ops::{Add, Deref, Div, Mul, Neg, Sub};
use std::panic::Location;

/// A size that is known only when a kernel runs. Made by [`Graph::symbols`](crate::Graph::symbols); two axes of one
/// symbol have the same size.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Symbol {
    pub(super) graph: GraphKey,
    pub(super) id: SymbolId,
}

/// A size: a number, a [`Symbol`], or a polynomial of them, such as `2 * n + 1` or `n * m`.
///
/// Two dims are equal if they are the same for all values of their symbols, as far as their normal forms show it.
/// A mistake in an expression, such as mixing symbols of two graphs, is reported when the graph is checked.
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
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dim(Repr);

/// Normal forms of which a constant and a lone symbol are never interned, so that derived equality is that of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Repr {
    Constant(i64),
    Symbol(Symbol),
    Interned(GraphKey, usize),
    /// A mistake, recorded in the graph if it still lives.
    Poisoned(GraphKey),
    /// Arithmetic on constants that overflowed; reported by whoever uses it.
    Overflow,
}

/// Why a [`Dim`] is no size of a graph.
pub(crate) enum Unusable {
    /// It has been reported in this graph already.
    Reported,
    /// To be reported.
    Problem(Problem),
}

impl Dim {
    /// The value, if this is a number.
    ///
    /// ```
    /// let dim = broadloom::Dim::from(3) * 2;
    /// assert_eq!(dim.as_constant(), Some(6));
    /// ```
    pub fn as_constant(self) -> Option<i64> {
        if let Repr::Constant(value) = self.0 { Some(value) } else { None }
    }

    /// The symbol, if this is a lone one.
    ///
    /// ```
    /// use broadloom::{Dim, Graph};
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// assert_eq!((2 * n - n).as_symbol(), Some(n));
    /// assert_eq!((n + 1).as_symbol(), None);
    /// ```
    pub fn as_symbol(self) -> Option<Symbol> {
        if let Repr::Symbol(symbol) = self.0 { Some(symbol) } else { None }
    }

    /// Quotient by a positive number, rounded up.
    ///
    /// ```
    /// let g = broadloom::Graph::new();
    /// let n = g.symbol("n");
    /// assert_eq!((2 * n).ceil_div(3).to_string(), "(2*n+2)//3");
    /// ```
    #[track_caller]
    pub fn ceil_div(self, divisor: i64) -> Dim {
        Dim::combine(self, Dim::from(0), Location::caller(), |dim, _| dim.ceil_div(divisor))
    }

    /// As a size of the graph of `key`, which `state` is.
    pub(crate) fn resolve(self, key: GraphKey, state: &State) -> Result<dim::Dim, Unusable> {
        match self.0 {
            Repr::Constant(value) => Ok(dim::Dim::constant(value)),
            Repr::Symbol(symbol) if symbol.graph == key => Ok(dim::Dim::symbol(symbol.id)),
            Repr::Interned(graph, index) if graph == key => Ok(state.dim(index)),
            Repr::Poisoned(graph) if graph == key => Err(Unusable::Reported),
            Repr::Overflow => Err(Unusable::Problem(Problem::Size(DimError::Overflow))),
            Repr::Symbol(_) | Repr::Interned(..) | Repr::Poisoned(_) => {
                Err(Unusable::Problem(Problem::ForeignSymbol))
            }
        }
    }

    /// A size of the graph of `key`, which `state` is, as a handle.
    pub(crate) fn handle(dim: &dim::Dim, key: GraphKey, state: &mut State) -> Dim {
        Dim(match (dim.as_constant(), dim.as_symbol()) {
            (Some(value), _) => Repr::Constant(value),
            (_, Some(id)) => Repr::Symbol(Symbol { graph: key, id }),
            _ => Repr::Interned(key, state.intern(dim.clone())),
        })
    }

    fn graph(self) -> Option<GraphKey> {
        match self.0 {
            Repr::Symbol(symbol) => Some(symbol.graph),
            Repr::Interned(key, _) | Repr::Poisoned(key) => Some(key),
            Repr::Constant(_) | Repr::Overflow => None,
        }
    }

    fn combine(
        left: Dim,
        right: Dim,
        site: Site,
        action: impl FnOnce(&dim::Dim, &dim::Dim) -> Result<dim::Dim, DimError>,
    ) -> Dim {
        let Some(key) = left.graph().or(right.graph()) else {
            return match (left.0, right.0) {
                (Repr::Constant(a), Repr::Constant(b)) => {
                    let result = action(&dim::Dim::constant(a), &dim::Dim::constant(b));
                    result.ok().and_then(|dim| dim.as_constant()).map_or(Dim(Repr::Overflow), Dim::from)
                }
                _ => Dim(Repr::Overflow),
            };
        };
        let combined = registry::with(key, |state| {
            let operands = left.resolve(key, state).and_then(|left| Ok((left, right.resolve(key, state)?)));
            let result = operands.and_then(|(left, right)| {
                action(&left, &right).map_err(|error| Unusable::Problem(Problem::Size(error)))
            });
            match result {
                Ok(dim) => Dim::handle(&dim, key, state),
                Err(unusable) => {
                    state.poison(unusable, site);
                    Dim(Repr::Poisoned(key))
                }
            }
        });
        combined.unwrap_or(Dim(Repr::Poisoned(key)))
    }
}

impl Symbol {
    /// Quotient by a positive number, rounded up.
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
        Dim(Repr::Symbol(symbol))
    }
}

macro_rules! from_integers {
    ($($t:ty)*) => {$(
        impl From<$t> for Dim {
            fn from(value: $t) -> Self {
                Dim(i64::try_from(value).map_or(Repr::Overflow, Repr::Constant))
            }
        }
    )*};
}
from_integers!(i32 i64 u32 u64 usize isize);

/// Operators between size types, with integers on the right, and with `i64` on the left: with more types there, the
/// compiler could not tell the type of the `2` in `(2 * n).ceil_div(3)`.
macro_rules! arithmetic {
    ($($trait:ident $method:ident;)*) => {$(
        impl<D: Into<Dim>> $trait<D> for Dim {
            type Output = Dim;
            #[track_caller]
            fn $method(self, other: D) -> Dim {
                Dim::combine(self, other.into(), Location::caller(), |left, right| left.$method(right))
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
        /// Quotient by a positive number, rounded down.
        impl Div<i64> for $left {
            type Output = Dim;
            #[track_caller]
            fn div(self, divisor: i64) -> Dim {
                Dim::combine(self.into(), Dim::from(0), Location::caller(), |dim, _| dim.floor_div(divisor))
            }
        }

        impl Neg for $left {
            type Output = Dim;
            #[track_caller]
            fn neg(self) -> Dim {
                Dim::combine(self.into(), Dim::from(0), Location::caller(), |dim, _| dim.neg())
            }
        }
    )*};
}
division!(Dim Symbol);

macro_rules! equality {
    ($(($left:ty, $right:ty))*) => {$(
        impl PartialEq<$right> for $left {
            fn eq(&self, other: &$right) -> bool {
                Dim::from(*self).0 == Dim::from(*other).0
            }
        }
    )*};
}
equality!((Dim, Symbol)(Symbol, Dim)(Dim, i64));

impl fmt::Display for Dim {
    /// `2*n+1`; `?` after a mistake or when the graph was dropped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Repr::Constant(value) = self.0 {
            return fmt::Display::fmt(&value, f);
        }
        let text = self.graph().and_then(|key| {
            registry::with(key, |state| {
                let dim = self.resolve(key, state).ok()?;
                Some(dim.display(&|symbol| state.symbol_name(symbol)).to_string())
            })?
        });
        f.pad(text.as_deref().unwrap_or("?"))
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Symbol {
    /// The name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Dim::from(*self), f)
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The sizes of a tensor, outermost axis first. Written `shape![n, 3]`.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Shape(Vec<Dim>);

impl Shape {
    /// The number of axes.
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
    /// `[n, 3]`
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

/// A [`Shape`] of numbers, symbols and expressions of them.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// assert_eq!(shape![2 * n, n + 1, n * m, 3].to_string(), "[2*n, n+1, n*m, 3]");
/// assert_eq!(shape![].rank(), 0);
/// ```
#[macro_export]
macro_rules! shape {
    () => { $crate::Shape::default() };
    ($($dim:expr),+ $(,)?) => { $crate::Shape::from([$($crate::Dim::from($dim)),+]) };
}
