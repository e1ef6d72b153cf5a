//! Where a scheduler listens, and what opens it.

use crate::Access;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use datafusion::common::{DataFusionError, Result};
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::str::FromStr;
use std::time::Duration;
use tonic::body::Body;
use tonic::client::GrpcService;
use tonic::transport::Channel;

/// The longest time that a scheduler may take to say whether it has executors.
const ANSWER: Duration = Duration::from_secs(5);

/// A host and a port, `127.0.0.1:50050`, and what opens the server there.
#[derive(Debug, Clone)]
pub struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) access: Access,
}

impl FromStr for Address {
    type Err = std::io::Error;

    fn from_str(text: &str) -> std::io::Result<Address> {
        let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        match parts.map(|(host, port)| (host, port.parse())) {
            Some((host, Ok(port))) => Ok(Address { host: host.to_owned(), port, access: Access::default() }),
            _ => Err(std::io::Error::new(
                ErrorKind::InvalidInput,
                format!("`{text}` is not an address: write a host and a port, like 127.0.0.1:50050"),
            )),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Address {
    /// Returns the same address with what opens it.
    pub fn with_access(self, access: Access) -> Address {
        Address { access, ..self }
    }

    /// Asks the scheduler whether it has an executor.
    ///
    /// # Errors
    /// Returns an error if the scheduler does not answer within 5 seconds. One that asks for another token is an error of
    /// planning, because no later attempt succeeds.
    pub async fn has_executors(&self) -> Result<bool> {
        let answer = async {
            let mut channel = self.connect().await?;
            ask(&mut channel, "/readyz", HeaderMap::new()).await
        };
        let answer = tokio::time::timeout(ANSWER, answer).await;
        let answer = answer.unwrap_or_else(|_| Err(std::io::Error::from(ErrorKind::TimedOut).into()));
        match answer.map(|answer| answer.status()) {
            Ok(StatusCode::OK) => Ok(true),
            Ok(StatusCode::SERVICE_UNAVAILABLE) => Ok(false),
            Ok(StatusCode::UNAUTHORIZED) => {
                Err(DataFusionError::Plan(format!("{self}: {}", self.access.refusal())))
            }
            Ok(_) => Err(self.silent("another program listens there")),
            Err(error) => Err(self.silent(&self.reason(error.as_ref()))),
        }
    }

    fn silent(&self, reason: &str) -> DataFusionError {
        DataFusionError::Execution(format!("the scheduler at {self} does not answer: {reason}"))
    }

    /// Returns why a connection failed, and what to do.
    fn reason(&self, error: &(dyn Error + 'static)) -> String {
        let mut cause = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        let kind = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let help = match (kind, self.access.has_tls()) {
            (Some(ErrorKind::ConnectionRefused | ErrorKind::TimedOut), _) => {
                "start one with `broadloom-sql scheduler`"
            }
            (_, true) => {
                "look whether it was started with --tls-cert, whether the file of --tls-ca signed its certificate, \
                 and, if it has --mutual-tls, give --tls-cert and --tls-key"
            }
            (_, false) => {
                "look whether it is a scheduler; one that was started with --tls-cert needs --tls-ca here"
            }
        };
        format!("{cause}; {help}")
    }

    /// Connects to the server.
    pub(crate) async fn connect(&self) -> Result<Channel, Box<dyn Error + Send + Sync>> {
        Ok(self.access.endpoint(&self.host, self.port)?.connect().await?)
    }

    /// Returns the address as Ballista takes it.
    pub(crate) fn url(&self) -> String {
        format!("{}://{self}", self.access.scheme())
    }
}

/// Asks a scheduler what is no procedure of Ballista's.
pub(crate) async fn ask(
    channel: &mut Channel,
    path: &'static str,
    headers: HeaderMap,
) -> Result<Response<Body>, Box<dyn Error + Send + Sync>> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = path.parse()?;
    *request.headers_mut() = headers;
    poll_fn(|context| GrpcService::<Body>::poll_ready(channel, context)).await?;
    Ok(GrpcService::call(channel, request).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_a_host_and_a_port() {
        let address: Address = "localhost:50050".parse().unwrap();
        assert_eq!((address.host.as_str(), address.port), ("localhost", 50050));
        for wrong in ["", "localhost", ":1", "localhost:", "localhost:65536", "50050"] {
            let error = wrong.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains("like 127.0.0.1:50050"), "{error}");
        }
    }
}
