//! Compiled code with the interpreter, bit by bit: a graph, compiled in some ways, on the same arrays in some layouts. The
//! interpreter is asked once for all ways that fuse products with sums, and once for all others.

use super::bits::assert_bits;
use broadloom::prelude::*;
use broadloom::{CpuLevel, Inputs};
use broadloom_ir::dtype::Scalar;
use broadloom_ir::interp::{self, InterpretError, interpret};
use std::cell::LazyCell;
use std::fmt::Display;

/// Names of outputs, in order.
const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// The elements of an input in the order of their indices.
pub struct Input<T> {
    shape: Vec<usize>,
    elements: Vec<T>,
}

impl<T: Element> Input<T> {
    pub fn new(shape: &[usize], elements: Vec<T>) -> Input<T> {
        assert_eq!(shape.iter().product::<usize>(), elements.len());
        Input { shape: shape.to_vec(), elements }
    }

    /// Elements that are made of their number and a seed.
    pub fn of(shape: &[usize], elements: fn(usize, u32) -> Vec<T>, seed: u32) -> Input<T> {
        Input::new(shape, elements(shape.iter().product(), seed))
    }

    fn laid_out(&self, layout: &Layout) -> Memory<T> {
        let rank = self.shape.len();
        let order: Vec<usize> =
            if layout.order.is_empty() { (0..rank).collect() } else { layout.order.into() };
        let mut strides = vec![0; rank];
        let mut length = layout.apart;
        for (place, axis) in order.into_iter().rev().enumerate() {
            strides[axis] = length as isize;
            length = length * self.shape[axis] + if place == 0 { layout.gap } else { 0 };
        }
        let mut origin = layout.gap;
        if layout.backwards && self.shape[0] > 0 {
            origin += (self.shape[0] - 1) * strides[0] as usize;
            strides[0] = -strides[0];
        }
        // What lies between the elements would show in any result.
        let between = T::from_scalar(Scalar::F64(f64::NAN).cast(T::DTYPE)).unwrap();
        let mut elements = vec![between; length + layout.gap];
        for (at, value) in self.elements.iter().enumerate() {
            let mut place = origin as isize;
            let mut rest = at;
            for (size, stride) in self.shape.iter().zip(&strides).rev() {
                place += (rest % size) as isize * stride;
                rest /= size;
            }
            elements[place as usize] = *value;
        }
        Memory { elements, origin, strides }
    }
}

/// How an input lies in memory; by default dense.
#[derive(Clone, Copy)]
pub struct Layout {
    /// The axes from the outermost in memory to the innermost; in order if there are none.
    pub order: &'static [usize],
    /// The step along the innermost of them.
    pub apart: usize,
    /// The elements in front of the array, and behind each row of the innermost axis.
    pub gap: usize,
    /// Whether the first axis goes backwards.
    pub backwards: bool,
}

impl Layout {
    pub const DENSE: Layout = Layout { order: &[], apart: 1, gap: 0, backwards: false };
}

struct Memory<T> {
    elements: Vec<T>,
    origin: usize,
    strides: Vec<isize>,
}

impl<T: Element> Memory<T> {
    fn view(&self, shape: &[usize]) -> ArrayView<'_> {
        ArrayView::strided(&self.elements, self.origin, shape, &self.strides).unwrap()
    }
}

/// Kernels that compute the same, each with the way in which it is compiled.
pub struct Kernels(Vec<(CompileOptions, Executable)>);

impl Kernels {
    /// Compiles what is made of a new graph in each of some ways; outputs are named `a`, `b`, ..
    pub fn of(ways: &[CompileOptions], expression: impl Fn(&Graph) -> Vec<Tensor>) -> Kernels {
        Kernels::each_of(ways.iter().map(|way| (way, &expression)))
    }

    /// Compiles several graphs that compute the same, each in a way of its own.
    pub fn each_of<'a, E: Fn(&Graph) -> Vec<Tensor>>(
        graphs: impl IntoIterator<Item = (&'a CompileOptions, E)>,
    ) -> Kernels {
        let compile = |(way, expression): (&CompileOptions, E)| {
            let g = Graph::new();
            let outputs = expression(&g);
            assert!(outputs.len() <= NAMES.len(), "more outputs than names");
            (way.clone(), g.compile_with(NAMES.into_iter().zip(outputs), way).unwrap())
        };
        Kernels(graphs.into_iter().map(compile).collect())
    }

    pub fn each(&self) -> impl Iterator<Item = &(CompileOptions, Executable)> {
        self.0.iter()
    }

    /// Whether all have the bits of the interpreter on dense arrays, or an error where it has one.
    pub fn check<T: Element>(&self, what: impl Display, inputs: &[Input<T>]) {
        self.check_laid_out(what, inputs, &[Layout::DENSE]);
    }

    /// Whether all have the bits of the interpreter on arrays that all have each of some layouts.
    pub fn check_laid_out<T: Element>(&self, what: impl Display, inputs: &[Input<T>], layouts: &[Layout]) {
        let lists: Vec<Vec<Layout>> = layouts.iter().map(|layout| vec![*layout; inputs.len()]).collect();
        self.check_each_laid_out(what, inputs, &lists);
    }

    /// Whether all have the bits of the interpreter for each of some lists with a layout for each input.
    pub fn check_each_laid_out<T: Element>(
        &self,
        what: impl Display,
        inputs: &[Input<T>],
        layouts: &[Vec<Layout>],
    ) {
        let arrays: Vec<interp::Array> =
            inputs.iter().map(|input| interp::Array::new(&input.shape, &input.elements)).collect();
        let ask = |fused| -> Result<Vec<interp::Array>, InterpretError> {
            interpret(self.0[0].1.graph(), &arrays, fused)
        };
        let [unfused, fused] = [false, true].map(|fused| LazyCell::new(move || ask(fused)));
        for layouts in layouts {
            let each = inputs.iter().zip(layouts);
            let memories: Vec<Memory<T>> = each.map(|(input, layout)| input.laid_out(layout)).collect();
            for (way, kernel) in &self.0 {
                let is_fused = way.level.unwrap_or_else(CpuLevel::detect).is_fused();
                // By name: kernels have no place for inputs that nothing reads.
                let names = kernel.graph().inputs().iter().map(|input| &*input.name);
                let named = names
                    .zip(memories.iter().zip(inputs))
                    .fold(Inputs::new(), |named, (name, (memory, input))| {
                        named.named(name, memory.view(&input.shape))
                    });
                match (if is_fused { &*fused } else { &*unfused }, kernel.run(named)) {
                    (Ok(want), Ok(got)) => {
                        let shapes: Vec<&[usize]> = inputs.iter().map(|input| &*input.shape).collect();
                        assert_bits(kernel, got, want, format_args!("{what} of {shapes:?} {}", T::DTYPE));
                    }
                    // As an extreme of nothing is.
                    (Err(_), Err(_)) => {}
                    (want, got) => {
                        panic!("{what}: {:?} instead of {:?}", got.map(drop), want.as_ref().map(drop))
                    }
                }
            }
        }
    }
}

/// What is computed of `x[n, m, k]` and of `y`, which has the last of these axes.
pub type OfThree = fn(Tensor, Tensor) -> Vec<Tensor>;

/// Checks an expression on arrays of the shapes, of which `y` has the last `rank` sizes: dense, and with the first two axes
/// exchanged in memory and every other element skipped.
pub fn check_three<T: Element>(
    (name, expression): (&str, OfThree),
    rank: usize,
    shapes: impl IntoIterator<Item = [usize; 3]>,
    elements: fn(usize, u32) -> Vec<T>,
    ways: &[CompileOptions],
) {
    let kernels = Kernels::of(ways, |g| {
        let [n, m, k] = g.symbols(["n", "m", "k"]);
        let x = g.input::<T>("x", shape![n, m, k]);
        let y = g.input::<T>("y", if rank == 1 { shape![k] } else { shape![m, k] });
        expression(x, y)
    });
    const APART: Layout = Layout { order: &[1, 0, 2], apart: 2, ..Layout::DENSE };
    for shape in shapes {
        let inputs = [Input::of(&shape, elements, 3), Input::of(&shape[3 - rank..], elements, 4)];
        let layouts = [Layout::DENSE, APART].map(|layout| vec![layout, Layout::DENSE]);
        kernels.check_each_laid_out(name, &inputs, &layouts);
    }
}
