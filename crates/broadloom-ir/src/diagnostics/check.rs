//! Where a graph's mistakes are explained: when someone asks for them, and when it is finished.

use super::help::explain;
use super::{Diagnostic, Diagnostics};
use crate::graph::{CheckedGraph, Graph, Mistake};
use crate::ids::ExprId;

impl Graph {
    /// What the outputs and the [assignments](Graph::assign) need, renumbered densely, if the graph has no mistakes.
    /// Assignments are outputs that follow the others, in order.
    ///
    /// # Errors
    /// Every mistake recorded so far, whether the outputs need it or not; no outputs; bad or repeated names of
    /// outputs; sizes that inference leaves open; symbols that outputs need and neither an input nor the caller
    /// determines.
    pub fn finish(&self, outputs: &[(&str, ExprId)]) -> Result<CheckedGraph, Diagnostics> {
        Ok(self.finish_numbered(outputs)?.0)
    }

    /// Like [`Graph::finish`], with the number in the checked graph of each expression that is needed.
    pub(crate) fn finish_numbered(
        &self,
        outputs: &[(&str, ExprId)],
    ) -> Result<(CheckedGraph, Vec<Option<ExprId>>), Diagnostics> {
        self.try_finish(outputs).map_err(|mistakes| Diagnostics(self.explained(&mistakes)))
    }

    /// Whether no mistake was recorded so far.
    ///
    /// # Errors
    /// The recorded ones.
    pub fn check(&self) -> Result<(), Diagnostics> {
        Diagnostics::new(self.diagnostics()).map_or(Ok(()), Err)
    }

    /// The mistakes recorded so far.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.explained(self.mistakes())
    }

    /// The warnings recorded so far, each once.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings: Vec<Diagnostic> = Vec::new();
        for warning in self.explained(&self.warnings) {
            // Of different operands that look the same, as in a loop.
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }

    /// Takes back the mistakes recorded after the first `count` ones, for callers that report them on the spot.
    pub fn withdraw_diagnostics(&mut self, count: usize) -> Option<Diagnostics> {
        let withdrawn = self.explained(self.mistakes().get(count..).unwrap_or_default());
        self.retain_mistakes(count, |_| false);
        Diagnostics::new(withdrawn)
    }

    fn explained(&self, mistakes: &[Mistake]) -> Vec<Diagnostic> {
        mistakes.iter().map(|mistake| explain(self, mistake)).collect()
    }
}
