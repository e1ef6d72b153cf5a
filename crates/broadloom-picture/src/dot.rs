//! Drawings in the DOT language, for Graphviz and similar tools, which place the nodes themselves.

use crate::drawing::{Drawing, Kind, Place};
use std::fmt::{self, Display, Write as _};

/// A quoted string.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for letter in self.0.chars() {
            match letter {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                _ => f.write_char(letter)?,
            }
        }
        f.write_char('"')
    }
}

fn attributes(kind: Kind) -> &'static str {
    match kind {
        Kind::Input => "style=\"rounded,filled\", fillcolor=\"#e1efff\"",
        Kind::Op => "style=filled, fillcolor=white",
        Kind::Reduction => "style=filled, fillcolor=\"#ffeedb\"",
        Kind::View => "style=\"dashed,filled\", fillcolor=white",
        Kind::Temporary => "shape=cylinder, style=filled, fillcolor=\"#fdf3c0\"",
        Kind::Output => "style=\"rounded,filled\", fillcolor=\"#dff5e4\"",
        Kind::Reference => "style=dotted",
    }
}

/// The picture, with a cluster for each kernel.
pub fn dot(drawing: &Drawing) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut out, drawing);
    out
}

fn write(out: &mut String, drawing: &Drawing) -> fmt::Result {
    writeln!(out, "digraph broadloom {{")?;
    writeln!(out, "  label={};", Quoted(&drawing.summary))?;
    writeln!(out, "  node [shape=box, fontname=monospace, fontsize=11];")?;
    writeln!(out, "  edge [fontname=monospace, fontsize=9, color=\"#6d7a8f\"];")?;
    let node = |out: &mut String, pad: &str, index: usize| {
        let node = &drawing.nodes[index];
        writeln!(out, "{pad}n{index} [label={}, {}];", Quoted(&node.lines.join("\n")), attributes(node.kind))
    };
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); drawing.kernels.len()];
    for (index, drawn) in drawing.nodes.iter().enumerate() {
        match drawn.place {
            Place::In(kernel) => members[kernel].push(index),
            Place::Above(_) => node(out, "  ", index)?,
        }
    }
    for (kernel, (title, members)) in drawing.kernels.iter().zip(members).enumerate() {
        writeln!(out, "  subgraph cluster_{kernel} {{")?;
        writeln!(
            out,
            "    label={}; fontname=monospace; fontsize=11; style=\"rounded,filled\";",
            Quoted(title)
        )?;
        writeln!(out, "    fillcolor=\"#f2f5fa\"; color=\"#b9c4d4\";")?;
        for index in members {
            node(out, "    ", index)?;
        }
        writeln!(out, "  }}")?;
    }
    for edge in &drawing.edges {
        let label = edge.label.map(|label| format!(" [label={}]", Quoted(label))).unwrap_or_default();
        writeln!(out, "  n{} -> n{}{label};", edge.from, edge.to)?;
    }
    writeln!(out, "}}")
}
