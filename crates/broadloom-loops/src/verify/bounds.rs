//! Promise 18: elements that data choose exist.

use super::Fault;
use crate::band::Known;
use crate::index::Values;
use crate::kernel::*;

/// Checks that every index at which a kernel writes, or reads without a check, is below the size.
pub(super) fn bounds(kernel: &Kernel, known: Known<'_>) -> Result<(), Fault> {
    let mut values: Option<Values<'_>> = None;
    for stmt in kernel.statements() {
        let (index, size) = match stmt {
            Stmt::Scatter { index, size, .. } => (*index, *size),
            Stmt::Let(value) => match kernel.values[value.index()].def {
                Def::Take { index, size, position: None, .. }
                | Def::Checked { index, size, position: None, .. } => (index, size),
                _ => continue,
            },
            _ => continue,
        };
        let is_checked = matches!(
            kernel.values[index.index()].def, Def::Checked { size: checked, .. } if checked == size
        );
        if is_checked {
            continue;
        }
        let values = values.get_or_insert_with(|| Values::new(kernel));
        if !values.is_index(index, &kernel.size(size), known) {
            return Err(Fault::Index(index));
        }
    }
    Ok(())
}
