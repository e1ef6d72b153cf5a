//! Plans that are cut, changed and blown up. A scheduler reads or refuses each of them soon, and no process ends.

use super::Received;
use crate::codec::LogicalCodec;
use crate::{Memory, session};
use datafusion::prelude::SessionContext;
use datafusion_proto::logical_plan::AsLogicalPlan;
use fastrand::Rng;
use std::io::Write;
use std::time::{Duration, Instant};

/// Plans of all kinds that clients send.
const QUERIES: [&str; 8] = [
    "SELECT x + 1 AS a, upper(word) AS b FROM t WHERE k IN (1, 2, 3) ORDER BY a DESC LIMIT 3",
    "SELECT * FROM (VALUES (1, 'a', NULL), (2, 'b', 2.5)) AS v(i, s, f)",
    "SELECT broadloom('sqrt(x * x + 1)', x) AS r, broadloom('x > y', x, y) AS p FROM t",
    "SELECT k, broadloom_agg('max(x * y) / mean(x)', x, y) AS m, count(*) AS c FROM t GROUP BY k HAVING count(*) > 1",
    "SELECT k, sum(x) OVER (PARTITION BY k ORDER BY y ROWS 3 PRECEDING) AS s FROM t",
    "SELECT a.k FROM t AS a LEFT JOIN t AS b ON a.k = b.k AND a.x < b.y UNION ALL SELECT 1",
    "SELECT CASE WHEN k = 1 THEN CAST(x AS DECIMAL(20, 3)) ELSE NULL END AS c FROM t",
    "COPY (SELECT x FROM t) TO 'a.csv' STORED AS CSV OPTIONS ('format.has_header' 'false')",
];

/// The longest time of one plan, in a debug build beside other tests.
const LONGEST: Duration = Duration::from_secs(10);
/// The most memory of this process, whatever plans say about sizes.
const MOST_BYTES: usize = 2 << 30;

/// Bytes that differ from valid ones in a few places, or in their length.
fn mutated(good: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..1 + random.usize(..4) {
        if bytes.is_empty() {
            break;
        }
        let position = random.usize(..bytes.len());
        let end = position + random.usize(..=(bytes.len() - position).min(64));
        match random.usize(..7) {
            0 => bytes[position] ^= 1 << random.usize(..8),
            1 => bytes[position] = [0, 1, 0x7f, 0x80, 0xff][random.usize(..5)],
            2 => bytes.truncate(position),
            3 => bytes.insert(position, random.u8(..)),
            // The largest number, where there may be a length.
            4 => drop(bytes.splice(position..=position, [[0xff; 9].as_slice(), &[1]].concat())),
            5 => {
                let part = bytes[position..end].to_vec();
                let target = random.usize(..=bytes.len());
                bytes.splice(target..target, part);
            }
            _ => {
                let many = bytes[position..end].repeat(random.usize(..200));
                bytes.splice(position..position, many);
            }
        }
    }
    bytes
}

async fn plans() -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    std::fs::write(&file, "k,x,y,word\n1,0.5,1.5,a\n2,2.5,NA,b\n").unwrap();
    let context = session::embedded(Memory::default()).unwrap();
    session::add_table(&context, "t", &file).await.unwrap();
    let state = context.state();
    let mut plans = Vec::new();
    for sql in QUERIES {
        let plan = state.create_logical_plan(sql).await.unwrap();
        for plan in [state.optimize(&plan).unwrap(), plan] {
            let mut bytes = Vec::new();
            Received::try_from_logical_plan(&plan, &LogicalCodec::default())
                .and_then(|received| received.try_encode(&mut bytes))
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
            plans.push(bytes);
        }
    }
    plans
}

/// The most memory that this process had, in bytes, where the system tells it.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or("VmHWM: 0");
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// Returns how many of some changed plans are read and refused.
fn attack(plans: &[Vec<u8>], seed: u64, rounds: usize) -> (usize, usize) {
    let context = SessionContext::new().task_ctx();
    let mut random = Rng::with_seed(seed);
    let (mut read, mut refused) = (0, 0);
    for round in 0..rounds {
        let bytes = mutated(&plans[round % plans.len()], &mut random);
        let start = Instant::now();
        let plan = Received::try_decode(&bytes)
            .and_then(|plan| plan.try_into_logical_plan(&context, &LogicalCodec::default()));
        match plan {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
        let took = start.elapsed();
        assert!(took < LONGEST, "seed {seed}, round {round}: {} bytes took {took:?}", bytes.len());
    }
    assert!(peak() < MOST_BYTES, "seed {seed}: {} MiB", peak() >> 20);
    (read, refused)
}

#[tokio::test]
async fn plans_that_are_cut_changed_and_blown_up_are_read_or_refused_soon() {
    let plans = plans().await;
    let context = SessionContext::new().task_ctx();
    for good in &plans {
        let received = Received::try_decode(good).unwrap();
        received.try_into_logical_plan(&context, &LogicalCodec::default()).unwrap();
        for end in (0..good.len()).step_by(7) {
            let cut = Received::try_decode(&good[..end]);
            // What is cut at a border of two parts may be a plan.
            let _ = cut.and_then(|plan| plan.try_into_logical_plan(&context, &LogicalCodec::default()));
        }
    }
    let (read, refused) = attack(&plans, 0x9e37_79b9_7f4a_7c15, 2_000);
    assert!(read > 20 && refused > 200, "{read} {refused}");
}

/// The same for longer, from another seed for each round of ten thousand plans.
#[tokio::test]
#[ignore = "takes minutes: see docs/testing.md"]
async fn plans_for_minutes() {
    let seconds = std::env::var("BROADLOOM_HOSTILE_SECONDS").map_or(600, |text| text.parse().unwrap());
    let plans = plans().await;
    let start = Instant::now();
    let mut seed = 1;
    while start.elapsed() < Duration::from_secs(seconds) {
        let (read, refused) = attack(&plans, seed, 10_000);
        let line = format!("seed {seed}: {read} read, {refused} refused, {} MiB at most", peak() >> 20);
        writeln!(std::io::stderr(), "{line}").unwrap();
        seed += 1;
    }
}
