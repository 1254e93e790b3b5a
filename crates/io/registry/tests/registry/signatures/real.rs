//! Signatures of real OpenShift releases.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_registry::Digest;
use fairway_registry::pull::PullOptions;
use fairway_registry::signature::{ClusterSignature, Keyring, SignatureSources, Verifier};
use fairway_release::Verification;
use fairway_testkit::environment;
use flate2::read::GzDecoder;
use jiff::Timestamp;

const RED_HAT: &str = "sha256:e3f12513a4b22a2d7c0e7c9207f52128113758d9d68c7d06b11a0ac7672966f7";
const CI: &str = "sha256:edd9824f0404f1a139688017e7001370e2f3fbc088b94da84506653b473fe140";

/// A time at which the openshift-ci key has expired.
fn now() -> Timestamp {
    "2026-11-16T00:00:00Z".parse().unwrap()
}

fn digest(text: &str) -> Digest {
    Digest::parse(text).unwrap()
}

fn signature(vectors: &Path, image: &str) -> Vec<u8> {
    let place = format!("signatures/{}/signature-1", image.replace(':', "="));
    fs::read(vectors.join(place)).unwrap()
}

fn verification(vectors: &Path, keyring: &str) -> Verification {
    let bytes = fs::read(vectors.join("keyrings").join(keyring)).unwrap();
    let store = format!("file://{}", vectors.join("signatures").display());
    Verification {
        keyrings: [(format!("verifier-public-key-{keyring}"), bytes)].into(),
        stores: [("store".to_owned(), store)].into(),
    }
}

/// The verdict as the operator reports it: of the store, or of a ConfigMap where there is none.
async fn verdict(vectors: &Path, keyring: &str, image: &str, in_cluster: bool) -> String {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut verification = verification(vectors, keyring);
    let bytes = signature(vectors, image);
    let key = image.replace(':', "-");
    let mut cluster = Vec::new();
    if in_cluster {
        verification.stores.clear();
        cluster.push(ClusterSignature { config_map: "signatures", key: &key, signature: &bytes });
    }
    let options = PullOptions { attempts: 1, ..PullOptions::default() };
    let timeout = Duration::from_secs(30);
    let sources = SignatureSources { cluster, stores: None, options: &options, timeout };
    let verifier = Verifier::new(&verification).unwrap();
    let verdict = match verifier.verify(&digest(image), &sources, now()).await {
        Ok(found) => format!("{image} is signed by {}", found.signatures[0].signer),
        Err(error) => error.to_string(),
    };
    let verdict = verdict.replace(&vectors.display().to_string(), "VECTORS");
    verdict.replace(RED_HAT, "RED-HAT").replace(CI, "CI").replace(&key, "KEY")
}

#[tokio::test]
async fn verifier_with_real_signatures_agrees_with_the_go_operator() {
    let Some(vectors) = environment::conformance("signatures") else { return };
    let mut verdicts = Vec::new();
    for keyring in ["redhat.txt", "simple.txt", "combined.txt"] {
        for image in [RED_HAT, CI] {
            for in_cluster in [false, true] {
                verdicts.push(verdict(&vectors, keyring, image, in_cluster).await);
            }
        }
    }
    insta::assert_snapshot!(verdicts.join("\n"), @"
    RED-HAT is signed by 567E347AD0044ADE55BA8A5F199E2F91FD431D51
    RED-HAT is signed by 567E347AD0044ADE55BA8A5F199E2F91FD431D51
    no signature of CI satisfies verifier-public-key-redhat.txt: signature-1 of file://VECTORS/signatures rejected for verifier-public-key-redhat.txt: signed by 28B76E05B923888E, not in the keyring
    no signature of CI satisfies verifier-public-key-redhat.txt: KEY of ConfigMap signatures rejected for verifier-public-key-redhat.txt: signed by 28B76E05B923888E, not in the keyring
    no signature of RED-HAT satisfies verifier-public-key-simple.txt: signature-1 of file://VECTORS/signatures rejected for verifier-public-key-simple.txt: signed by 199E2F91FD431D51, not in the keyring
    no signature of RED-HAT satisfies verifier-public-key-simple.txt: KEY of ConfigMap signatures rejected for verifier-public-key-simple.txt: signed by 199E2F91FD431D51, not in the keyring
    CI is signed by D04761B116203B0C0859B61628B76E05B923888E
    CI is signed by D04761B116203B0C0859B61628B76E05B923888E
    RED-HAT is signed by 567E347AD0044ADE55BA8A5F199E2F91FD431D51
    RED-HAT is signed by 567E347AD0044ADE55BA8A5F199E2F91FD431D51
    CI is signed by D04761B116203B0C0859B61628B76E05B923888E
    CI is signed by D04761B116203B0C0859B61628B76E05B923888E
    ");
}

/// The keyring of a payload, without the help of a YAML parser: some files have duplicate keys.
fn armored_key(manifest: &str) -> Option<String> {
    let begin = manifest.find("-----BEGIN PGP PUBLIC KEY BLOCK-----")?;
    let end = manifest.find("-----END PGP PUBLIC KEY BLOCK-----")?;
    let lines = manifest.get(begin..end)?.lines().map(str::trim);
    Some(format!("{}\n-----END PGP PUBLIC KEY BLOCK-----\n", lines.collect::<Vec<_>>().join("\n")))
}

fn release_keys(payload: &Path) -> Result<String> {
    let mut archive = tar::Archive::new(GzDecoder::new(fs::File::open(payload)?));
    for entry in archive.entries()? {
        let mut entry = entry?;
        if entry.path()?.ends_with("0000_90_cluster-update-keys_configmap.yaml") {
            let mut manifest = String::new();
            entry.read_to_string(&mut manifest)?;
            return armored_key(&manifest).context("no key");
        }
    }
    anyhow::bail!("{} has no keys", payload.display())
}

#[test]
fn keyring_of_real_payloads_accepts_the_red_hat_signature() {
    let Some(vectors) = environment::conformance("signatures") else { return };
    let Some(payloads) = environment::payloads() else { return };
    for version in ["4.16", "4.20", "5.0"] {
        let keys = release_keys(&payloads.join(format!("{version}-payload.tar.gz"))).unwrap();
        let keyring = Keyring::parse(keys.as_bytes()).unwrap();
        let claim = keyring.verify(&signature(&vectors, RED_HAT), &digest(RED_HAT), now()).unwrap();
        assert_eq!(claim.signer, "567E347AD0044ADE55BA8A5F199E2F91FD431D51");
        let stranger = keyring.verify(&signature(&vectors, CI), &digest(CI), now()).unwrap_err();
        assert_eq!(stranger.to_string(), "signed by 28B76E05B923888E, not in the keyring");
    }
}
