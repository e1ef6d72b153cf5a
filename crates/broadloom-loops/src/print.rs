//! Prints schedules.

mod lines;

pub use lines::Line;

use crate::kernel::*;
use broadloom_ir::SymbolId;
use broadloom_ir::dim::{Dim, Named};
use std::fmt;

impl Schedule {
    /// Returns a dim of the schedule with the names of its symbols.
    pub fn show(&self, dim: &Dim) -> String {
        let host: Vec<String> = self
            .host_symbols
            .iter()
            .map(|symbol| match symbol {
                HostSymbol::Stride { buffer, axis } => {
                    format!("stride({}, {axis})", self.buffers[buffer.index()].name)
                }
                HostSymbol::GroupCount(group) => format!("groups{group}"),
                HostSymbol::GroupLength(group) => format!("length{group}"),
                HostSymbol::Rows(band) => format!("rows{band}"),
                HostSymbol::Steps => "steps".to_string(),
                HostSymbol::StepsBefore => "steps_before".to_string(),
            })
            .collect();
        let name = |symbol: SymbolId| -> Named<'_> {
            let index = symbol.index();
            match self.symbols.get(index) {
                Some(symbol) => symbol.named(),
                None => host.get(index - self.symbols.len()).map_or("?", String::as_str).into(),
            }
        };
        dim.display(&name).to_string()
    }

    /// Returns whether an array holds some rows of a band.
    pub fn holds(&self, buffer: BufferId) -> bool {
        self.bands.iter().any(|band| band.held.contains(&buffer))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, buffer) in self.buffers.iter().enumerate() {
            let dims: Vec<String> = buffer.shape.iter().map(|dim| self.show(dim)).collect();
            let role = match buffer.role {
                Role::Input(_) => "input",
                Role::Output(_) => "output",
                Role::Temporary if self.holds(BufferId::new(index)) => "held",
                Role::Temporary => "stored",
            };
            write!(f, "{role:6} {}: {}[{}]", buffer.name, buffer.dtype, dims.join(", "))?;
            match buffer.starts_as {
                Some(array) => writeln!(f, ", starts as {}", self.buffers[array.index()].name)?,
                None => writeln!(f)?,
            }
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            let begins = |band: &&Band| band.kernels.first().is_some_and(|(first, _)| first.index() == index);
            if let Some(band) = self.bands.iter().find(begins) {
                let kernels: Vec<String> =
                    band.kernels.iter().map(|(kernel, _)| kernel.to_string()).collect();
                let (rows, all) = (self.show(&Dim::symbol(band.rows)), self.show(&band.extent));
                writeln!(f, "together {}: {rows} of {all} rows at a time", kernels.join(", "))?;
            }
            writeln!(f, "kernel {} {{", KernelId::new(index))?;
            for line in self.lines(kernel) {
                writeln!(f, "{:indent$}{}", "", line.text, indent = 2 * (1 + line.depth))?;
            }
            writeln!(f, "}}")?;
        }
        Ok(())
    }
}
