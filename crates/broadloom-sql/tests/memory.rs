//! The memory of an executor depends on its tasks, not on the table.
#![cfg(target_os = "linux")]

mod common;

use common::{Cluster, points, printed};

#[test]
fn an_executor_holds_batches_and_not_the_table() {
    const ROWS: usize = 500_000;
    // An executor runs as many tasks at once as there are cores.
    let tasks = std::thread::available_parallelism().unwrap().get();
    let files = 4 * tasks;
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), files, ROWS);
    let first = format!("{}/part0.parquet", table);
    let cluster = Cluster::start(1);
    let sum = "SELECT sum(broadloom('sqrt(x*x + y*y)', x, y)) AS s FROM t";
    printed(&cluster.query(sum, &[&first]));
    let before = cluster.executors[0].peak();
    printed(&cluster.query(sum, &[&table]));
    let grown = cluster.executors[0].peak() - before;
    // A task holds the pages of a row group, which is a file here, and some batches: at most the columns x and y and the
    // result of one file. So all tasks together hold a quarter of the table.
    let of_a_file = 3 * size_of::<f64>() * ROWS;
    assert!(grown < tasks * of_a_file, "{} KiB more than for one file", grown >> 10);
}
