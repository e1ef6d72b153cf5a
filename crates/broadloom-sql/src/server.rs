//! The processes of a cluster: one scheduler, and executors on any machines that read the same files.

use crate::codec::{LogicalCodec, PhysicalCodec};
use crate::session::cluster_config;
use crate::stop::Engine;
use crate::{Address, MESSAGE_BYTES};
use ballista_core::error::{BallistaError, Result};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use std::net::{IpAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

/// The time between two signs of life of an executor.
const HEARTBEAT_SECONDS: u64 = 2;
/// The silence after which an executor is lost, and its tasks move to another one.
const LOST_SECONDS: u64 = 12;
/// The time that a cluster without executors waits for one, before its queries fail. Together with [`LOST_SECONDS`] and
/// one heartbeat it is below 30 seconds, which is promised to users.
const GRACE_SECONDS: u64 = 12;

/// The time between two looks at whether the scheduler knows an executor.
const POLL: Duration = Duration::from_millis(50);

/// Runs a scheduler until the process ends. `listening` gets its address, whose port was chosen if `port` is 0.
///
/// # Errors
/// Returns an error if the address is taken.
pub async fn scheduler(bind: IpAddr, port: u16, listening: impl FnOnce(&Address)) -> Result<()> {
    let listener =
        tokio::net::TcpListener::bind((bind, port)).await.map_err(|error| taken(bind, port, &error))?;
    let port = listener.local_addr()?.port();
    let config = SchedulerConfig {
        bind_host: bind.to_string(),
        bind_port: port,
        external_host: bind.to_string(),
        grpc_server_max_decoding_message_size: MESSAGE_BYTES as u32,
        grpc_server_max_encoding_message_size: MESSAGE_BYTES as u32,
        grpc_client_max_message_size: MESSAGE_BYTES as u32,
        executor_timeout_seconds: LOST_SECONDS,
        expire_dead_executor_interval_seconds: HEARTBEAT_SECONDS,
        no_executors_grace_period_seconds: GRACE_SECONDS,
        override_logical_codec: Some(Arc::new(LogicalCodec::default())),
        override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
        override_config_producer: Some(Arc::new(cluster_config)),
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await?;
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
    listening(&Address { host: bind.to_string(), port });
    start_grpc_service_with_listener(listener, scheduler).await
}

/// An executor: where it listens, and what it tells others.
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
}

impl Executor {
    /// Runs the executor until the process gets a signal or the scheduler stops it. `ready` is called once the scheduler
    /// knows it.
    ///
    /// # Errors
    /// Returns an error if the scheduler does not answer within 10 seconds or a port is taken.
    pub async fn run(&self, ready: impl FnOnce()) -> Result<()> {
        let (port, grpc_port) = self.ports()?;
        let directory = tempfile::Builder::new().prefix("broadloom-sql").tempdir()?;
        let config = ExecutorProcessConfig {
            bind_host: self.bind.to_string(),
            external_host: Some(self.host.clone()),
            port,
            grpc_port,
            scheduler_host: self.scheduler.host.clone(),
            scheduler_port: self.scheduler.port,
            scheduler_connect_timeout_seconds: 10,
            vcores: self.threads,
            work_dir: Some(directory.path().to_string_lossy().into_owned()),
            grpc_max_decoding_message_size: MESSAGE_BYTES as u32,
            grpc_max_encoding_message_size: MESSAGE_BYTES as u32,
            executor_heartbeat_interval_seconds: HEARTBEAT_SECONDS,
            override_logical_codec: Some(Arc::new(LogicalCodec::default())),
            override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
            override_config_producer: Some(Arc::new(cluster_config)),
            override_execution_engine: Some(Arc::new(Engine::default())),
            ..ExecutorProcessConfig::default()
        };
        let health = config.health.clone();
        let mut running = pin!(start_executor_process(Arc::new(config)));
        let known = async {
            while !health.is_ready() {
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::select! {
            ended = &mut running => return ended,
            () = known => ready(),
        }
        running.await
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

fn taken(bind: IpAddr, port: u16, error: &std::io::Error) -> BallistaError {
    BallistaError::Configuration(format!("cannot listen on {bind}:{port}: {error}; choose another --port"))
}
