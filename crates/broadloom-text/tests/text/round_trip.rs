//! Print, parse, print: the same text and the same graph, for random graphs of every kind of node.

use crate::support::{assert_round_trip, graph};
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::{DType, Scalar};
use broadloom_ir::graph::{
    CheckedGraph, Graph, IndexItem, InputDim, Literal, Node, Norm, SegmentOp, Site, SliceSpec, View,
};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::{ExprId, SymbolId};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

#[track_caller]
fn here() -> Site {
    Site::caller()
}

/// Choices that a shrinking list of numbers makes; 0 when it has run out.
struct Choices<'a>(std::slice::Iter<'a, u32>);

impl Choices<'_> {
    fn below(&mut self, most: usize) -> usize {
        self.0.next().map_or(0, |choice| *choice as usize % most.max(1))
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

struct Random<'a, 'c> {
    graph: Graph,
    choices: &'a mut Choices<'c>,
    exprs: Vec<ExprId>,
    symbols: Vec<SymbolId>,
}

impl Random<'_, '_> {
    fn size(&mut self) -> Dim {
        let symbol = self.choices.of(&self.symbols);
        let symbol = self.graph.symbol_size(symbol);
        let small = Dim::constant(self.choices.below(4) as i64);
        match self.choices.below(9) {
            0 => Dim::ONE,
            1 => Dim::constant(3),
            2 => small,
            3 => symbol.add(&small).unwrap(),
            4 => symbol.sub(&small).unwrap(),
            5 => symbol.scale(2).unwrap(),
            6 => symbol.floor_div(2).unwrap(),
            _ => symbol,
        }
    }

    fn literal(&mut self) -> Literal {
        match self.choices.below(3) {
            0 => Literal::Int(self.choices.of(&[0, 1, 2, -1, 3, 200, -7])),
            1 => Literal::Float(self.choices.of(&[
                0.5,
                -0.0,
                0.1,
                1e300,
                f64::INFINITY,
                f64::NAN,
                2.0,
                -1.0,
                1e-7,
            ])),
            _ => Literal::Bool(self.choices.below(2) == 1),
        }
    }

    fn expr(&mut self) -> ExprId {
        self.choices.of(&self.exprs)
    }

    fn axis(&mut self, expr: ExprId) -> i64 {
        self.choices.below(self.graph.shape(expr).rank()) as i64
    }

    fn axes(&mut self, expr: ExprId) -> Option<Vec<i64>> {
        match self.choices.below(3) {
            0 => None,
            1 => Some(vec![self.axis(expr)]),
            _ => Some(vec![0, -1]),
        }
    }

    fn spec(&mut self, axis: Option<&Dim>) -> SliceSpec {
        let bound = |random: &mut Self| match random.choices.below(5) {
            0 => None,
            1 => Some(Dim::constant(random.choices.below(3) as i64)),
            2 => Some(Dim::constant(-1 - random.choices.below(3) as i64)),
            3 => axis.and_then(|axis| axis.sub(&Dim::constant(random.choices.below(3) as i64)).ok()),
            _ => axis.and_then(|axis| axis.floor_div(2).ok()),
        };
        match self.choices.below(5) {
            0 => SliceSpec::All,
            1 => SliceSpec::NewAxis,
            2 => SliceSpec::At(bound(self).unwrap_or(Dim::ZERO)),
            _ => SliceSpec::Range {
                start: bound(self),
                stop: bound(self),
                step: self.choices.of(&[1, 2, 3, -1, -2, -3]),
            },
        }
    }

    fn op(&mut self) -> ExprId {
        let (x, y, z) = (self.expr(), self.expr(), self.expr());
        let (dtype, site) = (self.graph.dtype(x), here());
        let keepdims = self.choices.below(2) == 1;
        match self.choices.below(28) {
            0..=5 => {
                let op = self.choices.of(Op::ALL);
                self.graph.elementwise(op, &[x, y, z][..op.arity()], site)
            }
            6 => {
                let op =
                    self.choices.of(&[Op::Add, Op::Multiply, Op::Less, Op::Pow, Op::Maximum, Op::BitwiseOr]);
                let literal = self.literal();
                let literal = self.graph.literal(literal, dtype, site);
                let operands = if keepdims { [x, literal] } else { [literal, x] };
                self.graph.elementwise(op, &operands, site)
            }
            7 => {
                let exponent = self.literal();
                self.graph.power_literal(x, exponent, site)
            }
            8 => {
                let condition = self.graph.elementwise(Op::Less, &[x, y], site);
                self.graph.select(condition, y, z, site)
            }
            9 => {
                let to = self.choices.of(DType::ALL);
                self.graph.cast(x, to, site)
            }
            10 | 11 => {
                let (op, axes) = (self.choices.of(ReduceOp::ALL), self.axes(x));
                self.graph.reduce(op, x, axes.as_deref(), keepdims, site)
            }
            12 => {
                let axes = self.axes(x);
                let axes = axes.as_deref();
                match self.choices.below(5) {
                    0 => self.graph.var(x, axes, 1.0, keepdims, site),
                    1 => self.graph.softmax(x, axes, site),
                    2 => self.graph.logsumexp(x, axes, keepdims, site),
                    3 => self.graph.norm(Norm::Infinity, x, axes, keepdims, site),
                    _ => self.graph.count_nonzero(x, axes, keepdims, site),
                }
            }
            13 => {
                let sizes = [self.size(), self.size()];
                let count = self.choices.below(3);
                let mut dims: Vec<Option<Dim>> = sizes[..count].iter().cloned().map(Some).collect();
                if keepdims {
                    dims.push(None);
                }
                self.graph.reshape(x, &dims, site)
            }
            14 => {
                let mut axes: Vec<i64> = (0..self.graph.shape(x).rank() as i64).collect();
                axes.reverse();
                self.graph.permute_dims(x, &axes, site)
            }
            15 => {
                let axis = self.choices.below(self.graph.shape(x).rank() + 1) as i64;
                self.graph.expand_dims(x, &[axis], site)
            }
            16 => {
                let axes: Vec<i64> = self.graph.unit_axes(x).into_iter().map(|axis| axis as i64).collect();
                self.graph.squeeze(x, &axes, site)
            }
            17 => {
                let mut dims = self.graph.shape(x).to_vec();
                dims.insert(0, self.size());
                self.graph.broadcast_to(x, dims.into(), site)
            }
            18..=20 => {
                let shape = self.graph.shape(x);
                let count = self.choices.below(3) + 1;
                let specs: Vec<SliceSpec> = (0..count).map(|axis| self.spec(shape.get(axis))).collect();
                self.graph.slice(x, &specs, site)
            }
            21 => {
                let axis = self.axis(x);
                self.graph.take(x, y, axis, site)
            }
            22 => {
                let axis = self.axis(x);
                match keepdims {
                    true => self.graph.concat(&[x, x, y], axis, site),
                    false => self.graph.stack(&[x, x], axis, site),
                }
            }
            23 => {
                let op = self.choices.of(&[SegmentOp::Sum, SegmentOp::Min, SegmentOp::Max, SegmentOp::Mean]);
                let (segments, ids) = (self.size(), self.graph.cast(y, DType::I64, site));
                match keepdims {
                    true => self.graph.segment(op, x, ids, segments, site),
                    false => self.graph.segment_count(ids, segments, site),
                }
            }
            24 => {
                let size = self.size();
                match self.choices.below(3) {
                    0 => self.graph.iota(size, site),
                    1 => self.graph.linspace(0.5, 2.0, size, site),
                    _ => self.graph.size_value(size, site),
                }
            }
            25 if keepdims => {
                let indices = self.graph.cast(y, DType::I64, site);
                let value = self.graph.cast(z, dtype, site);
                self.graph.set_index(x, &[IndexItem::Positions(indices)], value, site)
            }
            25 | 26 => {
                let shape = self.graph.shape(x);
                let count = self.choices.below(3) + 1;
                let specs: Vec<SliceSpec> = (0..count).map(|axis| self.spec(shape.get(axis))).collect();
                let value = self.graph.cast(y, dtype, site);
                match keepdims {
                    true => self.graph.set(x, &specs, value, site),
                    false => self.graph.set_op(Op::Maximum, x, &specs, value, site),
                }
            }
            _ => {
                let mut dims: Vec<Option<Dim>> = self.graph.shape(x).iter().map(|_| None).collect();
                if let Some(dim) = dims.first_mut() {
                    *dim = Some(self.size());
                }
                self.graph.rebind(x, &dims, site)
            }
        }
    }
}

/// A graph, unless what was chosen has mistakes in the end.
fn build(numbers: &[u32]) -> Option<CheckedGraph> {
    let mut choices = Choices(numbers.iter());
    let mut graph = Graph::new();
    let symbols: Vec<SymbolId> = [
        ["n", "x"][choices.below(2)],
        ["m", "likely"][choices.below(2)],
        ["k", "nan", "np", "y"][choices.below(4)],
    ]
    .iter()
    .map(|name| graph.symbol(name, here()))
    .collect();
    let parameter = graph.parameter("p", here());
    match choices.below(6) {
        0 => graph.state_range(symbols[0], Some(4), Some(1000), here()),
        1 => graph.state_multiple(symbols[1], 4, here()),
        2 => {
            graph.state_multiple(symbols[0], 8, here());
            graph.state_range(symbols[0], Some(8), None, here());
            graph.state_likely(symbols[0], 64);
        }
        3 => {
            graph.state_range(symbols[2], Some(2), Some(10), here());
            let size = graph.symbol_size(symbols[0]).sub(&Dim::ONE).unwrap();
            graph.declare_equal(&Dim::symbol(symbols[2]), &size, here());
        }
        4 => {
            let [left, right] = [symbols[0], symbols[1]].map(|symbol| graph.symbol_size(symbol));
            graph.declare_equal(&left.scale(2).unwrap(), &right.scale(3).unwrap(), here());
        }
        _ => {}
    }
    let named = [0, 1, 2].map(|index| InputDim::Size(graph.symbol_size(symbols[index])));
    let three = InputDim::Size(Dim::constant(3));
    let shapes: [&[InputDim]; 7] = [
        std::slice::from_ref(&named[0]),
        &[named[1].clone()],
        &[named[2].clone()],
        &[named[0].clone(), three.clone()],
        &[InputDim::Inferred, three.clone()],
        &[InputDim::OneOr(Dim::symbol(symbols[0])), three],
        &[],
    ];
    let mut exprs = Vec::new();
    let odd = choices.below(2);
    for (index, dims) in shapes.iter().enumerate() {
        let dtype = choices.of(DType::ALL);
        // Names that need quotes, or that mean something else.
        let name = ["x", "y", "pi", "a b", "inf", "v1", ["f32", "n²"][odd]][index];
        exprs.push(graph.input_of(name, dtype, dims, here()));
    }
    graph.withdraw_diagnostics(0);
    let mut random =
        Random { graph, choices: &mut choices, exprs, symbols: [symbols.as_slice(), &[parameter]].concat() };
    // NaNs of which not only the sign is given.
    let nan = random.choices.of(&[
        Scalar::F32(f32::from_bits(0x7fc0_0001)),
        Scalar::F64(f64::from_bits(0xfff0_0000_0000_0001)),
        Scalar::from_bits(DType::Bf16, 0xffc3).unwrap(),
        Scalar::F32(-f32::NAN),
    ]);
    for value in
        [Scalar::F32(0.1), Scalar::U8(200), Scalar::F64(0.1).cast(DType::F16), Scalar::I64(i64::MIN), nan]
    {
        let constant = random.graph.constant(value, here());
        random.exprs.push(constant);
    }
    let count = 2 + random.choices.below(14);
    for _ in 0..count {
        let expr = random.op();
        random.graph.withdraw_diagnostics(0);
        if !random.graph.is_poisoned(expr) && random.graph.shape(expr).rank() <= 5 {
            random.exprs.push(expr);
        }
    }
    if random.choices.below(4) == 0 {
        let (target, value) = (random.exprs[0], *random.exprs.last()?);
        random.graph.assign(target, value, here());
        random.graph.withdraw_diagnostics(0);
    }
    let last = *random.exprs.last()?;
    let other = random.expr();
    random.graph.finish(&[("y 1", last), ("n", other)]).ok()
}

/// The kinds of nodes of a graph.
fn kinds(graph: &CheckedGraph) -> impl Iterator<Item = String> {
    graph.exprs().map(|expr| match graph.node(expr) {
        Node::View { view, .. } => view.name().to_owned(),
        node => format!("{node:?}").chars().take_while(|letter| letter.is_alphabetic()).collect(),
    })
}

/// What the language cannot say: a slice with a negative step that begins before the first element for all sizes, so
/// that it is empty. In Python's ranges -1 is the last element.
fn is_degenerate(graph: &CheckedGraph) -> bool {
    graph.exprs().any(|expr| match graph.node(expr) {
        Node::View { view: View::Slice(parts), .. } | Node::Set { region: parts, .. } => {
            parts.iter().any(|part| part.start.as_constant().is_some_and(|start| start < 0))
        }
        _ => false,
    })
}

#[test]
fn random_graphs() {
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    let met_ref = Mutex::new(&mut met);
    let mut config = ProptestConfig { cases: 6000, failure_persistence: None, ..ProptestConfig::default() };
    // The same in every run, unless the environment asks for others.
    if config.rng_seed == RngSeed::Random {
        config.rng_seed = RngSeed::Fixed(2026);
    }
    let numbers = prop::collection::vec(any::<u32>(), 20..220);
    let result = TestRunner::new(config).run(&numbers, |numbers| {
        if let Some(graph) = build(&numbers).filter(|graph| !is_degenerate(graph)) {
            let mut met = met_ref.lock().unwrap_or_else(PoisonError::into_inner);
            kinds(&graph).for_each(|kind| *met.entry(kind).or_default() += 1);
            assert_round_trip(&graph);
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    // Every kind of node but poison, and every kind of view.
    assert!(met.len() == 20 && met.values().all(|count| *count >= 20), "{met:#?}");
}

/// Programs as people write them, and what is printed of them.
#[test]
fn programs() {
    let nearest = "symbols n, k\nassume k >= 1\ninput obs: f32[n, 3]\ninput codes: f32[k, 3]\n\
                   let diff = codes[None, :, :] - obs[:, None, :]\n\
                   output code = argmin(sum(diff ** 2, axis=-1), axis=1)\n";
    insta::assert_snapshot!(assert_round_trip(&graph(nearest)));
    let all = "symbols n, m, q\nparameters p\nassume n % 8 == 0, n >= 16, n <= 4096, likely(n) == 64\n\
               assume q == m - 1, 2*m >= p, 3*m == 2*p\n\
               input x: f32[n, q]\ninput \"a b\": f16[#n, _]\ninput w: i32[2*m, p//2]\ninput z: f32[_]\n\
               output y = softmax(x * \"a b\", axis=-1)[::-2, 1:]\n\
               output z = z + 1; output u = segment_mean(x, arange(n), p)\nassign w = w[:, ::-1] // 3\n";
    insta::assert_snapshot!(assert_round_trip(&graph(all)));
}
