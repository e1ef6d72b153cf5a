//! Every kind of output.

use crate::{Folder, f64s, npy, pictures};
use npyz::NpyFile;

fn table() -> Vec<u8> {
    npy("'<f8'", false, "(2, 3)", &f64s(&[1.0, 2.5, -3.0, 4.0, f64::NAN, 1e300]))
}

#[test]
fn npy_is_what_another_library_reads() {
    let folder = Folder::new();
    folder.write("x.npy", table());
    assert_eq!(folder.output(&["eval", "x.T", "x=x.npy", "-o", "y.npy"]), "");
    let bytes = folder.read("y.npy");
    let file = NpyFile::new(bytes.as_slice()).unwrap();
    assert_eq!((file.shape(), file.order()), (&[3, 2][..], npyz::Order::C));
    let values: Vec<f64> = file.into_vec().unwrap();
    assert_eq!(format!("{values:?}"), "[1.0, 4.0, 2.5, NaN, -3.0, 1e300]");
    // A scalar, truth values, and what NumPy has no name for.
    folder.output(&[
        "eval",
        "a = x.sum(axis=1)[0]; b = x > 2; c = x.astype(bf16)",
        "x=x.npy",
        "-o",
        "all.npz",
    ]);
    assert_eq!(folder.output(&["eval", "a", "all.npz"]), "0.5\n");
    assert_eq!(folder.output(&["eval", "x", "x=all.npz:b"]), "[[False  True False]\n [ True False  True]]\n");
    assert_eq!(folder.output(&["check", "x", "x=all.npz:c:bf16"]), "result: bf16[2, 3]\n");
}

#[test]
fn npz_is_an_archive_of_npy() {
    let folder = Folder::new();
    folder.write("x.npy", table());
    folder.output(&["eval", "y = x + 1; total = x[0].sum()", "x=x.npy", "-o", "all.npz"]);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(folder.read("all.npz"))).unwrap();
    let names: Vec<String> = archive.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert_eq!(names, ["y.npy", "total.npy"]);
    let total: Vec<f64> = NpyFile::new(archive.by_name("total.npy").unwrap()).unwrap().into_vec().unwrap();
    assert_eq!(total, [0.5]);
}

#[test]
fn tables() {
    let folder = Folder::new();
    folder.write("x.npy", table());
    folder.output(&["eval", "x", "x=x.npy", "-o", "x.csv"]);
    assert_eq!(folder.read("x.csv"), b"1.0,2.5,-3.0\n4.0,nan,1e+300\n");
    folder.output(&["eval", "x[0]", "x=x.npy", "-o", "x.tsv"]);
    assert_eq!(folder.read("x.tsv"), b"1.0\n2.5\n-3.0\n");
    folder.output(&["eval", "a = x[0]; \"b c\" = x[0] > 2", "x=x.npy", "-o", "both.csv", "--delimiter", ";"]);
    assert_eq!(folder.read("both.csv"), b"a;b c\n1.0;False\n2.5;True\n-3.0;False\n");
    // What is written reads as the same.
    assert_eq!(folder.output(&["eval", "(x == y).sum()", "x=x.npy", "y=x.csv"]), "5\n");
}

#[test]
fn rows_of_a_long_table_keep_their_order() {
    const ROWS: usize = 50_000;
    let folder = Folder::new();
    let numbers: Vec<f64> = (0..3 * ROWS).map(|at| at as f64 / 8.0 - 1000.0).collect();
    folder.write("x.npy", npy("'<f8'", false, &format!("({ROWS}, 3)"), &f64s(&numbers)));
    folder.output(&["eval", "x", "x=x.npy", "-o", "x.csv", "--threads", "2"]);
    let expected: String =
        numbers.chunks(3).map(|row| format!("{:?},{:?},{:?}\n", row[0], row[1], row[2])).collect();
    assert_eq!(folder.read("x.csv"), expected.as_bytes());
    folder.output(&["eval", "a = x[:, 0]; b = x[:, 1] > 0", "x=x.npy", "-o", "columns.csv"]);
    let expected: String = numbers
        .chunks(3)
        .map(|row| format!("{:?},{}\n", row[0], if row[1] > 0.0 { "True" } else { "False" }))
        .collect();
    assert_eq!(folder.read("columns.csv"), format!("a,b\n{expected}").as_bytes());
}

#[test]
fn pictures() {
    let folder = Folder::new();
    folder.write("x.npy", npy("'|u1'", false, "(1, 2, 3)", &[1, 2, 3, 250, 251, 252]));
    folder.output(&["eval", "x", "x=x.npy", "-o", "rgb.png"]);
    folder.output(&["eval", "x[:, :, 0]", "x=x.npy", "-o", "gray.png"]);
    let read = |name: &str| pictures::read_png(&folder.read(name));
    assert_eq!(read("rgb.png"), ([2, 1], png::ColorType::Rgb, vec![1, 2, 3, 250, 251, 252]));
    assert_eq!(read("gray.png"), ([2, 1], png::ColorType::Grayscale, vec![1, 250]));
}

#[test]
fn the_elements_alone() {
    let folder = Folder::new();
    folder.write("x.npy", table());
    folder.output(&["eval", "x[0]", "x=x.npy", "-o", "x.bin"]);
    assert_eq!(folder.read("x.bin"), f64s(&[1.0, 2.5, -3.0]));
}

#[test]
fn several_results_have_names() {
    let folder = Folder::new();
    folder.write("x.npy", table());
    let printed = folder.output(&["eval", "total = x[0].sum(); y = x[:, 0]; z = x[:, :2]", "x=x.npy"]);
    assert_eq!(printed, "total = 0.5\ny = [1. 4.]\nz =\n[[1.  2.5]\n [4.  nan]]\n");
    folder.output(&["eval", "y = x[0]; z = x[1]", "x=x.npy", "-o", "y=y.npy", "-o", "z=z.csv"]);
    assert_eq!(folder.names(), ["x.npy", "y.npy", "z.csv"]);
}

/// An input may be overwritten by its own result.
#[test]
fn an_input_is_replaced_when_the_result_is_complete() {
    let folder = Folder::new();
    folder.write("x.npy", npy("'<f8'", false, "(2,)", &f64s(&[1.0, 2.0])));
    folder.output(&["eval", "x + 1", "x=x.npy", "-o", "x.npy"]);
    assert_eq!(folder.output(&["eval", "x", "x=x.npy"]), "[2. 3.]\n");
}

/// Of several files none is there if one fails: at the beginning, when it is completed, or when it gets its name.
#[test]
fn nothing_is_left_of_a_failure() {
    let folder = Folder::new();
    folder.write("x.npy", npy("'|u1'", false, "(2, 3, 5)", &[7; 30]));
    std::fs::create_dir(folder.path().join("folder.npy")).unwrap();
    for bad in ["z=nowhere/z.npy", "z=z.png", "z=folder.npy"] {
        let done = folder.run(&["eval", "y = x; z = x", "x=x.npy", "-o", "y=y.npy", "-o", bad]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{bad}: {}", done.stderr);
        assert!(done.stderr.contains("cannot be written"), "{}", done.stderr);
        assert_eq!(folder.names(), ["folder.npy", "x.npy"], "{bad}");
    }
}

/// A file that had been replaced before another one could not be written was removed, and its old content with it.
#[test]
fn what_was_there_is_not_lost() {
    let folder = Folder::new();
    folder.write("x.npy", table());
    folder.write("a.bin", "what was there");
    std::fs::create_dir(folder.path().join("b.bin")).unwrap();
    let done = folder.run(&["eval", "a = x; b = x", "x=x.npy", "-o", "a=a.bin", "-o", "b=b.bin"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("b.bin cannot be written"), "{}", done.stderr);
    assert_eq!(folder.read("a.bin"), b"what was there");
    assert_eq!(folder.names(), ["a.bin", "b.bin", "x.npy"]);
}
