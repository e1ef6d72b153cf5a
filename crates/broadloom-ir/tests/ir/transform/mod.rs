//! Rewritten graphs: the same bits on special values, the same errors, the same outputs and demands.

mod data;
mod graphs;
mod kept;
mod refused;
mod rules;
