//! Graphs of many nodes: what compiling them takes grows with their size, not faster.

use broadloom::prelude::*;
use cpu_time::ThreadTime;
use std::time::Duration;

/// Far above the processor time that compiling takes in debug builds; what doubles with each step is far above this.
const SOON: Duration = Duration::from_secs(20);

/// Joins of slices of joins were met under index maps that doubled from one to the next.
#[test]
fn joins_under_shifts() {
    let length = 1000;
    for steps in [5, 10, 20, 40] {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![length]);
        let shifts: Vec<i64> = (0..steps).map(|step| 7 * step % 31 + step + 1).collect();
        let start = ThreadTime::now();
        let rotated = |v: Tensor, by: i64| concat([v.slice(slice![by..]), v.slice(slice![..by])], 0);
        let kernel = shifts.iter().fold(x, |v, &by| rotated(v, by) + v).compile().unwrap();
        assert!(start.elapsed() < SOON, "{steps} steps: {:?}", start.elapsed());
        let (kernels, stored) =
            (kernel.explain().kernels() as i64, kernel.explain().temporaries().len() as i64);
        assert!(kernels <= 2 * steps && stored < steps, "{steps} steps: {kernels} kernels, {stored} stored");
        let mut values: Vec<f32> = (0..length).map(|i| (i % 17) as f32 * 0.1).collect();
        let found: Vec<f32> = kernel.run(&values).unwrap().try_into().unwrap();
        for by in shifts {
            let at = |i: usize| values[(i + by as usize) % values.len()] + values[i];
            values = (0..values.len()).map(at).collect();
        }
        assert!(found == values, "{steps} steps");
    }
}

/// Each level of a pyramid reads two slices of the one before, down to a join.
#[test]
fn a_pyramid_over_a_join() {
    let levels = 12;
    let g = Graph::new();
    let half = g.symbol("s") * (1 << (levels - 1));
    let (a, b) = (g.input::<f32>("a", shape![half]), g.input::<f32>("b", shape![half]));
    let start = ThreadTime::now();
    let (mut v, mut parts) = (concat([a, b], 0), Vec::new());
    for _ in 0..levels {
        let (even, odd) = (v.slice_axis(0, .., 2), v.slice_axis(0, 1.., 2));
        parts.push((even - odd) * 0.5);
        v = (even + odd) * 0.5;
    }
    parts.push(v);
    let kernel = concat(parts, 0).compile().unwrap();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    assert!(kernel.explain().kernels() <= 2 * levels, "{}", kernel.explain());
    let xs: Vec<f32> = (0..1 << levels).map(|i| (i % 23) as f32).collect();
    let (a, b) = xs.split_at(xs.len() / 2);
    let found: Vec<f32> = kernel.run((a, b)).unwrap().try_into().unwrap();
    let (mut v, mut expected) = (xs.clone(), Vec::new());
    for _ in 0..levels {
        expected.extend(v.chunks_exact(2).map(|pair| (pair[0] - pair[1]) * 0.5));
        v = v.chunks_exact(2).map(|pair| (pair[0] + pair[1]) * 0.5).collect();
    }
    expected.extend(v);
    assert_eq!(found, expected);
}

/// Pyramids through reshapes, whose index maps the plan does not see.
#[test]
fn pyramids_of_reshapes() {
    // Built for each index map, 18 levels took 26 s, and each further one twice as long.
    let levels = 20;
    type Halves = fn(Tensor) -> [Tensor; 2];
    // The places of the two elements of a position, of which there are so many.
    type Places = fn(usize, usize) -> [usize; 2];
    let forms: [(&str, Halves, Places); 3] = [
        (
            "rows",
            |v| {
                let rows = v.reshape([2, -1]);
                [rows.index(0, 0), rows.index(0, 1)]
            },
            |i, half| [i, i + half],
        ),
        (
            "columns",
            |v| {
                let columns = v.reshape([-1, 2]);
                [columns.index(1, 0), columns.index(1, 1)]
            },
            |i, _| [2 * i, 2 * i + 1],
        ),
        (
            "columns of another dtype",
            |v| {
                let columns = v.cast::<f64>().reshape([-1, 2]).cast::<f32>();
                [columns.index(1, 0), columns.index(1, 1)]
            },
            |i, _| [2 * i, 2 * i + 1],
        ),
    ];
    for (name, halves, places) in forms {
        let g = Graph::new();
        let mut v = g.input::<f32>("x", shape![1 << levels]);
        let mut details = Vec::new();
        for _ in 0..levels {
            let [first, second] = halves(v);
            details.push((first - second) * 0.5);
            v = (first + second) * 0.5;
        }
        let start = ThreadTime::now();
        let mean = g.compile([("mean", v)]).unwrap();
        details.reverse();
        let all = g.compile([("all", concat(details, 0))]).unwrap();
        assert!(start.elapsed() < SOON, "{name}: {:?}", start.elapsed());
        let xs: Vec<f32> = (0..1 << levels).map(|i| (i % 23) as f32).collect();
        let (mut v, mut expected) = (xs.clone(), Vec::new());
        for _ in 0..levels {
            let half = v.len() / 2;
            let pairs: Vec<[f32; 2]> = (0..half).map(|i| places(i, half).map(|place| v[place])).collect();
            expected.splice(..0, pairs.iter().map(|[first, second]| (first - second) * 0.5));
            v = pairs.iter().map(|[first, second]| (first + second) * 0.5).collect();
        }
        let found: Vec<f32> = mean.run(&xs).unwrap().try_into().unwrap();
        assert_eq!(found, v, "{name}");
        let found: Vec<f32> = all.run(&xs).unwrap().try_into().unwrap();
        assert_eq!(found, expected, "{name}");
    }
}

/// Each op reads two of the last twenty results: sections of the graph are kernels, and what crosses is stored once.
#[test]
fn a_braid_of_operations() {
    let count = 5000;
    let mut state = 1u32;
    let mut of_last = |length: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        length - 1 - (state >> 8) as usize % length.min(20)
    };
    let steps: Vec<[usize; 2]> = (1..=count).map(|length| [of_last(length), of_last(length)]).collect();
    let g = Graph::new();
    let mut nodes = vec![g.input::<i32>("x", shape![g.symbol("n")])];
    for &[left, right] in &steps {
        nodes.push(nodes[left] * 3 - nodes[right]);
    }
    let start = ThreadTime::now();
    let kernel = g.compile([("out", nodes[count])]).unwrap();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let explanation = kernel.explain();
    assert!(explanation.kernels() <= count / 200, "{} kernels", explanation.kernels());
    assert!(explanation.temporaries().len() <= 20 * explanation.kernels(), "{explanation}");
    let inputs: Vec<i32> = (0..1000).map(|i| i * i - 500).collect();
    let found: Vec<i32> = kernel.run(&inputs).unwrap().try_into().unwrap();
    for (x, found) in inputs.into_iter().zip(found) {
        let mut values = vec![x];
        for &[left, right] in &steps {
            values.push(values[left].wrapping_mul(3).wrapping_sub(values[right]));
        }
        assert_eq!(values[count], found);
    }
}

/// A chain of functions under a sum, with its derivative: one kernel computes all that both read, in linear time, and nothing is
/// stored for each function.
#[test]
fn a_chain_of_functions_and_its_derivative() {
    let steps = 120;
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let y = (0..steps).fold(x, |y, _| y.sin());
    let (value, [slope]) = y.sum(0).value_and_grad([x]);
    let start = ThreadTime::now();
    let kernel = g.compile([("value", value), ("slope", slope)]).unwrap();
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let explanation = kernel.explain();
    assert!(explanation.kernels() <= 4 && explanation.temporaries().len() <= 2, "{explanation}");
    // Their code would be very long if the loop computed them itself.
    assert!(explanation.to_string().contains("called for strips: sin (f32), cos (f32)"), "{explanation}");

    let xs: Vec<f32> = (0..1000).map(|i| (i as f32 * 0.37).sin() * 0.9).collect();
    let (value, slope): (f32, Vec<f32>) = kernel.run(&xs).unwrap().try_into().unwrap();
    let alone = |f: fn(Tensor) -> Tensor| {
        let g = Graph::new();
        let kernel = f(g.input::<f32>("x", shape![g.symbol("n")])).compile().unwrap();
        move |values: &Vec<f32>| -> Vec<f32> { kernel.run(values).unwrap().try_into().unwrap() }
    };
    let (sin, cos) = (alone(Tensor::sin), alone(Tensor::cos));
    let mut values = vec![xs];
    for _ in 0..steps {
        values.push(sin(&values[values.len() - 1]));
    }
    let last = values.pop().unwrap();
    let sum: f32 = eval(&last, |last| last.sum(0)).unwrap();
    assert_eq!(value.to_bits(), sum.to_bits());
    let mut expected = vec![1.0f32; last.len()];
    for values in values.iter().rev() {
        expected.iter_mut().zip(cos(values)).for_each(|(slope, factor)| *slope *= factor);
    }
    assert_eq!(slope, expected);
}

/// More functions than one kernel has: what crosses between sections is stored.
#[test]
fn a_long_chain_of_functions_and_its_derivative() {
    let mut times = Vec::new();
    for steps in [300, 600, 1200] {
        let g = Graph::new();
        let x = g.input::<f32>("x", shape![g.symbol("n")]);
        let y = (0..steps).fold(x, |y, at| if at % 3 == 0 { y.sin() } else { y * x + 0.5 });
        let start = ThreadTime::now();
        let (value, [slope]) = y.sum(0).value_and_grad([x]);
        let kernel = g.compile([("value", value), ("slope", slope)]).unwrap();
        times.push(start.elapsed());
        let explanation = kernel.explain();
        assert!(explanation.kernels() <= 3 + steps / 50, "{} kernels of {steps}", explanation.kernels());
        let xs: Vec<f32> = (0..70).map(|i| (i as f32 * 0.37).sin() * 0.9).collect();
        let (_, slope): (f32, Vec<f32>) = kernel.run(&xs).unwrap().try_into().unwrap();
        let slope_at = |x: f64| {
            let (mut y, mut slope) = (x, 1.0);
            for at in 0..steps {
                (y, slope) = match at % 3 {
                    0 => (y.sin(), y.cos() * slope),
                    _ => (y * x + 0.5, slope * x + y),
                };
            }
            slope
        };
        for (x, slope) in xs.iter().zip(slope) {
            let expected = slope_at(f64::from(*x));
            assert!(
                (f64::from(slope) - expected).abs() <= 1e-4 * expected.abs().max(1.0),
                "{x}: {slope} {expected}"
            );
        }
    }
    // Quadratic time would take 16 times as long for four times the steps.
    assert!(times[2] < 10 * times[0] + SOON / 10, "{times:?}");
}
