//! Functions that an embedding program adds to the language.

use crate::names;
use broadloom_ir::ExprId;
use broadloom_ir::graph::{Graph, Site};
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// Functions that a program adds to the language, by their names: texts call them like those of the language, also as methods
/// of their first argument.
///
/// A function builds expressions from those of its arguments. `broadloom::function` makes one of a closure over tensors.
///
/// ```
/// use broadloom_text::{Formula, Functions};
/// use broadloom::{DType, function};
/// let functions = Functions::new()
///     .add("rms", ["x"], function(|[x]| (x * x).mean(..).sqrt()))?
///     .add("between", ["x", "low", "high"], function(|[x, low, high]| x.ge(low) & x.le(high)))?;
/// let formula = |text| Formula::new(text).with_functions(&functions).column("speed", "Speed [m/s]", DType::F32);
/// assert_eq!(broadloom_text::signature(&formula("rms(speed)").resolve()?), "result: f32[]\n");
/// assert_eq!(broadloom_text::signature(&formula("speed.between(0, high=10)").resolve()?), "result: bool[n]\n");
///
/// let mistakes = formula("rsm(speed)").resolve().unwrap_err();
/// assert!(format!("{mistakes:#}").contains("did you mean `rms`?"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Functions(Vec<Own>);

/// A function of the embedding program.
#[derive(Clone)]
pub(crate) struct Own {
    pub name: Box<str>,
    pub parameters: Arc<[Box<str>]>,
    build: Arc<Build>,
}

type Build = dyn Fn(&mut Graph, &[ExprId], Site) -> ExprId + Send + Sync;

impl Functions {
    /// Creates an empty list.
    ///
    /// ```
    /// assert_eq!(broadloom_text::Functions::new().names().count(), 0);
    /// ```
    pub fn new() -> Functions {
        Functions::default()
    }

    /// Adds a function with its parameters, all of which are tensors. It is called for each call in a text, and again where a
    /// text is read more than once; the expressions that it makes count for [`Limits::nodes`](crate::Limits::nodes), and belong
    /// to the call in messages.
    ///
    /// ```
    /// use broadloom_text::{FunctionError, Functions};
    /// let twice = || broadloom::function(|[x]| 2 * x);
    /// let functions = Functions::new().add("twice", ["x"], twice())?;
    /// assert!(matches!(functions.clone().add("twice", ["x"], twice()), Err(FunctionError::Repeated { .. })));
    /// assert!(matches!(functions.add("sum", ["x"], twice()), Err(FunctionError::Taken { .. })));
    /// # Ok::<(), FunctionError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the language has the name, if it was added before, or if a name is not an identifier.
    pub fn add<const N: usize>(
        mut self,
        name: &str,
        parameters: [&str; N],
        build: impl Fn(&mut Graph, [ExprId; N], Site) -> ExprId + Send + Sync + 'static,
    ) -> Result<Functions, FunctionError> {
        let own = || name.to_owned();
        if !is_identifier(name) {
            return Err(FunctionError::Name { name: own() });
        }
        if is_taken(name) {
            return Err(FunctionError::Taken { name: own() });
        }
        if self.get(name).is_some() {
            return Err(FunctionError::Repeated { name: own() });
        }
        for (at, parameter) in parameters.iter().enumerate() {
            let is_repeated = parameters.iter().take(at).any(|before| before == parameter);
            if !is_identifier(parameter) || is_repeated || *parameter == names::OUT {
                return Err(FunctionError::Parameter { function: own(), parameter: (*parameter).to_owned() });
            }
        }
        let build = move |graph: &mut Graph, operands: &[ExprId], site: Site| match operands.try_into() {
            Ok(operands) => build(graph, operands, site),
            Err(_) => graph.poison(),
        };
        self.0.push(Own {
            name: name.into(),
            parameters: parameters.into_iter().map(Box::from).collect(),
            build: Arc::new(build),
        });
        Ok(self)
    }

    /// Returns the names, in the order in which they were added.
    ///
    /// ```
    /// let functions = broadloom_text::Functions::new().add("twice", ["x"], broadloom::function(|[x]| 2 * x))?;
    /// assert_eq!(functions.names().collect::<Vec<_>>(), ["twice"]);
    /// # Ok::<(), broadloom_text::FunctionError>(())
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|own| &*own.name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Own> {
        self.0.iter().find(|own| *own.name == *name)
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

impl Own {
    /// Builds the expression of a call with as many operands as there are parameters.
    pub(crate) fn call(&self, graph: &mut Graph, operands: &[ExprId], site: Site) -> ExprId {
        graph.within_call(&self.name, site, |graph| (self.build)(graph, operands, site))
    }
}

/// Why a function cannot be added to the language.
///
/// ```
/// use broadloom_text::Functions;
/// let error = Functions::new().add("arcsin", ["x"], broadloom::function(|[x]| x)).unwrap_err();
/// assert_eq!(error.to_string(), "the language has the name `arcsin`: choose another one, such as `my_arcsin`");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FunctionError {
    /// The name does not consist of letters, digits and `_`.
    #[error(
        "{name:?} cannot be called: a name consists of letters, digits and `_`, and does not begin with a digit"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The language has a function, a dtype or a keyword of this name.
    #[error("the language has the name `{name}`: choose another one, such as `my_{name}`")]
    Taken {
        /// The name.
        name: String,
    },
    /// A function of this name was added before.
    #[error("there is already a function `{name}`: add it once, or choose another name")]
    Repeated {
        /// The name.
        name: String,
    },
    /// A parameter has the name of another one, or a name that cannot be written as a keyword argument.
    #[error(
        "{parameter:?} cannot name a parameter of `{function}`: write a name of letters, digits and `_` that is not `out` and that no other parameter has"
    )]
    Parameter {
        /// The name of the function.
        function: String,
        /// The name of the parameter.
        parameter: String,
    },
}

/// The words of statements, and those of Python for which the language has a message.
const WORDS: &[&str] = &[
    "symbols",
    "parameters",
    "assume",
    "likely",
    "input",
    "let",
    "output",
    "assign",
    "for",
    "loop",
    "while",
    "next",
    "end",
    "with",
    "break",
    "continue",
    "if",
    "else",
    "return",
    "and",
    "or",
    "not",
    "in",
    "is",
    "lambda",
    "def",
    "import",
    "from",
    "True",
    "False",
    "None",
    "newaxis",
    "at",
];

/// Returns whether the language gives a name a meaning of its own.
fn is_taken(name: &str) -> bool {
    names::function(name).is_some()
        || names::dtype(name).is_some()
        || names::constant(name).is_some()
        || WORDS.contains(&name)
}

/// Returns whether the tokens of a text contain this as one name.
fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && letters.all(|letter| letter == '_' || letter.is_alphanumeric())
}
