//! The columns of loops and of machine code.

use super::{NO_KERNELS, Page, heading, links, text};
use broadloom::{Instruction, KernelListing, LoopLine};
use broadloom_ir::ExprId;
use std::collections::HashMap;
use std::fmt::Write as _;

impl Page<'_> {
    /// The kernels in launch order, each with its number among all of them.
    fn kernels(&self, mut of_kernel: impl FnMut(&mut String, usize, &KernelListing)) -> String {
        let (mut html, mut number) = (String::new(), 0);
        for part in &self.listing.parts {
            html += &heading(part.heading.as_deref());
            for kernel in &part.kernels {
                of_kernel(&mut html, number, kernel);
                number += 1;
            }
        }
        if number == 0 { NO_KERNELS.to_string() } else { html }
    }

    /// The statements of all kernels, each beside the expressions that it computes.
    pub(super) fn loops(&self) -> String {
        self.kernels(|html, number, kernel| {
            let (name, outline) = (text(&kernel.name), text(&kernel.outline));
            let _ = writeln!(html, "<h3><code>kernel {name}</code> {outline}</h3>\n<div class=\"lines\">");
            for line in &kernel.loops {
                let LoopLine { depth, text: statement, statement: position, exprs } = line;
                let (color, links) = (self.color(exprs), links(exprs, Some((number, *position))));
                let (indent, statement) = ("  ".repeat(*depth), text(statement));
                let of = text(&self.named(exprs));
                let of = if of.is_empty() { of } else { format!("<span class=\"of\">{of}</span>") };
                let _ = writeln!(html, "<div class=\"line{color}\"{links}>{indent}{statement}{of}</div>");
            }
            *html += "</div>\n";
        })
    }

    /// The instructions of all kernels.
    pub(super) fn code(&self) -> String {
        self.kernels(|html, number, kernel| {
            let (name, count) = (text(&kernel.name), kernel.code.len());
            let _ = writeln!(
                html,
                "<h3><code>kernel {name}</code> {count} instructions</h3>\n<div class=\"lines\">"
            );
            let mut exprs: HashMap<usize, &[ExprId]> = HashMap::new();
            for line in &kernel.loops {
                exprs.entry(line.statement).or_insert(&line.exprs);
            }
            for Instruction { offset, text: instruction, statement } in &kernel.code {
                let of = statement.and_then(|statement| exprs.get(&statement).copied()).unwrap_or_default();
                let color = self.color(of);
                let links = links(&[], statement.map(|statement| (number, statement)));
                let offset = offset.map(|offset| format!("{offset:x}")).unwrap_or_default();
                let instruction = text(instruction);
                let _ = writeln!(
                    html,
                    "<div class=\"line{color}\"{links}><span class=\"number\">{offset}</span>{instruction}</div>"
                );
            }
            *html += "</div>\n";
        })
    }

    /// The last of some expressions, which reads the others, and how many these are.
    fn named(&self, exprs: &[ExprId]) -> String {
        match exprs {
            [] => String::new(),
            [expr] => format!("{}  {expr}", self.short(*expr)),
            [others @ .., last] => format!("{}  {last} +{}", self.short(*last), others.len()),
        }
    }
}
