//! Places in the user's source, which the graph carries from each call to whatever is reported of it.

use crate::define_ids;
use std::panic::Location;

define_ids! {
    /// An entry of a front end's table of places. Only that table knows what it stands for.
    SiteId "@";
}

/// A place in the user's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Site {
    /// In Rust.
    Rust(&'static Location<'static>),
    /// In a source that is not Rust. Its front end prints it, by [`Places`](crate::diagnostics::Places).
    Listed(SiteId),
    /// In no source: messages do not mention it.
    Nowhere,
}

impl Site {
    /// Where the function that calls this was called, if that is `#[track_caller]`; else this very call.
    #[track_caller]
    pub fn caller() -> Site {
        Site::Rust(Location::caller())
    }

    /// The place, if it is one in Rust.
    pub fn location(self) -> Option<&'static Location<'static>> {
        match self {
            Site::Rust(location) => Some(location),
            Site::Listed(_) | Site::Nowhere => None,
        }
    }

    /// The entry of the front end's table, if it is one.
    pub fn id(self) -> Option<SiteId> {
        match self {
            Site::Listed(id) => Some(id),
            Site::Rust(_) | Site::Nowhere => None,
        }
    }
}
