//! Plans that stop in the middle.
//!
//! An operator that takes all rows before it gives one, such as an aggregate, does so in one poll: until it has ended, the
//! task is neither aborted nor does its thread do anything else. An executor of Ballista lets the partitions of an aborted
//! task even run to their end, because they are tasks of their own, which nobody aborts (`drive_shuffle_writer_stage` of
//! ballista-executor 55.0, and `ShuffleWriterExec::execute` of ballista-core 55.0).
//!
//! So [`stoppable`] puts a node above each operator that reads rows or calls functions. It gives other tasks a turn after
//! each batch, and ends with an error once the plan was told to stop.

use ballista_core::JobId;
use ballista_core::serde::protobuf::{
    RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport,
};
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use datafusion::prelude::SessionConfig;
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells a plan to stop.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn check(&self) -> Result<()> {
        match self.0.load(Ordering::Relaxed) {
            true => exec_err!("the query was cancelled"),
            false => Ok(()),
        }
    }
}

/// Returns a plan that gives other tasks a turn after each batch, and ends when it is told to.
pub(crate) fn stoppable(plan: Arc<dyn ExecutionPlan>, stop: &Stop) -> Result<Arc<dyn ExecutionPlan>> {
    let stops = plan.transform_up(|plan| {
        if !(plan.children().is_empty() || plan.is::<ProjectionExec>() || plan.is::<FilterExec>()) {
            return Ok(Transformed::no(plan));
        }
        Ok(Transformed::yes(Arc::new(Stoppable { input: plan, stop: stop.clone() })))
    });
    Ok(stops?.data)
}

/// Passes batches through until it is told to stop.
#[derive(Debug)]
struct Stoppable {
    input: Arc<dyn ExecutionPlan>,
    stop: Stop,
}

impl DisplayAs for Stoppable {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// It has no metrics of its own, because the scheduler knows only those of the nodes that it planned.
impl ExecutionPlan for Stoppable {
    fn name(&self) -> &str {
        "Stoppable"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
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
            (Some(input), true) => Ok(Arc::new(Stoppable { input, stop: self.stop.clone() })),
            _ => exec_err!("{} has one input", self.name()),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let stop = self.stop.clone();
        let batches = input.then(move |batch| {
            let stop = stop.clone();
            async move {
                tokio::task::yield_now().await;
                stop.check()?;
                batch
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}

/// Runs tasks as Ballista does, but those that are aborted stop. Each read from another executor is a connection of its own:
/// Ballista's pool of connections is private.
#[derive(Default)]
pub(crate) struct Engine(DefaultExecutionEngine);

impl ExecutionEngine for Engine {
    fn create_query_stage_exec(
        &self,
        job: JobId,
        stage: usize,
        task: usize,
        partitions: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        directory: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let stop = Stop::default();
        let plan = stoppable(plan, &stop)?;
        let stage = self.0.create_query_stage_exec(job, stage, task, partitions, plan, directory, config)?;
        Ok(Arc::new(Stage { stage, stop }))
    }
}

/// A task on an executor.
#[derive(Debug)]
struct Stage {
    stage: Arc<dyn QueryStageExecutor>,
    stop: Stop,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stage.fmt(f)
    }
}

/// Tells a plan to stop when the task that runs it is dropped.
struct Running<'a>(&'a Stop);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.now();
    }
}

#[async_trait::async_trait]
impl QueryStageExecutor for Stage {
    async fn execute_query_stage(
        &self,
        task: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        let _running = Running(&self.stop);
        self.stage.execute_query_stage(task, context).await
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        self.stage.collect_plan_metrics()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.stage.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.stage.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.stage.collect_column_stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::physical_plan::displayable;
    use datafusion::prelude::SessionContext;

    #[tokio::test(flavor = "current_thread")]
    async fn a_plan_takes_turns_and_stops_between_batches() {
        let sql = "SELECT count(*) AS c FROM generate_series(1, 1000000) AS t(x) WHERE x % 3 = 0";
        let context = SessionContext::new();
        let table = context.sql(sql).await.unwrap();
        let task = Arc::new(table.task_ctx());
        let plan = table.create_physical_plan().await.unwrap();
        let stop = Stop::default();
        let plan = stoppable(plan, &stop).unwrap();
        let drawn = displayable(plan.as_ref()).indent(false).to_string();
        // One above each operator that calls functions, and one above the leaf, which reads rows.
        let calls = drawn.matches("ProjectionExec").count() + drawn.matches("FilterExec").count();
        assert_eq!(drawn.matches("Stoppable").count(), calls + 1, "{drawn}");
        // One thread: this task has a turn only because the plan gives way.
        let mut result = datafusion::physical_plan::execute_stream(plan.clone(), task.clone()).unwrap();
        tokio::select! {
            biased;
            _ = result.next() => panic!("a plan of many batches ended in one turn"),
            () = tokio::task::yield_now() => stop.now(),
        }
        let error = result.next().await.unwrap().unwrap_err();
        assert!(error.to_string().contains("the query was cancelled"), "{error}");
    }
}
