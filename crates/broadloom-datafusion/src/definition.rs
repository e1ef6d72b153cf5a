//! What a function computes: an expression or a program, with constant arrays. Two functions are equal if their
//! definitions have the same bytes; the same bytes travel to other processes.

use crate::names::listed;
use arrow_schema::DataType;
use broadloom::{AnyArray, CheckedGraph, DType};
use broadloom_arrow::{ColumnType, RowGraph, array_from_bytes, write_array};
use broadloom_ir::graph::InputInfo;
use broadloom_text::Program;
use datafusion_common::{DataFusionError, Result, exec_err, plan_err};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The name of the size of the rows in expressions.
pub(crate) const ROWS: &str = "n";
/// What definitions start with; the last byte is the version of their form and of the language of expressions.
const MAGIC: [u8; 8] = *b"broadlm\x02";
/// The most constant arrays of a definition, and the most axes of one.
const MAX_COUNT: usize = 1 << 16;
/// What follows: an expression, a program, or only the arguments.
const EXPRESSION: usize = 0;
const PROGRAM: usize = 1;
const ARGUMENTS: usize = 2;

/// The type of NULL in expressions.
pub(crate) const NULL_IN_EXPRESSIONS: DataType = DataType::Float64;

/// Returns the type that an argument is coerced to, with that of NULL, which lists of nothing have as their elements.
pub(crate) fn typed(data_type: &DataType, null: DataType) -> DataType {
    match data_type {
        DataType::Null => null,
        DataType::List(item) if item.data_type().is_null() => DataType::new_list(null, true),
        other => other.clone(),
    }
}

/// An argument of a function: the name that it stands for, and the shape of its rows. In a plan that travels to another
/// process, the computed columns keep their types, but not that their lists are tensors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Argument {
    /// The name of an input.
    pub name: String,
    /// The shape of a row: empty for numbers, and where the type of the column says it.
    pub row: Vec<usize>,
}

impl Argument {
    /// Returns the type of the argument's column, whose rows have this shape if it has as many elements.
    pub(crate) fn typed(&self, kind: ColumnType) -> ColumnType {
        let elements = self.row.iter().try_fold(1usize, |product, size| product.checked_mul(*size));
        match !self.row.is_empty() && elements.is_some() && elements == kind.elements() {
            true => ColumnType::fixed(kind.dtype, &self.row),
            false => kind,
        }
    }
}

/// What a function computes.
#[derive(Clone)]
pub(crate) struct Definition {
    pub(crate) source: Source,
    pub(crate) constants: Vec<(String, AnyArray)>,
    /// The arguments, once they are decided.
    pub(crate) arguments: Option<Vec<Argument>>,
    /// The definition as bytes, which identify it.
    bytes: Arc<[u8]>,
}

/// The text of a function.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// An expression whose inputs are the arguments, with their types.
    Expression(Arc<str>),
    /// A program that declares its inputs.
    Program {
        /// The printed graph.
        text: Arc<str>,
        graph: CheckedGraph,
        /// The name of the size of the rows.
        rows: String,
    },
}

impl Definition {
    pub(crate) fn expression(text: &str) -> Definition {
        Definition::new(Source::Expression(text.into()), Vec::new(), None)
    }

    pub(crate) fn program(graph: &CheckedGraph, rows: &str) -> Definition {
        let text = broadloom_text::print(graph).into();
        let source = Source::Program { text, graph: graph.clone(), rows: rows.to_owned() };
        Definition::new(source, Vec::new(), None)
    }

    fn new(
        source: Source,
        constants: Vec<(String, AnyArray)>,
        arguments: Option<Vec<Argument>>,
    ) -> Definition {
        let bytes = written(&source, &constants, arguments.as_deref()).into();
        Definition { source, constants, arguments, bytes }
    }

    /// Decides what the arguments are.
    pub(crate) fn with_arguments(&self, arguments: Vec<Argument>) -> Definition {
        Definition::new(self.source.clone(), self.constants.clone(), Some(arguments))
    }

    /// Binds an array to an input of the program.
    pub(crate) fn with_constant(&self, name: &str, array: AnyArray) -> Result<Definition> {
        let Source::Program { graph, .. } = &self.source else {
            return plan_err!("an expression has no constants: write a program, and bind `{name}` to it");
        };
        let Some(input) = graph.inputs().iter().find(|input| *input.name == *name) else {
            let known = graph.inputs().iter().map(|input| &*input.name);
            return plan_err!("the program has no input `{name}`; it has {}", listed(known));
        };
        check_constant(input, &array)?;
        let mut constants = self.constants.clone();
        constants.retain(|(known, _)| known != name);
        constants.push((name.to_owned(), array));
        Ok(Definition::new(self.source.clone(), constants, self.arguments.clone()))
    }

    /// Returns the text of the expression or program.
    pub(crate) fn text(&self) -> &str {
        match &self.source {
            Source::Expression(text) | Source::Program { text, .. } => text,
        }
    }

    /// Returns the dtype to which a column is converted: that of its input, if it has every value of the column.
    pub(crate) fn converted(&self, name: &str, dtype: DType) -> DType {
        let Source::Program { graph, .. } = &self.source else { return dtype };
        let input = graph.inputs().iter().find(|input| *input.name == *name);
        let declared = input.map(|input| input.dtype).filter(|declared| *declared != DType::Bf16);
        declared.filter(|declared| dtype.promote(*declared) == *declared).unwrap_or(dtype)
    }

    /// Returns the types that arguments are coerced to: only NULL needs one.
    pub(crate) fn typed(&self, types: &[DataType]) -> Vec<DataType> {
        let null = match &self.source {
            Source::Expression(_) => NULL_IN_EXPRESSIONS,
            // It is converted to every declared dtype.
            Source::Program { .. } => DataType::Boolean,
        };
        types.iter().map(|data_type| typed(data_type, null.clone())).collect()
    }

    /// Returns the bytes, for other processes and as an identity.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads a definition from another process, which may be hostile.
    pub(crate) fn read(bytes: &[u8]) -> Result<Definition> {
        match Sent::read(bytes)? {
            Sent::Definition(definition) => Ok(definition),
            Sent::Arguments(_) => Err(damaged("it has neither an expression nor a program")),
        }
    }
}

/// What the bytes of a function hold.
pub(crate) enum Sent {
    Definition(Definition),
    /// The arguments, once they are decided: all of a function whose expression is an argument.
    Arguments(Option<Vec<Argument>>),
}

impl Sent {
    /// Reads the bytes of a function from another process, which may be hostile.
    pub(crate) fn read(bytes: &[u8]) -> Result<Sent> {
        let Some(rest) = bytes.strip_prefix(&MAGIC) else {
            return match bytes.starts_with(&MAGIC[..7]) {
                true => exec_err!(
                    "a function was sent by another version of Broadloom: run the same version everywhere"
                ),
                false => exec_err!("the definition of a function is not one of Broadloom's"),
            };
        };
        let mut reader = Reader(rest);
        let sent = reader.sent();
        let sent = sent.ok_or_else(|| damaged("its parts do not fit their lengths"))?;
        match reader.0 {
            [] => sent,
            _ => Err(damaged("it is too long")),
        }
    }

    /// Returns the bytes of a function whose expression is an argument.
    pub(crate) fn arguments(arguments: Option<&[Argument]>) -> Vec<u8> {
        let mut writer = Writer(MAGIC.to_vec());
        writer.number(ARGUMENTS);
        writer.arguments(arguments);
        writer.0
    }
}

/// Checks that an array is one that an input may be bound to.
fn check_constant(input: &InputInfo, array: &AnyArray) -> Result<()> {
    if input.dtype == array.dtype() && input.shape.rank() == array.shape().len() {
        return Ok(());
    }
    plan_err!(
        "`{}` is declared as {} with {} axes, but the array is {} with {}",
        input.name,
        input.dtype,
        input.shape.rank(),
        array.dtype(),
        array.shape().len()
    )
}

fn damaged(what: &str) -> DataFusionError {
    DataFusionError::Execution(format!("the definition of a function is damaged: {what}"))
}

impl PartialEq for Definition {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Definition {}

impl Hash for Definition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes.hash(state);
    }
}

impl std::fmt::Debug for Definition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.text())?;
        let constants = self.constants.iter().map(|(name, array)| format!("{name}: {array:?}"));
        match constants.collect::<Vec<_>>().as_slice() {
            [] => Ok(()),
            constants => write!(f, " with {}", constants.join(", ")),
        }
    }
}

fn written(source: &Source, constants: &[(String, AnyArray)], arguments: Option<&[Argument]>) -> Vec<u8> {
    let mut writer = Writer(MAGIC.to_vec());
    match source {
        Source::Expression(expression) => {
            writer.number(EXPRESSION);
            writer.bytes(expression.as_bytes());
        }
        Source::Program { text, rows, .. } => {
            writer.number(PROGRAM);
            writer.bytes(text.as_bytes());
            writer.bytes(rows.as_bytes());
        }
    }
    writer.arguments(arguments);
    writer.number(constants.len());
    for (name, array) in constants {
        writer.bytes(name.as_bytes());
        writer.bytes(array.dtype().name().as_bytes());
        writer.numbers(array.shape());
        let mut elements = Vec::new();
        write_array(array, &mut elements);
        writer.bytes(&elements);
    }
    writer.0
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: usize) {
        self.0.extend_from_slice(&(number as u64).to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn numbers(&mut self, numbers: &[usize]) {
        self.number(numbers.len());
        numbers.iter().for_each(|number| self.number(*number));
    }

    fn arguments(&mut self, arguments: Option<&[Argument]>) {
        self.number(arguments.map_or(0, |arguments| arguments.len() + 1));
        for Argument { name, row } in arguments.into_iter().flatten() {
            self.bytes(name.as_bytes());
            self.numbers(row);
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<usize> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        usize::try_from(u64::from_le_bytes(*number)).ok()
    }

    fn count(&mut self) -> Option<usize> {
        self.number().filter(|count| *count <= MAX_COUNT)
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn numbers(&mut self) -> Option<Vec<usize>> {
        let count = self.count()?;
        (0..count).map(|_| self.number()).collect()
    }

    fn argument(&mut self) -> Option<Argument> {
        Some(Argument { name: self.text()?.to_owned(), row: self.numbers()? })
    }

    /// The inner `None` says that the arguments are not decided.
    fn arguments(&mut self) -> Option<Option<Vec<Argument>>> {
        match self.count()? {
            0 => Some(None),
            count => (1..count).map(|_| self.argument()).collect::<Option<_>>().map(Some),
        }
    }

    /// `None` if the parts do not fit; an error if the program is not valid.
    fn sent(&mut self) -> Option<Result<Sent>> {
        let source = match self.number()? {
            EXPRESSION => Source::Expression(self.text()?.into()),
            PROGRAM => {
                let (text, rows) = (self.text()?, self.text()?.to_owned());
                let graph = Program::parse("program", text).and_then(|program| program.resolve());
                let graph = match graph {
                    Ok(graph) => graph,
                    Err(mistakes) => return Some(Err(damaged(&format!("\n{mistakes:#}")))),
                };
                if let Err(error) = RowGraph::new(&graph, &rows) {
                    return Some(Err(damaged(&error.to_string())));
                }
                Source::Program { text: text.into(), graph, rows }
            }
            ARGUMENTS => return Some(Ok(Sent::Arguments(self.arguments()?))),
            _ => return None,
        };
        let arguments = self.arguments()?;
        let inputs: &[InputInfo] = match &source {
            Source::Expression(_) => &[],
            Source::Program { graph, .. } => graph.inputs(),
        };
        // Each input gets an array once, so that a reader of many constants takes time in proportion to their bytes.
        let mut free: HashMap<&str, &InputInfo> = inputs.iter().map(|input| (&*input.name, input)).collect();
        let count = self.count()?;
        let mut constants = Vec::new();
        for _ in 0..count {
            let (name, dtype) = (self.text()?, self.text()?);
            let dtype = DType::ALL.iter().copied().find(|known| known.name() == dtype)?;
            let shape = self.numbers()?;
            let array = array_from_bytes(dtype, &shape, self.bytes()?)?;
            let Some(input) = free.remove(name) else {
                return Some(Err(damaged(&format!("it has no input `{name}`, or binds it twice"))));
            };
            if let Err(error) = check_constant(input, &array) {
                return Some(Err(error));
            }
            constants.push((name.to_owned(), array));
        }
        Some(Ok(Sent::Definition(Definition::new(source, constants, arguments))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use broadloom::Array;

    fn nearest() -> Definition {
        let text = "input obs: f32[n, 2]; input codes: f32[k, 2]
            argmin(sum((obs[:, None] - codes) ** 2, axis=-1), axis=1)";
        let graph = Program::parse("nearest", text).unwrap().resolve().unwrap();
        let codes = Array::new(vec![0.5f32, 1.0, 2.0, 4.0], &[2, 2]).unwrap();
        Definition::program(&graph, "n").with_constant("codes", codes.into()).unwrap()
    }

    #[test]
    fn definitions_come_back() {
        let argument = |name: &str, row: &[usize]| Argument { name: name.to_owned(), row: row.to_vec() };
        for definition in [
            nearest(),
            nearest().with_arguments(vec![argument("obs", &[2])]),
            Definition::expression("x + 'é'"),
            Definition::expression("x * y").with_arguments(vec![argument("x", &[]), argument("é", &[2, 3])]),
            Definition::expression("").with_arguments(Vec::new()),
        ] {
            let again = Definition::read(definition.as_bytes()).unwrap();
            assert_eq!(again, definition);
            assert_eq!(again.arguments, definition.arguments);
            assert_eq!(format!("{again:?}"), format!("{definition:?}"));
        }
        assert_ne!(nearest(), Definition::expression(nearest().text()));
    }

    #[test]
    fn damaged_definitions_are_refused() {
        let good = nearest().as_bytes().to_vec();
        for end in 0..good.len() {
            assert!(Definition::read(&good[..end]).is_err(), "{end} bytes");
        }
        assert!(Definition::read(&[good.as_slice(), &[0]].concat()).is_err());
        // Some changes, as in the elements of the array, give another valid definition; none may panic.
        for position in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[position] ^= 1 << bit;
                if let Ok(other) = Definition::read(&bytes) {
                    assert_ne!(other, nearest(), "bit {bit} of byte {position}");
                }
            }
        }
        // A constant that is bound twice, or to no input.
        let twice = [nearest().constants, nearest().constants].concat();
        for constants in [twice, vec![("other".to_owned(), nearest().constants[0].1.clone())]] {
            let bytes = written(&nearest().source, &constants, None);
            let error = Definition::read(&bytes).unwrap_err().to_string();
            assert!(error.contains("binds it twice"), "{error}");
        }
        let mut other = good;
        other[7] += 1;
        assert!(Definition::read(&other).unwrap_err().to_string().contains("another version"));
    }
}
