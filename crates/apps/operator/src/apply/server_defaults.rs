//! Detection of API server defaults: changes that the API server or a webhook makes to every write.

use std::io::{self, BufWriter};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Digests of a desired object and of the live object that the API server made of it. A mutating
/// webhook may change what is written, and an old API server drops unknown fields. While both
/// digests stay the same, another write would change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ServerDefaults {
    wanted: [u8; 32],
    live: [u8; 32],
}

impl ServerDefaults {
    pub(super) fn new(wanted: &Value, live: &Value) -> Self {
        // Items of a list have no kind.
        let content = fields(live)
            .filter(|(key, _)| !matches!(*key, "status" | "apiVersion" | "kind" | "metadata"));
        let metadata = live.get("metadata").into_iter().flat_map(fields);
        let metadata = metadata.filter(|(key, _)| METADATA.contains(key));
        Self { wanted: digest(fields(wanted)), live: digest(metadata.chain(content)) }
    }
}

/// Metadata that only the release or another client changes.
const METADATA: [&str; 5] = ["annotations", "finalizers", "labels", "ownerReferences", "uid"];

fn fields(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    object.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// Digest of fields, without building their JSON text: CRD schemas have up to a megabyte.
fn digest<'a>(fields: impl Iterator<Item = (&'a str, &'a Value)>) -> [u8; 32] {
    let mut digest = BufWriter::new(Digesting(Sha256::new()));
    for field in fields {
        serde_json::to_writer(&mut digest, &field).expect("writing to a digest cannot fail");
    }
    digest.into_inner().map(|it| it.0.finalize().into()).expect("writing to a digest cannot fail")
}

#[derive(Debug)]
struct Digesting(Sha256);

impl io::Write for Digesting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_ignores_resource_version_and_status() {
        let wanted = json!({"spec": {"a": 1}});
        let live = json!({"kind": "A", "metadata": {"uid": "1", "resourceVersion": "7"}, "spec": {"a": 2}});
        let server_defaults = ServerDefaults::new(&wanted, &live);
        let later = json!({
            "metadata": {"uid": "1", "resourceVersion": "8"}, "spec": {"a": 2}, "status": {"b": 1},
        });
        assert_eq!(ServerDefaults::new(&wanted, &later), server_defaults);
        let edited = json!({"metadata": {"uid": "1"}, "spec": {"a": 3}});
        assert_ne!(ServerDefaults::new(&wanted, &edited), server_defaults);
        assert_ne!(ServerDefaults::new(&json!({"spec": {"a": 3}}), &live), server_defaults);
    }
}
