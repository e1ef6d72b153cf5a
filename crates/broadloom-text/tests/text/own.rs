//! Functions that an embedding program adds: what they compute, compared with loops in Rust; the limits; and messages.

use broadloom::prelude::*;
use broadloom::{Executable, function};
use broadloom_text::{Formula, FunctionError, Functions, Limits, Program, Session};

fn functions() -> Functions {
    Functions::new()
        .add("rms", ["x"], function(|[x]| (x * x).mean(..).sqrt()))
        .and_then(|own| {
            own.add("mix", ["x", "y", "share"], function(|[x, y, share]| x * share + y * (1.0 - share)))
        })
        .and_then(|own| own.add("row_sums", ["x"], function(|[x]| x.sum(1))))
        .and_then(|own| own.add("chosen", ["table", "i"], function(|[table, i]| table.take(i, 0))))
        .and_then(|own| {
            own.add(
                "halved",
                ["x"],
                function(|[x]| {
                    let [y] = repeat(3, [x], |_, [y]| [y / 2.0]);
                    y
                }),
            )
        })
        .unwrap()
}

fn formula(text: &str) -> Formula<'_> {
    Formula::new(text).with_functions(&functions()).column("x", "X", DType::F64).column("i", "I", DType::I64)
}

fn run(text: &str, x: &[f64]) -> Vec<f64> {
    let graph = formula(text).resolve().unwrap_or_else(|mistakes| panic!("{text}\n{mistakes:#}"));
    let kernel = Executable::compile(&graph, &CompileOptions::default()).unwrap();
    kernel.run(x).unwrap().try_into().unwrap()
}

fn message(text: &str) -> String {
    format!("{:#}", formula(text).resolve().unwrap_err())
}

#[test]
fn they_compute_what_their_closures_say() {
    let x = [3.0, -4.0, 12.0];
    let rms = (x.iter().map(|x| x * x).sum::<f64>() / 3.0).sqrt();
    assert!((run("rms(x)", &x)[0] - rms).abs() < 1e-14);
    assert_eq!(run("x.rms() - rms(x=x)", &x), [0.0]);
    assert_eq!(run("np.rms(x) - rms(a=x)", &x), [0.0]);
    assert_eq!(run("mix(x, 2, 0.25)", &x), x.map(|x| x * 0.25 + 2.0 * 0.75));
    assert_eq!(run("mix(1, share=0.5, y=x) + rms([3, 3])", &x), x.map(|x| 0.5 + x * 0.5 + 3.0));
    assert_eq!(run("rms(mix(x, x, 1) - x) + x", &x), x);
    assert_eq!(run("halved(x * 8)", &x), x);
    assert_eq!(run("chosen(x, [2, 0])", &x), [12.0, 3.0]);
    // A number stays one beside an f32.
    let graph = Formula::new("mix(y, 1, 0.5)")
        .with_functions(&functions())
        .column("y", "y", DType::F32)
        .resolve()
        .unwrap();
    assert_eq!(broadloom_text::signature(&graph), "result: f32[n]\n");
}

#[test]
fn programs_and_sessions_take_them() {
    let text = "input x: f64[n]\nfor t in range(4) with u = x\n  next u = mix(u, 0, 0.5)\nend\noutput u = u";
    let graph = Program::parse("example", text).unwrap().with_functions(&functions()).resolve().unwrap();
    let kernel = Executable::compile(&graph, &CompileOptions::default()).unwrap();
    let result: Vec<f64> = kernel.run(&[16.0, -1.0]).unwrap().try_into().unwrap();
    assert_eq!(result, [1.0, -1.0 / 16.0]);
    // What is printed has only names of the language.
    let printed = broadloom_text::print(&graph);
    assert!(Program::parse("printed", &printed).unwrap().resolve().is_ok(), "{printed}");
    let mut session = Session::new("example", Limits::default()).with_functions(&functions());
    session.run("input x: f64[n]; let y = rms(x)").unwrap();
    session.run("output z = y + x").unwrap();
    assert_eq!(broadloom_text::signature(&session.finish().unwrap().graph), "z: f64[n]\n");
    assert!(Program::parse("example", "input x: f64[n]; rms(x)").unwrap().resolve().is_err());
}

#[test]
fn messages() {
    for (text, fragments) in [
        ("rsm(x)", &["unknown function `rsm`", "did you mean `rms`?"][..]),
        ("x.mixx(1, 2)", &["unknown method or attribute `mixx`", "did you mean `mix`?"]),
        ("rms + 1", &["to call the function, write `rms(..)`"]),
        ("x.rms", &["to call the method, write `.rms()`"]),
        ("rms()", &["`rms` needs `x`"]),
        ("mix(x, 1)", &["`mix` needs `share`"]),
        ("rms(x, 1)", &["`rms` takes at most 1"]),
        ("mix(x, 1, shar=2)", &["unknown keyword argument `shar`", "did you mean `share`?"]),
        ("mix(x, 1, 2, x=3)", &["`mix` got `x` twice"]),
        ("rms('x')", &["text"]),
        ("rms(None)", &["expected a tensor or a number"]),
        // A mistake in the function is at its call, and names it.
        (
            "1 + row_sums(x)",
            &["formula:1:5", "1 | 1 + row_sums(x)", "    ^^^^^^^^^^^", "`sum`", "`row_sums` computes this"],
        ),
        ("mix(x, x[:3], 0.5)", &["cannot broadcast", "^^^^^^^^^^^^^^^^^^", "`mix` computes this"]),
    ] {
        let found = message(text);
        for fragment in fragments {
            assert!(found.contains(fragment), "{text}: no {fragment:?} in\n{found}");
        }
        assert!(!found.contains("own.rs"), "{found}");
    }
}

/// An error of the data names the function and its place in the text.
#[test]
fn errors_of_runs() {
    let program = Program::parse("example", "input x: f64[n]\ninput i: i64[k]\nchosen(x, i) * 2").unwrap();
    let resolved = program.with_functions(&functions()).resolve_in_full(&[]).unwrap();
    let kernel = Executable::compile(&resolved.graph, &CompileOptions::default()).unwrap();
    let error = match kernel.run((&[1.0, 2.0], &[0i64, 5])) {
        Err(broadloom::CallError::Run(error)) => error,
        other => panic!("{other:?}"),
    };
    let shown = error.display_at(&resolved.places).to_string();
    assert!(shown.contains("`chosen`") && shown.contains("example:3:1"), "{shown}");
}

#[test]
fn names() {
    let add = |name: &str, parameters: [&str; 2]| {
        functions().add(name, parameters, function(|[x, y]| x + y)).map(|own| own.names().count())
    };
    assert_eq!(add("both", ["x", "y"]), Ok(6));
    assert_eq!(add("größe", ["größe", "_2"]), Ok(6));
    for taken in [
        "sum", "arcsin", "softmax", "where", "f32", "float64", "pi", "nan", "let", "for", "at", "True",
        "lambda",
    ] {
        assert_eq!(add(taken, ["x", "y"]), Err(FunctionError::Taken { name: taken.into() }));
    }
    for name in ["", "a b", "2x", "x.y", "f(", "-", "np.rms"] {
        assert_eq!(add(name, ["x", "y"]), Err(FunctionError::Name { name: name.into() }));
    }
    assert_eq!(add("rms", ["x", "y"]), Err(FunctionError::Repeated { name: "rms".into() }));
    for parameters in [["x", "x"], ["x", "y?"], ["x", ""], ["x", "out"], ["x*", "y"]] {
        assert!(matches!(add("both", parameters), Err(FunctionError::Parameter { .. })), "{parameters:?}");
    }
    // One without parameters, and a name for which the language only has a message.
    let own = Functions::new().add("golden", [], function(|[]| Graph::new().constant(1.618)));
    assert!(own.is_ok());
    assert!(Functions::new().add("fft", ["x"], function(|[x]| x)).is_ok());
}

/// Closures that give what they should not, or that build much.
#[test]
fn bad_closures() {
    let elsewhere =
        Functions::new().add("elsewhere", ["x"], function(|[_]| Graph::new().constant(1.0))).unwrap();
    let mistakes = Formula::new("elsewhere(x)")
        .with_functions(&elsewhere)
        .column("x", "x", DType::F64)
        .resolve()
        .unwrap_err();
    assert!(mistakes.to_string().starts_with("formula:1:1: "), "{mistakes}");
    let many = function(|[x]: [Tensor; 1]| (0..3000).fold(x, |sum, number| sum + f64::from(number)));
    let many = Functions::new().add("many", ["x"], many).unwrap();
    let mut limits = Limits::default();
    limits.nodes = 1000;
    let formula = Formula::new("many(x)").within(limits).with_functions(&many).column("x", "x", DType::F64);
    assert!(formula.resolve().unwrap_err().to_string().contains("at most 1000 expressions"));
    // A closure that panics leaves other graphs alone, and a function works again afterwards.
    let panics = std::sync::atomic::AtomicBool::new(true);
    let at_first = function(move |[x]: [Tensor; 1]| {
        assert!(!panics.swap(false, std::sync::atomic::Ordering::Relaxed), "the first call");
        2 * x
    });
    let own = Functions::new().add("at_first", ["x"], at_first).unwrap();
    let resolve = || Formula::new("at_first(x)").with_functions(&own).column("x", "x", DType::F64).resolve();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(resolve)).is_err());
    assert_eq!(broadloom_text::signature(&resolve().unwrap()), "result: f64[n]\n");
}
