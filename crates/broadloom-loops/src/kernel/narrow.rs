//! Sums of integers in lanes narrower than the sum.

use super::*;

/// A dtype that holds the sum of a number of elements, whatever their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Narrow {
    /// An integer dtype with fewer bytes than that of the sum.
    pub dtype: DType,
    /// The number of elements whose sum it holds.
    pub steps: i64,
}

impl Accumulator {
    /// Returns the lanes in which elements are added for a while, if the sum itself would take more registers:
    /// counts use lanes as narrow as their masks, sums of other small integers use 32 bits.
    pub fn narrow(&self, values: &[Value]) -> Option<Narrow> {
        if self.op != ReduceOp::Sum || self.dtype.class() != Class::Int {
            return None;
        }
        let narrow = match &self.operand {
            Contribution::Count(truth) => {
                let dtype = match compared(values, *truth) {
                    1 => DType::U8,
                    2 => DType::U16,
                    _ => DType::U32,
                };
                Narrow { dtype, steps: (1 << (8 * dtype.size())) - 1 }
            }
            Contribution::Value(value) => {
                let dtype = match values[widened(values, *value)?.index()].dtype {
                    DType::U8 | DType::U16 => DType::U32,
                    DType::I8 | DType::I16 => DType::I32,
                    _ => return None,
                };
                // There are as many 16-bit elements as 15-bit numbers.
                Narrow { dtype, steps: 1 << 15 }
            }
            Contribution::Product(..) | Contribution::Indexed { .. } => return None,
        };
        (narrow.dtype.size() < self.dtype.size()).then_some(narrow)
    }
}

/// Returns the operand of the cast that a value is.
pub fn widened(values: &[Value], value: ValueId) -> Option<ValueId> {
    match values[value.index()].def {
        Def::Cast(source) => Some(source),
        _ => None,
    }
}

/// Returns the size in bytes of the values whose comparison gives a truth value.
fn compared(values: &[Value], truth: ValueId) -> usize {
    let mut value = &values[truth.index()];
    while let (DType::Bool, Def::Op { args, .. }) = (value.dtype, &value.def) {
        value = &values[args[0].index()];
    }
    value.dtype.arithmetic().size()
}
