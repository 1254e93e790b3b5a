//! What is kept of a target as a ConfigMap, and back. Anybody may have edited it.

use std::collections::BTreeMap;

use fairway_api::cluster_version::Release;
use fairway_findings::Document;
use fairway_findings::record::{
    self, COMPLETE, FAILURE, Failure, HISTORY, LABEL, PARTIAL, Run, TARGET_IMAGE,
};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bounds::{bounded, shorten};
use super::kept::{Kept, MAX_RUNS, Purpose};

/// Bytes of one entry that are read: an API server takes no more of all of them together.
const MAX_BYTES: usize = 1 << 20;

/// Why nobody may have asked for what is in a record: it was about to be updated to.
const PURPOSE: &str = "fairway.dev/preflight-purpose";

/// The value where an update was about to begin.
const UPDATE: &str = "update";

/// What is kept, as it is stored. What is under way is not in it.
pub(super) fn write(name: &str, kept: &Kept) -> ConfigMap {
    let entries = [
        (COMPLETE, kept.complete.as_ref().and_then(json)),
        (PARTIAL, kept.partial.as_ref().and_then(json)),
        (HISTORY, json(&kept.history)),
        (FAILURE, kept.failure.as_ref().and_then(json)),
    ];
    let data = entries.into_iter().filter_map(|(key, json)| Some((key.to_owned(), json?)));
    let purpose = (kept.purpose == Purpose::Update).then_some((PURPOSE, UPDATE));
    let annotations = [(TARGET_IMAGE, kept.release.image.as_str())].into_iter().chain(purpose);
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

/// What is kept of a target, by the name of its record; nothing where that cannot be understood.
pub(super) fn read(found: &ConfigMap) -> Option<(String, Kept)> {
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
    let mut history: Vec<Run> = value(found, HISTORY).unwrap_or_default();
    history.truncate(MAX_RUNS);
    let mut failure: Option<Failure> = value(found, FAILURE);
    if let Some(failure) = &mut failure {
        shorten(&mut failure.message);
    }
    let said = partial.as_ref().or(complete.as_ref()).map(|said| &said.target_version);
    let ran = history.first().filter(|_| failure.is_some()).map(|run| &run.target_version);
    let version = said.or(ran)?.clone();
    let purpose = match found.annotations().get(PURPOSE).map(String::as_str) {
        Some(UPDATE) => Purpose::Update,
        _ => Purpose::Asked,
    };
    let release = Release { version, image: image.clone(), ..Release::default() };
    let kept = Kept { release, purpose, running: None, failure, complete, partial, history };
    Some((name, kept))
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
