//! Probe of the images of a target release, by the operator itself: the target release has no
//! registry credentials, and may have no network to registries.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairway_findings::images::{self, ImageAvailability, NAME, UnavailableImage};
use fairway_findings::{
    CheckKind, CheckReport, CheckStatus, Finding, Reason, Severity, camel_case,
};
use fairway_registry::probe::{ProbeDepth, ProbeError, Prober};
use fairway_release::Release;
use futures::{FutureExt as _, StreamExt as _, stream};

use super::deployment::RunId;
use super::dry_run::periodic::PeriodicCheck;
use crate::retrieval::{FetchConfig, Retriever};
use crate::text;

/// Number of parallel requests. Registries limit request rates.
const MAX_PARALLEL: usize = 8;

/// Probes that belong to one preflight run.
pub(super) type PeriodicImageProbe = PeriodicCheck<FetchConfig>;

/// Starts the first probe.
pub(super) fn begin(
    retriever: Arc<Retriever>,
    run: RunId,
    target: Arc<Release>,
    image: String,
    config: FetchConfig,
) -> PeriodicImageProbe {
    let probe_once = move |config: Arc<FetchConfig>| {
        let (retriever, target, image) =
            (Arc::clone(&retriever), Arc::clone(&target), image.clone());
        async move { probe(&retriever, &target, &image, &config).await }.boxed()
    };
    PeriodicCheck::on(Box::new(probe_once), run, config)
}

async fn probe(
    retriever: &Retriever,
    target: &Release,
    image: &str,
    config: &FetchConfig,
) -> (CheckReport, Vec<Finding>) {
    let started = fairway_clock::now();
    let availability = match retriever.image_sources(config).await {
        Ok(sources) => {
            let prober = Prober::new(sources, ProbeDepth::Head);
            let images = by_reference(&target.image_references.images);
            let total = images.len();
            let results = images.into_iter().map(|(image, name)| probe_one(&prober, image, name));
            let results = stream::iter(results).buffered(MAX_PARALLEL);
            let unavailable: Vec<_> = results.filter_map(futures::future::ready).collect().await;
            images::evaluate(total, &unavailable, image)
        }
        Err(error) => {
            let unknown = Some(format!("{}.", text::chain(&error)));
            ImageAvailability { findings: Vec::new(), unknown }
        }
    };
    let version = target.metadata.version.to_string();
    let (report, findings) = report(availability, &version);
    (CheckReport { started: Some(started), ended: Some(fairway_clock::now()), ..report }, findings)
}

/// Images by reference, each with one of its names.
fn by_reference(images: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    images.iter().rev().map(|(name, image)| (image.clone(), name.clone())).collect()
}

async fn probe_one(prober: &Prober, image: String, name: String) -> Option<UnavailableImage> {
    let error = prober.probe(&image).await.err()?;
    let may_exist = matches!(error, ProbeError::NoAnswer(_));
    Some(UnavailableImage { name, error: error.to_string(), may_exist })
}

/// Report and findings. Findings about missing images are reliable, even if the availability of
/// others is unknown.
fn report(availability: ImageAvailability, version: &str) -> (CheckReport, Vec<Finding>) {
    let ImageAvailability { mut findings, unknown } = availability;
    let status = match &unknown {
        Some(_) => CheckStatus::CannotTell,
        None if findings.is_empty() => CheckStatus::Passed,
        None => CheckStatus::Found,
    };
    for finding in &mut findings {
        (finding.check, finding.target_version) = (NAME.to_owned(), version.to_owned());
    }
    findings.extend(unknown.as_ref().map(|why| Finding {
        name: format!("{}CheckFailed", camel_case(NAME)),
        message: format!("Check {NAME} of {version} has no result: {why}"),
        target_version: version.to_owned(),
        severity: Severity::Warning,
        remediation:
            "Check that the operator reaches the registries; Fairway retries the check".to_owned(),
        check: NAME.to_owned(),
        reason: Reason::PreflightPartial,
        ..Finding::default()
    }));
    let report = CheckReport {
        name: NAME.to_owned(),
        kind: CheckKind::BuiltIn,
        status,
        message: unknown.unwrap_or_default(),
        ..CheckReport::default()
    };
    (report, findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_distinguishes_missing_and_unknown_images() {
        let image = |name: &str, may_exist| UnavailableImage {
            name: name.to_owned(),
            error: "mirror.example: why".to_owned(),
            may_exist,
        };
        let cases =
            [vec![], vec![image("etcd", false)], vec![image("etcd", false), image("dns", true)]];
        let rendered = cases.map(|images| {
            let availability = images::evaluate(3, &images, "r.example/release@sha256:1");
            let (report, findings) = report(availability, "5.1.0");
            let findings: Vec<_> = findings
                .iter()
                .map(|it| format!("\n  {} {}: {}", it.check, it.name, it.message))
                .collect();
            format!("{} {}{}", report.status, report.message, findings.concat())
        });
        insta::assert_snapshot!(rendered.join("\n"), @"
        passed 
        found 
          images ImagesNotAvailable: 1 of 3 images of the target release cannot be pulled, and the update would stop where they are needed: etcd (mirror.example: why).
        cannotTell 1 of 3 images could not be checked because registries did not respond: dns (mirror.example: why).
          images ImagesNotAvailable: 1 of 3 images of the target release cannot be pulled, and the update would stop where they are needed: etcd (mirror.example: why).
          images ImagesCheckFailed: Check images of 5.1.0 has no result: 1 of 3 images could not be checked because registries did not respond: dns (mirror.example: why).
        ");
    }
}
