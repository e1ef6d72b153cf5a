//! Explains a graph's mistakes on request, and when the graph is finished.

use super::help::explain;
use super::{Diagnostic, Diagnostics};
use crate::graph::{CheckedGraph, Graph, Mistake};
use crate::ids::ExprId;

impl Graph {
    /// Returns everything that the outputs and the [assignments](Graph::assign) need, renumbered densely, if the
    /// graph has no mistakes. Assignments are outputs that follow the others, in order.
    ///
    /// # Errors
    /// Returns every mistake recorded so far, whether or not the outputs need it; missing outputs; invalid or
    /// repeated names of outputs; sizes that inference leaves open; and symbols that outputs need but neither an
    /// input nor the caller determines.
    pub fn finish(&self, outputs: &[(&str, ExprId)]) -> Result<CheckedGraph, Diagnostics> {
        Ok(self.finish_numbered(outputs)?.0)
    }

    /// Like [`Graph::finish`], and returns the number in the checked graph of each needed expression.
    pub(crate) fn finish_numbered(
        &self,
        outputs: &[(&str, ExprId)],
    ) -> Result<(CheckedGraph, Vec<Option<ExprId>>), Diagnostics> {
        self.try_finish(outputs).map_err(|mistakes| Diagnostics(self.explained(&mistakes)))
    }

    /// Checks that no mistake has been recorded so far.
    ///
    /// # Errors
    /// Returns the recorded mistakes.
    pub fn check(&self) -> Result<(), Diagnostics> {
        Diagnostics::new(self.diagnostics()).map_or(Ok(()), Err)
    }

    /// Returns the mistakes recorded so far.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.explained(self.mistakes())
    }

    /// Returns the warnings recorded so far, each once.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings: Vec<Diagnostic> = Vec::new();
        for warning in self.explained(&self.warnings) {
            // Different operands may look the same, as in a loop.
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
        warnings
    }

    /// Removes the mistakes recorded after the first `count`, for callers that report them immediately.
    pub fn withdraw_diagnostics(&mut self, count: usize) -> Option<Diagnostics> {
        let withdrawn = self.explained(self.mistakes().get(count..).unwrap_or_default());
        self.retain_mistakes(count, |_| false);
        Diagnostics::new(withdrawn)
    }

    fn explained(&self, mistakes: &[Mistake]) -> Vec<Diagnostic> {
        mistakes.iter().map(|mistake| explain(self, mistake)).collect()
    }
}
