//! The syntax tree: expressions in one arena, operands before the expressions that use them.
//!
//! As in the graph, nothing recurses over the tree: every pass walks the arena in order, so neither a long chain
//! nor deep nesting can exhaust the stack.

use crate::source::Span;
use broadloom_ir::graph::Literal;
use std::ops::Range;

/// An expression of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Id(pub u32);

/// A name and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Name {
    pub text: Box<str>,
    pub span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefix {
    Negative,
    Positive,
    Invert,
}

/// Python's binary operators that the language supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Infix {
    Add,
    Subtract,
    Multiply,
    MatMul,
    Divide,
    FloorDivide,
    Remainder,
    Power,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Argument {
    pub keyword: Option<Name>,
    pub value: Id,
}

/// An element between the brackets of an index.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Item {
    At(Id),
    Range { start: Option<Id>, stop: Option<Id>, step: Option<Id> },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Literal(Literal),
    None,
    Ellipsis,
    /// Quoted text, for a function that takes text.
    Text(Box<str>),
    /// `symbols.n`, where `n` alone means an input.
    Symbol(Name),
    /// A quoted name is never a number.
    Name {
        text: Box<str>,
        is_quoted: bool,
    },
    Prefix(Prefix, Id),
    Infix(Infix, Id, Id),
    List(Vec<Id>),
    Tuple(Vec<Id>),
    Attribute {
        base: Id,
        name: Name,
    },
    /// A function, or a method of `receiver`.
    Call {
        name: Name,
        receiver: Option<Id>,
        arguments: Vec<Argument>,
    },
    Index {
        base: Id,
        items: Vec<(Item, Span)>,
    },
}

/// An expression and its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expr {
    pub kind: Kind,
    pub span: Span,
}

/// A size in an input's declaration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum InputSize {
    Given(Id),
    Inferred,
    OneOr(Id),
}

/// A fact from `assume`: a comparison of sizes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fact {
    /// `likely(left) == right`: a hint.
    pub is_hint: bool,
    pub left: Id,
    pub relation: Infix,
    pub right: Id,
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    Symbols(Vec<Name>),
    Parameters(Vec<Name>),
    Assume(Fact),
    Input {
        name: Name,
        dtype: Name,
        sizes: Vec<InputSize>,
    },
    Let {
        name: Name,
        value: Id,
    },
    Output {
        name: Name,
        value: Id,
    },
    Assign {
        name: Name,
        value: Id,
    },
    /// `for t in range(n) with u = x`, or `while condition with u = x`, whose condition is a statement of its own.
    Loop(Header),
    /// The condition of the loop around it.
    While(Id),
    /// The value that a carried one has after a step.
    Next {
        name: Name,
        value: Id,
    },
    /// A value of each step, all of which are stacked.
    Stack {
        name: Name,
        value: Id,
    },
    /// The end of the innermost loop.
    End,
    /// A program that is one expression.
    Result(Id),
    /// A statement with a mistake, and the names that it would have defined.
    Broken {
        names: Vec<Name>,
        of: Broken,
    },
}

/// The beginning of a loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub steps: StepsOf,
    pub carried: Vec<(Name, Id)>,
}

/// What determines the steps of a loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum StepsOf {
    /// A number of steps, which the name counts.
    Range { counter: Name, count: Id },
    /// The rows of arrays, with the names that stand for them, and one that counts.
    Rows { counter: Option<Name>, rows: Vec<(Name, Id)> },
    /// A condition.
    While,
}

/// What an invalid statement would have declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    Symbols,
    Fact,
    /// The beginning of a loop.
    Loop,
    /// The condition of a loop, as a statement in it.
    Condition,
    Other,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    pub action: Action,
    pub span: Span,
    /// The expressions that the statement made.
    pub exprs: Range<u32>,
}

/// A parsed program.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tree {
    pub exprs: Vec<Expr>,
    pub statements: Vec<Statement>,
}

impl Tree {
    pub(crate) fn expr(&self, id: Id) -> &Expr {
        &self.exprs[id.0 as usize]
    }

    pub(crate) fn span(&self, id: Id) -> Span {
        self.expr(id).span
    }
}
