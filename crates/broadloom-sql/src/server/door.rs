//! Connections of a scheduler: those that stay silent are closed, so that they do not keep others out.

use axum::serve::Listener;
use std::io::{self, Error, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Sleep;

/// The time in which a connection has to say something. Its requests have times of their own.
const SILENT: Duration = Duration::from_secs(5);
/// The time between two attempts to take a connection, after one that failed.
const PAUSE: Duration = Duration::from_millis(200);
/// The time between two lines about connections that fail.
const COMPLAINT: Duration = Duration::from_secs(60);

/// A listener that closes silent connections, and says when it cannot take any.
pub(super) struct Door<S> {
    listener: TcpListener,
    say: S,
    said: Option<Instant>,
}

impl<S> Door<S> {
    pub(super) fn new(listener: TcpListener, say: S) -> Door<S> {
        Door { listener, say, said: None }
    }
}

impl<S: FnMut(&str) + Send + 'static> Listener for Door<S> {
    type Io = Guest;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guest, SocketAddr) {
        loop {
            let error = match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Small messages go at once. A connection that does not take the option works without it.
                    let _ = stream.set_nodelay(true);
                    return (Guest { stream, silent: Some(Box::pin(tokio::time::sleep(SILENT))) }, address);
                }
                Err(error) => error,
            };
            // These are of one connection, which is gone.
            if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) {
                continue;
            }
            if self.said.is_none_or(|said| said.elapsed() > COMPLAINT) {
                self.said = Some(Instant::now());
                (self.say)(&format!("scheduler: no more connections can be taken: {error}"));
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
    /// Runs until the first bytes.
    silent: Option<Pin<Box<Sleep>>>,
}

impl AsyncRead for Guest {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let guest = self.get_mut();
        if let Some(silent) = &mut guest.silent
            && silent.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the connection said nothing")));
        }
        ready!(Pin::new(&mut guest.stream).poll_read(context, buffer))?;
        guest.silent = None;
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
