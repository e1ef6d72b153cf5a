//! Plans that stop in the middle, and that ask for no more than they may.
//!
//! An operator that takes all rows before it gives one, such as an aggregate, does so in one poll: until it has ended, the
//! task is neither aborted nor does its thread do anything else. An executor of Ballista lets the partitions of an aborted
//! task even run to their end, because they are tasks of their own, which nobody aborts (`drive_shuffle_writer_stage` of
//! ballista-executor 55.0, and `ShuffleWriterExec::execute` of ballista-core 55.0).
//!
//! So [`stoppable`] puts a node above each operator that reads rows or evaluates expressions. It gives other tasks a turn
//! after each batch, bounds the kernels that the operator runs, and ends with an error once the plan was told to stop.

use broadloom::{RunOptions, StopFlag};
use broadloom_datafusion::{Bounds, Meter};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_err};
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{Stream, StreamExt};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// The part of the memory of a task that the kernels of one operator may ask for in one batch: the operators around it
/// hold batches too.
const SHARE_OF_BATCH: usize = 4;

/// The name of the node above operators that stop.
pub(crate) const STOPPABLE: &str = "Stoppable";

/// Tells a plan to stop, at any time or at a stated one.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    flag: StopFlag,
    limit: Option<(Duration, Instant)>,
    /// The number of tasks that share a memory pool.
    sharing: usize,
    /// What counts the rows and times of kernels, if someone asks for them.
    meter: Option<Meter>,
}

impl Stop {
    /// Stops after a time from now. A time beyond what the clock can show is no limit. So many tasks share the memory pool
    /// that the plan runs with.
    pub(crate) fn new(limit: Option<Duration>, sharing: usize) -> Stop {
        let limit = limit.and_then(|limit| Some((limit, Instant::now().checked_add(limit)?)));
        Stop { flag: StopFlag::new(), limit, sharing: sharing.max(1), meter: None }
    }

    /// Counts what kernels do.
    pub(crate) fn metered(self, meter: Option<Meter>) -> Stop {
        Stop { meter, ..self }
    }

    pub(crate) fn now(&self) {
        self.flag.stop();
    }

    /// # Errors
    /// Returns an error if the plan has to stop.
    pub(crate) fn check(&self) -> Result<()> {
        match self.limit {
            Some((limit, end)) if Instant::now() >= end => exec_err!(
                "the query took longer than the {} s of --time-limit: give it more, or let it compute less",
                limit.as_secs_f64()
            ),
            _ if self.flag.is_set() => exec_err!("the query was cancelled"),
            _ => Ok(()),
        }
    }

    fn options(&self) -> RunOptions {
        let options = RunOptions::new().stopped_by(&self.flag);
        match self.limit {
            Some((_, end)) => options.until(end),
            None => options,
        }
    }
}

/// Returns a plan that gives other tasks a turn after each batch, and ends when it is told to.
pub(crate) fn stoppable(plan: Arc<dyn ExecutionPlan>, stop: &Stop) -> Result<Arc<dyn ExecutionPlan>> {
    let stops = plan.transform_up(|plan| {
        let mut works = plan.children().is_empty();
        plan.apply_expressions(&mut |_| {
            works = true;
            Ok(TreeNodeRecursion::Stop)
        })?;
        Ok(match works {
            true => Transformed::yes(Arc::new(Stoppable { input: plan, stop: stop.clone() }) as _),
            false => Transformed::no(plan),
        })
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
        STOPPABLE
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
        let bytes = match context.memory_pool().memory_limit() {
            MemoryLimit::Finite(bytes) => Some((bytes / self.stop.sharing / SHARE_OF_BATCH) as u64),
            _ => None,
        };
        let bounds = Bounds { options: self.stop.options(), bytes };
        let input = Bounded {
            input: self.input.execute(partition, context)?,
            bounds,
            meter: self.stop.meter.clone(),
        };
        let stop = self.stop.clone();
        let batches = input.then(move |batch| {
            let stop = stop.clone();
            async move {
                tokio::task::yield_now().await;
                // An error of a run that was ended says less than why it was.
                stop.check()?;
                batch
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}

/// The batches of an operator whose kernels are bounded.
struct Bounded {
    input: SendableRecordBatchStream,
    bounds: Bounds,
    meter: Option<Meter>,
}

impl Stream for Bounded {
    type Item = <dyn RecordBatchStream + Send as Stream>::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Bounded { input, bounds, meter } = self.get_mut();
        let mut poll = || bounds.apply(|| input.poll_next_unpin(context));
        match meter {
            Some(meter) => meter.apply(poll),
            None => poll(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::memory_pool::GreedyMemoryPool;
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::physical_plan::displayable;
    use datafusion::prelude::{SessionConfig, SessionContext};

    #[tokio::test(flavor = "current_thread")]
    async fn a_plan_takes_turns_and_stops_between_batches() {
        let sql = "SELECT count(*) AS c FROM generate_series(1, 1000000) AS t(x) WHERE x % 3 = 0";
        let context = SessionContext::new();
        let table = context.sql(sql).await.unwrap();
        let task = Arc::new(table.task_ctx());
        let plan = table.create_physical_plan().await.unwrap();
        let stop = Stop::new(None, 1);
        let plan = stoppable(plan, &stop).unwrap();
        let drawn = displayable(plan.as_ref()).indent(false).to_string();
        // One above each operator that evaluates expressions, and one above the leaf, which reads rows.
        for line in ["FilterExec", "AggregateExec: mode=Partial", "LazyMemoryExec"] {
            let at = drawn.find(line).unwrap_or_else(|| panic!("{line} in {drawn}"));
            assert!(drawn[..at].trim_end().ends_with("Stoppable"), "{drawn}");
        }
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

    /// Runs a query with Broadloom's functions, and returns its error.
    async fn refused(sql: &str, memory: usize, stop: &Stop) -> String {
        let pool = Arc::new(GreedyMemoryPool::new(memory));
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc().unwrap();
        let mut context = SessionContext::new_with_config_rt(SessionConfig::new(), runtime);
        broadloom_datafusion::register(&mut context).unwrap();
        let table = context.sql(sql).await.unwrap();
        let task = Arc::new(table.task_ctx());
        let plan = stoppable(table.create_physical_plan().await.unwrap(), stop).unwrap();
        let ended = datafusion::physical_plan::collect(plan, task).await;
        ended.expect_err("the query is refused").strip_backtrace()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_batch_ends_inside_of_a_kernel() {
        for sql in [
            "SELECT broadloom('sum(arange(10**12) * x[:, None], axis=1)', x) FROM generate_series(1, 9) AS t(x)",
            "SELECT broadloom_agg('sum(sum(arange(10**12) * x[:, None], axis=1))', x) FROM generate_series(1, 9) AS t(x)",
        ] {
            let stop = Stop::new(None, 1);
            let later = stop.clone();
            let started = Instant::now();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(300));
                later.now();
            });
            let error = refused(sql, 1 << 30, &stop).await;
            assert!(error.contains("the query was cancelled"), "{error}");
            let limited = refused(sql, 1 << 30, &Stop::new(Some(Duration::from_millis(300)), 1)).await;
            assert!(limited.contains("longer than the 0.3 s of --time-limit"), "{limited}");
            assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_batch_larger_than_its_share_is_refused() {
        let sql = "SELECT broadloom('x[:, None] + zeros(100000)', x) FROM generate_series(1, 50) AS t(x)";
        let error = refused(sql, 64 << 20, &Stop::new(None, 1)).await;
        // 50 rows of 100,000 numbers of 8 bytes; a quarter of 64 MiB.
        for part in
            ["`x[:, None] + zeros(100000)` is too large", "40000000 bytes", "16777216 are left", "--memory"]
        {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
