//! Every error's exit code and text.

use crate::{Folder, f32s, f64s, npy};

/// Files for everything that can be wrong with files.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("x.npy", npy("'<f4'", false, "(7, 3)", &f32s(&[0.5; 21])));
    folder.write("y.npy", npy("'<f4'", false, "(4,)", &f32s(&[0.5; 4])));
    folder.write("w.npy", npy("'<f4'", false, "(7,)", &f32s(&[0.5; 7])));
    std::fs::create_dir(folder.path().join("folder.svg")).unwrap();
    folder.write("i.npy", npy("'<i8'", false, "(2,)", &[1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]));
    folder.write("short.npy", npy("'<f8'", false, "(3,)", &f64s(&[1.0, 2.0])));
    folder.write("complex.npy", npy("'<c16'", false, "(1,)", &[0; 16]));
    folder.write("text.npy", npy("'<U3'", false, "(1,)", &[0; 12]));
    folder.write("object.npy", npy("'|O'", false, "(1,)", &[0; 8]));
    folder.write("record.npy", npy("[('a', '<f4'), ('b', '<i4')]", false, "(1,)", &[0; 8]));
    folder.write("void.npy", npy("'|V2'", false, "(1,)", &[0; 2]));
    folder.write("bool.npy", npy("'|b1'", false, "(2,)", &[0, 2]));
    folder.write("no.npy", "no numbers");
    folder.write("no.npz", "no archive");
    folder.write("no.png", "no picture");
    folder.write("x.bin", [0; 10]);
    folder.write("t.csv", "city,lat,lon\nOslo,59.9,10.7\n");
    folder.write("ragged.csv", "1,2\n3,4,5\n");
    folder
        .write("p.bl", "parameters k\ninput x: f32[n, 3]\ninput w: f32[n]\noutput y = x + w[:, None] + k\n");
    folder
}

#[test]
fn errors_say_what_where_and_what_to_do() {
    let folder = folder();
    let cases: &[(i32, &[&str])] = &[
        // The command line.
        (2, &["eval", "x", "x=3", "--threads", "0"]),
        (2, &["eval"]),
        (2, &["eval", "x", "x=u8:256"]),
        (2, &["eval", "x", "x=f32:three"]),
        (2, &["eval", "x", "x.npy"]),
        (2, &["eval", "x", "x=3", "x=4"]),
        (2, &["eval", "lat", "t.csv", "t.csv"]),
        (2, &["eval", "x", "x=3", "-o", "x.doc"]),
        (2, &["eval", "a = x; b = x", "x=3", "-o", "a.npy"]),
        (2, &["eval", "total = x", "x=3", "-o", "totale=a.npy"]),
        (2, &["eval", "a = x; b = x", "x=x.npy", "-o", "a.csv"]),
        (2, &["eval", "a = x; b = x", "x=3", "-o", "a=a.npy", "-o", "b=a.npy"]),
        (2, &["eval", "x", "x=x.npy", "-o", "x.png"]),
        (2, &["eval", "x > 0", "x=x.npy", "-o", "x.png"]),
        (2, &["eval", "x[:, :, None]", "x=x.npy", "-o", "x.csv"]),
        (2, &["eval", "-f", "missing.bl"]),
        (2, &["eval", "assign x = x + 1", "x=x.npy"]),
        (2, &["ops", "exq"]),
        (2, &["ops", "frobnicate"]),
        // Expressions.
        (2, &["eval", "x + z", "x=3"]),
        (2, &["eval", "frobnicate(x)", "x=3"]),
        (2, &["eval", "values * 2", "value=3"]),
        (2, &["eval", "x + y", "x=x.npy", "y=y.npy"]),
        (2, &["eval", "x +", "x=3"]),
        (2, &["check", "x + y", "x:f32[n, 3]", "y:f32[4]"]),
        (2, &["check", "--strict", "x + y", "x:f32[n, 1]", "y:f32[1, n]"]),
        // Files.
        (1, &["eval", "x", "x=missing.npy"]),
        (1, &["eval", "x", "x=."]),
        (1, &["eval", "x", "x=short.npy"]),
        (1, &["eval", "x", "x=complex.npy"]),
        (1, &["eval", "x", "x=text.npy"]),
        (1, &["eval", "x", "x=object.npy"]),
        (1, &["eval", "x", "x=record.npy"]),
        (1, &["eval", "x", "x=void.npy"]),
        (1, &["eval", "x", "x=bool.npy"]),
        (1, &["eval", "x", "x=x.npy:f64"]),
        (1, &["eval", "x", "x=no.npy"]),
        (1, &["eval", "x", "x=no.npz:a"]),
        (1, &["eval", "x", "x=no.png"]),
        (1, &["eval", "x", "x=x.bin"]),
        (1, &["eval", "x", "x=x.bin:f32[_, 2]"]),
        (1, &["eval", "x", "x=x.bin:f32[3]"]),
        (1, &["eval", "x", "x=x.bin:f32"]),
        (1, &["eval", "x", "x=t.csv:city,lat"]),
        (1, &["eval", "x", "x=t.csv:lot"]),
        (1, &["eval", "x", "x=ragged.csv"]),
        (1, &["eval", "x", "x=x.npy", "-o", "nowhere/x.npy"]),
        // Arrays that do not fit, and data that have no result.
        (1, &["eval", "-f", "p.bl", "x=x.npy"]),
        (1, &["eval", "-f", "p.bl", "x=x.npy", "w=y.npy", "--size", "k=3"]),
        (1, &["eval", "-f", "p.bl", "x=i.npy", "w=y.npy"]),
        (1, &["eval", "take(y, i, axis=0)", "y=y.npy", "i=i.npy"]),
        (1, &["eval", "i ** -i", "i=i.npy"]),
        (1, &["eval", "-f", "p.bl", "x=x.npy", "w=x.npy", "--size", "k=3"]),
        (1, &["eval", "-f", "p.bl", "x=x.npy", "w=w.npy"]),
        (1, &["eval", "-f", "p.bl", "x=x.npy", "w=w.npy", "--size", "l=3"]),
        (1, &["eval", "-f", "p.bl", "x=x.npy", "w=w.npy", "--size", "k=3", "--size", "n=8"]),
        (1, &["eval", "assume n >= 9; input x: f32[n, 3]; output y = x", "x=x.npy"]),
        (1, &["eval", "input x: f32[n, m]; output y = x[n:n + m - 4]", "x=x.npy"]),
        (1, &["graph", "x + 1", "x:f32[n]", "-o", "nowhere/x.svg"]),
        (1, &["graph", "x + 1", "x:f32[n]", "-o", "folder.svg"]),
        (2, &["graph", "x + 1", "x:f32[n]", "-o", "x.doc"]),
        (2, &["bench", "x + 1", "x:f32[n]", "--size", "n=2.5"]),
        (2, &["bench", "x + 1", "x:f32[n]", "--threads", "100000"]),
    ];
    let names = folder.names();
    let mut all = String::new();
    for (code, args) in cases {
        let done = folder.run(args);
        assert_eq!((done.code, done.stdout.as_str()), (Some(*code), ""), "{args:?}\n{}", done.stderr);
        assert!(
            !done.stderr.contains(".rs:") && !done.stderr.contains("panicked"),
            "{args:?}\n{}",
            done.stderr
        );
        all += &format!("$ broadloom {}\n{}[{code}]\n\n", args.join(" "), done.stderr);
    }
    assert_eq!(folder.names(), names, "nothing is left of what failed");
    insta::assert_snapshot!(all);
}

#[test]
fn warnings_unless_quiet() {
    let folder = folder();
    let args = ["eval", "x.sum()", "x=x.npy", "xx=y.npy"];
    let loud = folder.run(&args);
    assert_eq!((loud.code, loud.stdout.as_str()), (Some(0), "10.5\n"));
    assert!(loud.stderr.starts_with("warning: the program has no input \"xx\""), "{}", loud.stderr);
    assert_eq!(folder.output(&[&args[..], &["-q"]].concat()), "10.5\n");
}

/// Errors have colours on a terminal; NO_COLOR, a file and `--color never` turn them off. The text stays the same.
#[test]
fn colours_are_for_terminals() {
    let folder = folder();
    let cases: &[&[&str]] = &[
        &["eval", "x", "x=missing.npy"],
        &["eval", "x + z", "x=3"],
        &["eval", "x + y", "x=x.npy", "y=y.npy"],
        &["eval", "-f", "p.bl", "x=x.npy"],
        &["eval", "y[i]", "y=y.npy", "i=i.npy"],
    ];
    for args in cases {
        let plain = folder.run(args).stderr;
        assert!(!plain.contains('\x1b'));
        let colored = folder.run(&[args, &["--color", "always"][..]].concat()).stderr;
        assert!(colored.starts_with("\x1b[1;31merror"), "{colored:?}");
        let mut parts = colored.split("\x1b[");
        let first = parts.next().unwrap_or_default().to_owned();
        let stripped = parts.fold(first, |text, part| text + part.split_once('m').unwrap().1);
        assert_eq!(stripped, plain);
    }
}
