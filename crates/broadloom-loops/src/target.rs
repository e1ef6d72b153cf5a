//! The machine that schedules are made for.

/// What lowering and code generation know of the machine. Made once, from the host or by hand; results never depend on
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// Bytes of a vector register of the code generator.
    pub vector_bytes: usize,
    /// Vector registers that code can use.
    pub registers: usize,
    /// Bytes of a core's first-level data cache.
    pub l1: usize,
    /// Bytes of a core's second-level cache.
    pub l2: usize,
}

impl Target {
    /// A machine with the least that is common: sixteen registers of 128 bits, caches of 32 KiB and 256 KiB.
    pub const NOMINAL: Target = Target { vector_bytes: 16, registers: 16, l1: 32 << 10, l2: 256 << 10 };

    /// Bytes that the scratch rows of a strip may take: three quarters of the first-level cache, so that the arrays
    /// that stream through it have the rest.
    pub fn row_bytes(&self) -> usize {
        self.l1 / 4 * 3
    }

    /// Bytes that they may take with the lanes of blocks, each of which is met once in as many steps as there are
    /// lanes: three quarters of the second-level cache.
    pub fn lanes_bytes(&self) -> usize {
        self.l2 / 4 * 3
    }

    /// Bytes of a whole row that is kept until it is read again: a quarter of the second-level cache.
    pub fn kept_bytes(&self) -> usize {
        self.l2 / 4
    }

    /// Scratch memory of a thread, at most, where that can be had by shorter strips; without the lanes and ranks of
    /// blocks.
    pub fn scratch_bytes(&self) -> usize {
        self.l2.min(256 << 10)
    }
}

impl Default for Target {
    fn default() -> Self {
        Target::NOMINAL
    }
}
