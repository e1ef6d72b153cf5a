//! `broadloom graph --broadcast`: figures that have the right cells, brackets and words, and fit on their page.

use roxmltree::{Document, Node};
use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_broadloom");
    let start = ["graph", "--broadcast", "--color", "never"];
    Command::new(program).args(start).args(args).output().expect("the program starts")
}

fn figure(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    String::from_utf8(output.stdout).expect("figures are UTF-8")
}

fn has(node: Node<'_, '_>, class: &str) -> bool {
    node.attribute("class").is_some_and(|classes| classes.split(' ').any(|one| one == class))
}

fn all<'a, 'd>(node: Node<'a, 'd>, class: &'static str) -> impl Iterator<Item = Node<'a, 'd>> {
    node.descendants().filter(move |child| has(*child, class))
}

fn texts(node: Node<'_, '_>) -> Vec<String> {
    let texts = node.descendants().filter(|child| child.has_tag_name("text"));
    texts
        .map(|text| text.descendants().filter(Node::is_text).filter_map(|part| part.text()).collect())
        .collect()
}

/// The faces of an array's cells, by kind.
#[derive(Debug, PartialEq, Eq)]
struct Faces {
    real: usize,
    ghost: usize,
    unmatched: usize,
    gap: usize,
    empty: usize,
}

/// Numbers of faces that are cells themselves, repeat one, or repeat none.
fn faces(real: usize, ghost: usize) -> Faces {
    Faces { real, ghost, unmatched: 0, gap: 0, empty: 0 }
}

/// Counts the faces of one side: `front`, `top` or `side`.
fn counted(array: Node<'_, '_>, side: &'static str) -> Faces {
    let mut counts = faces(0, 0);
    for face in all(array, side) {
        let kinds = ["gap", "empty", "unmatched", "ghost"];
        match kinds.into_iter().find(|kind| has(face, kind)) {
            Some("gap") => counts.gap += 1,
            Some("empty") => counts.empty += 1,
            Some("unmatched") => counts.unmatched += 1,
            Some(_) => counts.ghost += 1,
            None => counts.real += 1,
        }
    }
    counts
}

/// Calls a check with the arrays of the only figure: operands, and the result if there is one.
fn with_arrays(args: &[&str], check: impl Fn(Node<'_, '_>, &[Node<'_, '_>])) {
    let svg = figure(args);
    let document = Document::parse(&svg).expect("well-formed XML");
    let figures: Vec<Node<'_, '_>> = all(document.root_element(), "figure").collect();
    let [figure] = figures[..] else { panic!("{args:?} has {} figures", figures.len()) };
    let arrays: Vec<Node<'_, '_>> = all(figure, "array").collect();
    check(figure, &arrays);
}

#[track_caller]
fn assert_fronts(args: &[&str], expected: &[Faces]) {
    with_arrays(args, |_, arrays| {
        let found: Vec<Faces> = arrays.iter().map(|array| counted(*array, "front")).collect();
        assert_eq!(found, expected, "{args:?}");
    });
}

#[test]
fn repeated_cells_are_ghosts() {
    assert_fronts(&["a + b", "a:f64[4]", "b:f64[1]"], &[faces(4, 0), faces(1, 3), faces(4, 0)]);
    assert_fronts(&["a[:, None] + b", "a:f64[4]", "b:f64[3]"], &[faces(4, 8), faces(3, 9), faces(12, 0)]);
    assert_fronts(&["2.5 * x", "x:f64[3]"], &[faces(1, 2), faces(3, 0), faces(3, 0)]);
    assert_fronts(
        &["where(m, x, 0)", "m:bool[4, 1]", "x:f64[3]"],
        &[faces(4, 8), faces(3, 9), faces(1, 11), faces(12, 0)],
    );
    assert_fronts(&["broadcast_to(x, (4, 3))", "x:f64[3]"], &[faces(3, 9), faces(12, 0)]);
}

#[test]
fn three_axes_are_blocks_and_four_are_columns_of_blocks() {
    with_arrays(&["a * b", "a:f32[2, 1, 4]", "b:f32[3, 1]"], |_, arrays| {
        let sides = |array| ["front", "top", "side"].map(|side| counted(array, side));
        // Rows of the first repeat, and columns and blocks of the second.
        assert_eq!(sides(arrays[0]), [faces(4, 8), faces(8, 0), faces(2, 4)]);
        assert_eq!(sides(arrays[1]), [faces(3, 9), faces(1, 7), faces(0, 6)]);
        assert_eq!(sides(arrays[2]), [faces(12, 0), faces(8, 0), faces(6, 0)]);
    });
    with_arrays(&["a * b", "a:f32[2, 1, 3, 4]", "b:f32[3, 1, 4]"], |_, arrays| {
        let sides = |array| ["front", "top", "side"].map(|side| counted(array, side));
        assert_eq!(sides(arrays[0]), [faces(24, 0), faces(8, 16), faces(6, 12)]);
        assert_eq!(sides(arrays[1]), [faces(4, 20), faces(12, 12), faces(3, 15)]);
        assert_eq!(sides(arrays[2]), [faces(24, 0), faces(24, 0), faces(18, 0)]);
    });
    with_arrays(&["a * b", "a:f32[2, 1, 3, 4, 5]", "b:f32[3, 1, 1]"], |figure, arrays| {
        assert!(arrays.is_empty());
        let words = texts(figure);
        assert!(
            words.iter().any(|text| text == "1 → 5")
                && words.iter().any(|text| text.contains("up to 4 axes"))
        );
    });
}

#[test]
fn symbols_and_large_sizes_are_cut() {
    with_arrays(&["x - x.mean(axis=0)", "x:f64[n, m]"], |figure, arrays| {
        let cut = Faces { gap: 7, ..faces(9, 0) };
        assert_eq!(counted(arrays[0], "front"), cut);
        assert_eq!(counted(arrays[1], "front"), Faces { gap: 7, ..faces(3, 6) });
        assert_eq!(texts(arrays[1])[..2], ["x.mean(axis=0)", "f64[m]"]);
        assert!(
            texts(arrays[1]).contains(&"· → n".to_owned()) && texts(arrays[1]).contains(&"m−1".to_owned())
        );
        assert_eq!(texts(figure)[0], "x - x.mean(axis=0)");
    });
    with_arrays(&["x * y", "x:f64[1000000, 1]", "y:f64[7]"], |_, arrays| {
        assert_eq!(counted(arrays[2], "front"), Faces { gap: 7, ..faces(9, 0) });
        assert!(texts(arrays[2]).contains(&"1000000".to_owned()));
    });
    let huge = i64::MAX / 8;
    with_arrays(&["x + 1", &format!("x:u8[{huge}]")], |_, arrays| {
        assert_eq!(counted(arrays[0], "front"), Faces { gap: 1, ..faces(3, 0) });
    });
}

#[test]
fn sizes_of_one_and_zero() {
    assert_fronts(&["x + y", "x:f64[]", "y:f64[]"], &[faces(1, 0), faces(1, 0), faces(1, 0)]);
    with_arrays(&["x + y", "x:f64[1]", "y:f64[1, 1]"], |figure, arrays| {
        assert!(arrays.iter().all(|array| counted(*array, "front") == faces(1, 0)));
        assert!(texts(figure)[1].contains("nothing is stretched"));
    });
    let none = |empty| Faces { empty, ..faces(0, 0) };
    assert_fronts(&["x + y", "x:f64[0, 3]", "y:f64[1, 3]"], &[none(3), faces(3, 0), none(3)]);
    assert_fronts(&["x + y", "x:f64[0]", "y:f64[]"], &[none(1), faces(1, 0), none(1)]);
    assert_fronts(&["x + y", "x:f64[3]", "y:f64[3]"], &[faces(3, 0), faces(3, 0), faces(3, 0)]);
    let output = run(&["x + y", "x:f64[0, 2, 0, 3]", "y:f64[0, 1, 0, 1]"]);
    assert!(output.status.success());
}

#[test]
fn a_mismatch_is_drawn_with_its_suggestions() {
    with_arrays(&["table - offsets", "table:f64[4, 3]", "offsets:f64[4]"], |figure, arrays| {
        assert_eq!(arrays.len(), 2, "there is no result");
        assert_eq!(counted(arrays[0], "front"), faces(12, 0));
        // The last column has no partner.
        assert_eq!(counted(arrays[1], "front"), Faces { unmatched: 4, ..faces(3, 9) });
        assert_eq!(all(figure, "mismatch").flat_map(texts).collect::<Vec<_>>(), ["3 ≠ 4"]);
        let words = texts(figure).join(" ");
        for expected in ["error[S001]", "axis 1 is 3 on the left", "table - offsets[:, None]   -> [4, 3]"] {
            assert!(words.contains(expected), "{words}");
        }
        assert!(arrays.iter().all(|array| all(*array, "clash").count() == 2), "a bracket and its size");
    });
    with_arrays(&["x + y", "x:f64[n]", "y:f64[m]"], |figure, arrays| {
        assert_eq!(all(figure, "mismatch").flat_map(texts).collect::<Vec<_>>(), ["n = m?"]);
        assert_eq!(counted(arrays[0], "front"), Faces { unmatched: 3, gap: 1, ..faces(0, 0) });
    });
    with_arrays(&["where(m, x, y)", "m:bool[4, 1]", "x:f64[3]", "y:f64[4, 5]"], |_, arrays| {
        assert_eq!(counted(arrays[0], "front"), faces(4, 0), "only `x` and `y` clash");
        assert_eq!(counted(arrays[2], "front"), Faces { unmatched: 8, ..faces(12, 0) });
    });
    with_arrays(&["broadcast_to(x, (4, 2))", "x:f64[3]"], |_, arrays| assert_eq!(arrays.len(), 2));
    with_arrays(&["add(x, y, axis=0)", "x:f32[2, 3]", "y:f32[4]"], |_, arrays| assert_eq!(arrays.len(), 2));
    let both = figure(&["a = x + y; b = x * z", "x:f64[3]", "y:f64[4]", "z:f64[5]"]);
    assert_eq!(both.matches("class=\"figure\"").count(), 2);
}

#[test]
fn each_operation_that_stretches_has_a_figure() {
    let headings = |args: &[&str]| -> Vec<String> {
        let svg = figure(args);
        let document = Document::parse(&svg).expect("well-formed XML");
        all(document.root_element(), "figure").map(|figure| texts(figure)[0].clone()).collect()
    };
    assert_eq!(
        headings(&["(x - y[:, None]) * 2 + z", "x:f64[3]", "y:f64[4]", "z:f64[4, 3]"]),
        ["x - y[:, None]"]
    );
    assert_eq!(
        headings(&["(x - x.mean(axis=0)) / x.std(axis=0)", "x:f64[n, m]"]),
        ["x - x.mean(axis=0)", "(x - x.mean(axis=0)) / x.std(axis=0)"]
    );
    assert_eq!(headings(&["x * y + x", "x:f64[n]", "y:f64[n]"]), ["x * y"]);
    let parts = figure(&["x @ w", "x:f64[n, 3]", "w:f64[3, 2]"]);
    assert!(parts.contains("In `matmul`: ") && parts.contains(">this step<"));
    let many: Vec<String> = (0..100).map(|step| format!("r{step} = x + y[:, None] * {step}.5")).collect();
    let svg = figure(&[&many.join("; "), "x:f64[3]", "y:f64[4]"]);
    assert_eq!(svg.matches("class=\"figure\"").count(), 24);
    assert!(svg.contains("76 more operations stretch their operands"), "{}", &svg[svg.len() - 200..]);
}

#[test]
fn a_figure_is_one_file_for_light_and_dark_pages() {
    let svg = figure(&["a[:, None] + b", "a:f64[4]", "b:f64[3]"]);
    assert_eq!(svg, figure(&["a[:, None] + b", "a:f64[4]", "b:f64[3]"]));
    assert!(svg.contains("@media (prefers-color-scheme:dark)"));
    assert_eq!(svg.matches("http").count(), 1, "the name space only");
    for external in ["href", "url(", "<script", "@import", "<image"] {
        assert!(!svg.contains(external), "{external}");
    }
    let document = Document::parse(&svg).expect("well-formed XML");
    let child = |name| {
        let found = document.root_element().children().find(|child| child.has_tag_name(name));
        found.and_then(|child| child.text()).unwrap_or_default()
    };
    assert_eq!(document.root_element().attribute("role"), Some("img"));
    assert_eq!(child("title"), "Broadcasting of a[:, None] + b");
    assert_eq!(
        child("desc"),
        "a[:, None] is stretched to 3 along axis 1; b is stretched to 4 along axis 0 (which it lacks)."
    );
}

#[test]
fn names_of_any_kind_are_shown_safely() {
    let name = "<b>&\\'\u{5b9d}\u{202e}]]>";
    let wide = "\u{5b9d}".repeat(80);
    for size in [2, 3] {
        let program = format!(
            "input \"{name}\": f32[4, 1]\ninput \"{wide}\": f32[{size}, 3]\noutput r = \"{name}\" * \"{wide}\""
        );
        let svg = figure(&[&program]);
        assert!(!svg.contains('\u{202e}'));
        inspect(&svg);
    }
}

/// Checks that everything is on the page.
fn inspect(svg: &str) {
    let document = Document::parse(svg).expect("well-formed XML");
    let root = document.root_element();
    let number = |node: Node<'_, '_>, name: &str| -> f64 {
        node.attribute(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("{name} of {node:?}"))
    };
    let (width, height) = (number(root, "width"), number(root, "height"));
    let is_inside = |x: f64, y: f64| (0.0..=width).contains(&x) && (0.0..=height).contains(&y);
    for node in root.descendants().filter(Node::is_element) {
        match node.tag_name().name() {
            "text" => {
                let letters = texts(node).concat();
                let size = number(node, "font-size");
                let wide: f64 =
                    letters.chars().map(|letter| if letter >= '\u{1100}' { 1.2 } else { 0.6 } * size).sum();
                let (x, y) = (number(node, "x"), number(node, "y"));
                let left = match node.attribute("text-anchor") {
                    Some("middle") => x - wide / 2.0,
                    Some("end") => x - wide,
                    _ => x,
                };
                assert!(
                    is_inside(left, y - size) && is_inside(left + wide, y),
                    "{letters:?} leaves the page"
                );
            }
            "path" => {
                let points = node.attribute("d").unwrap_or_default().split(['M', 'L', 'Z']);
                for point in points.filter(|point| !point.is_empty()) {
                    let (x, y) = point.split_once(' ').expect("two numbers");
                    assert!(
                        is_inside(x.parse().expect("x"), y.parse().expect("y")),
                        "{point} leaves the page"
                    );
                }
            }
            _ => {}
        }
    }
}

#[test]
fn everything_is_on_the_page() {
    let sizes = ["0", "1", "3", "9", "n", "123456"];
    for rank in 0..6 {
        for (index, size) in sizes.iter().enumerate() {
            let shape = |of: &dyn Fn(usize) -> &'static str| {
                let sizes: Vec<&str> = (0..rank).map(of).collect();
                sizes.join(", ")
            };
            let left = shape(&|axis| if (axis + index) % 2 == 0 { "1" } else { sizes[(axis + index) % 5] });
            let right = shape(&|axis| if (axis + index) % 2 == 0 { "2" } else { "1" });
            let inputs = [format!("x:f32[{left}]"), format!("y:f32[{right}]"), format!("z:f32[{size}]")];
            let args: Vec<&str> = inputs.iter().map(String::as_str).collect();
            inspect(&figure(&[&["x + y"], &args[..2]].concat()));
            inspect(&figure(&[&["maximum(x, y)"], &args[..2]].concat()));
            // A size that does not fit is drawn too.
            let output = run(&[&["x + y + z * 2.5"], &args[..]].concat());
            inspect(&String::from_utf8(output.stdout).expect("figures are UTF-8"));
        }
    }
}

#[test]
fn files_and_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sum.svg").display().to_string();
    let output = run(&["a[:, None] + b", "a:f64[4]", "b:f64[3]", "-o", &path]);
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(std::fs::read_to_string(&path).expect("a figure").starts_with("<svg "));
    for (args, expected) in [
        (&["exp(x)", "x:f64[3]"][..], "no operation of the program combines arrays element by element"),
        (
            &["x + y", "x:f64[3]", "y:f64[3]", "--format", "dot"],
            "--broadcast draws cells, which DOT does not have",
        ),
        // Other mistakes come first.
        (&["a = x + y; b = x + zz", "x:f64[3]", "y:f64[4]"], "unknown name `zz`"),
    ] {
        let output = run(args);
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{args:?}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(expected), "{text}");
    }
}
