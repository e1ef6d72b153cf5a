//! Expressions, shapes, diagnostics, simplifications and the interpreter: one program for all suites.

mod assign;
mod diagnostics;
mod dims;
mod dtypes;
mod graphs;
mod hostile;
mod interpreter;
mod layers;
mod lints;
mod op_table;
mod shape_cases;
mod support;
mod transform;
mod unification;
