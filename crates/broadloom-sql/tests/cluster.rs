//! A cluster of real processes gives the same results as one process.

mod common;

use broadloom::Array;
use broadloom_datafusion::TensorFunction;
use broadloom_sql::{Address, session};
use broadloom_text::Program;
use common::{Cluster, points, printed, query};
use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::prelude::*;

/// The numbers of a table in CSV, row by row. NULL is NaN.
fn numbers(csv: &str) -> Vec<Vec<f64>> {
    let number = |cell: &str| if cell.is_empty() { f64::NAN } else { cell.parse().unwrap() };
    csv.lines().skip(1).map(|line| line.split(',').map(number).collect()).collect()
}

#[test]
fn two_executors_compute_what_one_process_computes() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 4, 5000);
    let cluster = Cluster::start(2);
    let results = tempfile::tempdir().unwrap();
    let both = |sql: &str| {
        let [local, remote] = ["local.csv", "remote.csv"].map(|name| results.path().join(name));
        printed(&query(&[sql, &table, "-o", local.to_str().unwrap()]));
        printed(&cluster.query(sql, &[&table, "-o", remote.to_str().unwrap()]));
        [local, remote].map(|path| std::fs::read_to_string(path).unwrap())
    };
    // Decimal digits of CSV give back every bit of a number.
    let rows = "SELECT id, broadloom('sqrt(x*x + y*y)', x, y) AS r, sqrt(x*x + y*y) AS s,
        broadloom('y - x', y, x) AS d, y - x AS e FROM t ORDER BY id";
    let [local, remote] = both(rows);
    assert_eq!(local, remote);
    let table_of_numbers = numbers(&local);
    assert_eq!(table_of_numbers.len(), 20_000);
    for row in table_of_numbers {
        let [id, r, s, d, e] = row[..] else { panic!("{row:?}") };
        assert_eq!((r.to_bits(), d.to_bits()), (s.to_bits(), e.to_bits()), "row {id}");
        assert_eq!(r.is_nan(), id as usize % 7 == 6, "row {id}");
    }
    // Partitions change the order of sums.
    let groups = "SELECT k, broadloom_agg('mean(x) / std(x)', x) AS a, avg(x) / stddev_pop(x) AS b,
        broadloom_agg('max(x - y)', x, y) AS m, max(x - y) AS n FROM t GROUP BY k ORDER BY k";
    let [local, remote] = both(groups).map(|csv| numbers(&csv));
    assert_eq!((local.len(), remote.len()), (5, 5));
    for (local, remote) in local.iter().zip(&remote) {
        for (one, other) in local.iter().zip(remote).chain([(&local[1], &local[2])]) {
            assert!((one - other).abs() <= 1e-12 * one.abs(), "{local:?} {remote:?}");
        }
        assert_eq!((local[3], remote[3]), (local[4], local[4]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn executors_run_functions_that_they_never_heard_of() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 2, 1000);
    let cluster = Cluster::start(2);
    let address: Address = cluster.address.parse().unwrap();
    let context = session::remote(&address).unwrap();
    session::add_table(&context, "t", table.trim_start_matches("t=")).await.unwrap();
    let program = "input y: f64[n]; input codes: f64[k]; argmin(abs(y[:, None] - codes), axis=1)";
    let program = Program::parse("nearest", program).unwrap().resolve().unwrap();
    let codes = Array::new(vec![0.0, 50.0, 140.0], &[3]).unwrap();
    let nearest = TensorFunction::new("nearest", &program).unwrap().with_constant("codes", codes).unwrap();
    let counted = context.table("t").await.unwrap();
    let counted = counted.select(vec![nearest.call(vec![col("y")]).alias("code")]).unwrap();
    let counted = counted.sort(vec![col("code").sort(true, true)]).unwrap().collect().await.unwrap();
    let codes =
        counted.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec());
    let mut expected: Vec<i64> = (0..2000)
        .map(|id| f64::from(id % 1009) / 7.0)
        .map(|y| {
            if y <= 25.0 {
                0
            } else if y <= 95.0 {
                1
            } else {
                2
            }
        })
        .collect();
    expected.sort_unstable();
    assert_eq!(codes.collect::<Vec<_>>(), expected);
}
