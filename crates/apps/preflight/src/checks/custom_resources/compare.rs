//! One definition, as the cluster has it and as the target brings it.

use std::collections::BTreeSet;

use fairway_schema::{FieldError, Schema, children};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kube::ResourceExt as _;
use kube::api::ApiResource;
use serde_json::Value;

use crate::definitions::resource;
use crate::wording::quoted;

/// A definition that the target changes.
pub(super) struct Comparison {
    pub(super) definition: String,
    /// How its objects are read.
    pub(super) resource: ApiResource,
    /// Whether the target brings rules that are not evaluated here.
    pub(super) has_new_rules: bool,
    now: Schema,
    target: Schema,
}

impl Comparison {
    /// `None` if the target changes nothing that objects have to keep to.
    pub(super) fn new(
        now: &CustomResourceDefinition,
        target: &CustomResourceDefinition,
    ) -> Option<Self> {
        let version = common_version(now, target)?;
        let (before, after) = (schema(now, version)?, schema(target, version)?);
        (before != after).then(|| Self {
            definition: now.name_any(),
            resource: resource(now, version),
            has_new_rules: !rules(after).is_subset(&rules(before)),
            now: Schema::new(before),
            target: Schema::new(after),
        })
    }

    /// Why the target would refuse an object that is accepted now.
    pub(super) fn refusal(&self, object: &Value) -> Option<String> {
        let mut wrong = violations(&self.target, object);
        if wrong.is_empty() {
            return None;
        }
        let before = violations(&self.now, object);
        wrong.retain(|error| !before.contains(error));
        let first = quoted(&wrong.first()?.to_string());
        Some(match wrong.len() {
            1 => first,
            count => format!("{first}; and {} more", count - 1),
        })
    }
}

/// Everything that is wrong with an object if somebody writes it as it is.
fn violations(schema: &Schema, object: &Value) -> Vec<FieldError> {
    let mut written = object.clone();
    schema.prune(&mut written);
    schema.fill_in(&mut written);
    schema.violations(&written, Some(object))
}

/// The version in which the target stores objects, or another one that both have.
fn common_version<'a>(
    now: &CustomResourceDefinition,
    target: &'a CustomResourceDefinition,
) -> Option<&'a str> {
    let is_served = |name: &str| now.spec.versions.iter().any(|it| it.served && it.name == name);
    let mut common: Vec<_> =
        target.spec.versions.iter().filter(|version| is_served(&version.name)).collect();
    common.sort_by_key(|version| !version.storage);
    common.first().map(|version| version.name.as_str())
}

fn schema<'a>(
    definition: &'a CustomResourceDefinition,
    version: &str,
) -> Option<&'a JSONSchemaProps> {
    let mut versions = definition.spec.versions.iter();
    let version = versions.find(|it| it.name == version)?;
    version.schema.as_ref()?.open_api_v3_schema.as_ref()
}

/// The rules of a schema, wherever they stand in it.
fn rules(schema: &JSONSchemaProps) -> BTreeSet<(String, String)> {
    let mut rules = BTreeSet::new();
    let mut open = vec![(schema, String::new())];
    while let Some((schema, path)) = open.pop() {
        let own = schema.x_kubernetes_validations.iter().flatten();
        rules.extend(own.map(|rule| (path.clone(), rule.rule.clone())));
        open.extend(children(schema, &path));
    }
    rules
}
