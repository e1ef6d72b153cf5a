//! Prints sizes and types.

use super::sizes::evaluate;
use broadloom_ir::SymbolId;
use broadloom_ir::dim::{Dim, Facts};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{CheckedGraph, Demand, InputInfo, SymbolInfo, SymbolKind};
use broadloom_ir::shape::Shape;

/// The names of a graph's symbols, followed by the host symbols of a schedule.
pub(crate) struct SymbolNames<'a>(pub(crate) &'a CheckedGraph);

impl SymbolNames<'_> {
    pub(crate) fn dim(&self, dim: &Dim) -> String {
        dim.display(&|symbol| self.0.named(symbol)).to_string()
    }

    pub(crate) fn shape(&self, shape: &Shape) -> String {
        let dims: Vec<String> = shape.iter().map(|dim| self.dim(dim)).collect();
        format!("[{}]", dims.join(", "))
    }

    /// Returns the shape of an input as declared, with `#` before each size that may be 1.
    pub(crate) fn input(&self, input: &InputInfo) -> String {
        let dim = |(axis, dim): (usize, &Dim)| {
            format!("{}{}", if input.may_be_one.contains(&axis) { "#" } else { "" }, self.dim(dim))
        };
        format!("[{}]", input.shape.iter().enumerate().map(dim).collect::<Vec<_>>().join(", "))
    }

    /// Returns what a condition requires and the actual values: `n >= 1`, `n is 0`.
    pub(crate) fn demand(&self, demand: &Demand, values: &[Option<i64>]) -> (String, String) {
        let shown =
            |dim: &Dim| evaluate(dim, values).map_or("too large".to_owned(), |value| value.to_string());
        match demand {
            Demand::Equal(left, right) => {
                let sides = [left, right].map(|dim| (self.dim(dim), shown(dim)));
                let have = sides.iter().filter(|(text, value)| text != value);
                let have: Vec<String> = have.map(|(text, value)| format!("{text} is {value}")).collect();
                (format!("{} == {}", sides[0].0, sides[1].0), have.join(" and "))
            }
            Demand::NonNegative(dim) => {
                // `n - 1 >= 0` reads better as `n >= 1`.
                let constant = dim.evaluate(&|_| Some(0)).unwrap_or(0);
                let rest = dim.sub(&Dim::constant(constant));
                match rest {
                    Ok(rest) if rest.as_constant().is_none() && constant != 0 => {
                        let negated =
                            rest.neg().ok().filter(|negated| self.dim(negated).len() < self.dim(&rest).len());
                        let (side, at, bound) = match &negated {
                            Some(negated) => (negated, "<=", i128::from(constant)),
                            None => (&rest, ">=", -i128::from(constant)),
                        };
                        (
                            format!("{} {at} {bound}", self.dim(side)),
                            format!("{} is {}", self.dim(side), shown(side)),
                        )
                    }
                    _ => (format!("{} >= 0", self.dim(dim)), format!("{} is {}", self.dim(dim), shown(dim))),
                }
            }
        }
    }
}

/// Returns text such as `f32[n, 3]`.
pub(crate) fn type_text(graph: &CheckedGraph, dtype: DType, shape: &Shape) -> String {
    format!("{dtype}{}", SymbolNames(graph).shape(shape))
}

/// Returns the symbols that users know by name, of which each call may give the sizes.
pub(crate) fn named_symbols(graph: &CheckedGraph) -> impl Iterator<Item = (SymbolId, &SymbolInfo)> {
    let symbols = graph.symbols().iter().enumerate().map(|(at, info)| (SymbolId::new(at), info));
    symbols.filter(|(_, info)| info.kind != SymbolKind::Flexible && info.kind.decided_by().is_none())
}

/// Returns what was declared of a symbol, in terms of its name; `None` if nothing was.
pub(crate) fn stated(info: &SymbolInfo) -> Option<String> {
    let Facts { lower, upper } = info.facts;
    let mut facts = Vec::new();
    facts.extend((lower > 0).then(|| format!("at least {}", lower.saturating_mul(info.unit))));
    facts.extend(upper.map(|upper| format!("at most {}", upper.saturating_mul(info.unit))));
    facts.extend((info.unit > 1).then(|| format!("a multiple of {}", info.unit)));
    (!facts.is_empty()).then(|| facts.join(" and "))
}

/// Returns the known name most similar to a wrong one, if any is similar.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Of longer names, only this many characters at the beginning are compared.
    const LONGEST: usize = 64;
    let wrong: Vec<char> = wrong.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let distance = |name: &str| {
        let name: Vec<char> = name.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
        let mut row: Vec<usize> = (0..=name.len()).collect();
        for (i, a) in wrong.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, b) in name.iter().enumerate() {
                let substituted = diagonal + usize::from(a != b);
                diagonal = row[j + 1];
                row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[name.len()]
    };
    let allowed = wrong.len().div_ceil(3);
    let (distance, name) = known.map(|name| (distance(name), name)).min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed).then_some(name)
}
