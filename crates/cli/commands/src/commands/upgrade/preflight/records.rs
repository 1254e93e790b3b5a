//! What the cluster keeps of preflights, beside the summary in ClusterVersion.

use std::collections::BTreeMap;

use fairway_api::image::same_content;
use fairway_findings::Document;
use fairway_findings::record::{self, Record};
use k8s_openapi::api::core::v1::ConfigMap;

use crate::cluster::kind::CONFIG_MAPS;
use crate::cluster::{Cluster, OPERATOR_NAMESPACE};
use crate::source::Source;

/// More targets than anybody compares.
const MOST: u32 = 64;

/// What is kept of every target.
#[derive(Debug, Default)]
pub(in crate::commands) struct Records {
    kept: Vec<Kept>,
    /// Why something of it is not at hand.
    pub(super) missing: Option<String>,
}

/// What is kept of one target.
#[derive(Debug)]
struct Kept {
    image: String,
    record: Record,
}

impl Records {
    /// Asks the cluster for them. That they cannot be read is no error: there is a summary.
    pub(super) async fn read(cluster: &Cluster) -> Self {
        let label = format!("{}=true", record::LABEL);
        match cluster.config_maps(OPERATOR_NAMESPACE, &label, MOST).await {
            Ok((maps, more)) => Self::of(&maps).and_others(more),
            Err(why) => Self::unreadable(why),
        }
    }

    /// With those that were not asked for.
    fn and_others(mut self, more: bool) -> Self {
        let why =
            || format!("namespace {OPERATOR_NAMESPACE} has results of more than {MOST} releases");
        self.missing = self.missing.or_else(|| more.then(why));
        self
    }

    /// Looks for them where a command looks.
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

    /// None is at hand.
    pub(super) fn unreadable(why: String) -> Self {
        Self { kept: Vec::new(), missing: Some(why) }
    }

    /// What a list of them says.
    pub(super) fn of(maps: &[ConfigMap]) -> Self {
        let mut records = Self::default();
        for map in maps {
            match kept(map) {
                Ok(kept) => records.kept.push(kept),
                Err(why) => {
                    let name = map.metadata.name.as_deref().unwrap_or_default();
                    let why = format!("cannot read ConfigMap {OPERATOR_NAMESPACE}/{name}: {why}");
                    records.missing.get_or_insert(why);
                }
            }
        }
        records
    }

    /// The latest results of the release with that content.
    pub(super) fn latest(&self, image: &str) -> Option<&Document> {
        self.kept.iter().find(|kept| same_content(&kept.image, image)).and_then(Kept::latest)
    }

    /// The latest results of every target.
    pub(super) fn all(&self) -> impl Iterator<Item = &Document> {
        self.kept.iter().filter_map(Kept::latest)
    }
}

impl Kept {
    /// The document that was written last: a partial one goes when a complete one comes.
    fn latest(&self) -> Option<&Document> {
        self.record.partial.as_ref().or(self.record.complete.as_ref())
    }
}

fn kept(map: &ConfigMap) -> Result<Kept, String> {
    let annotations = map.metadata.annotations.as_ref();
    let image = annotations.and_then(|all| all.get(record::TARGET_IMAGE));
    let image = image.ok_or_else(|| format!("annotation {} is missing", record::TARGET_IMAGE))?;
    let nothing = BTreeMap::new();
    let data = map.data.as_ref().unwrap_or(&nothing);
    let document = |key: &str| data.get(key).map(|text| document(text, image)).transpose();
    Ok(Kept {
        image: image.clone(),
        record: Record {
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
