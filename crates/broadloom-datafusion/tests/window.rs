//! Aggregates over windows, compared with DataFusion's own and with plain Rust.

mod common;

use broadloom_datafusion::TensorAggregate;
use broadloom_text::Program;
use common::{joined, planning_error, session};
use datafusion::arrow::array::{Array as _, ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::error::Result;
use datafusion::logical_expr::AggregateUDF;
use datafusion::prelude::*;

/// The rows of the table `w`, whose sums are exact: t, x, y and k. Every seventh x is null.
const TABLE: &str = "SELECT value AS t, value % 3 AS k, (value % 13) * 1.0 AS y,
    CASE WHEN value % 7 = 6 THEN NULL ELSE (value * 37 % 101) * 0.25 END AS x FROM generate_series(0, 199)";

fn x(t: i64) -> Option<f64> {
    (t % 7 != 6).then_some((t * 37 % 101) as f64 * 0.25)
}

async fn windowed() -> Result<SessionContext> {
    let context = session()?;
    context.register_table("w", context.sql(TABLE).await?.into_view())?;
    Ok(context)
}

async fn floats(context: &SessionContext, sql: &str, index: usize) -> Result<ArrayRef> {
    let batches = context.sql(sql).await?.collect().await?;
    Ok(cast(&joined(batches, index)?, &DataType::Float64)?)
}

#[tokio::test]
async fn frames_of_every_kind() -> Result<()> {
    let context = windowed().await?;
    for over in [
        "()",
        "(PARTITION BY k)",
        "(ORDER BY t)",
        "(PARTITION BY k ORDER BY t)",
        "(PARTITION BY k ORDER BY t DESC)",
        "(ORDER BY y)",
        "(ORDER BY t ROWS BETWEEN 4 PRECEDING AND CURRENT ROW)",
        "(ORDER BY t ROWS BETWEEN 2 PRECEDING AND 3 FOLLOWING)",
        "(PARTITION BY k ORDER BY t ROWS BETWEEN 1 FOLLOWING AND 5 FOLLOWING)",
        "(PARTITION BY k ORDER BY t ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)",
        "(ORDER BY t ROWS BETWEEN UNBOUNDED PRECEDING AND 3 PRECEDING)",
        "(ORDER BY y RANGE BETWEEN 2 PRECEDING AND 1 FOLLOWING)",
        // Empty frames lie between others.
        "(PARTITION BY k ORDER BY t RANGE BETWEEN 1 PRECEDING AND 1 PRECEDING)",
        "(ORDER BY y GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
        // Frames of nothing but nulls.
        "(PARTITION BY t % 7 ORDER BY t ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)",
    ] {
        for (ours, own) in [
            ("broadloom_agg('sum(x * y)', x, y)", "sum(x * y)"),
            ("broadloom_agg('mean(x)', x)", "avg(x)"),
            ("broadloom_agg('max(x)', x)", "max(x)"),
            ("broadloom_agg('min(a + b)', y, x)", "min(x + y)"),
            ("broadloom_agg('sum(x - y)', y, x)", "sum(x - y)"),
            ("broadloom_agg('sum(a - b)', x + y, y)", "sum(x)"),
            ("broadloom_agg('sum(x)', x) FILTER (WHERE y > 5)", "sum(x) FILTER (WHERE y > 5)"),
        ] {
            let sql = format!("SELECT t, {ours} OVER {over} AS a, {own} OVER {over} AS b FROM w ORDER BY t");
            let [found, own] = [floats(&context, &sql, 1).await?, floats(&context, &sql, 2).await?];
            assert_eq!(found.len(), 200, "{sql}");
            assert_eq!(&found, &own, "{sql}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn what_keeps_its_rows_and_what_has_centred_sums() -> Result<()> {
    let context = windowed().await?;
    let rows = |t: i64| (t - 4).max(0)..t + 1;
    let median = |t: i64| {
        let mut values: Vec<f64> = rows(t).filter_map(x).collect();
        values.sort_by(f64::total_cmp);
        let half = values.len() / 2;
        if values.len() % 2 == 1 { values[half] } else { (values[half - 1] + values[half]) / 2.0 }
    };
    let deviation = |t: i64| {
        let values: Vec<f64> = rows(t).filter_map(x).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / values.len() as f64).sqrt()
    };
    let sql =
        "SELECT t, broadloom_agg('median(x)', x) OVER five AS a, broadloom_agg('std(x)', x) OVER five AS b
        FROM w WINDOW five AS (ORDER BY t ROWS 4 PRECEDING) ORDER BY t";
    let [medians, deviations] = [floats(&context, sql, 1).await?, floats(&context, sql, 2).await?];
    for t in 0..200 {
        assert_eq!(medians.as_primitive::<Float64Type>().value(t as usize), median(t), "{t}");
        let found = deviations.as_primitive::<Float64Type>().value(t as usize);
        assert!((found - deviation(t)).abs() <= 1e-12 * deviation(t).max(1.0), "{t}: {found}");
    }
    Ok(())
}

#[tokio::test]
async fn lists_and_programs() -> Result<()> {
    let context = windowed().await?;
    // Lists of one element stay lists.
    let sql = "SELECT broadloom_agg('sum(v, axis=0)', v) OVER (ORDER BY t ROWS 1 PRECEDING) AS s FROM
        (SELECT t, broadloom('t[:, None] * 1.0', t) AS v FROM w) ORDER BY t";
    let found = joined(context.sql(sql).await?.collect().await?, 0)?;
    let found = found.as_fixed_size_list().values().as_primitive::<Float64Type>().clone();
    let expected: Vec<f64> = (0..200).map(|t| f64::from(t + (t - 1).max(0))).collect();
    assert_eq!(found.values().as_ref(), expected);

    let text = "input x: f64[n]; output least = min(x); output most = max(x)";
    let program = Program::parse("span", text).and_then(|program| program.resolve()).unwrap();
    context.register_udaf(AggregateUDF::from(TensorAggregate::new("span", &program)?));
    let sql = "SELECT get_field(span(y), 'most') - get_field(span(y), 'least') AS a FROM w";
    assert_eq!(floats(&context, sql, 0).await?.as_primitive::<Float64Type>().value(0), 12.0);
    let sql = "SELECT get_field(s, 'most') - get_field(s, 'least') AS a FROM
        (SELECT t, span(t) OVER (ORDER BY t ROWS 2 PRECEDING) AS s FROM w) ORDER BY t";
    let found = floats(&context, sql, 0).await?;
    assert_eq!(&found.as_primitive::<Float64Type>().values()[..4], [0.0, 1.0, 2.0, 2.0]);
    Ok(())
}

#[tokio::test]
async fn mistakes_are_planning_errors() -> Result<()> {
    let context = windowed().await?;
    for (sql, parts) in [
        ("broadloom_agg('x + 1', x) OVER ()", vec!["`add` cannot be part of an aggregate", "axis=0"]),
        ("broadloom_agg('mean(z)', x, y) OVER ()", vec!["has the name `z`", "2 columns were passed"]),
        ("broadloom_agg('meen(x)', x) OVER ()", vec!["unknown function `meen`", "expression:1:1"]),
        ("broadloom_agg(DISTINCT 'mean(x)', x) OVER ()", vec!["does not take DISTINCT", "subquery"]),
        ("broadloom_agg('mean(x)', x) IGNORE NULLS OVER ()", vec!["leaves out rows with a null"]),
        ("broadloom_agg(x) OVER ()", vec!["expression in quotes", "broadloom_agg('"]),
    ] {
        let message = planning_error(&context, &format!("SELECT {sql} FROM w")).await;
        for part in parts {
            assert!(message.contains(part), "{sql}: {part} in {message}");
        }
        assert!(!message.contains("register"), "{message}");
    }
    Ok(())
}

#[tokio::test]
async fn explain_shows_the_expression() -> Result<()> {
    let context = windowed().await?;
    let sql = "EXPLAIN SELECT broadloom_agg('mean(x)', x) OVER (ORDER BY t) FROM w";
    let plans = joined(context.sql(sql).await?.collect().await?, 1)?;
    for plan in plans.as_string::<i32>().iter().flatten() {
        assert!(plan.contains("mean(x)"), "{plan}");
    }
    Ok(())
}
