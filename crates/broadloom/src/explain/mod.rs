//! Explanations of compiled graphs.

mod kernels;
mod variants;

pub use kernels::{ArrayPlace, KernelInfo, LoopInfo, TemporaryInfo};

use crate::compiled::Inner;
use crate::variant::{Aside, CompileError, Variant};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::ops::Op;
use broadloom_jit::{Registers, Vectors};
use broadloom_loops::kernel::{Buffer, BufferId, Kernel, KernelId, Role, Schedule, Stmt, Turn};
use kernels::named;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Explains what the compiler made of a graph for dense arrays of all sizes, or for [some
/// arrays](crate::Bound::explain). It prints the loops of each kernel and facts about them; its methods answer
/// questions that tests can ask.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// let x = g.input::<f32>("x", shape![n, 1]);
/// let y = g.input::<f32>("y", shape![1, m]);
/// let kernel = (x * x + y * y).sqrt().compile()?;
/// let explanation = kernel.explain();
/// assert_eq!(explanation.kernels(), 1);
/// assert_eq!(explanation.materialized_bytes(), 0);
/// assert!(explanation.vectorized("m"));
/// println!("{explanation}");
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Clone)]
pub struct Explanation {
    inner: Arc<Inner>,
    variant: Arc<Variant>,
    compile_time: Duration,
}

/// A number of bytes that may depend on symbols. It compares with numbers, and prints like a size.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let [n, m] = g.symbols(["n", "m"]);
/// let (x, y) = (g.input::<f32>("x", shape![n, 1]), g.input::<f32>("y", shape![m]));
/// let kernel = (x + y.sin()).compile()?; // sin(y) is computed once, not once per row
/// let bytes = kernel.explain().materialized_bytes();
/// assert_eq!((bytes.to_string().as_str(), bytes.as_constant()), ("4*m", None));
/// # Ok::<(), broadloom::CompileError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Bytes {
    dim: Dim,
    text: String,
}

impl Bytes {
    /// Returns the number, if it is the same for all sizes.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert_eq!(kernel.explain().materialized_bytes().as_constant(), Some(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_constant(&self) -> Option<i64> {
        self.dim.as_constant()
    }
}

impl PartialEq<i64> for Bytes {
    fn eq(&self, other: &i64) -> bool {
        self.as_constant() == Some(*other)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Explanation {
    pub(crate) fn new(inner: Arc<Inner>, variant: Arc<Variant>, compile_time: Duration) -> Explanation {
        Explanation { inner, variant, compile_time }
    }

    fn schedule(&self) -> &Schedule {
        &self.variant.schedule
    }

    /// Returns how many times the graph has been compiled so far: once for dense arrays of all sizes, and once for
    /// each other combination of layouts and short sizes (of a reduction or a trailing axis) that calls have used.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// kernel.run(&[1.0f32, 2.0])?;
    /// kernel.run(&[1.0f32; 1000])?;
    /// assert_eq!(kernel.explain().variants(), 1);
    /// kernel.run(ArrayView::strided(&[1.0f32; 6], 0, &[3], &[2])?)?;
    /// assert_eq!(kernel.explain().variants(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn variants(&self) -> usize {
        1 + self.inner.variants.others().len()
    }

    /// Returns the number of kernels, each a fused loop nest.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert_eq!(kernel.explain().kernels(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn kernels(&self) -> usize {
        self.schedule().kernels.len()
    }

    /// Returns the number of bytes of all arrays stored between kernels, and of results that are computed aside before they
    /// are [assigned](crate::Tensor::assign): 0 if everything is fused and written in place. Of arrays that kernels fill and
    /// read a few rows at a time, it counts `rows0` rows (`rows1`, ..): those that all threads hold at one time, which depend on
    /// the sizes of a call; [`Bound::temporary_bytes`](crate::Bound::temporary_bytes) has the number for a call.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert_eq!(kernel.explain().materialized_bytes(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn materialized_bytes(&self) -> Bytes {
        let schedule = self.schedule();
        let is_stored = |buffer: &Buffer| match buffer.role {
            Role::Input(_) => false,
            Role::Output(output) => self.variant.asides.get(output).is_some_and(Option::is_some),
            Role::Temporary => true,
        };
        // Versions of an array are in one memory.
        let buffers = schedule.buffers.iter().zip(schedule.last_versions()).enumerate();
        let own = buffers.filter(|(index, (_, last))| last.index() == *index).map(|(_, (buffer, _))| buffer);
        self.bytes(own.filter(|buffer| is_stored(buffer)))
    }

    fn bytes<'a>(&self, buffers: impl Iterator<Item = &'a Buffer>) -> Bytes {
        let total = buffers.fold(Dim::ZERO, |total, buffer| {
            let bytes = buffer.shape.elements().and_then(|count| count.scale(buffer.dtype.size() as i64));
            bytes.and_then(|bytes| total.add(&bytes)).unwrap_or(total)
        });
        Bytes { text: self.schedule().show(&total), dim: total }
    }

    /// Returns whether a loop over the axis of this name computes several neighbours at once, or hands them to a
    /// vector function. Axes are named after the symbols of their sizes; see the printed loops.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(kernel.explain().vectorized("n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn vectorized(&self, axis: &str) -> bool {
        let vectorized = |kernel: &Kernel| {
            let mut statements = kernel.statements();
            statements.any(|stmt| is_vectorized(kernel, stmt, axis))
        };
        self.schedule().kernels.iter().any(vectorized)
    }

    /// Returns the ops, with the dtypes of their operands, that call a function for each element because there is
    /// no inline code for them. In hot loops this is slow.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(kernel.explain().scalar_calls().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scalar_calls(&self) -> Vec<(Op, DType)> {
        self.variant.module.scalar_calls().to_vec()
    }

    /// Returns whether an input of this name, which is [assigned](crate::Tensor::assign) to, is written directly:
    /// `false` if its new value is computed aside and copied, for which the printed text gives the reason. `None`
    /// if nothing is assigned to it.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// x.add_(1);
    /// let kernel = g.compile([])?;
    /// assert_eq!(kernel.explain().in_place("x"), Some(true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_place(&self, input: &str) -> Option<bool> {
        self.assigned().find(|(name, _)| *name == input).map(|(_, aside)| aside.is_none())
    }

    fn assigned(&self) -> impl Iterator<Item = (&str, Option<Aside>)> {
        let outputs = self.inner.graph.outputs().iter().zip(&self.variant.asides);
        outputs.filter(|(output, _)| output.assigned.is_some()).map(|(output, aside)| (&*output.name, *aside))
    }

    /// Returns how long compilation took.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(kernel.explain().compile_time().as_secs() < 60);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }

    /// Returns the number of bytes of machine code.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(kernel.explain().code_bytes() > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn code_bytes(&self) -> usize {
        self.variant.module.code_bytes()
    }

    /// Returns the graph of kernels and the arrays between them, in the DOT language.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(kernel.explain().dot().starts_with("digraph"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn dot(&self) -> &str {
        &self.schedule().dot
    }

    /// Returns the graph that was compiled; it prints one line per expression.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(kernel.explain().graph().to_string().contains("multiply"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn graph(&self) -> &CheckedGraph {
        &self.inner.graph
    }

    /// Returns Cranelift's intermediate representation of all kernels. This compiles them once more to keep the
    /// text.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(kernel.explain().clif()?.contains("function"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if compilation fails.
    pub fn clif(&self) -> Result<String, CompileError> {
        self.text(|module, kernel| module.clif(kernel).map(str::to_string))
    }

    /// Returns the size in bytes of the vector registers that each kernel uses: 16, or on x86-64 (except on
    /// Windows) 32 with AVX2 and 64 with AVX-512, provided that the back end for wide registers supports everything
    /// in the kernel.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!([16, 32, 64].contains(&kernel.explain().vector_bytes()[0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn vector_bytes(&self) -> Vec<usize> {
        self.vectors().map(|vectors| vectors.bytes).collect()
    }

    /// Returns how often the innermost loops of each kernel move a register to the stack or back, summed over their
    /// code: `None` where Cranelift generated the code, which does not report it.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(matches!(kernel.explain().spills()[0], None | Some(0)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spills(&self) -> Vec<Option<usize>> {
        self.vectors().map(|vectors| vectors.registers.map(|registers| registers.spills)).collect()
    }

    fn vectors(&self) -> impl Iterator<Item = Vectors> {
        let kernels = (0..self.kernels()).map(KernelId::new);
        kernels.filter_map(|kernel| self.variant.module.vectors(kernel))
    }

    /// Returns the machine code of all kernels as assembly. This compiles them once more to keep the text.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let kernel = (2 * x).compile()?;
    /// assert!(!kernel.explain().disassembly()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if compilation fails.
    pub fn disassembly(&self) -> Result<String, CompileError> {
        self.text(|module, kernel| module.disassembly(kernel).map(str::to_string))
    }

    fn text(
        &self,
        of: impl Fn(&broadloom_jit::Module, KernelId) -> Option<String>,
    ) -> Result<String, CompileError> {
        let variant = self.inner.variants.with_text(&self.variant)?;
        let texts = (0..self.kernels()).filter_map(|index| of(&variant.module, KernelId::new(index)));
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }
}

fn is_vectorized(kernel: &Kernel, stmt: &Stmt, name: &str) -> bool {
    let outer = stmt.as_loop();
    let loops = std::iter::successors(outer.as_ref(), |each| each.inner.as_deref());
    let vector = loops.filter(|each| matches!(each.turn, Turn::Steps(2..))).map(|each| each.axis);
    // A tile function computes whole strips.
    stmt.tiled().into_iter().chain(vector).any(|axis| kernel.axes[axis.index()].name == name)
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schedule = self.schedule();
        write!(f, "{schedule}")?;
        for (index, (kernel, info)) in schedule.kernels.iter().zip(self.kernel_infos()).enumerate() {
            let per = match kernel.parallel {
                Some(axis) => format!("per step of {}", kernel.axes[axis.index()].name),
                None => "in all".to_string(),
            };
            let step = &kernel.cost.step;
            let (bytes, operations) = (schedule.show(&step.bytes), schedule.show(&step.operations));
            let scratch = kernel.scratch_bytes();
            let id = KernelId::new(index);
            write!(f, "{id}: {bytes} bytes and {operations} operations {per}, ")?;
            write!(f, "{scratch} bytes of scratch per thread")?;
            if let Some(Vectors { bytes, registers }) = self.variant.module.vectors(id) {
                write!(f, ", vectors of {bytes} bytes")?;
                match registers {
                    Some(Registers { used, spills: 0 }) => {
                        write!(f, " in {used} registers, no spills in loops")?
                    }
                    Some(Registers { used, spills }) => {
                        write!(f, " in {used} registers, {spills} spills in loops")?
                    }
                    None => {}
                }
            }
            writeln!(f)?;
            for code in &info.inner_loops {
                writeln!(f, "  {code}")?;
            }
            if !info.called.is_empty() {
                writeln!(f, "  called for strips: {}", named(&info.called))?;
            }
        }
        for (index, buffer) in schedule.buffers.iter().enumerate() {
            if let Some(reason) = buffer.reason {
                let is_held = schedule.holds(BufferId::new(index));
                let how = if is_held { "held for some rows" } else { "stored" };
                writeln!(f, "{} is {how}: {reason}", buffer.name)?;
            }
        }
        for (name, aside) in self.assigned() {
            match aside {
                None => writeln!(f, "{name}: written in place")?,
                Some(aside) => writeln!(f, "{name}: computed aside: {aside}")?,
            }
        }
        writeln!(f, "stored between kernels: {} bytes", self.materialized_bytes())?;
        let calls = self.scalar_calls();
        if !calls.is_empty() {
            writeln!(f, "called once per element: {}", named(&calls))?;
        }
        write!(f, "compiled in {:.2} ms", self.compile_time.as_secs_f64() * 1e3)?;
        writeln!(f, " for {} to {} bytes of code", self.inner.variants.options.level, self.code_bytes())?;
        let of_arrays = variants::facts(&self.inner, &self.variant);
        if !of_arrays.is_empty() {
            return writeln!(f, "only where {of_arrays}");
        }
        for variant in self.inner.variants.others() {
            let (of_arrays, bytes) = (variants::facts(&self.inner, &variant), variant.module.code_bytes());
            writeln!(f, "and where {of_arrays}: {bytes} bytes of code")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
