//! Aggregates: expressions over the rows of a group, from partial results that merge.

mod slots;

use self::slots::Slot;
use crate::bounds::bounded;
use crate::bytes::{array_from_bytes, write_array};
use crate::centred::{Centred, Moments};
use crate::column::{Column, column_of};
use crate::error::ColumnError;
use crate::graph::RowGraph;
use crate::kernel::run;
use crate::types::ColumnType;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::NullBuffer;
use broadloom::{AnyArray, CompileOptions, Executable, Explanation, Inputs};
use broadloom_ir::chunks::{Part, Pass, Refusal, Source};
use broadloom_ir::graph::Node;
use broadloom_ir::{ExprId, SymbolId};
use std::borrow::Cow;

/// A compiled expression over all rows of a group, such as `mean(x) / std(x)`, for columns of known types.
///
/// [`update`](Aggregate::update) adds rows to a [`State`], [`merge`](Aggregate::merge) combines two states, and
/// [`finish`](Aggregate::finish) returns the results. A state holds the partial results that running in chunks keeps
/// (see `broadloom::Chunked`), so it is as large for a thousand rows as for a billion; variances and other sums of products
/// around means are among them. Other rows that depend on totals would have to be passed again; then, and for a median, the
/// state keeps the rows.
///
/// Rows with a null in any column are left out.
#[derive(Debug)]
pub struct Aggregate {
    graph: RowGraph,
    columns: Vec<(String, ColumnType)>,
    constants: Vec<(String, AnyArray)>,
    outputs: Vec<(String, ColumnType)>,
    /// The sizes that are known before any row, by name.
    sizes: Vec<(String, usize)>,
    plan: Plan,
}

#[derive(Debug)]
enum Plan {
    /// One pass over the rows, whose results merge.
    Merging(Box<Merging>),
    /// The rows are kept until the end.
    Keeping(Executable),
}

#[derive(Debug)]
struct Merging {
    /// Computes the partial results of some rows, unless there are only sums around means.
    each: Option<Kernel>,
    merge: Option<Kernel>,
    rest: Rest,
    slots: Vec<Slot>,
    centred: Option<Centred>,
}

/// Computes the results from merged partial results.
#[derive(Debug)]
struct Rest {
    executable: Executable,
    /// For each input the slot that it reads; `None` for constants and sums around means, which have names.
    inputs: Vec<(String, Option<usize>)>,
}

#[derive(Debug)]
struct Kernel {
    part: Part,
    executable: Executable,
}

/// What is kept of the rows so far.
#[derive(Debug, Clone, Default)]
pub struct State {
    rows: usize,
    /// The partial results, in the order of the slots; none before the first row.
    partial: Vec<AnyArray>,
    /// The sums around means.
    moments: Vec<Moments>,
    /// The rows themselves, column by column, as little-endian bytes.
    kept: Vec<Vec<u8>>,
}

impl State {
    /// Returns the number of rows so far, without those that are null.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the memory that the state holds, in bytes.
    pub fn bytes(&self) -> usize {
        let partial = self.partial.iter().map(|array| {
            array.shape().iter().product::<usize>() * array.dtype().size() + size_of::<AnyArray>()
        });
        let kept = self.kept.iter().map(Vec::capacity);
        size_of::<State>() + partial.sum::<usize>() + Centred::bytes(&self.moments) + kept.sum::<usize>()
    }
}

impl Aggregate {
    /// Compiles an aggregate over columns of the given types, whose shapes are fixed; all other inputs are constants.
    ///
    /// # Errors
    /// Returns an error if a result has a value for each row, if an operation needs the order of the rows, which the
    /// rows of a group do not have, or for whatever the compiler does not support.
    pub fn new(
        graph: &RowGraph,
        columns: Vec<(String, ColumnType)>,
        constants: Vec<(String, AnyArray)>,
        options: &CompileOptions,
    ) -> Result<Aggregate, ColumnError> {
        Aggregate::check(graph)?;
        if let Some((name, kind)) = columns.iter().find(|(_, kind)| !kind.is_fixed()) {
            let wanted = "rows of one length".to_owned();
            return Err(ColumnError::of_type(name, kind, wanted, kind.dtype));
        }
        let outputs = graph.output_types(&columns, &constants)?;
        let values = graph.sizes(&columns, &constants);
        let value = |symbol: SymbolId| values.get(symbol.index()).copied().flatten();
        let sizes: Vec<(String, usize)> = (graph.graph().symbols().iter().zip(&values))
            .filter_map(|(info, size)| {
                let size = size.and_then(|size| usize::try_from(size.checked_mul(info.unit)?).ok())?;
                Some((info.name.to_string(), size))
            })
            .collect();
        let plan = match Merging::of(graph, &value, options)? {
            Some(merging) => Plan::Merging(Box::new(merging)),
            None => Plan::Keeping(Executable::compile(graph.graph(), options)?),
        };
        Ok(Aggregate { graph: graph.clone(), columns, constants, outputs, sizes, plan })
    }

    /// Checks that a graph can be an aggregate, without compiling it.
    ///
    /// # Errors
    /// Returns the error of [`Aggregate::new`].
    pub fn check(graph: &RowGraph) -> Result<(), ColumnError> {
        let refused = |op: String, reason: &str| ColumnError::NotAggregate { op, reason: reason.to_owned() };
        if let Some(output) = graph.graph().outputs().iter().find(|output| graph.has_rows(output.expr)) {
            let reason = "it has one value for each row; reduce it over the rows, as in `mean(.., axis=0)`";
            return Err(refused(graph.name(output.expr), reason));
        }
        let split = match &graph.split {
            Ok(split) => split,
            // Not computable in chunks, but the order of the rows may not matter: a median.
            Err((Some(expr), _)) if matches!(graph.graph().node(*expr), Node::Sort { .. }) => return Ok(()),
            Err((None, Refusal::NoRows)) => {
                let reason = "it reads no value of a column; in SQL, count rows by `count(*)`";
                let output = graph.graph().outputs().first();
                let name = output.map_or_else(|| "expression".to_owned(), |output| graph.name(output.expr));
                return Err(refused(name, reason));
            }
            Err((expr, _)) => {
                let reason = "it needs more than the rows of one chunk; compute it on a whole table";
                return Err(refused(
                    expr.map_or_else(|| "expression".to_owned(), |expr| graph.name(expr)),
                    reason,
                ));
            }
        };
        let ordered = "it depends on the order of the rows, and the rows of a group have none; in SQL, use \
            `ORDER BY` or a window function";
        for pass in &split.passes {
            let reads_position = |part: &&Part| part.inputs.contains(&Source::RowsBefore);
            let parts = [&pass.each, &pass.merge, &pass.rest].into_iter().flatten();
            if let Some(part) = parts.into_iter().find(reads_position) {
                let graphs = part.graph.exprs().find(|expr| {
                    matches!(part.graph.node(*expr), Node::Iota)
                        || matches!(part.graph.node(*expr), Node::Reduce { op, .. } if op.is_arg())
                        || matches!(part.graph.node(*expr), Node::TopK { topk, .. } if topk.indices)
                });
                let origin = graphs.map(|expr| part.origins[expr.index()]);
                return Err(refused(
                    origin.map_or_else(|| "arange".to_owned(), |of| graph.name(of)),
                    ordered,
                ));
            }
            let is_scan = |expr: &ExprId| matches!(graph.graph().node(*expr), Node::Scan { .. });
            if let Some(scan) = pass.begin.iter().flat_map(|part| &part.origins).copied().find(is_scan) {
                return Err(refused(graph.name(scan), ordered));
            }
        }
        Ok(())
    }

    /// Returns the names and types of the results.
    pub fn outputs(&self) -> &[(String, ColumnType)] {
        &self.outputs
    }

    /// Returns the names and types of the columns.
    pub fn columns(&self) -> &[(String, ColumnType)] {
        &self.columns
    }

    /// Returns the size of the machine code, in bytes.
    pub fn code_bytes(&self) -> usize {
        let tables = match &self.plan {
            Plan::Keeping(_) => Vec::new(),
            Plan::Merging(merging) => {
                let tables = merging.slots.iter().filter_map(|slot| slot.tables.as_ref());
                tables.flat_map(|tables| [&tables.combine, &tables.fill]).collect()
            }
        };
        let executables = self.executables().into_iter().map(|(_, executable)| executable).chain(tables);
        executables.map(|executable| executable.explain().code_bytes()).sum()
    }

    /// Explains the kernels, each with what it does.
    pub fn explain(&self) -> Vec<(&'static str, Explanation)> {
        self.executables().into_iter().map(|(what, executable)| (what, executable.explain())).collect()
    }

    fn executables(&self) -> Vec<(&'static str, &Executable)> {
        match &self.plan {
            Plan::Keeping(executable) => vec![("all rows of a group, which are kept", executable)],
            Plan::Merging(merging) => {
                let each = merging.each.iter().map(|kernel| ("rows to partial results", &kernel.executable));
                let centred = merging.centred.iter();
                let centred = centred.map(|centred| ("rows to sums around means", centred.executable()));
                let merge = merging.merge.iter();
                let merge = merge.map(|kernel| ("two partial results to one", &kernel.executable));
                let rest = [("partial results to results", &merging.rest.executable)];
                each.chain(centred).chain(merge).chain(rest).collect()
            }
        }
    }

    /// Adds rows.
    ///
    /// # Errors
    /// Returns an error if a column has another type or number of rows, or if the data have no result.
    pub fn update(&self, state: &mut State, columns: &[(String, Column)]) -> Result<(), ColumnError> {
        let rows = columns.first().map_or(0, |(_, column)| column.rows());
        let mut nulls: Option<NullBuffer> = None;
        for (name, kind) in &self.columns {
            let Some((_, column)) = columns.iter().find(|(known, _)| known == name) else {
                let known = columns.iter().map(|(name, _)| name.clone()).collect();
                return Err(ColumnError::Missing { input: name.clone(), known });
            };
            if column.rows() != rows {
                return Err(ColumnError::Rows { column: name.clone(), wanted: rows, found: column.rows() });
            }
            let of_batch = ColumnType::fixed(column.kind().dtype, column.row());
            if of_batch != *kind {
                return Err(ColumnError::of_type(name, &of_batch, kind.to_string(), kind.dtype));
            }
            nulls = NullBuffer::union(nulls.as_ref(), column.nulls());
        }
        let valid = rows - nulls.as_ref().map_or(0, NullBuffer::null_count);
        if valid == 0 {
            return Ok(());
        }
        let mut kept = Vec::new();
        if let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) {
            let mask = BooleanArray::new(nulls.inner().clone(), None);
            for (name, column) in columns {
                kept.push((name.clone(), column.kept(&mask, valid)?));
            }
        }
        let columns = if kept.is_empty() { columns } else { &kept };
        match &self.plan {
            Plan::Keeping(_) => {
                state.kept.resize(self.columns.len(), Vec::new());
                for ((name, _), kept) in self.columns.iter().zip(&mut state.kept) {
                    if let Some((_, column)) = columns.iter().find(|(known, _)| known == name) {
                        column.write(kept);
                    }
                }
                state.rows += valid;
            }
            Plan::Merging(merging) => {
                let partial = self.partial(merging, columns, valid)?;
                let moments = match &merging.centred {
                    Some(centred) => centred.of_rows(columns, &self.constants, valid)?,
                    None => Vec::new(),
                };
                self.merge(state, State { rows: valid, partial, moments, kept: Vec::new() })?;
            }
        }
        Ok(())
    }

    /// Computes the partial results of some rows.
    fn partial(
        &self,
        merging: &Merging,
        columns: &[(String, Column)],
        rows: usize,
    ) -> Result<Vec<AnyArray>, ColumnError> {
        let Some(each) = &merging.each else { return Ok(Vec::new()) };
        let results = run(&each.executable, columns, &self.constants, &self.sizes_with(rows))?;
        let results: Vec<AnyArray> = results.into_iter().map(|(_, array)| array).collect();
        let results = results.into_iter().zip(&merging.slots);
        results.map(|(array, slot)| slot.combined(array)).collect()
    }

    /// Adds the rows of another state, which come after those of this one.
    ///
    /// # Errors
    /// Returns an error if there is not enough memory.
    pub fn merge(&self, state: &mut State, other: State) -> Result<(), ColumnError> {
        if other.rows == 0 {
            return Ok(());
        }
        if state.rows == 0 {
            *state = other;
            return Ok(());
        }
        let rows =
            state.rows.checked_add(other.rows).ok_or(ColumnError::State { what: "it has too many rows" })?;
        let before = std::mem::replace(&mut state.rows, rows);
        for (kept, mut more) in state.kept.iter_mut().zip(other.kept) {
            kept.append(&mut more);
        }
        let Plan::Merging(merging) = &self.plan else { return Ok(()) };
        if let Some(centred) = &merging.centred {
            centred.merge(&mut state.moments, before, &other.moments, other.rows);
        }
        let left = std::mem::take(&mut state.partial);
        let mut merged = match &merging.merge {
            Some(merge) => {
                let sides = [&left, &other.partial].into_iter();
                let arrays = sides.flat_map(|side| merging.merged(side));
                let mut inputs = Inputs::new();
                for (input, array) in merge.part.graph.inputs().iter().zip(arrays) {
                    inputs = inputs.named(input.name.to_string(), array);
                }
                let results = bounded(&merge.executable, with_sizes(inputs, &self.sizes_with(0)))?;
                results.into_iter().map(|(_, array)| array).collect::<Vec<_>>().into_iter()
            }
            None => Vec::new().into_iter(),
        };
        let slots = merging.slots.iter().zip(left).zip(other.partial);
        let partial = slots.map(|((slot, left), right)| match &slot.tables {
            Some(_) => slot.joined(left, right),
            None => merged.next().ok_or(ColumnError::State { what: "it lacks a partial result" }),
        });
        state.partial = partial.collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Returns the results, each with one row; `None` if there were no rows, as for a sum of nothing in SQL.
    ///
    /// # Errors
    /// Returns an error if the graph does not accept the number of rows, or if there is not enough memory.
    pub fn finish(&self, state: &State) -> Result<Option<Vec<ArrayRef>>, ColumnError> {
        if state.rows == 0 {
            return Ok(None);
        }
        let outputs = match &self.plan {
            Plan::Keeping(executable) => {
                let mut columns = Vec::new();
                for ((name, kind), bytes) in self.columns.iter().zip(&state.kept) {
                    let shape: Vec<usize> =
                        std::iter::once(state.rows).chain(kind.sizes().unwrap_or_default()).collect();
                    let array = array_from_bytes(kind.dtype, &shape, bytes);
                    let damaged = ColumnError::State { what: "it does not have the rows of a column" };
                    columns.push((name.clone(), array.ok_or(damaged)?));
                }
                columns.extend(self.constants.iter().cloned());
                run(executable, &[], &columns, &[])?
            }
            Plan::Merging(merging) => {
                let sums = match &merging.centred {
                    Some(centred) => centred.finish(&state.moments, state.rows)?,
                    None => Vec::new(),
                };
                let named = |name: &str| {
                    let named = self.constants.iter().chain(&sums).find(|(known, _)| known == name);
                    named.map(|(_, array)| array)
                };
                let partial =
                    merging.slots.iter().zip(&state.partial).map(|(slot, array)| slot.filled(array));
                let partial = partial.collect::<Result<Vec<_>, ColumnError>>()?;
                let mut inputs = Inputs::new();
                for (name, slot) in &merging.rest.inputs {
                    let array = slot.map_or_else(|| named(name), |slot| partial.get(slot).map(Cow::as_ref));
                    let lacking = ColumnError::State { what: "it lacks a partial result" };
                    inputs = inputs.named(name.clone(), array.ok_or(lacking)?);
                }
                bounded(&merging.rest.executable, with_sizes(inputs, &self.sizes_with(state.rows)))?
            }
        };
        let mut arrays: Vec<(String, AnyArray)> = outputs.into_iter().collect();
        let ordered = self.outputs.iter().map(|(name, _)| {
            let position = arrays.iter().position(|(known, _)| known == name);
            let (name, array) =
                arrays.swap_remove(position.ok_or(ColumnError::State { what: "it lacks a result" })?);
            column_of(&name, array, false, None)
        });
        Ok(Some(ordered.collect::<Result<_, _>>()?))
    }

    /// Returns the sizes for kernels, with a number of rows.
    fn sizes_with(&self, rows: usize) -> Vec<(String, usize)> {
        let mut sizes = self.sizes.clone();
        sizes.push((self.graph.rows_name().to_owned(), rows));
        sizes
    }

    /// Writes a state for another process.
    pub fn write(&self, state: &State, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&(state.rows as u64).to_le_bytes());
        state.partial.iter().for_each(|array| write_array(array, bytes));
        Centred::write(&state.moments, bytes);
        state.kept.iter().for_each(|column| bytes.extend_from_slice(column));
    }

    /// Reads a state of this aggregate back.
    ///
    /// # Errors
    /// Returns an error if the bytes are not those of a state of this aggregate.
    pub fn read(&self, bytes: &[u8]) -> Result<State, ColumnError> {
        let short = ColumnError::State { what: "it ends too early" };
        let Some((rows, mut rest)) = bytes.split_first_chunk::<8>() else { return Err(short) };
        let rows = usize::try_from(u64::from_le_bytes(*rows));
        let rows = rows.map_err(|_| ColumnError::State { what: "it has too many rows" })?;
        let mut state = State { rows, ..State::default() };
        let mut next = |bytes: Option<usize>| -> Result<&[u8], ColumnError> {
            let (head, tail) = bytes.and_then(|bytes| rest.split_at_checked(bytes)).ok_or(short_state())?;
            rest = tail;
            Ok(head)
        };
        if rows > 0 {
            match &self.plan {
                Plan::Merging(merging) => {
                    for slot in &merging.slots {
                        let count = slot
                            .shape
                            .iter()
                            .try_fold(slot.dtype.size(), |bytes, size| bytes.checked_mul(*size));
                        let array = array_from_bytes(slot.dtype, &slot.shape, next(count)?);
                        state.partial.push(
                            array.ok_or(ColumnError::State { what: "a truth value is neither 0 nor 1" })?,
                        );
                    }
                    if let Some(centred) = &merging.centred {
                        let moments = centred.read(|bytes| next(Some(bytes)).ok());
                        state.moments = moments.ok_or_else(short_state)?;
                    }
                }
                Plan::Keeping(_) => {
                    for (_, kind) in &self.columns {
                        let each = kind.elements().and_then(|each| each.checked_mul(kind.dtype.size()));
                        state.kept.push(next(each.and_then(|each| each.checked_mul(rows)))?.to_vec());
                    }
                }
            }
        }
        match rest {
            [] => Ok(state),
            _ => Err(ColumnError::State { what: "it is too long" }),
        }
    }
}

fn short_state() -> ColumnError {
    ColumnError::State { what: "it ends too early" }
}

fn with_sizes<'a>(inputs: Inputs<'a>, sizes: &[(String, usize)]) -> Inputs<'a> {
    sizes.iter().fold(inputs, |inputs, (name, size)| inputs.with_size(name.clone(), *size))
}

impl Kernel {
    fn new(part: &Part, options: &CompileOptions) -> Result<Kernel, ColumnError> {
        Ok(Kernel { executable: Executable::compile(&part.graph, options)?, part: part.clone() })
    }
}

impl Merging {
    /// Makes the kernels of one pass over the rows; `None` if more are needed.
    fn of(
        graph: &RowGraph,
        value: &dyn Fn(SymbolId) -> Option<i64>,
        options: &CompileOptions,
    ) -> Result<Option<Merging>, ColumnError> {
        let Ok(split) = &graph.split else { return Ok(None) };
        if let [pass] = split.passes.as_slice() {
            return Merging::of_pass(graph, pass, None, value, options).map(Some);
        }
        let Some((centred, remaining)) = Centred::new(graph, split, value, options)? else { return Ok(None) };
        match &remaining.split {
            Ok(split) => match split.passes.as_slice() {
                [pass] => Merging::of_pass(&remaining, pass, Some(centred), value, options).map(Some),
                _ => Ok(None),
            },
            Err((None, Refusal::NoRows)) => {
                let executable = Executable::compile(remaining.graph(), options)?;
                let inputs = executable.inputs().into_iter().map(|input| (input.name, None)).collect();
                let rest = Rest { executable, inputs };
                Ok(Some(Merging { each: None, merge: None, rest, slots: Vec::new(), centred: Some(centred) }))
            }
            Err(_) => Ok(None),
        }
    }

    fn of_pass(
        graph: &RowGraph,
        pass: &Pass,
        centred: Option<Centred>,
        value: &dyn Fn(SymbolId) -> Option<i64>,
        options: &CompileOptions,
    ) -> Result<Merging, ColumnError> {
        let nothing = || ColumnError::NotAggregate {
            op: "expression".to_owned(),
            reason: "it reads no column; write what to compute of the columns".to_owned(),
        };
        let rest = pass.rest.as_ref().ok_or_else(nothing)?;
        let merge = pass.merge.as_ref().map(|part| Kernel::new(part, options)).transpose()?;
        // The rows of each call alone: it is not known which rows were before them.
        let each = pass.of_none.as_ref().or(pass.each.as_ref());
        let each = each.map(|part| Kernel::new(part, options)).transpose()?;
        let slots = match &each {
            Some(each) => Slot::all(graph, &each.part, value, options)?,
            None => Vec::new(),
        };
        let inputs = rest.graph.inputs().iter().zip(&rest.inputs).map(|(input, source)| {
            let slot = match source {
                Source::Slot(number) => slots.iter().position(|slot| slot.number == *number),
                Source::Array(_) | Source::RowsBefore => None,
            };
            (input.name.to_string(), slot)
        });
        let rest = Rest { inputs: inputs.collect(), executable: Executable::compile(&rest.graph, options)? };
        Ok(Merging { each, merge, rest, slots, centred })
    }

    /// Returns the partial results that the merging kernel combines.
    fn merged<'a>(&'a self, side: &'a [AnyArray]) -> impl Iterator<Item = &'a AnyArray> {
        self.slots.iter().zip(side).filter(|(slot, _)| slot.tables.is_none()).map(|(_, array)| array)
    }
}
