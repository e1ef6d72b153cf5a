//! The machine for which schedules are made.

/// Everything that lowering and code generation know of the machine. It is made once, from the host or by hand;
/// results never depend on it.
///
/// The number of cores is not part of it: each call says how many threads share its work. Neither are the tile functions,
/// because `broadloom-math` has each of them for every CPU level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// The size in bytes of a vector register that every code generator supports, which lanes of loops follow.
    pub vector_bytes: usize,
    /// The size in bytes of the widest vector register that code uses.
    pub widest_bytes: usize,
    /// The number of vector registers that code can use.
    pub registers: usize,
    /// The size in bytes of a core's first-level data cache.
    pub l1: usize,
    /// The size in bytes of a core's second-level cache.
    pub l2: usize,
}

impl Target {
    /// The smallest common machine: sixteen registers of 128 bits, caches of 32 KiB and 256 KiB.
    pub const NOMINAL: Target =
        Target { vector_bytes: 16, widest_bytes: 16, registers: 16, l1: 32 << 10, l2: 256 << 10 };

    /// Returns whether loops may compute elementary functions themselves: their vectors are as wide as those of the tile
    /// functions.
    pub fn inlines(&self) -> bool {
        self.widest_bytes > self.vector_bytes
    }

    /// Returns the most bytes for the scratch rows of a strip: three quarters of the first-level cache, so that the
    /// arrays streaming through it have the rest.
    pub fn row_bytes(&self) -> usize {
        self.l1 / 4 * 3
    }

    /// Returns the most bytes for them including the lanes of blocks, each of which one step in as many as there
    /// are lanes uses: three quarters of the second-level cache.
    pub fn lanes_bytes(&self) -> usize {
        self.l2 / 4 * 3
    }

    /// Returns the most bytes of a whole row that is kept until it is read again: a quarter of the second-level
    /// cache.
    pub fn kept_bytes(&self) -> usize {
        self.l2 / 4
    }

    /// Returns the most scratch memory of a thread, as far as shorter strips can reduce it; the lanes and ranks of
    /// blocks are not included.
    pub fn scratch_bytes(&self) -> usize {
        self.l2.min(256 << 10)
    }
}

impl Default for Target {
    fn default() -> Self {
        Target::NOMINAL
    }
}
