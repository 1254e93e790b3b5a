//! Updates that do not begin, and what those who asked for them are told.

use anyhow::Result;
use fairway_install::manifests::own_manifests;
use fairway_testkit::{TestPlatform, text};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_safe_does_not_begin_and_says_why() -> Result<()> {
    let platform = TestPlatform::install(own_manifests(), "5.1.0", "stable-5.2").await?;
    platform.until_condition("Upgradeable", "False", "AdminAckRequired").await?;

    let told = refused(&platform, &["--to=5.2.0"]).await?;
    insta::assert_snapshot!(told.lines().next().unwrap_or_default(), @"error: 5.2.0 is not recommended for this cluster: AdminAck-ack-5.1-backups-v1beta1-removal-in-5.2 (applies), StorageMigrationStalls (may apply)");

    platform.lose_signature("5.2.0")?;
    let image = format!("--to-image={}", platform.image("5.2.0")?);
    let told = refused(&platform, &[&image, "--allow-not-recommended"]).await?;
    insta::assert_snapshot!(by_the_operator(&told), @r#"
      Reason: RetrievePayload
      Message: Retrieving payload failed version="5.2.0" image="<image of 5.2.0>" failure=the update cannot be verified: no signature of <digest of 5.2.0> satisfies verifier-public-key-platform: <update service>/signatures: no signature
    "#);

    let image = format!("--to-image={}", platform.image("5.3.0")?);
    let told = refused(&platform, &[&image, "--allow-explicit-upgrade"]).await?;
    insta::assert_snapshot!(told, @"error: confirmation required, but there is no terminal: from 5.1.0 to 5.3.0 is a skip-level update that skips one minor version; add --yes to confirm");
    let told = refused(&platform, &[&image, "--allow-explicit-upgrade", "--yes"]).await?;
    insta::assert_snapshot!(by_the_operator(&told), @r#"
      Reason: PreconditionChecks
      Message:
        Preconditions failed for payload loaded version="5.3.0" image="<image of 5.3.0>":
        * Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotOffered": 5.3.0 skips a minor version after 5.1.0, and the update service does not offer this update
        * The update to 5.3.0 has unaccepted risks. Applying to this cluster: AdminAck-ack-5.1-backups-v1beta1-removal-in-5.2. To accept them and continue: fairway upgrade accept AdminAck-ack-5.1-backups-v1beta1-removal-in-5.2
    "#);

    let image = format!("--to-image={}", platform.image("5.0.1")?);
    let told = refused(&platform, &[&image, "--allow-explicit-upgrade", "--yes"]).await?;
    insta::assert_snapshot!(by_the_operator(&told), @r#"
      Reason: PreconditionChecks
      Message: Preconditions failed for payload loaded version="5.0.1" image="<image of 5.0.1>": Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": 5.0.1 is older than 5.1.0, and this cluster has no previous release
    "#);

    platform.update(&["--clear"]).await?;
    let status = platform.until_condition("ReleaseAccepted", "True", "PayloadLoaded").await?;
    assert_eq!((status.history.len(), &status.desired.version[..]), (1, "5.1.0"));
    Ok(())
}

/// What `fairway upgrade` says about an update that does not begin. Images and addresses are others
/// each time.
async fn refused(platform: &TestPlatform, arguments: &[&str]) -> Result<String> {
    let output = platform.fairway(&[&["upgrade"], arguments].concat()).await?;
    let mut told = text(&output).replace(platform.update_service(), "<update service>");
    assert!(!output.status.success(), "{told}");
    for made in &platform.releases.releases {
        let version = made.release.version;
        told = told.replace(&made.reference, &format!("<image of {version}>"));
        if let Some((_, digest)) = made.reference.rsplit_once('@') {
            told = told.replace(digest, &format!("<digest of {version}>"));
        }
    }
    Ok(told)
}

/// What the operator says in it.
fn by_the_operator(told: &str) -> &str {
    let (_, said) =
        told.split_once("The operator refuses the release:\n\n").unwrap_or((told, told));
    said.split_once("\n\n").map_or(said, |(said, _)| said)
}
