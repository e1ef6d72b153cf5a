//! x
#[test] fn ok() {}
