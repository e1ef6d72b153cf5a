//! Sizes: integer polynomials over symbols and floor quotients, in one normal form.
//!
//! ```text
//! Dim  ::= Σ cᵢ · Πⱼ atomⱼ^eⱼ         sorted monomials, no zero coefficients
//! atom ::= symbol | floor(Dim / k) | floor(k / Dim) | min(Dim, Dim)    k a positive constant
//! ```
//!
//! Two dims are the same size for all values of their symbols if they are `==` (their normal forms agree). The
//! converse holds for polynomials; sums of different floor atoms are not compared (`n//2 + (n+1)//2` is not `n`).
//! Every operation is checked and bounded, so hostile input can neither overflow nor explode.

mod display;
mod polynomial;
mod prove;

use crate::ids::SymbolId;
pub use display::Named;
pub(crate) use polynomial::gcd;
use polynomial::{Atom, Monomial, Poly, Sum, Term};
pub use prove::{Facts, FactsOf, Interval};
use std::sync::Arc;
use thiserror::Error;

/// A size, or a position along an axis: an integer polynomial over symbols in normal form.
///
/// Constants and lone symbols are stored inline; everything else is shared, so that cloning is cheap.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Dim(Repr);

/// A polynomial that is a constant or a lone symbol is never stored as `Poly`, so derived equality is equality of
/// normal forms.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Repr {
    Constant(i64),
    Symbol(SymbolId),
    Poly(Arc<Poly>),
}

/// The reason why a size could not be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DimError {
    /// A coefficient exceeds the range of `i128`, or a value exceeds that of `i64`.
    #[error("the size overflows")]
    Overflow,
    /// A symbol has no value.
    #[error("the symbol {0} has no value")]
    Unbound(SymbolId),
    /// The polynomial has too many terms, or too high a degree.
    #[error("the size has too many terms")]
    TooLarge,
    /// Division by something other than a positive constant.
    #[error("a size is divided by {0}, which is not positive")]
    Divisor(i64),
}

impl Dim {
    /// The constant 0.
    pub const ZERO: Dim = Dim::constant(0);
    /// The constant 1, the only size that stretches.
    pub const ONE: Dim = Dim::constant(1);

    /// Returns a constant.
    pub const fn constant(value: i64) -> Dim {
        Dim(Repr::Constant(value))
    }

    /// Returns a lone symbol.
    pub const fn symbol(symbol: SymbolId) -> Dim {
        Dim(Repr::Symbol(symbol))
    }

    /// Returns the value if this is a constant.
    pub fn as_constant(&self) -> Option<i64> {
        if let Repr::Constant(value) = self.0 { Some(value) } else { None }
    }

    /// Returns the constant that is added to the other terms: 3 of `2*n + 3`.
    pub fn constant_term(&self) -> i64 {
        if let Some(value) = self.as_constant() {
            return value;
        }
        let terms = self.terms();
        let constant = terms.iter().find(|(monomial, _)| monomial.is_one());
        constant.and_then(|(_, value)| i64::try_from(*value).ok()).unwrap_or(0)
    }

    /// Returns whether this is the literal constant 1. A symbol whose value happens to be 1 is not.
    pub fn is_one(&self) -> bool {
        *self == Dim::ONE
    }

    /// Returns whether this is the constant 0.
    pub fn is_zero(&self) -> bool {
        *self == Dim::ZERO
    }

    /// Returns the symbol if this is a lone symbol.
    pub fn as_symbol(&self) -> Option<SymbolId> {
        if let Repr::Symbol(symbol) = self.0 { Some(symbol) } else { None }
    }

    /// Returns `self + other`.
    ///
    /// # Errors
    /// Returns an error if a coefficient overflows or the result is too large.
    pub fn add(&self, other: &Dim) -> Result<Dim, DimError> {
        if let (Some(a), Some(b)) = (self.as_constant(), other.as_constant()) {
            return a.checked_add(b).map(Dim::constant).ok_or(DimError::Overflow);
        }
        let mut sum = Sum::default();
        sum.add_all(&self.terms(), 1)?;
        sum.add_all(&other.terms(), 1)?;
        Dim::from_sum(sum)
    }

    /// Returns `self - other`.
    ///
    /// # Errors
    /// Returns an error if a coefficient overflows or the result is too large.
    pub fn sub(&self, other: &Dim) -> Result<Dim, DimError> {
        if let (Some(a), Some(b)) = (self.as_constant(), other.as_constant()) {
            return a.checked_sub(b).map(Dim::constant).ok_or(DimError::Overflow);
        }
        let mut sum = Sum::default();
        sum.add_all(&self.terms(), 1)?;
        sum.add_all(&other.terms(), -1)?;
        Dim::from_sum(sum)
    }

    /// Returns `self * other`.
    ///
    /// # Errors
    /// Returns an error if a coefficient overflows or the result is too large.
    pub fn mul(&self, other: &Dim) -> Result<Dim, DimError> {
        match (self.as_constant(), other.as_constant()) {
            (Some(a), Some(b)) => return a.checked_mul(b).map(Dim::constant).ok_or(DimError::Overflow),
            (Some(1), None) => return Ok(other.clone()),
            (None, Some(1)) => return Ok(self.clone()),
            _ => {}
        }
        let mut sum = Sum::default();
        let right = other.terms();
        for (monomial, coefficient) in &self.terms() {
            for (factor, scale) in &right {
                let coefficient = coefficient.checked_mul(*scale).ok_or(DimError::Overflow)?;
                sum.add_term(monomial.times(factor)?, coefficient)?;
            }
        }
        Dim::from_sum(sum)
    }

    /// Returns `-self`.
    ///
    /// # Errors
    /// Returns an error if a coefficient overflows.
    pub fn neg(&self) -> Result<Dim, DimError> {
        Dim::ZERO.sub(self)
    }

    /// Returns `factor * self`.
    ///
    /// # Errors
    /// Returns an error if a coefficient overflows.
    pub fn scale(&self, factor: i64) -> Result<Dim, DimError> {
        self.mul(&Dim::constant(factor))
    }

    /// Returns `floor(self / k)`.
    ///
    /// Multiples of `k` are pulled out of every coefficient and of the constant; then the rest and `k` are divided
    /// by their common divisor. A negative leading coefficient flips first. So `(4n+6)//4` is `n+1`, and `-(-n//2)`
    /// is `(n+1)//2`. A quotient of a quotient is one quotient.
    ///
    /// # Errors
    /// Returns an error if `k` is not positive, a coefficient overflows or the result is too large.
    pub fn floor_div(&self, k: i64) -> Result<Dim, DimError> {
        if k <= 0 {
            return Err(DimError::Divisor(k));
        }
        if let Some(value) = self.as_constant() {
            return Ok(Dim::constant(value.div_euclid(k)));
        }
        let divisor = i128::from(k);
        let (whole, rest): (Vec<Term>, Vec<Term>) =
            self.terms().into_iter().partition(|(_, coefficient)| coefficient % divisor == 0);
        let mut quotient = Sum::default();
        for (monomial, coefficient) in whole {
            quotient.add_term(monomial, coefficient / divisor)?;
        }
        let flip = rest.first().is_some_and(|(monomial, leading)| !monomial.is_one() && *leading < 0);
        let mut remainder = Sum::default();
        if flip {
            remainder.add_all(&rest, -1)?;
            remainder.add_term(Monomial::one(), divisor - 1)?;
        } else {
            remainder.add_all(&rest, 1)?;
        }
        let sign = if flip { -1 } else { 1 };
        let mut common = divisor;
        let mut proper = Sum::default();
        for (monomial, coefficient) in remainder.into_terms() {
            quotient.add_term(monomial.clone(), sign * coefficient.div_euclid(divisor))?;
            let left = coefficient.rem_euclid(divisor);
            if !monomial.is_one() {
                common = polynomial::gcd(common, left);
            }
            proper.add_term(monomial, left)?;
        }
        // floor((g·P + r) / (g·k)) = floor((P + floor(r/g)) / k) because P is an integer.
        let mut reduced = Sum::default();
        for (monomial, coefficient) in proper.into_terms() {
            reduced.add_term(monomial, coefficient / common)?;
        }
        let divisor = divisor / common;
        let reduced = reduced.into_terms();
        if reduced.iter().all(|(monomial, _)| monomial.is_one()) || divisor == 1 {
            // The rest is less than the divisor (quotient 0), or the divisor is 1 (quotient itself).
            if divisor == 1 {
                quotient.add_all(&reduced, sign)?;
            }
            return Dim::from_sum(quotient);
        }
        if let Some((inner, constant, inner_divisor)) = polynomial::lone_floor(&reduced) {
            // floor((floor(p/a) + c) / b) = floor((p + a·c) / (a·b))
            let k = i128::from(inner_divisor).checked_mul(divisor).ok_or(DimError::Overflow)?;
            let k = i64::try_from(k).map_err(|_| DimError::Overflow)?;
            let constant = constant.checked_mul(inner_divisor.into()).ok_or(DimError::Overflow)?;
            let mut sum = Sum::default();
            sum.add_all(inner, 1)?;
            sum.add_term(Monomial::one(), constant)?;
            quotient.add_all(&Dim::from_sum(sum)?.floor_div(k)?.terms(), sign)?;
            return Dim::from_sum(quotient);
        }
        let divisor = i64::try_from(divisor).map_err(|_| DimError::Overflow)?;
        let atom = Atom::Floor(Arc::new(Poly::new(reduced)?), divisor);
        quotient.add_term(Monomial::atom(atom), sign)?;
        Dim::from_sum(quotient)
    }

    /// Returns `ceil(self / k)`, as `floor((self + k - 1) / k)`.
    ///
    /// # Errors
    /// Returns an error if `k` is not positive, a coefficient overflows or the result is too large.
    pub fn ceil_div(&self, k: i64) -> Result<Dim, DimError> {
        if k <= 0 {
            return Err(DimError::Divisor(k));
        }
        self.add(&Dim::constant(k - 1))?.floor_div(k)
    }

    /// Returns `floor(k / self)`: how often this size fits into a constant. Where the size is not positive, the value is 0.
    ///
    /// # Errors
    /// Returns an error if `k` is not positive, or the result is too large.
    pub fn fits_into(&self, k: i64) -> Result<Dim, DimError> {
        if k <= 0 {
            return Err(DimError::Divisor(k));
        }
        if let Some(value) = self.as_constant() {
            return Ok(Dim::constant(if value > 0 { k / value } else { 0 }));
        }
        let atom = Atom::Fits(k, Arc::new(Poly::new(self.terms())?));
        Dim::from_sum(Sum::single(Monomial::atom(atom), 1)?)
    }

    /// Returns the lesser of two sizes.
    ///
    /// # Errors
    /// Returns an error if the result is too large.
    pub fn least(&self, other: &Dim) -> Result<Dim, DimError> {
        if self == other {
            return Ok(self.clone());
        }
        if let (Some(a), Some(b)) = (self.as_constant(), other.as_constant()) {
            return Ok(Dim::constant(a.min(b)));
        }
        let (first, second) = if self < other { (self, other) } else { (other, self) };
        let [first, second] = [first, second].map(|dim| Ok(Arc::new(Poly::new(dim.terms())?)));
        Dim::from_sum(Sum::single(Monomial::atom(Atom::Least(first?, second?)), 1)?)
    }

    /// Returns the polynomial whose product with `divisor` is `self`, if there is one. Division by zero gives
    /// `None`.
    pub fn exact_div(&self, divisor: &Dim) -> Option<Dim> {
        let divisor = divisor.terms();
        let (lead, lead_coefficient) = divisor.first()?;
        let mut rest = Sum::default();
        rest.add_all(&self.terms(), 1).ok()?;
        let mut quotient = Sum::default();
        // The leading term of a product is the product of the leading terms, so each step is forced. `add_term`
        // refuses a quotient with too many terms.
        while let Some((monomial, coefficient)) = rest.leading() {
            let monomial = monomial.divided_by(lead)?;
            if coefficient.checked_rem(*lead_coefficient)? != 0 {
                return None;
            }
            let coefficient = coefficient / lead_coefficient;
            for (factor, scale) in &divisor {
                let scale = coefficient.checked_mul(*scale)?.checked_neg()?;
                rest.add_term(monomial.times(factor).ok()?, scale).ok()?;
            }
            quotient.add_term(monomial, coefficient).ok()?;
        }
        Dim::from_sum(quotient).ok()
    }

    /// Returns the sum of those terms that a size divides, divided by it, and the sum of the others.
    ///
    /// # Errors
    /// Returns an error if a coefficient overflows or the result is too large.
    pub fn div_terms(&self, divisor: &Dim) -> Result<(Dim, Dim), DimError> {
        let (mut quotient, mut rest) = (Dim::ZERO, Dim::ZERO);
        for (monomial, coefficient) in self.terms() {
            let term = Dim::from_sum(Sum::single(monomial, coefficient)?)?;
            match term.exact_div(divisor) {
                Some(part) => quotient = quotient.add(&part)?,
                None => rest = rest.add(&term)?,
            }
        }
        Ok((quotient, rest))
    }

    /// Returns the product of sizes; 1 for no sizes. If one is the constant 0, so is the product, however large the
    /// others are.
    ///
    /// # Errors
    /// Returns an error if a coefficient overflows or the result is too large.
    pub fn product<'a>(dims: impl IntoIterator<Item = &'a Dim>) -> Result<Dim, DimError> {
        let mut product = Ok(Dim::ONE);
        for dim in dims {
            if dim.is_zero() {
                return Ok(Dim::ZERO);
            }
            product = product.and_then(|product: Dim| product.mul(dim));
        }
        product
    }

    /// Returns the value for given values of the symbols.
    ///
    /// # Errors
    /// Returns an error if a symbol has no value or the value overflows.
    pub fn evaluate(&self, value_of: &dyn Fn(SymbolId) -> Option<i64>) -> Result<i64, DimError> {
        match &self.0 {
            Repr::Constant(value) => Ok(*value),
            Repr::Symbol(symbol) => value_of(*symbol).ok_or(DimError::Unbound(*symbol)),
            Repr::Poly(poly) => i64::try_from(poly.evaluate(value_of)?).map_err(|_| DimError::Overflow),
        }
    }

    /// Returns the symbols that occur, including those within quotients; ascending and distinct.
    pub fn symbols(&self) -> Vec<SymbolId> {
        match &self.0 {
            Repr::Constant(_) => Vec::new(),
            Repr::Symbol(symbol) => vec![*symbol],
            Repr::Poly(poly) => {
                let mut symbols = Vec::new();
                poly.collect_symbols(&mut symbols);
                symbols.sort_unstable();
                symbols.dedup();
                symbols
            }
        }
    }

    /// Returns `(k, rest)` with `self = k * symbol + rest`, where `k` is a nonzero constant and `symbol` does not
    /// occur in `rest`.
    pub fn linear_in(&self, symbol: SymbolId) -> Option<(i64, Dim)> {
        let (linear, rest): (Vec<Term>, Vec<Term>) = self
            .terms()
            .into_iter()
            .partition(|(monomial, _)| *monomial == Monomial::atom(Atom::Symbol(symbol)));
        let [(_, coefficient)] = linear.as_slice() else { return None };
        let coefficient = i64::try_from(*coefficient).ok()?;
        let mut sum = Sum::default();
        sum.add_all(&rest, 1).ok()?;
        let rest = Dim::from_sum(sum).ok()?;
        (!rest.symbols().contains(&symbol)).then_some((coefficient, rest))
    }

    /// Returns the size with a symbol replaced by `value`.
    ///
    /// # Errors
    /// Returns an error if a coefficient overflows or the result is too large.
    pub fn substitute(&self, symbol: SymbolId, value: &Dim) -> Result<Dim, DimError> {
        self.substitute_all(&|own| (own == symbol).then_some(value))
    }

    /// Returns the size with all symbols that have a value replaced by it.
    ///
    /// # Errors
    /// Returns an error if a coefficient overflows or the result is too large.
    pub(crate) fn substitute_all<'a>(
        &self,
        value_of: &dyn Fn(SymbolId) -> Option<&'a Dim>,
    ) -> Result<Dim, DimError> {
        match &self.0 {
            Repr::Constant(_) => Ok(self.clone()),
            Repr::Symbol(own) => Ok(value_of(*own).unwrap_or(self).clone()),
            // Rebuild only if necessary: coefficients may be too large to multiply out again.
            Repr::Poly(_) if !self.symbols().into_iter().any(|symbol| value_of(symbol).is_some()) => {
                Ok(self.clone())
            }
            Repr::Poly(poly) => Dim::substitute_terms(poly.terms(), value_of),
        }
    }

    fn substitute_terms<'a>(
        terms: &[Term],
        value_of: &dyn Fn(SymbolId) -> Option<&'a Dim>,
    ) -> Result<Dim, DimError> {
        let mut sum = Sum::default();
        for (monomial, coefficient) in terms {
            let mut product = Dim::from_sum(Sum::single(Monomial::one(), *coefficient)?)?;
            for (atom, exponent) in monomial.factors() {
                let factor = match atom {
                    Atom::Symbol(own) => value_of(*own).cloned().unwrap_or(Dim::symbol(*own)),
                    Atom::Floor(inner, divisor) => {
                        Dim::substitute_terms(inner.terms(), value_of)?.floor_div(*divisor)?
                    }
                    Atom::Fits(k, inner) => Dim::substitute_terms(inner.terms(), value_of)?.fits_into(*k)?,
                    Atom::Least(first, second) => {
                        let first = Dim::substitute_terms(first.terms(), value_of)?;
                        first.least(&Dim::substitute_terms(second.terms(), value_of)?)?
                    }
                };
                for _ in 0..*exponent {
                    product = product.mul(&factor)?;
                }
            }
            sum.add_all(&product.terms(), 1)?;
        }
        Dim::from_sum(sum)
    }

    fn terms(&self) -> Vec<Term> {
        match &self.0 {
            Repr::Constant(0) => Vec::new(),
            Repr::Constant(value) => vec![(Monomial::one(), i128::from(*value))],
            Repr::Symbol(symbol) => vec![(Monomial::atom(Atom::Symbol(*symbol)), 1)],
            Repr::Poly(poly) => poly.terms().to_vec(),
        }
    }

    fn from_sum(sum: Sum) -> Result<Dim, DimError> {
        let terms = sum.into_terms();
        match terms.as_slice() {
            [] => return Ok(Dim::ZERO),
            [(monomial, coefficient)] if monomial.is_one() => {
                return i64::try_from(*coefficient).map(Dim::constant).map_err(|_| DimError::Overflow);
            }
            [(monomial, 1)] => {
                if let Some(symbol) = monomial.as_symbol() {
                    return Ok(Dim::symbol(symbol));
                }
            }
            _ => {}
        }
        Ok(Dim(Repr::Poly(Arc::new(Poly::new(terms)?))))
    }
}

impl From<i64> for Dim {
    fn from(value: i64) -> Self {
        Dim::constant(value)
    }
}

impl From<SymbolId> for Dim {
    fn from(symbol: SymbolId) -> Self {
        Dim::symbol(symbol)
    }
}
