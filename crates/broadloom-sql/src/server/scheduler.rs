//! Schedulers.

use super::door::Door;
use super::{
    EXPIRY_SECONDS, GRACE_SECONDS, JOB_DATA_SECONDS, JOB_STATE_SECONDS, LOST_SECONDS, WAIT, WORK, WORK_PATH,
    check_bind, taken,
};
use crate::codec::{LogicalCodec, PhysicalCodec};
use crate::fence::Folders;
use crate::received::Received;
use crate::session::cluster_config;
use crate::{Access, Address, MESSAGE_BYTES};
use axum::Router;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::routing::get;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::Result;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_core::utils::default_session_builder;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::create_scheduler;
use datafusion_proto::protobuf::PhysicalPlanNode;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use tokio::sync::watch;
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
    /// What opens it and its executors.
    pub access: Access,
    /// Whether it may bind to an address that other machines reach, without a token or certificates.
    pub insecure: bool,
}

impl Default for Scheduler {
    /// Returns a scheduler for this machine, on a free port. It may touch no file.
    fn default() -> Scheduler {
        let bind = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Scheduler { bind, port: 0, folders: Folders::default(), access: Access::default(), insecure: false }
    }
}

impl Scheduler {
    /// Runs the scheduler until the process ends. `listening` gets its address, and `say` lines for a log.
    ///
    /// # Errors
    /// Returns an error if the address is taken, or is one that other machines reach, or if the certificates cannot be used.
    pub async fn run(
        &self,
        listening: impl FnOnce(&Address),
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<()> {
        let Scheduler { bind, port, .. } = *self;
        check_bind(bind, self.insecure, &self.access)?;
        let listener =
            tokio::net::TcpListener::bind((bind, port)).await.map_err(|error| taken(bind, port, &error))?;
        let port = listener.local_addr()?.port();
        let (folders, access) = (self.folders.clone(), self.access.clone());
        let news = Arc::new(watch::Sender::new(0_u64));
        let told = news.clone();
        let config = SchedulerConfig {
            bind_host: bind.to_string(),
            bind_port: port,
            external_host: bind.to_string(),
            // Executors ask for tasks, so they need no port of Ballista's, which anyone could reach.
            scheduling_policy: TaskSchedulingPolicy::PullStaged,
            on_work_available: Some(Arc::new(move |_| {
                told.send_modify(|number| *number = number.wrapping_add(1))
            })),
            override_create_grpc_client_endpoint: Some(self.access.endpoints()),
            grpc_server_max_decoding_message_size: MESSAGE_BYTES as u32,
            grpc_server_max_encoding_message_size: MESSAGE_BYTES as u32,
            grpc_client_max_message_size: MESSAGE_BYTES as u32,
            executor_timeout_seconds: LOST_SECONDS,
            expire_dead_executor_interval_seconds: EXPIRY_SECONDS,
            no_executors_grace_period_seconds: GRACE_SECONDS,
            finished_job_state_clean_up_interval_seconds: JOB_STATE_SECONDS,
            finished_job_data_clean_up_interval_seconds: JOB_DATA_SECONDS,
            override_logical_codec: Some(Arc::new(LogicalCodec::default())),
            override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
            override_config_producer: Some(Arc::new(move || cluster_config(&access))),
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
        // One answer holds all tasks that an executor gets at once, with the arrays that are bound to their functions.
        let service = SchedulerGrpcServer::new(scheduler)
            .max_decoding_message_size(MESSAGE_BYTES)
            .max_encoding_message_size(usize::MAX);
        let work = move |heard: HeaderMap| work(news.subscribe(), heard);
        let more = Router::new().route("/readyz", get(readiness)).route(WORK_PATH, get(work));
        let routes = Routes::new(service).into_axum_router().merge(more);
        let access = self.access.clone();
        listening(&Address { host: bind.to_string(), port, access: access.clone() });
        Door { listener, server: "scheduler", access, say: Arc::new(say) }.serve(routes).await
    }
}

/// Answers when there is work of which an executor has not heard, or after a time, with its number.
async fn work(mut news: watch::Receiver<u64>, heard: HeaderMap) -> [(HeaderName, String); 1] {
    let heard = heard.get(WORK).and_then(|number| number.to_str().ok()?.parse().ok()).unwrap_or(0);
    // The sender lives as long as the server.
    let _ = tokio::time::timeout(WAIT, news.wait_for(|number| *number != heard)).await;
    let number = *news.borrow();
    [(WORK, number.to_string())]
}
