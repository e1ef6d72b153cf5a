//! Elementary functions, and when they are computed more than once.

use crate::by_hand::functions::{gelu, map, mixed, power};
use crate::harness::contest::{Loop, agreeing, alone, array, is_close, kernel, numbers, of};
use crate::harness::{Asked, Contender, Suite};
use broadloom::prelude::*;
use broadloom_math::Function;

const COUNT: usize = 64 << 10;
/// Of a loop by hand with the same definitions of functions.
const INLINED: Asked = Asked::Ratio(1.2);

/// An expression of an array.
type Unary = fn(Tensor) -> Tensor;

pub fn entries(suite: &mut Suite) {
    let one: [(&str, Unary, Function); 4] = [
        ("exp(x)", |x| x.exp(), Function::Exp),
        ("sin(x)", |x| x.sin(), Function::Sin),
        ("log(x)", |x| x.log(), Function::Log),
        ("tanh(x)", |x| x.tanh(), Function::Tanh),
    ];
    for (name, expression, function) in one {
        one_input(suite, name, INLINED, expression, vec![], move |x, out| map(function, x, out));
    }
    let level = suite.level;
    one_input(suite, "pow(x, 2.7)", INLINED, |x| x.pow(2.7), vec![], |x, out| power(x, 2.7, out));
    let formula: Unary = |x| {
        let angle = 0.797_884_56 * (x + 0.044_715 * x * x * x);
        0.5 * x * (1 + angle.tanh())
    };
    // The two are the same loop, or differ by what two runs of one loop do.
    one_input(
        suite,
        "gelu_tanh(x)",
        Asked::Ratio(1.03),
        |x| x.gelu_tanh(),
        vec![("its formula", formula)],
        move |x, out| {
            gelu(level, x, out);
        },
    );
    for (what, [low, high]) in
        [("tiny", [-2000.0, 0.0]), ("subnormal", [-103.0, -88.0]), ("infinite", [-3000.0, 3000.0])]
    {
        any_argument(suite, &format!("exp(x), {what} results"), |x| x.exp(), [-1.0, 0.0], [low, high]);
    }
    any_argument(suite, "sin(x) up to 100,000", |x| x.sin(), [0.0, 10.0], [0.0, 1e5]);
    several(suite);
    power_and_its_neighbours(suite);
}

/// A function of an array, beside other expressions of it and a loop by hand.
fn one_input(
    suite: &mut Suite,
    name: &str,
    asked: Asked,
    expression: Unary,
    others: Vec<(&'static str, Unary)>,
    by_hand: impl Fn(&[f32], &mut [f32]) + 'static,
) {
    let count = suite.size(COUNT);
    suite.ratio(&format!("{name}, 64 Ki elements"), asked, || {
        let data = array(&[count], 11);
        let broadloom = |(name, expression): (&'static str, Unary)| -> (_, Loop<f32>) {
            let g = Graph::new();
            let x = g.input::<f32>("x", shape![g.symbol("n")]);
            (name, kernel(alone(expression(x)), vec![data.clone()], &[count]))
        };
        let mut loops: Vec<_> =
            [("broadloom", expression)].into_iter().chain(others).map(broadloom).collect();
        loops.push(("the hand-written loop", Box::new(move |out| by_hand(data.as_slice(), out))));
        agreeing(count, is_close, loops)
    });
}

/// A function of arguments in a range of their own, beside the same function of common ones: no argument costs much more.
fn any_argument(suite: &mut Suite, name: &str, expression: Unary, common: [f32; 2], range: [f32; 2]) {
    let count = suite.size(COUNT);
    suite.ratio(&format!("{name}, beside common ones, 64 Ki elements"), Asked::Ratio(1.5), || {
        let ours = |[low, high]: [f32; 2]| -> Loop<f32> {
            let data = of(numbers(count, 15).map(|x| low + x * (high - low)).collect(), &[count]);
            let g = Graph::new();
            let x = g.input::<f32>("x", shape![g.symbol("n")]);
            let mut run = kernel(alone(expression(x)), vec![data], &[count]);
            let mut results = vec![0.0_f32; count];
            // The results differ; only the time counts.
            Box::new(move |_| run(std::hint::black_box(&mut results)))
        };
        agreeing(1, is_close, vec![("any", ours(range)), ("common", ours(common))])
    });
}

fn several(suite: &mut Suite) {
    let (level, count) = (suite.level, suite.size(COUNT));
    suite.ratio("exp(-x * x) * sin(y) + log1p(abs(x)), 64 Ki elements", INLINED, || {
        let g = Graph::new();
        let n = g.symbol("n");
        let [x, y] = ["x", "y"].map(|name| g.input::<f32>(name, shape![n]));
        let compiled = alone((-x * x).exp() * y.sin() + x.abs().log1p());
        let (x, y) = (array(&[count], 12), array(&[count], 13));
        let broadloom = kernel(compiled, vec![x.clone(), y.clone()], &[count]);
        let hand: Loop<f32> = Box::new(move |out| mixed(level, x.as_slice(), y.as_slice(), out));
        agreeing(count, is_close, vec![("broadloom", broadloom), ("the hand-written loop", hand)])
    });
}

/// A power is an output, and met by two of its neighbours.
fn power_and_its_neighbours(suite: &mut Suite) {
    let count = suite.size(COUNT);
    suite.ratio("y = pow(x, 2.7) and y[1:] + y[:-1], 64 Ki elements", Asked::Ratio(1.1), || {
        let g = Graph::new();
        let n = g.symbol("n").range(1..);
        let y = g.input::<f32>("x", shape![n]).pow(2.7);
        let neighbours = y.slice(slice![1..]) + y.slice(slice![..n - 1]);
        let options = CompileOptions { threads: broadloom::Threads::Calling, ..CompileOptions::default() };
        let both = g.compile_with([("y", y), ("neighbours", neighbours)], &options).expect("it compiles");
        let alone = y.compile_with(&options).expect("it compiles");
        let x = of(numbers(count, 14).collect(), &[count]);
        let (mut powers, mut sums, mut power) =
            (vec![0.0_f32; count], vec![0.0_f32; count - 1], vec![0.0_f32; count]);
        let again = x.clone();
        vec![
            Contender::new("broadloom", move || {
                both.run_into(&*x, (&mut powers, &mut sums)).expect("the arrays fit")
            }),
            Contender::new("one pow", move || alone.run_into(&*again, &mut power).expect("the arrays fit")),
        ]
    });
}
