//! Files of columns, Parquet and Arrow IPC: written and read here by the libraries of the formats themselves.

use crate::{Folder, done};
use arrow_array::types::*;
use arrow_array::*;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{Int96, Int96Type};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::process::Stdio;
use std::sync::Arc;

pub const FORMATS: [&str; 2] = ["parquet", "arrow"];

/// Writes batches to `t.parquet` and `t.arrow`.
pub fn write(folder: &Folder, batches: &[RecordBatch]) {
    write_with(folder, batches, WriterProperties::new(), IpcWriteOptions::default());
}

pub fn write_with(
    folder: &Folder,
    batches: &[RecordBatch],
    properties: WriterProperties,
    options: IpcWriteOptions,
) {
    let create = |name| File::create(folder.path().join(name)).unwrap();
    let schema = batches[0].schema();
    let mut writer = ArrowWriter::try_new(create("t.parquet"), schema.clone(), Some(properties)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
    let mut writer = FileWriter::try_new_with_options(create("t.arrow"), &schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

/// The only batch of a file, or the first of several.
pub fn read(folder: &Folder, name: &str) -> RecordBatch {
    let file = File::open(folder.path().join(name)).unwrap();
    match name.ends_with(".parquet") {
        true => {
            ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().next().unwrap().unwrap()
        }
        false => FileReader::try_new(file, None).unwrap().next().unwrap().unwrap(),
    }
}

pub fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

pub fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn points() -> RecordBatch {
    batch(vec![
        ("id", Arc::new(Int64Array::from(vec![10, 20, 30]))),
        ("x", floats(&[3.0, 5.0, 8.0])),
        ("y", floats(&[4.0, 12.0, 15.0])),
    ])
}

#[test]
fn columns_are_inputs_and_results() {
    let folder = Folder::new();
    write(&folder, &[points()]);
    for format in FORMATS {
        let (table, result) = (format!("t.{format}"), format!("r.{format}"));
        folder.output(&["eval", "sqrt(x*x + y*y)", &table, "-o", &result]);
        assert_eq!(
            read(&folder, &result),
            RecordBatch::try_from_iter([("result", floats(&[5.0, 13.0, 17.0]))]).unwrap()
        );
        folder.output(&["eval", "twice = id * 2; near = x < 6", &table, "-o", &result]);
        let twice: ArrayRef = Arc::new(Int64Array::from(vec![20, 40, 60]));
        let near: ArrayRef = Arc::new(BooleanArray::from(vec![true, true, false]));
        assert_eq!(
            read(&folder, &result),
            RecordBatch::try_from_iter([("twice", twice), ("near", near)]).unwrap()
        );
        // What is written can be read.
        assert_eq!(folder.output(&["eval", "twice", &result]), "[20 40 60]\n");
        // Lists, patterns and all columns of numbers.
        assert_eq!(folder.output(&["eval", "x[1]", &format!("x={table}:y,x")]), "[12.  5.]\n");
        assert_eq!(folder.output(&["eval", "x[1]", &format!("x={table}:*d,y")]), "[20. 12.]\n");
        assert_eq!(folder.signature(&["x", &format!("x={table}")]), "result: f64[3, 3]\n");
        assert_eq!(folder.signature(&["x", &format!("x={table}:id")]), "result: i64[3]\n");
        let done = folder.run(&["eval", "x", &format!("x={table}:z")]);
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.contains("it has no column named \"z\""), "{}", done.stderr);
        assert!(done.stderr.contains("its columns are [\"id\", \"x\", \"y\"]"), "{}", done.stderr);
    }
}

/// Every dtype, rows of numbers, and rows with two axes: out and in again.
#[test]
fn types_are_kept() {
    let folder = Folder::new();
    for format in FORMATS {
        let file = format!("r.{format}");
        for dtype in ["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"] {
            for (count, shape, sizes) in
                [(5, "5", "[5]"), (10, "(5, 2)", "[5, 2]"), (30, "(5, 2, 3)", "[5, 2, 3]")]
            {
                let expression = format!("(arange({count}) * 37 % 101).reshape({shape}).astype({dtype})");
                folder.output(&["eval", &expression, "-o", &file]);
                assert_eq!(folder.signature(&["result", &file]), format!("result: {dtype}{sizes}\n"));
                let again = folder.output(&["eval", "result", &file]);
                assert_eq!(again, folder.output(&["eval", &expression]), "{expression}");
            }
        }
        let list = read(&folder, &file);
        assert_eq!(list.schema().field(0).metadata()["ARROW:extension:name"], "arrow.fixed_shape_tensor");
        let refused = folder.run(&["eval", "arange(3).astype(bf16)", "-o", &file]);
        assert!(refused.code == Some(2) && refused.stderr.contains("do not have bf16"), "{}", refused.stderr);
    }
}

/// A null is nan; a column of integers or truth values with nulls is f64.
#[test]
fn nulls_are_nan() {
    let list = FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(
        [Some([Some(1.0), Some(2.0)]), None, Some([None, Some(4.0)]), Some([Some(5.0), Some(6.0)])],
        2,
    );
    let columns = || {
        batch(vec![
            ("f", Arc::new(Float32Array::from(vec![Some(1.5), None, Some(2.5), None]))),
            ("i", Arc::new(Int16Array::from(vec![Some(1), None, Some(3), Some(4)]))),
            ("b", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]))),
            ("l", Arc::new(list.clone())),
            ("full", Arc::new(Int32Array::from(vec![1, 2, 3, 4]))),
        ])
    };
    let without = |level| WriterProperties::builder().set_statistics_enabled(level).build();
    for level in [EnabledStatistics::None, EnabledStatistics::Chunk] {
        let folder = Folder::new();
        write_with(&folder, &[columns(), columns()], without(level), IpcWriteOptions::default());
        for format in FORMATS {
            let table = format!("t.{format}");
            let eval = |expression: &str| folder.output(&["eval", expression, &table]);
            let check = |expression: &str| folder.signature(&[expression, &table, "--quiet"]);
            assert_eq!((check("f"), check("i")), ("result: f32[8]\n".into(), "result: f64[8]\n".into()));
            assert_eq!((check("b"), check("full")), ("result: f64[8]\n".into(), "result: i32[8]\n".into()));
            assert_eq!(eval("f[:4]"), "[1.5 nan 2.5 nan]\n");
            assert_eq!(eval("i[4:]"), "[ 1. nan  3.  4.]\n");
            let truths = folder.run(&["eval", "b[:4]", &table]);
            assert_eq!(truths.stdout, "[ 1. nan  0.  1.]\n");
            assert_eq!(truths.stderr.matches("column \"b\", row 2: a truth value is missing").count(), 1);
            // A row with a null is a null row.
            assert_eq!(eval("l[:4]"), "[[ 1.  2.]\n [nan nan]\n [nan nan]\n [ 5.  6.]]\n");
            let matrix = folder.output(&["eval", "x[:2]", &format!("x={table}:full,i")]);
            assert_eq!(matrix, "[[ 1.  1.]\n [ 2. nan]]\n");
        }
    }
}

/// Integers beside nulls, and those of a matrix, become f64.
#[test]
fn integers_that_f64_rounds_are_told() {
    const ODD: i64 = (1 << 53) + 1;
    let folder = Folder::new();
    // What lies under a null is not told.
    let hidden = Int64Array::new(vec![ODD, 1, 2, 3].into(), Some(vec![false, true, true, true].into()));
    let list = FixedSizeListArray::from_iter_primitive::<Int64Type, _, _>(
        [1, 2, ODD, 3].map(|int| Some([Some(int), None])),
        2,
    );
    let rows = || {
        batch(vec![
            ("id", Arc::new(Int64Array::from(vec![Some(ODD - 1), None, Some(5), Some(ODD)]))),
            ("u", Arc::new(UInt64Array::from(vec![Some(1), Some(u64::MAX), None, Some(2)]))),
            ("full", Arc::new(Int64Array::from(vec![1, 2, ODD, 4]))),
            ("hidden", Arc::new(hidden.clone())),
            ("list", Arc::new(list.clone())),
        ])
    };
    write(&folder, &[rows(), rows()]);
    for format in FORMATS {
        let table = format!("t.{format}");
        let told = |input: &str| folder.run(&["eval", "x[:1]", input]).stderr;
        let column = |name: &str| told(&format!("x={table}:{name}"));
        let id = column("id");
        assert!(id.contains("column \"id\", row 4: 9007199254740993 is rounded to f64"), "{id}");
        assert!(id.contains("write the column without nulls"), "{id}");
        let unsigned = column("u");
        assert!(unsigned.contains("row 2: 18446744073709551615 is rounded to f64"), "{unsigned}");
        assert_eq!((column("full"), column("hidden"), column("list")), Default::default());
        assert_eq!(folder.output(&["eval", "x[2]", &format!("x={table}:full")]), "9007199254740993\n");
        let matrix = told(&format!("x={table}:hidden,full"));
        assert!(matrix.contains("column \"full\", row 3: 9007199254740993 is rounded"), "{matrix}");
        assert!(!matrix.contains("hidden"), "{matrix}");
    }
}

#[test]
fn text_and_dates_are_read_as_those_of_csv() {
    let folder = Folder::new();
    let days = [19_873, 19_874, 19_873, -1];
    let millis = days.map(|day| i64::from(day) * 86_400_000 + 1500);
    write(
        &folder,
        &[batch(vec![
            ("city", Arc::new(StringArray::from(vec![Some("Oslo"), Some("Lima"), Some("Oslo"), None]))),
            ("large", Arc::new(LargeStringArray::from(vec!["b", "a", "b", "c"]))),
            ("view", Arc::new(StringViewArray::from(vec!["b", "a", "a text longer than twelve bytes", "b"]))),
            ("day", Arc::new(Date32Array::from(days.to_vec()))),
            ("time", Arc::new(TimestampMillisecondArray::from(millis.to_vec()))),
            ("at", Arc::new(TimestampSecondArray::from(vec![Some(0), None, Some(90_000), Some(-1)]))),
            ("micro", Arc::new(TimestampMicrosecondArray::from(vec![-1, 250_000, 1, -1_500_000]))),
            ("x", floats(&[1.0, 2.0, 3.0, 4.0])),
        ])],
    );
    for format in FORMATS {
        let table = format!("t.{format}");
        let of =
            |expression: &str, part: &str| folder.output(&["eval", expression, &format!("x={table}:{part}")]);
        assert_eq!(folder.output(&["eval", "sum(where(city == 'Oslo', x, 0))", &table]), "4.0\n");
        let result = format!("r.{format}");
        folder.output(&["eval", "total = segment_sum(x, city)", &table, "-o", &result]);
        let names: ArrayRef = Arc::new(StringArray::from(vec!["", "Lima", "Oslo"]));
        let totals = [("city", names), ("total", floats(&[4.0, 2.0, 4.0]))];
        assert_eq!(read(&folder, &result), RecordBatch::try_from_iter(totals).unwrap());
        assert_eq!(of("x", "large"), "['b' 'a' 'b' 'c']\n");
        assert_eq!(of("x", "view:text"), "['b' 'a' 'a text longer than twelve bytes' 'b']\n");
        assert_eq!(
            (of("x", "day:days"), of("x", "time:days")),
            ("[19873 19874 19873    -1]\n".into(), "[19873 19874 19873    -1]\n".into())
        );
        assert_eq!(of("x", "day:seconds"), "[1717027200 1717113600 1717027200     -86400]\n");
        // With half a second more.
        let twice = of("(x * 2).astype(i64)", "time:seconds");
        assert_eq!(twice, "[3434054403 3434227203 3434054403    -172797]\n");
        assert_eq!(of("nan_to_num(x, 7).astype(i64)", "at:seconds"), "[    0     7 90000    -1]\n");
        // A part of a second before 1970 is the float next to it.
        assert_eq!(
            of("x == array([-1e-6, 0.25, 1e-6, -1.5])", "micro:seconds"),
            "[ True  True  True  True]\n"
        );
        assert_eq!(of("x", "micro:days"), "[-1  0  0 -1]\n");
        // A matrix has the columns of numbers.
        let done = folder.run(&["eval", "x.sum(axis=0)", &format!("x={table}")]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "[10.]\n"), "{}", done.stderr);
        assert!(
            done.stderr
                .contains("without [\"city\", \"large\", \"view\", \"day\", \"time\", \"at\", \"micro\"]")
        );
        for (part, expected) in [
            ("day", "its column \"day\" has dates"),
            ("x,city", "its column \"city\" is text, which cannot be part of a matrix"),
            ("x:days", "its column \"x\" has no dates"),
            ("x:text", "its column \"x\" is not text"),
        ] {
            let done = folder.run(&["eval", "x", &format!("x={table}:{part}")]);
            assert!(done.code == Some(1) && done.stderr.contains(expected), "{part}: {}", done.stderr);
            assert!(done.stderr.contains("help: "), "{}", done.stderr);
        }
    }
}

/// Files of Spark and old files of pandas have dates as INT96: a Julian day, and nanoseconds of the day.
#[test]
fn old_dates_have_their_whole_range() {
    let folder = Folder::new();
    let schema = "message m { REQUIRED INT96 t; OPTIONAL INT96 gap; REQUIRED INT64 id; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(folder.path().join("f.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::new())).unwrap();
    let mut group = writer.next_row_group().unwrap();
    // Julian day 2440588 is 1970-01-01. The days are 1000-01-01, 9999-12-31 and 2024-05-31, at one and a half seconds.
    let days = [-354_285, 2_932_896, 19_874];
    let at = |day: i64| {
        let nanos = 1_500_000_000u64;
        let mut value = Int96::new();
        value.set_data(nanos as u32, (nanos >> 32) as u32, (day + 2_440_588) as u32);
        value
    };
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&days.map(at), None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int96Type>().write_batch(&[at(-354_285)], Some(&[0, 1, 0]), None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<parquet::data_type::Int64Type>().write_batch(&[1, 2, 3], None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    let eval = |part: &str| folder.output(&["eval", "t", &format!("t=f.parquet:{part}")]);
    assert_eq!(eval("t:days"), "[-354285 2932896   19874]\n");
    assert_eq!(eval("gap:days"), "[     nan -354285.      nan]\n");
    assert_eq!(
        folder.output(&["eval", "(t - 1.5) / 86400", "t=f.parquet:t:seconds"]),
        "[-354285. 2932896.   19874.]\n"
    );
    assert_eq!(eval("id"), "[1 2 3]\n");
}

/// A column that is null everywhere has no type, and is nan.
#[test]
fn a_column_of_nulls_is_nan() {
    let folder = Folder::new();
    let nulls: ArrayRef = Arc::new(NullArray::new(3));
    write(&folder, &[batch(vec![("none", nulls), ("x", floats(&[1.0, 2.0, 3.0]))])]);
    for format in FORMATS {
        let table = format!("t.{format}");
        assert_eq!(folder.output(&["eval", "none", &table]), "[nan nan nan]\n");
        assert_eq!(folder.output(&["eval", "sum(isnan(none)) + x.sum()", &table, "--chunk", "2"]), "9.0\n");
        assert_eq!(
            folder.output(&["eval", "m", &format!("m={table}")]),
            "[[nan  1.]\n [nan  2.]\n [nan  3.]]\n"
        );
    }
}

/// pandas writes the index of a frame as columns, and names them in the metadata of the schema.
#[test]
fn an_index_of_pandas_is_not_data() {
    let ids = || -> ArrayRef { Arc::new(Int64Array::from(vec![3, 7])) };
    let columns = || vec![("x", floats(&[1.0, 2.0])), ("__index_level_0__", ids()), ("id", ids())];
    let with = |index: &str| {
        let batch = batch(columns());
        let pandas = format!("{{\"index_columns\": {index}, \"columns\": []}}");
        let schema = batch.schema().as_ref().clone().with_metadata([("pandas".to_owned(), pandas)].into());
        batch.with_schema(Arc::new(schema)).unwrap()
    };
    for (index, expected, named) in [
        ("[\"__index_level_0__\"]", "[[1. 3.]\n [2. 7.]]\n", "[\"__index_level_0__\"]"),
        ("[\"id\"]", "[[1. 3.]\n [2. 7.]]\n", "[\"id\"]"),
        ("[\"id\", \"__index_level_0__\"]", "[[1.]\n [2.]]\n", "[\"__index_level_0__\", \"id\"]"),
        (
            "[{\"kind\": \"range\", \"start\": 0, \"stop\": 2, \"step\": 1}]",
            "[[1. 3. 3.]\n [2. 7. 7.]]\n",
            "",
        ),
    ] {
        let folder = Folder::new();
        write(&folder, &[with(index)]);
        for format in FORMATS {
            let done = folder.run(&["eval", "x", &format!("x=t.{format}")]);
            assert_eq!((done.code, done.stdout.as_str()), (Some(0), expected), "{index}: {}", done.stderr);
            let warnings = done.stderr.matches("warning: ").count();
            assert_eq!(warnings, usize::from(!named.is_empty()), "{}", done.stderr);
            assert!(done.stderr.contains(named), "{}", done.stderr);
            // By name, and by a pattern that means nothing else.
            assert_eq!(folder.output(&["eval", "x", &format!("x=t.{format}:__index_level_0__")]), "[3 7]\n");
            assert_eq!(folder.output(&["eval", "x[0]", &format!("x=t.{format}:__index*")]), "[3.]\n");
        }
    }
}

/// Texts of files and of results are texts in files, too.
#[test]
fn texts_are_written_as_texts() {
    let folder = Folder::new();
    let texts = |texts: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
    write(&folder, &[batch(vec![("k", texts(vec!["b", "a", "b"])), ("x", floats(&[1.0, 2.0, 3.0]))])]);
    folder.write("u.csv", "other\nc\nb\na\n");
    for format in FORMATS {
        let (table, result) = (format!("t.{format}"), format!("r.{format}"));
        folder.output(&["eval", "k = k; x = x * 2", &table, "-o", &result]);
        let expected = [("k", texts(vec!["b", "a", "b"])), ("x", floats(&[2.0, 4.0, 6.0]))];
        assert_eq!(read(&folder, &result), RecordBatch::try_from_iter(expected).unwrap());
        folder.output(&["eval", "k = k; x = x * 2", &table, "-o", &result, "--chunk", "1"]);
        assert_eq!(folder.output(&["eval", "k", &result]), "['b' 'a' 'b']\n");
        folder.output(&["eval", "where(x < 2, k, other)", &table, "u.csv", "-o", &result]);
        let expected = [("result", texts(vec!["b", "b", "a"]))];
        assert_eq!(read(&folder, &result), RecordBatch::try_from_iter(expected).unwrap());
        let refused = folder.run(&["eval", "stack((k, k), axis=1)", &table, "-o", &result]);
        assert!(refused.code == Some(2) && refused.stderr.contains("is text, which"), "{}", refused.stderr);
        // Texts of two files are compared as texts.
        assert_eq!(
            folder.output(&["eval", "argmax(k[:, None] == other, axis=1)", &table, "u.csv"]),
            "[1 2 1]\n"
        );
    }
}

#[test]
fn other_types_say_what_to_cast_to() {
    let folder = Folder::new();
    let decimals = Decimal128Array::from(vec![1, 2]).with_precision_and_scale(10, 2).unwrap();
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), Some(vec![])]);
    let pairs = FixedSizeListArray::from_iter_primitive::<Float64Type, _, _>(
        [Some([Some(1.0), Some(2.0)]), Some([Some(3.0), Some(4.0)])],
        2,
    );
    write(
        &folder,
        &[batch(vec![
            ("price", Arc::new(decimals)),
            ("items", Arc::new(lists)),
            ("pair", Arc::new(pairs)),
            ("x", floats(&[1.0, 2.0])),
        ])],
    );
    for format in FORMATS {
        let table = format!("t.{format}");
        for (part, expected) in [
            ("price", "cast it to Float64 first"),
            ("items", "FixedSizeList(3, Int32)"),
            ("x,pair", "its column \"pair\" is f64[n, 2], which cannot be part of a matrix"),
        ] {
            let done = folder.run(&["eval", "x", &format!("x={table}:{part}")]);
            assert!(done.code == Some(1) && done.stderr.contains(expected), "{part}: {}", done.stderr);
        }
        // They are in nobody's way.
        assert_eq!(folder.output(&["eval", "x + pair @ array([1.0, 2.0])", &table]), "[ 6. 13.]\n");
    }
}

fn rows(count: usize) -> RecordBatch {
    let at = || 0..count as i64;
    let names = at().map(|at| format!("g{}", at % 7));
    let pairs = at().map(|at| Some([Some(at as f32 / 7.0), Some(-at as f32)]));
    batch(vec![
        ("id", Arc::new(Int64Array::from_iter_values(at()))),
        (
            "x",
            Arc::new(Float32Array::from_iter(
                at().map(|at| (at % 11 != 0).then_some((at * at % 1013) as f32)),
            )),
        ),
        ("name", Arc::new(StringArray::from_iter_values(names))),
        ("pair", Arc::new(FixedSizeListArray::from_iter_primitive::<Float32Type, _, _>(pairs, 2))),
    ])
}

/// Row groups, batches and chunks that do not line up, in all common compressions and both versions of pages.
#[test]
fn chunks_change_nothing() {
    let folder = Folder::new();
    let all = rows(20_000);
    let program =
        "y = pair * id[:, None]; z = where(isnan(x), 0, x) - mean(id); total = segment_sum(id, name)";
    let mut expected: Option<Vec<String>> = None;
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let gzip = Compression::GZIP(parquet::basic::GzipLevel::default());
    for (compression, version, ipc) in [
        (Compression::UNCOMPRESSED, WriterVersion::PARQUET_1_0, None),
        (Compression::SNAPPY, WriterVersion::PARQUET_2_0, Some(arrow_ipc::CompressionType::LZ4_FRAME)),
        (zstd, WriterVersion::PARQUET_1_0, Some(arrow_ipc::CompressionType::ZSTD)),
        (gzip, WriterVersion::PARQUET_2_0, None),
        (Compression::LZ4_RAW, WriterVersion::PARQUET_1_0, None),
    ] {
        let properties = WriterProperties::builder().set_compression(compression).set_writer_version(version);
        let options = IpcWriteOptions::default().try_with_compression(ipc).unwrap();
        write_with(&folder, &[all.slice(0, 7001), all.slice(7001, 12_999)], properties.build(), options);
        for format in FORMATS {
            for chunk in [None, Some("1024"), Some("9000")] {
                let mut args = vec!["eval", program];
                let table = format!("t.{format}");
                args.push(&table);
                let outputs =
                    [format!("y=y.{format}"), format!("z=z.{format}"), "total=total.csv".to_owned()];
                args.extend(outputs.iter().flat_map(|output| ["-o", output.as_str()]));
                args.extend(chunk.iter().flat_map(|chunk| ["--chunk", *chunk]));
                folder.output(&args);
                let sums = |program: &str, name: &str| {
                    folder.output(&["eval", program, &format!("{name}.{format}")])
                };
                let found = vec![
                    sums("s = sum(y, axis=0); h = arange(len(y)) @ y", "y"),
                    sums("s = sum(z); h = arange(len(z)) @ z", "z"),
                    String::from_utf8(folder.read("total.csv")).unwrap(),
                ];
                let expected = expected.get_or_insert(found.clone());
                assert_eq!(&found, expected, "{compression:?} {format} {chunk:?}");
            }
        }
    }
    let totals: Vec<i64> = (0..7).map(|group| (0..20_000).filter(|at| at % 7 == group).sum()).collect();
    let lines: String = (0..7).map(|group| format!("g{group},{}\n", totals[group])).collect();
    assert_eq!(expected.unwrap()[2], format!("name,total\n{lines}"));
}

#[test]
fn pipes_are_recognized() {
    let folder = Folder::new();
    write(&folder, &[points()]);
    for format in FORMATS {
        let mut command = folder.command(&["eval", "x + y", "-", "-o", "-", "--format", format]);
        let file = File::open(folder.path().join(format!("t.{format}"))).unwrap();
        let output = command.stdin(Stdio::from(file)).output().unwrap();
        assert!(output.status.success());
        folder.write("piped", &output.stdout);
        let mut command = folder.command(&["eval", "result", "-"]);
        let file = File::open(folder.path().join("piped")).unwrap();
        assert_eq!(done(command.stdin(Stdio::from(file)).output().unwrap()).stdout, "[ 7. 17. 23.]\n");
    }
}

#[test]
fn columns_of_one_file_have_equal_lengths() {
    let folder = Folder::new();
    for format in FORMATS {
        let file = format!("r.{format}");
        let done = folder.run(&["eval", "a = arange(3); b = arange(4)", "-o", &file]);
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.contains("\"a\" has 3, and \"b\" has 4"), "{}", done.stderr);
        let done = folder.run(&["eval", "a = arange(3); b = sum(arange(4))", "-o", &file]);
        assert_eq!(done.code, Some(2));
        assert!(done.stderr.contains("they are not one table"), "{}", done.stderr);
        assert!(folder.names().is_empty(), "{:?}", folder.names());
        // Totals are one row; no rows are a table too.
        folder.output(&["eval", "a = sum(arange(3)); b = 2.5", "-o", &file]);
        assert_eq!(read(&folder, &file).num_rows(), 1);
        folder.output(&["eval", "arange(0) * 1.5", "-o", &file]);
        assert_eq!(folder.signature(&["result", &file]), "result: f64[0]\n");
        std::fs::remove_file(folder.path().join(&file)).unwrap();
    }
}

/// A file that ends anywhere is an error, and says so without a panic.
#[test]
fn truncated_files_are_errors() {
    let folder = Folder::new();
    write(&folder, &[points()]);
    for format in FORMATS {
        let whole = folder.read(&format!("t.{format}"));
        let short = format!("short.{format}");
        for length in (0..whole.len()).step_by(whole.len() / 23) {
            folder.write(&short, &whole[..length]);
            let done = folder.run(&["eval", "x + id", &short]);
            assert_eq!(done.code, Some(1), "{length}: {}", done.stderr);
            assert!(done.stderr.starts_with(&format!("error: {short}: ")), "{}", done.stderr);
            assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
        }
        folder.write(&short, "a,b\n1,2\n");
        assert_eq!(folder.run(&["eval", "a", &short]).code, Some(1));
    }
    let stream = {
        let mut bytes = Vec::new();
        let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut bytes, &points().schema()).unwrap();
        writer.write(&points()).unwrap();
        writer.finish().unwrap();
        bytes
    };
    folder.write("s.arrow", stream);
    let done = folder.run(&["eval", "x", "s.arrow"]);
    assert!(
        done.code == Some(1) && done.stderr.contains("it is a stream of Arrow IPC messages"),
        "{}",
        done.stderr
    );
}
