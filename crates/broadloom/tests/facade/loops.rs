//! Loops: how they run and what they store. That they compute what the interpreter does is tested in the oracle.

use broadloom::prelude::*;
use broadloom::{BindError, CallError, CallLimits, Inputs, RunError, RunOptions, StopFlag, Threads};
use std::time::{Duration, Instant};

fn stepped(g: &Graph, times: i64) -> Tensor {
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    repeat(times, [x], |step, [u]| [u * 0.5 + step.cast::<f64>()])[0]
}

#[test]
fn any_number_of_steps_is_one_kernel() {
    let g = Graph::new();
    let (x, times) = (g.input::<f64>("x", shape![g.symbol("n")]), g.input::<i64>("times", shape![]));
    let [u] = repeat(times, [x], |_, [u]| [u + 1]);
    let kernel = u.compile().unwrap();
    for (times, want) in [(0i64, 1.0), (-5, 1.0), (1, 2.0), (1000, 1001.0), (1_000_000, 1_000_001.0)] {
        let result: Vec<f64> =
            kernel.run(inputs! { "x" => &[1.0f64; 3], "times" => times }).unwrap().try_into().unwrap();
        assert_eq!(result, [want; 3], "{times}");
    }
    assert_eq!(kernel.explain().variants(), 1);
}

#[test]
fn the_size_of_the_code_does_not_depend_on_the_number_of_steps() {
    let code = |times: i64| stepped(&Graph::new(), times).compile().unwrap().explain().code_bytes();
    assert_eq!(code(20), code(2_000_000_000));
    // Few steps are calls of the kernel for one.
    assert!(code(2) < code(20));
}

/// Elements that do not meet take all steps in turn, in place, on any number of threads.
#[test]
fn elements_take_all_steps_in_strips() {
    let bits = |threads: Threads, count: usize| {
        let options = CompileOptions { threads, parallel_threshold: 0, ..CompileOptions::default() };
        let kernel = stepped(&Graph::new(), 100).compile_with(&options).unwrap();
        let explained = kernel.explain();
        assert!(explained.to_string().contains("100 steps, carried values stay in registers"), "{explained}");
        let x: Vec<f64> = (0..count).map(|i| i as f64 * 0.1).collect();
        let result: Vec<f64> = kernel.run(&x).unwrap().try_into().unwrap();
        result.into_iter().map(f64::to_bits).collect::<Vec<u64>>()
    };
    for count in [0, 1, 17, 255, 256, 257, 1000, 70_000] {
        let want: Vec<u64> = (0..count)
            .map(|i| (0..100).fold(i as f64 * 0.1, |u, step| u * 0.5 + f64::from(step)).to_bits())
            .collect();
        assert_eq!(bits(Threads::Calling, count), want, "{count}");
        assert_eq!(bits(Threads::count(3).unwrap(), count), want, "{count}");
    }
}

/// A stencil reads its neighbours: two arrays take turns, and nothing else is stored.
#[test]
fn a_stencil_takes_turns_between_two_arrays() {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f64>("x", shape![n, n]);
    let [u] = repeat(7, [x], |_, [u]| {
        let around = u.slice(slice![2.., 1..-1]) + u.slice(slice![..-2, 1..-1]);
        [u.at(slice![1..-1, 1..-1]).set(0.5 * around)]
    });
    let kernel = u.compile().unwrap();
    let explained = kernel.explain();
    assert!(
        explained.to_string().contains("each step writes the carried values to other arrays"),
        "{explained}"
    );
    assert_eq!(explained.materialized_bytes().to_string(), "8*n*n");
    for size in [2, 3, 9, 40] {
        let mut want: Vec<f64> = (0..size * size).map(|i| (i * i % 17) as f64).collect();
        let result: Vec<f64> =
            kernel.run(ArrayView::new(&want, &[size, size]).unwrap()).unwrap().try_into().unwrap();
        for _ in 0..7 {
            let before = want.clone();
            for i in 1..size - 1 {
                for j in 1..size - 1 {
                    want[i * size + j] = 0.5 * (before[(i + 1) * size + j] + before[(i - 1) * size + j]);
                }
            }
        }
        assert_eq!(result, want, "{size}");
    }
}

/// Values that only change places are carried in registers, or are not copied from step to step: where a step reads neighbours.
#[test]
fn values_that_change_places_are_where_they_belong() {
    type Step = fn([Tensor; 3]) -> [Tensor; 3];
    type ByHand = fn([[f64; 3]; 2]) -> [[f64; 3]; 2];
    let steps: [(Step, ByHand); 2] = [
        (|[a, b, c]| [b, c, a + b], |x| x.map(|[a, b, c]| [b, c, a + b])),
        (|[a, b, c]| [b, c, a.flip(0) + b], |[[a, b, c], [d, e, f]]| [[b, c, d + b], [e, f, a + e]]),
    ];
    for (step, by_hand) in steps {
        let g = Graph::new();
        let n = g.symbol("n");
        let [a, b, c] = ["a", "b", "c"].map(|name| g.input::<f64>(name, shape![n]));
        let times = g.input::<i64>("times", shape![]);
        let results = repeat(times, [a, b, c], |_, of| step(of));
        let kernel = g.compile([("a", results[0]), ("b", results[1]), ("c", results[2])]).unwrap();
        for times in 0..12i64 {
            let given = inputs! { "a" => &[1.0f64, 5.0], "b" => &[2.0f64, 6.0], "c" => &[3.0f64, 7.0], "times" => times };
            let (a, b, c): (Vec<f64>, Vec<f64>, Vec<f64>) = kernel.run(given).unwrap().try_into().unwrap();
            let want = (0..times).fold([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]], |of, _| by_hand(of));
            assert_eq!([[a[0], b[0], c[0]], [a[1], b[1], c[1]]], want, "{times}");
        }
    }
}

#[test]
fn rows_of_any_layout_are_read_where_they_are() {
    let g = Graph::new();
    let [t, n] = g.symbols(["t", "n"]);
    let x = g.input::<f64>("x", shape![n, t]);
    let zero = x.slice_axis(1, 0, 1) * 0.0;
    // The rows are the columns, the last one first.
    let ([_], [e]) = scan([zero], [x.t().flip(0)], |[s], [row]| {
        let s = s * 0.5 + row;
        ([s], [s])
    });
    let kernel = e.compile().unwrap();
    assert!(!kernel.explain().to_string().contains("t0"), "nothing is stored: {}", kernel.explain());
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let result: Vec<f64> = kernel.run(ArrayView::new(&x, &[3, 4]).unwrap()).unwrap().try_into().unwrap();
    let mut state = [0.0; 3];
    let mut want = Vec::new();
    for step in (0..4).rev() {
        for (row, state) in state.iter_mut().enumerate() {
            *state = *state * 0.5 + x[row * 4 + step];
        }
        want.extend(state);
    }
    assert_eq!(result, want);
}

/// What is computed before a loop is there for its rows, which are a view, and for its carried value.
#[test]
fn a_loop_begins_with_the_view_that_its_rows_are() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let views =
        [(x.flip(0), [3.0, 5.0, 1.0]), ((x * 2.0).flip(0), [6.0, 10.0, 2.0]), (x * 2.0, [2.0, 10.0, 6.0])];
    for (view, rows) in views {
        let ([u], []) = scan([view], [view], |[u], [row]| ([u * 0.5 + row], []));
        let result: Vec<f64> = u.compile().unwrap().run(&[1.0, 5.0, 3.0]).unwrap().try_into().unwrap();
        let mut want = rows;
        for row in rows {
            want.iter_mut().for_each(|u| *u = *u * 0.5 + row);
        }
        assert_eq!(result, want);
    }
}

/// Equal stacked values have one array, whoever reads them.
#[test]
fn equal_results_are_read_from_one_array() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let ([], [a, b]) = scan([], [x], |[], [row]| ([], [row * 2.0, row * 2.0]));
    let [c] = repeat(2, [x.sum(..)], |_, [c]| [c + a.sum(..) - b.max(..)]);
    let kernel = g.compile([("both", a * b + c), ("c", c)]).unwrap();
    let results = kernel.run(&[1.0, 5.0, 3.0]).unwrap();
    let (both, c): (Vec<f64>, f64) = results.try_into().unwrap();
    assert_eq!((both, c), (vec![29.0, 125.0, 61.0], 25.0));
}

#[test]
fn results_go_to_the_arrays_of_the_caller() {
    let kernel = stepped(&Graph::new(), 3).compile().unwrap();
    let want: Vec<f64> = kernel.run(&[1.0f64, 2.0, 3.0]).unwrap().try_into().unwrap();
    let mut dense = [0.0f64; 3];
    kernel.run_into(&[1.0f64, 2.0, 3.0], &mut dense).unwrap();
    assert_eq!(dense, want[..]);
    let mut apart = [0.0f64; 6];
    kernel.run_into(&[1.0f64, 2.0, 3.0], ArrayViewMut::strided(&mut apart, 0, &[3], &[2]).unwrap()).unwrap();
    assert_eq!(apart, [want[0], 0.0, want[1], 0.0, want[2], 0.0]);
    let bound = kernel.bind(&[1.0f64, 2.0, 3.0]).unwrap();
    for _ in 0..3 {
        let again: Vec<f64> = bound.run().unwrap().try_into().unwrap();
        assert_eq!(again, want);
    }
}

#[test]
fn an_input_that_is_assigned_changes_only_when_all_steps_have_run() {
    let g = Graph::new();
    let x = g.input::<i64>("x", shape![4]);
    let table = g.input::<f64>("table", shape![g.symbol("k")]);
    let [y, _] = repeat(5, [table.take(x, 0), x], |step, [y, x]| [y + table.take(x + step, 0), x]);
    x.assign((y * 0.0).cast::<i64>() + 7);
    let kernel = g.compile([]).unwrap();
    let table: Vec<f64> = (0..20).map(f64::from).collect();
    let mut x = [0i64, 1, 2, 3];
    kernel.run(inputs! { "x" => &mut x, "table" => &table }).unwrap();
    assert_eq!(x, [7; 4]);
    let mut x = [0i64, 1, 17, 3];
    let error = kernel.run(inputs! { "x" => &mut x, "table" => &table }).unwrap_err();
    assert_eq!(x, [0, 1, 17, 3]);
    let text = format!("{error:#}");
    assert!(
        text.contains("in step 3 of `repeat`: `take`: the index at [2] is 20, but the axis has 20 elements"),
        "{text}"
    );
    assert!(text.contains("loops.rs"), "{text}");
}

#[test]
fn no_step_reads_nothing_of_empty_tables() {
    let g = Graph::new();
    let (x, times) =
        (g.input::<f64>("x", shape![g.symbol("n")]), g.input::<f64>("rows", shape![g.symbol("t")]));
    let ([last], []) =
        scan([g.constant(1.5f64)], [times], |[s], [row]| ([s + x.take(row.cast::<i64>(), 0)], []));
    let kernel = last.compile().unwrap();
    let result: f64 =
        kernel.run(inputs! { "x" => &[0.0f64; 0], "rows" => &[0.0f64; 0] }).unwrap().try_into().unwrap();
    assert_eq!(result, 1.5);
    let refused = kernel.run(inputs! { "x" => &[0.0f64; 0], "rows" => &[0.0f64; 2] });
    assert!(matches!(refused, Err(CallError::Bind(BindError::EmptyTable(_)))), "{refused:?}");
}

/// A condition that always holds.
#[test]
fn a_loop_without_end_is_stopped() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let [u] = repeat_while([x], |[u]| u.max(0).gt(0.0), |[u]| [u]);
    let kernel = u.compile().unwrap();
    let start = Instant::now();
    let late = kernel.run_with(&[1.0f64, 2.0], &RunOptions::new().within(Duration::from_millis(50)));
    assert!(matches!(late, Err(CallError::Run(RunError::DeadlinePassed))), "{late:?}");
    let flag = StopFlag::new();
    flag.stop();
    let stopped = kernel.run_with(&[1.0f64, 2.0], &RunOptions::new().stopped_by(&flag));
    assert!(matches!(stopped, Err(CallError::Run(RunError::Stopped))), "{stopped:?}");
    assert!(start.elapsed() < Duration::from_secs(5));
    // A condition that is NaN holds for nothing.
    let result: Vec<f64> = kernel.run(&[f64::NAN, -1.0]).unwrap().try_into().unwrap();
    assert!(result[0].is_nan());
    let long = stepped(&Graph::new(), i64::MAX).compile().unwrap();
    let late = long.run_with(&[1.0f64; 100], &RunOptions::new().within(Duration::from_millis(50)));
    assert!(matches!(late, Err(CallError::Run(RunError::DeadlinePassed))), "{late:?}");
}

#[test]
fn limits_count_all_steps() {
    let work = |times: i64| {
        stepped(&Graph::new(), times).compile().unwrap().bind(&[1.0f64; 1000]).unwrap().work().total
    };
    assert!(work(1000) > 900 * work(1), "{} {}", work(1000), work(1));
    let options = CompileOptions {
        limits: CallLimits { work: 1_000_000, ..CallLimits::default() },
        ..CompileOptions::default()
    };
    let refused = stepped(&Graph::new(), 1_000_000).compile_with(&options).unwrap().run(&[1.0f64; 1000]);
    assert!(matches!(refused, Err(CallError::Bind(BindError::Limit { .. }))), "{refused:?}");
    // Of a condition nobody knows how often it holds.
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![]);
    let [u] = repeat_while([x], |[u]| u.gt(1.0), |[u]| [u / 2.0]);
    let refused = u.compile_with(&options).unwrap().run(8.0f64);
    assert!(matches!(refused, Err(CallError::Bind(BindError::Limit { .. }))), "{refused:?}");
    // Steps that compute nothing are steps as well.
    let [u] = repeat_while([x], |[u]| u.gt(1.0), |[u]| [u]);
    let refused = u.compile_with(&options).unwrap().run(0.0f64);
    assert!(matches!(refused, Err(CallError::Bind(BindError::Limit { .. }))), "{refused:?}");
    let g = Graph::new();
    let [x, y] = ["x", "y"].map(|name| g.input::<f64>(name, shape![]));
    let [u, _] = repeat(g.input::<i64>("times", shape![]), [x, y], |_, [a, b]| [b, a]);
    let refused =
        u.compile_with(&options).unwrap().run(inputs! { "x" => 1.0f64, "y" => 2.0f64, "times" => 3i64 });
    assert!(matches!(refused, Err(CallError::Bind(BindError::Limit { .. }))), "{refused:?}");
}

#[test]
fn chunks_take_loops_that_do_not_see_the_rows() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, w) = (g.input::<f64>("x", shape![n]), g.input::<f64>("w", shape![3]));
    let [w] = repeat(3, [w], |_, [w]| [w * 2.0]);
    let chunked = (x * w.sum(0)).compile().unwrap().in_chunks("n").unwrap();
    let weights = [1.0f64, 2.0, 3.0];
    let mut run = chunked.start(inputs! { "w" => &weights }).unwrap();
    let rows: Vec<f64> = run.push(&[1.0f64, 2.0]).unwrap().try_into().unwrap();
    assert_eq!(rows, [48.0, 96.0]);
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let [u] = repeat(3, [x], |_, [u]| [u * 2.0]);
    let refused = u.compile().unwrap().in_chunks("n").unwrap_err().to_string();
    assert!(refused.contains("cannot be computed from chunks of `n`"), "{refused}");
}

#[test]
fn a_size_that_is_given_counts_steps() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![]);
    let [u] = repeat(g.parameter("times"), [x], |_, [u]| [u * 2.0]);
    let kernel = u.compile().unwrap();
    let result: f64 =
        kernel.run(Inputs::new().named("x", 1.0f64).with_size("times", 10)).unwrap().try_into().unwrap();
    assert_eq!(result, 1024.0);
}

/// A step computes a table of pairs where it is used: it is larger than all that it is computed from.
#[test]
fn no_table_of_pairs_is_stored_for_the_steps() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, y) = (g.input::<f64>("x", shape![n]), g.input::<f64>("y", shape![m]));
    let [w] = repeat(3, [y], |_, [w]| [((x.unsqueeze(1) - y).square() * w).sum(0)]);
    let kernel = w.compile().unwrap();
    let stored = kernel.explain().materialized_bytes().to_string();
    assert!(!stored.contains("n*m") && !stored.contains("m*n"), "{stored}");
    // A sum over all of it is computed once, before the loop.
    let [w] = repeat(3, [y], |_, [w]| [w * (x.unsqueeze(1) - y).square().sum(..)]);
    let explained = w.compile().unwrap().explain().to_string();
    assert!(explained.starts_with("before the loops:"), "{explained}");
    let (before, step) = explained.split_once("loop 1, step").unwrap();
    assert!(before.contains("reduce") && !step.contains("reduce"), "{explained}");
}

/// What steps do to an element, in the graph and by hand.
type Stepping = (&'static str, fn(Tensor) -> Tensor, fn(f64) -> f64);

/// One kernel takes all steps. What settles is left alone, whatever its period is; bits count, not values.
#[test]
fn values_stay_in_registers_from_step_to_step() {
    let steppings: &[Stepping] = &[
        ("decays to a subnormal number, and then to zero", |u| u * 0.5, |u| u * 0.5),
        ("changes its sign, also that of zero", |u| -u, |u| -u),
        ("has a period of three", |u| 1.0 / (1.0 - u), |u| 1.0 / (1.0 - u)),
        ("overflows, and becomes NaN", |u| u * u - u, |u| u * u - u),
        ("is chaotic", |u| 3.75 * u * (1.0 - u), |u| 3.75 * u * (1.0 - u)),
        (
            "escapes where it is large",
            |u| select(u.lt(4), u * u + 0.3, u),
            |u| if u < 4.0 { u * u + 0.3 } else { u },
        ),
        ("stays", |u| u, |u| u),
    ];
    for (what, of_graph, by_hand) in steppings {
        for times in [1i64, 2, 7, 15, 16, 17, 33, 1000, 1003] {
            let g = Graph::new();
            let x = g.input::<f64>("x", shape![g.symbol("n")]);
            let [u] = repeat(times, [x], |_, [u]| [of_graph(u)]);
            for threads in [Threads::Calling, Threads::count(2).unwrap()] {
                let options = CompileOptions { threads, parallel_threshold: 0, ..CompileOptions::default() };
                let kernel = u.compile_with(&options).unwrap();
                for count in [1usize, 3, 31, 64, 257, 1000] {
                    let x: Vec<f64> = (0..count)
                        .map(|i| [0.0, -0.0, 2.0, 0.25, -1e300, f64::NAN, 1e-310, 0.7][i % 8])
                        .collect();
                    let want: Vec<u64> =
                        x.iter().map(|x| (0..times).fold(*x, |u, _| by_hand(u))).map(f64::to_bits).collect();
                    let got: Vec<f64> = kernel.run(&x).unwrap().try_into().unwrap();
                    let got: Vec<u64> = got.into_iter().map(f64::to_bits).collect();
                    let is_same = |(got, want): (&u64, &u64)| {
                        // Which NaN an operation on NaNs gives is not part of the meaning.
                        got == want || f64::from_bits(*got).is_nan() && f64::from_bits(*want).is_nan()
                    };
                    assert!(got.iter().zip(&want).all(is_same), "{what}: {times} steps of {count} elements");
                }
            }
        }
    }
}

#[test]
fn the_explanation_says_what_stays_in_registers() {
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let [u] = repeat(1000, [x], |_, [u]| [u * 0.5 + 1]);
    let kernel = u.compile().unwrap();
    let text = kernel.explain().to_string();
    for part in ["1000 steps, carried values stay in registers", "repeat steps until it settles {"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The first loop over steps, in the vector loop over elements.
    let (_, first) = text.split_once("loop steps: ").unwrap();
    assert!(
        first
            .split_once(" lanes")
            .is_some_and(|(lanes, _)| lanes.parse::<usize>().is_ok_and(|lanes| lanes >= 4)),
        "{text}"
    );
}

/// Truth values, halves, swapped values, the counter, rows and stacked rows, over several calls of the kernel.
#[test]
fn rows_and_counters_go_on_from_call_to_call() {
    let g = Graph::new();
    let [t, n] = g.symbols(["t", "n"]);
    let x = g.input::<f32>("x", shape![t, n]);
    let first = x.slice_axis(0, 0, 1).reshape(shape![n]);
    let ([last, was_rising, rises], [all]) =
        scan([first, first.lt(0), first.cast::<i16>()], [x], |[before, _, count], [row]| {
            let rises = row.gt(before);
            let halves = (before.cast::<f16>() * 0.5).cast::<f32>();
            let next = select(rises, row, halves);
            ([next, rises, select(rises & next.gt(1), count + 1, count)], [before])
        });
    let kernel = g.compile([("last", last), ("rising", was_rising), ("rises", rises), ("all", all)]).unwrap();
    // More steps than one call takes, in one lane and in many.
    for (count, series) in [(1usize, 1usize), (2, 3), (63, 37), (300_001, 1), (9_001, 37)] {
        let x: Vec<f32> = (0..count * series).map(|i| ((i * 37) % 101) as f32 * 0.25 - 9.0).collect();
        let results = kernel.run(ArrayView::new(&x, &[count, series]).unwrap()).unwrap();
        let mut all = vec![0.0; count * series];
        let (mut last, mut rising, mut rises) = (Vec::new(), Vec::new(), Vec::new());
        for of in 0..series {
            let (mut before, mut is_rising, mut times) = (x[of], x[of] < 0.0, x[of] as i16);
            for step in 0..count {
                let row = x[step * series + of];
                all[step * series + of] = before;
                is_rising = row > before;
                let halved = f16::from_f32(f16::from_f32(before).to_f32() * 0.5).to_f32();
                before = if is_rising { row } else { halved };
                times = if is_rising && before > 1.0 { times.wrapping_add(1) } else { times };
            }
            last.push(before);
            rising.push(is_rising);
            rises.push(times);
        }
        let what = format!("{count} steps of {series}");
        assert_eq!(results.get("all").unwrap().to_vec::<f32>().unwrap(), all, "{what}");
        assert_eq!(results.get("last").unwrap().to_vec::<f32>().unwrap(), last, "{what}");
        assert_eq!(results.get("rising").unwrap().to_vec::<bool>().unwrap(), rising, "{what}");
        assert_eq!(results.get("rises").unwrap().to_vec::<i16>().unwrap(), rises, "{what}");
    }
    let g = Graph::new();
    let x = g.input::<f64>("x", shape![g.symbol("n")]);
    let [a, b] = repeat(1_000_001, [x, x * 2], |step, [a, b]| [b, a + (step % 3).cast::<f64>()]);
    let kernel = g.compile([("a", a), ("b", b)]).unwrap();
    let results = kernel.run(&[1.0f64, 5.0]).unwrap();
    for (at, x) in [1.0, 5.0].into_iter().enumerate() {
        let (mut a, mut b) = (x, 2.0 * x);
        for step in 0..1_000_001i64 {
            (a, b) = (b, a + (step % 3) as f64);
        }
        assert_eq!(results.get("a").unwrap().to_vec::<f64>().unwrap()[at], a);
        assert_eq!(results.get("b").unwrap().to_vec::<f64>().unwrap()[at], b);
    }
}

/// Series in columns and in rows, few and many, beside operands of other shapes.
#[test]
fn series_of_any_layout_are_those_of_a_loop_by_hand() {
    let g = Graph::new();
    let [t, n, m] = g.symbols(["t", "n", "m"]);
    let x = g.input::<f64>("x", shape![t, n, m]);
    let (rate, bias) = (g.input::<f64>("rate", shape![n]), g.input::<f64>("bias", shape![m]));
    let zero = g.full(shape![n, m], 0.0);
    let ([last], [all]) = scan([zero], [x], |[before], [row]| {
        let next = before * rate.unsqueeze(1) + row + bias;
        ([next], [next])
    });
    let kernel = g.compile([("last", last), ("all", all)]).unwrap();
    for (t, n, m) in [(5usize, 1usize, 1usize), (7, 3, 5), (100, 2, 40), (40, 30, 33), (3, 17, 1)] {
        let numbers = |count: usize, by: usize| -> Vec<f64> {
            (0..count).map(|i| ((i * by) % 23) as f64 * 0.125 - 1.0).collect()
        };
        let (flat, rate, bias) = (numbers(t * n * m, 7), numbers(n, 5), numbers(m, 3));
        let at = |step: usize, row: usize, column: usize| flat[(step * n + row) * m + column];
        let (mut state, mut want) = (vec![0.0; n * m], Vec::new());
        for step in 0..t {
            for row in 0..n {
                for column in 0..m {
                    let value = &mut state[row * m + column];
                    *value = *value * rate[row] + at(step, row, column) + bias[column];
                }
            }
            want.extend_from_slice(&state);
        }
        // The steps are the last axis in memory.
        let turned: Vec<f64> = (0..n * m)
            .flat_map(|place| (0..t).map(move |step| (step, place)))
            .map(|(step, place)| flat[step * n * m + place])
            .collect();
        let dense = ArrayView::new(&flat, &[t, n, m]).unwrap();
        let strides = [1, (m * t) as isize, t as isize];
        let apart = ArrayView::strided(&turned, 0, &[t, n, m], &strides).unwrap();
        for view in [dense, apart] {
            let results = kernel.run(inputs! { "x" => view, "rate" => &rate, "bias" => &bias }).unwrap();
            assert_eq!(results.get("all").unwrap().to_vec::<f64>().unwrap(), want, "{t} {n} {m}");
            assert_eq!(results.get("last").unwrap().to_vec::<f64>().unwrap(), state, "{t} {n} {m}");
        }
    }
}

/// Stacked rows that are an output with its axes in another order are written there, row by row.
#[test]
fn stacked_rows_are_written_in_the_order_of_the_output() {
    let g = Graph::new();
    let [t, n, m] = g.symbols(["t", "n", "m"]);
    let x = g.input::<f64>("x", shape![n, t, m]);
    let ([_], [all]) = scan([g.full(shape![n, m], 1.0)], [x.permute_dims([1, 0, 2])], |[before], [row]| {
        let next = before * 0.5 + row;
        ([next], [next])
    });
    let turned = all.permute_dims([1, 0, 2]);
    let kernel = turned.compile().unwrap();
    assert!(!kernel.explain().to_string().contains("after the loops"), "{}", kernel.explain());
    let both = g.compile([("turned", turned), ("total", all.sum(0)), ("sums", turned.sum(1))]).unwrap();
    let back = all.flip(0).permute_dims([2, 1, 0]).flip(1);
    let backwards = back.compile().unwrap();
    assert!(!backwards.explain().to_string().contains("after the loops"), "{}", backwards.explain());
    // Where something else reads the rows, they are in their order.
    let read = g.compile([("back", back), ("total", all.sum(0))]).unwrap();
    let seen = g.compile([("back", back), ("sums", all.flip(0).sum(0))]).unwrap();
    let again = g.compile([("back", back), ("twice", back * 2)]).unwrap();
    for (t, n, m) in [(0usize, 3usize, 2usize), (1, 1, 1), (9, 4, 3), (70, 300, 2), (5, 2, 0)] {
        let x: Vec<f64> = (0..n * t * m).map(|i| (i % 11) as f64 * 0.25).collect();
        let view = ArrayView::new(&x, &[n, t, m]).unwrap();
        let mut want = vec![0.0; n * t * m];
        let mut sums = vec![0.0; n * m];
        for row in 0..n {
            for column in 0..m {
                let mut before = 1.0;
                for step in 0..t {
                    let at = (row * t + step) * m + column;
                    before = before * 0.5 + x[at];
                    want[at] = before;
                    sums[row * m + column] += before;
                }
            }
        }
        let got: Vec<f64> = kernel.run(view.clone()).unwrap().try_into().unwrap();
        assert_eq!(got, want, "{t} {n} {m}");
        // Into every other element of an array of the caller.
        let mut wide = vec![7.0; 2 * n * t * m];
        let strides = [2 * t * m, 2 * m, 2].map(|stride| stride as isize);
        let target = ArrayViewMut::strided(&mut wide, 0, &[n, t, m], &strides).unwrap();
        kernel.run_into(view.clone(), target).unwrap();
        assert!(wide.iter().step_by(2).eq(&want) && wide.iter().skip(1).step_by(2).all(|gap| *gap == 7.0));
        let back: Vec<f64> = (0..m * n * t)
            .map(|place| (place / (n * t), place / t % n.max(1), place % t.max(1)))
            .map(|(column, row, step)| want[((n - 1 - row) * t + t - 1 - step) * m + column])
            .collect();
        let got: Vec<f64> = backwards.run(view.clone()).unwrap().try_into().unwrap();
        assert_eq!(got, back, "{t} {n} {m}");
        for kernel in [&read, &seen, &again] {
            let got = kernel.run(view.clone()).unwrap().get("back").unwrap().to_vec::<f64>().unwrap();
            assert_eq!(got, back, "{t} {n} {m}");
        }
        let twice = again.run(view.clone()).unwrap().get("twice").unwrap().to_vec::<f64>().unwrap();
        assert!(twice.iter().zip(&back).all(|(twice, once)| *twice == 2.0 * once), "{t} {n} {m}");
        let got = seen.run(view.clone()).unwrap().get("sums").unwrap().to_vec::<f64>().unwrap();
        assert!(got.iter().zip(&sums).all(|(got, want)| (got - want).abs() < 1e-9), "{t} {n} {m}");
        let results = both.run(view).unwrap();
        assert_eq!(results.get("turned").unwrap().to_vec::<f64>().unwrap(), want);
        for name in ["total", "sums"] {
            let got = results.get(name).unwrap().to_vec::<f64>().unwrap();
            assert!(got.iter().zip(&sums).all(|(got, want)| (got - want).abs() < 1e-9), "{name}");
        }
    }
}
