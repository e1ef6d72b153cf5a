//! Facts about a size that hold for all values of its symbols: an interval, and whether it is ever zero.
//!
//! There are three cheap tests, and neither a search nor a solver, so acceptance is predictable.

use super::polynomial::{Atom, Poly, gcd};
use super::{Dim, Repr};
use crate::ids::SymbolId;

/// What is known of a symbol's values. (Dims express multiples: see
/// [`SymbolInfo::unit`](crate::graph::SymbolInfo::unit).)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The least value.
    pub lower: i64,
    /// The greatest value, if there is one.
    pub upper: Option<i64>,
}

impl Default for Facts {
    /// Any size: zero or more.
    fn default() -> Self {
        Facts { lower: 0, upper: None }
    }
}

/// The facts of each symbol.
pub type FactsOf<'a> = &'a dyn Fn(SymbolId) -> Facts;

/// The least and the greatest value of an expression; the ends of `i128` mean unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// The lower bound.
    pub lower: i128,
    /// The upper bound.
    pub upper: i128,
}

const MINUS_INFINITY: i128 = i128::MIN;
const INFINITY: i128 = i128::MAX;

impl Interval {
    fn point(value: i128) -> Interval {
        Interval { lower: value, upper: value }
    }

    fn of(facts: Facts) -> Interval {
        Interval { lower: facts.lower.into(), upper: facts.upper.map_or(INFINITY, i128::from) }
    }

    fn plus(self, other: Interval) -> Interval {
        let add = |a: i128, b: i128, unbounded: i128| {
            if a == unbounded || b == unbounded { unbounded } else { a.saturating_add(b) }
        };
        Interval {
            lower: add(self.lower, other.lower, MINUS_INFINITY),
            upper: add(self.upper, other.upper, INFINITY),
        }
    }

    fn times(self, other: Interval) -> Interval {
        let multiply = |a: i128, b: i128| {
            if a == 0 || b == 0 {
                0
            } else if [a, b].iter().any(|end| [MINUS_INFINITY, INFINITY].contains(end)) {
                if (a < 0) == (b < 0) { INFINITY } else { MINUS_INFINITY }
            } else {
                a.saturating_mul(b)
            }
        };
        let ends = [
            multiply(self.lower, other.lower),
            multiply(self.lower, other.upper),
            multiply(self.upper, other.lower),
            multiply(self.upper, other.upper),
        ];
        let (mut lower, mut upper) = (ends[0], ends[0]);
        for end in ends {
            lower = lower.min(end);
            upper = upper.max(end);
        }
        Interval { lower, upper }
    }

    fn floor_div(self, divisor: i64) -> Interval {
        let divide = |end: i128| match end {
            MINUS_INFINITY | INFINITY => end,
            end => end.div_euclid(divisor.into()),
        };
        Interval { lower: divide(self.lower), upper: divide(self.upper) }
    }

    /// Returns how often values of this interval fit into a positive constant.
    fn fits_into(self, k: i64) -> Interval {
        let fits = |divisor: i128| i128::from(k) / divisor.max(1);
        let least = if self.lower > 0 { fits(self.upper) } else { 0 };
        Interval { lower: least, upper: if self.upper > 0 { fits(self.lower) } else { 0 } }
    }

    fn of_poly(poly: &Poly, facts: FactsOf) -> Interval {
        let mut sum = Interval::point(0);
        for (monomial, coefficient) in poly.terms() {
            let mut product = Interval::point(*coefficient);
            for (atom, exponent) in monomial.factors() {
                let factor = match atom {
                    Atom::Symbol(symbol) => Interval::of(facts(*symbol)),
                    Atom::Floor(inner, divisor) => Interval::of_poly(inner, facts).floor_div(*divisor),
                    Atom::Fits(k, inner) => Interval::of_poly(inner, facts).fits_into(*k),
                    Atom::Least(first, second) => {
                        let [first, second] = [first, second].map(|inner| Interval::of_poly(inner, facts));
                        Interval {
                            lower: first.lower.min(second.lower),
                            upper: first.upper.min(second.upper),
                        }
                    }
                };
                for _ in 0..*exponent {
                    product = product.times(factor);
                }
            }
            sum = sum.plus(product);
        }
        sum
    }
}

impl Dim {
    /// Returns an interval that contains every value of the expression.
    pub fn interval(&self, facts: FactsOf) -> Interval {
        match &self.0 {
            Repr::Constant(value) => Interval::point((*value).into()),
            Repr::Symbol(symbol) => Interval::of(facts(*symbol)),
            Repr::Poly(poly) => Interval::of_poly(poly, facts),
        }
    }

    /// Returns whether the value is certainly never zero: it is a nonzero constant, its interval excludes zero, or
    /// the common divisor of all other coefficients does not divide the constant term.
    pub fn is_never_zero(&self, facts: FactsOf) -> bool {
        let interval = self.interval(facts);
        interval.lower > 0 || interval.upper < 0 || self.indivisible_by().is_some()
    }

    /// Returns a number that divides every term except the constant one: then the value is never zero.
    pub fn indivisible_by(&self) -> Option<i128> {
        let mut divisor = 0;
        let mut constant = 0;
        for (monomial, coefficient) in self.terms() {
            if monomial.is_one() {
                constant = coefficient;
                continue;
            }
            divisor = gcd(divisor, coefficient);
        }
        (divisor != 0 && constant % divisor != 0).then_some(divisor)
    }
}
