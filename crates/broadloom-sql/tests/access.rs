//! A cluster that asks who comes: strangers are refused at every port with a message that says what to write, and the network
//! shows nothing.
#![cfg(unix)]

mod common;

use arrow_flight::Ticket;
use arrow_flight::flight_service_client::FlightServiceClient;
use ballista_core::serde::protobuf::executor_grpc_client::ExecutorGrpcClient;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelJobParams, CancelTasksParams, ExecuteQueryParams, GetJobStatusParams, PollWorkParams,
    StopExecutorParams,
};
use common::{Cluster, Options, PROGRAM, Process, ended_within, message, points, printed, query};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tonic::transport::Endpoint;
use tonic::{Code, Status};

const TOKEN: &str = "a-token-of-these-tests-0f3a";

/// Writes a file, and returns its path, which options keep.
fn file(directory: &Path, name: &str, text: &str) -> &'static str {
    let path = directory.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned().leak()
}

fn leaked(arguments: &[&'static str]) -> &'static [&'static str] {
    arguments.to_vec().leak()
}

/// An authority that signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// The option with its certificate.
    option: [&'static str; 2],
}

impl Authority {
    fn new(directory: &Path, name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        let option = ["--tls-ca", file(directory, &format!("{name}.pem"), &certificate.pem())];
        Authority { issuer: Issuer::new(params, key), option }
    }

    /// Returns options with a certificate of its own for this machine.
    fn certificate(&self, directory: &Path, name: &str) -> [&'static str; 4] {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let certificate = file(directory, &format!("{name}.pem"), &certificate.pem());
        [
            "--tls-cert",
            certificate,
            "--tls-key",
            file(directory, &format!("{name}.key"), &key.serialize_pem()),
        ]
    }
}

fn free_port() -> &'static str {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string().leak()
}

/// Sends bytes to a port, and returns what is answered.
fn raw(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // A server may close the connection in the middle.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

const ASKED: &[u8] = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

#[test]
fn a_token_opens_and_those_without_it_read_what_to_write() {
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 2, 1000);
    let secrets = tempfile::tempdir().unwrap();
    let token = leaked(&["--token-file", file(secrets.path(), "token", &format!("{TOKEN}\n"))]);
    let other = ["--token-file", file(secrets.path(), "other", "another-token-of-the-tests")];
    let cluster = Cluster::with(2, Options { scheduler: token, executor: token, client: token });
    // Executors read each other's parts, and the client reads theirs.
    let groups = "SELECT k, count(*) AS c, broadloom_agg('max(y)', y) AS m FROM t GROUP BY k ORDER BY k";
    let answer = printed(&cluster.query(groups, &[&table]));
    assert_eq!(answer, printed(&query(&[groups, &table])));

    let place = ["--cluster", &cluster.address, "SELECT 40 + 2 AS answer"];
    let mut said = Vec::new();
    let missing = message(&query(&place), 2);
    assert!(missing.contains("asks for a token") && missing.contains(&cluster.address), "{missing}");
    let wrong = message(&query(&[&place as &[&str], &other].concat()), 2);
    assert!(wrong.contains("the token is not that of the cluster"), "{wrong}");
    for executor in [&[] as &[&str], &other] {
        let work = cluster.work.path().to_str().unwrap();
        let server = ["executor", "--scheduler", &cluster.address, "--work-dir", work];
        // It does not try for a minute.
        let found = message(&ended_within(Process::query(&[&server, executor].concat()), 15), 2);
        assert!(found.contains("token"), "{found}");
        said.push(found);
    }
    for found in [&missing, &said[0]] {
        assert!(found.contains("--token-file FILE") && found.contains("BROADLOOM_SQL_TOKEN"), "{found}");
    }
    said.extend([missing, wrong]);
    let by_environment =
        Command::new(PROGRAM).args(place).env("BROADLOOM_SQL_TOKEN", TOKEN).output().unwrap();
    assert!(printed(&by_environment).contains("42"));
    // A file counts more, so that a variable that was forgotten does no harm.
    let both =
        Command::new(PROGRAM).args(place).args(other).env("BROADLOOM_SQL_TOKEN", TOKEN).output().unwrap();
    said.push(message(&both, 2));
    let short = Command::new(PROGRAM).args(place).env("BROADLOOM_SQL_TOKEN", "a-short-one").output().unwrap();
    said.push(message(&short, 2));
    assert!(said.iter().all(|said| !said.contains("-of-the") && !said.contains("a-short-one")), "{said:?}");
    cluster.assert_serves();
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_are_refused_at_every_port_and_the_token_is_nowhere() {
    let secrets = tempfile::tempdir().unwrap();
    let token = file(secrets.path(), "token", TOKEN);
    let start = |arguments: &[&str]| {
        Process::logged(Command::new(PROGRAM).args(arguments).args(["--token-file", token]))
    };
    let (scheduler, line, scheduler_log) = start(&["scheduler", "--port", "0"]);
    let address = line.trim().strip_prefix("scheduler listening on ").expect(&line).to_owned();
    let port = free_port();
    let work = secrets.path().to_str().unwrap();
    let (executor, line, executor_log) =
        start(&["executor", "--threads", "1", "--scheduler", &address, "--port", port, "--work-dir", work]);
    assert!(line.starts_with("executor with 1 threads"), "{line}");
    let results = format!("127.0.0.1:{port}");

    let refused = |status: Status| {
        assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
        assert!(status.message().contains("--token-file FILE"), "{status:?}");
    };
    let mut client = SchedulerGrpcClient::connect(format!("http://{address}")).await.unwrap();
    refused(client.execute_query(ExecuteQueryParams::default()).await.unwrap_err());
    refused(client.poll_work(PollWorkParams::default()).await.unwrap_err());
    refused(client.get_job_status(GetJobStatusParams::default()).await.unwrap_err());
    refused(client.cancel_job(CancelJobParams::default()).await.unwrap_err());
    let channel = Endpoint::from_shared(format!("http://{results}")).unwrap().connect().await.unwrap();
    let mut client = FlightServiceClient::new(channel);
    refused(client.do_get(Ticket::new("job")).await.unwrap_err());
    let mut client = ExecutorGrpcClient::connect(format!("http://{results}")).await.unwrap();
    refused(client.cancel_tasks(CancelTasksParams::default()).await.unwrap_err());
    refused(client.stop_executor(StopExecutorParams::default()).await.unwrap_err());
    for place in [&address, &results] {
        let answer = String::from_utf8_lossy(&raw(place, ASKED)).into_owned();
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        raw(place, &[0xff; 4096]);
    }
    let query = |more: &[&str]| query(&[&["--cluster", &address, "SELECT 40 + 2 AS a"], more].concat());
    assert!(printed(&query(&["--token-file", token])).contains("42"));

    let logs = scheduler_log.lock().unwrap().clone() + &executor_log.lock().unwrap();
    assert!(!logs.contains(TOKEN), "{logs}");
    for process in [&scheduler, &executor] {
        let shown =
            Command::new("ps").args(["-o", "args=", "-p", &process.0.id().to_string()]).output().unwrap();
        let shown = printed(&shown);
        assert!(shown.contains("--token-file") && !shown.contains(TOKEN), "{shown}");
    }
}

/// Passes bytes between clients and a server, and keeps those of both sides.
fn listening_in(server: String) -> (String, Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let kept = heard.clone();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(&server).unwrap();
            let ways = [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
            for (mut from, mut to) in ways {
                let kept = kept.clone();
                std::thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while let Ok(count @ 1..) = from.read(&mut bytes) {
                        kept.lock().unwrap().extend(&bytes[..count]);
                        if to.write_all(&bytes[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
    (address, heard)
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn certificates_keep_the_network_from_reading() {
    const SQL: &str = "SELECT 'nobody-reads-this' AS a, 40 + 2 AS b";
    let secrets = tempfile::tempdir().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let table = points(directory.path(), 2, 1000);
    let authority = Authority::new(secrets.path(), "authority");
    let stranger = Authority::new(secrets.path(), "stranger");
    let token = ["--token-file", file(secrets.path(), "token", TOKEN)];
    let own = authority.certificate(secrets.path(), "server");
    let port = free_port();
    let server = leaked(&[&token as &[&'static str], &authority.option, &own].concat());
    let client = leaked(&[&token as &[&'static str], &authority.option].concat());
    let executor = leaked(&[server, &["--port", port]].concat());
    let mut cluster = Cluster::with(1, Options { scheduler: server, executor, client });
    let groups = "SELECT k, count(*) AS c FROM t GROUP BY k ORDER BY k";
    assert_eq!(printed(&cluster.query(groups, &[&table])), printed(&query(&[groups, &table])));

    // The executor has one thread: it serves again only because the scheduler's order to cancel has reached it.
    let endless = "SELECT sum(broadloom('sum(arange(10**12) * x[:, None], axis=1)', x)) AS s FROM t";
    let running = cluster.start_query(endless, &[&table]);
    let before = cluster.executors[0].processor_time().unwrap_or_default();
    let start = Instant::now();
    while cluster.executors[0].processor_time().is_some_and(|now| now < before + Duration::from_millis(500)) {
        assert!(start.elapsed() < Duration::from_secs(100), "the query does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    running.signal("INT");
    message(&ended_within(running, 20), 130);
    cluster.assert_serves();

    let (between, heard) = listening_in(cluster.address.clone());
    assert!(printed(&query(&[&["--cluster", &between, SQL], client].concat())).contains("42"));
    let encrypted = std::mem::take(&mut *heard.lock().unwrap());
    assert!(encrypted.len() > 1000 && !contains(&encrypted, "nobody-reads"));

    let place = ["--cluster", &cluster.address, SQL];
    let plain = message(&query(&[&place as &[&str], &token].concat()), 1);
    assert!(plain.contains("needs --tls-ca"), "{plain}");
    let untrusted = message(&query(&[&place as &[&str], &token, &stranger.option].concat()), 1);
    assert!(
        untrusted.contains("invalid peer certificate") && untrusted.contains("--tls-ca signed"),
        "{untrusted}"
    );
    let missing = message(&query(&[&place as &[&str], &authority.option].concat()), 2);
    assert!(missing.contains("asks for a token"), "{missing}");
    for place in [&cluster.address, &format!("127.0.0.1:{port}")] {
        let answer = raw(place, ASKED);
        assert!(!contains(&answer, "HTTP"), "{answer:?}");
        raw(place, &[0xff; 4096]);
        raw(place, b"\x16\x03\x01\xff\xff\x01");
    }
    // One that begins to agree on keys and stops is closed, before this side has waited for 20 s.
    let start = Instant::now();
    raw(&cluster.address, b"\x16\x03\x01\x01\x00\x01");
    assert!(start.elapsed() < Duration::from_secs(15), "{:?}", start.elapsed());
    // A server without a certificate of its own is a mistake, and so is a client with TLS at a server without.
    let nothing = message(&query(&[&["scheduler", "--port", "0"], &authority.option as &[&str]].concat()), 2);
    assert!(nothing.contains("--tls-cert"), "{nothing}");
    cluster.executors.clear();
    let open = Cluster::start(1);
    let mistaken = message(&query(&[&["--cluster", &open.address, SQL], client].concat()), 1);
    assert!(mistaken.contains("whether it was started with --tls-cert"), "{mistaken}");
    // Without encryption, whoever listens reads the query.
    let (between, heard) = listening_in(open.address.clone());
    printed(&query(&["--cluster", &between, SQL]));
    assert!(contains(&heard.lock().unwrap(), "nobody-reads"));
}

/// A connection that goes on saying something keeps its place only if a request of it was let in.
#[test]
fn who_is_not_let_in_does_not_stay() {
    let secrets = tempfile::tempdir().unwrap();
    let token = leaked(&["--token-file", file(secrets.path(), "token", TOKEN)]);
    let cluster = Cluster::with(1, Options { scheduler: token, executor: token, client: token });
    let ask = |header: &str| format!("GET /readyz HTTP/1.1\r\nHost: localhost\r\n{header}\r\n");
    let mut strangers = ["GET".to_owned(), ask("")].map(|said| {
        let mut stream = TcpStream::connect(&cluster.address).unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        stream
    });
    let known = ask(&format!("User-Agent: broadloom-sql/{TOKEN}\r\n"));
    let mut guest = TcpStream::connect(&cluster.address).unwrap();
    guest.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    guest.write_all(known.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_secs(20));
    for stranger in &mut strangers {
        // A server may have closed it already.
        let _ = stranger.write_all(b" ");
    }
    // What serves HTTP 1 closes a connection that is idle for 30 s by itself.
    guest.write_all(known.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_secs(16));
    for stranger in &mut strangers {
        stranger.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        let mut said = Vec::new();
        let ended = stranger.read_to_end(&mut said);
        let is_open =
            ended.is_err_and(|error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut));
        assert!(!is_open, "{}", String::from_utf8_lossy(&said));
    }
    guest.write_all(known.as_bytes()).unwrap();
    let (mut said, mut part) = (Vec::new(), [0; 1024]);
    while let Ok(count @ 1..) = guest.read(&mut part) {
        said.extend(&part[..count]);
    }
    let said = String::from_utf8_lossy(&said);
    assert_eq!(said.matches("HTTP/1.1 200").count(), 3, "{said}");
    cluster.assert_serves();
}

#[test]
fn mutual_certificates_let_in_those_whom_the_authority_signed() {
    let secrets = tempfile::tempdir().unwrap();
    let authority = Authority::new(secrets.path(), "authority");
    let stranger = Authority::new(secrets.path(), "stranger");
    let signed = |name: &str| authority.certificate(secrets.path(), name);
    let options =
        |own: &[&'static str], more: &[&'static str]| leaked(&[&authority.option, own, more].concat());
    let server = options(&signed("server"), &["--mutual-tls"]);
    let client = options(&signed("client"), &[]);
    let cluster = Cluster::with(1, Options { scheduler: server, executor: server, client });
    cluster.assert_serves();
    for refused in [options(&[], &[]), options(&stranger.certificate(secrets.path(), "other"), &[])] {
        let found = message(&query(&[&["--cluster", &cluster.address, "SELECT 1"], refused].concat()), 1);
        assert!(found.contains("--mutual-tls, give --tls-cert"), "{found}");
    }
    cluster.assert_serves();
}

#[test]
fn servers_bind_to_this_machine_unless_they_ask_who_comes() {
    let secrets = tempfile::tempdir().unwrap();
    let authority = Authority::new(secrets.path(), "authority");
    let token = ["--token-file", file(secrets.path(), "token", TOKEN)];
    let tls = [&authority.option as &[&str], &authority.certificate(secrets.path(), "server")].concat();
    let everywhere = ["--bind", "0.0.0.0"];
    for server in [
        &["scheduler", "--port", "0"] as &[&str],
        &["executor", "--scheduler", "127.0.0.1:1", "--host", "here"],
    ] {
        for (given, lack) in [
            (&[] as &[&str], "asks for no token, and nothing is encrypted"),
            (&token, "the network shows the token"),
            (&tls, "this server asks for no token"),
        ] {
            let found = message(&query(&[server, &everywhere, given].concat()), 2);
            assert!(found.contains(lack) && found.contains("--insecure"), "{found}");
        }
    }
    let scheduler = ["scheduler", "--port", "0"];
    for given in [
        &["--insecure"] as &[&str],
        &[&token as &[&str], &tls].concat(),
        &[&tls as &[&str], &["--mutual-tls"]].concat(),
    ] {
        let (_scheduler, line) = Process::server(&[&scheduler as &[&str], &everywhere, given].concat());
        assert!(line.starts_with("scheduler listening on 0.0.0.0:"), "{line}");
    }
}
