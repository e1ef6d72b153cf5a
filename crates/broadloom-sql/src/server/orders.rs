//! Orders of a scheduler to an executor. It gets tasks by asking for them, and not as orders.

use ballista_core::serde::protobuf::executor_grpc_server::ExecutorGrpc;
use ballista_core::serde::protobuf::{
    CancelTasksParams, CancelTasksResult, LaunchMultiTaskParams, LaunchMultiTaskResult, LaunchTaskParams,
    LaunchTaskResult, RemoveJobDataParams, RemoveJobDataResult, StopExecutorParams, StopExecutorResult,
};
use ballista_executor::executor::Executor;
use std::sync::Arc;
use tokio::sync::Notify;
use tonic::{Request, Response, Status};

/// What a scheduler may order.
pub(super) struct Orders {
    pub(super) executor: Arc<Executor>,
    /// Told when the executor is to end.
    pub(super) stopped: Arc<Notify>,
}

type Answer<T> = Result<Response<T>, Status>;

/// The answer to what a scheduler does that waits to be asked for tasks.
fn unknown<T>() -> Answer<T> {
    Err(Status::unimplemented("executors ask for tasks, and take none"))
}

#[tonic::async_trait]
impl ExecutorGrpc for Orders {
    async fn launch_task(&self, _: Request<LaunchTaskParams>) -> Answer<LaunchTaskResult> {
        unknown()
    }

    async fn launch_multi_task(&self, _: Request<LaunchMultiTaskParams>) -> Answer<LaunchMultiTaskResult> {
        unknown()
    }

    async fn stop_executor(&self, request: Request<StopExecutorParams>) -> Answer<StopExecutorResult> {
        // Another executor may have had the same port.
        if request.into_inner().executor_id == self.executor.metadata.id {
            self.stopped.notify_one();
        }
        Ok(Response::new(StopExecutorResult {}))
    }

    async fn cancel_tasks(&self, request: Request<CancelTasksParams>) -> Answer<CancelTasksResult> {
        let mut cancelled = true;
        for task in request.into_inner().task_infos {
            let (stage, number) = (task.stage_id as usize, task.task_id as usize);
            cancelled &= self.executor.cancel_task(task.job_id.into(), stage, number).await.is_ok();
        }
        Ok(Response::new(CancelTasksResult { cancelled }))
    }

    async fn remove_job_data(&self, _: Request<RemoveJobDataParams>) -> Answer<RemoveJobDataResult> {
        unknown()
    }
}
