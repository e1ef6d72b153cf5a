//! Tests of the elementary functions: special values, accuracy against sources that are not ours, and
//! equality of scalar calls and tiles to the bit.

mod accuracy;
mod hard;
mod pairs;
mod reference;
mod special;
mod sweep;
mod tiles;
