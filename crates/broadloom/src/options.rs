//! How kernels are compiled and run.

use broadloom_jit::CpuLevel;
use std::sync::Arc;
use std::sync::OnceLock;

/// Who runs a kernel. The results are the same bits in any case.
#[derive(Debug, Clone, Default)]
pub enum Threads {
    /// The calling thread alone.
    Calling,
    /// Rayon's pool: the one that the caller runs in, or else the global one. Small arrays stay on the calling
    /// thread.
    #[default]
    Global,
    /// A pool of the caller. Small arrays stay on the calling thread.
    Pool(Arc<rayon::ThreadPool>),
}

impl Threads {
    /// So many threads of their own, which live as long as this and its clones do; for 1, the calling thread alone.
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
    /// For 0, and if the system does not start so many.
    pub fn count(threads: usize) -> std::io::Result<Threads> {
        match threads {
            0 => {
                let what = "kernels need at least one thread: ask for 1, or for `Threads::Global`";
                Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what))
            }
            1 => Ok(Threads::Calling),
            _ => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.map(|pool| Threads::Pool(Arc::new(pool))).map_err(std::io::Error::other)
            }
        }
    }

    /// How many threads there are to share work.
    pub(crate) fn available(&self) -> usize {
        static AVAILABLE: OnceLock<usize> = OnceLock::new();
        match self {
            Threads::Calling => 1,
            Threads::Pool(pool) => pool.current_num_threads(),
            Threads::Global if rayon::current_thread_index().is_some() => rayon::current_num_threads(),
            // Asking rayon would start its threads, for which there may be no need.
            Threads::Global => *AVAILABLE
                .get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get)),
        }
    }

    /// Runs `action` where it may use the threads.
    pub(crate) fn enter(&self, action: impl FnOnce() + Send) {
        match self {
            Threads::Calling | Threads::Global => action(),
            Threads::Pool(pool) => pool.install(action),
        }
    }
}

/// How kernels are compiled and run.
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
    /// Who runs kernels.
    pub threads: Threads,
    /// The instructions to use, and with them the last bits of elementary functions; by default those of this CPU.
    pub level: Option<CpuLevel>,
    /// Bytes of the widest vector registers to use. There is code for 16 bytes on every CPU, and on x86-64 (but for Windows)
    /// for 32 bytes with AVX2 and for 64 with AVX-512; by default the widest is taken. The results are the same.
    pub vector_bytes: usize,
    /// Whether loops compute several neighbours at once. Without it the results are the same.
    pub vectorize: bool,
    /// Below this many bytes of traffic, or operations that take as long, a kernel stays on the calling thread. The
    /// default of 2 MiB takes one thread about 20 us, handing work to others and waiting for them 10 us.
    pub parallel_threshold: usize,
}

impl Default for CompileOptions {
    fn default() -> Self {
        CompileOptions {
            threads: Threads::default(),
            level: None,
            vector_bytes: usize::MAX,
            vectorize: true,
            parallel_threshold: 2 << 20,
        }
    }
}
