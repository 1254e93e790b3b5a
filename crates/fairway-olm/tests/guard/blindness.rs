//! What is said while something is not seen.

use std::time::Duration;

use anyhow::{Result, ensure};
use fairway_olm::{Patience, Settings};
use fairway_sandbox::faults::Fault;

use crate::support::Platform;

const READY: &str = "True AsExpected: Ready for upgrade";
const UNLISTED: &str = "False ErrorCheckingOperatorCompatibility: Encountered errors while checking compatibility with the next minor version of OpenShift: failed to list ClusterServiceVersions: the request was made to be forbidden";
const NO_VERSION: &str = "False ErrorCheckingOperatorCompatibility: Encountered errors while checking compatibility with the next minor version of OpenShift: the version of the cluster is not seen: the request was made to be forbidden";

/// A guard without patience.
fn hasty(platform: &Platform) -> Result<Settings> {
    let second = Duration::from_secs(1);
    let patience = Patience { first_word: second, blind: second };
    Ok(Settings { patience, ..platform.settings()? })
}

#[tokio::test]
async fn operators_that_cannot_be_listed_let_nothing_through() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let Some(sandbox) = platform.sandbox() else { return Ok(()) };
    let forbidden = Fault::refuse(403).resource("clusterserviceversions");
    sandbox.faults().add(forbidden.verb("list"));
    let guard = platform.start(hasty(&platform)?)?;
    platform.until_upgradeable(UNLISTED).await?;
    sandbox.faults().clear();
    platform.until_upgradeable(READY).await?;
    guard.stop().await
}

#[tokio::test]
async fn an_old_word_does_not_stand_while_nothing_is_seen() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let Some(sandbox) = platform.sandbox() else { return Ok(()) };
    let guard = platform.start(hasty(&platform)?)?;
    for (resource, told) in [("clusterserviceversions", UNLISTED), ("clusterversions", NO_VERSION)]
    {
        platform.until_upgradeable(READY).await?;
        for verb in ["list", "watch"] {
            sandbox.faults().add(Fault::refuse(403).resource(resource).verb(verb));
        }
        sandbox.restart();
        platform.until_upgradeable(told).await?;
        sandbox.faults().clear();
    }
    platform.until_upgradeable(READY).await?;
    guard.stop().await
}

#[tokio::test]
async fn a_watch_that_works_again_is_not_taken_for_one_that_fails() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let Some(sandbox) = platform.sandbox() else { return Ok(()) };
    let guard = platform.start(hasty(&platform)?)?;
    platform.until_upgradeable(READY).await?;
    let written = || async {
        let metrics = platform.metrics().await?;
        let line = metrics.lines().find(|line| line.starts_with("fairway_olm_status_writes_total"));
        anyhow::Ok(line.map(str::to_owned))
    };
    let before = written().await?;
    let refused = Fault::refuse(503).resource("clusterserviceversions").verb("watch");
    sandbox.faults().add(refused.times(1));
    let mark = platform.cluster.audit_log()?.mark()?;
    sandbox.restart();
    // It sees nothing new, and yet it looks again.
    fairway_testkit::wait::until("operators to be listed anew", || async {
        let events = platform.cluster.audit_log()?.since(mark)?;
        let is_list = |it: &&fairway_testkit::AuditEvent| {
            it.verb == "list"
                && it.object_ref.as_ref().is_some_and(|it| it.resource == "clusterserviceversions")
        };
        Ok((events.iter().filter(is_list).count() >= 1 && sandbox.faults().is_empty())
            .then_some(()))
    })
    .await?;
    ensure!(written().await? == before, "nothing has changed that is to be said");
    guard.stop().await
}
