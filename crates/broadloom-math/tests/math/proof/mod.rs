//! What proves the accuracy of the functions; shared by the tests and by `examples/accuracy`.
//!
//! To add a function, write a row in `table.rs`, and a file or a function of its arguments in `samples/`.

pub mod measure;
pub mod pair;
pub mod quick;
pub mod random;
pub mod record;
pub mod render;
pub mod samples;
pub mod table;
pub mod truth;
pub mod ulps;
