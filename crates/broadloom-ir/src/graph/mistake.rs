//! Mistakes as they are made: recorded as plain data, and [explained](crate::diagnostics) once the graph is checked.

use super::{Graph, Operands, POISON};
use crate::ids::ExprId;
use crate::problem::{Code, Problem, Size};
use crate::site::Site;

/// One mistake, or a warning. What a diagnostic of it says is what was known when it was made.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mistake {
    /// What is wrong.
    pub problem: Problem,
    /// Name of the op or declaration, if one is to blame.
    pub op: Option<Box<str>>,
    /// What it was applied to.
    pub operands: Operands,
    /// Where it was called.
    pub site: Site,
    /// The sizes of the operands. What the op had found of inferred ones is taken back.
    pub(crate) dims: Vec<Vec<Size>>,
    /// The inputs that were declared, by which symbols are explained.
    pub(crate) inputs: usize,
}

impl Mistake {
    /// The code of the kind of mistake.
    pub fn code(&self) -> Code {
        self.problem.code()
    }
}

impl Graph {
    /// Records a mistake that is no op's of this graph; the result is poisoned.
    pub fn report(&mut self, problem: Problem, op: Option<&str>, site: Site) -> ExprId {
        let mistake = self.mistake(problem, op, &[], site);
        self.mistakes.push(mistake);
        ExprId::new(POISON)
    }

    /// The mistakes recorded so far.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }

    /// Forgets the mistakes after the first `count` ones that are not to be kept.
    pub fn retain_mistakes(&mut self, count: usize, keep: impl FnMut(&Mistake) -> bool) {
        let mut later = self.mistakes.split_off(count.min(self.mistakes.len()));
        later.retain(keep);
        self.mistakes.extend(later);
    }

    /// The result of an op, or poison and a record of the mistake. A refused op has found no sizes, whatever refuses it
    /// and after how many comparisons.
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

    /// What was made since the last call was settled belongs to a call of this name.
    fn attribute(&mut self, op: &str) {
        let [entries, obligations] = self.settled;
        let before = entries.checked_sub(1).and_then(|last| self.entries[last].call.clone());
        self.settled = [self.entries.len(), self.obligations.len()];
        let obligations = self.obligations.get_mut(obligations..).unwrap_or_default();
        let entries = self.entries.get_mut(entries..).unwrap_or_default();
        if obligations.is_empty() && entries.is_empty() {
            return;
        }
        // Calls of one name follow each other.
        let call = before.filter(|before| **before == *op).unwrap_or_else(|| op.into());
        for obligation in obligations {
            obligation.requirement = obligation.requirement.of_call(op);
            obligation.call = Some(call.clone());
        }
        entries.iter_mut().for_each(|entry| entry.call = Some(call.clone()));
    }

    /// A mistake, with what is known now of the sizes of its operands.
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
