//! Arrays and data that do not fit.

use broadloom::prelude::*;
use broadloom::{ArrayName, BindError, CallError, EvalError, Role, RunError};
use std::panic::Location;

fn bind_error(result: Result<Outputs, CallError>) -> BindError {
    match result.unwrap_err() {
        CallError::Bind(error) => error,
        CallError::Run(error) => panic!("{error}"),
    }
}

fn run_error(result: Result<Outputs, CallError>) -> RunError {
    match result.unwrap_err() {
        CallError::Run(error) => error,
        CallError::Bind(error) => panic!("{error}"),
    }
}

fn kernel() -> Executable {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let points = g.input::<f32>("points", shape![n, 3]);
    let weights = g.input::<f32>("weights", shape![n, 2 * m]);
    (points.sum(1) + weights.sum(1)).compile().unwrap()
}

#[test]
fn names_and_numbers_of_inputs() {
    let kernel = kernel();
    let (a, b) = ([0.0f32; 6], [0.0f32; 8]);
    let points = ArrayView::new(&a, &[2, 3]).unwrap();
    let weights = ArrayView::new(&b, &[2, 4]).unwrap();
    kernel.run((&points, &weights)).unwrap();

    let missing = bind_error(kernel.run(inputs! { "points" => &points }));
    assert_eq!(missing.to_string(), r#"input "weights" is missing: f32[n, 2*m]"#);

    let unknown = bind_error(kernel.run(inputs! { "points" => &points, "Weigths" => &weights }));
    assert_eq!(unknown.to_string(), r#"there is no input "Weigths"; did you mean "weights"?"#);
    let unknown = bind_error(kernel.run(inputs! { "zebra" => &points }));
    assert_eq!(
        unknown.to_string(),
        r#"there is no input "zebra"; the known names are ["points", "weights"]"#
    );

    let repeated = bind_error(kernel.run(inputs! { "points" => &points, "points" => &points }));
    assert!(matches!(repeated, BindError::Repeated { array: ArrayName { role: Role::Input, .. } }));

    let number = bind_error(kernel.run((&points, &weights, &weights)));
    assert!(matches!(number, BindError::Number { found: 3, .. }), "{number}");
    let missing = bind_error(kernel.run(&points));
    assert!(matches!(missing, BindError::Missing { .. }), "{missing}");
}

#[test]
fn dtypes_ranks_and_sizes() {
    let kernel = kernel();
    let (a, b, c) = ([0.0f32; 24], [0.0f32; 8], [0.0f64; 8]);
    let points = ArrayView::new(&a[..6], &[2, 3]).unwrap();
    let with = |weights: ArrayView<'_>| bind_error(kernel.run((&points, weights)));

    let dtype = with(ArrayView::new(&c, &[2, 4]).unwrap());
    assert_eq!(dtype.to_string(), r#"input "weights" has dtype f64, but should have f32"#);

    let rank = with(ArrayView::new(&b, &[8]).unwrap());
    assert_eq!(rank.to_string(), r#"input "weights" has shape [8], but should have 2 axes: [n, 2*m]"#);

    let size = with(ArrayView::new(&b, &[4, 2]).unwrap());
    assert_eq!(size.to_string(), r#"input "weights" does not fit: axis 0 is 4, but n is 2"#);
    let full = format!("{size:?}");
    assert!(full.starts_with("error[S101]: "), "{full}");
    assert!(full.contains(r#"n = 2        from input "points" axis 0 (shape [2, 3])"#), "{full}");
    assert!(full.contains("should have [n, 2*m], declared"), "{full}");

    let odd = with(ArrayView::new(&a[..6], &[2, 3]).unwrap());
    assert_eq!(odd.to_string(), r#"input "weights" does not fit: axis 1 is 3, but 2*m never has that value"#);

    let constant = bind_error(kernel.run((ArrayView::new(&a[..8], &[2, 4]).unwrap(), &points)));
    assert_eq!(constant.to_string(), r#"input "points" does not fit: axis 1 is 4, but should be 3"#);
}

#[test]
fn outputs_that_do_not_fit() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let kernel = g.compile([("a", x + 1), ("b", x.sum(0))]).unwrap();
    let data = [1.0f32, 2.0];
    let mut total = [0.0f32];
    let mut total = ArrayViewMut::new(&mut total, &[]).unwrap();
    let fail = |result: Result<(), CallError>| result.unwrap_err().to_string();
    assert_eq!(
        fail(kernel.run_into(&data, &mut [0.0f32; 2])),
        r#"1 output is passed by position, but the kernel has 2: ["a", "b"]"#
    );
    assert_eq!(
        fail(kernel.run_into(&data, outputs! { "a" => &mut [0.0f32; 3], "b" => total })),
        r#"output "a" does not fit: axis 0 is 3, but n is 2"#
    );
    let mut scalar = [0.0f64];
    total = ArrayViewMut::new(&mut scalar, &[]).unwrap();
    assert_eq!(
        fail(kernel.run_into(&data, (&mut [0.0f32; 2], total))),
        r#"output "b" has dtype f64, but should have f32"#
    );
    assert_eq!(
        fail(kernel.run_into(&data, (&mut [0.0f32; 2], &mut [0.0f32; 1]))),
        r#"output "b" has shape [1], but should have 0 axes: []"#
    );
    assert_eq!(
        fail(kernel.run_into(&data, outputs! { "c" => &mut [0.0f32; 2] })),
        r#"there is no output "c"; did you mean "a"?"#
    );
}

#[test]
fn demands_on_sizes() {
    let g = Graph::new();
    let n = g.symbol("n");
    let x = g.input::<f32>("x", shape![n]);
    let kernel = x.slice(slice![2..]).max(0).compile().unwrap();
    let largest: f32 = kernel.run(&[9.0f32, 9.0, 1.0, 2.0]).unwrap().try_into().unwrap();
    assert_eq!(largest, 2.0);
    for count in 0..3 {
        let error = bind_error(kernel.run(&vec![0.0f32; count]));
        let BindError::Obligation(missed) = &error else { panic!("{error}") };
        assert_eq!(missed.have, format!("n is {count}"));
        assert!(missed.needs == "n >= 2" || missed.needs == "n >= 3", "{}", missed.needs);
        assert_eq!(missed.site.location().map(Location::file), Some(file!()));
        assert!(
            format!("{error:?}").contains(&format!("n = {count}    from input \"x\" axis 0")),
            "{error:?}"
        );
    }
    let difference = g.input::<f32>("y", shape![n - 1]).compile().unwrap();
    difference.run(&[0.0f32; 0]).unwrap();
}

/// The size of a slice has its conditions also where nothing reads the elements of the slice.
#[test]
fn demands_on_sizes_of_slices() {
    let g = Graph::new();
    let x = g.input::<f32>("x", shape![g.symbol("n")]);
    let tail = x.slice(slice![-4..3]);
    let kernels = [
        g.full(tail.shape(), 1.0f32).compile(),
        tail.zeros_like().compile(),
        (x.sum(0) * tail.size(0)).compile(),
    ];
    for kernel in kernels.map(Result::unwrap) {
        for count in [3, 8] {
            let error = bind_error(kernel.run(&vec![0.0f32; count]));
            let BindError::Obligation(missed) = &error else { panic!("{error}") };
            assert_eq!(missed.have, format!("n is {count}"));
            assert_eq!(missed.call.as_deref(), Some("slice"));
        }
        kernel.run(&[0.0f32; 5]).unwrap();
    }
    // No kernel reads the input, whose size the condition is of.
    let g = Graph::new();
    let x = g.input::<f32>("rows", shape![g.symbol("k"), g.symbol("m")]);
    let tail = x.slice(slice![-4..]);
    for kernel in [tail.zeros_like(), g.full(tail.shape(), 1.0f32), g.iota(tail.shape()[0])] {
        let kernel = kernel.compile().unwrap();
        for rows in [0, 1, 3] {
            let array = vec![0.0f32; rows * 5];
            let error = bind_error(kernel.run(ArrayView::new(&array, &[rows, 5]).unwrap()));
            let BindError::Obligation(missed) = &error else { panic!("{error}") };
            assert_eq!(missed.have, format!("k is {rows}"));
        }
        kernel.run(ArrayView::new(&[0.0f32; 20], &[4, 5]).unwrap()).unwrap();
    }
}

#[test]
fn indices_out_of_range() {
    let g = Graph::new();
    let [n, k] = g.symbols(["n", "k"]);
    let table = g.input::<f32>("table", shape![k, 2]);
    let indices = g.input::<i32>("indices", shape![n, 2]);
    let kernel = table.take(indices, 0).compile().unwrap();
    let data = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0];
    let table = ArrayView::new(&data, &[3, 2]).unwrap();
    let good = [0, -1, 2, -3];
    let result: Vec<f32> =
        kernel.run((&table, ArrayView::new(&good, &[2, 2]).unwrap())).unwrap().try_into().unwrap();
    assert_eq!(result, [1.0, 2.0, 5.0, 6.0, 5.0, 6.0, 1.0, 2.0]);

    let bad = [0, 1, 2, 3, -4, 7];
    let error = run_error(kernel.run((&table, ArrayView::new(&bad, &[3, 2]).unwrap())));
    let RunError::IndexOutOfRange { site, position, index, size, .. } = error else { panic!("{error}") };
    let file = site.location().map(Location::file);
    assert_eq!((file, position, index, size), (Some(file!()), vec![1, 1], 3, 3));

    let empty = ArrayView::new(&data[..0], &[0, 2]).unwrap();
    let error = bind_error(kernel.run((&empty, ArrayView::new(&good, &[2, 2]).unwrap())));
    assert!(matches!(error, BindError::EmptyTable(_)), "{error}");
    kernel.run((&empty, ArrayView::new(&good[..0], &[0, 2]).unwrap())).unwrap();
}

#[test]
fn negative_exponents() {
    let g = Graph::new();
    let n = g.symbol("n");
    let [x, y] = ["x", "y"].map(|name| g.input::<i64>(name, shape![n]));
    let kernel = x.pow(y).compile().unwrap();
    let result: Vec<i64> = kernel.run((&[2i64, 3], &[10i64, 0])).unwrap().try_into().unwrap();
    assert_eq!(result, [1024, 1]);
    let error = run_error(kernel.run((&[2i64, 3, 4], &[10i64, -1, -2])));
    let RunError::NegativeExponent { position, exponent, .. } = error else { panic!("{error}") };
    assert_eq!((position, exponent), (vec![1], -1));
}

#[test]
fn sizes_that_overflow() {
    let g = Graph::new();
    let [n, m] = g.symbols(["n", "m"]);
    let (x, y) = (g.input::<u8>("x", shape![n]), g.input::<u8>("y", shape![m]));
    let kernel = (x.unsqueeze(1) + y).compile().unwrap();
    let data = [1u8];
    let long = |count| ArrayView::strided(&data, 0, &[count], &[0]).unwrap();
    for (n, m) in [(1usize << 40, 1 << 40), (1 << 31, 1 << 32)] {
        let error = bind_error(kernel.run((long(n), long(m))));
        assert!(matches!(error, BindError::Arithmetic(_) | BindError::TooLarge { .. }), "{error}");
    }
    let error = run_error(kernel.run((long(1 << 30), long(1 << 29))));
    assert!(matches!(error, RunError::Memory(_)), "{error}");
}

/// The kernel may have been compiled for another expression of the same structure.
#[test]
fn eval_points_at_the_op_of_this_call() {
    let (table, good, bad) = (vec![1.0f32, 2.0, 3.0], vec![0i64, 1], vec![1i64, 7]);
    let sum: Vec<f32> = broadloom::eval((&table, &good, &good), |(table, first, second)| {
        let [a, b] = [first, second].map(|indices| table.take(indices, 0));
        a + b
    })
    .unwrap();
    assert_eq!(sum, [2.0, 4.0]);
    let line = line!() + 3;
    let error = broadloom::eval::<_, _, Vec<f32>>((&table, &good, &bad), |(table, first, second)| {
        let a = table.take(first, 0);
        let b = table.take(second, 0);
        a + b
    });
    let Err(EvalError::Call(CallError::Run(RunError::IndexOutOfRange { site, index, .. }))) = error else {
        panic!("{error:?}")
    };
    assert_eq!((site.location().map(Location::line), index), (Some(line), 7));
}

#[test]
fn eval_explains_with_real_sizes() {
    let (a, b) = (vec![1.0f32; 10], vec![1.0f32; 11]);
    let error = broadloom::eval::<_, _, Vec<f32>>((&a, &b), |(a, b)| a + b).unwrap_err();
    assert!(matches!(error, EvalError::Compile(_)));
    assert!(error.to_string().contains("axis 0 is 10 on the left and 11 on the right"), "{error}");
    let error = broadloom::eval::<_, _, Vec<f32>>(&a, |a| a.slice(slice![20..])).unwrap_err();
    assert!(matches!(error, EvalError::Compile(_)), "{error}");
}
