//! Texts that nobody would write: whatever they are, there is an answer, soon, on a small stack.

use broadloom_ir::dtype::DType;
use broadloom_text::{Given, Limits, Program};
use cpu_time::ThreadTime;
use proptest::prelude::*;
use std::time::Duration;

/// Parses and resolves, prints what resolves, and formats what does not.
fn survive(text: &str) {
    let start = ThreadTime::now();
    let names = ["", "a", "é"].map(Box::from);
    let given = [
        Given { name: "x", dtype: DType::F32, shape: &[4, 3], rows: None, names: None },
        Given { name: "i", dtype: DType::I64, shape: &[4], rows: None, names: None },
        Given { name: "city", dtype: DType::I64, shape: &[4], rows: None, names: Some(&names) },
    ];
    match Program::parse("hostile", text).and_then(|program| program.resolve_with(&given)) {
        Ok(graph) => {
            let printed = broadloom_text::print(&graph);
            // A printed program declares what was given, and is longer than a text at the limits.
            let mut limits = Limits::default();
            for limit in [&mut limits.length, &mut limits.tokens, &mut limits.nodes] {
                *limit *= 4;
            }
            let again = Program::parse_within("printed", &printed, &limits);
            let again = again.and_then(|program| program.resolve());
            let again = again.unwrap_or_else(|mistakes| panic!("{text}\n{printed}\n{mistakes:#}"));
            assert_eq!(broadloom_text::print(&again), printed, "{text}");
        }
        Err(mistakes) => assert!(!format!("{mistakes}{mistakes:#}").is_empty()),
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{} bytes took too long", text.len());
}

/// Runs on the stack of a thread as Rust starts them.
fn on_small_stack(action: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(2 << 20).spawn_scoped(scope, action);
        thread.unwrap().join().unwrap();
    });
}

/// Pieces of programs that meet each other in any order.
const PIECES: &[&str] = &[
    "x",
    "i",
    "n",
    "m",
    "y",
    "symbols",
    "symbols n, m\n",
    "assume",
    "assume n >= 1\n",
    "assume n == 2*m\n",
    "input",
    "input y: f32[n, _, #m]\n",
    "input z: i8[2*n//3, 4]\n",
    "parameters p\n",
    "let",
    "let a = ",
    "output",
    "output b = ",
    "assign",
    "assign x = ",
    "\n",
    ";",
    "#",
    "# n",
    " ",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "&",
    "|",
    "^",
    "~",
    "<<",
    ">>",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "=",
    "(",
    ")",
    "[",
    "]",
    "{",
    ",",
    ":",
    "::",
    "::-1",
    ".",
    "...",
    "@",
    "!",
    "0",
    "1",
    "2",
    "-1",
    "3.5",
    "1e308",
    "99999999999999999999",
    "9223372036854775807",
    "0x7f",
    "1_000",
    "True",
    "None",
    "inf",
    "nan",
    "pi",
    "f32",
    "u8",
    "bool",
    "f32(",
    "sum(",
    "matmul(",
    "dot(x, ",
    "outer(",
    "tensordot(",
    "kron(",
    "einsum('ij,jk->ik', ",
    "einsum(",
    "'i...,...j'",
    "\"ii\"",
    "city",
    "city == 'a'",
    "\"a\" != city",
    "'b'",
    "''",
    "segment_sum(x, city)",
    "x[city == 'a'].mean(",
    "'",
    "max(",
    "where(",
    "reshape(",
    "broadcast_to(",
    "concat([",
    "stack([",
    "take(",
    "softmax(",
    "var(",
    "segment_sum(",
    "arange(",
    "linspace(",
    "squeeze(",
    "expand_dims(",
    "clip(",
    "rebind(",
    "permute_dims(",
    "np.",
    ".T",
    ".sum(",
    ".astype(",
    "axis=",
    "keepdims=True",
    "initial=",
    "correction=",
    "\"a b\"",
    "'",
    "\"",
    "é",
    "日本",
    "\u{202e}",
    "\0",
    "\\\n",
    "and",
    "not",
    "lambda",
    "for",
    "if",
    "_",
    "likely(n)",
];

fn pieces() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..40).prop_map(|pieces| pieces.concat())
}

/// Programs that are mostly right, so that more of them reach the graph.
const EXPRESSIONS: &[&str] = &[
    "x",
    "x[::-1]",
    "x[1:, None]",
    "x[:, i]",
    "x[i]",
    "x.T",
    "x.sum(axis=0)",
    "max(x, axis=1, keepdims=True)",
    "x ** 2",
    "i",
    "-x",
    "~i",
    "2",
    "1.5",
    "x.reshape(-1)",
    "x.reshape(2, -1)",
    "softmax(x, axis=-1)",
    "where(x > 0, x, 0)",
    "arange(4)",
    "f16(1.5)",
    "x.astype(bf16)",
    "x.astype(u8)",
    "concat([x, x])",
    "stack([i, i])",
    "std(x, axis=0)",
    "segment_sum(x, i, 3)",
    "linspace(0, 1, 3)",
    "inf",
    "nan",
    "x[1:3, 0]",
    "x[3:0:-2]",
    "argmin(x, axis=1)",
];
const OPERATORS: &[&str] =
    &[" + ", " - ", " * ", " / ", " // ", " % ", " ** ", " & ", " < ", " == ", " << ", ", ", "["];

fn sentences() -> impl Strategy<Value = String> {
    let part = (prop::sample::select(EXPRESSIONS), prop::sample::select(OPERATORS));
    prop::collection::vec((part, any::<bool>()), 1..6).prop_map(|parts| {
        let mut text = String::new();
        for (index, ((expression, operator), ends)) in parts.iter().enumerate() {
            text += expression;
            if index + 1 < parts.len() {
                let next = format!("\nv{index} = ");
                text += if *ends { &next } else { operator };
            }
        }
        format!("v = {text}")
    })
}

const PROGRAM: &str = "symbols n, k\nassume n >= 1, k % 4 == 0\ninput obs: f32[n, 3]\ninput codes: f32[k, #n]\n\
    let diff = codes[None, :, :] - obs[:, None, :] # comment\noutput code = argmin(sum(diff ** 2, axis=-1), axis=1)\n";

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_pieces(text in pieces()) {
        survive(&text);
    }

    #[test]
    fn random_sentences(text in sentences()) {
        survive(&text);
    }

    #[test]
    fn random_text(text in ".{0,80}") {
        survive(&text);
    }

    #[test]
    fn damaged_programs(at in 0..PROGRAM.len(), to in 0..PROGRAM.len(), piece in prop::sample::select(PIECES)) {
        survive(&PROGRAM[..at]);
        survive(&format!("{}{piece}{}", &PROGRAM[..at], &PROGRAM[to..]));
    }
}

#[test]
fn deep_and_long_texts() {
    let many = 60_000;
    let texts = [
        "(".repeat(many),
        "[".repeat(many),
        "x[".repeat(many),
        "sum(".repeat(many),
        "-".repeat(many) + "x",
        "~".repeat(many),
        "2**".repeat(many) + "1",
        "x".to_owned() + &"[0".repeat(many),
        "x".to_owned() + &" + x".repeat(many / 3),
        "x".to_owned() + &".T".repeat(many / 3),
        "x".to_owned() + &"[None][0]".repeat(many / 9),
        "x".to_owned() + &".sum(axis=0, keepdims=True)".repeat(many / 20),
        "1".to_owned() + &" + 1".repeat(many / 3),
        "2".to_owned() + &" * 2".repeat(many / 3),
        format!("concat([{}])", "x, ".repeat(many / 3)),
        format!("x.reshape({})", "1, ".repeat(many / 3)),
        format!("x[{}]", "None, ".repeat(many / 3)),
        format!("x.sum(axis=({}))", "0, ".repeat(many / 3)),
        "a".repeat(200_000),
        "9".repeat(200_000),
        "#".repeat(200_000),
        "\n".repeat(200_000),
        "\"".repeat(200_000),
        "x;".repeat(many / 3),
        format!("symbols {}", (0..15_000).map(|n| format!("s{n}, ")).collect::<String>() + "z"),
        "let a0 = x\n".to_owned()
            + &(1..5000).map(|n| format!("let a{n} = a{0} * a{0}\n", n - 1)).collect::<String>()
            + "a4999",
        "let a0 = x\n".to_owned()
            + &(1..2000).map(|n| format!("let a{n} = concat([a{0}, a{0}])\n", n - 1)).collect::<String>()
            + "a1999",
        "symbols n\n".to_owned()
            + &(0..3000).map(|n| format!("input i{n}: f32[_, n]\n")).collect::<String>()
            + &(1..3000).map(|n| format!("let s{n} = i{n} + i{}\n", n - 1)).collect::<String>()
            + "s1",
        format!("symbols n, m\ninput y: f32[{}]\ny", ["(n + m + 1)"; 60].join(" * ")),
        format!("symbols n\ninput y: f32[{}n{}]\ny", "(".repeat(60), "// 3 + n)".repeat(60)),
        format!(
            "symbols {0}\n{1}input y: f32[s0]\ny",
            (0..500).map(|n| format!("s{n}")).collect::<Vec<_>>().join(", "),
            (1..500).map(|n| format!("assume s{n} == 2*s{} + 1\n", n - 1)).collect::<String>()
        ),
    ];
    on_small_stack(|| texts.iter().for_each(|text| survive(text)));
}

/// Programs of many statements, which must not take the square of their time.
#[test]
fn wide_texts() {
    let texts = [
        "symbols n\n".to_owned()
            + &(0..4000).map(|n| format!("input i{n}: f32[_]\n")).collect::<String>()
            + &(1..4000).map(|n| format!("a{n} = i{n} + i{}\n", n - 1)).collect::<String>(),
        "symbols n\n".to_owned()
            + &(0..3000).map(|n| format!("input i{n}: f32[_]\n")).collect::<String>()
            + &(1..3000).map(|n| format!("a{n} = concat([i{n}, i{}]) + i0\n", n - 1)).collect::<String>(),
        "symbols n\n".to_owned()
            + &(0..3000).map(|n| format!("input i{n}: f32[_]\n")).collect::<String>()
            + &(1..3000).map(|n| format!("a{n} = i{n}.reshape(2, -1)\n")).collect::<String>(),
        "input y: f32[n]\n".to_owned() + &(1..3000).map(|n| format!("a{n} = y[{n}:]\n")).collect::<String>(),
        format!(
            "symbols {}\ninput y: f32[{}]\ny",
            (0..300).map(|n| format!("s{n}")).collect::<Vec<_>>().join(", "),
            ["s1 // 3"; 30].join(" * ")
        ),
        "x".to_owned() + &".astype(f16).astype(f64)".repeat(3000),
        "input y: f32[n, 3]\ny".to_owned() + &" / y.sum(axis=1)".repeat(3000),
        (0..4000).map(|n| format!("a{n} = unknown{n}\n")).collect::<String>(),
        "input y: f32[n]\ny".to_owned() + &"[::-1000000007]".repeat(1000),
        "input y: f32[n]\n".to_owned()
            + &(0..2000).map(|n| format!("a{n} = softmax(y + {n})\n")).collect::<String>(),
    ];
    on_small_stack(|| texts.iter().for_each(|text| survive(text)));
}

/// The deepest nest that is accepted, on the stack of a thread in a debug build.
#[test]
fn the_limit_of_nesting_fits_the_stack() {
    on_small_stack(|| {
        for (open, close) in
            [("(", ")"), ("sum([", "])"), ("x[", "]"), ("-(", ")"), ("abs(", ")"), ("2 ** (", ")")]
        {
            survive(&format!("{}1{}", open.repeat(63), close.repeat(63)));
            survive(&format!("{}1{}", open.repeat(31), close.repeat(31)));
        }
    });
}
