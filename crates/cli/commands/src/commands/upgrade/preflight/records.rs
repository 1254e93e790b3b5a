//! Preflight results in `ConfigMaps`, the only source of their details.

use std::collections::BTreeMap;

use fairway_api::image::same_content;
use fairway_findings::Document;
use fairway_findings::record::{self, TargetRecord};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::cluster::kind::CONFIG_MAPS;
use crate::cluster::{Cluster, OPERATOR_NAMESPACE};
use crate::source::Source;

/// Maximum number of listed records: more than users compare.
const MAX_RECORDS: u32 = 64;

/// Stored results of all target releases.
#[derive(Debug, Default)]
pub(in crate::commands) struct PreflightRecords {
    results: Vec<TargetResult>,
    /// Why results are missing.
    pub(super) missing: Option<String>,
}

/// Stored results of one target release.
#[derive(Debug)]
struct TargetResult {
    image: String,
    record: TargetRecord,
}

impl PreflightRecords {
    /// Lists the results of a cluster. A failure is not an error: ClusterVersion has a summary.
    pub(super) async fn read(cluster: &Cluster) -> Self {
        let label = format!("{}=true", record::LABEL);
        match cluster.config_maps(OPERATOR_NAMESPACE, &label, MAX_RECORDS).await {
            Ok((maps, more)) => Self::of(&maps).with_limit(more),
            Err(why) => Self::unreadable(why),
        }
    }

    /// Adds the reason for results beyond the limit.
    fn with_limit(mut self, more: bool) -> Self {
        let why = || {
            format!(
                "namespace {OPERATOR_NAMESPACE} has results of more than {MAX_RECORDS} releases"
            )
        };
        self.missing = self.missing.or_else(|| more.then(why));
        self
    }

    /// Results of a live or recorded cluster.
    pub(in crate::commands) async fn of_source(source: &Source) -> Self {
        let recording = match source {
            Source::Live(cluster) => return Self::read(cluster).await,
            Source::Recorded(recording) => recording,
        };
        let wanted = CONFIG_MAPS.all().within(OPERATOR_NAMESPACE).labelled(record::LABEL, "true");
        match recording.every(wanted) {
            Ok(Some(maps)) => Self::of(&maps),
            Ok(None) => Self::unreadable("the recorded cluster has no ConfigMaps".to_owned()),
            Err(error) => Self::unreadable(format!("{error:#}")),
        }
    }

    /// No results, for a reason.
    pub(super) fn unreadable(why: String) -> Self {
        Self { results: Vec::new(), missing: Some(why) }
    }

    /// Results of `ConfigMaps`.
    pub(super) fn of(maps: &[ConfigMap]) -> Self {
        let mut records = Self::default();
        for map in maps {
            match read_config_map(map) {
                Ok(result) => records.results.push(result),
                Err(why) => {
                    let name = map.metadata.name.as_deref().unwrap_or_default();
                    let why = format!("cannot read ConfigMap {OPERATOR_NAMESPACE}/{name}: {why}");
                    records.missing.get_or_insert(why);
                }
            }
        }
        records
    }

    /// Latest results of an image.
    pub(super) fn latest(&self, image: &str) -> Option<&Document> {
        self.results
            .iter()
            .find(|result| same_content(&result.image, image))
            .and_then(TargetResult::latest)
    }

    /// Latest results of every target.
    pub(super) fn all(&self) -> impl Iterator<Item = &Document> {
        self.results.iter().filter_map(TargetResult::latest)
    }
}

impl TargetResult {
    /// Latest document: the operator removes a partial one when it writes a complete one.
    fn latest(&self) -> Option<&Document> {
        self.record.partial.as_ref().or(self.record.complete.as_ref())
    }
}

fn read_config_map(map: &ConfigMap) -> Result<TargetResult, String> {
    let annotations = map.metadata.annotations.as_ref();
    let image = annotations.and_then(|all| all.get(record::TARGET_IMAGE));
    let image = image.ok_or_else(|| format!("annotation {} is missing", record::TARGET_IMAGE))?;
    let nothing = BTreeMap::new();
    let data = map.data.as_ref().unwrap_or(&nothing);
    let document = |key: &str| data.get(key).map(|text| document(text, image)).transpose();
    Ok(TargetResult {
        image: image.clone(),
        record: TargetRecord {
            complete: document(record::COMPLETE)?,
            partial: document(record::PARTIAL)?,
            history: Vec::new(),
        },
    })
}

fn document(text: &str, image: &str) -> Result<Document, String> {
    let read = Document::read_any(text.as_bytes()).map_err(|error| error.to_string())?;
    let document = read.document;
    if !same_content(&document.target_image, image) {
        return Err(format!("the results belong to {}", document.target_image));
    }
    Ok(document)
}
