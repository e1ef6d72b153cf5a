//! Signals that ask the process to end.

/// Ready when the user or the system asks the process to end: after Ctrl-C, or by SIGTERM.
pub async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // If no handler can be installed, signals end the process by default.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
