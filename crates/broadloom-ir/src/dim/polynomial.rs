//! Polynomials in normal form: the arithmetic behind [`Dim`](super::Dim).

use super::DimError;
use crate::ids::SymbolId;
use smallvec::SmallVec;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most terms of a polynomial. Programs have a handful; the limit keeps products of hostile sums small.
const MAX_TERMS: usize = 128;
/// The greatest degree of a monomial.
const MAX_DEGREE: u32 = 64;
/// The most symbols and terms in a polynomial, with nested quotients counted at each occurrence. It bounds the
/// time of comparing, hashing and printing, and the depth of nesting.
const MAX_WEIGHT: usize = 1024;

/// A factor of a monomial.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Atom {
    Symbol(SymbolId),
    /// The polynomial divided by the positive constant, rounded down.
    Floor(Arc<Poly>, i64),
    /// The positive constant divided by the polynomial, rounded down; 0 where the polynomial is not positive.
    Fits(i64, Arc<Poly>),
    /// The lesser of two different polynomials, in order.
    Least(Arc<Poly>, Arc<Poly>),
}

/// A product of atoms with exponents of at least 1; atoms are ascending and distinct. Empty for the constant 1.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Monomial(SmallVec<[(Atom, u32); 2]>);

/// A monomial and its nonzero coefficient.
pub(super) type Term = (Monomial, i128);

impl Monomial {
    /// The monomial of the constant term.
    pub(super) fn one() -> Monomial {
        Monomial(SmallVec::new())
    }

    pub(super) fn atom(atom: Atom) -> Monomial {
        Monomial(SmallVec::from_iter([(atom, 1)]))
    }

    pub(super) fn factors(&self) -> &[(Atom, u32)] {
        &self.0
    }

    pub(super) fn is_one(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn as_symbol(&self) -> Option<SymbolId> {
        if let [(Atom::Symbol(symbol), 1)] = self.factors() { Some(*symbol) } else { None }
    }

    fn degree(&self) -> u32 {
        self.0.iter().map(|(_, exponent)| exponent).sum()
    }

    pub(super) fn times(&self, other: &Monomial) -> Result<Monomial, DimError> {
        let mut factors = SmallVec::with_capacity(self.0.len() + other.0.len());
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some((a, x)), Some((b, y))) = (left.peek(), right.peek()) {
            match a.cmp(b) {
                Ordering::Less => factors.extend(left.next().cloned()),
                Ordering::Greater => factors.extend(right.next().cloned()),
                Ordering::Equal => {
                    factors.push((a.clone(), x + y));
                    left.next();
                    right.next();
                }
            }
        }
        factors.extend(left.chain(right).cloned());
        let product = Monomial(factors);
        if product.degree() > MAX_DEGREE { Err(DimError::TooLarge) } else { Ok(product) }
    }

    pub(super) fn divided_by(&self, other: &Monomial) -> Option<Monomial> {
        let mut factors = self.0.clone();
        for (atom, exponent) in &other.0 {
            let (_, have) = factors.iter_mut().find(|(have, _)| have == atom)?;
            *have = have.checked_sub(*exponent)?;
        }
        factors.retain(|(_, exponent)| *exponent > 0);
        Some(Monomial(factors))
    }
}

impl Ord for Monomial {
    /// Orders by degree, then lexicographically, with the least atom weighing most. Multiplication preserves this
    /// order, which polynomial division needs.
    fn cmp(&self, other: &Self) -> Ordering {
        let by_degree = self.degree().cmp(&other.degree());
        by_degree.then_with(|| {
            for ((a, x), (b, y)) in self.0.iter().zip(&other.0) {
                // The side that lacks the lesser atom has exponent zero there.
                let difference = b.cmp(a).then(x.cmp(y));
                if difference != Ordering::Equal {
                    return difference;
                }
            }
            self.0.len().cmp(&other.0.len())
        })
    }
}

impl PartialOrd for Monomial {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Terms in descending order of their monomials.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Poly {
    terms: Box<[Term]>,
    weight: usize,
}

impl Poly {
    pub(super) fn new(terms: Vec<Term>) -> Result<Poly, DimError> {
        let mut weight = terms.len();
        for (atom, _) in terms.iter().flat_map(|(monomial, _)| monomial.factors()) {
            weight += match atom {
                Atom::Symbol(_) => 1,
                Atom::Floor(inner, _) | Atom::Fits(_, inner) => 1 + inner.weight,
                Atom::Least(first, second) => 1 + first.weight + second.weight,
            };
        }
        if terms.len() > MAX_TERMS || weight > MAX_WEIGHT {
            return Err(DimError::TooLarge);
        }
        Ok(Poly { terms: terms.into(), weight })
    }

    pub(super) fn terms(&self) -> &[Term] {
        &self.terms
    }

    pub(super) fn evaluate(&self, value_of: &dyn Fn(SymbolId) -> Option<i64>) -> Result<i128, DimError> {
        let mut sum = 0_i128;
        for (monomial, coefficient) in &self.terms {
            let mut product = *coefficient;
            for (atom, exponent) in monomial.factors() {
                let value = match atom {
                    Atom::Symbol(symbol) => value_of(*symbol).ok_or(DimError::Unbound(*symbol))?.into(),
                    Atom::Floor(inner, divisor) => inner.evaluate(value_of)?.div_euclid((*divisor).into()),
                    Atom::Fits(k, inner) => match inner.evaluate(value_of)? {
                        divisor @ 1.. => i128::from(*k) / divisor,
                        _ => 0,
                    },
                    Atom::Least(first, second) => first.evaluate(value_of)?.min(second.evaluate(value_of)?),
                };
                let power = value.checked_pow(*exponent).ok_or(DimError::Overflow)?;
                product = product.checked_mul(power).ok_or(DimError::Overflow)?;
            }
            sum = sum.checked_add(product).ok_or(DimError::Overflow)?;
        }
        Ok(sum)
    }

    pub(super) fn collect_symbols(&self, symbols: &mut Vec<SymbolId>) {
        for (atom, _) in self.terms.iter().flat_map(|(monomial, _)| monomial.factors()) {
            match atom {
                Atom::Symbol(symbol) => symbols.push(*symbol),
                Atom::Floor(inner, _) | Atom::Fits(_, inner) => inner.collect_symbols(symbols),
                Atom::Least(first, second) => {
                    first.collect_symbols(symbols);
                    second.collect_symbols(symbols);
                }
            }
        }
    }
}

/// A sum under construction.
#[derive(Default)]
pub(super) struct Sum(BTreeMap<Reverse<Monomial>, i128>);

impl Sum {
    pub(super) fn single(monomial: Monomial, coefficient: i128) -> Result<Sum, DimError> {
        let mut sum = Sum::default();
        sum.add_term(monomial, coefficient)?;
        Ok(sum)
    }

    pub(super) fn add_term(&mut self, monomial: Monomial, coefficient: i128) -> Result<(), DimError> {
        let key = Reverse(monomial);
        let before = self.0.get(&key).copied().unwrap_or(0);
        match before.checked_add(coefficient).ok_or(DimError::Overflow)? {
            0 => {
                self.0.remove(&key);
            }
            sum => {
                self.0.insert(key, sum);
            }
        }
        if self.0.len() > MAX_TERMS { Err(DimError::TooLarge) } else { Ok(()) }
    }

    pub(super) fn add_all(&mut self, terms: &[Term], sign: i128) -> Result<(), DimError> {
        for (monomial, coefficient) in terms {
            let coefficient = coefficient.checked_mul(sign).ok_or(DimError::Overflow)?;
            self.add_term(monomial.clone(), coefficient)?;
        }
        Ok(())
    }

    pub(super) fn leading(&self) -> Option<(Monomial, i128)> {
        self.0.first_key_value().map(|(monomial, coefficient)| (monomial.0.clone(), *coefficient))
    }

    pub(super) fn into_terms(self) -> Vec<Term> {
        self.0.into_iter().map(|(monomial, coefficient)| (monomial.0, coefficient)).collect()
    }
}

/// Returns `(p, c, a)` if the terms are `floor(p / a) + c`.
pub(super) fn lone_floor(terms: &[Term]) -> Option<(&[Term], i128, i64)> {
    let (monomial, constant) = match terms {
        [(monomial, 1)] => (monomial, 0),
        [(monomial, 1), (one, constant)] if one.is_one() => (monomial, *constant),
        _ => return None,
    };
    match monomial.factors() {
        [(Atom::Floor(inner, divisor), 1)] => Some((inner.terms(), constant, *divisor)),
        _ => None,
    }
}

/// Returns the greatest common divisor of the magnitudes; that of 0 and `x` is `x`.
pub(crate) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.saturating_abs(), b.saturating_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
