//! Files of columns, in a program that is built without the feature `arrow`.

use super::content::Content;
use super::format::ColumnFormat;
use super::sink::{Heads, Sink};
use super::table::cells::Reads;
use super::table::numbers::Spelling;
use super::table::reading::{Elements, Part};
use super::table::{Described, Profile};
use crate::failure::Failure;
use broadloom::DType;
use std::collections::BTreeSet;
use std::io::Write;
use std::rc::Rc;

/// Never has a value.
#[derive(Debug)]
pub enum Columns {}

fn unsupported(what: &str) -> Failure {
    Failure::usage(format!("{what}: this program was built without Parquet and Arrow"))
        .help_code("build it with them:", "cargo install --path crates/broadloom-cli --features arrow")
}

/// # Errors
/// Returns an error always.
pub fn create(_: impl Write, _: ColumnFormat, _: Vec<String>, _: Heads) -> Result<Box<dyn Sink>, Failure> {
    Err(unsupported("the results cannot be written"))
}

impl Columns {
    /// # Errors
    /// Returns an error always.
    pub fn open(
        content: &Rc<Content>,
        _: ColumnFormat,
        _: &Spelling,
    ) -> Result<(Columns, Described), Failure> {
        Err(unsupported(&content.name()))
    }

    pub fn nulls(&self, _: usize, _: DType) -> Result<usize, Failure> {
        match *self {}
    }

    pub fn first_null(&self, _: usize) -> Result<Option<usize>, Failure> {
        match *self {}
    }

    pub fn have_texts(&self, _: usize) -> bool {
        match *self {}
    }

    pub fn first_rounded(&self, _: usize, _: DType) -> Result<Option<(usize, String)>, Failure> {
        match *self {}
    }

    pub fn texts(&self, _: usize) -> Result<BTreeSet<Box<str>>, Failure> {
        match *self {}
    }

    pub fn dates(&self, _: usize, _: Reads) -> Result<Profile, Failure> {
        match *self {}
    }

    pub fn pass(&self, _: impl Iterator<Item = usize>) -> Result<Pass, Failure> {
        match *self {}
    }
}

/// Never has a value.
#[derive(Debug)]
pub enum Pass {}

impl Pass {
    pub fn fill(&mut self, _: usize, _: &mut [(Part, Elements)]) -> Result<(), Failure> {
        match *self {}
    }
}
