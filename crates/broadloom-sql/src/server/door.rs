//! The door of a server: it lets in who has the token and the certificates of the cluster, and closes connections that stay
//! silent, so that they do not keep others out.

use super::Say;
use crate::Access;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use ballista_core::error::{BallistaError, Result};
use futures::stream;
use std::error::Error as _;
use std::io::{self, Error, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep};
use tonic::Status;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::{Connected, TlsConnectInfo};

/// The time in which a new connection has to say something, and to agree on keys.
const SILENT: Duration = Duration::from_secs(5);
/// The time in which one that has said something has to send a request that is let in.
const STRANGE: Duration = Duration::from_secs(30);
/// The time in which one of them has to say something again. Those of Ballista send a sign of life every five minutes.
const IDLE: Duration = Duration::from_secs(15 * 60);
/// The time between two attempts to take a connection, after one that failed.
const PAUSE: Duration = Duration::from_millis(200);
/// The time between two lines about connections that fail.
const COMPLAINT: Duration = Duration::from_secs(60);

/// What a server needs to be reached.
pub(super) struct Door {
    pub(super) listener: TcpListener,
    /// What the server is, for lines of its log.
    pub(super) server: &'static str,
    pub(super) access: Access,
    pub(super) say: Say,
}

impl Door {
    /// Serves those who are let in, without end.
    ///
    /// # Errors
    /// Returns an error if the certificates cannot be used.
    pub(super) async fn serve(self, routes: Router) -> Result<()> {
        let mut server = Server::builder().accept_http1(true);
        if let Some(tls) = self.access.of_server()? {
            server = server.tls_config(tls.timeout(SILENT)).map_err(|error| {
                let reason = error.source().map(ToString::to_string).unwrap_or_default();
                BallistaError::Configuration(format!(
                    "cannot use the files of --tls-cert and --tls-key: {reason}"
                ))
            })?;
        }
        let routes = routes.layer(from_fn_with_state(self.access.clone(), check));
        let guests = stream::unfold((self, None), async |(door, mut said)| {
            let guest = door.guest(&mut said).await;
            Some((io::Result::Ok(guest), (door, said)))
        });
        Ok(server.add_routes(Routes::from(routes)).serve_with_incoming(Box::pin(guests)).await?)
    }

    /// Returns the next connection, and says when none can be taken.
    async fn guest(&self, said: &mut Option<Instant>) -> Guest {
        loop {
            let error = match self.listener.accept().await {
                Ok((stream, _)) => {
                    // Small messages go at once. A connection that does not take the option works without it.
                    let _ = stream.set_nodelay(true);
                    let silence = Box::pin(tokio::time::sleep(SILENT));
                    return Guest {
                        stream,
                        since: Instant::now(),
                        heard: None,
                        admission: Admission::default(),
                        silence,
                    };
                }
                Err(error) => error,
            };
            // These are of one connection, which is gone.
            if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) {
                continue;
            }
            if said.is_none_or(|said| said.elapsed() > COMPLAINT) {
                *said = Some(Instant::now());
                (self.say)(&format!("{}: no more connections can be taken: {error}", self.server));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Refuses requests without the token, before anything of them is read.
async fn check(State(access): State<Access>, request: Request, next: Next) -> Response {
    match access.check(request.headers()) {
        Ok(()) => {
            let extensions = request.extensions();
            let of_tls = extensions.get::<TlsConnectInfo<Admission>>().map(TlsConnectInfo::get_ref);
            if let Some(admission) = extensions.get::<Admission>().or(of_tls) {
                admission.0.store(true, Ordering::Relaxed);
            }
            next.run(request).await
        }
        Err(reason) => {
            let mut refused = Status::unauthenticated(reason).into_http::<Body>();
            *refused.status_mut() = StatusCode::UNAUTHORIZED;
            refused
        }
    }
}

/// Whether a request of a connection was let in.
#[derive(Debug, Clone, Default)]
pub(super) struct Admission(Arc<AtomicBool>);

/// A connection.
pub(super) struct Guest {
    stream: TcpStream,
    since: Instant,
    /// When it has last said something.
    heard: Option<Instant>,
    admission: Admission,
    /// Ends when it has been silent for too long.
    silence: Pin<Box<Sleep>>,
}

impl Guest {
    /// When it is closed if it says nothing more.
    fn end(&self) -> Instant {
        match self.heard {
            None => self.since + SILENT,
            Some(heard) if self.admission.0.load(Ordering::Relaxed) => heard + IDLE,
            Some(_) => self.since + STRANGE,
        }
    }
}

impl Connected for Guest {
    type ConnectInfo = Admission;

    fn connect_info(&self) -> Admission {
        self.admission.clone()
    }
}

impl AsyncRead for Guest {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let guest = self.get_mut();
        while guest.silence.as_mut().poll(context).is_ready() {
            // It may have been let in since the time was set.
            let end = guest.end();
            if end <= Instant::now() {
                return Poll::Ready(Err(Error::new(ErrorKind::TimedOut, "the connection said nothing")));
            }
            guest.silence.as_mut().reset(end);
        }
        ready!(Pin::new(&mut guest.stream).poll_read(context, buffer))?;
        guest.heard = Some(Instant::now());
        let end = guest.end();
        guest.silence.as_mut().reset(end);
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
