//! The state that clones of an executable share.

use crate::bind::{
    BindError, Binding, Destination, Division, Given, Ordered, Request, ShortSizes, SizeRules, SmallResults,
    bind,
};
use crate::cache::lock;
use crate::memory::{Block, OutOfMemory};
use crate::options::CompileOptions;
use crate::variant::Variants;
use broadloom_ir::graph::CheckedGraph;
use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// A compiled graph.
pub(crate) struct Inner {
    pub(crate) graph: CheckedGraph,
    pub(crate) options: CompileOptions,
    pub(crate) rules: SizeRules,
    pub(crate) short: ShortSizes,
    pub(crate) small: SmallResults,
    pub(crate) variants: Variants,
    pub(crate) compile_time: Duration,
    /// The binding of the first call: most other calls repeat its sizes and strides, and find it without a lock.
    first: OnceLock<Arc<Binding>>,
    /// The most recent binding that differs from the first.
    last: Mutex<Option<Arc<Binding>>>,
    /// The temporaries of the last call, kept for the next one.
    arena: Mutex<Block>,
}

/// The size in bytes of the largest arena kept between calls.
const MAX_KEPT_ARENA: usize = 64 << 20;

impl Inner {
    pub(crate) fn new(
        graph: CheckedGraph,
        options: CompileOptions,
        variants: Variants,
        compile_time: Duration,
    ) -> Inner {
        Inner {
            rules: SizeRules::new(&graph),
            short: ShortSizes::new(&graph, variants.general.facts.tail.as_ref()),
            small: SmallResults::new(variants.graph()),
            graph,
            options,
            variants,
            compile_time,
            first: OnceLock::new(),
            last: Mutex::default(),
            arena: Mutex::default(),
        }
    }

    /// Returns the binding of these arrays, for calls that can be stopped or for others. Reuses a kept one if the calls differ
    /// only in where the arrays are.
    pub(crate) fn bind(
        &self,
        inputs: &Ordered<'_>,
        given: &Given,
        destinations: &[Destination<'_>],
        stops: bool,
    ) -> Result<Cow<'_, Arc<Binding>>, BindError> {
        let (threads, threshold) = (self.options.threads.available(), self.options.parallel_threshold);
        let division = Division { threads, threshold, stops };
        let is_it = |known: &Arc<Binding>| known.key.is(division, inputs, given, destinations);
        if let Some(first) = self.first.get().filter(|first| is_it(first)) {
            return Ok(Cow::Borrowed(first));
        }
        let last = lock(&self.last).clone();
        if let Some(last) = last.filter(is_it) {
            return Ok(Cow::Owned(last));
        }
        let Inner { graph, options, rules, short, small, variants, .. } = self;
        let limits = &options.limits;
        let request = Request { graph, limits, rules, short, small, variants, division };
        let binding = Arc::new(bind(&request, inputs, given, destinations)?);
        if self.first.set(binding.clone()).is_err() {
            *lock(&self.last) = Some(binding.clone());
        }
        Ok(Cow::Owned(binding))
    }

    /// Runs `action` with memory for temporaries.
    pub(crate) fn with_arena<R, E: From<OutOfMemory>>(
        &self,
        bytes: usize,
        action: impl FnOnce(*mut u8) -> Result<R, E>,
    ) -> Result<R, E> {
        if bytes == 0 {
            return action(std::ptr::null_mut());
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
        result
    }
}
