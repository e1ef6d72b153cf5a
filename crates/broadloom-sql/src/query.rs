//! Running a query: batches as they come, progress, limits on silence, and cancelling everywhere.

use crate::explained::Explained;
use crate::stop::{Stop, stoppable};
use crate::{Address, MESSAGE_BYTES};
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{CancelJobParams, CleanJobDataParams, GetJobMetricsParams};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::dataframe::DataFrame;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion_proto::protobuf::LogicalPlanNode;
use futures::StreamExt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time between two reports of progress.
const TICK: Duration = Duration::from_millis(200);
/// The time between two looks at whether a job has a name.
const POLL: Duration = Duration::from_millis(10);
/// The time between two questions to the scheduler.
const WATCH: Duration = Duration::from_secs(1);
/// The time without a scheduler that answers, or without any executor, after which a query fails. It is longer than a
/// scheduler needs to fail the query itself, whose message says more.
const SILENCE: Duration = Duration::from_secs(27);
/// The time for the scheduler to name a job that is to be cancelled, and the time for it to cancel the job.
const NAMING: Duration = Duration::from_secs(5);
/// The time for the scheduler to clear a result that was read. It does so later otherwise.
const CLEARING: Duration = Duration::from_millis(500);

type Distributed = DistributedQueryExec<LogicalPlanNode>;

/// A planned query.
pub struct Query {
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
    scheduler: Option<Address>,
    stop: Stop,
}

/// How far a query is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// The time since the query started.
    pub elapsed: Duration,
    /// The rows of the result so far.
    pub rows: usize,
    /// The rows that were read from files, in this process only.
    pub rows_read: usize,
    /// The stages that finished, on a cluster only.
    pub stages: usize,
}

impl Query {
    /// Plans a query of a session. On a cluster, `scheduler` is the address that the session was made for. The query ends
    /// with an error once it took longer than a limit.
    ///
    /// # Errors
    /// Returns planning errors.
    pub async fn new(
        table: DataFrame,
        scheduler: Option<Address>,
        time_limit: Option<Duration>,
    ) -> Result<Query> {
        let context = Arc::new(table.task_ctx());
        let plan = table.create_physical_plan().await?;
        let stop = Stop::new(time_limit, context.session_config().target_partitions());
        let stop = stop.metered(Explained::meter(plan.as_ref()));
        // On a cluster, executors stop their parts.
        let plan = if scheduler.is_some() { plan } else { stoppable(plan, &stop)? };
        Ok(Query { plan, context, scheduler, stop })
    }

    /// Returns the schema of the result.
    pub fn schema(&self) -> SchemaRef {
        self.plan.schema()
    }

    /// Runs the query, and passes each batch of the result to `batch`. Returns false if `cancel` became ready first: then
    /// the query is cancelled everywhere.
    ///
    /// # Errors
    /// Returns the errors of the query and of `batch`, and an error if the scheduler does not answer or the cluster has
    /// no executor for 27 seconds.
    pub async fn run(
        self,
        cancel: impl Future<Output = ()>,
        mut progress: impl FnMut(Progress),
        mut batch: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<bool> {
        let start = Instant::now();
        if let Some(scheduler) = &self.scheduler {
            scheduler.has_executors().await?;
        }
        let mut stream = execute_stream(self.plan.clone(), self.context.clone())?;
        let stages = Arc::new(AtomicUsize::new(0));
        let mut lost = pin!(watch(self.scheduler.clone(), self.plan.clone(), stages.clone()));
        let mut cancel = pin!(cancel);
        let mut tick = tokio::time::interval(TICK);
        let mut rows = 0;
        // On a thread of its own: what this process computes must not keep it from noticing that it is to stop.
        let (sender, mut batches) = tokio::sync::mpsc::channel(1);
        let computing = tokio::spawn(async move {
            while let Some(next) = stream.next().await {
                if sender.send(next).await.is_err() {
                    break;
                }
            }
        });
        let outcome = loop {
            tokio::select! {
                next = batches.recv() => match next {
                    None => break match computing.await {
                        Ok(()) => {
                            self.clear().await;
                            return Ok(true);
                        }
                        Err(error) => Err(external(error)),
                    },
                    Some(Err(error)) => return Err(self.explained(error).await),
                    Some(Ok(next)) => {
                        rows += next.num_rows();
                        if let Err(error) = batch(next) {
                            break Err(error);
                        }
                    }
                },
                () = &mut cancel => break Ok(false),
                error = &mut lost => break Err(error),
                _ = tick.tick() => {
                    if let Err(late) = self.stop.check() {
                        break Err(late);
                    }
                    progress(Progress {
                        elapsed: start.elapsed(),
                        rows,
                        rows_read: rows_read(self.plan.as_ref()),
                        stages: stages.load(Ordering::Relaxed),
                    });
                }
            }
        };
        // What this process computes ends between two parts of a kernel.
        self.stop.now();
        self.cancel().await;
        outcome
    }

    /// Returns the reason of an error: a scheduler that is gone says more than the connection that broke.
    async fn explained(&self, error: DataFusionError) -> DataFusionError {
        match &self.scheduler {
            Some(scheduler) => scheduler.has_executors().await.err().unwrap_or(error),
            None => error,
        }
    }

    /// Cancels the query on the cluster.
    async fn cancel(&self) {
        let (Some(scheduler), Some(query)) = (&self.scheduler, distributed(self.plan.as_ref())) else {
            return;
        };
        // The job has a name once the scheduler accepted it.
        let named = async {
            while query.job_id().is_none() {
                tokio::time::sleep(POLL).await;
            }
        };
        let _ = tokio::time::timeout(NAMING, named).await;
        if let Some(job) = query.job_id() {
            let cancelled = async {
                let mut client = client(scheduler).await?;
                client.cancel_job(CancelJobParams { job_id: job.to_string() }).await.map_err(external)
            };
            // A scheduler that does not answer cannot be told either, and the query ends here in any case.
            let _ = tokio::time::timeout(NAMING, cancelled).await;
        }
    }

    /// Lets executors remove the result, which was read.
    async fn clear(&self) {
        let job = distributed(self.plan.as_ref()).and_then(Distributed::job_id);
        let (Some(scheduler), Some(job)) = (&self.scheduler, job) else { return };
        let cleared = async {
            let mut client = client(scheduler).await?;
            client
                .clean_job_data(CleanJobDataParams { job_id: job.to_string(), remove_stage_ids: Vec::new() })
                .await
                .map_err(external)
        };
        // It is removed after a time otherwise.
        let _ = tokio::time::timeout(CLEARING, cleared).await;
    }
}

/// Counts the stages of a query that finished, until the cluster is lost. Without a cluster it never ends.
async fn watch(
    scheduler: Option<Address>,
    plan: Arc<dyn ExecutionPlan>,
    stages: Arc<AtomicUsize>,
) -> DataFusionError {
    let Some(scheduler) = scheduler else { return std::future::pending().await };
    let mut alive = Instant::now();
    loop {
        tokio::time::sleep(WATCH).await;
        let state = scheduler.has_executors().await;
        if matches!(state, Ok(true)) {
            alive = Instant::now();
        }
        if alive.elapsed() > SILENCE {
            return state.err().unwrap_or_else(|| {
                let seconds = SILENCE.as_secs();
                DataFusionError::Execution(format!(
                    "the cluster at {scheduler} had no executor for {seconds} s: start one with \
                     `broadloom-sql executor --scheduler {scheduler}`"
                ))
            });
        }
        if let Some(job) = distributed(plan.as_ref()).and_then(Distributed::job_id)
            && let Ok(finished) = finished_stages(&scheduler, job.as_ref()).await
        {
            stages.store(finished, Ordering::Relaxed);
        }
    }
}

async fn finished_stages(scheduler: &Address, job: &str) -> Result<usize> {
    let mut client = client(scheduler).await?;
    let metrics = client.get_job_metrics(GetJobMetricsParams { job_id: job.to_owned() }).await;
    Ok(metrics.map_err(external)?.into_inner().stages.len())
}

async fn client(scheduler: &Address) -> Result<SchedulerGrpcClient<tonic::transport::Channel>> {
    let channel = scheduler.connect().await.map_err(DataFusionError::External)?;
    Ok(SchedulerGrpcClient::new(channel).max_decoding_message_size(MESSAGE_BYTES))
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Returns the part of a plan that runs on the cluster.
fn distributed(plan: &dyn ExecutionPlan) -> Option<&Distributed> {
    let deeper = || plan.children().into_iter().find_map(|child| distributed(child.as_ref()));
    plan.downcast_ref().or_else(deeper)
}

/// Returns the rows that the leaves of a plan gave so far.
fn rows_read(plan: &dyn ExecutionPlan) -> usize {
    let children = plan.children();
    if children.is_empty() {
        return plan.metrics().and_then(|metrics| metrics.output_rows()).unwrap_or(0);
    }
    children.into_iter().map(|child| rows_read(child.as_ref())).sum()
}
