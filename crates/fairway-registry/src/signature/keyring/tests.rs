//! Signatures that `gpg` has made for `fixtures/make.sh`, and what becomes of them.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../fixtures/", $name)).as_slice()
    };
}

static KEYRING: LazyLock<Keyring> =
    LazyLock::new(|| Keyring::parse(fixture!("keyring.asc")).unwrap());

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// When all keys are valid, and all signatures made.
fn soon() -> Timestamp {
    at("2025-06-02T00:00:00Z")
}

fn refused(signature: &[u8], now: Timestamp) -> String {
    let error = KEYRING.verify(signature, &Digest::of(b"manifest"), now).unwrap_err();
    anonymous(&error.to_string())
}

/// The text without fingerprints, which are others each time the fixtures are made.
pub(in crate::signature) fn anonymous(text: &str) -> String {
    let is_print = |word: &&str| word.len() == 40 && word.bytes().all(|b| b.is_ascii_hexdigit());
    let words = text.split(' ').map(|word| {
        let bare = word.trim_end_matches(',');
        if is_print(&bare) { word.replace(bare, "KEY") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn what_somebody_signed_whom_we_trust_is_believed() {
    for signature in [
        fixture!("good.gpg"),
        fixture!("rsa.gpg"),
        fixture!("subkey.gpg"),
        fixture!("uncompressed.gpg"),
        fixture!("armoured.asc"),
        fixture!("expiring.gpg"),
        fixture!("both.gpg"),
        fixture!("short.gpg"),
    ] {
        let claim = KEYRING.verify(signature, &Digest::of(b"manifest"), soon()).unwrap();
        assert_eq!(claim.digest, Digest::of(b"manifest"));
        assert_eq!(claim.reference, "registry.example/graph-data:latest");
    }
}

#[test]
fn everything_else_is_refused() {
    let forged = {
        let mut bytes = fixture!("uncompressed.gpg").to_vec();
        let place = bytes.windows(6).position(|part| part == b"latest").unwrap();
        bytes[place] = b'L';
        bytes
    };
    let (soon, late, early) = (soon(), at("2026-06-01T00:00:00Z"), at("2025-05-31T00:00:00Z"));
    let told: Vec<String> = [
        ("forged", forged.as_slice(), soon),
        ("a stranger's", fixture!("stranger.gpg"), soon),
        ("a revoked key's", fixture!("revoked.gpg"), soon),
        ("an expired key's", fixture!("expiring.gpg"), late),
        ("expired", fixture!("short.gpg"), late),
        ("early", fixture!("good.gpg"), early),
        ("of SHA-1", fixture!("weak.gpg"), soon),
        ("of a text", fixture!("text.gpg"), soon),
        ("another image's", fixture!("other-digest.gpg"), soon),
        ("another type's", fixture!("other-type.gpg"), soon),
        ("without a name", fixture!("no-reference.gpg"), soon),
        ("with more", fixture!("more.gpg"), soon),
        ("not JSON", fixture!("not-json.gpg"), soon),
        ("large", fixture!("large.gpg"), soon),
        ("detached", fixture!("detached.gpg"), soon),
        ("clear", fixture!("clear.asc"), soon),
        ("encrypted", fixture!("encrypted.gpg"), soon),
        ("unsigned", fixture!("unsigned.gpg"), soon),
        ("a key", fixture!("keyring.gpg"), soon),
        ("nothing", b"", soon),
        ("JSON alone", br#"{"critical": {}}"#, soon),
        ("huge", &vec![0; LARGEST_SIGNATURE + 1], soon),
    ]
    .map(|(what, signature, now)| format!("{what}: {}", refused(signature, now)))
    .into();
    insta::assert_snapshot!(told.join("\n"), @r#"
    forged: it is not what the key KEY has signed
    a stranger's: it is signed by KEY, which the keyring does not have
    a revoked key's: the key KEY was revoked
    an expired key's: the key KEY expired at 2026-01-01T00:00:00Z
    expired: the signature expired at 2025-07-01T00:00:00Z
    early: the signature says that it was made at 2025-06-01T00:00:00Z, which is to come
    of SHA-1: the key KEY has signed it in a way that does not count: by SHA1
    of a text: the key KEY has signed it in a way that does not count: it is not a signature of a document
    another image's: what is signed is sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa, another image
    another type's: what is signed is of the type "something else", and not "atomic container signature"
    without a name: what is signed has no name for the image
    with more: what is signed is not a claim about an image: unknown field `more`, expected `critical` or `optional` at line 1 column 267
    not JSON: what is signed is not a claim about an image: expected ident at line 1 column 2
    large: it is not a message that was signed with OpenPGP: it unpacks to more than 102400 bytes
    detached: it is not a message that was signed with OpenPGP: IO error: no more data available
    clear: it is not a message that was signed with OpenPGP: Not yet implemented: key format CleartextMessage
    encrypted: it is not a message that was signed with OpenPGP: there is no signed text in it
    unsigned: it is not a message that was signed with OpenPGP: there is no signed text in it
    a key: it is not a message that was signed with OpenPGP: unexpected packet type: PublicKey
    nothing: it is not a message that was signed with OpenPGP: empty input
    JSON alone: it is not a message that was signed with OpenPGP: not enough bytes in buffer: armor header
    huge: the signature is longer than 51200 bytes
    "#);
}

#[test]
fn keyrings_are_read_in_every_form() {
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
    assert!(other.verify(fixture!("good.gpg"), &image, soon()).is_ok());
    assert!(other.verify(fixture!("rsa.gpg"), &image, soon()).is_err());
}

#[test]
fn what_is_no_keyring_is_refused() {
    let told = [b"".as_slice(), b"keys", fixture!("good.gpg"), &vec![0; LARGEST_KEYRING + 1]]
        .map(|bytes| Keyring::parse(bytes).unwrap_err().to_string());
    insta::assert_snapshot!(told.join("\n"), @"
    the keyring does not consist of OpenPGP public keys: empty input
    the keyring does not consist of OpenPGP public keys: not enough bytes in buffer: armor header
    the keyring has no key that may sign
    the keyring has 1048577 bytes, and at most 1048576 are read
    ");
}

proptest! {
    #[test]
    fn nothing_that_is_changed_is_believed_or_makes_us_panic(
        place in 0_usize..423,
        bits in 1_u8..,
        cut in any::<bool>(),
    ) {
        for original in [fixture!("good.gpg"), fixture!("uncompressed.gpg"), fixture!("rsa.gpg")] {
            let mut bytes = original.to_vec();
            let place = place % bytes.len();
            bytes[place] ^= bits;
            if cut {
                bytes.truncate(place);
            }
            if let Ok(claim) = KEYRING.verify(&bytes, &Digest::of(b"manifest"), soon()) {
                // Not all bytes of a message are signed; what was claimed is.
                prop_assert_eq!(claim.reference, "registry.example/graph-data:latest");
            }
        }
    }

    #[test]
    fn no_keyring_makes_us_panic(place in 0_usize..1926, bits in 1_u8..) {
        let mut bytes = fixture!("keyring.gpg").to_vec();
        let place = place % bytes.len();
        bytes[place] ^= bits;
        let _ = Keyring::parse(&bytes);
    }
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
    [&[0xA3, 1][..], &packed.finish().unwrap()].concat()
}

#[test]
fn a_small_signature_does_not_become_a_large_one() {
    let bomb = signers(1 << 20);
    assert!(bomb.len() < LARGEST_SIGNATURE, "{} bytes", bomb.len());
    insta::assert_snapshot!(refused(&bomb, soon()), @"it is not a message that was signed with OpenPGP: it unpacks to more than 102400 bytes");
}
