//! Definitions with the types of their arguments: checked while a query is planned, compiled when it first runs, and
//! kept for the whole process.

use crate::definition::{Definition, ROWS, Source};
use crate::names::ordered;
use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, FieldRef, Fields};
use broadloom::diagnostics::{Places, Row, Style, Text};
use broadloom::{CallError, CompileOptions, Threads};
use broadloom_arrow::{Aggregate, Cache, Column, ColumnError, ColumnType, Grouping, RowGraph, RowKernel};
use broadloom_text::{Given, Program, Resolved, TextPlaces};
use datafusion_common::arrow::compute::cast;
use datafusion_common::{DataFusionError, Result, plan_err};
use std::sync::{Arc, OnceLock};

/// How a function is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Use {
    /// A value for each row.
    Scalar,
    /// A value for each group of rows.
    Aggregate,
}

/// A definition and its arguments.
pub(crate) type Identity = (Definition, Vec<(String, ColumnType)>);

/// A definition for arguments of known types.
pub(crate) struct Plan {
    /// The name and type of each argument.
    pub(crate) arguments: Vec<(String, ColumnType)>,
    pub(crate) outputs: Vec<(String, ColumnType)>,
    definition: Definition,
    graph: RowGraph,
    places: Option<TextPlaces>,
    kernel: OnceLock<std::result::Result<RowKernel, String>>,
    aggregate: OnceLock<std::result::Result<Aggregate, String>>,
    grouping: OnceLock<std::result::Result<Option<Grouping>, String>>,
}

#[derive(PartialEq, Eq, Hash, Clone)]
struct Key {
    definition: Definition,
    arguments: Vec<(String, ColumnType)>,
    as_what: Use,
}

/// Plans that were made, for the whole process.
static PLANS: Cache<Key, Arc<Plan>> = Cache::new(1024, 64 << 20);

/// The length of lists without a fixed size in messages that need one.
const EXAMPLE_LENGTH: usize = 3;

/// Kernels run on the engine's own threads, of which there is one for each partition.
fn options() -> CompileOptions {
    CompileOptions { threads: Threads::Calling, ..CompileOptions::default() }
}

impl Plan {
    /// Checks a definition for arguments, or finds it.
    ///
    /// # Errors
    /// Returns a planning error that points into the expression.
    pub(crate) fn of(definition: &Definition, fields: &[FieldRef], as_what: Use) -> Result<Arc<Plan>> {
        let types = fields.iter().map(|field| ColumnType::of(field).map_err(planning));
        let types: Vec<ColumnType> = types.collect::<Result<_>>()?;
        let mut arguments: Vec<(String, ColumnType)> = match &definition.arguments {
            Some(arguments) if arguments.len() == types.len() => arguments
                .iter()
                .zip(types)
                .map(|(argument, kind)| (argument.name.clone(), argument.typed(kind)))
                .collect(),
            _ => {
                let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                argument_names(definition, &names, &types)?.into_iter().zip(types).collect()
            }
        };
        for (name, kind) in &mut arguments {
            kind.dtype = definition.converted(name, kind.dtype);
        }
        let key = Key { definition: definition.clone(), arguments, as_what };
        PLANS.get_or_make(key, |key| Ok(Arc::new(Plan::new(key)?)), |plan| plan.bytes())
    }

    fn new(key: &Key) -> Result<Plan> {
        let Key { definition, arguments, as_what } = key;
        let (graph, places) = match &definition.source {
            Source::Expression(text) => {
                let resolved = resolved(text, arguments, Given::INFERRED)?;
                let graph = RowGraph::new(&resolved.graph, ROWS).map_err(planning)?;
                if graph.has_lists_of_rows() {
                    // `x * v` would take lists for as long as the table. A length of its own shows the mistake.
                    self::resolved(text, &inferred(&graph, arguments), EXAMPLE_LENGTH)?;
                }
                (graph, Some(resolved.places))
            }
            Source::Program { graph, rows, .. } => (RowGraph::new(graph, rows).map_err(planning)?, None),
        };
        let plan = Plan {
            outputs: graph.output_types(arguments, &definition.constants).map_err(planning)?,
            arguments: arguments.clone(),
            definition: definition.clone(),
            graph,
            places,
            kernel: OnceLock::new(),
            aggregate: OnceLock::new(),
            grouping: OnceLock::new(),
        };
        plan.check_inputs()?;
        match as_what {
            Use::Scalar => plan.check_scalar()?,
            Use::Aggregate => Aggregate::check(&plan.graph).map_err(planning)?,
        }
        Ok(plan)
    }

    /// Checks that each input has an argument or a constant of its type.
    fn check_inputs(&self) -> Result<()> {
        let columns = self.graph.columns();
        for input in self.graph.graph().inputs() {
            let argument = self.arguments.iter().find(|(name, _)| **name == *input.name);
            let is_column = columns.contains(&&*input.name);
            let is_constant = self.definition.constants.iter().any(|(name, _)| **name == *input.name);
            match argument {
                None if is_column => {
                    return plan_err!("no column was passed for the input `{}`", input.name);
                }
                None if !is_constant => {
                    return plan_err!(
                        "the input `{}` has no array: bind one with `.with_constant(\"{}\", ..)`",
                        input.name,
                        input.name
                    );
                }
                Some(_) if !is_column => {
                    return plan_err!(
                        "`{}` does not have the rows as its leading axis: bind an array to it",
                        input.name
                    );
                }
                Some(_) | None => {}
            }
        }
        self.graph.check_types(&self.arguments, &self.definition.constants).map_err(planning)
    }

    /// Refuses expressions that combine rows, and results without rows.
    fn check_scalar(&self) -> Result<()> {
        if let Some(mixing) = self.graph.mixing() {
            let op = &mixing.op;
            let headline =
                format!("`{op}` combines rows, and a scalar function gets its rows in batches of any size");
            let mut text = Text::message(Style::Error, "error[Q001]".to_owned(), headline);
            text.source(mixing.site, Style::Error);
            text.rows(vec![Row::new(
                "axis 0 counts the rows of the table; the elements of a list are axis 1",
                None,
            )]);
            // A suggestion is one that works.
            let is_aggregate = Aggregate::check(&self.graph).is_ok();
            match &self.definition.source {
                _ if !is_aggregate => {
                    text.help(
                        "no aggregate computes it either: compute what combines rows in a subquery first",
                        None,
                    );
                }
                Source::Expression(expression) => {
                    let columns: Vec<&str> = self.arguments.iter().map(|(name, _)| name.as_str()).collect();
                    let call = format!(
                        "broadloom_agg('{}', {})",
                        expression.replace('\'', "''"),
                        columns.join(", ")
                    );
                    text.help("to compute one value for a group of rows, use the aggregate:", Some(&call));
                }
                Source::Program { .. } => {
                    text.help("to compute one value for a group of rows, use `TensorAggregate`", None);
                }
            }
            return Err(framed(self.placed(text)));
        }
        for output in self.graph.graph().outputs() {
            if !self.graph.reads_columns(&output.name) {
                return plan_err!("`{}` depends on no column: use one in the expression", output.name);
            }
        }
        Ok(())
    }

    fn placed(&self, text: Text) -> Text {
        match &self.places {
            Some(places) => text.at(places as &dyn Places),
            None => text,
        }
    }

    /// Returns the type of the result: that of the only output, or a struct of all.
    pub(crate) fn field(&self, name: &str) -> Result<Field> {
        let fields = self.outputs.iter().map(|(name, kind)| kind.field(name, true).map_err(planning));
        let fields: Vec<Field> = fields.collect::<Result<_>>()?;
        match fields.as_slice() {
            [field] => Ok(field.clone().with_name(name)),
            _ => Ok(Field::new(name, DataType::Struct(Fields::from(fields)), true)),
        }
    }

    /// Makes the column of an argument, converted to the dtype of its input.
    ///
    /// # Errors
    /// Returns the errors of `column`.
    pub(crate) fn column(
        &self,
        index: usize,
        array: &ArrayRef,
        column: impl Fn(&Field, &ArrayRef) -> std::result::Result<Column, ColumnError>,
    ) -> Result<(String, Column)> {
        let Some((name, kind)) = self.arguments.get(index) else {
            return plan_err!("there are {} arguments", self.arguments.len());
        };
        let field = kind.field(name, true).map_err(planning)?;
        let element =
            ColumnType { dtype: kind.dtype, row: Vec::new() }.field(name, true).map_err(planning)?;
        let data_type = with_element(array.data_type(), element.data_type());
        let column = if data_type == *array.data_type() {
            column(&field, array)
        } else {
            column(&field, &cast(array, &data_type)?)
        };
        Ok((name.clone(), column.map_err(|error| self.failed(error))?))
    }

    /// Returns the kernel, which is compiled once.
    pub(crate) fn kernel(&self) -> Result<&RowKernel> {
        let kernel = self
            .kernel
            .get_or_init(|| RowKernel::new(&self.graph, &options()).map_err(|error| error.to_string()));
        kernel.as_ref().map_err(|error| DataFusionError::Execution(error.clone()))
    }

    /// Returns the aggregate, which is compiled once.
    pub(crate) fn aggregate(&self) -> Result<&Aggregate> {
        let aggregate = self.aggregate.get_or_init(|| {
            let constants = self.definition.constants.clone();
            Aggregate::new(&self.graph, self.arguments.clone(), constants, &options())
                .map_err(|error| error.to_string())
        });
        aggregate.as_ref().map_err(|error| DataFusionError::Execution(error.clone()))
    }

    /// Returns whether all arguments have rows of fixed shapes.
    pub(crate) fn is_fixed(&self) -> bool {
        self.arguments.iter().all(|(_, kind)| kind.is_fixed())
    }

    /// Returns the plan of an aggregate for rows of these shapes, one for each argument.
    pub(crate) fn sized(&self, rows: &[&[usize]]) -> Result<Arc<Plan>> {
        let kinds = self.arguments.iter().zip(rows);
        let arguments: Vec<(String, ColumnType)> =
            kinds.map(|((name, kind), row)| (name.clone(), ColumnType::fixed(kind.dtype, row))).collect();
        // A length of 1 does not stretch here, although it would if it were part of the type.
        self.graph
            .check_types(&arguments, &self.definition.constants)
            .map_err(|error| DataFusionError::Execution(error.to_string()))?;
        let key = Key { definition: self.definition.clone(), arguments, as_what: Use::Aggregate };
        let plan = PLANS.get_or_make(key, |key| Ok(Arc::new(Plan::new(key)?)), |plan| plan.bytes());
        // The query was planned, and these are its data.
        plan.map_err(|error| match error {
            DataFusionError::Plan(text) => DataFusionError::Execution(text),
            other => other,
        })
    }

    /// Returns the aggregate of many groups, which is compiled once; `None` if there is none.
    pub(crate) fn grouping(&self) -> Result<Option<&Grouping>> {
        let grouping = self.grouping.get_or_init(|| {
            let columns = self.arguments.iter().map(|(name, _)| name.clone()).collect();
            let constants = self.definition.constants.clone();
            Grouping::new(&self.graph, columns, constants, &options()).map_err(|error| error.to_string())
        });
        let grouping = grouping.as_ref().map_err(|error| DataFusionError::Execution(error.clone()))?;
        Ok(grouping.as_ref())
    }

    /// Makes the columns of all arguments.
    pub(crate) fn columns(&self, values: &[ArrayRef]) -> Result<Vec<(String, Column)>> {
        values.iter().enumerate().map(|(index, value)| self.column(index, value, Column::new)).collect()
    }

    pub(crate) fn constants(&self) -> &[(String, broadloom::AnyArray)] {
        &self.definition.constants
    }

    /// Returns the error of a run, pointing into the expression.
    pub(crate) fn failed(&self, error: ColumnError) -> DataFusionError {
        let text = match (&error, &self.places) {
            (ColumnError::Ragged { column, first, wanted, row, found }, _) => {
                let headline = format!("the lists of column `{column}` have several lengths");
                let mut text = Text::message(Style::Error, "error[Q002]".to_owned(), headline);
                let elements =
                    |count: &usize| format!("{count} element{}", if *count == 1 { "" } else { "s" });
                text.line(
                    Style::Plain,
                    format!(
                        "row {first} of the batch has {}, row {row} has {}",
                        elements(wanted),
                        elements(found)
                    ),
                );
                text.help(
                    "to leave out the other rows:",
                    Some(&format!("WHERE array_length(..) = {wanted}")),
                );
                text.help("to make all rows as long:", Some(&format!("array_resize(.., {wanted}, 0)")));
                text.to_string()
            }
            (ColumnError::Call(CallError::Run(error)), Some(places)) => error.display_at(places).to_string(),
            (ColumnError::Call(CallError::Bind(error)), Some(places)) => {
                let text = error.display_at(places).to_string();
                match self.is_fixed() {
                    true => text,
                    // The data have these lengths, so they are changed where they come from.
                    false => format!(
                        "{text}\n   help: to make lists longer or shorter:   array_resize(.., {EXAMPLE_LENGTH}, 0)"
                    ),
                }
            }
            (ColumnError::TooLarge { .. }, _) => format!(
                "`{}` is too large: {error}; start the process with a larger --memory, or compute smaller rows",
                self.definition.text()
            ),
            _ => error.to_string(),
        };
        DataFusionError::Execution(text)
    }

    /// Returns the definition and its arguments, which are the same whenever the plan is made.
    pub(crate) fn identity(&self) -> Identity {
        (self.definition.clone(), self.arguments.clone())
    }

    /// Returns the text of the function.
    pub(crate) fn source(&self) -> &Source {
        &self.definition.source
    }

    /// Returns about how much memory the plan holds.
    fn bytes(&self) -> usize {
        const PLAN: usize = 4096;
        let kernel = self.kernel.get().and_then(|kernel| kernel.as_ref().ok());
        let aggregate = self.aggregate.get().and_then(|aggregate| aggregate.as_ref().ok());
        let grouping = self.grouping.get().and_then(|grouping| grouping.as_ref().ok()?.as_ref());
        let code = kernel.map_or(0, |kernel| kernel.executable().explain().code_bytes())
            + aggregate.map_or(0, Aggregate::code_bytes)
            + grouping.map_or(0, Grouping::code_bytes);
        PLAN + code + self.definition.as_bytes().len()
    }
}

/// Resolves an expression for arguments. Lists without a fixed size have this length.
fn resolved(text: &str, arguments: &[(String, ColumnType)], length: usize) -> Result<Resolved> {
    let shapes: Vec<Vec<usize>> = arguments.iter().map(|(_, kind)| shape_of(kind, length)).collect();
    let given = arguments.iter().zip(&shapes).map(|((name, kind), shape)| Given {
        name,
        dtype: kind.dtype,
        shape,
        rows: Some(ROWS),
        names: None,
    });
    let given: Vec<Given<'_>> = given.collect();
    let resolved = Program::parse("expression", text).and_then(|program| program.resolve_in_full(&given));
    resolved.map_err(|mistakes| {
        let mut text = mistakes.text();
        let shown = text.to_string();
        // Messages call the inferred size of an axis by the name of its input.
        let unknown =
            arguments.iter().find(|(name, kind)| !kind.is_fixed() && shown.contains(&format!("?{name}.")));
        if let Some((_, kind)) = unknown {
            let help = format!("if all lists have {EXAMPLE_LENGTH} elements, say so:");
            text.help(&help, Some(&format!("arrow_cast(.., '{}')", fixed_size_list(kind))));
        }
        framed(text)
    })
}

/// Returns the types of arguments with the lengths of lists that an expression needs.
fn inferred(graph: &RowGraph, arguments: &[(String, ColumnType)]) -> Vec<(String, ColumnType)> {
    let mut arguments = arguments.to_vec();
    for (name, kind) in &mut arguments {
        let input = graph.graph().inputs().iter().find(|input| *input.name == **name);
        for (size, dim) in kind.row.iter_mut().zip(input.iter().flat_map(|input| input.shape.iter().skip(1)))
        {
            *size = size.or_else(|| dim.as_constant().and_then(|size| usize::try_from(size).ok()));
        }
    }
    arguments
}

/// Returns the type of lists of a fixed size, an example, as SQL writes it.
fn fixed_size_list(kind: &ColumnType) -> String {
    let element = ColumnType { dtype: kind.dtype, row: Vec::new() }.field("element", true);
    let element = element.map_or_else(|_| "Float64".to_owned(), |element| element.data_type().to_string());
    kind.row.iter().rev().fold(element, |element, size| {
        format!("FixedSizeList({}, {element})", size.unwrap_or(EXAMPLE_LENGTH))
    })
}

/// Returns the shape of a column for the text language, which names the rows itself.
fn shape_of(kind: &ColumnType, length: usize) -> Vec<usize> {
    std::iter::once(0).chain(kind.row.iter().map(|size| size.unwrap_or(length))).collect()
}

/// Returns the names that arguments stand for.
pub(crate) fn argument_names(
    definition: &Definition,
    fields: &[&str],
    types: &[ColumnType],
) -> Result<Vec<String>> {
    match &definition.source {
        Source::Expression(text) => {
            let program = Program::parse("expression", text).map_err(|mistakes| framed(mistakes.text()))?;
            let mut names = program.missing_inputs();
            // A column with the name of a constant, such as `e`, replaces it.
            names.extend(program.constants().into_iter().filter(|name| fields.contains(name)));
            let order = ordered("the expression", &names, fields);
            if order.is_err() {
                // A mistake in the text may be the reason why names are missing.
                let shape = [0];
                let number = |name| Given {
                    name,
                    dtype: broadloom::DType::F64,
                    shape: &shape,
                    rows: Some(ROWS),
                    names: None,
                };
                let shapes: Vec<Vec<usize>> =
                    types.iter().map(|kind| shape_of(kind, Given::INFERRED)).collect();
                let typed = names.iter().enumerate().map(|(index, name)| match types.get(index) {
                    Some(kind) => Given { dtype: kind.dtype, shape: &shapes[index], ..number(name) },
                    None => number(name),
                });
                let given: Vec<Given<'_>> = typed.collect();
                program.resolve_with(&given).map_err(|mistakes| framed(mistakes.text()))?;
            }
            order
        }
        Source::Program { graph, rows, .. } => {
            let graph = RowGraph::new(graph, rows).map_err(planning)?;
            let bound = |name: &&str| definition.constants.iter().any(|(known, _)| known == name);
            let names: Vec<&str> = graph.columns().into_iter().filter(|name| !bound(name)).collect();
            ordered("the program", &names, fields)
        }
    }
}

/// Returns a type with other elements: that of a number, or of the rows of lists.
fn with_element(data_type: &DataType, element: &DataType) -> DataType {
    match data_type {
        DataType::FixedSizeList(item, size) => {
            let inner = with_element(item.data_type(), element);
            DataType::FixedSizeList(Arc::new(item.as_ref().clone().with_data_type(inner)), *size)
        }
        DataType::List(item) => {
            let inner = with_element(item.data_type(), element);
            DataType::List(Arc::new(item.as_ref().clone().with_data_type(inner)))
        }
        DataType::LargeList(item) => {
            let inner = with_element(item.data_type(), element);
            DataType::LargeList(Arc::new(item.as_ref().clone().with_data_type(inner)))
        }
        _ => element.clone(),
    }
}

/// Makes a planning error of a message in Broadloom's layout.
pub(crate) fn framed(text: Text) -> DataFusionError {
    DataFusionError::Plan(format!("\n{text}"))
}

/// Makes an error of data of a message in Broadloom's layout.
pub(crate) fn framed_error(text: &Text) -> DataFusionError {
    DataFusionError::Execution(text.to_string())
}

/// Makes a planning error of an error about columns.
pub(crate) fn planning(error: ColumnError) -> DataFusionError {
    DataFusionError::Plan(error.to_string())
}
