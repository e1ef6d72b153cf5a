//! Builds the expressions of the tests: inputs by name, and ops in few words.

use broadloom_ir::ExprId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::{Graph, Running, SegmentOp, Site, SliceSpec};
use broadloom_ir::ops::Op;
use broadloom_ir::reduce::ReduceOp;
use broadloom_ir::shape::Shape;

/// A graph under construction with one-letter symbols.
pub struct Builder {
    pub graph: Graph,
}

impl Builder {
    pub fn dim(&mut self, size: &str) -> Dim {
        match size.parse() {
            Ok(size) => Dim::constant(size),
            Err(_) => Dim::symbol(self.graph.symbol(size, Site::caller())),
        }
    }

    pub fn input(&mut self, name: &str, dtype: DType, shape: &[&str]) -> ExprId {
        let shape: Shape = shape.iter().map(|size| self.dim(size)).collect();
        self.graph.input(name, dtype, shape, Site::caller())
    }

    pub fn op(&mut self, op: Op, operands: &[ExprId]) -> ExprId {
        self.graph.elementwise(op, operands, Site::caller())
    }

    pub fn reduce(&mut self, op: ReduceOp, operand: ExprId, axes: &[i64], keepdims: bool) -> ExprId {
        self.graph.reduce(op, operand, Some(axes), keepdims, Site::caller())
    }

    pub fn best(&mut self, operand: ExprId, k: i64, axis: i64, largest: bool, indices: bool) -> ExprId {
        match indices {
            true => self.graph.argtopk(operand, k, axis, largest, Site::caller()),
            false => self.graph.topk(operand, k, axis, largest, Site::caller()),
        }
    }

    pub fn sort(&mut self, operand: ExprId, axis: i64, indices: bool, descending: bool) -> ExprId {
        match indices {
            true => self.graph.argsort(operand, Some(axis), descending, Site::caller()),
            false => self.graph.sort(operand, Some(axis), descending, Site::caller()),
        }
    }

    pub fn search(&mut self, table: ExprId, values: ExprId, right: bool) -> ExprId {
        self.graph.searchsorted(table, values, right, Site::caller())
    }
    pub fn scan(&mut self, op: ReduceOp, operand: ExprId, axis: i64) -> ExprId {
        self.graph.scan(Running::of(op), operand, Some(axis), Site::caller())
    }

    pub fn expand(&mut self, operand: ExprId, axis: i64) -> ExprId {
        self.graph.expand_dims(operand, &[axis], Site::caller())
    }

    pub fn broadcast(&mut self, operand: ExprId, shape: &[&str]) -> ExprId {
        let shape: Shape = shape.iter().map(|size| self.dim(size)).collect();
        self.graph.broadcast_to(operand, shape, Site::caller())
    }

    pub fn reshape(&mut self, operand: ExprId, shape: &[&[&str]]) -> ExprId {
        let product = |sizes: &&[&str]| {
            let sizes: Vec<Dim> = sizes.iter().map(|size| self.dim(size)).collect();
            Some(Dim::product(&sizes).expect("a product of a few sizes"))
        };
        let dims: Vec<Option<Dim>> = shape.iter().map(product).collect();
        self.graph.reshape(operand, &dims, Site::caller())
    }

    /// A table over every pair of two arrays' elements.
    pub fn pairs(&mut self, op: Op, dtype: DType, sizes: [&str; 2]) -> ExprId {
        let [x, y] = [self.input("x", dtype, &[sizes[0]]), self.input("y", dtype, &[sizes[1]])];
        let x = self.expand(x, 1);
        self.op(op, &[x, y])
    }

    pub fn concat(&mut self, operands: &[ExprId], axis: i64) -> ExprId {
        self.graph.concat(operands, axis, Site::caller())
    }

    pub fn segment(&mut self, op: SegmentOp, values: ExprId, ids: ExprId, segments: Dim) -> ExprId {
        self.graph.segment(op, values, ids, segments, Site::caller())
    }

    /// The leading axis backwards.
    pub fn flip(&mut self, operand: ExprId) -> ExprId {
        let slice = SliceSpec::Range { start: None, stop: None, step: -1 };
        self.graph.slice(operand, &[slice], Site::caller())
    }

    /// All but the first and the last element of axis 1.
    pub fn inner(&mut self, operand: ExprId) -> ExprId {
        let (start, stop) = (Some(Dim::ONE), Some(Dim::constant(-1)));
        let slices = [SliceSpec::All, SliceSpec::Range { start, stop, step: 1 }];
        self.graph.slice(operand, &slices, Site::caller())
    }
}
