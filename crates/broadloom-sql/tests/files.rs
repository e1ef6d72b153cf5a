//! Files in and out, in one process and on a cluster.

mod common;

use common::{Cluster, Options, message, printed, query};

const ROWS: &str = "SELECT value AS id, value / 8.0 AS x, 'a, b' AS s FROM generate_series(1, 3)";
const READ: &str = "SELECT id, broadloom('x * 2', x) AS r, s FROM t ORDER BY id";

const PRINTED: &str = "\
+----+------+------+
| id | r    | s    |
+----+------+------+
| 1  | 0.25 | a, b |
| 2  | 0.5  | a, b |
| 3  | 0.75 | a, b |
+----+------+------+
";

#[test]
fn each_format_is_written_and_read() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(1);
    for name in ["a.parquet", "b.csv", "c.arrow", "d.ipc", "e.feather"] {
        let path = directory.path().join(name);
        let path = path.to_str().unwrap();
        printed(&query(&[ROWS, "-o", path]));
        let table = format!("t={path}");
        assert_eq!(printed(&query(&[READ, &table])), PRINTED, "{name}");
        assert_eq!(printed(&cluster.query(READ, &[&table])), PRINTED, "{name} on a cluster");
    }
    let table = format!("t={}", directory.path().display());
    let mixed = message(&query(&[READ, &table]), 2);
    assert!(mixed.contains("files of several formats") && mixed.contains("b.csv"), "{mixed}");
}

#[test]
fn tensors_keep_their_shape() {
    let directory = tempfile::tempdir().unwrap();
    let cluster = Cluster::start(2);
    let tensors =
        "SELECT value AS id, broadloom('x[:, None, None] + 2 * arange(3)[:, None] + arange(2)', value) AS t
        FROM generate_series(1, 3)";
    let read = "SELECT id, broadloom('t[:, 2, 1] - t[:, 0, 0]', t) AS d,
        broadloom('sum(t, axis=(1, 2))', broadloom('2 * t', t)) AS s FROM t ORDER BY id";
    let expected = "\
+----+---+----+
| id | d | s  |
+----+---+----+
| 1  | 5 | 42 |
| 2  | 5 | 54 |
| 3  | 5 | 66 |
+----+---+----+
";
    for name in ["a.parquet", "b.arrow"] {
        let [file, copy] =
            [name, "copy.parquet"].map(|name| directory.path().join(name).display().to_string());
        printed(&query(&[tensors, "-o", &file]));
        assert_eq!(printed(&query(&[read, &format!("t={file}")])), expected, "{name}");
        printed(&cluster.query("SELECT * FROM t", &[&format!("t={file}"), "-o", &copy]));
        assert_eq!(printed(&cluster.query(read, &[&format!("t={copy}")])), expected, "{name} on a cluster");
    }
}

#[test]
fn results_without_rows_and_long_results() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a.parquet", "b.csv", "c.arrow"] {
        let path = directory.path().join(name);
        printed(&query(&["SELECT 1 AS id, 2.5 AS x WHERE false", "-o", path.to_str().unwrap()]));
        let table = format!("t={}", path.display());
        let read = printed(&query(&["SELECT id, x FROM t", &table]));
        assert!(read.contains("| id | x |") && read.lines().count() <= 4, "{read}");
    }
    let few = printed(&query(&["SELECT * FROM generate_series(1, 10)", "--rows", "3"]));
    assert!(few.contains("| 3 ") && !few.contains("| 4 ") && few.contains("--rows NUMBER"), "{few}");
    let all = printed(&query(&["SELECT * FROM generate_series(1, 3)", "--rows", "3"]));
    assert!(all.contains("| 3 ") && !all.contains("more rows"), "{all}");
}

#[test]
fn mistakes_in_arguments_and_files() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).display().to_string();
    for (table, expected) in [
        (at("missing.parquet"), "there is no file or directory"),
        (at(""), "has no .parquet, .csv or .arrow file"),
        ("Cargo.toml".to_owned(), "use .parquet, .csv or .arrow"),
    ] {
        let found = message(&query(&["SELECT 1", &format!("t={table}")]), 2);
        assert!(found.contains(expected), "{found}");
    }
    // The second has a footer that says that it is larger than the file.
    for (name, bytes) in
        [("damaged.parquet", "PAR1 and no more"), ("footer.parquet", "PAR1xxxxxxxxxxxxxxxxPAR1")]
    {
        std::fs::write(at(name), bytes).unwrap();
        let found = message(&query(&["SELECT * FROM t", &format!("t={}", at(name))]), 1);
        assert!(found.contains("cannot read") && found.contains(name), "{found}");
    }
    let found = message(&query(&["SELECT 1", "-o", &at("r.txt")]), 2);
    assert!(found.contains("use .parquet, .csv or .arrow"), "{found}");
    let found = message(&query(&["SELECT [1, 2] AS v", "-o", &at("r.csv")]), 1);
    assert!(found.contains("CSV cannot hold") && found.contains("`v`"), "{found}");
    let found = message(&query(&["SELECT 1", "--cluster", "localhost"]), 2);
    assert!(found.contains("like 127.0.0.1:50050"), "{found}");
    // Nothing of a result that failed is left.
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn copies_in_csv_are_the_same_on_a_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().to_str().unwrap();
    let options: &'static str = folder.to_owned().leak();
    let cluster =
        Cluster::with(1, Options { executor: vec!["--allow-write", options].leak(), ..Options::default() });
    let rows = "SELECT 0 AS a, 0.34 AS b, 'c' AS c, 'd, e' AS d, CAST(NULL AS DOUBLE) AS n";
    for (style, first) in
        [("Necessary", "0,0.34,c,\"d, e\","), ("Always", "\"0\",\"0.34\",\"c\",\"d, e\",\"\"")]
    {
        let to = |name: &str| {
            let options = format!("STORED AS CSV OPTIONS ('format.quote_style' '{style}')");
            format!("COPY ({rows}) TO '{folder}/{name}.csv' {options}")
        };
        printed(&query(&[&to("local")]));
        printed(&cluster.query(&to("remote"), &[]));
        let [local, remote] = ["local", "remote"]
            .map(|name| std::fs::read_to_string(directory.path().join(format!("{name}.csv"))).unwrap());
        assert_eq!(local, remote);
        assert_eq!(local.lines().nth(1), Some(first));
    }
}

#[test]
fn words_for_nothing_are_null_in_csv() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.csv");
    std::fs::write(&path, "x,s\n1.5,a\nNA,NA\n,null\n2.5,N/A\n").unwrap();
    let cluster = Cluster::start(1);
    // Texts stay what they are.
    let sql = "SELECT count(x) AS x, sum(x) AS y, count(s) AS s, count(*) AS n FROM t";
    let table = format!("t={}", path.display());
    for output in [query(&[sql, &table]), cluster.query(sql, &[&table])] {
        assert!(printed(&output).contains("| 2 | 4.0 | 4 | 4 |"), "{}", printed(&output));
    }
}

#[test]
fn a_part_that_is_empty_or_damaged_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let part = |name: &str| directory.path().join(name);
    printed(&query(&["SELECT 1 AS a", "-o", part("a.parquet").to_str().unwrap()]));
    for bytes in ["", "PAR1 and no more"] {
        std::fs::write(part("b.parquet"), bytes).unwrap();
        for table in [directory.path().to_owned(), part("b.parquet")] {
            let found = message(&query(&["SELECT * FROM t", &format!("t={}", table.display())]), 1);
            assert!(found.contains("cannot read `") && found.contains("b.parquet`"), "{found}");
        }
    }
}
