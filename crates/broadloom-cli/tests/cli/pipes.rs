//! Standard input and output as files.

use crate::{Done, Folder, done, f32s, f64s, npy, pictures};
use npyz::NpyFile;
use std::io::Write;
use std::process::Stdio;

impl Folder {
    /// What a command does that reads these bytes.
    fn piped(&self, args: &[&str], bytes: &[u8]) -> (Done, Vec<u8>) {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Who refuses the arguments reads nothing.
        let _ = child.stdin.take().unwrap().write_all(bytes);
        let mut output = child.wait_with_output().unwrap();
        let stdout = output.stdout.clone();
        output.stdout = String::from_utf8_lossy(&stdout).into_owned().into_bytes();
        (done(output), stdout)
    }

    fn prints(&self, args: &[&str], bytes: &[u8]) -> String {
        let (done, _) = self.piped(args, bytes);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{args:?}");
        done.stdout
    }
}

#[test]
fn every_kind_is_read_from_standard_input() {
    let folder = Folder::new();
    let array = npy("'<f4'", false, "(2, 2)", &f32s(&[1.0, 2.0, 3.0, 4.0]));
    assert_eq!(folder.prints(&["eval", "x.sum(axis=0)", "x=-"], &array), "[4. 6.]\n");
    assert_eq!(folder.prints(&["check", "x", "x=-"], &array), "result: f32[2, 2]\n");
    assert_eq!(folder.prints(&["eval", "x + 1", "x=-:f64[_]"], &f64s(&[0.5, 1.5])), "[1.5 2.5]\n");
    let table = b"a,b\n1,2.5\n3,4.5\n";
    assert_eq!(folder.prints(&["eval", "x", "x=-"], table), "[[1.  2.5]\n [3.  4.5]]\n");
    assert_eq!(folder.prints(&["eval", "a + b", "-"], table), "[3.5 7.5]\n");
    assert_eq!(folder.prints(&["eval", "x - y", "x=-:b", "y=-:a"], table), "[1.5 1.5]\n");
    assert_eq!(folder.prints(&["eval", "b", "-"], b"a\tb\n1\t2\n"), "[2]\n");
    assert_eq!(folder.prints(&["eval", "b", "-", "--delimiter", ";"], b"a;b\n1;2\n"), "[2]\n");
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("k.npy", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(&array).unwrap();
    assert_eq!(folder.prints(&["eval", "k[1]", "-"], &archive.finish().unwrap().into_inner()), "[3. 4.]\n");
    let picture = pictures::png([3, 1], png::ColorType::Grayscale, png::BitDepth::Eight, &[7; 3]);
    assert_eq!(folder.prints(&["eval", "x", "x=-"], &picture), "[[7 7 7]]\n");
    // In chunks, which read it several times.
    let numbers: Vec<f64> = (0..5000).map(f64::from).collect();
    let args = ["eval", "(x - x.mean()).max()", "x=-:f64[_]", "--chunk", "512"];
    assert_eq!(folder.prints(&args, &f64s(&numbers)), "2499.5\n");
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn what_cannot_be_read_from_standard_input_is_said() {
    let folder = Folder::new();
    folder.write("p.bl", "y = x + 1");
    let cases: [(&[&str], &[u8], i32, &str); 5] = [
        (&["eval", "x", "x=-"], b"", 1, "standard input is empty"),
        (&["eval", "x", "x=-"], &[1, 0, 2, 0], 1, "x=-:f32[_, 3]"),
        (&["eval", "x", "x=-:f32[_]"], &[1, 0, 2], 1, "the file has 3 bytes"),
        (&["eval", "-f", "-", "x=-"], b"y = x", 2, "standard input is already the program"),
        (&["eval", "x", "x=-"], b"\x93NUMPY\x01\x00", 1, "standard input: it ends inside the header"),
    ];
    for (args, bytes, code, expected) in cases {
        let (done, _) = folder.piped(args, bytes);
        assert_eq!((done.code, done.stdout.as_str()), (Some(code), ""), "{args:?}\n{}", done.stderr);
        assert!(
            done.stderr.contains(expected) && done.stderr.contains("help: ") || code == 1,
            "{}",
            done.stderr
        );
        assert!(done.stderr.contains(expected), "{args:?}\n{}", done.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_read_as_standard_input_is() {
    let folder = Folder::new();
    let status = std::process::Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap();
    assert!(status.success());
    let path = folder.path().join("pipe");
    let writer = std::thread::spawn(move || std::fs::write(path, "a,b\n1,2\n3,4\n").unwrap());
    assert_eq!(folder.output(&["eval", "x + y", "x=pipe:a", "y=pipe:b"]), "[3 7]\n");
    writer.join().unwrap();
}

#[test]
fn every_kind_is_written_to_standard_output() {
    let folder = Folder::new();
    folder.write("x.npy", npy("'<f8'", false, "(3,)", &f64s(&[1.0, 2.5, -3.0])));
    let bytes = |args: &[&str]| {
        let output = folder.command(args).output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{args:?}");
        output.stdout
    };
    assert_eq!(bytes(&["eval", "x * 2", "x=x.npy", "-o", "-", "--format", "csv"]), b"2.0\n5.0\n-6.0\n");
    assert_eq!(bytes(&["eval", "x", "x=x.npy", "-o", "-", "--format", "bin"]), f64s(&[1.0, 2.5, -3.0]));
    let table = bytes(&["eval", "a = x; b = -x", "x=x.npy", "-o", "-", "--format", "tsv"]);
    assert_eq!(table, b"a\tb\n1.0\t-1.0\n2.5\t-2.5\n-3.0\t3.0\n");
    // In chunks the header is completed at the end, which no pipe could take.
    for chunk in [&[][..], &["--chunk", "2"]] {
        let array = bytes(&[&["eval", "x + 1", "x=x.npy", "-o", "-", "--format", "npy"], chunk].concat());
        let values: Vec<f64> = NpyFile::new(array.as_slice()).unwrap().into_vec().unwrap();
        assert_eq!(values, [2.0, 3.5, -2.0]);
    }
    let both =
        bytes(&["eval", "a = x; b = x.sum()", "x=x.npy", "-o", "-", "--format", "npz", "-o", "b=b.npy"]);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(both)).unwrap();
    let sum: Vec<f64> = NpyFile::new(archive.by_name("b.npy").unwrap()).unwrap().into_vec().unwrap();
    assert_eq!(sum, [0.5]);
    assert_eq!(folder.names(), ["b.npy", "x.npy"]);
}

#[test]
fn what_standard_output_cannot_take_is_said() {
    let folder = Folder::new();
    folder.write("x.npy", npy("'<f8'", false, "(1,)", &f64s(&[1.0])));
    let cases: [(&[&str], &str); 4] = [
        (&["x", "-o", "-"], "the format of standard output is not known"),
        (
            &["a = x; b = x", "-o", "a=-", "-o", "b=-", "--format", "npy"],
            "standard output takes only one file",
        ),
        (&["a = x; b = x", "-o", "-", "--format", "npy"], "standard output holds one result"),
        (&["x", "--format", "npy"], "--output"),
    ];
    for (args, expected) in cases {
        let done = folder.run(&[&["eval"], args, &["x=x.npy"]].concat());
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(done.stderr.contains(expected), "{args:?}\n{}", done.stderr);
    }
}

/// Files are wanted even if nobody reads the pipe.
#[cfg(unix)]
#[test]
fn a_closed_pipe_leaves_the_files() {
    let folder = Folder::new();
    folder.write("x.npy", npy("'<f8'", false, "(1,)", &f64s(&[1.0])));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let args = ["eval", "a = x; b = x", "x=x.npy", "-o", "a=-", "--format", "npy", "-o", "b=b.npy"];
    let done = done(folder.command(&args).stdout(writer).output().unwrap());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert_eq!(folder.names(), ["b.npy", "x.npy"]);
}

/// NumPy's three dots are for people; a program that reads the pipe wants the numbers.
#[test]
fn a_pipe_gets_every_element() {
    let folder = Folder::new();
    let printed = folder.output(&["eval", "arange(5000)"]);
    let numbers =
        printed.trim_matches(['[', ']', '\n']).split_whitespace().map(|word| word.parse::<i32>().unwrap());
    assert!(numbers.eq(0..5000), "{printed}");
}

#[test]
fn expressions_may_begin_with_a_sign() {
    let folder = Folder::new();
    for (expression, expected) in [("-x", "-3\n"), ("-x**2 + 1", "-8\n"), ("-1", "-1\n"), ("-abs(x)", "-3\n")]
    {
        assert_eq!(folder.output(&["-q", "eval", expression, "x=3"]), expected);
        assert_eq!(folder.output(&["-q", "eval", "-o", "y.bin", expression, "x=3"]), "");
    }
    assert_eq!(folder.output(&["check", "-x", "x:f32[n]"]), "result: f32[n]\n");
    assert_eq!(folder.output(&["eval", "x", "x=3", "-oy.bin"]), "");
    let glued = folder.run(&["eval", "-oy.bin", "x", "x=3"]);
    assert!(glued.code != Some(0) && glued.stderr.contains("by a space: -o FILE"), "{}", glued.stderr);
    let unknown = folder.run(&["eval", "x", "x=3", "--quite"]);
    assert!(unknown.code == Some(2) && unknown.stderr.contains("--quiet"), "{}", unknown.stderr);
}

/// A wrong number with the exit code 0: they were the constants.
#[test]
fn inputs_come_before_constants() {
    let folder = Folder::new();
    folder.write("t.csv", "e,x\n1,2\n");
    for name in ["e", "pi", "nan", "inf"] {
        let done = folder.run(&["eval", &format!("{name} * 2"), &format!("{name}=21")]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "42\n"), "{}", done.stderr);
        assert!(
            done.stderr.starts_with(&format!("warning: `{name}` refers to the input")),
            "{}",
            done.stderr
        );
        let declared = format!("{name}:i32[3]");
        assert_eq!(folder.output(&["check", &format!("{name} * 2"), &declared]), "result: i32[3]\n");
    }
    let done = folder.run(&["eval", "e + x", "t.csv"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "[3]\n"), "{}", done.stderr);
    assert_eq!(folder.output(&["eval", "round(e + x)", "x=1"]), "4.0\n");
    assert_eq!(folder.output(&["eval", "\"e\" + x", "x=1", "e=7"]), "8\n");
    assert_eq!(folder.output(&["eval", "where(x > 0, x, nan)", "x=-1"]), "nan\n");
}

#[test]
fn declarations_are_one_input_each() {
    let folder = Folder::new();
    for (declaration, place, expected) in [
        ("x:f32[n", "input:1:", "this bracket is never closed"),
        ("x:f32[n]; output z = 3", "input:1:", "a declaration contains one input"),
        ("x:f32[n]\noutput z = 3", "input:2:", "a declaration contains one input"),
        ("x:f23[n]", "input:1:", "unknown dtype `f23`"),
    ] {
        let done = folder.run(&["check", "x * 2", declaration, "y:f32[3]"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{declaration}");
        assert!(
            done.stderr.contains(expected) && done.stderr.contains(place),
            "{declaration}\n{}",
            done.stderr
        );
        assert_eq!(done.stderr.matches("error").count(), 1, "{}", done.stderr);
    }
}

/// A table is looked through before the program is understood, and that is reading.
#[test]
fn looking_into_files_is_reading() {
    let folder = Folder::new();
    folder.write("t.csv", format!("a\n{}", "1\n".repeat(300_000)));
    let done = folder.run(&["eval", "a.sum()", "t.csv", "--time"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "300000\n"));
    let time = |step: &str| {
        let rest = done.stderr.split_once(step).expect("a step").1;
        rest.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    };
    assert!(time("read ") > time("parse "), "{}", done.stderr);
}

/// What never ends is read as far as it is needed, and then refused.
#[test]
fn endless_inputs_end_in_an_error() {
    let folder = Folder::new();
    let (done, _) = folder.piped(&["eval", "x.sum()", "x=-:u8[1000]"], &[1; 1000]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "1000\n"), "{}", done.stderr);
    let (done, _) = folder.piped(&["eval", "x.sum()", "x=-:u8[1000]"], &[1; 1001]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    assert!(done.stderr.contains("standard input has more than the 1000 bytes"), "{}", done.stderr);
    let (done, _) = folder.piped(&["eval", "x.sum()", "x=-:u8[1000]"], &[1; 999]);
    assert!(done.stderr.contains("u8[1000] needs 1000 bytes, but the file has 999"), "{}", done.stderr);
    if std::path::Path::new("/dev/zero").exists() {
        let done = folder.run(&["eval", "x.sum()", "x=/dev/zero:f32[10, 10]"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
        assert!(done.stderr.contains("/dev/zero has more than the 400 bytes"), "{}", done.stderr);
    }
}
