//! The expressions that each kernel computes, and the arrays between kernels.

use super::part::{Explained, bytes};
use super::{Bytes, Explanation};
use broadloom_ir::ExprId;
use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_jit::{LoopCode, Module};
use broadloom_loops::kernel::{Buffer, BufferId, Kernel, KernelId, Operand, Role, Schedule, Stmt};
use broadloom_loops::plan::Planned;
use std::collections::BTreeSet;
use std::fmt;

/// Describes a kernel; see [`Explanation::kernel_infos`].
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// let (x, y) = (g.input::<f32>("x", shape![n, 1]), g.input::<f32>("y", shape![m]));
/// let kernel = (x + y.sin()).compile()?; // sin(y) is computed once, not once per row
/// let infos = kernel.explain().kernel_infos();
/// assert_eq!(infos.len(), 2);
/// assert!(infos[1].reads.contains(&infos[0].writes[0]));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelInfo {
    /// Its loops, outermost first, and which of them threads share or vectors step through: `for n (threads) for m
    /// (4 lanes)`.
    pub loops: String,
    /// The expressions that it computes, in whole or in part, in the order of the graph. An expression that is
    /// cheaper to recompute than to store appears in several kernels.
    pub exprs: Vec<ExprId>,
    /// The arrays that it reads.
    pub reads: Vec<ArrayPlace>,
    /// The arrays that it writes.
    pub writes: Vec<ArrayPlace>,
    /// Its innermost loops, in the order of the code. After a loop with many lanes, shorter ones compute the remainder.
    pub inner_loops: Vec<LoopInfo>,
    /// The elementary functions that it calls for whole strips of an axis, with the dtypes of their operands.
    pub called: Vec<(Op, DType)>,
}

/// The code of an innermost loop; see [`KernelInfo::inner_loops`].
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let kernel = (2 * x + 1).compile()?;
/// let main = kernel.explain().kernel_infos()[0].inner_loops[0].clone();
/// assert!(main.axis == "n" && main.lanes >= 16);
/// assert!(main.inlined.is_empty() && main.called.is_empty());
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopInfo {
    /// The name of the axis along which it steps.
    pub axis: String,
    /// Size in bytes of the vector registers.
    pub vector_bytes: usize,
    /// The number of neighbours that it computes at once; 1 if they are computed one by one.
    pub lanes: usize,
    /// How many independent steps of as many lanes one iteration takes.
    pub unrolled: usize,
    /// The number of vector registers that it uses: `None` where Cranelift generated the code, which does not report
    /// it.
    pub registers: Option<usize>,
    /// How often its code moves a register to the stack or back: `None` where Cranelift generated the code.
    pub spills: Option<usize>,
    /// The elementary functions that it computes itself, with the dtypes of their operands.
    pub inlined: Vec<(Op, DType)>,
    /// The ops that call a function for each element, with the dtypes of their operands.
    pub called: Vec<(Op, DType)>,
}

impl fmt::Display for LoopInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lanes {
            1 => write!(f, "loop {}: one by one", self.axis)?,
            lanes => write!(f, "loop {}: {lanes} lanes", self.axis)?,
        }
        for (what, functions) in [("inlined", &self.inlined), ("called", &self.called)] {
            if !functions.is_empty() {
                write!(f, ", {what} {}", named(functions))?;
            }
        }
        write!(f, ", vectors of {} bytes", self.vector_bytes)?;
        if self.unrolled > 1 {
            write!(f, ", {} steps at once", self.unrolled)?;
        }
        match (self.registers, self.spills) {
            (Some(registers), Some(0)) => write!(f, ", {registers} registers, no spills"),
            (Some(registers), Some(spills)) => write!(f, ", {registers} registers, {spills} spills"),
            _ => Ok(()),
        }
    }
}

/// The names of functions, with the dtypes of their operands.
pub(super) fn named(functions: &[(Op, DType)]) -> String {
    let names: Vec<String> = functions.iter().map(|(op, dtype)| format!("{op} ({dtype})")).collect();
    names.join(", ")
}

/// An array that a kernel reads or writes.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom::ArrayPlace;
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// let (x, y) = (g.input::<f32>("x", shape![n, 1]), g.input::<f32>("y", shape![m]));
/// let kernel = (x + y.sin()).compile()?; // sin(y) is computed once, not once per row
/// let infos = kernel.explain().kernel_infos();
/// assert_eq!(infos[0].writes, [ArrayPlace::Temporary(0)]);
/// assert_eq!(infos[1].writes, [ArrayPlace::Output(0)]);
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArrayPlace {
    /// An index into the graph's inputs.
    Input(usize),
    /// An index into the graph's outputs.
    Output(usize),
    /// An index into [`Explanation::temporaries`].
    Temporary(usize),
}

/// An array that is stored between kernels.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// let (x, y) = (g.input::<f32>("x", shape![n, 1]), g.input::<f32>("y", shape![m]));
/// let kernel = (x + y.sin()).compile()?; // sin(y) is computed once, not once per row
/// let stored = kernel.explain().temporaries();
/// assert_eq!(stored[0].dtype, DType::F32);
/// assert!(stored[0].reason.starts_with("loop-invariant"));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemporaryInfo {
    /// Its name in the printed loops.
    pub name: String,
    /// The expression whose value or partial results it holds.
    pub expr: ExprId,
    /// The dtype of the elements: that of the expression, or of its accumulators.
    pub dtype: DType,
    /// The sizes in symbols. Names such as `groups0` stand for the number of parts of a reduction, and names such as
    /// `rows0` for the number of rows that threads hold at one time, if kernels fill and read it a few rows at a time.
    pub sizes: Vec<String>,
    /// Its size in bytes.
    pub bytes: Bytes,
    /// The reason why it is stored.
    pub reason: String,
}

impl Explanation {
    /// Returns what each kernel does, in launch order.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::ArrayPlace;
    /// let g = Graph::new();
    /// let [n, m] = g.symbols(["n", "m"]);
    /// let x = g.input::<f32>("x", shape![n, 1]);
    /// let y = g.input::<f32>("y", shape![1, m]);
    /// let kernel = (x * y).compile()?;
    /// let infos = kernel.explain().kernel_infos();
    /// assert_eq!(infos[0].reads, [ArrayPlace::Input(0), ArrayPlace::Input(1)]);
    /// assert_eq!(infos[0].writes, [ArrayPlace::Output(0)]);
    /// assert!(infos[0].loops.starts_with("for n (threads) for m"));
    /// assert!(infos[0].exprs.contains(&kernel.graph().outputs()[0].expr));
    /// assert_eq!(infos[0].inner_loops[0].axis, "m");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kernel_infos(&self) -> Vec<KernelInfo> {
        let of_part = |part: &Explained| {
            let of_whole = |info: KernelInfo| KernelInfo {
                exprs: info.exprs.iter().map(|expr| part.origin(*expr)).collect(),
                ..info
            };
            part.infos().into_iter().map(of_whole).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(of_part).collect()
    }

    /// Returns what becomes of each tensor of the graph and why, in order: the plan from which kernels were made.
    /// If an expression was split for the machine, each part has an entry.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// use broadloom::Choice;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let y = x.pow(2.7);
    /// let kernel = (y.slice(slice![1..]) + y.slice(slice![..-1])).compile()?;
    /// let plan = kernel.explain().plan().to_vec();
    /// let stored = plan.iter().find_map(|planned| match planned.choice {
    ///     Choice::Materialise(reason) => Some(reason.to_string()),
    ///     Choice::Inline | Choice::Unroll => None,
    /// });
    /// assert_eq!(stored.as_deref(), Some("read through 2 index maps, pow costs 48"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan(&self) -> &[Planned] {
        &self.plan
    }

    /// Returns the arrays that are stored between kernels.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let [n, m] = g.symbols(["n", "m"]);
    /// let x = g.input::<f32>("x", shape![n, 1]);
    /// let y = g.input::<f32>("y", shape![1, m]);
    /// let kernel = (x + y.sin()).compile()?; // sin(y) is computed once, not once per row
    /// let stored = kernel.explain().temporaries();
    /// assert_eq!(stored[0].sizes, ["1", "m"]);
    /// assert_eq!(stored[0].bytes.to_string(), "4*m");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn temporaries(&self) -> Vec<TemporaryInfo> {
        let of_part = |part: &Explained| {
            let schedule = part.schedule();
            let temporary = |buffer: &Buffer| {
                Some(TemporaryInfo {
                    name: buffer.name.clone(),
                    expr: part.origin(buffer.holds?),
                    dtype: buffer.dtype,
                    sizes: buffer.shape.iter().map(|dim| schedule.show(dim)).collect(),
                    bytes: part.show(bytes(buffer)),
                    reason: buffer.reason.map(|reason| reason.to_string()).unwrap_or_default(),
                })
            };
            schedule.buffers.iter().filter_map(temporary).collect::<Vec<_>>()
        };
        self.parts.iter().flat_map(of_part).collect()
    }
}

/// Returns what can be said of the kernels of a schedule.
pub(super) fn infos(schedule: &Schedule, module: &Module) -> Vec<KernelInfo> {
    let mut temporaries = 0..;
    let places: Vec<ArrayPlace> = (schedule.buffers.iter())
        .map(|buffer| match buffer.role {
            Role::Input(input) => ArrayPlace::Input(input.index()),
            Role::Output(output) => ArrayPlace::Output(output),
            Role::Temporary => ArrayPlace::Temporary(temporaries.next().unwrap_or_default()),
        })
        .collect();
    let place = |buffer: &BufferId| places[buffer.index()];
    let mut infos = Vec::with_capacity(schedule.kernels.len());
    for (index, kernel) in schedule.kernels.iter().enumerate() {
        let id = KernelId::new(index);
        let writes: BTreeSet<BufferId> = kernel.written().collect();
        let accessed: BTreeSet<BufferId> =
            kernel.accesses.iter().filter_map(|access| access.buffer).collect();
        infos.push(KernelInfo {
            loops: kernel.outline(),
            exprs: kernel.exprs.clone(),
            reads: accessed.difference(&writes).map(place).collect(),
            writes: writes.iter().map(place).collect(),
            inner_loops: inner_loops(module, id, kernel),
            called: called(kernel),
        });
    }
    infos
}

/// Returns the innermost loops of a kernel.
fn inner_loops(module: &Module, id: KernelId, kernel: &Kernel) -> Vec<LoopInfo> {
    let vector_bytes = module.vectors(id).map_or(0, |vectors| vectors.bytes);
    let info = |code: &LoopCode| LoopInfo {
        axis: kernel.axes[code.axis.index()].name.clone(),
        vector_bytes,
        lanes: code.lanes,
        unrolled: code.unrolled,
        registers: code.registers.map(|registers| registers.used),
        spills: code.registers.map(|registers| registers.spills),
        inlined: code.inlined.clone(),
        called: code.called.clone(),
    };
    module.loops(id).iter().map(info).collect()
}

/// Returns the elementary functions that a kernel calls for whole strips.
fn called(kernel: &Kernel) -> Vec<(Op, DType)> {
    let mut called = Vec::new();
    for stmt in kernel.statements() {
        let Stmt::Call { op, target, .. } = stmt else { continue };
        let dtype = match target {
            Operand::Row(row) => kernel.rows[row.index()].dtype,
            Operand::Array { access, .. } => kernel.accesses[access.index()].dtype,
        };
        if !called.contains(&(*op, dtype)) {
            called.push((*op, dtype));
        }
    }
    called
}
