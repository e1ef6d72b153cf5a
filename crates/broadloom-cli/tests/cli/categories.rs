//! Columns of files with types that are read as those of a .csv: categories, dates that are texts, integers as texts; and types
//! that nobody reads.

use crate::Folder;
use crate::columns::{FORMATS, batch, floats, read, write};
use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::sync::Arc;

/// Categories are columns of their values: texts, or numbers.
#[test]
fn categories_are_their_values() {
    let folder = Folder::new();
    let words: DictionaryArray<Int8Type> = vec![Some("b"), Some("a"), None, Some("b")].into_iter().collect();
    // Categories that no row has, in an order of their own, as pandas and polars keep them.
    let ordered = DictionaryArray::<UInt32Type>::new(
        vec![Some(2), Some(0), Some(2), Some(1)].into_iter().collect(),
        Arc::new(LargeStringArray::from(vec!["mid", "low", "top", "none"])),
    );
    let numbers = DictionaryArray::<Int16Type>::new(
        vec![Some(1), Some(0), None, Some(1)].into_iter().collect(),
        Arc::new(Int64Array::from(vec![30, 10])),
    );
    let halves = DictionaryArray::<Int8Type>::new(
        vec![0, 1, 1, 0].into(),
        Arc::new(Float64Array::from(vec![0.5, 1.5])),
    );
    let nothing = DictionaryArray::<Int8Type>::new(
        vec![None::<i8>; 4].into_iter().collect(),
        Arc::new(StringArray::from(Vec::<&str>::new())),
    );
    let columns = || {
        batch(vec![
            ("word", Arc::new(words.clone()) as ArrayRef),
            ("level", Arc::new(ordered.clone())),
            ("number", Arc::new(numbers.clone())),
            ("half", Arc::new(halves.clone())),
            ("nothing", Arc::new(nothing.clone())),
            ("x", floats(&[1.0, 2.0, 3.0, 4.0])),
        ])
    };
    write(&folder, &[columns(), columns()]);
    for format in FORMATS {
        let (table, result) = (format!("t.{format}"), format!("r.{format}"));
        for (expression, expected) in [
            ("word[:4]", "['b' 'a' '' 'b']\n"),
            ("segment_sum(x, word)", "word  result\n\"\"        6.\na         4.\nb        10.\n"),
            ("level[:4]", "['top' 'mid' 'top' 'low']\n"),
            ("sum(where(level == 'top', x, 0))", "8.0\n"),
            ("number[:4]", "[10. 30. nan 10.]\n"),
            ("half * 2", "[1. 3. 3. 1. 1. 3. 3. 1.]\n"),
            ("nothing[:2]", "['' '']\n"),
            ("sum(word == level)", "0\n"),
        ] {
            assert_eq!(folder.output(&["eval", expression, &table]), expected, "{expression} {format}");
        }
        folder.output(&["eval", "word = word; y = x", &table, "-o", &result, "--chunk", "3"]);
        let texts = StringArray::from(vec!["b", "a", "", "b", "b", "a", "", "b"]);
        assert_eq!(read(&folder, &result).columns().len(), 2);
        assert_eq!(folder.output(&["eval", "word", &result]).matches('\'').count(), 2 * texts.len());
        let printed = folder.output(&["check", "a = word; b = number", &table]);
        for line in ["word: text, 3 different", "number: integers, some of them missing, as f64"] {
            assert!(printed.contains(line), "{printed}");
        }
        // A matrix has the columns of numbers.
        let done = folder.run(&["eval", "x[1]", &format!("x={table}:number,half,x")]);
        assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("[30.   1.5  2. ]\n", ""));
    }
}

/// The library of Parquet does not write such categories; polars writes them to Arrow files.
#[test]
fn categories_of_views_are_texts() {
    let folder = Folder::new();
    let views = DictionaryArray::<UInt8Type>::new(
        vec![1, 1, 0].into(),
        Arc::new(StringViewArray::from(vec!["u", "a text longer than twelve bytes"])),
    );
    let rows = batch(vec![("view", Arc::new(views) as ArrayRef)]);
    let file = File::create(folder.path().join("v.arrow")).unwrap();
    let mut writer = arrow_ipc::writer::FileWriter::try_new(file, &rows.schema()).unwrap();
    writer.write(&rows).unwrap();
    writer.finish().unwrap();
    let expected = "['a text longer than twelve bytes' 'a text longer than twelve bytes' 'u']\n";
    assert_eq!(folder.output(&["eval", "view", "v.arrow"]), expected);
}

/// Texts of dates, and digits of dates, as in a .csv; integers and truth values as texts.
#[test]
fn suffixes_mean_what_they_mean_in_a_csv() {
    let folder = Folder::new();
    let days: DictionaryArray<Int8Type> =
        vec!["2024-05-31", "1970-01-02", "2024-05-31"].into_iter().collect();
    write(
        &folder,
        &[batch(vec![
            (
                "day",
                Arc::new(StringArray::from(vec![Some("2024-05-31"), None, Some("20240601")])) as ArrayRef,
            ),
            (
                "at",
                Arc::new(LargeStringArray::from(vec![
                    "1970-01-01T00:00:01Z",
                    "1970-01-02",
                    " 19700101T000000.5 ",
                ])),
            ),
            ("nat", Arc::new(StringViewArray::from(vec!["NaT", "", "1970-01-03"]))),
            ("kind", Arc::new(days)),
            ("digits", Arc::new(Int32Array::from(vec![20_240_531, 19_700_101, 20_240_601]))),
            ("bad", Arc::new(StringArray::from(vec!["2024-05-31", "Oslo", "2024-05-31"]))),
            ("leap", Arc::new(StringArray::from(vec!["2016-12-31T23:59:60Z", "", ""]))),
            ("id", Arc::new(Int64Array::from(vec![Some(7), Some(-12), Some(7)]))),
            ("gap", Arc::new(UInt8Array::from(vec![Some(3), None, Some(20)]))),
            ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
            ("x", floats(&[1.0, 2.0, 3.0])),
        ])],
    );
    for format in FORMATS {
        let input = |part: &str| format!("x=t.{format}:{part}");
        for (part, expected) in [
            ("day:days", "[19874.    nan 19875.]\n"),
            ("at:days", "[0 1 0]\n"),
            ("at:seconds", "[1.00e+00 8.64e+04 5.00e-01]\n"),
            ("nat:days", "[nan nan  2.]\n"),
            ("kind:days", "[19874     1 19874]\n"),
            ("digits:days", "[19874     0 19875]\n"),
            ("id:text", "['7' '-12' '7']\n"),
            ("gap:text", "['3' '' '20']\n"),
            ("flag:text", "['True' 'False' '']\n"),
            ("day:text", "['2024-05-31' '' '20240601']\n"),
        ] {
            assert_eq!(folder.output(&["eval", "x", &input(part)]), expected, "{part} {format}");
        }
        let groups = folder.output(&[
            "eval",
            "segment_sum(x, id)",
            &format!("id=t.{format}:id:text"),
            &format!("t.{format}"),
        ]);
        assert_eq!(groups, "id   result\n-12      2.\n7        4.\n");
        for (part, expected) in [
            ("bad:days", "column \"bad\", row 2: \"Oslo\" is not a date such as 2024-05-31"),
            ("id:days", "column \"id\", row 1: \"7\" is not a date"),
            ("leap:seconds", "column \"leap\", row 1: \"2016-12-31T23:59:60Z\" is a leap second"),
            ("x:text", "its column \"x\" is not text"),
            ("x:days", "its column \"x\" has no dates"),
            ("flag:days", "its column \"flag\" has no dates"),
        ] {
            let done = folder.run(&["eval", "x", &input(part)]);
            assert!(done.code == Some(1) && done.stderr.contains(expected), "{part}: {}", done.stderr);
        }
        let named = folder.output(&["eval", "x", &input("bad:days"), "--missing", "Oslo"]);
        assert_eq!(named, "[19874.    nan 19874.]\n");
    }
}

/// Truth values that are null are told with their row, also where statistics do not count them.
#[test]
fn truth_values_that_are_null_are_told() {
    let folder = Folder::new();
    let flags = |values: Vec<Option<bool>>| Arc::new(BooleanArray::from(values)) as ArrayRef;
    let first = batch(vec![("c", flags(vec![Some(true), Some(false)])), ("d", flags(vec![Some(true); 2]))]);
    let second = batch(vec![("c", flags(vec![Some(false), None])), ("d", flags(vec![Some(false); 2]))]);
    write(&folder, &[first, second]);
    for format in FORMATS {
        let table = format!("t.{format}");
        let told = "column \"c\", row 4: a truth value is missing";
        for input in [table.clone(), format!("c={table}:c,d")] {
            let done = folder.run(&["eval", "sum(c == 1)", &input]);
            assert_eq!(done.code, Some(0), "{}", done.stderr);
            assert_eq!(done.stderr.matches(told).count(), 1, "{}", done.stderr);
            assert_eq!(done.stderr.matches("warning: ").count(), 1, "{}", done.stderr);
        }
        assert_eq!(folder.output(&["eval", "sum(d)", &table]), "2\n");
    }
}

#[test]
fn columns_without_values_are_told() {
    let folder = Folder::new();
    write(
        &folder,
        &[batch(vec![
            ("none", Arc::new(NullArray::new(2)) as ArrayRef),
            ("ints", Arc::new(Int32Array::from(vec![None, None]))),
            ("some", Arc::new(Int32Array::from(vec![None, Some(1)]))),
        ])],
    );
    for format in FORMATS {
        let printed = folder.output(&["check", "a = none; b = ints; c = some", &format!("t.{format}")]);
        for line in [
            "none: no values, as f64",
            "ints: no values, as f64",
            "some: integers, some of them missing, as f64",
        ] {
            assert!(printed.contains(line), "{line}\n{printed}");
        }
    }
}

/// An integer of 128 bits, as polars writes it, which Arrow's library does not know: a file of one of 64 bits, whose schema says
/// otherwise.
fn with_int128(bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() - 10;
    let size = u32::from_le_bytes(bytes[length..length + 4].try_into().unwrap()) as usize;
    for at in length - size..length - 4 {
        if bytes[at..at + 4] != 64u32.to_le_bytes() {
            continue;
        }
        let mut changed = bytes.to_vec();
        changed[at..at + 4].copy_from_slice(&128u32.to_le_bytes());
        // In memory of its own, which is aligned.
        let footer = changed[length - size..length].to_vec();
        let footer = arrow_ipc::root_as_footer(&footer);
        let fields = footer.ok().and_then(|footer| footer.schema()?.fields());
        let is_wide =
            |field: arrow_ipc::Field<'_>| field.type_as_int().is_some_and(|int| int.bitWidth() == 128);
        let has_wide = |field: arrow_ipc::Field<'_>| {
            is_wide(field) || field.children().into_iter().flatten().any(is_wide)
        };
        if fields.is_some_and(|fields| fields.iter().any(has_wide)) {
            return changed;
        }
    }
    panic!("the footer has no integer of 64 bits");
}

/// A column that cannot be read is in no other column's way.
#[test]
fn unreadable_columns_leave_the_others() {
    let folder = Folder::new();
    let words: DictionaryArray<Int8Type> = vec!["b", "a"].into_iter().collect();
    write(
        &folder,
        &[batch(vec![
            ("k", Arc::new(words) as ArrayRef),
            ("big", Arc::new(Int64Array::from(vec![1, 2]))),
            ("x", floats(&[1.5, 2.5])),
        ])],
    );
    folder.write("big.arrow", with_int128(&folder.read("t.arrow")));
    assert_eq!(folder.output(&["eval", "x + (k == 'a')", "big.arrow"]), "[1.5 3.5]\n");
    let done = folder.run(&["eval", "x.sum(axis=0)", "x=big.arrow"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "[4.]\n"), "{}", done.stderr);
    assert!(done.stderr.contains("without [\"k\", \"big\"]"), "{}", done.stderr);
    for part in ["big", "big:text", "big:days"] {
        let done = folder.run(&["eval", "x", &format!("x=big.arrow:{part}")]);
        assert_eq!(done.code, Some(1));
        assert!(done.stderr.contains("its column \"big\" has the type Int128"), "{part}: {}", done.stderr);
    }
    // In lists, too.
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)]), None]);
    write(&folder, &[batch(vec![("big", Arc::new(lists) as ArrayRef), ("x", floats(&[1.5, 2.5]))])]);
    folder.write("big.arrow", with_int128(&folder.read("t.arrow")));
    assert_eq!(folder.output(&["eval", "x", "big.arrow"]), "[1.5 2.5]\n");
    let done = folder.run(&["eval", "x", "x=big.arrow:big"]);
    assert!(done.stderr.contains("has the type List of Int128"), "{}", done.stderr);
    // Parquet's own types are there even if Arrow's cannot be understood.
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Float64, false)]));
    let file = File::create(folder.path().join("other.parquet")).unwrap();
    let strange = KeyValue::new("ARROW:schema".to_owned(), "AAAA".to_owned());
    let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![strange])).build();
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(true).with_properties(properties);
    let mut writer = ArrowWriter::try_new_with_options(file, schema.clone(), options).unwrap();
    writer.write(&RecordBatch::try_new(schema, vec![floats(&[1.5, 2.5])]).unwrap()).unwrap();
    writer.close().unwrap();
    assert_eq!(folder.output(&["eval", "x", "other.parquet"]), "[1.5 2.5]\n");
}

/// Frames of pandas that have an index and nothing else.
#[test]
fn an_index_alone_is_read() {
    let folder = Folder::new();
    let with = |columns: RecordBatch, index: &str| {
        let pandas = format!("{{\"index_columns\": [{index}], \"columns\": []}}");
        let schema = columns.schema().as_ref().clone().with_metadata([("pandas".to_owned(), pandas)].into());
        columns.with_schema(Arc::new(schema)).unwrap()
    };
    let ids = Arc::new(Int64Array::from(vec![3, 7])) as ArrayRef;
    write(&folder, &[with(batch(vec![("__index_level_0__", ids)]), "\"__index_level_0__\"")]);
    for format in FORMATS {
        assert_eq!(folder.output(&["eval", "x", &format!("x=t.{format}")]), "[[3.]\n [7.]]\n");
    }
    // A range is no column at all.
    let options = RecordBatchOptions::new().with_row_count(Some(2));
    let nothing = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options).unwrap();
    write(&folder, &[with(nothing, "{\"kind\": \"range\", \"start\": 0, \"stop\": 2, \"step\": 1}")]);
    for format in FORMATS {
        for args in [["x", &format!("t.{format}")], ["x", &format!("x=t.{format}")]] {
            let done = folder.run(&[&["eval"], &args[..]].concat());
            assert!(
                done.code == Some(1) && done.stderr.contains("it has no columns"),
                "{format}: {}",
                done.stderr
            );
        }
    }
}
