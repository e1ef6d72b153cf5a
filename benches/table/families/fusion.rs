//! Fused kernels beside the same expressions cut into separate ones, whose results are stored between them.
//!
//! Random graphs are cut at random nodes: whatever the compiler decides to store or to compute again, someone who cuts
//! the graph by hand shall not be faster than by a tenth.

use crate::harness::contest::array;
use crate::harness::{Asked, Contender, Outcome, Suite, measure};
use broadloom::prelude::*;
use broadloom::{Inputs, OutputsMut, Threads};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

const MOST: f64 = 1.1;
const GRAPHS: u64 = 60;
/// A case that seems to exceed the limit is measured again for longer.
const GLANCE: Duration = Duration::from_millis(60);
const LOOK: Duration = Duration::from_millis(500);

pub fn entries(suite: &mut Suite) {
    for (n, m) in [(2000, 500), (16, 62_500), (62_500, 16), (250_000, 4)] {
        outer_product(suite, n, m);
    }
    functions_by_column(suite, 2000, 1024);
    let graphs = suite.size(GRAPHS as usize) as u64;
    suite.entry(&format!("{GRAPHS} random graphs, cut at random"), |is_quick| {
        let mut ratios: Vec<f64> = Vec::new();
        for seed in 0..graphs {
            let case = Case::random(seed, is_quick);
            let mut contenders = case.contenders();
            if is_quick {
                contenders.iter_mut().for_each(|contender| (contender.run)());
                continue;
            }
            let mut ratio = measure(&mut contenders, GLANCE).ratio(0, 1);
            if ratio > MOST {
                ratio = measure(&mut contenders, LOOK).ratio(0, 1);
            }
            if ratio > MOST {
                println!("{ratio:.2} x the separate kernels: {case}");
            }
            ratios.push(ratio);
        }
        ratios.sort_by(f64::total_cmp);
        let worst = *ratios.last()?;
        let over = ratios.iter().filter(|ratio| **ratio > MOST).count();
        let figure = format!(
            "{worst:.2} x the separate kernels at worst, {:.2} in the middle, {over} over {MOST}",
            ratios[ratios.len() / 2]
        );
        Some(Outcome { figure, asked: MOST.to_string(), holds: Some(worst <= MOST) })
    });
}

/// `exp(x[n, 1]) * sin(y[m])`.
fn outer_product(suite: &mut Suite, n: usize, m: usize) {
    let sizes = [suite.size(n), suite.size(m)];
    suite.ratio(&format!("exp(x[n, 1]) * sin(y[m]), {n} x {m}"), Asked::Ratio(MOST), || {
        let steps = vec![
            Step { make: Make::Input, of: [0, 0], form: Form::Column },
            Step { make: Make::Input, of: [0, 0], form: Form::Row },
            Step { make: Make::Unary("exp", |x| x.exp()), of: [0, 0], form: Form::Column },
            Step { make: Make::Unary("sin", |x| x.sin()), of: [1, 1], form: Form::Row },
            Step { make: Make::Binary("multiply", |x, y| x * y), of: [2, 3], form: Form::Table },
        ];
        Case { steps, sizes, cuts: vec![2, 3], are_outputs: false, seed: 0 }.contenders()
    });
}

/// `exp(x).mean(0)`.
fn functions_by_column(suite: &mut Suite, n: usize, m: usize) {
    let sizes = [suite.size(n), suite.size(m)];
    suite.ratio(&format!("exp(x).mean(0), {n} x {m}"), Asked::Ratio(MOST), || {
        let (name, mean, form) = REDUCE[0];
        let steps = vec![
            Step { make: Make::Input, of: [0, 0], form: Form::Table },
            Step { make: Make::Unary("exp", |x| x.exp()), of: [0, 0], form: Form::Table },
            Step { make: Make::Unary(name, mean), of: [1, 1], form },
        ];
        Case { steps, sizes, cuts: vec![1], are_outputs: false, seed: 0 }.contenders()
    });
}

/// Which axes a value has.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    Table,
    Row,
    Column,
}

impl Form {
    fn sizes(self, [n, m]: [usize; 2]) -> Vec<usize> {
        match self {
            Form::Table => vec![n, m],
            Form::Row => vec![m],
            Form::Column => vec![n, 1],
        }
    }

    /// That of an operation on two values.
    fn with(self, other: Form) -> Form {
        if self == other { self } else { Form::Table }
    }
}

type Unary = fn(Tensor) -> Tensor;
type Binary = fn(Tensor, Tensor) -> Tensor;

/// How a value is made of earlier ones. Everything keeps numbers in 0 .. 1.
#[derive(Clone, Copy)]
enum Make {
    Input,
    Unary(&'static str, Unary),
    Binary(&'static str, Binary),
}

const UNARY: [(&str, Unary); 8] = [
    ("square", |x| x.square()),
    ("one less", |x| 1 - x),
    ("flip", |x| x.flip(-1)),
    ("exp of minus", |x| (-x).exp()),
    ("sin", |x| x.sin()),
    ("tanh", |x| x.tanh()),
    ("pow 2.7", |x| x.pow(2.7)),
    ("sqrt", |x| x.sqrt()),
];
const BINARY: [(&str, Binary); 4] = [
    ("multiply", |x, y| x * y),
    ("mean of two", |x, y| (x + y) * 0.5),
    ("maximum", |x, y| x.maximum(y)),
    ("distance", |x, y| (x - y).abs()),
];
/// Of tables.
const REDUCE: [(&str, Unary, Form); 4] = [
    ("mean of columns", |x| x.mean(0), Form::Row),
    ("mean of rows", |x| x.mean_keepdims(1), Form::Column),
    ("max of columns", |x| x.max(0), Form::Row),
    ("max of rows", |x| x.max_keepdims(1), Form::Column),
];

/// A value.
struct Step {
    make: Make,
    of: [usize; 2],
    form: Form,
}

/// A graph, whose last value is its result, and the values at which it is cut.
struct Case {
    steps: Vec<Step>,
    sizes: [usize; 2],
    cuts: Vec<usize>,
    /// Whether the fused kernel gives those values, too.
    are_outputs: bool,
    seed: u64,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = String::new();
        for (index, step) in self.steps.iter().enumerate() {
            let [a, b] = step.of;
            let _ = match step.make {
                Make::Input => write!(text, " v{index}: {:?};", step.form.sizes(self.sizes)),
                Make::Unary(name, _) => write!(text, " v{index} = {name} v{a};"),
                Make::Binary(name, _) => write!(text, " v{index} = {name} v{a} v{b};"),
            };
        }
        let also = if self.are_outputs { ", outputs as well" } else { "" };
        write!(f, "seed {}:{text} cut at {:?}{also}", self.seed, self.cuts)
    }
}

impl Case {
    fn random(seed: u64, is_small: bool) -> Case {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        let input = |form| Step { make: Make::Input, of: [0, 0], form };
        let mut steps =
            [Form::Column, Form::Row, Form::Table, Form::Table].map(input).into_iter().collect::<Vec<_>>();
        for _ in 0..4 + random.below(9) {
            let recent = |random: &mut Random| steps.len() - 1 - random.below(steps.len().min(5));
            let of = [recent(&mut random), recent(&mut random)];
            let forms = of.map(|operand| steps[operand].form);
            let (make, form) = match random.below(8) {
                0..=2 => {
                    let (name, unary) = UNARY[random.below(UNARY.len())];
                    (Make::Unary(name, unary), forms[0])
                }
                3..=4 if forms[0] == Form::Table => {
                    let (name, reduce, form) = REDUCE[random.below(REDUCE.len())];
                    (Make::Unary(name, reduce), form)
                }
                _ => {
                    let (name, binary) = BINARY[random.below(BINARY.len())];
                    (Make::Binary(name, binary), forms[0].with(forms[1]))
                }
            };
            steps.push(Step { make, of, form });
        }
        // A table is met by the result, or there would be little to do.
        let last = steps.len() - 1;
        steps.push(Step { make: Make::Binary("multiply", |x, y| x * y), of: [2, last], form: Form::Table });
        let sizes = match (is_small, random.below(4)) {
            (true, _) => [30, 20],
            (false, 0) => [100, 2000],
            (false, 1) => [2000, 100],
            (false, 2) => [20_000, 8],
            (false, _) => [400, 400],
        };
        let mut case = Case { steps, sizes, cuts: Vec::new(), are_outputs: random.below(3) == 0, seed };
        let needed = case.needed();
        for _ in 0..=random.below(2) {
            case.cuts.push(needed[random.below(needed.len())]);
        }
        case.cuts.sort_unstable();
        case.cuts.dedup();
        case
    }

    /// Values that the result is made of, without inputs.
    fn needed(&self) -> Vec<usize> {
        let mut is_needed = vec![false; self.steps.len()];
        *is_needed.last_mut().expect("there are steps") = true;
        for (index, step) in self.steps.iter().enumerate().rev() {
            if is_needed[index] {
                step.of.iter().for_each(|operand| is_needed[*operand] = true);
            }
        }
        let last = self.steps.len() - 1;
        (0..last).filter(|at| is_needed[*at] && !matches!(self.steps[*at].make, Make::Input)).collect()
    }

    /// A kernel for some values of inputs and of values that are `given`.
    fn kernel(&self, wanted: &[usize], given: &[usize]) -> Executable {
        let g = Graph::new();
        let [n, m] = g.symbols(["n", "m"]);
        let mut values: Vec<Tensor> = Vec::new();
        for (index, step) in self.steps.iter().enumerate() {
            let input = || {
                let shape = match step.form {
                    Form::Table => shape![n, m],
                    Form::Row => shape![m],
                    Form::Column => shape![n, 1],
                };
                g.input::<f32>(&name(index), shape)
            };
            let [a, b] = step.of;
            values.push(match step.make {
                _ if given.contains(&index) => input(),
                Make::Input => input(),
                Make::Unary(_, unary) => unary(values[a]),
                Make::Binary(_, binary) => binary(values[a], values[b]),
            });
        }
        let options = CompileOptions { threads: Threads::Calling, ..CompileOptions::default() };
        let names: Vec<String> = wanted.iter().map(|index| name(*index)).collect();
        let outputs = names.iter().zip(wanted).map(|(name, index)| (name.as_str(), values[*index]));
        g.compile_with(outputs, &options).expect("the graph compiles")
    }

    /// The graph in one kernel, and in several; both give the same. Both use the same arrays: where arrays lie, modulo a
    /// page, changes the time of a loop by more than what is measured here.
    fn contenders(&self) -> Vec<Contender> {
        let last = self.steps.len() - 1;
        let all: Vec<usize> = self.cuts.iter().copied().chain([last]).collect();
        let wanted = if self.are_outputs { all.clone() } else { vec![last] };
        let fused = vec![Call::new(self.kernel(&wanted, &[]), wanted)];
        let parts = all.iter().enumerate();
        let cut = parts.map(|(at, part)| Call::new(self.kernel(&[*part], &all[..at]), vec![*part])).collect();
        let arrays = Rc::new(RefCell::new(self.arrays()));
        let [mut fused, mut cut] = [fused, cut].map(|calls| Calls { calls, arrays: arrays.clone() });
        let results = [&mut fused, &mut cut].map(|calls: &mut Calls| {
            arrays.borrow_mut()[last].0.fill(f32::NAN);
            calls.run();
            arrays.borrow()[last].0.iter().map(|element| element.to_bits()).collect::<Vec<u32>>()
        });
        assert!(results[0] == results[1], "cutting changes bits: {self}");
        vec![
            Contender::new("fused", move || fused.run()),
            Contender::new("the separate kernels", move || cut.run()),
        ]
    }

    /// An array for every value.
    fn arrays(&self) -> Arrays {
        let arrays = self.steps.iter().zip(61..).map(|(step, seed)| {
            let sizes = step.form.sizes(self.sizes);
            (array(&sizes, seed).as_slice().to_vec(), sizes)
        });
        arrays.collect()
    }
}

fn name(index: usize) -> String {
    format!("v{index}")
}

/// A kernel, and the values that it reads and writes.
struct Call {
    kernel: Executable,
    inputs: Vec<(String, usize)>,
    outputs: Vec<usize>,
}

impl Call {
    fn new(kernel: Executable, outputs: Vec<usize>) -> Call {
        let index = |name: &str| name[1..].parse().expect("the number of a value");
        let inputs =
            kernel.inputs().into_iter().map(|input| (input.name.clone(), index(&input.name))).collect();
        Call { kernel, inputs, outputs }
    }
}

/// An array for every value, and its shape.
type Arrays = Vec<(Vec<f32>, Vec<usize>)>;

/// Kernels that are run one after the other, and their arrays.
struct Calls {
    calls: Vec<Call>,
    arrays: Rc<RefCell<Arrays>>,
}

impl Calls {
    fn run(&mut self) {
        let mut arrays = self.arrays.borrow_mut();
        for Call { kernel, inputs, outputs } in &self.calls {
            let mut written: Arrays =
                outputs.iter().map(|index| std::mem::take(&mut arrays[*index])).collect();
            let mut destinations = OutputsMut::new();
            for (elements, shape) in &mut written {
                destinations =
                    destinations.next(ArrayViewMut::new(elements, shape).expect("it has this shape"));
            }
            let mut sources = Inputs::new();
            for (name, index) in inputs {
                let (elements, shape) = &arrays[*index];
                sources = sources.named(name, ArrayView::new(elements, shape).expect("it has this shape"));
            }
            kernel.run_into(sources, destinations).expect("the arrays fit");
            for (index, array) in outputs.iter().zip(written) {
                arrays[*index] = array;
            }
        }
    }
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }
}
