//! Executors.

use super::work::Work;
use super::{HEARTBEAT_SECONDS, LOST_SECONDS, POLL, Say, check_bind, results, taken};
use crate::codec::{LogicalCodec, PhysicalCodec};
use crate::fence::Folders;
use crate::memory::Memory;
use crate::session::cluster_config;
use crate::signal::interrupted;
use crate::stage::{Engine, Pool};
use crate::{Address, MESSAGE_BYTES};
use ballista_core::error::{BallistaError, Result};
use ballista_core::extension::ballista_scalar_functions;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::executor_server::TERMINATING;
use ballista_executor::health::ExecutorHealth;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time between two attempts to reach a scheduler.
const RETRY: Duration = Duration::from_millis(500);

/// An executor: where it listens, what it tells others, and what it may do for clients.
#[derive(Debug, Clone)]
pub struct Executor {
    /// The scheduler that it serves.
    pub scheduler: Address,
    /// The address that it binds to.
    pub bind: IpAddr,
    /// The host under which others reach it.
    pub host: String,
    /// The port for results; the next one is for tasks. Free ports are chosen if it is `None`.
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
    /// Whether it may bind to an address that other machines reach.
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
    /// Returns an error if no scheduler answers for as long as the executor is patient, if a port is taken, or if it is to
    /// bind to an address that other machines reach.
    pub async fn run(
        &self,
        mut ready: impl FnMut(),
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<()> {
        check_bind(self.bind, self.insecure)?;
        let say: Say = Arc::new(say);
        let work = Work::new(&self.work)?;
        let pool = Arc::new(Pool::new(self.threads)?);
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

    /// Waits until the scheduler answers, or the process is to end: then returns false.
    async fn find_scheduler(&self, ends: &AtomicBool, say: &Say) -> Result<bool> {
        let start = Instant::now();
        let mut is_said = false;
        while let Err(error) = self.scheduler.has_executors().await {
            if ends.load(Ordering::Acquire) {
                return Ok(false);
            }
            if start.elapsed() >= self.patience {
                return Err(BallistaError::GrpcConnectionError(error.strip_backtrace()));
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
        // It is set when an executor ends, and this one begins anew.
        TERMINATING.store(false, Ordering::Release);
        let engine = Engine::new(pool.clone(), self.time_limit, self.folders.clone());
        let running = engine.running();
        let config = self.config(work, engine, say)?;
        let health = config.health.clone();
        let mut serving = pin!(start_executor_process(Arc::new(config)));
        let known = async {
            while !health.is_ready() {
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::select! {
            // A scheduler that goes away in this moment is looked for again.
            ended = &mut serving => return ended.map(|()| ends.load(Ordering::Acquire)),
            () = known => ready(),
        }
        tokio::select! {
            ended = &mut serving => ended?,
            () = stopped(&health, ends) => {
                running.stop();
                serving.await?;
            }
        }
        // A scheduler that was heard to the end has stopped the executor.
        Ok(ends.load(Ordering::Acquire) || health.is_ready())
    }

    fn config(&self, work: &Work, engine: Engine, say: &Say) -> Result<ExecutorProcessConfig> {
        let (port, grpc_port) = self.ports()?;
        let directory = work.jobs()?.to_string_lossy().into_owned();
        let (folders, spills) = (self.folders.clone(), directory.clone());
        let say = say.clone();
        Ok(ExecutorProcessConfig {
            bind_host: self.bind.to_string(),
            external_host: Some(self.host.clone()),
            port,
            grpc_port,
            scheduler_host: self.scheduler.host.clone(),
            scheduler_port: self.scheduler.port,
            scheduler_connect_timeout_seconds: 10,
            vcores: self.threads,
            work_dir: Some(directory),
            grpc_max_decoding_message_size: MESSAGE_BYTES as u32,
            grpc_max_encoding_message_size: MESSAGE_BYTES as u32,
            executor_heartbeat_interval_seconds: HEARTBEAT_SECONDS,
            memory_pool_size: Some(self.memory.reserved().max(self.threads as u64)),
            override_logical_codec: Some(Arc::new(LogicalCodec::default())),
            override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
            override_config_producer: Some(Arc::new(cluster_config)),
            override_function_registry: Some(Arc::new(functions())),
            override_execution_engine: Some(Arc::new(engine)),
            override_arrow_flight_service: Some(Arc::new(move |folder, address, end, _| {
                tokio::spawn(results::serve(folder, address, end, say.clone()))
            })),
            override_runtime_producer: Some(Arc::new(move |_| {
                let runtime = RuntimeEnvBuilder::new().with_temp_file_path(spills.clone()).build_arc()?;
                folders.enclose(&runtime);
                Ok(runtime)
            })),
            ..ExecutorProcessConfig::default()
        })
    }

    /// Returns two ports that are free. Both are held while they are chosen, so that they differ.
    fn ports(&self) -> Result<(u16, u16)> {
        let wanted = match self.port {
            None => [0, 0],
            Some(port) => [
                port,
                port.checked_add(1).ok_or_else(|| {
                    BallistaError::Configuration(
                        "there is no port after 65535: choose a lower --port".to_owned(),
                    )
                })?,
            ],
        };
        let bound = wanted
            .map(|port| TcpListener::bind((self.bind, port)).map_err(|error| taken(self.bind, port, &error)));
        let [first, second] = bound;
        let (first, second) = (first?, second?);
        Ok((first.local_addr()?.port(), second.local_addr()?.port()))
    }
}

/// Ends when the scheduler has not answered for so long that it, or its successor, has given the tasks to others, and as long
/// after a signal: tasks that run by then stop.
async fn stopped(health: &ExecutorHealth, ends: &AtomicBool) {
    let mut heard = Instant::now();
    while heard.elapsed() < Duration::from_secs(LOST_SECONDS) {
        tokio::time::sleep(POLL).await;
        if health.is_ready() && !ends.load(Ordering::Acquire) {
            heard = Instant::now();
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
