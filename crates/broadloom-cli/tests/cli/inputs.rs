//! Every kind of input.

use crate::{Folder, f32s, f64s, npy, pictures};
use std::io::{Cursor, Write};

#[test]
fn npy_of_every_dtype() {
    let folder = Folder::new();
    let cases: [(&str, Vec<u8>, &str, &str); 13] = [
        ("|b1", vec![1, 0, 1], "bool", "[ True False  True]"),
        ("|i1", vec![0xff, 2, 0x80], "i8", "[  -1    2 -128]"),
        ("<i2", vec![0xff, 0xff, 2, 0, 0, 0x80], "i16", "[    -1      2 -32768]"),
        (
            "<i4",
            [-1i32, 2, 70_000].iter().flat_map(|x| x.to_le_bytes()).collect(),
            "i32",
            "[   -1     2 70000]",
        ),
        (
            "<i8",
            [-1i64, 2, 1 << 40].iter().flat_map(|x| x.to_le_bytes()).collect(),
            "i64",
            "[           -1             2 1099511627776]",
        ),
        ("|u1", vec![255, 2, 3], "u8", "[255   2   3]"),
        ("<u2", vec![0xff, 0xff, 2, 0, 3, 0], "u16", "[65535     2     3]"),
        (
            "<u4",
            [u32::MAX, 2, 3].iter().flat_map(|x| x.to_le_bytes()).collect(),
            "u32",
            "[4294967295          2          3]",
        ),
        (
            "<u8",
            [u64::MAX, 2, 3].iter().flat_map(|x| x.to_le_bytes()).collect(),
            "u64",
            "[18446744073709551615                    2                    3]",
        ),
        // 1.0, -2.0 and 0.5 in half precision.
        ("<f2", vec![0x00, 0x3c, 0x00, 0xc0, 0x00, 0x38], "f16", "[ 1.  -2.   0.5]"),
        ("<f4", f32s(&[1.0, -2.0, 0.5]), "f32", "[ 1.  -2.   0.5]"),
        ("<f8", f64s(&[1.0, -2.0, 0.5]), "f64", "[ 1.  -2.   0.5]"),
        // The upper halves of 1.0, -2.0 and 0.5 in single precision.
        ("<V2", vec![0x80, 0x3f, 0x00, 0xc0, 0x00, 0x3f], "bf16", "[ 1.  -2.   0.5]"),
    ];
    for (descr, data, dtype, expected) in cases {
        folder.write("x.npy", npy(&format!("'{descr}'"), false, "(3,)", &data));
        let input = if dtype == "bf16" { "x=x.npy:bf16" } else { "x=x.npy" };
        assert_eq!(folder.output(&["check", "x", input]), format!("result: {dtype}[3]\n"));
        assert_eq!(folder.output(&["eval", "x", input]), format!("{expected}\n"), "{dtype}");
    }
}

#[test]
fn npy_in_any_order() {
    let folder = Folder::new();
    let data = f64s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    folder.write("c.npy", npy("'<f8'", false, "(2, 3)", &data));
    folder.write("f.npy", npy("'<f8'", true, "(2, 3)", &data));
    assert_eq!(folder.output(&["eval", "x", "x=c.npy"]), "[[1. 2. 3.]\n [4. 5. 6.]]\n");
    assert_eq!(folder.output(&["eval", "x", "x=f.npy"]), "[[1. 3. 5.]\n [2. 4. 6.]]\n");
    assert_eq!(folder.output(&["eval", "x - y", "x=c.npy", "y=f.npy"]), "[[ 0. -1. -2.]\n [ 2.  1.  0.]]\n");
    // A header of an odd length: the elements are not aligned in the file.
    let text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend([text.len() as u8 + 1, 0]);
    bytes.extend(text);
    bytes.extend(b" ");
    bytes.extend(f64s(&[1.5, 2.5]));
    folder.write("odd.npy", bytes);
    assert_eq!(folder.output(&["eval", "x", "x=odd.npy"]), "[1.5 2.5]\n");
    folder.write("none.npy", npy("'<f8'", false, "(0, 3)", &[]));
    assert_eq!(folder.output(&["eval", "x.sum(axis=0)", "x=none.npy"]), "[0. 0. 0.]\n");
    folder.write("scalar.npy", npy("'<f8'", false, "()", &f64s(&[2.5])));
    assert_eq!(folder.output(&["eval", "x", "x=scalar.npy"]), "2.5\n");
}

/// Of the other byte order, and in an .npz and in chunks; of no stated one.
#[test]
fn npy_in_any_byte_order() {
    let folder = Folder::new();
    let big: Vec<u8> = [1.0f32, -2.5, 3.0, 1e30].iter().flat_map(|x| x.to_be_bytes()).collect();
    let array = npy("'>f4'", false, "(2, 2)", &big);
    folder.write("big.npy", &array);
    folder.write("fortran.npy", npy("'>f4'", true, "(2, 2)", &big));
    folder.write("i.npy", npy("'>i2'", false, "(2,)", &[1, 2, 0xff, 0xfe]));
    folder.write("bytes.npy", npy("'>i1'", false, "(2,)", &[1, 0xff]));
    folder.write("plain.npy", npy("'f4'", false, "(2,)", &f32s(&[0.5, 2.0])));
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file("a.npy", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(&array).unwrap();
    folder.write("big.npz", archive.finish().unwrap().into_inner());
    for input in ["x=big.npy", "x=big.npz:a"] {
        assert_eq!(folder.output(&["eval", "x[0]", input]), "[ 1.  -2.5]\n");
        assert_eq!(folder.output(&["eval", "x.max(axis=0)", input, "--chunk", "1"]), "[3.e+00 1.e+30]\n");
    }
    assert_eq!(folder.output(&["eval", "x[1]", "x=fortran.npy"]), "[-2.5e+00  1.0e+30]\n");
    assert_eq!(folder.output(&["eval", "x", "x=i.npy"]), "[258  -2]\n");
    assert_eq!(folder.output(&["eval", "x", "x=bytes.npy"]), "[ 1 -1]\n");
    assert_eq!(folder.output(&["eval", "x", "x=plain.npy"]), "[0.5 2. ]\n");
}

/// What the system does not map is read: here it has no room for it.
#[cfg(target_os = "linux")]
#[test]
fn what_is_not_mapped_is_read_in_chunks() {
    let folder = Folder::new();
    let values: Vec<f32> = (0..60_000_000).map(|at| (at % 1000) as f32).collect();
    folder.write("x.npy", npy("'<f4'", false, "(60000000,)", bytemuck::cast_slice(&values)));
    drop(values);
    let run = |limit: &str| {
        let program = env!("CARGO_BIN_EXE_broadloom");
        let line = format!("ulimit -v {limit}; {program} eval 'x.max()' x=x.npy --threads 1");
        let mut shell = std::process::Command::new("sh");
        crate::done(shell.args(["-c", &line]).current_dir(folder.path()).output().unwrap())
    };
    // The program, its libraries and chunks, and not the 240 MB of the file.
    let done = run("230000");
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "999.0\n"), "{}", done.stderr);
}

#[test]
fn npz_by_key_and_whole() {
    let folder = Folder::new();
    for (name, method) in
        [("s.npz", zip::CompressionMethod::Stored), ("d.npz", zip::CompressionMethod::Deflated)]
    {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let options = zip::write::SimpleFileOptions::default().compression_method(method);
        for (key, values) in [("a", [1.0, 2.0]), ("b", [10.0, 20.0])] {
            archive.start_file(format!("{key}.npy"), options).unwrap();
            archive.write_all(&npy("'<f8'", false, "(2,)", &f64s(&values))).unwrap();
        }
        folder.write(name, archive.finish().unwrap().into_inner());
        assert_eq!(folder.output(&["eval", "a + b", name]), "[11. 22.]\n");
        assert_eq!(folder.output(&["eval", "x", &format!("x={name}:b")]), "[10. 20.]\n");
        // What is named comes before what is in a file.
        assert_eq!(folder.output(&["eval", "a + b", name, "a=1"]), "[11. 21.]\n");
        assert_eq!(folder.output(&["eval", "a + b", "a=1", name]), "[11. 21.]\n");
    }
}

#[test]
fn tables() {
    let folder = Folder::new();
    folder.write("t.csv", "city,lat,n\nOslo,59.9,3\n\"Rome, Italy\",41.9,4\n");
    assert_eq!(folder.output(&["eval", "lat * n", "t.csv"]), "[179.7 167.6]\n");
    assert_eq!(folder.signature(&["x", "x=t.csv:n"]), "result: i64[2]\n");
    folder.write("m.tsv", "1\t2.5\n3\tNA\n");
    assert_eq!(folder.output(&["eval", "x", "x=m.tsv"]), "[[1.  2.5]\n [3.  nan]]\n");
    assert_eq!(folder.output(&["eval", "c1", "m.tsv"]), "[2.5 nan]\n");
    folder.write("s.csv", "a;my column\n1;2\n");
    assert_eq!(folder.output(&["eval", "a + \"my column\"", "s.csv", "--delimiter", ";"]), "[3]\n");
    // A byte-order mark is not of the first name.
    folder.write("bom.csv", "\u{feff}a,b\n1,2\n");
    assert_eq!(folder.output(&["eval", "a", "bom.csv"]), "[1]\n");
}

/// What would lose rows, merge groups or give them wrong names says so, or has no names.
#[test]
fn tables_that_are_easily_misread() {
    let folder = Folder::new();
    folder.write("open.csv", "v,note\n1,a\n2,\"5 inch\n3,b\n4,c\n");
    let open = folder.run(&["eval", "sum(v)", "open.csv"]);
    assert_eq!((open.code, open.stdout.as_str()), (Some(1), ""));
    assert!(open.stderr.contains("the quotation mark in line 3 is never closed"), "{}", open.stderr);
    folder.write("closed.csv", "v,note\n1,a\n2,\"5\"\" inch\nlong\"\n");
    assert_eq!(folder.output(&["eval", "sum(v)", "closed.csv"]), "3\n");
    std::fs::write(folder.path().join("latin.csv"), b"name,v\nStr\xe4\xdfe,1\nStr\xe4\xe4e,2\n").unwrap();
    let latin = folder.run(&["eval", "segment_sum(v, name)", "latin.csv"]);
    assert!(
        latin.code != Some(0) && latin.stdout.is_empty() && latin.stderr.contains("UTF-8"),
        "{}",
        latin.stderr
    );
    folder.write("g.csv", "city,team,h\nOslo,red,1\nRome,blue,10\nRome,red,100\n");
    let sums = "a = segment_sum(h, team) * 0 + segment_sum(h, city)";
    let mixed = folder.run(&["eval", sums, "g.csv", "-o", "-", "--format", "csv"]);
    assert_eq!((mixed.code, mixed.stdout.as_str()), (Some(2), ""));
    assert!(mixed.stderr.contains("the groups of `team` meet the groups of `city`"), "{}", mixed.stderr);
}

#[test]
fn pictures() {
    use png::{BitDepth, ColorType};
    let folder = Folder::new();
    folder.write("rgb.png", pictures::png([2, 1], ColorType::Rgb, BitDepth::Eight, &[0, 10, 20, 1, 10, 20]));
    folder.write(
        "rgba.png",
        pictures::png([2, 1], ColorType::Rgba, BitDepth::Eight, &[1, 2, 3, 4, 1, 2, 3, 4]),
    );
    folder.write("gray.png", pictures::png([3, 2], ColorType::Grayscale, BitDepth::Eight, &[7; 6]));
    folder
        .write("bits.png", pictures::png([9, 1], ColorType::Grayscale, BitDepth::One, &[0b1010_0000, 0x80]));
    folder.write("long.png", pictures::png([2, 1], ColorType::Grayscale, BitDepth::Sixteen, &[1, 2, 3, 4]));
    folder.write("p.jpg", pictures::jpeg([8, 8], jpeg_encoder::ColorType::Rgb, &[128; 192]));
    folder.write("g.jpg", pictures::jpeg([8, 4], jpeg_encoder::ColorType::Luma, &[90; 32]));
    assert_eq!(folder.output(&["eval", "x", "x=rgb.png"]), "[[[ 0 10 20]\n  [ 1 10 20]]]\n");
    assert_eq!(folder.output(&["check", "x", "x=rgba.png"]), "result: u8[1, 2, 4]\n");
    assert_eq!(folder.output(&["eval", "x", "x=gray.png"]), "[[7 7 7]\n [7 7 7]]\n");
    assert_eq!(folder.output(&["check", "x", "x=p.jpg"]), "result: u8[8, 8, 3]\n");
    assert_eq!(folder.output(&["eval", "min(x)", "x=p.jpg"]), "128\n");
    assert_eq!(folder.output(&["eval", "x[0]", "x=g.jpg"]), "[90 90 90 90 90 90 90 90]\n");
    assert_eq!(folder.output(&["eval", "x", "x=bits.png"]), "[[255   0 255   0   0   0   0   0 255]]\n");
    assert_eq!(folder.output(&["check", "x", "x=long.png"]), "result: u16[1, 2]\n");
    assert_eq!(folder.output(&["eval", "x", "x=long.png"]), "[[258 772]]\n");
}

#[test]
fn raw_files_and_numbers() {
    let folder = Folder::new();
    folder.write("x.bin", f32s(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(folder.output(&["eval", "x", "x=x.bin:f32[_, 3]"]), "[[1. 2. 3.]\n [4. 5. 6.]]\n");
    assert_eq!(folder.output(&["eval", "x", "x=x.bin:float32[6]"]), "[1. 2. 3. 4. 5. 6.]\n");
    for (input, signature) in [
        ("x=3", "i64[]"),
        ("x=-3.5", "f64[]"),
        ("x=1e-3", "f64[]"),
        ("x=true", "bool[]"),
        ("x=f32:3.5", "f32[]"),
        ("x=u8:255", "u8[]"),
        ("x=18446744073709551615", "u64[]"),
        ("x=bf16:1", "bf16[]"),
    ] {
        assert_eq!(folder.output(&["check", "x", input]), format!("result: {signature}\n"), "{input}");
    }
    assert_eq!(folder.output(&["eval", "x", "x=f32:0.1"]), "0.1\n");
}

#[test]
fn declarations_of_the_program_hold() {
    let folder = Folder::new();
    folder.write("p.bl", "parameters k\ninput x: f64[n]\noutput y = broadcast_to(x[:, None], (n, k))\n");
    folder.write("x.npy", npy("'<f8'", false, "(2,)", &f64s(&[1.0, 2.0])));
    let output = folder.output(&["eval", "-f", "p.bl", "x=x.npy", "--size", "k=3"]);
    assert_eq!(output, "[[1. 1. 1.]\n [2. 2. 2.]]\n");
}

#[test]
fn threads_and_time() {
    let folder = Folder::new();
    folder.write("x.npy", npy("'<f8'", false, "(2,)", &f64s(&[1.0, 2.0])));
    for threads in ["1", "3"] {
        assert_eq!(folder.output(&["eval", "x.sum()", "x=x.npy", "--threads", threads]), "3.0\n");
    }
    let done = folder.run(&["eval", "x.sum()", "x=x.npy", "--time"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "3.0\n"));
    assert!(
        ["parse", "compile", "read", "run", "write"].iter().all(|step| done.stderr.contains(step)),
        "{}",
        done.stderr
    );
}
