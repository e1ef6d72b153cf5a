//! The text of diagnostics, whole. In the expected texts `FILE:L:C` stands for a place in this file.

use crate::support::{dim, here, input, shape};
use broadloom_ir::ExprId;
use broadloom_ir::diagnostics::Made;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{Declared, Graph, Literal, SliceSpec};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;

/// The text with `FILE:L:C` for places and `LL` for the number of a source line.
fn normalised(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        let numbered = trimmed.split_once(" | ").filter(|(number, _)| number.parse::<u32>().is_ok());
        lines.push(match (numbered, line.split_once("crates/broadloom-ir/tests/")) {
            (Some((_, source)), _) => format!("LL | {source}"),
            (None, Some((before, _))) if before.trim() == "-->" => "  --> FILE:L:C".to_owned(),
            (None, Some((before, _))) => format!("{before}FILE:L:C"),
            (None, None) if trimmed.starts_with('|') => format!("   {trimmed}"),
            (None, None) => line.to_owned(),
        });
    }
    lines.join("\n")
}

/// Builds an op on inputs and compares its diagnostic, without the source line.
#[track_caller]
fn check(symbols: &str, inputs: &[(&str, &str)], op: impl Fn(&mut Graph, &[ExprId]) -> ExprId, want: &str) {
    let mut graph = Graph::new();
    for name in symbols.split_whitespace() {
        graph.symbol(name, here());
    }
    let operands: Vec<ExprId> = inputs.iter().map(|(name, dims)| input(&mut graph, name, dims)).collect();
    let result = op(&mut graph, &operands);
    assert!(graph.is_poisoned(result));
    let diagnostics = graph.diagnostics();
    let [mistake] = &diagnostics[..] else { panic!("{diagnostics:?}") };
    let text = normalised(&format!("{mistake:#}"));
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.contains(" |") && *line != "  --> FILE:L:C").collect();
    assert_eq!(lines.join("\n"), want.trim_matches('\n'), "\n{text}");
}

fn add(graph: &mut Graph, operands: &[ExprId]) -> ExprId {
    graph.elementwise(Op::Add, operands, here())
}

/// Sample 1 of the design, with the source line.
#[test]
fn constants() {
    let mut graph = Graph::new();
    let [x, y] = [input(&mut graph, "x", "5,2,4,1"), input(&mut graph, "y", "3,1,1")];
    let result = graph.elementwise(Op::Add, &[x, y], here());
    assert!(graph.is_poisoned(result));
    let mistake = &graph.diagnostics()[0];
    assert_eq!(
        mistake.to_string(),
        "`add` cannot broadcast: axis 1 is 2 on the left and 3 on the right",
        "the plain form is the headline"
    );
    assert_eq!(mistake.conflicts()[0].axis, 1);
    assert_eq!(mistake.because()[0], "2 and 3 differ and neither is the constant 1");
    let want = r#"
error[S001]: `add` cannot broadcast: axis 1 is 2 on the left and 3 on the right
  --> FILE:L:C
   |
LL |     let result = graph.elementwise(Op::Add, &[x, y], here());
   |                                                      ^
   axis        0   1   2   3
   x    f32 [  5   2   4   1 ]   input "x"    FILE:L:C
   y    f32 [  ·   3   1   1 ]   input "y"    FILE:L:C
                   ^ 2 and 3 differ and neither is the constant 1
   axes 2 and 3 are fine: a 1 stretches to the other size"#;
    assert_eq!(normalised(&format!("{mistake:#}")), want.trim_matches('\n'));
}

/// Sample 2: the classic slip of rows and columns.
#[test]
fn rows_and_columns() {
    check(
        "",
        &[("a", "4,3"), ("b", "4")],
        add,
        r#"
error[S001]: `add` cannot broadcast: axis 1 is 3 on the left and 4 on the right
   axis        0   1
   a    f32 [  4   3 ]   input "a"    FILE:L:C
   b    f32 [  ·   4 ]   input "b"    FILE:L:C
                   ^
   shapes are aligned at the last axis, so b's 4 meets a's 3, not a's 4
   help: to add one value per row, give b a trailing axis:   a + b.unsqueeze(1)      -> [4, 3]
   help: the same, naming the axis:                          a.add_axis(b, 0)        -> [4, 3]
"#,
    );
}

/// Sample 3: two symbols, one of an operand that is not an input.
#[test]
fn two_symbols() {
    check(
        "n m",
        &[("q", "n,64"), ("k_t", "64,m")],
        |graph, operands| {
            let k = graph.permute_dims(operands[1], &[1, 0], here());
            graph.elementwise(Op::Multiply, &[operands[0], k], here())
        },
        r#"
error[S002]: `multiply` cannot broadcast: axis 0 is `n` on the left and `m` on the right, not known to be equal
   axis        0   1
   q    f32 [  n  64 ]   input "q"             FILE:L:C
   rhs  f32 [  m  64 ]   transpose of "k_t"    FILE:L:C
               ^ equal only for some sizes (n = m)
   `m` comes from input "k_t" axis 1           FILE:L:C
   help: to combine every pair of rows:                                 q.unsqueeze(1) * rhs               -> [n, m, 64]
   help: if `m` is always `n`, use one symbol, or declare them equal:   g.declare_equal(m, n)              -> [n, 64]
   help: to state it only here, checked by each call:                   q * rhs.rebind(shape![n, 64])      -> [n, 64]
   note: a symbol never stretches, even when it is 1 at run time; only the constant 1 does
"#,
    );
}

/// Sample 8: names tell what was meant.
#[test]
fn names_as_hints() {
    check(
        "class students scores",
        &[("marks", "class,students,scores"), ("bonus", "students")],
        add,
        r#"
error[S002]: `add` cannot broadcast: axis 2 is `scores` on the left and `students` on the right, not known to be equal
   axis            0         1         2
   marks f32 [ class  students    scores ]   input "marks"    FILE:L:C
   bonus f32 [     ·         ·  students ]   input "bonus"    FILE:L:C
                                       ^
   shapes are aligned at the last axis, so bonus' `students` meets marks' `scores`, not marks' `students`
   help: `students` matches axis 1 of marks:   marks + bonus.unsqueeze(1)      -> [class, students, scores]
   help: the same, naming the axis:            marks.add_axis(bonus, 1)        -> [class, students, scores]
"#,
    );
}

/// What Broadloom is for: differences of every code and every observation.
#[test]
fn every_pair() {
    check(
        "",
        &[("codes", "17,3"), ("obs", "1000,3")],
        add,
        r#"
error[S001]: `add` cannot broadcast: axis 0 is 17 on the left and 1000 on the right
   axis           0   1
   codes f32 [   17   3 ]   input "codes"    FILE:L:C
   obs   f32 [ 1000   3 ]   input "obs"      FILE:L:C
                  ^ 17 and 1000 differ and neither is the constant 1
   help: to combine every pair of rows:   codes.unsqueeze(1) + obs      -> [17, 1000, 3]
   help: to pair row with row, give both the same number of rows
"#,
    );
    check(
        "b n m",
        &[("x", "b,n,3"), ("y", "b,m,3")],
        |graph, operands| graph.elementwise(Op::Maximum, operands, here()),
        r#"
error[S002]: `maximum` cannot broadcast: axis 1 is `n` on the left and `m` on the right, not known to be equal
   axis        0   1   2
   x    f32 [  b   n   3 ]   input "x"    FILE:L:C
   y    f32 [  b   m   3 ]   input "y"    FILE:L:C
                   ^ equal only for some sizes (n = m)
   help: to combine every pair of slices along axis 1:                  x.unsqueeze(2).maximum(y.unsqueeze(1))      -> [b, n, m, 3]
   help: if `m` is always `n`, use one symbol, or declare them equal:   g.declare_equal(m, n)                       -> [b, n, 3]
   help: to state it only here, checked by each call:                   x.maximum(y.rebind(shape![b, n, 3]))        -> [b, n, 3]
   note: a symbol never stretches, even when it is 1 at run time; only the constant 1 does
"#,
    );
}

#[test]
fn other_help() {
    check(
        "n",
        &[("x", "n,64"), ("w", "64,n")],
        add,
        r#"
error[S002]: `add` cannot broadcast: axis 1 is 64 on the left and `n` on the right, not known to be equal
   axis        0   1
   x    f32 [  n  64 ]   input "x"    FILE:L:C
   w    f32 [ 64   n ]   input "w"    FILE:L:C
               ^   ^ equal only for some sizes (n = 64)
   help: the sizes match after transposing:   x + w.t()      -> [n, 64]
"#,
    );
    check(
        "",
        &[("x", "6"), ("y", "2,3")],
        add,
        r#"
error[S001]: `add` cannot broadcast: axis 1 is 6 on the left and 3 on the right
   axis        0   1
   x    f32 [  ·   6 ]   input "x"    FILE:L:C
   y    f32 [  2   3 ]   input "y"    FILE:L:C
                   ^ 6 and 3 differ and neither is the constant 1
   help: both have 6 elements:   x.reshape([2, 3]) + y      -> [2, 3]
"#,
    );
    check(
        "n",
        &[("x", "2*n"), ("y", "n")],
        add,
        r#"
error[S002]: `add` cannot broadcast: axis 0 is `2*n` on the left and `n` on the right, not known to be equal
   axis         0
   x    f32 [ 2*n ]   input "x"    FILE:L:C
   y    f32 [   n ]   input "y"    FILE:L:C
                ^ equal only for some sizes (n = 0)
   help: to combine every pair of elements:             x.unsqueeze(1) + y             -> [2*n, n]
   help: to state it only here, checked by each call:   x + y.rebind(shape![2*n])      -> [2*n]
   note: a symbol never stretches, even when it is 1 at run time; only the constant 1 does
"#,
    );
    check(
        "n",
        &[("x", "n,6")],
        |graph, operands| {
            let wanted = shape(graph, "n,2,6");
            graph.broadcast_to(operands[0], wanted, here())
        },
        r#"
error[S002]: `broadcast_to` cannot stretch to [n, 2, 6]: axis 1 is `n`, but should be 2, not known to be equal
   axis          0   1   2
   x      f32 [  ·   n   6 ]   input "x"              FILE:L:C
   wanted     [  n   2   6 ]   the requested shape
                     ^ equal only for some sizes (n = 2)
   help: give x axes of size 1 where the requested shape has more:   x.unsqueeze(1).broadcast_to([n, 2, 6])      -> [n, 2, 6]
"#,
    );
    check(
        "n m",
        &[("x", "n,6"), ("k", "m,4")],
        |graph, operands| {
            let holds = graph.constant(Scalar::Bool(true), here());
            graph.select(holds, operands[0], operands[1], here())
        },
        r#"
error[S001]: `select` cannot broadcast: axis 1 is 6 in `on_true` and 4 in `on_false`
   axis              0   1
   condition bool [  ·   · ]   constant true    FILE:L:C
   on_true   f32  [  n   6 ]   input "x"        FILE:L:C
   on_false  f32  [  m   4 ]   input "k"        FILE:L:C
                     ^   ^ `n` and `m` are not known to be equal either
"#,
    );
}

/// Every help that is an expression is valid as promised: the tests build it.
#[test]
fn helps_hold() {
    let shapes =
        ["4", "3", "4,3", "3,4", "n", "m", "n,m", "m,n", "2,n,m", "n,3", "4,3,n", "12", "2,6", "n,m,4,3"];
    let mut tried = 0;
    for a in shapes {
        for b in shapes {
            let mut graph = Graph::new();
            let [x, y] = [input(&mut graph, "x", a), input(&mut graph, "y", b)];
            add(&mut graph, &[x, y]);
            let Some(mistake) = graph.diagnostics().first().cloned() else { continue };
            assert!(mistake.helps.len() <= 3);
            for help in &mistake.helps {
                let (Some(code), Some(result)) = (&help.code, &help.result) else { continue };
                let mut graph = Graph::new();
                if let Some(sides) = code.strip_prefix("g.declare_equal(") {
                    let (left, right) = sides.trim_end_matches(')').split_once(", ").unwrap();
                    let (left, right) = (dim(&mut graph, left), dim(&mut graph, right));
                    assert_eq!(graph.declare_equal(&left, &right, here()), Declared::Substituted, "{code}");
                }
                let [x, y] = [input(&mut graph, "x", a), input(&mut graph, "y", b)];
                let sum = match (code.split_once(" + "), code.split_once(".add_axis(y, ")) {
                    (Some((left, right)), _) => {
                        let operands = [follow(&mut graph, x, left), follow(&mut graph, y, right)];
                        add(&mut graph, &operands)
                    }
                    (None, Some((_, axis))) => {
                        let axis = axis.trim_end_matches(')').parse().unwrap();
                        graph.elementwise_at(Op::Add, [x, y], axis, here())
                    }
                    (None, None) => add(&mut graph, &[x, y]),
                };
                assert_eq!(graph.diagnostics(), [], "{a} + {b}: {code}");
                let result: Vec<String> = result.iter().map(ToString::to_string).collect();
                let result = shape(&mut graph, &result.join(","));
                assert_eq!(graph.shape(sum), result, "{a} + {b}: {code}");
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

/// Builds what the helps say of mistakes other than sizes that do not broadcast.
#[test]
fn helps_of_other_ops_hold() {
    type Make = fn(&mut Graph, &[ExprId]) -> ExprId;
    type Inputs = &'static [(&'static str, &'static str)];
    let rows: &[(Inputs, Make, &str)] = &[
        (&[("x", "n,3")], |g, x| g.squeeze(x[0], &[0], here()), "x.rebind(shape![1, _]).squeeze(0)"),
        (&[("x", "1,3")], |g, x| g.squeeze(x[0], &[1], here()), "x.squeeze(0)"),
        (&[("x", "n,3"), ("y", "1,2")], |g, x| g.concat(x, 1, here()), "y.broadcast_to(shape![n, 2])"),
        (&[("x", "n,3"), ("row", "3")], |g, x| g.concat(x, 0, here()), "row.unsqueeze(0)"),
    ];
    for (inputs, make, code) in rows {
        let mut graph = Graph::new();
        let operands: Vec<ExprId> = inputs.iter().map(|(name, dims)| input(&mut graph, name, dims)).collect();
        make(&mut graph, &operands);
        let diagnostics = graph.diagnostics();
        let [mistake] = &diagnostics[..] else { panic!("{code}: {diagnostics:?}") };
        let help = mistake.helps.first().and_then(|help| help.code.as_deref());
        assert_eq!(help, Some(*code), "{mistake:#}");
        graph.withdraw_diagnostics(0);
        let last = operands.len() - 1;
        let changed = follow(&mut graph, operands[last], code);
        if let [first, _] = operands[..] {
            let axis = i64::from(code.contains("broadcast_to"));
            graph.concat(&[first, changed], axis, here());
        }
        assert_eq!(graph.diagnostics(), [], "{code}");
    }
}

/// Applies the methods of a help such as `y.unsqueeze(1).unsqueeze(2)`.
fn follow(graph: &mut Graph, mut expr: ExprId, code: &str) -> ExprId {
    for call in code.split('.').skip(1) {
        let (method, arguments) = call.trim_end_matches(')').split_once('(').unwrap();
        let arguments = arguments.trim_matches(['[', ']']);
        expr = match method {
            "unsqueeze" => graph.expand_dims(expr, &[arguments.parse().unwrap()], here()),
            "t" => graph.permute_dims(expr, &[1, 0], here()),
            "permute_dims" => {
                let axes: Vec<i64> = arguments.split(", ").map(|axis| axis.parse().unwrap()).collect();
                graph.permute_dims(expr, &axes, here())
            }
            "squeeze" => graph.squeeze(expr, &[arguments.parse().unwrap()], here()),
            "rebind" => {
                let sizes = arguments.trim_start_matches("shape![").split(", ");
                let dims: Vec<Option<Dim>> =
                    sizes.map(|size| (size != "_").then(|| dim(graph, size))).collect();
                graph.rebind(expr, &dims, here())
            }
            "broadcast_to" => {
                let sizes = arguments.trim_start_matches("shape![").replace(", ", ",");
                let wanted = shape(graph, &sizes);
                graph.broadcast_to(expr, wanted, here())
            }
            "reshape" => {
                let dims: Vec<Option<Dim>> =
                    arguments.split(", ").map(|size| Some(dim(graph, size))).collect();
                graph.reshape(expr, &dims, here())
            }
            method => panic!("{method}"),
        };
    }
    expr
}

/// One row per kind of mistake: what makes it, its code, and its headline.
#[test]
fn headlines() {
    type Make = fn(&mut Graph, ExprId) -> ExprId;
    let rows: &[(&str, &str, Make)] = &[
        (
            "S002",
            "`reshape` cannot produce [n, 7]: that takes `7*n` elements, but the operand has `6*n`, not known to be equal",
            |g, x| {
                let dims = [Some(dim(g, "n")), Some(Dim::constant(7))];
                g.reshape(x, &dims, here())
            },
        ),
        ("S004", "`reshape` cannot infer a size: `6*n` is not always divisible by 4", |g, x| {
            g.reshape(x, &[None, Some(Dim::constant(4))], here())
        }),
        ("S004", "`reshape` can infer only one size", |g, x| g.reshape(x, &[None, None], here())),
        ("S005", "`squeeze` cannot remove axis 0: its size is `n`, not the constant 1", |g, x| {
            g.squeeze(x, &[0], here())
        }),
        ("S006", "`squeeze` cannot use axis -3: the rank is 2", |g, x| g.squeeze(x, &[-3], here())),
        ("S006", "`expand_dims` cannot use axis 9223372036854775807: the rank is 3", |g, x| {
            g.expand_dims(x, &[i64::MAX], here())
        }),
        ("S006", "`sum` cannot use axis -9223372036854775808: the rank is 2", |g, x| {
            g.reduce(ReduceOp::Sum, x, Some(&[i64::MIN]), false, here())
        }),
        ("S006", "`sum` names axis 1 twice", |g, x| {
            g.reduce(ReduceOp::Sum, x, Some(&[1, -1]), false, here())
        }),
        ("S006", "`permute_dims` needs each of the 2 axes exactly once, but got 1", |g, x| {
            g.permute_dims(x, &[0], here())
        }),
        ("S007", "`slice` does not fit axis 1: the slice extends past the end of the axis, by 2", |g, x| {
            let part = SliceSpec::Range { start: None, stop: Some(Dim::constant(8)), step: 1 };
            g.slice(x, &[SliceSpec::All, part], here())
        }),
        ("S007", "`slice` does not fit axis 1: the slice ends before it starts, by 1", |g, x| {
            let part =
                SliceSpec::Range { start: Some(Dim::constant(3)), stop: Some(Dim::constant(-4)), step: 1 };
            g.slice(x, &[SliceSpec::All, part], here())
        }),
        ("S007", "`slice` does not fit axis 1: the index is before the first element, by 1", |g, x| {
            g.slice(x, &[SliceSpec::All, SliceSpec::At(Dim::constant(-7))], here())
        }),
        ("S007", "`slice` has a step of 0", |g, x| {
            g.slice(x, &[SliceSpec::Range { start: None, stop: None, step: 0 }], here())
        }),
        ("S007", "`slice` has 3 indices for 2 axes", |g, x| {
            g.slice(x, &[SliceSpec::All, SliceSpec::All, SliceSpec::All], here())
        }),
        ("S008", "`broadcast_to` cannot stretch to fewer axes: 1 instead of 2", |g, x| {
            g.broadcast_to(x, Shape::from_iter([Dim::constant(6)]), here())
        }),
        ("S008", "`expand_dims` has 42 axes: at most 32 are supported", |g, x| {
            g.expand_dims(x, &[0; 40], here())
        }),
        ("S008", "`take` has 33 axes: at most 32 are supported", |g, x| {
            let indices = g.input("many", DType::U8, (0..32).map(|_| Dim::ONE).collect(), here());
            g.take(x, indices, 0, here())
        }),
        ("S009", "`input \"big\"` has more elements than can be addressed", |g, _| {
            g.input("big", DType::U8, Shape::from_iter([i64::MAX.into(), Dim::constant(3)]), here())
        }),
        ("S009", "`iota` gives axis 0 the negative size -1", |g, _| g.iota(Dim::constant(-1), here())),
        ("S009", "`reshape` has a size that cannot be computed: the size overflows", |g, x| {
            g.reshape(x, &[Some(Dim::constant(i64::MAX)), Some(Dim::constant(3))], here())
        }),
        ("S010", "`max` is not defined for zero elements: axis 0 is empty", |g, _| {
            let empty = g.input("empty", DType::F32, Shape::from_iter([Dim::ZERO]), here());
            g.reduce(ReduceOp::Max, empty, None, false, here())
        }),
        ("S006", "`topk` cannot use axis 2: the rank is 2", |g, x| g.topk(x, 1, 2, true, here())),
        ("S015", "`topk` cannot return the 0 best elements: ask for 1 to 64", |g, x| {
            g.topk(x, 0, 0, true, here())
        }),
        ("S015", "`argtopk` cannot return the 65 best elements: ask for 1 to 64", |g, x| {
            g.argtopk(x, 65, 0, false, here())
        }),
        ("S015", "`topk` cannot return 4 elements: axis 0 is too short by 1", |g, _| {
            let three = g.input("three", DType::F32, Shape::from_iter([Dim::constant(3)]), here());
            g.topk(three, 4, -1, true, here())
        }),
        ("S015", "`diff` cannot be taken -1 times: take it 0 to 16 times", |g, x| g.diff(x, -1, 0, here())),
        ("S015", "`diff` cannot be taken 17 times: take it 0 to 16 times", |g, x| g.diff(x, 17, 0, here())),
        ("S006", "`diff` cannot use axis -3: the rank is 2", |g, x| g.diff(x, 1, -3, here())),
        ("T001", "`subtract` is not defined on bool and bool", |g, _| {
            let truth = g.constant(Scalar::Bool(true), here());
            g.elementwise(Op::Subtract, &[truth, truth], here())
        }),
        ("T001", "`add` takes 2 operands, not 1", |g, x| g.elementwise(Op::Add, &[x], here())),
        ("T002", "the literal 300 does not fit into u8", |g, _| {
            g.literal(Literal::Int(300), DType::U8, here())
        }),
        ("T002", "the literal 1e300 does not fit into f32", |g, _| {
            g.literal(Literal::Float(1e300), DType::F32, here())
        }),
        ("T002", "`pow` cannot raise integers (i32) to the negative power -1", |g, _| {
            let base = g.input("base", DType::I32, Shape::scalar(), here());
            g.power_literal(base, Literal::Int(-1), here())
        }),
        ("T003", "`select` needs a bool condition, not f32", |g, x| g.select(x, x, x, here())),
        ("T004", "`take` needs integer indices, not f32", |g, x| g.take(x, x, 0, here())),
        ("N001", "`input` does not accept the name \"\": use printable text without quotes", |g, _| {
            g.input("", DType::F32, Shape::scalar(), here())
        }),
        (
            "N001",
            "`symbol` does not accept the name \"2n\": use letters, digits and `_`, and do not start with a digit",
            |g, _| {
                g.symbol("2n", here());
                g.poison()
            },
        ),
        ("N002", "`input \"x\"` is declared as i32[] here, but as f32[n, 6] earlier", |g, _| {
            g.input("x", DType::I32, Shape::scalar(), here())
        }),
        ("N005", "`iota` uses a symbol from another graph", |g, _| {
            g.iota(Dim::symbol(broadloom_ir::SymbolId::new(1000)), here())
        }),
    ];
    for (code, headline, make) in rows {
        let mut graph = Graph::new();
        let x = input(&mut graph, "x", "n,6");
        let result = make(&mut graph, x);
        assert!(graph.is_poisoned(result), "{headline}");
        let diagnostics = graph.diagnostics();
        let [mistake] = &diagnostics[..] else { panic!("{headline}: {diagnostics:?}") };
        assert_eq!((mistake.code().as_str(), mistake.to_string()), (*code, (*headline).to_owned()));
        let full = format!("{mistake:#}");
        assert!(full.starts_with(&format!("error[{code}]: {headline}\n")), "{full}");
    }
}

#[test]
fn lists() {
    let mut graph = Graph::new();
    let [x, y] = [input(&mut graph, "x", "3"), input(&mut graph, "y", "4")];
    let bad = add(&mut graph, &[x, y]);
    let silent = add(&mut graph, &[bad, x]);
    assert!(graph.is_poisoned(silent), "use of poison is silent");
    graph.squeeze(y, &[0], here());
    let mistakes = graph.finish(&[("z", silent)]).unwrap_err();
    assert_eq!(
        mistakes.to_string(),
        "`add` cannot broadcast: axis 0 is 3 on the left and 4 on the right\n\
         `squeeze` cannot remove axis 0: its size is 4, not the constant 1"
    );
    assert!(format!("{mistakes:?}").contains("error[S005]: `squeeze`"), "unwrap shows the frames");
    assert_eq!(mistakes.as_slice()[0].operands[1].made, Made::Input("y".into()));
    assert_eq!(graph.check().unwrap_err(), mistakes);
    let last = graph.withdraw_diagnostics(1).unwrap();
    assert_eq!((last.as_slice().len(), graph.mistakes().len()), (1, 1));
}
