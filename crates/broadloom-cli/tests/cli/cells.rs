//! Cells of tables of text as other programs write them, and as this one writes and reads them again.

use crate::{Folder, refused, says};

/// Runs `eval`, and returns what it prints and what it tells.
fn eval(folder: &Folder, args: &[&str]) -> (String, String) {
    let done = folder.run(&[&["eval"], args].concat());
    assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
    (done.stdout, done.stderr)
}

/// pandas writes frames and series with numbers as names behind the empty name of the index, and R does with quotation marks.
#[test]
fn numbers_above_an_index_are_names() {
    let folder = Folder::new();
    let means = "[7.  7.5]\n";
    for text in [
        ",2019,2020\n0,5,7\n1,9,8\n",
        ",0,1\n0,5,7\n1,9,8\n",
        // Rows that were filtered, sorted or renamed.
        ",2019,2020\n2,5,7\n7,9,8\n",
        ",2019,2020\n7,5,7\n2,9,8\n",
        ",2019,2020\nOslo,5,7\nLima,9,8\n",
        ",2019,2020\n2024-05-30,5,7\n2024-05-31,9,8\n",
        ",0.25,0.75\n0,5,7\n1,9,8\n",
        ",0.25,0.75\nOslo,5,7\nOslo,9,8\n",
        // R, and an index of two levels.
        "\"\",\"2019\",\"2020\"\n\"1\",5,7\n\"2\",9,8\n",
        ",,2019,2020\na,1,5,7\na,2,9,8\n",
        "\u{feff},2019,2020\r\n0,5,7\r\n1,9,8\r\n",
    ] {
        folder.write("x.csv", text);
        let (printed, told) = eval(&folder, &["x.mean(axis=0)", "x=x.csv"]);
        assert_eq!(printed, means, "{text}");
        assert_eq!(told.matches("x is without the index of the rows").count(), 1, "{text}: {told}");
    }
    folder.write("x.csv", ",2019,2020\n0,5,7\n1,9,8\n");
    assert_eq!(folder.output(&["eval", "x", "x=x.csv:2020"]), "[7 8]\n");
    assert_eq!(folder.output(&["eval", "x", "x=x.csv:2019,2020"]), "[[5. 7.]\n [9. 8.]]\n");
    folder.write("x.csv", ",0\n0,5\n1,9\n");
    assert_eq!(eval(&folder, &["x", "x=x.csv"]).0, "[[5.]\n [9.]]\n");
    folder.write("x.tsv", "\t2019\t2020\n0\t5\t7\n1\t9\t8\n");
    assert_eq!(folder.output(&["eval", "x", "x=x.tsv:2019"]), "[5 9]\n");
    // A first row with a missing number is data; if only its first cell is missing, that is told.
    for (text, expected, is_told) in [
        (",5,7\n", "[[nan  5.  7.]]\n", false),
        (",5,7\n1.5,9,8\n", "[[nan 5.  7. ]\n [1.5 9.  8. ]]\n", true),
        (",5,7\n,9,8\n", "[[nan  5.  7.]\n [nan  9.  8.]]\n", false),
        (",5,5\n0,9,8\n", "[[nan  5.  5.]\n [ 0.  9.  8.]]\n", true),
        (",0.5,7\n4,9,8\n2,1,3\n", "[[nan 0.5 7. ]\n [4.  9.  8. ]\n [2.  1.  3. ]]\n", true),
        (",5,7\n4,9,8\n4,1,3\n", "[[nan  5.  7.]\n [ 4.  9.  8.]\n [ 4.  1.  3.]]\n", true),
        ("1,,7\n0,9,8\n", "[[ 1. nan  7.]\n [ 0.  9.  8.]]\n", false),
    ] {
        folder.write("x.csv", text);
        let (printed, told) = eval(&folder, &["x", "x=x.csv"]);
        assert_eq!(printed, expected, "{text}");
        let says = "x.csv: the first row is read as data, but its first cell is empty";
        assert_eq!(told.contains(says), is_told, "{text}: {told}");
        assert_eq!(told.is_empty(), !is_told, "{text}: {told}");
    }
    // As it says, a name in that cell makes all of them names.
    folder.write("x.csv", "at,5,7\n1.5,9,8\n");
    assert_eq!(folder.output(&["eval", "x", "x=x.csv:5,7"]), "[[9. 8.]]\n");
}

/// Without an index, names that are numbers cannot be told from data for certain: pandas writes `0,1` above random numbers.
#[test]
fn a_first_row_that_may_have_names_is_told() {
    let folder = Folder::new();
    for (text, is_told) in [
        ("0,1\n0.5,0.25\n1.5,2.0\n", true),
        ("2019,2020,2021\n0.5,,1e3\n", true),
        ("0,1\n0.5,2\n", false),
        ("0.0,1.0\n0.5,0.25\n", false),
        ("0,2\n0.5,0.25\n", false),
        ("0,1\n", false),
        ("1\n0.5\n", false),
        ("0,1\n2,3\n", false),
    ] {
        folder.write("x.csv", text);
        let (printed, told) = eval(&folder, &["len(x)", "x=x.csv"]);
        assert_eq!(printed, format!("{}\n", text.lines().count()), "{text}");
        let says = "x.csv: the first row is read as data, but it has integers";
        assert_eq!(told.matches(says).count(), usize::from(is_told), "{text}: {told}");
        assert_eq!(told.is_empty(), !is_told, "{told}");
    }
    folder.write("x.csv", "0,1\n0.5,0.25\n");
    assert_eq!(eval(&folder, &["c0 + c1", "x.csv"]).1.matches("warning: ").count(), 1);
}

/// Advice names columns that can be typed.
#[test]
fn advice_names_columns_that_can_be_typed() {
    let folder = Folder::new();
    for (text, advice, absent) in [
        (",,a\nu,1,5\nu,2,6\n", "'x=x.csv:a,'", ":,a"),
        (",a,b\n7,1,2\n9,3,4\n", "'x=x.csv:a,b'", ":,a"),
        ("k,a,,b\nu,1,2,3\n", "'x=x.csv:a,b'", ":a,'"),
        ("k,\"a,b\",c,d\nu,1,2,3\n", "'x=x.csv:c,d'", "a,b"),
        ("k,a*,c\nu,1,2\n", "'x=x.csv:c,'", "a*"),
        ("k,a,a,c\nu,1,2,3\n", "'x=x.csv:c,'", "a,a"),
        ("k,it's,c\nu,1,2\n", "'x=x.csv:it'\\''s,c'", "it's"),
        ("k,,\nu,1,2\n", "give the columns of x.csv names", "'x="),
    ] {
        folder.write("x.csv", text);
        let (printed, told) = eval(&folder, &["x", "x=x.csv"]);
        says(&told, &["to silence this warning", advice]);
        assert!(!told.contains(absent), "{told}");
        // What it says gives the same shape.
        if let Some(part) = advice.strip_prefix('\'').and_then(|part| part.strip_suffix('\'')) {
            let chosen = folder.output(&["eval", "x", &part.replace("'\\''", "'")]);
            assert_eq!(chosen.contains("[["), printed.contains("[["), "{text}");
        }
    }
    // A cell with a comma is not one that the option can name.
    folder.write("x.csv", "x\n1\n\"n, a\"\n");
    assert!(!refused(&folder, &["x", "x.csv"]).contains("--missing"));
    folder.write("x.csv", "x\n1\nit's\n");
    says(&refused(&folder, &["x", "x.csv"]), &["--missing 'it'\\''s'"]);
}

/// Truth values are written as pandas writes them, and are truth values again.
#[test]
fn truth_values_are_written_as_such() {
    let folder = Folder::new();
    folder.write("f.csv", "flag,v\nTrue,1.5\nTrue,2\nFalse,3\n");
    for (file, written) in [
        ("o.csv", "flag,v\nTrue,1.5\nTrue,2.0\nFalse,3.0\n"),
        ("o.tsv", "flag\tv\nTrue\t1.5\nTrue\t2.0\nFalse\t3.0\n"),
    ] {
        for chunk in [&[][..], &["--chunk", "1"]] {
            folder.output(&[&["eval", "flag=flag;v=v", "f.csv", "-o", file], chunk].concat());
            assert_eq!(String::from_utf8(folder.read(file)).unwrap(), written);
            assert_eq!(folder.output(&["eval", "v[flag]", file]), "[1.5 2. ]\n");
        }
    }
    for (expression, written) in [
        ("v > 1.75", "False\nTrue\nTrue\n"),
        ("stack((flag, v > 2), axis=1)", "True,False\nTrue,False\nFalse,True\n"),
        ("all(flag)", "False\n"),
        ("flag.astype(i64)", "1\n1\n0\n"),
    ] {
        folder.output(&["eval", expression, "f.csv", "-o", "o.csv"]);
        assert_eq!(String::from_utf8(folder.read("o.csv")).unwrap(), written, "{expression}");
    }
    folder.write("g.csv", "k,flag\na,False\nb,True\na,True\n");
    folder.output(&["eval", "most = segment_max(flag.astype(i64), k) > 0", "g.csv", "-o", "o.csv"]);
    assert_eq!(folder.read("o.csv"), b"k,most\na,True\nb,True\n");
    assert_eq!(folder.output(&["eval", "sum(most)", "o.csv"]), "2\n");
}

/// What this program writes it can read, or it is not written.
#[test]
fn tables_that_cannot_be_read_back_are_not_written() {
    let folder = Folder::new();
    folder.write("n.csv", "v,k,year\n1,\"a\nb\tc\",2019\n2,x,2020\n4,x,2019\n");
    // A tab and a line end in one cell look like rows, in any column and as the name of a group.
    for program in ["v=v;k=k", "k", "segment_sum(v,k)"] {
        let message = refused(&folder, &[program, "n.csv", "-o", "n.tsv"]);
        says(&message, &["n.tsv cannot be written", "\"a\\nb\\tc\" has a tab and a new line", "as .csv"]);
        assert!(!folder.names().contains(&"n.tsv".to_owned()));
    }
    folder.output(&["eval", "v=v;k=k", "n.csv", "-o", "o.csv"]);
    assert_eq!(folder.output(&["eval", "k", "o.csv"]), "['a\\nb\\tc' 'x' 'x']\n");
    for (cell, shown) in
        [("a\tb", "a\\tb"), ("a\nb", "a\\nb"), (" a ", " a "), ("\"a\"\t\"b\"", "\"a\"\\t\"b\"")]
    {
        folder.write("t.csv", format!("v,k\n1,\"{}\"\n2,x\n", cell.replace('"', "\"\"")));
        folder.output(&["eval", "v=v;k=k", "t.csv", "-o", "t.tsv"]);
        assert_eq!(folder.output(&["eval", "k", "t.tsv"]), format!("['{shown}' 'x']\n"));
    }
    // Of another program, such a cell is refused with advice that applies.
    folder.write("p.tsv", "v\tk\n1\t\"a\nb\tc\"\n2\tx\n");
    says(&refused(&folder, &["k", "p.tsv"]), &["would be one cell", "write the table as .csv"]);
    // Rows and columns with names have a header.
    folder.write("s.csv", "k,x,y\nb,1,2\na,3,4\nb,5,6\n");
    let sums = "segment_sum(stack((x, y), axis=1), k)";
    folder.output(&["eval", sums, "s.csv", "-o", "o.csv"]);
    assert_eq!(folder.read("o.csv"), b"k,c1,c2\na,3,4\nb,6,8\n");
    assert_eq!(folder.output(&["eval", "c1 + c2", "o.csv"]), "[ 7 14]\n");
    folder.output(&["eval", "stack((k, k[::-1]), axis=1)", "s.csv", "-o", "o.csv"]);
    assert_eq!(folder.read("o.csv"), b"c0,c1\nb,b\na,a\nb,b\n");
    assert_eq!(folder.output(&["eval", "c0", "o.csv"]), "['b' 'a' 'b']\n");
    // No rows are a table too.
    for (program, expected) in
        [("x[x > 9]", "c0\n"), ("stack((x, y), axis=1)[:0]", "c0,c1\n"), ("z = x[x > 9]", "z\n")]
    {
        folder.output(&["eval", program, "s.csv", "-o", "o.csv"]);
        assert_eq!(String::from_utf8(folder.read("o.csv")).unwrap(), expected);
        let first = expected.trim().split(',').next().unwrap();
        assert_eq!(folder.output(&["eval", "x", &format!("x=o.csv:{first}")]), "[]\n");
    }
    // Years as the only names of columns would be a row.
    let years = "segment_sum(stack((v, v), axis=1), year)";
    let args = ["year=n.csv:year:text", "n.csv", "-o", "o.csv"];
    let message = refused(&folder, &[&[&*format!("{years}.T")], &args[..]].concat());
    says(&message, &["[\"2019\", \"2020\"], would be read as numbers", "write E.T"]);
    folder.output(&[&["eval", years], &args[..]].concat());
    assert_eq!(folder.read("o.csv"), b"year,c1,c2\n2019,5,5\n2020,2,2\n");
}

/// A text has the spaces that stand between its delimiters, quoted or not, as in RFC 4180 and pandas; a number has none.
#[test]
fn texts_keep_their_spaces() {
    let folder = Folder::new();
    folder.write("sp.csv", "k,v\n\" a\",1\na,2\n\"a \",3\n a,4\n");
    let groups = "k     result\n\" a\"       5\na          2\n\"a \"       3\n";
    assert_eq!(folder.output(&["eval", "segment_sum(v,k)", "sp.csv"]), groups);
    for (expression, expected) in [
        ("k", "[' a' 'a' 'a ' ' a']\n"),
        ("k == ' a'", "[ True False False  True]\n"),
        ("k == 'a'", "[False  True False False]\n"),
    ] {
        assert_eq!(folder.output(&["eval", expression, "sp.csv"]), expected);
    }
    for file in ["o.csv", "o.tsv", "o.csv"] {
        folder.output(&["eval", "k = k; v = v", "sp.csv", "-o", file]);
        assert_eq!(folder.output(&["eval", "k", file]), "[' a' 'a' 'a ' ' a']\n");
    }
    // Numbers, truth values, dates, missing cells and names of columns.
    folder
        .write("n.csv", "x , b,\"d \",gap, m\n 1, True ,\" 2024-05-31\", , -\n2 ,False,2024-06-01 , NA ,5\n");
    for (expression, expected) in
        [("where(b, x, -x)", "[ 1 -2]\n"), ("isnan(gap)", "[ True  True]\n"), ("m", "[nan  5.]\n")]
    {
        assert_eq!(folder.output(&["eval", expression, "n.csv", "--missing", "-"]), expected);
    }
    assert_eq!(folder.output(&["eval", "d", "d=n.csv:d:days"]), "[19874 19875]\n");
}

/// `where(c, a, 0)` takes `a` where the cell of `c` is missing, as NumPy does for nan.
#[test]
fn missing_truth_values_are_told() {
    let folder = Folder::new();
    folder.write("m.csv", "a,c,full,n\n1,True,True,1\n2,,False,\n3,False,True,0\n4,NA,True,1\n");
    let told = "m.csv: column \"c\", row 2 (line 3): a truth value is missing";
    for (expression, expected) in
        [("where(c,a,0)", "[1 2 0 4]\n"), ("sum(a,where=c)", "7\n"), ("c", "[ 1. nan  0. nan]\n")]
    {
        let (printed, warned) = eval(&folder, &[expression, "m.csv"]);
        assert_eq!(printed, expected, "{expression}");
        says(&warned, &[told, "nan counts as true", "write `c == 1`"]);
        assert_eq!(warned.matches("warning: ").count(), 1, "{warned}");
    }
    let (printed, warned) = eval(&folder, &["where(c == 1, a, 0)", "m.csv"]);
    assert_eq!(printed, "[1 0 0 0]\n");
    says(&warned, &[told]);
    says(&eval(&folder, &["x.sum()", "x=m.csv:a,c"]).1, &[told]);
    says(&folder.run(&["check", "c", "m.csv"]).stderr, &[told]);
    // Whole columns, those that are not used, and numbers.
    for expression in ["where(full, a, 0)", "a", "where(n > 0, a, 0)"] {
        folder.output(&["eval", expression, "m.csv"]);
    }
}

/// Files without rows, and files that are no tables, say so whatever the program names.
#[test]
fn files_that_are_no_tables_are_told() {
    let folder = Folder::new();
    let wide = |text: &str| -> Vec<u8> { text.bytes().flat_map(|byte| [byte, 0]).collect() };
    let other = |text: &str| -> Vec<u8> { text.bytes().flat_map(|byte| [0, byte]).collect() };
    let cases: &[(&str, Vec<u8>, &[&str])] = &[
        ("x.csv", Vec::new(), &["x.csv: it is empty", "check whether the command that writes it failed"]),
        ("x.csv", b"\n\r\n\n".to_vec(), &["x.csv: it is empty"]),
        ("x.csv", b"\xef\xbb\xbf".to_vec(), &["x.csv: it is empty"]),
        ("x.csv", b"sep=;\n".to_vec(), &["x.csv: it is empty"]),
        ("x.tsv", Vec::new(), &["x.tsv: it is empty"]),
        ("x.csv", wide("a,b\n1,2\n"), &["it is text in UTF-16LE", "iconv -f UTF-16LE -t UTF-8 x.csv"]),
        ("x.csv", other("a,b\n1,2\n"), &["it is text in UTF-16BE", "iconv -f UTF-16BE -t UTF-8 x.csv"]),
        ("x.csv", b"a;b\n1;2\n".to_vec(), &["the same number of `;`", "--delimiter ';'", "--delimiter ','"]),
        ("x.csv", b"1;2\n3;4\n".to_vec(), &["the same number of `;`"]),
        ("x.csv", b"a\tb\n1\t2\n".to_vec(), &["the same number of a tab", "--delimiter '\\t'"]),
        ("x.csv", b"a|b|c\n1|2|3\n".to_vec(), &["the same number of `|`"]),
        ("x.tsv", b"a,b\n1,2\n".to_vec(), &["it has one column if a tab separates cells", "--delimiter ','"]),
        ("x.csv", b"\"a\";\"b\"\n1;2\n".to_vec(), &["if `;` separates cells", "--delimiter ';'"]),
        ("x.csv", b"PAR1\x15\x04\x15".to_vec(), &["it is a Parquet file", ".parquet"]),
        ("x.csv", b"\x1f\x8b\x08\0\0\0".to_vec(), &["compressed with gzip", "gzip -dc"]),
    ];
    for (file, bytes, expected) in cases {
        folder.write(file, bytes);
        for args in [&["a", file][..], &["a", &format!("a={file}")], &["a", &format!("a={file}:a")]] {
            says(&refused(&folder, args), expected);
        }
    }
    // What Excel writes and reads.
    for (text, delimiter) in [("sep=;\r\na;b\r\n1;2\r\n3;4\r\n", ""), ("\u{feff}sep=|\na|b\n1|2\n3|4\n", "|")]
    {
        folder.write("x.csv", text);
        let option = ["--delimiter", delimiter];
        let option = if delimiter.is_empty() { &[][..] } else { &option };
        assert_eq!(folder.output(&[&["eval", "a + b", "x.csv"], option].concat()), "[3 7]\n");
    }
    folder.write("x.csv", "sep=;\na;b\n1;2\n3;x\n");
    says(&refused(&folder, &["b", "b=x.csv:b"]), &["row 2 (line 4): \"x\" is not a number"]);
    folder.write("x.csv", "sep=;\na;b\n1;\"2\"3\n");
    says(&refused(&folder, &["b", "b=x.csv:b"]), &["opens in line 3 closes in line 3"]);
    // A name that other files begin with.
    folder.write("x.csv", "PAR1,b\n1,2\n");
    assert_eq!(folder.output(&["eval", "PAR1 + b", "x.csv"]), "[3]\n");
    // One column of texts with these characters.
    for text in ["x\na;b\n", "\"a;b\"\n\"c;d\"\n", "a;b\nc\n"] {
        folder.write("x.csv", text);
        assert_eq!(folder.run(&["eval", "x[0, 0]", "x=x.csv"]).code, Some(1));
        says(&folder.run(&["eval", "x", "x=x.csv"]).stderr, &["is text, which cannot be part of a matrix"]);
    }
    folder.write("x.csv", "a;b\nc;d\n");
    assert_eq!(folder.output(&["eval", "x", "x=x.csv:a;b", "--delimiter", ","]), "['c;d']\n");
}

/// `check` says of a column without values that it has none.
#[test]
fn columns_without_values_are_told() {
    let folder = Folder::new();
    folder.write("x.csv", "a,b,c,d\n,1,-,\nNA,2,-,5\n");
    let printed = folder.output(&["check", "p = a; q = b; r = c; s = d", "x.csv", "--missing", "-"]);
    for line in [
        "# a = x.csv:a: no values, as f64",
        "# b = x.csv:b: integers",
        "# c = x.csv:c: no values, as f64",
        "# d = x.csv:d: integers, some of them missing, as f64",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
    }
    says(&folder.output(&["check", "x", "x=x.csv:a,b"]), &["# x[:, 0] = x.csv:a: no values, as f64"]);
    folder.write("t.csv", "s,t\n2024-05-31,\n,NaT\n");
    let dates = folder.output(&["check", "p = s; q = t", "s=t.csv:s:seconds", "t=t.csv:t:days"]);
    for line in [
        "# s = t.csv:s: dates, as seconds since 1970-01-01, some of them missing, as f64",
        "# t = t.csv:t: no values, as f64",
    ] {
        assert!(dates.lines().any(|printed| printed == line), "{line}\n{dates}");
    }
    folder.write("x.csv", "a,b\n");
    says(&folder.output(&["check", "a", "x.csv"]), &["# a = x.csv:a: no values, as i64"]);
}

/// Forms of ISO 8601; the seconds are from `date -u -d .. +%s`.
#[test]
fn dates_of_iso_8601_are_read_where_dates_are_asked_for() {
    let folder = Folder::new();
    for (cell, seconds) in [
        ("20240531", "1717113600"),
        ("20240531T123000Z", "1717158600"),
        ("20240531T123000", "1717158600"),
        ("2024-05-31T12", "1717156800"),
        ("20240531T12+02", "1717149600"),
        ("2024-05-31T24:00:00", "1717200000"),
        ("2024-05-31T24:00:00+02:00", "1717192800"),
        ("NaT", "nan"),
    ] {
        folder.write("t.csv", format!("t,v\n{cell},1\n"));
        assert_eq!(folder.output(&["eval", "t[0]", "t=t.csv:t:seconds"]), format!("{seconds}\n"), "{cell}");
    }
    folder.write("t.csv", "t,v\n20240531,1\nNaT,2\n20240601,3\n");
    assert_eq!(folder.output(&["eval", "t", "t=t.csv:t:days"]), "[19874.    nan 19875.]\n");
    // Without the suffix, digits are a number, and NaT is a text.
    folder.write("t.csv", "t,v\n20240531,1\n20240601,2\n");
    assert_eq!(folder.output(&["eval", "t[1] - t[0]", "t.csv"]), "70\n");
    folder.write("t.csv", "t\n2016-12-31T23:59:59Z\n2016-12-31T23:59:60Z\n");
    let message = refused(&folder, &["t", "t=t.csv:t:seconds"]);
    says(
        &message,
        &["row 2 (line 3): \"2016-12-31T23:59:60Z\" is a leap second", "59, or the next midnight"],
    );
    folder.write("t.csv", "t\n2016-12-31T12:30:60Z\n");
    says(&refused(&folder, &["t", "t=t.csv:t:days"]), &["is not a date such as 2024-05-31"]);
}
