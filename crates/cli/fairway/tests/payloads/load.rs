//! Loading of manifests, CRDs and signature keys.

use std::process::Command;

use anyhow::Result;
use fairway_sandbox::crd::Crd;
use fairway_testkit::environment;
use fairway_testkit::real::RealPayload;

#[test]
fn load_for_default_cluster_includes_the_manifests_of_the_go_operator() -> Result<()> {
    let Some(payloads) = environment::payloads() else { return Ok(()) };
    let payload = RealPayload::unpack(&payloads, "5.0")?;
    assert_eq!(payload.included().len(), 1026);
    Ok(())
}

#[test]
fn verify_with_keys_of_real_release_accepts_real_signature() -> Result<()> {
    let Some(payloads) = environment::payloads() else { return Ok(()) };
    let Some(signatures) = environment::conformance("signatures/signatures") else { return Ok(()) };
    let payload = RealPayload::unpack(&payloads, "5.0")?;
    let digest = "e3f12513a4b22a2d7c0e7c9207f52128113758d9d68c7d06b11a0ac7672966f7";
    let verified = Command::new(environment::fairway_program()?)
        .args(["release", "verify", &format!("registry.example/release@sha256:{digest}")])
        .arg("--from-release")
        .arg(payload.directory())
        .arg("--store")
        .arg(signatures)
        .output()?;
    let text = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    // Red Hat's release key 2.
    assert!(text.contains("567E347AD0044ADE55BA8A5F199E2F91FD431D51"), "{text}");
    Ok(())
}

#[test]
fn every_crd_of_a_real_release_is_accepted_in_the_sandbox() -> Result<()> {
    let Some(payloads) = environment::payloads() else { return Ok(()) };
    for name in ["5.0", "4.20"] {
        let payload = RealPayload::unpack(&payloads, name)?;
        let manifests = payload.included().into_iter();
        for manifest in manifests.filter(|it| it.id.kind == "CustomResourceDefinition") {
            let crd = serde_json::from_value(manifest.object())?;
            let read = Crd::new(&crd);
            assert!(read.is_ok(), "{name}: {}: {read:?}", manifest.file);
        }
    }
    Ok(())
}
