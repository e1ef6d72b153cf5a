//! Mistakes as they happen: recorded as plain data, and [explained](crate::diagnostics) once the graph is checked.

use super::{Graph, Operands, POISON};
use crate::ids::ExprId;
use crate::problem::{Code, Problem, Size};
use crate::site::Site;
use std::sync::Arc;

/// A mistake or a warning. Its diagnostic uses only what was known when it was made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mistake {
    /// What is wrong.
    pub problem: Problem,
    /// The name of the op or declaration at fault, if any.
    pub op: Option<Box<str>>,
    /// The operands.
    pub operands: Operands,
    /// The place of the call.
    pub site: Site,
    /// The sizes of the operands. Whatever the op had found about inferred sizes is undone.
    pub(crate) dims: Vec<Vec<Size>>,
    /// The number of inputs declared so far; they explain symbols.
    pub(crate) inputs: usize,
}

impl Mistake {
    /// Returns the code of the kind of mistake.
    pub fn code(&self) -> Code {
        self.problem.code()
    }
}

/// The name to which a list of numbers is attributed.
pub const LIST: &str = "[..]";

impl Graph {
    /// Records a mistake that belongs to no op of this graph; the result is poisoned.
    pub fn report(&mut self, problem: Problem, op: Option<&str>, site: Site) -> ExprId {
        let mistake = self.mistake(problem, op, &[], site);
        self.mistakes.push(mistake);
        ExprId::new(POISON)
    }

    /// Returns the mistakes recorded so far.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// Drops the mistakes after the first `count` unless `keep` accepts them.
    pub fn retain_mistakes(&mut self, count: usize, keep: impl FnMut(&Mistake) -> bool) {
        let mut later = self.mistakes.split_off(count.min(self.mistakes.len()));
        later.retain(keep);
        self.mistakes.extend(later);
    }

    /// Returns the result of an op, or records the mistake and returns poison. A refused op finds no sizes,
    /// whatever refuses it and after how many comparisons.
    pub(super) fn settle(
        &mut self,
        result: Result<ExprId, Problem>,
        op: &str,
        operands: &[ExprId],
        site: Site,
    ) -> ExprId {
        match result {
            Ok(expr) => {
                self.unifier.keep();
                self.attribute(op);
                expr
            }
            Err(problem) => {
                let problem = problem.of_call(op);
                let mistake = self.mistake(problem, Some(op), operands, site);
                self.unifier.undo(0);
                self.mistakes.push(mistake);
                ExprId::new(POISON)
            }
        }
    }

    /// Attributes an expression to the function by whose name the user made it, or to a [`LIST`]; without this it is that of
    /// the last method of the graph.
    pub fn attribute_to(&mut self, expr: ExprId, name: &str) {
        if let Some(entry) = self.entries.get_mut(expr.index()) {
            entry.call = Some(name.into());
        }
    }

    /// Runs `action`, and attributes everything that it makes, mistakes included, to one call of a function: of `name`, at `site`.
    /// It is for functions that a front end adds to those of the graph, whose callers do not see what they are composed of.
    pub fn within_call(
        &mut self,
        name: &str,
        site: Site,
        action: impl FnOnce(&mut Graph) -> ExprId,
    ) -> ExprId {
        let [entries, obligations] = [self.entries.len(), self.obligations.len()];
        let [mistakes, warnings] = [self.mistakes.len(), self.warnings.len()];
        let expr = action(self);
        let call: Arc<str> = name.into();
        for entry in self.entries.get_mut(entries..).unwrap_or_default() {
            (entry.site, entry.call) = (site, Some(call.clone()));
        }
        for obligation in self.obligations.get_mut(obligations..).unwrap_or_default() {
            (obligation.site, obligation.call) = (site, Some(call.clone()));
            obligation.requirement = obligation.requirement.of_call(name);
        }
        let mistakes = self.mistakes.get_mut(mistakes..).unwrap_or_default();
        let warnings = self.warnings.get_mut(warnings..).unwrap_or_default();
        mistakes.iter_mut().chain(warnings).for_each(|mistake| mistake.site = site);
        expr
    }

    /// Returns the function to which an expression is attributed.
    pub(crate) fn call_of(&self, expr: ExprId) -> Option<&str> {
        self.entries.get(expr.index())?.call.as_deref()
    }

    /// Attributes everything made since the last settled call to a call of this name.
    fn attribute(&mut self, op: &str) {
        let [entries, obligations] = self.settled;
        let before = entries.checked_sub(1).and_then(|last| self.entries[last].call.clone());
        self.settled = [self.entries.len(), self.obligations.len()];
        let obligations = self.obligations.get_mut(obligations..).unwrap_or_default();
        let entries = self.entries.get_mut(entries..).unwrap_or_default();
        if obligations.is_empty() && entries.is_empty() {
            return;
        }
        // Calls of one name often follow each other.
        let call = before.filter(|before| **before == *op).unwrap_or_else(|| op.into());
        for obligation in obligations {
            obligation.requirement = obligation.requirement.of_call(op);
            obligation.call = Some(call.clone());
        }
        entries.iter_mut().for_each(|entry| entry.call = Some(call.clone()));
    }

    /// Returns a mistake with what is known now of the sizes of its operands.
    pub(super) fn mistake(
        &self,
        problem: Problem,
        op: Option<&str>,
        operands: &[ExprId],
        site: Site,
    ) -> Mistake {
        let dims = operands.iter().map(|&operand| self.sizes(self.written(operand))).collect();
        let (op, operands, inputs) = (op.map(Box::from), operands.into(), self.inputs.len());
        Mistake { problem, op, operands, site, dims, inputs }
    }
}
