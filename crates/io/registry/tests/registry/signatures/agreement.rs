//! The verdicts of gpg, Go's openpgp and Fairway on the same messages, and on changed ones.

use anyhow::Result;
use fairway_registry::signature::{Claim, Keyring, SignatureError};

use crate::signatures::corpus::{Case, Corpus, Expected};
use crate::signatures::packets::{Framing, Packet, frame, join, literal, split};
use crate::signatures::tools::Gpg;
use crate::signatures::{REFERENCE, claim, image, now};

fn verify(keyring: &Keyring, message: &[u8]) -> Result<Claim, SignatureError> {
    keyring.verify(message, &image(), now())
}

/// Why our verdict on a message is not the expected one, if it is not.
fn disagreement(
    corpus: &Corpus,
    keyring: &Keyring,
    case: &Case,
    go: bool,
) -> Result<Option<String>> {
    let Case { name, message, expected } = case;
    let gpg = corpus.gpg.verify(message)?;
    let ours = verify(keyring, message);
    let is_right = match (expected, &ours) {
        (Expected::SameAsGpg, Ok(_)) => gpg.is_valid,
        (Expected::SameAsGpg, Err(_)) => !gpg.is_valid && !go,
        (Expected::RefusedAsByGpg, Err(_)) => !gpg.is_valid && go,
        (Expected::Stricter { error, go: expected }, Err(why)) => {
            gpg.is_valid && go == *expected && why.to_string().contains(error)
        }
        (Expected::RefusedAsByGpg | Expected::Stricter { .. }, Ok(_)) => false,
    };
    let errors = || format!("{name}: {ours:?}, Go: {go}, gpg: {}", gpg.signatures());
    Ok((!is_right).then(errors))
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn keyring_with_messages_of_other_tools_agrees_with_gpg_and_go() {
    let corpus = Corpus::make().unwrap();
    let keyring = Keyring::parse(&corpus.keyring).unwrap();
    let messages: Vec<&[u8]> = corpus.cases.iter().map(|case| &*case.message).collect();
    let go = corpus.go.verify(&corpus.keyring, &messages).unwrap();
    let mut disagreements = Vec::new();
    for (case, go) in corpus.cases.iter().zip(go) {
        disagreements.extend(disagreement(&corpus, &keyring, case, go).unwrap());
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
    assert_eq!(corpus.cases.len(), 147);
}

/// Messages whose bytes are changed, one by one.
const MESSAGES: [&str; 12] = [
    "gpg rsa SHA256 none",
    "gpg dsa SHA256 none",
    "gpg ed25519 SHA256 none",
    "gpg ed25519 SHA512 zip",
    "gpg rsa SHA256 zlib",
    "gpg p256 SHA256 none",
    "framing Old(2), PGP 2",
    "gpg two signers, not compressed",
    "version 3 SHA256",
    "version 3 SHA256, PGP 2",
    "go rsa SHA256 binary",
    "sq-cv25519-subkey binary",
];

/// Checks that a changed message is refused, or that gpg accepts it with the same data.
fn check(corpus: &Corpus, keyring: &Keyring, message: &[u8], what: &str) -> Option<String> {
    let accepted = verify(keyring, message).ok()?;
    if accepted.reference != REFERENCE {
        return Some(format!("{what}: the claim is {accepted:?}"));
    }
    let gpg = corpus.gpg.verify(message).unwrap();
    let is_same = gpg.is_valid && gpg.is_clean && gpg.data == claim(REFERENCE);
    (!is_same).then(|| format!("{what}: accepted, but not by gpg: {}", gpg.signatures()))
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn keyring_with_changed_bytes_never_accepts_more_than_gpg() {
    let corpus = Corpus::make().unwrap();
    let keyring = Keyring::parse(&corpus.keyring).unwrap();
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for name in MESSAGES {
        let message = corpus.message(name).unwrap();
        for place in 0..message.len() {
            for bits in [1, 2, 4, 8, 16, 32, 64, 128, 0xFF] {
                let mut changed = message.to_vec();
                changed[place] ^= bits;
                let what = format!("{name}, byte {place} ^ {bits:#x}");
                wrong.extend(check(&corpus, &keyring, &changed, &what));
                tried += 1;
            }
            let what = format!("{name}, truncated to {place} bytes");
            assert!(verify(&keyring, &message[..place]).is_err(), "{what}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried > 40_000, "{tried}");
}

/// A message of one RSA signer: the one-pass signature packet, the data and the signature.
fn parts(gpg: &Gpg, reference: &str) -> [Packet; 3] {
    let options = ["--compress-algo", "none", "--digest-algo", "SHA256"];
    let message = gpg.sign("rsa", &options, &claim(reference)).unwrap();
    split(&message).unwrap().try_into().unwrap()
}

/// A packet with another byte.
fn with((tag, body): &Packet, place: usize, byte: u8) -> Packet {
    let mut body = body.clone();
    body[place] = byte;
    (*tag, body)
}

/// All invalid combinations of the packets of two messages.
fn rearranged(gpg: &Gpg) -> Vec<(&'static str, Vec<u8>)> {
    let [announcement, data, signature] = parts(gpg, REFERENCE);
    let [_, _, other_signature] = parts(gpg, "registry.example/evil:1");
    let evil = literal(&claim("registry.example/evil:1"));
    let compressed = |packet: &Packet| (8, [&[0], &*frame(packet, Framing::New)].concat());
    let join = |packets: &[&Packet]| {
        let packets: Vec<Packet> = packets.iter().copied().cloned().collect();
        join(&packets, Framing::New)
    };
    let (a, d, s, e) = (&announcement, &data, &signature, &evil);
    vec![
        ("other data", join(&[a, e, s])),
        ("other signature", join(&[a, d, &other_signature])),
        ("data twice", join(&[a, d, d, s])),
        ("other data first", join(&[a, e, d, s])),
        ("other data second", join(&[a, d, e, s])),
        ("other data before", join(&[e, a, d, s])),
        ("other data behind", join(&[a, d, s, e])),
        ("compressed data", join(&[a, &compressed(d), s])),
        ("compressed data behind", join(&[a, d, s, &compressed(e)])),
        ("compressed data before", join(&[&compressed(e), a, d, s])),
        ("another message behind", join(&[a, d, s, a, e, s])),
        ("no announcement", join(&[d, s])),
        ("no signature", join(&[a, d])),
        ("no data", join(&[a, s])),
        ("signature alone", join(&[s])),
        ("two announcements", join(&[a, a, d, s])),
        ("two signatures", join(&[a, d, s, s])),
        ("signatures on both sides", join(&[s, a, d, s])),
        ("unsigned", join(&[d])),
        ("unknown packet", join(&[&(60, vec![1]), a, d, s])),
        ("other marker", join(&[&(10, b"PGX".to_vec()), a, d, s])),
        ("trailing byte", [join(&[a, d, s]), vec![0]].concat()),
        ("longer signature", join(&[a, d, &(2, [&*s.1, &[0]].concat())])),
    ]
}

/// Gives one field after the other each value that a reader may know.
fn altered(gpg: &Gpg) -> Vec<(String, Vec<u8>)> {
    let [announcement, data, signature] = parts(gpg, REFERENCE);
    let mut messages = Vec::new();
    // Of the announcement: version, type, digest, algorithm and the nesting flag.
    for (place, field) in [(0, "version"), (1, "type"), (2, "digest"), (3, "key"), (12, "nested")] {
        for value in (0..=0x50).filter(|value| *value != announcement.1[place]) {
            let packets = [with(&announcement, place, value), data.clone(), signature.clone()];
            let name = format!("announced {field} {value}");
            messages.push((name, join(&packets, Framing::New)));
        }
    }
    for (place, field) in [(0, "version"), (1, "type"), (2, "key"), (3, "digest")] {
        for value in (0..=0x50).filter(|value| *value != signature.1[place]) {
            let signature = with(&signature, place, value);
            let mut announcement = announcement.clone();
            // The one-pass packet gets the same value.
            if let Some(place) = [None, Some(1), Some(3), Some(2)][place] {
                announcement = with(&announcement, place, value);
            }
            let name = format!("{field} {value}");
            let message = [announcement, data.clone(), signature.clone()];
            messages.push((name.clone(), join(&message, Framing::New)));
            messages
                .push((format!("{name}, PGP 2"), join(&[signature, data.clone()], Framing::New)));
        }
    }
    messages
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn verify_of_message_with_rearranged_or_altered_packets_fails() {
    let gpg = Gpg::new().unwrap();
    gpg.key("rsa", "rsa2048", &[]).unwrap();
    let keyring = Keyring::parse(&gpg.export("rsa").unwrap()).unwrap();
    assert!(verify(&keyring, &join(&parts(&gpg, REFERENCE), Framing::New)).is_ok());
    let rearranged = rearranged(&gpg).into_iter().map(|(name, bytes)| (name.to_owned(), bytes));
    for (name, message) in rearranged.chain(altered(&gpg)) {
        assert!(verify(&keyring, &message).is_err(), "{name}");
    }
}
