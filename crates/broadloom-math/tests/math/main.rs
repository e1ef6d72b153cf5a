//! Tests of the elementary functions: special values, accuracy against sources that are not ours, and
//! equality of scalar calls and tiles to the bit.

mod accuracy;
mod best;
mod distances;
mod order;
mod proof;
mod special;
mod tiles;
mod traces;
mod transpose;
