//! Kernels that run together, for a few rows at a time.

use super::*;

/// Kernels that run one after the other for a few rows, and then for the next few. Arrays between them have room for the
/// rows on which threads work at one time, and not for all:
///
/// ```text
/// for some rows of extent { k0 fills these rows of t0; k1 sorts them into t1; k2 reads t1 }
/// ```
#[derive(Debug, Clone)]
pub struct Band {
    /// The number of rows.
    pub extent: Dim,
    /// The symbol that is bound to the number of rows for which the arrays have room: at most the extent. If it is the
    /// extent, the kernels can run one after the other for all rows.
    pub rows: SymbolId,
    /// The kernels, which follow each other in launch order, each with the number of steps of its parallel axis per row.
    pub kernels: Vec<(KernelId, Dim)>,
    /// The temporaries that have room for some rows. Their first axis counts these rows.
    pub held: Vec<BufferId>,
}

impl Band {
    /// Returns its kernels, if a kernel is one of them.
    pub fn with(&self, kernel: KernelId) -> impl Iterator<Item = KernelId> {
        let is_here = self.kernels.iter().any(|(other, _)| *other == kernel);
        self.kernels.iter().filter(move |_| is_here).map(|(kernel, _)| *kernel)
    }
}
