//! Readers on hostile files: valid ones with some bytes changed, cut off, repeated or taken from each other.
//!
//! A reader may refuse a file or make an array of it, but never panic, and never ask for more memory than files of
//! their size can fill.

use super::argument::Argument;
use super::inputs::Files;
use super::memory::bytes_of;
use super::table::TableOptions;
use super::{npy, sink};
use broadloom::{ArrayView, DType, Executable, Inputs};
use broadloom_text::{Given, Program};
use std::io::{Cursor, Write};
use std::path::Path;

/// A generator that needs no crate: splitmix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// What parsers trip over.
const WORDS: &[&[u8]] = &[
    b"(",
    b")",
    b"[",
    b"]]",
    b"'",
    b"\"",
    b",",
    b"18446744073709551615",
    b"99999999999999999999",
    b"-1",
    b"<f8",
    b">f4",
    b"|O",
    b"|V2",
    b"<U9",
    b"True",
    b"False",
    b"shape",
    b"descr",
    b"\x93NUMPY",
    b"\x03\x00",
    b"\xff\xff\xff\xff",
    b"\0\0",
    b"\n",
    b"nan",
    b"1e999",
    b"\xef\xbb\xbf",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"IDAT",
    b"IHDR",
    b"\x7f\xff\xff\xff",
];

fn mutated(valid: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = valid.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        let word = WORDS[random.below(WORDS.len())];
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            1 => bytes.truncate(at),
            2 => drop(bytes.splice(at..at, word.iter().copied())),
            3 => {
                let end = (at + word.len()).min(bytes.len());
                bytes.splice(at..end, word.iter().copied());
            }
            4 => {
                let end = (at + 1 + random.below(20)).min(bytes.len());
                bytes.drain(at.min(end)..end);
            }
            _ => {
                let end = (at + random.below(40)).min(bytes.len());
                let part = bytes[at.min(end)..end].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}

/// `shape: f32[2, 3]` as a .npy, by its definition.
fn valid_npy(version: u8) -> Vec<u8> {
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((text.len() as u16).to_le_bytes()),
        _ => bytes.extend((text.len() as u32).to_le_bytes()),
    }
    bytes.extend(text.as_bytes());
    bytes.extend((0..6).flat_map(|at| (at as f32).to_le_bytes()));
    bytes
}

fn valid_npz(method: zip::CompressionMethod) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for key in ["a", "b"] {
        archive.start_file(format!("{key}.npy"), options).unwrap();
        archive.write_all(&valid_npy(1)).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn valid_png() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 9, 7);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&pixels()).unwrap();
    writer.finish().unwrap();
    bytes
}

fn valid_jpeg() -> Vec<u8> {
    let mut bytes = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut bytes, 75);
    encoder.encode(&pixels(), 9, 7, jpeg_encoder::ColorType::Rgb).unwrap();
    bytes
}

/// Seven rows of nine pixels of three bytes.
fn pixels() -> Vec<u8> {
    (0..7 * 9).flat_map(|at| [at % 9, at / 9, 7]).collect()
}

/// Reads what the argument says, and looks at every input; how many there are, if all is well.
fn read(argument: &str) -> Result<usize, String> {
    let argument = Argument::parse(argument.as_ref()).map_err(|failure| failure.to_string())?;
    let opened = Files::new(TableOptions::default())
        .open(&argument, &|_| true)
        .map_err(|failure| failure.to_string())?;
    for input in &opened {
        let array = input.source.load().map_err(|failure| failure.to_string())?;
        assert_eq!((array.dtype(), array.shape()), (input.source.dtype(), input.source.shape()));
        let held = bytes_of(array.dtype(), array.shape()).unwrap();
        assert!(held < 64 << 20, "{held} bytes of {argument:?}");
        array.view()?;
    }
    Ok(opened.len())
}

/// Mutates the file some times; how often it was read all the same.
fn hostile(folder: &Path, name: &str, argument: &str, valid: &[u8], cases: usize) -> usize {
    let path = folder.join(name);
    let argument = argument.replace("FILE", path.to_str().unwrap());
    std::fs::write(&path, valid).unwrap();
    assert!(read(&argument).is_ok(), "{argument}: {:?}", read(&argument));
    let mut random = Random(name.len() as u64 * 1000 + valid.len() as u64);
    let mut read_all_the_same = 0;
    for _ in 0..cases {
        std::fs::write(&path, mutated(valid, &mut random)).unwrap();
        match read(&argument) {
            Ok(_) => read_all_the_same += 1,
            Err(text) => assert!(!text.is_empty()),
        }
    }
    read_all_the_same
}

#[test]
fn hostile_files_are_refused_or_read() {
    use zip::CompressionMethod::{Deflated, Stored};
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let cases = 700;
    let mut read = 0;
    for version in 1..=3 {
        read += hostile(folder, &format!("{version}.npy"), "x=FILE", &valid_npy(version), cases);
    }
    for (name, method) in [("s.npz", Stored), ("d.npz", Deflated)] {
        read += hostile(folder, name, "FILE", &valid_npz(method), cases);
    }
    for (name, valid) in [("p.png", valid_png()), ("p.jpg", valid_jpeg())] {
        read += hostile(folder, name, "x=FILE", &valid, cases);
    }
    read += hostile(folder, "t.csv", "FILE", b"a,b,\"c d\"\n1,2.5,x\n3,NA,\"y,z\"\n", cases);
    read += hostile(folder, "m.tsv", "x=FILE", b"1\t2\n3\t4e5\n", cases);
    read += hostile(folder, "p.csv", "x=FILE:a*,b", b"a,b,\"a d\"\n1,2.5,7\n3,NA,8\n", cases);
    read += hostile(
        folder,
        "d.csv",
        "x=FILE:d:seconds",
        b"d\n2024-05-31\n1999-01-01T10:00:00.5+02:00\n\n",
        cases,
    );
    read += hostile(folder, "k.csv", "x=FILE:k:text", b"k,x\n3,1\nb,2\n3,4\n", cases);
    let families = 12;
    // Neither all nor none, else the cases try nothing.
    let most = families * cases - cases / 2;
    assert!((cases / 10..most).contains(&read), "{read} of {} were read", families * cases);
}

/// A table as Parquet or Arrow IPC, by the libraries of the formats.
#[cfg(feature = "arrow")]
fn valid_columns(format: &str) -> Vec<u8> {
    use arrow_array::types::{Float32Type, Int8Type};
    use arrow_array::*;
    use arrow_ipc::CompressionType;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
    use parquet::arrow::ArrowWriter;
    use parquet::basic::{Compression, Encoding};
    use parquet::file::properties::{WriterProperties, WriterVersion};
    use std::sync::Arc;
    let words: DictionaryArray<Int8Type> = vec!["a", "b", "a", "c"].into_iter().collect();
    let pairs = [Some([Some(1.0), Some(2.0)]), None, Some([None, Some(4.0)]), Some([Some(5.0), Some(6.0)])];
    let columns: [(&str, ArrayRef); 7] = [
        ("i", Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)]))),
        ("f", Arc::new(Float64Array::from(vec![1.5, 2.5, 2.5, 1.5]))),
        ("b", Arc::new(BooleanArray::from(vec![true, false, true, true]))),
        ("t", Arc::new(StringArray::from(vec!["Oslo", "Lima", "a longer text than others", "Oslo"]))),
        ("v", Arc::new(StringViewArray::from(vec!["Oslo", "Lima", "a longer text than others", "Oslo"]))),
        ("l", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(pairs, 2))),
        ("d", Arc::new(words)),
    ];
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut bytes = Vec::new();
    let properties = match format {
        "snappy" => WriterProperties::builder().set_compression(Compression::SNAPPY),
        "zstd" => WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            .set_writer_version(WriterVersion::PARQUET_2_0),
        _ => WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_column_encoding("t".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY),
    };
    let compression = match format {
        "lz4.arrow" => Some(CompressionType::LZ4_FRAME),
        "zstd.arrow" => Some(CompressionType::ZSTD),
        _ => None,
    };
    if format.ends_with("arrow") {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    } else {
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
        writer.write(&batch).unwrap();
        writer.flush().unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
    bytes
}

#[cfg(feature = "arrow")]
#[test]
fn hostile_columns_are_refused_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let cases = 500;
    let mut read = 0;
    for (at, format) in
        ["plain", "snappy", "zstd", "plain.arrow", "lz4.arrow", "zstd.arrow"].iter().enumerate()
    {
        let end = if format.ends_with("arrow") { "arrow" } else { "parquet" };
        let valid = valid_columns(format);
        for (part, column) in ["x=FILE:i", "x=FILE:t", "x=FILE:l", "x=FILE:f,i"].iter().enumerate() {
            read +=
                hostile(folder, &format!("{}.{end}", "n".repeat(at * 4 + part + 1)), column, &valid, cases);
        }
    }
    let families = 24;
    // Neither all nor none, else the cases try nothing.
    let most = families * cases - cases / 2;
    assert!((cases / 10..most).contains(&read), "{read} of {} were read", families * cases);
}

/// Headers whose sizes overflow, or that promise what is not there.
#[test]
fn headers_that_promise_too_much() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    for (shape, expected) in [
        ("(4294967296, 4294967296)", "too large"),
        ("(18446744073709551615,)", "too large"),
        ("(99999999999999999999,)", "cannot be parsed"),
        ("(1000000000000,)", "needs 4000000000000 bytes of data, but there are 4"),
        ("(2,)", "f32[2] needs 8 bytes of data, but there are 4"),
        ("(0, 18446744073709551615)", "too large"),
    ] {
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.into_bytes());
        bytes.extend(1.0f32.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let text = read(&format!("x={}", path.display())).unwrap_err();
        assert!(text.contains(expected), "{shape}: {text}");
    }
}

/// What `npyz` reads of a header that is written here, and what is read here of one of `npyz`.
#[test]
fn headers_are_those_of_another_library() {
    for dtype in DType::ALL.iter().copied().filter(|dtype| *dtype != DType::Bf16) {
        for shape in [&[][..], &[3], &[0], &[2, 3, 4], &[1_000_000, 7]] {
            let bytes = npy::header(dtype, shape);
            assert_eq!(bytes.len() % 64, 0);
            let theirs = npyz::NpyHeader::from_reader(bytes.as_slice()).unwrap();
            let sizes: Vec<u64> = shape.iter().map(|size| *size as u64).collect();
            assert_eq!((theirs.shape(), theirs.order()), (sizes.as_slice(), npyz::Order::C));
            let npyz::DType::Plain(theirs) = theirs.dtype() else { panic!("{dtype}") };
            assert_eq!(theirs.size_field() as usize, dtype.size());
            let ours = npy::Header::read(bytes.as_slice()).ok().unwrap();
            let layout = ours.layout(None).unwrap();
            assert_eq!((layout.dtype, layout.shape.as_slice(), layout.is_fortran), (dtype, shape, false));
        }
    }
}

/// Rows that come in pieces make the file that they make at once.
#[test]
fn sinks_take_rows_piece_by_piece() {
    let program = Program::parse("test", "y = x * 2").unwrap();
    let given = [Given { name: "x", dtype: DType::F32, shape: &[4, 2], rows: None, names: None }];
    let whole = program.resolve_with(&given).unwrap();
    let part = program.resolve_with(&[Given { shape: &[2, 2], ..given[0] }]).unwrap();
    let data: Vec<f32> = (0..8).map(|at| at as f32 / 3.0).collect();
    let run = |graph, data: &[f32], rows| {
        let kernel = Executable::compile(graph, &broadloom::CompileOptions::default()).unwrap();
        let view = ArrayView::new(data, &[rows, 2]).unwrap();
        kernel.run(Inputs::new().named("x", view)).unwrap()
    };
    let all = run(&whole, &data, 4);
    let pieces = [run(&part, &data[..4], 2), run(&part, &data[4..], 2)];
    type Make<'m> = dyn Fn(std::fs::File) -> Box<dyn sink::Sink> + 'm;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, make: &Make<'_>, outputs: &[&broadloom::Outputs]| {
        let path = folder.path().join(name);
        let mut sink = make(std::fs::File::create(&path).unwrap());
        for outputs in outputs {
            sink.push(&outputs.iter().map(|(_, array)| Some(array)).collect::<Vec<_>>()).unwrap();
        }
        sink.finish().unwrap();
        std::fs::read(path).unwrap()
    };
    let results = [("y".to_owned(), DType::F32)];
    let sinks: [(&str, &Make<'_>); 4] = [
        ("npy", &|file| Box::new(sink::NpyFile { npy: sink::Npy::new(file), dtype: DType::F32 })),
        ("npz", &|file| Box::new(sink::Npz::new(file, &results, folder.path()).unwrap())),
        ("csv", &|file| Box::new(sink::Table::new(file, None, sink::Heads::default(), b','))),
        ("bin", &|file| Box::new(sink::Raw(file))),
    ];
    for (name, make) in sinks {
        let at_once = write(name, make, &[&all]);
        assert!(at_once.len() > 20);
        assert_eq!(at_once, write(name, make, &[&pieces[0], &pieces[1]]), "{name}");
    }
}

#[test]
fn hostile_arguments_are_refused_or_read() {
    const PIECES: &[&str] = &[
        "x", "=", ":", "\"", "f32", "[", "]", "3", "_", ",", ".npy", "é", " ", "u8:", "-1", "1e999", "t.csv",
        "\0",
    ];
    let mut random = Random(11);
    let mut named = 0;
    for _ in 0..20_000 {
        let text: String = (0..random.below(9)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        if let Ok(argument) = Argument::parse(text.as_ref()) {
            named += usize::from(argument.name().is_some());
            // None of these is a file, so that only a number is an input.
            let opened = Files::new(TableOptions::default())
                .open(&argument, &|_| true)
                .map_or(0, |opened| opened.len());
            assert_eq!(opened, usize::from(matches!(argument, Argument::Number { .. })), "{text:?}");
        }
        let _ = super::argument::raw_layout(&text);
    }
    assert!(named > 200, "{named}");
}
