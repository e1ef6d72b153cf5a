//! What a query computes, and what tables there are, in one process and on a cluster.

mod common;

use common::{Cluster, message, points, printed, query};
use std::process::Output;

/// Returns what a query prints in one process and on a cluster.
fn both(cluster: &Cluster, sql: &str, table: &str) -> [String; 2] {
    [query(&["-q", sql, table]), cluster.query(sql, &["-q", table])].map(|output: Output| printed(&output))
}

#[test]
fn explanations_show_plans_and_kernels() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 2, 1000);
    let cluster = Cluster::start(2);
    let rows = "SELECT id, broadloom('sqrt(x*x + y*y)', x, y) AS r FROM t ORDER BY r DESC LIMIT 3";
    for text in both(&cluster, &format!("EXPLAIN {rows}"), &table) {
        for part in [
            "logical_plan:\n  Sort: r DESC",
            "physical_plan:\n",
            "broadloom kernel:\n  broadloom('sqrt(x*x + y*y)', t.x, t.y)\n  inputs: x: f64[n], y: f64[n]\n  result: f64[n]\n",
            "reads 16 and writes 8 bytes for each row",
            "    v5 = sqrt v4 : f64\n",
            "stored between kernels: 0 bytes",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("computed"), "{text}");
    }
    let [local, remote] = both(&cluster, &format!("EXPLAIN ANALYZE {rows}"), &table);
    for text in [&local, &remote] {
        for part in ["Plan with Metrics:\n", "output_rows=3", "broadloom kernel:\n  broadloom('sqrt(x*x"] {
            assert!(text.contains(part), "{part} in {text}");
        }
        // What ends plans is no part of the query.
        assert!(!text.contains("Stoppable"), "{text}");
    }
    assert!(local.contains("  computed 2000 rows in ") && local.contains(" ms of all threads\n"), "{local}");
    assert!(remote.contains("Stage[stage_id=") && !remote.contains("computed"), "{remote}");
}

#[test]
fn each_expression_is_explained_once_wherever_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 1, 500);
    let kernels = |sql: &str| {
        let text = printed(&query(&["-q", sql, &table]));
        let kernels = text.split("broadloom kernel:\n").skip(1).map(str::to_owned);
        kernels.collect::<Vec<String>>()
    };
    let sql = "EXPLAIN ANALYZE SELECT k, broadloom_agg('max(x * y)', x, y) AS m FROM t
        WHERE broadloom('y > 3', y) AND id IN (SELECT id FROM t WHERE broadloom('y > 3', y)) GROUP BY k";
    let found = kernels(sql);
    assert_eq!(found.len(), 2, "{found:?}");
    let aggregate = found.iter().find(|text| text.contains("broadloom_agg(")).unwrap();
    for part in ["reads 16 bytes for each row", "result: f64\n", "rows to what the totals", "computed "] {
        assert!(aggregate.contains(part), "{part} in {aggregate}");
    }
    let window =
        kernels("EXPLAIN SELECT broadloom_agg('mean(x) / std(x)', x) OVER (ORDER BY id) AS m FROM t");
    assert!(window.len() == 1 && window[0].contains("partial results to results:"), "{window:?}");
    // Lists have no length before there are rows.
    let lists = kernels(
        "EXPLAIN SELECT broadloom_agg('sum(v, axis=0)', v) AS m FROM (SELECT make_array(x, y) AS v FROM t)",
    );
    assert!(lists.len() == 1 && lists[0].contains("v: f64[n, _]\n  result: f64[_]\n"), "{lists:?}");
    assert!(kernels("EXPLAIN SELECT x FROM t").is_empty());
    assert!(kernels("EXPLAIN ANALYZE SELECT x FROM t WHERE id < 0").is_empty());
    let graph = kernels("EXPLAIN FORMAT GRAPHVIZ SELECT broadloom('2 * x', x) FROM t");
    assert!(graph.is_empty(), "{graph:?}");
    let tree = kernels("EXPLAIN FORMAT TREE SELECT broadloom('2 * x', x) FROM t");
    assert_eq!(tree.len(), 1, "{tree:?}");
    let wrong = message(&query(&["-q", "EXPLAIN SELECT broadloom('sqroot(x)', x) FROM t", &table]), 2);
    assert!(wrong.starts_with("error[P005]") && wrong.contains("did you mean `sqrt`?"), "{wrong}");
}

#[test]
fn an_explanation_is_a_table_in_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 1, 10);
    let path = directory.path().join("plan.csv");
    let sql = "EXPLAIN SELECT broadloom('2 * x', x) AS r FROM t";
    printed(&query(&["-q", sql, &table, "-o", path.to_str().unwrap()]));
    let plans = format!("p={}", path.display());
    let count =
        printed(&query(&["-q", "SELECT count(*) AS n FROM p WHERE plan_type = 'broadloom kernel'", &plans]));
    assert!(count.contains("| 1 |"), "{count}");
}

#[test]
fn tables_are_shown_and_described() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 1, 10);
    let cluster = Cluster::start(1);
    let folder = table.trim_start_matches("t=");
    let more = [format!("Big={folder}"), format!("a.b={folder}"), table.clone()];
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let shown = "\
+------------+
| table_name |
+------------+
| Big        |
| a.b        |
| t          |
+------------+
";
    assert_eq!(printed(&query(&[&["-q", "SHOW TABLES"], &more[..]].concat())), shown);
    assert_eq!(printed(&cluster.query("show tables;", &more)), shown);
    let empty = "\
+------------+
| table_name |
+------------+
+------------+
";
    assert_eq!(printed(&query(&["SHOW TABLES"])), empty);
    assert_eq!(printed(&cluster.query("SHOW TABLES", &[])), empty);
    for sql in ["DESCRIBE t", "SHOW COLUMNS FROM t"] {
        for text in both(&cluster, sql, &table) {
            assert!(text.contains("| x ") && text.contains("| Float64 ") && text.contains("| k "), "{text}");
        }
    }
    for sql in ["SHOW TABLES LIKE 'a'", "SHOW FULL TABLES"] {
        let wrong = message(&query(&["-q", sql, &table]), 2);
        assert!(wrong.contains("write SHOW TABLES"), "{wrong}");
    }
    for sql in ["DESCRIBE nothing", "SHOW COLUMNS FROM nothing"] {
        let wrong = message(&query(&["-q", sql, &table]), 2);
        assert!(wrong.contains("there is no table `nothing`; there is `t`"), "{wrong}");
    }
}

#[test]
fn lists_and_arrays_are_the_same_on_a_cluster() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 3, 700);
    let cluster = Cluster::start(2);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lists.arrow");
    let lists = "SELECT id, k, make_array(x, y, i) AS v FROM t WHERE id % 11 > 0
        UNION ALL SELECT id, k, NULL AS v FROM t WHERE id % 11 = 0";
    printed(&query(&["-q", lists, &table, "-o", file.to_str().unwrap()]));
    let lists = format!("l={}", file.display());
    for (sql, table) in [
        ("SELECT id, broadloom('sum(v * v, axis=1)', make_array(y, i)) AS r, y * y + i * i AS s FROM t ORDER BY id", &table),
        ("SELECT id, broadloom('max(v, axis=1)', v) AS r, greatest(v[1], v[2], v[3]) AS s FROM l
          WHERE array_length(v) = 3 AND v[1] IS NOT NULL ORDER BY id", &lists),
        ("SELECT k, broadloom_agg('max(v, axis=0)', v)[3] AS r, max(v[3]) AS s FROM l WHERE v[1] IS NOT NULL
          GROUP BY k ORDER BY k", &lists),
    ] {
        let [local, remote] = both(&cluster, &format!("{sql} LIMIT 100"), table);
        assert_eq!(local, remote, "{sql}");
        let cells = local.lines().filter(|line| line.starts_with("| ")).skip(1);
        let rows: Vec<Vec<String>> =
            cells.map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect()).collect();
        assert!(rows.len() >= 5 && rows.iter().all(|row| row[2] == row[3]), "{sql}: {local}");
    }
    let lists = "CASE WHEN id = 3 THEN make_array(y) ELSE make_array(y, y) END";
    let ragged = &format!("SELECT max(broadloom('sum(v, axis=1)', {lists})) AS r FROM t");
    for output in [query(&["-q", ragged, &table]), cluster.query(ragged, &["-q", &table])] {
        let wrong = message(&output, 1);
        assert!(wrong.starts_with("error[Q002]: the lists of column `v` have several lengths"), "{wrong}");
        assert!(
            wrong.contains("row 3 has 1 element\n") && wrong.contains("WHERE array_length(..) = 2"),
            "{wrong}"
        );
    }
}
