//! What a server makes of an object that it does not have as it is wanted.

use std::io::{self, BufWriter};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What was wanted, and what the server made of it. A webhook may change what is written, an old
/// server drops what it does not know: while neither side of this changes, writing again would
/// change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settled {
    wanted: [u8; 32],
    live: [u8; 32],
}

impl Settled {
    pub(super) fn of(wanted: &Value, live: &Value) -> Self {
        // Lists do not name the kind of each item.
        let content = fields(live)
            .filter(|(key, _)| !matches!(*key, "status" | "apiVersion" | "kind" | "metadata"));
        let metadata = live.get("metadata").into_iter().flat_map(fields);
        let metadata = metadata.filter(|(key, _)| METADATA.contains(key));
        Self { wanted: digest(fields(wanted)), live: digest(metadata.chain(content)) }
    }
}

/// The metadata that changes only if the release or another client changes it.
const METADATA: [&str; 5] = ["annotations", "finalizers", "labels", "ownerReferences", "uid"];

fn fields(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    object.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// A digest of fields. Their JSON text is not kept: the schemas of a CRD may have a megabyte.
fn digest<'a>(fields: impl Iterator<Item = (&'a str, &'a Value)>) -> [u8; 32] {
    let mut digest = BufWriter::new(Digesting(Sha256::new()));
    for field in fields {
        serde_json::to_writer(&mut digest, &field).expect("a digest takes all bytes");
    }
    digest.into_inner().map(|it| it.0.finalize().into()).expect("a digest takes all bytes")
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
    fn what_changes_by_itself_does_not_count() {
        let wanted = json!({"spec": {"a": 1}});
        let live = json!({"kind": "A", "metadata": {"uid": "1", "resourceVersion": "7"}, "spec": {"a": 2}});
        let settled = Settled::of(&wanted, &live);
        let later = json!({
            "metadata": {"uid": "1", "resourceVersion": "8"}, "spec": {"a": 2}, "status": {"b": 1},
        });
        assert_eq!(Settled::of(&wanted, &later), settled);
        let edited = json!({"metadata": {"uid": "1"}, "spec": {"a": 3}});
        assert_ne!(Settled::of(&wanted, &edited), settled);
        assert_ne!(Settled::of(&json!({"spec": {"a": 3}}), &live), settled);
    }
}
