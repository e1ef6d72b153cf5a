//! Random calls with random arguments, extreme ones included: every mistake is a diagnostic, never a panic, and
//! every graph without mistakes finishes and prints.

use crate::support::here;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{
    Composed, Filter, Graph, Literal, Pad, Pairs, Product, SliceSpec, Spread, Terms, Tolerance, Triangle,
};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;
use broadloom_ir::{ExprId, SymbolId};

/// Numbers that look random: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % count
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    fn number(&mut self) -> i64 {
        self.pick(&[0, 1, 1, 2, 3, 4, 6, -1, -2, 7, 1 << 40, i64::MAX, i64::MIN])
    }

    fn small(&mut self) -> i64 {
        self.pick(&[0, 0, 1, 1, -1, -2, 2, 3, 40, i64::MIN, i64::MAX])
    }

    fn axes(&mut self) -> Vec<i64> {
        (0..self.below(4)).map(|_| self.small()).collect()
    }

    fn dim(&mut self) -> Dim {
        let mut dim = match self.below(4) {
            0 => Dim::constant(self.number()),
            _ => Dim::symbol(SymbolId::new(self.pick(&[0, 0, 1, 1, 2, 2, 2, 900]))),
        };
        for _ in 0..self.below(3) {
            let other = if self.below(2) == 0 { self.dim() } else { Dim::constant(self.number()) };
            let next = match self.below(4) {
                0 => dim.add(&other),
                1 => dim.sub(&other),
                2 => dim.mul(&other),
                _ => dim.floor_div(self.number()),
            };
            dim = next.unwrap_or(dim);
        }
        dim
    }

    fn shape(&mut self) -> Shape {
        let rank = self.pick(&[0, 1, 2, 2, 3, 33]);
        (0..rank)
            .map(|_| if self.below(3) == 0 { self.dim() } else { Dim::constant(self.pick(&[1, 2, 3])) })
            .collect()
    }

    fn slice(&mut self) -> SliceSpec {
        match self.below(5) {
            0 => SliceSpec::All,
            1 => SliceSpec::At(self.dim()),
            2 => SliceSpec::NewAxis,
            _ => SliceSpec::Range {
                start: (self.below(2) == 0).then(|| self.dim()),
                stop: (self.below(2) == 0).then(|| self.dim()),
                step: self.pick(&[1, 1, 2, -1, 0, i64::MIN, i64::MAX]),
            },
        }
    }

    fn product(&mut self) -> Product {
        match self.below(8) {
            0 => Product::Dot,
            1 => Product::Vdot,
            2 => Product::Vecdot(self.small()),
            3 => Product::Inner,
            4 => Product::Outer,
            5 => Product::Kron,
            6 => Product::Tensordot(match self.below(2) {
                0 => Pairs::Adjacent(self.pick(&[0, 1, 2, usize::MAX])),
                _ => Pairs::Axes(self.axes(), self.axes()),
            }),
            _ => Product::Matmul,
        }
    }

    /// Subscripts, of which some are those of operands.
    fn subscripts(&mut self) -> String {
        let parts = [
            "i", "j", "k", "A", "ij", "jk", ",", ",", "->", "...", " ", ".", "-", ">", "1", "é", "\n", "",
            "{",
        ];
        let common = ["ij,jk", "ij,jk->ik", "i...,j...", "ii->i", ",->", "ij,kj,k->", "...,..."];
        let mut text = if self.below(2) == 0 { self.pick(&common).to_owned() } else { String::new() };
        for _ in 0..self.pick(&[0, 0, 1, 3, 9]) {
            text += self.pick(&parts);
        }
        text
    }

    fn literal(&mut self) -> Literal {
        match self.below(3) {
            0 => Literal::Bool(true),
            1 => Literal::Int(self.pick(&[0, 1, 2, -1, 300, i128::MAX, i128::MIN])),
            _ => Literal::Float(self.pick(&[0.5, -1.0, 2.0, 1e300, f64::NAN, f64::INFINITY])),
        }
    }
}

/// A rearrangement with any arguments, sometimes of what is poisoned.
fn arranged(random: &mut Random, graph: &mut Graph, [x, y, z]: [ExprId; 3]) -> ExprId {
    let site = here();
    let x = if random.below(9) == 0 { graph.poison() } else { x };
    let axes = random.axes();
    let some = (random.below(3) > 0).then_some(axes.as_slice());
    let dims: Vec<Dim> = (0..random.pick(&[0, 1, 1, 2, 3])).map(|_| random.dim()).collect();
    match random.below(18) {
        0 => graph.flip(x, some, site),
        1 => graph.swapaxes(x, random.small(), random.small(), site),
        2 => graph.moveaxis(x, &axes, &random.axes(), site),
        3 => graph.atleast(x, random.pick(&[0, 1, 2, 3, 4, usize::MAX]), site),
        4 => graph.rot90(x, random.number(), [random.small(), random.small()], site),
        5 => graph.roll(x, &dims, some, site),
        6 => graph.repeat(x, random.dim(), (random.below(2) == 0).then(|| random.small()), site),
        7 => graph.tile(x, &dims, site),
        8..10 => {
            let widths: Vec<[Dim; 2]> =
                (0..graph.shape(x).rank()).map(|_| [random.dim(), random.dim()]).collect();
            let mode = random.pick(&[Pad::Constant(y), Pad::Edge, Pad::Reflect, Pad::Symmetric, Pad::Wrap]);
            graph.pad(x, &widths, mode, site)
        }
        10 => graph.diagonal(x, random.number(), [random.small(), random.small()], site),
        11 => graph.trace(x, random.number(), [random.small(), random.small()], site),
        12 => graph.triangle(x, random.pick(&[Triangle::Lower, Triangle::Upper]), random.number(), site),
        13 => graph.take_along_axis(x, y, random.small(), site),
        14 => graph.vander(x, random.number(), random.below(2) == 0, site),
        15 => graph.windows(x, random.dim(), random.small(), site),
        16 => graph.eye([random.dim(), random.dim()], random.number(), random.pick(DType::ALL), site),
        _ => graph.coordinate(&[x, y, z][..random.below(4)], random.below(5), site),
    }
}

/// A reduction of some elements, or what is made of such, with any arguments.
fn reduced(random: &mut Random, graph: &mut Graph, [x, y, z]: [ExprId; 3]) -> ExprId {
    let site = here();
    let x = if random.below(9) == 0 { graph.poison() } else { x };
    let axes = random.axes();
    let axes = (random.below(3) > 0).then_some(axes.as_slice());
    let keepdims = random.below(2) == 0;
    let condition = (random.below(2) == 0).then(|| graph.cast(y, DType::Bool, site));
    let condition = if random.below(5) == 0 { Some(y) } else { condition };
    let filter = Filter { condition, numbers: random.below(2) == 0 };
    match random.below(9) {
        0..3 => {
            let terms = Terms { filter, initial: (random.below(2) == 0).then_some(z) };
            graph.reduce_terms(random.pick(ReduceOp::ALL), x, terms, axes, keepdims, site)
        }
        3 => {
            let correction = random.pick(&[0.0, 1.0, f64::NAN, -1e300]);
            let spread = Spread { correction, filter, root: random.below(2) == 0 };
            graph.spread(spread, x, axes, keepdims, site)
        }
        4 => graph.average(x, y, axes, keepdims, site),
        5 => graph.ptp(x, axes, keepdims, site),
        6 => graph.layer_norm(x, axes, [Some(y), Some(z)], 1e-5, site),
        7 => graph.isclose(x, y, Tolerance { relative: f64::NAN, ..Tolerance::default() }, site),
        _ => graph.composed(random.pick(Composed::ALL), &[x, y, z][..random.below(4)], site),
    }
}

fn step(random: &mut Random, graph: &mut Graph, made: &[ExprId]) -> ExprId {
    let site = here();
    let x = random.pick(made);
    let y = random.pick(made);
    let z = random.pick(made);
    match random.below(32) {
        20..26 => arranged(random, graph, [x, y, z]),
        26..32 => reduced(random, graph, [x, y, z]),
        0 => {
            let name = random.pick(&["a", "b", "c", "", "d\n"]);
            let shape = random.shape();
            graph.input(name, random.pick(DType::ALL), shape, site)
        }
        1 => graph.constant(random.pick(&[Scalar::Bool(true), Scalar::I32(0), Scalar::F32(-0.0)]), site),
        2 => graph.literal(random.literal(), random.pick(DType::ALL), site),
        3..6 => graph.elementwise(random.pick(Op::ALL), &[x, y, z][..1 + random.below(3)], site),
        6 => graph.select(x, y, z, site),
        7 => graph.cast(x, random.pick(DType::ALL), site),
        8 => {
            let axes = random.axes();
            let axes = (random.below(3) > 0).then_some(axes.as_slice());
            graph.reduce(random.pick(ReduceOp::ALL), x, axes, random.below(2) == 0, site)
        }
        9 => {
            let mut dims: Vec<Option<Dim>> = random.shape().iter().cloned().map(Some).collect();
            if random.below(2) == 0 {
                dims.push(None);
            }
            graph.reshape(x, &dims, site)
        }
        10 => {
            let mut axes: Vec<i64> =
                (0..graph.shape(x).rank()).map(|axis| i64::try_from(axis).unwrap()).collect();
            axes.reverse();
            graph.permute_dims(x, &axes, site)
        }
        11 => {
            let axes = random.axes();
            if random.below(2) == 0 {
                graph.expand_dims(x, &axes, site)
            } else {
                graph.squeeze(x, &axes, site)
            }
        }
        12 => {
            let shape = random.shape();
            graph.broadcast_to(x, shape, site)
        }
        13 => {
            let slices: Vec<SliceSpec> = (0..random.below(4)).map(|_| random.slice()).collect();
            graph.slice(x, &slices, site)
        }
        14 => graph.take(x, y, random.small(), site),
        15 | 16 => graph.product(&random.product(), [x, y], site),
        17 | 18 => graph.einsum(&random.subscripts(), &[x, y, z][..random.below(4)], site),
        _ => {
            let (length, exponent) = (random.dim(), random.literal());
            if random.below(2) == 0 {
                graph.iota(length, site)
            } else {
                graph.power_literal(x, exponent, site)
            }
        }
    }
}

#[test]
fn nothing_panics() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut finished, mut mistakes) = (0, 0);
    for _ in 0..600 {
        let mut graph = Graph::new();
        for name in ["n", "m", "k"] {
            let symbol = graph.symbol(name, here());
            graph.input(
                &format!("size of {name}"),
                DType::U8,
                Shape::from_iter([Dim::symbol(symbol)]),
                here(),
            );
        }
        let mut made = vec![graph.input("x", DType::F32, Shape::from_iter([2.into(), 3.into()]), here())];
        for _ in 0..40 {
            let expr = step(&mut random, &mut graph, &made);
            if let Some(wrong) = graph.withdraw_diagnostics(0) {
                assert!(graph.is_poisoned(expr), "{wrong:#}");
                mistakes += wrong.iter().count();
                assert!(format!("{wrong:#}").starts_with("error["));
            } else if !graph.is_poisoned(expr) {
                made.push(expr);
            }
        }
        let names: Vec<String> = (0..made.len()).map(|index| format!("y{index}")).collect();
        let outputs: Vec<(&str, ExprId)> = names.iter().map(String::as_str).zip(made).collect();
        let checked = graph.finish(&outputs).expect("what is not poisoned is finished");
        assert!(checked.to_string().contains("output \"y0\""));
        finished += checked.len();
    }
    assert!(finished > 1000 && mistakes > 1000, "{finished} expressions, {mistakes} mistakes");
}

/// Subscripts are text of strangers: each is read or refused with a place in it, whatever stands there.
#[test]
fn any_subscripts_are_read_or_refused() {
    let mut graph = Graph::new();
    let x = graph.input("x", DType::F32, Shape::from_iter([2.into(), 3.into()]), here());
    let long =
        ["i".repeat(100_000), ",".repeat(100_000), ".".repeat(10_001), "->".repeat(1000), "ab".repeat(40)];
    let odd = [
        "",
        "->",
        ",",
        "...",
        "....",
        "i...j...",
        "é",
        "i\u{301}j",
        "\0",
        "ij\u{202e}",
        "💥,",
        "-",
        ">",
        "-->",
        "->>",
    ];
    for text in long.iter().map(String::as_str).chain(odd) {
        for count in [0, 1, 2, 65] {
            let expr = graph.einsum(text, &vec![x; count], here());
            let found = graph.withdraw_diagnostics(0);
            assert_eq!(graph.is_poisoned(expr), found.is_some(), "{text:.20?}");
            let Some(wrong) = found else { continue };
            assert!(wrong.to_string().starts_with("`einsum` "), "{wrong}");
            assert!(format!("{wrong:#}").len() < 20_000, "{text:.20?}");
        }
    }
    // As many operands as are supported, in an order that is found at once.
    let many = graph.einsum(&["ij"; 64].join(","), &[x; 64], here());
    assert!(!graph.is_poisoned(many));
    // More letters than a tensor has axes.
    let letters: Vec<String> =
        (b'a'..=b'z').chain(b'A'..=b'Z').map(|letter| char::from(letter).into()).collect();
    let v = graph.input("v", DType::F32, Shape::from_iter([2.into()]), here());
    let spread = graph.einsum(&letters.join(","), &[v; 52], here());
    assert!(graph.is_poisoned(spread));
    assert!(graph.withdraw_diagnostics(0).unwrap().to_string().contains("axes"));
}
