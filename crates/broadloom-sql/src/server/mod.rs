//! The processes of a cluster: one scheduler, and executors on any machines that read the same files.

mod door;
mod executor;
mod orders;
mod results;
mod scheduler;
mod work;

pub use executor::Executor;
pub use scheduler::Scheduler;

use crate::Access;
use axum::http::HeaderName;
use ballista_core::error::{BallistaError, Result};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The time between two looks at which executors are lost.
const EXPIRY_SECONDS: u64 = 2;
/// The silence after which an executor is lost, and its tasks move to another one.
const LOST_SECONDS: u64 = 12;
/// The time that a cluster without executors waits for one, before its queries fail. Together with [`LOST_SECONDS`] and
/// one heartbeat it is below 30 seconds, which is promised to users.
const GRACE_SECONDS: u64 = 12;
/// The time for which a scheduler knows a job that ended, for clients that ask about it.
const JOB_STATE_SECONDS: u64 = 60;
/// The time for which executors keep the result of a job that no client took and cleared.
const JOB_DATA_SECONDS: u64 = 3600;

/// Where executors ask a scheduler whether there is work.
const WORK_PATH: &str = "/work";
/// The header with the number of the last work, of which an executor has heard, or that there is.
const WORK: HeaderName = HeaderName::from_static("work");
/// The longest time that a scheduler waits for work before it answers.
const WAIT: Duration = Duration::from_secs(10);

/// The time between two looks at whether something has changed.
const POLL: Duration = Duration::from_millis(50);

/// What writes the lines of a server's log.
type Say = Arc<dyn Fn(&str) + Send + Sync>;

fn taken(bind: IpAddr, port: u16, error: &std::io::Error) -> BallistaError {
    BallistaError::Configuration(format!("cannot listen on {bind}:{port}: {error}; choose another --port"))
}

/// Refuses to let other machines in, unless the cluster asks who they are, or the user says that this is meant.
fn check_bind(bind: IpAddr, insecure: bool, access: &Access) -> Result<()> {
    let lack = match (access.asks(), access.has_tls()) {
        (true, true) => return Ok(()),
        (false, false) => "this server asks for no token, and nothing is encrypted",
        (true, false) => "nothing is encrypted, and the network shows the token",
        (false, true) => "this server asks for no token",
    };
    match bind.is_loopback() || insecure {
        true => Ok(()),
        false => Err(BallistaError::Configuration(format!(
            "--bind {bind} lets everyone who reaches this address run queries and read results, because {lack}: give a \
             token (--token-file) and certificates (--tls-ca, --tls-cert, --tls-key) to all servers and clients, keep \
             to 127.0.0.1, or write --insecure beside it in a network whose machines you trust"
        ))),
    }
}
