//! The processes of a cluster: one scheduler, and executors on any machines that read the same files.

mod door;
mod executor;
mod results;
mod scheduler;
mod work;

pub use executor::Executor;
pub use scheduler::Scheduler;

use ballista_core::error::{BallistaError, Result};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// The time between two signs of life of an executor.
const HEARTBEAT_SECONDS: u64 = 2;
/// The silence after which an executor is lost, and its tasks move to another one.
const LOST_SECONDS: u64 = 12;
/// The time that a cluster without executors waits for one, before its queries fail. Together with [`LOST_SECONDS`] and
/// one heartbeat it is below 30 seconds, which is promised to users.
const GRACE_SECONDS: u64 = 12;
/// The time for which a scheduler knows a job that ended, for clients that ask about it.
const JOB_STATE_SECONDS: u64 = 60;
/// The time for which executors keep the result of a job that no client took and cleared.
const JOB_DATA_SECONDS: u64 = 3600;

/// The time between two looks at whether something has changed.
const POLL: Duration = Duration::from_millis(50);

/// What writes the lines of a server's log.
type Say = Arc<dyn Fn(&str) + Send + Sync>;

fn taken(bind: IpAddr, port: u16, error: &std::io::Error) -> BallistaError {
    BallistaError::Configuration(format!("cannot listen on {bind}:{port}: {error}; choose another --port"))
}

/// Refuses to let other machines in, unless the user says that this is meant.
fn check_bind(bind: IpAddr, insecure: bool) -> Result<()> {
    match bind.is_loopback() || insecure {
        true => Ok(()),
        false => Err(BallistaError::Configuration(format!(
            "--bind {bind} lets everyone who reaches this address run queries and read results, because servers have \
             neither passwords nor encryption: keep to 127.0.0.1, or write --insecure beside it in a network whose \
             machines you trust"
        ))),
    }
}
