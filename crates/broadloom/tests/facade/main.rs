//! The facade: one program for all suites that do not need a process of their own, because each program has a code generator in it.

mod called;
mod compress;
mod derivatives;
mod dsl;
mod dtypes;
mod empty;
mod errors;
mod explain;
mod forms;
mod groups;
mod in_place;
mod language;
mod large_graphs;
mod limits;
mod lookups;
mod loops;
#[cfg(feature = "ndarray")]
mod ndarrays;
mod order;
mod plan;
mod positions;
mod print;
mod products;
mod regressions;
mod run;
mod samples;
mod scans;
mod sizes;
mod stop;
mod streamed;
mod support;
mod topk;
mod values;
mod width;
