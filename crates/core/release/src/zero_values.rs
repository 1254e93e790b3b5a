//! Zero values of required fields, from the CRDs of a release.
//!
//! The Go operator writes some kinds from Go structs, which have all their fields: a
//! ClusterOperator without `spec` becomes `spec: {}`. Manifests rely on it, and API servers reject
//! them otherwise. The CRDs of a release declare which fields are affected.

use std::collections::BTreeMap;

use fairway_schema::Schema;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;

use crate::manifest::Manifest;

/// Copies manifests, and adds the zero values of required fields to those whose CRD is among them.
pub fn with_zero_values(manifests: &[&Manifest]) -> Vec<Manifest> {
    let mut copies: Vec<Manifest> = manifests.iter().copied().cloned().collect();
    let mut by_group: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (position, manifest) in manifests.iter().enumerate() {
        by_group.entry(&manifest.id.group).or_default().push(position);
    }
    for crd in manifests.iter().filter(|manifest| is_crd(manifest)) {
        // CRDs are named `<plural>.<group>`, and most have no object in the release. One after the
        // other, because a schema takes a hundred times the memory of its text.
        let group = crd.id.name.split_once('.').map(|(_, group)| group);
        let Some(positions) = group.and_then(|group| by_group.get(group)) else { continue };
        add(crd, positions, &mut copies);
    }
    copies
}

/// Kind and versions of a CRD, without its schemas.
#[derive(Deserialize)]
struct CrdOutline {
    spec: CrdOutlineSpec,
}

#[derive(Deserialize)]
struct CrdOutlineSpec {
    names: CrdOutlineNames,
    versions: Vec<CrdOutlineVersion>,
}

#[derive(Deserialize)]
struct CrdOutlineNames {
    kind: String,
}

#[derive(Deserialize)]
struct CrdOutlineVersion {
    name: String,
}

impl CrdOutline {
    fn declares(&self, manifest: &Manifest) -> bool {
        manifest.id.kind == self.spec.names.kind
            && self.spec.versions.iter().any(|version| version.name == manifest.version)
    }
}

/// Adds the zero values of the kind of a CRD to its objects among some manifests.
fn add(crd: &Manifest, positions: &[usize], manifests: &mut [Manifest]) {
    let json = crd.json();
    // Decoding schemas takes most of the time, and groups have many CRDs without an object in the
    // release.
    let has_objects = serde_json::from_str::<CrdOutline>(&json)
        .is_ok_and(|crd| positions.iter().any(|position| crd.declares(&manifests[*position])));
    if !has_objects {
        return;
    }
    let Ok(CustomResourceDefinition { spec, .. }) = serde_json::from_str(&json) else {
        // The API server reports the error.
        return;
    };
    for version in spec.versions {
        let is_of_kind = |manifest: &Manifest| {
            (&manifest.id.kind, &manifest.version) == (&spec.names.kind, &version.name)
        };
        let objects = positions.iter().filter(|position| is_of_kind(&manifests[**position]));
        let objects: Vec<usize> = objects.copied().collect();
        let schema = version.schema.and_then(|schema| schema.open_api_v3_schema);
        let Some(schema) = schema.filter(|_| !objects.is_empty()) else { continue };
        let schema = Schema::new(&schema);
        for position in objects {
            let manifest = &mut manifests[position];
            manifest.zero_values = schema.zero_values(&manifest.object()).into();
        }
    }
}

fn is_crd(manifest: &Manifest) -> bool {
    manifest.id.group == "apiextensions.k8s.io"
        && manifest.id.kind == "CustomResourceDefinition"
        && manifest.version == "v1"
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::manifest::ObjectId;

    fn manifest(object: &Value) -> Manifest {
        let text =
            |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (group, version) = text("/apiVersion").split_once('/').unwrap_or_default();
        Manifest {
            file: "a.yaml".to_owned(),
            line: 1,
            id: ObjectId {
                group: group.to_owned(),
                kind: text("/kind").to_owned(),
                namespace: String::new(),
                name: text("/metadata/name").to_owned(),
            },
            version: version.to_owned(),
            annotations: BTreeMap::new(),
            zero_values: [].into(),
            json: object.to_string().into(),
        }
    }

    fn crd() -> Value {
        let schema = json!({
            "type": "object", "required": ["spec", "name/with~both"],
            "properties": {
                "spec": {"type": "object"},
                "name/with~both": {"type": "string"},
            },
        });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Cluster",
                "names": {"plural": "widgets", "kind": "Widget"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": schema},
                }],
            },
        })
    }

    fn widget(version: &str) -> Value {
        json!({"apiVersion": format!("example.com/{version}"), "kind": "Widget", "metadata": {"name": "w"}})
    }

    #[test]
    fn object_of_a_crd_gets_its_required_fields() {
        let (crd, widget) = (manifest(&crd()), manifest(&widget("v1")));
        let completed = with_zero_values(&[&widget, &crd]);
        let object = completed[0].completed_object();
        assert_eq!((&object["spec"], &object["name/with~both"]), (&json!({}), &json!("")));
        assert_eq!(completed[0].json(), widget.json(), "the manifest stays as it was written");
        let without_spec = completed[0]
            .completed_object_with(|zero| (zero.pointer != "/spec").then(|| zero.value.clone()));
        assert!(without_spec.get("spec").is_none());
    }

    #[test]
    fn object_of_another_version_or_a_broken_crd_stays_as_it_is() {
        let mut broken = crd();
        broken["spec"]["versions"] = json!("none");
        for (crd, widget) in [(crd(), widget("v2")), (broken, widget("v1"))] {
            let (crd, widget) = (manifest(&crd), manifest(&widget));
            assert_eq!(with_zero_values(&[&crd, &widget]), [crd.clone(), widget.clone()]);
        }
    }
}
