//! The values by which derivatives are taken, where a function is derived and not an expression.

use crate::graph::{Graph, Node, Operands, Site};
use crate::ids::ExprId;
use crate::ops::Op;
use std::collections::HashSet;

impl Graph {
    /// Returns the elements of an expression as a value of its own, which no other expression is equal to.
    ///
    /// The derivative of a function is taken by its parameter, and not by what it is called with: that may also reach the
    /// function in another way, and a constant may be equal to any other one.
    pub fn variable(&mut self, expr: ExprId, site: Site) -> ExprId {
        if self.is_poisoned(expr) {
            return expr;
        }
        let (dtype, shape) = (self.dtype(expr), self.written(expr).clone());
        let node = Node::Elementwise { op: Op::Positive, operands: Operands::from_slice(&[expr]) };
        let key = (node.clone(), dtype, shape.clone());
        let equal = self.interned.remove(&key);
        let made = self.insert(node, dtype, shape, Vec::new(), site);
        match equal {
            Some(equal) => self.interned.insert(key, equal),
            None => self.interned.remove(&key),
        };
        self.settle(made, "variable", &[expr], site)
    }

    /// Returns whether an expression is computed from another one.
    pub fn depends(&self, expr: ExprId, on: ExprId) -> bool {
        let mut seen = HashSet::from([expr]);
        let mut open = vec![expr];
        while let Some(expr) = open.pop() {
            if expr == on {
                return true;
            }
            // Operands have smaller numbers.
            let operands = self.node(expr).operands().into_iter();
            open.extend(operands.filter(|operand| *operand >= on && seen.insert(*operand)));
        }
        false
    }
}
