//! Elements of inputs, and the ways in which arrays lie in memory.

use broadloom::{ArrayView, ArrayViewMut, CheckedGraph, DType, LayoutError, Op, Scalar};
use broadloom_ir::graph::Node;
use broadloom_ir::interp::Array;
use broadloom_ir::{ExprId, for_each_dtype};

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64, stream: u64) -> Random {
        Random(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95))
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, count: usize) -> usize {
        (self.bits() >> 33) as usize % count.max(1)
    }
}

/// Which elements an input takes.
#[derive(Debug, Clone, Copy)]
enum Flavour {
    /// Between -4 and 4.
    Ordinary,
    /// Small whole numbers and zeros of both signs, so that there are ties.
    Whole,
    /// Mostly ordinary ones, and now and then a special one.
    Spiced,
    /// Every fourth is special.
    Special,
    /// Of any magnitude.
    Wide,
}

const FLOATS: [f64; 24] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    0.0,
    -0.0,
    5e-324,
    -1e-310,
    1e-45,
    -1e-40,
    f64::MIN_POSITIVE,
    f32::MIN_POSITIVE as f64,
    f64::MAX,
    f32::MAX as f64,
    -1.0,
    1.0,
    0.5,
    2.5,
    -1.5,
    1e30,
    -1e9,
    88.8,
    -103.9,
    710.0,
    2147483648.0,
];

fn float(flavour: Flavour, random: &mut Random) -> f64 {
    match flavour {
        Flavour::Ordinary => (random.bits() >> 11) as f64 / (1u64 << 50) as f64 - 4.0,
        Flavour::Whole => [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 0.5][random.below(8)],
        Flavour::Spiced if random.below(300) != 0 => float(Flavour::Ordinary, random),
        Flavour::Special if random.below(4) != 0 => float(Flavour::Whole, random),
        Flavour::Spiced | Flavour::Special => FLOATS[random.below(FLOATS.len())],
        Flavour::Wide => {
            let exponent = random.below(2 * 140) as i32 - 140;
            float(Flavour::Ordinary, random) * 2f64.powi(exponent)
        }
    }
}

fn element(dtype: DType, flavour: Flavour, random: &mut Random) -> Scalar {
    let integers = [0, 1, -1, 2, i64::MAX, i64::MIN, i32::MIN.into(), i32::MAX.into(), 255, 128];
    match (dtype, flavour) {
        _ if dtype.is_float() => Scalar::F64(float(flavour, random)).cast(dtype),
        (_, Flavour::Ordinary | Flavour::Whole) => Scalar::I64(random.below(9) as i64 - 4).cast(dtype),
        (DType::I32, Flavour::Special) => Scalar::I32([0, 1, -1, i32::MIN, i32::MAX, 7][random.below(6)]),
        (_, Flavour::Spiced | Flavour::Special) => Scalar::I64(integers[random.below(10)]).cast(dtype),
        (_, Flavour::Wide) => Scalar::I64(random.bits().cast_signed()).cast(dtype),
    }
}

/// What the elements of an input may be that are used as indices.
#[derive(Debug, Clone, Copy)]
pub struct Bound {
    /// Below this.
    size: usize,
    /// Not negative: the number of a segment.
    segment: bool,
}

/// Bounds on the elements of inputs that are used as indices: the sizes of the axes that they index.
pub fn index_bounds(graph: &CheckedGraph, size: &dyn Fn(ExprId, usize) -> usize) -> Vec<Option<Bound>> {
    let mut bounds: Vec<Option<Bound>> = vec![None; graph.inputs().len()];
    for expr in graph.exprs() {
        let (mut source, bound) = match graph.node(expr) {
            Node::Take { table, indices, axis } => {
                (*indices, Bound { size: size(*table, *axis), segment: false })
            }
            Node::Scatter { base, indices, .. } => (*indices, Bound { size: size(*base, 0), segment: false }),
            Node::Segment { ids, .. } => (*ids, Bound { size: size(expr, 1), segment: true }),
            _ => continue,
        };
        while let Some(operand) = passed_through(graph, source) {
            source = operand;
        }
        if let Node::Input(input) = graph.node(source) {
            let least = &mut bounds[input.index()];
            *least = Some(least.map_or(bound, |least| Bound {
                size: least.size.min(bound.size),
                segment: least.segment || bound.segment,
            }));
        }
    }
    bounds
}

/// The operand of which an expression has the same elements, or those that are no index reduced.
fn passed_through(graph: &CheckedGraph, expr: ExprId) -> Option<ExprId> {
    match graph.node(expr) {
        Node::Cast(operand) | Node::View { operand, .. } => Some(*operand),
        // An index of u64, limited to those of i64.
        Node::Elementwise { op: Op::Minimum, operands } => operands.first().copied(),
        _ => None,
    }
}

/// The greatest value of an integer dtype, as far as indices go.
fn greatest(dtype: DType) -> usize {
    match Scalar::F64(1e9).cast(dtype).cast(DType::I64) {
        Scalar::I64(greatest) => greatest as usize,
        _ => 0,
    }
}

/// The elements of an input, and its axes along which they are all the same.
pub fn random_array(
    dtype: DType,
    shape: &[usize],
    bound: Option<Bound>,
    random: &mut Random,
) -> (Array, Vec<bool>) {
    let flavours = [
        Flavour::Ordinary,
        Flavour::Spiced,
        Flavour::Whole,
        Flavour::Special,
        Flavour::Ordinary,
        Flavour::Wide,
    ];
    let flavour = flavours[random.below(flavours.len())];
    let still: Vec<bool> = shape.iter().map(|_| random.below(6) == 0).collect();
    let count: usize = shape.iter().product();
    let mut elements: Vec<Scalar> = Vec::with_capacity(count);
    let strides = row_major(shape);
    for position in 0..count {
        let repeated: usize = (0..shape.len())
            .filter(|axis| still[*axis])
            .map(|axis| position / strides[axis] % shape[axis] * strides[axis])
            .sum();
        elements.push(match bound {
            _ if repeated > 0 => elements[position - repeated],
            Some(Bound { size, segment }) if segment || !dtype.is_signed_integer() => {
                Scalar::I64(random.below(size.min(greatest(dtype) + 1)) as i64).cast(dtype)
            }
            Some(Bound { size, .. }) => {
                let size = size.min(greatest(dtype));
                Scalar::I64(random.below(2 * size) as i64 - size as i64).cast(dtype)
            }
            None => element(dtype, flavour, random),
        });
    }
    (Array { dtype, shape: shape.to_vec(), elements }, still)
}

fn row_major(shape: &[usize]) -> Vec<usize> {
    (0..shape.len()).map(|axis| shape[axis + 1..].iter().product()).collect()
}

/// How an array lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lay {
    /// Row-major.
    Dense,
    /// Column-major.
    Transposed,
    /// Row-major with all axes backwards.
    Backwards,
    /// Rows with space between them.
    Padded,
    /// Every third element.
    Sparse,
    /// Row-major, axes along which all elements are the same not moving at all. For inputs only.
    Stretched,
}

impl Lay {
    /// For inputs.
    pub const ALL: [Lay; 6] =
        [Lay::Dense, Lay::Transposed, Lay::Backwards, Lay::Padded, Lay::Sparse, Lay::Stretched];
    /// For outputs.
    pub const DISTINCT: [Lay; 5] = [Lay::Dense, Lay::Transposed, Lay::Backwards, Lay::Padded, Lay::Sparse];

    /// Strides in elements, the place of the first element, and the length of the memory.
    fn place(self, shape: &[usize], still: &[bool]) -> (Vec<isize>, usize, usize) {
        let order: Vec<usize> = match self {
            Lay::Transposed => (0..shape.len()).collect(),
            _ => (0..shape.len()).rev().collect(),
        };
        let mut strides = vec![0isize; shape.len()];
        let mut next = if self == Lay::Sparse { 3 } else { 1 };
        for (inner, axis) in order.into_iter().enumerate() {
            if self == Lay::Stretched && still[axis] {
                continue;
            }
            strides[axis] = next;
            next *= shape[axis].max(1) as isize;
            next += if self == Lay::Padded && inner == 0 { 2 } else { 0 };
        }
        let reach = |stride: isize, size: usize| stride * (size.max(1) as isize - 1);
        let last: isize = shape.iter().zip(&strides).map(|(size, stride)| reach(*stride, *size)).sum();
        // Something before and after, which must not be touched.
        let (start, length) =
            if self == Lay::Dense { (0, last as usize + 1) } else { (1, last as usize + 3) };
        if self == Lay::Backwards {
            return (strides.iter().map(|stride| -stride).collect(), start + last as usize, length);
        }
        (strides, start, length)
    }
}

macro_rules! define_memory {
    ($($variant:ident, $rust:ty, $name:literal, $class:ident, $size:literal;)*) => {
        #[derive(Debug, Clone)]
        enum Elements {
            $($variant(Vec<$rust>),)*
        }

        impl Elements {
            fn filled(dtype: DType, length: usize) -> Elements {
                match dtype {
                    $(DType::$variant => {
                        let Scalar::$variant(value) = Scalar::I64(77).cast(dtype) else { unreachable!() };
                        Elements::$variant(vec![value; length])
                    })*
                }
            }

            fn set(&mut self, position: usize, value: Scalar) {
                match (self, value) {
                    $((Elements::$variant(elements), Scalar::$variant(value)) => elements[position] = value,)*
                    (elements, value) => panic!("{value:?} among {elements:?}"),
                }
            }

            fn get(&self, position: usize) -> Scalar {
                match self { $(Elements::$variant(elements) => Scalar::$variant(elements[position]),)* }
            }

            fn len(&self) -> usize {
                match self { $(Elements::$variant(elements) => elements.len(),)* }
            }
        }

        impl Memory {
            pub fn view(&self) -> Result<ArrayView<'_>, LayoutError> {
                match &self.elements {
                    $(Elements::$variant(elements) => {
                        ArrayView::strided(elements, self.start, &self.shape, &self.strides)
                    })*
                }
            }

            pub fn view_mut(&mut self) -> Result<ArrayViewMut<'_>, LayoutError> {
                match &mut self.elements {
                    $(Elements::$variant(elements) => {
                        ArrayViewMut::strided(elements, self.start, &self.shape, &self.strides)
                    })*
                }
            }
        }

        /// The elements of a result.
        pub fn read(array: &broadloom::AnyArray) -> Vec<Scalar> {
            match array.dtype() {
                $(DType::$variant => {
                    let elements = array.as_slice::<$rust>().expect("the dtype is that of the array");
                    elements.iter().map(|element| Scalar::$variant(*element)).collect()
                })*
            }
        }
    };
}
for_each_dtype!(define_memory);

/// An array in memory.
#[derive(Debug, Clone)]
pub struct Memory {
    elements: Elements,
    pub shape: Vec<usize>,
    strides: Vec<isize>,
    start: usize,
}

impl Memory {
    /// An array without meaningful elements yet.
    pub fn empty(dtype: DType, shape: &[usize], lay: Lay) -> Memory {
        Memory::new(dtype, shape, lay, &[])
    }

    fn new(dtype: DType, shape: &[usize], lay: Lay, still: &[bool]) -> Memory {
        let (strides, start, length) = lay.place(shape, still);
        Memory { elements: Elements::filled(dtype, length), shape: shape.to_vec(), strides, start }
    }

    /// An array with the elements of another; `still` are its axes along which they are all the same.
    pub fn holding(array: &Array, still: &[bool], lay: Lay) -> Memory {
        let mut memory = Memory::new(array.dtype, &array.shape, lay, still);
        for (position, element) in memory.positions().into_iter().zip(&array.elements) {
            memory.elements.set(position, *element);
        }
        memory
    }

    /// Where the elements are, in row-major order of their indices.
    fn positions(&self) -> Vec<usize> {
        let dense = row_major(&self.shape);
        let count: usize = self.shape.iter().product();
        let position = |element: usize| -> usize {
            let moved = (0..dense.len())
                .map(|axis| (element / dense[axis] % self.shape[axis]) as isize * self.strides[axis]);
            (self.start as isize + moved.sum::<isize>()) as usize
        };
        (0..count).map(position).collect()
    }

    /// The elements in row-major order, if nothing beside them was written.
    pub fn elements(&self, dtype: DType) -> Option<Vec<Scalar>> {
        let positions = self.positions();
        let mut beside = vec![true; self.elements.len()];
        positions.iter().for_each(|position| beside[*position] = false);
        let untouched = Scalar::I64(77).cast(dtype);
        let intact = (0..beside.len())
            .all(|position| !beside[position] || self.elements.get(position).same(untouched));
        intact.then(|| positions.iter().map(|position| self.elements.get(*position)).collect())
    }
}
