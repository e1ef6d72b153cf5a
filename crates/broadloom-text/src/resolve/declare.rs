//! Declarations: symbols, assumptions about them, and inputs.

use super::{Outcome, Resolver, Value, mistake};
use crate::error::{NameOf, Problem};
use crate::names;
use crate::source::Span;
use crate::syntax::{Fact, Infix, InputSize, Name};
use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::InputDim;

impl Resolver<'_> {
    pub(super) fn declare(&mut self, name: &Name, symbol: SymbolId) {
        self.symbols.entry(name.text.clone()).or_insert((symbol, name.span));
    }

    pub(super) fn input(&mut self, name: &Name, dtype: &Name, sizes: &[InputSize]) -> Outcome<()> {
        let is_input = self.inputs.contains(&name.text);
        if !is_input && self.names.contains_key(&name.text) {
            return mistake(Problem::Taken { name: name.text.clone() }, name.span);
        }
        // Define the name even if the declaration has a mistake.
        if !is_input {
            self.names.insert(name.text.clone(), Value::Poison);
        }
        let Some(dtype) = names::dtype(&dtype.text) else {
            return self.unknown(NameOf::DType, dtype, names::dtypes());
        };
        let mut dims = Vec::new();
        for size in sizes {
            dims.push(match size {
                InputSize::Inferred => InputDim::Inferred,
                InputSize::Given(id) => InputDim::Size(self.size(*id)?),
                InputSize::OneOr(id) => InputDim::OneOr(self.size(*id)?),
            });
        }
        self.inputs.insert(name.text.clone());
        if !self.source.slice(name.span).starts_with('"') {
            self.in_place.insert(name.text.clone());
        }
        let expr = self.build(name.span, |graph, site| graph.input_of(&name.text, dtype, &dims, site))?;
        if !self.graph.is_poisoned(expr) {
            self.names.insert(name.text.clone(), Value::Tensor(expr));
        }
        Ok(())
    }

    pub(super) fn fact(&mut self, fact: &Fact) -> Outcome<()> {
        let (span, site) = (fact.span, self.sites.site(fact.span));
        if let Value::Modulo(dim, of) = self.values[fact.left.0 as usize].clone() {
            let symbol = self.lone_symbol(&dim, self.tree.span(fact.left))?;
            if fact.relation != Infix::Equal || self.size(fact.right)? != Dim::ZERO {
                let what = "a remainder can only be stated to be 0: `n % 8 == 0`";
                return mistake(Problem::Program { what }, span);
            }
            self.graph.state_multiple(symbol, of, site);
            return Ok(());
        }
        let (left, right) = (self.size(fact.left)?, self.size(fact.right)?);
        if fact.is_hint {
            let symbol = self.lone_symbol(&left, self.tree.span(fact.left))?;
            let Some(size) = right.as_constant() else {
                let (expected, found) = ("a number", "a size");
                return mistake(Problem::Kind { expected, found }, self.tree.span(fact.right));
            };
            self.graph.state_likely(symbol, size);
            return Ok(());
        }
        // Bring all bounds into one form: `large >= small`.
        let (large, small) = match fact.relation {
            Infix::GreaterEqual => (left, right),
            Infix::LessEqual => (right, left),
            Infix::Greater => (left, self.arithmetic(span, || right.add(&Dim::ONE))?),
            Infix::Less => (right, self.arithmetic(span, || left.add(&Dim::ONE))?),
            _ => {
                self.graph.declare_equal(&left, &right, site);
                return Ok(());
            }
        };
        match (self.symbol_of(&large), self.symbol_of(&small), large.as_constant(), small.as_constant()) {
            (Some(symbol), _, _, Some(lower)) => self.graph.state_range(symbol, Some(lower), None, site),
            (_, Some(symbol), Some(upper), _) => self.graph.state_range(symbol, None, Some(upper), site),
            _ => {
                // Add a symbol for the difference, which is zero or more.
                let spare = self.arithmetic(span, || large.sub(&small))?;
                let name = format!("spare_{}", self.graph.symbols().len());
                let symbol = self.graph.symbol(&name, site);
                self.graph.declare_equal(&Dim::symbol(symbol), &spare, site);
            }
        }
        Ok(())
    }

    /// The symbol that is exactly this size.
    fn symbol_of(&self, dim: &Dim) -> Option<SymbolId> {
        let &[symbol] = dim.symbols().as_slice() else { return None };
        (self.graph.symbol_size(symbol) == *dim).then_some(symbol)
    }

    fn lone_symbol(&self, dim: &Dim, span: Span) -> Outcome<SymbolId> {
        match self.symbol_of(dim) {
            Some(symbol) => Ok(symbol),
            None => {
                let (expected, found) = ("a symbol without a declared equality", "another size");
                mistake(Problem::Kind { expected, found }, span)
            }
        }
    }
}
