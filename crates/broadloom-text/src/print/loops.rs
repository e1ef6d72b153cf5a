//! Prints loops: a line with the values that it carries, the definitions of a step, what it carries on, and `end`.

use super::{Printer, Written, quoted};
use crate::token::is_name;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{Loop, Node, StepValue, Steps};

impl Printer<'_> {
    /// Writes a loop with its steps, whose expressions are among those in `order`, and names its results.
    pub(super) fn repeat(&mut self, repeated: &Loop, order: &[ExprId]) {
        let graph = self.graph;
        let text = |this: &Self, expr: ExprId| this.get(this.same[expr.index()]).text.clone();
        let initial: Vec<String> =
            repeated.carried.iter().map(|carried| text(self, carried.initial)).collect();
        let rows: Vec<String> = repeated.rows.iter().map(|rows| text(self, *rows)).collect();
        let counted = match &repeated.steps {
            Steps::Size(size) if rows.is_empty() => format!("range({})", self.size(size)),
            Steps::Count(count) => format!("range({})", text(self, *count)),
            Steps::Size(_) | Steps::While(_) => String::new(),
        };
        // A name for each value, those that no step reads included.
        let of_step = |value: StepValue| {
            let mut exprs = graph.exprs();
            exprs.find(|expr| {
                matches!(graph.node(*expr), Node::Step { of, value: its, .. } if *of == repeated.id && *its == value)
            })
        };
        let name = |this: &mut Self, value: StepValue| {
            let expr = of_step(value);
            let wanted = expr.and_then(|expr| match graph.node(expr) {
                Node::Step { name, .. } if is_name(name) => Some(name.to_string()),
                _ => None,
            });
            let mut name = wanted.unwrap_or_else(|| "step".to_owned());
            while this.taken.contains(&name) || quoted(&name) != name {
                name.push('_');
            }
            this.taken.insert(name.clone());
            if let Some(expr) = expr {
                this.written.insert(this.same[expr.index()], Written::atom(name.clone()));
            }
            name
        };
        let counter = name(self, StepValue::Counter);
        let of_rows: Vec<String> = (0..rows.len()).map(|row| name(self, StepValue::Row(row))).collect();
        let carried: Vec<String> =
            (0..initial.len()).map(|number| name(self, StepValue::Carried(number))).collect();
        let pairs: Vec<String> =
            carried.iter().zip(&initial).map(|(name, value)| format!("{name} = {value}")).collect();
        let with = if pairs.is_empty() { String::new() } else { format!(" with {}", pairs.join(", ")) };
        if let Steps::While(condition) = repeated.steps {
            // What the condition is made of cannot be named before it.
            let condition = self.inlined(condition);
            self.line(&format!("while {condition}{with}"));
        } else if rows.is_empty() {
            self.line(&format!("for {counter} in {counted}{with}"));
        } else {
            let names = of_rows.join(", ");
            self.line(&format!("for {counter}, {names} in enumerate({}){with}", rows.join(", ")));
        }
        self.indent += 1;
        self.define(order, Some(repeated.id));
        for (name, of) in carried.iter().zip(&repeated.carried) {
            let value = text(self, of.next);
            if value != *name {
                self.line(&format!("next {name} = {value}"));
            }
        }
        let mut stacked = Vec::new();
        for expr in &repeated.stacked {
            let name = self.fresh_name();
            let value = text(self, *expr);
            self.line(&format!("stack {name} = {value}"));
            stacked.push(name);
        }
        self.indent -= 1;
        self.line("end");
        for expr in graph.exprs() {
            if let Node::Loop { repeated: of, result } = graph.node(expr)
                && of.id == repeated.id
            {
                let name = carried.iter().chain(&stacked).nth(*result).cloned().unwrap_or_default();
                self.written.insert(self.same[expr.index()], Written::atom(name));
            }
        }
    }

    /// Writes an expression without names for its parts.
    fn inlined(&mut self, expr: ExprId) -> String {
        let expr = self.same[expr.index()];
        let mut open = vec![expr];
        let mut exprs = Vec::new();
        while let Some(expr) = open.pop() {
            if !self.written.contains_key(&expr) {
                exprs.push(expr);
                open.extend(self.node(expr).operands());
            }
        }
        exprs.sort_unstable();
        exprs.dedup();
        for expr in &exprs {
            let written = self.write(*expr);
            self.written.insert(*expr, written);
        }
        let text = self.get(expr).text.clone();
        // Steps that use the same parts may name them.
        exprs.iter().for_each(|expr| drop(self.written.remove(expr)));
        text
    }
}
