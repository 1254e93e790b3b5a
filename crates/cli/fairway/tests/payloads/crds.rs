//! CRDs of real releases.

use anyhow::Result;
use fairway_sandbox::definition::Definition;
use fairway_testkit::environment;
use fairway_testkit::real::RealPayload;

#[test]
fn every_crd_of_a_real_release_is_accepted_in_the_sandbox() -> Result<()> {
    let Some(payloads) = environment::payloads() else { return Ok(()) };
    for name in ["5.0", "4.20"] {
        let payload = RealPayload::unpack(&payloads, name)?;
        let manifests = payload.included().into_iter();
        for manifest in manifests.filter(|it| it.id.kind == "CustomResourceDefinition") {
            let crd = serde_json::from_value(manifest.object())?;
            let read = Definition::new(&crd);
            assert!(read.is_ok(), "{name}: {}: {read:?}", manifest.file);
        }
    }
    Ok(())
}
