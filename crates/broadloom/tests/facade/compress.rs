//! Elements that masks select and sizes that computed numbers decide, compiled. The interpreter is the oracle: for lengths around
//! words and blocks of masks, shares of true elements, dtypes, layouts and threads.

use crate::support::harness::{Input, Kernels, Layout};
use crate::support::numbers::{recurring, with_zeros};
use broadloom::prelude::*;
use broadloom::{
    AnyArray, Array, BindError, CallError, CallLimits, Inputs, RunError, RunOptions, StopFlag, Threads,
};
use std::time::Duration;

/// Lengths: none, one, within a word of a mask, across words, and across its blocks of 16,384.
const LENGTHS: [usize; 7] = [0, 1, 7, 17, 65, 16_384, 33_003];
/// Fewer of them.
const SHORT: [usize; 5] = [0, 1, 17, 65, 1000];

const APART: Layout = Layout { apart: 2, gap: 3, backwards: true, ..Layout::DENSE };

/// One thread, and several that share all work.
fn ways() -> Vec<CompileOptions> {
    let of = |threads| CompileOptions { threads, parallel_threshold: 0, ..CompileOptions::default() };
    vec![of(Threads::Calling), of(Threads::count(2).unwrap()), of(Threads::count(5).unwrap())]
}

/// Masks that select no elements, few, about half, nearly all, and all.
fn masks(x: Tensor) -> Vec<Tensor> {
    vec![x.gt(100), x.gt(3), x.gt(0), x.gt(-3), x.lt(100)]
}

fn check_lengths<T: Element>(what: &str, lengths: &[usize], expression: impl Fn(Tensor) -> Vec<Tensor>) {
    let kernels = Kernels::of(&ways(), |g| expression(g.input::<T>("x", shape![g.symbol("n")])));
    for &length in lengths {
        let input = [Input::<T>::new(&[length], recurring(length, false))];
        kernels.check_laid_out(what, &input, &[Layout::DENSE, APART]);
    }
}

#[test]
fn elements_of_every_size_are_moved() {
    let selected = |x: Tensor| masks(x).into_iter().map(|mask| x.masked(mask)).collect::<Vec<_>>();
    check_lengths::<i8>("selected", &LENGTHS, selected);
    check_lengths::<i16>("selected", &SHORT, selected);
    check_lengths::<f32>("selected", &LENGTHS, selected);
    check_lengths::<f64>("selected", &SHORT, selected);
    check_lengths::<f64>("positions", &LENGTHS, |x| masks(x).into_iter().map(Tensor::flatnonzero).collect());
}

#[test]
fn what_follows_is_computed_of_selected_elements() {
    check_lengths::<f64>("what follows", &SHORT, |x| {
        let (kept, again) = (x.masked(x.gt(0)), x.masked(x.gt(0)));
        let twice = kept.masked(kept.lt(3));
        vec![kept.exp() + again, kept.sort(0), twice * 2, kept.cumsum(0), kept - kept.mean(0)]
    });
    check_lengths::<f32>("reductions", &SHORT, |x| {
        let kept = x.masked(x.gt(0));
        let pairs = (kept.unsqueeze(1) - x.masked(x.gt(3))).square().sum(1);
        vec![kept.sum(0), kept.mean(0), kept.var(0), kept.square().sum(0), (kept * x.sum(0)).sum(0), pairs]
    });
    // Of no elements there is no greatest one, whoever asks.
    check_lengths::<f32>("extremes", &SHORT, |x| vec![x.masked(x.gt(3)).max(0), x.masked(x.gt(3)).argmin(0)]);
}

#[test]
fn rows_columns_and_blocks_are_selected() {
    let kernels = Kernels::of(&ways(), |g| {
        let [n, m, k] = g.symbols(["n", "m", "k"]);
        let x = g.input::<f32>("x", shape![n, m, k]);
        let rows = x.sum([1, 2]).gt(0);
        let columns = x.sum([0, 2]).gt(0);
        vec![
            x.masked(rows),
            x.compress(columns, 1),
            x.compress(x.sum([0, 1]).gt(0), 2),
            x.masked(x.sum(2).gt(0)),
            x.masked(x.gt(1)),
            x.masked(rows).compress(columns, 1).sum(0),
            x.argwhere(),
        ]
    });
    const TURNED: Layout = Layout { order: &[2, 0, 1], apart: 2, ..Layout::DENSE };
    for shape in [[0, 3, 2], [3, 0, 2], [1, 1, 1], [5, 4, 3], [17, 3, 65], [300, 7, 9], [2, 20_000, 1]] {
        let elements = with_zeros::<f32>(shape.iter().product(), 5);
        kernels.check_laid_out("blocks", &[Input::new(&shape, elements)], &[Layout::DENSE, TURNED]);
    }
}

#[test]
fn distinct_elements_and_sets() {
    fn check<T: Element>() {
        let kernels = Kernels::of(&ways(), |g| {
            let (x, y) = (g.input::<T>("x", shape![g.symbol("n")]), g.input::<T>("y", shape![g.symbol("m")]));
            let ((values, counts), (_, inverse), (_, first)) =
                (x.unique_counts(), x.unique_inverse(), x.unique_indices());
            vec![
                values,
                counts,
                inverse,
                first,
                x.union1d(y),
                x.intersect1d(y),
                x.setdiff1d(y),
                x.setxor1d(y),
            ]
        });
        for (n, m) in [(0, 0), (0, 5), (1, 1), (97, 40), (5000, 3)] {
            let inputs =
                [Input::<T>::new(&[n], recurring(n, n > 1)), Input::new(&[m], with_zeros::<T>(m, 3))];
            kernels.check("distinct", &inputs);
        }
    }
    check::<i32>();
    check::<f64>();
}

#[test]
fn computed_numbers_are_sizes() {
    let kernels = Kernels::of(&ways(), |g| {
        let x = g.input::<i64>("x", shape![g.symbol("n")]);
        let positive = x.maximum(0);
        let groups = (positive.sum(0) + 1).to_size();
        vec![
            x.repeat_counted(positive, 0),
            x.segment_count(groups),
            g.iota(groups * 2),
            g.iota(groups).masked(g.iota(groups).gt(2)),
        ]
    });
    for length in [0, 1, 17, 1000] {
        let x: Vec<i64> = (0..length as i64).map(|at| at * 7 % 5 - at * 7 % 3).map(|x| x.max(0)).collect();
        kernels.check("sizes", &[Input::new(&[length], x)]);
    }
}

#[test]
fn reductions_store_nothing() {
    let g = Graph::new();
    let (x, y) = (g.input::<f32>("x", shape![g.symbol("n")]), g.input::<f32>("y", shape![g.symbol("n")]));
    let mask = x.gt(0);
    let kernel = ((x * 2 + y).masked(mask).sum(0) / mask.sum(0)).compile().unwrap();
    let explanation = kernel.explain();
    // Only partial sums of groups of elements.
    assert!(!explanation.materialized_bytes().to_string().contains('n'), "{explanation}");
}

/// Ids that are computed for a number of groups which the data decide are computed again, and not stored with a row each.
#[test]
fn elements_are_moved_once_for_what_is_computed_of_them() {
    let kernels = Kernels::of(&ways(), |g| {
        let [n, d] = g.symbols(["n", "d"]);
        let (x, y) = (g.input::<f32>("x", shape![n, d]), g.input::<f32>("y", shape![n]));
        let mask = y.gt(0);
        let (rows, kept) = (x.masked(mask), y.masked(mask));
        vec![
            rows * kept.unsqueeze(1) - x.sum(0),
            select(kept.gt(1), kept, y.masked(mask).cast_to(DType::F64)),
            rows.t() + kept,
            // Not of all elements: what makes more of them, what costs more than a move, what another mask selects.
            kept.unsqueeze(1) * kept,
            (rows * 2 + kept.unsqueeze(1)).unsqueeze(0) - kept.unsqueeze(1).unsqueeze(1),
            (kept * 2).exp() + kept,
            kept + y.masked(y.ge(0)).sum(0),
            kept.masked(kept.lt(2)) * kept.masked(kept.lt(2)),
        ]
    });
    for (n, d) in [(0, 3), (1, 1), (17, 1), (65, 3), (1000, 5)] {
        let (x, y) = (with_zeros::<f32>(n * d, 3), with_zeros::<f32>(n, 5));
        let inputs = [Input::new(&[n, d], x), Input::new(&[n], y)];
        kernels.check_laid_out("computed", &inputs, &[Layout::DENSE, Layout { apart: 2, ..Layout::DENSE }]);
    }
    let moves = |make: fn(Tensor, Tensor, Tensor) -> Tensor| {
        let g = Graph::new();
        let n = g.symbol("n");
        let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n]));
        let kernel = make(x, y, g.input::<bool>("m", shape![n])).compile().unwrap();
        kernel.explain().to_string().matches("selected elements are moved").count()
    };
    assert_eq!(moves(|x, y, m| x.masked(m) * 2 + y.masked(m)), 1);
    assert_eq!(moves(|x, y, _| (x.masked(x.gt(0)) + 1).sqrt() - y.masked(x.gt(0))), 1);
    assert_eq!(moves(|x, y, m| x.masked(m).exp() + y.masked(m).exp()), 2);
    assert_eq!(moves(|x, y, m| x.masked(m).sum(0) + y.masked(m)), 1);
}

#[test]
fn ids_are_computed_again_once_their_number_is_known() {
    let g = Graph::new();
    let x = g.input::<i64>("x", shape![g.symbol("n")]);
    let ids = x.remainder(7) + 1;
    let kernel = ids.segment_count((ids.max(0) + 1).to_size()).compile().unwrap();
    let explained = kernel.explain().to_string();
    assert!(!explained.contains("output %0: i64[n]"), "{explained}");
    for length in [1_usize, 17, 1000] {
        let x: Vec<i64> = (0..length as i64).map(|at| at * at).collect();
        let mut wanted = vec![0_i64; x.iter().map(|x| x % 7 + 2).max().unwrap() as usize];
        x.iter().for_each(|x| wanted[(x % 7 + 1) as usize] += 1);
        assert_eq!(TryInto::<Vec<i64>>::try_into(kernel.run(&x).unwrap()).unwrap(), wanted);
    }
}

#[test]
fn explanations_say_what_is_moved() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n"), 3]);
    let kernel = (x.masked(x.sum(1).gt(0)) * 2).compile().unwrap();
    let text = kernel.explain().to_string();
    assert!(text.contains("after phase 1: @k is the number of true elements of `greater`"), "{text}");
    assert!(text.contains("in phase 1, strip by strip: selected elements are moved to f32[@k, 3]"), "{text}");
    assert_eq!(kernel.outputs()[0].to_string(), "out: f32[@k, 3]");
}

/// A kernel of selected elements, and of none of them a greatest one.
fn greatest() -> Executable {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    x.masked(x.gt(0)).max(0).compile().unwrap()
}

#[test]
fn sizes_that_do_not_fit_are_errors_of_the_run() {
    let kernel = greatest();
    let result: f64 = kernel.run(&[1.0, -2.0, 3.0]).unwrap().try_into().unwrap();
    assert_eq!(result, 3.0);
    for _ in 0..2 {
        match kernel.run(&[-1.0, -2.0]) {
            Err(CallError::Run(RunError::Sizes(sizes))) => {
                let BindError::Obligation(missed) = sizes.error() else { panic!("{sizes:?}") };
                assert_eq!((missed.needs.as_str(), missed.have.as_str()), ("@k >= 1", "@k is 0"));
            }
            other => panic!("{other:?}"),
        }
    }
    let g = Graph::new();
    let n = g.input::<i64>("n", shape![]);
    let kernel = g.iota(n.to_size()).compile().unwrap();
    let one = |n: i64| kernel.run(n).map(|result| Vec::<i64>::try_from(result).unwrap().len());
    assert_eq!(one(3).unwrap(), 3);
    assert!(matches!(one(-3), Err(CallError::Run(RunError::NegativeSize { size: -3, .. }))));
    let absurd = one(i64::MAX / 4).unwrap_err().to_string();
    assert!(absurd.contains("is too large"), "{absurd}");
}

/// Limits apply to what is known when a phase begins, before it asks for memory.
#[test]
fn limits_hold_in_each_phase() {
    let g = Graph::new();
    let n = g.input::<i64>("n", shape![]);
    let limits = CallLimits { output_bytes: 1 << 20, ..CallLimits::default() };
    let options = CompileOptions { limits, ..CompileOptions::default() };
    let kernel = g.iota(n.to_size()).compile_with(&options).unwrap();
    assert!(kernel.run(1000i64).is_ok());
    match kernel.run(1i64 << 30) {
        Err(CallError::Run(RunError::Sizes(sizes))) => {
            assert!(matches!(sizes.error(), BindError::Limit { .. }), "{sizes:?}");
        }
        other => panic!("{other:?}"),
    }
}

/// An input is written after everything that could fail.
#[test]
fn inputs_stay_as_they_were_where_sizes_do_not_fit() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let kept = x.masked(x.gt(0));
    x.assign(x + kept.max(0));
    let kernel = g.compile([("kept", kept.sort(0))]).unwrap();
    let mut fits = [1.0, -2.0, 3.0];
    let kept: Vec<f64> = kernel.run(&mut fits).unwrap().try_into().unwrap();
    assert_eq!((fits, kept), ([4.0, 1.0, 6.0], vec![1.0, 3.0]));
    let mut other = [-1.0, -2.0];
    assert!(kernel.run(&mut other).is_err());
    assert_eq!(other, [-1.0, -2.0]);
    // An array for the result that is too short is found before, too.
    let (mut x, mut short) = ([1.0, -2.0, 3.0], [0.0; 1]);
    assert!(matches!(kernel.run_into(&mut x, &mut short), Err(CallError::Run(RunError::Sizes(_)))));
    assert_eq!((x, short), ([1.0, -2.0, 3.0], [0.0]));
    let mut room = [0.0; 2];
    kernel.run_into(&mut x, &mut room).unwrap();
    assert_eq!((x, room), ([4.0, 1.0, 6.0], [1.0, 3.0]));
}

/// Arrays of the caller may be longer than what the data select, along these axes alone; too short ones are refused before
/// anything is written.
#[test]
fn results_are_written_to_the_front_of_longer_arrays() {
    let g = Graph::new();
    let [n, d] = g.symbols(["n", "d"]);
    let x = g.input::<f32>("x", shape![n, d]);
    let kept = x.masked(x.sum(1).gt(0));
    let kernel = g
        .compile([("kept", kept), ("count", kept.sum(1).gt(0).cast::<i64>().sum(0)), ("all", x * 2)])
        .unwrap();
    let x: Vec<f32> = (0..12).map(|at| [1.0, -9.0, 2.0, 4.0][at / 3] + at as f32 / 8.0).collect();
    let x = ArrayView::new(&x, &[4, 3]).unwrap();
    let right: Vec<f32> = [0, 2, 3]
        .iter()
        .flat_map(|row| (0..3).map(move |at| [*row, at]))
        .map(|at| x.get(&at).unwrap())
        .collect();
    for rows in 2..6 {
        let (mut kept, mut count, mut all) = (vec![-1.0f32; 2 * rows * 3], [-1i64], [-1.0f32; 12]);
        let strided = ArrayViewMut::strided(&mut kept, 0, &[rows, 3], &[6, 1]).unwrap();
        let all_of = ArrayViewMut::new(&mut all, &[4, 3]).unwrap();
        let count_of = ArrayViewMut::new(&mut count, &[]).unwrap();
        let done = kernel.run_into_capacity(x.clone(), (strided, count_of, all_of));
        if rows < 3 {
            let Err(CallError::Run(RunError::Sizes(sizes))) = &done else { panic!("{done:?}") };
            let BindError::Size(size) = sizes.error() else { panic!("{sizes:?}") };
            assert_eq!((size.axis, size.expected, size.found), (0, Some(3), 2));
            assert!(kept.iter().chain(&all).all(|x| *x == -1.0) && count == [-1]);
            continue;
        }
        assert_eq!(done.unwrap(), [vec![3, 3], vec![], vec![4, 3]]);
        let written: Vec<f32> = kept.chunks(6).take(3).flat_map(|row| row[..3].to_vec()).collect();
        assert_eq!((written, count), (right.clone(), [3]));
        assert!(
            kept.chunks(6)
                .skip(3)
                .flatten()
                .chain(kept.chunks(6).flat_map(|row| &row[3..]))
                .all(|x| *x == -1.0)
        );
        assert!(all.iter().all(|x| *x != -1.0));
    }
    // The other axes are those of the result, and so are all axes of a kernel without such sizes.
    let (mut kept, mut count, mut all) = ([0.0f32; 16], [0i64], [0.0f32; 12]);
    let wide = ArrayViewMut::new(&mut kept, &[4, 4]).unwrap();
    let all = ArrayViewMut::new(&mut all, &[4, 3]).unwrap();
    let count = ArrayViewMut::new(&mut count, &[]).unwrap();
    assert!(kernel.run_into_capacity(x, (wide, count, all)).is_err());
    let y = g.input::<f32>("y", shape![n]);
    let twice = (y * 2).compile().unwrap();
    let mut room = [0.0f32; 3];
    assert_eq!(twice.run_into_capacity(&[1.0f32, 2.0, 3.0], &mut room).unwrap(), [[3]]);
    assert_eq!(room, [2.0, 4.0, 6.0]);
    assert!(matches!(
        twice.run_into_capacity(&[1.0f32, 2.0], &mut room),
        Err(CallError::Bind(BindError::Size(_)))
    ));
}

#[test]
fn bound_arrays_run_again_and_report_the_largest_sizes() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let kernel = x.masked(x.gt(0)).compile().unwrap();
    let data = [1.0, -2.0, 3.0];
    let bound = kernel.bind(&data).unwrap();
    assert_eq!((bound.outputs()[0].shape.as_slice(), bound.outputs()[0].bytes), ([3].as_slice(), 24));
    for _ in 0..3 {
        let kept: Vec<f64> = bound.run().unwrap().try_into().unwrap();
        assert_eq!(kept, [1.0, 3.0]);
    }
    let stopped = StopFlag::new();
    stopped.stop();
    let options = RunOptions::new().stopped_by(&stopped).within(Duration::from_secs(100));
    assert!(matches!(bound.run_with(&options), Err(CallError::Run(RunError::Stopped))));
    // Nobody gives a size that data decide.
    let named = kernel.run(Inputs::new().named("x", &data).with_size("@k", 2));
    assert!(matches!(named, Err(CallError::Bind(BindError::UnknownSize { .. }))), "{named:?}");
    let chunked = kernel.in_chunks("n").unwrap();
    assert_eq!(chunked.rows(0)[0].to_string(), "out: f64[@k]");
}

#[test]
fn several_threads_run_one_kernel() {
    let kernel = greatest();
    std::thread::scope(|scope| {
        for thread in 1..5 {
            let kernel = &kernel;
            scope.spawn(move || {
                for step in 0..200 {
                    let x: Vec<f64> = (0..1000).map(|at| f64::from((at * thread + step) % 97 - 40)).collect();
                    let want = x.iter().copied().fold(0.0, f64::max);
                    let found: f64 = kernel.run(&x).unwrap().try_into().unwrap();
                    assert_eq!(found, want);
                }
            });
        }
    });
}

/// An axis of size 1 stands for all elements of the mask, and of what it selects from.
#[test]
fn axes_that_may_be_one_are_stretched() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f64>("x", shape![Dim::from(n).or_one(), Dim::from(m).or_one()]);
    let (mask, y) = (g.input::<bool>("mask", shape![n]), g.input::<f64>("y", shape![n, m]));
    let flags = g.input::<bool>("flags", shape![Dim::from(n).or_one()]);
    let outputs =
        [("rows", x.masked(mask)), ("doubled", (x * 2).masked(mask)), ("given", y.compress(flags, 0))];
    for options in ways() {
        let kernel = g.compile_with(outputs, &options).unwrap();
        for (n, m) in [(1, 1), (1, 3), (17, 1), (1000, 3)] {
            let mask: Vec<bool> = (0..n).map(|at| at % 3 != 1).collect();
            let y: Vec<f64> = (0..n * m).map(|at| at as f64).collect();
            let kept = mask.iter().filter(|held| **held).count();
            for (rows, columns, flags) in [(1, 1, 1), (1, m, n), (n, 1, 1), (n, m, n)] {
                for value in [true, false] {
                    let (x, flags) = (vec![2.5; rows * columns], vec![value; flags]);
                    let x = ArrayView::new(&x, &[rows, columns]).unwrap();
                    let y = ArrayView::new(&y, &[n, m]).unwrap();
                    let result = kernel.run((x, mask.as_slice(), y, flags.as_slice())).unwrap();
                    let all: Vec<&AnyArray> = result.iter().map(|(_, array)| array).collect();
                    assert_eq!((all[0].shape(), all[1].shape()), (&[kept, m][..], &[kept, m][..]));
                    assert!(all[0].as_slice::<f64>().unwrap().iter().all(|value| *value == 2.5));
                    assert!(all[1].as_slice::<f64>().unwrap().iter().all(|value| *value == 5.0));
                    let given: Vec<f64> =
                        if value { (0..n * m).map(|at| at as f64).collect() } else { Vec::new() };
                    assert_eq!(all[2].as_slice::<f64>().unwrap(), given);
                }
            }
        }
    }
}

/// Rows that are larger than what is kept in a cache.
#[test]
fn wide_rows() {
    const WIDTH: usize = 40_000;
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n"), WIDTH]);
    let kept = (x * 2).masked(x.max(1).gt(10));
    for options in ways() {
        let kernel = kept.compile_with(&options).unwrap();
        for rows in [0, 1, 3, 70] {
            let x: Vec<f64> = (0..rows * WIDTH).map(|at| (at / WIDTH % 20) as f64).collect();
            let result = kernel.run(ArrayView::new(&x, &[rows, WIDTH]).unwrap()).unwrap();
            let expected: Vec<f64> =
                x.iter().filter(|value| **value > 10.0).map(|value| value * 2.0).collect();
            let result: Array<f64> = result.try_into().unwrap();
            assert_eq!(result.shape(), [expected.len() / WIDTH, WIDTH]);
            assert!(result.as_slice() == expected, "{rows}");
        }
    }
}

/// Conditions on sizes hold before an input is written, also where the sizes are of no axis.
#[test]
fn inputs_are_written_after_all_conditions() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    x.assign(x - x.masked(x.gt(0)).max(0));
    let kernel = g.compile([] as [(&str, Tensor); 0]).unwrap();
    let mut some = [1.0, -2.0, 3.0];
    kernel.run(&mut some).unwrap();
    assert_eq!(some, [-2.0, -5.0, 0.0]);
    let mut none = [-1.0, -2.0];
    assert!(matches!(kernel.run(&mut none), Err(CallError::Run(RunError::Sizes(_)))));
    assert_eq!(none, [-1.0, -2.0]);
}

/// The limit is one of results: of those that are selected, too, and not of masks and elements between phases.
#[test]
fn limits_of_results_are_those_of_selected_elements() {
    let of = |output_bytes| {
        let limits = CallLimits { output_bytes, ..CallLimits::default() };
        CompileOptions { limits, ..CompileOptions::default() }
    };
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let values: Vec<f64> = (0..10_000).map(f64::from).collect();
    let few = x.masked(x.lt(10)).compile_with(&of(80)).unwrap();
    assert!(few.run(&values).is_ok());
    let more = x.masked(x.lt(11)).compile_with(&of(80)).unwrap();
    match more.run(&values) {
        Err(CallError::Run(RunError::Sizes(sizes))) => {
            assert!(matches!(sizes.error(), BindError::Limit { .. }), "{sizes:?}");
        }
        other => panic!("{other:?}"),
    }
    let total = (x.sort(0) * 2).masked(x.lt(5000)).sort(0).sum(0).compile_with(&of(80)).unwrap();
    assert!(total.run(&values).is_ok());
}

/// What is computed strip by strip is limited as a whole, and its work is that of all rows.
#[test]
fn work_is_that_of_all_elements() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let [short, long] = [1_000, 400_000].map(|count| vec![0.5f64; count]);
    let selected = x.masked(x.sin().lt(1));
    let kernel = selected.compile().unwrap();
    let work = |values: &[f64]| kernel.bind(values).unwrap().work();
    assert!(work(&long).operations > 390 * work(&short).operations && work(&short).operations > 10_000);
    let limits = CallLimits { work: 10 * work(&short).total, ..CallLimits::default() };
    let limited = selected.compile_with(&CompileOptions { limits, ..CompileOptions::default() }).unwrap();
    assert!(limited.run(&short).is_ok());
    assert!(matches!(limited.run(&long), Err(CallError::Bind(BindError::Limit { .. }))));
}

/// Selections from arrays of other numbers of rows, in one phase: one was taken for rows of the other.
#[test]
fn selections_from_arrays_of_several_lengths_run_together() {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let (x, y) = (g.input::<f64>("x", shape![n]), g.input::<i32>("y", shape![k]));
    let mask = g.input::<bool>("mask", shape![n]);
    let kernel =
        g.compile([("y", y.masked(y.gt(0))), ("x", x.masked(mask)), ("both", x.masked(x.gt(mask)))]).unwrap();
    for [n, k] in [[17, 5], [5, 17], [1000, 0], [0, 1000], [70_000, 3]] {
        let x: Vec<f64> = (0..n).map(|at| at as f64).collect();
        let mask: Vec<bool> = (0..n).map(|at| at % 3 == 1).collect();
        let y: Vec<i32> = (0..k).map(|at| at % 7 - 3).collect();
        let mut results = kernel.run(inputs! { "x" => &x, "y" => &y, "mask" => &mask }).unwrap();
        let positive: Vec<i32> = y.iter().copied().filter(|y| *y > 0).collect();
        let kept = x.iter().zip(&mask).filter(|(_, mask)| **mask).map(|(x, _)| *x);
        let above = x.iter().zip(&mask).filter(|(x, mask)| **x > f64::from(**mask)).map(|(x, _)| *x);
        assert_eq!(results.take::<Vec<i32>>("y").unwrap(), positive, "{n} and {k}");
        assert_eq!(results.take::<Vec<f64>>("x").unwrap(), kept.collect::<Vec<f64>>(), "{n} and {k}");
        assert_eq!(results.take::<Vec<f64>>("both").unwrap(), above.collect::<Vec<f64>>(), "{n} and {k}");
    }
}
