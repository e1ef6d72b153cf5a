//! Executors.

use super::door::Door;
use super::orders::Orders;
use super::work::Work;
use super::{LOST_SECONDS, POLL, Say, WORK, WORK_PATH, check_bind, results, taken};
use crate::address::ask;
use crate::codec::{LogicalCodec, PhysicalCodec};
use crate::fence::Folders;
use crate::memory::Memory;
use crate::session::cluster_config;
use crate::signal::interrupted;
use crate::stage::{Engine, Pool, Slots, Task};
use crate::{Address, MESSAGE_BYTES};
use axum::http::HeaderMap;
use ballista_core::error::Result;
use ballista_core::extension::ballista_scalar_functions;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::BallistaCodec;
use ballista_core::serde::protobuf::ExecutorStoppedParams;
use ballista_core::serde::protobuf::executor_grpc_server::ExecutorGrpcServer;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::{ConfigProducer, RuntimeProducer};
use ballista_executor::execution_loop::poll_loop;
use ballista_executor::executor::Executor as Tasks;
use ballista_executor::executor_process::{ExecutorProcessConfig, structure_executor_metadata};
use ballista_executor::health::ExecutorHealth;
use ballista_executor::metrics::LoggingMetricsCollector;
use ballista_executor::runtime_cache::{DefaultSessionRuntimeCache, MemoryPoolPolicy};
use datafusion::common::DataFusionError;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion_proto::protobuf::LogicalPlanNode;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tonic::service::Routes;
use tonic::transport::Channel;

/// The time between two attempts to reach a scheduler.
const RETRY: Duration = Duration::from_millis(500);
/// The longest time for the scheduler to hear that the executor ends.
const FAREWELL: Duration = Duration::from_secs(2);
/// The number of sessions whose files' footers an executor keeps.
const SESSIONS: usize = 16;

/// An executor: where it listens, what it tells others, and what it may do for clients.
#[derive(Debug, Clone)]
pub struct Executor {
    /// The scheduler that it serves. What opens it opens the executor too.
    pub scheduler: Address,
    /// The address that it binds to.
    pub bind: IpAddr,
    /// The host under which others reach it.
    pub host: String,
    /// The port; a free one is chosen if it is `None`.
    pub port: Option<u16>,
    /// The number of tasks at a time.
    pub threads: usize,
    /// The memory of all tasks together.
    pub memory: Memory,
    /// The folders whose files tasks read and write.
    pub folders: Folders,
    /// The longest time of a task.
    pub time_limit: Option<Duration>,
    /// The folder in which it makes one for the results between the stages of queries.
    pub work: PathBuf,
    /// The time for which it looks for a scheduler that does not answer.
    pub patience: Duration,
    /// Whether it may bind to an address that other machines reach, without a token or certificates.
    pub insecure: bool,
}

impl Executor {
    /// Returns an executor for a scheduler on this machine: it has a thread for each processor, and may touch no file.
    pub fn new(scheduler: Address) -> Executor {
        Executor {
            scheduler,
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            host: Ipv4Addr::LOCALHOST.to_string(),
            port: None,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory: Memory::default(),
            folders: Folders::default(),
            time_limit: None,
            work: std::env::temp_dir(),
            patience: Duration::from_secs(60),
            insecure: false,
        }
    }

    /// Runs the executor until the process gets a signal or the scheduler stops it. `ready` is called when a scheduler
    /// knows it, also again after one was lost, and `say` gets lines for a log.
    ///
    /// # Errors
    /// Returns an error if no scheduler answers for as long as the executor is patient, if one asks for another token, if the
    /// port is taken, if the executor is to bind to an address that other machines reach, or if certificates cannot be used.
    pub async fn run(
        &self,
        mut ready: impl FnMut(),
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<()> {
        check_bind(self.bind, self.insecure, &self.scheduler.access)?;
        let say: Say = Arc::new(say);
        let work = Work::new(&self.work)?;
        let pool = Arc::new(Pool::new(self.threads())?);
        let ends = Arc::new(AtomicBool::new(false));
        let told = ends.clone();
        tokio::spawn(async move {
            interrupted().await;
            told.store(true, Ordering::Release);
        });
        loop {
            if !self.find_scheduler(&ends, &say).await?
                || self.serve(&work, &pool, &ends, &mut ready, &say).await?
            {
                return Ok(());
            }
            let Executor { scheduler, patience, .. } = self;
            say(&format!(
                "executor lost the scheduler at {scheduler} and looks for it for {} s",
                patience.as_secs()
            ));
        }
    }

    /// Returns the number of threads: there is one, and not more than any machine has.
    fn threads(&self) -> usize {
        self.threads.clamp(1, usize::from(u16::MAX))
    }

    /// Waits until the scheduler answers, or the process is to end: then returns false.
    async fn find_scheduler(&self, ends: &AtomicBool, say: &Say) -> Result<bool> {
        let start = Instant::now();
        let mut is_said = false;
        while let Err(error) = self.scheduler.has_executors().await {
            if ends.load(Ordering::Acquire) {
                return Ok(false);
            }
            if start.elapsed() >= self.patience || matches!(error, DataFusionError::Plan(_)) {
                return Err(error.into());
            }
            if !is_said {
                is_said = true;
                let (scheduler, seconds) = (&self.scheduler, self.patience.as_secs());
                say(&format!("executor finds no scheduler at {scheduler} yet and tries for {seconds} s"));
            }
            tokio::time::sleep(RETRY).await;
        }
        Ok(true)
    }

    /// Serves the scheduler until the process is to end, or until it is lost: then returns false.
    async fn serve(
        &self,
        work: &Work,
        pool: &Arc<Pool>,
        ends: &AtomicBool,
        ready: &mut impl FnMut(),
        say: &Say,
    ) -> Result<bool> {
        // A scheduler that goes away in this moment is looked for again.
        let Ok(channel) = self.scheduler.connect().await else { return Ok(false) };
        let port = self.port.unwrap_or(0);
        let listener =
            TcpListener::bind((self.bind, port)).await.map_err(|error| taken(self.bind, port, &error))?;
        let port = listener.local_addr()?.port();
        let slots = Slots::new(self.threads());
        let engine = Engine::new(pool.clone(), self.time_limit, self.folders.clone(), slots.clone());
        let running = engine.running();
        let folder = work.jobs()?.to_string_lossy().into_owned();
        let tasks = Arc::new(self.tasks(port, &folder, engine));
        let stopped = Arc::new(Notify::new());
        let orders = Orders { executor: tasks.clone(), stopped: stopped.clone() };
        let routes = Routes::new(results::service(&folder)).add_service(ExecutorGrpcServer::new(orders));
        let access = self.scheduler.access.clone();
        let door = Door { listener, server: "executor", access, say: say.clone() };
        // One answer holds all tasks that the executor gets at once, with the arrays that are bound to their functions.
        let mut scheduler = SchedulerGrpcClient::new(channel.clone())
            .max_decoding_message_size(usize::MAX)
            .max_encoding_message_size(MESSAGE_BYTES);
        let codec = BallistaCodec::<LogicalPlanNode, Task>::new(
            Arc::new(LogicalCodec::default()),
            Arc::new(PhysicalCodec::default()),
        );
        let (health, id) = (ExecutorHealth::new(), tasks.metadata.id.clone());
        let Slots { free, wake } = slots;
        let polling =
            poll_loop(scheduler.clone(), tasks, codec, Some(wake.clone()), Some(free), health.clone());
        let is_over = tokio::select! {
            ended = door.serve(routes.into_axum_router()) => ended.map(|()| true),
            ended = polling => ended.map(|()| true),
            () = hear(channel, &wake) => Ok(true),
            () = stopped.notified() => Ok(true),
            () = ended(ends) => Ok(true),
            () = lost(&health, ready) => Ok(false),
        };
        running.stop();
        if is_over.is_ok() && ends.load(Ordering::Acquire) {
            let reason = "the executor was told to end".to_owned();
            let told = scheduler.executor_stopped(ExecutorStoppedParams { executor_id: id, reason });
            // One that does not hear it loses the executor after a time.
            let _ = tokio::time::timeout(FAREWELL, told).await;
        }
        is_over
    }

    /// Returns what runs tasks.
    fn tasks(&self, port: u16, folder: &str, engine: Engine) -> Tasks {
        let told = ExecutorProcessConfig {
            external_host: Some(self.host.clone()),
            port,
            // Where the scheduler sends orders.
            grpc_port: port,
            ..ExecutorProcessConfig::default()
        };
        let threads = self.threads();
        let metadata = structure_executor_metadata(&Arc::new(told), threads as u32);
        let (folders, spills) = (self.folders.clone(), folder.to_owned());
        let runtimes: RuntimeProducer = Arc::new(move |_| {
            let runtime = RuntimeEnvBuilder::new().with_temp_file_path(spills.clone()).build_arc()?;
            folders.enclose(&runtime);
            Ok(runtime)
        });
        let share = usize::try_from(self.memory.reserved()).unwrap_or(usize::MAX) / threads;
        let memory: MemoryPoolPolicy = Arc::new(move |runtime, _, slots| {
            let bytes = share.max(1).saturating_mul(slots.max(1) as usize);
            let pool = Arc::new(FairSpillPool::new(bytes));
            RuntimeEnvBuilder::from_runtime_env(&runtime).with_memory_pool(pool).build_arc()
        });
        let access = self.scheduler.access.clone();
        let configs: ConfigProducer = Arc::new(move || cluster_config(&access));
        let cache = DefaultSessionRuntimeCache::new(runtimes.clone(), memory, SESSIONS);
        let metrics = Arc::new(LoggingMetricsCollector::default());
        let functions = Arc::new(functions());
        Tasks::new(metadata, folder, runtimes, configs, functions, metrics, threads, Arc::new(engine))
            .with_session_runtime_cache(Some(Arc::new(cache)))
    }
}

/// Wakes the executor whenever the scheduler has work. Never ends.
async fn hear(mut channel: Channel, wake: &Notify) {
    let mut heard = HeaderMap::new();
    loop {
        let answer = ask(&mut channel, WORK_PATH, heard.clone()).await;
        let number = answer.ok().and_then(|answer| answer.headers().get(WORK).cloned());
        match number {
            Some(number) if heard.get(WORK) == Some(&number) => {}
            Some(number) => {
                heard.insert(WORK, number);
                wake.notify_one();
            }
            None => tokio::time::sleep(RETRY).await,
        }
    }
}

/// Ends when the process is to end.
async fn ended(ends: &AtomicBool) {
    while !ends.load(Ordering::Acquire) {
        tokio::time::sleep(POLL).await;
    }
}

/// Ends when the scheduler has not answered for so long that it, or its successor, has given the tasks to others. Tells when it
/// answers for the first time.
async fn lost(health: &ExecutorHealth, ready: &mut impl FnMut()) {
    let mut heard = Instant::now();
    let mut is_known = false;
    while heard.elapsed() < Duration::from_secs(LOST_SECONDS) {
        tokio::time::sleep(POLL).await;
        if health.is_ready() {
            heard = Instant::now();
            if !is_known {
                is_known = true;
                ready();
            }
        }
    }
}

/// Returns the functions of schedulers. By default an executor lacks those of lists, such as `make_array`
/// (`BallistaFunctionRegistry` of ballista-core 55.0).
fn functions() -> BallistaFunctionRegistry {
    let mut registry = BallistaFunctionRegistry::default();
    let scalar = ballista_scalar_functions().into_iter();
    registry.scalar_functions.extend(scalar.map(|function| (function.name().to_owned(), function)));
    registry
}
