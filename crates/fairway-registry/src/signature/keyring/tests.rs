//! Signatures that `gpg` has made for `fixtures/make.sh`, and what becomes of them.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../fixtures/", $name)).as_slice()
    };
}

pub(super) static KEYRING: LazyLock<Keyring> =
    LazyLock::new(|| Keyring::parse(fixture!("keyring.asc")).unwrap());

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// When all keys are valid, and all signatures made.
pub(super) fn soon() -> Timestamp {
    at("2025-06-02T00:00:00Z")
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
