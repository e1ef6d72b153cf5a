//! Ways to compile: several threads and the widest vectors, narrow vectors, and none.

use broadloom::{CompileOptions, Threads};

pub fn options() -> [CompileOptions; 3] {
    let plain = CompileOptions { parallel_threshold: 0, ..CompileOptions::default() };
    [
        plain.clone(),
        CompileOptions { threads: Threads::Calling, vector_bytes: 16, ..plain.clone() },
        CompileOptions { vectorize: false, ..plain },
    ]
}
