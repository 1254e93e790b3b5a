//! Graph-data from a directory that somebody else writes.

use std::path::PathBuf;
use std::time::Duration;

use fairway_graph::Files;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::settled::{Settled, of_files};
use super::{Found, SETTLE, Source, SourceError};

/// A graph-data directory. It counts once two looks at it are equal.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    settled: Settled,
}

impl Directory {
    /// The directory at a path.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), settled: Settled::new(SETTLE) }
    }

    /// With another time between two looks.
    pub fn settle(self, pause: Duration) -> Self {
        Self { settled: Settled::new(pause), ..self }
    }
}

impl Source<Files> for Directory {
    fn name(&self) -> String {
        format!("graph-data directory {}", self.path.display())
    }

    fn refresh(&mut self) -> BoxFuture<'_, Result<Option<Found<Files>>, SourceError>> {
        let path = self.path.clone();
        let read = move || fairway_graph_files::read(&path).map_err(SourceError::from);
        async move {
            let found = self.settled.look(read, of_files).await?;
            Ok(found.map(|content| Found { content, problems: Vec::new() }))
        }
        .boxed()
    }
}
