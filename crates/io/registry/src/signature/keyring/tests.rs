//! Signatures that `fixtures/make.sh` has made with `gpg`, and keyrings.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use proptest::prelude::*;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../fixtures/", $name)).as_slice()
    };
}

const REFERENCE: &str = "registry.example/graph-data:latest";

pub(super) static KEYRING: LazyLock<Keyring> =
    LazyLock::new(|| Keyring::parse(fixture!("keyring.asc")).unwrap());

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// A time at which all keys are valid and all signatures made.
pub(super) fn valid_time() -> Timestamp {
    at("2025-06-02T00:00:00Z")
}

/// Replaces fingerprints, which change whenever the fixtures are made.
pub(in crate::signature) fn anonymous(text: &str) -> String {
    let is_print = |word: &&str| word.len() == 40 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = text.split(' ').map(|word| {
        let bare = word.trim_end_matches([',', ':', ';']);
        if is_print(&bare) { word.replace(bare, "KEY") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn verify_with_known_signer_returns_the_claim() {
    for signature in [
        fixture!("good.gpg"),
        fixture!("rsa.gpg"),
        fixture!("subkey.gpg"),
        fixture!("uncompressed.gpg"),
        fixture!("armoured.asc"),
        fixture!("expiring.gpg"),
        fixture!("both.gpg"),
        fixture!("short.gpg"),
        fixture!("text.gpg"),
    ] {
        let claim = KEYRING.verify(signature, &Digest::of(b"manifest"), valid_time()).unwrap();
        assert_eq!(claim.digest, Digest::of(b"manifest"));
        assert_eq!(claim.reference, REFERENCE);
    }
}

/// 0.1 refused it. The Go operator ignores the expiry of keys, and releases outlive their keys.
#[test]
fn verify_with_key_that_expired_after_signing_returns_the_claim() {
    let (signature, later) = (fixture!("expiring.gpg"), at("2026-06-01T00:00:00Z"));
    let claim = KEYRING.verify(signature, &Digest::of(b"manifest"), later).unwrap();
    assert_eq!(claim.reference, REFERENCE);
}

#[test]
fn valid_at_outside_the_term_of_the_key_fails() {
    let expiring = KEYRING.verify(fixture!("expiring.gpg"), &Digest::of(b"manifest"), valid_time());
    let signer = expiring.unwrap().signer;
    let key = KEYRING.keys.iter().find(|key| key.name == signer).unwrap();
    assert!(key.valid_at(at("2025-01-01T00:00:00Z")).is_ok());
    assert!(key.valid_at(at("2025-12-31T23:59:59Z")).is_ok());
    let errors = ["2024-12-31T23:59:59Z", "2026-01-01T00:00:00Z"]
        .map(|time| anonymous(&key.valid_at(at(time)).unwrap_err().to_string()));
    insta::assert_snapshot!(errors.join("\n"), @"
    key KEY is newer than its signature: created at 2025-01-01T00:00:00Z, signed at 2024-12-31T23:59:59Z
    key KEY expired at 2026-01-01T00:00:00Z, before it signed at 2026-01-01T00:00:00Z
    ");
}

#[test]
fn parse_in_every_form_returns_all_keys() {
    let twice = [fixture!("plain.asc"), b"\n", fixture!("keyring.asc")].concat();
    for (keyring, keys) in [
        (fixture!("keyring.asc"), 5),
        (fixture!("keyring.gpg"), 5),
        (fixture!("plain.asc"), 1),
        (&twice, 6),
    ] {
        assert_eq!(Keyring::parse(keyring).unwrap().keys.len(), keys);
    }
    let other = Keyring::parse(fixture!("plain.asc")).unwrap();
    let image = Digest::of(b"manifest");
    assert!(other.verify(fixture!("good.gpg"), &image, valid_time()).is_ok());
    assert!(other.verify(fixture!("rsa.gpg"), &image, valid_time()).is_err());
}

#[test]
fn parse_without_public_keys_fails() {
    let errors = [
        b"".as_slice(),
        b"keys",
        fixture!("good.gpg"),
        fixture!("secret/plain.asc"),
        &fixture!("keyring.gpg")[..100],
        &vec![0; MAX_KEYRING + 1],
    ]
    .map(|bytes| Keyring::parse(bytes).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"), @"
    keyring contains no key that can sign
    keyring does not consist of OpenPGP public keys: not an OpenPGP packet
    keyring contains no key that can sign
    keyring does not consist of OpenPGP public keys: expected PGP PUBLIC KEY BLOCK, found PGP PRIVATE KEY BLOCK
    keyring does not consist of OpenPGP public keys: truncated packet
    keyring has 1048577 bytes; the limit is 1048576 bytes
    ");
}

const MESSAGES: [&[u8]; 6] = [
    fixture!("good.gpg"),
    fixture!("uncompressed.gpg"),
    fixture!("rsa.gpg"),
    fixture!("both.gpg"),
    fixture!("subkey.gpg"),
    fixture!("armoured.asc"),
];

/// The claim that the keyring finds in bytes is the one that was signed, if any.
fn check_claim(bytes: &[u8]) -> Result<(), TestCaseError> {
    if let Ok(claim) = KEYRING.verify(bytes, &Digest::of(b"manifest"), valid_time()) {
        prop_assert_eq!(claim.digest, Digest::of(b"manifest"));
        prop_assert_eq!(claim.reference, REFERENCE);
    }
    Ok(())
}

proptest! {
    #[test]
    fn verify_with_changed_messages_never_changes_the_claim(
        message in 0..MESSAGES.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..4),
        cut in proptest::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = MESSAGES[message].to_vec();
        for (place, bits) in changes {
            let place = place.index(bytes.len());
            bytes[place] ^= bits;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        check_claim(&bytes)?;
    }

    #[test]
    fn verify_with_spliced_messages_never_changes_the_claim(
        (first, second) in (0..MESSAGES.len(), 0..MESSAGES.len()),
        (end, begin) in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let (first, second) = (MESSAGES[first], MESSAGES[second]);
        let spliced = [&first[..end.index(first.len())], &second[begin.index(second.len())..]];
        check_claim(&spliced.concat())?;
    }

    #[test]
    fn verify_with_arbitrary_bytes_fails(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        prop_assert!(KEYRING.verify(&bytes, &Digest::of(b"manifest"), valid_time()).is_err());
    }

    /// The bytes of a packet of a likely type, with a body that no tool would write.
    #[test]
    fn verify_with_arbitrary_packets_fails(
        packets in proptest::collection::vec(
            (
                prop::sample::select(vec![2_u8, 4, 8, 10, 11]),
                prop::sample::select(vec![vec![], vec![3, 0, 8, 1], vec![3, 5], vec![4, 0, 1, 8], vec![1], vec![2]]),
                proptest::collection::vec(any::<u8>(), 0..100),
            ),
            0..6,
        ),
    ) {
        let mut bytes = Vec::new();
        for (tag, start, body) in packets {
            bytes.extend([0xC0 | tag, u8::try_from(start.len() + body.len()).unwrap()]);
            bytes.extend([start, body].concat());
        }
        prop_assert!(KEYRING.verify(&bytes, &Digest::of(b"manifest"), valid_time()).is_err());
        let _ = Keyring::parse(&bytes);
    }

    /// A changed keyring never accepts a signature of an unknown key.
    #[test]
    fn parse_with_changed_keyring_never_adds_signers(
        place in any::<prop::sample::Index>(),
        bits in 1_u8..,
    ) {
        let mut bytes = fixture!("keyring.gpg").to_vec();
        let place = place.index(bytes.len());
        bytes[place] ^= bits;
        if let Ok(keyring) = Keyring::parse(&bytes) {
            let image = Digest::of(b"manifest");
            prop_assert!(keyring.verify(fixture!("stranger.gpg"), &image, valid_time()).is_err());
        }
    }
}

/// The key of the recording is not kept, so the keyring of the other tests does not know it.
#[test]
fn release_signature_of_v0_1_is_parsed_and_names_its_key() {
    let map = fairway_fixtures::recorded::v0_1().json("config-maps/release-signature.json");
    let (key, signature) = map["binaryData"].as_object().unwrap().iter().next().unwrap();
    let signature = BASE64.decode(signature.as_str().unwrap()).unwrap();
    let hex = key.strip_prefix("sha256-").and_then(|rest| rest.strip_suffix("-1")).unwrap();
    let image = Digest::parse(&format!("sha256:{hex}")).unwrap();
    let packets = dearmor(&signature, &BlockType::Message).unwrap();
    let message = SignedMessage::parse(&packets).unwrap();
    let claim = Claim::read(&message.data, ("KEY", Timestamp::UNIX_EPOCH), &image).unwrap();
    assert_eq!(claim.reference, "registry.example/releases:5.4.0");
    let refused = KEYRING.verify(&signature, &image, at("2026-12-01T00:00:00Z")).unwrap_err();
    let name = map["metadata"]["name"].as_str().unwrap();
    let signer = name.rsplit('-').next().unwrap().to_uppercase();
    assert_eq!(refused.to_string(), format!("signed by {signer}, not in the keyring"));
}

/// Defines a test for each `name: signature, time => error`.
macro_rules! rejected {
    ($($name:ident: $signature:expr, $now:expr => $error:literal;)*) => {$(
        #[test]
        fn $name() {
            let error = KEYRING.verify($signature, &Digest::of(b"manifest"), $now).unwrap_err();
            assert_eq!(anonymous(&error.to_string()), $error);
        }
    )*};
}

rejected! {
    verify_after_expiry_of_the_signature_fails: fixture!("short.gpg"), at("2026-06-01T00:00:00Z")
        => "signature expired at 2025-07-01T00:00:00Z";
    verify_before_creation_of_the_signature_fails: fixture!("good.gpg"), at("2025-05-31T00:00:00Z")
        => "signature is dated 2025-06-01T00:00:00Z, in the future";
    verify_with_revoked_key_fails: fixture!("revoked.gpg"), valid_time() => "key KEY is revoked";
    verify_with_unknown_key_fails: fixture!("stranger.gpg"), valid_time()
        => "signed by KEY, not in the keyring";
    verify_with_changed_data_fails: &changed(), valid_time() => "bad signature by key KEY";
    verify_with_sha1_fails: fixture!("weak.gpg"), valid_time()
        => "signature by key KEY uses the weak digest SHA1";

    verify_with_other_image_fails: fixture!("other-digest.gpg"), valid_time()
        => "signature is for another image: \
            sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa";
    verify_with_other_type_fails: fixture!("other-type.gpg"), valid_time()
        => "signed data is of type \"something else\", not \"atomic container signature\"";
    verify_without_identity_fails: fixture!("no-reference.gpg"), valid_time()
        => "signed data has no docker-reference";
    verify_with_unknown_field_fails: fixture!("more.gpg"), valid_time()
        => "signed data is not an atomic container signature: unknown field `more`, expected \
            `critical` or `optional` at line 1 column 267";
    verify_without_json_fails: fixture!("not-json.gpg"), valid_time()
        => "signed data is not an atomic container signature: expected ident at line 1 column 2";

    verify_with_unsigned_message_fails: fixture!("unsigned.gpg"), valid_time()
        => "not a signed OpenPGP message: the message is not signed";
    verify_with_detached_signature_fails: fixture!("detached.gpg"), valid_time()
        => "not a signed OpenPGP message: the message contains no data; detached signatures are \
            not supported";
    verify_with_cleartext_fails: fixture!("clear.asc"), valid_time()
        => "not a signed OpenPGP message: expected PGP MESSAGE, found PGP SIGNED MESSAGE";
    verify_with_encrypted_message_fails: fixture!("encrypted.gpg"), valid_time()
        => "not a signed OpenPGP message: the message is encrypted";
    verify_with_truncated_message_fails: &fixture!("uncompressed.gpg")[..400], valid_time()
        => "not a signed OpenPGP message: truncated packet";
    verify_with_truncated_compressed_message_fails: &fixture!("good.gpg")[..300], valid_time()
        => "not a signed OpenPGP message: corrupt compressed data";
    verify_with_extra_byte_fails: &[fixture!("good.gpg"), b"\0"].concat(), valid_time()
        => "not a signed OpenPGP message: corrupt compressed data";
    verify_with_keyring_fails: fixture!("keyring.gpg"), valid_time()
        => "not a signed OpenPGP message: unexpected packet of type 6";
    verify_with_empty_file_fails: b"", valid_time() => "not a signed OpenPGP message: empty file";
    verify_with_bare_claim_fails: br#"{"critical": {}}"#, valid_time()
        => "not a signed OpenPGP message: not an OpenPGP packet";
    verify_with_truncated_armor_fails: &fixture!("armoured.asc")[..20], valid_time()
        => "not a signed OpenPGP message: malformed armor: not enough bytes in buffer: armor header";

    verify_with_large_file_fails: &vec![0; MAX_SIGNATURE + 1], valid_time()
        => "signature exceeds 51200 bytes";
    verify_with_compressed_bomb_fails: fixture!("large.gpg"), valid_time()
        => "not a signed OpenPGP message: more than 102400 bytes after decompression";
    verify_with_a_million_signers_fails: &signers(1 << 20), valid_time()
        => "not a signed OpenPGP message: more than 102400 bytes after decompression";
    verify_with_a_hundred_signers_fails: &signers(100), valid_time()
        => "not a signed OpenPGP message: more than 36 packets";
    verify_with_seventeen_signers_fails: &signers(17), valid_time()
        => "not a signed OpenPGP message: more than 16 signatures";
}

fn changed() -> Vec<u8> {
    let mut bytes = fixture!("uncompressed.gpg").to_vec();
    let place = bytes.windows(6).position(|part| part == b"latest").unwrap();
    bytes[place] = b'L';
    bytes
}

/// A compressed message of one-pass signature packets.
fn signers(count: usize) -> Vec<u8> {
    // Version 3, of a document, SHA-256, RSA, not the last.
    let one_pass = [0xC4, 13, 3, 0, 8, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0];
    let level = flate2::Compression::best();
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), level);
    for _ in 0..count {
        std::io::Write::write_all(&mut packed, &one_pass).unwrap();
    }
    // A compressed data packet of indeterminate length, ZIP.
    let bomb = [&[0xA3, 1][..], &packed.finish().unwrap()].concat();
    assert!(bomb.len() < MAX_SIGNATURE, "{} bytes", bomb.len());
    bomb
}
