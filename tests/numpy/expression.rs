//! The notation of expressions: names, numbers, lists, and calls with positional and named arguments, as Python has
//! them.

use std::iter::Peekable;
use std::str::Chars;

/// An expression as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// An input, a dtype or a word.
    Name(String),
    /// `None`
    Nothing,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Expression>),
    Call {
        name: String,
        arguments: Vec<Expression>,
        named: Vec<(String, Expression)>,
    },
}

/// The expression of a text. The texts are our own, so that a mistake is a panic.
pub fn parse(text: &str) -> Expression {
    let mut letters = text.chars().peekable();
    let result = expression(&mut letters);
    assert_eq!(letters.next(), None, "{text}");
    result
}

fn skip_spaces(letters: &mut Peekable<Chars>) {
    while letters.next_if_eq(&' ').is_some() {}
}

fn word(letters: &mut Peekable<Chars>) -> String {
    let mut word = String::new();
    while let Some(letter) = letters.next_if(|letter| letter.is_alphanumeric() || "_.".contains(*letter)) {
        word.push(letter);
        // The sign of an exponent.
        if letter == 'e' && word.starts_with(|first: char| first.is_ascii_digit()) {
            word.extend(letters.next_if(|sign| "+-".contains(*sign)));
        }
    }
    word
}

fn expression(letters: &mut Peekable<Chars>) -> Expression {
    skip_spaces(letters);
    if letters.next_if_eq(&'[').is_some() {
        return Expression::List(list(letters, ']').0);
    }
    if letters.next_if_eq(&'"').is_some() {
        let text = std::iter::from_fn(|| letters.next_if(|letter| *letter != '"')).collect();
        assert_eq!(letters.next(), Some('"'), "a text ends");
        return Expression::Text(text);
    }
    let negative = letters.next_if_eq(&'-').is_some();
    let word = word(letters);
    if letters.next_if_eq(&'(').is_some() {
        let (arguments, named) = list(letters, ')');
        return Expression::Call { name: word, arguments, named };
    }
    if let Ok(value) = format!("{}{word}", if negative { "-" } else { "" }).parse() {
        return Expression::Int(value);
    }
    // Rust's words for infinity and NaN are those of the notation.
    if let Ok(value) = word.parse::<f64>() {
        return Expression::Float(if negative { -value } else { value });
    }
    match &*word {
        "None" => Expression::Nothing,
        "True" => Expression::Bool(true),
        "False" => Expression::Bool(false),
        _ => Expression::Name(word),
    }
}

/// What stands between commas up to the closing letter: values, and named ones.
fn list(letters: &mut Peekable<Chars>, close: char) -> (Vec<Expression>, Vec<(String, Expression)>) {
    let (mut values, mut named) = (Vec::new(), Vec::new());
    loop {
        skip_spaces(letters);
        if letters.next_if_eq(&close).is_some() {
            return (values, named);
        }
        let value = expression(letters);
        match value {
            Expression::Name(name) if letters.next_if_eq(&'=').is_some() => {
                named.push((name, expression(letters)));
            }
            value => values.push(value),
        }
        skip_spaces(letters);
        let _ = letters.next_if_eq(&',');
    }
}
