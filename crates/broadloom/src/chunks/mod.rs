//! Kernels that run over their rows chunk by chunk, with bounded memory.
//!
//! ```text
//! Executable ──in_chunks("n")──▶ Chunked ──start(what is not streamed)──▶ ChunkRun ──push(rows) ..──▶ finish ──▶ Outputs
//!                    ChunkError                                              └── Outputs of those rows
//! ```

mod counter;
mod error;
mod run;

pub use error::ChunkError;
pub use run::ChunkRun;

use crate::IntoInputs;
use crate::bind::{SizeRules, nearest};
use crate::executable::{ArrayInfo, Executable, info, input_info};
use crate::options::CompileOptions;
use crate::variant::CompileError;
use broadloom_ir::chunks::{Destination, Part, Refusal, Split, split};
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::Site;
use std::fmt;
use std::sync::Arc;

/// An executable that takes some of its inputs chunk by chunk along their leading axis, the rows. It computes
/// arrays of any length in bounded memory.
///
/// Results that have rows are returned with each chunk. Reductions over all rows are merged, and their results are
/// returned at the end, with the same bits as for all rows at once. If rows depend on such results (`x - mean(x,
/// 0)`), the rows are passed again: [`Chunked::passes`] times in all.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f32>("x", shape![g.symbol("n"), 2]);
/// let scale = g.input::<f32>("scale", shape![2]);
/// let chunked = g.compile([("scaled", x * scale), ("highest", x.max(0))])?.in_chunks("n")?;
///
/// let mut run = chunked.start(inputs! { "scale" => &[10.0f32, 1.0] })?;
/// for chunk in [[1.0f32, 2.0, 3.0, 4.0], [7.0, 0.0, 5.0, 1.0]] {
///     let rows = ArrayView::new(&chunk, &[2, 2])?;
///     let scaled: Vec<f32> = run.push(inputs! { "x" => rows })?.take("scaled")?;
///     assert_eq!(scaled[..2], [10.0 * chunk[0], chunk[1]]);
/// }
/// let highest: Vec<f32> = run.finish()?.take("highest")?;
/// assert_eq!(highest, [7.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Chunked(Arc<Compiled>);

struct Compiled {
    whole: Executable,
    split: Split,
    /// Solves the sizes of a chunk.
    of_chunk: SizeRules,
    passes: Vec<Pass>,
}

struct Pass {
    begin: Option<Kernel>,
    each: Option<Kernel>,
    of_none: Option<Kernel>,
    /// The kernel for the last few of many rows.
    tail: Option<Kernel>,
    merge: Option<Kernel>,
    rest: Option<Kernel>,
}

struct Kernel {
    part: Part,
    executable: Executable,
}

impl Kernel {
    fn new(
        part: &Option<Part>,
        options: &CompileOptions,
        tail: Option<Dim>,
    ) -> Result<Option<Kernel>, CompileError> {
        let Some(part) = part else { return Ok(None) };
        let executable = Executable::new(crate::compile::compile_part(&part.graph, options, tail)?);
        Ok(Some(Kernel { part: part.clone(), executable }))
    }
}

impl Executable {
    /// Returns the same computation with some inputs passed chunk by chunk: those whose leading axis has the size
    /// `rows`, the name of a symbol. The other inputs are passed once.
    ///
    /// Each chunk of rows must be enough for every operation on it: elementwise operations, reductions along other
    /// axes, views that keep the rows, and look-ups in tables of other sizes. Reductions over all rows, including
    /// the `k` best among them, work along whichever axis holds the rows by then. So either side of pairs such as
    /// `x[:, None] - y` can come in chunks: for chunks of `y`, its nearest row, weighted sums over its rows, and
    /// counts of its rows are merged.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let n = g.symbol("n");
    /// let x = g.input::<f64>("x", shape![n]);
    /// let total = (x * x).sum(0).compile()?.in_chunks("n")?;
    /// assert_eq!((total.passes(), total.multiple()), (1, 1024));
    ///
    /// let pairs = (x.unsqueeze(0) - x.unsqueeze(1)).compile()?;
    /// assert!(pairs.in_chunks("n").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error that names a result which cannot be computed in chunks, and the reason.
    pub fn in_chunks(&self, rows: &str) -> Result<Chunked, ChunkError> {
        let (graph, options) = (self.graph(), self.options());
        let symbols = graph.symbols();
        let Some(position) = symbols.iter().position(|info| *info.name == *rows) else {
            let known = || symbols.iter().map(|info| &*info.name);
            return Err(ChunkError::UnknownSize {
                name: rows.to_string(),
                suggestion: nearest(rows, known()).map(str::to_string),
                known: known().map(str::to_string).collect(),
            });
        };
        let split = split(graph, broadloom_ir::SymbolId::new(position))
            .map_err(|(expr, refusal)| ChunkError::refused(graph, rows, expr, refusal))?;
        let mut of_chunk = SizeRules::new(&split.of_chunk);
        // The conditions of the whole graph are checked at the end, also those on the number of all rows.
        let of_whole = self.inner().rules.required.iter();
        of_chunk.required.iter_mut().zip(of_whole).for_each(|(required, whole)| *required |= whole);
        let length = Dim::symbol(split.rows);
        for ((input, required), streamed) in
            graph.inputs().iter().zip(&of_chunk.required).zip(&split.streamed)
        {
            let mentions = || input.shape.iter().flat_map(Dim::symbols).any(|symbol| symbol == split.rows);
            let elsewhere =
                || input.shape.iter().skip(1).flat_map(Dim::symbols).any(|symbol| symbol == split.rows);
            if *required && (elsewhere() || !streamed && mentions()) {
                let at = Some((format!("input {:?}", input.name), input.site));
                return Err(ChunkError::Refused { rows: rows.to_string(), at, refusal: Refusal::Input });
            }
        }
        let passes = split.passes.iter().map(|pass| {
            let tail = if split.multiple.rows() > 1 { &pass.each } else { &None };
            Ok(Pass {
                begin: Kernel::new(&pass.begin, options, None)?,
                each: Kernel::new(&pass.each, options, None)?,
                of_none: Kernel::new(&pass.of_none, options, None)?,
                tail: Kernel::new(tail, options, Some(length.clone()))?,
                merge: Kernel::new(&pass.merge, options, None)?,
                rest: Kernel::new(&pass.rest, options, None)?,
            })
        });
        let passes = passes.collect::<Result<_, CompileError>>()?;
        Ok(Chunked(Arc::new(Compiled { whole: self.clone(), split, of_chunk, passes })))
    }

    /// Returns the names of the symbols that are the size of an input's leading axis.
    /// [`in_chunks`](Executable::in_chunks) may cut along these.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let [n, k] = g.symbols(["n", "k"]);
    /// let (x, y) = (g.input::<f32>("x", shape![n, k]), g.input::<f32>("y", shape![k]));
    /// assert_eq!((x * y).compile()?.leading_sizes(), ["n", "k"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn leading_sizes(&self) -> Vec<String> {
        let graph = self.graph();
        let mut names: Vec<String> = Vec::new();
        for input in graph.inputs() {
            if let Some(symbol) = input.shape.first().and_then(Dim::as_symbol) {
                let name = graph.symbols()[symbol.index()].name.to_string();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }
}

impl Chunked {
    /// Returns how often the rows are passed: once, unless rows depend on reductions over all rows.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f64>("x", shape![g.symbol("n")]);
    /// let centred = x - x.mean(0);
    /// assert_eq!(centred.compile()?.in_chunks("n")?.passes(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn passes(&self) -> usize {
        self.0.passes.len()
    }

    /// Returns the number that the rows of every chunk but the last must be a multiple of: 1,024 if floats are
    /// added or multiplied over the rows, 65,536 if there are segmented reductions, otherwise 1.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f64>("x", shape![g.symbol("n")]);
    /// assert_eq!(x.max(0).compile()?.in_chunks("n")?.multiple(), 1);
    /// assert_eq!(x.sum(0).compile()?.in_chunks("n")?.multiple(), 1024);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiple(&self) -> usize {
        self.0.split.multiple.rows()
    }

    /// Returns the inputs that are passed chunk by chunk.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let (x, y) = (g.input::<f32>("x", shape![g.symbol("n"), 3]), g.input::<f32>("y", shape![3]));
    /// let chunked = (x * y).compile()?.in_chunks("n")?;
    /// assert_eq!(chunked.streamed()[0].to_string(), "x: f32[n, 3]");
    /// assert_eq!(chunked.fixed()[0].to_string(), "y: f32[3]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn streamed(&self) -> Vec<ArrayInfo> {
        self.inputs(true)
    }

    /// Returns the inputs that are passed once, at the start.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
    /// assert!(x.exp().compile()?.in_chunks("n")?.fixed().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fixed(&self) -> Vec<ArrayInfo> {
        self.inputs(false)
    }

    fn inputs(&self, streamed: bool) -> Vec<ArrayInfo> {
        let graph = self.0.whole.graph();
        let wanted = self.0.of_chunk.required.iter().zip(&self.0.split.streamed);
        let inputs = graph.inputs().iter().zip(wanted);
        let those = inputs.filter(|(_, (required, is_streamed))| **required && **is_streamed == streamed);
        those.map(|(input, _)| input_info(graph, input)).collect()
    }

    /// Returns the outputs whose rows are returned with each chunk of a pass; passes count from 0.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let chunked = g.compile([("twice", 2 * x), ("rest", x - x.max(0)), ("highest", x.max(0))])?.in_chunks("n")?;
    /// assert_eq!(chunked.rows(0)[0].to_string(), "twice: f32[n]");
    /// assert_eq!(chunked.rows(1)[0].to_string(), "rest: f32[n]");
    /// assert_eq!(chunked.totals()[0].to_string(), "highest: f32[]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows(&self, pass: usize) -> Vec<ArrayInfo> {
        let pass = self.0.split.passes.get(pass);
        let outputs = pass.and_then(|pass| pass.each.as_ref()).map_or(&[][..], |part| &part.outputs);
        let rows = outputs.iter().filter_map(|output| match output {
            Destination::Rows(output) => Some(*output),
            _ => None,
        });
        rows.map(|output| self.output(output)).collect()
    }

    /// Returns the outputs that are returned at the end.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// assert!(x.exp().compile()?.in_chunks("n")?.totals().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn totals(&self) -> Vec<ArrayInfo> {
        self.total_numbers().into_iter().map(|output| self.output(output)).collect()
    }

    fn total_numbers(&self) -> Vec<usize> {
        let rests = self.0.split.passes.iter().filter_map(|pass| pass.rest.as_ref());
        let mut totals: Vec<usize> = rests
            .flat_map(|part| &part.outputs)
            .filter_map(|output| match output {
                Destination::Whole(output) => Some(*output),
                _ => None,
            })
            .collect();
        totals.sort_unstable();
        totals
    }

    /// Returns the executable that was cut into chunks.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let chunked = (2 * x).compile()?.in_chunks("n")?;
    /// assert_eq!(chunked.executable().inputs()[0].to_string(), "x: f32[n]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn executable(&self) -> &Executable {
        &self.0.whole
    }

    fn output(&self, number: usize) -> ArrayInfo {
        let graph = self.0.whole.graph();
        let output = &graph.outputs()[number];
        info(graph, &output.name, graph.dtype(output.expr), graph.shape(output.expr))
    }

    /// Starts a run with the arrays that are not streamed, and the sizes of
    /// [parameters](crate::Executable::parameters).
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let chunked = x.sum(0).compile()?.in_chunks("n")?;
    /// let mut run = chunked.start(())?;
    /// run.push(&[1.0f32, 2.0])?;
    /// let total: f32 = run.finish()?.try_into()?;
    /// assert_eq!(total, 3.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if names, dtypes or numbers of axes do not fit. Sizes are compared once the first chunk is
    /// passed.
    #[track_caller]
    pub fn start<'a>(&self, inputs: impl IntoInputs<'a>) -> Result<ChunkRun<'a>, ChunkError> {
        let site = Site::caller();
        ChunkRun::new(self.clone(), inputs.into_inputs()).map_err(|error| error.called_from(site))
    }
}

impl fmt::Debug for Chunked {
    /// Prints `Chunked(2 passes over n of Executable(x: f32[n] -> out: f32[n]))`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let graph = self.0.whole.graph();
        let rows = &graph.symbols()[self.0.split.rows.index()].name;
        let passes = self.passes();
        let plural = if passes == 1 { "pass" } else { "passes" };
        write!(f, "Chunked({passes} {plural} over {rows} of {:?})", self.0.whole)
    }
}
