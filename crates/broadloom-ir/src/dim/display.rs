//! Prints sizes: `n*m`, `2*n`, `n-1`, `(n+1)//2`.

use super::Dim;
use super::polynomial::{Atom, Monomial, Term, gcd};
use crate::ids::SymbolId;
use std::fmt;

/// A symbol as it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<'a> {
    /// Its name.
    pub name: &'a str,
    /// The name stands for this many times the symbol; positive.
    pub unit: i64,
}

impl<'a> From<&'a str> for Named<'a> {
    fn from(name: &'a str) -> Self {
        Named { name, unit: 1 }
    }
}

struct Shown<'a> {
    dim: &'a Dim,
    names: &'a dyn Fn(SymbolId) -> Named<'a>,
}

impl Dim {
    /// Returns the size as text in Python's notation: `n*m`, `2*n`, `n-1`, `(n+1)//2`. Symbols that count in units
    /// are printed in terms of their names: `3*s`, where `n` is `2*s`, prints as `(3*n)//2`.
    pub fn display<'a>(&'a self, names: &'a dyn Fn(SymbolId) -> Named<'a>) -> impl fmt::Display + 'a {
        Shown { dim: self, names }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The formatter pads text with a width, so it must be one piece.
        let mut text = String::new();
        let unit = |symbol| (self.names)(symbol).unit.max(1);
        let writer = Writer { unit: &unit, symbol: &|f, symbol| f.write_str((self.names)(symbol).name) };
        writer.quotient(&mut text, &self.dim.terms(), 1, false)?;
        f.pad(&text)
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writer = Writer { unit: &|_| 1, symbol: &|f, symbol| write!(f, "{symbol}") };
        writer.quotient(f, &self.terms(), 1, false)
    }
}

impl fmt::Debug for super::Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Dim(self.clone()), f)
    }
}

struct Writer<'a> {
    /// The multiple of the symbol that its name stands for.
    unit: &'a dyn Fn(SymbolId) -> i64,
    symbol: &'a dyn Fn(&mut dyn fmt::Write, SymbolId) -> fmt::Result,
}

impl Writer<'_> {
    /// Prints `terms // divisor`, in parentheses if it is a quotient among other terms.
    fn quotient(&self, f: &mut dyn fmt::Write, terms: &[Term], divisor: i64, among: bool) -> fmt::Result {
        let Some((terms, divisor)) = self.in_names(terms, divisor.into()) else { return f.write_str("…") };
        if divisor == 1 {
            return self.sum(f, &terms);
        }
        let (open, close) = if among { ("(", ")") } else { ("", "") };
        let lone = matches!(terms.as_slice(), [(monomial, 1)] if monomial.as_symbol().is_some());
        let (inner_open, inner_close) = if lone { ("", "") } else { ("(", ")") };
        write!(f, "{open}{inner_open}")?;
        self.sum(f, &terms)?;
        write!(f, "{inner_close}//{divisor}{close}")
    }

    /// Rewrites the quotient in terms of names instead of symbols; `None` if a coefficient overflows.
    fn in_names(&self, terms: &[Term], divisor: i128) -> Option<(Vec<Term>, i128)> {
        let scale = |monomial: &Monomial| {
            monomial.factors().iter().try_fold(1_i128, |scale, (atom, exponent)| match atom {
                Atom::Symbol(symbol) => {
                    scale.checked_mul(i128::from((self.unit)(*symbol)).checked_pow(*exponent)?)
                }
                Atom::Floor(..) | Atom::Fits(..) | Atom::Least(..) => Some(scale),
            })
        };
        let mut common = 1_i128;
        for (monomial, coefficient) in terms {
            let scale = scale(monomial)?;
            let needed = scale / gcd(scale, *coefficient);
            common = common.checked_mul(needed / gcd(common, needed))?;
        }
        let scaled = terms.iter().map(|(monomial, coefficient)| {
            Some((monomial.clone(), coefficient.checked_mul(common)? / scale(monomial)?))
        });
        Some((scaled.collect::<Option<_>>()?, divisor.checked_mul(common)?))
    }

    fn sum(&self, f: &mut dyn fmt::Write, terms: &[Term]) -> fmt::Result {
        if terms.is_empty() {
            return f.write_str("0");
        }
        for (index, (monomial, coefficient)) in terms.iter().enumerate() {
            match (index, *coefficient < 0) {
                (_, true) => f.write_str("-")?,
                (0, false) => {}
                (_, false) => f.write_str("+")?,
            }
            let magnitude = coefficient.unsigned_abs();
            let shows_number = magnitude != 1 || monomial.is_one();
            if shows_number {
                write!(f, "{magnitude}")?;
            }
            // `-n//2` would mean `(-n)//2`, and `2*n//2` `(2*n)//2`.
            let alone = !shows_number && *coefficient > 0;
            self.monomial(f, monomial, shows_number, alone)?;
        }
        Ok(())
    }

    fn monomial(
        &self,
        f: &mut dyn fmt::Write,
        monomial: &Monomial,
        mut continues: bool,
        alone: bool,
    ) -> fmt::Result {
        let among = !alone || !matches!(monomial.factors(), [(_, 1)]);
        for (atom, exponent) in monomial.factors() {
            for _ in 0..*exponent {
                if continues {
                    f.write_str("*")?;
                }
                continues = true;
                match atom {
                    Atom::Symbol(id) => (self.symbol)(f, *id)?,
                    Atom::Floor(inner, divisor) => self.quotient(f, inner.terms(), *divisor, among)?,
                    Atom::Fits(k, inner) => {
                        let (open, close) = if among { ("(", ")") } else { ("", "") };
                        write!(f, "{open}{k}//(")?;
                        self.quotient(f, inner.terms(), 1, false)?;
                        write!(f, "){close}")?;
                    }
                    Atom::Least(first, second) => {
                        f.write_str("min(")?;
                        self.quotient(f, first.terms(), 1, false)?;
                        f.write_str(", ")?;
                        self.quotient(f, second.terms(), 1, false)?;
                        f.write_str(")")?;
                    }
                }
            }
        }
        Ok(())
    }
}
