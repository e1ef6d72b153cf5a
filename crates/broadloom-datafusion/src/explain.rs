//! What a query computes with Broadloom: expressions, and the kernels that were made of them.

use crate::aggregate::TensorAggregate;
use crate::definition::Source;
use crate::meter::Meter;
use crate::plan::{Plan, Use};
use crate::scalar::{Broadloom, TensorFunction};
use arrow_schema::FieldRef;
use broadloom::Explanation;
use broadloom_arrow::ColumnType;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, Result};
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{AggregateUDF, Expr, ExprSchemable, LogicalPlan, ScalarUDF, WindowFunctionDefinition};
use std::fmt::Write;
use std::sync::Arc;

/// The calls of this crate's functions in a query, for `EXPLAIN`.
///
/// ```
/// use broadloom_datafusion::Kernels;
/// use datafusion::prelude::*;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> datafusion::error::Result<()> {
/// let mut context = SessionContext::new();
/// broadloom_datafusion::register(&mut context)?;
/// let query = context.sql("SELECT broadloom('x * x', x) FROM (VALUES (3.0)) AS t(x)").await?;
/// let plan = query.into_optimized_plan()?;
/// let text = Kernels::of(&plan)?.texts(None).concat();
/// assert!(text.contains("x: f64[n]") && text.contains("kernel k0"), "{text}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Kernels(Vec<Call>);

/// A call of a function.
#[derive(Clone)]
struct Call {
    /// The call as a user writes it.
    text: String,
    plan: Arc<Plan>,
    is_aggregate: bool,
    /// Whether an aggregate has many groups.
    is_grouped: bool,
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|call| &call.text)).finish()
    }
}

impl Kernels {
    /// Finds the calls in an optimized plan, each once.
    ///
    /// # Errors
    /// Returns the planning errors of the calls.
    pub fn of(plan: &LogicalPlan) -> Result<Kernels> {
        let mut kernels = Kernels(Vec::new());
        plan.apply_with_subqueries(|node| {
            let schema = match node {
                // Filters of a scan may read columns that it does not pass on.
                LogicalPlan::TableScan(scan) => {
                    DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?
                }
                node => merge_schema(&node.inputs()),
            };
            let is_grouped =
                matches!(node, LogicalPlan::Aggregate(aggregate) if !aggregate.group_expr.is_empty());
            node.apply_expressions(|expr| {
                expr.apply(|expr| {
                    if let Some(call) = Call::of(expr, &schema, is_grouped)? {
                        let is_known = kernels.0.iter().any(|known| Arc::ptr_eq(&known.plan, &call.plan));
                        if !is_known {
                            kernels.0.push(call);
                        }
                    }
                    Ok(TreeNodeRecursion::Continue)
                })
            })
        })?;
        Ok(kernels)
    }

    /// Returns a text for each call: the expression, its shapes, and the kernels, with what they did so far in a query that
    /// was metered.
    pub fn texts(&self, meter: Option<&Meter>) -> Vec<String> {
        self.0.iter().map(|call| call.explained(meter)).collect()
    }
}

impl Call {
    /// Returns a call of this crate's functions.
    fn of(expr: &Expr, schema: &DFSchema, is_grouped: bool) -> Result<Option<Call>> {
        let fields = |columns: &[Expr]| -> Result<Vec<FieldRef>> {
            columns.iter().map(|column| Ok(column.to_field(schema)?.1)).collect()
        };
        let of_scalar = |func: &ScalarUDF, args: &[Expr]| -> Result<Option<Call>> {
            let (definition, columns) = if let Some(function) = func.inner().downcast_ref::<TensorFunction>()
            {
                (function.definition().clone(), args)
            } else if let Some(function) = func.inner().downcast_ref::<Broadloom>()
                && let Some((Expr::Literal(literal, _), columns)) = args.split_first()
            {
                (function.definition(Some(literal))?, columns)
            } else {
                return Ok(None);
            };
            let plan = Plan::of(&definition, &fields(columns)?, Use::Scalar)?;
            let text = called(&plan, func.name(), columns);
            Ok(Some(Call { text, plan, is_aggregate: false, is_grouped: false }))
        };
        let of_aggregate = |func: &AggregateUDF, args: &[Expr], is_grouped: bool| -> Result<Option<Call>> {
            let Some(aggregate) = func.inner().downcast_ref::<TensorAggregate>() else { return Ok(None) };
            let plan = aggregate.plan(&fields(args)?)?;
            let text = called(&plan, func.name(), args);
            Ok(Some(Call { text, plan, is_aggregate: true, is_grouped }))
        };
        match expr {
            Expr::ScalarFunction(call) => of_scalar(&call.func, &call.args),
            Expr::AggregateFunction(call) => of_aggregate(&call.func, &call.params.args, is_grouped),
            Expr::WindowFunction(call) => match &call.fun {
                WindowFunctionDefinition::AggregateUDF(func) => of_aggregate(func, &call.params.args, false),
                WindowFunctionDefinition::WindowUDF(_) => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn explained(&self, meter: Option<&Meter>) -> String {
        let mut text = format!("{}\n", self.text);
        // A `String` takes everything that is written to it.
        let _ = self.write(&mut text, meter);
        text.truncate(text.trim_end().len());
        text
    }

    fn write(&self, text: &mut String, meter: Option<&Meter>) -> std::fmt::Result {
        let plan = &self.plan;
        let typed = |columns: &[(String, ColumnType)]| -> String {
            let typed = columns.iter().map(|(name, kind)| format!("{name}: {}", shape(kind, true)));
            typed.collect::<Vec<String>>().join(", ")
        };
        writeln!(text, "inputs: {}", typed(&plan.arguments))?;
        for (name, array) in plan.constants() {
            writeln!(text, "array of the function: {name}: {}{:?}", array.dtype(), array.shape())?;
        }
        let results = plan.outputs.iter().map(|(name, kind)| match plan.outputs.len() {
            1 => shape(kind, !self.is_aggregate),
            _ => format!("{name}: {}", shape(kind, !self.is_aggregate)),
        });
        writeln!(text, "result: {}", results.collect::<Vec<String>>().join(", "))?;
        if let Some((read, written)) = self.bytes() {
            match self.is_aggregate {
                true => writeln!(text, "reads {read} bytes for each row")?,
                false => writeln!(text, "reads {read} and writes {written} bytes for each row")?,
            }
        }
        if let Some(meter) = meter {
            let counts = meter.counts(plan);
            let batches = if counts.batches == 1 { "batch" } else { "batches" };
            writeln!(
                text,
                "computed {} rows in {} {batches}, in {:.3} ms of all threads",
                counts.rows,
                counts.batches,
                counts.time.as_secs_f64() * 1e3
            )?;
        }
        if self.is_aggregate && !plan.is_fixed() && !self.is_by_totals() {
            return writeln!(
                text,
                "the kernels are made for the length of the lists, when the first rows are there"
            );
        }
        let explanations = match self.explanations() {
            Ok(explanations) => explanations,
            Err(error) => return writeln!(text, "{}", error.strip_backtrace()),
        };
        for (what, explanation) in explanations {
            if !what.is_empty() {
                writeln!(text, "\n{what}:")?;
            }
            writeln!(text, "{explanation}")?;
        }
        Ok(())
    }

    /// Returns the bytes of a row of the columns and of the results, if their shapes are fixed.
    fn bytes(&self) -> Option<(usize, usize)> {
        let of_row = |columns: &[(String, ColumnType)]| {
            columns.iter().try_fold(0usize, |bytes, (_, kind)| {
                Some(bytes.saturating_add(kind.elements()?.saturating_mul(kind.dtype.size())))
            })
        };
        Some((of_row(&self.plan.arguments)?, of_row(&self.plan.outputs)?))
    }

    /// Returns whether an aggregate adds up totals of numbers for many groups at once.
    fn is_by_totals(&self) -> bool {
        self.is_grouped && self.plan.grouping().is_ok_and(|grouping| grouping.is_some())
    }

    /// Returns the kernels, each with what it does; nothing where there is only one.
    fn explanations(&self) -> Result<Vec<(&'static str, Explanation)>> {
        if !self.is_aggregate {
            return Ok(vec![("", self.plan.kernel()?.executable().explain())]);
        }
        if self.is_by_totals()
            && let Some(grouping) = self.plan.grouping()?
        {
            return Ok(grouping.explain());
        }
        Ok(self.plan.aggregate()?.explain())
    }
}

/// Returns a type as the text language writes it: that of a column, or of one value.
fn shape(kind: &ColumnType, has_rows: bool) -> String {
    let sizes = kind.row.iter().map(|size| size.map_or_else(|| "_".to_owned(), |size| size.to_string()));
    let sizes: Vec<String> = has_rows.then(|| "n".to_owned()).into_iter().chain(sizes).collect();
    match sizes.is_empty() {
        true => kind.dtype.to_string(),
        false => format!("{}[{}]", kind.dtype, sizes.join(", ")),
    }
}

/// Returns a call as a user writes it, with the program of a function below.
fn called(plan: &Plan, name: &str, columns: &[Expr]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| column.human_display().to_string()).collect();
    let columns = columns.join(", ");
    match plan.source() {
        Source::Expression(text) => format!("{name}('{}', {columns})", text.replace('\'', "''")),
        Source::Program { text, .. } => format!("{name}({columns})\n{}", text.trim_end()),
    }
}
