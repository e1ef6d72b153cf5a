//! Values of compositions in the text language, interpreted and compiled: at the ends of integers, in floats of 16 bits, with
//! constants and with numbers that only a run knows. Right values are those of NumPy 2.4 or, where a comment says so, of exact
//! arithmetic.

use crate::support::bits::bits;
use broadloom::prelude::*;
use broadloom::{AnyArray, CallError, CompileOptions, CpuLevel, Executable, Inputs, RunError, Threads};
use broadloom_ir::graph::{BoundsFault, CheckedGraph};
use broadloom_ir::interp::{Array, InterpretError, interpret};
use broadloom_text::Program;
use half::{bf16, f16};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// A vector.
fn v<T: Element>(elements: &[T]) -> Array {
    Array::new(&[elements.len()], elements)
}

fn scalar<T: Element>(value: T) -> Array {
    Array::new(&[], &[value])
}

fn f16s(elements: &[f64]) -> Array {
    v(&elements.iter().map(|element| f16::from_f64(*element)).collect::<Vec<_>>())
}

fn bf16s(elements: &[f64]) -> Array {
    v(&elements.iter().map(|element| bf16::from_f64(*element)).collect::<Vec<_>>())
}

/// The program of an expression of inputs `x`, `y`, `z`; sizes are symbols if so asked.
fn program(expression: &str, inputs: &[Array], symbolic: bool) -> String {
    let mut text = String::from(if symbolic { "symbols a, b, c\n" } else { "" });
    for ((name, symbol), array) in ["x", "y", "z"].iter().zip(["a", "b", "c"]).zip(inputs) {
        let shape = match (symbolic, array.shape.len()) {
            (true, 1) => format!("[{symbol}]"),
            _ => format!("{:?}", array.shape),
        };
        text.push_str(&format!("input {name}: {}{shape}\n", array.dtype));
    }
    format!("{text}output result = {expression}")
}

fn graph(expression: &str, inputs: &[Array], symbolic: bool) -> Result<CheckedGraph, String> {
    let text = program(expression, inputs, symbolic);
    let graph = Program::parse("expression", &text).and_then(|program| program.resolve());
    graph.map_err(|mistakes| format!("{mistakes:#}"))
}

fn view(array: &Array) -> ArrayView<'static> {
    macro_rules! of {
        ($($type:ty)*) => {
            $(if array.dtype == <$type>::DTYPE && let Some(elements) = array.to_vec::<$type>() {
                return ArrayView::new(Vec::leak(elements), &array.shape).unwrap();
            })*
        };
    }
    of! { bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 }
    panic!("{array:?}")
}

fn run(graph: &CheckedGraph, inputs: &[Array], threads: Threads) -> Result<AnyArray, CallError> {
    let options = CompileOptions { threads, parallel_threshold: 0, ..CompileOptions::default() };
    let kernel = Executable::compile(graph, &options).unwrap();
    // Those that the result does not need are left out.
    let named = ["x", "y", "z"].into_iter().zip(inputs);
    let is_used = |name: &str| kernel.graph().inputs().iter().any(|input| *input.name == *name);
    let used = named.filter(|(name, _)| is_used(name));
    let inputs = used.fold(Inputs::new(), |inputs, (name, array)| inputs.named(name, view(array)));
    kernel.run(inputs).map(|mut outputs| outputs.take("result").unwrap())
}

fn ways() -> [Threads; 2] {
    [Threads::Calling, Threads::count(2).unwrap()]
}

/// Bit for bit, with all NaNs equal: by the interpreter and compiled, for known sizes and for symbols.
#[track_caller]
fn gives(expression: &str, inputs: &[Array], want: Array) {
    gives_for(&[false, true], expression, inputs, want);
}

/// The same for functions that need to know a size.
#[track_caller]
fn gives_known(expression: &str, inputs: &[Array], want: Array) {
    gives_for(&[false], expression, inputs, want);
}

#[track_caller]
fn gives_for(sizes: &[bool], expression: &str, inputs: &[Array], want: Array) {
    for &symbolic in sizes {
        let graph = match graph(expression, inputs, symbolic) {
            Ok(graph) => graph,
            Err(mistakes) => panic!("{expression}: {mistakes}"),
        };
        let have = interpret(&graph, inputs, CpuLevel::detect().is_fused());
        let have = have.unwrap_or_else(|error| panic!("{expression}: {error}")).remove(0);
        let same = have.elements.iter().map(|it| bits(*it)).eq(want.elements.iter().map(|it| bits(*it)));
        assert!(
            same && (have.dtype, &have.shape) == (want.dtype, &want.shape),
            "{expression} of {inputs:?}, interpreted\nhave {have:?}\nwant {want:?}"
        );
        for threads in ways() {
            let have = run(&graph, inputs, threads).unwrap_or_else(|error| panic!("{expression}: {error}"));
            let same = crate::support::bits::array_bits(&have)
                .into_iter()
                .eq(want.elements.iter().map(|it| bits(*it)));
            assert!(
                same && (have.dtype(), have.shape()) == (want.dtype, &want.shape),
                "{expression} of {inputs:?}, compiled\nhave {have:?}\nwant {want:?}"
            );
        }
    }
}

/// Refused while the program is read.
#[track_caller]
fn refuses(expression: &str, inputs: &[Array], because: &str) {
    match graph(expression, inputs, false) {
        Ok(_) => panic!("{expression} is accepted"),
        Err(mistakes) => assert!(mistakes.contains(because), "{expression}: {mistakes}"),
    }
}

/// Refused by the run, whoever computes it.
#[track_caller]
fn fails(expression: &str, inputs: &[Array], fault: BoundsFault, at: usize) {
    for symbolic in [false, true] {
        let graph =
            graph(expression, inputs, symbolic).unwrap_or_else(|mistakes| panic!("{expression}: {mistakes}"));
        match interpret(&graph, inputs, CpuLevel::detect().is_fused()) {
            Err(InterpretError::Bounds { position, fault: found, .. }) => {
                assert_eq!((position, found), (at, fault), "{expression}");
            }
            other => panic!("{expression}: {other:?}"),
        }
        for threads in ways() {
            match run(&graph, inputs, threads) {
                Err(CallError::Run(RunError::Bounds { position, fault: found, .. })) => {
                    assert_eq!((position, found), (vec![at], fault), "{expression}");
                }
                other => panic!("{expression}: {other:?}"),
            }
        }
    }
}

/// The ends of integers, which are NumPy's and those of exact arithmetic.
#[test]
fn numbers_between_ends_of_every_dtype() {
    fn between<T: Element>(low: T, high: T, middle: f64) {
        let [from, to] = [low, high].map(|end| match end.into_scalar().cast(DType::F64) {
            broadloom_ir::dtype::Scalar::F64(end) => end,
            other => panic!("{other:?}"),
        });
        gives("linspace(x, y, 3)", &[scalar(low), scalar(high)], v(&[from, middle, to]));
        gives("linspace(y, x, 3)", &[scalar(low), scalar(high)], v(&[to, middle, from]));
        gives("linspace(x, y, 2, endpoint=False)", &[scalar(low), scalar(high)], v(&[from, middle]));
        gives("linspace(x[0], x[1], 1)", &[v(&[low, high])], v(&[from]));
        gives("linspace(x[0], x[1], 0)", &[v(&[low, high])], v::<f64>(&[]));
    }
    between(i8::MIN, i8::MAX, -0.5);
    between(i16::MIN, i16::MAX, -0.5);
    between(i32::MIN, i32::MAX, -0.5);
    between(i64::MIN, i64::MAX, 0.0);
    between(u8::MIN, u8::MAX, 127.5);
    between(u16::MIN, u16::MAX, 32767.5);
    between(u32::MIN, u32::MAX, 2147483647.5);
    between(u64::MIN, u64::MAX, 9223372036854775808.0);
    between(false, true, 0.5);
    between(-1.7e308, 1.7e308, 0.0);
    let u8s = || v(&[3_u8, 1]);
    gives("linspace(x[0], x[1], 3)", &[u8s()], v(&[3.0, 2.0, 1.0]));
    gives("linspace(x[0], x[1], 3, dtype=i32)", &[u8s()], v(&[3, 2, 1]));
    gives("linspace(x[0], x[1], 4, endpoint=False)", &[u8s()], v(&[3.0, 2.5, 2.0, 1.5]));
    gives("linspace(x[0], 300, 3)", &[u8s()], v(&[3.0, 151.5, 300.0]));
    gives("linspace(-3, 3, 5, dtype=i64)", &[], v(&[-3_i64, -2, 0, 1, 3]));
    gives("linspace(0, 1, 4, endpoint=False)", &[], v(&[0.0, 0.25, 0.5, 0.75]));
    gives("linspace(0, 1, x)", &[scalar(0_i64)], v::<f64>(&[]));
    gives("linspace(0, 1, x)", &[scalar(1_i64)], v(&[0.0]));
    gives("linspace(0, 1, x, endpoint=False)", &[scalar(2_i64)], v(&[0.0, 0.5]));
    gives("linspace(x, 2, 3)", &[scalar(1.0_f32)], v(&[1.0_f32, 1.5, 2.0]));
    gives("linspace(x[0], x[1], 3)", &[v(&[-3e38_f32, 3e38])], v(&[-3e38_f32, 0.0, 3e38]));
    // Exact arithmetic.
    gives("linspace(x[0], x[1], 3)", &[f16s(&[-6e4, 6e4])], f16s(&[-6e4, 0.0, 6e4]));
    gives("linspace(x[0], x[1], 3)", &[bf16s(&[-3e38, 3e38])], bf16s(&[-3e38, 0.0, 3e38]));
    let tiny = [0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 5.0, 5.0].map(|n| n * 5e-324);
    gives("linspace(x, y, 11)", &[scalar(0.0), scalar(2.5e-323)], v(&tiny));
    gives("linspace(x, y, 4)", &[scalar(INF), scalar(INF)], v(&[INF; 4]));
    gives("linspace(x, y, 3)", &[scalar(NAN), scalar(1.0)], v(&[NAN, NAN, 1.0]));
    refuses("linspace(x, 1, 3)", &[u8s()], "takes ends without axes");
}

#[test]
fn sets_keep_what_they_compare() {
    let two = |power: u32| 1_u64 << power;
    gives("setdiff1d(x, [7])", &[v(&[two(63) + 1, 7])], v(&[two(63) + 1]));
    gives("setdiff1d(x, [2.0])", &[v(&[(1_i64 << 53) + 1, 2])], v(&[(1_i64 << 53) + 1]));
    gives("setdiff1d(x, y)", &[v(&[two(63), 5]), v(&[i64::MAX, 5])], v(&[two(63)]));
    gives("setdiff1d(x, y)", &[v(&[i64::MAX, 5, -1]), v(&[two(63), 5])], v(&[-1, i64::MAX]));
    gives("setdiff1d(x, y)", &[v(&[1.0, 0.1_f32]), v(&[0.1, 2.0])], v(&[0.1_f32, 1.0]));
    gives("setdiff1d(x, y)", &[v(&[true, false]), v(&[0_i64])], v(&[true]));
    gives("setdiff1d(x, y)", &[v(&[1_i8, 2, 3]), v(&[2_i64, 300])], v(&[1_i8, 3]));
    gives("setdiff1d(x, y)", &[f16s(&[1.0, 2.0]), v(&[2_u8])], f16s(&[1.0]));
    gives("setdiff1d(x, y)", &[bf16s(&[1.0, 2.0]), v(&[2.0_f32])], bf16s(&[1.0]));
    gives("setdiff1d(x, 300)", &[v(&[44_u8])], v(&[44_u8]));
    gives("union1d(x, 300)", &[v(&[44_u8])], v(&[44_i64, 300]));
    // Exact arithmetic: integers are compared as integers, and only the result becomes NumPy's `f64`.
    let mixed = || [v(&[two(63), 5, 5]), v(&[i64::MAX, 5, -1])];
    gives("intersect1d(x, y)", &mixed(), v(&[5.0]));
    gives("intersect1d(y, x)", &mixed(), v(&[5.0]));
    let [most, one] = [9223372036854775808.0, -1.0];
    gives("union1d(x, y)", &mixed(), v(&[one, 5.0, most, most]));
    gives("setxor1d(x, y)", &mixed(), v(&[one, most, most]));
    gives("union1d(x, y)", &[v(&[3_u8, 1]), v(&[-1_i8, 3])], v(&[-1_i16, 1, 3]));
    gives("intersect1d(x, y)", &[v(&[3_u8, 1]), v(&[-1_i8, 3])], v(&[3_i16]));
}

#[test]
fn numbers_that_become_arrays_of_their_own() {
    gives_known("polyval(x, 2)", &[v(&[255_u8, 255])], scalar(765_i64));
    gives_known("polyval(x, 0.1)", &[v(&[1.0_f32, 2.0])], scalar(2.1));
    gives_known("polyval(x, 3)", &[f16s(&[1.0, 2.0])], scalar(5.0));
    gives_known("polyval(x, 2)", &[v(&[true, true])], scalar(3_i64));
    gives("polyval([255, 255], x)", &[v(&[2_u8])], v(&[765_i64]));
    gives_known("polyval(x, y)", &[v(&[1_u8, 2]), v(&[200_u8])], v(&[202_u8]));
    gives("append(x, 300)", &[v(&[1_u8])], v(&[1_i64, 300]));
    gives("append(x, 0.1)", &[v(&[1.0_f32])], v(&[1.0, 0.1]));
    gives("append(x, False)", &[v(&[true])], v(&[true, false]));
    gives("float_power(x, 0.5)", &[v(&[2.0_f32])], v(&[2.0_f64.sqrt()]));
    gives("float_power(0.1, x)", &[v(&[1.0_f32])], v(&[0.1]));
    gives("float_power(0.1, x)", &[f16s(&[1.0])], v(&[0.1]));
    gives("float_power(x, 70000)", &[f16s(&[1.0])], v(&[1.0]));
    for (of, want) in [(0.0, false), (1.0, true)] {
        gives(&format!("isin(x, {}e-50)", of as i32), &[v(&[0.0_f32])], v(&[of == 0.0]));
        gives("isin(x, y)", &[v(&[1.0_f32]), v(&[of])], v(&[want]));
    }
    gives("isin(x, 0.1)", &[v(&[0.1_f32])], v(&[false]));
    gives("isin(x, 0.5)", &[f16s(&[0.5, 0.1])], v(&[true, false]));
    gives("isin(x, 16777217)", &[v(&[16777216.0_f32])], v(&[false]));
    gives("isin(x, 300)", &[v(&[44_u8])], v(&[false]));
    gives("searchsorted(x, 0.1)", &[v(&[0.1_f32])], scalar(0_i64));
    gives("searchsorted(x, 0.1, side='right')", &[v(&[0.1_f32])], scalar(0_i64));
    gives("digitize(0.1, x)", &[v(&[0.1_f32, 1.0])], scalar(0_i64));
}

#[test]
fn bounds_in_order() {
    // Few bounds are compared one by one, many are searched.
    let many = |bounds: &[f64], filler: f64| {
        let mut all = bounds.to_vec();
        all.extend(std::iter::repeat_n(filler, 20));
        all
    };
    let x = [1.0, 0.5, NAN, 5.0];
    for (bounds, right, want) in [
        (&[0.0, 1.0, NAN][..], false, [2_i64, 1, 3, 2]),
        (&[0.0, 1.0, NAN], true, [1, 1, 2, 2]),
        (&[NAN, 1.0, 0.0], false, [1, 2, 0, 1]),
        (&[0.0, 1.0], false, [2, 1, 2, 2]),
        (&[0.0, 1.0], true, [1, 1, 2, 2]),
        (&[1.0, 0.0], false, [0, 1, 0, 0]),
        (&[1.0, 1.0], false, [2, 0, 2, 2]),
    ] {
        let list: Vec<String> =
            bounds.iter().map(f64::to_string).map(|it| it.replace("NaN", "nan")).collect();
        let flag = if right { "True" } else { "False" };
        gives(&format!("digitize(x, y, right={flag})"), &[v(&x), v(bounds)], v(&want));
        gives(&format!("digitize(x, [{}], right={flag})", list.join(", ")), &[v(&x)], v(&want));
        let narrow = |of: &[f64]| f16s(of);
        gives(&format!("digitize(x, y, right={flag})"), &[narrow(&x), narrow(bounds)], v(&want));
    }
    gives("digitize(x, y)", &[v(&x), v(&many(&[0.0, 1.0], NAN))], v(&[2_i64, 1, 22, 2]));
    gives("digitize(x, y, right=True)", &[v(&x), v(&many(&[0.0, 1.0], NAN))], v(&[1_i64, 1, 2, 2]));
    gives("digitize(x, y)", &[v(&x), v(&many(&[1.0, 0.75], 0.0))], v(&[0_i64, 2, 0, 0]));
    for (bounds, at) in [
        (&[3.0, 1.0, 2.0][..], 1),
        (&[0.0, 2.0, 1.0, 3.0], 2),
        (&[0.0, NAN, 1.0], 2),
        (&[2.0, NAN, 1.0], 1),
        (&many(&[1.0, 3.0], 2.0)[..], 2),
    ] {
        // From the first bound to the last, the order is known; the first pair against it is named.
        let fault = BoundsFault::Unordered;
        fails("digitize(x, y)", &[v(&x), v(bounds)], fault, digitize_fault(bounds).unwrap_or(at));
        fails("digitize(x, y)", &[f16s(&x), f16s(bounds)], fault, digitize_fault(bounds).unwrap_or(at));
    }
    fails("digitize(x, y)", &[v(&[1_u8]), v(&[3_u8, 1, 2])], BoundsFault::Unordered, 2);
    fails("digitize(x, y)", &[v(&[1_i64]), v(&[0_u64, 1 << 63, 5])], BoundsFault::Unordered, 2);
    for bounds in ["[3, 1, 2]", "[0.0, nan, 1.0]", "[3.0, 1.0, 2.0]"] {
        refuses(&format!("digitize(x, {bounds})"), &[v(&x)], "takes bounds that increase or decrease");
    }
}

/// The first bound against the order from the first to the last.
fn digitize_fault(bounds: &[f64]) -> Option<usize> {
    let at_most = |low: f64, high: f64| low <= high || high.is_nan();
    let rises = at_most(bounds[0], *bounds.last()?);
    let breaks = |pair: &[f64]| !if rises { at_most(pair[0], pair[1]) } else { at_most(pair[1], pair[0]) };
    bounds.windows(2).position(breaks).map(|at| at + 1)
}

#[test]
fn histograms_have_bins() {
    let x = || v(&[1.0, 2.0, 2.5]);
    for part in ["[0]", "[1]"] {
        for (bounds, at) in [
            (&[3.0, 1.0, 2.0][..], 1),
            (&[3.0, 2.0, 1.0], 1),
            (&[0.0, NAN, 2.0], 1),
            (&[0.0, 1.0, NAN], 2),
            (&[NAN, 1.0], 1),
        ] {
            fails(&format!("histogram(x, y){part}"), &[x(), v(bounds)], BoundsFault::Decrease, at);
            fails(
                &format!("histogram(x, y, density=True){part}"),
                &[x(), v(bounds)],
                BoundsFault::Decrease,
                at,
            );
        }
        fails(&format!("histogram(x, y){part}"), &[v(&[1_u8]), v(&[3_u8, 1])], BoundsFault::Decrease, 1);
        // NumPy: "Too many bins for data range".
        let close = |expression: &str, x: Array| {
            fails(&format!("{expression}{part}"), &[x], BoundsFault::TooClose, 1);
        };
        close("histogram(x, 5)", v(&[1_i64 << 62, (1 << 62) + 1, (1 << 62) + 4]));
        close("histogram(x, 5)", v(&[1_u64 << 63, (1 << 63) + 1]));
        close("histogram(x)", v(&[1e16, 1e16]));
        close("histogram(x, 1)", v(&[1e16, 1e16]));
        close("histogram(x, density=True)", v(&[1e16, 1e16]));
        close("histogram(x, 4)", f16s(&[1.0, 1.0009765625]));
        close("histogram(x, 3)", v(&[1.0_f32, 1.0000001]));
    }
    refuses("histogram(x, [3, 1, 2])[0]", &[x()], "takes bounds that do not decrease");
    refuses("histogram(x, [0.0, nan])[0]", &[x()], "takes bounds that do not decrease");
    gives("histogram(x, y)[0]", &[x(), v(&[0.0, 2.0, 2.0, 3.0])], v(&[1_i64, 0, 2]));
    gives("histogram(x, y)[1]", &[x(), v(&[-0.0, 2.0])], v(&[-0.0, 2.0]));
    gives("histogram(x, [0, 2, 3])[0]", &[x()], v(&[1_i64, 2]));
    gives("histogram(x, y)[0]", &[v(&[1_u8, 2]), v(&[0_u8, 2, 255])], v(&[1_i64, 1]));
    // The counts are those of the bounds that are returned.
    let counts =
        |filled: usize, of: usize| v(&(0..of).map(|bin| i64::from(bin == filled)).collect::<Vec<_>>());
    gives("histogram(x, 10, range=(0, 1))[0]", &[f16s(&[0.1])], counts(1, 10));
    gives("histogram(x, 10, range=(0, 1))[0]", &[f16s(&[0.7])], counts(7, 10));
    gives("histogram(x, 10, range=(0, 1))[0]", &[bf16s(&[0.1])], counts(1, 10));
    gives("histogram(x, 10, range=(0, 0.1))[0]", &[f16s(&[0.1])], counts(9, 10));
    gives("histogram(x, 10, range=(0, 1))[0]", &[f16s(&[NAN])], v(&[0_i64; 10]));
    gives("histogram(x, 3)[1]", &[f16s(&[0.0, 1.0])], f16s(&[0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]));
}

/// Exact arithmetic; halves go to the even multiple.
#[test]
fn integers_are_rounded_as_integers() {
    let of =
        |decimals: i64, x: &[i64], want: &[i64]| gives(&format!("round(x, {decimals})"), &[v(x)], v(want));
    of(-1, &[4611686018427387929, -4611686018427387929], &[4611686018427387930, -4611686018427387930]);
    of(-2, &[i64::MAX, i64::MIN], &[9223372036854775800, -9223372036854775800]);
    of(-1, &[5, 15, 25, -5, -15, -25, 6, -6], &[0, 20, 20, 0, -20, -20, 10, -10]);
    of(-1, &[i64::MAX, i64::MIN], &[i64::MAX, i64::MIN]);
    of(
        -18,
        &[i64::MAX, i64::MIN, 500_000_000_000_000_000, 500_000_000_000_000_001],
        &[9_000_000_000_000_000_000, -9_000_000_000_000_000_000, 0, 1_000_000_000_000_000_000],
    );
    of(-19, &[i64::MAX, i64::MIN, 5_000_000_000_000_000_000, 1], &[i64::MAX, i64::MIN, 0, 0]);
    of(-20, &[i64::MAX, i64::MIN], &[0, 0]);
    of(2, &[i64::MAX, i64::MIN], &[i64::MAX, i64::MIN]);
    gives("round(x, -2)", &[v(&[u64::MAX, 50, 150, 151])], v(&[18446744073709551600_u64, 0, 200, 200]));
    gives("round(x, -1)", &[v(&[u64::MAX])], v(&[u64::MAX]));
    gives(
        "round(x, -19)",
        &[v(&[u64::MAX, 4, 5_000_000_000_000_000_001])],
        v(&[u64::MAX, 0, 10_000_000_000_000_000_000]),
    );
    gives("round(x, -20)", &[v(&[u64::MAX])], v(&[0_u64]));
    gives("round(x, -1)", &[v(&[i32::MAX, i32::MIN, 25])], v(&[i32::MAX, i32::MIN, 20]));
    gives("round(x, -1)", &[v(&[127_i8, -128, 125, 5])], v(&[127_i8, -128, 120, 0]));
    gives("round(x, -1)", &[v(&[u32::MAX - 1, 4_294_967_285])], v(&[4_294_967_290_u32, 4_294_967_280]));
    gives("round(x, -1)", &[v(&[true])], v(&[false]));
}

#[test]
fn quantiles_beside_infinity() {
    let method = "method='averaged_inverted_cdf'";
    for (x, fraction, want) in [
        (&[-INF, 1.0, 2.0][..], 0.5, 1.0),
        (&[1.0, 2.0, INF], 0.5, 2.0),
        (&[-INF, INF, INF], 0.5, INF),
        (&[-INF, 1.0, 2.0, 3.0], 0.5, 1.5),
        (&[-INF, 1.0], 0.5, -INF),
        (&[-INF, INF], 0.5, NAN),
        (&[-INF, INF], 0.75, INF),
    ] {
        gives(&format!("quantile(x, {fraction}, {method})"), &[v(x)], scalar(want));
        gives(&format!("quantile(x, [{fraction}], {method})"), &[v(x)], v(&[want]));
        gives(&format!("nanquantile(x, {fraction}, {method})"), &[v(x)], scalar(want));
    }
    gives(&format!("quantile(x, 0.5, {method})"), &[v(&[false, true, true])], scalar(1.0));
    gives(&format!("quantile(x, 0.5, {method})"), &[v(&[i64::MIN, 7, i64::MAX])], scalar(7.0));
}

#[test]
fn lengths_axes_and_shares_are_checked() {
    refuses("interp(x, y, z)", &[v(&[1.0]), v(&[1.0]), v(&[1.0, 2.0])], "the positions");
    refuses("interp(x, y, z)", &[v(&[1.0]), v(&[1.0, 2.0]), v(&[1.0])], "the values");
    gives_known("interp(x, y, z)", &[v(&[1.0, 2.0]), v(&[1.0]), v(&[5.0])], v(&[5.0, 5.0]));
    let table = Array::new(&[2, 2], &[1.0; 4]);
    for of in ["cumulative_sum", "cumulative_prod", "np.cumulative_sum"] {
        refuses(
            &format!("{of}(x)"),
            std::slice::from_ref(&table),
            "needs an `axis` for a tensor of several axes",
        );
        gives(&format!("{of}(x, axis=1)[:, 0]"), std::slice::from_ref(&table), v(&[1.0, 1.0]));
    }
    gives("cumulative_sum(x)", &[v(&[1.0, 2.0])], v(&[1.0, 3.0]));
    gives("cumsum(x)", &[table], v(&[1.0, 2.0, 3.0, 4.0]));
    for of in ["ewm_mean", "ewm_var", "ewm_std"] {
        for alpha in ["2", "0", "-1", "nan", "1.5"] {
            let because = "takes a number greater than 0 and at most 1 as `alpha`";
            refuses(&format!("{of}(x, {alpha})"), &[v(&[1.0])], because);
        }
    }
    gives("ewm_mean(x, 1)", &[v(&[1.0, 2.0])], v(&[1.0, 2.0]));
    gives("roll(x, (1, 1))", &[v(&[0, 1, 2])], v(&[1, 2, 0]));
    gives("roll(x, (1, 1), axis=None)", &[v(&[0, 1, 2])], v(&[1, 2, 0]));
    gives("roll(x, (1, 1), axis=0)", &[v(&[0, 1, 2])], v(&[1, 2, 0]));
    gives("roll(x[x > 5], 1)", &[v(&[0, 1, 2])], v::<i32>(&[]));
    gives("roll(x[x > 5], -1)", &[v(&[0, 1, 2])], v::<i32>(&[]));
    gives("roll(x[x > 0], 1)", &[v(&[0, 1, 2, 3])], v(&[3, 1, 2]));
    gives("trapezoid(x)", &[Array::new::<f64>(&[2, 0], &[])], v(&[0.0, 0.0]));
}

#[test]
fn messages_have_the_words_of_the_user() {
    for (expression, words) in [
        ("zeros((0, 3)).max(axis=0)", "result of `zeros`"),
        ("ones_like(zeros((0, 3))).max(axis=0)", "result of `ones_like`"),
        ("arange(0).max()", "result of `arange`"),
        ("linspace(0, 1, 0).astype(i32).max()", "result of `astype`"),
        ("linspace(0, 1, 0, dtype=i32).max()", "result of `linspace`"),
        ("[1, 2].max(axis=3)", "a list of numbers"),
        ("max([[1, 2], [3, 4]], axis=5)", "a list of numbers"),
        ("[1.5] & 1", "a list of numbers"),
        ("f32([1, 2]) @ [1, 2, 3]", "result of `f32`"),
        ("array([1, 2]).astype(f32) @ [1, 2, 3]", "result of `astype`"),
        ("cov([1, 2], [1, 2, 3])", "`cov` needs equal sizes: axis 0 is 2 in observations of `x` and 3 in"),
        ("corrcoef([[1], [2]], [1, 2, 3], rowvar=False)", "`corrcoef` needs equal sizes: axis 0 is 2"),
        ("einsum('', [])", "needs a tensor for each term of its subscripts"),
    ] {
        let message = graph(expression, &[], false).expect_err(expression);
        let nodes = ["`concat`", "`iota`", "`broadcast_to`", "`expand_dims`", "`reshape`", "`cast`"];
        let strange = nodes.iter().find(|node| message.contains(**node));
        assert!(message.contains(words) && strange.is_none(), "{expression}: {strange:?}\n{message}");
    }
    for (expression, x, words) in [
        ("bincount(x)", v(&[-1_i64]), "`bincount`: element 0 is -1, but only integers from 0 are counted"),
        ("bincount(x)", v(&[2_i64, -3]), "`bincount`: element 1 is -3, but only integers from 0 are counted"),
        ("bincount(x, minlength=2)", v(&[2_i64]), "`bincount`: element 0 is 2, but there are 2 counts"),
        ("linspace(0, 1, x)", scalar(-1_i64), "a size is -1, which is negative"),
        ("digitize([1.0], x)", v(&[3, 1, 2]), "`digitize`: the bound at [2] breaks the order"),
        (
            "histogram([1.0], x)[0]",
            v(&[3, 1, 2]),
            "`histogram`: the bound at [1] is less than the one before it, or nan",
        ),
        ("histogram(x, 3)[0]", v(&[1e16]), "`histogram`: the bound at [1] equals the one before it"),
    ] {
        let graph = graph(expression, std::slice::from_ref(&x), false).unwrap();
        let message = run(&graph, &[x], Threads::Calling).unwrap_err().to_string();
        assert!(message.starts_with(words), "{expression}: {message}");
    }
    gives("bincount(x)", &[v::<i64>(&[])], v::<i64>(&[]));
    gives("bincount(x)", &[v(&[2_u8, 0])], v(&[1_i64, 0, 1]));
}
