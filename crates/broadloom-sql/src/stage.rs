//! Tasks on an executor: they run on threads of their own, stop when they are aborted, and end after a stated time.
//!
//! Ballista aborts a task by waking it on the thread that computes it (`Executor::cancel_task` of ballista-executor 55.0),
//! which a kernel keeps busy. So tasks compute on other threads, and those of Ballista only wait: they notice the abort.

use crate::fence::{Folders, check_job};
use crate::stop::{Stop, stoppable};
use ballista_core::JobId;
use ballista_core::execution_plans::{RangeShuffleReaderExec, ShuffleReaderExec};
use ballista_core::serde::protobuf::{
    RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport,
};
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor};
use bytes::BufMut;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::datasource::file_format::csv::CsvSink;
use datafusion::datasource::file_format::json::JsonSink;
use datafusion::datasource::file_format::parquet::ParquetSink;
use datafusion::datasource::physical_plan::FileSink;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::prelude::SessionConfig;
use datafusion_proto::physical_plan::{AsExecutionPlan, PhysicalExtensionCodec};
use datafusion_proto::protobuf::PhysicalPlanNode;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// The stack of a thread that reads or runs plans. Plans are trees, and queries of strangers can be deep; only what is
/// touched takes memory.
pub const STACK_BYTES: usize = 64 << 20;

/// The threads that compute tasks.
#[derive(Debug)]
pub(crate) struct Pool(Option<Runtime>);

impl Pool {
    pub(crate) fn new(threads: usize) -> std::io::Result<Pool> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let builder = builder.worker_threads(threads).thread_stack_size(STACK_BYTES).thread_name("task");
        Ok(Pool(Some(builder.enable_all().build()?)))
    }

    fn handle(&self) -> Option<Handle> {
        self.0.as_ref().map(|runtime| runtime.handle().clone())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // It is dropped inside of another runtime, which must not wait.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// The plan of a task as an executor gets it. What reads plans panics at some that are damaged, which must not end the executor.
#[derive(Debug, Clone)]
pub(crate) struct Task(PhysicalPlanNode);

impl AsExecutionPlan for Task {
    fn try_decode(bytes: &[u8]) -> Result<Task> {
        PhysicalPlanNode::try_decode(bytes).map(Task)
    }

    fn try_encode<B: BufMut>(&self, buffer: &mut B) -> Result<()> {
        self.0.try_encode(buffer)
    }

    fn try_into_physical_plan(
        &self,
        context: &TaskContext,
        codec: &dyn PhysicalExtensionCodec,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let read = AssertUnwindSafe(|| self.0.try_into_physical_plan(context, codec));
        catch_unwind(read).unwrap_or_else(|_| Err(exec_datafusion_err!("a plan is damaged")))
    }

    fn try_from_physical_plan(
        plan: Arc<dyn ExecutionPlan>,
        codec: &dyn PhysicalExtensionCodec,
    ) -> Result<Task> {
        PhysicalPlanNode::try_from_physical_plan(plan, codec).map(Task)
    }
}

/// Runs tasks as Ballista does, but those that are aborted stop. Each read from another executor is a connection of its own:
/// Ballista's pool of connections is private.
pub(crate) struct Engine {
    stages: DefaultExecutionEngine,
    pool: Arc<Pool>,
    limit: Option<Duration>,
    folders: Folders,
    running: Arc<Running>,
    slots: Slots,
}

/// The tasks that an executor may still take, and what wakes it when one ended.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    pub(crate) free: Arc<Semaphore>,
    pub(crate) wake: Arc<Notify>,
}

impl Slots {
    pub(crate) fn new(threads: usize) -> Slots {
        Slots { free: Arc::new(Semaphore::new(threads)), wake: Arc::default() }
    }

    /// Takes the slots of a task with so many partitions. Ballista has taken one for it, and counts each when it gives out
    /// tasks (`poll_loop` of ballista-executor 55.0 and `bind_one` of ballista-scheduler 55.0).
    fn taken(&self, partitions: usize) -> Taken {
        let more = u32::try_from(partitions.saturating_sub(1)).unwrap_or(u32::MAX);
        let permit = self.free.clone().try_acquire_many_owned(more).ok();
        Taken { permit, wake: self.wake.clone() }
    }
}

/// The slots of a task, until it has ended and Ballista knows how.
#[derive(Debug)]
struct Taken {
    permit: Option<OwnedSemaphorePermit>,
    wake: Arc<Notify>,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.permit.take();
        self.wake.notify_one();
    }
}

impl Engine {
    pub(crate) fn new(pool: Arc<Pool>, limit: Option<Duration>, folders: Folders, slots: Slots) -> Engine {
        let stages = DefaultExecutionEngine::default();
        Engine { stages, pool, limit, folders, running: Arc::default(), slots }
    }

    /// Returns what stops all tasks.
    pub(crate) fn running(&self) -> Arc<Running> {
        self.running.clone()
    }
}

/// The tasks that run, by a number for each.
#[derive(Debug, Default)]
pub(crate) struct Running {
    next: AtomicU64,
    stops: Mutex<HashMap<u64, Stop>>,
}

impl Running {
    /// Tells all tasks to stop.
    pub(crate) fn stop(&self) {
        self.stops().values().for_each(Stop::now);
    }

    fn add(&self, stop: &Stop) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.stops().insert(number, stop.clone());
        number
    }

    fn stops(&self) -> MutexGuard<'_, HashMap<u64, Stop>> {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
        check_job(job.as_str())?;
        plan.apply(|node| {
            check_written(node.as_ref(), &self.folders)?;
            check_read(node.as_ref())?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        let stop = Stop::new(self.limit, 1);
        let taken = self.slots.taken(partitions.len());
        // Ballista looks at the type of the root.
        let plan = plan.map_children(|child| Ok(Transformed::yes(stoppable(child, &stop)?)))?.data;
        let stage =
            self.stages.create_query_stage_exec(job, stage, task, partitions, plan, directory, config)?;
        Ok(Arc::new(Stage {
            stage,
            stop,
            pool: self.pool.clone(),
            running: self.running.clone(),
            _taken: taken,
        }))
    }
}

/// Refuses to write outside of folders. Their fence does so too, but engines drop its reason when they close a file
/// (`execute_write` in `orchestration.rs` of datafusion-datasource 55.2).
fn check_written(node: &dyn ExecutionPlan, folders: &Folders) -> Result<()> {
    let Some(write) = node.downcast_ref::<DataSinkExec>() else { return Ok(()) };
    let sink = write.sink() as &dyn Any;
    let config = (sink.downcast_ref::<CsvSink>().map(CsvSink::config))
        .or_else(|| sink.downcast_ref::<ParquetSink>().map(ParquetSink::config))
        .or_else(|| sink.downcast_ref::<JsonSink>().map(JsonSink::config));
    for path in config.iter().flat_map(|config| &config.table_paths) {
        folders.check_write(path.prefix())?;
    }
    Ok(())
}

/// Refuses to read results of what is no query: they would be files outside of the executor's folder.
fn check_read(node: &dyn ExecutionPlan) -> Result<()> {
    let parts = (node.downcast_ref::<ShuffleReaderExec>().map(|read| &read.partition))
        .or_else(|| node.downcast_ref::<RangeShuffleReaderExec>().map(|read| &read.partition));
    let mut parts = parts.into_iter().flatten().flatten();
    parts.try_for_each(|part| check_job(part.partition_id.job_id.as_str()))
}

/// A task on an executor.
#[derive(Debug)]
struct Stage {
    stage: Arc<dyn QueryStageExecutor>,
    stop: Stop,
    pool: Arc<Pool>,
    running: Arc<Running>,
    _taken: Taken,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stage.fmt(f)
    }
}

/// A task that computes. When it is dropped, its plan is told to stop.
struct Computing<'a> {
    stage: &'a Stage,
    number: u64,
    task: AbortHandle,
}

impl Drop for Computing<'_> {
    fn drop(&mut self) {
        self.stage.stop.now();
        self.task.abort();
        self.stage.running.stops().remove(&self.number);
    }
}

#[async_trait::async_trait]
impl QueryStageExecutor for Stage {
    async fn execute_query_stage(
        &self,
        task: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        let pool = self.pool.handle().ok_or_else(|| exec_datafusion_err!("the executor ends"))?;
        let stage = self.stage.clone();
        let number = self.running.add(&self.stop);
        let computed = pool.spawn(async move { stage.execute_query_stage(task, context).await });
        let _computing = Computing { stage: self, number, task: computed.abort_handle() };
        match computed.await {
            Ok(ended) => ended,
            Err(error) => Err(exec_datafusion_err!("a task of the query failed: {error}")),
        }
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

    #[tokio::test]
    async fn a_task_has_a_slot_for_each_partition_until_it_ended() {
        let slots = Slots::new(4);
        let of_ballista = slots.free.clone().try_acquire_owned().unwrap();
        let taken = slots.taken(3);
        assert_eq!(slots.free.available_permits(), 1);
        drop(taken);
        assert_eq!(slots.free.available_permits(), 3);
        tokio::time::timeout(Duration::from_secs(10), slots.wake.notified()).await.unwrap();
        drop((slots.taken(0), slots.taken(1), slots.taken(100), of_ballista));
        assert_eq!(slots.free.available_permits(), 4);
    }
}
