//! Queries and servers, as the command line asks for them.

use crate::args::{ExecutorArgs, QueryArgs, SchedulerArgs};
use crate::failure::Failure;
use crate::planned::planned;
use crate::print;
use broadloom_sql::server::{self, Executor};
use broadloom_sql::{Output, Progress, Query, session};
use datafusion::common::DataFusionError;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::Write;
use std::process::ExitCode;

/// The exit code of a program that Ctrl-C ended, as shells report it.
const INTERRUPTED: u8 = 130;

pub(crate) async fn query(args: &QueryArgs) -> Result<ExitCode, Failure> {
    let context = match &args.cluster {
        Some(scheduler) => session::remote(scheduler)?,
        None => session::embedded()?,
    };
    for table in &args.tables {
        session::add_table(&context, &table.name, &table.path).await?;
    }
    let mut table = planned(&context, args.sql.as_deref().unwrap_or_default()).await?;
    if args.output.is_none() {
        // One row more than is printed shows that there are more.
        table = table.limit(0, Some(args.rows.saturating_add(1)))?;
    }
    let query = Query::new(table, args.cluster.clone()).await?;
    let schema = query.schema();
    let mut output = args.output.as_ref().map(|path| Output::create(path, &schema)).transpose()?;
    let mut batches = Vec::new();
    let bar = bar(args.quiet);
    let is_remote = args.cluster.is_some();
    let finished = query.run(
        interrupted(),
        |progress| bar.set_message(message(progress, is_remote)),
        |batch| match &mut output {
            Some(output) => output.write(&batch),
            None => {
                batches.push(batch);
                Ok(())
            }
        },
    );
    let finished = finished.await;
    bar.finish_and_clear();
    if !finished? {
        let _ = writeln!(std::io::stderr(), "cancelled");
        return Ok(ExitCode::from(INTERRUPTED));
    }
    match output {
        Some(output) => output.finish()?,
        None => print::table(&schema, &batches, args.rows)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A line on the terminal; nothing where standard error is not one.
fn bar(is_quiet: bool) -> ProgressBar {
    let target = if is_quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    ProgressBar::with_draw_target(None, target).with_style(ProgressStyle::default_spinner())
}

fn message(progress: Progress, is_remote: bool) -> String {
    let Progress { elapsed, rows, rows_read, stages } = progress;
    let seconds = elapsed.as_secs_f64();
    match is_remote {
        true => format!("{seconds:.1} s, stages finished: {stages}, rows of the result: {rows}"),
        false => format!("{seconds:.1} s, rows read: {rows_read}, rows of the result: {rows}"),
    }
}

/// Ready when the user or the system asks the program to end.
async fn interrupted() {
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
    // If no handler can be installed, signals end the program by default.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

pub(crate) async fn scheduler(args: &SchedulerArgs) -> Result<ExitCode, Failure> {
    let running = server::scheduler(args.bind, args.port, |address| {
        let _ = writeln!(std::io::stderr(), "scheduler listening on {address}");
    });
    tokio::select! {
        ended = running => ended.map_err(|error| DataFusionError::Execution(error.to_string()))?,
        () = interrupted() => {}
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn executor(args: &ExecutorArgs) -> Result<ExitCode, Failure> {
    let host = match &args.host {
        Some(host) => host.clone(),
        None if args.bind.is_unspecified() => {
            return Err(DataFusionError::Plan(format!(
                "others cannot reach an executor at {}: say its name with --host",
                args.bind
            ))
            .into());
        }
        None => args.bind.to_string(),
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let executor = Executor {
        scheduler: args.scheduler.clone(),
        bind: args.bind,
        host,
        port: args.port,
        threads: args.threads.map_or(processors, usize::from),
    };
    let running = executor.run(|| {
        let threads = executor.threads;
        let _ = writeln!(std::io::stderr(), "executor with {threads} threads serves {}", args.scheduler);
    });
    running.await.map_err(|error| DataFusionError::Execution(error.to_string()))?;
    Ok(ExitCode::SUCCESS)
}
