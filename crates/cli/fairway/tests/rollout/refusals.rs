//! Updates that the client or the operator refuses.

use anyhow::Result;
use fairway_install::manifests::own_manifests;
use fairway_testkit::{TestPlatform, text};

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_updates_are_refused_with_their_reason() -> Result<()> {
    let platform = TestPlatform::start(own_manifests(), "5.1.0", "stable-5.2").await?;
    platform.wait_until_condition("Upgradeable", "False", "AdminAckRequired").await?;

    let text = refused(&platform, &["--to=5.2.0"]).await?;
    insta::assert_snapshot!(text.lines().next().unwrap_or_default(), @"error: 5.2.0 is not recommended for this cluster: AdminAck-ack-5.1-backups-v1beta1-removal-in-5.2 (applies), StorageMigrationStalls (may apply)");

    platform.remove_signature("5.2.0")?;
    let image = format!("--to-image={}", platform.image("5.2.0")?);
    let text = refused(&platform, &[&image, "--allow-not-recommended"]).await?;
    insta::assert_snapshot!(operator_message(&text), @r#"
      Reason: RetrievePayload
      Message: Retrieving payload failed version="5.2.0" image="<image of 5.2.0>" failure=the update cannot be verified: no signature of <digest of 5.2.0> satisfies verifier-public-key-platform: <update service>/signatures: no signature
    "#);

    let image = format!("--to-image={}", platform.image("5.3.0")?);
    let text = refused(&platform, &[&image, "--allow-explicit-upgrade"]).await?;
    insta::assert_snapshot!(text, @"error: confirmation required, but there is no terminal: the update from 5.1.0 to 5.3.0 is a skip-level update that skips one minor version; add --yes to confirm");
    let text = refused(&platform, &[&image, "--allow-explicit-upgrade", "--yes"]).await?;
    insta::assert_snapshot!(operator_message(&text), @r#"
      Reason: PreconditionChecks
      Message:
        Preconditions failed for payload loaded version="5.3.0" image="<image of 5.3.0>":
        * Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotOffered": 5.3.0 skips a minor version after 5.1.0, and the update service does not offer this update
        * The update to 5.3.0 has unaccepted risks. Applying to this cluster: AdminAck-ack-5.1-backups-v1beta1-removal-in-5.2. To accept them and continue: fairway upgrade accept AdminAck-ack-5.1-backups-v1beta1-removal-in-5.2
    "#);

    let image = format!("--to-image={}", platform.image("5.0.1")?);
    let text = refused(&platform, &[&image, "--allow-explicit-upgrade", "--yes"]).await?;
    insta::assert_snapshot!(operator_message(&text), @r#"
      Reason: PreconditionChecks
      Message: Preconditions failed for payload loaded version="5.0.1" image="<image of 5.0.1>": Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": 5.0.1 is older than 5.1.0, and this cluster has no previous release
    "#);

    platform.upgrade(&["--clear"], 0).await?;
    let status = platform.wait_until_condition("ReleaseAccepted", "True", "PayloadLoaded").await?;
    assert_eq!((status.history.len(), &status.desired.version[..]), (1, "5.1.0"));
    Ok(())
}

/// The output of `fairway upgrade` for a refused update, with placeholders for images and addresses.
async fn refused(platform: &TestPlatform, arguments: &[&str]) -> Result<String> {
    let output = platform.fairway(&[&["upgrade"], arguments].concat()).await?;
    let mut text = text(&output).replace(platform.update_service(), "<update service>");
    assert!(!output.status.success(), "{text}");
    for made in &platform.releases.releases {
        let version = made.release.version;
        text = text.replace(&made.reference, &format!("<image of {version}>"));
        if let Some((_, digest)) = made.reference.rsplit_once('@') {
            text = text.replace(digest, &format!("<digest of {version}>"));
        }
    }
    Ok(text)
}

/// The paragraph with reason and message of the operator.
fn operator_message(text: &str) -> &str {
    let (_, rest) =
        text.split_once("The operator refuses the release:\n\n").unwrap_or((text, text));
    rest.split_once("\n\n").map_or(rest, |(message, _)| message)
}
