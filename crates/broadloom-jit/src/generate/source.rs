//! The statements for which code is generated, as Cranelift's source locations.

use super::{FunctionBuilder, Kernel, Stmt, ValueId};
use cranelift_codegen::ir::SourceLoc;
use std::collections::HashMap;

/// The locations of the statements of a kernel.
pub(super) struct Locations {
    /// By the addresses of statements, which stay where they are while the kernel is borrowed.
    statements: HashMap<*const Stmt, SourceLoc>,
    /// Those of the values that statements compute: some loops compute values out of the order of the statements.
    values: HashMap<ValueId, SourceLoc>,
}

/// The location of what belongs to no statement, such as reading the arguments.
const OUTSIDE: u32 = 0;

impl Locations {
    /// Numbers the statements of a kernel.
    pub(super) fn of(kernel: &Kernel) -> Locations {
        let mut locations = Locations { statements: HashMap::new(), values: HashMap::new() };
        for (stmt, number) in kernel.statements().zip(OUTSIDE + 1..) {
            let location = SourceLoc::new(number);
            locations.statements.insert(std::ptr::from_ref(stmt), location);
            if let Stmt::Let(value) = stmt {
                locations.values.insert(*value, location);
            }
        }
        locations
    }

    /// Begins with code outside of statements.
    pub(super) fn begin(&self, builder: &mut FunctionBuilder<'_>) {
        builder.set_srcloc(SourceLoc::new(OUTSIDE));
    }

    pub(super) fn of_statement(&self, stmt: &Stmt) -> Option<SourceLoc> {
        self.statements.get(&std::ptr::from_ref(stmt)).copied()
    }

    pub(super) fn of_value(&self, value: ValueId) -> Option<SourceLoc> {
        self.values.get(&value).copied()
    }
}

/// Returns the number of the statement at a location, in the order of [`Kernel::statements`].
pub(crate) fn statement(location: SourceLoc) -> Option<usize> {
    if location.is_default() { None } else { (location.bits() as usize).checked_sub(1) }
}
