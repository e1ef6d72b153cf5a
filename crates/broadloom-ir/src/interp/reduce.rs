//! Reductions, exactly in the order that [`crate::reduce`] fixes.

use super::Array;
use super::error::{Fault, Rule};
use super::view::{Walk, element_count, row_major, stretch, with_room};
use crate::dtype::{DType, Scalar};
use crate::ops::Op;
use crate::reduce::{BLOCK, LANES, ReduceOp, SEQUENTIAL_LIMIT};

/// Reduces the operand over axes (ascending). With `factors`, the operand is their product, and a sum accumulates
/// it with one fma; `fused` is the numerics level for the op table.
pub(super) fn reduce(
    op: ReduceOp,
    operand: &Array,
    factors: Option<[&Array; 2]>,
    axes: &[usize],
    keepdims: bool,
    fused: bool,
) -> Result<Array, Fault> {
    if axes.iter().any(|&axis| axis >= operand.shape.len()) || axes.windows(2).any(|pair| pair[0] >= pair[1])
    {
        return Err(Fault::Unsound(Rule::Axes));
    }
    // The remaining elements are equally many with and without the reduced axes.
    let mut kept = operand.shape.clone();
    for &axis in axes {
        kept[axis] = 1;
    }
    let reduced: Vec<usize> = axes.iter().map(|&axis| operand.shape[axis]).collect();
    let count = element_count(&kept)?;
    let accumulator = op.accumulator(operand.dtype);

    let elements = if count == 0 {
        Vec::new()
    } else if reduced.contains(&0) {
        // A minimum or maximum written by the caller has its own obligation.
        if op.is_arg() {
            return Err(Fault::Unsound(Rule::EmptyAxes));
        }
        let mut elements = with_room(&kept)?;
        elements.resize(count, op.empty(accumulator));
        elements
    } else {
        match op.beats() {
            Some(beats) if op.is_arg() => first_extreme(beats, operand, axes, &kept, fused)?,
            _ => fold_axes(op, op.combine(), operand, factors, axes, fused)?,
        }
    };
    let elements =
        if op == ReduceOp::Mean { divided(elements, &reduced, accumulator, fused)? } else { elements };

    let shape = if keepdims {
        kept
    } else {
        let stays = kept.iter().enumerate().filter(|(axis, _)| !axes.contains(axis));
        stays.map(|(_, &size)| size).collect()
    };
    let dtype = op.result_dtype(operand.dtype);
    let elements = elements.into_iter().map(|element| element.cast(dtype)).collect();
    Ok(Array { dtype, shape, elements })
}

/// Scans along an axis, from `initial` if it is given.
pub(super) fn scan(
    op: ReduceOp,
    operand: &Array,
    axis: usize,
    initial: Option<&Array>,
    fused: bool,
) -> Result<Array, Fault> {
    let Array { dtype, shape, .. } = operand;
    let length = *shape.get(axis).ok_or(Fault::Unsound(Rule::Axes))?;
    let inner = element_count(&shape[axis + 1..])?;
    let mut elements = operand.elements.clone();
    let rows = if elements.is_empty() { 0 } else { elements.len() / length };
    for row in 0..rows {
        let mut total = match initial {
            Some(initial) => *initial.elements.get(row).ok_or(Fault::Unsound(Rule::Operand))?,
            None => op.identity(*dtype),
        };
        let (outer, column) = (row / inner, row % inner);
        for step in 0..length {
            let element = &mut elements[(outer * length + step) * inner + column];
            total = apply(op.combine(), fused, &[total, *element])?;
            *element = total;
        }
    }
    Ok(Array { dtype: *dtype, shape: shape.clone(), elements })
}

/// Divides the totals of a mean by their numbers of elements.
fn divided(
    totals: Vec<Scalar>,
    reduced: &[usize],
    accumulator: DType,
    fused: bool,
) -> Result<Vec<Scalar>, Fault> {
    if totals.is_empty() {
        return Ok(totals);
    }
    // This fits: if there are totals, either the operand has at least that many elements, or there is a zero.
    let count = element_count(reduced)?;
    let count =
        Scalar::I64(i64::try_from(count).map_err(|_| Fault::TooLarge(reduced.to_vec()))?).cast(accumulator);
    totals.into_iter().map(|total| apply(Op::Divide, fused, &[total, count])).collect()
}

/// Reduces one axis after the other, innermost first. No reduced axis is empty.
fn fold_axes(
    op: ReduceOp,
    combine: Op,
    operand: &Array,
    factors: Option<[&Array; 2]>,
    axes: &[usize],
    fused: bool,
) -> Result<Vec<Scalar>, Fault> {
    let accumulator = op.accumulator(operand.dtype);
    let identity = op.identity(accumulator);
    let mut elements: Vec<Scalar> =
        operand.elements.iter().map(|element| element.cast(accumulator)).collect();
    let mut shape = operand.shape.clone();
    let mut factors = match factors {
        Some([x, y]) => Some([stretch(x, &shape)?, stretch(y, &shape)?]),
        None => None,
    };
    for &axis in axes.iter().rev() {
        // The products exist only along the innermost axis; the other axes add its totals.
        let factors = factors.take();
        let tree = Tree {
            identity,
            combine: &|left, right| apply(combine, fused, &[left, right]),
            accumulate: &|total, position| match &factors {
                Some([x, y]) => apply(Op::Fma, fused, &[x[position], y[position], total]),
                None => apply(combine, fused, &[total, elements[position]]),
            },
        };
        let (length, inner) = (shape[axis], row_major(&shape)[axis]);
        shape[axis] = 1;
        let mut totals = with_room(&shape)?;
        for outer in 0..element_count(&shape[..axis])? {
            for column in 0..inner {
                let total = tree.axis(outer * length * inner + column, inner, length)?;
                totals.push(match op.finish(accumulator) {
                    Some(zero) => apply(combine, fused, &[total, zero])?,
                    None => total,
                });
            }
        }
        elements = totals;
    }
    Ok(elements)
}

/// The fixed tree over the elements of one axis.
struct Tree<'a> {
    identity: Scalar,
    combine: &'a dyn Fn(Scalar, Scalar) -> Result<Scalar, Fault>,
    /// A total and the element at a position.
    accumulate: &'a dyn Fn(Scalar, usize) -> Result<Scalar, Fault>,
}

impl Tree<'_> {
    /// Combines the axis whose element `i` is at `first + i * step`.
    fn axis(&self, first: usize, step: usize, length: usize) -> Result<Scalar, Fault> {
        if length <= SEQUENTIAL_LIMIT {
            return self.run(first, step, length);
        }
        // The totals of aligned groups of 2^rank blocks, with decreasing ranks: the digits of a binary counter.
        let mut groups: Vec<(u32, Scalar)> = Vec::new();
        for begin in (0..length).step_by(BLOCK) {
            let mut total = self.block(first + begin * step, step, BLOCK.min(length - begin))?;
            let mut rank = 0;
            while let Some((_, left)) = groups.pop_if(|(other, _)| *other == rank) {
                total = (self.combine)(left, total)?;
                rank += 1;
            }
            groups.push((rank, total));
        }
        let right = groups.pop().map_or(self.identity, |(_, total)| total);
        groups.into_iter().rev().try_fold(right, |total, (_, left)| (self.combine)(left, total))
    }

    /// Combines one block: deals elements to lanes, then combines the lanes by halves.
    fn block(&self, first: usize, step: usize, length: usize) -> Result<Scalar, Fault> {
        let mut lanes = Vec::with_capacity(LANES);
        for lane in 0..LANES.min(length) {
            lanes.push(self.run(first + lane * step, step * LANES, (length - lane).div_ceil(LANES))?);
        }
        let mut half = LANES / 2;
        while half > 0 {
            for upper in half..lanes.len() {
                lanes[upper - half] = (self.combine)(lanes[upper - half], lanes[upper])?;
            }
            lanes.truncate(half);
            half /= 2;
        }
        Ok(lanes.first().copied().unwrap_or(self.identity))
    }

    /// Combines elements in index order into one accumulator.
    fn run(&self, first: usize, step: usize, length: usize) -> Result<Scalar, Fault> {
        (0..length).try_fold(self.identity, |total, i| (self.accumulate)(total, first + i * step))
    }
}

/// Returns, for each element of `kept`, the index of the first element that no other beats, counted in row-major
/// order over `axes`. A NaN beats everything but an earlier NaN.
fn first_extreme(
    beats: Op,
    operand: &Array,
    axes: &[usize],
    kept: &[usize],
    fused: bool,
) -> Result<Vec<Scalar>, Fault> {
    // Both indices of an element, that of its result and that within the reduced axes, are walks over the operand.
    let mut result_steps = row_major(kept);
    let reduced: Vec<usize> = axes.iter().map(|&axis| operand.shape[axis]).collect();
    let mut index_steps = vec![0; operand.shape.len()];
    for (&axis, step) in axes.iter().zip(row_major(&reduced)) {
        (result_steps[axis], index_steps[axis]) = (0, step);
    }
    let results = Walk::new(&operand.shape, 0, result_steps)?;
    let indices = Walk::new(&operand.shape, 0, index_steps)?;

    let mut best: Vec<Option<(usize, Scalar)>> = vec![None; element_count(kept)?];
    for ((&element, result), index) in operand.elements.iter().zip(results).zip(indices) {
        let better = match best[result] {
            None => true,
            Some((_, held)) if is_nan(held, fused)? => false,
            Some((_, held)) => holds(beats, fused, [element, held])? || is_nan(element, fused)?,
        };
        if better {
            best[result] = Some((index, element));
        }
    }
    let index = |best: Option<(usize, Scalar)>| {
        best.and_then(|(index, _)| i64::try_from(index).ok()).map(Scalar::I64)
    };
    best.into_iter().map(|best| index(best).ok_or(Fault::Unsound(Rule::EmptyAxes))).collect()
}

pub(super) fn is_nan(value: Scalar, fused: bool) -> Result<bool, Fault> {
    holds(Op::NotEqual, fused, [value, value])
}

fn holds(op: Op, fused: bool, operands: [Scalar; 2]) -> Result<bool, Fault> {
    Ok(matches!(apply(op, fused, &operands)?, Scalar::Bool(true)))
}

/// Applies a row of the op table.
pub(super) fn apply(op: Op, fused: bool, operands: &[Scalar]) -> Result<Scalar, Fault> {
    op.evaluate(fused, operands).ok_or(Fault::Unsound(Rule::Types))
}
