//! One expression from a person who is not trusted, over columns that the program has.

use crate::error::Mistakes;
use crate::{Functions, Given, Limits, Program};
use broadloom_ir::dtype::DType;
use broadloom_ir::graph::CheckedGraph;
use std::collections::HashSet;

/// The symbol for the number of rows of columns.
const ROWS: &str = "n";

/// One expression from a person who is not trusted, over columns that the program has: everything that bounds the text in one
/// place. `CompileOptions::limits` of the facade bounds what its runs may ask for.
///
/// * Statements are refused, so it neither declares inputs nor adds outputs.
/// * [`Limits`] bound the text and the graph.
/// * Each column has a name for formulas, and the program's own name, which may be any text.
/// * Columns that the formula does not use are not in the graph, however many there are.
///
/// ```
/// use broadloom_ir::dtype::DType;
/// use broadloom_text::{Formula, Limits};
/// let mut limits = Limits::default();
/// (limits.length, limits.nodes) = (1000, 200);
/// let formula = Formula::new("price * amount")
///     .within(limits)
///     .column("price", "Unit price (EUR)", DType::F64)
///     .column("amount", "amount", DType::I64)
///     .column("day", "Day of sale", DType::I32);
/// let graph = formula.resolve()?;
/// assert_eq!(broadloom_text::signature(&graph), "result: f64[n]\n");
/// let columns: Vec<_> = graph.inputs().iter().filter_map(|input| formula.column_of(&input.name)).collect();
/// assert_eq!(columns, ["Unit price (EUR)", "amount"]);
///
/// let mistakes = Formula::new("pice * 2").column("price", "Unit price (EUR)", DType::F64).resolve().unwrap_err();
/// assert!(format!("{mistakes:#}").contains("did you mean `price`?"));
/// # Ok::<(), broadloom_text::Mistakes>(())
/// ```
#[derive(Debug, Clone)]
pub struct Formula<'a> {
    text: &'a str,
    limits: Limits,
    functions: Functions,
    columns: Vec<(Given<'a>, &'a str)>,
}

impl<'a> Formula<'a> {
    /// Takes a text, which is not read yet.
    ///
    /// ```
    /// let graph = broadloom_text::Formula::new("arange(3) + 1").resolve()?;
    /// assert_eq!(broadloom_text::signature(&graph), "result: i64[3]\n");
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    pub fn new(text: &'a str) -> Self {
        Formula { text, limits: Limits::default(), functions: Functions::default(), columns: Vec::new() }
    }

    /// Sets limits other than the default ones. Columns do not count.
    ///
    /// ```
    /// use broadloom_text::{Formula, Limits};
    /// let mut limits = Limits::default();
    /// limits.length = 5;
    /// assert!(Formula::new("1 + 2 + 3").within(limits).resolve().is_err());
    /// ```
    #[must_use]
    pub fn within(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Adds functions to the language, for this formula.
    ///
    /// ```
    /// use broadloom::{DType, function};
    /// use broadloom_text::{Formula, Functions};
    /// let functions = Functions::new().add("rms", ["x"], function(|[x]| (x * x).mean(..).sqrt()))?;
    /// let formula = Formula::new("rms(speed)").with_functions(&functions).column("speed", "Speed [m/s]", DType::F32);
    /// assert_eq!(broadloom_text::signature(&formula.resolve()?), "result: f32[]\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_functions(mut self, functions: &Functions) -> Self {
        self.functions = functions.clone();
        self
    }

    /// Adds a column of numbers, which formulas call `name` and the program calls `column`. All columns have the same number of
    /// rows, `len(name)` in formulas.
    ///
    /// ```
    /// use broadloom_ir::dtype::DType;
    /// let formula = broadloom_text::Formula::new("t - mean(t)").column("t", "Temperature [°C]", DType::F32);
    /// assert_eq!(broadloom_text::signature(&formula.resolve()?), "result: f32[n]\n");
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    #[must_use]
    pub fn column(self, name: &'a str, column: &'a str, dtype: DType) -> Self {
        self.array(Given { name, dtype, shape: &[0], rows: Some(ROWS), names: None }, column)
    }

    /// Adds an array of any rank, or a column whose elements are codes of texts, which the program calls `column`.
    ///
    /// ```
    /// use broadloom_ir::dtype::DType;
    /// use broadloom_text::{Formula, Given};
    /// let points = Given { name: "p", dtype: DType::F32, shape: &[0, 3], rows: Some("n"), names: None };
    /// let formula = Formula::new("sqrt(sum(p * p, axis=1))").array(points, "Points of the survey");
    /// assert_eq!(broadloom_text::signature(&formula.resolve()?), "result: f32[n]\n");
    /// # Ok::<(), broadloom_text::Mistakes>(())
    /// ```
    #[must_use]
    pub fn array(mut self, given: Given<'a>, column: &'a str) -> Self {
        self.columns.push((given, column));
        self
    }

    /// Returns the program's name of an input of the graph.
    ///
    /// ```
    /// use broadloom_ir::dtype::DType;
    /// let formula = broadloom_text::Formula::new("t").column("t", "Temperature [°C]", DType::F32);
    /// assert_eq!(formula.column_of("t"), Some("Temperature [°C]"));
    /// ```
    pub fn column_of(&self, name: &str) -> Option<&'a str> {
        self.columns.iter().find(|(given, _)| given.name == name).map(|(_, column)| *column)
    }

    /// Builds the graph, with one output named `result`, and the columns that the formula uses as inputs.
    ///
    /// ```
    /// let mistakes = broadloom_text::Formula::new("1; output y = 2").resolve().unwrap_err();
    /// assert!(mistakes.to_string().contains("only a single expression is allowed here"));
    /// ```
    ///
    /// # Errors
    /// Returns every mistake in the text, or the limit that it exceeds.
    pub fn resolve(&self) -> Result<CheckedGraph, Mistakes> {
        let program = Program::parse_within("formula", self.text, &self.limits)?;
        let mut program = program.refuse_statements(0)?.with_functions(&self.functions);
        let columns = self.columns.iter().map(|(given, _)| *given);
        let used: HashSet<&str> = program.missing_inputs().into_iter().chain(program.constants()).collect();
        let used: Vec<Given<'_>> = columns.clone().filter(|given| used.contains(given.name)).collect();
        let is_column = |name: &&str| used.iter().any(|given| given.name == *name);
        if program.missing_inputs().iter().all(is_column) {
            return program.resolve_with(&used);
        }
        // A name is wrong: the message may suggest any column.
        program.limits.nodes = program.limits.nodes.saturating_add(self.columns.len());
        program.resolve_with(&columns.collect::<Vec<_>>())
    }
}
