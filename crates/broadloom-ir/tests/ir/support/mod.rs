//! What the tests share: a parser of sizes in the notation of the case tables, and NumPy's rule on numbers.

#![allow(dead_code, reason = "each test file uses a part")]

use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, InputDim, Site};
use broadloom_ir::shape::Shape;
use std::iter::Peekable;
use std::str::Chars;

#[track_caller]
pub fn here() -> Site {
    Site::caller()
}

/// Parses `2*n`, `(n+1)//2`, `-(-n//2)` with Python's precedence; symbols are made in the graph.
pub fn dim(graph: &mut Graph, text: &str) -> Dim {
    let mut parser = Parser { graph, letters: text.chars().peekable() };
    let dim = parser.sum();
    assert_eq!(parser.letters.next(), None, "unread text in {text:?}");
    dim
}

/// Parses `n,3`; `()` is the shape of rank 0.
pub fn shape(graph: &mut Graph, text: &str) -> Shape {
    let text = text.trim_matches(['[', ']']);
    if text == "()" || text.is_empty() {
        return Shape::scalar();
    }
    text.split(',').map(|part| dim(graph, part.trim())).collect()
}

/// An input; `_a` is an inferred size, and `#n` one that may be 1.
pub fn input(graph: &mut Graph, name: &str, dims: &str) -> broadloom_ir::ExprId {
    let mut sizes = Vec::new();
    for part in dims.trim_matches(['[', ']']).split(',').filter(|part| !part.is_empty() && *part != "()") {
        sizes.push(match (part.starts_with('_'), part.strip_prefix('#')) {
            (true, _) => InputDim::Inferred,
            (false, Some(size)) => InputDim::OneOr(dim(graph, size)),
            (false, None) => InputDim::Size(dim(graph, part)),
        });
    }
    graph.input_of(name, DType::F32, &sizes, here())
}

struct Parser<'a> {
    graph: &'a mut Graph,
    letters: Peekable<Chars<'a>>,
}

impl Parser<'_> {
    fn eat(&mut self, letter: char) -> bool {
        self.letters.next_if_eq(&letter).is_some()
    }

    fn sum(&mut self) -> Dim {
        let mut sum = self.product();
        loop {
            if self.eat('+') {
                sum = sum.add(&self.product()).unwrap();
            } else if self.eat('-') {
                sum = sum.sub(&self.product()).unwrap();
            } else {
                return sum;
            }
        }
    }

    fn product(&mut self) -> Dim {
        let mut product = self.unary();
        loop {
            if self.eat('*') {
                product = product.mul(&self.unary()).unwrap();
            } else if self.eat('/') {
                assert!(self.eat('/'), "sizes are divided by `//`");
                product = product.floor_div(self.unary().as_constant().unwrap()).unwrap();
            } else {
                return product;
            }
        }
    }

    fn unary(&mut self) -> Dim {
        if self.eat('-') {
            return self.unary().neg().unwrap();
        }
        if self.eat('(') {
            let inner = self.sum();
            assert!(self.eat(')'));
            return inner;
        }
        let mut word = String::new();
        while let Some(letter) = self.letters.next_if(|letter| letter.is_alphanumeric() || *letter == '_') {
            word.push(letter);
        }
        match word.parse::<i64>() {
            Ok(value) => Dim::constant(value),
            Err(_) => {
                let symbol = self.graph.symbol(&word, here());
                self.graph.symbol_size(symbol)
            }
        }
    }
}

/// The text of a shape with the names of a graph.
pub fn text(graph: &Graph, shape: &[Dim]) -> String {
    let name = |symbol: SymbolId| graph.symbols()[symbol.index()].named();
    let dims: Vec<String> = shape.iter().map(|dim| dim.display(&name).to_string()).collect();
    if dims.is_empty() { "()".to_owned() } else { dims.join(",") }
}

/// NumPy's broadcasting of two shapes of numbers.
pub fn numpy_broadcast(a: &[i64], b: &[i64]) -> Option<Vec<i64>> {
    let rank = a.len().max(b.len());
    (0..rank)
        .map(|axis| {
            let size = |dims: &[i64]| (axis + dims.len()).checked_sub(rank).map_or(1, |own| dims[own]);
            match (size(a), size(b)) {
                (p, q) if p == q => Some(p),
                (1, q) => Some(q),
                (p, 1) => Some(p),
                _ => None,
            }
        })
        .collect()
}

/// Calls `check` with values 0..=6 of each of `count` symbols (at most three).
pub fn for_all_values(count: usize, mut check: impl FnMut(&dyn Fn(SymbolId) -> Option<i64>)) {
    for index in 0..7_i64.pow(count.try_into().unwrap()) {
        check(&|symbol| Some(index / 7_i64.pow(symbol.index().try_into().unwrap()) % 7));
    }
}

/// The sizes for values of the symbols; `None` if one is negative.
pub fn concrete(dims: &[Dim], value_of: &dyn Fn(SymbolId) -> Option<i64>) -> Option<Vec<i64>> {
    dims.iter().map(|dim| dim.evaluate(value_of).ok().filter(|size| *size >= 0)).collect()
}
