//! Connections of servers: those that stay silent are closed, so that they do not keep others out.

use super::Say;
use axum::serve::Listener;
use std::io::{self, Error, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};

/// The time in which a new connection has to say something.
const SILENT: Duration = Duration::from_secs(5);
/// The time in which one has to say something again. Those of Ballista send a sign of life every five minutes.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// The time between two attempts to take a connection, after one that failed.
const PAUSE: Duration = Duration::from_millis(200);
/// The time between two lines about connections that fail.
const COMPLAINT: Duration = Duration::from_secs(60);

/// A listener that closes silent connections, and says when it cannot take any.
pub(super) struct Door {
    listener: TcpListener,
    /// What the server is, for lines of its log.
    server: &'static str,
    say: Say,
    said: Option<Instant>,
}

impl Door {
    pub(super) fn new(listener: TcpListener, server: &'static str, say: Say) -> Door {
        Door { listener, server, say, said: None }
    }
}

impl Listener for Door {
    type Io = Guest;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guest, SocketAddr) {
        loop {
            let error = match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Small messages go at once. A connection that does not take the option works without it.
                    let _ = stream.set_nodelay(true);
                    return (Guest { stream, silence: Box::pin(tokio::time::sleep(SILENT)) }, address);
                }
                Err(error) => error,
            };
            // These are of one connection, which is gone.
            if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) {
                continue;
            }
            if self.said.is_none_or(|said| said.elapsed() > COMPLAINT) {
                self.said = Some(Instant::now());
                (self.say)(&format!("{}: no more connections can be taken: {error}", self.server));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection.
pub(super) struct Guest {
    stream: TcpStream,
    /// Ends when it has been silent for too long.
    silence: Pin<Box<Sleep>>,
}

impl AsyncRead for Guest {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let guest = self.get_mut();
        if guest.silence.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the connection said nothing")));
        }
        ready!(Pin::new(&mut guest.stream).poll_read(context, buffer))?;
        guest.silence.as_mut().reset(Instant::now() + IDLE);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Guest {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
