//! Text of sizes and types.

use broadloom_ir::SymbolId;
use broadloom_ir::dim::Dim;
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::CheckedGraph;
use broadloom_ir::shape::Shape;

/// Names of a graph's symbols; host symbols of a schedule follow them.
pub(crate) struct SymbolNames<'a>(pub(crate) &'a CheckedGraph);

impl SymbolNames<'_> {
    pub(crate) fn name(&self, symbol: SymbolId) -> &str {
        self.0.symbols().get(symbol.index()).map_or("?", |info| &info.name)
    }

    pub(crate) fn dim(&self, dim: &Dim) -> String {
        dim.display(&|symbol| self.name(symbol)).to_string()
    }

    pub(crate) fn shape(&self, shape: &Shape) -> String {
        let dims: Vec<String> = shape.iter().map(|dim| self.dim(dim)).collect();
        format!("[{}]", dims.join(", "))
    }
}

/// `f32[n, 3]`
pub(crate) fn type_text(graph: &CheckedGraph, dtype: DType, shape: &Shape) -> String {
    format!("{dtype}{}", SymbolNames(graph).shape(shape))
}

/// The known name that is most like a wrong one, if one is like it.
pub(crate) fn nearest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Names longer than this are compared by their beginnings.
    const LONGEST: usize = 64;
    let wrong: Vec<char> = wrong.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
    let distance = |name: &str| {
        let name: Vec<char> = name.chars().take(LONGEST).flat_map(char::to_lowercase).collect();
        let mut row: Vec<usize> = (0..=name.len()).collect();
        for (i, a) in wrong.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, b) in name.iter().enumerate() {
                let substituted = diagonal + usize::from(a != b);
                diagonal = row[j + 1];
                row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[name.len()]
    };
    let allowed = (wrong.len() / 3).max(1);
    let (distance, name) = known.map(|name| (distance(name), name)).min_by_key(|(distance, _)| *distance)?;
    (distance <= allowed).then_some(name)
}
