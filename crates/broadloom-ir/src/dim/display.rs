//! Printing of sizes: `n*m`, `2*n`, `n-1`, `(n+1)//2`.

use super::Dim;
use super::polynomial::{Atom, Monomial, Term};
use crate::ids::SymbolId;
use std::fmt;

/// Names of symbols for printing.
pub(crate) type NamesOf<'a> = &'a dyn Fn(SymbolId) -> &'a str;

struct Shown<'a> {
    dim: &'a Dim,
    names: NamesOf<'a>,
}

impl Dim {
    /// The size as text, in Python's notation: `n*m`, `2*n`, `n-1`, `(n+1)//2`.
    pub fn display<'a>(&'a self, names: &'a dyn Fn(SymbolId) -> &'a str) -> impl fmt::Display + 'a {
        Shown { dim: self, names }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Text with a width is padded by the formatter, so it must be one piece.
        let mut text = String::new();
        write_terms(&mut text, &self.dim.terms(), &|f, symbol| f.write_str((self.names)(symbol)))?;
        f.pad(&text)
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_terms(f, &self.terms(), &|f, symbol| write!(f, "{symbol}"))
    }
}

impl fmt::Debug for super::Repr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Dim(self.clone()), f)
    }
}

type WriteSymbol<'a> = &'a dyn Fn(&mut dyn fmt::Write, SymbolId) -> fmt::Result;

fn write_terms(f: &mut dyn fmt::Write, terms: &[Term], symbol: WriteSymbol) -> fmt::Result {
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
        write_monomial(f, monomial, shows_number, alone, symbol)?;
    }
    Ok(())
}

fn write_monomial(
    f: &mut dyn fmt::Write,
    monomial: &Monomial,
    mut continues: bool,
    alone: bool,
    symbol: WriteSymbol,
) -> fmt::Result {
    let parenthesised = !alone || !matches!(monomial.factors(), [(_, 1)]);
    for (atom, exponent) in monomial.factors() {
        for _ in 0..*exponent {
            if continues {
                f.write_str("*")?;
            }
            continues = true;
            match atom {
                Atom::Symbol(id) => symbol(f, *id)?,
                Atom::Floor(inner, divisor) => {
                    let (open, close) = if parenthesised { ("(", ")") } else { ("", "") };
                    f.write_str(open)?;
                    let lone = matches!(inner.terms(), [(monomial, 1)] if monomial.as_symbol().is_some());
                    let (inner_open, inner_close) = if lone { ("", "") } else { ("(", ")") };
                    f.write_str(inner_open)?;
                    write_terms(f, inner.terms(), symbol)?;
                    write!(f, "{inner_close}//{divisor}{close}")?;
                }
            }
        }
    }
    Ok(())
}
