//! Parses subscripts into labels.

use super::MAX_OPERANDS;
use crate::graph::product::{Label, Layout};
use crate::problem::{Misspelled, Problem, Rule, Subscripts};
use std::ops::Range;

/// The labels of letters, in the order of their codes; the labels of the axes of `...` follow them.
const LETTERS: usize = 52;

/// A subscript: a letter, or the axes without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subscript {
    Letter(char),
    Ellipsis,
}

/// The subscripts of an operand or of the result, each with its position in the text.
struct Term {
    subscripts: Vec<(Subscript, usize)>,
    span: Range<usize>,
}

impl Term {
    fn has_ellipsis(&self) -> bool {
        self.subscripts.iter().any(|(subscript, _)| *subscript == Subscript::Ellipsis)
    }

    fn letters(&self) -> impl Iterator<Item = char> {
        self.subscripts.iter().filter_map(|(subscript, _)| match subscript {
            Subscript::Letter(letter) => Some(*letter),
            Subscript::Ellipsis => None,
        })
    }
}

/// Returns a letter's label.
fn label(letter: char) -> Label {
    match letter {
        'A'..='Z' => letter as usize - 'A' as usize,
        _ => letter as usize - 'a' as usize + LETTERS / 2,
    }
}

/// Returns the layout that the subscripts describe for operands of these ranks.
pub(super) fn layout(text: &str, ranks: &[usize]) -> Result<Layout, Problem> {
    read(text, ranks)
        .map_err(|(because, at)| Problem::Subscripts(Box::new(Subscripts { text: text.into(), at, because })))
}

type Read<T> = Result<T, (Misspelled, Range<usize>)>;

fn read(text: &str, ranks: &[usize]) -> Read<Layout> {
    let (inputs, result) = match text.find("->") {
        Some(arrow) => (0..arrow, Some(arrow + 2..text.len())),
        None => (0..text.len(), None),
    };
    if let Some(result) = &result {
        let rest = &text[result.clone()];
        if let Some(at) = rest.find("->") {
            return Err((Misspelled::SecondArrow, result.start + at..result.start + at + 2));
        }
        if let Some(at) = rest.find(',') {
            return Err((Misspelled::SeveralResults, result.start + at..result.start + at + 1));
        }
    }
    let mut terms = Vec::new();
    let mut start = 0;
    for part in text[inputs].split(',') {
        if terms.len() == MAX_OPERANDS {
            return Err((Misspelled::TooMany { most: MAX_OPERANDS }, start..start + part.len()));
        }
        terms.push(term(text, start..start + part.len())?);
        start += part.len() + 1;
    }
    let result = result.map(|result| term(text, result)).transpose()?;
    if terms.len() != ranks.len() {
        let because = Misspelled::Operands { named: terms.len(), given: ranks.len() };
        // The first excess term, or the position where the next term would start.
        let at = match terms.get(ranks.len()) {
            Some(surplus) => surplus.span.clone(),
            None => terms.last().map_or(0..0, |last| last.span.end..last.span.end),
        };
        return Err((because, at));
    }
    for (operand, (term, &rank)) in terms.iter().zip(ranks).enumerate() {
        let named = term.letters().count();
        if named > rank || named < rank && !term.has_ellipsis() {
            return Err((Misspelled::Axes { operand, named, rank }, term.span.clone()));
        }
    }
    // The axes of `...` align at the last one.
    let unnamed = |term: &Term, rank: usize| rank - term.letters().count();
    let most = terms.iter().zip(ranks).map(|(term, &rank)| unnamed(term, rank)).max().unwrap_or(0);
    let labels = |term: &Term, count: usize| {
        let of = |&(subscript, _): &(Subscript, usize)| match subscript {
            Subscript::Letter(letter) => label(letter)..label(letter) + 1,
            Subscript::Ellipsis => LETTERS + most - count..LETTERS + most,
        };
        term.subscripts.iter().flat_map(of).collect::<Vec<Label>>()
    };
    let out = match &result {
        Some(result) => {
            check_result(result, &terms, most)?;
            labels(result, most)
        }
        None => {
            let mut once: Vec<Label> = (0..LETTERS).collect();
            let count = |wanted: Label| {
                terms.iter().flat_map(Term::letters).filter(|&letter| label(letter) == wanted).count()
            };
            once.retain(|&wanted| count(wanted) == 1);
            (LETTERS..LETTERS + most).chain(once).collect()
        }
    };
    let mut heads: Vec<Option<Box<str>>> = vec![None; LETTERS];
    for letter in terms.iter().flat_map(Term::letters) {
        heads[label(letter)] = Some(letter.to_string().into());
    }
    heads.resize(LETTERS + most, Some("...".into()));
    Ok(Layout {
        labels: terms.iter().zip(ranks).map(|(term, &rank)| labels(term, unnamed(term, rank))).collect(),
        out,
        rules: vec![Rule::Subscript; LETTERS + most],
        heads,
    })
}

/// Returns the subscripts in a part of the text.
fn term(text: &str, span: Range<usize>) -> Read<Term> {
    let mut subscripts: Vec<(Subscript, usize)> = Vec::new();
    let mut rest = span.clone();
    while let Some(letter) = text[rest.clone()].chars().next() {
        let at = rest.start;
        let width = if text[rest.clone()].starts_with("...") { 3 } else { letter.len_utf8() };
        rest.start += width;
        let wrong = |because| Err((because, at..at + width));
        match letter {
            letter if letter.is_whitespace() => {}
            letter if letter.is_ascii_alphabetic() => subscripts.push((Subscript::Letter(letter), at)),
            '.' if width == 1 => return wrong(Misspelled::Dot),
            '.' if subscripts.iter().any(|(known, _)| *known == Subscript::Ellipsis) => {
                return wrong(Misspelled::SecondEllipsis);
            }
            '.' => subscripts.push((Subscript::Ellipsis, at)),
            '-' | '>' => return wrong(Misspelled::Arrow),
            other => return wrong(Misspelled::Character(other)),
        }
    }
    Ok(Term { subscripts, span })
}

fn check_result(result: &Term, terms: &[Term], unnamed: usize) -> Read<()> {
    for (index, &(subscript, at)) in result.subscripts.iter().enumerate() {
        let Subscript::Letter(letter) = subscript else { continue };
        if result.subscripts[..index].iter().any(|(earlier, _)| *earlier == subscript) {
            return Err((Misspelled::Repeated(letter), at..at + 1));
        }
        if !terms.iter().any(|term| term.letters().any(|known| known == letter)) {
            return Err((Misspelled::Unknown(letter), at..at + 1));
        }
    }
    if unnamed > 0 && !result.has_ellipsis() {
        return Err((Misspelled::LostEllipsis, result.span.clone()));
    }
    Ok(())
}
