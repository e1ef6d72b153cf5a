//! Kernels line by line: their loops, the expressions that these compute, and their machine code.

use super::part::{Explained, bytes};
use super::{Bytes, Explanation, stages};
use crate::variant::CompileError;
use broadloom_ir::ExprId;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::Node;
use broadloom_jit::Instruction;
use broadloom_loops::Line;
use broadloom_loops::kernel::{BufferId, Kernel, KernelId, Role};
use std::collections::{BTreeMap, BTreeSet};

/// What an [`Explanation`] prints, line by line, with the expressions and the machine code that each line belongs to; see
/// [`Explanation::listing`].
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let listing = (2 * x + 1).compile()?.explain().listing()?;
/// assert_eq!(listing.parts.len(), 1);
/// assert!(listing.compiled.contains("bytes of code"));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The parts of the graph that are compiled on their own: one, or several if it has loops or its data decide sizes.
    pub parts: Vec<PartListing>,
    /// The time to compile, for which CPU, and the bytes of code.
    pub compiled: String,
    /// Further facts about the whole: what happens between phases, what is called for each element, for which calls there is
    /// code.
    pub notes: Vec<String>,
}

/// Kernels that are compiled together; see [`Listing::parts`].
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let listing = (x - x.mean(0)).compile()?.explain().listing()?;
/// let names: Vec<&str> = listing.parts[0].arrays.iter().map(|array| &*array.name).collect();
/// assert_eq!(names, ["x", "out", "t0"]); // the mean is stored
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartListing {
    /// What part of the graph it is, if it is not the only one.
    pub heading: Option<String>,
    /// Its arrays: inputs, outputs, and those that are stored between its kernels.
    pub arrays: Vec<ArrayListing>,
    /// Its kernels, in launch order.
    pub kernels: Vec<KernelListing>,
    /// Which inputs are written in place, and why others are not.
    pub notes: Vec<String>,
}

/// An array of a [`PartListing`].
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let listing = (2 * x + 1).compile()?.explain().listing()?;
/// let result = &listing.parts[0].arrays[1];
/// assert_eq!((result.role, &*result.sizes[0]), ("output", "n"));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayListing {
    /// `input`, `output`, `stored`, or `held` if it has room for some rows only.
    pub role: &'static str,
    /// Its name in the printed loops.
    pub name: String,
    /// The dtype of its elements.
    pub dtype: DType,
    /// Its sizes in symbols.
    pub sizes: Vec<String>,
    /// Its size in bytes.
    pub bytes: Bytes,
    /// The expression whose value or partial results it holds.
    pub expr: Option<ExprId>,
    /// The reason why it is stored, if kernels read what others have written.
    pub reason: Option<String>,
}

/// A kernel of a [`PartListing`].
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let listing = (2 * x + 1).compile()?.explain().listing()?;
/// let kernel = &listing.parts[0].kernels[0];
/// assert_eq!(kernel.name, "k0");
/// assert!(kernel.outline.contains("for n"), "{}", kernel.outline);
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelListing {
    /// Its name in the printed loops, which is unique in its part.
    pub name: String,
    /// Its loops on one line.
    pub outline: String,
    /// The expressions that it computes, in whole or in part, in the order of the graph.
    pub exprs: Vec<ExprId>,
    /// Its costs, and what is known of the code of its loops.
    pub facts: Vec<String>,
    /// Its statements.
    pub loops: Vec<LoopLine>,
    /// Its machine code.
    pub code: Vec<Instruction>,
}

/// A line of the printed loops of a kernel.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n")]);
/// let listing = (2 * x + 1).compile()?.explain().listing()?;
/// let last = listing.parts[0].kernels[0].loops.iter().rfind(|line| line.depth == 1);
/// assert!(last.is_some_and(|line| line.text.starts_with("store out[n]")));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopLine {
    /// The number of loops around it.
    pub depth: usize,
    /// Its text, without indentation.
    pub text: String,
    /// The number of its statement in the kernel. The lines at the beginning and the end of a loop have the same.
    pub statement: usize,
    /// The expressions that it computes, moves or stores. Each expression of the kernel is in one line at least: one that has no
    /// statement of its own is in those of its users.
    pub exprs: Vec<ExprId>,
}

impl Explanation {
    /// Returns what this explanation prints, line by line, with the machine code. This compiles all kernels once more to keep the
    /// text.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x + 1).compile()?;
    /// let result = kernel.graph().outputs()[0].expr;
    /// let listing = kernel.explain().listing()?;
    /// let computed = &listing.parts[0].kernels[0];
    /// let added = computed.loops.iter().find(|line| line.exprs.contains(&result)).expect("a line");
    /// assert!(added.text.contains("add"));
    /// # #[cfg(target_arch = "x86_64")]
    /// assert!(computed.code.iter().any(|line| line.statement == Some(added.statement)));
    /// # Ok::<(), broadloom::CompileError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if compilation fails.
    pub fn listing(&self) -> Result<Listing, CompileError> {
        let parts = self.parts.iter().map(Explained::listing).collect::<Result<_, CompileError>>()?;
        let notes = [stages::between_phases(&self.inner), self.calls(), self.variant_notes()].concat();
        Ok(Listing { parts, compiled: self.compiled(), notes })
    }
}

impl Explained {
    fn listing(&self) -> Result<PartListing, CompileError> {
        let schedule = self.schedule();
        let module = self.kernels.variants.with_text(schedule)?;
        let kernels = schedule.kernels.iter().enumerate();
        let kernels = kernels.zip(self.infos()).map(|((index, kernel), info)| {
            let id = KernelId::new(index);
            let exprs = info.exprs.iter().map(|expr| self.origin(*expr)).collect();
            KernelListing {
                name: id.to_string(),
                facts: self.kernel_facts(id, kernel, &info),
                outline: info.loops,
                exprs,
                loops: self.loop_lines(kernel),
                code: module.instructions(id).to_vec(),
            }
        });
        let arrays = (0..schedule.buffers.len()).map(|index| self.array(BufferId::new(index)));
        Ok(PartListing {
            heading: self.heading.clone(),
            arrays: arrays.collect(),
            kernels: kernels.collect(),
            notes: self.notes(),
        })
    }

    fn array(&self, id: BufferId) -> ArrayListing {
        let schedule = self.schedule();
        let buffer = &schedule.buffers[id.index()];
        let role = match buffer.role {
            Role::Input(_) => "input",
            Role::Output(_) => "output",
            Role::Temporary if schedule.holds(id) => "held",
            Role::Temporary => "stored",
        };
        ArrayListing {
            role,
            name: buffer.name.clone(),
            dtype: buffer.dtype,
            sizes: buffer.shape.iter().map(|dim| schedule.show(dim)).collect(),
            bytes: self.show(bytes(buffer)),
            expr: self.held(id).map(|expr| self.origin(expr)),
            reason: buffer.reason.map(|reason| reason.to_string()),
        }
    }

    /// Returns the expression of the part whose value or partial results an array holds.
    fn held(&self, id: BufferId) -> Option<ExprId> {
        let buffer = &self.schedule().buffers[id.index()];
        let graph = &self.inner.graph;
        match buffer.role {
            Role::Input(input) => {
                graph.exprs().find(|expr| matches!(graph.node(*expr), Node::Input(of) if *of == input))
            }
            Role::Output(output) => graph.outputs().get(output).map(|output| output.expr),
            Role::Temporary => buffer.holds,
        }
    }

    /// Returns the lines of a kernel's loops, with expressions of the whole graph.
    fn loop_lines(&self, kernel: &Kernel) -> Vec<LoopLine> {
        let mut lines = self.schedule().lines(kernel);
        for line in &mut lines {
            line.exprs.extend(line.written.and_then(|array| self.held(array)));
        }
        self.add_without_line(kernel, &mut lines);
        let line = |Line { depth, text, statement, exprs, written: _ }: Line| {
            let exprs: BTreeSet<ExprId> = exprs.into_iter().map(|expr| self.origin(expr)).collect();
            LoopLine { depth, text, statement, exprs: exprs.into_iter().collect() }
        };
        lines.into_iter().map(line).collect()
    }

    /// Adds the expressions that no statement stands for: to the lines of an expression with the same value, else, if the kernel
    /// computes them, to those of their users, which compute them on the way, else to those of their operands.
    fn add_without_line(&self, kernel: &Kernel, lines: &mut [Line]) {
        let graph = &self.inner.graph;
        let mut lines_of: BTreeMap<ExprId, BTreeSet<usize>> = BTreeMap::new();
        for (number, line) in lines.iter().enumerate() {
            for expr in &line.exprs {
                lines_of.entry(*expr).or_default().insert(number);
            }
        }
        let own: BTreeSet<ExprId> = lines_of.keys().copied().collect();
        for expr in graph.exprs() {
            let same = self.kernels.variants.first_equal(expr);
            if let Some(found) = lines_of.get(&same).filter(|_| same != expr).cloned() {
                lines_of.entry(expr).or_default().extend(found);
            }
        }
        // Users come after their operands.
        for expr in kernel.exprs.iter().rev() {
            let Some(found) = lines_of.get(expr).cloned() else { continue };
            for operand in graph.operands(*expr) {
                let is_computed = kernel.exprs.binary_search(&operand).is_ok();
                if is_computed && !own.contains(&operand) {
                    lines_of.entry(operand).or_default().extend(found.iter().copied());
                }
            }
        }
        for expr in &kernel.exprs {
            if !lines_of.contains_key(expr) {
                let operands = graph.operands(*expr);
                let found = operands.iter().filter_map(|operand| lines_of.get(operand)).flatten();
                let found: BTreeSet<usize> = found.copied().collect();
                if !found.is_empty() {
                    lines_of.insert(*expr, found);
                }
            }
        }
        for (expr, numbers) in lines_of {
            for number in numbers {
                if !lines[number].exprs.contains(&expr) {
                    lines[number].exprs.push(expr);
                }
            }
        }
    }
}
