//! Places of a text as the graph knows places.
//!
//! A graph notes for whatever it is told a `&'static Location` in Rust. Nothing says that one must be where it claims to
//! be: each part of a text gets a location of its own, which the text knows by its address. So the graph carries places
//! in a text through inference, to mistakes that are found only in the end, and to errors of calls.

use crate::source::{Source, Span};
use broadloom_ir::diagnostics::{Places, nowhere};
use broadloom_ir::graph::Site;
use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Locations that are told apart by their addresses only. They are used for one text after another, so that there are
/// never more than about twice as many as the longest text needed.
static POOL: Mutex<Vec<Site>> = Mutex::new(Vec::new());
/// How many locations are made first.
const FIRST: usize = 256;

fn nth(index: usize) -> Site {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    while pool.len() <= index {
        let more = vec![nowhere(); pool.len().max(FIRST)];
        pool.extend(Box::leak(more.into_boxed_slice()).iter());
    }
    pool[index]
}

/// The site of what stands nowhere in the text.
pub(crate) fn no_place() -> Site {
    static NOWHERE: LazyLock<Location<'static>> = LazyLock::new(nowhere);
    &NOWHERE
}

fn address(site: Site) -> usize {
    std::ptr::from_ref(site).addr()
}

/// The parts of a text that have sites.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sites {
    /// By address.
    spans: HashMap<usize, Span>,
    known: HashMap<Span, usize>,
}

impl Sites {
    /// The site of a part of the text.
    pub(crate) fn site(&mut self, span: Span) -> Site {
        let next = self.known.len();
        let site = nth(*self.known.entry(span).or_insert(next));
        self.spans.insert(address(site), span);
        site
    }

    /// The part of the text that has this site.
    pub(crate) fn span(&self, site: Site) -> Option<Span> {
        self.spans.get(&address(site)).copied()
    }
}

/// Places in a text, for errors of graphs and of calls: their `display_at` points at the text with it.
#[derive(Clone, PartialEq)]
pub struct TextPlaces {
    pub(crate) source: Arc<Source>,
    pub(crate) sites: Sites,
}

impl Places for TextPlaces {
    fn place(&self, site: Site) -> Option<String> {
        self.sites.span(site).map(|span| self.source.place(span))
    }

    fn lines(&self, site: Site) -> Vec<String> {
        self.sites.span(site).map_or_else(Vec::new, |span| self.source.point_at(span))
    }
}

impl fmt::Debug for TextPlaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextPlaces({:?})", self.source.name)
    }
}
