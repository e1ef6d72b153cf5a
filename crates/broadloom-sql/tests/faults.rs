//! Faults on a cluster of real processes: what a user sees, and that the cluster serves the next query.

mod common;

use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{ExecuteQueryParams, execute_query_params};
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use broadloom_sql::codec::{LogicalCodec, PhysicalCodec};
use broadloom_sql::session;
use common::{Cluster, Process, ended_within, message, points, printed, query};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, TableReference, not_impl_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, Extension, LogicalPlan, LogicalPlanBuilder, ScalarUDF, lit};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::{AsLogicalPlan, LogicalExtensionCodec};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf::LogicalPlanNode;
use datafusion_proto::protobuf::logical_expr_node::ExprType;
use datafusion_proto::protobuf::logical_plan_node::LogicalPlanType;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A query that computes for a tenth of a millisecond for each row. Its result does not depend on the order of sums.
const LONG: &str =
    "SELECT count(*) AS c FROM t WHERE broadloom('sum(sin(y[:, None] + arange(20000)), axis=1)', y) > 0";

/// Starts a query, and waits until each of some processes, or the client without any, computes it. Executors compute at a low
/// priority, so beside other work the time that passed says little.
fn under_way(start: impl FnOnce() -> Process, executors: &[Process]) -> Process {
    const COMPUTED: Duration = Duration::from_millis(500);
    let times = |of: &[Process]| of.iter().map(Process::processor_time).collect::<Option<Vec<_>>>();
    let before = times(executors);
    let mut client = start();
    let started = Instant::now();
    loop {
        assert!(client.0.try_wait().unwrap().is_none(), "the query ended too early for the test");
        let computes = match (&before, times(executors)) {
            (Some(before), Some(now)) if !before.is_empty() => {
                before.iter().zip(now).all(|(before, now)| now >= *before + COMPUTED)
            }
            _ => client.processor_time().map_or(started.elapsed() > 4 * COMPUTED, |time| time > 2 * COMPUTED),
        };
        if computes {
            return client;
        }
        assert!(started.elapsed() < Duration::from_secs(100), "the query does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn tasks_of_a_killed_executor_move_and_a_cluster_without_executors_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 4, 20_000);
    let mut cluster = Cluster::start(2);
    let client = under_way(|| cluster.start_query(LONG, &[&table]), &cluster.executors);
    cluster.executors[0].signal("KILL");
    // The other executor takes over and computes all.
    let retried = printed(&ended_within(client, 200));
    assert_eq!(retried, printed(&cluster.query(LONG, &[&table])));
    cluster.assert_serves();

    let client = under_way(|| cluster.start_query(LONG, &[&table]), &cluster.executors[1..]);
    cluster.executors[1].signal("KILL");
    let lost = message(&ended_within(client, 30), 1);
    assert!(lost.contains("executor"), "{lost}");
    cluster.add();
    cluster.assert_serves();
}

#[test]
fn ctrl_c_cancels_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    // A batch takes a part of a second, and the whole query some ten.
    let long = LONG.replace("20000", "10000");
    let table = points(directory.path(), 4, 200_000);
    let cluster = Cluster::start(2);
    let output = directory.path().join("r.csv");
    let result = ["-o", output.to_str().unwrap()];
    for (place, executors) in [(&["--cluster", &cluster.address] as &[&str], &*cluster.executors), (&[], &[])]
    {
        let start = || Process::query(&[place, &[&long, &table], &result].concat());
        let client = under_way(start, executors);
        client.signal("INT");
        assert!(message(&ended_within(client, 20), 130).contains("cancelled"));
        // Each executor has one thread: they serve again only because they stopped.
        cluster.assert_serves();
        let files = std::fs::read_dir(directory.path()).unwrap().count();
        assert_eq!(files, 4, "nothing is left of the result");
    }
}

#[test]
fn an_error_in_a_row_and_mistakes_in_a_query() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 2, 2000);
    let cluster = Cluster::start(2);
    let taken = "SELECT sum(broadloom('arange(900)[i]', i)) FROM t";
    let local = message(&query(&[taken, &table]), 1);
    let remote = message(&cluster.query(taken, &[&table]), 1);
    for found in [local, remote] {
        assert!(found.starts_with("error[R001]: `take`: the index at ["), "{found}");
        assert!(found.contains(" 1 | arange(900)[i]\n   | ^^^^^^^^^^^^^^\n"), "{found}");
        assert!(found.contains("but the axis has 900 elements"), "{found}");
    }
    cluster.assert_serves();

    // Mistakes are found before anything is sent.
    let wrong = "SELECT broadloom('sqroot(x)', x) FROM t";
    let found = message(&cluster.query(wrong, &[&table]), 2);
    assert!(found.starts_with("error[") && found.contains("sqroot(x)"), "{found}");
    assert_eq!(found, message(&query(&[wrong, &table]), 2));
}

/// A codec that damages the definitions of functions. A client only writes plans.
#[derive(Debug)]
struct Damaging {
    codec: LogicalCodec,
    damage: Damage,
}

impl LogicalExtensionCodec for Damaging {
    fn try_decode(&self, _: &[u8], _: &[LogicalPlan], _: &TaskContext) -> Result<Extension> {
        not_impl_err!("reading plans")
    }

    fn try_encode(&self, node: &Extension, bytes: &mut Vec<u8>) -> Result<()> {
        self.codec.try_encode(node, bytes)
    }

    fn try_decode_table_provider(
        &self,
        _: &[u8],
        _: &TableReference,
        _: SchemaRef,
        _: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        not_impl_err!("reading plans")
    }

    fn try_encode_table_provider(
        &self,
        table: &TableReference,
        provider: Arc<dyn TableProvider>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        self.codec.try_encode_table_provider(table, provider, bytes)
    }

    fn try_encode_udf(&self, function: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.codec.try_encode_udf(function, bytes)?;
        (self.damage)(bytes);
        Ok(())
    }
}

/// Changes the bytes of a function in a plan.
type Damage = fn(&mut Vec<u8>);

#[tokio::test(flavor = "multi_thread")]
async fn damaged_plans_and_plans_of_other_versions() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 1, 100);
    let cluster = Cluster::start(1);
    let damages: [(Damage, &str); 3] = [
        (|bytes| bytes.truncate(bytes.len() - 3), "is damaged"),
        (
            |bytes| *bytes = of_another_version(bytes),
            "another version of Broadloom: run the same version everywhere",
        ),
        (|bytes| *bytes = b"\xff\xff\xff".to_vec(), "is not one of Broadloom's"),
    ];
    for (damage, expected) in damages {
        let codec = Damaging { codec: LogicalCodec::default(), damage };
        let context = session::remote_with_codec(&cluster.address.parse().unwrap(), Arc::new(codec)).unwrap();
        session::add_table(&context, "t", table.trim_start_matches("t=")).await.unwrap();
        let sent = context.sql("SELECT broadloom('sqrt(y)', y) FROM t").await.unwrap();
        let error = sent.collect().await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        cluster.assert_serves();
    }
}

/// Reads functions as a later version does. An executor only reads plans.
#[derive(Debug, Default)]
struct Later(PhysicalCodec);

impl PhysicalExtensionCodec for Later {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.try_decode(bytes, inputs, context, converter)
    }

    fn try_encode(
        &self,
        _: Arc<dyn ExecutionPlan>,
        _: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        not_impl_err!("writing plans")
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.0.try_decode_udf(name, &of_another_version(bytes))
    }

    fn try_decode_udaf(&self, name: &str, bytes: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.0.try_decode_udaf(name, &of_another_version(bytes))
    }
}

/// Returns the bytes of a function with the number of another version.
fn of_another_version(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[7] += 1;
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_of_another_version() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 1, 100);
    let cluster = Cluster::start(0);
    let (scheduler_host, scheduler_port) = cluster.address.rsplit_once(':').unwrap();
    let free = [0, 0].map(|port| std::net::TcpListener::bind(("127.0.0.1", port)).unwrap());
    let [port, grpc_port] = free.map(|listener| listener.local_addr().unwrap().port());
    let config = Arc::new(ExecutorProcessConfig {
        bind_host: "127.0.0.1".to_owned(),
        external_host: Some("127.0.0.1".to_owned()),
        port,
        grpc_port,
        scheduler_host: scheduler_host.to_owned(),
        scheduler_port: scheduler_port.parse().unwrap(),
        vcores: 1,
        task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
        override_logical_codec: Some(Arc::new(LogicalCodec::default())),
        override_physical_codec: Some(Arc::new(Later::default())),
        ..ExecutorProcessConfig::default()
    });
    let health = config.health.clone();
    tokio::spawn(start_executor_process(config));
    while !health.is_ready() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for sql in [
        "SELECT broadloom('sqrt(y)', y) FROM t",
        "SELECT broadloom_agg('mean(y)', y) FROM t",
        "SELECT k, broadloom_agg('median(y)', y) FROM t GROUP BY k",
    ] {
        let found = message(&ended_within(cluster.start_query(sql, &[&table]), 30), 1);
        let expected = "a function was sent by another version of Broadloom: run the same version everywhere";
        assert!(found.contains(expected), "{found}");
        cluster.assert_serves();
    }
}

/// The request to run a plan.
fn asked(plan: Vec<u8>) -> tonic::Request<ExecuteQueryParams> {
    let mut request = tonic::Request::new(ExecuteQueryParams {
        query: Some(execute_query_params::Query::LogicalPlan(plan)),
        session_id: "hostile".to_owned(),
        operation_id: "hostile".to_owned(),
        settings: Vec::new(),
    });
    ballista_core::version::insert_version_header(request.metadata_mut());
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_are_no_plan_are_refused() {
    let cluster = Cluster::start(1);
    let mut client = SchedulerGrpcClient::connect(format!("http://{}", cluster.address)).await.unwrap();
    for bytes in [b"SELECT 1".to_vec(), vec![0xff; 1000], vec![0x0a; 100_000]] {
        let refused = client.execute_query_push(asked(bytes)).await.unwrap_err();
        assert!(refused.message().contains("Could not parse plan"), "{refused}");
        cluster.assert_serves();
    }
}

/// A plan with a sum of so many terms, as nobody's planner makes it.
fn sum(terms: usize) -> Vec<u8> {
    let plan = LogicalPlanBuilder::empty(true).project([lit(1) + lit(2)]).unwrap().build().unwrap();
    let mut plan = LogicalPlanNode::try_from_logical_plan(&plan, &LogicalCodec::default()).unwrap();
    let Some(LogicalPlanType::Projection(projection)) = &mut plan.logical_plan_type else {
        panic!("{plan:?}")
    };
    let Some(ExprType::BinaryExpr(sum)) = &mut projection.expr[0].expr_type else { panic!("{projection:?}") };
    sum.operands = vec![sum.operands[0].clone(); terms];
    let mut bytes = Vec::new();
    plan.try_encode(&mut bytes).unwrap();
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_that_are_too_deep_are_refused_before_they_are_built() {
    let cluster = Cluster::start(1);
    let mut client = SchedulerGrpcClient::connect(format!("http://{}", cluster.address)).await.unwrap();
    let start = Instant::now();
    // Built, the longest takes hours.
    for terms in [2_200, 20_000, 1_000_000] {
        let refused = client.execute_query_push(asked(sum(terms))).await.unwrap_err();
        assert!(refused.message().contains(&format!("{terms} levels deep")), "{refused}");
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    // A list is not deep, whatever its length.
    let list = format!("SELECT 1 AS a WHERE 3 IN ({})", vec!["2"; 5_000].join(", "));
    printed(&cluster.query(&list, &[]));
    cluster.assert_serves();
}

#[test]
fn a_client_without_a_scheduler_or_executors_does_not_wait_in_silence() {
    let cluster = Cluster::start(0);
    let waiting = cluster.start_query("SELECT 1", &[]);
    let alone = message(&ended_within(waiting, 40), 1);
    assert!(alone.contains(&format!("broadloom-sql executor --scheduler {}", cluster.address)), "{alone}");
    let address = cluster.address.clone();
    drop(cluster);
    let nobody = Process::server(&["--cluster", &address, "SELECT 1"]).1;
    assert!(nobody.contains("start one with `broadloom-sql scheduler`"), "{nobody}");
}
