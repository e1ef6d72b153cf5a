//! Removes incomplete files when the program is interrupted.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// Files that are not complete.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes a file if Ctrl-C or a termination signal stops the program. A file that was renamed meanwhile stays.
pub fn remove_if_interrupted(path: &Path) {
    static WATCH: Once = Once::new();
    WATCH.call_once(watch);
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

fn remove() {
    for path in TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let _ = std::fs::remove_file(path);
    }
}

/// Ends the process on a signal, with the exit code that shells report for it.
#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Without a handler, signals end the program by default.
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            remove();
            std::process::exit(128 + signal);
        }
    });
}

#[cfg(not(unix))]
fn watch() {
    /// The exit code that shells report after Ctrl-C.
    const INTERRUPTED: i32 = 130;
    let _ = ctrlc::set_handler(|| {
        remove();
        std::process::exit(INTERRUPTED);
    });
}
