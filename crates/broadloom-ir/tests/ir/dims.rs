//! Sizes: normal forms, printing, division, bounds on hostile input.

use crate::support::{dim, for_all_values, here, text};
use broadloom_ir::SymbolId;
use broadloom_ir::dim::{Dim, DimError, Facts};
use broadloom_ir::graph::Graph;
use cpu_time::ThreadTime;

fn graph() -> Graph {
    let mut graph = Graph::new();
    for name in ["n", "m", "k"] {
        graph.symbol(name, here());
    }
    graph
}

#[test]
fn normal_forms() {
    for (written, printed) in [
        ("0", "0"),
        ("-3", "-3"),
        ("n", "n"),
        ("n+n", "2*n"),
        ("n-n", "0"),
        ("n-n+1", "1"),
        ("1+n", "n+1"),
        ("n-1", "n-1"),
        ("-n", "-n"),
        ("m*n", "n*m"),
        ("(n+1)*(n+1)", "n*n+2*n+1"),
        ("(n+m)*(n-m)", "n*n-m*m"),
        ("(2*n)//2", "n"),
        ("(4*n+6)//4", "n+1"),
        ("(3*n)//2", "n+n//2"),
        ("(n+1)//2", "(n+1)//2"),
        ("-(-n//2)", "(n+1)//2"),
        ("-n//2", "-((n+1)//2)"),
        ("-(n//2)", "-(n//2)"),
        ("1-n//2", "-(n//2)+1"),
        ("2*(n//2)", "2*(n//2)"),
        ("m*(n//2)", "m*(n//2)"),
        ("(n//2)//3", "n//6"),
        ("(n//2+1)//2", "(n+2)//4"),
        ("(6*n+4*m+3)//4", "n+m+(n+1)//2"),
        ("(6*n+5)//4", "n+n//2+1"),
        ("(n+5)//3", "(n+2)//3+1"),
        ("7//2", "3"),
        ("-7//2", "-4"),
        ("(n//2+(n+1)//2)", "n//2+(n+1)//2"),
    ] {
        let mut graph = graph();
        let size = dim(&mut graph, written);
        assert_eq!(text(&graph, std::slice::from_ref(&size)), printed, "{written}");
        assert_eq!(dim(&mut graph, printed), size, "{printed} reads back");
    }
}

/// Division, substitution and intervals agree with numbers.
#[test]
fn arithmetic_is_that_of_numbers() {
    let sizes = [
        "n",
        "3*n+2",
        "-n+4",
        "n*m",
        "2*n-3*m+1",
        "n//2",
        "(n+m)//3",
        "-2*(n//3)+m",
        "n*n-m",
        "6*n*m+4*n",
        "5",
    ];
    let mut graph = graph();
    let mut sizes: Vec<Dim> = sizes.into_iter().map(|size| dim(&mut graph, size)).collect();
    // How often some of them fit into constants.
    for (size, k) in [(0, 7), (2, 100), (3, 64), (6, 5)] {
        sizes.push(sizes[size].fits_into(k).unwrap());
    }
    sizes.push(sizes[0].least(&sizes[2]).unwrap().add(&sizes[5]).unwrap());
    sizes.push(sizes[11].scale(-2).unwrap().add(&sizes[1]).unwrap());
    for a in &sizes {
        let interval = a.interval(&|_| Facts { lower: 0, upper: Some(6) });
        for_all_values(2, |value| {
            let exact = a.evaluate(value).unwrap();
            assert!((interval.lower..=interval.upper).contains(&exact.into()), "{a:?} is in {interval:?}");
        });
        for k in 1..8 {
            let (floor, ceil) = (a.floor_div(k).unwrap(), a.ceil_div(k).unwrap());
            for_all_values(2, |value| {
                let exact = a.evaluate(value).unwrap();
                assert_eq!(floor.evaluate(value).unwrap(), exact.div_euclid(k), "{a:?} // {k}");
                assert_eq!(ceil.evaluate(value).unwrap(), -(-exact).div_euclid(k), "{a:?} / {k} up");
            });
            let fits = a.fits_into(k).unwrap();
            for_all_values(2, |value| {
                let exact = a.evaluate(value).unwrap();
                let count = (1..=k).filter(|count| exact > 0 && count * exact <= k).count();
                assert_eq!(fits.evaluate(value), Ok(count as i64), "{k} // {a:?}");
            });
        }
        for b in &sizes {
            let least = a.least(b).unwrap();
            assert_eq!(least, b.least(a).unwrap());
            for_all_values(2, |value| {
                let both = [a, b].map(|size| size.evaluate(value).unwrap());
                assert_eq!(least.evaluate(value), Ok(both[0].min(both[1])), "min({a:?}, {b:?})");
            });
            let product = a.mul(b).unwrap();
            assert_eq!(product.exact_div(b), Some(a.clone()), "{product:?} / {b:?}");
            assert_eq!(a.add(b).unwrap().sub(b).unwrap(), *a);
            let replaced = a.substitute(SymbolId::new(0), b).unwrap();
            for_all_values(2, |value| {
                let inner = b.evaluate(value).unwrap();
                let symbol_value =
                    |symbol: SymbolId| if symbol.index() == 0 { Some(inner) } else { value(symbol) };
                assert_eq!(replaced.evaluate(value), a.evaluate(&symbol_value), "{a:?} with n = {b:?}");
            });
        }
    }
}

#[test]
fn questions() {
    let mut graph = graph();
    let [n, m] = [SymbolId::new(0), SymbolId::new(1)];
    let size = dim(&mut graph, "3*n+m-1");
    assert_eq!(size.symbols(), [n, m]);
    assert_eq!(size.linear_in(n), Some((3, dim(&mut graph, "m-1"))));
    assert_eq!(dim(&mut graph, "n*m").linear_in(n), None);
    assert_eq!(dim(&mut graph, "n+n//2").linear_in(n), None);
    assert_eq!(dim(&mut graph, "m").linear_in(n), None);
    assert_eq!(dim(&mut graph, "n*m+n").exact_div(&dim(&mut graph, "m+1")), Some(Dim::symbol(n)));
    assert_eq!(dim(&mut graph, "6*n").exact_div(&Dim::constant(4)), None);
    assert_eq!(Dim::ZERO.exact_div(&Dim::ZERO), None);
    assert_eq!(Dim::ZERO.exact_div(&Dim::symbol(n)), Some(Dim::ZERO));
    assert!(Dim::ONE.is_one() && !Dim::symbol(n).is_one() && Dim::ZERO.is_zero());
    assert_eq!(Dim::product([&Dim::symbol(n), &Dim::ZERO, &Dim::constant(i64::MAX)]), Ok(Dim::ZERO));
    assert_eq!(size.evaluate(&|symbol| (symbol == n).then_some(1)), Err(DimError::Unbound(m)));
    assert_eq!(size.evaluate(&|_| Some(i64::MAX)), Err(DimError::Overflow));
}

/// Hostile sizes end in an error, soon.
#[test]
fn limits() {
    let started = ThreadTime::now();
    let symbols: Vec<Dim> = (0..200).map(|index| Dim::symbol(SymbolId::new(index))).collect();
    let sum = symbols.iter().try_fold(Dim::ONE, |sum, symbol| sum.add(symbol));
    assert_eq!(sum, Err(DimError::TooLarge), "many terms");
    let few = symbols[..40].iter().try_fold(Dim::ONE, |sum, symbol| sum.add(symbol)).unwrap();
    assert_eq!(few.mul(&few), Err(DimError::TooLarge), "a product of sums");
    let power = (0..100).try_fold(Dim::ONE, |power, _| power.mul(&symbols[0]));
    assert_eq!(power, Err(DimError::TooLarge), "a high degree");
    let mut scaled = symbols[0].clone();
    let overflow = loop {
        match scaled.scale(i64::MAX) {
            Ok(larger) => scaled = larger,
            Err(error) => break error,
        }
    };
    assert_eq!(overflow, DimError::Overflow, "large coefficients");
    let mut nested = symbols[0].clone();
    let too_deep = loop {
        let next =
            nested.mul(&nested).and_then(|square| square.add(&symbols[1])).and_then(|sum| sum.floor_div(7));
        match next {
            Ok(deeper) => nested = deeper,
            Err(error) => break error,
        }
    };
    assert_eq!(too_deep, DimError::TooLarge, "deep nesting");
    assert_eq!(Dim::constant(3).floor_div(0), Err(DimError::Divisor(0)));
    assert_eq!(Dim::constant(3).ceil_div(-2), Err(DimError::Divisor(-2)));
    assert_eq!(Dim::symbol(SymbolId::new(0)).fits_into(0), Err(DimError::Divisor(0)));
    assert_eq!(Dim::constant(i64::MIN).neg(), Err(DimError::Overflow));
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

#[test]
fn sizes_are_small() {
    assert!(size_of::<Dim>() <= 16);
}
