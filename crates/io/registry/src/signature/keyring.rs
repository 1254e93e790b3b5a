//! Keyrings: the public keys whose signatures count.

use std::borrow::Cow;
use std::fmt;
use std::io::Read as _;

use jiff::{SignedDuration, Timestamp};
use pgp::armor::{BlockType, Dearmor};
use pgp::crypto::hash::HashAlgorithm;

use super::certificate::signing_keys;
use super::claim::{Claim, ClaimError};
use super::key::Key;
use super::openpgp::{Issuer, SignaturePacket, SignedMessage, kind};
use crate::Digest;

/// Bytes of a keyring: some hundred keys with the signatures of others.
const MAX_KEYRING: usize = 1 << 20;
/// Bytes of a signature, which names one image: stores allow 50 KiB.
pub(super) const MAX_SIGNATURE: usize = 50 << 10;
/// Bytes of the signed data, which may be compressed.
const MAX_CLAIM: usize = 50 << 10;
/// How far the clock of a signer may be ahead.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(10);

const ARMOR: &str = "-----BEGIN PGP ";
const PUBLIC_KEY: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";

/// Public keys whose signatures count.
#[derive(Debug)]
pub struct Keyring {
    pub(super) keys: Vec<Key>,
}

/// Why a keyring cannot be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum KeyringError {
    /// The keyring is too large to be read.
    #[error("keyring has {0} bytes; the limit is {MAX_KEYRING} bytes")]
    TooLarge(usize),
    /// The keyring does not consist of public keys.
    #[error("keyring does not consist of OpenPGP public keys: {why}")]
    Malformed { why: String },
    /// No key in the keyring may sign.
    #[error("keyring contains no key that can sign")]
    NoKeys,
}

/// Why a signature does not count.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum SignatureError {
    /// The signature is too large to be read.
    #[error("signature exceeds {MAX_SIGNATURE} bytes")]
    TooLarge,
    /// The file is not a signed message.
    #[error("not a signed OpenPGP message: {why}")]
    Malformed { why: String },
    /// The keyring contains none of the keys that signed.
    #[error("signed by {}, not in the keyring", .signers.join(" and "))]
    UnknownSigner { signers: Vec<String> },
    /// The key did not make this signature of this data.
    #[error("bad signature by key {key}")]
    Bad { key: String },
    /// The digest of the signature can be forged.
    #[error("signature by key {key} uses the weak digest {digest}")]
    WeakDigest { key: String, digest: String },
    /// The signature is of a key or a user ID.
    #[error("signature by key {key} has type 0x{kind:02X}, expected a document signature")]
    Type { key: String, kind: u8 },
    /// The owner has revoked the key.
    #[error("key {key} is revoked")]
    Revoked { key: String },
    /// The key expired before it signed.
    #[error("key {key} expired at {expired}, before it signed at {signed}")]
    KeyExpired { key: String, expired: Timestamp, signed: Timestamp },
    /// The key did not exist when it signed.
    #[error("key {key} is newer than its signature: created at {created}, signed at {signed}")]
    OlderThanKey { key: String, created: Timestamp, signed: Timestamp },
    /// The signature itself has expired.
    #[error("signature expired at {at}")]
    Expired { at: Timestamp },
    /// The creation time of the signature is in the future.
    #[error("signature is dated {at}, in the future")]
    NotYet { at: Timestamp },
    /// The signed data is not a claim about the image.
    #[error(transparent)]
    Claim(#[from] ClaimError),
}

impl Keyring {
    /// Reads public keys, armored or binary.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyringError> {
        if bytes.len() > MAX_KEYRING {
            return Err(KeyringError::TooLarge(bytes.len()));
        }
        let malformed = |why: String| KeyringError::Malformed { why };
        let mut keys = Vec::new();
        for block in blocks(bytes, PUBLIC_KEY) {
            let packets = dearmor(block, &BlockType::PublicKey).map_err(malformed)?;
            keys.extend(signing_keys(&packets).map_err(|error| malformed(error.to_string()))?);
        }
        if keys.is_empty() { Err(KeyringError::NoKeys) } else { Ok(Self { keys }) }
    }

    /// Verifies a signature of an image and returns the claim in it.
    ///
    /// The rules are those of OpenShift's operator in Go, with these exceptions. Each makes the
    /// verdict stricter, except that several signers and armor are accepted, as by gpg.
    ///
    /// * SHA-1, MD5 and RIPEMD-160 do not count for signed data.
    /// * A key that has expired counts for what it signed before, by the creation time of the
    ///   signature. The Go operator ignores the expiry of keys. Fairway must not be stricter for
    ///   signatures made before the expiry: a valid release would become invalid years later. A
    ///   signature dated after the expiry is refused. The owner of a stolen key has to revoke it or
    ///   to remove it from the keyring, because an attacker can backdate signatures.
    /// * The creation time of a signature is neither before that of the key nor in the future.
    /// * A revoked key never counts, and a signature never counts after its own expiry.
    pub fn verify(
        &self,
        signature: &[u8],
        image: &Digest,
        now: Timestamp,
    ) -> Result<Claim, SignatureError> {
        if signature.len() > MAX_SIGNATURE {
            return Err(SignatureError::TooLarge);
        }
        let packets = dearmor(signature, &BlockType::Message).map_err(malformed)?;
        let message = SignedMessage::parse(&packets).map_err(malformed)?;
        if message.data.len() > MAX_CLAIM {
            return Err(malformed(format!("more than {MAX_CLAIM} bytes of signed data")));
        }
        let (signer, time) = self.signer(&message, now)?;
        Ok(Claim::read(&message.data, (&signer.name, time), image)?)
    }

    /// Finds a key that counts for the message, and the time of its signature.
    ///
    /// One valid signature is enough, unless another one names a key of the keyring and is invalid:
    /// gpg refuses such a message, too, because it has been tampered with.
    fn signer(
        &self,
        message: &SignedMessage,
        now: Timestamp,
    ) -> Result<(&Key, Timestamp), SignatureError> {
        let (mut signer, mut refusal, mut unknown) = (None, None, Vec::new());
        for signature in &message.signatures {
            let checked = |key| {
                check(signature, key, &message.data, now).map(|()| (key, signature.created()))
            };
            let keys = self.keys.iter().filter(|key| key.is_issuer(signature));
            match keys.map(checked).reduce(Result::or) {
                Some(Ok(found)) => signer = signer.or(Some(found)),
                Some(Err(SignatureError::Bad { key })) => return Err(SignatureError::Bad { key }),
                Some(Err(why)) => refusal = Some(why),
                None => unknown.push(issuer(signature)),
            }
        }
        let refusal = refusal.unwrap_or(SignatureError::UnknownSigner { signers: unknown });
        signer.ok_or(refusal)
    }
}

/// Splits text into the parts that begin with a line of armor. Binary data is one part.
pub(super) fn blocks<'a>(bytes: &'a [u8], armor: &str) -> Vec<&'a [u8]> {
    let text = str::from_utf8(bytes).unwrap_or_default();
    let begins: Vec<usize> = text.match_indices(armor).map(|(begin, _)| begin).collect();
    if begins.is_empty() {
        return vec![bytes];
    }
    let ends = begins.iter().skip(1).copied().chain([bytes.len()]);
    begins.iter().zip(ends).map(|(begin, end)| &bytes[*begin..end]).collect()
}

/// Removes armor of a type, if there is any.
fn dearmor<'a>(bytes: &'a [u8], expected: &BlockType) -> Result<Cow<'a, [u8]>, String> {
    if !bytes.trim_ascii_start().starts_with(ARMOR.as_bytes()) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut armor = Dearmor::new(bytes);
    armor.read_header().map_err(|error| format!("malformed armor: {error}"))?;
    match &armor.typ {
        Some(found) if found == expected => {}
        Some(found) => return Err(format!("expected {expected}, found {found}")),
        None => return Err("malformed armor: no header".to_owned()),
    }
    let mut packets = Vec::new();
    armor.read_to_end(&mut packets).map_err(|error| format!("malformed armor: {error}"))?;
    Ok(Cow::Owned(packets))
}

fn malformed(why: impl fmt::Display) -> SignatureError {
    SignatureError::Malformed { why: why.to_string() }
}

fn issuer(signature: &SignaturePacket) -> String {
    let name = |issuer: &Issuer| match issuer {
        Issuer::KeyId(id) => hex::encode_upper(id),
        Issuer::Fingerprint(fingerprint) => hex::encode_upper(fingerprint),
    };
    // Prefers a fingerprint, which is longer than a key ID.
    let names = signature.issuers.iter().map(name);
    names.max_by_key(String::len).unwrap_or_else(|| "unnamed".to_owned())
}

/// Checks that a signature of the data, which names the key, counts at a time.
fn check(
    signature: &SignaturePacket,
    key: &Key,
    data: &[u8],
    now: Timestamp,
) -> Result<(), SignatureError> {
    let name = || key.name.clone();
    match signature.hash {
        HashAlgorithm::Sha224
        | HashAlgorithm::Sha256
        | HashAlgorithm::Sha384
        | HashAlgorithm::Sha512
        | HashAlgorithm::Sha3_256
        | HashAlgorithm::Sha3_512 => {}
        HashAlgorithm::Other(number) => {
            let digest = format!("number {number}");
            return Err(SignatureError::WeakDigest { key: name(), digest });
        }
        weak => {
            return Err(SignatureError::WeakDigest { key: name(), digest: weak.to_string() });
        }
    }
    // Signatures of text are of the data with its line endings as they are, as gpg writes and
    // verifies them.
    if !matches!(signature.kind, kind::BINARY | kind::TEXT) {
        return Err(SignatureError::Type { key: name(), kind: signature.kind });
    }
    key.verify(signature, data).map_err(|_| SignatureError::Bad { key: name() })?;
    let created = signature.created();
    key.valid_at(created)?;
    if created.duration_since(now) > MAX_CLOCK_SKEW {
        return Err(SignatureError::NotYet { at: created });
    }
    match signature.expires() {
        Some(at) if at <= now => Err(SignatureError::Expired { at }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::anonymous;
