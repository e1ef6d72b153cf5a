//! Where a scheduler listens.

use datafusion::common::{DataFusionError, Result};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The longest time that a scheduler may take to say whether it has executors.
const ANSWER: Duration = Duration::from_secs(5);

/// A host and a port: `127.0.0.1:50050`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl FromStr for Address {
    type Err = std::io::Error;

    fn from_str(text: &str) -> std::io::Result<Address> {
        let parts = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        match parts.map(|(host, port)| (host, port.parse())) {
            Some((host, Ok(port))) => Ok(Address { host: host.to_owned(), port }),
            _ => Err(std::io::Error::new(
                std::io::ErrorKind::InvalidInput,
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
    /// Asks the scheduler whether it has an executor.
    ///
    /// # Errors
    /// Returns an error if the scheduler does not answer within 5 seconds.
    pub async fn has_executors(&self) -> Result<bool> {
        let answer = tokio::time::timeout(ANSWER, self.readiness()).await;
        let answer = answer.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
        answer.map_err(|error| {
            DataFusionError::Execution(format!(
                "the scheduler at {self} does not answer: {error}; start one with `broadloom-sql scheduler`"
            ))
        })
    }

    /// Schedulers answer one request of HTTP without a client library: 200 if they have executors, 503 if they have none.
    async fn readiness(&self) -> std::io::Result<bool> {
        let mut stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        let request = format!("GET /readyz HTTP/1.1\r\nHost: {self}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await?;
        match &head {
            b"HTTP/1.1 200" => Ok(true),
            b"HTTP/1.1 503" => Ok(false),
            _ => Err(std::io::Error::other("another program listens there")),
        }
    }
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
