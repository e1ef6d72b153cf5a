//! NumPy one-liners that paste unchanged, against the same computed in plain Rust.

use crate::support::{assert_near, run};
use broadloom_ir::interp::Array;

/// Numbers that look random, from -1 to 1.
fn noise(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

#[test]
fn nearest_code() {
    let (obs, codes) = (noise(20 * 3, 1), noise(5 * 3, 2));
    let nearest = |row: &[f32]| {
        let distance = |code: &[f32]| row.iter().zip(code).map(|(a, b)| (b - a) * (b - a)).sum::<f32>();
        let distances: Vec<f32> = codes.chunks(3).map(distance).collect();
        (0..5).min_by(|a, b| distances[*a].total_cmp(&distances[*b])).unwrap() as f64
    };
    let want: Vec<f64> = obs.chunks(3).map(nearest).collect();
    let arrays = [Array::new(&[20, 3], &obs), Array::new(&[5, 3], &codes)];
    for expression in [
        "argmin(sum((codes[None, :, :] - obs[:, None, :])**2, axis=-1), axis=1)",
        "np.argmin(np.sum((codes[None] - obs[:, None])**2, axis=-1), axis=1)",
        "((codes[np.newaxis, ...] - obs[:, np.newaxis]) ** 2).sum(axis=2).argmin(axis=1)",
    ] {
        let text =
            format!("symbols n, k\ninput obs: f32[n, 3]\ninput codes: f32[k, 3]\noutput code = {expression}");
        assert_eq!(run(&text, &arrays), want, "{expression}");
    }
}

#[test]
fn standardise() {
    let x = noise(50 * 4, 3);
    let column = |axis: usize| x.iter().skip(axis).step_by(4).map(|value| f64::from(*value));
    let statistics: Vec<(f64, f64)> = (0..4)
        .map(|axis| {
            let mean = column(axis).sum::<f64>() / 50.0;
            (mean, (column(axis).map(|value| (value - mean).powi(2)).sum::<f64>() / 50.0).sqrt())
        })
        .collect();
    let want: Vec<f64> = wide(&x)
        .iter()
        .enumerate()
        .map(|(at, value)| (value - statistics[at % 4].0) / statistics[at % 4].1)
        .collect();
    for expression in [
        "(x - x.mean(axis=0)) / x.std(axis=0)",
        "(x - np.mean(x, axis=0, keepdims=True)) / np.sqrt(np.var(x, axis=0))",
    ] {
        let text = format!("input x: f32[n, 4]\noutput y = {expression}");
        assert_near(&run(&text, &[Array::new(&[50, 4], &x)]), &want, 5);
    }
}

#[test]
fn softmax() {
    let x = noise(6 * 7, 4);
    let want: Vec<f64> = wide(&x)
        .chunks(7)
        .flat_map(|row| {
            let total: f64 = row.iter().map(|value| value.exp()).sum();
            row.iter().map(move |value| value.exp() / total).collect::<Vec<f64>>()
        })
        .collect();
    for expression in [
        "softmax(x, axis=-1)",
        "scipy.special.softmax(x, axis=1)",
        "np.exp(x - x.max(axis=-1, keepdims=True)) / np.exp(x - x.max(axis=-1, keepdims=True)).sum(axis=-1)[:, None]",
        "np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True)",
        "np.exp(x - np.log(np.exp(x).sum(axis=1, keepdims=True)))",
    ] {
        let text = format!("input x: f32[n, m]\noutput y = {expression}");
        assert_near(&run(&text, &[Array::new(&[6, 7], &x)]), &want, 6);
    }
}

#[test]
fn haversine() {
    let degrees =
        |seed| noise(9, seed).into_iter().map(|value| f64::from(value) * 90.0).collect::<Vec<f64>>();
    let [lat1, lon1, lat2, lon2] = [5, 6, 7, 8].map(degrees);
    let want: Vec<f64> = (0..9)
        .map(|i| {
            let [a1, o1, a2, o2] = [lat1[i], lon1[i], lat2[i], lon2[i]].map(f64::to_radians);
            let a = ((a2 - a1) / 2.0).sin().powi(2) + a1.cos() * a2.cos() * ((o2 - o1) / 2.0).sin().powi(2);
            2.0 * 6371.0 * a.sqrt().asin()
        })
        .collect();
    let text = "input lat1: f64[n]; input lon1: f64[n]; input lat2: f64[n]; input lon2: f64[n]
        a = np.sin(np.radians(lat2 - lat1) / 2)**2 + np.cos(np.radians(lat1)) * np.cos(np.radians(lat2)) * np.sin(np.radians(lon2 - lon1) / 2)**2
        d = 2 * 6371 * np.arcsin(np.sqrt(a))";
    let arrays = [&lat1, &lon1, &lat2, &lon2].map(|values| Array::new(&[9], values));
    let graph = crate::support::graph(text);
    let results = broadloom_ir::interp::interpret(&graph, &arrays, true).unwrap();
    assert_near(&crate::support::numbers(&results[1]), &want, 12);
}

#[test]
fn normalise_an_image() {
    let pixels: Vec<u8> = (0..4 * 5 * 3).map(|at| (at * 37 % 256) as u8).collect();
    let (mean, std) = ([0.485_f32, 0.456, 0.406], [0.229_f32, 0.224, 0.225]);
    let image = Array::new(&[4, 5, 3], &pixels);
    let arrays = [image, Array::new(&[3], &mean), Array::new(&[3], &std)];
    let value = |y: usize, x: usize, c: usize| {
        let pixel = f64::from(pixels[(y * 5 + x) * 3 + c]);
        (pixel / 255.0 - f64::from(mean[c])) / f64::from(std[c])
    };
    let mut want = Vec::new();
    for c in 0..3 {
        for y in 0..4 {
            want.extend((0..5).map(|x| value(y, x, c)));
        }
    }
    let text = "input img: u8[h, w, 3]\ninput mean: f32[3]\ninput std: f32[3]\n
        output chw = ((img.astype(np.float32) / 255 - mean) / std).transpose(2, 0, 1)";
    assert_near(&run(text, &arrays), &want, 5);
    // An inverted and mirrored image stays of bytes.
    let text = "input img: u8[h, w, 3]\ninput mean: f32[3]\ninput std: f32[3]\nresult = 255 - img[:, ::-1]";
    let mirrored = run(text, &arrays);
    assert_eq!(mirrored[0], 255.0 - f64::from(pixels[4 * 3]));
    assert_eq!(broadloom_text::signature(&crate::support::graph(text)), "result: u8[h, w, 3]\n");
}
