//! Functions of samples whose sizes are symbols, against plain loops.

use broadloom::prelude::*;
use broadloom::{CompileOptions, Overlap, Threads};

fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(2) + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 17) as f64 - 8.0
    };
    (0..count).map(|_| next()).collect()
}

const SIZES: [usize; 6] = [1, 2, 3, 17, 65, 1000];

#[test]
fn slopes_and_areas() -> Result<(), Box<dyn std::error::Error>> {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f64>("x", shape![n, 2]);
    let kernel = g.compile([("slope", x.gradient(0.5, 0)), ("area", x.trapezoid(0.5, 0))])?;
    for n in SIZES.into_iter().skip(1) {
        let x = numbers(2 * n, 3);
        let (slope, area): (Vec<f64>, Vec<f64>) = kernel.run(ArrayView::new(&x, &[n, 2])?)?.try_into()?;
        let at = |row: usize, column: usize| x[2 * row + column];
        for column in 0..2 {
            for row in 0..n {
                let (before, behind) = (row.saturating_sub(1), (row + 1).min(n - 1));
                let wanted = (at(behind, column) - at(before, column)) / (0.5 * (behind - before) as f64);
                assert_eq!(slope[2 * row + column], wanted, "of {n}");
            }
            let wanted: f64 = (1..n).map(|row| (at(row - 1, column) + at(row, column)) * 0.25).sum();
            assert!((area[column] - wanted).abs() <= 1e-12 * wanted.abs().max(1.0), "of {n}");
        }
    }
    Ok(())
}

#[test]
fn convolutions() -> Result<(), Box<dyn std::error::Error>> {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, w) = (g.input::<f64>("x", shape![n]), g.input::<f64>("w", shape![m]));
    let kernel = g.compile([
        ("full", x.convolve(w, Overlap::Full)),
        ("same", x.convolve(w, Overlap::Same)),
        ("valid", x.correlate(w, Overlap::Valid)),
    ])?;
    for (n, m) in SIZES.into_iter().flat_map(|n| [1, 2, 3, 17].map(|m| (n, m))).filter(|(n, m)| m <= n) {
        let (x, w) = (numbers(n, 5), numbers(m, 7));
        let (full, same, valid): (Vec<f64>, Vec<f64>, Vec<f64>) = kernel.run((&x, &w))?.try_into()?;
        let sum =
            |at: usize| -> f64 { (0..m).filter(|k| at >= *k && at - k < n).map(|k| w[k] * x[at - k]).sum() };
        let wanted: Vec<f64> = (0..n + m - 1).map(sum).collect();
        assert_eq!(full, wanted, "{n} and {m}");
        assert_eq!(same, wanted[(m - 1) / 2..][..n], "{n} and {m}");
        let wanted: Vec<f64> = (0..n - m + 1).map(|at| (0..m).map(|k| x[at + k] * w[k]).sum()).collect();
        assert_eq!(valid, wanted, "{n} and {m}");
    }
    Ok(())
}

#[test]
fn bins_and_places_on_several_threads() -> Result<(), Box<dyn std::error::Error>> {
    let pool = std::sync::Arc::new(rayon::ThreadPoolBuilder::new().num_threads(3).build()?);
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let x = g.input::<f64>("x", shape![n]);
    let (places, values) = (g.input::<f64>("places", shape![k]), g.input::<f64>("values", shape![k]));
    let (counts, bounds) = x.histogram(5, -8, 8);
    let graph = g.finish([
        ("counts", counts),
        ("bounds", bounds),
        ("bin", x.digitize(places)),
        ("between", x.interp(places, values)),
        ("isin", x.isin(places)),
    ])?;
    let options =
        CompileOptions { threads: Threads::Pool(pool), parallel_threshold: 0, ..CompileOptions::default() };
    let kernel = Executable::compile(&graph, &options)?;
    for n in [0, 1, 2, 3, 17, 65, 1000] {
        for k in [2, 3, 17] {
            let x = numbers(n, 11);
            let places: Vec<f64> = (0..k).map(|i| i as f64 * 0.75 - 3.0).collect();
            let values = numbers(k, 13);
            let outputs = kernel.run((&x, &places, &values))?;
            let mut counts = [0_i64; 5];
            x.iter().for_each(|x| counts[(((x + 8.0) / 3.2) as usize).min(4)] += 1);
            assert_eq!(outputs.get("counts").and_then(|array| array.as_slice::<i64>()).unwrap(), counts);
            let reached = |x: &f64| places.iter().filter(|place| **place <= *x).count() as i64;
            assert_eq!(
                outputs.get("bin").and_then(|array| array.as_slice::<i64>()).unwrap(),
                x.iter().map(reached).collect::<Vec<_>>()
            );
            let isin: Vec<bool> = x.iter().map(|x| places.contains(x)).collect();
            assert_eq!(outputs.get("isin").and_then(|array| array.as_slice::<bool>()).unwrap(), isin);
            for (x, between) in
                x.iter().zip(outputs.get("between").and_then(|array| array.as_slice::<f64>()).unwrap())
            {
                let at = (reached(x) as usize).clamp(1, k - 1);
                let share = ((x - places[at - 1]) / 0.75).clamp(0.0, 1.0);
                let wanted = values[at - 1] + share * (values[at] - values[at - 1]);
                assert!((between - wanted).abs() <= 1e-12, "{between} instead of {wanted} at {x}");
            }
        }
    }
    Ok(())
}
