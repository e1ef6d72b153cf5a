//! Places in the user's source, which the graph carries from each call to whatever is reported about it.

use crate::define_ids;
use std::panic::Location;

define_ids! {
    /// An entry of a front end's table of places. Only that table knows what the entry stands for.
    SiteId "@";
}

/// A place in the user's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Site {
    /// In Rust.
    Rust(&'static Location<'static>),
    /// In a source that is not Rust. Its front end prints it, by [`Places`](crate::diagnostics::Places).
    Listed(SiteId),
    /// Outside any source: messages do not mention it.
    Nowhere,
}

impl Site {
    /// Returns the place where the calling function was called, if it is `#[track_caller]`; otherwise the place of
    /// this call.
    #[track_caller]
    pub fn caller() -> Site {
        Site::Rust(Location::caller())
    }

    /// Returns the place if it is in Rust.
    pub fn location(self) -> Option<&'static Location<'static>> {
        match self {
            Site::Rust(location) => Some(location),
            Site::Listed(_) | Site::Nowhere => None,
        }
    }

    /// Returns the entry of the front end's table, if this is one.
    pub fn id(self) -> Option<SiteId> {
        match self {
            Site::Listed(id) => Some(id),
            Site::Rust(_) | Site::Nowhere => None,
        }
    }
}
