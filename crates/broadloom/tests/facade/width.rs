//! Every loop runs at the full width of the vector registers, wherever the CPU has them.

use broadloom::prelude::*;
use broadloom::{CompileOptions, CpuLevel, DType, Executable, LoopInfo, Op};

/// What is compiled, by name.
type Family = (&'static str, fn(&Graph) -> Vec<Tensor>);

const FAMILIES: &[Family] = &[
    ("saxpy", |g| vec![2.5 * vector::<f32>(g, "x") + vector::<f32>(g, "y")]),
    ("a chain", |g| {
        let (x, y) = (vector::<f32>(g, "x"), vector::<f32>(g, "y"));
        vec![((x * 1.5 - y).abs() + 0.25).square().minimum(4.0)]
    }),
    ("Horner", |g| {
        let x = vector::<f64>(g, "x");
        vec![(1..9).fold(x * 9.0, |sum, coefficient| (sum + coefficient) * x)]
    }),
    ("an outer product", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 1]);
        vec![(x.square() + vector::<f32>(g, "y").square()).sqrt()]
    }),
    ("a count of a comparison", |g| {
        let x = vector::<f32>(g, "x");
        vec![x.gt(0.5).sum(..), select(x.gt(0.5), x, x * 0.5).sum(..)]
    }),
    ("thresholds of bytes", |g| vec![vector::<u8>(g, "x").gt(100).cast::<u8>() * 255]),
    ("a picture normalised", |g| {
        let x = g.input::<u8>("x", shape![g.symbol("h"), g.symbol("w"), 3]);
        let [mean, scale] = ["mean", "scale"].map(|name| g.input::<f32>(name, shape![3]));
        vec![(x.cast::<f32>() - mean) * scale]
    }),
    ("functions", |g| {
        let (x, y) = (vector::<f32>(g, "x"), vector::<f32>(g, "y"));
        vec![(-x * x).exp() * y.sin() + x.abs().log1p(), x.gelu()]
    }),
    ("softmax", |g| vec![matrix::<f32>(g).softmax(1)]),
    ("short rows, normalised", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 64]);
        vec![(x - x.mean_keepdims(1)) / x.std_keepdims(1)]
    }),
    ("products of matrices", |g| {
        let [n, m, k] = ["n", "m", "k"].map(|name| g.symbol(name));
        let [x, y] = [("x", [n, k]), ("y", [k, m])].map(|(name, shape)| g.input::<f32>(name, shape));
        let [a, b] = [("a", [n, k]), ("b", [k, m])].map(|(name, shape)| g.input::<f64>(name, shape));
        vec![x.matmul(y), a.matmul(b)]
    }),
    ("casts", |g| {
        let (x, y) = (vector::<f64>(g, "x"), vector::<u8>(g, "y"));
        let small = [x.cast::<i64>(), x.cast::<u32>(), y.cast::<i64>(), x.cast::<i8>()];
        [small.to_vec(), vec![y.cast::<f64>(), y.cast::<f16>(), x.gt(0.0)]].concat()
    }),
    ("arrays backwards", |g| {
        let (x, y) = (vector::<f32>(g, "x"), vector::<u8>(g, "y"));
        vec![x.flip(0) + x, y.flip(0) + y]
    }),
    ("standardised columns", |g| {
        let x = matrix::<f64>(g);
        vec![(x - x.mean(0)) / x.std(0)]
    }),
    ("sums, products and extremes", |g| {
        let x = matrix::<f32>(g);
        vec![x.sum(0), x.sum(1), x.prod(1), x.max(0), x.argmin(1), x.argmax(0)]
    }),
    ("integers", |g| {
        let (x, y) = (vector::<i64>(g, "x"), vector::<i64>(g, "y"));
        vec![(x * y + x).remainder(7), x.floor_divide(y), x.maximum(y), x.count_ones()]
    }),
    ("16-bit floats", |g| {
        let x = vector::<f16>(g, "x");
        vec![x.exp() + 1, x.cast::<bf16>()]
    }),
    ("a transpose", |g| {
        let n = g.symbol("n");
        let [x, y] = ["x", "y"].map(|name| g.input::<f32>(name, shape![n, n]));
        vec![x + y.t()]
    }),
    ("rows that data choose", |g| {
        let rows = g.input::<i64>("rows", shape![g.symbol("k")]);
        vec![matrix::<f32>(g).take(rows, 0)]
    }),
];

fn vector<T: Element>(g: &Graph, name: &str) -> Tensor {
    g.input::<T>(name, shape![g.symbol("m")])
}

fn matrix<T: Element>(g: &Graph) -> Tensor {
    g.input::<T>("table", shape![g.symbol("rows"), g.symbol("columns")])
}

fn compiled(family: &Family, vector_bytes: usize) -> Executable {
    let graph = Graph::new();
    let outputs: Vec<(String, Tensor)> =
        (0..).zip(family.1(&graph)).map(|(at, tensor)| (format!("out{at}"), tensor)).collect();
    let options = CompileOptions { vector_bytes, ..CompileOptions::default() };
    graph.compile_with(outputs.iter().map(|(name, tensor)| (name.as_str(), *tensor)), &options).unwrap()
}

/// Bytes of the widest registers that there is code for.
fn widest() -> usize {
    match CpuLevel::detect() {
        CpuLevel::Avx512 if cfg!(unix) => 64,
        CpuLevel::Avx2Fma if cfg!(unix) => 32,
        _ => 16,
    }
}

#[test]
fn loops_are_as_wide_as_the_registers() {
    for family in FAMILIES {
        for limit in [16, 32, 64, usize::MAX] {
            let widths = compiled(family, limit).explain().vector_bytes();
            let expected = limit.min(widest());
            assert!(widths.iter().all(|bytes| *bytes == expected), "{}: {widths:?}, of {limit}", family.0);
        }
    }
}

/// As many registers of each value as there would be of 16 bytes.
#[test]
fn wider_loops_have_more_lanes() {
    for limit in [16, 32, 64] {
        let bytes = limit.min(widest());
        let lanes = |family: &str| {
            let family = FAMILIES.iter().find(|each| each.0 == family).unwrap();
            compiled(family, limit).explain().kernel_infos()[0].inner_loops[0].lanes
        };
        assert_eq!(lanes("saxpy"), bytes, "{limit}");
        // Bytes are widened as they are loaded, and elements three apart are gathered.
        assert_eq!(lanes("a picture normalised"), 16, "{limit}");
    }
}

/// Of these, everything that an innermost loop along an axis needs is in registers, or a constant. A transpose is not among
/// them: its loop walks eight rows of each array at once, which is more addresses than there are registers for. Loops that
/// merge results are along no axis: they run once for a block of a thousand elements.
const IN_REGISTERS: [&str; 7] = [
    "saxpy",
    "a chain",
    "Horner",
    "an outer product",
    "a count of a comparison",
    "thresholds of bytes",
    "a picture normalised",
];

#[test]
fn inner_loops_of_arithmetic_do_not_spill() {
    for name in IN_REGISTERS {
        let family = FAMILIES.iter().find(|family| family.0 == name).unwrap();
        for limit in [16, 32, 64] {
            let kernel = compiled(family, limit).explain();
            let loops: Vec<LoopInfo> =
                kernel.kernel_infos().into_iter().flat_map(|info| info.inner_loops).collect();
            assert!(!loops.is_empty(), "{name}");
            for entry in loops {
                let bytes = entry.vector_bytes;
                assert_eq!(entry.spills, (bytes > 16).then_some(0), "{name}, {bytes} bytes: {entry}");
            }
        }
    }
}

/// What loops with functions that they compute themselves are asked for: only as wide as tile functions are they faster.
const INLINING: [(Op, Family); 6] = [
    (
        Op::Exp,
        ("sums of weights over pairs", |g| {
            let [n, m] = g.symbols(["n", "m"]);
            let [x, y] = [("x", n), ("y", m)].map(|(name, rows)| g.input::<f32>(name, shape![rows, 3]));
            let distances = (x.unsqueeze(1) - y).square().sum(-1);
            vec![(distances * -0.5).exp().matmul(g.input::<f32>("b", shape![m, 1]))]
        }),
    ),
    (Op::Exp, ("a curve", |g| vec![(-vector::<f32>(g, "x").square()).exp() * 0.5])),
    (Op::Exp, ("means of columns", |g| vec![matrix::<f32>(g).exp().mean(0)])),
    (Op::Exp, ("sums of rows", |g| vec![matrix::<f32>(g).exp().sum(1)])),
    (Op::Exp, ("softmax of short rows", |g| vec![g.input::<f32>("x", shape![g.symbol("n"), 20]).softmax(1)])),
    (Op::Sin, ("a wave with rare lanes", |g| vec![(vector::<f32>(g, "x") * 0.25).sin() * 0.5])),
];

#[test]
fn loops_compute_functions() {
    for ((op, family), limit) in INLINING.iter().flat_map(|each| [16, 32, 64].map(|limit| (each, limit))) {
        let explanation = compiled(family, limit).explain();
        let (name, bytes) = (family.0, limit.min(widest()));
        let infos = explanation.kernel_infos();
        let is_called = infos.iter().any(|info| info.called == [(*op, DType::F32)]);
        assert_eq!(is_called, bytes == 16, "{name}, {bytes} bytes: {explanation}");
        let loops: Vec<&LoopInfo> = infos.iter().flat_map(|info| &info.inner_loops).collect();
        let inlining: Vec<&&LoopInfo> =
            loops.iter().filter(|each| each.inlined == [(*op, DType::F32)]).collect();
        assert_eq!(inlining.is_empty(), bytes == 16, "{name}, {bytes} bytes: {explanation}");
        for each in &inlining {
            assert_eq!(each.vector_bytes, bytes, "{name}: {explanation}");
            assert!(each.called.is_empty(), "{name}: {explanation}");
        }
        assert_eq!(inlining.iter().any(|each| each.lanes == 16), bytes > 16, "{name}: {explanation}");
        if bytes > 16 && ["a curve", "sums of rows"].contains(&name) {
            let spills: Vec<Option<usize>> = inlining.iter().map(|each| each.spills).collect();
            assert!(spills.iter().all(|spills| *spills == Some(0)), "{spills:?}: {explanation}");
        }
        assert_eq!(explanation.to_string().contains(&format!("inlined {op} (f32)")), bytes > 16, "{name}");
    }
}

/// A loop leaves the lanes for which its operations are not right to the tile function, which narrower code calls for all.
macro_rules! rare_lanes {
    ($test:ident, $float:ident, $far:literal) => {
        #[test]
        fn $test() {
            let g = Graph::new();
            let (x, y) = (vector::<$float>(&g, "x"), vector::<$float>(&g, "y"));
            let results = [x.sin() * y, x.cos() + y.tan(), x.remainder(y), x.fmod(y) * x.floor_divide(y)];
            for result in results {
                let [narrow, wide] = [16, usize::MAX].map(|vector_bytes| {
                    let options = CompileOptions { vector_bytes, ..CompileOptions::default() };
                    result.compile_with(&options).unwrap()
                });
                for count in (0..40).chain([256, 1003]) {
                    let special = [$far, $float::INFINITY, $float::NAN, 0.0];
                    // Registers with one rare lane, in any place, with several, and with none.
                    let numbers = |step: usize| -> Vec<$float> {
                        let number = |at: usize| match at * step % 13 {
                            0 => special[at / 13 % special.len()],
                            _ => (at as $float * 0.37 - 60.0) * step as $float,
                        };
                        (0..count).map(number).collect()
                    };
                    let (x, y) = (numbers(1), numbers(5));
                    let run = |kernel: &Executable| -> Vec<_> {
                        let inputs = inputs! { "x" => &x, "y" => &y };
                        let found: Vec<$float> = kernel.run(inputs).unwrap().try_into().unwrap();
                        found.into_iter().map($float::to_bits).collect()
                    };
                    assert_eq!(run(&wide), run(&narrow), "{count} elements: {}", wide.explain());
                }
            }
        }
    };
}

rare_lanes!(rare_lanes_of_f32_have_the_bits_of_narrow_code, f32, -1e30);
rare_lanes!(rare_lanes_of_f64_have_the_bits_of_narrow_code, f64, 1e300);

#[test]
fn loops_are_listed_with_what_they_call() {
    let mixed: Family = ("a mix", |g| vec![vector::<f32>(g, "x").pow(2.7) + 1, vector::<i64>(g, "y").gcd(6)]);
    let infos = compiled(&mixed, usize::MAX).explain().kernel_infos();
    assert!(infos.iter().any(|info| info.called == [(Op::Pow, DType::F32)]));
    let loops: Vec<&LoopInfo> = infos.iter().flat_map(|info| &info.inner_loops).collect();
    assert!(loops.iter().any(|each| each.called == [(Op::Gcd, DType::I64)]));
    assert!(loops.iter().all(|each| each.axis == "m" && each.vector_bytes == widest() && each.unrolled == 1));
}

/// A loop around another one has no vectors: the factors of a whole strip are computed together, by a loop of their own or,
/// where vectors are short, by a call.
#[test]
fn functions_of_outer_loops_go_by_strips() {
    let factors: Family = ("factors of rows", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 1]);
        vec![x.exp() * vector::<f32>(g, "y")]
    });
    let exp = [(Op::Exp, DType::F32)];
    for limit in [16, usize::MAX] {
        let infos = compiled(&factors, limit).explain().kernel_infos();
        let is_wide = limit.min(widest()) > 16;
        assert_eq!(infos[0].called, if is_wide { &exp[..0] } else { &exp });
        let inlined = infos[0].inner_loops.iter().find(|each| !each.inlined.is_empty());
        assert_eq!(inlined.map(|each| &each.inlined[..]), is_wide.then_some(&exp[..]));
        assert!(inlined.is_none_or(|each| each.lanes >= 16));
    }
}

/// A strip of rows that are merged with others' elements beside them computes its functions itself.
#[test]
fn functions_of_short_rows_are_inlined() {
    let rows: Family = ("rows of a hundred", |g| {
        let (x, y) = (g.input::<f32>("x", shape![g.symbol("n"), 1]), g.symbol("n"));
        vec![(g.input::<f32>("z", shape![y, 100]) - x).exp().tanh()]
    });
    let infos = compiled(&rows, usize::MAX).explain().kernel_infos();
    let called: Vec<Op> = infos[0].called.iter().map(|(op, _)| *op).collect();
    assert_eq!(called, if widest() > 16 { vec![] } else { vec![Op::Exp, Op::Tanh] });
}

/// Where no loop has a row in each lane, functions along short rows are called: inside another reduction, whose lanes are those of a
/// loop around, and beside a row that is kept for one step, so that loops cannot take turns.
#[test]
fn functions_of_short_rows_are_called_where_no_lanes_have_them() {
    let families: [Family; 2] = [
        ("the greatest of sums of rows", |g| {
            let x = g.input::<f32>("x", shape![g.symbol("b"), g.symbol("n"), 32]);
            vec![x.exp().sum(2).max(1)]
        }),
        ("sums of rows beside a softmax", |g| {
            let x = g.input::<f32>("x", shape![g.symbol("n"), 60]);
            vec![g.input::<f32>("y", shape![g.symbol("n"), 100]).softmax(1) * x.exp().sum_keepdims(1)]
        }),
    ];
    for (name, family) in families {
        let explanation = compiled(&(name, family), usize::MAX).explain();
        let infos = explanation.kernel_infos();
        assert!(infos.iter().any(|info| info.called == [(Op::Exp, DType::F32)]), "{name}: {explanation}");
        let mut loops = infos.iter().flat_map(|info| &info.inner_loops);
        assert!(loops.all(|each| each.inlined.is_empty()), "{name}: {explanation}");
    }
}

/// A call leaves no vector register as it was. What an inner loop behind it reads in each step, it reads back before.
#[test]
fn loops_behind_calls_do_not_spill() {
    let beside: Family = ("constants beside factors of rows", |g| {
        let x = g.input::<f32>("x", shape![g.symbol("n"), 1]);
        vec![(vector::<f32>(g, "y") * 0.5 + 0.25).maximum(x.pow(2.7))]
    });
    for limit in [32, 64] {
        let infos = compiled(&beside, limit).explain().kernel_infos();
        assert_eq!(infos[0].called, [(Op::Pow, DType::F32)]);
        let loops: Vec<&LoopInfo> = infos.iter().flat_map(|info| &info.inner_loops).collect();
        assert!(loops.iter().any(|entry| entry.lanes > 1));
        assert!(loops.iter().all(|entry| matches!(entry.spills, None | Some(0))), "{loops:?}");
    }
}

#[test]
fn the_width_can_be_limited() {
    for (limit, bytes) in [(0, 16), (16, 16), (31, 16), (32, 32), (63, 32), (64, 64)] {
        let kernel = compiled(&FAMILIES[0], limit);
        let bytes = bytes.min(widest());
        assert_eq!(kernel.explain().vector_bytes(), [bytes]);
        assert!(kernel.explain().to_string().contains(&format!("vectors of {bytes} bytes")));
    }
}
