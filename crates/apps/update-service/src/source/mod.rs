//! Where graph-data and releases come from.

mod directory;
mod image;
mod releases;
mod repository;
mod settled;
mod tarball;

pub use directory::Directory;
pub use image::{GraphDataImage, Signatures};
pub use releases::ReleasesFile;
pub use repository::Repository;
pub use tarball::Tarball;

use std::time::Duration;

use fairway_graph::Problem;
use futures::future::BoxFuture;

/// How long content has to stay the same before it is taken: whoever writes a directory is done by
/// then, or writes on and is seen.
pub const SETTLE: Duration = Duration::from_secs(2);

/// Why a source has nothing to give. What it gave before stays in use.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Something that can be looked at again and again, such as a directory or a registry.
pub trait Source<T>: Send {
    /// What people call it.
    fn name(&self) -> String;

    /// Looks at it; `None` if it is as it was the last time. It may be dropped before its end.
    fn refresh(&mut self) -> BoxFuture<'_, Result<Option<Found<T>>, SourceError>>;
}

/// What a source has, and what it had to leave out.
#[derive(Clone, Debug)]
pub struct Found<T> {
    /// What it has.
    pub content: T,
    /// What is wrong with it; this was left out.
    pub problems: Vec<Problem>,
}

/// A source, and how often it is looked at.
pub struct Watched<T> {
    /// The source.
    pub source: Box<dyn Source<T>>,
    /// The time between two looks.
    pub every: Duration,
}

impl<T> Watched<T> {
    /// Looks at a source that often.
    pub fn new(source: impl Source<T> + 'static, every: Duration) -> Self {
        Self { source: Box::new(source), every }
    }
}
