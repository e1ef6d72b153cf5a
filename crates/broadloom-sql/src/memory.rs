//! How much memory a process may take.

use datafusion::common::Result;
use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use std::num::NonZeroUsize;
use std::sync::Arc;
use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// The part of the memory that operators may reserve, in percent. What is left is for what they do not count: batches on their way
/// between them, buffers of files, compiled kernels.
const RESERVED: u64 = 70;

/// The part of the machine that a process takes if nothing else is said, in percent: two executors and a client fit.
const OF_THE_MACHINE: u64 = 40;

/// The number of operators that an error about memory names.
const NAMED: NonZeroUsize = NonZeroUsize::new(3).unwrap();

/// The memory that a process may take, in bytes.
///
/// It bounds what the operators of a query reserve: they spill to disk where they can, and fail otherwise. The kernels of one
/// operator may ask for a quarter of the share of a task in one batch. Code and buffers of the process come on top.
///
/// ```
/// use broadloom_sql::Memory;
/// assert!(Memory::default().bytes() > 0);
/// assert_eq!(Memory::of(1 << 30).bytes(), 1 << 30);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory(u64);

impl Default for Memory {
    /// 40 percent of the memory of the machine, or of the control group that the process runs in.
    fn default() -> Memory {
        let system = System::new_with_specifics(
            RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram()),
        );
        let total = system.total_memory();
        let limit = system.cgroup_limits().map_or(total, |limits| limits.total_memory.min(total));
        // A system that does not tell its memory is taken for a small one.
        let limit = if limit == 0 { 4 << 30 } else { limit };
        Memory(limit / 100 * OF_THE_MACHINE)
    }
}

impl Memory {
    /// Takes a number of bytes.
    pub fn of(bytes: u64) -> Memory {
        Memory(bytes)
    }

    /// Returns the number of bytes.
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// Returns what operators may reserve.
    pub(crate) fn reserved(self) -> u64 {
        self.0 / 100 * RESERVED
    }

    /// Returns an environment whose operators share this memory.
    pub(crate) fn runtime(self) -> Result<Arc<RuntimeEnv>> {
        let bytes = usize::try_from(self.reserved()).unwrap_or(usize::MAX);
        let pool: Arc<dyn MemoryPool> = Arc::new(TrackConsumersPool::new(FairSpillPool::new(bytes), NAMED));
        RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc()
    }
}
