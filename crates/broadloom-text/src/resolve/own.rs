//! Calls of functions that the embedding program adds to the language.

use super::{Outcome, Resolver, Value};
use crate::absent;
use crate::error::{Mistake, NameOf, Problem};
use crate::functions::Own;
use crate::names;
use crate::source::Span;
use crate::syntax::{Argument, Id, Name};
use broadloom_ir::diagnostics::{Diagnostic, Help};

impl Resolver<'_> {
    pub(super) fn own(
        &mut self,
        own: &Own,
        receiver: Option<Id>,
        arguments: &[Argument],
        span: Span,
    ) -> Outcome<Value> {
        let parameters: Vec<&str> = own.parameters.iter().map(|parameter| &**parameter).collect();
        let call = self.bind(&own.name, &parameters, None, receiver, arguments, span)?;
        let operands: Vec<Id> = parameters.iter().filter_map(|parameter| call.get(parameter)).collect();
        self.refuse_codes(None, &operands)?;
        let Some(exprs) = self.tensors(&operands)? else { return Ok(Value::Poison) };
        self.calls_of_own.insert(span, own.name.clone());
        self.build(span, |graph, site| own.call(graph, &exprs, site)).map(Value::Tensor)
    }

    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.get(name).is_some() || names::function(name).is_some()
    }

    /// The mistake for an unknown function, with what to write instead, or why the function is missing.
    pub(super) fn missing(&self, of: NameOf, name: &Name) -> Box<Mistake> {
        let problem = Problem::Unknown { of, name: name.text.clone() };
        let help = absent::instead_among(&name.text, &self.functions);
        let help = help.unwrap_or_else(|| "docs/ops.md lists all functions".to_owned());
        Box::new(Mistake::new(problem, name.span).help(help))
    }

    /// A mistake that the graph found, as the caller of a function of the embedding program sees it: what the function is made of
    /// cannot be changed in the text.
    pub(super) fn of_own(&self, mut diagnostic: Diagnostic, span: Option<Span>) -> Diagnostic {
        if let Some(name) = span.and_then(|span| self.calls_of_own.get(&span)) {
            let text = format!("`{name}` computes this: give it operands that fit").into();
            diagnostic.helps = vec![Help { text, code: None, result: None, assumes: false }];
        }
        diagnostic
    }
}
