//! Aggregates: a value for each group of rows.

use crate::definition::{Argument, Definition};
use crate::groups::Groups;
use crate::plan::{Plan, Use, argument_names, planning};
use crate::rows::Rows;
use crate::scalar::expression_of;
use crate::window::{self, Frame};
use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, FieldRef};
use broadloom::{AnyArray, CheckedGraph};
use broadloom_arrow::RowGraph;
use datafusion_common::{Result, ScalarValue, exec_err, plan_err};
use datafusion_expr::expr::{AggregateFunction, AggregateFunctionParams, WindowFunctionParams};
use datafusion_expr::function::{AccumulatorArgs, AggregateFunctionSimplification, StateFieldsArgs};
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawAggregateExpr, RawWindowExpr};
use datafusion_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, GroupsAccumulator, Signature, Volatility, lit,
    udaf_default_display_name, udaf_default_human_display, udaf_default_schema_name,
    udaf_default_window_function_display_name, udaf_default_window_function_schema_name,
};
use std::sync::Arc;

/// The name of the aggregate whose first argument is an expression.
pub(crate) const BROADLOOM_AGG: &str = "broadloom_agg";

/// An expression or a program as an aggregate: `broadloom_agg('mean(x) / std(x)', x)`.
///
/// Its states are the partial results that running in chunks keeps, so partitions merge. Totals of numbers over many groups
/// take one run of a kernel for each batch, and some registers for each group ([`Grouping`](broadloom_arrow::Grouping)). Rows with a null in any
/// column are left out, and without rows the result is null. The order of sums depends on the partitions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TensorAggregate {
    name: String,
    definition: Definition,
    /// Whether the definition is an expression that calls show.
    is_expression: bool,
    signature: Signature,
}

impl TensorAggregate {
    /// Takes an expression, whose names are the columns as in [`Broadloom`](crate::Broadloom).
    pub fn expression(text: &str) -> TensorAggregate {
        TensorAggregate::of(BROADLOOM_AGG, Definition::expression(text), true)
    }

    /// Takes a program whose rows have the size `n`.
    ///
    /// # Errors
    /// Returns the errors of [`TensorAggregate::over`].
    pub fn new(name: &str, program: &CheckedGraph) -> Result<TensorAggregate> {
        TensorAggregate::over(name, program, "n")
    }

    /// Takes a program and the name of the size of its rows: inputs with this leading axis are the arguments, in the
    /// order of declaration. All other inputs need [constants](TensorAggregate::with_constant).
    ///
    /// # Errors
    /// Returns an error if no input has such an axis.
    pub fn over(name: &str, program: &CheckedGraph, rows: &str) -> Result<TensorAggregate> {
        RowGraph::new(program, rows).map_err(planning)?;
        Ok(TensorAggregate::of(name, Definition::program(program, rows), false))
    }

    fn of(name: &str, definition: Definition, is_expression: bool) -> TensorAggregate {
        let signature = Signature::user_defined(Volatility::Immutable);
        TensorAggregate { name: name.to_owned(), definition, is_expression, signature }
    }

    /// Binds an array to an input of a program.
    ///
    /// # Errors
    /// Returns an error if there is no such input, or if it has another dtype or number of axes.
    pub fn with_constant(self, input: &str, array: impl Into<AnyArray>) -> Result<TensorAggregate> {
        let definition = self.definition.with_constant(input, array.into())?;
        Ok(TensorAggregate { definition, ..self })
    }

    /// Returns a call of the aggregate, for the DataFrame API.
    ///
    /// ```
    /// use broadloom_datafusion::TensorAggregate;
    /// use datafusion_expr::col;
    /// let ratio = TensorAggregate::expression("mean(x) / std(x)").call(vec![col("x")]);
    /// assert_eq!(ratio.to_string(), "broadloom_agg(Utf8(\"mean(x) / std(x)\"), x)");
    /// ```
    pub fn call(&self, arguments: Vec<Expr>) -> Expr {
        AggregateUDF::from(self.clone()).call(arguments)
    }

    /// Returns the aggregate as bytes, for [`TensorAggregate::from_bytes`] in another process.
    pub fn as_bytes(&self) -> &[u8] {
        self.definition.as_bytes()
    }

    /// Reads an aggregate from another process.
    ///
    /// # Errors
    /// Returns an error if the bytes are damaged or were written by another version.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<TensorAggregate> {
        let definition = Definition::read(bytes)?;
        Ok(TensorAggregate::of(name, definition, name == BROADLOOM_AGG))
    }

    /// Returns the aggregate of the expression that a call of `broadloom_agg` has as its first argument.
    pub(crate) fn called(expression: Option<&Expr>) -> Result<TensorAggregate> {
        let literal = match expression {
            Some(Expr::Literal(literal, _)) => Some(literal),
            _ => None,
        };
        Ok(TensorAggregate::expression(expression_of(BROADLOOM_AGG, literal)?))
    }

    /// Decides which name each column stands for, if that is open.
    pub(crate) fn with_columns(self, columns: &[Expr]) -> Result<TensorAggregate> {
        if self.definition.arguments.is_some() {
            return Ok(self);
        }
        let names: Vec<String> = columns.iter().map(|column| column.qualified_name().1).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let arguments = argument_names(&self.definition, &names, &[])?.into_iter();
        let arguments = arguments.map(|name| Argument { name, row: Vec::new() });
        Ok(TensorAggregate { definition: self.definition.with_arguments(arguments.collect()), ..self })
    }

    /// Returns the parameters of a call as a user writes them.
    fn written(&self, params: &AggregateFunctionParams) -> AggregateFunctionParams {
        let mut params = params.clone();
        if self.is_expression {
            params.args.insert(0, lit(self.definition.text()));
        }
        params
    }

    /// Returns the parameters of a call over a window as a user writes them.
    fn written_over(&self, params: &WindowFunctionParams) -> WindowFunctionParams {
        let mut params = params.clone();
        if self.is_expression {
            params.args.insert(0, lit(self.definition.text()));
        }
        params
    }

    pub(crate) fn plan(&self, fields: &[FieldRef]) -> Result<Arc<Plan>> {
        Plan::of(&self.definition, fields, Use::Aggregate)
    }
}

impl AggregateUDFImpl for TensorAggregate {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        udaf_default_schema_name(self, &self.written(params))
    }

    fn human_display(&self, params: &AggregateFunctionParams) -> Result<String> {
        udaf_default_human_display(self, &self.written(params))
    }

    fn display_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        udaf_default_display_name(self, &self.written(params))
    }

    fn window_function_schema_name(&self, params: &WindowFunctionParams) -> Result<String> {
        udaf_default_window_function_schema_name(self, &self.written_over(params))
    }

    fn window_function_display_name(&self, params: &WindowFunctionParams) -> Result<String> {
        udaf_default_window_function_display_name(self, &self.written_over(params))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!("the type of `{}` depends on its columns", self.name)
    }

    fn return_field(&self, fields: &[FieldRef]) -> Result<FieldRef> {
        Ok(Arc::new(self.plan(fields)?.field(&self.name)?))
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(self.definition.typed(types))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn simplify(&self) -> Option<AggregateFunctionSimplification> {
        if self.definition.arguments.is_some() {
            return None;
        }
        let this = self.clone();
        Some(Box::new(move |mut call, info| {
            let arguments = crate::scalar::decided(&this.definition, &call.params.args, info)?;
            let definition = this.definition.with_arguments(arguments);
            call.func = Arc::new(AggregateUDF::from(TensorAggregate { definition, ..this.clone() }));
            Ok(Expr::AggregateFunction(call))
        }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = format_state_name(args.name, "state");
        Ok(vec![Arc::new(Field::new(name, DataType::LargeBinary, true))])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        let grouping = |plan: Arc<Plan>| Ok(plan.grouping()?.is_some());
        // Errors come from the accumulator of each group.
        !args.is_distinct && self.plan(args.expr_fields).and_then(grouping).unwrap_or(false)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        let plan = self.plan(args.expr_fields)?;
        Ok(Box::new(Groups::new(plan, args.return_field.data_type())?))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.refuse_distinct(args.is_distinct)?;
        let plan = self.plan(args.expr_fields)?;
        Ok(Box::new(Group { rows: Rows::new(plan), result: args.return_field.data_type().clone() }))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.refuse_distinct(args.is_distinct)?;
        let plan = self.plan(args.expr_fields)?;
        Ok(Box::new(Frame::new(plan, args.return_field.data_type())))
    }
}

impl TensorAggregate {
    pub(crate) fn refuse_distinct(&self, is_distinct: bool) -> Result<()> {
        match is_distinct {
            true => {
                plan_err!("`{}` does not take DISTINCT: select the distinct rows in a subquery", self.name)
            }
            false => Ok(()),
        }
    }
}

/// A group of rows.
#[derive(Debug)]
struct Group {
    rows: Rows,
    /// The type of the result.
    result: DataType,
}

impl Accumulator for Group {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.rows.update(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.rows.evaluated(&self.result)
    }

    fn size(&self) -> usize {
        size_of::<DataType>() + self.rows.bytes()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::LargeBinary(Some(self.rows.written()?))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(states) = states.first().and_then(|states| states.as_binary_opt::<i64>()) else {
            return exec_err!("the states of an aggregate are not bytes");
        };
        states.iter().flatten().try_for_each(|bytes| self.rows.merge(bytes))
    }
}

/// `broadloom_agg` as SQL finds it by name. The planner replaces each call by the aggregate of its expression.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct BroadloomAgg {
    signature: Signature,
}

impl Default for BroadloomAgg {
    fn default() -> Self {
        BroadloomAgg { signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for BroadloomAgg {
    fn name(&self) -> &str {
        BROADLOOM_AGG
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!(
            "`{BROADLOOM_AGG}` is planned from SQL after `broadloom_datafusion::register`; in Rust, write \
             `TensorAggregate::expression(..).call(..)`"
        )
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        exec_err!("`{BROADLOOM_AGG}` was not planned: call `broadloom_datafusion::register`")
    }
}

/// Replaces calls of `broadloom_agg` in SQL by the aggregate of their expression, also over windows.
#[derive(Debug)]
pub(crate) struct Planner;

impl ExprPlanner for Planner {
    fn plan_aggregate(&self, call: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        if call.func.name() != BROADLOOM_AGG || call.func.inner().is::<TensorAggregate>() {
            return Ok(PlannerResult::Original(call));
        }
        let aggregate = TensorAggregate::called(call.args.first())?;
        aggregate.refuse_distinct(call.distinct)?;
        if !call.order_by.is_empty() {
            return plan_err!(
                "`{BROADLOOM_AGG}` does not take ORDER BY: the order of rows changes no result"
            );
        }
        let RawAggregateExpr { args, filter, null_treatment, .. } = call;
        let args = args.into_iter().skip(1).collect();
        let func = Arc::new(AggregateUDF::from(aggregate));
        let call = AggregateFunction::new_udf(func, args, false, filter, Vec::new(), null_treatment);
        Ok(PlannerResult::Planned(Expr::AggregateFunction(call)))
    }

    fn plan_window(&self, call: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        window::planned(call)
    }
}
