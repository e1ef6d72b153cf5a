//! `broadloom graph`: pictures that are well formed, complete, legible, and the same every time.

use roxmltree::{Document, Node};
use std::collections::HashMap;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

fn run(args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_broadloom");
    Command::new(program).args(["graph", "--color", "never"]).args(args).output().expect("the program starts")
}

fn picture(format: &str, args: &[&str]) -> String {
    let output = run(&[args, &["--format", format]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("pictures are UTF-8")
}

const NEAREST: &[&str] =
    &["argmin(sum((codes[None] - obs[:, None])**2, axis=-1), axis=1)", "obs:f32[n, 3]", "codes:f32[k, 3]"];
const SOFTMAX: &[&str] = &[
    "exp(x - max(x, axis=1, keepdims=True)) / sum(exp(x - max(x, axis=1, keepdims=True)), axis=1, keepdims=True)",
    "x:f32[n, m]",
];
const STANDARDISE: &[&str] = &["(x - mean(x, axis=0)) / std(x, axis=0)", "x:f64[n, m]"];
// `pow` is called over strips on every CPU.
const STORED: &[&str] = &["x[:, None] + y**2.7", "x:f32[n]", "y:f32[m]"];
const K_MEANS: &[&str] = &[
    "parameters k\nlet code = argmin(sum((codes[None] - obs[:, None])**2, axis=-1), axis=1)\n\
     output sums = segment_sum(obs, code, k)\noutput counts = segment_sum(x, code, k)",
    "obs:f32[n, 3]",
    "codes:f32[k, 3]",
    "x:f32[n]",
];
const OPERANDS: &[&str] =
    &["where(x > y, x, -y) + take(t, i)", "x:f32[n]", "y:f32[n]", "t:f32[k]", "i:i64[n]"];
const PARTS: &[&str] = &["mean(x * y) + sum(x)", "x:f32[n]", "y:f32[n]"];
const PIECES: &[&str] = &["concat((a, b * 2, c), axis=0)[1:]", "a:f32[n]", "b:f32[m]", "c:f32[k]"];
const COPIES: &[&str] = &["a = x; b = broadcast_to(f32(1.5), (4, 3)); c = f32(2)", "x:f32[n]"];

#[derive(Debug, Clone, Copy)]
struct Rect {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

fn number(node: Node<'_, '_>, name: &str) -> f64 {
    let text = node.attribute(name).unwrap_or_else(|| panic!("{name} is missing"));
    let number: f64 = text.parse().expect("a number");
    assert!(number.is_finite());
    number
}

fn rect(node: Node<'_, '_>) -> Rect {
    let (left, top) = (number(node, "x"), number(node, "y"));
    Rect { left, top, right: left + number(node, "width"), bottom: top + number(node, "height") }
}

fn inside(inner: Rect, outer: Rect) -> bool {
    inner.left >= outer.left
        && inner.right <= outer.right
        && inner.top >= outer.top
        && inner.bottom <= outer.bottom
}

fn apart(one: Rect, other: Rect) -> bool {
    one.right <= other.left || other.right <= one.left || one.bottom <= other.top || other.bottom <= one.top
}

fn class<'a>(node: Node<'a, '_>) -> &'a str {
    node.attribute("class").unwrap_or_default()
}

/// What a text takes: 0.6 of the height per letter, as Courier and most fonts of fixed width have it, 1.2 for the
/// wide letters that tests use.
fn text_box(text: Node<'_, '_>) -> Rect {
    let size = number(text, "font-size");
    let letters = text.text().unwrap_or_default().chars();
    let width: f64 = letters.map(|letter| if letter >= '\u{1100}' { 1.2 } else { 0.6 } * size).sum();
    let (x, y) = (number(text, "x"), number(text, "y"));
    let left = match text.attribute("text-anchor") {
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        _ => x,
    };
    Rect { left, top: y - 0.8 * size, right: left + width, bottom: y + 0.2 * size }
}

/// The texts of the nodes, sorted, after a look at all that has to fit into each other or stand apart.
fn inspected(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).expect("well-formed XML");
    let root = document.root_element();
    let page = Rect { left: 0.0, top: 0.0, right: number(root, "width"), bottom: number(root, "height") };
    let elements = || root.descendants().filter(Node::is_element);
    let (mut boxes, mut names) = (Vec::new(), Vec::new());
    for node in elements().filter(|node| class(*node).starts_with("node ") || class(*node) == "head") {
        let frame = node.children().find(|child| child.has_tag_name("rect")).map(rect).expect("a box");
        let texts: Vec<Node<'_, '_>> = node.children().filter(|child| child.has_tag_name("text")).collect();
        for text in &texts {
            assert!(inside(text_box(*text), frame), "{:?} is wider than its box", text.text());
        }
        if class(node) != "head" {
            names.push(texts.iter().filter_map(Node::text).collect::<Vec<_>>().join(" | "));
        }
        boxes.push(frame);
    }
    for (index, one) in boxes.iter().enumerate() {
        assert!(inside(*one, page));
        assert!(boxes[..index].iter().all(|other| apart(*one, *other)), "boxes overlap: {names:?}");
    }
    let kernels: Vec<Rect> = elements().filter(|node| class(*node) == "kernel").map(rect).collect();
    for (index, kernel) in kernels.iter().enumerate() {
        assert!(inside(*kernel, page));
        assert!(kernels[..index].iter().all(|other| apart(*kernel, *other)), "kernels overlap");
        assert!(boxes.iter().all(|one| inside(*one, *kernel) || apart(*one, *kernel)), "a box is cut");
    }
    names.sort();
    names
}

/// Labels of nodes by number, and edges, of a picture in DOT.
fn parsed(dot: &str) -> (HashMap<&str, &str>, Vec<(&str, &str)>) {
    let (mut nodes, mut edges) = (HashMap::new(), Vec::new());
    for line in dot.lines().map(str::trim) {
        if let Some((from, to)) = line.split_once(" -> ") {
            edges.push((from, to.split([' ', ';']).next().expect("a node")));
        } else if let Some((node, label)) = line.split_once(" [label=\"") {
            let label = label.split("\", ").next().expect("a label");
            assert!(nodes.insert(node, label).is_none(), "{node} twice");
        }
    }
    (nodes, edges)
}

fn captions(dot: &str) -> Vec<&str> {
    let mut captions: Vec<&str> =
        parsed(dot).0.into_values().map(|label| label.split("\\n").next().expect("a line")).collect();
    captions.sort_unstable();
    captions
}

#[test]
fn pictures_are_legible_complete_and_the_same_every_time() {
    for args in [NEAREST, SOFTMAX, STANDARDISE, STORED, K_MEANS, OPERANDS, PARTS, PIECES, COPIES] {
        let (svg, dot) = (picture("svg", args), picture("dot", args));
        let (nodes, edges) = parsed(&dot);
        let mut expected: Vec<String> = nodes.values().map(|label| label.replace("\\n", " | ")).collect();
        expected.sort();
        // References are of the SVG alone, and have one line.
        let drawn: Vec<String> = inspected(&svg).into_iter().filter(|name| name.contains(" | ")).collect();
        assert_eq!(drawn, expected, "{args:?}");
        let wires = svg.matches("<path d=\"M").count() / 2;
        assert_eq!(wires, edges.len(), "{args:?}");
        assert!(edges.iter().all(|(from, to)| nodes.contains_key(from) && nodes.contains_key(to)));
        assert_eq!(picture("svg", args), svg);
        assert_eq!(picture("dot", args), dot);
    }
}

#[test]
fn a_kernel_holds_what_it_computes() {
    let dot = picture("dot", NEAREST);
    assert_eq!(
        captions(&dot),
        [
            "argmin over axis 1",
            "codes",
            "expand_dims axis 0",
            "expand_dims axis 1",
            "obs",
            "result",
            "square",
            "subtract",
            "sum over axis 2"
        ]
    );
    assert_eq!(dot.matches("subgraph").count(), 1);

    // `y**2.7` is computed once and stored, so the second kernel does not compute it again.
    let dot = picture("dot", STORED);
    assert_eq!(captions(&dot), ["add", "expand_dims axis 1", "pow(·, 2.7)", "result", "t0", "x", "y"]);
    assert_eq!(dot.matches("subgraph").count(), 2);
    let (nodes, edges) = parsed(&dot);
    let of = |name: &str| *nodes.iter().find(|(_, label)| label.starts_with(name)).expect(name).0;
    let (y, pow, stored, add) = (of("y"), of("pow"), of("t0"), of("add"));
    assert!([(y, pow), (pow, stored), (stored, add)].iter().all(|edge| edges.contains(edge)));
    assert!(!edges.contains(&(pow, add)));
    assert_eq!(nodes[stored], "t0\\nf32[m]\\n4*m bytes stored");
}

#[test]
fn parts_and_pieces_are_read_only_where_they_are_needed() {
    let dot = picture("dot", PARTS);
    let (nodes, edges) = parsed(&dot);
    let x = *nodes.iter().find(|(_, label)| label.starts_with("x\\n")).expect("x").0;
    let mut users: Vec<&str> = edges
        .iter()
        .filter(|(from, _)| *from == x)
        .map(|(_, to)| nodes[to].split("\\n").next().expect("a line"))
        .collect();
    users.sort_unstable();
    assert_eq!(users, ["multiply", "sum over axis 0 of parts"]);

    let dot = picture("dot", PIECES);
    let (nodes, edges) = parsed(&dot);
    for name in ["a\\n", "b\\n", "c\\n"] {
        let input = *nodes.iter().find(|(_, label)| label.starts_with(name)).expect(name).0;
        assert_eq!(edges.iter().filter(|(from, _)| *from == input).count(), 1, "{name} has one reader");
    }
}

#[test]
fn names_of_any_kind_are_shown_safely() {
    let name = "<b>&\\'\u{5b9d}\u{202e}]]>";
    let wide = "\u{5b9d}".repeat(80);
    let program =
        format!("input \"{name}\": f32[n]\ninput \"{wide}\": f32[n]\noutput r = \"{name}\" * \"{wide}\"");
    let svg = picture("svg", &[&program]);
    let names = inspected(&svg);
    assert!(names.iter().any(|text| text.starts_with("<b>&\\'\u{5b9d}\\u{202e}]]> | ")), "{names:?}");
    assert!(names.iter().any(|text| text.contains("\u{5b9d}\u{2026}")), "{names:?}");
    assert!(!svg.contains('\u{202e}'));
    let dot = picture("dot", &[&program]);
    assert!(dot.contains("label=\"<b>&\\\\'\u{5b9d}\\\\u{202e}]]>\\nf32[n]\""), "{dot}");
}

#[test]
fn large_graphs_are_drawn_soon() {
    let mut chain = String::from("input x: f32[n]\ninput y: f32[n]\nlet v0 = x\n");
    for step in 0..1000 {
        chain += &format!("let v{} = sin(v{step} + y * {step}.5) * x\n", step + 1);
    }
    chain += "output r = v1000\n";
    let mut wide = String::from("input x: f32[n]\n");
    for step in 0..500 {
        wide += &format!("output r{step} = exp(x * {step}.5) + x\n");
    }
    for program in [chain, wide] {
        // Drawing is what is measured: compiling takes as long in either.
        let start = Instant::now();
        let dot = picture("dot", &[&program]);
        let compiled = start.elapsed();
        let start = Instant::now();
        let svg = picture("svg", &[&program]);
        let drawn = start.elapsed().saturating_sub(compiled);
        assert!(drawn < Duration::from_secs(10), "{drawn:?} after {compiled:?}");
        let expected = parsed(&dot).0.len();
        assert!(expected > 1500);
        assert_eq!(inspected(&svg).iter().filter(|name| name.contains(" | ")).count(), expected);
    }
}

#[test]
fn files_are_written_as_they_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (name, start) in [("a.svg", "<svg "), ("b.dot", "digraph "), ("C.SVG", "<svg ")] {
        let output = run(&[STORED, &["-o", &path(name)]].concat());
        assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty());
        assert!(std::fs::read_to_string(path(name)).expect("a picture").starts_with(start));
    }
    let output = run(&[STORED, &["-o", &path("a.jpeg")]].concat());
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("does not name a picture format") && text.contains("--format svg"), "{text}");
    let output = run(&[STORED, &["-o", &path("nowhere/a.svg")]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be written"));
    let mut left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("a file").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["C.SVG", "a.svg", "b.dot"]);
    let output = run(&["x + y", "x:f32[3]", "y:f32[4]"]);
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true));
}

#[test]
fn two_pictures_as_they_are() {
    insta::assert_snapshot!("stored_dot", picture("dot", STORED));
    insta::assert_snapshot!("stored_svg", picture("svg", STORED));
}
