//! The language of expressions beyond one op: statistics, joins, segments, grids, and the operators, interpreted and
//! compared with values worked out by hand.

use broadloom::prelude::*;
use broadloom_ir::dtype::Scalar;
use broadloom_ir::interp;

/// The values of a tensor without inputs, as `f64`, and its type as text.
fn value(tensor: Tensor) -> (String, Vec<f64>) {
    let graph = tensor.finish().unwrap();
    let result = interp::interpret(&graph, &[], true).unwrap().remove(0);
    let elements = result.elements.iter().map(|element| match element.cast(DType::F64) {
        Scalar::F64(value) => value,
        other => panic!("cast to f64 gave {other:?}"),
    });
    (tensor.to_string(), elements.collect())
}

#[track_caller]
fn check<const N: usize>(table: [(Tensor, &str, &[f64]); N]) {
    for (tensor, dtype, elements) in table {
        assert_eq!(value(tensor), (dtype.to_string(), elements.to_vec()), "{}", tensor.finish().unwrap());
    }
}

#[test]
fn operators() {
    let g = Graph::new();
    let x = g.iota(4); // 0 1 2 3
    let (b, c) = (x.gt(1), x.lt(3)); // f f t t, t t t f
    check([
        (x & 1, "i64[4]", &[0., 1., 0., 1.]),
        (2 | x, "i64[4]", &[2., 3., 2., 3.]),
        (x ^ 3, "i64[4]", &[3., 2., 1., 0.]),
        (!x, "i64[4]", &[-1., -2., -3., -4.]),
        (1 << x, "i64[4]", &[1., 2., 4., 8.]),
        (x << 64, "i64[4]", &[0.; 4]),
        ((x - 2) >> 1, "i64[4]", &[-1., -1., 0., 0.]),
        ((x - 2) % 3, "i64[4]", &[1., 2., 0., 1.]),
        ((x - 2) % -3, "i64[4]", &[-2., -1., 0., -2.]),
        (-7 % (x + 1), "i64[4]", &[0., 1., 2., 1.]),
        (7 % x, "i64[4]", &[0., 0., 1., 1.]),
        ((x - 2).floor_divide(2), "i64[4]", &[-1., -1., 0., 0.]),
        ((x - 2) % 1.5, "f64[4]", &[1., 0.5, 0., 1.]),
        (b & c, "bool[4]", &[0., 0., 1., 0.]),
        (b | c, "bool[4]", &[1.; 4]),
        (b ^ c, "bool[4]", &[1., 1., 0., 1.]),
        (!b, "bool[4]", &[1., 1., 0., 0.]),
        (true ^ b, "bool[4]", &[1., 1., 0., 0.]),
    ]);
    let mut y = x;
    y += 5; // 5 6 7 8
    y -= 1;
    y *= 3; // 12 15 18 21
    y %= 10; // 2 5 8 1
    y <<= 2; // 8 20 32 4
    y >>= 1; // 4 10 16 2
    y |= 1; // 5 11 17 3
    y &= 7; // 5 3 1 3
    y ^= 2; // 7 1 3 1
    y /= 2;
    check([(y, "f64[4]", &[3.5, 0.5, 1.5, 0.5])]);
    assert!((x.cast::<f32>() & 1).is_poisoned());
    assert!(g.check().unwrap_err().to_string().contains("`bitwise_and` is not defined on f32"));
}

#[test]
fn statistics() {
    let g = Graph::new();
    let m = g.iota(6).reshape([2, 3]); // 0 1 2 / 3 4 5
    let f = m.cast::<f32>();
    check([
        (m.gt(2).any(1), "bool[2]", &[0., 1.]),
        (m.all(1), "bool[2]", &[0., 1.]),
        (m.any_keepdims(..), "bool[1, 1]", &[1.]),
        (m.all_keepdims(0), "bool[1, 3]", &[0., 1., 1.]),
        (m.count_nonzero(0), "i64[3]", &[1., 2., 2.]),
        (m.count_nonzero_keepdims(..), "i64[1, 1]", &[5.]),
        (f.var(0), "f32[3]", &[2.25; 3]),
        (m.var([0, 1]), "f64[]", &[17.5 / 6.]),
        (m.var_with_correction(.., 1), "f64[]", &[3.5]),
        (f.std_keepdims(0), "f32[1, 3]", &[1.5; 3]),
        (f.std_with_correction(0, 1.5f32), "f32[3]", &[3.; 3]),
        (f.var_with_correction_keepdims(1, 1), "f32[2, 1]", &[1., 1.]),
        (f.std_with_correction_keepdims(1, 1), "f32[2, 1]", &[1., 1.]),
        (f.norm(Norm::One, 1), "f32[2]", &[3., 12.]),
        (f.norm(Norm::Infinity, ..), "f32[]", &[5.]),
        ((m - 3).norm_keepdims(Norm::Two, 0).slice(slice![.., 0..1]), "f64[1, 1]", &[3.]),
        (f.softmax(1).sum(1).round(), "f32[2]", &[1., 1.]),
        (f.log_softmax(1).exp().sum(1).round(), "f32[2]", &[1., 1.]),
        (f.argmin_with_value(1).0, "i64[2]", &[0., 0.]),
        (f.argmin_with_value(1).1, "f32[2]", &[0., 3.]),
        (f.argmax_with_value(..).0, "i64[]", &[5.]),
        (f.argmax_with_value_keepdims(0).1, "f32[1, 3]", &[3., 4., 5.]),
    ]);
    let (_, result) = value(f.logsumexp(1));
    let expected = |row: [f64; 3]| row.iter().map(|x| x.exp()).sum::<f64>().ln();
    assert!((result[0] - expected([0., 1., 2.])).abs() < 1e-6);
    assert!((result[1] - expected([3., 4., 5.])).abs() < 1e-6);
    assert_eq!(f.logsumexp_keepdims(..).to_string(), "f32[1, 1]");
    g.check().unwrap();
    assert!(f.argmin_with_value(7).0.is_poisoned());
}

#[test]
fn joins_segments_and_grids() {
    let g = Graph::new();
    let x = g.iota(3); // 0 1 2
    let m = g.iota(4).reshape([2, 2]); // 0 1 / 2 3
    let ids = g.constant(2) - x; // 2 1 0
    check([
        (concat([x, x + 10], 0), "i64[6]", &[0., 1., 2., 10., 11., 12.]),
        (concat(vec![m, m.cast::<f32>()], 1), "f64[2, 4]", &[0., 1., 0., 1., 2., 3., 2., 3.]),
        (concat([m], -1), "i64[2, 2]", &[0., 1., 2., 3.]),
        (stack([x, -x], 0), "i64[2, 3]", &[0., 1., 2., 0., -1., -2.]),
        (stack([x, -x], -1), "i64[3, 2]", &[0., 0., 1., -1., 2., -2.]),
        (x.segment_sum(ids, 4), "i64[4]", &[2., 1., 0., 0.]),
        (x.segment_min(ids.floor_divide(2), 2), "i64[2]", &[1., 0.]),
        (x.segment_max(ids.floor_divide(2), 2), "i64[2]", &[2., 0.]),
        (x.segment_mean(ids.floor_divide(2), 2), "f64[2]", &[1.5, 0.]),
        (m.segment_sum(g.iota(2).lt(0).cast::<u8>(), 1), "i64[1, 2]", &[2., 4.]),
        (ids.segment_count(5), "i64[5]", &[1., 1., 1., 0., 0.]),
        (g.linspace(1, 2.5, 4), "f64[4]", &[1., 1.5, 2., 2.5]),
        (g.arange(0, 5, 2), "i64[3]", &[0., 2., 4.]),
        (g.arange(3, 0, -1), "i64[3]", &[3., 2., 1.]),
        (g.arange(3, 0, 1), "i64[0]", &[]),
        (g.arange(1.0, 2.0, 0.25), "f64[4]", &[1., 1.25, 1.5, 1.75]),
        (g.arange(1.0, 0.0, -0.5), "f64[2]", &[1., 0.5]),
        // NumPy's values.
        (g.arange(1.0, 1.35, 0.1), "f64[4]", &[1., 1.1, 1. + 2. * (1.1 - 1.), 1. + 3. * (1.1 - 1.)]),
        (m.size(-1) + m.size(0), "i64[]", &[4.]),
        (m.transpose(..), "i64[2, 2]", &[0., 2., 1., 3.]),
        (m.transpose([1, 0]), "i64[2, 2]", &[0., 2., 1., 3.]),
        (m.slice(slice![..., newaxis, 1..]), "i64[2, 1, 1]", &[1., 3.]),
    ]);
    let n = g.symbol("n");
    let v = g.input::<f32>("v", shape![n, 3]);
    assert_eq!(v.segment_sum(g.input::<u8>("ids", shape![n]), n + 1).to_string(), "f32[n+1, 3]");
    assert_eq!(concat([v, v], 0).to_string(), "f32[2*n, 3]");
    assert_eq!(v.size(0).to_string(), "i64[]");
    g.check().unwrap();
    assert_eq!(concat([], 0).to_string(), "stale tensor");
    for bad in [
        concat([v, x], 0),
        stack([v, m], 0),
        concat([v], 5),
        v.size(2),
        v.segment_sum(x, 3),
        v.segment_sum(v, 3),
        g.arange(0, 1, 0),
        g.arange(0.0, 1.0, 0.0),
        g.arange(0.0, f64::NAN, 1.0),
        g.arange(0.0, 1e300, 1.0),
        g.arange(i64::MIN, i64::MAX, 1),
    ] {
        assert!(bad.is_poisoned(), "{bad}");
    }
    assert_eq!(g.check().unwrap_err().iter().count(), 11);
}
