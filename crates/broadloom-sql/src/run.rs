//! Queries and servers, as the command line asks for them.

use crate::args::{Cli, CompletionsArgs, ExecutorArgs, ManArgs, QueryArgs, SchedulerArgs};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::planned::planned;
use crate::print::Printed;
use broadloom_sql::server::{Executor, Scheduler};
use broadloom_sql::{Folders, Memory, Output, Progress, Query, interrupted, session};
use bytesize::ByteSize;
use clap::CommandFactory;
use datafusion::common::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::Write;
use std::process::ExitCode;

/// The name of the program.
const NAME: &str = "broadloom-sql";

pub(crate) async fn query(args: &QueryArgs) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::watch();
    let context = match &args.cluster {
        Some(scheduler) => session::remote(scheduler)?,
        None => session::embedded(memory(args.memory))?,
    };
    for table in &args.tables {
        session::add_table(&context, &table.name, &table.path).await?;
    }
    let mut table =
        planned(&context, args.sql.as_deref().unwrap_or_default(), args.cluster.is_some()).await?;
    let is_explanation = matches!(table.logical_plan(), LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
    if args.output.is_none() && !is_explanation {
        // One row more than is printed shows that there are more. Engines explain whole queries only.
        table = table.limit(0, Some(args.rows.saturating_add(1)))?;
    }
    let query = Query::new(table, args.cluster.clone(), args.time_limit).await?;
    let schema = query.schema();
    let mut output = args.output.as_ref().map(|path| Output::create(path, &schema)).transpose()?;
    if let Some(output) = &output {
        interrupt.removes(output.partial());
    }
    let mut printed = Printed::new(&schema, args.rows);
    let bar = bar(args.quiet);
    let is_remote = args.cluster.is_some();
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
        insecure: args.insecure,
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
        scheduler: args.scheduler.clone(),
        bind: args.bind,
        host,
        port: args.port,
        threads: args.threads.map_or(processors, usize::from),
        memory: memory(args.memory),
        folders: Folders::reading(&args.allow_read)?.and_writing(&args.allow_write)?,
        time_limit: args.time_limit,
        work: args.work_dir.clone().unwrap_or_else(std::env::temp_dir),
        patience: args.retry_for,
        insecure: args.insecure,
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
