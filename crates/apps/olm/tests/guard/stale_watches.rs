//! Status of the guard with stale watches.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_olm::{Settings, StalenessTimeouts};
use fairway_sandbox::faults::Fault;
use serde_json::json;

use crate::access::deployed;
use crate::support::{Platform, up_to};

const READY: &str = "True AsExpected: Ready for upgrade";
const WILL: &str = "False IncompatibleOperatorsInstalled: The following operators will not run on the next OpenShift Version";
const UNLISTED: &str = "False ErrorCheckingOperatorCompatibility: Encountered errors while checking compatibility with the next minor version of OpenShift: failed to list ClusterServiceVersions: forbidden by a fault injected by the sandbox";
const NO_VERSION: &str = "False ErrorCheckingOperatorCompatibility: Encountered errors while checking compatibility with the next minor version of OpenShift: cannot read ClusterVersion: forbidden by a fault injected by the sandbox";

/// Settings with short timeouts, but longer than lists take on a slow host.
fn hasty(platform: &Platform) -> Result<Settings> {
    let limit = Duration::from_secs(5);
    let staleness = StalenessTimeouts { first_status: limit, stale_watch: limit };
    Ok(Settings { staleness, ..platform.settings()? })
}

#[tokio::test]
async fn guard_without_operator_list_in_the_sandbox_refuses_everything() -> Result<()> {
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
async fn packages_never_read_in_the_sandbox_are_named() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let Some(sandbox) = platform.sandbox() else { return Ok(()) };
    let subscription = json!({
        "spec": { "name": "etcd", "source": "main", "sourceNamespace": platform.namespace.name() },
    });
    platform.put("Subscription", "etcd", subscription).await?;
    platform.put("CatalogSource", "main", json!({ "spec": {} })).await?;
    sandbox.faults().add(Fault::refuse(503).resource("packagemanifests").verb("list"));
    let guard = platform.start(hasty(&platform)?)?;
    platform.until_degraded("The content of the catalogs is unknown").await?;
    guard.stop().await?;

    sandbox.faults().clear();
    platform.install("etcd.v1", up_to("4.9")).await.map_err(anyhow::Error::msg)?;
    sandbox.faults().add(Fault::refuse(503).resource("clusterserviceversions").verb("get"));
    let guard = platform.start(hasty(&platform)?)?;
    platform.until_degraded("The APIs that operators use are unknown").await?;
    guard.stop().await
}

#[tokio::test]
async fn guard_without_own_watch_in_the_sandbox_writes_its_status() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let Some(sandbox) = platform.sandbox() else { return Ok(()) };
    for verb in ["list", "watch"] {
        sandbox.faults().add(Fault::refuse(403).resource("clusteroperators").verb(verb));
    }
    let guard = platform.start_as(deployed(&platform).await?, hasty(&platform)?)?;
    platform.until_upgradeable(READY).await?;
    for name in ["a.v1", "b.v1"] {
        platform.install(name, up_to("4.6")).await.map_err(anyhow::Error::msg)?;
    }
    platform.until_upgradeable(&format!("{WILL}: NS/a.v1, NS/b.v1")).await?;
    guard.stop().await
}

#[tokio::test]
async fn status_with_failing_watch_in_the_sandbox_is_dropped() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let Some(sandbox) = platform.sandbox() else { return Ok(()) };
    let guard = platform.start(hasty(&platform)?)?;
    for (resource, found) in [("clusterserviceversions", UNLISTED), ("clusterversions", NO_VERSION)]
    {
        platform.until_upgradeable(READY).await?;
        for verb in ["list", "watch"] {
            sandbox.faults().add(Fault::refuse(403).resource(resource).verb(verb));
        }
        sandbox.restart();
        platform.until_upgradeable(found).await?;
        sandbox.faults().clear();
    }
    platform.until_upgradeable(READY).await?;
    guard.stop().await
}

#[tokio::test]
async fn watch_that_recovers_in_the_sandbox_does_not_count_as_failing() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let Some(sandbox) = platform.sandbox() else { return Ok(()) };
    let guard = platform.start(hasty(&platform)?)?;
    platform.until_upgradeable(READY).await?;
    let written = || async {
        let metrics = platform.metrics().await?;
        let count =
            metrics.lines().find_map(|it| it.strip_prefix("fairway_olm_status_writes_total "));
        anyhow::Ok(count.context("nothing is counted")?.parse::<u64>()?)
    };
    let before = written().await?;
    let refused = Fault::refuse(503).resource("clusterserviceversions").verb("watch");
    sandbox.faults().add(refused.times(1));
    let mark = platform.cluster.audit_log()?.mark()?;
    sandbox.restart();
    // No event arrives, and the watch is restarted.
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
    // The next status is the first one since.
    platform.install("old.v1", up_to("4.6")).await.map_err(anyhow::Error::msg)?;
    platform.until_upgradeable(&format!("{WILL}: NS/old.v1")).await?;
    fairway_testkit::wait::until("one write", || async {
        Ok((written().await? == before + 1).then_some(()))
    })
    .await?;
    guard.stop().await
}

/// Shorter than that of the guard, so that tests are short.
const READ_TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_response_in_the_sandbox_are_retried() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let Some(sandbox) = platform.sandbox() else { return Ok(()) };
    let client = platform.cluster.client_with_read_timeout("hung", READ_TIMEOUT).await?;
    let operators =
        |fault: Fault| fault.resource("clusterserviceversions").user_agent("hung").times(1);
    sandbox.faults().add(operators(Fault::hang().verb("list")));
    let guard = platform.start_as(client, platform.settings()?)?;
    platform.until_upgradeable(READY).await?;
    assert!(sandbox.faults().is_empty(), "the list did not hang");

    let mut names = String::new();
    for (name, fault) in [("a.v1", Fault::hang().verb("watch")), ("b.v1", Fault::hang_watch(0))] {
        sandbox.faults().add(operators(fault));
        sandbox.restart();
        fairway_testkit::wait::until("the watch to hang", || async {
            Ok(sandbox.faults().is_empty().then_some(()))
        })
        .await?;
        platform.install(name, up_to("4.6")).await.map_err(anyhow::Error::msg)?;
        names = if names.is_empty() { format!("NS/{name}") } else { format!("{names}, NS/{name}") };
        platform.until_upgradeable(&format!("{WILL}: {names}")).await?;
    }
    guard.stop().await
}

#[tokio::test]
async fn list_compacted_between_pages_in_the_sandbox_starts_over() -> Result<()> {
    let platform = Platform::begin(Some("4.6.3")).await?;
    let Some(sandbox) = platform.sandbox() else { return Ok(()) };
    // More than a page.
    for number in 0..60 {
        let name = format!("operator-{number:02}.v1");
        platform.install(&name, up_to("4.9")).await.map_err(anyhow::Error::msg)?;
    }
    platform.install("old.v1", up_to("4.6")).await.map_err(anyhow::Error::msg)?;
    let expired = Fault::refuse(410).verb("list").resource("clusterserviceversions").continued();
    sandbox.faults().add(expired.times(3));
    let mark = platform.cluster.audit_log()?.mark()?;
    let guard = platform.start(platform.settings()?)?;
    platform.until_upgradeable(&format!("{WILL}: NS/old.v1")).await?;
    assert!(sandbox.faults().is_empty(), "no later page was requested");
    let events = platform.cluster.audit_log()?.since(mark)?;
    let pages = events
        .iter()
        .filter(|event| event.verb == "list" && event.is_about("clusterserviceversions"));
    // Three lists that end after the first page, and a complete one.
    assert_eq!(pages.count(), 3 * 2 + 2);
    guard.stop().await
}
