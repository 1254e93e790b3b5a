//! Claims: the signed data of an image signature (atomic container signature format).

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use crate::Digest;

/// Type of every claim.
const TYPE: &str = "atomic container signature";
/// Creator in the claims of Fairway.
const CREATOR: &str = concat!("fairway/", env!("CARGO_PKG_VERSION"));

/// A verified statement that a key signed an image under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Digest of the manifest.
    pub digest: Digest,
    /// Name of the image in the claim.
    pub reference: String,
    /// Fingerprint of the signing key.
    pub signer: String,
    /// Creation time of the signature, which is signed itself.
    pub signed: Timestamp,
}

/// Signed data that is not a valid claim about the image.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum ClaimError {
    /// The data is malformed.
    #[error("signed data is not an atomic container signature: {why}")]
    Malformed { why: String },
    /// The data has another type.
    #[error("signed data is of type {0:?}, not {TYPE:?}")]
    Type(String),
    /// The claim is about another image.
    #[error("signature is for another image: {0}")]
    OtherImage(Digest),
    /// The claim has no name of the image.
    #[error("signed data has no docker-reference")]
    Nameless,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimDocument {
    critical: Critical,
    #[serde(default, rename = "optional")]
    _optional: Optional,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Critical {
    r#type: String,
    image: Image,
    identity: Identity,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Image {
    docker_manifest_digest: Digest,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Identity {
    docker_reference: String,
}

/// Informative fields. No other fields are allowed.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Optional {
    #[serde(rename = "creator")]
    _creator: String,
    #[serde(rename = "timestamp")]
    _timestamp: i64,
}

impl Claim {
    /// The data to sign.
    pub(super) fn write(image: &Digest, reference: &str, now: Timestamp) -> Vec<u8> {
        let claim = json!({
            "critical": {
                "type": TYPE,
                "image": { "docker-manifest-digest": image },
                "identity": { "docker-reference": reference },
            },
            "optional": { "creator": CREATOR, "timestamp": now.as_second() },
        });
        claim.to_string().into_bytes()
    }

    /// Parses signed data, which must be about the image.
    pub(super) fn read(
        text: &[u8],
        (signer, time): (&str, Timestamp),
        image: &Digest,
    ) -> Result<Self, ClaimError> {
        let ClaimDocument { critical, _optional } = serde_json::from_slice(text)
            .map_err(|error| ClaimError::Malformed { why: error.to_string() })?;
        let Critical { r#type, image: Image { docker_manifest_digest: digest }, identity } =
            critical;
        if r#type != TYPE {
            return Err(ClaimError::Type(r#type));
        }
        if digest != *image {
            return Err(ClaimError::OtherImage(digest));
        }
        let reference = identity.docker_reference;
        if reference.is_empty() {
            Err(ClaimError::Nameless)
        } else {
            Ok(Self { digest, reference, signer: signer.to_owned(), signed: time })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM: &str = r#"{"critical":{"type":"atomic container signature","image":{"docker-manifest-digest":"DIGEST"},"identity":{"docker-reference":"registry.example/a:1"}},"optional":{"creator":"atomic","timestamp":1748822400}}"#;

    fn read(text: &str) -> Result<Claim, ClaimError> {
        let image = Digest::of(b"manifest");
        let text = text.replace("DIGEST", image.as_str());
        Claim::read(text.as_bytes(), ("KEY", Timestamp::UNIX_EPOCH), &image)
    }

    #[test]
    fn read_with_claims_of_other_tools_returns_claim() {
        let image = Digest::of(b"manifest");
        let own = Claim::write(&image, "registry.example/a:1", Timestamp::UNIX_EPOCH);
        for text in
            [CLAIM, &CLAIM.replace(r#","timestamp":1748822400"#, ""), str::from_utf8(&own).unwrap()]
        {
            let claim = read(text).unwrap();
            assert_eq!((&claim.digest, claim.reference.as_str()), (&image, "registry.example/a:1"));
        }
    }

    #[test]
    fn read_with_unknown_fields_fails() {
        let errors = [
            (r#""optional":{"#, r#""optional":{"more":1,"#),
            (r#""critical":{"#, r#""critical":{"more":1,"#),
            (r#""image":{"#, r#""image":{"more":1,"#),
            (r#""identity":{"#, r#""identity":{"more":1,"#),
            (r#""critical":{"#, r#""critical":{"type":"another","#),
            ("DIGEST", "sha512:00"),
            (r#""docker-reference":"registry.example/a:1""#, ""),
            ("}}", "}}{}"),
        ]
        .map(|(what, instead)| {
            assert!(CLAIM.contains(what));
            let why = read(&CLAIM.replacen(what, instead, 1)).unwrap_err().to_string();
            why.rsplit_once(" at line").map_or(why.clone(), |(why, _)| why.to_owned())
        });
        insta::assert_snapshot!(errors.join("\n"), @r#"
        signed data is not an atomic container signature: unknown field `more`, expected `creator` or `timestamp`
        signed data is not an atomic container signature: unknown field `more`, expected one of `type`, `image`, `identity`
        signed data is not an atomic container signature: unknown field `more`, expected `docker-manifest-digest`
        signed data is not an atomic container signature: unknown field `more`, expected `docker-reference`
        signed data is not an atomic container signature: duplicate field `type`
        signed data is not an atomic container signature: "sha512:00" is not a SHA-256 digest
        signed data is not an atomic container signature: missing field `docker-reference`
        signed data is not an atomic container signature: expected `,` or `}`
        "#);
    }
}
