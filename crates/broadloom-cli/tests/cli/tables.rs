//! Tables: columns by lists and patterns, text, dates, missing cells, groups by name.

use crate::{Folder, npy};

const PEOPLE: &str = "\
city,height,weight,born,temp_1,temp_2
Oslo,1.62,55,1992-03-01,1,2.5
Lima,1.75,80,1970-01-02,3,4.5
Oslo,1.81,77,2000-02-29,5,6.5
Bonn,1.58,61,1969-12-31,7,8.5
Lima,1.70,66,1999-12-31,9,10.5
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("t.csv", PEOPLE);
    folder.write("bad.csv", "a,b\n1,2\n3,80kg\n5,n/a\n");
    folder
}

#[test]
fn columns_are_chosen_by_lists_and_patterns() {
    let folder = folder();
    assert_eq!(
        folder.output(&["eval", "x[:2]", "x=t.csv:height,weight"]),
        "[[ 1.62 55.  ]\n [ 1.75 80.  ]]\n"
    );
    assert_eq!(folder.output(&["eval", "x[1]", "x=t.csv:temp_*"]), "[3.  4.5]\n");
    assert_eq!(folder.output(&["eval", "x[0]", "x=t.csv:weight,temp_*"]), "[55.   1.   2.5]\n");
    assert_eq!(
        folder.output(&["check", "x", "x=t.csv:weight,"]),
        "# x[:, 0] = t.csv:weight: integers\nresult: f64[5, 1]\n"
    );
    assert_eq!(
        folder.output(&["check", "x", "x=t.csv:weight"]),
        "# x = t.csv:weight: integers\nresult: i64[5]\n"
    );
    // A name that looks like a list or a pattern is a name.
    folder.write("odd.csv", "\"a,b\",a,b,a*\n1,2,3,4\n");
    assert_eq!(folder.output(&["eval", "concat([x, y])", "x=odd.csv:a,b", "y=odd.csv:a*"]), "[1 4]\n");
}

#[test]
fn a_table_with_text_gives_its_numbers() {
    let folder = folder();
    let done = folder.run(&["eval", "x[0]", "x=t.csv"]);
    assert_eq!(
        (done.code, done.stdout.as_str()),
        (Some(0), "[ 1.62 55.    1.    2.5 ]\n"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr.starts_with("warning: x contains only the numeric columns, without [\"city\", \"born\"]")
    );
    folder.write("n.csv", "a,b\n1,x\n2,y\n");
    let chunked = folder.output(&["eval", "a.sum()", "n.csv", "--chunk", "1"]);
    assert_eq!(chunked, "3\n");
}

#[test]
fn text_is_codes_with_names() {
    let folder = folder();
    assert_eq!(folder.output(&["eval", "x", "x=t.csv:city"]), "['Oslo' 'Lima' 'Oslo' 'Bonn' 'Lima']\n");
    // Bonn, Lima, Oslo.
    assert_eq!(folder.output(&["eval", "x.astype(i64)", "x=t.csv:city"]), "[2 1 2 0 1]\n");
    let chosen = folder.output(&["eval", "where(city == 'Lima', weight, 0)", "t.csv"]);
    assert_eq!(chosen, "[ 0 80  0  0 66]\n");
    for expression in
        ["sum(city == 'Oslo')", "sum('Oslo' == city)", "sum(city == \"Oslo\")", "5 - sum(city != 'Oslo')"]
    {
        assert_eq!(folder.output(&["eval", expression, "t.csv"]), "2\n", "{expression}");
    }
    // Codes are numbers where that is said, and a column is like itself.
    assert_eq!(folder.output(&["eval", "city.astype(i64).max()", "t.csv"]), "2\n");
    assert_eq!(folder.output(&["eval", "all(city == other)", "t.csv", "other=t.csv:city"]), "True\n");
    // A name in double quotes that there is comes first, and text is not compared with numbers.
    let done = folder.run(&["eval", "sum(city == \"Oslo\")", "t.csv", "Oslo=0"]);
    assert!(done.code == Some(2) && done.stderr.contains("found a column of text"), "{}", done.stderr);
    // Numbers as names.
    folder.write("y.csv", "year,x\n2020,1\n2019,2\n2020,3\n");
    let groups = folder.output(&["eval", "segment_sum(x, year)", "year=y.csv:year:text", "y.csv"]);
    assert_eq!(groups, "year  result\n2019       2\n2020       4\n");
    // Cells stand as they are, empty ones too.
    folder.write("e.csv", "k,x\nNA,1\n,2\nb,3\n");
    let groups = folder.output(&["eval", "segment_sum(x, k)", "e.csv"]);
    assert_eq!(groups, "k   result\n\"\"       2\nNA       1\nb        3\n");
}

#[test]
fn groups_print_with_their_names() {
    let folder = folder();
    let program = "mean = segment_mean(height, city); count = segment_count(city); heaviest = segment_max(weight, city)";
    let expected = "\
city   mean  count  heaviest
Bonn  1.58       1        61
Lima  1.725      2        80
Oslo  1.715      2        77
";
    assert_eq!(folder.output(&["eval", program, "t.csv"]), expected);
    for chunk in ["1", "3"] {
        assert_eq!(folder.output(&["eval", program, "t.csv", "--chunk", chunk]), expected);
    }
    let only = folder.output(&["eval", "round(segment_mean(height, city) - mean(height), 3)", "t.csv"]);
    assert_eq!(only, "city  result\nBonn  -0.112\nLima   0.033\nOslo   0.023\n");
    let mixed = folder.output(&["eval", "total = height.sum(); n = segment_count(city)", "t.csv"]);
    assert_eq!(mixed, "total = 8.459999999999999\nn =\ncity  n\nBonn  1\nLima  2\nOslo  2\n");
    folder.output(&["eval", program, "t.csv", "-o", "g.csv"]);
    let table = String::from_utf8(folder.read("g.csv")).unwrap();
    assert_eq!(table, "city,mean,count,heaviest\nBonn,1.58,1,61\nLima,1.725,2,80\nOslo,1.715,2,77\n");
    folder.output(&["eval", "segment_count(city)", "t.csv", "-o", "n.csv"]);
    assert_eq!(folder.read("n.csv"), b"city,result\nBonn,1\nLima,2\nOslo,2\n");
    // A matrix has rows and columns of names.
    folder.write("s.csv", "city,sex,x\nb,f,1\na,m,2\nb,m,3\na,f,4\nb,f,5\n");
    let matrix = "segment_sum(x[:, None] * (sex.astype(i64)[:, None] == arange(2)), city)";
    assert_eq!(folder.output(&["eval", matrix, "s.csv"]), "a  4  2\nb  6  3\n");
    let turned = "segment_sum(x[:, None] * (sex.astype(i64)[:, None] == arange(2)), city).T";
    assert_eq!(folder.output(&["eval", turned, "s.csv"]), "  a  b\n  4  6\n  2  3\n");
    folder.output(&["eval", turned, "s.csv", "-o", "turned.csv"]);
    assert_eq!(folder.read("turned.csv"), b"a,b\n4,6\n2,3\n");
    // One group beside several elements is not their name.
    folder.write("one.csv", "k,x\na,1\na,2\n");
    assert_eq!(folder.output(&["eval", "segment_sum(x, k) + arange(3)", "one.csv"]), "[3 4 5]\n");
    assert_eq!(folder.output(&["eval", "segment_sum(x, k) + 1", "one.csv"]), "k  result\na       4\n");
    // What moves elements along the axis has no names.
    for expression in
        ["segment_count(city)[::-1]", "topk(segment_count(city), 3)", "segment_count(city)[[2, 0, 1]]"]
    {
        let printed = folder.output(&["eval", expression, "t.csv"]);
        assert!(printed.starts_with('['), "{expression}: {printed}");
    }
    assert_eq!(folder.output(&["eval", "segment_count(city)[1:]", "t.csv"]), "[2 2]\n");
}

/// Two tables, whose texts are a, b and d, and b, d and z.
#[test]
fn groups_of_two_tables() {
    let folder = Folder::new();
    folder.write("ta.csv", "k,v,c\nb,1,True\nd,2,False\na,3,True\n");
    folder.write("tb.csv", "m,w\nd,10\nz,20\nb,30\n");
    let run = |program: &str| folder.run(&["eval", program, "ta.csv", "tb.csv"]);
    let sum = "segment_sum(v, k) + segment_sum(w, m)";
    let done = run(sum);
    assert_eq!(done.code, Some(2), "{}", done.stdout);
    for says in ["error[P008]: the groups of `k` meet the groups of `m`", "let both = isin(k, m)"] {
        assert!(done.stderr.contains(says), "{says}\n{}", done.stderr);
    }
    let done = run("segment_sum(v, k) + w");
    assert!(done.stderr.contains("the groups of `k` meet the rows of `w`"), "{}", done.stderr);
    // With one dictionary, the texts of both are the groups of both.
    let done = run(&format!("let both = isin(k, m); {sum}"));
    assert_eq!(done.stdout, "k  result\na       3\nb      31\nd      12\nz      20\n", "{}", done.stderr);
    // Parts of a column have its groups.
    let counts = run("segment_count(k[c])");
    assert_eq!(counts.stdout, "k  result\na       1\nb       1\nd       0\n", "{}", counts.stderr);
    assert_eq!(run("k[c]").stdout, "['b' 'a']\n");
    assert_eq!(run("sort(concat((k, m)))").stdout, "['a' 'b' 'b' 'd' 'd' 'z']\n");
    // More groups than texts have no names.
    let done = run("segment_sum(v, k, 5)");
    assert!(done.code == Some(2) && done.stderr.contains("leave out `segments`"), "{}", done.stderr);
    assert_eq!(run("segment_sum(v, k.astype(i64), 5)").stdout, "[3 1 2 0 0]\n");
}

#[test]
fn one_result_has_a_header_if_it_has_a_name() {
    let folder = Folder::new();
    folder.output(&["eval", "y = arange(2)", "-o", "y.csv"]);
    assert_eq!(folder.read("y.csv"), b"y\n0\n1\n");
    assert_eq!(folder.output(&["eval", "y", "y.csv"]), "[0 1]\n");
    folder.output(&["eval", "arange(2)", "-o", "y.csv"]);
    assert_eq!(folder.read("y.csv"), b"0\n1\n");
}

#[test]
fn dates_are_days_or_seconds() {
    let folder = folder();
    assert_eq!(folder.output(&["eval", "x", "x=t.csv:born:days"]), "[ 8095     1 11016    -1 10956]\n");
    assert_eq!(folder.output(&["eval", "x[1]", "x=t.csv:born:seconds"]), "86400\n");
    folder.write("when.csv", "at\n2024-05-31T12:30:00Z\n\n2024-05-31T12:30:00.5Z\n");
    folder.write("gap.csv", "at,x\n2024-05-31,1\nNA,2\n");
    assert_eq!(folder.run(&["eval", "x[1] - x[0]", "x=when.csv:at:seconds"]).stdout, "0.5\n");
    assert_eq!(folder.output(&["eval", "x", "x=gap.csv:at:days"]), "[19874.    nan]\n");
    let bad = folder.run(&["eval", "x", "x=t.csv:city:days"]);
    assert_eq!(bad.code, Some(1));
    assert!(bad.stderr.contains("column \"city\", row 1 (line 2): \"Oslo\" is not a date"), "{}", bad.stderr);
}

#[test]
fn missing_cells_may_be_named() {
    let folder = folder();
    folder.write("m.csv", "a,b\n1,-\nn/a,2\n3,4\n");
    assert_eq!(
        folder.output(&["eval", "x", "x=m.csv", "--missing", "n/a,-"]),
        "[[ 1. nan]\n [nan  2.]\n [ 3.  4.]]\n"
    );
    assert_eq!(folder.output(&["eval", "b", "bad.csv", "--missing", "80kg,n/a"]), "[ 2. nan nan]\n");
}

#[test]
fn what_is_wrong_with_a_table_is_told_with_its_place() {
    let folder = folder();
    folder.write("twice.csv", "a,a\n1,2\n");
    folder.write("text.csv", "a,b\nx,y\n");
    folder.write("v.npy", npy("'<i8'", false, "(3,)", &[0; 24]));
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["b", "bad.csv"],
            &[
                "column \"b\", row 2 (line 3): \"80kg\" is not a number",
                "\"2\" in row 1 (line 2) is one",
                "b=bad.csv:b:text",
            ],
        ),
        (&["x", "x=bad.csv"], &["row 2 (line 3)", "x=bad.csv:b:text"]),
        (
            &["x", "x=t.csv:hight"],
            &[
                "no column named \"hight\"",
                "did you mean \"height\"",
                "\"temp_2\"",
                "its text columns are [\"city\", \"born\"]",
            ],
        ),
        (&["x", "x=t.csv:wind_*"], &["no column named \"wind_*\"", "numeric columns are"]),
        (&["x", "x=t.csv:height,city"], &["column \"city\" is text", "x=t.csv:city"]),
        (&["x", "x=text.csv"], &["column \"a\" is text"]),
        (&["x", "x=twice.csv:a"], &["several columns named \"a\""]),
        (&["x", "x=t.csv:born:years"], &["cannot be read as \"years\"", ":days"]),
        (&["sum(city == 'Olso')", "t.csv"], &["unknown column value `Olso`", "did you mean 'Oslo'?"]),
        (&["sum(city == 'Quito')", "t.csv"], &["the column contains [\"Bonn\", \"Lima\", \"Oslo\"]"]),
        (&["sum(weight == 'Oslo')", "t.csv"], &["text is not a value"]),
        (&["city + 'x'", "t.csv"], &["expected numbers, found a column of text", "`city.astype(i64)`"]),
        (&["city * 2", "t.csv"], &["found a column of text"]),
        (&["-city", "t.csv"], &["found a column of text"]),
        (&["city < 1", "t.csv"], &["found a column of text"]),
        (&["np.sqrt(city)", "t.csv"], &["found a column of text"]),
        (&["city.mean()", "t.csv"], &["found a column of text"]),
        (&["nansum(city)", "t.csv"], &["found a column of text"]),
        (&["fabs(city)", "t.csv"], &["found a column of text"]),
        (&["diff(city)", "t.csv"], &["found a column of text"]),
        (&["height @ city", "t.csv"], &["found a column of text"]),
        (&["isclose(height, city)", "t.csv"], &["found a column of text"]),
        (&["\"hight\" * 2", "t.csv"], &["unknown name `hight`"]),
        (&["segment_sum(v, v)", "v=v.npy"], &["needs `segments`"]),
    ];
    for (args, expected) in cases {
        let done = folder.run(&[&["eval"], *args].concat());
        assert!(matches!(done.code, Some(1 | 2)), "{args:?}");
        assert_eq!(done.stdout, "", "{args:?}");
        for expected in *expected {
            assert!(done.stderr.contains(expected), "{args:?}: {expected}\n{}", done.stderr);
        }
    }
}

/// One table has one name for each row.
#[test]
fn columns_of_different_groups_are_tables_of_their_own() {
    let folder = Folder::new();
    folder.write("t.csv", "city,v\na,1\nb,2\na,5\n");
    folder.write("u.csv", "kind,w\nq,1\nr,2\nr,5\n");
    let program = "p = segment_sum(v, city); q = segment_sum(w, kind); s = segment_count(city)";
    let done = folder.run(&["eval", program, "t.csv", "u.csv", "-o", "o.csv"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{}", done.stderr);
    for says in [
        "\"p\" has rows for the groups of \"city\"",
        "\"q\" has rows for the groups of \"kind\"",
        "-o p=FILE.csv",
    ] {
        assert!(done.stderr.contains(says), "{}", done.stderr);
    }
    let done = folder.run(&["eval", "p = segment_sum(v, city); y = v * 2", "t.csv", "-o", "o.csv"]);
    assert!(done.stderr.contains("\"y\" has rows without names"), "{}", done.stderr);
    let done =
        folder.run(&["eval", program, "t.csv", "u.csv", "-o", "p=p.csv", "-o", "q=q.csv", "-o", "s=s.csv"]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert_eq!(folder.read("q.csv"), b"kind,q\nq,1\nr,7\n");
    assert_eq!(folder.read("s.csv"), b"city,s\na,2\nb,1\n");
}
