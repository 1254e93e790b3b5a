//! Sources of graph-data and releases.

mod image;
mod local;
mod newest_signature;
mod repository;
mod tarball;

pub use image::{GraphDataImage, SignaturePolicy};
pub use local::{Directory, ReleasesFile};
pub use repository::Repository;
pub use tarball::Tarball;
pub(crate) use tarball::read_tarball;

use std::time::Duration;

use fairway_graph::GraphProblem;
use futures::future::BoxFuture;

/// Time for which content must not change before it is used, so that a partial write is not
/// published.
pub const SETTLE_PERIOD: Duration = Duration::from_secs(2);

/// A failed poll. The previous content stays in use.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// A source that is polled, such as a directory or a registry.
pub trait Source<T>: Send {
    /// Name for status and logs.
    fn name(&self) -> String;

    /// Polls the source; `None` if it has not changed. The future may be dropped at any time.
    fn refresh(&mut self) -> BoxFuture<'_, Result<Option<SourceContent<T>>, SourceError>>;
}

/// Content of a source, and the problems of omitted parts.
#[derive(Clone, Debug)]
pub struct SourceContent<T> {
    /// The content.
    pub content: T,
    /// Problems of parts that are omitted.
    pub problems: Vec<GraphProblem>,
}

/// A source with its poll interval.
pub struct PolledSource<T> {
    /// The source.
    pub source: Box<dyn Source<T>>,
    /// The poll interval.
    pub every: Duration,
}

impl<T> PolledSource<T> {
    /// A source that is polled at this interval.
    pub fn new(source: impl Source<T> + 'static, every: Duration) -> Self {
        Self { source: Box::new(source), every }
    }
}
