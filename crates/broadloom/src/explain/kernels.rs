//! The expressions that each kernel computes, and the arrays between kernels.

use super::{Bytes, Explanation};
use broadloom_ir::ExprId;
use broadloom_ir::dtype::DType;
use broadloom_loops::kernel::{Buffer, BufferId, Role};
use broadloom_loops::plan::Planned;
use std::collections::BTreeSet;

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
    /// The sizes in symbols. Names such as `groups0` stand for the number of parts of a reduction.
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
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kernel_infos(&self) -> Vec<KernelInfo> {
        let schedule = self.schedule();
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
        for kernel in &schedule.kernels {
            let writes: BTreeSet<BufferId> = kernel.written().collect();
            let accessed: BTreeSet<BufferId> =
                kernel.accesses.iter().filter_map(|access| access.buffer).collect();
            infos.push(KernelInfo {
                loops: kernel.outline(),
                exprs: kernel.exprs.clone(),
                reads: accessed.difference(&writes).map(place).collect(),
                writes: writes.iter().map(place).collect(),
            });
        }
        infos
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
        &self.schedule().plan
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
        let schedule = self.schedule();
        let temporary = |buffer: &Buffer| {
            Some(TemporaryInfo {
                name: buffer.name.clone(),
                expr: buffer.holds?,
                dtype: buffer.dtype,
                sizes: buffer.shape.iter().map(|dim| schedule.show(dim)).collect(),
                bytes: self.bytes(std::iter::once(buffer)),
                reason: buffer.reason.map(|reason| reason.to_string()).unwrap_or_default(),
            })
        };
        schedule.buffers.iter().filter_map(temporary).collect()
    }
}
