//! What expressions mean and how mistakes are reported.

use broadloom::prelude::*;
use broadloom::{Dim, Shape};
use broadloom_ir::interp;
use std::panic::Location;

/// The values of a tensor without inputs, as `f64`, and its type as text: interpreted and compiled.
fn value(tensor: Tensor) -> (String, Vec<f64>) {
    let graph = tensor.finish().unwrap();
    let result = interp::interpret(&graph, &[], true).unwrap().remove(0);
    let elements = result.elements.iter().map(|element| match element.cast(DType::F64) {
        broadloom::Scalar::F64(value) => value,
        other => panic!("cast to f64 gave {other:?}"),
    });
    let elements: Vec<f64> = elements.collect();
    let compiled: Vec<f64> = tensor.cast::<f64>().compile().unwrap().run(()).unwrap().try_into().unwrap();
    assert_eq!(elements, compiled, "{graph}");
    (tensor.to_string(), elements)
}

#[test]
fn handles_go_anywhere() {
    fn anywhere<T: Send + Sync + 'static>() {}
    fn copy<T: Copy>() {}
    anywhere::<(
        Graph,
        Tensor,
        Symbol,
        Dim,
        Shape,
        Executable,
        Outputs,
        CompileOptions,
        broadloom::Explanation,
    )>();
    copy::<(Tensor, Symbol, Dim, broadloom::Operand, broadloom::SliceItem)>();
}

#[test]
fn numbers_are_weak_on_either_side() {
    let g = Graph::new();
    let of = |dtype| g.input_dyn(&format!("x_{dtype}"), dtype, shape![]);
    let (u, i, l, f, d, b) =
        (of(DType::U8), of(DType::I32), of(DType::I64), of(DType::F32), of(DType::F64), of(DType::Bool));
    for (tensor, dtype) in [
        (u + 1, "u8"),
        (1 + u, "u8"),
        (u + 1i64, "u8"),
        (i * 2u8, "i32"),
        (i + 0.5, "f64"),
        (0.5 + i, "f64"),
        (f + 1, "f32"),
        ((1.0 / f).exp(), "f32"),
        (f - 1e300f64 * d, "f64"),
        (l / 2, "f64"),
        (u / 2, "f64"),
        (b + 1, "i64"),
        (b & true, "bool"),
        (f.gt(0), "bool"),
        (f.maximum(0), "f32"),
        (i + f, "f64"),
        (i + l, "i64"),
        (select(b, f, 0), "f32"),
        (select(b, 1, 0), "i64"),
        (select(b, 1.0, 0), "f64"),
        (f.fma(2, 3), "f32"),
        (u.exp(), "f32"),
        (i.exp(), "f64"),
        (-f, "f32"),
        (!b, "bool"),
        (!u, "u8"),
        (u % 3, "u8"),
        (3 % u, "u8"),
        (7.5 % i, "f64"),
        (1 << l, "i64"),
        (l >> 2u8, "i64"),
        (true ^ b, "bool"),
        (12 & u, "u8"),
        (broadloom::Operand::from(1u16) | u, "u8"),
        (f * f16::from_f32(0.5), "f32"),
        (i + bf16::from_f32(0.5), "f64"),
        (u.floor_divide(2), "u8"),
        (f.cast::<i32>(), "i32"),
        (f.cast_to(DType::U8), "u8"),
    ] {
        assert_eq!(tensor.to_string(), format!("{dtype}[]"));
    }
    g.check().unwrap();
    let too_large = u + 300;
    assert_eq!(too_large.to_string(), "poisoned tensor");
    assert!(g.check().unwrap_err().to_string().contains("300 does not fit into u8"));
}

#[test]
fn expressions_have_their_usual_values() {
    let g = Graph::new();
    let x = g.iota(4); // 0 1 2 3
    let f = x.cast::<f64>();
    let m = g.iota(6).reshape([2, -1]); // 0 1 2 / 3 4 5
    let table: [(Tensor, &str, &[f64]); 42] = [
        (x + 1, "i64[4]", &[1., 2., 3., 4.]),
        (10 - x, "i64[4]", &[10., 9., 8., 7.]),
        (x * x, "i64[4]", &[0., 1., 4., 9.]),
        (x / 2, "f64[4]", &[0., 0.5, 1., 1.5]),
        (-x, "i64[4]", &[0., -1., -2., -3.]),
        (f.reciprocal().maximum(0.5), "f64[4]", &[f64::INFINITY, 1., 0.5, 0.5]),
        (f.clip(1, 2), "f64[4]", &[1., 1., 2., 2.]),
        (x.gt(1) & x.lt(3), "bool[4]", &[0., 0., 1., 0.]),
        (x.ge(1) & !x.eq(2), "bool[4]", &[0., 1., 0., 1.]),
        (x.le(0) | x.ne(x), "bool[4]", &[1., 0., 0., 0.]),
        (select(x.gt(1), 0, x), "i64[4]", &[0., 1., 0., 0.]),
        (x.pow(2), "i64[4]", &[0., 1., 4., 9.]),
        (f.pow(0.5).square().round(), "f64[4]", &[0., 1., 2., 3.]),
        (f.pow(0), "f64[4]", &[1., 1., 1., 1.]),
        (f.pow(1), "f64[4]", &[0., 1., 2., 3.]),
        ((f + 1).pow(-1), "f64[4]", &[1., 0.5, 1. / 3., 0.25]),
        (x.pow(3), "i64[4]", &[0., 1., 8., 27.]),
        (x.pow(0.5).square().round(), "f64[4]", &[0., 1., 2., 3.]),
        (m.sum(..), "i64[]", &[15.]),
        (m.sum(-1), "i64[2]", &[3., 12.]),
        (m.sum(0), "i64[3]", &[3., 5., 7.]),
        (m.sum([0, 1]), "i64[]", &[15.]),
        (m.mean_keepdims(1), "f64[2, 1]", &[1., 4.]),
        (m.max(..), "i64[]", &[5.]),
        (m.argmax(0), "i64[3]", &[1., 1., 1.]),
        (m.argmin_keepdims(-1), "i64[2, 1]", &[0., 0.]),
        (m.prod(1), "i64[2]", &[0., 60.]),
        (m.t(), "i64[3, 2]", &[0., 3., 1., 4., 2., 5.]),
        (m.permute_dims([1, 0]), "i64[3, 2]", &[0., 3., 1., 4., 2., 5.]),
        (m.permute_dims(..), "i64[3, 2]", &[0., 3., 1., 4., 2., 5.]),
        (m.unsqueeze(0).squeeze(0).unsqueeze(-1), "i64[2, 3, 1]", &[0., 1., 2., 3., 4., 5.]),
        (m.expand_dims([0, -1]).squeeze(..), "i64[2, 3]", &[0., 1., 2., 3., 4., 5.]),
        (x.index(0, -1).broadcast_to([2]), "i64[2]", &[3., 3.]),
        (m.flip(1), "i64[2, 3]", &[2., 1., 0., 5., 4., 3.]),
        (m.flip(..), "i64[2, 3]", &[5., 4., 3., 2., 1., 0.]),
        (m.slice(slice![.., 1..]), "i64[2, 2]", &[1., 2., 4., 5.]),
        (m.slice(slice![1, ..;2]), "i64[2]", &[3., 5.]),
        (m.slice(slice![..., -1]), "i64[2]", &[2., 5.]),
        (m.slice(slice![newaxis, ..1, ..;-1]), "i64[1, 1, 3]", &[2., 1., 0.]),
        (m.slice_axis(-1, 0..2, 1), "i64[2, 2]", &[0., 1., 3., 4.]),
        (m.take(g.iota(2) * 2, 1), "i64[2, 2]", &[0., 2., 3., 5.]),
        ((m + x.slice(slice![..3])).take(g.constant(-1i64), 0), "i64[3]", &[3., 5., 7.]),
    ];
    for (tensor, dtype, elements) in table {
        assert_eq!(value(tensor), (dtype.to_string(), elements.to_vec()), "{}", tensor.finish().unwrap());
    }
}

#[test]
fn sizes_are_polynomials() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    for (dim, text) in [
        (n + 1, "n+1"),
        (2 * n - n, "n"),
        (n * m - m * n + 3, "3"),
        ((n + 1) / 2, "(n+1)//2"),
        (n.ceil_div(2), "(n+1)//2"),
        (-n + n, "0"),
        (n * 3usize, "3*n"),
        ((2 * n).ceil_div(3), "(2*n+2)//3"),
        (7 - n, "-n+7"),
    ] {
        assert_eq!(dim.to_string(), text);
    }
    assert_eq!(g.symbol("n"), n);
    assert_eq!(shape![n, 2 * m, 3].to_string(), "[n, 2*m, 3]");
    assert_eq!(shape![n, 3].rank(), 2);
    let x = g.input::<f32>("x", shape![n, 2 * m]);
    assert_eq!(x.shape(), Shape::from([Dim::from(n), 2 * m]));
    assert_eq!((x.rank(), x.dtype()), (2, Some(DType::F32)));
    assert_eq!(x.reshape(shape![n * m, 2]).to_string(), "f32[n*m, 2]");
    assert_eq!(x.reshape([Dim::from(n), 2 * m]).to_string(), "f32[n, 2*m]");
    assert_eq!(x.slice(slice![1..n - 1, ..m]).to_string(), "f32[n-2, m]");
    assert_eq!(x.index(1, m).to_string(), "f32[n]");
    assert_eq!(g.iota(n + m).to_string(), "i64[n+m]");
    g.check().unwrap();
    let huge = Dim::from(i64::MAX) * n * i64::MAX * i64::MAX;
    assert_eq!(huge.to_string(), "?");
    assert!(g.check().unwrap_err().to_string().contains("overflow"));
}

#[test]
fn all_mistakes_are_reported_at_once_with_their_places() {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f32>("x", shape![n, 64]);
    let w = g.input::<f32>("w", shape![64, n]);
    let line = line!() + 1;
    let bad = x + w;
    let silent = (bad * 2).sum(7).exp();
    let other = x.sum(5);
    assert!(bad.is_poisoned() && silent.is_poisoned() && other.is_poisoned());
    let errors = g.check().unwrap_err();
    assert_eq!(errors.iter().count(), 2, "{errors:#}");
    let first = &errors.as_slice()[0];
    let at = first.site.location().map(|at| (at.file(), at.line()));
    assert_eq!(at, Some((file!(), line)));
    assert!(format!("{errors:#}").contains("error[S002]: `add` cannot broadcast"), "{errors:#}");
    let error = silent.finish().unwrap_err();
    assert_eq!(error.iter().count(), 2);
    let compile_error = x.compile().unwrap_err();
    assert!(format!("{compile_error:?}").contains("dsl.rs"), "{compile_error:?}");
}

#[test]
fn try_forms_return_the_mistake_and_leave_the_graph_clean() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let x = g.input::<f32>("x", shape![n]);
    let y = g.input::<f32>("y", shape![m]);
    let error = x.try_add(y).unwrap_err();
    assert!(error.to_string().contains("cannot broadcast"));
    g.check().unwrap();
    assert_eq!(x.try_multiply(2.5).unwrap().to_string(), "f32[n]");
    assert!(g.input::<u8>("u", shape![]).try_add(300).is_err());
    g.check().unwrap();
    let poisoned = x + y;
    assert!(poisoned.try_add(1).is_err());
}

#[test]
fn helpers_with_track_caller_report_their_callers() {
    #[track_caller]
    fn helper(x: Tensor, y: Tensor) -> Tensor {
        x.maximum(y)
    }
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![2]);
    let line = line!() + 1;
    helper(x, g.input::<f32>("y", shape![3]));
    let site = g.check().unwrap_err().as_slice()[0].site;
    assert_eq!(site.location().map(Location::line), Some(line));
}

#[test]
fn tensors_of_two_graphs_do_not_mix() {
    let (g, h) = (Graph::new(), Graph::new());
    let x = g.input::<f32>("x", shape![3]);
    let y = h.input::<f32>("y", shape![3]);
    for mixed in [x + y, x.maximum(y), select(x.gt(0), x, y), x.take(y.cast::<i64>(), 0)] {
        assert!(mixed.is_poisoned());
        assert!(mixed.finish().unwrap_err().to_string().contains("two graphs"));
    }
    h.check().unwrap();
    assert!(h.finish([("x", x)]).unwrap_err().to_string().contains("two graphs"));
    assert!(x.try_add(y).unwrap_err().to_string().contains("two graphs"));
    let foreign = h.symbol("n") + g.symbol("n");
    let g2 = Graph::new();
    g2.input::<f32>("x", shape![foreign]);
    assert!(g2.check().unwrap_err().to_string().contains("symbol from another graph"));
}

#[test]
fn stale_handles_are_explained() {
    let (x, n) = {
        let g = Graph::new();
        let n = g.symbol("n");
        (g.input::<f32>("x", shape![n]), n)
    };
    let g = Graph::new();
    let y = g.input::<f32>("y", shape![4]);
    assert_eq!((x.to_string(), x.rank(), x.dtype()), ("stale tensor".to_string(), 0, None));
    assert!((x * 2).sum(..).reshape([1]).is_poisoned());
    assert_eq!(n.to_string(), "?");
    assert_eq!((n + 1).to_string(), "?");
    for result in [
        x.finish(),
        (x + x).finish(),
        (x + y).finish(),
        (y + x).finish(),
        x.try_add(1).map(|_| y.finish().unwrap()),
    ] {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("dropped"), "{error}");
    }
    assert!(x.compile().is_err());
    assert!(format!("{:?}", g.check().unwrap_err()).contains("dropped"));
}

#[test]
fn many_threads_build_at_once() {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f32>("x", shape![n]);
    let sums: Vec<Tensor> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|thread| {
                scope.spawn(move || {
                    let own = Graph::new();
                    let mut y = own.input::<f32>("y", shape![own.symbol("n")]);
                    let mut z = x;
                    for step in 0..200 {
                        z += thread * 1000 + step;
                        y *= 2;
                        assert!((y + z).is_poisoned());
                    }
                    assert!(!y.is_poisoned());
                    z
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(sums.iter().all(|sum| sum.to_string() == "f32[n]"));
}

#[test]
fn no_call_panics() {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f32>("x", shape![n, 3]);
    let huge = usize::MAX;
    let bad = [
        x.reshape([-1, -1]),
        x.reshape([huge, 2]),
        x.unsqueeze(i64::MIN),
        x.sum(huge),
        x.sum([0, 0]),
        x.squeeze(0),
        x.permute_dims([0]),
        x.slice(slice![0, 0, 0]),
        x.slice(slice![..; 0]),
        x.slice_axis(9, .., 1),
        x.slice_axis(i64::MIN, .., 1),
        x.index(1, 3),
        x.flip(4),
        x.broadcast_to([2]),
        x.take(x, 0),
        x.expand_dims([0; 40]),
        g.iota(-1),
        g.input::<f32>("", shape![]),
        g.input::<f32>("z", shape![-2]),
        g.input_dyn("x", DType::F64, shape![n]),
        select(x, 1, 2),
        x.fma(x, g.constant(true)).logical_not() - true,
    ];
    for (position, tensor) in bad.iter().enumerate() {
        assert!(tensor.is_poisoned(), "{position}: {tensor}");
    }
    assert!(g.check().unwrap_err().iter().count() >= bad.len());
}
