//! Files as they are found and left.

use crate::{Folder, f64s, npy};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("x.npy", npy("'<f8'", false, "(2,)", &f64s(&[1.0, 2.0])));
    folder
}

#[cfg(unix)]
mod unix {
    use super::folder;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;
    use std::time::{Duration, SystemTime};

    #[test]
    fn a_replaced_file_keeps_its_mode() {
        let folder = folder();
        for mode in [0o600, 0o664, 0o755] {
            folder.write("y.npy", "old");
            let path = folder.path().join("y.npy");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            folder.output(&["eval", "x", "x=x.npy", "-o", "y.npy"]);
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, mode);
        }
    }

    /// What a link leads to is replaced, and the link stays.
    #[test]
    fn symbolic_links_are_followed() {
        let folder = folder();
        std::fs::create_dir(folder.path().join("real")).unwrap();
        folder.write("real/y.bin", "old");
        symlink("real/y.bin", folder.path().join("link.bin")).unwrap();
        folder.output(&["eval", "x", "x=x.npy", "-o", "link.bin"]);
        assert!(folder.path().join("link.bin").symlink_metadata().unwrap().is_symlink());
        assert_eq!(folder.read("real/y.bin").len(), 16);
        // One file by two names.
        let twice =
            folder.run(&["eval", "a = x; b = x", "x=x.npy", "-o", "a=link.bin", "-o", "b=real/y.bin"]);
        assert!(twice.code == Some(2) && twice.stderr.contains("is written twice"), "{}", twice.stderr);
        symlink("nowhere/y.bin", folder.path().join("lost.bin")).unwrap();
        let lost = folder.run(&["eval", "x", "x=x.npy", "-o", "lost.bin"]);
        assert!(
            lost.code == Some(1) && lost.stderr.contains("its symbolic link cannot be followed"),
            "{}",
            lost.stderr
        );
        assert_eq!(folder.names(), ["link.bin", "lost.bin", "real", "x.npy"]);
    }

    #[test]
    fn the_systems_names_of_standard_output_are_known() {
        let folder = folder();
        for name in ["/dev/stdout", "/dev/fd/1"] {
            let piped = folder.run(&["eval", "x", "x=x.npy", "-o", "-", "--format", "csv"]);
            let named = folder.run(&["eval", "x", "x=x.npy", "-o", name, "--format", "csv"]);
            assert_eq!((named.code, &named.stdout, &named.stderr), (Some(0), &piped.stdout, &piped.stderr));
            let unknown = folder.run(&["eval", "x", "x=x.npy", "-o", name]);
            assert!(
                unknown.code == Some(2) && unknown.stderr.contains("-o - --format csv"),
                "{}",
                unknown.stderr
            );
        }
        let twice = folder.run(&["eval", "x", "x=x.npy", "-o", "-", "-o", "/dev/stdout", "--format", "csv"]);
        assert!(twice.code == Some(2) && twice.stderr.contains("takes only one file"), "{}", twice.stderr);
        let picture = folder.output(&["graph", "x", "x:f32[n]", "-o", "/dev/stdout", "--format", "svg"]);
        assert!(picture.starts_with("<svg"), "{picture}");
    }

    #[test]
    fn what_is_no_regular_file_is_not_replaced() {
        let folder = folder();
        assert!(Command::new("mkfifo").arg(folder.path().join("pipe.bin")).status().unwrap().success());
        let done = folder.run(&["eval", "x", "x=x.npy", "-o", "pipe.bin"]);
        assert!(done.code == Some(1) && done.stderr.contains("not a regular file"), "{}", done.stderr);
        assert!(done.stderr.contains("-o - --format"), "{}", done.stderr);
        assert_eq!(folder.names(), ["pipe.bin", "x.npy"]);
    }

    /// Of a run that was killed; one that goes on holds a lock.
    #[test]
    fn parts_that_nobody_writes_are_removed() {
        let folder = folder();
        let old = SystemTime::now() - Duration::from_secs(60);
        let mut kept = Vec::new();
        for name in [".broadloom-stale.part", ".broadloom-running.part", ".broadloom-mine", "other.part"] {
            let file = std::fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(old).unwrap();
            if name.contains("running") {
                file.lock().unwrap();
                kept.push(file);
            }
        }
        folder.write(".broadloom-young.part", "");
        folder.output(&["eval", "x", "x=x.npy", "-o", "y.npy"]);
        let names = folder.names();
        assert_eq!(
            names,
            [
                ".broadloom-mine",
                ".broadloom-running.part",
                ".broadloom-young.part",
                "other.part",
                "x.npy",
                "y.npy"
            ]
        );
    }

    #[test]
    fn paths_need_not_be_utf_8() {
        let folder = folder();
        let name = OsStr::from_bytes(b"caf\xe9.npy");
        let (copy, table) = (OsStr::from_bytes(b"\xff\xfe.npy"), OsStr::from_bytes(b"t\xe9.csv"));
        std::fs::rename(folder.path().join("x.npy"), folder.path().join(name)).unwrap();
        std::fs::write(folder.path().join(table), "a,b\n1,2\n").unwrap();
        let join = |parts: &[&[u8]]| OsStr::from_bytes(&parts.concat()).to_owned();
        let mut command = folder.command(&["eval", "y = x + 1; z = b"]);
        command.arg(join(&[b"x=", name.as_bytes()])).arg(join(&[b"b=", table.as_bytes(), b":b"]));
        command.arg("-o").arg(join(&[b"y=", copy.as_bytes()])).args(["-o", "z=z.bin"]);
        let done = crate::done(command.output().unwrap());
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
        let mut command = folder.command(&["eval", "x"]);
        let done = crate::done(command.arg(join(&[b"x=", copy.as_bytes()])).output().unwrap());
        assert_eq!(done.stdout, "[2. 3.]\n");
        let missing =
            crate::done(folder.command(&["eval", "x"]).arg(join(&[b"x=", b"\xe9.npy"])).output().unwrap());
        assert!(missing.code == Some(1) && missing.stderr.contains("cannot be read"), "{}", missing.stderr);
    }

    /// A full disk, as a limit on the length of files; only our own error is told.
    #[test]
    fn a_full_disk_is_told_once() {
        let folder = folder();
        let program = env!("CARGO_BIN_EXE_broadloom");
        for (expression, file) in [
            ("a = arange(900); b = arange(900)", "y.npz"),
            ("arange(2000)", "y.npy"),
            ("arange(4000)", "y.csv"),
        ] {
            let line = format!("trap '' XFSZ; ulimit -f 16; {program} eval '{expression}' -o {file}");
            let done = crate::done(
                Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap(),
            );
            assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{file}: {}", done.stderr);
            assert!(
                done.stderr.starts_with(&format!("error: {file} cannot be written: ")),
                "{}",
                done.stderr
            );
            assert_eq!(done.stderr.matches('\n').count(), 2, "{}", done.stderr);
            assert_eq!(folder.names(), ["x.npy"]);
        }
    }
}

/// Names must not command the terminal, nor make lines that look like ours.
#[test]
fn control_characters_are_written_out() {
    let folder = folder();
    let cases: [&[&str]; 5] = [
        &["eval", "x", "x=\u{1b}[31m.npy"],
        &["eval", "x", "x=a\nerror: b.npy"],
        &["eval", "x", "x=x.npy", "-o", "\u{1b}]0;.npy\u{7}.doc"],
        &["eval", "\"\u{1b}[31m\" + x", "x=x.npy"],
        &["eval", "x", "x=x.npy", "\u{9b}31m=3"],
    ];
    for args in cases {
        let done = folder.run(&[args, &["--color", "never"]].concat());
        assert!(!done.stderr.is_empty(), "{args:?}");
        let is_control = |letter: char| letter.is_control() && letter != '\n';
        assert!(!done.stderr.contains(is_control), "{args:?}\n{:?}", done.stderr);
        assert!(!done.stderr.lines().any(|line| line.starts_with("error: b")), "{}", done.stderr);
    }
}

#[test]
fn arrays_of_an_archive_have_names_of_files() {
    let folder = folder();
    for name in ["../y", "/y", "a\\b", "..", "C:y"] {
        let program = format!("\"{name}\" = x; z = x");
        let done = folder.run(&["eval", &program, "x=x.npy", "-o", "y.npz"]);
        assert!(
            done.code == Some(2) && done.stderr.contains("cannot name an array"),
            "{name}: {}",
            done.stderr
        );
    }
    folder.output(&["eval", "\"two words\" = x; z = x", "x=x.npy", "-o", "y.npz"]);
    assert_eq!(folder.output(&["eval", "y", "y=y.npz:two words"]), "[1. 2.]\n");
}

#[test]
fn formats_that_are_not_known_name_what_converts_them() {
    let folder = folder();
    for (file, expected) in [
        ("y.tiff", "magick y.png y.tiff"),
        ("y.webp", "magick y.png y.webp"),
        ("y.json", "pandas"),
        ("y.doc", "known formats are .npy"),
    ] {
        let done = folder.run(&["eval", "x", "x=x.npy", "-o", file]);
        assert!(done.code == Some(2) && done.stderr.contains(expected), "{file}: {}", done.stderr);
    }
    for (file, expected) in [
        ("x.tiff", "magick x.tiff x.png"),
        ("x.json", "pd.read_json"),
        ("x.h5", "h5py"),
        ("x.mat", "scipy.io.loadmat"),
        ("x.xlsx", "pd.read_excel"),
        ("x.csv.gz", "gzip -dc x.csv.gz |"),
        ("x.wav", "soundfile"),
    ] {
        folder.write(file, "something");
        for part in ["", ":column"] {
            let done = folder.run(&["eval", "x", &format!("x={file}{part}")]);
            assert!(done.code == Some(1) && done.stderr.contains(expected), "{file}{part}: {}", done.stderr);
        }
    }
}

#[test]
fn jpeg_by_quality() {
    let folder = Folder::new();
    folder.write(
        "x.npy",
        npy("'|u1'", false, "(16, 16, 3)", &(0..768).map(|at| (at * 7 % 256) as u8).collect::<Vec<u8>>()),
    );
    let length = |quality: &str| {
        folder.output(&["eval", "x", "x=x.npy", "-o", "y.jpg", "--quality", quality]);
        let written = folder.read("y.jpg");
        let mut decoder = zune_jpeg::JpegDecoder::new(zune_core::bytestream::ZCursor::new(&written));
        assert_eq!(decoder.decode().unwrap().len(), 16 * 16 * 3);
        written.len()
    };
    assert!(length("5") < length("60") && length("60") < length("100"));
    for (expression, expected) in
        [("x.mean(axis=2)", "a .jpg needs u8"), ("x[:, :, :2]", "does not fit a .jpg")]
    {
        let done = folder.run(&["eval", expression, "x=x.npy", "-o", "z.jpg"]);
        assert!(matches!(done.code, Some(1 | 2)) && done.stderr.contains(expected), "{}", done.stderr);
    }
    let done = folder.run(&["eval", "x", "x=x.npy", "-o", "z.jpg", "--quality", "0"]);
    assert_eq!(done.code, Some(2));
}
