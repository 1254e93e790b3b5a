//! Certificates: a primary key with its self-signatures and subkeys.

use super::key::{Key, KeyMaterial, may_sign};
use super::openpgp::{PacketError, PacketReader, SignaturePacket, kind, tag};

/// Why packets are not certificates.
#[derive(Debug, thiserror::Error)]
pub(super) enum CertificateError {
    #[error(transparent)]
    Packet(#[from] PacketError),
    #[error("it contains a secret key")]
    SecretKey,
}

/// Reads the keys that may sign from a sequence of certificates. As with Go's openpgp, keys of
/// unknown algorithms do not spoil the others.
pub(super) fn signing_keys(packets: &[u8]) -> Result<Vec<Key>, CertificateError> {
    let mut reader = PacketReader::new(packets);
    let mut keys = Vec::new();
    let mut certificate: Option<Certificate> = None;
    while let Some(packet) = reader.next()? {
        match (packet.tag, &mut certificate) {
            (tag::SECRET_KEY, _) => return Err(CertificateError::SecretKey),
            (tag::PUBLIC_KEY, before) => {
                keys.extend(before.take().into_iter().flat_map(Certificate::signing_keys));
                *before = KeyMaterial::parse(&packet.body).map(Certificate::new);
            }
            (tag, Some(certificate)) => certificate.add(tag, packet.body.into_owned()),
            (_, None) => {}
        }
    }
    keys.extend(certificate.into_iter().flat_map(Certificate::signing_keys));
    Ok(keys)
}

#[derive(Debug)]
struct Certificate {
    primary: KeyMaterial,
    is_revoked: bool,
    /// The newest valid self-signature beside a user ID.
    certified: Option<SignaturePacket>,
    /// The newest valid self-signature of the key itself.
    described: Option<SignaturePacket>,
    subkeys: Vec<Subkey>,
    component: Component,
}

/// The component to which the following signatures belong.
#[derive(Debug)]
enum Component {
    Primary,
    UserId(Vec<u8>),
    Subkey,
    /// A part that has no bearing on signatures of data, such as a picture.
    Other,
}

#[derive(Debug)]
struct Subkey {
    material: KeyMaterial,
    is_revoked: bool,
    /// The newest valid binding signature of the primary key.
    binding: Option<SignaturePacket>,
}

impl Certificate {
    fn new(primary: KeyMaterial) -> Self {
        Self {
            primary,
            is_revoked: false,
            certified: None,
            described: None,
            subkeys: Vec::new(),
            component: Component::Primary,
        }
    }

    fn add(&mut self, tag: u8, body: Vec<u8>) {
        match tag {
            tag::USER_ID => self.component = Component::UserId(body),
            tag::PUBLIC_SUBKEY => {
                let material = KeyMaterial::parse(&body);
                self.component =
                    if material.is_some() { Component::Subkey } else { Component::Other };
                let subkey = |material| Subkey { material, is_revoked: false, binding: None };
                self.subkeys.extend(material.map(subkey));
            }
            tag::SIGNATURE => self.sign(&body),
            // User attributes. Trust packets and markers may occur anywhere and are ignored.
            17 => self.component = Component::Other,
            _ => {}
        }
    }

    fn sign(&mut self, body: &[u8]) {
        // A revocation is not verified: the Go operator does not use a key with an unverifiable
        // revocation either, and the owner of a keyring can remove a wrong one.
        let claimed = SignaturePacket::claimed_kind(body);
        self.is_revoked |= claimed == Some(kind::KEY_REVOCATION);
        let signature = SignaturePacket::parse(body).ok();
        match (&self.component, self.subkeys.last_mut()) {
            (Component::Primary, _) => {
                let valid = signature.filter(|own| self.primary.described(own));
                keep_newest(&mut self.described, valid);
            }
            (Component::UserId(id), _) => {
                let valid = signature.filter(|own| self.primary.certified(own, id));
                keep_newest(&mut self.certified, valid);
            }
            (Component::Subkey, Some(subkey)) => {
                subkey.is_revoked |= claimed == Some(kind::SUBKEY_REVOCATION);
                let valid = signature.filter(|own| self.primary.adopted(own, &subkey.material));
                keep_newest(&mut subkey.binding, valid);
            }
            (Component::Subkey | Component::Other, _) => {}
        }
    }

    /// The primary key needs no self-signature, because the keyring itself makes it trusted. A
    /// valid self-signature limits it. A subkey counts only with a valid binding signature.
    fn signing_keys(self) -> Vec<Key> {
        let own = || self.certified.iter().chain(&self.described);
        let expires = own().filter_map(|own| self.primary.expiry(own)).min();
        let mut keys = Vec::new();
        if own().all(may_sign) {
            keys.push(Key::new(self.primary.clone(), expires, self.is_revoked));
        }
        for Subkey { material, is_revoked, binding } in self.subkeys {
            if let Some(binding) = binding.filter(may_sign) {
                // A subkey expires with its own binding or with its primary key, whichever is
                // first.
                let expires = [material.expiry(&binding), expires].into_iter().flatten().min();
                keys.push(Key::new(material, expires, is_revoked || self.is_revoked));
            }
        }
        keys
    }
}

fn keep_newest(newest: &mut Option<SignaturePacket>, other: Option<SignaturePacket>) {
    let is_newer = |other: &SignaturePacket| {
        newest.as_ref().is_none_or(|newest| newest.created <= other.created)
    };
    if other.as_ref().is_some_and(is_newer) {
        *newest = other;
    }
}
