//! Options for compiling and running kernels.

use crate::limits::CallLimits;
use broadloom_jit::CpuLevel;
use std::sync::Arc;
use std::sync::OnceLock;

/// Selects the threads that run a kernel: the calling thread and, with a pool of `n` threads, up to `n - 1` of these. The
/// result has the same bits in every case.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::Threads;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let alone = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
/// let kernel = x.exp().compile_with(&alone)?;
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub enum Threads {
    /// Only the calling thread.
    Calling,
    /// Rayon's pool: the one the caller runs in, or else the global one. Small arrays stay on the calling thread, and
    /// in a child of `fork` all do if the parent has used the pool.
    #[default]
    Global,
    /// A pool that the caller provides. Small arrays stay on the calling thread.
    Pool(Arc<rayon::ThreadPool>),
}

impl Threads {
    /// The most threads that [`Threads::count`] starts; more do not help on any machine.
    pub const MOST: usize = 1024;

    /// Creates a pool of `threads` threads, which lives as long as this value and its clones. With 1, only the
    /// calling thread works.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::Threads;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let options = CompileOptions { threads: Threads::count(2)?, ..CompileOptions::default() };
    /// let kernel = g.compile_with([("y", x.exp())], &options)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `threads` is 0 or more than [`Threads::MOST`], or if the system cannot start that many.
    pub fn count(threads: usize) -> std::io::Result<Threads> {
        match threads {
            0 => {
                let what = "kernels need at least one thread: ask for 1, or for `Threads::Global`";
                Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what))
            }
            1 => Ok(Threads::Calling),
            // A process that runs out of memory for stacks is ended by the system.
            _ if threads > Threads::MOST => {
                let most = Threads::MOST;
                let what = format!(
                    "{threads} threads are too many: ask for at most {most}, or for `Threads::Global`, which has as many as there are processors"
                );
                Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what))
            }
            _ => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.map(|pool| Threads::Pool(Arc::new(pool))).map_err(std::io::Error::other)
            }
        }
    }

    /// Returns the number of threads that can share work.
    pub(crate) fn available(&self) -> usize {
        static AVAILABLE: OnceLock<usize> = OnceLock::new();
        match self {
            Threads::Calling => 1,
            Threads::Pool(pool) => pool.current_num_threads(),
            Threads::Global if rayon::current_thread_index().is_some() => rayon::current_num_threads(),
            // Asking rayon would start its threads, perhaps for nothing.
            Threads::Global => *AVAILABLE
                .get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get)),
        }
    }

    /// Returns whether the threads can do work. In a child of `fork`, the global pool has none: `fork` copies what
    /// rayon knows of its threads, and not the threads, so waiting for them would never end.
    pub(crate) fn are_of_this_process(&self) -> bool {
        static FIRST: OnceLock<u32> = OnceLock::new();
        match self {
            Threads::Calling | Threads::Pool(_) => true,
            Threads::Global => *FIRST.get_or_init(std::process::id) == std::process::id(),
        }
    }

    /// Runs `work` on the calling thread and, at the same time, on others: on at most `most` threads, and on no more than
    /// there are. It is called once on each thread, with the number of the thread, from 0 on.
    ///
    /// A thread that sleeps takes some time to wake up, so the calling thread does not wait for others to begin.
    pub(crate) fn share(&self, most: usize, work: &(dyn Fn(usize) + Sync)) {
        fn together<'s>(scope: &rayon::Scope<'s>, threads: usize, work: &'s (dyn Fn(usize) + Sync)) {
            for number in 1..threads {
                scope.spawn(move |_| work(number));
            }
            work(0);
        }
        match self {
            Threads::Calling => work(0),
            Threads::Pool(pool) => {
                let threads = most.min(pool.current_num_threads());
                pool.in_place_scope(|scope| together(scope, threads, work));
            }
            // The pool may have fewer threads than the machine has CPUs.
            Threads::Global => {
                let threads = most.min(rayon::current_num_threads());
                rayon::in_place_scope(|scope| together(scope, threads, work));
            }
        }
    }
}

/// Options for compiling and running kernels.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::Threads;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = x.exp().compile_with(&CompileOptions { threads: Threads::Calling, ..CompileOptions::default() })?;
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone)]
pub struct CompileOptions {
    /// The threads that run kernels.
    pub threads: Threads,
    /// The instruction set to use, by default that of this CPU. The last bits of elementary functions depend on it.
    pub level: Option<CpuLevel>,
    /// Size in bytes of the widest vector registers to use; by default the widest available. 16 bytes work on every
    /// CPU, 32 need x86-64 with AVX2 and 64 need AVX-512 (neither on Windows). The results are the same.
    pub vector_bytes: usize,
    /// Whether loops compute several neighbours at once. The results are the same either way.
    pub vectorize: bool,
    /// The least work worth sharing, in bytes of memory traffic or operations that take as long; a smaller kernel
    /// stays on the calling thread. One thread takes about 20 us for the default of 2 MiB; handing work to others
    /// and waiting for them takes 10 us. It is also the least number of bytes for which kernels run together, for a few
    /// rows at a time, if it is less than 1 MiB.
    pub parallel_threshold: usize,
    /// The most values that the loops of one variant may have, for expressions that you do not trust: a loop has a
    /// value for each of its ops, and another for each step that is unrolled. What the compiler tries and gives up
    /// counts as well, so this bounds the time and memory of compiling. More is [`LowerError::TooManyValues`]. By
    /// default there is no limit.
    ///
    /// [`LowerError::TooManyValues`]: crate::LowerError::TooManyValues
    pub max_values: usize,
    /// Limits on what a call may ask for, for expressions or arrays that you do not trust. By default there are none.
    pub limits: CallLimits,
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
            threads: Threads::default(),
            level: None,
            vector_bytes: usize::MAX,
            vectorize: true,
            parallel_threshold: 2 << 20,
            max_values: usize::MAX,
            limits: CallLimits::default(),
        }
    }
}
