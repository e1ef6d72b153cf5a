//! What clones of an executable share.

use crate::bind::Program;
use crate::bind::facts::{ShortSizes, SmallResults};
use crate::bind::plan::Binding;
use crate::cache::lock;
use crate::memory::{Block, OutOfMemory};
use crate::options::CompileOptions;
use crate::variant::Variants;
use broadloom_ir::graph::CheckedGraph;
use std::sync::{Arc, Mutex};

/// A compiled graph.
pub(crate) struct Inner {
    pub(crate) graph: CheckedGraph,
    pub(crate) options: CompileOptions,
    pub(crate) program: Program,
    pub(crate) short: ShortSizes,
    pub(crate) small: SmallResults,
    pub(crate) variants: Variants,
    /// The last binding: most calls repeat its sizes and strides.
    last: Mutex<Option<Arc<Binding>>>,
    /// Temporaries of the last call, for the next one.
    arena: Mutex<Block>,
}

/// Largest arena that is kept between calls.
const MAX_KEPT_ARENA: usize = 64 << 20;

impl Inner {
    pub(crate) fn new(graph: CheckedGraph, options: CompileOptions, variants: Variants) -> Inner {
        Inner {
            program: Program::new(&graph),
            short: ShortSizes::new(&graph, variants.general.facts.tail.as_ref()),
            small: SmallResults::new(variants.graph()),
            graph,
            options,
            variants,
            last: Mutex::default(),
            arena: Mutex::default(),
        }
    }

    pub(crate) fn last_binding(&self) -> Option<Arc<Binding>> {
        lock(&self.last).clone()
    }

    pub(crate) fn keep_binding(&self, binding: &Arc<Binding>) {
        *lock(&self.last) = Some(binding.clone());
    }

    /// Runs `action` with memory for temporaries.
    pub(crate) fn with_arena<R>(
        &self,
        bytes: usize,
        action: impl FnOnce(*mut u8) -> R,
    ) -> Result<R, OutOfMemory> {
        if bytes == 0 {
            return Ok(action(std::ptr::null_mut()));
        }
        let mut block = std::mem::take(&mut *lock(&self.arena));
        if block.bytes() < bytes {
            drop(block);
            block = Block::new(bytes)?;
        }
        let result = action(block.as_mut_ptr());
        if block.bytes() <= MAX_KEPT_ARENA {
            *lock(&self.arena) = block;
        }
        Ok(result)
    }
}
