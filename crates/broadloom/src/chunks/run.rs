//! A run over the rows.

use super::counter::{Counter, pieces};
use super::error::ChunkError;
use super::{Chunked, Compiled, Kernel, Pass};
use crate::array::{AnyArray, Argument, ArrayView, Geometry, IntoArrayView};
use crate::bind::{BindError, Given, Inputs, IntoInputs, Ordered, Values, evaluate, given};
use crate::compiled::Inner;
use crate::memory::Storage;
use crate::run::{Bound, CallError, Outputs, RunError};
use broadloom_ir::chunks::{Destination, Source};
use broadloom_ir::dim::{Dim, DimError};
use broadloom_ir::graph::{Node, OutputInfo, Site};
use broadloom_ir::{ExprId, SymbolId};
use smallvec::SmallVec;
use std::ops::Range;

/// A run over the rows of [`Chunked`], chunk by chunk.
///
/// ```
/// use broadloom::prelude::*;
/// let g = Graph::new();
/// let x = g.input::<f64>("x", shape![g.symbol("n")]);
/// let chunked = ((x - x.mean(0)) / x.std(0)).compile()?.in_chunks("n")?;
///
/// let data: Vec<f64> = (0..3000).map(f64::from).collect();
/// let mut run = chunked.start(())?;
/// let mut standardised: Vec<f64> = Vec::new();
/// for _ in 0..chunked.passes() {
///     for chunk in data.chunks(1024) {
///         for (_, rows) in run.push(chunk)?.iter() {
///             standardised.extend(rows.as_slice::<f64>().unwrap_or_default());
///         }
///     }
///     run.end_pass()?;
/// }
/// run.finish()?;
/// assert_eq!((standardised.len(), standardised[0]), (3000, -standardised[2999]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChunkRun<'a> {
    chunked: Chunked,
    fixed: Ordered<'a>,
    given: Given,
    /// The sizes in the first chunk; its rows stand in for all rows.
    sizes: Option<Values>,
    /// The layouts of the first chunk's arrays.
    streamed: Vec<Option<Geometry>>,
    pass: usize,
    /// The number of rows so far in this pass.
    rows: usize,
    /// The number of rows in the first pass.
    total: Option<usize>,
    /// The number of rows of a chunk that must be the last of the pass.
    last: Option<usize>,
    /// The values that parts have left for other parts.
    slots: Vec<Option<AnyArray>>,
    partial: Counter<Vec<AnyArray>>,
    wholes: Vec<Option<AnyArray>>,
    has_failed: bool,
}

impl<'a> ChunkRun<'a> {
    pub(super) fn new(chunked: Chunked, inputs: Inputs<'a>) -> Result<Self, ChunkError> {
        let graph = chunked.0.whole.graph();
        let given = given(graph, &inputs)?;
        let fixed = chunked.order(inputs, false)?;
        let (slots, wholes) = (vec![None; chunked.0.split.slots], vec![None; graph.outputs().len()]);
        Ok(ChunkRun {
            fixed,
            given,
            sizes: None,
            streamed: vec![None; graph.inputs().len()],
            pass: 0,
            rows: 0,
            total: None,
            last: None,
            slots,
            partial: Counter::default(),
            wholes,
            has_failed: false,
            chunked,
        })
    }

    /// Computes the next chunk of rows: all streamed inputs, with the same number of rows. Returns these rows of
    /// the outputs that this pass computes, [`Chunked::rows`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let chunked = (2 * x).compile()?.in_chunks("n")?;
    /// let mut run = chunked.start(())?;
    /// let rows: Vec<f32> = run.push(&[1.0f32, 2.0])?.try_into()?;
    /// assert_eq!(rows, [2.0, 4.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the arrays do not fit each other or the first chunk, or if they follow a chunk that had
    /// to be the last; in these cases nothing has happened, and another chunk can be passed. Also returns an error
    /// if the data have no result, or if memory is not available; in these cases the run has failed.
    #[track_caller]
    pub fn push<'c>(&mut self, inputs: impl IntoInputs<'c>) -> Result<Outputs, ChunkError> {
        let site = Site::caller();
        self.push_inputs(inputs.into_inputs()).map_err(|error| error.called_from(site))
    }

    fn push_inputs(&mut self, inputs: Inputs<'_>) -> Result<Outputs, ChunkError> {
        self.check_open()?;
        let multiple = self.chunked.multiple();
        if let Some(rows) = self.last {
            return Err(ChunkError::Multiple { rows, multiple });
        }
        if let Some(name) = inputs.sizes().next() {
            return Err(ChunkError::SizeWithChunk { name: name.to_string() });
        }
        let chunked = self.chunked.clone();
        let arrays = chunked.order(inputs, true)?;
        let (sizes, rows) = self.sizes_of(&arrays)?;
        if self.sizes.is_none() {
            self.streamed =
                arrays.iter().map(|array| Some(array.as_ref()?.view.geometry().clone())).collect();
            self.sizes = Some(sizes);
        }
        if rows == 0 {
            return self.no_rows(&arrays);
        }
        let is_last = !rows.is_multiple_of(multiple);
        let result = self.compute(&arrays, rows, is_last);
        self.has_failed = result.is_err();
        self.rows = self.rows.saturating_add(rows);
        self.last = is_last.then_some(rows);
        result
    }

    fn check_open(&self) -> Result<(), ChunkError> {
        match () {
            () if self.has_failed => Err(ChunkError::Failed),
            () if self.pass >= self.chunked.passes() => Err(ChunkError::NoMorePasses),
            () => Ok(()),
        }
    }

    /// Returns the sizes with the rows of a chunk, after comparing them with those of the first chunk, and the
    /// number of rows.
    fn sizes_of(&self, arrays: &Ordered<'_>) -> Result<(Values, usize), ChunkError> {
        let compiled = &self.chunked.0;
        let graph = &compiled.split.of_chunk;
        let geometries: Vec<Option<&Geometry>> = arrays
            .iter()
            .zip(&self.fixed)
            .map(|(array, fixed)| array.as_ref().or(fixed.as_ref()).map(|array| array.view.geometry()))
            .collect();
        // A size given for the rows means the number of all rows.
        let given = self.given.iter().copied().filter(|(symbol, _)| *symbol != compiled.split.rows);
        let sizes = compiled.of_chunk.run(graph, &geometries, &given.collect())?;
        // Refuse arrays that cannot be stretched this way before anything happens.
        compiled.of_chunk.stretched(graph, &geometries, &sizes)?;
        for (index, (now, first)) in sizes.iter().zip(self.sizes.iter().flatten()).enumerate() {
            if index != compiled.split.rows.index() && now != first {
                let symbol = graph.symbols()[index].name.to_string();
                let [first, now] = [first, now].map(|size| size.unwrap_or_default());
                return Err(ChunkError::Changed { symbol, first, now });
            }
        }
        let rows = sizes[compiled.split.rows.index()].and_then(|rows| usize::try_from(rows).ok());
        Ok((sizes, rows.unwrap_or_default()))
    }

    /// Returns the outputs of zero rows. No kernel runs, unless only it knows a size: a reduction that needs elements may find
    /// them in other chunks.
    fn no_rows(&mut self, arrays: &Ordered<'_>) -> Result<Outputs, ChunkError> {
        let compiled = self.chunked.0.clone();
        let (graph, split) = (compiled.whole.graph(), &compiled.split);
        let Pass { each, of_none, .. } = &compiled.passes[self.pass];
        // What continues from the chunk before has no last row here.
        let Some(each) = of_none.as_ref().or(each.as_ref()) else {
            return Ok(Outputs::none());
        };
        let mut sizes = self.sizes.clone().unwrap_or_default();
        for symbol in split.selected.iter().chain([&split.rows]) {
            sizes[symbol.index()] = Some(0);
        }
        let output_of = |destination: &Destination| match destination {
            Destination::Rows(number) => Some(&graph.outputs()[*number]),
            _ => None,
        };
        let is_unknown = |symbol: SymbolId| sizes[symbol.index()].is_none();
        let is_known =
            |output: &OutputInfo| !graph.shape(output.expr).iter().flat_map(Dim::symbols).any(is_unknown);
        if !each.part.outputs.iter().filter_map(output_of).all(is_known) {
            self.begin()?;
            let results = self.run_on(each, arrays, self.rows, 0..0)?;
            let outputs = each.part.outputs.iter().map(output_of).zip(results);
            let named = outputs.filter_map(|(output, array)| Some((output?.name.to_string(), array)));
            return Ok(Outputs::new(named));
        }
        let mut arrays = Vec::new();
        for output in each.part.outputs.iter().filter_map(output_of) {
            let dims = graph.shape(output.expr).iter();
            let shape = dims.map(|dim| Ok(usize::try_from(evaluate(dim, &sizes)?).unwrap_or(0)));
            let shape: Vec<usize> = shape.collect::<Result<_, DimError>>().map_err(BindError::from)?;
            let storage = Storage::allocate(graph.dtype(output.expr), 0).map_err(RunError::from)?;
            arrays.push((output.name.to_string(), AnyArray::from_parts(storage, shape.into())));
        }
        Ok(Outputs::new(arrays))
    }

    /// Computes the results of a chunk's rows, piece by piece.
    fn compute(&mut self, arrays: &Ordered<'_>, rows: usize, is_last: bool) -> Result<Outputs, ChunkError> {
        let compiled = self.chunked.0.clone();
        let Pass { each: Some(each), tail, merge, .. } = &compiled.passes[self.pass] else {
            return Ok(Outputs::none());
        };
        self.begin()?;
        let pieces = match self.chunked.multiple() {
            1 => vec![super::counter::Piece { rows: 0..rows, rank: Some(0) }],
            _ => pieces(self.rows, rows, is_last),
        };
        let mut outputs: Vec<(usize, AnyArray)> = Vec::new();
        for piece in pieces {
            let before = self.rows + piece.rows.start;
            // The general kernel would take these few rows to be all rows.
            let kernel = match tail {
                Some(tail) if before > 0 && piece.rank.is_none() => tail,
                _ => each,
            };
            let results = self.run_on(kernel, arrays, before, piece.rows)?;
            let mut partial = Vec::new();
            for (destination, array) in kernel.part.outputs.iter().zip(results) {
                match destination {
                    Destination::Rows(number) => match outputs.iter_mut().find(|(of, _)| of == number) {
                        Some((_, rows)) => rows.append(array).map_err(RunError::from)?,
                        None => outputs.push((*number, array)),
                    },
                    Destination::Merged(_) => partial.push(array),
                    Destination::Carried(slot) => self.slots[*slot] = Some(array),
                    Destination::Whole(_) | Destination::Slot(_) => {}
                }
            }
            if let Some(merge) = merge {
                let sizes = self.given_of(self.sizes.as_ref(), 0);
                self.partial.push(piece.rank, partial, |left, right| merged(merge, &left, &right, &sizes))?;
            }
        }
        let graph = compiled.whole.graph();
        let named = |(number, array): (usize, AnyArray)| (graph.outputs()[number].name.to_string(), array);
        Ok(Outputs::new(outputs.into_iter().map(named)))
    }

    /// Sets up the state from which the first rows of a pass continue.
    fn begin(&mut self) -> Result<(), ChunkError> {
        let compiled = self.chunked.0.clone();
        let Some(begin) = compiled.passes[self.pass].begin.as_ref().filter(|_| self.rows == 0) else {
            return Ok(());
        };
        let none: Ordered<'_> = compiled.whole.graph().inputs().iter().map(|_| None).collect();
        let results = self.run_on(begin, &none, 0, 0..0)?;
        for (destination, array) in begin.part.outputs.iter().zip(results) {
            if let Destination::Slot(slot) = destination {
                self.slots[*slot] = Some(array);
            }
        }
        Ok(())
    }

    /// Runs a chunk's part on some of its rows.
    fn run_on(
        &self,
        kernel: &Kernel,
        arrays: &Ordered<'_>,
        before: usize,
        rows: Range<usize>,
    ) -> Result<Vec<AnyArray>, ChunkError> {
        let given = self.given_of(self.sizes.as_ref(), rows.len() as i64);
        let before = before as i64;
        let inputs = kernel.part.inputs.iter().map(|source| match source {
            Source::Array(input) => match &arrays[input.index()] {
                Some(array) => {
                    let part = array.view.rows(rows.clone());
                    part.map(|part| self.stretched(input.index(), part)).transpose()
                }
                None => self.fixed_array(input.index()),
            },
            Source::RowsBefore => Ok(Some(ArrayView::scalar(before))),
            Source::Slot(slot) => Ok(self.slots[*slot].as_ref().map(IntoArrayView::into_array_view)),
        });
        let result = run(kernel, inputs, &given);
        result.map_err(|error| after_rows(error, &self.chunked, before as usize))
    }

    /// Returns an array that is not streamed, as kernels see it.
    fn fixed_array(&self, input: usize) -> Result<Option<ArrayView<'_>>, DimError> {
        let array = self.fixed[input].as_ref();
        array.map(|array| self.stretched(input, array.view.clone())).transpose()
    }

    /// Returns an array, or rows of it, with axes of size 1 stretched to the sizes they represent.
    fn stretched<'v>(&self, input: usize, view: ArrayView<'v>) -> Result<ArrayView<'v>, DimError> {
        let info = &self.chunked.0.whole.graph().inputs()[input];
        let sizes = self.sizes.as_deref().unwrap_or_default();
        let mut shape = view.shape();
        for &axis in &info.may_be_one {
            shape[axis] =
                usize::try_from(evaluate(&info.shape[axis], sizes)?).map_err(|_| DimError::Overflow)?;
        }
        let geometry = view.geometry().stretched(&shape).map_err(|_| DimError::Overflow)?;
        Ok(view.stretched(geometry))
    }

    /// Returns values for all symbols, with a number of rows.
    fn given_of(&self, sizes: Option<&Values>, rows: i64) -> Given {
        let symbol = self.chunked.0.split.rows;
        let known = sizes
            .into_iter()
            .flatten()
            .enumerate()
            .filter_map(|(index, size)| Some((SymbolId::new(index), (*size)?)));
        known.map(|(of, size)| (of, if of == symbol { rows } else { size })).collect()
    }

    /// Ends a pass after all rows have been passed.
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let chunked = (x - x.max(0)).compile()?.in_chunks("n")?;
    /// let mut run = chunked.start(())?;
    /// run.push(&[1.0f32, 2.0])?;
    /// run.end_pass()?;
    /// let rows: Vec<f32> = run.push(&[1.0f32, 2.0])?.try_into()?;
    /// assert_eq!(rows, [-1.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if there was no chunk, if the number of rows differs from the pass before, if the graph
    /// does not accept that number (zero rows for a maximum, for example), or if memory is not available.
    #[track_caller]
    pub fn end_pass(&mut self) -> Result<(), ChunkError> {
        let site = Site::caller();
        self.end().map_err(|error| error.called_from(site))
    }

    fn end(&mut self) -> Result<(), ChunkError> {
        self.check_open()?;
        let Some(sizes) = &self.sizes else { return Err(ChunkError::NoChunks) };
        match self.total {
            Some(first) if first != self.rows => {
                return Err(ChunkError::Rows { pass: self.pass, first, found: self.rows });
            }
            Some(_) => {}
            None => {
                self.check_whole()?;
                self.total = Some(self.rows);
            }
        }
        let sizes = self.given_of(Some(sizes), self.rows as i64);
        let result = self.end_with(&sizes);
        self.has_failed = result.is_err();
        self.pass += 1;
        (self.rows, self.last) = (0, None);
        result
    }

    fn end_with(&mut self, sizes: &Given) -> Result<(), ChunkError> {
        let compiled = self.chunked.0.clone();
        let Pass { each, merge, rest, .. } = &compiled.passes[self.pass];
        if self.rows == 0 {
            self.compute_nothing()?;
        }
        if let (Some(each), Some(merge)) = (each, merge) {
            let merged = self.partial.finish(|left, right| merged(merge, &left, &right, sizes))?;
            let slots = each.part.outputs.iter().filter_map(|destination| match destination {
                Destination::Merged(slot) => Some(*slot),
                _ => None,
            });
            for (slot, array) in slots.zip(merged.into_iter().flatten()) {
                self.slots[slot] = Some(array);
            }
        }
        self.check_selected()?;
        let Some(rest) = rest else { return Ok(()) };
        let inputs = rest.part.inputs.iter().map(|source| match source {
            Source::Array(input) => self.fixed_array(input.index()),
            Source::RowsBefore => Ok(None),
            Source::Slot(slot) => Ok(self.slots[*slot].as_ref().map(IntoArrayView::into_array_view)),
        });
        let results = run(rest, inputs, sizes)?;
        for (destination, array) in rest.part.outputs.iter().zip(results) {
            match destination {
                Destination::Whole(number) => self.wholes[*number] = Some(array),
                Destination::Slot(slot) => self.slots[*slot] = Some(array),
                Destination::Rows(_) | Destination::Merged(_) | Destination::Carried(_) => {}
            }
        }
        Ok(())
    }

    /// Checks the graph's conditions, now that the number of rows is known.
    fn check_whole(&self) -> Result<(), ChunkError> {
        let inner = self.chunked.0.whole.inner();
        let streamed = self.streamed_as_whole();
        inner.rules.run(&inner.graph, &self.geometries(&streamed), &self.given)?;
        Ok(())
    }

    /// Checks the conditions on numbers of selected rows that are known now, before anything is computed from results that may
    /// be those of no rows.
    fn check_selected(&self) -> Result<(), ChunkError> {
        let Compiled { whole, split, .. } = &*self.chunked.0;
        if split.counted.is_empty() {
            return Ok(());
        }
        let Inner { graph, rules, .. } = &**whole.inner();
        let mut values = self.sizes.clone().unwrap_or_default();
        values[split.rows.index()] = Some(self.rows as i64);
        for counted in split.counted.iter().filter(|counted| counted.pass <= self.pass) {
            let count = self.slots[counted.slot].as_ref();
            values[counted.symbol.index()] =
                count.and_then(|count| count.as_slice::<i64>()?.first().copied());
        }
        let is_counted = |number: &usize| {
            let symbols = graph.obligations()[*number].demand.symbols();
            split.counted.iter().any(|counted| symbols.contains(&counted.symbol))
        };
        let numbers: Vec<usize> = (0..graph.obligations().len()).filter(is_counted).collect();
        let streamed = self.streamed_as_whole();
        let checked = rules.check_obligations(graph, &self.geometries(&streamed), &values, &numbers);
        checked.map_err(|error| ChunkError::Run(RunError::of_size(error)))
    }

    /// Returns the layouts of the streamed arrays with all rows of the pass.
    fn streamed_as_whole(&self) -> Vec<Option<Geometry>> {
        let streamed = self.streamed.iter().map(|geometry| {
            let mut geometry = geometry.clone()?;
            geometry.axes.first_mut()?.size = self.rows as i64;
            Some(geometry)
        });
        streamed.collect()
    }

    /// Returns the layouts of all arrays.
    fn geometries<'g>(&'g self, streamed: &'g [Option<Geometry>]) -> Vec<Option<&'g Geometry>> {
        let all = streamed.iter().zip(&self.fixed);
        all.map(|(streamed, fixed)| streamed.as_ref().or(fixed.as_ref().map(|array| array.view.geometry())))
            .collect()
    }

    /// Computes the results of zero rows, if all chunks were empty.
    fn compute_nothing(&mut self) -> Result<(), ChunkError> {
        let empty = self.streamed.iter().map(|geometry| {
            let mut shape = geometry.as_ref()?.shape();
            *shape.first_mut()? = 0;
            let storage = Storage::allocate(geometry.as_ref()?.dtype, 0).ok()?;
            Some(AnyArray::from_parts(storage, shape.into()))
        });
        let empty: Vec<Option<AnyArray>> = empty.collect();
        let arrays: SmallVec<[Option<Argument<'_>>; 4]> =
            empty.iter().map(|array| array.as_ref().map(|array| shared(array.into_array_view()))).collect();
        let compiled = self.chunked.0.clone();
        let Pass { each, of_none, .. } = &compiled.passes[self.pass];
        let Some(each) = of_none.as_ref().or(each.as_ref()) else { return Ok(()) };
        self.begin()?;
        let results = self.run_on(each, &arrays, 0, 0..0)?;
        let mut partial = Vec::new();
        for (destination, array) in each.part.outputs.iter().zip(results) {
            match destination {
                Destination::Merged(_) => partial.push(array),
                Destination::Rows(_)
                | Destination::Whole(_)
                | Destination::Slot(_)
                | Destination::Carried(_) => {}
            }
        }
        self.partial.push(None, partial, |left, _| Ok(left))
    }

    /// Ends the last pass, unless that was done, and returns the outputs of all rows, [`Chunked::totals`].
    ///
    /// ```
    /// use broadloom::prelude::*;
    /// let g = Graph::new();
    /// let x = g.input::<f32>("x", shape![g.symbol("n")]);
    /// let mut run = x.argmax(0).compile()?.in_chunks("n")?.start(())?;
    /// run.push(&[1.0f32, 7.0])?;
    /// run.push(&[9.0f32])?;
    /// let highest: i64 = run.finish()?.try_into()?;
    /// assert_eq!(highest, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`ChunkRun::end_pass`], or an error if the rows must be passed again.
    #[track_caller]
    pub fn finish(mut self) -> Result<Outputs, ChunkError> {
        let (site, passes) = (Site::caller(), self.chunked.passes());
        if self.pass + 1 == passes {
            self.end().map_err(|error| error.called_from(site))?;
        }
        if self.has_failed {
            return Err(ChunkError::Failed);
        }
        if self.pass < passes {
            return Err(ChunkError::MorePasses { done: self.pass, passes });
        }
        let graph = self.chunked.0.whole.graph();
        let outputs = graph.outputs().iter().zip(self.wholes);
        let arrays = outputs.filter_map(|(output, array)| Some((output.name.to_string(), array?)));
        Ok(Outputs::new(arrays))
    }
}

impl Chunked {
    /// Returns the arrays in the order of the graph's inputs, either the streamed ones or the others.
    fn order<'i>(&self, inputs: Inputs<'i>, streamed: bool) -> Result<Ordered<'i>, ChunkError> {
        let (graph, split) = (self.0.whole.graph(), &self.0.split);
        for name in inputs.names() {
            let position = graph.inputs().iter().position(|input| *input.name == *name);
            if let Some(is_streamed) = position.map(|position| split.streamed[position])
                && is_streamed != streamed
            {
                return Err(ChunkError::Misplaced { name: name.to_string(), is_streamed });
            }
        }
        let required = self.0.of_chunk.required.iter().zip(&split.streamed);
        let required: Vec<bool> = required.map(|(required, of)| *required && *of == streamed).collect();
        Ok(inputs.into_ordered(graph, &required)?)
    }
}

fn shared(view: ArrayView<'_>) -> Argument<'_> {
    Argument { view, is_exclusive: false }
}

/// Runs a part. Its inputs have been checked as inputs of the whole graph, which its errors refer to.
fn run<'i>(
    kernel: &Kernel,
    inputs: impl Iterator<Item = Result<Option<ArrayView<'i>>, DimError>>,
    given: &Given,
) -> Result<Vec<AnyArray>, CallError> {
    let inputs = inputs.map(|view| Ok(view?.map(shared)));
    let inputs: Ordered<'i> = inputs.collect::<Result<_, DimError>>().map_err(BindError::from)?;
    let bound = Bound::of_ordered(kernel.executable.inner().clone(), inputs, given);
    let results = bound.map_err(CallError::from).and_then(|bound| Ok(bound.run()?));
    Ok(results.map_err(|error| error.of_part(&kernel.part.origins))?.into_arrays().collect())
}

/// Merges the results of two neighbouring pieces.
fn merged(
    merge: &Kernel,
    left: &[AnyArray],
    right: &[AnyArray],
    sizes: &Given,
) -> Result<Vec<AnyArray>, ChunkError> {
    let inputs = left.iter().chain(right).map(|array| Ok(Some(array.into_array_view())));
    Ok(run(merge, inputs, sizes)?)
}

/// Converts an error of a chunk to one of all rows: positions along the rows include the rows before.
fn after_rows(error: CallError, chunked: &Chunked, before: usize) -> ChunkError {
    let mut error = match error {
        CallError::Bind(error) => return ChunkError::Bind(error),
        CallError::Run(error) => error,
    };
    let (graph, axes) = (chunked.0.whole.graph(), &chunked.0.split.axis_of_rows);
    let shift = |of: ExprId, position: &mut Vec<usize>| {
        // Among selected rows, it is a position in the chunk.
        let is_of_all = |axis: &usize| graph.shape(of)[*axis].as_symbol() == Some(chunked.0.split.rows);
        let axis = axes[of.index()].filter(is_of_all);
        if let Some(at) = axis.and_then(|axis| position.get_mut(axis)) {
            *at += before;
        }
    };
    match &mut error {
        RunError::IndexOutOfRange { expr, position, .. } | RunError::NoBin { expr, position, .. } => {
            if let Node::Take { indices, .. } | Node::Scatter { indices, .. } = graph.node(*expr) {
                shift(*indices, position);
            }
        }
        RunError::NegativeExponent { expr, position, .. } => shift(*expr, position),
        RunError::NoSuchSegment { row, .. } => *row += before,
        RunError::InStep { .. }
        | RunError::NegativeSize { .. }
        | RunError::Bounds { .. }
        | RunError::Sizes(_)
        | RunError::MissingArray
        | RunError::Memory(_)
        | RunError::UnknownKernel(_)
        | RunError::Stopped
        | RunError::DeadlinePassed => {}
    }
    ChunkError::Run(error)
}
