//! What a signature says.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use crate::Digest;

/// What every claim says that it is.
const TYPE: &str = "atomic container signature";
/// Who makes claims here.
const CREATOR: &str = concat!("fairway/", env!("CARGO_PKG_VERSION"));

/// That somebody signed an image, under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The digest of the image's manifest.
    pub digest: Digest,
    /// What the signer calls the image.
    pub reference: String,
    /// The fingerprint of the key that has signed it.
    pub signer: String,
}

/// Why a signed text says nothing about an image.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// It is not a claim at all.
    #[error("signed data is not an atomic container signature: {why}")]
    Malformed {
        /// Why.
        why: String,
    },
    /// It says that it is something else.
    #[error("signed data is of type {0:?}, not {TYPE:?}")]
    Type(String),
    /// It is about another image.
    #[error("signature is of another image, {0}")]
    OtherImage(Digest),
    /// It does not say what the image is called.
    #[error("signed data has no docker-reference")]
    Nameless,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
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

/// Who signed with what, and when; nothing depends on it, but only this may stand there.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Optional {
    #[serde(rename = "creator")]
    _creator: String,
    #[serde(rename = "timestamp")]
    _timestamp: i64,
}

impl Claim {
    /// What there is to be signed.
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

    /// Reads what somebody has signed. It has to be about that image.
    pub(super) fn read(text: &[u8], signer: &str, image: &Digest) -> Result<Self, ClaimError> {
        let Written { critical, _optional } = serde_json::from_slice(text)
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
            Ok(Self { digest, reference, signer: signer.to_owned() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIM: &str = r#"{"critical":{"type":"atomic container signature","image":{"docker-manifest-digest":"DIGEST"},"identity":{"docker-reference":"registry.example/a:1"}},"optional":{"creator":"atomic","timestamp":1748822400}}"#;

    fn read(text: &str) -> Result<Claim, ClaimError> {
        let image = Digest::of(b"manifest");
        Claim::read(text.replace("DIGEST", image.as_str()).as_bytes(), "KEY", &image)
    }

    #[test]
    fn a_claim_is_read_as_others_write_it() {
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
    fn nothing_may_stand_in_it_that_is_not_known() {
        let told = [
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
        insta::assert_snapshot!(told.join("\n"), @r#"
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
