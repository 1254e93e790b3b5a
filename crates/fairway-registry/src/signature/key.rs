//! One key that may sign: what its owner's own signatures say about it.

use jiff::Timestamp;
use pgp::composed::{SignedPublicKey, SignedPublicSubKey};
use pgp::packet::{
    PublicKey, PublicSubkey, Signature, SignatureConfig, SignatureType, SubpacketData,
};
use pgp::types::{KeyDetails, Tag, VerifyingKey};

use super::keyring::SignatureError;

/// A key that may sign, unless it is too late.
#[derive(Debug)]
pub(super) struct Key {
    material: Material,
    /// What people call it: its fingerprint.
    pub(super) name: String,
    expires: Option<Timestamp>,
    revoked: bool,
}

#[derive(Debug)]
enum Material {
    Primary(PublicKey),
    Subkey(PublicSubkey),
}

impl Key {
    /// The keys of a certificate that may sign. What no valid signature of the owner binds to it
    /// does not count.
    pub(super) fn all(certificate: &SignedPublicKey) -> Vec<Self> {
        let primary = &certificate.primary_key;
        let revocations = &certificate.details.revocation_signatures;
        let revoked = revocations.iter().any(|revocation| revocation.verify_key(primary).is_ok());
        // Of those with a name and of those without, the newest counts: neither takes back what the
        // other says.
        let own = [newest(named(certificate)), newest(direct(certificate))];
        if own.iter().all(Option::is_none) {
            return Vec::new();
        }
        let own = || own.into_iter().flatten();
        let expires = own().filter_map(|own| expiry(primary, own)).min();
        let subkeys = certificate.public_subkeys.iter().filter_map(|subkey| {
            let key = Self::bound(subkey, primary)?;
            // A subkey is worth no more than the key that it belongs to.
            let expires = [key.expires, expires].into_iter().flatten().min();
            Some(Self { expires, revoked: key.revoked || revoked, ..key })
        });
        let primary = own().all(may_sign).then(|| {
            let material = Material::Primary(primary.clone());
            Self { material, name: name(primary), expires, revoked }
        });
        primary.into_iter().chain(subkeys).collect()
    }

    fn bound(subkey: &SignedPublicSubKey, primary: &PublicKey) -> Option<Self> {
        let valid =
            |signature: &&Signature| signature.verify_subkey_binding(primary, &subkey.key).is_ok();
        let of_type = |wanted: SignatureType| {
            subkey.signatures.iter().filter(move |signature| signature.typ() == Some(wanted))
        };
        let binding = newest(of_type(SignatureType::SubkeyBinding).filter(valid))?;
        // A key that signs has to say itself whose it is: anybody could claim another's.
        let back = binding.embedded_signature()?;
        back.verify_primary_key_binding(&subkey.key, primary).ok()?;
        may_sign(binding).then(|| Self {
            material: Material::Subkey(subkey.key.clone()),
            name: name(&subkey.key),
            expires: expiry(&subkey.key, binding),
            revoked: of_type(SignatureType::SubkeyRevocation).any(|one| valid(&one)),
        })
    }

    /// Whether it may be used at that time.
    pub(super) fn valid(&self, now: Timestamp) -> Result<(), SignatureError> {
        let key = || self.name.clone();
        match self.expires {
            _ if self.revoked => Err(SignatureError::Revoked { key: key() }),
            Some(at) if at <= now => Err(SignatureError::KeyExpired { key: key(), at }),
            _ => Ok(()),
        }
    }

    /// The key itself, to verify with.
    pub(super) fn verifying(&self) -> &dyn VerifyingKey {
        match &self.material {
            Material::Primary(key) => key,
            Material::Subkey(key) => key,
        }
    }

    /// Whether a signature says that it was made by this key, or does not say by which.
    pub(super) fn may_have_made(&self, signature: &Signature) -> bool {
        let (ids, fingerprints) = (signature.issuer_key_id(), signature.issuer_fingerprint());
        let key = self.verifying();
        (ids.is_empty() && fingerprints.is_empty())
            || ids.into_iter().any(|id| *id == key.legacy_key_id())
            || fingerprints.into_iter().any(|fingerprint| *fingerprint == key.fingerprint())
    }
}

/// What the owner says about the primary key beside a name.
fn named(certificate: &SignedPublicKey) -> impl Iterator<Item = &Signature> {
    let (key, details) = (&certificate.primary_key, &certificate.details);
    details.users.iter().flat_map(move |user| {
        let valid = move |signature: &&Signature| {
            signature.is_certification()
                && signature.verify_certification(key, Tag::UserId, &user.id).is_ok()
        };
        user.signatures.iter().filter(valid)
    })
}

/// What the owner says about the primary key itself.
fn direct(certificate: &SignedPublicKey) -> impl Iterator<Item = &Signature> {
    let key = &certificate.primary_key;
    let signatures = certificate.details.direct_signatures.iter();
    signatures.filter(move |signature| signature.verify_key(key).is_ok())
}

fn newest<'a>(signatures: impl Iterator<Item = &'a Signature>) -> Option<&'a Signature> {
    signatures.max_by_key(|signature| signature.created().map(pgp::types::Timestamp::as_secs))
}

/// Old keys do not say what they are for, and may sign.
fn may_sign(own: &Signature) -> bool {
    let mut subpackets = own.config().into_iter().flat_map(SignatureConfig::hashed_subpackets);
    let says = subpackets.any(|subpacket| matches!(subpacket.data, SubpacketData::KeyFlags(_)));
    !says || own.key_flags().sign()
}

fn expiry(key: &impl KeyDetails, own: &Signature) -> Option<Timestamp> {
    let seconds = own.key_expiration_time()?.as_secs();
    (seconds > 0).then(|| after(key.created_at(), seconds))
}

/// A time some seconds after another one.
pub(super) fn after(begin: pgp::types::Timestamp, seconds: u32) -> Timestamp {
    // Two numbers of 32 bits are within what a timestamp can hold.
    let second = i64::from(begin.as_secs()) + i64::from(seconds);
    Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
}

/// What people call a key.
pub(super) fn name(key: &impl KeyDetails) -> String {
    format!("{:X}", key.fingerprint())
}
