//! Splits a text into tokens.
//!
//! A line ends a statement unless a bracket is open, as in Python. `#` begins a comment, except for the mark of an
//! input's axis that may be 1 (`x: f32[#n, 3]`): that one follows `[` or `,` within brackets and has no space after it.

use crate::error::{Limit, Mistake};
use crate::source::Span;
use logos::{Lexer, Logos};

/// A token without its text.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(skip r"([ \t\r\x0c]|\\\r?\n)+")]
pub(crate) enum Token {
    #[regex(r"[0-9][0-9_]*|0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+")]
    Int,
    #[regex(r"([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)([eE][+-]?[0-9]+)?")]
    #[regex(r"[0-9][0-9_]*[eE][+-]?[0-9]+")]
    Float,
    #[regex(r"[\p{XID_Start}_]\p{XID_Continue}*")]
    Name,
    /// A name in double quotes, for names that are not identifiers.
    #[regex(r#""[^"\n]*""#)]
    Quoted,
    /// A string with a prefix, which the language does not have.
    #[regex(r#"[fFrRbB]"[^"\n]*""#)]
    #[regex(r"[fFrRbB]?'[^'\n]*'")]
    String,
    #[token("\n")]
    #[token(";")]
    End,
    #[token("**")]
    StarStar,
    #[token("//")]
    SlashSlash,
    #[token("<<")]
    ShiftLeft,
    #[token(">>")]
    ShiftRight,
    #[token("<=")]
    LessEqual,
    #[token(">=")]
    GreaterEqual,
    #[token("==")]
    EqualEqual,
    #[token("!=")]
    NotEqual,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token(":=")]
    #[token("+=")]
    #[token("-=")]
    #[token("*=")]
    #[token("/=")]
    Update,
    #[token("...")]
    Ellipsis,
    #[token("<")]
    Less,
    #[token(">")]
    Greater,
    #[token("=")]
    Equal,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("@")]
    At,
    #[token("&")]
    And,
    #[token("|")]
    Or,
    #[token("^")]
    Caret,
    #[token("~")]
    Tilde,
    #[token("!")]
    Bang,
    #[token(":")]
    Colon,
    #[token(",")]
    Comma,
    #[token(".")]
    Dot,
    #[token("(")]
    ParenOpen,
    #[token(")")]
    ParenClose,
    #[token("[")]
    BracketOpen,
    #[token("]")]
    BracketClose,
    #[token("{")]
    #[token("}")]
    Brace,
    #[token("#")]
    Hash,
    /// A character that starts no token.
    Unknown,
}

/// A token and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spanned {
    pub token: Token,
    pub span: Span,
}

/// Words that begin a statement when a name follows them.
const STATEMENTS: &[&str] = &["symbols", "parameters", "assume", "input", "let", "output", "assign"];

/// Returns all tokens of a text that begins at a position of the source, without comments and without line ends inside
/// brackets.
///
/// # Errors
/// Returns an error if there are more tokens than the limit.
pub(crate) fn tokens(text: &str, from: usize, limit: usize) -> Result<Vec<Spanned>, Mistake> {
    let mut lexer = Token::lexer(text);
    let mut tokens: Vec<Spanned> = Vec::new();
    let mut open = 0_usize;
    let mut is_line_start = false;
    while let Some(token) = lexer.next() {
        let span = Span::from(from + lexer.span().start..from + lexer.span().end);
        let token = token.unwrap_or(Token::Unknown);
        match token {
            Token::Hash if !is_mark(&lexer, open, tokens.last()) => {
                let rest = lexer.remainder();
                lexer.bump(rest.find('\n').unwrap_or(rest.len()));
                continue;
            }
            Token::End if open > 0 && lexer.slice() == "\n" => {
                is_line_start = true;
                continue;
            }
            Token::End => open = 0,
            // A missing bracket does not hide the statements below it.
            Token::Name if open > 0 && is_line_start && begins_statement(&lexer) => {
                open = 0;
                tokens.push(Spanned { token: Token::End, span: Span { start: span.start, end: span.start } });
            }
            Token::ParenOpen | Token::BracketOpen => open += 1,
            Token::ParenClose | Token::BracketClose => open = open.saturating_sub(1),
            _ => {}
        }
        is_line_start = false;
        if tokens.len() >= limit {
            return Err(Mistake::limit(Limit::Tokens, limit, span));
        }
        tokens.push(Spanned { token, span });
    }
    Ok(tokens)
}

/// Whether a text is one name.
pub(crate) fn is_name(text: &str) -> bool {
    let mut lexer = Token::lexer(text);
    lexer.next() == Some(Ok(Token::Name)) && lexer.slice() == text
}

/// Whether the name at hand is the word that begins a statement.
fn begins_statement(lexer: &Lexer<'_, Token>) -> bool {
    let next = lexer.remainder().trim_start_matches([' ', '\t']).chars().next();
    STATEMENTS.contains(&lexer.slice())
        && next.is_some_and(|next| next == '_' || next == '"' || next.is_alphabetic())
}

/// Whether a `#` marks an axis.
fn is_mark(lexer: &Lexer<'_, Token>, open: usize, previous: Option<&Spanned>) -> bool {
    let follows =
        previous.is_some_and(|previous| matches!(previous.token, Token::BracketOpen | Token::Comma));
    let next = lexer.remainder().chars().next();
    open > 0 && follows && next.is_some_and(|next| next == '_' || next == '(' || next.is_alphanumeric())
}
