//! Messages and certificates in formats of old OpenPGP implementations, which these tests encode
//! themselves.

use std::io::Write as _;

use fairway_registry::signature::{Claim, Keyring, SignatureError};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;
use pgp::crypto::hash::HashAlgorithm;
use proptest::prelude::*;

use crate::signatures::packets::{
    Framing, LegacySigner, Packet, SIGNATURE, join, literal, valueless,
};
use crate::signatures::{REFERENCE, claim, image};

const SECRET_KEY: &[u8] = include_bytes!("../../../src/signature/fixtures/secret/rsa.asc");
const SUBKEY: &[u8] = include_bytes!("../../../src/signature/fixtures/secret/subkey.asc");
const SIGNED_BY_SUBKEY: &[u8] = include_bytes!("../../../src/signature/fixtures/subkey.gpg");
const SHA256: HashAlgorithm = HashAlgorithm::Sha256;
const DAY: u32 = 24 * 60 * 60;

fn signer() -> LegacySigner {
    LegacySigner::new(SECRET_KEY).unwrap()
}

fn keyring(packets: &[Packet]) -> Keyring {
    Keyring::parse(&join(packets, Framing::Old(2))).unwrap()
}

/// The time at which the signatures are made: a hundred days after the key.
fn signed() -> u32 {
    signer().created() + 100 * DAY
}

fn verify(keyring: &Keyring, message: &[u8]) -> Result<Claim, SignatureError> {
    let now: Timestamp = "2025-06-02T00:00:00Z".parse().unwrap();
    keyring.verify(message, &image(), now)
}

/// A message with a version 3 signature.
fn version_3(hash: HashAlgorithm, created: u32, framing: Framing) -> Vec<u8> {
    let (signer, data) = (signer(), claim(REFERENCE));
    let signature = signer.version_3(0, hash, created, &data).unwrap();
    join(&[signer.one_pass(0, hash), literal(&data), signature], framing)
}

/// A packet of compressed data that ends with the file.
fn compressed(message: &[u8]) -> Vec<u8> {
    let mut packed = DeflateEncoder::new(vec![0xA3, 1], Compression::default());
    packed.write_all(message).unwrap();
    packed.finish().unwrap()
}

#[test]
fn keyring_with_version_3_signature_accepts_it() {
    let keyring = keyring(&signer().certificate().unwrap());
    let message = version_3(SHA256, signed(), Framing::Old(2));
    for message in [
        compressed(&message),
        message,
        version_3(HashAlgorithm::Sha512, signed(), Framing::New),
        version_3(SHA256, signed(), Framing::Partial(3)),
    ] {
        assert_eq!(verify(&keyring, &message).unwrap().reference, REFERENCE);
    }
}

#[test]
fn keyring_with_version_3_signature_outside_the_rules_refuses_it() {
    let keyring = keyring(&signer().certificate().unwrap());
    let errors = [
        version_3(HashAlgorithm::Md5, signed(), Framing::New),
        version_3(HashAlgorithm::Sha1, signed(), Framing::New),
        version_3(SHA256, signer().created() - 1, Framing::New),
        version_3(SHA256, signed() + 100 * DAY, Framing::New),
    ]
    .map(|message| verify(&keyring, &message).unwrap_err().to_string());
    let errors = errors.map(|error| {
        let words = error.split(' ').map(|word| if word.len() == 40 { "KEY" } else { word });
        words.collect::<Vec<_>>().join(" ")
    });
    insta::assert_snapshot!(errors.join("\n"), @"
    signature by key KEY uses the weak digest MD5
    signature by key KEY uses the weak digest SHA1
    key KEY is newer than its signature: created at 2025-01-01T00:00:00Z, signed at 2024-12-31T23:59:59Z
    signature is dated 2025-07-20T00:00:00Z, in the future
    ");
}

/// The certificate of the RSA key with other signatures behind its user ID.
fn certificate(signatures: &[Packet]) -> Vec<Packet> {
    let packets = signer().certificate().unwrap();
    let keep = packets.iter().filter(|(tag, _)| *tag != SIGNATURE).cloned();
    keep.chain(signatures.iter().cloned()).collect()
}

/// The data that a signature of the key covers.
fn key() -> Vec<u8> {
    let key = &certificate(&[])[0].1;
    [&[0x99], &u16::try_from(key.len()).unwrap().to_be_bytes()[..], key].concat()
}

/// The data that a signature of the user ID covers.
fn user_id(version: u8) -> Vec<u8> {
    let id = &certificate(&[])[1].1;
    let prefix = [&[0xB4], &u32::try_from(id.len()).unwrap().to_be_bytes()[..]].concat();
    let prefix = if version == 3 { &[][..] } else { &prefix };
    [&key(), prefix, id].concat()
}

/// A self-signature with subpackets behind its creation time.
fn self_signature(hash: HashAlgorithm, created: u32, more: &[u8]) -> Packet {
    let (hashed, issuer) = signer().subpackets(created);
    let hashed = [&hashed, more].concat();
    signer().version_4(0x13, hash, (&hashed, &issuer), &user_id(4)).unwrap()
}

/// A subpacket that has the key expire some days after its creation.
fn expiry(days: u32) -> Vec<u8> {
    [&[5, 9], &(days * DAY).to_be_bytes()[..]].concat()
}

#[test]
fn keyring_without_valid_self_signature_accepts_the_primary_key() {
    let created = signer().created();
    let mut broken = self_signature(SHA256, created, &expiry(1));
    *broken.1.last_mut().unwrap() ^= 1;
    let version_3 = signer().version_3(0x10, HashAlgorithm::Sha1, created, &user_id(3)).unwrap();
    let message = version_3_message();
    for signatures in [
        vec![],
        vec![broken],
        vec![self_signature(HashAlgorithm::Sha1, created, &[])],
        vec![self_signature(HashAlgorithm::Md5, created, &[])],
        vec![version_3],
    ] {
        assert!(verify(&keyring(&certificate(&signatures)), &message).is_ok(), "{signatures:?}");
    }
}

fn version_3_message() -> Vec<u8> {
    version_3(SHA256, signed(), Framing::New)
}

#[test]
fn keyring_with_self_signatures_obeys_the_newest() {
    let created = signer().created();
    let short = self_signature(HashAlgorithm::Sha1, created, &expiry(50));
    // Critical, behind a critical primary user ID.
    let critical = [&[2, 0x99, 1, 5, 0x89], &expiry(50)[2..]].concat();
    let critical = self_signature(SHA256, created, &critical);
    let extended = self_signature(SHA256, created + DAY, &expiry(150));
    let message = version_3_message();
    let is_expired = |signatures: &[Packet]| {
        let verdict = verify(&keyring(&certificate(signatures)), &message);
        match verdict {
            Ok(_) => false,
            Err(SignatureError::KeyExpired { .. }) => true,
            Err(other) => panic!("{other}"),
        }
    };
    assert!(is_expired(std::slice::from_ref(&short)));
    assert!(is_expired(&[critical]));
    assert!(!is_expired(&[short.clone(), extended.clone()]));
    assert!(!is_expired(&[extended, short]));
}

#[test]
fn keyring_with_key_that_may_not_sign_has_no_key() {
    let certify = self_signature(SHA256, signer().created(), &[2, 27, 1]);
    let packets = join(&certificate(&[certify]), Framing::New);
    let error = Keyring::parse(&packets).unwrap_err();
    assert_eq!(error.to_string(), "keyring contains no key that can sign");
}

#[test]
fn keyring_with_any_revocation_refuses_the_key() {
    let (hashed, issuer) = signer().subpackets(signed());
    let valid = signer().version_4(0x20, SHA256, (&hashed, &issuer), &key()).unwrap();
    for revocation in [valid, (SIGNATURE, vec![4, 0x20]), (SIGNATURE, vec![3, 5, 0x20])] {
        let mut packets = signer().certificate().unwrap();
        packets.insert(1, revocation);
        let error = verify(&keyring(&packets), &version_3_message()).unwrap_err();
        assert!(matches!(error, SignatureError::Revoked { .. }), "{error}");
    }
}

#[test]
fn keyring_with_unbound_subkey_refuses_it() {
    let packets = LegacySigner::new(SUBKEY).unwrap().certificate().unwrap();
    assert_eq!(packets.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(), [6, 13, 2, 14, 2]);
    // The primary key of this certificate may not sign, so another one keeps the keyring usable.
    let with_other =
        |packets: &[Packet]| keyring(&[packets, &signer().certificate().unwrap()].concat());
    let binding = &packets[4].1;
    assert!(verify(&with_other(&packets), SIGNED_BY_SUBKEY).is_ok());
    let mut broken = binding.clone();
    *broken.last_mut().unwrap() ^= 1;
    // Type 32 is the signature by which the subkey confirms the binding; 99 is unknown.
    let place = binding.windows(2).position(|part| part == [32, 4]).unwrap();
    let mut unconfirmed = binding.clone();
    unconfirmed[place] = 99;
    for binding in [vec![], vec![broken], vec![unconfirmed]] {
        let binding = binding.into_iter().map(|body| (SIGNATURE, body));
        let packets: Vec<Packet> = packets[..4].iter().cloned().chain(binding).collect();
        let error = verify(&with_other(&packets), SIGNED_BY_SUBKEY).unwrap_err();
        assert!(matches!(error, SignatureError::UnknownSigner { .. }), "{error}");
    }
    let revoked = [&packets[..], &[(SIGNATURE, vec![4, 0x28])]].concat();
    let error = verify(&with_other(&revoked), SIGNED_BY_SUBKEY).unwrap_err();
    assert!(matches!(error, SignatureError::Revoked { .. }), "{error}");
}

#[test]
fn keyring_with_short_key_does_not_count_it() {
    let mut packets = certificate(&[]);
    // The length of the modulus in bits.
    packets[0].1[6..8].copy_from_slice(&1023_u16.to_be_bytes());
    assert!(Keyring::parse(&join(&packets, Framing::New)).is_err());
}

/// Integers that no algorithm is made for: zero, small, even, with leading zeros, very large.
fn integer() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop_oneof![
        Just(vec![0; 128]),
        (0_u8..4).prop_map(|last| [vec![0; 127], vec![last]].concat()),
        (0_u8..4).prop_map(|last| [vec![0xFF; 127], vec![last]].concat()),
        (0_u8..4).prop_map(|last| vec![last]),
        Just(vec![0xFF; 32]),
        Just(vec![]),
        proptest::collection::vec(any::<u8>(), 0..160),
    ];
    bytes.prop_map(|bytes| {
        let bits = u16::try_from(bytes.len() * 8).unwrap().to_be_bytes();
        [&bits[..], &bytes].concat()
    })
}

/// The curve of a key in front of its point.
fn curve() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        vec![],
        b"\x08\x2A\x86\x48\xCE\x3D\x03\x01\x07".to_vec(),
        b"\x05\x2B\x81\x04\x00\x22".to_vec(),
        b"\x05\x2B\x81\x04\x00\x23".to_vec(),
        b"\x09\x2B\x06\x01\x04\x01\xDA\x47\x0F\x01".to_vec(),
    ])
}

proptest! {
    /// The digest of each self-signature is right, so that the key is used to verify it.
    #[test]
    fn keyring_with_degenerate_keys_never_panics(
        algorithm in prop::sample::select(vec![1_u8, 3, 17, 19, 22, 27, 28]),
        curve in curve(),
        integers in proptest::collection::vec(integer(), 1..5),
        value in proptest::collection::vec(integer(), 1..3),
    ) {
        let key = [&[4, 0, 0, 0, 1, algorithm], &*curve, &integers.concat()].concat();
        let length = u16::try_from(key.len()).unwrap().to_be_bytes();
        let data = [&[0x99], &length[..], &key].concat();
        let signature = [valueless(0x1F, algorithm, 2, &data), value.concat()].concat();
        let packets = join(&[(6, key), (SIGNATURE, signature)], Framing::Old(2));
        let _ = Keyring::parse(&packets);
    }

    #[test]
    fn keyring_with_changed_version_3_message_never_changes_the_claim(
        place in any::<prop::sample::Index>(),
        bits in 1_u8..,
        is_compressed in any::<bool>(),
    ) {
        let mut message = version_3_message();
        if is_compressed {
            message = compressed(&message);
        }
        let place = place.index(message.len());
        message[place] ^= bits;
        let keyring = keyring(&certificate(&[]));
        if let Ok(claim) = verify(&keyring, &message) {
            prop_assert_eq!(claim.reference, REFERENCE);
            prop_assert_eq!(claim.digest, image());
        }
    }

    #[test]
    fn keyring_with_changed_certificate_never_adds_signers(
        place in any::<prop::sample::Index>(),
        bits in 1_u8..,
    ) {
        let mut packets = join(&signer().certificate().unwrap(), Framing::Old(2));
        let place = place.index(packets.len());
        packets[place] ^= bits;
        if let Ok(keyring) = Keyring::parse(&packets) {
            prop_assert!(verify(&keyring, SIGNED_BY_SUBKEY).is_err());
        }
    }
}
