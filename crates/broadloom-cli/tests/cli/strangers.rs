//! Tables as strangers write them: each is read as it is meant, or refused with the cell that is in doubt.

use crate::{Folder, refused, says};

#[test]
fn stray_quotation_marks_swallow_no_rows() {
    let folder = Folder::new();
    folder.write("stray.tsv", "id\tname\n1\t\"Foo\n2\tBar\n3\t\"Baz\n4\tQux\n");
    folder.write("whole.tsv", "id\tname\n1\t\"Foo\n2\tBar\n3\tBaz\"\n4\tQux\n");
    folder.write("open.csv", "id,name\n1,\"Foo\n2,Bar\n");
    folder.write("behind.csv", "id,name\n1,\"Foo\" x\n2,Bar\n");
    for (file, expected) in [
        ("stray.tsv", "opens in line 2 closes in line 4, where text follows it"),
        ("whole.tsv", "opens in line 2 closes in line 4, so these rows would be one cell"),
        ("open.csv", "the quotation mark in line 2 is never closed"),
        ("behind.csv", "opens in line 2 closes in line 2, where text follows it"),
    ] {
        says(&refused(&folder, &["id", file]), &[file, expected, "double it"]);
    }
    // Marks inside cells, and texts over lines.
    folder.write("inch.tsv", "id\tname\n1\t5\" long\n2\t\"two\nlines\"\n3\t\"a\tb\"\n");
    assert_eq!(folder.output(&["eval", "id", "inch.tsv"]), "[1 2 3]\n");
    folder.write("lines.csv", "id,name\n1,\"two\nlines, and \"\"more\"\"\"\n2,b\n");
    assert_eq!(folder.output(&["eval", "id", "lines.csv"]), "[1 2]\n");
    // The mark of UTF-8 before a quoted name.
    folder.write("mark.csv", "\u{feff}\"id\",\"x\"\n1,2\n");
    assert_eq!(folder.output(&["eval", "id + x", "mark.csv"]), "[3]\n");
}

#[test]
fn columns_may_have_names_of_dtypes() {
    let folder = Folder::new();
    folder.write("t.csv", "u8,f16,int,x\n1,2.5,a,4\n2,3.5,b,5\n");
    for (expression, expected) in [
        ("u8 + f16", "[3.5 5.5]\n"),
        ("(x * 64).astype(u8)", "[ 0 64]\n"),
        ("u8.astype(u8) * 100", "[100 200]\n"),
        ("int == \"b\"", "[False  True]\n"),
    ] {
        assert_eq!(folder.output(&["eval", expression, "t.csv"]), expected, "{expression}");
    }
    assert_eq!(folder.output(&["eval", "u8 * 2", "u8=t.csv:u8"]), "[2 4]\n");
    // Texts in double quotes, whatever else has that name.
    folder.write("k.csv", "k\nint\ne\n");
    assert_eq!(folder.output(&["eval", "k == \"int\"", "k.csv"]), "[ True False]\n");
    assert_eq!(folder.output(&["eval", "k == \"e\"", "k.csv"]), "[False  True]\n");
}

/// Some terabytes, which no machine has.
#[test]
fn memory_is_known_before_a_run() {
    let message = refused(&Folder::new(), &["median(sin(arange(274877906944)))"]);
    says(
        &message,
        &["the run needs 8 B for results", "TiB for temporaries", "this machine has", "broadloom explain"],
    );
}

#[test]
fn zeros_keep_their_sign_among_floats() {
    let folder = Folder::new();
    folder.write("z.csv", "x,n,g\n-0,-0,-0\n1.5,2,\n");
    // 1 / -0.0, by IEEE 754.
    assert_eq!(folder.output(&["eval", "1 / x", "z.csv"]), "[      -inf 0.66666667]\n");
    assert_eq!(folder.output(&["eval", "1 / g", "z.csv"]), "[-inf  nan]\n");
    assert_eq!(folder.output(&["eval", "1 / m[0]", "m=z.csv:x,n"]), "[-inf -inf]\n");
    assert_eq!(folder.output(&["check", "n", "z.csv"]).lines().last(), Some("result: i64[2]"));
    assert_eq!(folder.output(&["eval", "1 / x", "x=f64:-0"]), "-inf\n");
}

#[test]
fn one_instant_is_one_day() {
    let folder = Folder::new();
    folder.write(
        "t.csv",
        "t\n2024-05-31T23:30:00-05:00\n2024-06-01T04:30:00Z\n2024-06-01T06:30:00+02\n2024-06-01 06:30:00 +0200\n",
    );
    // From `date -u -d 2024-06-01T04:30:00Z +%s`, and its whole days.
    assert_eq!(
        folder.output(&["eval", "t", "t=t.csv:t:seconds"]),
        format!("[{}]\n", ["1717216200"; 4].join(" "))
    );
    assert_eq!(folder.output(&["eval", "t", "t=t.csv:t:days"]), format!("[{}]\n", ["19875"; 4].join(" ")));
    folder.write("d.csv", "t\n2024-05-31\n31.05.2024\n");
    let message = refused(&folder, &["t", "t=d.csv:t:days"]);
    says(&message, &["row 2 (line 3): \"31.05.2024\" is not a date"]);
    assert!(!message.contains("--missing"), "{message}");
}

#[test]
fn numbers_for_people_are_told_from_texts() {
    let folder = Folder::new();
    folder.write("de.csv", "x;y\n3,14;1\n2,5;2\n1.234,5;3\n");
    folder.write("plain.csv", "x;y\n3,14;1\n2,5;2\n1;3\n");
    folder.write("en.csv", "x,y\n\"1,234\",1\n\"5,678,901\",2\n7,3\n");
    folder.write("percent.csv", "x\n5%\n7.5%\n");
    folder.write("money.csv", "x\n$5.10\n$3\n");
    let german = ["--delimiter", ";", "--decimal", ",", "--thousands", "."];
    assert_eq!(
        folder.output(&[&["eval", "x", "de.csv"], &german[..]].concat()),
        "[   3.14    2.5  1234.5 ]\n"
    );
    assert_eq!(
        folder.output(&["eval", "x", "plain.csv", "--delimiter", ";", "--decimal", ","]),
        "[3.14 2.5  1.  ]\n"
    );
    assert_eq!(folder.output(&["eval", "x", "en.csv", "--thousands", ","]), "[   1234 5678901       7]\n");
    for (args, expected) in [
        (
            &["x", "plain.csv", "--delimiter", ";"][..],
            &["row 1 (line 2): \"3,14\" has a comma", "--decimal ','", "x=plain.csv:x:text"][..],
        ),
        (
            &["x", "de.csv", "--delimiter", ";", "--decimal", ","],
            &["\"1.234,5\" has a comma", "--decimal ',' --thousands '.'"],
        ),
        (&["x", "x=plain.csv", "--delimiter", ";"], &["\"3,14\" has a comma"]),
        (&["x", "en.csv"], &["\"1,234\" has a comma", "--decimal ','", "--thousands ','"]),
        (&["x", "percent.csv"], &["\"5%\" has a percent sign", "x=percent.csv:x:text"]),
        (&["x", "money.csv"], &["\"$5.10\" has a currency sign"]),
        (&["x", "plain.csv", "--decimal", ",", "--thousands", ","], &["cannot separate both"]),
        (&["x", "plain.csv", "--decimal", "x"], &["expected a point or a comma"]),
    ] {
        let message = refused(&folder, args);
        says(&message, expected);
        assert!(!message.contains("--missing '"), "{message}");
    }
    // As texts, where that is said.
    assert_eq!(folder.output(&["eval", "x", "x=percent.csv:x:text"]), "['5%' '7.5%']\n");
}

#[test]
fn truth_values_are_bool_whatever_they_are() {
    let folder = Folder::new();
    folder.write(
        "t.csv",
        "flag,v,both,gap,low\nTrue,1,True,True,true\nTrue,2,False,,false\nTrue,3,True,False,true\n",
    );
    let eval = |expression: &str| folder.output(&["eval", expression, "t.csv"]);
    assert_eq!(eval("flag.astype(i64).sum()"), "3\n");
    assert_eq!(eval("flag"), "[ True  True  True]\n");
    assert_eq!(eval("where(flag, v, 0)"), "[1 2 3]\n");
    assert_eq!(eval("where(flag.astype(bool), v, 0)"), "[1 2 3]\n");
    assert_eq!(eval("where(both & ~low, v, 0).sum() + v.sum(where=both)"), "4\n");
    assert_eq!(folder.run(&["eval", "gap", "t.csv"]).stdout, "[ 1. nan  0.]\n");
    assert_eq!(folder.output(&["eval", "x.sum(axis=0)", "x=t.csv:flag,v,low"]), "[3. 6. 2.]\n");
    assert_eq!(eval("v[flag]"), "[1 2 3]\n");
    folder.write("mixed.csv", "x\nTrue\n2\n");
    let message = refused(&folder, &["x", "mixed.csv"]);
    says(&message, &["\"True\" is not a number", "\"2\" in row 2 (line 3) is one"]);
    assert!(!message.contains("--missing '"), "{message}");
    // Texts among them make all of them texts.
    folder.write("maybe.csv", "x\nTrue\nmaybe\n");
    assert_eq!(folder.output(&["eval", "x == 'True'", "maybe.csv"]), "[ True False]\n");
}

#[test]
fn the_cell_that_makes_a_column_numeric_is_named() {
    let folder = Folder::new();
    folder.write("a.csv", "iata,x\n00M,1\n0E0,2\n52E,3\n");
    let message = refused(&folder, &["iata", "a.csv"]);
    says(
        &message,
        &[
            "row 1 (line 2): \"00M\" is not a number",
            "\"0E0\" in row 2 (line 3) is one",
            "iata=a.csv:iata:text",
        ],
    );
    assert!(!message.contains("--missing '"), "{message}");
    assert_eq!(folder.output(&["eval", "iata", "iata=a.csv:iata:text"]), "['00M' '0E0' '52E']\n");
    // The other columns of the file by their own names.
    folder.write("f.csv", "origin\n52E\n00M\n");
    let joined = "x[argmax(origin[:, None] == iata, axis=1)]";
    assert_eq!(folder.output(&["eval", joined, "iata=a.csv:iata:text", "a.csv", "f.csv"]), "[3 1]\n");
}

#[test]
fn integers_that_f64_rounds_are_told() {
    let folder = Folder::new();
    folder.write("ids.csv", "id,x,huge\n9007199254740993,1,18446744073709551615\n,2,3\n");
    let done = folder.run(&["eval", "id", "ids.csv"]);
    assert_eq!(done.code, Some(0));
    says(
        &done.stderr,
        &["column \"id\", row 1 (line 2): 9007199254740993 is rounded to f64", "ids.csv:id:text"],
    );
    says(&folder.run(&["eval", "huge", "ids.csv"]).stderr, &["18446744073709551615 is rounded"]);
    folder.write("exact.csv", "id,x\n9007199254740993,1\n1,2\n");
    assert_eq!(folder.output(&["eval", "id[0]", "exact.csv"]), "9007199254740993\n");
    says(&folder.run(&["eval", "x", "x=exact.csv"]).stderr, &["9007199254740993 is rounded to f64"]);
}

/// Identifiers such as 007 look like integers: what they lose is told, and `:text` keeps it.
#[test]
fn zeros_before_integers_are_told() {
    let folder = Folder::new();
    for (cells, expected, told) in [
        ("007\n10", "[ 7 10]\n", Some("row 1 (line 2): 007 is read without its leading zeros")),
        ("10\n-01\n02", "[10 -1  2]\n", Some("row 2 (line 3): -01 is read without")),
        ("1.5\n00", "[1.5 0. ]\n", Some("row 2 (line 3): 00 is read without")),
        ("NA\n02134", "[  nan 2134.]\n", Some("row 2 (line 3): 02134 is read without")),
        ("0\n-0\n10", "[ 0  0 10]\n", None),
        ("0.5\n00.5\n0e3", "[0.5 0.5 0. ]\n", None),
    ] {
        folder.write("x.csv", format!("x\n{cells}\n"));
        let first = folder.run(&["eval", "x", "x.csv"]);
        assert_eq!(first.stdout, expected, "{cells}");
        let whole = folder.run(&["eval", "m", "m=x.csv"]);
        for (done, name) in [(first, "x"), (whole, "m")] {
            match told {
                Some(told) => says(&done.stderr, &[told, &format!("'{name}=x.csv:x:text'")]),
                None => assert_eq!(done.stderr, "", "{cells}"),
            }
        }
    }
    folder.write("x.csv", "x\n007\n7\n");
    assert_eq!(folder.output(&["eval", "x == \"007\"", "x=x.csv:x:text"]), "[ True False]\n");
    folder.output(&["eval", "x=x", "x=x.csv:x:text", "-o", "y.csv"]);
    assert_eq!(folder.read("y.csv"), b"x\n007\n7\n");
}

/// Numbers beyond the range of f64, but not those that are written as infinite or zero.
#[test]
fn numbers_beyond_f64_are_told() {
    let folder = Folder::new();
    for (cells, expected, told) in [
        ("1e400\n1", "[inf  1.]\n", Some("row 1 (line 2): 1e400 is too large for f64: it is inf")),
        ("1\n-1e400", "[  1. -inf]\n", Some("row 2 (line 3): -1e400 is too large for f64: it is inf")),
        ("1e-400\n1", "[0. 1.]\n", Some("row 1 (line 2): 1e-400 is too small for f64: it is 0")),
        ("inf\n-Infinity", "[ inf -inf]\n", None),
        ("0e5\n0.000", "[0. 0.]\n", None),
        ("1.7976931348623157e308\n5e-324", "[1.79769313e+308 4.94065646e-324]\n", None),
    ] {
        folder.write("x.csv", format!("x\n{cells}\n"));
        let done = folder.run(&["eval", "x", "x.csv"]);
        assert_eq!(done.stdout, expected, "{cells}");
        match told {
            Some(told) => says(&done.stderr, &[told]),
            None => assert_eq!(done.stderr, "", "{cells}"),
        }
    }
}

/// Lines are counted as editors count them, whatever ends them.
#[test]
fn the_line_of_a_cell_is_named() {
    let folder = Folder::new();
    for (text, told) in [
        ("a,b\n1,2\n3,x\n", ["row 2 (line 3)", "row 1 (line 2)"]),
        ("a,b\r\n1,2\r\n3,x\r\n", ["row 2 (line 3)", "row 1 (line 2)"]),
        ("a,b\r1,2\r3,x\r", ["row 2 (line 3)", "row 1 (line 2)"]),
        ("a,b\n\n1,2\n\n\n3,x\n", ["row 2 (line 6)", "row 1 (line 3)"]),
        ("a,b\r\n1,2\r\n\r\n3,x", ["row 2 (line 4)", "row 1 (line 2)"]),
        ("a,b\n\"1\",2\n\"3\n\n\",5\n4,x\n", ["row 3 (line 6)", "row 1 (line 2)"]),
        ("\u{feff}a,b\n1,2\n3,x\n", ["row 2 (line 3)", "row 1 (line 2)"]),
    ] {
        folder.write("x.csv", text);
        says(&refused(&folder, &["b", "b=x.csv:b"]), &told);
    }
    folder.write("x.csv", "a,b\r\n1,2\r\n\r\n3\r\n");
    says(&refused(&folder, &["b", "b=x.csv:b"]), &["line 4 has 1 cell, but the first has 2"]);
}

/// Files that are no text in UTF-8, and files without anything.
#[test]
fn other_encodings_are_told() {
    let folder = Folder::new();
    for (bytes, part, told) in [
        (&b"\xff\xfex\0\n\x001\0\n\0"[..], "x", ["it is text in UTF-16", "iconv -f UTF-16 -t UTF-8 x.csv"]),
        (b"\xfe\xff\0x\0\n\x001\0\n", "x", ["it is text in UTF-16", "iconv -f UTF-16 -t UTF-8 x.csv"]),
        (b"x\n1\n\xe9\n", "x", ["row 2 (line 3): \"\u{fffd}\" is not valid UTF-8", "iconv -f LATIN1"]),
        (
            b"x\n\xe9t\xe9\n",
            "x",
            ["row 1 (line 2): \"\u{fffd}t\u{fffd}\" is not valid UTF-8", "iconv -f LATIN1"],
        ),
        (
            b"x\n2024-01-01\n\xe9\n",
            "x:days",
            ["row 2 (line 3): \"\u{fffd}\" is not valid", "iconv -f LATIN1"],
        ),
        (b"", "x", ["x.csv: it is empty", "check whether the command that writes it failed"]),
    ] {
        folder.write("x.csv", bytes);
        let message = refused(&folder, &["x", &format!("x=x.csv:{part}")]);
        says(&message, &told);
        assert!(!message.contains("--missing") && !message.contains(":text"), "{message}");
    }
}

/// In a table of one column, a cell without anything is an empty line, which is not a row.
#[test]
fn empty_lines_of_one_column_are_told() {
    let folder = Folder::new();
    for (text, expected, line) in [
        ("x\n1\n\n2\n", "[1 2]\n", Some(3)),
        ("x\r\n1\r\n2\r\n\r\n\r\n3\r\n\r\n", "[1 2 3]\n", Some(4)),
        ("\nx\n1\n2\n\n\n", "[1 2]\n", Some(5)),
        ("x\n1\n2\n\n", "[1 2]\n", Some(4)),
        ("x\n\n\n", "[]\n", Some(2)),
        ("x\r1\r2\r\r3\r", "[1 2 3]\n", Some(4)),
        ("x\r\n1\r\n2\r\n\r\n", "[1 2]\n", Some(4)),
        ("x\n1\n2", "[1 2]\n", None),
        ("\n\nx\r\n1\r\n", "[1]\n", None),
        ("x\n\"1\"\n\n2\n", "[1 2]\n", Some(3)),
        ("x\n\"a\n\nb\"\n\n", "['a\\n\\nb']\n", Some(5)),
        ("x\n\"a\n\n\"\"b\"\nc\n", "['a\\n\\n\"b' 'c']\n", None),
        ("x\n1\nNA\n", "[ 1. nan]\n", None),
        ("x\n\"\"\n1\n", "[nan  1.]\n", None),
        ("x,y\n1,2\n\n3,4\n", "[1 3]\n", None),
    ] {
        folder.write("x.csv", text);
        let done = folder.run(&["eval", "x", "x=x.csv:x"]);
        assert_eq!(done.stdout, expected, "{text:?}");
        match line {
            Some(line) => {
                says(&done.stderr, &[&format!("x.csv: line {line} is empty, and not a row"), "write NA"]);
            }
            None => assert_eq!(done.stderr, "", "{text:?}"),
        }
    }
}

/// The index that pandas and R write first has no name.
#[test]
fn an_index_without_a_name_is_not_data() {
    let folder = Folder::new();
    folder.write("p.csv", ",a,b\n7,1,2\n9,3,4\n");
    let done = folder.run(&["eval", "x", "x=p.csv"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "[[1. 2.]\n [3. 4.]]\n"), "{}", done.stderr);
    assert_eq!(done.stderr.matches("without the index of the rows").count(), 1, "{}", done.stderr);
    assert_eq!(folder.output(&["eval", "x", "x=p.csv:*"]), "[[1. 2.]\n [3. 4.]]\n");
}

#[test]
fn texts_are_compared_as_texts() {
    let folder = Folder::new();
    folder.write("k.csv", "k,v,c\nb,10,1\na,20,0\nb,30,1\n");
    folder.write("k2.csv", "k2,w\nc,1\nb,2\na,3\n");
    let eval = |expression: &str| folder.output(&["eval", expression, "k.csv", "k2.csv"]);
    assert_eq!(
        eval("k[:, None] == k2"),
        "[[False  True False]\n [False False  True]\n [False  True False]]\n"
    );
    assert_eq!(eval("w[argmax(k[:, None] == k2, axis=1)]"), "[2 3 2]\n");
    assert_eq!(eval("concat((k, k2))"), "['b' 'a' 'b' 'c' 'b' 'a']\n");
    assert_eq!(eval("where(c == 1, k, k2)"), "['b' 'b' 'b']\n");
    assert_eq!(eval("k != k2"), "[ True  True  True]\n");
    // A text that only the other column has.
    assert_eq!(eval("(k == 'c') | (k == k2)"), "[False False False]\n");
    assert_eq!(eval("sort(concat((k, k2)))[::-1]"), "['c' 'b' 'b' 'b' 'a' 'a']\n");
    assert_eq!(eval("stack((k, k2), axis=1)"), "[['b' 'c']\n ['a' 'b']\n ['b' 'a']]\n");
    assert_eq!(eval("tile(k, 2)[1:4].reshape(3, 1)"), "[['a']\n ['b']\n ['b']]\n");
    // Columns that do not meet keep their own groups; those that meet share them.
    assert_eq!(eval("segment_sum(v, k)"), "k  result\na      20\nb      40\n");
    assert_eq!(eval("segment_sum(v * (k == k2), k)"), "k  result\na       0\nb       0\nc       0\n");
    // Codes are numbers where that is said.
    assert_eq!(eval("segment_sum(v, k)[k.astype(i64)]"), "[40 20 40]\n");
    assert_eq!(eval("i64(k) + 1"), "[2 1 2]\n");
    for expression in [
        "v[k]",
        "v[k[:, None]]",
        "take(v, k[::-1])",
        "k[:, None] * 2",
        "k.T + v",
        "k[1:].sum()",
        "flip(k) @ v",
        "sqrt(concat((k, k2)))",
        "where(c == 1, k, v)",
        "where(c == 1, k, 0)",
        "concat((k, v))",
        "concat((k, v * 1.5))",
        "k == 1",
        "k[:, None] == arange(2)",
        "v == k",
        "k < k2",
        "k.reshape(3, 1) < 1",
        "maximum(k, k2)",
        "max(roll(k, 1))",
        "cumsum(k[::2])",
        "any(k)",
        "count_nonzero(k)",
        "argmax(k)",
        "segment_sum(k, k2)",
        "searchsorted(v, k)",
        "isin(v, k)",
        "-k[None]",
        "+k",
        "clip(k, 0, 1)",
        "pad(k, 1)",
        "interp(k, v, v)",
        "k.astype(i64)[k]",
        "histogram(k, 2)[0]",
        "bincount(k, minlength=3)",
        "einsum('i,i->', k, v)",
        "x = k; y = x * 2",
        "let x = k[:, None]; let y = x; sum(y)",
    ] {
        let message = refused(&folder, &[expression, "k.csv", "k2.csv"]);
        says(&message, &["a column of text"]);
    }
    // In chunks, too.
    folder.write("k3.csv", "k3,u\nc,1\nb,2\na,3\nd,4\n");
    let pairs = "sum(k[:, None] == k3)";
    assert_eq!(folder.output(&["eval", pairs, "k.csv", "k3.csv", "--chunk", "2"]), "3\n");
    // A declaration of numbers takes no text.
    folder.write("p.bl", "input k: i64[n]\noutput y = k + 1\n");
    says(&refused(&folder, &["-f", "p.bl", "k.csv"]), &["declares \"k\" as numbers, but its data are text"]);
}

#[test]
fn texts_are_written_as_texts() {
    let folder = Folder::new();
    folder.write("w.csv", "weather,t\nrain,1\n\"sun, dry\",2\nrain,3\n");
    for format in ["csv", "tsv"] {
        let file = format!("o.{format}");
        folder.output(&["eval", "weather", "weather=w.csv:weather", "-o", &file]);
        assert_eq!(folder.output(&["eval", "result", &file]), "['rain' 'sun, dry' 'rain']\n");
    }
    folder.output(&["eval", "weather = weather; twice = t * 2", "w.csv", "-o", "o.csv"]);
    assert_eq!(folder.read("o.csv"), b"weather,twice\nrain,2\n\"sun, dry\",4\nrain,6\n");
    folder.output(&["eval", "weather = weather; twice = t * 2", "w.csv", "-o", "o.csv", "--chunk", "1"]);
    assert_eq!(folder.read("o.csv"), b"weather,twice\nrain,2\n\"sun, dry\",4\nrain,6\n");
    assert_eq!(folder.output(&["eval", "weather[1]", "w.csv"]), "sun, dry\n");
    for file in ["o.npy", "o.npz", "o.bin"] {
        let message = refused(&folder, &["weather", "w.csv", "-o", file]);
        says(&message, &["is text, which o.", "E.astype(i64)"]);
    }
    folder.output(&["eval", "weather.astype(i64)", "w.csv", "-o", "o.npy"]);
    assert_eq!(folder.output(&["eval", "x", "x=o.npy"]), "[0 1 0]\n");
}

#[test]
fn check_says_how_each_column_is_read() {
    let folder = Folder::new();
    folder
        .write("t.csv", "n,x,flag,city,day,gap\n1,1.5,True,Oslo,2024-05-31,\n2,2,False,Lima,2024-06-01,3\n");
    let program = "a = n + x; b = flag; c = city; d = gap; e = day";
    let printed = folder.output(&["check", program, "t.csv", "day=t.csv:day:days"]);
    for line in [
        "# n = t.csv:n: integers",
        "# x = t.csv:x: numbers",
        "# flag = t.csv:flag: truth values",
        "# city = t.csv:city: text, 2 different",
        "# gap = t.csv:gap: integers, some of them missing, as f64",
        "# day = t.csv:day: dates, as days since 1970-01-01",
        "# the elements of c are positions of texts",
        "c: i64[2]",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
    }
    let matrix = folder.output(&["check", "x", "x=t.csv:n,flag"]);
    assert_eq!(
        matrix,
        "# x[:, 0] = t.csv:n: integers\n# x[:, 1] = t.csv:flag: truth values\nresult: f64[2, 2]\n"
    );
}

/// Programs whose shapes are right, and which are wrong.
#[test]
fn what_is_nearly_always_wrong_is_told() {
    let folder = Folder::new();
    folder.write("p.csv", "a,b\n1,2\n3,4\n");
    let cases: &[(&[&str], &str, &str)] = &[
        (
            &["let u = x.astype(u8); ((u[None] - u[:, None])**2).sum(-1)", "x=p.csv"],
            "L003",
            "wraps beyond 255",
        ),
        (&["x - x.mean(axis=1)", "x=p.csv"], "L004", "x.mean(axis=1, keepdims=True)"),
        (&["x / x.std(axis=1)", "x=p.csv"], "L004", "axis 0"),
        (&["((p - t)**2).mean()", "p=p.csv:a,", "t=p.csv:b"], "L001", "[2, 2]"),
        (&["(x[:, 0].astype(u8) - x[:, 1].astype(u8))**2", "x=p.csv"], "L003", "wraps beyond 255"),
        (&["let d = x.astype(u8) - 1; d * d", "x=p.csv"], "L003", "to i32"),
        (&["abs(x.astype(u16) - 1)", "x=p.csv"], "L003", "wraps below 0"),
    ];
    for (args, code, says) in cases {
        let done = folder.run(&[&["eval"], *args].concat());
        assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
        assert!(done.stderr.contains(&format!("warning[{code}]")), "{args:?}: {}", done.stderr);
        assert!(done.stderr.contains(says), "{args:?}: {}", done.stderr);
        let strict = folder.run(&[&["check", "--strict"], *args].concat());
        assert!(strict.code == Some(2) && strict.stderr.contains(code), "{args:?}: {}", strict.stderr);
    }
    // What is meant.
    for expression in [
        "x - x.mean(axis=0)",
        "x - x.mean(axis=1, keepdims=True)",
        "x - x.mean(axis=1)[:, None]",
        "let v = x[:, 0]; v[:, None] - v",
        "(x.astype(u8).astype(i32) - 1)**2",
        "abs(x - 1)**2",
        "x - x.mean(axis=1).mean()",
    ] {
        folder.output(&["eval", expression, "x=p.csv"]);
    }
}
