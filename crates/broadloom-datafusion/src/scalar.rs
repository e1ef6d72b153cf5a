//! Scalar functions: a value for each row.

use crate::definition::{Argument, Definition, NULL_IN_EXPRESSIONS, typed};
use crate::meter::metered;
use crate::plan::{Plan, Use, argument_names, planning};
use arrow_array::{ArrayRef, StructArray};
use arrow_schema::{DataType, Field, FieldRef};
use broadloom::{AnyArray, CheckedGraph};
use broadloom_arrow::{Column, ColumnType, RowGraph};
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility, lit,
};
use std::sync::Arc;

/// The name of the function whose first argument is an expression.
pub(crate) const BROADLOOM: &str = "broadloom";

/// The SQL function `broadloom('sqrt(x*x + y*y)', x, y)`: an expression, and the columns that it computes with.
///
/// The expression is checked when the query is planned. Each column stands for its own name if the columns have exactly
/// the names in the expression; otherwise they stand for the names in the order of their first use.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Broadloom {
    signature: Signature,
    /// What the columns are. It is decided early, because the planner may rename columns later.
    arguments: Option<Vec<Argument>>,
}

impl Default for Broadloom {
    fn default() -> Self {
        Broadloom { signature: Signature::user_defined(Volatility::Immutable), arguments: None }
    }
}

impl Broadloom {
    pub(crate) fn definition(&self, literal: Option<&ScalarValue>) -> Result<Definition> {
        let definition = Definition::expression(expression_of(BROADLOOM, literal)?);
        Ok(match &self.arguments {
            Some(arguments) => definition.with_arguments(arguments.clone()),
            None => definition,
        })
    }

    /// Returns what the columns are, once the planner has decided it.
    pub fn arguments(&self) -> Option<&[Argument]> {
        self.arguments.as_deref()
    }

    /// Returns the function with decided arguments.
    #[must_use]
    pub fn with_arguments(arguments: Vec<Argument>) -> Broadloom {
        Broadloom { arguments: Some(arguments), ..Broadloom::default() }
    }
}

/// Returns the text of the first argument.
pub(crate) fn expression_of<'a>(function: &str, literal: Option<&'a ScalarValue>) -> Result<&'a str> {
    match literal.and_then(|literal| literal.try_as_str()) {
        Some(Some(text)) => Ok(text),
        _ => plan_err!(
            "the first argument of `{function}` is an expression in quotes: {function}('sqrt(x)', x)"
        ),
    }
}

impl ScalarUDFImpl for Broadloom {
    fn name(&self) -> &str {
        BROADLOOM
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!("the type of `{BROADLOOM}` depends on its expression")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let definition = self.definition(args.scalar_arguments.first().copied().flatten())?;
        let plan = Plan::of(&definition, &args.arg_fields[1..], Use::Scalar)?;
        Ok(Arc::new(plan.field(BROADLOOM)?))
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let Some((expression, columns)) = types.split_first() else {
            return plan_err!("`{BROADLOOM}` takes an expression and its columns: {BROADLOOM}('sqrt(x)', x)");
        };
        let columns = columns.iter().map(|column| typed(column, NULL_IN_EXPRESSIONS));
        Ok(std::iter::once(expression.clone()).chain(columns).collect())
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let (None, [Expr::Literal(expression, _), columns @ ..]) = (&self.arguments, args.as_slice()) else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        let definition = self.definition(Some(expression))?;
        let arguments = decided(&definition, columns, info)?;
        let func = Arc::new(ScalarUDF::from(Broadloom::with_arguments(arguments)));
        Ok(ExprSimplifyResult::Simplified(Expr::ScalarFunction(ScalarFunction { func, args })))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let literal = match args.args.first() {
            Some(ColumnarValue::Scalar(literal)) => Some(literal),
            _ => None,
        };
        invoke(&self.definition(literal)?, &args, 1)
    }
}

/// Returns what the arguments of a call are, from their names and types in a plan.
pub(crate) fn decided(
    definition: &Definition,
    columns: &[Expr],
    info: &SimplifyContext,
) -> Result<Vec<Argument>> {
    let fields = columns.iter().map(|column| Ok(column.to_field(info.schema().as_ref())?.1));
    let fields: Vec<FieldRef> = fields.collect::<Result<_>>()?;
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    let types = fields.iter().map(|field| ColumnType::of(field).map_err(planning));
    let types = types.collect::<Result<Vec<_>>>()?;
    let names = argument_names(definition, &names, &types)?.into_iter();
    // The type of a column says where its lists have no fixed size.
    let argument =
        |(name, kind): (String, ColumnType)| Argument { name, row: kind.sizes().unwrap_or_default() };
    Ok(names.zip(types).map(argument).collect())
}

/// Computes a batch, on the calling thread. The first `skip` arguments are not columns.
fn invoke(definition: &Definition, args: &ScalarFunctionArgs, skip: usize) -> Result<ColumnarValue> {
    let (values, fields) = (&args.args[skip..], &args.arg_fields[skip..]);
    let plan = Plan::of(definition, fields, Use::Scalar)?;
    let is_constant = values.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
    let rows = if is_constant { 1 } else { args.number_rows };
    let mut columns = Vec::with_capacity(values.len());
    for (index, value) in values.iter().enumerate() {
        columns.push(match value {
            ColumnarValue::Array(array) => plan.column(index, array, Column::new)?,
            ColumnarValue::Scalar(value) => {
                let repeated = |field: &Field, row: &ArrayRef| Column::repeated(field, row, rows);
                plan.column(index, &value.to_array()?, repeated)?
            }
        });
    }
    let kernel = plan.kernel()?;
    let results = metered(&plan, rows, || kernel.run(&columns, plan.constants(), rows));
    let results = results.map_err(|error| plan.failed(error))?;
    let array = joined(args.return_field.data_type(), results)?;
    match is_constant {
        true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?)),
        false => Ok(ColumnarValue::Array(array)),
    }
}

/// Returns the only result, or a struct of all.
pub(crate) fn joined(data_type: &DataType, mut results: Vec<ArrayRef>) -> Result<ArrayRef> {
    match (data_type, results.len()) {
        (DataType::Struct(fields), _) => Ok(Arc::new(StructArray::try_new(fields.clone(), results, None)?)),
        (_, 1) => Ok(results.swap_remove(0)),
        (_, count) => plan_err!("{count} results do not have the type {data_type}"),
    }
}

/// A program as a scalar function, with arrays bound to the inputs that are not columns.
///
/// ```
/// use broadloom::Array;
/// use broadloom_datafusion::TensorFunction;
/// use broadloom_text::Program;
/// use datafusion_expr::col;
/// let program = "
///     input obs: f32[n, 2]
///     input codes: f32[k, 2]
///     argmin(sum((obs[:, None] - codes) ** 2, axis=-1), axis=1)";
/// let program = Program::parse("nearest", program)?.resolve()?;
/// let codes = Array::new(vec![0.0f32, 0.0, 5.0, 5.0], &[2, 2])?;
/// let nearest = TensorFunction::new("nearest", &program)?.with_constant("codes", codes)?;
/// assert_eq!(nearest.call(vec![col("embedding")]).to_string(), "nearest(embedding)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorFunction {
    name: String,
    definition: Definition,
    signature: Signature,
}

impl TensorFunction {
    /// Takes a program whose rows have the size `n`.
    ///
    /// # Errors
    /// Returns the errors of [`TensorFunction::over`].
    pub fn new(name: &str, program: &CheckedGraph) -> Result<TensorFunction> {
        TensorFunction::over(name, program, "n")
    }

    /// Takes a program and the name of the size of its rows: inputs with this leading axis are the arguments, in the
    /// order of declaration. All other inputs need [constants](TensorFunction::with_constant).
    ///
    /// # Errors
    /// Returns an error if no input has such an axis.
    pub fn over(name: &str, program: &CheckedGraph, rows: &str) -> Result<TensorFunction> {
        RowGraph::new(program, rows).map_err(planning)?;
        Ok(TensorFunction::of(name, Definition::program(program, rows)))
    }

    pub(crate) fn of(name: &str, definition: Definition) -> TensorFunction {
        let signature = Signature::user_defined(Volatility::Immutable);
        TensorFunction { name: name.to_owned(), definition, signature }
    }

    /// Binds an array to an input.
    ///
    /// # Errors
    /// Returns an error if there is no such input, or if it has another dtype or number of axes.
    pub fn with_constant(self, input: &str, array: impl Into<AnyArray>) -> Result<TensorFunction> {
        let definition = self.definition.with_constant(input, array.into())?;
        Ok(TensorFunction { definition, ..self })
    }

    pub(crate) fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Returns a call of the function, for the DataFrame API.
    pub fn call(&self, arguments: Vec<Expr>) -> Expr {
        ScalarUDF::from(self.clone()).call(arguments)
    }

    /// Returns the function as bytes, for [`TensorFunction::from_bytes`] in another process.
    pub fn as_bytes(&self) -> &[u8] {
        self.definition.as_bytes()
    }

    /// Reads a function from another process.
    ///
    /// # Errors
    /// Returns an error if the bytes are damaged or were written by another version.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<TensorFunction> {
        Ok(TensorFunction::of(name, Definition::read(bytes)?))
    }
}

/// Returns a call of an expression on columns, for the DataFrame API: `broadloom(text, ..)` without registering it.
///
/// ```
/// use datafusion_expr::col;
/// let length = broadloom_datafusion::broadloom("sqrt(x*x + y*y)", vec![col("x"), col("y")]);
/// assert_eq!(length.to_string(), "broadloom(Utf8(\"sqrt(x*x + y*y)\"), x, y)");
/// ```
pub fn broadloom(text: &str, columns: Vec<Expr>) -> Expr {
    let arguments = std::iter::once(lit(text)).chain(columns).collect();
    ScalarUDF::from(Broadloom::default()).call(arguments)
}

impl ScalarUDFImpl for TensorFunction {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!("the type of `{}` depends on its arguments", self.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let plan = Plan::of(&self.definition, args.arg_fields, Use::Scalar)?;
        Ok(Arc::new(plan.field(&self.name)?))
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(self.definition.typed(types))
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        if self.definition.arguments.is_some() {
            return Ok(ExprSimplifyResult::Original(args));
        }
        let arguments = decided(&self.definition, &args, info)?;
        let definition = self.definition.with_arguments(arguments);
        let func = Arc::new(ScalarUDF::from(TensorFunction { definition, ..self.clone() }));
        Ok(ExprSimplifyResult::Simplified(Expr::ScalarFunction(ScalarFunction { func, args })))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        invoke(&self.definition, &args, 0)
    }
}
