//! Images of workloads, which have to be pinned by digest.

use serde_json::Value;

use crate::image_references::is_image_character;
use crate::manifest::Manifest;

/// The annotation of manifests whose object is deleted.
const DELETE: &str = "release.openshift.io/delete";

/// An image of a workload that is not pinned by digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unpinned {
    /// The field of the object, such as `spec.template.spec.containers[0].image`.
    pub(super) field: String,
    pub(super) image: String,
}

/// Whether an image is pinned: `NAME@sha256:` with 64 hexadecimal digits.
pub(super) fn is_pinned(image: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    image.rsplit_once("@sha256:").is_some_and(|(name, digits)| {
        !name.is_empty()
            && name.chars().all(is_image_character)
            && digits.len() == 64
            && digits.bytes().all(is_digit)
    })
}

/// The images of a workload that are not pinned. Other objects may name images for any purpose, and
/// are not checked; neither are objects that the release deletes.
pub(super) fn unpinned(manifest: &Manifest) -> Vec<Unpinned> {
    let Some(path) = pod_spec(&manifest.id.group, &manifest.id.kind) else { return Vec::new() };
    if manifest.annotation(DELETE) == Some("true") {
        return Vec::new();
    }
    let object = manifest.object();
    let pointer = format!("/{}", path.replace('.', "/"));
    let Some(spec) = object.pointer(&pointer) else { return Vec::new() };
    let lists = [
        ("initContainers", "/image"),
        ("containers", "/image"),
        ("ephemeralContainers", "/image"),
        ("volumes", "/image/reference"),
    ];
    let images = lists.into_iter().flat_map(|(list, pointer)| {
        let items = spec.get(list).and_then(Value::as_array).into_iter().flatten();
        items.enumerate().filter_map(move |(index, item)| {
            let image = item.pointer(pointer)?.as_str()?.to_owned();
            let field = format!("{path}.{list}[{index}]{}", pointer.replace('/', "."));
            Some(Unpinned { field, image })
        })
    });
    images.filter(|Unpinned { image, .. }| !is_pinned(image)).collect()
}

/// Where objects of a kind have the specification of their pods.
fn pod_spec(group: &str, kind: &str) -> Option<&'static str> {
    match (group, kind) {
        ("", "Pod") => Some("spec"),
        ("apps", "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet")
        | ("", "ReplicationController")
        | ("batch", "Job") => Some("spec.template.spec"),
        ("batch", "CronJob") => Some("spec.jobTemplate.spec.template.spec"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::manifest::ObjectId;

    fn manifest(group: &str, kind: &str, object: &Value) -> Manifest {
        Manifest {
            file: "a.yaml".to_owned(),
            line: 1,
            id: ObjectId { group: group.to_owned(), kind: kind.to_owned(), ..ObjectId::default() },
            version: "v1".to_owned(),
            annotations: BTreeMap::new(),
            zero_values: [].into(),
            json: object.to_string().into(),
        }
    }

    fn fields(manifest: &Manifest) -> Vec<String> {
        let text = |Unpinned { field, image }| format!("{field} {image}");
        unpinned(manifest).into_iter().map(text).collect()
    }

    #[test]
    fn unpinned_finds_every_image_of_a_pod() {
        let pinned = format!("a/b@sha256:{}", "0".repeat(64));
        let pod = json!({
            "containers": [{"image": pinned}, {"image": "a/b:v1"}, {}, {"image": 1}],
            "initContainers": [{"image": "a/c"}],
            "ephemeralContainers": [{"image": ""}],
            "volumes": [{"image": {"reference": "a/d"}}, {"emptyDir": {}}],
        });
        let template = json!({"template": {"spec": pod}});
        for (group, kind, object, path) in [
            ("", "Pod", json!({"spec": pod}), "spec"),
            ("apps", "Deployment", json!({"spec": template}), "spec.template.spec"),
            ("apps", "DaemonSet", json!({"spec": template}), "spec.template.spec"),
            ("batch", "Job", json!({"spec": template}), "spec.template.spec"),
            (
                "batch",
                "CronJob",
                json!({"spec": {"jobTemplate": {"spec": template}}}),
                "spec.jobTemplate.spec.template.spec",
            ),
        ] {
            let expected = [
                "initContainers[0].image a/c",
                "containers[1].image a/b:v1",
                "ephemeralContainers[0].image ",
                "volumes[0].image.reference a/d",
            ]
            .map(|field| format!("{path}.{field}"));
            assert_eq!(fields(&manifest(group, kind, &object)), expected, "{kind}");
        }
    }

    #[test]
    fn unpinned_ignores_other_kinds_and_deleted_objects() {
        let object = json!({"spec": {"template": {"spec": {"containers": [{"image": "a"}]}}}});
        assert_eq!(fields(&manifest("example.com", "Deployment", &object)), [""; 0]);
        assert_eq!(fields(&manifest("apps", "Deployment", &json!({"spec": 1}))), [""; 0]);
        let mut deleted = manifest("apps", "Deployment", &object);
        assert_eq!(fields(&deleted).len(), 1);
        deleted.annotations = BTreeMap::from([(DELETE.to_owned(), "true".to_owned())]);
        assert_eq!(fields(&deleted), [""; 0]);
    }

    #[test]
    fn is_pinned_accepts_only_complete_digests() {
        let digits = "0123456789abcdef".repeat(4);
        assert!(is_pinned(&format!("r.example:5000/a/b:v1@sha256:{digits}")));
        for image in [
            String::new(),
            "a/b:v1".to_owned(),
            format!("@sha256:{digits}"),
            format!("a b@sha256:{digits}"),
            format!("a@sha256:{}", &digits[1..]),
            format!("a@sha256:{digits}0"),
            format!("a@sha256:{}", digits.to_uppercase()),
        ] {
            assert!(!is_pinned(&image), "{image}");
        }
    }
}
