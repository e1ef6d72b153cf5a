//! Files that `broadloom-sql` writes are read by pyarrow, and the other way round.

mod common;
#[path = "../../../tests/pyarrow/mod.rs"]
mod pyarrow;

use common::{Cluster, PROGRAM};

#[test]
fn files_are_those_of_pyarrow_in_one_process_and_on_a_cluster() {
    let cluster = Cluster::start(2);
    for more in [&[] as &[&str], &["--cluster", &cluster.address]] {
        pyarrow::run("sql.py", PROGRAM, more, env!("CARGO_TARGET_TMPDIR"));
    }
}
