//! Long runs, which Ctrl-C ends.

use crate::error::{caught, detached};
use broadloom::{
    Bound as BoundRun, CallError, Executable, Inputs, Outputs, OutputsMut, RunOptions, StopFlag,
};
use broadloom_ir::graph::{SymbolInfo, SymbolKind};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// The work of a run that a user may want to end: a third of a second of one thread.
const LONG: u64 = 32 << 30;
/// How often a long run looks for signals.
const INTERVAL: Duration = Duration::from_millis(50);

/// The most elements of the inputs of a run that was found to be short. Runs with no more of them are not looked at.
#[derive(Default)]
pub struct Short(AtomicUsize);

impl Short {
    /// Runs a kernel on inputs with this many elements, into the arrays of `outputs` or into new ones, which it returns. Python's handlers of
    /// signals run while a long run goes on, and an exception of theirs ends it.
    ///
    /// # Errors
    /// Returns an exception of a handler.
    pub fn run(
        &self,
        py: Python<'_>,
        executable: &Executable,
        inputs: Inputs<'_>,
        outputs: Option<OutputsMut<'_>>,
        elements: usize,
    ) -> PyResult<Result<Option<Outputs>, CallError>> {
        if elements <= self.0.load(Ordering::Relaxed) {
            return detached(py, || match outputs {
                None => executable.run(inputs).map(Some),
                Some(outputs) => executable.run_into(inputs, outputs).map(|()| None),
            });
        }
        let bound = match detached(py, || executable.bind(inputs))? {
            Ok(bound) => bound,
            Err(error) => return Ok(Err(CallError::Bind(error))),
        };
        // What computed sizes and loops after them ask for is not known yet.
        let is_open = |info: &SymbolInfo| matches!(info.kind, SymbolKind::Computed(_));
        let graph = executable.graph();
        let is_unknown =
            graph.symbols().iter().any(is_open) || graph.has_decided_sizes() && graph.has_loops();
        if !is_unknown && bound.work().total < LONG {
            self.0.fetch_max(elements, Ordering::Relaxed);
            return detached(py, || run(&bound, outputs, &RunOptions::new()));
        }
        let flag = StopFlag::new();
        let options = RunOptions::new().stopped_by(&flag);
        let (sender, mut receiver) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let result =
                    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&bound, outputs, &options)));
                sender.send(result).ok();
            });
            loop {
                let waiting = &mut receiver;
                match py.detach(move || waiting.recv_timeout(INTERVAL)) {
                    Ok(result) => {
                        return caught(py, || {
                            result.unwrap_or_else(|payload| std::panic::resume_unwind(payload))
                        });
                    }
                    Err(_) => py.check_signals().inspect_err(|_| {
                        flag.stop();
                        let waiting = &mut receiver;
                        py.detach(move || waiting.recv()).ok();
                    })?,
                }
            }
        })
    }
}

fn run(
    bound: &BoundRun<'_>,
    outputs: Option<OutputsMut<'_>>,
    options: &RunOptions,
) -> Result<Option<Outputs>, CallError> {
    match outputs {
        None => bound.run_with(options).map(Some),
        Some(outputs) => bound.run_into_with(outputs, options).map(|()| None),
    }
}
