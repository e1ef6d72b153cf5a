//! Planning a query that names tables as the command line does.

use broadloom_sql::{check_statement, check_text};
use datafusion::common::{DataFusionError, Result, TableReference, plan_datafusion_err, plan_err};
use datafusion::datasource::file_format::csv::{CsvFormat, CsvFormatFactory};
use datafusion::datasource::file_format::{file_type_to_format, format_as_file_type};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::logical_expr::dml::CopyTo;
use datafusion::prelude::{DataFrame, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use std::collections::HashMap;
use std::sync::Arc;

/// Plans a query. If it reads a table that is not there, the error says how to name its file.
pub(crate) async fn planned(context: &SessionContext, sql: &str, is_remote: bool) -> Result<DataFrame> {
    check_text(sql)?;
    let state = context.state();
    let statement = state.sql_to_statement(sql, &state.config_options().sql_parser.dialect)?;
    check_statement(&statement)?;
    if let Statement::Statement(shown) = &statement
        && matches!(**shown, ast::Statement::ShowTables { .. })
    {
        if statement.to_string() != "SHOW TABLES" {
            return plan_err!("`{statement}` is not supported: write SHOW TABLES, which lists all tables");
        }
        return context.sql(&names_of_tables(&state)).await;
    }
    match context.sql(sql).await {
        Ok(table) if is_remote => {
            let (state, plan) = table.into_parts();
            let plan = with_options(&state, plan)?;
            Ok(DataFrame::new(state, plan))
        }
        Ok(table) => Ok(table),
        // A query that cannot be parsed names no tables.
        Err(error) => Err(unknown_table(context, sql).unwrap_or(None).unwrap_or(error)),
    }
}

/// Returns a query for the tables of the command line. The engine would list those that describe its catalog too.
fn names_of_tables(state: &SessionState) -> String {
    let schema = state.config_options().catalog.default_schema.replace('\'', "''");
    format!(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}' ORDER BY table_name"
    )
}

/// Puts the options of `COPY` into its format, because plans for a cluster leave them out (`LogicalPlanType::CopyTo` of
/// datafusion-proto 55.2).
fn with_options(state: &SessionState, plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Copy(copy) = &plan else { return Ok(plan) };
    if copy.options.is_empty() {
        return Ok(plan);
    }
    let format = file_type_to_format(&copy.file_type)?.create(state, &copy.options)?;
    let Some(csv) = format.downcast_ref::<CsvFormat>() else {
        return plan_err!(
            "a cluster takes OPTIONS of COPY for CSV only: leave them out, or run the query in one process"
        );
    };
    let format = CsvFormatFactory::new_with_options(csv.options().clone());
    Ok(LogicalPlan::Copy(CopyTo::new(
        copy.input.clone(),
        copy.output_url.clone(),
        copy.partition_by.clone(),
        format_as_file_type(Arc::new(format)),
        HashMap::new(),
    )))
}

/// Returns the error of the first table that is not there.
fn unknown_table(context: &SessionContext, sql: &str) -> Result<Option<DataFusionError>> {
    let state = context.state();
    let statement = state.sql_to_statement(sql, &state.config_options().sql_parser.dialect)?;
    for reference in state.resolve_table_references(&statement)? {
        if let TableReference::Bare { table } = &reference
            && !context.table_exist(reference.clone())?
        {
            return Ok(Some(named(table, known(context))));
        }
    }
    Ok(None)
}

/// Returns the names of the tables from files.
fn known(context: &SessionContext) -> Vec<String> {
    let state = context.state();
    let default = &state.config_options().catalog;
    let catalog = context.catalog(&default.default_catalog);
    let schema = catalog.and_then(|catalog| catalog.schema(&default.default_schema));
    let mut names = schema.map_or(Vec::new(), |schema| schema.table_names());
    names.sort();
    names
}

fn named(table: &str, known: Vec<String>) -> DataFusionError {
    if let Some(name) = known.iter().find(|name| name.eq_ignore_ascii_case(table)) {
        return plan_datafusion_err!(
            "there is no table `{table}`: SQL reads a name without quotes in lower case; write \"{name}\""
        );
    }
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let known = if known.is_empty() { String::new() } else { format!("; there is {}", known.join(", ")) };
    plan_datafusion_err!(
        "there is no table `{table}`{known}: name its file after the query, like {table}={table}.parquet"
    )
}
