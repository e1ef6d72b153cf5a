//! The queries, each with Broadloom's functions and in SQL alone.

use crate::data::{CODES, HAVERSINE, SIZE, code_at};

const REPEATS: usize = 3;

/// A query in two ways.
pub struct Case {
    pub name: &'static str,
    pub ours: String,
    pub sql: String,
    /// The columns that the first reads. Those of the second hold the same numbers.
    pub columns: &'static str,
    pub repeats: usize,
}

impl Case {
    fn new(
        name: &'static str,
        columns: &'static str,
        ours: impl Into<String>,
        sql: impl Into<String>,
    ) -> Case {
        Case { name, ours: ours.into(), sql: sql.into(), columns, repeats: REPEATS }
    }
}

pub fn all() -> Vec<Case> {
    let haversine = "2 * 6371 * asin(sqrt(power(sin(radians(lat2 - lat1) / 2), 2) \
        + cos(radians(lat1)) * cos(radians(lat2)) * power(sin(radians(lon2 - lon1) / 2), 2)))";
    let chain = "abs(((x * 2 + 1) * y - x) * 0.5 + y * y) - (x - y) * 3 + 7";
    let distances = (0..CODES).map(|code| {
        let squares = (0..SIZE).map(|axis| {
            let difference = format!("(e{axis} - arrow_cast({}, 'Float32'))", code_at(code, axis));
            format!("{difference} * {difference}")
        });
        format!("{} AS d{code}", squares.collect::<Vec<_>>().join(" + "))
    });
    let distances = distances.collect::<Vec<_>>().join(", ");
    let least = (0..CODES).map(|code| format!("d{code}")).collect::<Vec<_>>().join(", ");
    let found = (0..CODES).map(|code| format!("WHEN d{code} THEN {code}")).collect::<Vec<_>>().join(" ");
    vec![
        Case::new(
            "haversine",
            "lat1, lon1, lat2, lon2",
            format!("SELECT broadloom('{HAVERSINE}', lat1, lon1, lat2, lon2) FROM t"),
            format!("SELECT {haversine} FROM t"),
        ),
        Case::new(
            "chain of ten cheap operations",
            "x, y",
            format!("SELECT broadloom('{chain}', x, y) FROM t"),
            format!("SELECT {chain} FROM t"),
        ),
        Case::new(
            "z-scores",
            "x",
            "SELECT broadloom('(x - m) / s', x, m, s) FROM t CROSS JOIN (SELECT \
             broadloom_agg('mean(x)', x) AS m, broadloom_agg('std(x)', x) AS s FROM t)",
            "SELECT (x - m) / s FROM t CROSS JOIN (SELECT avg(x) AS m, stddev_pop(x) AS s FROM t)",
        ),
        Case::new(
            "mean and deviation of 100,000 groups",
            "k, x",
            "SELECT broadloom_agg('mean(x) + std(x)', x) FROM t GROUP BY k",
            "SELECT avg(x) + stddev_pop(x) FROM t GROUP BY k",
        ),
        Case {
            // The query in SQL takes long.
            repeats: 1,
            ..Case::new(
                "nearest of 256 codes in 8 dimensions",
                "v",
                "SELECT nearest(v) FROM t",
                format!("SELECT CASE least({least}) {found} END FROM (SELECT {distances} FROM t)"),
            )
        },
    ]
}
