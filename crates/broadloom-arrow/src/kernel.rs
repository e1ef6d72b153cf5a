//! Kernels from columns to columns.

use crate::bounds::bounded;
use crate::column::{Column, column_of};
use crate::error::ColumnError;
use crate::graph::RowGraph;
use crate::types::ColumnType;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt64Array, new_null_array};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat;
use arrow_select::take::take;
use broadloom::{
    AnyArray, CallError, CheckedGraph, CompileOptions, DType, Executable, Inputs, Outputs, RunError,
};
use broadloom_ir::ExprId;
use broadloom_ir::graph::Node;
use broadloom_ir::transform::Rewriter;
use std::sync::{Arc, OnceLock};

/// The number of rows for which truth values are unpacked at once, where rows do not mix: they fit a cache.
const PIECE: usize = 1 << 16;

/// A compiled graph from columns to columns.
///
/// ```
/// use arrow_array::{ArrayRef, Float64Array, RecordBatch};
/// use broadloom::prelude::*;
/// use broadloom_arrow::{RowGraph, RowKernel};
/// use std::sync::{Arc, OnceLock};
/// let g = Graph::new();
/// let x = g.input::<f64>("x", shape![g.symbol("n")]);
/// let roots = RowGraph::new(&x.sqrt().finish()?, "n")?;
/// let kernel = RowKernel::new(&roots, &CompileOptions::default())?;
///
/// let column: ArrayRef = Arc::new(Float64Array::from(vec![Some(4.0), None, Some(9.0)]));
/// let result = kernel.run_batch(&RecordBatch::try_from_iter([("x", column)])?, &[])?;
/// let expected: ArrayRef = Arc::new(Float64Array::from(vec![Some(2.0), None, Some(3.0)]));
/// assert_eq!(result.column(0), &expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct RowKernel {
    graph: RowGraph,
    /// Computes all outputs.
    whole: Executable,
    /// One for each output, where rows that are null for one output can fail for another, and where the lists of one have no
    /// length; made when they are needed.
    single: OnceLock<Vec<Executable>>,
    /// Whether outputs have null rows of their own, which have to be left out.
    is_apart: bool,
    options: CompileOptions,
    outputs: Vec<Output>,
    is_row_wise: bool,
    can_fail: bool,
}

#[derive(Debug)]
struct Output {
    name: String,
    has_rows: bool,
    /// The numbers of the columns that it depends on.
    columns: Vec<usize>,
}

impl RowKernel {
    /// Compiles a graph.
    ///
    /// # Errors
    /// Returns an error for whatever the compiler does not support.
    pub fn new(graph: &RowGraph, options: &CompileOptions) -> Result<RowKernel, ColumnError> {
        let whole = Executable::compile(graph.graph(), options)?;
        let outputs = graph.graph().results().iter().map(|output| Output {
            name: output.name.to_string(),
            has_rows: graph.has_rows(output.expr),
            columns: graph.columns_of(output.expr),
        });
        let outputs: Vec<Output> = outputs.collect();
        let (is_row_wise, can_fail) = (graph.mixing().is_none(), graph.can_fail());
        let differ = outputs.iter().any(|output| output.columns != outputs[0].columns);
        let is_apart = differ && (can_fail || !is_row_wise);
        let kernel = RowKernel {
            graph: graph.clone(),
            whole,
            single: OnceLock::new(),
            is_apart,
            options: options.clone(),
            outputs,
            is_row_wise,
            can_fail,
        };
        if is_apart {
            kernel.single()?;
        }
        Ok(kernel)
    }

    /// Returns an executable for each output.
    fn single(&self) -> Result<&[Executable], ColumnError> {
        if let Some(single) = self.single.get() {
            return Ok(single);
        }
        let graph = self.graph.graph();
        let made = graph.results().iter().map(|output| {
            let part = only(graph, &output.name, output.expr)?;
            Ok(Executable::compile(&part, &self.options)?)
        });
        let made = made.collect::<Result<Vec<_>, ColumnError>>()?;
        Ok(self.single.get_or_init(|| made))
    }

    /// Returns the graph.
    pub fn graph(&self) -> &RowGraph {
        &self.graph
    }

    /// Returns the executable of all outputs.
    pub fn executable(&self) -> &Executable {
        &self.whole
    }

    /// Computes the results for all rows of a table, whose columns have the names of the inputs. If each result has
    /// a value for each row, the result has the rows of the table; if all are totals, it has one row.
    ///
    /// # Errors
    /// Returns an error if a column is missing or has another type, if some results are totals and others are not,
    /// or if the data have no result.
    pub fn run_batch(
        &self,
        batch: &RecordBatch,
        constants: &[(String, AnyArray)],
    ) -> Result<RecordBatch, ColumnError> {
        let schema = batch.schema();
        let mut columns = Vec::new();
        for input in self.inputs() {
            let Some((position, field)) = schema.column_with_name(&input) else {
                let known = schema.fields().iter().map(|field| field.name().clone()).collect();
                return Err(ColumnError::Missing { input, known });
            };
            columns.push((input, Column::new(field, batch.column(position))?));
        }
        if let Some(total) = self.outputs.iter().find(|output| output.has_rows != self.outputs[0].has_rows) {
            return Err(ColumnError::Lengths { output: total.name.clone() });
        }
        let types = self.types(&columns, constants)?;
        let fields: Vec<Field> =
            types.iter().map(|(name, kind)| kind.field(name, true)).collect::<Result<_, _>>()?;
        let arrays = self.run(&columns, constants, batch.num_rows())?;
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
    }

    /// Returns the names of the columns that the outputs read.
    pub fn inputs(&self) -> Vec<String> {
        let graph = self.graph.graph();
        let needed = |name: &str| {
            graph.inputs().iter().any(|input| *input.name == *name && self.graph.is_column(input))
        };
        self.whole.inputs().into_iter().map(|input| input.name).filter(|name| needed(name)).collect()
    }

    /// Returns the types of the results, which depend on the types of the columns and not on their rows.
    fn types(
        &self,
        columns: &[(String, Column)],
        constants: &[(String, AnyArray)],
    ) -> Result<Vec<(String, ColumnType)>, ColumnError> {
        let kinds: Vec<(String, ColumnType)> =
            columns.iter().map(|(name, column)| (name.clone(), column.kind().clone())).collect();
        self.graph.output_types(&kinds, constants)
    }

    /// Computes the results for columns with `rows` rows each, by the names of the inputs. A total has one row.
    ///
    /// # Errors
    /// Returns an error if a column is missing or has another type, or if the data have no result.
    pub fn run(
        &self,
        columns: &[(String, Column)],
        constants: &[(String, AnyArray)],
        rows: usize,
    ) -> Result<Vec<ArrayRef>, ColumnError> {
        self.check(columns, rows)?;
        let nulls: Vec<Option<NullBuffer>> =
            self.outputs.iter().map(|output| self.nulls(output, columns)).collect();
        if columns.iter().all(|(_, column)| column.kind().is_fixed()) {
            return self.results(columns, constants, rows, &nulls);
        }
        let types = self.types(columns, constants)?;
        let kind = |name: &str, types: &[(String, ColumnType)]| {
            let kind = types.iter().find(|(known, _)| known == name).map(|(_, kind)| kind.clone());
            kind.ok_or_else(|| ColumnError::Size { output: name.to_owned() })
        };
        let of_batch: Vec<(String, ColumnType)> = columns
            .iter()
            .map(|(name, column)| match column.is_open() {
                true => (name.clone(), column.kind().clone()),
                false => (name.clone(), ColumnType::fixed(column.kind().dtype, column.row())),
            })
            .collect();
        let of_batch = self.graph.output_types(&of_batch, constants)?;
        let nested = |result: ArrayRef, output: &Output| {
            let row = kind(&output.name, &of_batch)?.sizes();
            let row = row.ok_or_else(|| ColumnError::Size { output: output.name.clone() })?;
            kind(&output.name, &types)?.nested(result, &row)
        };
        if !self.outputs.iter().any(|output| self.is_open(output, columns)) {
            let results = self.results(columns, constants, rows, &nulls)?.into_iter().zip(&self.outputs);
            return results.map(|(result, output)| nested(result, output)).collect();
        }
        let mut results = Vec::new();
        for (number, (output, nulls)) in self.outputs.iter().zip(&nulls).enumerate() {
            if self.is_open(output, columns) {
                // All rows are null, or there are none.
                let length = if output.has_rows { rows } else { 1 };
                let field = kind(&output.name, &types)?.field(&output.name, true)?;
                results.push(new_null_array(field.data_type(), length));
                continue;
            }
            let executable = &self.single()?[number];
            let result = self.without_nulls(executable, columns, constants, rows, nulls.as_ref())?;
            results.extend(result.into_iter().next().map(|result| nested(result, output)).transpose()?);
        }
        Ok(results)
    }

    /// Returns whether an output depends on lists whose length is not known, because there is no row that is not null.
    fn is_open(&self, output: &Output, columns: &[(String, Column)]) -> bool {
        let inputs = self.graph.graph().inputs();
        output.columns.iter().any(|input| {
            let column = columns.iter().find(|(name, _)| **name == *inputs[*input].name);
            column.is_some_and(|(_, column)| column.is_open())
        })
    }

    /// Computes the results, whose rows have the sizes of this batch.
    fn results(
        &self,
        columns: &[(String, Column)],
        constants: &[(String, AnyArray)],
        rows: usize,
        nulls: &[Option<NullBuffer>],
    ) -> Result<Vec<ArrayRef>, ColumnError> {
        let computes_null_rows = self.is_row_wise && !self.can_fail;
        if computes_null_rows || nulls.iter().all(Option::is_none) {
            return self.in_pieces(&self.whole, columns, constants, rows, nulls);
        }
        if !self.is_apart {
            return self.without_nulls(&self.whole, columns, constants, rows, nulls[0].as_ref());
        }
        let mut results = Vec::new();
        for (executable, nulls) in self.single()?.iter().zip(nulls) {
            results.extend(self.without_nulls(executable, columns, constants, rows, nulls.as_ref())?);
        }
        Ok(results)
    }

    fn check(&self, columns: &[(String, Column)], rows: usize) -> Result<(), ColumnError> {
        for input in self.graph.graph().inputs().iter().filter(|input| self.graph.is_column(input)) {
            let Some((name, column)) = columns.iter().find(|(name, _)| **name == *input.name) else {
                continue;
            };
            if column.rows() != rows {
                return Err(ColumnError::Rows { column: name.clone(), wanted: rows, found: column.rows() });
            }
            let kind = column.kind();
            if kind.dtype != input.dtype || kind.row.len() + 1 != input.shape.rank() {
                let info = self.whole.inputs().into_iter().find(|info| info.name == *name);
                let wanted = info.map_or_else(|| input.dtype.to_string(), |info| info.to_string());
                return Err(ColumnError::of_type(name, kind, wanted, input.dtype));
            }
        }
        Ok(())
    }

    /// Returns whether an output has a value for each row.
    fn has_rows(&self, name: &str) -> bool {
        self.outputs.iter().any(|output| output.name == name && output.has_rows)
    }

    /// Returns the rows that are null in a column that an output depends on.
    fn nulls(&self, output: &Output, columns: &[(String, Column)]) -> Option<NullBuffer> {
        let inputs = self.graph.graph().inputs();
        output.columns.iter().fold(None, |nulls, input| {
            let column = columns.iter().find(|(name, _)| **name == *inputs[*input].name);
            NullBuffer::union(nulls.as_ref(), column.and_then(|(_, column)| column.nulls()))
        })
    }

    /// Computes all rows, null ones among them, and marks the null ones afterwards.
    fn in_pieces(
        &self,
        executable: &Executable,
        columns: &[(String, Column)],
        constants: &[(String, AnyArray)],
        rows: usize,
        nulls: &[Option<NullBuffer>],
    ) -> Result<Vec<ArrayRef>, ColumnError> {
        let unpacks = columns.iter().any(|(_, column)| column.kind().dtype == DType::Bool);
        let piece = if self.is_row_wise && unpacks { PIECE } else { rows };
        if rows <= piece {
            let at = |row: usize| row;
            return self.compute(executable, columns, constants, rows, nulls, &at);
        }
        let mut pieces: Vec<Vec<ArrayRef>> = vec![Vec::new(); nulls.len()];
        for start in (0..rows).step_by(piece) {
            let length = piece.min(rows - start);
            let part: Vec<(String, Column)> =
                columns.iter().map(|(name, column)| (name.clone(), column.slice(start, length))).collect();
            let nulls: Vec<Option<NullBuffer>> =
                nulls.iter().map(|nulls| nulls.as_ref().map(|nulls| nulls.slice(start, length))).collect();
            let results =
                self.compute(executable, &part, constants, length, &nulls, &|row: usize| start + row)?;
            pieces.iter_mut().zip(results).for_each(|(pieces, result)| pieces.push(result));
        }
        let joined = pieces.iter().map(|pieces| {
            let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| &**piece).collect();
            Ok(concat(&pieces)?)
        });
        joined.collect()
    }

    /// Computes the rows that are not null, and puts the results back into their places.
    fn without_nulls(
        &self,
        executable: &Executable,
        columns: &[(String, Column)],
        constants: &[(String, AnyArray)],
        rows: usize,
        nulls: Option<&NullBuffer>,
    ) -> Result<Vec<ArrayRef>, ColumnError> {
        let outputs = executable.outputs().len();
        let Some(nulls) = nulls else {
            return self.in_pieces(executable, columns, constants, rows, &vec![None; outputs]);
        };
        let mask = BooleanArray::new(nulls.inner().clone(), None);
        let valid = rows - nulls.null_count();
        let kept: Vec<(String, Column)> = columns
            .iter()
            .map(|(name, column)| Ok((name.clone(), column.kept(&mask, valid)?)))
            .collect::<Result<_, ColumnError>>()?;
        if valid == 0 && !self.is_row_wise {
            let kinds: Vec<(String, ColumnType)> =
                kept.iter().map(|(name, column)| (name.clone(), column.kind().clone())).collect();
            let types = self.graph.output_types(&kinds, constants)?;
            let named = executable.outputs();
            let types = types.iter().filter(|(name, _)| named.iter().any(|output| output.name == *name));
            let empty = types.map(|(name, kind)| {
                let length = if self.has_rows(name) { rows } else { 1 };
                Ok(new_null_array(kind.field(name, true)?.data_type(), length))
            });
            return empty.collect();
        }
        let place = |row: usize| nulls.inner().set_indices().nth(row).unwrap_or(row);
        let results = self.compute(executable, &kept, constants, valid, &vec![None; outputs], &place)?;
        let mut next = 0;
        let from = (0..rows).map(|row| {
            let from = next;
            next += u64::from(nulls.is_valid(row));
            from
        });
        let from = UInt64Array::new(from.collect::<ScalarBuffer<u64>>(), Some(nulls.clone()));
        let named = executable.outputs();
        let placed = results.into_iter().zip(named).map(|(result, output)| {
            if self.has_rows(&output.name) { Ok(take(&result, &from, None)?) } else { Ok(result) }
        });
        placed.collect()
    }

    /// Runs the kernel; `place` returns the place of a row of these columns in the table.
    fn compute(
        &self,
        executable: &Executable,
        columns: &[(String, Column)],
        constants: &[(String, AnyArray)],
        rows: usize,
        nulls: &[Option<NullBuffer>],
        place: &dyn Fn(usize) -> usize,
    ) -> Result<Vec<ArrayRef>, ColumnError> {
        let outputs = run(executable, columns, constants, &[]);
        let outputs = outputs.map_err(|error| self.relocated(error, executable, place))?;
        let results = outputs.into_iter().zip(nulls).map(|((name, array), nulls)| {
            let has_rows = self.has_rows(&name);
            let nulls = nulls.clone().filter(|nulls| has_rows && nulls.len() == rows);
            column_of(&name, array, has_rows, nulls)
        });
        results.collect()
    }

    /// Makes the position in an error count the rows of the table.
    fn relocated(
        &self,
        mut error: ColumnError,
        executable: &Executable,
        place: &dyn Fn(usize) -> usize,
    ) -> ColumnError {
        let graph = executable.graph();
        let shift = |of: ExprId, position: &mut Vec<usize>| {
            let shape = graph.shape(of);
            let rows = self.graph.rows;
            if let Some(axis) = shape.iter().position(|dim| dim.as_symbol() == Some(rows))
                && let Some(at) = position.get_mut(axis)
            {
                *at = place(*at);
            }
        };
        if let ColumnError::Call(CallError::Run(error)) = &mut error {
            match error {
                RunError::IndexOutOfRange { expr, position, .. } | RunError::NoBin { expr, position, .. } => {
                    if let Node::Take { indices, .. } = graph.node(*expr) {
                        shift(*indices, position);
                    }
                }
                RunError::NegativeExponent { expr, position, .. } => shift(*expr, position),
                RunError::NoSuchSegment { row, .. } => *row = place(*row),
                _ => {}
            }
        }
        error
    }
}

/// Runs an executable on columns and constants by name; columns that it does not need are left out.
pub(crate) fn run(
    executable: &Executable,
    columns: &[(String, Column)],
    constants: &[(String, AnyArray)],
    sizes: &[(String, usize)],
) -> Result<Outputs, ColumnError> {
    with_inputs(executable, columns, constants, sizes, |inputs| bounded(executable, inputs))
}

/// Calls a function with the inputs of an executable.
fn with_inputs<T>(
    executable: &Executable,
    columns: &[(String, Column)],
    constants: &[(String, AnyArray)],
    sizes: &[(String, usize)],
    function: impl FnOnce(Inputs<'_>) -> Result<T, ColumnError>,
) -> Result<T, ColumnError> {
    let needed = executable.inputs();
    let mut data = Vec::new();
    for input in &needed {
        match columns.iter().find(|(name, _)| *name == input.name) {
            Some((_, column)) => data.push(Some((column, column.data()))),
            None => data.push(None),
        }
    }
    let mut inputs = Inputs::new();
    for (input, data) in needed.iter().zip(&data) {
        let constant = constants.iter().find(|(name, _)| *name == input.name);
        inputs = match (data, constant) {
            (Some((column, data)), _) => {
                let view = data.view(column)?;
                inputs.named(input.name.clone(), view)
            }
            (None, Some((_, constant))) => inputs.named(input.name.clone(), constant),
            (None, None) => {
                let known =
                    columns.iter().map(|(name, _)| name).chain(constants.iter().map(|(name, _)| name));
                let known = known.cloned().collect();
                return Err(ColumnError::Missing { input: input.name.clone(), known });
            }
        };
    }
    for (name, size) in sizes {
        inputs = inputs.with_size(name.clone(), *size);
    }
    function(inputs)
}

/// Returns the part of a graph that one output needs.
fn only(graph: &CheckedGraph, name: &str, output: ExprId) -> Result<CheckedGraph, ColumnError> {
    let mut rewriter = Rewriter::new(graph);
    for expr in graph.exprs() {
        let image = rewriter.copy(expr);
        rewriter.replace(expr, image);
    }
    let image = rewriter.image(output);
    Ok(rewriter.finish_part(&[(name, image)], |_| true)?)
}
