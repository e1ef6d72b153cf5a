//! Scalar functions in SQL and in the DataFrame API, compared with plain Rust.

mod common;

use broadloom::Array;
use broadloom_datafusion::{TensorFunction, broadloom};
use broadloom_text::Program;
use common::{ROWS, column, joined, planning_error, row, session};
use datafusion::arrow::array::{Array as _, AsArray, Float64Array};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::*;

fn floats(of: impl Fn(f64, f64) -> f64) -> Float64Array {
    (0..ROWS).map(|index| row(index).0.map(|x| of(x, row(index).1))).collect()
}

#[tokio::test]
async fn expressions_over_columns_and_nulls() -> Result<()> {
    let context = session()?;
    let found = column(&context, "SELECT broadloom('sqrt(x*x + y*y)', x, y) FROM t").await?;
    assert_eq!(found.as_primitive::<Float64Type>(), &floats(|x, y| (x * x + y * y).sqrt()));
    let found = column(&context, "SELECT broadloom('a + b', x * 2, CAST(k AS DOUBLE)) FROM t").await?;
    let expected: Float64Array =
        (0..ROWS).map(|index| Some(row(index).0? * 2.0 + row(index).2 as f64)).collect();
    assert_eq!(found.as_primitive::<Float64Type>(), &expected);
    let sums = column(&context, "SELECT broadloom('sum(v, axis=1)', v) FROM t").await?;
    let expected: Vec<f32> = (0..ROWS).map(|index| row(index).3.iter().sum()).collect();
    assert_eq!(sums.as_primitive::<Float32Type>().values().as_ref(), expected);
    Ok(())
}

#[tokio::test]
async fn columns_stand_for_their_names_or_in_order() -> Result<()> {
    let context = session()?;
    let difference = floats(|x, y| y - x);
    for sql in [
        "SELECT broadloom('y - x', x, y) FROM t",
        "SELECT broadloom('y - x', y, x) FROM t",
        "SELECT broadloom('a - b', y, x) FROM t",
        // The planner may give the columns below other names; what they stand for was decided before.
        "SELECT broadloom('y - x', x, y) FROM (SELECT x, y FROM t)",
        "SELECT broadloom('x - y', x, y) FROM (SELECT x AS y, y AS x FROM t)",
        "SELECT broadloom('a - b', a, b) FROM (SELECT y AS a, x AS b FROM t)",
        "SELECT broadloom('b - a', a, b) FROM (SELECT x AS a, y AS b FROM t)",
    ] {
        let found = column(&context, sql).await?;
        assert_eq!(found.as_primitive::<Float64Type>(), &difference, "{sql}");
    }
    let message = planning_error(&context, "SELECT broadloom('x - z', y, x) FROM t").await;
    assert!(message.contains("the column `x` would stand for `z`"), "{message}");
    let message = planning_error(&context, "SELECT broadloom('x - z', x) FROM t").await;
    assert!(message.contains("has the names `x` and `z`, but 1 column was passed"), "{message}");
    Ok(())
}

#[tokio::test]
async fn mistakes_are_planning_errors_that_point_into_the_expression() -> Result<()> {
    let context = session()?;
    let message = planning_error(&context, "SELECT broadloom('x + sqr(y)', x, y) FROM t").await;
    for part in
        ["Error during planning", "error[P005]: unknown function `sqr`", "expression:1:5", "^^^", "sqrt"]
    {
        assert!(message.contains(part), "{part} in {message}");
    }
    let message = planning_error(&context, "SELECT broadloom('x * v', x, v) FROM t").await;
    for part in
        ["error[S002]", "x    f64 [  ·   n ]", "v    f32 [  n   3 ]", "expression:1:1", "x[:, None] * v"]
    {
        assert!(message.contains(part), "{part} in {message}");
    }
    let message = planning_error(&context, "SELECT broadloom('sqrt(x*x + y*y', x, y) FROM t").await;
    assert!(message.contains("error[P001]: this bracket is never closed"), "{message}");
    let message = planning_error(&context, "SELECT broadloom(s, x) FROM t").await;
    assert!(message.contains("the first argument of `broadloom` is an expression in quotes"), "{message}");
    let message = planning_error(&context, "SELECT broadloom('s + 1', s) FROM t").await;
    assert!(
        message.contains("column `s` has the type Utf8") && message.contains("CAST(.. AS DOUBLE)"),
        "{message}"
    );
    Ok(())
}

#[tokio::test]
async fn expressions_that_combine_rows_are_refused_and_offered_as_aggregates() -> Result<()> {
    let context = session()?;
    for (expression, op, is_aggregate) in [
        ("x - mean(x)", "mean", false),
        ("cumsum(x)", "cumsum", false),
        ("x / len(x)", "len", false),
        ("sort(x)", "sort", false),
        ("sum(x)", "sum", true),
        ("max(x) - mean(x)", "max", true),
    ] {
        let message = planning_error(&context, &format!("SELECT broadloom('{expression}', x) FROM t")).await;
        let headline = format!("error[Q001]: `{op}` combines rows");
        let call = format!("broadloom_agg('{expression}', x)");
        let offer =
            if is_aggregate { call.as_str() } else { "compute what combines rows in a subquery first" };
        for part in ["Error during planning", &headline, "expression:1:", "^", offer] {
            assert!(message.contains(part), "{part} in {message}");
        }
        // What is offered works, and what does not is not offered.
        let tried = context.sql(&format!("SELECT {call} FROM t")).await;
        assert_eq!(tried.is_ok(), is_aggregate, "{call}");
        assert_eq!(message.contains(&call), is_aggregate, "{message}");
    }
    Ok(())
}

#[tokio::test]
async fn errors_of_data_name_the_row_and_the_expression() -> Result<()> {
    let context = session()?;
    let sql = "SELECT broadloom('k ** (k - 2)', k) FROM t";
    let message = context.sql(sql).await?.collect().await.unwrap_err().to_string();
    assert!(message.contains("error[R003]") && message.contains("expression:1:1"), "{message}");
    // The session goes on.
    assert_eq!(column(&context, "SELECT broadloom('k * 2', k) FROM t").await?.len(), ROWS);
    Ok(())
}

fn nearest() -> TensorFunction {
    let text = "
        input obs: f32[n, d]
        input codes: f32[k, d]
        let distance = sum((obs[:, None] - codes) ** 2, axis=-1)
        output code = argmin(distance, axis=1)
        output distance = min(distance, axis=1)";
    let program = Program::parse("nearest", text).and_then(|program| program.resolve()).unwrap();
    let codes = Array::new(vec![0.0f32, 0.0, 0.0, 500.0, 0.0, 0.0, 900.0, 1.0, -2.0], &[3, 3]).unwrap();
    TensorFunction::new("nearest", &program).unwrap().with_constant("codes", codes).unwrap()
}

#[tokio::test]
async fn programs_with_constants_and_several_outputs() -> Result<()> {
    let context = session()?;
    context.register_udf(ScalarUDF::from(nearest()));
    let expected = |index: usize| {
        let distances = [[0.0f32, 0.0, 0.0], [500.0, 0.0, 0.0], [900.0, 1.0, -2.0]]
            .map(|code| row(index).3.iter().zip(code).map(|(x, c)| (x - c) * (x - c)).sum::<f32>());
        let best = (0..3).min_by(|a, b| distances[*a].total_cmp(&distances[*b])).unwrap();
        (best as i64, distances[best])
    };
    let both = column(&context, "SELECT nearest(v) FROM t").await?;
    let both = both.as_struct();
    assert_eq!(both.column_names(), ["code", "distance"]);
    for index in 0..ROWS {
        let (code, distance) = expected(index);
        assert_eq!(both.column(0).as_primitive::<Int64Type>().value(index), code, "row {index}");
        assert_eq!(both.column(1).as_primitive::<Float32Type>().value(index), distance, "row {index}");
    }
    let narrow = nearest().with_constant("codes", Array::new(vec![0.0f32; 4], &[2, 2]).unwrap())?;
    let frame = context.table("t").await?.select(vec![narrow.call(vec![col("v")])]);
    let message = frame.map(|_| ()).unwrap_err().to_string();
    assert!(
        message.contains("the array `codes` is f32[2, 2], but with these columns it has to be f32[2, 3]"),
        "{message}"
    );
    let message = planning_error(&context, "SELECT nearest(arrow_cast(x, 'Float32')) FROM t").await;
    assert!(message.contains("column `obs` is f32[n], but the program declares f32[n, 3]"), "{message}");
    Ok(())
}

#[tokio::test]
async fn columns_are_converted_to_declared_dtypes_that_have_their_values() -> Result<()> {
    let context = session()?;
    // Every value of f16 is one of f32.
    context.register_udf(ScalarUDF::from(nearest()));
    let halves = "arrow_cast(v, 'FixedSizeList(3, Float16)')";
    let found = column(&context, &format!("SELECT nearest({halves}) FROM t")).await?;
    let expected = column(&context, "SELECT nearest(v) FROM t").await?;
    assert_eq!(found.as_struct().column(0), expected.as_struct().column(0));
    let doubles = "arrow_cast(v, 'FixedSizeList(3, Float64)')";
    let message = planning_error(&context, &format!("SELECT nearest({doubles}) FROM t")).await;
    for part in ["`obs` is f64[n, 3], but the program declares f32[n, 3]", "'FixedSizeList(3, Float32)'"] {
        assert!(message.contains(part), "{part} in {message}");
    }

    // Inputs of several dtypes, by name and in order.
    let program = "input a: f64[n]; input b: i32[n]; a * 10 + b";
    let program = Program::parse("mixed", program).and_then(|program| program.resolve()).unwrap();
    let mixed = TensorFunction::new("mixed", &program)?;
    context.register_udf(ScalarUDF::from(mixed));
    let expected: Float64Array =
        (0..ROWS).map(|index| Some(row(index).1 * 10.0 + row(index).2 as f64)).collect();
    for sql in [
        "SELECT mixed(y, arrow_cast(k, 'Int8')) FROM t",
        "SELECT mixed(b, a) FROM (SELECT arrow_cast(y, 'Float32') AS a, arrow_cast(k, 'UInt16') AS b FROM t)",
    ] {
        let found = column(&context, sql).await?;
        assert_eq!(found.as_primitive::<Float64Type>(), &expected, "{sql}");
    }
    let found = column(&context, "SELECT mixed(y, NULL) FROM t").await?;
    assert_eq!((found.len(), found.null_count()), (ROWS, ROWS));
    let message = planning_error(&context, "SELECT mixed(y, k) FROM t").await;
    for part in ["`b` is i64[n], but the program declares i32[n]", "arrow_cast(.., 'Int32')"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    Ok(())
}

#[tokio::test]
async fn expressions_promote_columns_of_several_dtypes() -> Result<()> {
    let context = session()?;
    for (sql, data_type) in [
        ("broadloom('x + k', x, k)", "Float64"),
        ("broadloom('a + k', arrow_cast(k, 'Int32'), k)", "Int64"),
        ("broadloom('a + b', arrow_cast(y, 'Float32'), arrow_cast(k, 'Int16'))", "Float32"),
        ("broadloom('a + b', arrow_cast(y, 'Float32'), k)", "Float64"),
    ] {
        let found = column(&context, &format!("SELECT {sql} FROM t")).await?;
        assert_eq!(found.data_type().to_string(), data_type, "{sql}");
        let found = datafusion::arrow::compute::cast(&found, &DataType::Float64)?;
        let expected: Float64Array = (0..ROWS)
            .map(|index| {
                let (x, y, k, _) = row(index);
                let left = if sql.contains("x + k") {
                    x?
                } else if sql.contains("Int32") {
                    k as f64
                } else {
                    y
                };
                Some(left + k as f64)
            })
            .collect();
        assert_eq!(found.as_primitive::<Float64Type>(), &expected, "{sql}");
    }
    let message =
        planning_error(&context, "SELECT broadloom('x + d', x, arrow_cast(k, 'Decimal128(20, 0)')) FROM t")
            .await;
    assert!(message.contains("Decimal128(20, 0)") && message.contains("CAST(.. AS DOUBLE)"), "{message}");
    Ok(())
}

#[tokio::test]
async fn data_frames() -> Result<()> {
    let context = session()?;
    let length = broadloom("sqrt(x*x + y*y)", vec![col("x"), col("y")]).alias("r");
    let frame =
        context.table("t").await?.select(vec![length, nearest().call(vec![col("v")]).alias("code")])?;
    let batches = frame.filter(col("r").gt(lit(10.0)))?.collect().await?;
    // Filters return rows in any order.
    let mut lengths = joined(batches, 0)?.as_primitive::<Float64Type>().values().to_vec();
    lengths.sort_by(f64::total_cmp);
    let all = floats(|x, y| (x * x + y * y).sqrt());
    let mut expected: Vec<f64> = all.iter().flatten().filter(|length| *length > 10.0).collect();
    expected.sort_by(f64::total_cmp);
    assert!(lengths == expected, "{} lengths, not {}", lengths.len(), expected.len());
    Ok(())
}

#[tokio::test]
async fn constants_are_computed_and_mixed_with_columns() -> Result<()> {
    let context = session()?;
    let found = column(&context, "SELECT broadloom('hypot(a, b)', 3.0, 4.0)").await?;
    assert_eq!(found.as_primitive::<Float64Type>().value(0), 5.0);
    let found = column(&context, "SELECT broadloom('x * scale', x, 2.5) FROM t").await?;
    assert_eq!(found.as_primitive::<Float64Type>(), &floats(|x, _| x * 2.5));
    let found = column(&context, "SELECT broadloom('x * scale', x, NULL) FROM t").await?;
    assert_eq!((found.len(), found.null_count()), (ROWS, ROWS));
    let found =
        column(&context, "SELECT x FROM t WHERE broadloom('(x > 1) & (x < 2)', x) ORDER BY x").await?;
    assert_eq!(found.as_primitive::<Float64Type>().values().as_ref(), [1.25, 1.5, 1.75]);
    Ok(())
}

#[tokio::test]
async fn explain_shows_the_expression() -> Result<()> {
    let context = session()?;
    let plans =
        context.sql("EXPLAIN SELECT broadloom('sqrt(x*x + y*y)', x, y) FROM t").await?.collect().await?;
    let plans = joined(plans, 1)?;
    let plans: Vec<&str> = plans.as_string::<i32>().iter().flatten().collect();
    for plan in &plans {
        assert!(plan.contains("sqrt(x*x + y*y)"), "{plan}");
    }
    assert_eq!(plans.len(), 2);
    Ok(())
}

#[tokio::test]
async fn functions_travel_as_bytes() -> Result<()> {
    let context = session()?;
    let bytes = nearest().as_bytes().to_vec();
    let arrived = TensorFunction::from_bytes("arrived", &bytes)?;
    context.register_udf(ScalarUDF::from(nearest()));
    context.register_udf(ScalarUDF::from(arrived));
    let both = context.sql("SELECT nearest(v), arrived(v) FROM t").await?.collect().await?;
    let both = [joined(both.clone(), 0)?, joined(both, 1)?];
    assert_eq!(both[0].len(), ROWS);
    assert_eq!(both[0].as_struct().columns(), both[1].as_struct().columns());
    Ok(())
}
