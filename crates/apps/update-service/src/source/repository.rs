//! Releases from a registry, or from an OCI layout.

use fairway_graph::{Problem, ReleaseImage};
use fairway_registry::releases::{
    self, Known, Progress, Release, Scan, Settings, Source as Images, scan_with,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::settled::{Fingerprint, of_bytes};
use super::{Found, Source, SourceError};

/// The release images of a repository. Each look asks what tags stand for; no image is read twice.
pub struct Repository {
    images: Images,
    settings: Settings,
    progress: Box<dyn Fn(Progress) + Send + Sync>,
    known: Known,
    accepted: Option<Fingerprint>,
}

impl Repository {
    /// All releases among these images.
    pub fn new(images: Images) -> Self {
        Self {
            images,
            settings: Settings::default(),
            progress: Box::new(|_| {}),
            known: Known::default(),
            accepted: None,
        }
    }

    /// Tells how far a look is.
    pub fn telling(self, progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self { progress: Box::new(progress), ..self }
    }
}

impl Source<Vec<ReleaseImage>> for Repository {
    fn name(&self) -> String {
        format!("releases in {}", self.images.name())
    }

    fn refresh(&mut self) -> BoxFuture<'_, Result<Option<Found<Vec<ReleaseImage>>>, SourceError>> {
        async move {
            let Self { images, settings, progress, known, accepted } = self;
            let scan = scan_with(images, known, settings, progress).await?;
            tracing::debug!(
                releases = scan.report.releases,
                tags = scan.report.tags,
                read = scan.report.read,
                "repository scanned"
            );
            let now = of_bytes(&serde_json::to_vec(&(&scan.releases, &scan.report.problems))?);
            Ok((accepted.replace(now) != Some(now)).then(|| found(scan)))
        }
        .boxed()
    }
}

fn found(Scan { releases, report }: Scan) -> Found<Vec<ReleaseImage>> {
    let image =
        |Release { image, arch, release_metadata }| ReleaseImage { image, arch, release_metadata };
    let problem = |problem: &releases::Problem| {
        let release = format!("{}:{}", report.repository, problem.tag);
        let why = problem.reason.to_string();
        if problem.kept {
            Problem::UnconfirmedRelease { release, why }
        } else {
            Problem::UnreadableRelease { release, why }
        }
    };
    Found {
        content: releases.into_iter().map(image).collect(),
        problems: report.problems.iter().map(problem).collect(),
    }
}
