//! Signature policy of a release: keyrings and stores that verify its successors.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use crate::{Manifest, ObjectId};

/// Annotation of the ConfigMap; its value is ignored.
const ANNOTATION: &str = "release.openshift.io/verification-config-map";
const KEYRING: &str = "verifier-public-key-";
const STORE: &str = "store-";

/// Keyrings of one release: one for each party that has to sign.
const MAX_KEYRINGS: usize = 16;
/// Signature stores of one release: the limit of ClusterVersion.
const MAX_STORES: usize = 32;
/// Bytes of the URL of a store: the limit of ClusterVersion.
const MAX_STORE_BYTES: usize = 2048;

/// Keyrings and signature stores of a release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// OpenPGP public keys by name, armored or binary. Every keyring must have a valid signature.
    pub keyrings: BTreeMap<String, Vec<u8>>,
    /// URLs of stores by name: `https`, `http` or `file`.
    pub stores: BTreeMap<String, String>,
}

/// An invalid signature policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place} has no valid signature policy: {problem}")]
pub struct VerificationError {
    place: String,
    problem: Problem,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("{why}")]
    Malformed { why: String },
    #[error("no key starts with {KEYRING}")]
    NoKeyrings,
    #[error("{key} is in both data and binaryData")]
    Twice { key: String },
    #[error("{key} is not valid Base64")]
    NotBase64 { key: String },
    #[error("{key} is not an https, http or file URL of at most {MAX_STORE_BYTES} bytes")]
    NotAStore { key: String },
    #[error("more than {most} keys start with {prefix}")]
    TooMany { prefix: &'static str, most: usize },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigMap {
    #[serde(default)]
    data: Option<BTreeMap<String, String>>,
    #[serde(default)]
    binary_data: Option<BTreeMap<String, String>>,
}

impl Verification {
    /// Reads the policy from the first ConfigMap with the annotation; `None` if there is none.
    pub fn from_manifests(manifests: &[Manifest]) -> Result<Option<Self>, VerificationError> {
        let is_marked = |manifest: &&Manifest| {
            let ObjectId { group, kind, .. } = &manifest.id;
            group.is_empty() && kind == "ConfigMap" && manifest.annotation(ANNOTATION).is_some()
        };
        let Some(manifest) = manifests.iter().find(is_marked) else { return Ok(None) };
        let Manifest { file, line, id, .. } = manifest;
        let failed = |problem| {
            let place = format!("{file}, line {line}: {id}");
            VerificationError { place, problem }
        };
        Self::read(&manifest.json()).map(Some).map_err(failed)
    }

    fn read(json: &str) -> Result<Self, Problem> {
        let ConfigMap { data, binary_data } = serde_json::from_str(json)
            .map_err(|error| Problem::Malformed { why: error.to_string() })?;
        let mut read = Self::default();
        for (key, text) in data.unwrap_or_default() {
            if key.starts_with(KEYRING) {
                read.keyrings.insert(key, text.into_bytes());
            } else if key.starts_with(STORE) {
                let address = store(&key, &text)?;
                read.stores.insert(key, address);
            }
        }
        // Binary keyrings are required in addition to those in `data`.
        for (key, text) in binary_data.unwrap_or_default() {
            if key.starts_with(KEYRING) {
                let Ok(bytes) = BASE64_STANDARD.decode(text) else {
                    return Err(Problem::NotBase64 { key });
                };
                if read.keyrings.insert(key.clone(), bytes).is_some() {
                    return Err(Problem::Twice { key });
                }
            }
        }
        read.check()
    }

    fn check(self) -> Result<Self, Problem> {
        for (count, prefix, most) in
            [(self.keyrings.len(), KEYRING, MAX_KEYRINGS), (self.stores.len(), STORE, MAX_STORES)]
        {
            if count > most {
                return Err(Problem::TooMany { prefix, most });
            }
        }
        if self.keyrings.is_empty() { Err(Problem::NoKeyrings) } else { Ok(self) }
    }
}

fn store(key: &str, address: &str) -> Result<String, Problem> {
    let is_known =
        ["https://", "http://", "file://"].iter().any(|scheme| address.starts_with(scheme));
    if is_known && address.len() <= MAX_STORE_BYTES {
        Ok(address.to_owned())
    } else {
        Err(Problem::NotAStore { key: key.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn config_map(name: &str, content: &Value) -> Manifest {
        let mut object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": "openshift-config-managed" },
        });
        object.as_object_mut().unwrap().extend(content.as_object().unwrap().clone());
        Manifest {
            file: "0000_90_signatures.yaml".to_owned(),
            line: 3,
            id: ObjectId {
                group: String::new(),
                kind: "ConfigMap".to_owned(),
                namespace: "openshift-config-managed".to_owned(),
                name: name.to_owned(),
            },
            version: "v1".to_owned(),
            annotations: BTreeMap::from([(ANNOTATION.to_owned(), String::new())]),
            zero_values: [].into(),
            json: object.to_string().into(),
        }
    }

    fn other() -> Manifest {
        let content = json!({ "data": { "verifier-public-key-other": "key" } });
        Manifest { annotations: BTreeMap::new(), ..config_map("other", &content) }
    }

    fn of(content: &Value) -> Result<Verification, String> {
        let manifests = [other(), config_map("verification", content), other()];
        match Verification::from_manifests(&manifests) {
            Ok(read) => Ok(read.unwrap()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn from_manifests_uses_first_annotated_config_map() {
        let read = of(&json!({
            "data": {
                "verifier-public-key-platform": "one",
                "store-web": "https://signatures.example/store",
                "store-here": "file:///signatures",
                "README": "anything",
            },
            "binaryData": { "verifier-public-key-partner": "dHdv" },
        }));
        let read = read.unwrap();
        assert_eq!(read.keyrings["verifier-public-key-platform"], b"one");
        assert_eq!(read.keyrings["verifier-public-key-partner"], b"two");
        assert_eq!(read.keyrings.len(), 2);
        let stores: Vec<&str> = read.stores.values().map(String::as_str).collect();
        assert_eq!(stores, ["file:///signatures", "https://signatures.example/store"]);
        assert_eq!(Verification::from_manifests(&[other()]), Ok(None));
    }

    #[test]
    fn from_manifests_with_keys_of_okd_returns_keyring_and_store() {
        let store = "https://storage.googleapis.com/openshift-ci-release/releases/signatures";
        let read = of(&json!({ "data": {
            "store-openshift-ci-release": store,
            "verifier-public-key-ci": "-----BEGIN PGP PUBLIC KEY BLOCK-----\n",
        }}));
        let Verification { keyrings, stores } = read.unwrap();
        assert_eq!(keyrings.into_keys().collect::<Vec<_>>(), ["verifier-public-key-ci"]);
        assert_eq!(stores.into_values().collect::<Vec<_>>(), [store]);
    }

    #[test]
    fn from_manifests_with_invalid_policy_fails_with_position() {
        let key = |number: usize| (format!("verifier-public-key-{number}"), json!("key"));
        let keys: serde_json::Map<String, Value> = (0..=MAX_KEYRINGS).map(key).collect();
        let long = format!("https://{}", "a".repeat(MAX_STORE_BYTES));
        let messages: Vec<String> = [
            json!({}),
            json!({ "data": null }),
            json!({ "data": { "store-web": "https://signatures.example" } }),
            json!({ "data": { "verifier-public-key-a": 1 } }),
            json!({ "data": { "verifier-public-key-a": "key", "store-web": "ftp://example" } }),
            json!({ "data": { "verifier-public-key-a": "key", "store-web": long } }),
            json!({ "binaryData": { "verifier-public-key-a": "!" } }),
            json!({ "data": { "verifier-public-key-a": "key" }, "binaryData": { "verifier-public-key-a": "a2V5" } }),
            json!({ "data": keys }),
        ]
        .map(|content| of(&content).unwrap_err())
        .into();
        insta::assert_snapshot!(messages.join("\n"), @r#"
        0000_90_signatures.yaml, line 3: configmap "openshift-config-managed/verification" has no valid signature policy: no key starts with verifier-public-key-
        0000_90_signatures.yaml, line 3: configmap "openshift-config-managed/verification" has no valid signature policy: no key starts with verifier-public-key-
        0000_90_signatures.yaml, line 3: configmap "openshift-config-managed/verification" has no valid signature policy: no key starts with verifier-public-key-
        0000_90_signatures.yaml, line 3: configmap "openshift-config-managed/verification" has no valid signature policy: invalid type: integer `1`, expected a string at line 1 column 52
        0000_90_signatures.yaml, line 3: configmap "openshift-config-managed/verification" has no valid signature policy: store-web is not an https, http or file URL of at most 2048 bytes
        0000_90_signatures.yaml, line 3: configmap "openshift-config-managed/verification" has no valid signature policy: store-web is not an https, http or file URL of at most 2048 bytes
        0000_90_signatures.yaml, line 3: configmap "openshift-config-managed/verification" has no valid signature policy: verifier-public-key-a is not valid Base64
        0000_90_signatures.yaml, line 3: configmap "openshift-config-managed/verification" has no valid signature policy: verifier-public-key-a is in both data and binaryData
        0000_90_signatures.yaml, line 3: configmap "openshift-config-managed/verification" has no valid signature policy: more than 16 keys start with verifier-public-key-
        "#);
    }
}
