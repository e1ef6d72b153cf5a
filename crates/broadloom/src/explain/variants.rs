//! The calls for which code was compiled.

use crate::bind::SymbolNames;
use crate::compiled::Inner;
use crate::variant::Variant;
use broadloom_loops::{IndexWidth, Layout, LowerOptions};

/// Returns the facts that a variant relies on and the general one does not: `d = 3`, `x is strided`.
pub(super) fn facts(inner: &Inner, general: &LowerOptions, variant: &Variant) -> String {
    let graph = &inner.graph;
    let LowerOptions {
        inputs,
        outputs,
        streamed,
        index_width,
        sizes,
        shared,
        by_columns,
        keep_rows,
        pack,
        long_rows,
        vectorize: _,
        fused: _,
        target: _,
        tail: _,
        max_values: _,
    } = &variant.facts;
    let mut facts = Vec::new();
    for &(symbol, value) in sizes {
        let info = &graph.symbols()[symbol.index()];
        facts.push(format!("{} = {}", info.name, value * info.unit));
    }
    let names = graph.inputs().iter().map(|input| &input.name).zip(inputs);
    let names = names.chain(graph.outputs().iter().map(|output| &output.name).zip(outputs));
    for (name, layout) in names {
        match layout {
            Layout::Dense => {}
            Layout::Strided { unit: Some(axis) } => facts.push(format!("{name} dense along axis {axis}")),
            Layout::Strided { unit: None } => facts.push(format!("{name} strided")),
        }
    }
    for (output, _) in graph.outputs().iter().zip(streamed).filter(|(_, is_streamed)| **is_streamed) {
        facts.push(format!("{} written past the caches", output.name));
    }
    for shape in shared {
        facts.push(format!("threads share what is reduced to {}", SymbolNames(graph).shape(shape)));
    }
    for shape in by_columns {
        facts.push(format!("{} has few rows", SymbolNames(graph).shape(shape)));
    }
    if index_width != &general.index_width && *index_width == IndexWidth::Wide {
        facts.push("indices of 64 bits".to_owned());
    }
    if *keep_rows != general.keep_rows {
        facts.push("rows too long to be kept".to_owned());
    }
    if *pack != general.pack {
        facts.push("arrays not worth packing".to_owned());
    }
    if *long_rows != general.long_rows {
        facts.push("short rows".to_owned());
    }
    facts.join(", ")
}
