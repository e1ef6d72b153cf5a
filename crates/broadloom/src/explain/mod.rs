//! Explanations of compiled graphs.

mod kernels;
mod listing;
mod part;
mod stages;
mod variants;

pub use kernels::{ArrayPlace, KernelInfo, LoopInfo, TemporaryInfo};
pub use listing::{ArrayListing, KernelListing, Listing, LoopLine, PartListing};

use crate::bind::{BoundCode, SymbolNames};
use crate::compiled::Inner;
use crate::variant::CompileError;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::ops::Op;
use broadloom_loops::kernel::{Kernel, KernelId, Schedule, Stmt, Turn};
use broadloom_loops::plan::Planned;
use kernels::named;
use part::Explained;
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
    /// The parts of a graph that are compiled on their own: one, or several if it has loops.
    parts: Vec<Explained>,
    compile_time: Duration,
    /// What the parts store, by expressions of the graph.
    plan: Vec<Planned>,
    dot: String,
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
    /// Explains a graph, by the code of a binding if there is one.
    pub(crate) fn new(inner: Arc<Inner>, bound: Option<&BoundCode>) -> Explanation {
        let parts = stages::parts(&inner, bound);
        let time = |part: &Explained| part.variant.compile_time;
        let compile_time = match (&parts[..], bound) {
            ([part], Some(_)) => time(part),
            _ => inner.compile_time,
        };
        let plan = parts.iter().flat_map(|part| {
            let plan = part.variant.schedule.plan.iter();
            plan.map(|planned| Planned { expr: part.origin(planned.expr), ..*planned })
        });
        let plan = plan.collect();
        let dot: Vec<String> = parts.iter().map(|part| part.variant.schedule.dot()).collect();
        let dot = dot.join("\n");
        Explanation { inner, parts, compile_time, plan, dot }
    }

    fn schedules(&self) -> impl Iterator<Item = &Schedule> {
        self.parts.iter().map(Explained::schedule)
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
        let compiled = self.parts.iter().map(|part| 1 + part.kernels.variants.others().len());
        compiled.max().unwrap_or(1)
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
        self.schedules().map(|schedule| schedule.kernels.len()).sum()
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
        if let [part] = &self.parts[..] {
            return part.show(part.stored().add(&stages::stored(&self.inner)).unwrap_or(Dim::ZERO));
        }
        // Each part has symbols of its own beside those of the graph: they are shown one by one.
        let of_loops = stages::stored(&self.inner);
        let shown = self.parts.iter().map(|part| (part.stored(), part.show(part.stored()).text));
        let of_graph = SymbolNames(&self.inner.graph).dim(&of_loops);
        let stored: Vec<(Dim, String)> =
            shown.chain([(of_loops, of_graph)]).filter(|(dim, _)| !dim.is_zero()).collect();
        let dim = stored.iter().fold(Dim::ZERO, |total, (dim, _)| total.add(dim).unwrap_or(total));
        let text: Vec<String> = stored.into_iter().map(|(_, text)| text).collect();
        Bytes { text: if text.is_empty() { "0".to_owned() } else { text.join("+") }, dim }
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
        self.schedules().any(|schedule| schedule.kernels.iter().any(vectorized))
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
        let mut calls: Vec<(Op, DType)> = Vec::new();
        for call in self.parts.iter().flat_map(|part| part.module().scalar_calls()) {
            if !calls.contains(call) {
                calls.push(*call);
            }
        }
        calls
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
        let mut assigned = self.parts.iter().flat_map(Explained::assigned);
        assigned.find(|(name, _)| *name == input).map(|(_, aside)| aside.is_none())
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
        self.parts.iter().map(Explained::code_bytes).sum()
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
        &self.dot
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
        self.parts.iter().flat_map(Explained::vectors).map(|vectors| vectors.bytes).collect()
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
        let vectors = self.parts.iter().flat_map(Explained::vectors);
        vectors.map(|vectors| vectors.registers.map(|registers| registers.spills)).collect()
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

    /// Returns what is called once per element: a line, or none.
    fn calls(&self) -> Vec<String> {
        let calls = self.scalar_calls();
        (!calls.is_empty())
            .then(|| format!("called once per element: {}", named(&calls)))
            .into_iter()
            .collect()
    }

    /// Returns the time to compile, for which CPU, and the bytes of code.
    fn compiled(&self) -> String {
        let time = format!("compiled in {:.2} ms", self.compile_time.as_secs_f64() * 1e3);
        match self.parts.first().map(|part| part.kernels.variants.options.level) {
            Some(level) => format!("{time} for {level} to {} bytes of code", self.code_bytes()),
            None => time,
        }
    }

    /// Returns for which calls there is code, a line each.
    fn variant_notes(&self) -> Vec<String> {
        self.parts.iter().flat_map(Explained::variant_notes).collect()
    }

    fn text(
        &self,
        of: impl Fn(&broadloom_jit::Module, KernelId) -> Option<String>,
    ) -> Result<String, CompileError> {
        let mut texts: Vec<String> = Vec::new();
        for part in &self.parts {
            let module = part.kernels.variants.with_text(part.schedule())?;
            texts.extend(part.ids().filter_map(|kernel| of(&module, kernel)));
        }
        Ok(texts.join("\n"))
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
        for part in &self.parts {
            part.print(f)?;
        }
        for line in stages::between_phases(&self.inner) {
            writeln!(f, "{line}")?;
        }
        writeln!(f, "stored between kernels: {} bytes", self.materialized_bytes())?;
        let notes = [self.calls(), vec![self.compiled()], self.variant_notes()].concat();
        notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

impl fmt::Debug for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
