//! The threads that compute.

use crate::failure::Failure;
use broadloom::Threads;
use rayon::ThreadPoolBuilder;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Starts the given number of threads, or one per processor.
///
/// # Errors
/// Returns an error if they cannot be started.
pub fn threads(count: Option<NonZeroUsize>) -> Result<Threads, Failure> {
    match count.map(NonZeroUsize::get) {
        None => Ok(Threads::Global),
        Some(1) => Ok(Threads::Calling),
        Some(count) if count > Threads::MOST => {
            let most = Threads::MOST;
            Err(Failure::usage(format!("{count} threads are too many: at most {most} are accepted"))
                .help("pass the number of processors, or leave out --threads"))
        }
        Some(count) => match ThreadPoolBuilder::new().num_threads(count).build() {
            Ok(pool) => Ok(Threads::Pool(Arc::new(pool))),
            Err(error) => Err(Failure::data(format!("{count} threads cannot be started: {error}"))
                .help("pass a smaller number with --threads")),
        },
    }
}
