//! Loading.

use std::process::Command;

use anyhow::Result;
use fairway_testkit::environment;
use fairway_testkit::real::RealPayload;

#[test]
fn default_cluster_gets_the_manifests_that_the_existing_operator_includes() -> Result<()> {
    let Some(payloads) = environment::payloads() else { return Ok(()) };
    let payload = RealPayload::unpack(&payloads, "5.0")?;
    assert_eq!(payload.included().len(), 1026);
    Ok(())
}

#[test]
fn real_signature_satisfies_the_keys_of_a_real_release() -> Result<()> {
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
    let told = String::from_utf8_lossy(&verified.stdout);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    // Red Hat's release key 2.
    assert!(told.contains("567E347AD0044ADE55BA8A5F199E2F91FD431D51"), "{told}");
    Ok(())
}
