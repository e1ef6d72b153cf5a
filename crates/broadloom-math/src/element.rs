//! The types of elements of arrays, by which entry points are chosen.

/// The type of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "they are Rust's own, but for bool, a byte that is 0 or 1, and `bfloat16`")]
pub enum ElementType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    Bf16,
    F32,
    F64,
}
