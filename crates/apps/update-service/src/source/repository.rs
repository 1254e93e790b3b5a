//! Releases from a registry or an OCI layout.

use fairway_graph::{GraphProblem, ReleaseImage};
use fairway_registry::releases::{
    ScanCache, ScanProblem, ScanProgress, ScanResult, ScanSettings, Source as ImageSource,
    scan_with,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::local::{Fingerprint, fingerprint_bytes};
use super::{Source, SourceContent, SourceError};

/// The release images of a repository. Each poll resolves the tags and reads only new images.
pub struct Repository {
    images: ImageSource,
    settings: ScanSettings,
    progress: Box<dyn Fn(ScanProgress) + Send + Sync>,
    cache: ScanCache,
    accepted: Option<Fingerprint>,
}

impl Repository {
    /// All releases of an image source.
    pub fn new(images: ImageSource) -> Self {
        Self {
            images,
            settings: ScanSettings::default(),
            progress: Box::new(|_| {}),
            cache: ScanCache::default(),
            accepted: None,
        }
    }

    /// Sets a callback for the progress of a scan.
    pub fn with_progress(self, progress: impl Fn(ScanProgress) + Send + Sync + 'static) -> Self {
        Self { progress: Box::new(progress), ..self }
    }
}

impl Source<Vec<ReleaseImage>> for Repository {
    fn name(&self) -> String {
        format!("releases in {}", self.images.name())
    }

    fn refresh(
        &mut self,
    ) -> BoxFuture<'_, Result<Option<SourceContent<Vec<ReleaseImage>>>, SourceError>> {
        async move {
            let Self { images, settings, progress, cache, accepted } = self;
            let scan = scan_with(images, cache, settings, progress).await?;
            tracing::debug!(
                releases = scan.report.releases,
                tags = scan.report.tags,
                read = scan.report.read,
                "repository scanned"
            );
            let now =
                fingerprint_bytes(&serde_json::to_vec(&(&scan.releases, &scan.report.problems))?);
            Ok((accepted.replace(now) != Some(now)).then(|| content(scan)))
        }
        .boxed()
    }
}

fn content(ScanResult { releases, report }: ScanResult) -> SourceContent<Vec<ReleaseImage>> {
    let problem = |problem: &ScanProblem| {
        let release = format!("{}:{}", report.repository, problem.tag);
        let why = problem.reason.to_string();
        if problem.kept {
            GraphProblem::UnconfirmedRelease { release, why }
        } else {
            GraphProblem::UnreadableRelease { release, why }
        }
    };
    SourceContent { content: releases, problems: report.problems.iter().map(problem).collect() }
}
