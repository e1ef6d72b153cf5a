//! Ids: newtypes over `u32` that print with a prefix, in the same way in dumps, messages and tests.

/// Defines id types: `define_ids! { /// docs  ExprId "%" }` prints as `%3`.
#[macro_export]
macro_rules! define_ids {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(u32);

        impl $name {
            /// Returns the id of the element at `index` of its arena.
            ///
            /// # Panics
            /// Panics if an arena has more than `u32::MAX` elements; its builder rules that out.
            pub fn new(index: usize) -> Self {
                $name(u32::try_from(index).expect("an arena holds at most 2^32 - 1 elements"))
            }

            /// Returns the position in the arena.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )*};
}

define_ids! {
    /// An expression of a graph. Operands have smaller ids than the expressions that use them.
    ExprId "%";
    /// A symbolic size of a graph.
    SymbolId "s";
    /// An input of a graph, in the order of declaration.
    InputId "in";
    /// A loop of a graph, in the order in which loops begin: inner ones have larger ids than those around them.
    LoopId "loop";
}
