//! The state that clones of an executable share.

use crate::array::Geometry;
use crate::bind::{
    BindError, Binding, Destination, Destinations, Division, Given, Key, Ordered, ShortSizes, SizeRules,
    SmallResults, bind,
};
use crate::cache::lock;
use crate::memory::{Block, OutOfMemory};
use crate::options::CompileOptions;
use crate::phased::Phased;
use crate::staged::Staged;
use crate::variant::Variants;
use broadloom_ir::graph::CheckedGraph;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// A compiled graph.
pub(crate) struct Inner {
    pub(crate) graph: CheckedGraph,
    pub(crate) options: CompileOptions,
    pub(crate) rules: SizeRules,
    pub(crate) code: Code,
    pub(crate) compile_time: Duration,
    /// The binding of the first call: most other calls repeat its sizes and strides, and find it without a lock.
    first: OnceLock<(Key, Arc<Binding>)>,
    /// The most recent binding that differs from the first.
    last: Mutex<Option<(Key, Arc<Binding>)>>,
    /// The temporaries of the last call, kept for the next one.
    arena: Mutex<Block>,
}

/// What runs when a graph is called.
pub(crate) enum Code {
    /// Kernels.
    Kernels(Arc<Kernels>),
    /// Parts of the graph, one after the other, and loops.
    Stages(Staged),
    /// Parts of the graph, between which the data decide sizes.
    Phases(Phased),
}

/// The kernels of a graph without loops.
pub(crate) struct Kernels {
    pub(crate) short: ShortSizes,
    pub(crate) small: SmallResults,
    pub(crate) variants: Variants,
}

/// The size in bytes of the largest arena that a kernel keeps between calls. Larger ones are kept for all kernels together.
const MAX_KEPT_ARENA: usize = 64 << 20;

impl Inner {
    pub(crate) fn new(
        graph: CheckedGraph,
        options: CompileOptions,
        variants: Variants,
        compile_time: Duration,
    ) -> Inner {
        let code = Kernels {
            short: ShortSizes::new(&graph, variants.general.facts.tail.as_ref()),
            small: SmallResults::new(variants.graph(), &variants.general.schedule),
            variants,
        };
        Inner::of_code(graph, options, Code::Kernels(Arc::new(code)), compile_time)
    }

    pub(crate) fn of_code(
        graph: CheckedGraph,
        options: CompileOptions,
        code: Code,
        compile_time: Duration,
    ) -> Inner {
        Inner {
            rules: SizeRules::new(&graph),
            graph,
            options,
            code,
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
        let mut destinations: Cow<'_, [Destination<'_>]> = Cow::Borrowed(destinations);
        if stops && destinations.iter().any(|destination| matches!(destination, Destination::InPlace(_))) {
            // A call that stops leaves the arrays that it updates as they were.
            for destination in destinations.to_mut() {
                if let Destination::InPlace(_) = destination {
                    *destination = destination.aside();
                }
            }
        }
        let is_it = |(key, _): &(Key, Arc<Binding>)| key.is(division, inputs, given, &destinations);
        if let Some((_, first)) = self.first.get().filter(|first| is_it(first)) {
            return Ok(Cow::Borrowed(first));
        }
        let last = lock(&self.last).as_ref().filter(|last| is_it(last)).map(|(_, last)| last.clone());
        if let Some(last) = last {
            return Ok(Cow::Owned(last));
        }
        let key = Key::new(division, inputs, given, &destinations);
        let geometries: SmallVec<[Option<&Geometry>; 4]> =
            inputs.iter().map(|input| input.as_ref().map(|input| input.view.geometry())).collect();
        let made = bind(self, &geometries, given, Destinations::from(&*destinations), division)?;
        let binding = (key, Arc::new(made));
        if self.first.set(binding.clone()).is_err() {
            *lock(&self.last) = Some(binding.clone());
        }
        Ok(Cow::Owned(binding.1))
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
            block = if bytes > MAX_KEPT_ARENA { Block::large(bytes)? } else { Block::new(bytes)? };
        }
        let result = action(block.as_mut_ptr());
        match block.bytes() <= MAX_KEPT_ARENA {
            true => *lock(&self.arena) = block,
            false => block.keep(),
        }
        result
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("graph", &self.graph).finish_non_exhaustive()
    }
}
