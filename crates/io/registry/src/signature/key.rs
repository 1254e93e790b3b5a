//! Public keys of a keyring that may sign, with the limits that their owner has set.

use jiff::Timestamp;
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{PacketHeader, PublicKey};
use pgp::types::{EcdsaPublicParams, EddsaLegacyPublicParams, KeyDetails as _, PublicParams, Tag};

use super::keyring::SignatureError;
use super::openpgp::{InvalidSignature, Issuer, SignaturePacket, after, kind};

/// Minimum bits of an RSA or DSA key. Shorter keys are ignored: they have been broken.
const MIN_KEY_BITS: u16 = 1024;
/// The key flag of keys that sign data.
const MAY_SIGN: u8 = 0x02;

/// A primary key or subkey that may sign.
#[derive(Debug)]
pub(super) struct Key {
    material: KeyMaterial,
    /// The fingerprint in upper-case hexadecimal.
    pub(super) name: String,
    expires: Option<Timestamp>,
    is_revoked: bool,
}

/// A public key packet of version 4 with an algorithm that signs.
#[derive(Clone, Debug)]
pub(super) struct KeyMaterial {
    /// The packet as it is hashed: with a header of the old format, whatever header it had.
    hashed: Vec<u8>,
    fingerprint: Vec<u8>,
    /// Seconds since 1970.
    created: u32,
    public: PublicKey,
}

impl KeyMaterial {
    /// Reads the body of a public key or public subkey packet. Keys of other versions and
    /// algorithms cannot have made a signature that counts, so they are left out.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let (&[4, created @ .., algorithm], rest) = body.split_first_chunk::<6>()? else {
            return None;
        };
        let is_long = || {
            let (bits, _) = rest.split_first_chunk::<2>()?;
            (u16::from_be_bytes(*bits) >= MIN_KEY_BITS).then_some(())
        };
        match algorithm {
            1 | 3 | 17 => is_long()?,
            19 | 22 | 27 | 28 => {}
            _ => return None,
        }
        let length = u16::try_from(body.len()).ok()?;
        let header = PacketHeader::new_fixed(Tag::PublicKey, length.into());
        let public = PublicKey::try_from_reader(header, body).ok()?;
        if !is_supported(public.public_params()) {
            return None;
        }
        let hashed = [&[0x99], &length.to_be_bytes()[..], body].concat();
        let fingerprint = HashAlgorithm::Sha1.digest(&hashed).ok()?;
        Some(Self { hashed, fingerprint, created: u32::from_be_bytes(created), public })
    }

    fn is(&self, issuer: &Issuer) -> bool {
        match issuer {
            Issuer::KeyId(id) => self.fingerprint.ends_with(id),
            Issuer::Fingerprint(fingerprint) => self.fingerprint == *fingerprint,
        }
    }

    /// Whether a signature names this key, or none.
    fn may_have_made(&self, signature: &SignaturePacket) -> bool {
        signature.issuers.iter().all(|issuer| self.is(issuer))
    }

    /// Whether this key made a signature of a user ID that belongs to it.
    pub(super) fn certified(&self, signature: &SignaturePacket, user_id: &[u8]) -> bool {
        let Ok(length) = u32::try_from(user_id.len()) else { return false };
        let header = [&[0xB4], &length.to_be_bytes()[..]].concat();
        // RFC 9580, section 5.2.4: only version 3 signs the text alone.
        let header = if signature.is_version_3 { &[][..] } else { &header };
        kind::CERTIFICATIONS.contains(&signature.kind)
            && self.may_have_made(signature)
            && signature.verify(&self.public, &[&self.hashed, header, user_id]).is_ok()
    }

    /// Whether this key made a signature of itself.
    pub(super) fn described(&self, signature: &SignaturePacket) -> bool {
        signature.kind == kind::DIRECT_KEY
            && self.may_have_made(signature)
            && signature.verify(&self.public, &[&self.hashed]).is_ok()
    }

    /// Whether this key made a binding signature of a subkey that signs. The subkey has to confirm
    /// it with its own signature: otherwise any key could be presented as a subkey of another.
    pub(super) fn adopted(&self, signature: &SignaturePacket, subkey: &Self) -> bool {
        let both = [&*self.hashed, &subkey.hashed];
        let confirms = |body: &Vec<u8>| {
            let Ok(back) = SignaturePacket::parse(body) else { return false };
            back.kind == kind::PRIMARY_KEY_BINDING
                && subkey.may_have_made(&back)
                && back.verify(&subkey.public, &both).is_ok()
        };
        signature.kind == kind::SUBKEY_BINDING
            && self.may_have_made(signature)
            && signature.verify(&self.public, &both).is_ok()
            && signature.embedded.as_ref().is_some_and(confirms)
    }

    /// Expiry of this key according to its self-signature, if any.
    pub(super) fn expiry(&self, own: &SignaturePacket) -> Option<Timestamp> {
        (own.key_lifetime > 0).then(|| after(self.created, own.key_lifetime))
    }
}

/// Whether the `pgp` crate can verify with such a key. It parses curves that it does not implement,
/// and of secp256k1 it refuses signatures with S in the upper half.
fn is_supported(params: &PublicParams) -> bool {
    !matches!(
        params,
        PublicParams::Unknown { .. }
            | PublicParams::ECDSA(
                EcdsaPublicParams::Unsupported { .. } | EcdsaPublicParams::Secp256k1 { .. }
            )
            | PublicParams::EdDSALegacy(EddsaLegacyPublicParams::Unsupported { .. })
    )
}

/// Whether a self-signature allows a key to sign. Old keys have no key flags, and may.
pub(super) fn may_sign(own: &SignaturePacket) -> bool {
    own.key_flags.is_none_or(|flags| flags & MAY_SIGN != 0)
}

impl Key {
    pub(super) fn new(material: KeyMaterial, expires: Option<Timestamp>, is_revoked: bool) -> Self {
        let name = hex::encode_upper(&material.fingerprint);
        Self { material, name, expires, is_revoked }
    }

    /// Checks that the key counts for what it signed at a time.
    ///
    /// A revoked key never counts, because an attacker with a stolen key can backdate signatures. A
    /// key that has expired still counts for what it signed before.
    pub(super) fn valid_at(&self, signed: Timestamp) -> Result<(), SignatureError> {
        let key = || self.name.clone();
        let created = after(self.material.created, 0);
        match self.expires {
            _ if self.is_revoked => Err(SignatureError::Revoked { key: key() }),
            _ if signed < created => {
                Err(SignatureError::OlderThanKey { key: key(), created, signed })
            }
            Some(expired) if expired <= signed => {
                Err(SignatureError::KeyExpired { key: key(), expired, signed })
            }
            _ => Ok(()),
        }
    }

    /// Whether a signature names this key by its key ID. A signature without an issuer matches no
    /// key.
    pub(super) fn is_issuer(&self, signature: &SignaturePacket) -> bool {
        let mut ids = signature.issuers.iter().filter_map(Issuer::key_id);
        ids.any(|id| self.material.fingerprint.ends_with(id))
    }

    /// Checks that the key made a signature of the data, and that the signature names no other key.
    pub(super) fn verify(
        &self,
        signature: &SignaturePacket,
        data: &[u8],
    ) -> Result<(), InvalidSignature> {
        if !self.material.may_have_made(signature) {
            return Err(InvalidSignature::Bad);
        }
        signature.verify(&self.material.public, &[data])
    }
}
