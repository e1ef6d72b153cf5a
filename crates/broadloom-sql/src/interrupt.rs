//! Ending after Ctrl-C: the query is cancelled, and the program ends soon, whatever it is doing.

use broadloom_sql::interrupted;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The exit code of a program that Ctrl-C ended, as shells report it.
const INTERRUPTED: u8 = 130;
/// The time in which the program cleans up by itself.
const PATIENCE: Duration = Duration::from_millis(900);

/// Watches for signals on a thread of its own, because queries can keep all others busy.
pub(crate) struct Interrupt {
    noticed: Arc<Notify>,
    partial: Arc<Mutex<Option<PathBuf>>>,
}

impl Interrupt {
    pub(crate) fn watch() -> Interrupt {
        let interrupt = Interrupt { noticed: Arc::default(), partial: Arc::default() };
        let (noticed, partial) = (interrupt.noticed.clone(), interrupt.partial.clone());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            // Without it, signals end the program by default.
            let Ok(runtime) = runtime else { return };
            runtime.block_on(interrupted());
            noticed.notify_one();
            std::thread::sleep(PATIENCE);
            if let Some(partial) = &*partial.lock().unwrap_or_else(PoisonError::into_inner) {
                // It may have been removed just now.
                let _ = std::fs::remove_file(partial);
            }
            said();
            std::process::exit(i32::from(INTERRUPTED));
        });
        interrupt
    }

    /// Names the file that is to be removed.
    pub(crate) fn removes(&self, partial: &Path) {
        *self.partial.lock().unwrap_or_else(PoisonError::into_inner) = Some(partial.to_owned());
    }

    /// Ready after a signal.
    pub(crate) async fn noticed(&self) {
        self.noticed.notified().await;
    }

    /// Says that the query was cancelled, and returns the exit code.
    pub(crate) fn code(&self) -> ExitCode {
        said();
        ExitCode::from(INTERRUPTED)
    }
}

fn said() {
    // Nothing can be said if standard error is closed.
    let _ = writeln!(std::io::stderr(), "cancelled");
}
