//! Bounds on runs, for engines whose interfaces have no place for them.

use crate::error::ColumnError;
use broadloom::{Executable, IntoInputs, Outputs, RunOptions};
use std::cell::RefCell;

thread_local! {
    static BOUNDS: RefCell<Bounds> = RefCell::default();
}

/// Bounds on the runs of a thread: what ends them, and how much they may ask for.
///
/// An engine calls kernels deep inside of its operators, so bounds hold for all runs inside [`Bounds::apply`].
///
/// ```
/// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
/// use broadloom::CompileOptions;
/// use broadloom_arrow::{Bounds, ColumnError, RowGraph, RowKernel};
/// use std::sync::Arc;
/// let graph = broadloom_text::compile_expr("x[:, None] + zeros(1000)", &["x: f64[n]"])?;
/// let kernel = RowKernel::new(&RowGraph::new(&graph, "n")?, &CompileOptions::default())?;
/// let x: ArrayRef = Arc::new(Float64Array::from(vec![1.0; 100]));
/// let batch = RecordBatch::try_from_iter([("x", x)])?;
/// let few = Bounds { bytes: Some(1 << 10), ..Bounds::default() };
/// let refused = few.apply(|| kernel.run_batch(&batch, &[])).unwrap_err();
/// assert!(matches!(refused, ColumnError::TooLarge { asked: 800_000, .. }));
/// assert!(kernel.run_batch(&batch, &[]).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// What ends a run before its results are complete.
    pub options: RunOptions,
    /// The most bytes of results and temporaries of all runs together.
    pub bytes: Option<u64>,
}

impl Bounds {
    /// Calls a function whose runs have these bounds, on this thread. Inside of others, these replace them.
    pub fn apply<T>(&self, function: impl FnOnce() -> T) -> T {
        let outer = BOUNDS.replace(self.clone());
        let _restored = Restored(Some(outer));
        function()
    }
}

/// Bounds that hold again when this is dropped, also by a panic.
struct Restored(Option<Bounds>);

impl Drop for Restored {
    fn drop(&mut self) {
        BOUNDS.set(self.0.take().unwrap_or_default());
    }
}

/// Runs an executable within the bounds of this thread.
pub(crate) fn bounded<'a>(
    executable: &Executable,
    inputs: impl IntoInputs<'a>,
) -> Result<Outputs, ColumnError> {
    let Bounds { options, bytes } = BOUNDS.with_borrow(Bounds::clone);
    let Some(most) = bytes else { return Ok(executable.run_with(inputs, &options)?) };
    let bound = executable.bind(inputs)?;
    let results = bound.outputs().iter().map(|output| output.bytes as u64).fold(0, u64::saturating_add);
    let asked = results.saturating_add(bound.temporary_bytes() as u64);
    if asked > most {
        return Err(ColumnError::TooLarge { asked, most });
    }
    let outputs = bound.run_with(&options)?;
    // Results stay until the caller drops them; temporaries are gone.
    BOUNDS.with_borrow_mut(|bounds| bounds.bytes = Some(most - results));
    Ok(outputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom::{CallError, RunError, StopFlag, prelude::*};

    fn doubled() -> Executable {
        let g = Graph::new();
        (g.input::<f64>("x", shape![g.symbol("n")]) * 2).compile().unwrap()
    }

    #[test]
    fn runs_share_the_bytes_and_bounds_end_with_their_function() {
        let kernel = doubled();
        let x = [1.0f64; 100];
        let bounds = Bounds { bytes: Some(2000), ..Bounds::default() };
        bounds.apply(|| {
            // 800 bytes each: the third does not fit any more.
            assert!(bounded(&kernel, &x).is_ok());
            let inner = Bounds { bytes: Some(10), ..Bounds::default() };
            let refused = inner.apply(|| bounded(&kernel, &x)).unwrap_err();
            assert!(matches!(refused, ColumnError::TooLarge { asked: 800, most: 10 }), "{refused}");
            assert!(bounded(&kernel, &x).is_ok());
            let refused = bounded(&kernel, &x).unwrap_err();
            assert!(matches!(refused, ColumnError::TooLarge { asked: 800, most: 400 }), "{refused}");
        });
        assert!(bounds.apply(|| bounded(&kernel, &x)).is_ok());
        assert!(bounded(&kernel, &x).is_ok());
    }

    #[test]
    fn a_panic_leaves_no_bounds() {
        let bounds = Bounds { bytes: Some(1), ..Bounds::default() };
        let panicked = std::panic::catch_unwind(|| bounds.apply(|| panic!("as planned")));
        assert!(panicked.is_err());
        assert!(bounded(&doubled(), &[1.0f64; 100]).is_ok());
    }

    #[test]
    fn a_flag_stops_runs() {
        let flag = StopFlag::new();
        flag.stop();
        let bounds = Bounds { options: RunOptions::new().stopped_by(&flag), bytes: None };
        for bytes in [None, Some(1 << 20)] {
            let bounds = Bounds { bytes, ..bounds.clone() };
            let stopped = bounds.apply(|| bounded(&doubled(), &[1.0f64; 100])).unwrap_err();
            assert!(matches!(stopped, ColumnError::Call(CallError::Run(RunError::Stopped))), "{stopped}");
        }
    }
}
