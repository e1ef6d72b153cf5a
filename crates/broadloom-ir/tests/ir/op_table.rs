//! What the rows of the op table say of each other.

use broadloom_ir::dtype::DType;
use broadloom_ir::ops::Op;
use broadloom_math::{Function, Precision};

#[test]
fn every_tile_function_is_that_of_one_op() {
    for function in Function::ALL {
        let is_own = |op: &&Op| op.tile(DType::F64) == Some((function, Precision::F64));
        let ops: Vec<&Op> = Op::ALL.iter().filter(is_own).collect();
        let [op] = ops[..] else { panic!("{function:?}: {ops:?}") };
        assert_eq!((op.name(), op.arity()), (function.name(), function.arity()));
        assert_eq!(op.tile(DType::F32), Some((function, Precision::F32)));
        assert_eq!(op.tile(DType::F16), None);
    }
}
