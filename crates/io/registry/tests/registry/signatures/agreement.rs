//! The same messages, given to gpg, to Go's openpgp and to us.

use anyhow::Result;
use fairway_registry::signature::{Claim, Keyring, SignatureError};

use crate::signatures::corpus::{Case, Corpus, Expected};
use crate::signatures::{image, now};

pub(crate) fn verify(keyring: &Keyring, message: &[u8]) -> Result<Claim, SignatureError> {
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
    let told = || format!("{name}: {ours:?}, Go: {go}, gpg: {}", gpg.signatures());
    Ok((!is_right).then(told))
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
