//! What is left behind when the program is interrupted: nothing.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// Files that are not complete.
static TEMPORARY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// The exit code of a program that a signal ended, as shells count: 128 and the number of SIGINT.
const INTERRUPTED: i32 = 130;

/// Sees to it that a file is removed if Ctrl-C, or a request to end, stops the program. One that was renamed meanwhile
/// stays.
pub fn remove_if_interrupted(path: &Path) {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // Where there are no signals, there is nothing to watch for.
        let _ = ctrlc::set_handler(|| {
            for path in TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                let _ = std::fs::remove_file(path);
            }
            std::process::exit(INTERRUPTED);
        });
    });
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}
