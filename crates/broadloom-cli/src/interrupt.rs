//! Cleans up when the program is interrupted, so that nothing is left behind.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// Files that are not complete.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Sees to it that a file is removed if Ctrl-C, or a request to end, stops the program. One that was renamed meanwhile
/// stays.
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

/// Ends when a signal comes, with the exit code that shells give a program that it ended.
#[cfg(unix)]
fn watch() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    // Where signals cannot be watched for, they end the program as they do.
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
    /// As shells count a program that Ctrl-C ended.
    const INTERRUPTED: i32 = 130;
    let _ = ctrlc::set_handler(|| {
        remove();
        std::process::exit(INTERRUPTED);
    });
}
