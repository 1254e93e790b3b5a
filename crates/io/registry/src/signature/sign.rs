//! Signs images, in the format of `gpg --sign` of the claim.

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

/// Bytes of a secret key with all its certifications.
const MAX_KEY_BYTES: usize = 1 << 20;
const SECRET_KEY: &str = "-----BEGIN PGP PRIVATE KEY BLOCK-----";

/// Digest algorithm of new signatures, which all verifiers support.
const HASH: HashAlgorithm = HashAlgorithm::Sha256;
/// Header of a literal data packet: binary, without file name and time, which are not signed.
const LITERAL: &[u8] = b"b\0\0\0\0\0";

/// A new signature of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageSignature {
    /// The signed message, as in signature stores.
    pub signature: Vec<u8>,
    /// Fingerprint of the signing key.
    pub signer: String,
}

/// An image that cannot be signed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum SigningError {
    /// The file is not a secret key.
    #[error("not an OpenPGP secret key: {why}")]
    NotAKey { why: String },
    /// The key may not sign, or has no secret part.
    #[error("no secret key that can sign")]
    NoSigner,
    /// The key requires a passphrase.
    #[error("key {key} requires a passphrase")]
    Locked { key: String },
    /// The passphrase is wrong.
    #[error("wrong passphrase for key {key}")]
    Passphrase { key: String },
    /// The version of the key is not widely supported.
    #[error("key {key} has a version that most verifiers do not support: generate a version 4 key")]
    Version { key: String },
    /// Signing failed for another reason.
    #[error("cannot sign with key {key}: {why}")]
    Failed { key: String, why: String },
    /// The new signature would not verify.
    #[error("the new signature is not valid")]
    Worthless(#[from] SignatureError),
}

/// Signs an image under a name with an OpenPGP secret key, armored or binary. With RSA and
/// `EdDSA` keys, the same arguments give the same signature. The result is verified before it is
/// returned.
pub fn sign(
    image: &Digest,
    reference: &str,
    key: &[u8],
    passphrase: Option<&str>,
    now: Timestamp,
) -> Result<ImageSignature, SigningError> {
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
    Ok(ImageSignature { signature, signer })
}

/// Parses a file with exactly one secret key.
fn parse(bytes: &[u8]) -> Result<SignedSecretKey, SigningError> {
    let refused = |why: &str| SigningError::NotAKey { why: why.to_owned() };
    if bytes.len() > MAX_KEY_BYTES {
        return Err(refused(&format!("larger than {MAX_KEY_BYTES} bytes")));
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

/// A secret key or subkey.
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

/// Selects the signing key: the last valid subkey, as with `gpg`, otherwise the primary key.
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

/// A signed message: one-pass signature, literal data, signature.
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

    fn valid_time() -> Timestamp {
        "2025-06-02T00:00:00Z".parse().unwrap()
    }

    fn signed(key: &[u8], passphrase: Option<&str>) -> Result<ImageSignature, SigningError> {
        sign(&Digest::of(b"manifest"), NAME, key, passphrase, valid_time())
    }

    #[test]
    fn sign_creates_signatures_that_verify() {
        let keyring = Keyring::parse(fixture!("keyring.asc")).unwrap();
        let image = Digest::of(b"manifest");
        for key in [
            fixture!("secret/plain.asc"),
            fixture!("secret/rsa.asc"),
            fixture!("secret/subkey.asc"),
        ] {
            let ImageSignature { signature, signer } = signed(key, None).unwrap();
            assert_eq!(signature, signed(key, None).unwrap().signature);
            let claim = keyring.verify(&signature, &image, valid_time()).unwrap();
            assert_eq!((&claim.digest, claim.reference.as_str()), (&image, NAME));
            assert_eq!(claim.signer, signer);
            let other = keyring.verify(&signature, &Digest::of(b"other"), valid_time());
            assert!(matches!(other, Err(SignatureError::Claim(_))), "{other:?}");
        }
        assert!(signed(fixture!("secret/locked.asc"), Some("correct horse")).is_ok());
    }

    #[test]
    fn sign_with_unusable_keys_fails() {
        let (locked, twice) = (
            fixture!("secret/locked.asc"),
            [fixture!("secret/plain.asc"), fixture!("secret/rsa.asc")].concat(),
        );
        let late = "2026-06-01T00:00:00Z".parse().unwrap();
        let errors = [
            signed(locked, None),
            signed(locked, Some("wrong")),
            signed(fixture!("secret/recipient.asc"), None),
            signed(fixture!("secret/revoked.asc"), None),
            sign(&Digest::of(b"manifest"), NAME, fixture!("secret/expiring.asc"), None, late),
            sign(&Digest::of(b"manifest"), "", fixture!("secret/plain.asc"), None, late),
            signed(fixture!("plain.asc"), None),
            signed(b"", None),
            signed(&twice, None),
            signed(&vec![0; MAX_KEY_BYTES + 1], None),
        ]
        .map(|signed| {
            let error = signed.unwrap_err();
            let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
            super::super::keyring::anonymous(&format!("{error}{}", source.unwrap_or_default()))
        });
        insta::assert_snapshot!(errors.join("\n"), @"
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
