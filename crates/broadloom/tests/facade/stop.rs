//! Runs that are stopped, runs that could be, and limits of calls.

use broadloom::prelude::*;
use broadloom::{
    AnyArray, BindError, CallError, CallLimits, CompileError, Inputs, Limited, RunError, RunOptions,
    StopFlag, Threads,
};
use cpu_time::ThreadTime;
use std::time::{Duration, Instant};

const EVER: Duration = Duration::from_secs(3600);
/// From the deadline to the end of the run, on a busy machine.
const SOON: Duration = Duration::from_secs(1);

fn threads() -> [Threads; 2] {
    [Threads::Calling, Threads::count(3).unwrap()]
}

/// A table of one element, repeated.
fn repeated<'a>(data: &'a [f32; 1], shape: &[usize]) -> ArrayView<'a> {
    ArrayView::strided(data, 0, shape, &vec![0; shape.len()]).unwrap()
}

fn bits(outputs: &Outputs) -> Vec<Vec<u32>> {
    let bits = |array: &AnyArray| array.as_slice::<f32>().unwrap().iter().map(|x| x.to_bits()).collect();
    outputs.iter().map(|(_, array)| bits(array)).collect()
}

/// Expressions that take hours, by kind of loop.
fn endless(x: Tensor) -> Vec<(&'static str, Tensor)> {
    vec![
        ("a sum of everything", x.sum(..)),
        ("functions of everything", x.exp().sin().sum(..)),
        ("sums of rows", x.exp().sum(1).max(0)),
        ("sums of columns", x.exp().sum(0).max(0)),
        ("a position", x.sum(1).argmax(0)),
        ("products and extremes", (x * x).mean(..) + x.max(..)),
    ]
}

#[test]
fn a_deadline_ends_runs_that_take_hours() {
    for threads in threads() {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![1_000_000, 1_000_000]);
        for (name, tensor) in endless(x) {
            let options = CompileOptions { threads: threads.clone(), ..CompileOptions::default() };
            let kernel = tensor.compile_with(&options).unwrap();
            let view = || repeated(&[0.5], &[1_000_000, 1_000_000]);
            let bound = kernel.bind(view()).unwrap();
            assert!(bound.work().total >= 1_000_000_000_000, "{name}: {:?}", bound.work());
            // Code that can be cut is compiled in the first such run: its time does not belong to the run.
            let _ = bound.run_with(&RunOptions::new().until(Instant::now()));
            let start = Instant::now();
            let late = bound.run_with(&RunOptions::new().within(Duration::from_millis(20)));
            let taken = start.elapsed();
            assert!(matches!(late, Err(CallError::Run(RunError::DeadlinePassed))), "{name}: {late:?}");
            assert!(taken < SOON, "{name}, {threads:?}: {taken:?}");
        }
    }
}

/// Tables of pairs of rows of ten billion elements: products, extremes of products, sums of functions, the nearest.
#[test]
fn a_deadline_ends_sums_over_pairs_of_long_rows() {
    let shape = [100_i64, 10_000_000_000];
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![shape[0], shape[1]]);
    let apart = x.unsqueeze(1) - x;
    let tables = [
        ("a product", x.matmul(x.t())),
        ("extremes of products", (x.unsqueeze(1) * x).max(2)),
        ("sums of functions", apart.exp().sum(2)),
        ("the nearest", apart.square().sum(2).argmin(1)),
        ("positions", apart.abs().argmax(2)),
    ];
    for (name, tensor) in tables {
        for threads in threads() {
            let options = CompileOptions { threads, ..CompileOptions::default() };
            let kernel = tensor.compile_with(&options).unwrap();
            let bound = kernel.bind(repeated(&[0.5], &shape.map(|size| size as usize))).unwrap();
            let _ = bound.run_with(&RunOptions::new().until(Instant::now()));
            let start = Instant::now();
            let late = bound.run_with(&RunOptions::new().within(Duration::from_millis(20)));
            let taken = start.elapsed();
            assert!(matches!(late, Err(CallError::Run(RunError::DeadlinePassed))), "{name}: {late:?}");
            assert!(taken < SOON, "{name}: {taken:?}");
        }
    }
}

#[test]
fn a_flag_ends_a_run_from_another_thread() {
    let g = Graph::new();
    let kernel = g.input::<f32>("x", shape![1_000_000, 1_000_000]).sum(..).compile().unwrap();
    // The first run that can be stopped compiles.
    let first = RunOptions::new().until(Instant::now());
    assert!(kernel.run_with(repeated(&[1.0], &[1_000_000, 1_000_000]), &first).is_err());
    let flag = StopFlag::new();
    let options = RunOptions::new().stopped_by(&flag);
    let stopped_at = std::thread::scope(|scope| {
        let stopper = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            flag.stop();
            Instant::now()
        });
        let stopped = kernel.run_with(repeated(&[1.0], &[1_000_000, 1_000_000]), &options);
        assert!(matches!(stopped, Err(CallError::Run(RunError::Stopped))), "{stopped:?}");
        stopper.join().unwrap()
    });
    assert!(stopped_at.elapsed() < SOON, "{:?}", stopped_at.elapsed());
    // A flag that is set stays set.
    let again = kernel.run_with(repeated(&[1.0], &[1_000_000, 1_000_000]), &options);
    assert_eq!(again.unwrap_err().to_string(), "the run was stopped");
}

/// Loops that are one step of an outer loop or along the only axis, of a trillion elements: running results, groups, changes at
/// positions, counts and the best elements. None of them stores anything long.
fn endless_walks(x: Tensor, ids: Tensor) -> Vec<(&'static str, Tensor)> {
    let few = x.slice(slice![0..5]);
    vec![
        ("the best elements", x.topk(5, 0).0),
        ("positions of the best functions", x.exp().topk_smallest(3, 0).1),
        ("a position", x.argmax(0)),
        ("sums of groups", x.segment_sum(ids, 7)),
        ("extremes of groups", x.exp().segment_max(ids, 7)),
        ("counts of groups", ids.segment_count(7)),
        ("added at positions", few.at(ids).add(x)),
        ("greatest at positions", few.at(ids).maximum(x)),
        ("set at positions", few.at(ids).set(x)),
        ("a function of counts", (ids.segment_count(7) * 2).sum(0)),
    ]
}

#[test]
fn a_flag_ends_walks_along_the_only_axis() {
    let count = 1_000_000_000_000;
    for threads in threads() {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![count as i64]);
        let ids = g.input::<i64>("ids", shape![count as i64]);
        for (name, tensor) in endless_walks(x, ids) {
            let options = CompileOptions { threads: threads.clone(), ..CompileOptions::default() };
            let kernel = tensor.compile_with(&options).unwrap();
            let inputs = || {
                let ids = ArrayView::strided(&[3i64], 0, &[count], &[0]).unwrap();
                let inputs = Inputs::new().named("x", repeated(&[0.5], &[count]));
                if kernel.inputs().len() == 1 && kernel.inputs()[0].name == "ids" {
                    return Inputs::new().named("ids", ids);
                }
                if kernel.inputs().len() == 1 { inputs } else { inputs.named("ids", ids) }
            };
            // The first run compiles.
            let _ = kernel.run_with(inputs(), &RunOptions::new().until(Instant::now()));
            let flag = StopFlag::new();
            let set_at = std::thread::scope(|scope| {
                let stopper = scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(30));
                    flag.stop();
                    Instant::now()
                });
                let stopped = kernel.run_with(inputs(), &RunOptions::new().stopped_by(&flag));
                assert!(matches!(stopped, Err(CallError::Run(RunError::Stopped))), "{name}: {stopped:?}");
                stopper.join().unwrap()
            });
            assert!(set_at.elapsed() < SOON, "{name}, {threads:?}: {:?}", set_at.elapsed());
        }
    }
}

/// Rows that are in memory: the run that is stopped takes a part of the processor time of the whole one.
#[test]
fn a_deadline_ends_long_rows() {
    let count = 4_000_000;
    let data = uneven(count);
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let few = g.input::<f32>("few", shape![g.symbol("m"), 2]);
    let rows = [
        ("sort", x.sort(0)),
        ("argsort", x.argsort(0).cast::<f32>()),
        ("median", x.quantile(0.5, 0)),
        ("running sums of functions", x.exp().sin().pow(0.3).cumsum(0)),
        ("running sums of few columns", few.exp().sin().pow(0.3).cumsum(0)),
    ];
    for (name, tensor) in rows {
        let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
        let kernel = tensor.compile_with(&options).unwrap();
        let shape: &[usize] = if kernel.inputs()[0].rank == 1 { &[count] } else { &[count / 2, 2] };
        let input = || ArrayView::new(&data, shape).unwrap();
        let begin = ThreadTime::now();
        let first = kernel.run(input()).unwrap();
        let whole = begin.elapsed();
        let same = kernel.run_with(input(), &RunOptions::new().within(EVER)).unwrap();
        assert!(bits(&first) == bits(&same), "{name}");
        let begin = ThreadTime::now();
        let late = kernel.run_with(input(), &RunOptions::new().within(whole / 20));
        let taken = begin.elapsed();
        assert!(matches!(late, Err(CallError::Run(RunError::DeadlinePassed))), "{name}: {late:?}");
        assert!(taken < whole / 2, "{name}: {taken:?} of {whole:?}");
    }
}

/// Data whose sums round: another order of additions has other bits.
fn uneven(count: usize) -> Vec<f32> {
    (0..count).map(|index| ((index * 7919 % 10_007) as f32).sqrt() - 50.0).collect()
}

#[test]
fn runs_that_could_be_stopped_have_the_same_bits() {
    let (rows, columns) = (3_000, 8_011);
    let data = uneven(rows * columns);
    let view = || ArrayView::new(&data, &[rows, columns]).unwrap();
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n"), g.symbol("m")]);
    let small = x.slice(slice![0..200, ..]);
    let kernels: Vec<[(&str, Tensor); 1]> = vec![
        [("all", x.sum(..))],
        [("rows", x.exp().sum(1))],
        [("columns", x.sum(0))],
        [("mean", x.mean(..))],
        [("running", x.cumsum(1).max(1))],
        [("elements", x.sin() * x)],
        [("product", small.matmul(small.t()))],
    ];
    for threads in threads() {
        for kernel in &kernels {
            let options = CompileOptions { threads: threads.clone(), ..CompileOptions::default() };
            let kernel = g.compile_with(kernel.iter().copied(), &options).unwrap();
            let plain = kernel.run(view()).unwrap();
            let stoppable = kernel.run_with(view(), &RunOptions::new().within(EVER)).unwrap();
            assert!(bits(&plain) == bits(&stoppable), "{:?} {threads:?}", kernel.outputs());
        }
    }
}

#[test]
fn assigned_inputs_keep_their_values_when_a_run_is_stopped() {
    let g = Graph::new();
    let n = g.symbol("n");
    let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![1_000_000, 1_000_000]));
    x.assign(2 * x + y.sum(..));
    let kernel = g.compile([]).unwrap();
    let mut data = uneven(100_000);
    let before = data.clone();
    let inputs = inputs! { "x" => &mut data, "y" => repeated(&[1.0], &[1_000_000, 1_000_000]) };
    let late = kernel.run_with(inputs, &RunOptions::new().within(Duration::from_millis(20)));
    assert!(matches!(late, Err(CallError::Run(RunError::DeadlinePassed))), "{late:?}");
    assert_eq!(data, before);
    // A run that is complete writes them.
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    x.assign(2 * x);
    let kernel = g.compile([]).unwrap();
    kernel.run_with(&mut data, &RunOptions::new().within(EVER)).unwrap();
    assert!(data.iter().zip(&before).all(|(now, before)| *now == 2.0 * before));
}

/// A loop whose steps are one kernel takes strips of elements through all steps, and looks itself only every 64 steps. A kernel that
/// ends early in one of those ends the run, also where nothing follows the loop.
#[test]
fn a_loop_that_is_stopped_in_its_last_steps_has_no_result() {
    let g = Graph::new();
    let (n, m) = (g.symbol("n"), g.symbol("m"));
    let (x, y) = (g.input::<f32>("x", shape![n]), g.input::<f32>("y", shape![n, m]));
    let [u] = repeat(3, [x], |_, [u]| [u * 0.5 + (y * u.unsqueeze(1)).exp().sum(1) * 1e-6]);
    let kernel = u.compile().unwrap();
    let run = |options: &RunOptions| {
        let inputs = inputs! { "x" => &[1.0f32; 64], "y" => repeated(&[-0.5], &[64, 200_000]) };
        kernel.run_with(inputs, options).map(|outputs| bits(&outputs))
    };
    run(&RunOptions::new().within(EVER)).unwrap();
    let start = Instant::now();
    let whole = run(&RunOptions::new().within(EVER)).unwrap();
    let took = start.elapsed();
    let mut stopped = 0;
    for part in 1..=24 {
        match run(&RunOptions::new().within(took * part / 20)) {
            Ok(found) => assert!(found == whole, "{part}"),
            Err(CallError::Run(RunError::DeadlinePassed)) => stopped += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(stopped > 0);
}

#[test]
fn results_and_work_are_known_before_anything_is_allocated() {
    let g = Graph::new();
    let (n, x) = (g.parameter("n"), g.input::<f64>("x", shape![g.symbol("m"), 1]));
    let kernel = g.compile([("table", x + g.iota(n)), ("counts", g.iota(n))]).unwrap();
    let same = ArrayView::strided(&[0.0f64], 0, &[1 << 20, 1], &[0, 0]).unwrap();
    let bound = kernel.bind(Inputs::new().named("x", same).with_size("n", 1 << 30)).unwrap();
    let [table, counts] = &bound.outputs()[..] else { panic!("{:?}", bound.outputs()) };
    assert_eq!((table.name.as_str(), table.dtype, table.bytes), ("table", DType::F64, 1 << 53));
    assert_eq!(table.shape, [1 << 20, 1 << 30]);
    assert_eq!((counts.name.as_str(), counts.dtype, counts.bytes), ("counts", DType::I64, 1 << 33));
    let work = bound.work();
    assert!(work.bytes >= 1 << 53 && work.total >= work.bytes, "{work:?}");
    assert!(matches!(bound.run(), Err(RunError::Memory(_))));
}

/// What a run that can be stopped stores and computes is what `Bound` says of any run: limits of exactly that let it pass.
#[test]
fn runs_that_can_be_stopped_ask_for_no_more() {
    let data = uneven(3_000 * 2_000);
    for text in [
        "logsumexp(x, axis=1)[0]",
        "logsumexp(zeros((3000, 4000)), axis=1)[0] + x[0, 0]",
        "sum(x)",
        "sum(exp(x), axis=1)",
        "max(sum(x, axis=1))",
        "mean(x - mean(x, axis=0), axis=1)[:5]",
        "sum(sqrt(sum(exp(x), axis=1)))",
        "std(x, axis=0)",
        "softmax(x, axis=1)[3]",
        "x[:100] @ x[:100].T",
        "sort(x, axis=1)[:, 0]",
        "cumsum(x, axis=1)[:, -1]",
        "argmin(sum((x[:50, None] - x[:70])**2, axis=2), axis=1)",
        "sum(x[:, None] * x[:5], axis=(0, 2))",
        "median(x, axis=0)",
        "x + x.mean()",
    ] {
        let text = format!("({text}).astype(f32)");
        let graph = broadloom_text::compile_expr(&text, &["x: f32[n, m]"]).unwrap();
        for threads in threads() {
            let options = CompileOptions { threads, ..CompileOptions::default() };
            let x = || ArrayView::new(&data, &[3_000, 2_000]).unwrap();
            let unlimited = Executable::compile(&graph, &options).unwrap();
            let bound = unlimited.bind(x()).unwrap();
            let (temporary_bytes, work) = (bound.temporary_bytes() as u64, bound.work().total);
            let limits = CallLimits { temporary_bytes, work, ..CallLimits::default() };
            let limited = Executable::compile(&graph, &CompileOptions { limits, ..options }).unwrap();
            let run = limited.run_with(x(), &RunOptions::new().within(EVER));
            assert!(run.is_ok(), "{text}: {run:?}");
            assert!(bits(&run.unwrap()) == bits(&bound.run().unwrap()), "{text}");
        }
    }
}

#[test]
fn limits_of_calls() {
    let compile = |limits: CallLimits, of: fn(Tensor) -> Tensor| {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![g.symbol("n")]);
        of(x).compile_with(&CompileOptions { limits, ..CompileOptions::default() }).unwrap()
    };
    let refused = |kernel: &Executable, count: usize| match kernel.run(&vec![1.0f32; count]) {
        Err(CallError::Bind(BindError::Limit { of, asked, most })) => (of, asked, most),
        other => panic!("{other:?}"),
    };
    let none = CallLimits::default();
    let outputs = compile(CallLimits { output_bytes: 4000, ..none }, |x| 2 * x);
    assert!(outputs.run(&[1.0f32; 1000]).is_ok());
    assert_eq!(refused(&outputs, 1001), (Limited::OutputBytes, 4004, 4000));
    let temporaries = compile(CallLimits { temporary_bytes: 100_000, ..none }, |x| x.sort(0).sum(0));
    assert!(temporaries.run(&[1.0f32; 1000]).is_ok());
    assert_eq!(refused(&temporaries, 1_000_000).0, Limited::TemporaryBytes);
    let work = compile(CallLimits { work: 10_000_000, ..none }, |x| (x.unsqueeze(1) * x).sin().sum(..));
    assert!(work.run(&[1.0f32; 100]).is_ok());
    let (of, asked, most) = refused(&work, 10_000);
    assert!(of == Limited::Work && asked > 100_000_000 && most == 10_000_000, "{asked}");
    let error = outputs.run(&[1.0f32; 2000]).unwrap_err();
    assert_eq!(error.to_string(), "the call asks for 8000 bytes of results, but the limit is 4000");
    let text = format!("{error:?}");
    assert!(text.starts_with("error[M103]") && text.contains("CallLimits { output_bytes: .., "), "{text}");
}

#[test]
fn more_threads_than_a_process_can_have_are_refused() {
    for threads in [1025, 1_000_000, usize::MAX] {
        let error = Threads::count(threads).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains("ask for at most 1024"), "{error}");
    }
}

#[test]
fn a_join_of_nothing_says_so() {
    let message = |tensor: Tensor| match tensor.compile() {
        Err(CompileError::Graph(mistakes)) => mistakes.to_string(),
        other => panic!("{:?}", other.err()),
    };
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![3]);
    for (name, tensor) in [("concat", concat([], 0)), ("stack", stack([], 0)), ("einsum", einsum("", []))] {
        for tensor in [tensor, tensor + 1, tensor.sum(0)] {
            let text = message(tensor);
            assert!(text.contains(&format!("`{name}` takes at least one tensor")), "{text}");
        }
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![3]);
        let text = message(x + tensor);
        assert!(text.contains(&format!("`{name}` takes at least one tensor")), "{text}");
    }
    assert!(x.compile().is_ok());
}

#[test]
fn results_that_are_assigned_after_they_are_computed_aside_count_as_stored() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    x.assign(x.flip(0));
    let reversed = g.compile([]).unwrap();
    assert_eq!(reversed.explain().materialized_bytes().to_string(), "4*n");
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    x.assign(2 * x);
    assert_eq!(g.compile([]).unwrap().explain().materialized_bytes(), 0);
}

/// A reduction of some of three axes, and one whose terms are reductions: what is stored between them has the same bits.
#[test]
fn reductions_of_reductions_have_the_same_bits() {
    let (n, m, k) = (300, 7, 5_000);
    let data = uneven(n * m * k);
    let view = || ArrayView::new(&data, &[n, m, k]).unwrap();
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n"), g.symbol("m"), g.symbol("k")]);
    let outputs = [
        ("outer", x.square().sum([0, 2])),
        ("mean", x.mean([1, 2])),
        ("all", x.sum(..)),
        ("nested", x.exp().sum(2).sqrt().sum(..)),
        ("shared", x.sum(2)),
        ("again", x.sum(2).max(0) + x.sum(2).min(0)),
    ];
    for threads in threads() {
        let options = CompileOptions { threads, ..CompileOptions::default() };
        for each in outputs.iter().map(std::slice::from_ref).chain([&outputs[..]]) {
            let kernel = g.compile_with(each.iter().copied(), &options).unwrap();
            let plain = kernel.run(view()).unwrap();
            let stoppable = kernel.run_with(view(), &RunOptions::new().within(EVER)).unwrap();
            assert!(bits(&plain) == bits(&stoppable), "{:?}", kernel.outputs());
        }
    }
}
