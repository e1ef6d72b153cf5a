//! Texts from strangers: what each asks of the graph and of the compiler stays within limits, or is an error.

use broadloom::prelude::*;
use broadloom::{CompileError, CpuLevel};
use broadloom_text::{Limits, Problem, Program};
use cpu_time::ThreadTime;
use std::fmt::Write;
use std::time::Duration;

const NODES: usize = 5_000;
const VALUES: usize = 20_000;
/// Of the thread that compiles, in a debug build; in release it is about a tenth.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lines made of numbers.
fn lines(range: std::ops::Range<usize>, line: impl Fn(usize) -> String) -> String {
    range.map(|index| line(index) + "\n").collect()
}

fn numbers(count: usize) -> String {
    (1..=count).map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
}

/// Short texts that ask for much.
fn hostile() -> Vec<(&'static str, String)> {
    let declared =
        "symbols n, m\ninput x: f32[n]\ninput w: f32[n, 8]\ninput t: f32[8, 8, 8, 8, 8, 8]\nlet a0 = x\n";
    let with = |body: String| declared.to_string() + &body;
    let chain = |count: usize, line: &str| {
        let steps = lines(1..count + 1, |index| {
            let before = format!("a{}", index - 1);
            format!("let a{index} = {}", line.replace('@', &before))
        });
        with(steps + &format!("output y = a{count}"))
    };
    vec![
        ("a long einsum", with("output y = einsum('a,b,c,d,e,f,g,h->', x, x, x, x, x, x, x, x)".into())),
        (
            "an einsum of many axes",
            with("output y = einsum('abcdef,bcdefa,cdefab,defabc->ad', t, t, t, t)".into()),
        ),
        ("deep pads", chain(300, "pad(@, 1)")),
        ("reflected pads", chain(60, "pad(@, 3, 'wrap')[3:-3]")),
        ("stencils of stencils", chain(200, "@[1:] + @[:-1]")),
        ("wide stencils of stencils", chain(60, "@[:-4] + @[1:-3] + @[2:-2] + @[3:-1] + @[4:]")),
        ("sums that are unrolled in one another", {
            let inner = (0..6).fold("t".to_string(), |inner, _| format!("sum(exp({inner}), axis=-1)"));
            with(format!("output y = {inner}"))
        }),
        ("tables of tables", chain(8, "sum(exp(@[:, None] - @), axis=1)")),
        ("functions of rows of tables", chain(40, "softmax(@[:, None] * w, axis=1).sum(axis=1)")),
        ("400 outputs", with(lines(0..400, |index| format!("output o{index} = sum(exp(x * {index}))")))),
        ("400 outputs of different shapes", {
            with(lines(1..400, |index| format!("output o{index} = sqrt(x[{index}:])")))
        }),
        ("a long kernel", with(format!("output y = convolve(x, [{}])", numbers(300)))),
        ("long kernels in a row", chain(20, &format!("convolve(@, [{}])", numbers(40)))),
        ("a long polynomial", with(format!("output y = polyval([{}], x)", numbers(64)))),
        ("many bins", with(format!("output y = digitize(x, [{}])", numbers(1_000)))),
        ("a chain of ops", chain(4_000, "@ * x + 1")),
        ("a tree of ops", chain(60, "@ * @ + @")),
        ("many softmaxes", chain(100, "softmax(@)")),
        ("many running results", chain(300, "cumsum(@)")),
        ("many sorts", chain(200, "sort(@) + x")),
        ("many medians", chain(100, "@ - median(@)")),
        ("many groups", {
            let sums = lines(0..200, |index| format!("output o{index} = segment_sum(x + {index}, i, 5)"));
            with("input i: i64[n]\n".to_string() + &sums)
        }),
        ("joins of joins", chain(40, "concat([@, @])")),
        ("a long join", with(format!("output y = concat([{}])", "x, ".repeat(1_500)))),
        ("many parts", with("output y = stack(split(w[:4000], 500, axis=0)).sum()".into())),
        ("repeats", chain(40, "repeat(@, 2)")),
        ("products of matrices", {
            let steps = lines(1..60, |index| format!("let b{index} = b{} @ b{}", index - 1, index - 1));
            with(format!("input v: f32[m, m]\nlet b0 = v\n{steps}output y = b59"))
        }),
        ("casts", chain(2_000, "f32(f16(@))")),
        ("reshapes", chain(300, "reshape(reshape(exp(@), (1, n, 1)), n)")),
        ("reshapes of tables", chain(30, "reshape(exp(reshape(@, (n, 1)) * w), n * 8)[:n]")),
        ("indices of indices", {
            let steps = lines(1..300, |index| format!("let i{index} = take(i{}, i{})", index - 1, index - 1));
            format!("input i0: i64[n]\n{steps}output y = i299")
        }),
        ("conditions", chain(1_000, "where(@ > 0, @, -@)")),
    ]
}

#[test]
fn hostile_texts_are_compiled_or_refused_soon() {
    let mut slow = String::new();
    for (name, text) in hostile() {
        let start = ThreadTime::now();
        let mut limits = Limits::default();
        limits.nodes = NODES;
        let outcome =
            match Program::parse_within("hostile", &text, &limits).and_then(|program| program.resolve()) {
                Err(mistakes) => {
                    let all = mistakes.as_slice();
                    let is_limit = all.iter().all(|mistake| matches!(mistake.problem, Problem::Limit { .. }));
                    assert!(is_limit, "{name} is not the text that it should be:\n{mistakes:#}");
                    assert_eq!(all.len(), 1, "{mistakes}");
                    "too many nodes".to_string()
                }
                Ok(graph) => {
                    assert!(graph.exprs().count() <= NODES, "{name}");
                    let options = CompileOptions { max_values: VALUES, ..CompileOptions::default() };
                    match Executable::compile(&graph, &options) {
                        Ok(kernel) => format!("{} kernels", kernel.explain().kernels()),
                        Err(error @ CompileError::Schedule(_)) => {
                            assert!(error.to_string().contains("max_values"), "{name}: {error}");
                            "too many values".to_string()
                        }
                        Err(error) => panic!("{name}: {error}"),
                    }
                }
            };
        let taken = start.elapsed();
        if std::env::var_os("SHOW").is_some() {
            eprintln!("{name}: {outcome}, {taken:?}");
        }
        if taken > PATIENCE {
            let _ = writeln!(slow, "{name}: {outcome}, {taken:?}");
        }
    }
    assert!(slow.is_empty(), "{slow}");
}

/// One call of the language is many expressions of the graph.
#[test]
fn nodes_are_counted_after_expansion() {
    let mut limits = Limits::default();
    limits.nodes = 12;
    let resolve = |text: &str| Program::parse_within("t", text, &limits).unwrap().resolve();
    assert!(resolve("input x: f32[n]\nx + 1").is_ok());
    for call in ["quantile(x, 0.3)", "split(x[:20], 20)[0]", "convolve(x, [1, 2, 3])", "gradient(x)"] {
        let mistakes = resolve(&format!("input x: f32[n]\n{call}")).unwrap_err();
        let text = format!("{mistakes:#}");
        assert!(text.starts_with("error[P003]: at most 12 expressions are accepted"), "{text}");
        assert!(text.contains("help: split the program into several programs"), "{text}");
        assert_eq!(mistakes.as_slice().len(), 1, "{text}");
    }
    // An equal expression is one of the graph, and has been requested twice.
    let mistakes = resolve(&format!("input x: f32[n]\n{}x", "exp(x) + ".repeat(9))).unwrap_err();
    assert!(mistakes.to_string().contains("12 expressions"), "{mistakes}");
}

#[test]
fn values_of_loops_are_limited() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let chain = (0..100).fold(x, |chain, step| (chain * x + step).exp());
    let compile =
        |max_values| chain.compile_with(&CompileOptions { max_values, ..CompileOptions::default() });
    assert!(compile(10_000).is_ok());
    let error = compile(50).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the loops of the expression have more than 50 values, the limit of these options; split the expression, or raise `max_values`"
    );
    // Code for other layouts and short sizes keeps to the limit as well: what exceeds it then is an error of the call.
    let level = Some(CpuLevel::Baseline);
    let kernel =
        chain.compile_with(&CompileOptions { max_values: 1_000, level, ..CompileOptions::default() });
    let data = [1.0f32; 8];
    let view = ArrayView::strided(&data, 7, &[4], &[-2]).unwrap();
    assert!(kernel.unwrap().run(view).is_ok());
}
