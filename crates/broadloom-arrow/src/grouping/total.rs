//! What is kept of the rows of a group, in registers of 64 bits.

use super::GroupStates;
use crate::error::ColumnError;
use broadloom::{AnyArray, Array, DType};
use broadloom_ir::reduce::ReduceOp;

/// A total over the rows of a group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Total {
    Sum(Class),
    Product(Class),
    Least(Class),
    Greatest(Class),
    /// The sum of `(a - mean(a))^2`, and the mean.
    Squares {
        is_mean: bool,
    },
    /// The sum of `(a - mean(a)) * (b - mean(b))`, and the two means.
    Products {
        is_mean: bool,
    },
}

/// How a total accumulates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Class {
    Float,
    Signed,
    /// Unsigned integers and truth values.
    Unsigned,
}

impl Class {
    fn of(dtype: DType) -> Class {
        match dtype {
            float if float.is_float() => Class::Float,
            signed if signed.is_signed_integer() => Class::Signed,
            _ => Class::Unsigned,
        }
    }

    pub(super) fn dtype(self) -> DType {
        match self {
            Class::Float => DType::F64,
            Class::Signed => DType::I64,
            Class::Unsigned => DType::U64,
        }
    }
}

impl Total {
    /// Returns the total of a reduction; `None` for one that has an index.
    pub(super) fn of(op: ReduceOp, operand: DType) -> Option<Total> {
        let class = Class::of(op.accumulator(operand));
        Some(match op {
            ReduceOp::Sum | ReduceOp::Mean => Total::Sum(class),
            ReduceOp::Prod => Total::Product(class),
            ReduceOp::Min | ReduceOp::All => Total::Least(class),
            ReduceOp::Max | ReduceOp::Any => Total::Greatest(class),
            ReduceOp::ArgMin | ReduceOp::ArgMax => return None,
        })
    }

    pub(super) fn class(self) -> Class {
        match self {
            Total::Sum(class) | Total::Product(class) | Total::Least(class) | Total::Greatest(class) => class,
            Total::Squares { .. } | Total::Products { .. } => Class::Float,
        }
    }

    /// Returns the registers of a group without rows.
    pub(super) fn empty(self) -> &'static [u64] {
        const ONE: u64 = 1f64.to_bits();
        const INFINITY: u64 = f64::INFINITY.to_bits();
        const NEGATIVE: u64 = f64::NEG_INFINITY.to_bits();
        match (self, self.class()) {
            (Total::Sum(_), _) => &[0],
            (Total::Product(_), Class::Float) => &[ONE],
            (Total::Product(_), _) => &[1],
            (Total::Least(_), Class::Float) => &[INFINITY],
            (Total::Least(_), Class::Signed) => &[i64::MAX as u64],
            (Total::Least(_), Class::Unsigned) => &[u64::MAX],
            (Total::Greatest(_), Class::Float) => &[NEGATIVE],
            (Total::Greatest(_), Class::Signed) => &[i64::MIN as u64],
            (Total::Greatest(_), Class::Unsigned) => &[0],
            (Total::Squares { .. }, _) => &[0; 2],
            (Total::Products { .. }, _) => &[0; 3],
        }
    }

    /// Combines two registers, as bits.
    fn combine(self) -> fn(u64, u64) -> u64 {
        match (self, self.class()) {
            (Total::Sum(_), Class::Float) => |a, b| (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
            // Integers wrap around, signed ones with the same bits.
            (Total::Sum(_), _) => u64::wrapping_add,
            (Total::Product(_), Class::Float) => |a, b| (f64::from_bits(a) * f64::from_bits(b)).to_bits(),
            (Total::Product(_), _) => u64::wrapping_mul,
            // A NaN stays.
            (Total::Least(_), Class::Float) => |a, b| {
                let (left, right) = (f64::from_bits(a), f64::from_bits(b));
                if right < left || right.is_nan() { b } else { a }
            },
            (Total::Greatest(_), Class::Float) => |a, b| {
                let (left, right) = (f64::from_bits(a), f64::from_bits(b));
                if right > left || right.is_nan() { b } else { a }
            },
            (Total::Least(_), Class::Signed) => |a, b| (a as i64).min(b as i64) as u64,
            (Total::Greatest(_), Class::Signed) => |a, b| (a as i64).max(b as i64) as u64,
            (Total::Least(_), Class::Unsigned) => u64::min,
            (Total::Greatest(_), Class::Unsigned) => u64::max,
            (Total::Squares { .. } | Total::Products { .. }, _) => |a, _| a,
        }
    }

    /// Adds rows to their groups, to the registers that start at a word of each record. `counts` are the rows of the group up
    /// to each row, and `values` are what the rows give, of which most totals need the first.
    pub(super) fn add(
        self,
        states: &mut GroupStates,
        at: usize,
        groups: &[usize],
        counts: &[f64],
        values: [&[u64]; 2],
    ) {
        let [of_a, of_b] = values;
        match self {
            Total::Squares { .. } => {
                for ((group, count), value) in groups.iter().zip(counts).zip(of_a) {
                    let Some([sum, mean]) = states.registers(*group, at) else { continue };
                    let (value, before) = (f64::from_bits(*value), f64::from_bits(*mean));
                    let after = before + (value - before) / count;
                    *sum = (f64::from_bits(*sum) + (value - before) * (value - after)).to_bits();
                    *mean = after.to_bits();
                }
            }
            Total::Products { .. } => {
                for (((group, count), a), b) in groups.iter().zip(counts).zip(of_a).zip(of_b) {
                    let Some([sum, mean_a, mean_b]) = states.registers(*group, at) else { continue };
                    let [a, b] = [a, b].map(|bits| f64::from_bits(*bits));
                    let [before_a, before_b] = [*mean_a, *mean_b].map(f64::from_bits);
                    let after_b = before_b + (b - before_b) / count;
                    *sum = (f64::from_bits(*sum) + (a - before_a) * (b - after_b)).to_bits();
                    *mean_a = (before_a + (a - before_a) / count).to_bits();
                    *mean_b = after_b.to_bits();
                }
            }
            Total::Sum(_) | Total::Product(_) | Total::Least(_) | Total::Greatest(_) => {
                let combine = self.combine();
                for (group, value) in groups.iter().zip(of_a) {
                    if let Some([register]) = states.registers(*group, at) {
                        *register = combine(*register, *value);
                    }
                }
            }
        }
    }

    /// Takes its registers of a group and those of other rows of the group, and adds the latter. `counts` are the numbers of
    /// these rows and of those.
    pub(super) fn merge<'w>(
        self,
        registers: &mut impl Iterator<Item = (&'w mut u64, u64)>,
        counts: [f64; 2],
    ) {
        let Some((own, other)) = registers.next() else { return };
        match self {
            Total::Squares { .. } | Total::Products { .. } => {
                let [count, more] = counts;
                let share = if more > 0.0 { more / (count + more) } else { 0.0 };
                // First, so that it stays 0 in a group without rows, whatever the other means are.
                let mut product = count * share;
                for (mean, other) in registers.take(self.empty().len() - 1) {
                    let difference = f64::from_bits(other) - f64::from_bits(*mean);
                    *mean = (f64::from_bits(*mean) + difference * share).to_bits();
                    product *= difference;
                    if matches!(self, Total::Squares { .. }) {
                        product *= difference;
                    }
                }
                *own = (f64::from_bits(*own) + f64::from_bits(other) + product).to_bits();
            }
            Total::Sum(_) | Total::Product(_) | Total::Least(_) | Total::Greatest(_) => {
                *own = self.combine()(*own, other);
            }
        }
    }

    /// Returns the total of each group as an array. `at` is the word of a record where its registers start.
    pub(super) fn finished(self, states: &GroupStates, at: usize) -> Result<AnyArray, ColumnError> {
        let shape = [states.groups()];
        let words = states.records().filter_map(|record| record.get(at)).copied();
        let floats = words.clone().map(f64::from_bits);
        Ok(match (self, self.class()) {
            (Total::Squares { is_mean: true } | Total::Products { is_mean: true }, _) => {
                let means = floats.zip(states.counts()).map(|(sum, count)| sum / count as f64);
                Array::new(means.collect::<Vec<f64>>(), &shape)?.into()
            }
            (_, Class::Float) => Array::new(floats.collect::<Vec<f64>>(), &shape)?.into(),
            (_, Class::Signed) => {
                Array::new(words.map(|bits| bits as i64).collect::<Vec<i64>>(), &shape)?.into()
            }
            (_, Class::Unsigned) => Array::new(words.collect::<Vec<u64>>(), &shape)?.into(),
        })
    }
}
