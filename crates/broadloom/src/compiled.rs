//! What clones of an executable share.

use crate::bind::{
    BindError, Binding, Destination, Given, Ordered, Program, Request, ShortSizes, SmallResults, bind,
};
use crate::cache::lock;
use crate::memory::{Block, OutOfMemory};
use crate::options::CompileOptions;
use crate::variant::Variants;
use broadloom_ir::graph::CheckedGraph;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A compiled graph.
pub(crate) struct Inner {
    pub(crate) graph: CheckedGraph,
    pub(crate) options: CompileOptions,
    pub(crate) program: Program,
    pub(crate) short: ShortSizes,
    pub(crate) small: SmallResults,
    pub(crate) variants: Variants,
    pub(crate) compile_time: Duration,
    /// The last binding: most calls repeat its sizes and strides.
    last: Mutex<Option<Arc<Binding>>>,
    /// Temporaries of the last call, for the next one.
    arena: Mutex<Block>,
}

/// Largest arena that is kept between calls.
const MAX_KEPT_ARENA: usize = 64 << 20;

impl Inner {
    pub(crate) fn new(
        graph: CheckedGraph,
        options: CompileOptions,
        variants: Variants,
        compile_time: Duration,
    ) -> Inner {
        Inner {
            program: Program::new(&graph),
            short: ShortSizes::new(&graph, variants.general.facts.tail.as_ref()),
            small: SmallResults::new(variants.graph()),
            graph,
            options,
            variants,
            compile_time,
            last: Mutex::default(),
            arena: Mutex::default(),
        }
    }

    /// The binding of these arrays: the last one, if nothing has changed but where they are.
    pub(crate) fn bind(
        &self,
        inputs: &Ordered<'_>,
        given: &Given,
        destinations: &[Destination<'_>],
    ) -> Result<Arc<Binding>, BindError> {
        let threads = self.options.threads.count();
        let last = lock(&self.last).clone();
        if let Some(binding) = last.filter(|last| last.key.is(threads, inputs, given, destinations)) {
            return Ok(binding);
        }
        let Inner { graph, options, program, short, small, variants, .. } = self;
        let request = Request { graph, options, program, short, small, variants, threads };
        let binding = Arc::new(bind(&request, inputs, given, destinations)?);
        *lock(&self.last) = Some(binding.clone());
        Ok(binding)
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
