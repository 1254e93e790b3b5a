//! Whom somebody trusts, and whether they signed an image.

use std::borrow::Cow;
use std::fmt;
use std::io::Read as _;

use jiff::{SignedDuration, Timestamp};
use pgp::composed::{Deserializable as _, Message, SignedPublicKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureType};
use pgp::types::Duration;

use super::claim::{Claim, ClaimError};
use super::key::{Key, after};
use crate::Digest;

/// Bytes of a keyring: some hundred keys, with all that others have said about them.
const LARGEST_KEYRING: usize = 1 << 20;
/// Bytes of a signature, which names one image: stores allow 50 KiB.
pub(super) const LARGEST_SIGNATURE: usize = 50 << 10;
/// Bytes of what is signed, which a signature may hold compressed.
const LARGEST_CLAIM: u64 = 50 << 10;
/// Signatures in one message: an image has a handful of signers.
const MOST_SIGNERS: usize = 16;
/// By how much the clocks of signers may be ahead of ours.
const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_mins(10);

const PUBLIC_KEY: &str = "-----BEGIN PGP PUBLIC KEY BLOCK-----";

/// Public keys whose signatures count.
#[derive(Debug)]
pub struct Keyring {
    pub(super) keys: Vec<Key>,
}

/// Why a keyring cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// It is too large to be looked at.
    #[error("the keyring has {0} bytes, and at most {LARGEST_KEYRING} are read")]
    TooLarge(usize),
    /// It is not what it should be.
    #[error("the keyring does not consist of OpenPGP public keys: {why}")]
    Malformed {
        /// Why.
        why: String,
    },
    /// Nothing in it may sign.
    #[error("the keyring has no key that may sign")]
    NoKeys,
}

/// Why a signature does not count.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// It is too large to be looked at.
    #[error("the signature is longer than {LARGEST_SIGNATURE} bytes")]
    TooLarge,
    /// It is not a signed message.
    #[error("it is not a message that was signed with OpenPGP: {why}")]
    Malformed {
        /// Why.
        why: String,
    },
    /// Nobody in the keyring signed it.
    #[error("it is signed by {}, which the keyring does not have", .signers.join(" and "))]
    Stranger {
        /// Who did.
        signers: Vec<String>,
    },
    /// The signature is not of what it stands with.
    #[error("it is not what the key {key} has signed")]
    Forged {
        /// The key that it is said to be made by.
        key: String,
    },
    /// It is made in a way that others can make, too.
    #[error("the key {key} has signed it in a way that does not count: {how}")]
    Weak {
        /// The key.
        key: String,
        /// In which way.
        how: String,
    },
    /// The key is not to be trusted any more.
    #[error("the key {key} was revoked")]
    Revoked {
        /// The key.
        key: String,
    },
    /// The key was valid until some time ago.
    #[error("the key {key} expired at {at}")]
    KeyExpired {
        /// The key.
        key: String,
        /// When.
        at: Timestamp,
    },
    /// The signature was valid until some time ago.
    #[error("the signature expired at {at}")]
    Expired {
        /// When.
        at: Timestamp,
    },
    /// The signature is not valid yet.
    #[error("the signature says that it was made at {at}, which is to come")]
    NotYet {
        /// When.
        at: Timestamp,
    },
    /// What was signed is something else.
    #[error(transparent)]
    Claim(#[from] ClaimError),
}

impl Keyring {
    /// Reads public keys, armoured or not.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeyringError> {
        if bytes.len() > LARGEST_KEYRING {
            return Err(KeyringError::TooLarge(bytes.len()));
        }
        let mut keys = Vec::new();
        for block in blocks(bytes, PUBLIC_KEY) {
            let malformed =
                |error: pgp::errors::Error| KeyringError::Malformed { why: error.to_string() };
            let (certificates, _) =
                SignedPublicKey::from_reader_many_buf(block).map_err(malformed)?;
            for certificate in certificates {
                keys.extend(Key::all(&certificate.map_err(malformed)?));
            }
        }
        if keys.is_empty() { Err(KeyringError::NoKeys) } else { Ok(Self { keys }) }
    }

    /// What a signature says, if it counts now and is about that image.
    pub fn verify(
        &self,
        signature: &[u8],
        image: &Digest,
        now: Timestamp,
    ) -> Result<Claim, SignatureError> {
        let packets = unpacked(signature)?;
        let mut message = open(&packets)?;
        let mut text = Vec::new();
        (&mut message).take(LARGEST_CLAIM + 1).read_to_end(&mut text).map_err(malformed)?;
        if text.len() as u64 > LARGEST_CLAIM {
            return Err(malformed(format!("more than {LARGEST_CLAIM} bytes are signed")));
        }
        let signer = self.trust(&message, now)?;
        Ok(Claim::read(&text, &signer.name, image)?)
    }

    /// Finds whose signature counts on a message that was read to its end.
    fn trust(&self, message: &Message<'_>, now: Timestamp) -> Result<&Key, SignatureError> {
        let Message::Signed { reader, .. } = message else {
            return Err(malformed("nobody has signed it"));
        };
        let (mut refusal, mut strangers) = (None, Vec::new());
        for index in 0..reader.num_signatures() {
            let Some(signature) = reader.signature(index) else { continue };
            let mut keys = self.keys.iter().filter(|key| key.may_have_made(signature)).peekable();
            if keys.peek().is_none() {
                strangers.push(signer(signature));
            }
            for key in keys {
                match check(message, index, key).and_then(|signature| valid(signature, key, now)) {
                    Ok(()) => return Ok(key),
                    Err(why) => refusal = Some(why),
                }
            }
        }
        match refusal {
            Some(why) => Err(why),
            None if strangers.is_empty() => Err(malformed("nobody has signed it")),
            None => Err(SignatureError::Stranger { signers: strangers }),
        }
    }
}

/// The parts of a keyring: armour around each, or none around all.
pub(super) fn blocks<'a>(bytes: &'a [u8], armour: &str) -> Vec<&'a [u8]> {
    let text = str::from_utf8(bytes).unwrap_or_default();
    let begins: Vec<usize> = text.match_indices(armour).map(|(begin, _)| begin).collect();
    if begins.is_empty() {
        return vec![bytes];
    }
    let ends = begins.iter().skip(1).copied().chain([bytes.len()]);
    begins.iter().zip(ends).map(|(begin, end)| &bytes[*begin..end]).collect()
}

/// The packets, out of their compression. They are many times as long then, and whoever reads
/// them holds all signers at once: so they are counted before.
fn unpacked(signature: &[u8]) -> Result<Cow<'_, [u8]>, SignatureError> {
    if signature.len() > LARGEST_SIGNATURE {
        return Err(SignatureError::TooLarge);
    }
    let (message, _) = Message::from_reader(signature).map_err(malformed)?;
    let Message::Compressed { reader, .. } = message else { return Ok(Cow::Borrowed(signature)) };
    let limit = LARGEST_SIGNATURE as u64 + LARGEST_CLAIM;
    let mut packets = Vec::new();
    let unpacking = reader.decompress().map_err(malformed)?;
    unpacking.take(limit + 1).read_to_end(&mut packets).map_err(malformed)?;
    if packets.len() as u64 > limit {
        return Err(malformed(format!("it unpacks to more than {limit} bytes")));
    }
    Ok(Cow::Owned(packets))
}

/// The message of packets that are not compressed.
fn open(packets: &[u8]) -> Result<Message<'_>, SignatureError> {
    let (message, _) = Message::from_reader(packets).map_err(malformed)?;
    match &message {
        Message::Signed { reader, .. } if reader.num_signatures() > MOST_SIGNERS => {
            Err(malformed(format!("more than {MOST_SIGNERS} have signed it")))
        }
        // What is within has to be the text itself, and not another message.
        Message::Signed { reader, .. } if reader.get_ref().is_literal() => Ok(message),
        _ => Err(malformed("there is no signed text in it")),
    }
}

fn malformed(why: impl fmt::Display) -> SignatureError {
    SignatureError::Malformed { why: why.to_string() }
}

fn signer(signature: &Signature) -> String {
    let fingerprint = signature.issuer_fingerprint().first().map(|print| format!("{print:X}"));
    let id = || signature.issuer_key_id().first().map(|id| id.to_string().to_uppercase());
    fingerprint.or_else(id).unwrap_or_else(|| "nobody".to_owned())
}

/// Whether the key has made the signature, of this text, and well.
fn check<'m>(
    message: &'m Message<'_>,
    index: usize,
    key: &Key,
) -> Result<&'m Signature, SignatureError> {
    let forged = |_| SignatureError::Forged { key: key.name.clone() };
    let weak = |how: String| SignatureError::Weak { key: key.name.clone(), how };
    let signature = message.verify_nested_explicit(index, key.verifying()).map_err(forged)?;
    // Others sign keys and names: whatever they have signed is no document.
    if signature.typ() != Some(SignatureType::Binary) {
        return Err(weak("it is not a signature of a document".to_owned()));
    }
    match signature.hash_alg() {
        Some(
            HashAlgorithm::Sha256
            | HashAlgorithm::Sha384
            | HashAlgorithm::Sha512
            | HashAlgorithm::Sha3_256
            | HashAlgorithm::Sha3_512,
        ) => Ok(signature),
        Some(other) => Err(weak(format!("by {other}"))),
        None => Err(weak("by an unknown hash".to_owned())),
    }
}

/// Whether signature and key are valid at that time.
fn valid(signature: &Signature, key: &Key, now: Timestamp) -> Result<(), SignatureError> {
    key.valid(now)?;
    let Some(created) = signature.created() else {
        let how = "it does not say when".to_owned();
        return Err(SignatureError::Weak { key: key.name.clone(), how });
    };
    let at = after(created, 0);
    if at.duration_since(now) > CLOCKS_DIFFER {
        return Err(SignatureError::NotYet { at });
    }
    let lifetime = signature.signature_expiration_time().map_or(0, Duration::as_secs);
    let end = after(created, lifetime);
    if lifetime > 0 && end <= now { Err(SignatureError::Expired { at: end }) } else { Ok(()) }
}

#[cfg(test)]
mod forged;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(super) use tests::anonymous;
