//! Large inputs: computed in chunks with the same results, in bounded memory, and nothing left behind when interrupted.
//!
//! The test with files of 2 GB takes some minutes: `cargo test --release -p broadloom-cli --test stream -- --ignored`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn broadloom(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_broadloom"));
    command.current_dir(folder).args(args).stdin(Stdio::null());
    command
}

/// Runs to its end, and must succeed.
fn run(folder: &Path, args: &[&str]) -> Output {
    let output = broadloom(folder, args).output().unwrap();
    assert!(output.status.success(), "{args:?}\n{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A .npy, by its definition.
fn npy_header(descr: &str, is_fortran: bool, shape: &str) -> Vec<u8> {
    let order = if is_fortran { "True" } else { "False" };
    let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': ({shape}), }}");
    let padded = format!("{text:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((padded.len() as u16).to_le_bytes());
    bytes.extend(padded.as_bytes());
    assert_eq!(bytes.len() % 64, 0);
    bytes
}

fn values(count: usize) -> impl Iterator<Item = f32> {
    (0..count as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 8) as f32 / 65_536.0 - 128.0)
}

const ROWS: usize = 5000;

/// Writes one list of numbers to files of all kinds.
fn files(folder: &Path) {
    let all: Vec<f32> = values(ROWS * 3).collect();
    let bytes: Vec<u8> = all.iter().flat_map(|x| x.to_le_bytes()).collect();
    let npy = [npy_header("<f4", false, &format!("{ROWS}, 3")), bytes.clone()].concat();
    std::fs::write(folder.join("x.npy"), &npy).unwrap();
    std::fs::write(folder.join("x.bin"), &bytes).unwrap();
    let columns = (0..3).flat_map(|column| (0..ROWS).map(move |row| (row, column)));
    let columns = columns.flat_map(|(row, column): (usize, usize)| all[row * 3 + column].to_le_bytes());
    let fortran = [npy_header("<f4", true, &format!("{ROWS}, 3")), columns.collect()].concat();
    std::fs::write(folder.join("f.npy"), fortran).unwrap();
    for (name, method) in
        [("s.npz", zip::CompressionMethod::Stored), ("d.npz", zip::CompressionMethod::Deflated)]
    {
        let mut archive = zip::ZipWriter::new(File::create(folder.join(name)).unwrap());
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        archive.start_file("before.npy", options).unwrap();
        archive.write_all(&npy_header("<f8", false, "0,")).unwrap();
        archive.start_file("x.npy", options).unwrap();
        archive.write_all(&npy).unwrap();
        archive.finish().unwrap();
    }
}

#[test]
fn chunks_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let expressions = [
        "exp(x / 100) * 2",
        "(x - x.mean(axis=0)) / x.std(axis=0)",
        "y = x * 2; total = x.sum(axis=0); where = argmax(x, axis=0)",
        "mean(x)",
        "x[x.sum(axis=1) > 0]",
        "let m = x[:, 0] > x.mean(); big = x[m] * 2; which = flatnonzero(m); most = max(x[m], axis=0)",
        "let q = stack((arange(7) * 30.0 - 90, arange(7) * 9.0, arange(7) * 0.0), axis=1)
         let d = sum((q[:, None] - x) ** 2, axis=-1)
         near = argtopk(d, 5, axis=1, largest=False)
         weighted = exp(-d / 1e4) @ x
         closest = argmin(d)",
    ];
    let inputs = ["x=x.npy", "x=x.bin:f32[_, 3]", "x=f.npy", "x=s.npz:x", "x=d.npz:x"];
    for expression in expressions {
        let write = |input: &str, chunk: Option<&str>| {
            let mut args = vec!["eval", expression, input, "-o", "out.npz"];
            args.extend(chunk.iter().flat_map(|chunk| ["--chunk", chunk]));
            run(folder.path(), &args);
            std::fs::read(folder.path().join("out.npz")).unwrap()
        };
        let whole = write("x=x.npy", None);
        for input in inputs {
            for chunk in ["1024", "3000"] {
                // The time stands in archives, in seconds.
                let unzip = |bytes: Vec<u8>| {
                    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(bytes)).unwrap();
                    (0..archive.len())
                        .map(|at| {
                            let mut bytes = Vec::new();
                            std::io::copy(&mut archive.by_index(at).unwrap(), &mut bytes).unwrap();
                            bytes
                        })
                        .collect::<Vec<Vec<u8>>>()
                };
                let same = unzip(write(input, Some(chunk))) == unzip(whole.clone());
                assert!(same, "{expression} of {input} in chunks of {chunk}");
            }
        }
    }
    // Columns of one table have one number of rows: those of each chunk would not stand beside each other.
    let columns = [
        "eval",
        "a = x[:, 0][x[:, 0] > 0]; b = x[:, 1][x[:, 1] > 9]",
        "x=x.npy",
        "--chunk",
        "1024",
        "-o",
        "t.csv",
    ];
    let refused = broadloom(folder.path(), &columns).output().unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && message.contains("different numbers of rows"), "{message}");
    // An array without rows is a chunk.
    run(folder.path(), &["eval", "x[:, 0][x[:, 0] > 1e9]", "x=x.npy", "-o", "none.npy"]);
    run(folder.path(), &["eval", "y[y > 0] * 2", "y=none.npy", "--chunk", "7", "-o", "none2.npy"]);
    assert_eq!(std::fs::metadata(folder.path().join("none2.npy")).unwrap().len(), 128);
    let printed = |args: &[&str]| String::from_utf8(run(folder.path(), args).stdout).unwrap();
    let whole = printed(&["eval", "x.max(axis=0)", "x=x.npy"]);
    assert_eq!(printed(&["eval", "x.max(axis=0)", "x=x.npy", "--chunk", "17"]), whole);
}

/// Tables that are not kept in memory.
#[test]
fn large_tables_are_read_row_by_row() {
    let folder = tempfile::tempdir().unwrap();
    let rows = 1_500_000;
    let mut file = BufWriter::new(File::create(folder.path().join("t.csv")).unwrap());
    writeln!(file, "id,name,lat,lon").unwrap();
    let degrees = |at: usize, scale: f64| ((at * 7919) % 100_003) as f64 / 100_003.0 * scale;
    for at in 0..rows {
        writeln!(file, "{at},n{},{:.6},{:.6}", at % 7, degrees(at, 90.0), degrees(at + 1, 180.0)).unwrap();
    }
    drop(file);
    assert!(std::fs::metadata(folder.path().join("t.csv")).unwrap().len() > 40 << 20);
    let peak = peak_of(broadloom(
        folder.path(),
        &[
            "eval",
            "a = lat - lat.mean(); b = id * 2; top = lon.max(); g = segment_sum(id, name); near = id[lat < 0.01]",
            "t.csv",
            "--chunk",
            "100000",
            "-o",
            "a=a.npy",
            "-o",
            "b=b.npy",
            "-o",
            "top=top.npy",
            "-o",
            "g=g.csv",
            "-o",
            "near=near.csv",
        ],
    ));
    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let lat: Vec<f64> = (0..rows).map(|at| format!("{:.6}", degrees(at, 90.0)).parse().unwrap()).collect();
    let mean = lat.iter().sum::<f64>() / rows as f64;
    let a = read("a.npy");
    assert_eq!(a.len(), 128 + 8 * rows);
    for at in [0, 1, 99_999, 100_000, rows - 1] {
        let got = f64::from_le_bytes(a[128 + 8 * at..][..8].try_into().unwrap());
        assert!((got - (lat[at] - mean)).abs() < 1e-9, "{at}: {got}");
        let b = i64::from_le_bytes(read("b.npy")[128 + 8 * at..][..8].try_into().unwrap());
        assert_eq!(b, 2 * at as i64);
    }
    let most = (0..rows).map(|at| format!("{:.6}", degrees(at + 1, 180.0)).parse::<f64>().unwrap());
    let top = f64::from_le_bytes(read("top.npy")[128..].try_into().unwrap());
    assert_eq!(top, most.fold(0.0, f64::max));
    let sum = |group: usize| (0..rows).filter(|at| at % 7 == group).sum::<usize>();
    let groups: String = (0..7).map(|group| format!("n{group},{}\n", sum(group))).collect();
    assert_eq!(String::from_utf8(read("g.csv")).unwrap(), format!("name,g\n{groups}"));
    let near: Vec<usize> = (0..rows).filter(|at| lat[*at] < 0.01).collect();
    let wanted: String = near.iter().map(|at| format!("{at}\n")).collect();
    let table = String::from_utf8(read("near.csv")).unwrap();
    assert!(near.len() > 100 && table.trim_start_matches("near\n") == wanted, "{} rows", near.len());
    assert!(peak.is_none_or(|peak| peak < 100 << 20), "{peak:?} bytes");
}

/// The most anonymous memory that a process has while it runs, where the system tells.
fn peak_of(mut command: Command) -> Option<u64> {
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = None;
    let ended = loop {
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let now = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        peak = peak.max(now.map(|kilobytes| kilobytes << 10));
        std::thread::sleep(Duration::from_millis(2));
    };
    let mut errors = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut errors).unwrap();
    assert!(ended.success(), "{errors}");
    if cfg!(target_os = "linux") {
        assert!(peak.is_some(), "the process was never seen");
    }
    peak
}

/// A .npy of `f32[rows, 4]`, written without keeping it.
fn large_npy(path: &Path, rows: usize) {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).unwrap());
    file.write_all(&npy_header("<f4", false, &format!("{rows}, 4"))).unwrap();
    let block: Vec<u8> = values(4 << 16).flat_map(|x| x.to_le_bytes()).collect();
    let mut left = rows * 16;
    while left > 0 {
        let part = left.min(block.len());
        file.write_all(&block[..part]).unwrap();
        left -= part;
    }
}

/// Maps, merges and several passes over a file, and the most memory that each takes.
fn stream_through(rows: usize, most: u64) {
    let folder = tempfile::tempdir().unwrap();
    large_npy(&folder.path().join("x.npy"), rows);
    let cases: [&[&str]; 4] = [
        &["eval", "(x - x.mean(axis=0)) / x.std(axis=0)", "x=x.npy", "-o", "out.npy"],
        &["eval", "exp(-x ** 2) * sin(x)", "x=x.npy", "-o", "out.npy"],
        &["eval", "argmax(x, axis=0)", "x=x.npy", "-o", "out.npy"],
        &["eval", "x[x.sum(axis=1) > 0]", "x=x.npy", "-o", "out.npy"],
    ];
    for args in cases {
        let start = Instant::now();
        let peak = peak_of(broadloom(folder.path(), args));
        eprintln!(
            "{}: {:?} MB anonymous, {:.1} s",
            args[1],
            peak.map(|peak| peak >> 20),
            start.elapsed().as_secs_f64()
        );
        assert!(peak.is_none_or(|peak| peak < most), "{args:?}: {peak:?} bytes");
        let written = std::fs::metadata(folder.path().join("out.npy")).unwrap().len();
        let kept = match args[1] {
            "argmax(x, axis=0)" => 2,
            "x[x.sum(axis=1) > 0]" => {
                let elements: Vec<f32> = values(4 << 16).collect();
                let is_kept = |row: usize| elements[row % (1 << 16) * 4..][..4].iter().sum::<f32>() > 0.0;
                (0..rows).filter(|row| is_kept(*row)).count()
            }
            _ => rows,
        };
        assert_eq!(written, 128 + 16 * kept as u64);
    }
}

#[test]
fn memory_is_bounded() {
    stream_through(20_000_000, 150 << 20);
}

/// Columns larger than the memory that they are read in, to a file of columns.
#[cfg(feature = "arrow")]
#[test]
fn columns_are_read_in_batches() {
    use arrow_array::{ArrayRef, Float64Array, RecordBatch};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use std::sync::Arc;
    let folder = tempfile::tempdir().unwrap();
    let (groups, group) = (10, 1 << 20);
    let batch = |first: usize| {
        let x: ArrayRef =
            Arc::new(Float64Array::from_iter_values((first..first + group).map(|at| at as f64)));
        RecordBatch::try_from_iter([("x", x)]).unwrap()
    };
    let file = File::create(folder.path().join("t.parquet")).unwrap();
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let mut writer = ArrowWriter::try_new(file, batch(0).schema(), Some(properties)).unwrap();
    (0..groups).for_each(|at| writer.write(&batch(at * group)).unwrap());
    writer.close().unwrap();
    let peak = peak_of(broadloom(
        folder.path(),
        &["eval", "y = x * 2; total = sum(x)", "t.parquet", "-o", "y=y.arrow", "-o", "total=total.npy"],
    ));
    assert!(peak.is_none_or(|peak| peak < 100 << 20), "{peak:?} bytes");
    let rows = groups * group;
    let total = std::fs::read(folder.path().join("total.npy")).unwrap();
    assert_eq!(f64::from_le_bytes(total[128..].try_into().unwrap()), (rows * (rows - 1) / 2) as f64);
    let mut at = 0;
    for batch in
        arrow_ipc::reader::FileReader::try_new(File::open(folder.path().join("y.arrow")).unwrap(), None)
            .unwrap()
    {
        let batch = batch.unwrap();
        let y: &Float64Array = batch.column(0).as_any().downcast_ref().unwrap();
        assert!(y.values().iter().enumerate().all(|(row, y)| *y == 2.0 * (at + row) as f64));
        at += batch.num_rows();
    }
    assert_eq!(at, rows);
}

#[test]
#[ignore = "streams files of 2 GB"]
fn files_of_two_gigabytes_stream() {
    stream_through(1 << 27, 300 << 20);
}

#[test]
fn what_cannot_be_cut_is_said() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    let refused = |expression: &str| {
        let args = ["eval", expression, "x=x.npy", "--chunk", "1000", "-o", "out.npy"];
        let output = broadloom(folder.path(), &args).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(!folder.path().join("out.npy").exists());
        String::from_utf8(output.stderr).unwrap()
    };
    let message = refused("x[1:] - x[:-1]");
    assert!(message.contains("`slice`") && message.contains("help: "), "{message}");
    let message = refused("sum(x.T @@ x)");
    assert!(message.contains("error"), "{message}");
}

/// Rows that one input has and another has not are never left out.
#[test]
fn inputs_of_unequal_lengths_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    files(folder.path());
    for rows in [ROWS + 1, ROWS - 1, 1024] {
        let numbers: Vec<u8> = values(rows).flat_map(|x| x.to_le_bytes()).collect();
        std::fs::write(folder.path().join("y.bin"), numbers).unwrap();
        let program = "input x: f32[n, 3]; input y: f32[n]; output z = x * y[:, None]";
        let args = ["eval", program, "x=x.npy", "y=y.bin:f32[_]", "--chunk", "1024", "-o", "z.npy"];
        let output = broadloom(folder.path(), &args).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("S101") && message.contains(&rows.to_string()), "{message}");
        assert!(!folder.path().join("z.npy").exists());
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_nothing() {
    // As shells count the signals that end a program.
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        interrupted(signal, code);
    }
}

#[cfg(unix)]
fn interrupted(signal: &str, code: i32) {
    let folder = tempfile::tempdir().unwrap();
    large_npy(&folder.path().join("x.npy"), 30_000_000);
    let args =
        ["eval", "y = sin(x) ** 2.5; z = softmax(x, axis=0)", "x=x.npy", "-o", "y=y.npy", "-o", "z=z.npy"];
    let mut child: Child = broadloom(folder.path(), &args).stderr(Stdio::null()).spawn().unwrap();
    let names = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let start = Instant::now();
    while names().len() < 3 {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing is written");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(30));
    let killed = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(code));
    assert_eq!(names(), ["x.npy"]);
}
