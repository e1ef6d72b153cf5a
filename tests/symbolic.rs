//! Symbolic shapes in practice: one executable for all sizes, and the traps that other systems fell into, each with
//! the report of who did.

use broadloom::prelude::*;
use broadloom::{BindError, CallError, Declared, Site};
use std::panic::Location;

const NOTHING: &[f32] = &[];

fn vector(result: Outputs) -> Vec<f32> {
    result.try_into().unwrap()
}

fn bind_error(result: Result<Outputs, CallError>) -> BindError {
    match result {
        Err(CallError::Bind(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Whether an error says what there is and what would have to hold.
fn is_needed(error: &BindError, have: &str, needs: &str) -> bool {
    let text = error.to_string();
    text.starts_with(&format!("{have}, but ")) && text.ends_with(&format!(" needs {needs}"))
}

/// Rows normalised by their own statistics, and the nearest of some codes: reductions, broadcasting, slices.
fn program(g: &Graph, n: impl Into<broadloom::Dim>) -> [(&'static str, Tensor); 3] {
    let n = n.into();
    let x = g.input::<f32>("x", shape![n, 3]);
    let codes = g.input::<f32>("codes", shape![4, 3]);
    let centred = (x - x.mean_keepdims(1)) / (x.std_keepdims(1) + 1e-3);
    let distance = (codes.unsqueeze(0) - x.unsqueeze(1)).square().sum(-1).sqrt();
    [("centred", centred), ("nearest", distance.argmin(1)), ("total", (x * 0.1).exp().sum(0))]
}

/// An executable runs with 0, 1, 2, 7 and a million rows, is compiled once, and gives the bits of a graph that is
/// written for that number.
#[test]
fn one_executable_serves_all_sizes() {
    let g = Graph::new();
    let kernel = g.compile(program(&g, g.symbol("n"))).unwrap();
    let codes: Vec<f32> = (0..12).map(|at| (at * 7 % 5) as f32 - 2.0).collect();
    let codes = ArrayView::new(&codes, &[4, 3]).unwrap();
    for n in [0_usize, 1, 2, 7, 1_000_000, 3, 0] {
        let data: Vec<f32> =
            (0..3 * n).map(|at| ((at * 2_654_435_761) % 1009) as f32 / 100.0 - 5.0).collect();
        let x = ArrayView::new(&data, &[n, 3]).unwrap();
        let constant = Graph::new();
        let of_this_size = constant.compile(program(&constant, n)).unwrap();
        let bits = |outputs: Outputs| -> (Vec<u32>, Vec<i64>, Vec<u32>) {
            let (centred, nearest, total): (Vec<f32>, Vec<i64>, Vec<f32>) = outputs.try_into().unwrap();
            let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect();
            (bits(centred), nearest, bits(total))
        };
        let got = bits(kernel.run((&x, &codes)).unwrap());
        assert_eq!(got.1.len(), n);
        assert!(got == bits(of_this_size.run((&x, &codes)).unwrap()), "n = {n}");
    }
    assert_eq!(kernel.explain().variants(), 1, "compiled once");
}

/// TVM #20218: `n` and `m` taken for equal, and an array of one element read beyond its end.
#[test]
fn sizes_are_checked_before_the_kernel_runs() {
    let g = Graph::new();
    let (x, y) = (g.input::<f32>("x", shape![g.symbol("n")]), g.input::<f32>("y", shape![g.symbol("n")]));
    let kernel = (x + y).compile().unwrap();
    let error = bind_error(kernel.run((&[1.0_f32, 2.0, 3.0], &[1.0_f32])));
    assert_eq!(error.to_string(), r#"input "y" does not fit: axis 0 is 1, but n is 3"#);
    assert!(bind_error(kernel.run((&[1.0_f32], &[1.0_f32, 2.0]))).to_string().contains("but n is 1"));
}

/// llvm/llvm-project#61158: a symbol that is 1, and a stride that was taken for that of a dense array.
#[test]
fn a_symbol_that_is_1_keeps_its_strides() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m, 2]);
    let kernel = (x * 2).reshape(shape![n * m, 2]).compile().unwrap();
    let data: Vec<f32> = (0..40).map(|at| at as f32).collect();
    // One column of many: m = 1, and rows that are not dense.
    let view = ArrayView::strided(&data, 0, &[4, 1, 2], &[10, 999, 1]).unwrap();
    assert_eq!(vector(kernel.run(view).unwrap()), [0.0, 2.0, 20.0, 22.0, 40.0, 42.0, 60.0, 62.0]);
    let view = ArrayView::strided(&data, 3, &[1, 3, 2], &[-999, 4, 2]).unwrap();
    assert_eq!(vector(kernel.run(view).unwrap()), [6.0, 10.0, 14.0, 18.0, 22.0, 26.0]);
}

/// numpy/numpy#4091, TVM #13121, burn #5738: strides of axes of one element mean nothing, and nothing is made of them.
#[test]
fn strides_of_single_elements_are_not_looked_at() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let kernel = (g.input::<f32>("x", shape![n, m]) + 1).compile().unwrap();
    let data = [1.0_f32, 2.0, 3.0];
    for stride in [0, 1, -7, isize::MAX, isize::MIN + 1] {
        let row = ArrayView::strided(&data, 0, &[1, 3], &[stride, 1]).unwrap();
        assert_eq!(vector(kernel.run(row).unwrap()), [2.0, 3.0, 4.0]);
        let column = ArrayView::strided(&data, 0, &[3, 1], &[1, stride]).unwrap();
        assert_eq!(vector(kernel.run(column).unwrap()), [2.0, 3.0, 4.0]);
    }
    assert_eq!(kernel.explain().variants(), 1, "they are all dense");
}

/// triton-inference-server/python_backend#444, luminal's `max(1)`: arrays without elements, whatever their strides,
/// and loops that would run once.
#[test]
fn nothing_is_read_of_arrays_without_elements() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let kernel = g.compile([("rows", x.sum(1)), ("all", x.sum(..)), ("each", x.exp())]).unwrap();
    for (shape, strides, rows) in
        [([0, 5], [isize::MAX, 1], 0), ([5, 0], [-3, isize::MIN + 1], 5), ([0, 0], [0, 0], 0)]
    {
        let view = ArrayView::strided(NOTHING, 0, &shape, &strides).unwrap();
        let (sums, all, each): (Vec<f32>, f32, Vec<f32>) = kernel.run(view).unwrap().try_into().unwrap();
        assert_eq!((sums, all, each), (vec![0.0; rows], 0.0, vec![]));
    }
}

/// numpy/numpy#14312, jax-ml/jax#33, xtensor #1575, burn #5305: the size of a result is the one that is not 1, which is
/// not the greater one.
#[test]
fn none_and_one_is_none() {
    let g = Graph::new();
    let (x, y) = (g.input::<f32>("x", shape![g.symbol("n")]), g.input::<f32>("y", shape![1]));
    let kernel = (x + y).compile().unwrap();
    assert_eq!(vector(kernel.run((NOTHING, &[1.0_f32])).unwrap()), []);
    let fixed = Graph::new();
    let (x, y) = (fixed.input::<f32>("x", shape![0, 1]), fixed.input::<f32>("y", shape![1, 3]));
    assert_eq!((x + y).shape(), shape![0, 3]);
}

/// JAX refuses n = 0 when a function is called; torch specialises on 0 and 1. Here they are sizes like others.
#[test]
fn none_is_a_size() {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f32>("x", shape![n]);
    let kernel = g.compile([("mean", x.mean(0)), ("twice", concat([x, x], 0))]).unwrap();
    for n in 0..4 {
        let data = vec![1.5_f32; n];
        let (mean, twice): (f32, Vec<f32>) = kernel.run(&data).unwrap().try_into().unwrap();
        assert!(if n == 0 { mean.is_nan() } else { mean == 1.5 });
        assert_eq!(twice, vec![1.5; 2 * n]);
    }
    assert_eq!(kernel.explain().variants(), 1);
}

/// torch Inductor #136640: a size that is computed and comes to 1 does not stretch, nor is its axis removed.
#[test]
fn a_size_that_comes_to_1_is_not_the_constant_1() {
    let g = Graph::new();
    let n = g.symbol("n").multiple_of(4);
    let x = g.input::<f32>("x", shape![n]);
    let folded = x.reshape([-1, 4]);
    assert_eq!(folded.to_string(), "f32[n//4, 4]");
    assert!((folded + g.input::<f32>("y", shape![3, 4])).is_poisoned());
    assert!(folded.squeeze(0).is_poisoned());
    assert_eq!(folded.squeeze(..).rank(), 2);
    let codes: Vec<String> =
        g.check().unwrap_err().iter().map(|mistake| mistake.code().to_string()).collect();
    assert_eq!(codes, ["S002", "S005"]);
    // Of four elements there is one row, and the rank is what it was.
    let g = Graph::new();
    let n = g.symbol("n").multiple_of(4);
    let kernel = g.input::<f32>("x", shape![n]).reshape([-1, 4]).sum(1).compile().unwrap();
    assert_eq!(vector(kernel.run(&[1.0_f32, 2.0, 3.0, 4.0]).unwrap()), [10.0]);
    let error = bind_error(kernel.run(&[1.0_f32; 6]));
    assert_eq!(error.to_string(), r#"input "x" does not fit: axis 0 is 6, but n must be a multiple of 4"#);
}

/// torch: a hint of 0 or 1 became part of the meaning.
#[test]
fn hints_mean_nothing() {
    let g = Graph::new();
    let (n, m) = (g.symbol("n").likely(1), g.symbol("m").likely(7));
    let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![m]));
    assert!((x + y).is_poisoned());
    assert_eq!(g.check().unwrap_err().as_slice()[0].code().as_str(), "S002");
    let g = Graph::new();
    let n = g.symbol("n").likely(1);
    let kernel = (g.input::<f32>("x", shape![n]) + 1).compile().unwrap();
    for size in [0, 1, 5] {
        assert_eq!(vector(kernel.run(&vec![0.0_f32; size]).unwrap()), vec![1.0; size]);
    }
}

/// torch #185604: an error that arrives as `Eq(u0, u1)`.
#[test]
fn late_errors_say_who_and_where() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, y) = (g.input::<f32>("x", shape![n, 2]), g.input::<f32>("y", shape![n + m]));
    let z = g.input::<f32>("z", shape![m]);
    let kernel = (x.sum(1) * concat([y, z], 0).slice(slice![..n])).compile().unwrap();
    let rows = [0.0_f32; 6];
    let rows = ArrayView::new(&rows, &[3, 2]).unwrap();
    let error = bind_error(kernel.run((&rows, &[0.0_f32; 5], &[0.0_f32; 4])));
    let BindError::Size(mismatch) = &error else { panic!("{error}") };
    assert_eq!((mismatch.array.name.as_str(), mismatch.axis, mismatch.found), ("z", 0, 4));
    assert_eq!(mismatch.expected, Some(2));
    let solved: Vec<(&str, i64)> =
        mismatch.solved.iter().map(|known| (known.symbol.as_str(), known.value)).collect();
    assert_eq!(solved, [("n", 3), ("m", 2)]);
    assert_eq!(mismatch.called.and_then(Site::location).map(Location::file), Some(file!()));
    let text = format!("{error:#}");
    for part in ["n = 3", "m = 2", "input \"x\" axis 0", "called from"] {
        assert!(text.contains(part), "{text}");
    }
}

/// JAX: symbols of one name from two scopes are not one symbol.
#[test]
fn symbols_belong_to_their_graph() {
    let (here, there) = (Graph::new(), Graph::new());
    let (n, other) = (here.symbol("n"), there.symbol("n"));
    assert!(n != other);
    let x = here.input::<f32>("x", shape![n, other]);
    assert!(x.is_poisoned());
    assert_eq!(here.check().unwrap_err().as_slice()[0].code().as_str(), "N005");
    assert_eq!(here.declare_equal(n, other), Declared::Refused);
}

/// Facts hold for all of a graph, so they come before the first use; none is taken back.
#[test]
fn facts_come_first() {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f32>("x", shape![n]);
    g.declare_equal(n, 1);
    assert_eq!(g.check().unwrap_err().as_slice()[0].code().as_str(), "S013");
    assert_eq!(x.shape(), shape![n]);
    // Declared in time, the symbol is the constant 1, and stretches.
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    assert_eq!(g.declare_equal(n, 1), Declared::Substituted);
    let sum = g.input::<f32>("x", shape![n]) + g.input::<f32>("y", shape![m]);
    assert_eq!(sum.shape(), shape![m]);
    let kernel = sum.compile().unwrap();
    assert_eq!(vector(kernel.run((&[1.0_f32], &[1.0_f32, 2.0])).unwrap()), [2.0, 3.0]);
    assert!(kernel.run((&[1.0_f32, 1.0], &[1.0_f32, 2.0])).is_err(), "n is 1");
}

/// Equalities that are no substitution are checked, and only that.
#[test]
fn other_equalities_are_checked() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![m]));
    assert_eq!(g.declare_equal(2 * n, 3 * m), Declared::Checked);
    let kernel = g.compile([("a", x + 1), ("b", y + 1)]).unwrap();
    assert!(kernel.run((&[0.0_f32; 6], &[0.0_f32; 4])).is_ok());
    let error = bind_error(kernel.run((&[0.0_f32; 6], &[0.0_f32; 5])));
    assert!(is_needed(&error, "2*n is 12 and 3*m is 15", "2*n == 3*m"), "{error}");
}

/// `#n`: an axis that is 1 or n, on all layouts, at the inner and the outer axis.
#[test]
fn axes_that_may_be_1() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n, m]);
    let scale = g.input::<f32>("scale", shape![#n, #m]);
    let kernel = (x * scale).compile().unwrap();
    assert_eq!(kernel.inputs()[1].to_string(), "scale: f32[#n, #m]");
    let data: Vec<f32> = (0..12).map(|at| at as f32).collect();
    let x = ArrayView::new(&data, &[3, 4]).unwrap();
    for (rows, columns) in [(1, 1), (3, 1), (1, 4), (3, 4)] {
        let values: Vec<f32> = (0..rows * columns).map(|at| at as f32 + 0.5).collect();
        let scale = ArrayView::new(&values, &[rows, columns]).unwrap();
        let got = vector(kernel.run((&x, &scale)).unwrap());
        let want = (0..12).map(|at| {
            let (row, column) = (at / 4 % rows, at % 4 % columns);
            data[at] * values[row * columns + column]
        });
        assert_eq!(got, want.collect::<Vec<f32>>(), "{rows} x {columns}");
    }
    let two = [0.0_f32; 8];
    let two = ArrayView::new(&two, &[2, 4]).unwrap();
    let error = bind_error(kernel.run((&x, &two)));
    assert_eq!(
        error.to_string(),
        r#"input "scale" does not fit: axis 0 is 2, but n is 3, and only 1 stretches"#
    );
    // No rows: one of the other is accepted, and not read.
    let none = ArrayView::new(NOTHING, &[0, 4]).unwrap();
    let one = ArrayView::new(&data[..4], &[1, 4]).unwrap();
    assert_eq!(vector(kernel.run((&none, &one)).unwrap()), []);
}

/// If nothing else says what `n` is, it is the size that is not 1.
#[test]
fn axes_that_may_be_1_and_nothing_else() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, y) = (g.input::<f32>("x", shape![#n]), g.input::<f32>("y", shape![#n]));
    let kernel = (x - y).compile().unwrap();
    assert_eq!(vector(kernel.run((&[5.0_f32], &[1.0_f32, 2.0])).unwrap()), [4.0, 3.0]);
    assert_eq!(vector(kernel.run((&[1.0_f32, 2.0], &[5.0_f32])).unwrap()), [-4.0, -3.0]);
    assert_eq!(vector(kernel.run((&[1.0_f32], &[5.0_f32])).unwrap()), [-4.0]);
    assert_eq!(vector(kernel.run((NOTHING, &[5.0_f32])).unwrap()), []);
    let error = bind_error(kernel.run((&[1.0_f32, 2.0], &[1.0_f32, 2.0, 3.0])));
    assert!(error.to_string().contains("axis 0 is 3, but n is 2"), "{error}");
}

/// Also of a size that is a multiple of something: then 1 is none.
#[test]
fn axes_that_may_be_1_of_a_multiple() {
    let g = Graph::new();
    let n = g.symbol("n").multiple_of(2).range(..=4);
    let (x, y) = (g.input::<f32>("x", shape![#n]), g.input::<f32>("y", shape![#n]));
    let kernel = (x - y).compile().unwrap();
    let arrays = |sizes: [usize; 2]| sizes.map(|size| vec![1.0_f32; size]);
    for (sizes, want) in [([1, 2], Some(2)), ([4, 1], Some(4)), ([1, 0], Some(0)), ([4, 4], Some(4))]
        .into_iter()
        .chain([[1, 1], [1, 3], [6, 1], [2, 4]].map(|sizes| (sizes, None)))
    {
        let [x, y] = arrays(sizes);
        assert_eq!(kernel.run((&x, &y)).ok().map(|got| vector(got).len()), want, "{sizes:?}");
        let arrays = [x, y].map(|data| broadloom_ir::interp::Array::new(&[data.len()], &data));
        let interpreted = broadloom_ir::interp::interpret(kernel.graph(), &arrays, false);
        assert_eq!(interpreted.is_ok(), want.is_some(), "{sizes:?}");
    }
    let error = bind_error(kernel.run((&[1.0_f32], &[1.0_f32; 3])));
    let text = r#"input "y" does not fit: axis 0 is 3, but n must be at most 4 and a multiple of 2, and only 1 stretches"#;
    assert_eq!(error.to_string(), text);
}

/// A size that only the caller knows.
#[test]
fn parameters() {
    let g = Graph::new();
    let (n, k) = (g.symbol("n"), g.parameter("k").range(1..=8).multiple_of(2));
    let x = g.input::<f32>("x", shape![n]);
    let kernel = x.unsqueeze(1).broadcast_to(shape![n, k]).compile().unwrap();
    assert_eq!(kernel.parameters(), ["k"]);
    let data = [1.0_f32, 2.0];
    let run = |size| kernel.run(inputs! { "x" => &data }.with_size("k", size));
    assert_eq!(vector(run(2).unwrap()), [1.0, 1.0, 2.0, 2.0]);
    assert_eq!(vector(run(4).unwrap()).len(), 8);
    for size in [0, 3, 10, usize::MAX] {
        let error = bind_error(run(size)).to_string();
        assert!(error.contains("it must be at least 2 and at most 8 and a multiple of 2"), "{error}");
    }
    let error = bind_error(kernel.run(&data)).to_string();
    assert!(error.starts_with("the size \"k\" is not given"), "{error}");
    let error = bind_error(kernel.run(inputs! { "x" => &data }.with_size("kk", 2))).to_string();
    assert!(error.contains("did you mean \"k\"?"), "{error}");
    // Other symbols may be given, too: then they have to agree with the arrays.
    assert!(kernel.run(inputs! { "x" => &data }.with_size("k", 2).with_size("n", 2)).is_ok());
    let error = bind_error(kernel.run(inputs! { "x" => &data }.with_size("k", 2).with_size("n", 3)));
    assert!(matches!(error, BindError::GivenSize(_)), "{error}");
}

/// A size given for a name is compared, also where a declaration put another size in its place. Inferred sizes have no
/// name that could be given.
#[test]
fn given_sizes_are_compared() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    g.declare_equal(m, n - 1);
    let kernel = (g.input::<f32>("x", shape![n]) + g.input::<f32>("w", shape![_])).compile().unwrap();
    let two = [1.0_f32; 2];
    let run = |name, size| kernel.run(inputs! { "x" => &two, "w" => &two }.with_size(name, size));
    assert!(run("m", 1).is_ok());
    let error = bind_error(run("m", 7)).to_string();
    assert!(error.starts_with("the size \"m\" is given as 7, but the arrays make it 1"), "{error}");
    assert!(matches!(bind_error(run("?w.0", 2)), BindError::UnknownSize { .. }));
    let arrays = [two, two].map(|data| broadloom_ir::interp::Array::new(&[2], &data));
    let interpret = |given: &[(&str, i64)]| {
        broadloom_ir::interp::interpret_with_sizes(kernel.graph(), &arrays, given, false)
    };
    assert!(interpret(&[("m", 1), ("n", 2)]).is_ok());
    for given in [&[("m", 7)][..], &[("m", 1), ("m", 2)], &[("n", 2), ("n", 3)], &[("?w.0", 2)]] {
        assert!(interpret(given).is_err(), "{given:?}");
    }
}

/// A parameter declared to be a symbol keeps its name and stays what the caller gives, in either order.
#[test]
fn parameters_outlive_declarations() {
    for swapped in [false, true] {
        let g = Graph::new();
        let (n, k) = (g.symbol("n"), g.parameter("k"));
        let declared = if swapped { g.declare_equal(n, k) } else { g.declare_equal(k, n) };
        assert_eq!(declared, Declared::Substituted);
        let kernel = g.iota(n).compile().unwrap();
        assert_eq!(kernel.parameters(), ["k"]);
        let result: Vec<i64> = kernel.run(inputs![].with_size("k", 3)).unwrap().try_into().unwrap();
        assert_eq!(result, [0, 1, 2]);
    }
}

/// Paddle's `axis=` computes what it does in Paddle.
#[test]
fn operands_are_placed() {
    let g = Graph::new();
    let (x, y) = (g.input::<f32>("x", shape![2, g.symbol("n"), 2]), g.input::<f32>("y", shape![_]));
    let kernel = x.subtract_axis(y, 1).compile().unwrap();
    let data: Vec<f32> = (0..12).map(|at| at as f32).collect();
    let view = ArrayView::new(&data, &[2, 3, 2]).unwrap();
    let got = vector(kernel.run((&view, &[0.0_f32, 10.0, 20.0])).unwrap());
    assert_eq!(got, [0.0, 1.0, -8.0, -7.0, -16.0, -15.0, 6.0, 7.0, -2.0, -1.0, -10.0, -9.0]);
    assert!(kernel.run((&view, &[0.0_f32; 2])).is_err());
}

/// The first five elements, and five elements that are all there are: not the same, in one graph or in `eval`'s cache.
#[test]
fn a_slice_is_no_rebind() {
    let seven = [1.0_f32; 7];
    let slice: Result<Vec<f32>, _> = eval(&seven, |x| x.slice(slice![..5]));
    assert_eq!(slice.unwrap().len(), 5);
    let rebound: Result<Vec<f32>, _> = eval(&seven, |x| x.rebind(shape![5]));
    assert!(rebound.is_err());
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let (first, all) = (x.slice(slice![..5]), x.rebind(shape![5]));
    assert!(first.compile().unwrap().run(&seven).is_ok());
    let error = bind_error(all.compile().unwrap().run(&seven));
    assert!(is_needed(&error, "n is 7", "n == 5"), "{error}");
}

/// A constant 1 in the middle of an expression, from a symbol that is 1: then it stretches.
#[test]
fn rebinding_to_1_stretches() {
    let g = Graph::new();
    let (n, m) = (g.symbol("n"), g.symbol("m"));
    let (x, y) = (g.input::<f32>("x", shape![n, 2]), g.input::<f32>("y", shape![m, 2]));
    let kernel = (x.rebind(shape![1, _]) + y).sum(0).compile().unwrap();
    let data = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let (one, three) =
        (ArrayView::new(&data[..2], &[1, 2]).unwrap(), ArrayView::new(&data, &[3, 2]).unwrap());
    assert_eq!(vector(kernel.run((&one, &three)).unwrap()), [12.0, 18.0]);
    assert!(kernel.run((&three, &three)).is_err());
}

/// A size that was inferred to be `n - 5` is not negative, although no array that is passed has it, and the slice that
/// demands it is not computed.
#[test]
fn inferred_sizes_are_not_negative() {
    let g = Graph::new();
    let (x, w) = (g.input::<f32>("x", shape![g.symbol("n")]), g.input::<f32>("w", shape![_]));
    let first = x.slice(slice![..w.shape()[0]]);
    let _ = w + x.slice(slice![5..]);
    assert_eq!(first.to_string(), "f32[n-5]");
    for result in [first, first.exp().sum(0), first.mean(0)] {
        let kernel = result.compile().unwrap();
        assert_eq!(kernel.inputs().len(), 1);
        assert!(kernel.run(&[1.0_f32; 6]).is_ok());
        let error = bind_error(kernel.run(&[1.0_f32; 2]));
        assert!(is_needed(&error, "n is 2", "n >= 5"), "{error}");
    }
    // The quotient of no elements by none.
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (rows, columns) = (g.input::<f32>("rows", shape![m]), g.input::<f32>("columns", shape![n]));
    let w = g.input::<f32>("w", shape![_]);
    let table = w.reshape([broadloom::Dim::from(m), (-1).into()]);
    let _ = w + (rows.unsqueeze(1) * columns.slice(slice![5..])).reshape([-1]);
    assert_eq!(table.to_string(), "f32[m, n-5]");
    let kernel = g.compile([("table", table.sum(0)), ("columns", columns * 2), ("rows", rows * 2)]).unwrap();
    let inputs = |columns| inputs! { "w" => NOTHING, "columns" => columns, "rows" => NOTHING };
    assert!(kernel.run(inputs(&[1.0_f32; 6][..])).is_ok());
    let error = bind_error(kernel.run(inputs(&[1.0_f32; 2][..])));
    assert!(is_needed(&error, "n is 2", "n >= 5"), "{error}");
}

/// An array of one element stands for `n - 5` elements, but not for fewer than none.
#[test]
fn axes_that_may_be_1_are_not_negative() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, scale) = (g.input::<f32>("x", shape![n]), g.input::<f32>("scale", shape![#(n - 5)]));
    let kernel = (x.slice(slice![..2]).sum(0) * scale).compile().unwrap();
    assert_eq!(vector(kernel.run((&[1.0_f32; 7], &[3.0_f32])).unwrap()), [6.0, 6.0]);
    assert!(vector(kernel.run((&[1.0_f32; 5], &[3.0_f32])).unwrap()).is_empty());
    let error = bind_error(kernel.run((&[1.0_f32; 2], &[3.0_f32])));
    assert!(is_needed(&error, "n is 2", "n >= 5"), "{error}");
}

/// A fact of what stands for another size, by a declaration or by inference, would be checked by nobody.
#[test]
fn facts_are_of_sizes_that_stand_for_themselves() {
    let late = |g: &Graph| {
        let mistakes = g.check().unwrap_err();
        assert!(mistakes.iter().all(|mistake| mistake.code().as_str() == "S013"), "{mistakes}");
        mistakes.iter().count()
    };
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    assert_eq!(g.declare_equal(m, n), Declared::Substituted);
    m.multiple_of(4).range(5..);
    assert_eq!(g.input::<f32>("x", shape![m]).shape(), shape![n]);
    assert_eq!(late(&g), 2);
    let g = Graph::new();
    let w = g.input::<f32>("w", shape![_]);
    let inferred = w.shape()[0].as_symbol().unwrap();
    inferred.multiple_of(4).range(5..);
    assert_eq!(g.declare_equal(inferred, 7), Declared::Refused);
    assert_eq!(w.shape(), shape![inferred]);
    assert_eq!(late(&g), 3);
}

/// The names of inferred sizes are no names of symbols, and no two of them are one.
#[test]
fn inferred_sizes_have_names_of_their_own() {
    let g = Graph::new();
    let (n, w) = (g.symbol("n"), g.input::<f32>("w", shape![_]));
    let halves = w.reshape([-1, 2]);
    let other = g.input::<f32>("reshape", shape![3, 3, _]);
    let _ = w + g.input::<f32>("x", shape![2 * n]);
    assert_eq!((halves.shape(), other.rank()), (shape![n, 2], 3));
    assert!(other.shape()[2] != halves.shape()[0]);
    assert!(g.check().is_ok());
    assert!(g.parameter("?reshape.2") != other.shape()[2]);
    assert_eq!(g.check().unwrap_err().as_slice()[0].code().as_str(), "N001");
}

/// `_` and `#n` say something of an axis of an input, and are no sizes to compute with.
#[test]
fn what_is_no_size_is_not_computed_with() {
    let inferred = broadloom::Dim::INFERRED;
    let five = broadloom::Dim::from(5).or_one();
    for wrong in [inferred + 1, 2 * inferred, five + 1, -five, (inferred + 1) - 1, inferred.or_one()] {
        let g = Graph::new();
        assert!(g.input::<f32>("x", shape![wrong]).is_poisoned(), "{wrong}");
        assert_eq!(g.check().unwrap_err().as_slice()[0].code().as_str(), "S013");
    }
}
