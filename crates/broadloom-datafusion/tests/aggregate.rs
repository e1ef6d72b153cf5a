//! Aggregates in SQL and in the DataFrame API, compared with plain Rust and with DataFusion's own.

mod common;

use broadloom_datafusion::TensorAggregate;
use broadloom_text::Program;
use common::{ROWS, column, joined, planning_error, row, session};
use datafusion::arrow::array::{Array as _, AsArray};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::AggregateUDF;
use datafusion::prelude::*;

/// Sums add in another order for each partition.
fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-12 * expected.abs().max(1.0)
}

fn there(of: impl Fn(i64) -> bool) -> Vec<f64> {
    (0..ROWS).filter(|index| of(row(*index).2)).filter_map(|index| row(index).0).collect()
}

fn mean_over_deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    mean / (values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count).sqrt()
}

#[tokio::test]
async fn over_all_rows_and_over_groups() -> Result<()> {
    let context = session()?;
    let found = column(&context, "SELECT broadloom_agg('mean(x) / std(x)', x) FROM t").await?;
    let found = found.as_primitive::<Float64Type>().value(0);
    assert!(is_near(found, mean_over_deviation(&there(|_| true))), "{found}");

    let sql = "SELECT k, broadloom_agg('mean(x) / std(x)', x) AS r, broadloom_agg('sum(x * y)', x, y) AS s, \
        avg(x) / stddev_pop(x) AS own FROM t GROUP BY k ORDER BY k";
    let batches = context.sql(sql).await?.collect().await?;
    let column = |index| joined(batches.clone(), index).unwrap();
    for group in 0..4 {
        let k = column(0).as_primitive::<Int64Type>().value(group);
        let numbers = [1, 2, 3].map(|index| column(index).as_primitive::<Float64Type>().value(group));
        let products = (0..ROWS)
            .filter(|index| row(*index).2 == k)
            .filter_map(|index| Some(row(index).0? * row(index).1));
        assert!(is_near(numbers[0], mean_over_deviation(&there(|of| of == k))), "{numbers:?}");
        assert!(is_near(numbers[1], products.sum()), "{numbers:?}");
        assert!(is_near(numbers[0], numbers[2]), "{numbers:?}");
    }
    Ok(())
}

#[tokio::test]
async fn filters_empty_groups_and_lists() -> Result<()> {
    let context = session()?;
    let found = column(&context, "SELECT broadloom_agg('max(x)', x) FILTER (WHERE k = 2) FROM t").await?;
    let expected = there(|k| k == 2).into_iter().fold(f64::MIN, f64::max);
    assert_eq!(found.as_primitive::<Float64Type>().value(0), expected);
    let found = column(&context, "SELECT broadloom_agg('max(x)', x) FROM t WHERE k > 100").await?;
    assert_eq!((found.len(), found.null_count()), (1, 1));
    let found = column(&context, "SELECT broadloom_agg('mean(v, axis=0)', v) FROM t").await?;
    let found = found.as_fixed_size_list().values().as_primitive::<Float32Type>().clone();
    assert_eq!(found.values().as_ref(), [(ROWS - 1) as f32 / 2.0, 1.0, -2.0]);
    let found = column(&context, "SELECT broadloom_agg('median(x)', x) FROM t").await?;
    let mut values = there(|_| true);
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    let median = if values.len() % 2 == 1 { values[half] } else { (values[half - 1] + values[half]) / 2.0 };
    assert_eq!(found.as_primitive::<Float64Type>().value(0), median);
    Ok(())
}

#[tokio::test]
async fn columns_stand_for_their_names_or_in_order() -> Result<()> {
    let context = session()?;
    let expected: f64 = (0..ROWS).filter_map(|index| Some(row(index).1 - row(index).0?)).sum();
    for sql in [
        "SELECT broadloom_agg('sum(y - x)', x, y) FROM t",
        "SELECT broadloom_agg('sum(a - b)', y, x) FROM t",
        "SELECT broadloom_agg('sum(x - y)', x, y) FROM (SELECT x AS y, y AS x FROM t)",
    ] {
        let found = column(&context, sql).await?.as_primitive::<Float64Type>().value(0);
        assert!(is_near(found, expected), "{sql}: {found}");
    }
    Ok(())
}

#[tokio::test]
async fn programs_with_several_outputs_and_data_frames() -> Result<()> {
    let context = session()?;
    let text = "input x: f64[n]; output least = min(x); output most = max(x)";
    let program = Program::parse("span", text).and_then(|program| program.resolve()).unwrap();
    let span = TensorAggregate::new("span", &program)?;
    let frame = context.table("t").await?;
    let mean = TensorAggregate::expression("mean(y)").call(vec![col("y")]);
    let batches = frame.aggregate(vec![], vec![span.call(vec![col("x")]), mean])?.collect().await?;
    let result = joined(batches.clone(), 0)?;
    let result = result.as_struct();
    let ends = there(|_| true);
    assert_eq!(result.column_names(), ["least", "most"]);
    assert_eq!(result.column(0).as_primitive::<Float64Type>().value(0), ends[0]);
    assert_eq!(result.column(1).as_primitive::<Float64Type>().value(0), ends[ends.len() - 1]);
    let mean = joined(batches, 1)?.as_primitive::<Float64Type>().value(0);
    assert!(is_near(mean, (0..ROWS).map(|index| row(index).1).sum::<f64>() / ROWS as f64), "{mean}");
    // Under its own name in SQL, after travelling.
    let arrived = TensorAggregate::from_bytes("span", span.as_bytes())?;
    context.register_udaf(AggregateUDF::from(arrived));
    let again = column(&context, "SELECT span(x) FROM t").await?;
    assert_eq!(again.as_struct().columns(), result.columns());
    Ok(())
}

#[tokio::test]
async fn mistakes_are_planning_errors() -> Result<()> {
    let context = session()?;
    for (sql, parts) in [
        ("broadloom_agg('x + 1', x)", ["`add` cannot be part of an aggregate", "axis=0"]),
        ("broadloom_agg('argmax(x)', x)", ["`argmax` cannot be part of an aggregate", "order of the rows"]),
        (
            "broadloom_agg('len(x)', x)",
            ["`len` cannot be part of an aggregate: it reads no value", "count(*)"],
        ),
        ("broadloom_agg('mean(z)', x, y)", ["has the name `z`", "2 columns were passed"]),
        ("broadloom_agg('meen(x)', x)", ["unknown function `meen`", "expression:1:1"]),
        ("broadloom_agg(DISTINCT 'mean(x)', x)", ["does not take DISTINCT", "subquery"]),
        ("broadloom_agg(x)", ["expression in quotes", "broadloom_agg('"]),
    ] {
        let message = planning_error(&context, &format!("SELECT {sql} FROM t")).await;
        for part in parts {
            assert!(message.contains(part), "{sql}: {part} in {message}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn many_groups() -> Result<()> {
    // With the threshold, partitions stop to aggregate after some rows, and pass on a state for each row.
    for skipped in [false, true] {
        let mut config = SessionConfig::new().with_target_partitions(4).with_batch_size(100);
        if skipped {
            config.options_mut().execution.skip_partial_aggregation_probe_rows_threshold = 500;
            config.options_mut().execution.skip_partial_aggregation_probe_ratio_threshold = 0.1;
        }
        let mut context = SessionContext::new_with_config(config);
        broadloom_datafusion::register(&mut context)?;
        let sql = "SELECT value % 4999 AS k, CASE WHEN value % 7 = 0 THEN NULL ELSE value * 0.37 END AS x,
            value % 13 AS y FROM generate_series(0, 9999)";
        context.register_table("many", context.sql(sql).await?.into_view())?;
        let sql = "SELECT broadloom_agg('mean(x) + std(x)', x) AS a, avg(x) + stddev_pop(x) AS b,
            broadloom_agg('sum(x * y)', x, y) FILTER (WHERE y < 10) AS c, sum(x * y) FILTER (WHERE y < 10) AS d,
            broadloom_agg('max(y)', y) AS e, max(y) AS f, k FROM many GROUP BY k";
        let plan = context.sql(sql).await?.create_physical_plan().await?;
        let batches = datafusion::physical_plan::collect(plan.clone(), context.task_ctx()).await?;
        let drawn = datafusion::physical_plan::displayable(plan.as_ref()).indent(false).to_string();
        assert!(drawn.contains("mode=Partial") && drawn.contains("mode=FinalPartitioned"), "{drawn}");
        let columns: Vec<_> = (0..6).map(|index| joined(batches.clone(), index)).collect::<Result<_>>()?;
        assert_eq!(columns[0].len(), 4999);
        for (found, own) in [(0, 1), (2, 3), (4, 5)] {
            let [found, own] = [found, own]
                .map(|index| datafusion::arrow::compute::cast(&columns[index], &DataType::Float64).unwrap());
            assert_eq!(found.null_count(), own.null_count());
            let [found, own] = [&found, &own].map(|column| column.as_primitive::<Float64Type>());
            for (found, own) in found.iter().zip(own) {
                assert_eq!(found.is_some(), own.is_some());
                assert!(is_near(found.unwrap_or(0.0), own.unwrap_or(0.0)), "{found:?} {own:?}");
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn explain_shows_the_expression() -> Result<()> {
    let context = session()?;
    let plans =
        context.sql("EXPLAIN SELECT broadloom_agg('mean(x) / std(x)', x) FROM t").await?.collect().await?;
    let plans = joined(plans, 1)?;
    for plan in plans.as_string::<i32>().iter().flatten() {
        assert!(plan.contains("mean(x) / std(x)"), "{plan}");
    }
    Ok(())
}
