//! Signatures that do not count, each with its error. Most are made with `gpg` by
//! `fixtures/make.sh`.

use super::tests::{KEYRING, anonymous, at, soon};
use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../fixtures/", $name)).as_slice()
    };
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
    verify_with_revoked_key_fails: fixture!("revoked.gpg"), soon() => "key KEY is revoked";
    verify_with_unknown_key_fails: fixture!("stranger.gpg"), soon()
        => "signed by KEY, not in the keyring";
    verify_with_changed_data_fails: &changed(), soon() => "bad signature by key KEY";
    verify_with_sha1_fails: fixture!("weak.gpg"), soon()
        => "signature by key KEY uses the weak digest SHA1";

    verify_with_other_image_fails: fixture!("other-digest.gpg"), soon()
        => "signature is of another image, \
            sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa";
    verify_with_other_type_fails: fixture!("other-type.gpg"), soon()
        => "signed data is of type \"something else\", not \"atomic container signature\"";
    verify_without_identity_fails: fixture!("no-reference.gpg"), soon()
        => "signed data has no docker-reference";
    verify_with_unknown_field_fails: fixture!("more.gpg"), soon()
        => "signed data is not an atomic container signature: unknown field `more`, expected \
            `critical` or `optional` at line 1 column 267";
    verify_without_json_fails: fixture!("not-json.gpg"), soon()
        => "signed data is not an atomic container signature: expected ident at line 1 column 2";

    verify_with_unsigned_message_fails: fixture!("unsigned.gpg"), soon()
        => "not a signed OpenPGP message: the message is not signed";
    verify_with_detached_signature_fails: fixture!("detached.gpg"), soon()
        => "not a signed OpenPGP message: the message contains no data; detached signatures are \
            not supported";
    verify_with_cleartext_fails: fixture!("clear.asc"), soon()
        => "not a signed OpenPGP message: expected PGP MESSAGE, found PGP SIGNED MESSAGE";
    verify_with_encrypted_message_fails: fixture!("encrypted.gpg"), soon()
        => "not a signed OpenPGP message: the message is encrypted";
    verify_with_truncated_message_fails: &fixture!("uncompressed.gpg")[..400], soon()
        => "not a signed OpenPGP message: truncated packet";
    verify_with_truncated_compressed_message_fails: &fixture!("good.gpg")[..300], soon()
        => "not a signed OpenPGP message: corrupt compressed data";
    verify_with_extra_byte_fails: &[fixture!("good.gpg"), b"\0"].concat(), soon()
        => "not a signed OpenPGP message: corrupt compressed data";
    verify_with_keyring_fails: fixture!("keyring.gpg"), soon()
        => "not a signed OpenPGP message: unexpected packet of type 6";
    verify_with_empty_file_fails: b"", soon() => "not a signed OpenPGP message: empty file";
    verify_with_bare_claim_fails: br#"{"critical": {}}"#, soon()
        => "not a signed OpenPGP message: not an OpenPGP packet";
    verify_with_truncated_armor_fails: &fixture!("armoured.asc")[..20], soon()
        => "not a signed OpenPGP message: malformed armor: not enough bytes in buffer: armor header";

    verify_with_large_file_fails: &vec![0; MAX_SIGNATURE + 1], soon()
        => "signature exceeds 51200 bytes";
    verify_with_compressed_bomb_fails: fixture!("large.gpg"), soon()
        => "not a signed OpenPGP message: more than 102400 bytes after decompression";
    verify_with_a_million_signers_fails: &signers(1 << 20), soon()
        => "not a signed OpenPGP message: more than 102400 bytes after decompression";
    verify_with_a_hundred_signers_fails: &signers(100), soon()
        => "not a signed OpenPGP message: more than 36 packets";
    verify_with_seventeen_signers_fails: &signers(17), soon()
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
