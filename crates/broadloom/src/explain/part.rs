//! The explanation of kernels that are compiled together: all of them, or those of a part of a graph with loops.

use super::Bytes;
use super::kernels::{self, KernelInfo, named};
use super::variants;
use crate::compiled::{Inner, Kernels};
use crate::variant::{Aside, StepsCode, Variant};
use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_jit::{Module, Registers, Vectors};
use broadloom_loops::kernel::{Buffer, BufferId, Kernel, KernelId, Role, Schedule};
use std::fmt;
use std::sync::Arc;

/// Kernels that are compiled together.
#[derive(Clone)]
pub(super) struct Explained {
    /// What they are part of, if they are not all.
    pub(super) heading: Option<String>,
    pub(super) inner: Arc<Inner>,
    pub(super) kernels: Arc<Kernels>,
    pub(super) variant: Arc<Variant>,
    /// Whether a kernel takes many steps of a loop, instead of those that make one.
    pub(super) in_registers: bool,
    /// The expressions of the whole graph for which those of the part were made, if they are not the same.
    pub(super) origins: Option<Arc<[ExprId]>>,
}

impl Explained {
    /// Returns the code that takes many steps of a loop, if that runs.
    fn steps(&self) -> Option<&StepsCode> {
        self.variant.steps().filter(|_| self.in_registers)
    }

    /// Returns the kernels that run.
    pub(super) fn schedule(&self) -> &Schedule {
        self.steps().map_or(&self.variant.schedule, |steps| &steps.made.schedule)
    }

    /// Returns their code.
    pub(super) fn module(&self) -> &Module {
        self.steps().map_or(&self.variant.module, |steps| &steps.module)
    }

    /// Returns the bytes of all code.
    pub(super) fn code_bytes(&self) -> usize {
        let steps = self.variant.steps().map_or(0, |steps| steps.module.code_bytes());
        self.variant.module.code_bytes() + steps
    }

    /// Returns the bytes that are stored between the kernels.
    pub(super) fn stored(&self) -> Dim {
        let schedule = self.schedule();
        let is_stored = |buffer: &Buffer| match buffer.role {
            Role::Input(_) => false,
            Role::Output(output) => self.variant.asides.get(output).is_some_and(Option::is_some),
            Role::Temporary => true,
        };
        // Versions of an array are in one memory.
        let buffers = schedule.buffers.iter().zip(schedule.last_versions()).enumerate();
        let own = buffers.filter(|(index, (_, last))| last.index() == *index).map(|(_, (buffer, _))| buffer);
        own.filter(|buffer| is_stored(buffer))
            .fold(Dim::ZERO, |total, buffer| total.add(&bytes(buffer)).unwrap_or(total))
    }

    /// Returns a number of bytes as text.
    pub(super) fn show(&self, dim: Dim) -> Bytes {
        Bytes { text: self.schedule().show(&dim), dim }
    }

    /// Returns the inputs that are assigned to, each with the reason if it is not written directly.
    pub(super) fn assigned(&self) -> impl Iterator<Item = (&str, Option<Aside>)> {
        let outputs = self.inner.graph.outputs().iter().zip(&self.variant.asides);
        outputs.filter(|(output, _)| output.assigned.is_some()).map(|(output, aside)| (&*output.name, *aside))
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = KernelId> + use<> {
        (0..self.schedule().kernels.len()).map(KernelId::new)
    }

    pub(super) fn vectors(&self) -> impl Iterator<Item = Vectors> {
        self.ids().filter_map(|kernel| self.module().vectors(kernel))
    }

    pub(super) fn infos(&self) -> Vec<KernelInfo> {
        kernels::infos(self.schedule(), self.module())
    }

    /// Returns the expression of the whole graph for which one of the part was made.
    pub(super) fn origin(&self, expr: ExprId) -> ExprId {
        origin(self.origins.as_ref(), expr)
    }

    /// Prints the kernels, and what is stored between them.
    pub(super) fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schedule = self.schedule();
        if let Some(heading) = &self.heading {
            writeln!(f, "{heading}:")?;
        }
        write!(f, "{schedule}")?;
        for (index, (kernel, info)) in schedule.kernels.iter().zip(self.infos()).enumerate() {
            let id = KernelId::new(index);
            for (number, fact) in self.kernel_facts(id, kernel, &info).iter().enumerate() {
                let name = if number == 0 { format!("{id}: ") } else { "  ".to_string() };
                writeln!(f, "{name}{fact}")?;
            }
        }
        for (index, buffer) in schedule.buffers.iter().enumerate() {
            if let Some(reason) = buffer.reason {
                let is_held = schedule.holds(BufferId::new(index));
                let how = if is_held { "held for some rows" } else { "stored" };
                writeln!(f, "{} is {how}: {reason}", buffer.name)?;
            }
        }
        self.notes().iter().try_for_each(|note| writeln!(f, "{note}"))
    }

    /// Returns which inputs are written in place, and why others are not, a line each.
    pub(super) fn notes(&self) -> Vec<String> {
        let note = |(name, aside): (&str, Option<Aside>)| match aside {
            None => format!("{name}: written in place"),
            Some(aside) => format!("{name}: computed aside: {aside}"),
        };
        self.assigned().map(note).collect()
    }

    /// Returns the costs of a kernel, and then what is known of the code of its loops, a line each.
    pub(super) fn kernel_facts(&self, id: KernelId, kernel: &Kernel, info: &KernelInfo) -> Vec<String> {
        let schedule = self.schedule();
        let shared: Vec<&str> = kernel.shared().map(|axis| &*kernel.axes[axis.index()].name).collect();
        let per = match shared.as_slice() {
            [] => "in all".to_string(),
            axes => format!("per step of {}", axes.join(" and ")),
        };
        let step = &kernel.cost.step;
        let (bytes, operations) = (schedule.show(&step.bytes), schedule.show(&step.operations));
        let scratch = kernel.scratch_bytes();
        let mut costs =
            format!("{bytes} bytes and {operations} operations {per}, {scratch} bytes of scratch per thread");
        if let Some(Vectors { bytes, registers }) = self.module().vectors(id) {
            let used = match registers {
                Some(Registers { used, spills: 0 }) => format!(" in {used} registers, no spills in loops"),
                Some(Registers { used, spills }) => {
                    format!(" in {used} registers, {spills} spills in loops")
                }
                None => String::new(),
            };
            costs += &format!(", vectors of {bytes} bytes{used}");
        }
        let loops = info.inner_loops.iter().map(ToString::to_string);
        let called = (!info.called.is_empty()).then(|| format!("called for strips: {}", named(&info.called)));
        std::iter::once(costs).chain(loops).chain(called).collect()
    }

    /// Returns for which calls there is code, a line each.
    pub(super) fn variant_notes(&self) -> Vec<String> {
        let general = &self.kernels.variants.general.facts;
        let of_arrays = variants::facts(&self.inner, general, &self.variant);
        if !of_arrays.is_empty() {
            return vec![format!("only where {of_arrays}")];
        }
        let note = |variant: Arc<Variant>| {
            let (of_arrays, bytes) =
                (variants::facts(&self.inner, general, &variant), variant.module.code_bytes());
            format!("and where {of_arrays}: {bytes} bytes of code")
        };
        self.kernels.variants.others().into_iter().map(note).collect()
    }
}

/// Returns the expression of the whole graph for which one of a part was made, if the two are not the same.
pub(super) fn origin(origins: Option<&Arc<[ExprId]>>, expr: ExprId) -> ExprId {
    origins.and_then(|origins| origins.get(expr.index())).copied().unwrap_or(expr)
}

/// Returns the bytes of an array.
pub(super) fn bytes(buffer: &Buffer) -> Dim {
    let bytes = buffer.shape.elements().and_then(|count| count.scale(buffer.dtype.size() as i64));
    bytes.unwrap_or(Dim::ZERO)
}
