//! Sessions, and tables from files.

use crate::codec::{LogicalCodec, PhysicalCodec};
use crate::explained::Planner;
use crate::{Access, Address, Format, MESSAGE_BYTES, Memory};
use ballista_core::config::BALLISTA_CLIENT_PULL;
use ballista_core::extension::{SessionConfigExt, SessionStateExt};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Column, DataFusionError, Result, TableReference, exec_err, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{Expr, cast, lit, when};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use futures::FutureExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Words for nothing in columns of numbers of CSV, as in the program `broadloom`; `nan` is a number here.
const MISSING: [&str; 6] = ["", "NA", "N/A", "null", "NULL", "None"];

/// Makes a session that computes in this process, with a bound on its memory.
///
/// # Errors
/// Returns an error if the functions cannot be registered.
pub fn embedded(memory: Memory) -> Result<SessionContext> {
    let builder = SessionStateBuilder::new().with_default_features().with_runtime_env(memory.runtime()?);
    with_functions(builder.with_config(SessionConfig::new().with_information_schema(true)).build())
}

/// Makes a session that computes on a cluster. The first query connects to it.
///
/// # Errors
/// Returns an error if the functions cannot be registered.
pub fn remote(scheduler: &Address) -> Result<SessionContext> {
    remote_with_codec(scheduler, Arc::new(LogicalCodec::default()))
}

/// Makes a session that computes on a cluster, and sends plans through a codec that wraps [`LogicalCodec`] for functions
/// and tables of one's own. The servers of the cluster must know them too.
///
/// # Errors
/// Returns an error if the functions cannot be registered.
pub fn remote_with_codec(
    scheduler: &Address,
    codec: Arc<dyn LogicalExtensionCodec>,
) -> Result<SessionContext> {
    // A client that is told when the job ends learns its name only then, and could not cancel it; one that asks knows it
    // from the beginning.
    let config = cluster_config(&scheduler.access)
        .with_ballista_logical_extension_codec(codec)
        .set_bool(BALLISTA_CLIENT_PULL, true);
    let config = config.with_information_schema(true);
    let state: SessionState = SessionStateBuilder::new().with_default_features().with_config(config).build();
    with_functions(state.upgrade_for_ballista(scheduler.url())?)
}

/// Functions are registered last, because a session that is made for a cluster replaces those that it has.
fn with_functions(state: SessionState) -> Result<SessionContext> {
    let planner = Arc::new(Planner(state.query_planner().clone()));
    let state = SessionStateBuilder::new_from_existing(state).with_query_planner(planner).build();
    let mut context = SessionContext::new_with_state(state);
    broadloom_datafusion::register(&mut context)?;
    Ok(context)
}

/// The configuration of sessions on a cluster, which all of its processes share.
pub(crate) fn cluster_config(access: &Access) -> SessionConfig {
    SessionConfig::new_with_ballista()
        .with_ballista_use_tls(access.has_tls())
        .with_ballista_override_create_grpc_client_endpoint(access.endpoints())
        .with_ballista_grpc_client_max_message_size(MESSAGE_BYTES)
        .with_ballista_logical_extension_codec(Arc::new(LogicalCodec::default()))
        .with_ballista_physical_extension_codec(Arc::new(PhysicalCodec::default()))
}

/// Adds a table from a file, or from all files of one format in a directory. On a cluster, every executor reads the
/// files under this absolute path.
///
/// # Errors
/// Returns an error if the path does not exist, its format is not known, or its schema cannot be read.
pub async fn add_table(context: &SessionContext, name: &str, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let example = example_of(path)?;
    let extension = example.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let format: Arc<dyn FileFormat> = match Format::of(&example)? {
        // The metadata of fields say which lists are tensors.
        Format::Parquet => Arc::new(ParquetFormat::default().with_skip_metadata(false)),
        Format::Csv => Arc::new(CsvFormat::default().with_has_header(true)),
        Format::Ipc => Arc::new(ArrowFormat),
    };
    let absolute = std::fs::canonicalize(path)?;
    let Some(absolute) = absolute.to_str() else {
        return plan_err!("the path `{}` is not valid UTF-8: rename it", path.display());
    };
    let slash = if path.is_dir() { "/" } else { "" };
    let url = ListingTableUrl::parse(format!("{absolute}{slash}"))?;
    let state = context.state();
    let options = ListingOptions::new(format).with_file_extension(format!(".{extension}"));
    let files = if path.is_dir() { files_of(path)? } else { vec![path.to_owned()] };
    check_not_empty(&files, &example)?;
    let schema = match schema_of(&options, &state, &url).await {
        Ok(schema) => schema,
        Err(error) => return Err(damaged(&state, &options, path, &files, &error).await),
    };
    let typed = match Format::of(&example)? {
        Format::Csv => {
            let words = format!("^({})$", MISSING.join("|"));
            let numbers = CsvFormat::default().with_has_header(true).with_null_regex(Some(words));
            let options = ListingOptions::new(Arc::new(numbers)).with_file_extension(format!(".{extension}"));
            schema_of(&options, &state, &url).await.map_err(|error| unreadable(path, &error))?
        }
        Format::Parquet | Format::Ipc => schema.clone(),
    };
    let texts = schema.clone();
    let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
    let table: Arc<dyn TableProvider> = Arc::new(ListingTable::try_new(config)?);
    let table = if typed == texts { table } else { with_numbers(context, table, &texts, &typed)? };
    // A bare reference keeps the case of the name, and dots in it.
    context.register_table(TableReference::bare(name), table)?;
    Ok(())
}

/// Returns the schema of files. What reads them panics at some that are damaged.
async fn schema_of(
    options: &ListingOptions,
    state: &SessionState,
    url: &ListingTableUrl,
) -> Result<SchemaRef> {
    let schema = AssertUnwindSafe(options.infer_schema(state, url)).catch_unwind().await;
    schema.unwrap_or_else(|_| exec_err!("its header or footer is damaged"))
}

/// Returns a view of a table of CSV in which columns of numbers and words for nothing are numbers and nulls. The engine finds such
/// columns, but its reader takes the words for damaged numbers.
fn with_numbers(
    context: &SessionContext,
    table: Arc<dyn TableProvider>,
    texts: &SchemaRef,
    typed: &SchemaRef,
) -> Result<Arc<dyn TableProvider>> {
    let columns = texts.fields().iter().zip(typed.fields()).map(|(text, field)| {
        let column = Expr::Column(Column::from_name(text.name()));
        if text.data_type() == field.data_type() {
            return Ok(column);
        }
        let words = MISSING.iter().map(|word| lit(*word)).collect();
        let number = when(column.clone().in_list(words, true), column).end()?;
        Ok(cast(number, field.data_type().clone()).alias(text.name()))
    });
    Ok(context.read_table(table)?.select(columns.collect::<Result<Vec<Expr>>>()?)?.into_view())
}

/// Refuses files that end before they begin. A table without rows has a header or a footer.
fn check_not_empty(files: &[PathBuf], example: &Path) -> Result<()> {
    let is_text = Format::of(example)? == Format::Csv;
    for file in files.iter().filter(|_| !is_text) {
        if std::fs::metadata(file)?.len() == 0 {
            return exec_err!(
                "cannot read `{}`: it has 0 bytes, but even a table without rows has a footer; write it again or remove it",
                file.display()
            );
        }
    }
    Ok(())
}

/// Returns the error of the first file that cannot be read by itself, or else of all together.
async fn damaged(
    state: &SessionState,
    options: &ListingOptions,
    path: &Path,
    files: &[PathBuf],
    error: &DataFusionError,
) -> DataFusionError {
    for file in files {
        let url = file.to_str().and_then(|file| ListingTableUrl::parse(file).ok());
        if let Some(url) = url
            && let Err(error) = schema_of(options, state, &url).await
        {
            return unreadable(file, &error);
        }
    }
    unreadable(path, error)
}

fn unreadable(path: &Path, error: &DataFusionError) -> DataFusionError {
    DataFusionError::Execution(format!("cannot read `{}`: {error}", path.display()))
}

/// Returns a path that tells the format: of a directory, its first file.
fn example_of(path: &Path) -> Result<PathBuf> {
    if !path.exists() {
        return plan_err!("there is no file or directory `{}`", path.display());
    }
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let files = files_of(path)?;
    let Some(first) = files.first() else {
        return plan_err!("the directory `{}` has no .parquet, .csv or .arrow file", path.display());
    };
    if let Some(other) = files.iter().find(|file| file.extension() != first.extension()) {
        return plan_err!(
            "the directory `{}` has files of several formats, `{}` and `{}`: keep each in a directory of its own",
            path.display(),
            first.display(),
            other.display()
        );
    }
    Ok(first.clone())
}

/// Returns the files of a directory whose format is known.
fn files_of(directory: &Path) -> Result<Vec<PathBuf>> {
    let files = std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut files: Vec<PathBuf> = files.collect::<Result<_>>()?;
    files.retain(|file| Format::of(file).is_ok());
    files.sort();
    Ok(files)
}
