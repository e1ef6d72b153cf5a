//! The order in which the operands of an `einsum` are multiplied.

use crate::graph::product::Label;

/// Up to this many operands all orders are compared; with more, the cheapest pair always comes next.
const MAX_EXACT: usize = 6;

/// A set of labels.
type Set = u128;

/// Returns the pairs to multiply, in order: the operands have the first numbers, and each product the next one.
///
/// Among orders of equal cost, the one that goes furthest from left to right is chosen, so that the choice depends
/// only on the labels and the weights.
pub(super) fn pairs(operands: &[&[Label]], out: &[Label], weights: &[f64]) -> Vec<[usize; 2]> {
    let set = |labels: &[Label]| labels.iter().fold(0, |set, label| set | (1 << label));
    let operands: Vec<Set> = operands.iter().map(|labels| set(labels)).collect();
    match operands.len() {
        0 | 1 => Vec::new(),
        count if count <= MAX_EXACT => exact(&operands, set(out), weights),
        _ => greedy(&operands, set(out), weights),
    }
}

/// Returns the number of elements that the labels span.
fn elements(set: Set, weights: &[f64]) -> f64 {
    let (mut left, mut elements) = (set, 1.0);
    while left != 0 {
        elements *= weights[left.trailing_zeros() as usize];
        left &= left - 1;
    }
    elements
}

/// Tries all ways to split each subset of the operands in two.
fn exact(operands: &[Set], out: Set, weights: &[f64]) -> Vec<[usize; 2]> {
    let all = (1_usize << operands.len()) - 1;
    let union = |subset: usize| {
        operands
            .iter()
            .enumerate()
            .filter(|(at, _)| subset & (1 << at) != 0)
            .fold(0, |set, (_, own)| set | own)
    };
    // The labels that remain of a subset once it is multiplied.
    let kept: Vec<Set> = (0..=all).map(|subset| union(subset) & (out | union(all & !subset))).collect();
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0); all + 1];
    for subset in 1..=all {
        if subset.is_power_of_two() {
            continue;
        }
        best[subset].0 = f64::INFINITY;
        // Visit each split once: one part has the last operand. That operand alone comes first, as in an order from
        // left to right.
        let last = 1 << subset.ilog2();
        for rest in (1..=subset & !last).rev().filter(|rest| rest & subset == *rest) {
            let other = subset & !rest;
            let cost = best[rest].0 + best[other].0 + elements(kept[rest] | kept[other], weights);
            if cost < best[subset].0 || best[subset].1 == 0 {
                best[subset] = (cost, rest);
            }
        }
    }
    let mut pairs = Vec::new();
    part(all, operands.len(), &best, &mut pairs);
    pairs
}

/// Returns the number of the product of a subset, once it is among the pairs.
fn part(subset: usize, count: usize, best: &[(f64, usize)], pairs: &mut Vec<[usize; 2]>) -> usize {
    if subset.is_power_of_two() {
        return subset.ilog2() as usize;
    }
    let rest = best[subset].1;
    let left = part(rest, count, best, pairs);
    let right = part(subset & !rest, count, best, pairs);
    pairs.push([left, right]);
    count + pairs.len() - 1
}

fn greedy(operands: &[Set], out: Set, weights: &[f64]) -> Vec<[usize; 2]> {
    let mut parts: Vec<(usize, Set)> = operands.iter().copied().enumerate().collect();
    let mut pairs = Vec::new();
    while parts.len() > 1 {
        let mut best = (f64::INFINITY, [0, 1]);
        for left in 0..parts.len() {
            for right in left + 1..parts.len() {
                let cost = elements(parts[left].1 | parts[right].1, weights);
                if cost < best.0 {
                    best = (cost, [left, right]);
                }
            }
        }
        let [left, right] = best.1;
        let (other, own) = parts.remove(right);
        let (first, set) = parts[left];
        let others = parts.iter().enumerate().filter(|(at, _)| *at != left);
        let needed = others.fold(out, |needed, (_, (_, set))| needed | set);
        pairs.push([first, other]);
        parts[left] = (operands.len() + pairs.len() - 1, (set | own) & needed);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_order() {
        // (i,j), (j,k), (k,l): multiply from the right where the last axis is short.
        let chain: [&[Label]; 3] = [&[0, 1], &[1, 2], &[2, 3]];
        assert_eq!(pairs(&chain, &[0, 3], &[100.0, 100.0, 100.0, 1.0]), [[1, 2], [0, 3]]);
        assert_eq!(pairs(&chain, &[0, 3], &[1.0, 100.0, 100.0, 100.0]), [[0, 1], [3, 2]]);
        // With equal sizes, multiply from left to right.
        assert_eq!(pairs(&chain, &[0, 3], &[10.0; 4]), [[0, 1], [3, 2]]);
        assert_eq!(pairs(&[&[0], &[0], &[0]], &[], &[0.0]), [[0, 1], [3, 2]]);
        assert_eq!(pairs(&[&[0], &[0]], &[], &[f64::INFINITY]), [[0, 1]]);
        assert!(pairs(&[&[0]], &[], &[5.0]).is_empty());
    }

    #[test]
    fn many_operands_are_all_multiplied() {
        let labels: Vec<[Label; 2]> = (0..40).map(|at| [at, at + 1]).collect();
        let operands: Vec<&[Label]> = labels.iter().map(<[Label; 2]>::as_slice).collect();
        let pairs = pairs(&operands, &[0, 40], &[7.0; 41]);
        let mut used: Vec<usize> = pairs.concat();
        used.sort_unstable();
        assert_eq!(used, (0..78).collect::<Vec<_>>());
    }
}
