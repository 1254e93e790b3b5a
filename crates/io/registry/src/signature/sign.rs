//! Signing an image, as `gpg --sign` would sign the claim about it.

use jiff::Timestamp;
use pgp::composed::{Deserializable as _, SignedSecretKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{
    LiteralData, OnePassSignature, PacketHeader, PacketTrait as _, SecretKey, SecretSubkey,
    SignatureConfig, SignatureType, Subpacket, SubpacketData,
};
use pgp::ser::Serialize as _;
use pgp::types::{KeyDetails, KeyVersion, Password, SigningKey, Tag};

use super::certificate::signing_keys;
use super::claim::Claim;
use super::key::Key;
use super::keyring::{Keyring, SignatureError, blocks};
use crate::Digest;

/// Bytes of a secret key with everything that others have said about it.
const LARGEST_KEY: usize = 1 << 20;
const SECRET_KEY: &str = "-----BEGIN PGP PRIVATE KEY BLOCK-----";

/// What every verifier knows.
const HASH: HashAlgorithm = HashAlgorithm::Sha256;
/// What stands before a text in a message: that it is bytes, has no file name, and no time, for a
/// time would be nobody's word there.
const LITERAL: &[u8] = b"b\0\0\0\0\0";

/// A signature of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The signature, as stores have it.
    pub signature: Vec<u8>,
    /// The fingerprint of the key that has made it.
    pub signer: String,
}

/// Why an image cannot be signed.
#[derive(Debug, thiserror::Error)]
pub enum SigningError {
    /// The key is none.
    #[error("not an OpenPGP secret key: {why}")]
    NotAKey {
        /// Why.
        why: String,
    },
    /// The key is for something else, or its secret part is elsewhere.
    #[error("no secret key that can sign")]
    NoSigner,
    /// The key is locked.
    #[error("key {key} requires a passphrase")]
    Locked {
        /// The key.
        key: String,
    },
    /// The key stays locked.
    #[error("wrong passphrase for key {key}")]
    Passphrase {
        /// The key.
        key: String,
    },
    /// Most verifiers do not know such keys.
    #[error("key {key} has a version that most verifiers do not support: generate a version 4 key")]
    Version {
        /// The key.
        key: String,
    },
    /// Something else is wrong with the key.
    #[error("cannot sign with key {key}: {why}")]
    Failed {
        /// The key.
        key: String,
        /// Why.
        why: String,
    },
    /// What was made would not count.
    #[error("the new signature is not valid")]
    Worthless(#[from] SignatureError),
}

/// Signs an image under a name, with an OpenPGP secret key, armoured or not. The same arguments give
/// the same signature, with the kinds of keys that are usual.
pub fn sign(
    image: &Digest,
    reference: &str,
    key: &[u8],
    passphrase: Option<&str>,
    now: Timestamp,
) -> Result<Signed, SigningError> {
    let certificate = parse(key)?;
    if certificate.primary_key.version() != KeyVersion::V4 {
        return Err(SigningError::Version { key: name(&certificate.primary_key) });
    }
    let public = public(&certificate)?;
    let (key, secret) = signer(&certificate, &public, now)?;
    let name = || key.name.clone();
    let password = passphrase.map_or_else(Password::empty, Password::from);
    let message = secret.sign(&Claim::write(image, reference, now), &password, now);
    let signature = message.map_err(|error| match (secret.is_locked(), passphrase) {
        (true, None) => SigningError::Locked { key: name() },
        (true, Some(_)) => SigningError::Passphrase { key: name() },
        (false, _) => SigningError::Failed { key: name(), why: error.to_string() },
    })?;
    let Claim { signer, .. } = public.verify(&signature, image, now)?;
    Ok(Signed { signature, signer })
}

/// The one key that there has to be.
fn parse(bytes: &[u8]) -> Result<SignedSecretKey, SigningError> {
    let refused = |why: &str| SigningError::NotAKey { why: why.to_owned() };
    if bytes.len() > LARGEST_KEY {
        return Err(refused(&format!("larger than {LARGEST_KEY} bytes")));
    }
    let mut found = None;
    for block in blocks(bytes, SECRET_KEY) {
        let malformed = |error: pgp::errors::Error| refused(&error.to_string());
        let (keys, _) = SignedSecretKey::from_reader_many_buf(block).map_err(malformed)?;
        for key in keys {
            if found.replace(key.map_err(malformed)?).is_some() {
                return Err(refused("the file contains more than one key"));
            }
        }
    }
    found.ok_or_else(|| refused("the file contains no key"))
}

/// The public keys of a secret key that may sign.
fn public(certificate: &SignedSecretKey) -> Result<Keyring, SigningError> {
    let failed = |why: String| SigningError::Failed { key: name(&certificate.primary_key), why };
    let packets =
        certificate.to_public_key().to_bytes().map_err(|error| failed(error.to_string()))?;
    let keys = signing_keys(&packets).map_err(|error| failed(error.to_string()))?;
    Ok(Keyring { keys })
}

/// The fingerprint of a key in upper-case hexadecimal.
fn name(key: &impl KeyDetails) -> String {
    format!("{:X}", key.fingerprint())
}

/// The secret part of a key.
enum Secret<'a> {
    Primary(&'a SecretKey),
    Subkey(&'a SecretSubkey),
}

impl Secret<'_> {
    fn sign(
        &self,
        claim: &[u8],
        password: &Password,
        now: Timestamp,
    ) -> pgp::errors::Result<Vec<u8>> {
        match self {
            Self::Primary(key) => message(claim, *key, password, now),
            Self::Subkey(key) => message(claim, *key, password, now),
        }
    }

    fn is_locked(&self) -> bool {
        match self {
            Self::Primary(key) => key.secret_params().is_encrypted(),
            Self::Subkey(key) => key.secret_params().is_encrypted(),
        }
    }
}

/// The key to sign with: the last of the subkeys that are valid, as with `gpg`, else the primary.
fn signer<'a>(
    certificate: &'a SignedSecretKey,
    public: &'a Keyring,
    now: Timestamp,
) -> Result<(&'a Key, Secret<'a>), SigningError> {
    let mut refusal = SigningError::NoSigner;
    for key in public.keys.iter().rev() {
        match (key.valid_at(now), secret(certificate, key)) {
            (Ok(()), Some(secret)) => return Ok((key, secret)),
            (Err(why), Some(_)) => refusal = SigningError::Worthless(why),
            (_, None) => {}
        }
    }
    Err(refusal)
}

fn secret<'a>(certificate: &'a SignedSecretKey, key: &Key) -> Option<Secret<'a>> {
    let primary = &certificate.primary_key;
    if key.name == name(primary) {
        return Some(Secret::Primary(primary));
    }
    let mut subkeys = certificate.secret_subkeys.iter().map(|subkey| &subkey.key);
    subkeys.find(|subkey| key.name == name(*subkey)).map(Secret::Subkey)
}

/// A message: who signs and how, what is signed, and the signature.
fn message(
    claim: &[u8],
    signer: &impl SigningKey,
    password: &Password,
    now: Timestamp,
) -> pgp::errors::Result<Vec<u8>> {
    let (algorithm, id) = (signer.algorithm(), signer.legacy_key_id());
    let begin = OnePassSignature::v3(SignatureType::Binary, HASH, algorithm, id);
    let mut config = SignatureConfig::v4(SignatureType::Binary, algorithm, HASH);
    let seconds = u32::try_from(now.as_second()).unwrap_or(u32::MAX);
    let created = SubpacketData::SignatureCreationTime(pgp::types::Timestamp::from_secs(seconds));
    let issuer = SubpacketData::IssuerFingerprint(signer.fingerprint());
    config.hashed_subpackets = vec![Subpacket::regular(issuer)?, Subpacket::regular(created)?];
    config.unhashed_subpackets = vec![Subpacket::regular(SubpacketData::IssuerKeyId(id))?];
    let signature = config.sign(signer, password, claim)?;

    let text = [LITERAL, claim].concat();
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let header = PacketHeader::new_fixed(Tag::LiteralData, length);
    let text = LiteralData::try_from_reader(header, text.as_slice())?;
    let mut message = Vec::new();
    begin.to_writer_with_header(&mut message)?;
    text.to_writer_with_header(&mut message)?;
    signature.to_writer_with_header(&mut message)?;
    Ok(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! fixture {
        ($name:literal) => {
            include_bytes!(concat!("fixtures/", $name)).as_slice()
        };
    }

    const NAME: &str = "registry.example/releases:5.0.1";

    fn soon() -> Timestamp {
        "2025-06-02T00:00:00Z".parse().unwrap()
    }

    fn signed(key: &[u8], passphrase: Option<&str>) -> Result<Signed, SigningError> {
        sign(&Digest::of(b"manifest"), NAME, key, passphrase, soon())
    }

    #[test]
    fn what_is_signed_counts_for_those_who_trust_the_key() {
        let keyring = Keyring::parse(fixture!("keyring.asc")).unwrap();
        let image = Digest::of(b"manifest");
        for key in [
            fixture!("secret/plain.asc"),
            fixture!("secret/rsa.asc"),
            fixture!("secret/subkey.asc"),
        ] {
            let Signed { signature, signer } = signed(key, None).unwrap();
            assert_eq!(signature, signed(key, None).unwrap().signature);
            let claim = keyring.verify(&signature, &image, soon()).unwrap();
            assert_eq!((&claim.digest, claim.reference.as_str()), (&image, NAME));
            assert_eq!(claim.signer, signer);
            let other = keyring.verify(&signature, &Digest::of(b"other"), soon());
            assert!(matches!(other, Err(SignatureError::Claim(_))), "{other:?}");
        }
        assert!(signed(fixture!("secret/locked.asc"), Some("correct horse")).is_ok());
    }

    #[test]
    fn what_would_not_count_is_not_signed() {
        let (locked, twice) = (
            fixture!("secret/locked.asc"),
            [fixture!("secret/plain.asc"), fixture!("secret/rsa.asc")].concat(),
        );
        let late = "2026-06-01T00:00:00Z".parse().unwrap();
        let told = [
            signed(locked, None),
            signed(locked, Some("wrong")),
            signed(fixture!("secret/recipient.asc"), None),
            signed(fixture!("secret/revoked.asc"), None),
            sign(&Digest::of(b"manifest"), NAME, fixture!("secret/expiring.asc"), None, late),
            sign(&Digest::of(b"manifest"), "", fixture!("secret/plain.asc"), None, late),
            signed(fixture!("plain.asc"), None),
            signed(b"", None),
            signed(&twice, None),
            signed(&vec![0; LARGEST_KEY + 1], None),
        ]
        .map(|signed| {
            let error = signed.unwrap_err();
            let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
            super::super::keyring::anonymous(&format!("{error}{}", source.unwrap_or_default()))
        });
        insta::assert_snapshot!(told.join("\n"), @"
        key KEY requires a passphrase
        wrong passphrase for key KEY
        no secret key that can sign
        the new signature is not valid: key KEY is revoked
        the new signature is not valid: key KEY expired at 2026-01-01T00:00:00Z, before it signed at 2026-06-01T00:00:00Z
        the new signature is not valid: signed data has no docker-reference
        not an OpenPGP secret key: unexpected block type: PGP PUBLIC KEY BLOCK
        not an OpenPGP secret key: empty input
        not an OpenPGP secret key: the file contains more than one key
        not an OpenPGP secret key: larger than 1048576 bytes
        ");
    }
}
