//! Signature packets of versions 3 and 4.

use jiff::Timestamp;
use pgp::crypto::hash::HashAlgorithm;
use pgp::types::{Mpi, SignatureBytes, VerifyingKey};

use super::subpacket::{Issuer, Subpackets};

/// Signature types.
pub(in crate::signature) mod kind {
    pub(in crate::signature) const BINARY: u8 = 0x00;
    pub(in crate::signature) const TEXT: u8 = 0x01;
    pub(in crate::signature) const CERTIFICATIONS: std::ops::RangeInclusive<u8> = 0x10..=0x13;
    pub(in crate::signature) const SUBKEY_BINDING: u8 = 0x18;
    pub(in crate::signature) const PRIMARY_KEY_BINDING: u8 = 0x19;
    pub(in crate::signature) const DIRECT_KEY: u8 = 0x1F;
    pub(in crate::signature) const KEY_REVOCATION: u8 = 0x20;
    pub(in crate::signature) const SUBKEY_REVOCATION: u8 = 0x28;
}

/// Bits of an integer in a signature: the longest RSA key that gpg makes has as many.
const MAX_INTEGER_BITS: u16 = 16384;

/// A signature packet. Its statements count once [`SignaturePacket::verify`] has succeeded.
#[derive(Debug)]
pub(in crate::signature) struct SignaturePacket {
    pub(in crate::signature) kind: u8,
    pub(in crate::signature) key_algorithm: u8,
    pub(in crate::signature) hash: HashAlgorithm,
    /// Seconds since 1970.
    pub(in crate::signature) created: u32,
    /// Seconds; 0 means no limit.
    pub(in crate::signature) lifetime: u32,
    /// Seconds since the creation of the key that is signed; 0 means no limit.
    pub(in crate::signature) key_lifetime: u32,
    pub(in crate::signature) key_flags: Option<u8>,
    pub(in crate::signature) issuers: Vec<Issuer>,
    pub(in crate::signature) embedded: Option<Vec<u8>>,
    /// The bytes that are hashed behind the data.
    trailer: Vec<u8>,
    /// The first two bytes of the digest.
    digest_start: [u8; 2],
    value: SignatureBytes,
    pub(in crate::signature) is_version_3: bool,
}

/// Why a signature packet is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(in crate::signature) enum InvalidSignature {
    #[error("malformed signature packet")]
    Malformed,
    #[error("signature version {0} is not supported")]
    Version(u8),
    #[error("public-key algorithm {0} is not supported")]
    KeyAlgorithm(u8),
    #[error("unknown critical subpacket of type {0}")]
    UnknownCritical(u8),
    #[error("signature has no creation time")]
    NoCreationTime,
    #[error("bad signature")]
    Bad,
}

impl SignaturePacket {
    pub(in crate::signature) fn parse(body: &[u8]) -> Result<Self, InvalidSignature> {
        match body.first().ok_or(InvalidSignature::Malformed)? {
            3 => Self::version_3(body).ok_or(InvalidSignature::Malformed)?,
            4 => Self::version_4(body),
            version => Err(InvalidSignature::Version(*version)),
        }
    }

    fn version_3(body: &[u8]) -> Option<Result<Self, InvalidSignature>> {
        let (head, value) = body.split_first_chunk::<19>()?;
        let (hashed, behind) = head.get(2..)?.split_first_chunk::<5>()?;
        let (issuer, behind) = behind.split_first_chunk::<8>()?;
        let (&[key_algorithm, hash], digest_start) = behind.split_first_chunk::<2>()?;
        if head[1] != 5 {
            return None;
        }
        let (&[kind], created) = hashed.split_first_chunk::<1>()?;
        let subpackets = Subpackets {
            created: Some(u32::from_be_bytes(created.try_into().ok()?)),
            issuers: vec![Issuer::KeyId(*issuer)],
            ..Subpackets::default()
        };
        let head = Head {
            kind,
            key_algorithm,
            hash,
            trailer: hashed.to_vec(),
            digest_start: digest_start.try_into().ok()?,
        };
        Some(Self::new(head, subpackets, value))
    }

    fn version_4(body: &[u8]) -> Result<Self, InvalidSignature> {
        let split = || {
            let (&[_version, kind, key_algorithm, hash], rest) = body.split_first_chunk::<4>()?;
            let (hashed, rest) = area(rest)?;
            let signed = body.get(..6 + hashed.len())?;
            let (unhashed, rest) = area(rest)?;
            let (digest_start, value) = rest.split_first_chunk::<2>()?;
            let length = u32::try_from(signed.len()).ok()?.to_be_bytes();
            let trailer = [signed, &[4, 0xFF], &length].concat();
            let digest_start = *digest_start;
            let head = Head { kind, key_algorithm, hash, trailer, digest_start };
            Some((head, hashed, unhashed, value))
        };
        let (head, hashed, unhashed, value) = split().ok_or(InvalidSignature::Malformed)?;
        Self::new(head, Subpackets::read(hashed, unhashed)?, value)
    }

    fn new(head: Head, subpackets: Subpackets, value: &[u8]) -> Result<Self, InvalidSignature> {
        let Head { kind, key_algorithm, hash, trailer, digest_start } = head;
        let Subpackets { created, lifetime, key_lifetime, key_flags, issuers, embedded } =
            subpackets;
        Ok(Self {
            kind,
            key_algorithm,
            hash: HashAlgorithm::from(hash),
            created: created.ok_or(InvalidSignature::NoCreationTime)?,
            lifetime: lifetime.unwrap_or_default(),
            key_lifetime: key_lifetime.unwrap_or_default(),
            key_flags,
            issuers,
            embedded,
            digest_start,
            value: self::value(key_algorithm, value)?,
            // Version 4 signs its own length behind the trailer, so it is always longer.
            is_version_3: trailer.len() == 5,
            trailer,
        })
    }

    /// The type that a signature packet of any version claims to have.
    pub(in crate::signature) fn claimed_kind(body: &[u8]) -> Option<u8> {
        match body.first()? {
            2 | 3 => body.get(2).copied(),
            _ => body.get(1).copied(),
        }
    }

    /// Checks that the key made this signature of the data.
    pub(in crate::signature) fn verify(
        &self,
        key: &impl VerifyingKey,
        data: &[&[u8]],
    ) -> Result<(), InvalidSignature> {
        // Collisions of MD5 take seconds, so it proves nothing, not even about a key.
        if self.hash == HashAlgorithm::Md5 || self.key_algorithm != u8::from(key.algorithm()) {
            return Err(InvalidSignature::Bad);
        }
        let signed = [&data.concat(), self.trailer.as_slice()].concat();
        // For SHA-1, this fails if the data look like one half of a collision.
        let digest = self.hash.digest(&signed).map_err(|_| InvalidSignature::Bad)?;
        if !digest.starts_with(&self.digest_start) {
            return Err(InvalidSignature::Bad);
        }
        key.verify(self.hash, &digest, &self.value).map_err(|_| InvalidSignature::Bad)
    }

    pub(in crate::signature) fn created(&self) -> Timestamp {
        after(self.created, 0)
    }

    /// When the signature ceases to be valid, if it ever does.
    pub(in crate::signature) fn expires(&self) -> Option<Timestamp> {
        (self.lifetime > 0).then(|| after(self.created, self.lifetime))
    }
}

/// The time some seconds after another, which is in seconds since 1970.
pub(in crate::signature) fn after(begin: u32, seconds: u32) -> Timestamp {
    // A timestamp holds the sum of any two such numbers.
    Timestamp::from_second(i64::from(begin) + i64::from(seconds)).unwrap_or(Timestamp::MAX)
}

/// The parts of a packet that do not depend on subpackets.
struct Head {
    kind: u8,
    key_algorithm: u8,
    hash: u8,
    trailer: Vec<u8>,
    digest_start: [u8; 2],
}

/// Splits off an area of subpackets.
fn area(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
}

/// Reads the integers or bytes that the algorithm calls for, and nothing behind them.
fn value(key_algorithm: u8, bytes: &[u8]) -> Result<SignatureBytes, InvalidSignature> {
    let integers = match key_algorithm {
        // RSA, for everything and for signatures only.
        1 | 3 => 1,
        // DSA, ECDSA, EdDSA as in gpg.
        17 | 19 | 22 => 2,
        // Ed25519 and Ed448 as in RFC 9580.
        27 if bytes.len() == 64 => return Ok(SignatureBytes::Native(bytes.to_vec().into())),
        28 if bytes.len() == 114 => return Ok(SignatureBytes::Native(bytes.to_vec().into())),
        27 | 28 => return Err(InvalidSignature::Malformed),
        other => return Err(InvalidSignature::KeyAlgorithm(other)),
    };
    let (mut rest, mut read) = (bytes, Vec::new());
    for _ in 0..integers {
        let (integer, behind) = integer(rest).ok_or(InvalidSignature::Malformed)?;
        read.push(integer);
        rest = behind;
    }
    if rest.is_empty() { Ok(SignatureBytes::Mpis(read)) } else { Err(InvalidSignature::Malformed) }
}

fn integer(bytes: &[u8]) -> Option<(Mpi, &[u8])> {
    let (bits, rest) = bytes.split_first_chunk::<2>()?;
    let bits = u16::from_be_bytes(*bits);
    let (integer, rest) = rest.split_at_checked(usize::from(bits).div_ceil(8))?;
    (bits <= MAX_INTEGER_BITS).then(|| (Mpi::from_slice(integer), rest))
}
