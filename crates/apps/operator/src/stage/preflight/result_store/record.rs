//! `ConfigMaps` with the results of one target. Their content is not trusted: other clients may
//! have edited it.

use std::collections::BTreeMap;

use fairway_api::cluster_version::Release;
use fairway_findings::Document;
use fairway_findings::record::{
    self, COMPLETE, FAILURE, HISTORY, LABEL, PARTIAL, RunFailure, RunRecord, TARGET_IMAGE,
};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::target_result::{MAX_RUNS, Purpose, TargetResult, bounded, shorten};
use crate::records::{REQUEST_TIMEOUT, timed_out};
use crate::text;

/// Maximum bytes of an entry: the limit of a whole ConfigMap.
const MAX_BYTES: usize = 1 << 20;

/// Annotation with the purpose of a preflight that no user requested.
const PURPOSE_ANNOTATION: &str = "fairway.dev/preflight-purpose";

/// Value of the annotation: the preflight preceded an update.
const UPDATE: &str = "update";

/// Builds the ConfigMap of a target. The run in progress is not stored.
pub(super) fn write(name: &str, result: &TargetResult) -> ConfigMap {
    let entries = [
        (COMPLETE, result.complete.as_ref().and_then(json)),
        (PARTIAL, result.partial.as_ref().and_then(json)),
        (HISTORY, json(&result.history)),
        (FAILURE, result.failure.as_ref().and_then(json)),
    ];
    let data = entries.into_iter().filter_map(|(key, json)| Some((key.to_owned(), json?)));
    let purpose = (result.purpose == Purpose::Update).then_some((PURPOSE_ANNOTATION, UPDATE));
    let annotations = [(TARGET_IMAGE, result.release.image.as_str())].into_iter().chain(purpose);
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(texts([(LABEL, "true")])),
            annotations: Some(texts(annotations)),
            ..ObjectMeta::default()
        },
        data: Some(data.collect()),
        ..ConfigMap::default()
    }
}

/// Name and results of a target; `None` if the record is invalid.
pub(super) fn read(found: &ConfigMap) -> Option<(String, TargetResult)> {
    let name = found.name_any();
    let image = found.annotations().get(TARGET_IMAGE)?;
    if record::name(image).as_ref() != Some(&name) {
        return None;
    }
    let is_its = |document: &Document| record::name(&document.target_image).as_ref() == Some(&name);
    let document = |key| Some(Document::read_any(text(found, key)?.as_bytes()).ok()?.document);
    let document = |key| document(key).filter(is_its).map(bounded);
    let complete = document(COMPLETE).filter(Document::is_complete);
    let partial = document(PARTIAL);
    let mut history: Vec<RunRecord> = value(found, HISTORY).unwrap_or_default();
    history.truncate(MAX_RUNS);
    let mut failure: Option<RunFailure> = value(found, FAILURE);
    if let Some(failure) = &mut failure {
        shorten(&mut failure.message);
    }
    let said = partial.as_ref().or(complete.as_ref()).map(|said| &said.target_version);
    let ran = history.first().filter(|_| failure.is_some()).map(|run| &run.target_version);
    let version = said.or(ran)?.clone();
    let purpose = match found.annotations().get(PURPOSE_ANNOTATION).map(String::as_str) {
        Some(UPDATE) => Purpose::Update,
        _ => Purpose::Requested,
    };
    let release = Release { version, image: image.clone(), ..Release::default() };
    let result =
        TargetResult { release, purpose, running: None, failure, complete, partial, history };
    Some((name, result))
}

fn value<T: DeserializeOwned>(found: &ConfigMap, key: &str) -> Option<T> {
    serde_json::from_str(text(found, key)?).ok()
}

fn json(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

fn text<'a>(found: &'a ConfigMap, key: &str) -> Option<&'a String> {
    found.data.as_ref()?.get(key).filter(|text| text.len() <= MAX_BYTES)
}

fn texts<'a>(all: impl IntoIterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    all.into_iter().map(|(key, text)| (key.to_owned(), text.to_owned())).collect()
}

/// Maximum number of listed records: several times `MAX_TARGETS`.
const MAX_RECORDS: u32 = 100;

/// Lists the stored results.
pub(crate) async fn load(client: &Client, namespace: &str) -> Result<Vec<ConfigMap>, String> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let parameters = ListParams::default().labels(&format!("{LABEL}=true")).limit(MAX_RECORDS);
    match timeout(REQUEST_TIMEOUT, api.list(&parameters)).await {
        Ok(Ok(found)) => Ok(found.items),
        Ok(Err(error)) => Err(text::chain(&error)),
        Err(_) => Err(timed_out()),
    }
}
