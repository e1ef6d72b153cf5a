//! From recipes to expressions. Every recipe gives a graph without mistakes: a choice that does not fit is replaced
//! by one that does.

use crate::idioms;
use crate::recipe::{Draw, Kind, Recipe, Step};
use broadloom::{
    DType, Dim, Graph, NewSize, Op, Operand, Shape, SliceItem, Symbol, Tensor, concat, select, stack,
};
use broadloom_ir::for_each_op;
use broadloom_ir::reduce::ReduceOp;

/// Axes of a generated tensor, at most.
const MAX_RANK: usize = 4;
/// Tensors of generated graphs, at most.
const MAX_TENSORS: usize = 40;

/// A graph and its outputs.
pub struct Built {
    pub graph: Graph,
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<(String, Tensor)>,
}

impl Built {
    pub fn named_outputs(&self) -> Vec<(&str, Tensor)> {
        self.outputs.iter().map(|(name, tensor)| (name.as_str(), *tensor)).collect()
    }
}

/// The graph of a recipe.
pub fn build(recipe: &Recipe) -> Built {
    let mut builder = Builder::new();
    for step in &recipe.steps {
        builder.step(step);
    }
    let last = builder.tensors.last().copied();
    let others = recipe.outputs.iter().map(|choice| Draw(*choice).of(&builder.tensors));
    let outputs = last.into_iter().chain(others).collect();
    builder.finish(outputs)
}

/// A graph that grows.
pub struct Builder {
    pub graph: Graph,
    pub symbols: [Symbol; 3],
    tensors: Vec<Tensor>,
    inputs: Vec<Tensor>,
}

/// `op` by the method of its row.
macro_rules! apply_ops {
    ($($(#[doc = $doc:literal])+ $name:ident = $variant:ident $operands:tt: $domain:ident -> $rule:ident
        { $($class:ident: $meaning:expr),* } $(tile $tile:ident)?
        by |$result:pat_param| $derivatives:tt)*) => {
        pub fn apply(op: Op, args: &[Tensor]) -> Tensor {
            match op { $(Op::$variant => apply_ops!(@call $name $operands args),)* }
        }
    };
    (@call $name:ident ($x:ident) $args:ident) => { $args[0].$name() };
    (@call $name:ident ($x:ident, $y:ident) $args:ident) => { $args[0].$name($args[1]) };
    (@call $name:ident ($x:ident, $y:ident, $z:ident) $args:ident) => { $args[0].$name($args[1], $args[2]) };
}
for_each_op!(apply_ops);

/// A reduction by its method.
pub fn reduce(op: ReduceOp, x: Tensor, axes: Vec<i64>, keepdims: bool) -> Tensor {
    let method: fn(Tensor, Vec<i64>) -> Tensor = match (op, keepdims) {
        (ReduceOp::Sum, false) => Tensor::sum,
        (ReduceOp::Sum, true) => Tensor::sum_keepdims,
        (ReduceOp::Prod, false) => Tensor::prod,
        (ReduceOp::Prod, true) => Tensor::prod_keepdims,
        (ReduceOp::Min, false) => Tensor::min,
        (ReduceOp::Min, true) => Tensor::min_keepdims,
        (ReduceOp::Max, false) => Tensor::max,
        (ReduceOp::Max, true) => Tensor::max_keepdims,
        (ReduceOp::Mean, false) => Tensor::mean,
        (ReduceOp::Mean, true) => Tensor::mean_keepdims,
        (ReduceOp::ArgMin, false) => Tensor::argmin,
        (ReduceOp::ArgMin, true) => Tensor::argmin_keepdims,
        (ReduceOp::ArgMax, false) => Tensor::argmax,
        (ReduceOp::ArgMax, true) => Tensor::argmax_keepdims,
        (ReduceOp::Any, false) => Tensor::any,
        (ReduceOp::Any, true) => Tensor::any_keepdims,
        (ReduceOp::All, false) => Tensor::all,
        (ReduceOp::All, true) => Tensor::all_keepdims,
    };
    method(x, axes)
}

fn dtype_of(x: Tensor) -> DType {
    x.dtype().expect("a recipe makes no mistakes")
}

/// Whether the data of a run decide a size.
pub fn is_decided(dim: Dim) -> bool {
    dim.to_string().contains('@')
}

fn is(dim: Dim, constant: i64) -> bool {
    dim.as_constant() == Some(constant)
}

/// Running results along an axis.
pub fn running(x: Tensor, axis: usize, draw: &mut Draw) -> Tensor {
    match draw.next(6) {
        0 | 1 => x.cumsum(axis),
        2 => x.cumprod(axis),
        3 => x.cummin(axis),
        4 => x.cummax(axis),
        _ => x.cumsum_from_zero(axis),
    }
}

/// Whether two tensors broadcast.
fn broadcast(x: Tensor, y: Tensor) -> bool {
    let (x, y) = (x.shape(), y.shape());
    x.iter().rev().zip(y.iter().rev()).all(|(x, y)| x == y || is(*x, 1) || is(*y, 1))
}

impl Builder {
    /// A graph without tensors.
    pub fn new() -> Builder {
        let graph = Graph::new();
        let symbols = graph.symbols(["n", "m", "k"]);
        Builder { graph, symbols, tensors: Vec::new(), inputs: Vec::new() }
    }

    /// The graph with these outputs.
    pub fn finish(self, outputs: Vec<Tensor>) -> Built {
        let Builder { graph, inputs, .. } = self;
        graph.check().expect("a recipe makes no mistakes");
        let named = outputs.into_iter().enumerate().map(|(index, output)| (format!("out{index}"), output));
        Built { graph, inputs, outputs: named.collect() }
    }

    /// The number of tensors that further steps use, for [`Builder::truncate`].
    pub fn count(&self) -> usize {
        self.tensors.len()
    }

    /// Drops all but the first tensors.
    pub fn truncate(&mut self, count: usize) {
        self.tensors.truncate(count);
    }

    /// Adds what a step makes.
    pub fn step(&mut self, step: &Step) {
        let draw = &mut Draw(step.choices);
        if self.tensors.len() >= MAX_TENSORS {
            return;
        }
        let made = match step.kind {
            Kind::Input => self.random_input(draw),
            Kind::Unary => self.unary(draw),
            Kind::Binary => self.binary(draw),
            Kind::Literal => self.literal(draw),
            Kind::Ternary => self.ternary(draw),
            Kind::Cast => {
                let x = self.pick(draw);
                x.cast_to(draw.of(DType::ALL))
            }
            Kind::Reduce => self.reduction(draw),
            Kind::Permute => self.permuted(draw),
            Kind::Slice => self.sliced(draw),
            Kind::Change => self.changed(draw),
            Kind::Reshape => self.reshaped(draw),
            // No kind of its own, for which there would be fewer of the others: some forms of loops are rare.
            Kind::Axes if draw.next(2) == 0 => self.ordered(draw),
            Kind::Axes => self.other_axes(draw),
            Kind::Iota => {
                let dim = self.known_dim(draw);
                self.graph.iota(dim)
            }
            Kind::Take => self.taken(draw),
            Kind::Join => self.joined(draw),
            Kind::Segment => self.segmented(draw),
            Kind::Size => self.size(draw),
            Kind::Idiom => idioms::idiom(self, draw),
        };
        assert!(!made.is_poisoned(), "{:?}: {:?}", step.kind, self.graph.check());
        self.keep(made);
    }

    /// Adds a tensor to those that further steps use.
    pub fn keep(&mut self, tensor: Tensor) {
        self.tensors.push(tensor);
    }

    /// A new input; along axes whose sizes the data decide, its only element stretches.
    pub fn input(&mut self, dtype: DType, shape: impl Into<Shape>) -> Tensor {
        let shape: Shape = shape.into();
        let known = shape.iter().map(|dim| if is_decided(*dim) { Dim::from(1) } else { *dim });
        let known: Vec<Dim> = known.collect();
        let input = self.graph.input_dyn(&format!("x{}", self.inputs.len() + 1), dtype, known);
        self.inputs.push(input);
        if shape.iter().any(|dim| is_decided(*dim)) { input.broadcast_to(shape) } else { input }
    }

    /// A dtype; floats are more frequent.
    pub fn dtype(&self, draw: &mut Draw) -> DType {
        use DType::*;
        draw.of(&[F32, F64, F32, I32, F32, I64, U8, F64, Bool, F16, I8, U64, F32, I16, Bf16, U32, U16, F64])
    }

    fn random_input(&mut self, draw: &mut Draw) -> Tensor {
        let dtype = self.dtype(draw);
        let rank = draw.of(&[2, 1, 2, 3, 2, 0, 1]);
        let shape: Vec<Dim> = (0..rank).map(|_| self.dim(draw)).collect();
        self.input(dtype, shape)
    }

    /// A size for an axis of an input.
    fn dim(&self, draw: &mut Draw) -> Dim {
        let [n, m, k] = self.symbols.map(Dim::from);
        let constant = |size: i64| Dim::from(size);
        match draw.next(16) {
            0..=3 => n,
            4..=7 => m,
            8 | 9 => k,
            10 => draw.of(&[2 * n, n + 1]),
            11 => constant(draw.of(&[1, 1, 1, 0])),
            _ => constant(draw.of(&[3, 2, 5, 8, 17, 8])),
        }
    }

    /// A size that the inputs determine.
    fn known_dim(&mut self, draw: &mut Draw) -> Dim {
        let x = self.pick(draw);
        let shape = x.shape();
        if shape.is_empty() { Dim::from(5) } else { draw.of(&shape) }
    }

    /// One of the tensors, rather a late one; an input if there is none.
    pub fn pick(&mut self, draw: &mut Draw) -> Tensor {
        if self.tensors.is_empty() {
            let input = self.random_input(draw);
            self.keep(input);
        }
        let reach = if draw.next(3) == 0 { self.tensors.len() } else { self.tensors.len().min(3) };
        self.tensors[self.tensors.len() - 1 - draw.next(reach)]
    }

    /// One of the tensors that broadcasts with `x`, or a new one that does.
    pub fn partner(&mut self, x: Tensor, draw: &mut Draw) -> Tensor {
        for _ in 0..2 {
            let y = self.pick(draw);
            if broadcast(x, y) {
                return y;
            }
        }
        let shape = x.shape();
        match draw.next(6) {
            0 => x,
            1 if shape.rank() > 0 && shape.iter().all(|dim| dim.as_constant() != Some(0)) => {
                let axis = draw.next(shape.rank()) as i64;
                reduce(draw.of(&[ReduceOp::Mean, ReduceOp::Max, ReduceOp::Sum]), x, vec![axis], true)
            }
            2 if shape.rank() > 0 && shape.rank() < MAX_RANK => {
                // An outer product: all axes of `x` against a new one.
                let size = self.dim(draw);
                let dtype = self.dtype(draw);
                let mut line: Vec<Dim> = vec![size];
                line.extend(shape.iter().map(|_| Dim::from(1)));
                self.input(dtype, line)
            }
            _ => {
                let dropped = draw.next(shape.rank() + 1);
                let decided = shape.iter().any(|dim| is_decided(*dim));
                let line = shape[if draw.next(2) == 0 { 0 } else { dropped }..].iter().map(|dim| {
                    match draw.next(10) {
                        0..=2 => Dim::from(1),
                        // The use with `x` says which size it is.
                        3 if !is(*dim, 1) && !decided => Dim::INFERRED,
                        4 if !decided => dim.or_one(),
                        _ => *dim,
                    }
                });
                let line: Vec<Dim> = line.collect();
                let dtype = self.dtype(draw);
                self.input(dtype, line)
            }
        }
    }

    /// An op of some arity that accepts the operands; the first one that does, from a random place in the table.
    fn op(&self, args: &[Tensor], draw: &mut Draw) -> Option<Op> {
        let dtypes: Vec<DType> = args.iter().map(|arg| dtype_of(*arg)).collect();
        let fits = |op: &&Op| op.arity() == args.len() && op.operand_dtype(&dtypes).is_some();
        let fitting: Vec<Op> = Op::ALL.iter().filter(fits).copied().collect();
        (!fitting.is_empty()).then(|| draw.of(&fitting))
    }

    fn unary(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        self.op(&[x], draw).map_or(x, |op| apply(op, &[x]))
    }

    fn binary(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        let y = self.partner(x, draw);
        let [x, y] = if draw.next(2) == 0 { [x, y] } else { [y, x] };
        match self.op(&[x, y], draw) {
            Some(Op::Pow) => {
                let integers =
                    Op::Pow.operand_dtype(&[dtype_of(x), dtype_of(y)]).is_some_and(|t| !t.is_float());
                // An integer exponent must not be negative.
                apply(Op::Pow, &[x, if integers { y.cast_to(DType::U8) } else { y }])
            }
            Some(op) => apply(op, &[x, y]),
            None => x,
        }
    }

    fn literal(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        let dtype = dtype_of(x);
        let value = match dtype {
            DType::Bool => Operand::from(true),
            _ if dtype.is_float() => {
                Operand::from(draw.of(&[2.0, 0.5, -1.0, 3.0, 0.0, -0.0, 1e-3, 1.0, -2.5]))
            }
            _ => Operand::from(draw.of(&[2, 1, 3, 0, 7, 100])),
        };
        let ops =
            [Op::Add, Op::Multiply, Op::Pow, Op::Maximum, Op::Less, Op::Subtract, Op::Divide, Op::Minimum];
        let op = draw.of(&ops);
        match op {
            _ if op.operand_dtype(&[dtype]).is_none() => x,
            Op::Multiply => x * value,
            Op::Pow => x.pow(value),
            Op::Maximum => x.maximum(value),
            Op::Less => x.less(value),
            Op::Subtract => value - x,
            Op::Divide => value / x,
            Op::Minimum => x.minimum(value),
            _ => x + value,
        }
    }

    fn ternary(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        let y = self.partner(x, draw);
        let z = self.partner(x, draw);
        if !broadcast(y, z) || !broadcast(x + y, z) {
            return x;
        }
        if draw.next(2) == 0 {
            return x.fma(y, z);
        }
        let condition = if draw.next(2) == 0 { x.less(y) } else { x.cast_to(DType::Bool) };
        select(condition, y, z)
    }

    fn reduction(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        let shape = x.shape();
        if !shape.is_empty() && draw.next(8) == 0 {
            return running(x, draw.next(shape.rank()), draw);
        }
        let op = draw.of(ReduceOp::ALL);
        let mask = if shape.is_empty() { 0 } else { 1 + draw.next((1 << shape.rank()) - 1) };
        let axes: Vec<i64> =
            (0..shape.rank()).filter(|axis| mask >> axis & 1 == 1).map(|axis| axis as i64).collect();
        let empty = axes.iter().any(|axis| is(shape[*axis as usize], 0));
        let op = if empty && op.needs_elements() { ReduceOp::Sum } else { op };
        reduce(op, x, axes, draw.next(3) == 0)
    }

    fn permuted(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        let mut left: Vec<i64> = (0..x.rank() as i64).collect();
        let axes: Vec<i64> =
            (0..x.rank()).map(|_| left.remove(left.len() - 1 - draw.next(left.len()))).collect();
        x.permute_dims(axes)
    }

    /// Another symbol in place of one: equal now and then.
    fn rebound(&mut self, x: Tensor, draw: &mut Draw) -> Tensor {
        let mut shape: Vec<Dim> = x.shape().to_vec();
        let axis = draw.next(shape.len());
        let other = self.known_dim(draw);
        if shape[axis].as_symbol().is_some() && other.as_symbol().is_some() {
            shape[axis] = other;
        }
        x.rebind(shape)
    }

    fn sliced(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        if let (1.., 0) = (x.rank(), draw.next(12)) {
            return self.rebound(x, draw);
        }
        let items: Vec<SliceItem> = x.shape().iter().map(|dim| slice_item(*dim, draw)).collect();
        match (x.rank(), draw.next(8)) {
            (1..MAX_RANK, 0) => {
                let mut items = items;
                items.insert(draw.next(x.rank()), SliceItem::NEW_AXIS);
                x.slice(items)
            }
            (1.., 1) => x.flip(draw.next(x.rank())),
            _ => x.slice(items),
        }
    }

    /// Other rows at positions, some of which may be equal.
    fn rows_changed(&mut self, x: Tensor, draw: &mut Draw) -> Tensor {
        let row = &x.shape()[1..];
        let axes = draw.next(3).min(MAX_RANK - row.len());
        let mut shape: Vec<Dim> = (0..axes).map(|_| self.dim(draw)).collect();
        let dtype = draw.of(&[DType::I64, DType::U8, DType::I32, DType::U64]);
        let indices = self.input(dtype, shape.clone());
        shape.extend_from_slice(row);
        let value = self.like(x, &shape.into(), draw).cast_to(dtype_of(x));
        x.at(indices).set(value)
    }

    /// Other elements in a region, at positions, or where a mask holds.
    fn changed(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        let kind = draw.next(6);
        if kind == 1 && x.rank() > 0 {
            return self.rows_changed(x, draw);
        }
        if kind == 0 && x.rank() > 0 {
            let axes = draw.next(x.rank() + 1);
            let mask = self.like(x, &x.shape()[..axes].to_vec().into(), draw).cast_to(DType::Bool);
            let value = self.like(x, &x.shape()[axes..].to_vec().into(), draw).cast_to(dtype_of(x));
            return x.at(mask).set(value);
        }
        let items: Vec<SliceItem> = x.shape().iter().map(|dim| slice_item(*dim, draw)).collect();
        let region = x.slice(&items);
        let at = x.at(items.clone());
        match draw.next(4) {
            // The region is read where it is written.
            0 if dtype_of(x) != DType::Bool => at.add(region),
            1 => at.set(region),
            _ => {
                let value = self.like(x, &region.shape(), draw).cast_to(dtype_of(x));
                // Two changes in turn, of regions that may overlap.
                let changed = at.set(value);
                let others: Vec<SliceItem> = x.shape().iter().map(|dim| slice_item(*dim, draw)).collect();
                if draw.next(2) == 0 { changed } else { changed.at(others.clone()).set(x.slice(&others)) }
            }
        }
    }

    fn reshaped(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        let shape = x.shape();
        let mut sizes: Vec<NewSize> = shape.iter().map(|dim| NewSize::from(*dim)).collect();
        let even =
            shape.iter().position(|dim| dim.as_constant().is_some_and(|size| size > 0 && size % 2 == 0));
        match (draw.next(4), even) {
            (0, _) if shape.rank() > 1 => {
                let axis = draw.next(shape.rank() - 1);
                sizes.splice(axis..axis + 2, [NewSize::from(shape[axis] * shape[axis + 1])]);
            }
            (1, Some(axis)) if shape.rank() < MAX_RANK => {
                sizes.splice(axis..=axis, [NewSize::from(2), NewSize::from(shape[axis] / 2)]);
            }
            (2, _) => sizes.reverse(),
            (3, _) if shape.rank() > 0 && draw.next(2) == 0 => {
                return x.repeat(draw.of(&[2, 0, 3]), draw.next(shape.rank()));
            }
            _ => sizes = vec![NewSize::from(shape.iter().fold(Dim::from(1), |count, dim| count * *dim))],
        }
        x.reshape(&sizes[..])
    }

    /// New axes, fewer axes, or longer ones.
    fn other_axes(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        let shape = x.shape();
        match draw.next(4) {
            0 if shape.rank() < MAX_RANK => x.unsqueeze(draw.next(shape.rank() + 1)),
            1 => x.squeeze(..),
            2 if shape.rank() + 1 < MAX_RANK => x.expand_dims([0, -1]),
            _ => {
                let longer = self.known_dim(draw);
                let size = |dim: &Dim| if is(*dim, 1) { longer } else { *dim };
                let mut sizes: Vec<Dim> = shape.iter().map(size).collect();
                if sizes.len() < MAX_RANK && draw.next(2) == 0 {
                    sizes.insert(0, longer);
                }
                x.broadcast_to(sizes)
            }
        }
    }

    /// Several tensors one after the other, or side by side.
    fn joined(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        let shape = x.shape();
        let count = 2 + draw.next(3);
        if shape.is_empty() || draw.next(4) == 0 {
            let like: Vec<Tensor> = (0..count).map(|_| self.like(x, &shape, draw)).collect();
            let axis = if shape.rank() < MAX_RANK { draw.next(shape.rank() + 1) } else { return x };
            return stack(like, axis);
        }
        let axis = draw.next(shape.rank());
        let mut pieces = vec![x];
        for _ in 1..count {
            let mut sizes: Vec<Dim> = shape.to_vec();
            sizes[axis] = if draw.next(3) == 0 { sizes[axis] } else { self.dim(draw) };
            let piece = self.like(x, &sizes.into(), draw);
            pieces.push(piece);
        }
        if draw.next(2) == 0 {
            return concat(pieces, axis);
        }
        // Three more elements, so that there are as many as are asked for.
        let mut sizes: Vec<Dim> = shape.to_vec();
        sizes[axis] = Dim::from(3i64);
        pieces.push(self.like(x, &sizes.into(), draw));
        let (x, k) = (concat(pieces, axis), 1 + draw.next(3));
        let op = if draw.next(2) == 0 { None } else { self.op(&[x], draw) };
        let x = op.map_or(x, |op| apply(op, &[x]));
        self.best(x, k, axis, draw)
    }

    /// The elements along an axis in order, their indices, or places among those of another tensor.
    fn ordered(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        if draw.next(3) == 0 {
            let table = self.pick(draw).reshape([-1]);
            let table = if draw.next(2) == 0 { table.sort(0) } else { table };
            return if draw.next(2) == 0 { table.searchsorted(x) } else { table.searchsorted_right(x) };
        }
        let x = if x.shape().is_empty() { x.unsqueeze(0) } else { x };
        let axis = draw.next(x.shape().rank());
        match draw.next(4) {
            0 => x.sort(axis),
            1 => x.argsort(axis),
            2 => x.sort_descending(axis),
            _ => x.argsort_descending(axis),
        }
    }

    /// The best elements along an axis, or their indices; half the time the other ones are kept, too.
    pub fn best(&mut self, x: Tensor, k: usize, axis: usize, draw: &mut Draw) -> Tensor {
        let (values, indices) = if draw.next(2) == 0 { x.topk(k, axis) } else { x.topk_smallest(k, axis) };
        let (best, other) = if draw.next(2) == 0 { (values, indices) } else { (indices, values) };
        if draw.next(2) == 0 {
            self.keep(other);
        }
        best
    }

    /// `x`, something made of it, or another tensor, of a shape.
    pub fn like(&mut self, x: Tensor, shape: &Shape, draw: &mut Draw) -> Tensor {
        let same = |y: &Tensor| y.shape() == *shape;
        let other = self.pick(draw);
        match draw.next(4) {
            0 if same(&x) => x,
            1 if same(&x) => self.op(&[x], draw).map_or(x, |op| apply(op, &[x])),
            2 if same(&other) => other,
            _ => {
                let dtype = self.dtype(draw);
                self.input(dtype, shape.clone())
            }
        }
    }

    /// Rows by segments: of an input (see [`crate::arrays`]), or counted.
    fn segmented(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        let shape = x.shape();
        if shape.is_empty() {
            return x;
        }
        let segments = match draw.next(3) {
            0 => self.known_dim(draw) + 3,
            _ => Dim::from(draw.of(&[3i64, 5, 17])),
        };
        let dtype = draw.of(&[DType::I64, DType::U8, DType::I32, DType::U64]);
        let ids = match draw.next(3) {
            0 => self.graph.iota(shape[0]).remainder(3),
            _ => self.input(dtype, [shape[0]]),
        };
        match draw.next(5) {
            0 => x.segment_sum(ids, segments),
            1 => x.segment_min(ids, segments),
            2 => x.segment_max(ids, segments),
            3 => x.segment_mean(ids, segments),
            _ => ids.segment_count(segments),
        }
    }

    /// A size as a value.
    fn size(&mut self, draw: &mut Draw) -> Tensor {
        let x = self.pick(draw);
        if x.rank() == 0 { x } else { x.size(draw.next(x.rank())) }
    }

    /// Elements at indices that are within the axis: of an input (see [`crate::arrays`]), counted, or found.
    fn taken(&mut self, draw: &mut Draw) -> Tensor {
        let table = self.pick(draw);
        let shape = table.shape();
        if shape.is_empty() {
            return table;
        }
        let axis = draw.next(shape.rank());
        let size = shape[axis];
        let indices = match draw.next(5) {
            0 => self.graph.iota(size).slice_axis(0, .., draw.of(&[1, -1, 2, -3])),
            1 if !is(size, 0) => {
                let around = (0..shape.rank()).filter(|other| *other != axis).take(1).map(|axis| axis as i64);
                let other: Vec<i64> = around.collect();
                let least = table.argmin_keepdims(axis);
                if other.is_empty() {
                    least.squeeze(axis)
                } else {
                    least.slice_axis(other[0], .., -1).squeeze(axis)
                }
            }
            2 => {
                let length = self.dim(draw);
                self.input(DType::I64, [length, Dim::from(1)]).squeeze(1)
            }
            3 => {
                let length = self.dim(draw);
                self.input(DType::U8, [length])
            }
            _ => {
                let lengths = [self.dim(draw), self.dim(draw)];
                let indices = self.input(DType::I32, lengths);
                if draw.next(2) == 0 { indices.t() } else { indices.slice_axis(0, .., -1) }
            }
        };
        if indices.rank() + shape.rank() - 1 > MAX_RANK { table } else { table.take(indices, axis) }
    }
}

fn slice_item(dim: Dim, draw: &mut Draw) -> SliceItem {
    let at_least = |size: i64| dim.as_constant().is_none_or(|constant| constant >= size);
    match draw.next(14) {
        2 if at_least(1) => SliceItem::from(1..),
        3 if at_least(1) => SliceItem::from(..-1),
        4 => SliceItem::from(..).step(-1),
        5 => SliceItem::from(..).step(2),
        6 => SliceItem::from(..).step(-3),
        7 if at_least(2) => SliceItem::from((1, -1)).step(-2),
        8 if at_least(1) => SliceItem::from(0),
        9 if at_least(1) => SliceItem::from(-1),
        10 => SliceItem::from((0, dim / 2)),
        11 => SliceItem::from((dim / 2, dim)).step(-1),
        12 if at_least(3) => SliceItem::from(..3),
        _ => SliceItem::from(..),
    }
}
