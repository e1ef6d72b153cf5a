//! Queries and servers, as the command line asks for them.

use crate::args::{
    AccessArgs, Cli, CompletionsArgs, ExecutorArgs, ManArgs, QueryArgs, SchedulerArgs, ServerAccessArgs,
};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::planned::planned;
use crate::print::Printed;
use broadloom_sql::server::{Executor, Scheduler};
use broadloom_sql::{Access, Certificates, Folders, Memory, Output, Progress, Query, interrupted, session};
use bytesize::ByteSize;
use clap::CommandFactory;
use datafusion::common::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// The name of the program.
const NAME: &str = "broadloom-sql";
/// The environment variable with the token of a cluster.
const TOKEN: &str = "BROADLOOM_SQL_TOKEN";

pub(crate) async fn query(args: &QueryArgs) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::watch();
    let cluster = match &args.cluster {
        Some(scheduler) => Some(scheduler.clone().with_access(access(&args.access, false)?)),
        None => None,
    };
    let context = match &cluster {
        Some(scheduler) => session::remote(scheduler)?,
        None => session::embedded(memory(args.memory))?,
    };
    for table in &args.tables {
        session::add_table(&context, &table.name, &table.path).await?;
    }
    let mut table = planned(&context, args.sql.as_deref().unwrap_or_default(), cluster.is_some()).await?;
    let is_explanation = matches!(table.logical_plan(), LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
    if args.output.is_none() && !is_explanation {
        // One row more than is printed shows that there are more. Engines explain whole queries only.
        table = table.limit(0, Some(args.rows.saturating_add(1)))?;
    }
    let is_remote = cluster.is_some();
    let query = Query::new(table, cluster, args.time_limit).await?;
    let schema = query.schema();
    let mut output = args.output.as_ref().map(|path| Output::create(path, &schema)).transpose()?;
    if let Some(output) = &output {
        interrupt.removes(output.partial());
    }
    let mut printed = Printed::new(&schema, args.rows);
    let bar = bar(args.quiet);
    let finished = query.run(
        interrupt.noticed(),
        |progress| bar.set_message(message(progress, is_remote)),
        |batch| match &mut output {
            Some(output) => output.write(&batch),
            None => printed.add(&batch),
        },
    );
    let finished = finished.await;
    bar.finish_and_clear();
    if !finished? {
        return Ok(interrupt.code());
    }
    match output {
        Some(output) => output.finish()?,
        None if is_explanation => printed.print_plans()?,
        None => printed.print()?,
    }
    Ok(ExitCode::SUCCESS)
}

fn memory(stated: Option<ByteSize>) -> Memory {
    stated.map_or_else(Memory::default, |size| Memory::of(size.as_u64()))
}

/// Reads what opens a cluster.
fn access(args: &AccessArgs, mutual: bool) -> Result<Access, Failure> {
    let read = |path: &Path| {
        std::fs::read(path)
            .map_err(|error| DataFusionError::Execution(format!("cannot read `{}`: {error}", path.display())))
    };
    let token = match &args.token_file {
        Some(path) => Some(String::from_utf8_lossy(&read(path)?).into_owned()),
        None => std::env::var_os(TOKEN).map(|token| token.to_string_lossy().into_owned()),
    };
    let mut access = Access::default();
    if let Some(token) = token {
        access = access.with_token(&token)?;
    }
    if let Some(authority) = &args.tls_ca {
        let own = match (&args.tls_cert, &args.tls_key) {
            (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
            _ => None,
        };
        access = access.with_certificates(Certificates { authority: read(authority)?, own, mutual })?;
    }
    Ok(access)
}

fn access_of_server(args: &ServerAccessArgs) -> Result<Access, Failure> {
    access(&args.access, args.mutual_tls)
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

/// Writes a line of a server. Nothing can be said if standard error is closed.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

pub(crate) async fn scheduler(args: &SchedulerArgs) -> Result<ExitCode, Failure> {
    let scheduler = Scheduler {
        bind: args.bind,
        port: args.port,
        folders: Folders::reading(&args.allow_read)?,
        access: access_of_server(&args.access)?,
        insecure: args.access.insecure,
    };
    let running = scheduler.run(|address| say(&format!("scheduler listening on {address}")), say);
    tokio::select! {
        ended = running => ended.map_err(Failure::of_server)?,
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
        scheduler: args.scheduler.clone().with_access(access_of_server(&args.access)?),
        bind: args.bind,
        host,
        port: args.port,
        threads: args.threads.map_or(processors, usize::from),
        memory: memory(args.memory),
        folders: Folders::reading(&args.allow_read)?.and_writing(&args.allow_write)?,
        time_limit: args.time_limit,
        work: args.work_dir.clone().unwrap_or_else(std::env::temp_dir),
        patience: args.retry_for,
        insecure: args.access.insecure,
    };
    let threads = executor.threads;
    let ready = || say(&format!("executor with {threads} threads serves {}", args.scheduler));
    executor.run(ready, say).await.map_err(Failure::of_server)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man(args: &ManArgs) -> Result<ExitCode, Failure> {
    std::fs::create_dir_all(&args.folder)?;
    clap_mangen::generate_to(Cli::command(), &args.folder)?;
    Ok(ExitCode::SUCCESS)
}
