//! Signatures that other implementations have made, and their verdicts on ours.

mod agreement;
mod corpus;
mod legacy;
mod packets;
mod real;
mod tools;

use fairway_registry::Digest;
use jiff::Timestamp;

const REFERENCE: &str = "registry.example/releases:5.1.0";

fn image() -> Digest {
    Digest::of(b"manifest")
}

/// The data that signers sign.
fn claim(reference: &str) -> Vec<u8> {
    let claim = serde_json::json!({ "critical": {
        "type": "atomic container signature",
        "image": { "docker-manifest-digest": image() },
        "identity": { "docker-reference": reference },
    }});
    claim.to_string().into_bytes()
}

/// The time at which gpg makes signatures.
#[expect(clippy::disallowed_methods, reason = "other tools read the clock as well")]
fn now() -> Timestamp {
    Timestamp::now()
}
