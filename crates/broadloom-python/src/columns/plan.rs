//! Definitions for columns of known types: checked when a query is planned, compiled when it first runs, and kept for the
//! whole process.

use super::definition::{Caller, Definition, Makes};
use arrow_array::{Array, ArrayRef, StructArray, new_null_array};
use arrow_schema::{DataType, Field, Fields};
use broadloom::{CallError, CompileOptions};
use broadloom_arrow::{Cache, Column, ColumnError, ColumnType, RowGraph, RowKernel};
use broadloom_text::{Given, Program, TextPlaces};
use std::sync::{Arc, OnceLock};

/// The name of the size of the rows in expressions.
const ROWS: &str = "n";
/// The most plans that are kept, and the most bytes of their definitions.
const CAPACITY: usize = 256;
const MAX_BYTES: usize = 64 << 20;
/// The bytes of a definition among which its identity is.
const BEGINNING: usize = 192;

/// A definition for columns of known types.
pub struct Plan {
    definition: Arc<Definition>,
    graph: RowGraph,
    places: TextPlaces,
    types: Vec<ColumnType>,
    outputs: Vec<(String, ColumnType)>,
    kernel: OnceLock<Result<RowKernel, String>>,
}

/// How a plan is found: by the beginning of its definition, which has an identity of the whole, by its length, and by the types
/// of the columns.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    beginning: Box<[u8]>,
    length: usize,
    types: Vec<ColumnType>,
}

static PLANS: Cache<Key, Arc<Plan>> = Cache::new(CAPACITY, MAX_BYTES);

impl Plan {
    /// Finds the plan of a definition, which polars passes as bytes at each call, or makes it.
    ///
    /// # Errors
    /// Returns the message of whatever is wrong with the definition or the columns.
    pub fn of_bytes(bytes: &[u8], fields: &[Field]) -> Result<Arc<Plan>, String> {
        let types = types(Caller::Polars, fields)?;
        let beginning = bytes[..bytes.len().min(BEGINNING)].into();
        let key = Key { beginning, length: bytes.len(), types };
        let make = |key: &Key| {
            let definition = Arc::new(Definition::from_pickle(bytes)?);
            Ok(Arc::new(Plan::new(definition, key.types.clone())?))
        };
        PLANS.get_or_make(key, make, |plan| plan.definition.bytes())
    }

    /// Checks a definition for columns of these types.
    ///
    /// # Errors
    /// Returns the message of whatever is wrong with the definition or the columns.
    pub fn new(definition: Arc<Definition>, types: Vec<ColumnType>) -> Result<Plan, String> {
        if types.len() != definition.names.len() {
            return Err(format!(
                "{} columns were passed for the names {}: pass one for each name",
                types.len(),
                definition.names.join(", ")
            ));
        }
        let shapes: Vec<Vec<usize>> = types.iter().map(|kind| [vec![0], sizes(kind)].concat()).collect();
        let columns = definition.names.iter().zip(&types).zip(&shapes);
        let columns = columns.map(|((name, kind), shape)| Given {
            name,
            dtype: kind.dtype,
            shape,
            rows: Some(ROWS),
            names: None,
        });
        let constants = definition.constants.iter().map(|(name, array)| Given {
            name,
            dtype: array.dtype(),
            shape: array.shape(),
            rows: None,
            names: None,
        });
        let given: Vec<Given<'_>> = columns.chain(constants).collect();
        let resolved = Program::parse_after("expression", &definition.numbers, &definition.text)
            .and_then(|program| program.resolve_in_full(&given))
            .map_err(|mistakes| format!("\n{mistakes:#}"))?;
        let graph = RowGraph::new(&resolved.graph, ROWS).map_err(|error| error.to_string())?;
        let arguments: Vec<(String, ColumnType)> =
            definition.names.iter().cloned().zip(types.iter().cloned()).collect();
        let outputs =
            graph.output_types(&arguments, &definition.constants).map_err(|error| error.to_string())?;
        let places = resolved.places;
        let plan = Plan { definition, graph, places, types, outputs, kernel: OnceLock::new() };
        plan.check()?;
        Ok(plan)
    }

    /// Refuses programs that make something else than the caller was told.
    fn check(&self) -> Result<(), String> {
        let Definition { text, makes, caller, .. } = &*self.definition;
        let write = |polars: &str, duckdb: &str| match caller {
            Caller::Polars => polars.to_owned(),
            Caller::DuckDb => duckdb.to_owned(),
        };
        for (name, kind) in &self.outputs {
            if sizes(kind).contains(&0) {
                return Err(format!(
                    "`{text}` makes rows without elements, {kind}, which tables do not have"
                ));
            }
            match (makes, self.graph.makes_rows(name)) {
                (Makes::Rows | Makes::Mixed, false) if !self.graph.reads_columns(name) => {
                    return Err(format!("`{text}` depends on no column: use one in it"));
                }
                (Makes::Rows | Makes::Mixed, false) => {
                    let help = write(
                        "write `.bl.agg(..)` or `broadloom.polars.agg(..)`, which make one value of all rows",
                        "a function of DuckDB's makes a value for each row; the elements of a list are axis 1",
                    );
                    return Err(format!("`{text}` makes one value of all rows, not one for each: {help}"));
                }
                (Makes::Total, true) => {
                    let help = write(
                        "write `.bl.eval(..)` or `broadloom.polars.expr(..)`",
                        "register it as a function of rows",
                    );
                    return Err(format!("`{text}` makes a value for each row, not one of all rows: {help}"));
                }
                (Makes::Rows | Makes::Mixed, true) | (Makes::Total, false) => {}
            }
        }
        match self.graph.mixing() {
            Some(mixing) if *makes == Makes::Rows => {
                let help = write(
                    "write `mixes_rows=True` behind it, and it gets all rows at once",
                    "compute what combines rows in a subquery first",
                );
                Err(format!(
                    "`{}` combines rows, and `{text}` gets them in batches of any size: {help}",
                    mixing.op
                ))
            }
            _ => Ok(()),
        }
    }

    /// Returns the type of the result under a name: that of the only output, or a struct of all. Rows with several axes are lists
    /// of lists: neither polars nor DuckDB has tensors.
    ///
    /// # Errors
    /// Returns an error if Arrow does not have the dtype of an output.
    pub fn field(&self, name: &str) -> Result<Field, String> {
        let fields = self.outputs.iter().map(|(name, kind)| kind.nested_field(name, true));
        let fields = fields.collect::<Result<Vec<Field>, _>>().map_err(|error| error.to_string())?;
        Ok(match fields.as_slice() {
            [field] => field.clone().with_name(name),
            _ => Field::new(name, DataType::Struct(Fields::from(fields)), true),
        })
    }

    /// Computes the result for columns. A column with one row stands for as many as the others have.
    ///
    /// # Errors
    /// Returns the message of an error of the data.
    pub fn run(&self, fields: &[Field], arrays: &[ArrayRef]) -> Result<ArrayRef, String> {
        let field = self.field("result")?;
        let rows = arrays.iter().map(|array| array.len()).find(|rows| *rows != 1).unwrap_or(1);
        if rows == 0 && self.definition.makes == Makes::Total {
            return Ok(new_null_array(field.data_type(), 1));
        }
        let failed = |error: ColumnError| self.message(&error);
        let columns = self.definition.names.iter().zip(fields).zip(arrays).map(|((name, field), array)| {
            let field = field.clone().with_name(name);
            let column = match array.len() == 1 && rows != 1 {
                true => Column::repeated(&field, array, rows)?,
                false => Column::new(&field, array)?,
            };
            Ok((name.clone(), column))
        });
        let columns = columns.collect::<Result<Vec<_>, ColumnError>>().map_err(failed)?;
        let kernel = self.kernel.get_or_init(|| {
            RowKernel::new(&self.graph, &CompileOptions::default()).map_err(|error| error.to_string())
        });
        let kernel = kernel.as_ref().map_err(String::clone)?;
        let results = kernel.run(&columns, &self.definition.constants, rows).map_err(failed)?;
        let results = results.into_iter().zip(&self.outputs);
        let results = results.map(|(array, (_, kind))| kind.lists_of(array, &sizes(kind)));
        let mut results = results.collect::<Result<Vec<ArrayRef>, _>>().map_err(|error| error.to_string())?;
        match field.data_type() {
            DataType::Struct(fields) => {
                let made = StructArray::try_new(fields.clone(), results, None);
                Ok(Arc::new(made.map_err(|error| error.to_string())?))
            }
            _ => results.pop().ok_or_else(|| "the program has no result".to_owned()),
        }
    }

    /// Returns the types of the columns.
    pub fn types(&self) -> &[ColumnType] {
        &self.types
    }

    /// Returns the message of an error of a run, which points into the expression.
    fn message(&self, error: &ColumnError) -> String {
        match error {
            ColumnError::Call(CallError::Run(error)) => format!("\n{}", error.display_at(&self.places)),
            ColumnError::Call(CallError::Bind(error)) => format!("\n{}", error.display_at(&self.places)),
            _ => error.to_string(),
        }
    }
}

/// Returns the types of columns.
///
/// # Errors
/// Returns an error if one is not a tensor of numbers; it says what to write.
pub fn types(caller: Caller, fields: &[Field]) -> Result<Vec<ColumnType>, String> {
    let each = fields.iter().map(|field| {
        let (name, found) = (field.name(), field.data_type());
        match (ColumnType::of(field), caller) {
            (Ok(kind), _) if sizes(&kind).contains(&0) => {
                Err(format!("column `{name}` has rows without elements, {kind}: leave it out"))
            }
            (Ok(kind), _) if kind.is_fixed() => Ok(kind),
            (Ok(_), Caller::Polars) => Err(format!(
                "column `{name}` has lists, whose lengths are not known: write `.list.to_array(3)` behind it, with the \
                 length that all rows have"
            )),
            (Ok(_), Caller::DuckDb) => Err(format!(
                "`{name}` has lists, whose lengths are not known: give a type with the length that all rows have, such as \
                 `FLOAT[3]`, and cast to it in SQL"
            )),
            (Err(ColumnError::Unsupported { .. }), Caller::Polars) => {
                let help = help(found);
                Err(format!("column `{name}` has the type {found}, which is not a tensor of numbers: {help}"))
            }
            (Err(error), _) => Err(error.to_string()),
        }
    });
    each.collect()
}

/// Returns the shape of a row, which is fixed.
fn sizes(kind: &ColumnType) -> Vec<usize> {
    kind.sizes().unwrap_or_default()
}

/// Returns what people of polars write for a column of another type.
fn help(found: &DataType) -> &'static str {
    match found {
        DataType::Date32
        | DataType::Date64
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Timestamp(..)
        | DataType::Duration(_)
        | DataType::Dictionary(..) => "write `.to_physical()` behind it",
        _ => "write `.cast(pl.Float64)` behind it",
    }
}
