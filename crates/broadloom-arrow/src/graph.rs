//! What a graph does with its rows.

use crate::error::ColumnError;
use crate::types::ColumnType;
use broadloom::{AnyArray, CheckedGraph, Site};
use broadloom_ir::chunks::{Refusal, Split, split};
use broadloom_ir::dim::Dim;
use broadloom_ir::graph::{InputInfo, Node};
use broadloom_ir::{ExprId, SymbolId};
use std::sync::Arc;

/// A checked graph whose inputs are columns of a table: those whose leading axis has the size of the rows. The
/// other inputs are constants.
///
/// ```
/// use broadloom::prelude::*;
/// use broadloom_arrow::RowGraph;
/// let g = Graph::new();
/// let x = g.input::<f64>("x", shape![g.symbol("n")]);
/// let row_wise = RowGraph::new(&(2 * x).finish()?, "n")?;
/// assert!(row_wise.mixing().is_none());
/// let centred = RowGraph::new(&(x - x.mean(0)).finish()?, "n")?;
/// assert_eq!(centred.mixing().map(|mixing| mixing.op).as_deref(), Some("mean"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RowGraph {
    pub(crate) graph: CheckedGraph,
    pub(crate) rows: SymbolId,
    /// How the graph is computed in chunks, or the expression that prevents it.
    pub(crate) split: Result<Arc<Split>, (Option<ExprId>, Refusal)>,
}

/// An operation that combines rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mixing {
    /// The function that was called.
    pub op: String,
    /// The place where it was called.
    pub site: Site,
}

/// Cuts a graph along its rows. A table has one number of rows, so none of it has a number that data decide.
fn split_rows(graph: &CheckedGraph, rows: SymbolId) -> Result<Arc<Split>, (Option<ExprId>, Refusal)> {
    match graph.symbols().iter().find_map(|info| info.kind.decided_by()) {
        Some(decided) => Err((Some(decided), Refusal::Decided)),
        None => split(graph, rows).map(Arc::new),
    }
}

impl RowGraph {
    /// Takes a graph and the name of the size of its rows.
    ///
    /// # Errors
    /// Returns an error if no input has this size as its leading axis.
    pub fn new(graph: &CheckedGraph, rows: &str) -> Result<RowGraph, ColumnError> {
        let symbol = graph.symbols().iter().position(|info| *info.name == *rows).map(SymbolId::new);
        let has_rows = |input: &InputInfo| input.shape.first().is_some_and(|dim| dim.as_symbol() == symbol);
        match symbol {
            Some(symbol) if graph.inputs().iter().any(has_rows) => {
                Ok(RowGraph { graph: graph.clone(), rows: symbol, split: split_rows(graph, symbol) })
            }
            _ => Err(ColumnError::NoRows { rows: rows.to_owned() }),
        }
    }

    /// Takes what remains of a graph, which may read no rows any more.
    pub(crate) fn remaining(graph: CheckedGraph, rows: SymbolId) -> RowGraph {
        let split = split_rows(&graph, rows);
        RowGraph { graph, rows, split }
    }

    /// Returns the graph.
    pub fn graph(&self) -> &CheckedGraph {
        &self.graph
    }

    /// Returns the first operation that combines rows. `None` if each row of the results depends on the same row of
    /// the columns alone, so that any batches of rows give the same results.
    pub fn mixing(&self) -> Option<Mixing> {
        let mixes = match &self.split {
            Ok(split) => self.graph.exprs().find(|expr| self.mixes(split, *expr)),
            Err((Some(expr), _)) => Some(*expr),
            Err((None, _)) => self.graph.outputs().first().map(|output| output.expr),
        };
        mixes.map(|expr| Mixing { op: self.name(expr), site: self.graph.site(expr) })
    }

    /// Returns the names of the inputs that are columns, in the order of declaration.
    pub fn columns(&self) -> Vec<&str> {
        let inputs = self.graph.inputs().iter();
        inputs.filter(|input| self.is_column(input)).map(|input| &*input.name).collect()
    }

    /// Returns whether the rows of a column are inferred to have as many elements as there are rows.
    pub fn has_lists_of_rows(&self) -> bool {
        let columns = self.graph.inputs().iter().filter(|input| self.is_column(input));
        columns.flat_map(|input| input.shape.iter().skip(1)).any(|size| size.symbols().contains(&self.rows))
    }

    /// Returns whether an output depends on a column.
    pub fn reads_columns(&self, output: &str) -> bool {
        let outputs = self.graph.outputs().iter();
        outputs.filter(|of| *of.name == *output).any(|of| !self.columns_of(of.expr).is_empty())
    }

    /// Returns whether an output has a value for each row; otherwise it is a total.
    pub fn makes_rows(&self, output: &str) -> bool {
        self.graph.outputs().iter().any(|of| *of.name == *output && self.has_rows(of.expr))
    }

    /// Returns whether an output has a value for each row, each computed for this row in its place: an expression that sorts rows has
    /// a value for each place, and none for a row.
    pub fn keeps_rows(&self, output: &str) -> bool {
        self.split.is_ok() && self.makes_rows(output)
    }

    /// Checks columns, by the names of the inputs, and constants for these inputs: dtypes, numbers of axes and sizes.
    ///
    /// # Errors
    /// Returns an error for the first column that differs from the declaration of its input.
    pub fn check_types(
        &self,
        types: &[(String, ColumnType)],
        constants: &[(String, AnyArray)],
    ) -> Result<(), ColumnError> {
        let sizes = self.sizes(types, constants);
        let value = |dim: &Dim| {
            let size = dim.evaluate(&|symbol| sizes.get(symbol.index()).copied().flatten());
            size.ok().and_then(|size| usize::try_from(size).ok())
        };
        // Lists without a fixed size are checked when they are bound.
        let fits = |dims: &[Dim], shape: &[Option<usize>]| {
            let same = |(dim, size): (&Dim, &Option<usize>)| match (value(dim), size) {
                (Some(value), Some(size)) => value == *size,
                _ => true,
            };
            dims.len() == shape.len() && dims.iter().zip(shape).all(same)
        };
        let wanted = |input: &InputInfo| {
            let size = |dim: &Dim| match value(dim) {
                Some(size) => size.to_string(),
                None if dim.as_symbol() == Some(self.rows) => "n".to_owned(),
                None => "_".to_owned(),
            };
            let sizes: Vec<String> = input.shape.iter().map(size).collect();
            format!("{}[{}]", input.dtype, sizes.join(", "))
        };
        for input in self.graph.inputs() {
            if let Some((name, kind)) = types.iter().find(|(name, _)| **name == *input.name) {
                if !fits(input.shape.get(1..).unwrap_or_default(), &kind.row) || kind.dtype != input.dtype {
                    return Err(ColumnError::of_type(name, kind, wanted(input), input.dtype));
                }
            } else if let Some((name, array)) = constants.iter().find(|(name, _)| **name == *input.name)
                && (!fits(&input.shape, &ColumnType::fixed(array.dtype(), array.shape()).row)
                    || array.dtype() != input.dtype)
            {
                let found = format!("{}{:?}", array.dtype(), array.shape());
                return Err(ColumnError::Constant { input: name.clone(), found, wanted: wanted(input) });
            }
        }
        Ok(())
    }

    fn mixes(&self, split: &Split, expr: ExprId) -> bool {
        let along = |expr: ExprId| split.axis_of_rows[expr.index()];
        match self.graph.node(expr) {
            Node::Size(size) => size.symbols().contains(&self.rows),
            Node::Iota => along(expr).is_some(),
            Node::Scan { axis, .. } => along(expr) == Some(*axis),
            _ => along(expr).is_none() && self.graph.operands(expr).iter().any(|of| along(*of).is_some()),
        }
    }

    /// Returns whether an expression, or one that it is computed from, combines rows.
    pub(crate) fn mixes_below(&self, expr: ExprId) -> bool {
        let Ok(split) = &self.split else { return true };
        let mut seen = vec![false; self.graph.len()];
        let mut stack = vec![expr];
        while let Some(expr) = stack.pop() {
            if !std::mem::replace(&mut seen[expr.index()], true) {
                if self.mixes(split, expr) {
                    return true;
                }
                stack.extend(self.graph.operands(expr));
            }
        }
        false
    }

    /// Returns a name for inputs, with which no name of an input starts.
    pub(crate) fn unused_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.graph.inputs().iter().any(|input| input.name.starts_with(&name)) {
            name.insert(0, '%');
        }
        name
    }

    /// Returns the name of the function that made an expression.
    pub(crate) fn name(&self, expr: ExprId) -> String {
        match self.graph.node(expr) {
            Node::Size(_) => "len".to_owned(),
            Node::Iota => "arange".to_owned(),
            _ => self.graph.call(expr).to_owned(),
        }
    }

    /// Returns the name of the size of the rows.
    pub(crate) fn rows_name(&self) -> &str {
        &self.graph.symbols()[self.rows.index()].name
    }

    pub(crate) fn is_column(&self, input: &InputInfo) -> bool {
        input.shape.first().and_then(Dim::as_symbol) == Some(self.rows)
    }

    /// Returns whether an output has a value for each row.
    pub(crate) fn has_rows(&self, expr: ExprId) -> bool {
        self.graph.shape(expr).first().and_then(Dim::as_symbol) == Some(self.rows)
    }

    /// Returns the columns that an expression depends on, by the numbers of the inputs. The number of rows depends on
    /// all columns, because a row with a null in any of them does not count.
    pub(crate) fn columns_of(&self, output: ExprId) -> Vec<usize> {
        let inputs = self.graph.inputs();
        let mut is_read = vec![false; inputs.len()];
        let mut seen = vec![false; self.graph.len()];
        let mut stack = vec![output];
        while let Some(expr) = stack.pop() {
            if std::mem::replace(&mut seen[expr.index()], true) {
                continue;
            }
            let counts_rows = |size: &Dim| size.symbols().contains(&self.rows);
            match self.graph.node(expr) {
                Node::Input(input) => is_read[input.index()] = true,
                Node::Size(size) if counts_rows(size) => is_read.fill(true),
                Node::Iota if self.graph.shape(expr).iter().any(counts_rows) => is_read.fill(true),
                _ => stack.extend(self.graph.operands(expr)),
            }
        }
        (0..inputs.len()).filter(|input| is_read[*input] && self.is_column(&inputs[*input])).collect()
    }

    /// Returns whether data can be without a result: an index out of range, say.
    pub(crate) fn can_fail(&self) -> bool {
        let graph = &self.graph;
        graph.exprs().any(|expr| graph.node(expr).can_fail(|operand| graph.dtype(operand)))
    }

    /// Returns the sizes that the types of columns and the shapes of constants determine, by the numbers of the
    /// symbols.
    pub(crate) fn sizes(
        &self,
        types: &[(String, ColumnType)],
        constants: &[(String, AnyArray)],
    ) -> Vec<Option<i64>> {
        let graph = &self.graph;
        let mut sizes: Vec<Option<i64>> = vec![None; graph.symbols().len()];
        let of_input = |input: &InputInfo, axis: usize| -> Option<i64> {
            let size = if self.is_column(input) {
                let kind = types.iter().find(|(name, _)| **name == *input.name).map(|(_, kind)| kind)?;
                kind.row.get(axis.checked_sub(1)?).copied().flatten()
            } else {
                let constant = constants.iter().find(|(name, _)| **name == *input.name);
                constant.and_then(|(_, array)| array.shape().get(axis).copied())
            };
            size.and_then(|size| i64::try_from(size).ok())
        };
        let solved = |sizes: &[Option<i64>], dim: &Dim, symbol: SymbolId, size: i64| {
            let (factor, rest) = dim.linear_in(symbol)?;
            let rest = rest.evaluate(&|symbol| sizes[symbol.index()]).ok()?;
            size.checked_sub(rest)?.checked_div(factor)
        };
        for solution in graph.solutions() {
            let (input, symbol) = (&graph.inputs()[solution.input.index()], solution.symbol);
            let size = of_input(input, solution.axis);
            sizes[symbol.index()] =
                size.and_then(|size| solved(&sizes, &input.shape[solution.axis], symbol, size));
            if sizes[symbol.index()].is_some() {
                continue;
            }
            // Lists do not tell the size before they are there, but another input with the same size may.
            let others = graph
                .inputs()
                .iter()
                .flat_map(|input| (0..input.shape.rank()).map(move |axis| (input, axis)));
            sizes[symbol.index()] = others
                .filter(|(input, axis)| input.shape[*axis].as_symbol() == Some(symbol))
                .find_map(|(input, axis)| of_input(input, axis));
        }
        sizes
    }

    /// Returns whether a size follows from the lengths of lists that have no fixed size, by the numbers of the symbols.
    fn follows_from_lists(&self, types: &[(String, ColumnType)]) -> Vec<bool> {
        let graph = &self.graph;
        let mut follows = vec![false; graph.symbols().len()];
        for solution in graph.solutions() {
            let input = &graph.inputs()[solution.input.index()];
            let kind = types.iter().find(|(name, _)| **name == *input.name).map(|(_, kind)| kind);
            let size = solution.axis.checked_sub(1).and_then(|axis| kind?.row.get(axis));
            let is_list = self.is_column(input) && size.is_some_and(Option::is_none);
            let mut others = input.shape[solution.axis].symbols();
            others.retain(|symbol| *symbol != solution.symbol);
            follows[solution.symbol.index()] = is_list || others.iter().any(|symbol| follows[symbol.index()]);
        }
        follows
    }

    /// Returns the types of the results for columns of these types; a total has the type of its only row. A size that follows
    /// from the lengths of lists is not fixed.
    ///
    /// # Errors
    /// Returns an error if a size of a result does not follow from the types.
    pub fn output_types(
        &self,
        types: &[(String, ColumnType)],
        constants: &[(String, AnyArray)],
    ) -> Result<Vec<(String, ColumnType)>, ColumnError> {
        let sizes = self.sizes(types, constants);
        let follows = self.follows_from_lists(types);
        let outputs = self.graph.outputs().iter().map(|output| {
            let shape = self.graph.shape(output.expr);
            let row = shape.iter().skip(usize::from(self.has_rows(output.expr)));
            let row = row.map(|dim| {
                let size = dim.evaluate(&|symbol| sizes.get(symbol.index()).copied().flatten());
                match size.ok().and_then(|size| usize::try_from(size).ok()) {
                    Some(size) => Ok(Some(size)),
                    None => {
                        let mut unknown = dim.symbols();
                        unknown.retain(|symbol| sizes[symbol.index()].is_none());
                        match !unknown.is_empty() && unknown.iter().all(|symbol| follows[symbol.index()]) {
                            true => Ok(None),
                            false => Err(ColumnError::Size { output: output.name.to_string() }),
                        }
                    }
                }
            });
            let row = row.collect::<Result<_, _>>()?;
            Ok((output.name.to_string(), ColumnType { dtype: self.graph.dtype(output.expr), row }))
        });
        outputs.collect()
    }
}
