//! `EXPLAIN` and `EXPLAIN ANALYZE`: what an engine says of a plan, and then the kernels of Broadloom's functions.
//!
//! ```text
//! EXPLAIN ──▶ plan of the engine, or of the cluster ──▶ its rows, and a row for each expression
//! ```

use crate::stop::STOPPABLE;
use broadloom_datafusion::{Kernels, Meter};
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err};
use datafusion::execution::TaskContext;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::{ExplainFormat, LogicalPlan};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use futures::{StreamExt, stream};
use std::fmt;
use std::sync::Arc;

/// What the rows of kernels have as their type of plan.
const KERNEL: &str = "broadloom kernel";

/// Plans queries as the planner of an engine does, and adds the kernels to explanations.
#[derive(Debug)]
pub(crate) struct Planner(pub(crate) Arc<dyn QueryPlanner + Send + Sync>);

#[async_trait::async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (kernels, meter) = match plan {
            // Programs read the other formats.
            LogicalPlan::Explain(explain)
                if matches!(explain.explain_format, ExplainFormat::Indent | ExplainFormat::Tree) =>
            {
                (Kernels::of(&explain.plan)?, None)
            }
            LogicalPlan::Analyze(analyze) => (Kernels::of(&analyze.input)?, Some(Meter::default())),
            // A scheduler does not know the tables of its clients.
            plan if describes(plan)? => {
                return DefaultPhysicalPlanner::default().create_physical_plan(plan, session).await;
            }
            plan => return self.0.create_physical_plan(plan, session).await,
        };
        let engine = self.0.create_physical_plan(plan, session).await?;
        Ok(Arc::new(Explained { engine, kernels, meter }))
    }
}

/// Returns whether a plan describes a table.
fn describes(plan: &LogicalPlan) -> Result<bool> {
    let mut describes = false;
    plan.apply_with_subqueries(|node| {
        describes |= matches!(node, LogicalPlan::DescribeTable(_));
        Ok(if describes { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(describes)
}

/// Passes on what an engine says of a plan, and then what the kernels are.
#[derive(Debug)]
pub(crate) struct Explained {
    engine: Arc<dyn ExecutionPlan>,
    kernels: Kernels,
    /// Counts what the kernels do, if the plan runs.
    meter: Option<Meter>,
}

impl Explained {
    /// Returns what counts the kernels of a plan, if its rows are asked for.
    pub(crate) fn meter(plan: &dyn ExecutionPlan) -> Option<Meter> {
        plan.downcast_ref::<Explained>()?.meter.clone()
    }

    /// Returns the rows for the kernels, after those of the engine. On a cluster, executors run them and count nothing here.
    fn rows(kernels: &Kernels, meter: Option<&Meter>, engine: &RecordBatch) -> Result<RecordBatch> {
        let meter = meter.filter(|meter| meter.has_run());
        let texts = kernels.texts(meter);
        let types: ArrayRef = Arc::new(StringArray::from(vec![KERNEL; texts.len()]));
        Ok(RecordBatch::try_new(engine.schema(), vec![types, Arc::new(StringArray::from(texts))])?)
    }
}

impl DisplayAs for Explained {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ExecutionPlan for Explained {
    fn name(&self) -> &str {
        "Explained"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.engine.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.engine]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(engine), true) => {
                let (kernels, meter) = (self.kernels.clone(), self.meter.clone());
                Ok(Arc::new(Explained { engine, kernels, meter }))
            }
            _ => exec_err!("{} has one input", self.name()),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let said = self.engine.execute(partition, context)?;
        let (kernels, meter) = (self.kernels.clone(), self.meter.clone());
        let empty = RecordBatch::new_empty(schema.clone());
        // They are asked for when the plan has run.
        let rows = stream::once(async move { Explained::rows(&kernels, meter.as_ref(), &empty) });
        let rows = said.map(|batch| without_stoppable(&batch?)).chain(rows);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// Leaves out the operators that end plans: they belong to this program, and do nothing to rows.
fn without_stoppable(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|column| match column.data_type() {
        DataType::Utf8 => {
            let texts =
                column.as_string::<i32>().iter().map(|text| text.map(|text| without(text, STOPPABLE)));
            Arc::new(texts.collect::<StringArray>()) as ArrayRef
        }
        _ => column.clone(),
    });
    Ok(RecordBatch::try_new(batch.schema(), columns.collect())?)
}

/// Returns a tree of operators, a line for each, without those of a name; what is below them moves up.
fn without(tree: &str, name: &str) -> String {
    let mut hidden: Vec<usize> = Vec::new();
    let mut lines = Vec::new();
    for line in tree.lines() {
        let depth = line.len() - line.trim_start().len();
        hidden.retain(|above| *above < depth);
        if line.trim_start().starts_with(name) {
            hidden.push(depth);
        } else {
            lines.push(line.get(2 * hidden.len()..).unwrap_or(line));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_of_a_name_are_left_out() {
        let tree = "A\n  S, metrics=[]\n    B: S\n      S\n        C\n    D\n  E";
        assert_eq!(without(tree, "S"), "A\n  B: S\n    C\n  D\n  E");
        assert_eq!(without("S\n  A\n    B", "S"), "A\n  B");
        assert_eq!(without("", "S"), "");
    }
}
