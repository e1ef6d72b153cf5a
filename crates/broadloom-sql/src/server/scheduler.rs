//! Schedulers.

use super::door::Door;
use super::{
    GRACE_SECONDS, HEARTBEAT_SECONDS, JOB_DATA_SECONDS, JOB_STATE_SECONDS, LOST_SECONDS, check_bind, taken,
};
use crate::codec::{LogicalCodec, PhysicalCodec};
use crate::fence::Folders;
use crate::received::Received;
use crate::session::cluster_config;
use crate::{Address, MESSAGE_BYTES};
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_core::utils::default_session_builder;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::create_scheduler;
use datafusion_proto::protobuf::PhysicalPlanNode;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use tonic::service::Routes;

/// A scheduler: where it listens, and what it reads for clients.
#[derive(Debug, Clone)]
pub struct Scheduler {
    /// The address that it binds to.
    pub bind: IpAddr,
    /// The port; a free one is chosen if it is 0.
    pub port: u16,
    /// The folders whose files it reads to plan queries.
    pub folders: Folders,
    /// Whether it may bind to an address that other machines reach.
    pub insecure: bool,
}

impl Default for Scheduler {
    /// Returns a scheduler for this machine, on a free port. It may touch no file.
    fn default() -> Scheduler {
        let bind = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Scheduler { bind, port: 0, folders: Folders::default(), insecure: false }
    }
}

impl Scheduler {
    /// Runs the scheduler until the process ends. `listening` gets its address, and `say` lines for a log.
    ///
    /// # Errors
    /// Returns an error if the address is taken, or is one that other machines reach.
    pub async fn run(
        &self,
        listening: impl FnOnce(&Address),
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<()> {
        let Scheduler { bind, port, .. } = *self;
        check_bind(bind, self.insecure)?;
        let listener =
            tokio::net::TcpListener::bind((bind, port)).await.map_err(|error| taken(bind, port, &error))?;
        let port = listener.local_addr()?.port();
        let folders = self.folders.clone();
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
            finished_job_state_clean_up_interval_seconds: JOB_STATE_SECONDS,
            finished_job_data_clean_up_interval_seconds: JOB_DATA_SECONDS,
            override_logical_codec: Some(Arc::new(LogicalCodec::default())),
            override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
            override_config_producer: Some(Arc::new(cluster_config)),
            override_session_builder: Some(Arc::new(move |config| {
                let state = default_session_builder(config)?;
                folders.enclose(state.runtime_env());
                Ok(state)
            })),
            ..SchedulerConfig::default()
        };
        let cluster = BallistaCluster::new_from_config(&config).await?;
        let scheduler = create_scheduler::<Received, PhysicalPlanNode>(cluster, Arc::new(config)).await?;
        let ready = scheduler.clone();
        let readiness = async move || match ready.is_ready() {
            true => StatusCode::OK,
            false => StatusCode::SERVICE_UNAVAILABLE,
        };
        let service = SchedulerGrpcServer::new(scheduler)
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(MESSAGE_BYTES);
        let routes = Routes::new(service).into_axum_router();
        let routes = routes.merge(Router::new().route("/readyz", get(readiness)));
        listening(&Address { host: bind.to_string(), port });
        Ok(axum::serve(Door::new(listener, "scheduler", Arc::new(say)), routes).await?)
    }
}
