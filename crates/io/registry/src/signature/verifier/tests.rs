//! Sources of signatures, their order, and the findings. Keys and signatures are made by
//! `fixtures/make.sh`.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../fixtures/", $name)).as_slice()
    };
}

const TIMEOUT: Duration = Duration::from_secs(30);

/// A time at which all keys are valid and all signatures made.
fn valid_time() -> Timestamp {
    "2025-06-02T00:00:00Z".parse().unwrap()
}

fn image() -> Digest {
    Digest::of(b"manifest")
}

fn verification(keyrings: &[(&str, &[u8])], stores: &[&Path]) -> Verification {
    let keyring = |(name, bytes): &(&str, &[u8])| ((*name).to_owned(), bytes.to_vec());
    let store = |(number, path): (usize, &&Path)| {
        (format!("store-{number}"), format!("file://{}", path.display()))
    };
    Verification {
        keyrings: keyrings.iter().map(keyring).collect(),
        stores: stores.iter().enumerate().map(store).collect(),
    }
}

fn platform(stores: &[&Path]) -> Verifier {
    Verifier::new(&verification(&[("verifier-public-key-a", fixture!("plain.asc"))], stores))
        .unwrap()
}

/// A verifier with two keyrings, so that two signatures are required.
fn two_teams(stores: &[&Path]) -> Verifier {
    let keyrings = [
        ("verifier-public-key-a", fixture!("plain.asc")),
        ("verifier-public-key-b", fixture!("rsa.asc")),
    ];
    Verifier::new(&verification(&keyrings, stores)).unwrap()
}

fn store(signatures: &[&[u8]]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join(format!("sha256={}", image().hex()));
    fs::create_dir(&image).unwrap();
    for (index, signature) in signatures.iter().enumerate() {
        fs::write(image.join(format!("signature-{}", index + 1)), signature).unwrap();
    }
    directory
}

fn in_cluster(key: &str, signature: &'static [u8]) -> ClusterSignature<'static> {
    let key = format!("{key}{}", image().hex()).leak();
    ClusterSignature { config_map: "signatures", key, signature }
}

async fn verify(
    verifier: &Verifier,
    cluster: &[ClusterSignature<'_>],
    stores: Option<&[&Path]>,
) -> Result<Verified, Unverified> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = PullOptions { attempts: 1, ..PullOptions::default() };
    let urls: Option<Vec<String>> = stores
        .map(|stores| stores.iter().map(|path| format!("file://{}", path.display())).collect());
    let address = |url| StoreAddress { url, ca_bundle: &[] };
    let stores = urls.as_ref().map(|urls| urls.iter().map(String::as_str).map(address).collect());
    let sources =
        SignatureSources { cluster: cluster.to_vec(), stores, options: &options, timeout: TIMEOUT };
    let (image, now) = (image(), valid_time());
    let verifying = verifier.verify(&image, &sources, now);
    assert_send(&verifying);
    verifying.await
}

fn assert_send(_: &impl Send) {}

/// The result as text, without parts that differ between runs.
fn errors(verdict: Result<Verified, Unverified>, stores: &[&TempDir]) -> String {
    let mut text = match verdict {
        Ok(verified) => verified.to_string(),
        Err(unverified) => unverified.to_string(),
    };
    for (store, name) in stores.iter().zip(["STORE-1", "STORE-2"]) {
        text = text.replace(store.path().to_str().unwrap(), name);
    }
    super::super::keyring::anonymous(&text).replace(image().hex(), "HEX")
}

#[tokio::test]
async fn verify_with_signature_in_cluster_succeeds() {
    let (verifier, cluster) = (platform(&[]), [in_cluster("sha256-", fixture!("good.gpg"))]);
    let verdict = verify(&verifier, &cluster, Some(&[])).await;
    assert_eq!(verdict.as_ref().unwrap().signatures[0].signature, fixture!("good.gpg"));
    insta::assert_snapshot!(errors(verdict, &[]), @"
    sha256:HEX is signed
      verifier-public-key-a: by KEY, as registry.example/graph-data:latest (sha256-HEX of ConfigMap signatures)
    ");
    for key in ["sha512-", "sha256:", "x-sha256-"] {
        let cluster = [in_cluster(key, fixture!("good.gpg"))];
        assert!(verify(&verifier, &cluster, None).await.is_err(), "{key}");
    }
}

#[tokio::test]
async fn verify_with_cluster_stores_ignores_stores_of_release() {
    let (good, empty) = (store(&[fixture!("good.gpg")]), store(&[]));
    let verifier = platform(&[good.path()]);
    assert!(verify(&verifier, &[], None).await.is_ok());
    let others = [Some(vec![]), Some(vec![empty.path()])];
    let mut refused = Vec::new();
    for stores in others {
        refused.push(errors(verify(&verifier, &[], stores.as_deref()).await, &[&empty]));
    }
    insta::assert_snapshot!(refused.join("\n"), @"
    no signature of sha256:HEX satisfies verifier-public-key-a: no signature in the cluster and no signature store
    no signature of sha256:HEX satisfies verifier-public-key-a: file://STORE-1: no signature
    ");
    let verifier = platform(&[empty.path()]);
    assert!(verify(&verifier, &[], Some(&[good.path()])).await.is_ok());
}

#[tokio::test]
async fn verify_with_one_valid_store_succeeds() {
    let bad = store(&[fixture!("stranger.gpg"), fixture!("other-digest.gpg")]);
    let (good, file) = (store(&[fixture!("good.gpg")]), tempfile::NamedTempFile::new().unwrap());
    let verifier = platform(&[file.path(), bad.path(), good.path()]);
    assert!(verify(&verifier, &[], None).await.is_ok());
    let verifier = platform(&[bad.path(), Path::new("/dev/null")]);
    let refused = verify(&verifier, &[], None).await;
    assert!(refused.as_ref().unwrap_err().is_transient());
    insta::assert_snapshot!(errors(refused, &[&bad]), @"no signature of sha256:HEX satisfies verifier-public-key-a: signature-1 of file://STORE-1 rejected for verifier-public-key-a: signed by KEY, not in the keyring; signature-2 of file://STORE-1 rejected for verifier-public-key-a: signature is for another image: sha256:d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa; file:///dev/null: cannot read signatures: cannot read /dev/null/sha256=HEX/signature-1: Not a directory (os error 20)");
}

#[tokio::test]
async fn verify_requires_a_signature_for_each_keyring() {
    let (rsa, nothing) = (store(&[fixture!("short.gpg"), fixture!("rsa.gpg")]), store(&[]));
    let cluster = [in_cluster("sha256-", fixture!("good.gpg"))];
    let mut both = Vec::new();
    for stores in [[rsa.path()], [nothing.path()]] {
        let verdict = verify(&two_teams(&stores), &cluster, None).await;
        both.push(errors(verdict, &[&rsa, &nothing]));
    }
    insta::assert_snapshot!(both.join("\n"), @"
    sha256:HEX is signed
      verifier-public-key-a: by KEY, as registry.example/graph-data:latest (sha256-HEX of ConfigMap signatures)
      verifier-public-key-b: by KEY, as registry.example/graph-data:latest (signature-2 of file://STORE-1)
    no signature of sha256:HEX satisfies verifier-public-key-b: sha256-HEX of ConfigMap signatures rejected for verifier-public-key-b: signed by KEY, not in the keyring; file://STORE-2: no signature
    ");
    let unsigned = verify(&two_teams(&[]), &[in_cluster("sha256-", b"{}")], None).await;
    insta::assert_snapshot!(errors(unsigned, &[]), @"no signature of sha256:HEX satisfies verifier-public-key-a or verifier-public-key-b: sha256-HEX of ConfigMap signatures rejected for verifier-public-key-a and verifier-public-key-b: not a signed OpenPGP message: not an OpenPGP packet");
}

#[tokio::test]
async fn verify_with_many_signatures_stops_at_limit() {
    let cluster = vec![in_cluster("sha256-", fixture!("unsigned.gpg")); 1000];
    let refused = verify(&platform(&[]), &cluster, None).await;
    assert_eq!(refused.as_ref().unwrap_err().findings.len(), 65);
    insta::assert_snapshot!(errors(refused, &[]).split(':').next_back().unwrap(), @" the message is not signed; and 57 more");
    // Many ConfigMaps, too.
    let names: Vec<String> = (0..1000).map(|number| format!("signatures-{number}")).collect();
    let cluster: Vec<_> = names
        .iter()
        .map(|config_map| ClusterSignature {
            config_map,
            ..in_cluster("sha256-", fixture!("unsigned.gpg"))
        })
        .collect();
    let refused = verify(&platform(&[]), &cluster, None).await.unwrap_err();
    assert_eq!(refused.findings.len(), 513);
}

#[tokio::test]
async fn verify_with_many_invalid_signatures_in_one_source_checks_the_others() {
    let junk = vec![in_cluster("sha256-", fixture!("unsigned.gpg")); 1000];
    let other = ClusterSignature {
        config_map: "other-signatures",
        ..in_cluster("sha256-", fixture!("good.gpg"))
    };
    let cluster = [junk.clone(), vec![other]].concat();
    assert!(verify(&platform(&[]), &cluster, None).await.is_ok());
    let signed = store(&[fixture!("good.gpg")]);
    assert!(verify(&platform(&[signed.path()]), &junk, None).await.is_ok());
}

#[test]
fn new_without_valid_keyring_fails() {
    let broken = [("verifier-public-key-a", b"none".as_slice())];
    let errors = [verification(&[], &[]), verification(&broken, &[])].map(|given| {
        let error = Verifier::new(&given).unwrap_err();
        let source = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", source.unwrap_or_default())
    });
    insta::assert_snapshot!(errors.join("\n"), @"
    no keyring to verify signatures with: 
    cannot use verifier-public-key-a: keyring does not consist of OpenPGP public keys: not an OpenPGP packet
    ");
}

#[test]
fn name_omits_credentials_and_query() {
    assert_eq!(name("https://store.example/a?token=secret"), "https://store.example/a");
    assert_eq!(name("https://me:secret@store.example/a"), "…@store.example/a");
}
