//! Signatures that do not count, each with what is said about it. Most are made with `gpg` by
//! `fixtures/make.sh`.

use super::tests::{KEYRING, anonymous, at, soon};
use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../fixtures/", $name)).as_slice()
    };
}

/// A test for each: `name: signature, at a time => what is said`.
macro_rules! refused {
    ($($name:ident: $signature:expr, $now:expr => $told:literal;)*) => {$(
        #[test]
        fn $name() {
            let error = KEYRING.verify($signature, &Digest::of(b"manifest"), $now).unwrap_err();
            assert_eq!(anonymous(&error.to_string()), $told);
        }
    )*};
}

refused! {
    an_expired_key: fixture!("expiring.gpg"), at("2026-06-01T00:00:00Z")
        => "the key KEY expired at 2026-01-01T00:00:00Z";
    an_expired_signature: fixture!("short.gpg"), at("2026-06-01T00:00:00Z")
        => "the signature expired at 2025-07-01T00:00:00Z";
    a_signature_of_the_future: fixture!("good.gpg"), at("2025-05-31T00:00:00Z")
        => "the signature says that it was made at 2025-06-01T00:00:00Z, which is to come";
    a_revoked_key: fixture!("revoked.gpg"), soon() => "the key KEY was revoked";
    another_key: fixture!("stranger.gpg"), soon()
        => "it is signed by KEY, which the keyring does not have";
    a_text_that_was_changed: &changed(), soon() => "it is not what the key KEY has signed";
    sha1: fixture!("weak.gpg"), soon()
        => "the key KEY has signed it in a way that does not count: by SHA1";
    a_signature_of_lines: fixture!("text.gpg"), soon()
        => "the key KEY has signed it in a way that does not count: it is not a signature of a \
            document";

    another_image: fixture!("other-digest.gpg"), soon()
        => "what is signed is \
            sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa, another image";
    another_type: fixture!("other-type.gpg"), soon()
        => "what is signed is of the type \"something else\", and not \
            \"atomic container signature\"";
    no_identity: fixture!("no-reference.gpg"), soon()
        => "what is signed has no name for the image";
    an_unknown_field: fixture!("more.gpg"), soon()
        => "what is signed is not a claim about an image: unknown field `more`, expected \
            `critical` or `optional` at line 1 column 267";
    no_json: fixture!("not-json.gpg"), soon()
        => "what is signed is not a claim about an image: expected ident at line 1 column 2";

    an_unsigned_message: fixture!("unsigned.gpg"), soon()
        => "it is not a message that was signed with OpenPGP: there is no signed text in it";
    a_detached_signature: fixture!("detached.gpg"), soon()
        => "it is not a message that was signed with OpenPGP: IO error: no more data available";
    a_clear_text: fixture!("clear.asc"), soon()
        => "it is not a message that was signed with OpenPGP: Not yet implemented: key format \
            CleartextMessage";
    an_encrypted_message: fixture!("encrypted.gpg"), soon()
        => "it is not a message that was signed with OpenPGP: there is no signed text in it";
    a_truncated_message: &fixture!("uncompressed.gpg")[..400], soon()
        => "it is not a message that was signed with OpenPGP: IO error: PacketBodyReader errored";
    a_truncated_compressed_message: &fixture!("good.gpg")[..300], soon()
        => "it is not a message that was signed with OpenPGP: incomplete deflate stream";
    a_key: fixture!("keyring.gpg"), soon()
        => "it is not a message that was signed with OpenPGP: unexpected packet type: PublicKey";
    nothing: b"", soon() => "it is not a message that was signed with OpenPGP: empty input";
    the_claim_alone: br#"{"critical": {}}"#, soon()
        => "it is not a message that was signed with OpenPGP: not enough bytes in buffer: armor \
            header";

    a_huge_one: &vec![0; LARGEST_SIGNATURE + 1], soon()
        => "the signature is longer than 51200 bytes";
    a_huge_text_in_a_small_one: fixture!("large.gpg"), soon()
        => "it is not a message that was signed with OpenPGP: it unpacks to more than 102400 bytes";
    a_million_signers_in_a_small_one: &signers(1 << 20), soon()
        => "it is not a message that was signed with OpenPGP: it unpacks to more than 102400 bytes";
}

fn changed() -> Vec<u8> {
    let mut bytes = fixture!("uncompressed.gpg").to_vec();
    let place = bytes.windows(6).position(|part| part == b"latest").unwrap();
    bytes[place] = b'L';
    bytes
}

/// A message of so many beginnings of signatures, compressed.
fn signers(count: usize) -> Vec<u8> {
    // A one-pass signature of version 3, of a document, by SHA-256 and RSA, and more follow.
    let one_pass = [0xC4, 13, 3, 0, 8, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0];
    let level = flate2::Compression::best();
    let mut packed = flate2::write::DeflateEncoder::new(Vec::new(), level);
    for _ in 0..count {
        std::io::Write::write_all(&mut packed, &one_pass).unwrap();
    }
    // Compressed data of a length that its end tells, by ZIP.
    let bomb = [&[0xA3, 1][..], &packed.finish().unwrap()].concat();
    assert!(bomb.len() < LARGEST_SIGNATURE, "{} bytes", bomb.len());
    bomb
}
