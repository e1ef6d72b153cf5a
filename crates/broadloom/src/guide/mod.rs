//! The guide: how to write expressions, what they cost, and what can go wrong. Every block of code runs as a test.
//!
//! 1. [First expression](first_expression): an array in, an array out.
//! 2. [Shapes](shapes): sizes as numbers and as symbols, and the errors of shapes.
//! 3. [Coming from NumPy or ndarray](spellings): tables of spellings.
//! 4. [Loops](loops): steps in time, iteration until it is enough, recurrences along an axis.
//! 5. [Selections](selections): `x[x > 0]`, `unique`, and other sizes that the data decide.
//! 6. [Performance](performance): what `explain` shows, and what to change.
//! 7. [Threads](threads): who computes, the same bits for any number of threads, and `fork`.
//! 8. [Chunks](chunks): more rows than fit in memory.
//! 9. [Errors](errors): kinds, codes, and how to print them.
//! 10. [Embedding](embedding): expressions from people whom you do not trust.

#[doc = include_str!("first_expression.md")]
pub mod first_expression {}

// The figures come first: of two addresses with the same name, the first counts. Those in the chapter itself are for readers
// of the repository.
#[doc = include_str!("figures/addresses.md")]
#[doc = include_str!("shapes.md")]
pub mod shapes {}

#[doc = include_str!("spellings.md")]
pub mod spellings {}

#[doc = include_str!("loops.md")]
pub mod loops {}

#[doc = include_str!("selections.md")]
pub mod selections {}

#[doc = include_str!("performance.md")]
pub mod performance {}

#[doc = include_str!("threads.md")]
pub mod threads {}

#[doc = include_str!("chunks.md")]
pub mod chunks {}

#[doc = include_str!("errors.md")]
pub mod errors {}

#[doc = include_str!("embedding.md")]
pub mod embedding {}
