//! Leader election on a cluster, with short durations.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_operator::election::{
    ElectionSettings, Leadership, LeaseName, LostLease, Timing, lead,
};
use fairway_sandbox::faults::Fault;
use fairway_testkit::{TestCluster, TestNamespace, wait};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

const NAME: &str = "version";

/// As short as a slow host allows.
const TIMING: Timing = Timing {
    lease: Duration::from_secs(3),
    renew: Duration::from_secs(2),
    retry: Duration::from_millis(300),
};

struct TestElection {
    cluster: TestCluster,
    namespace: TestNamespace,
}

/// A candidate that leads until it is stopped.
struct Operator {
    stop: CancellationToken,
    leads: Arc<Notify>,
    task: JoinHandle<Result<Option<()>, LostLease>>,
}

impl TestElection {
    async fn open() -> Result<Self> {
        let cluster = TestCluster::shared().await?;
        let namespace = cluster.namespace("election").await?;
        Ok(Self { cluster, namespace })
    }

    fn leases(&self) -> Api<Lease> {
        self.namespace.api()
    }

    fn settings(&self, identity: &str) -> ElectionSettings {
        let lease = LeaseName { namespace: self.namespace.name().to_owned(), name: NAME.into() };
        ElectionSettings { lease, identity: identity.to_owned(), timing: TIMING }
    }

    fn start(&self, identity: &str) -> Operator {
        let (stop, leads) = (CancellationToken::new(), Arc::new(Notify::new()));
        let (stopped, reported) = (stop.clone(), Arc::clone(&leads));
        let task = self.start_with(identity, stop.clone(), async move |_| {
            reported.notify_one();
            stopped.cancelled().await;
        });
        Operator { stop, leads, task }
    }

    fn start_with<T, F>(
        &self,
        identity: &str,
        stop: CancellationToken,
        work: impl FnOnce(Leadership) -> F + Send + 'static,
    ) -> JoinHandle<Result<Option<T>, LostLease>>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send,
    {
        let (client, settings) = (self.cluster.client(), self.settings(identity));
        tokio::spawn(async move {
            lead(client, &settings, &stop, async move |leadership| work(leadership).await).await
        })
    }

    async fn holder(&self) -> Result<String> {
        let spec = self.leases().get(NAME).await?.spec.unwrap_or_default();
        spec.holder_identity.context("no holder")
    }

    async fn overwrite(&self, holder: &str) -> Result<()> {
        let patch = json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": 3}});
        self.leases().patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }
}

impl Operator {
    async fn until_it_leads(&self) -> Result<()> {
        timeout(wait::DEFAULT_TIMEOUT, self.leads.notified()).await.context("it does not lead")
    }

    async fn stop(self) -> Result<()> {
        self.stop.cancel();
        anyhow::ensure!(self.task.await? == Ok(Some(())));
        Ok(())
    }
}

/// Runs the same cases in the sandbox and on a real cluster.
macro_rules! on_both_clusters {
    ($($case:ident),+ $(,)?) => {
        mod in_the_sandbox {
            $(#[tokio::test]
            async fn $case() -> anyhow::Result<()> {
                super::$case().await
            })+
        }

        mod on_a_real_cluster {
            $(#[tokio::test]
            #[ignore = "needs a cluster: cargo xtask test"]
            async fn $case() -> anyhow::Result<()> {
                super::$case().await
            })+
        }
    };
}

on_both_clusters! {
    released_lease_is_acquired_at_once,
    lease_of_dead_leader_is_acquired_after_expiry,
    lease_of_own_identity_is_resumed,
    lease_is_kept_when_a_candidate_stops,
    lease_lost_during_write_stops_the_write,
    lease_with_wrong_times_of_others_is_respected,
    lease_that_is_deleted_is_created_again,
    lease_is_never_held_by_two_candidates,
}

async fn released_lease_is_acquired_at_once() -> Result<()> {
    let election = TestElection::open().await?;
    let first = election.start("first");
    first.until_it_leads().await?;
    let second = election.start("second");
    assert!(timeout(TIMING.lease, second.leads.notified()).await.is_err(), "two lead");
    assert_eq!(election.holder().await?, "first");
    let began = Instant::now();
    first.stop().await?;
    second.until_it_leads().await?;
    assert!(began.elapsed() < TIMING.renew, "it took {:?}", began.elapsed());
    second.stop().await?;
    assert_eq!(election.holder().await?, "");
    Ok(())
}

async fn lease_of_dead_leader_is_acquired_after_expiry() -> Result<()> {
    let election = TestElection::open().await?;
    let first = election.start("first");
    first.until_it_leads().await?;
    first.task.abort();
    let second = election.start("second");
    let began = Instant::now();
    second.until_it_leads().await?;
    assert!(began.elapsed() >= TIMING.lease, "too early: {:?}", began.elapsed());
    let spec = election.leases().get(NAME).await?.spec.context("a spec")?;
    assert_eq!(
        (spec.holder_identity.as_deref(), spec.lease_transitions),
        (Some("second"), Some(1))
    );
    second.stop().await
}

async fn lease_of_own_identity_is_resumed() -> Result<()> {
    let election = TestElection::open().await?;
    let first = election.start("same");
    first.until_it_leads().await?;
    first.task.abort();
    let again = election.start("same");
    let began = Instant::now();
    again.until_it_leads().await?;
    assert!(began.elapsed() < TIMING.renew, "it waited for itself: {:?}", began.elapsed());
    again.stop().await
}

async fn lease_is_kept_when_a_candidate_stops() -> Result<()> {
    let election = TestElection::open().await?;
    let first = election.start("first");
    first.until_it_leads().await?;
    let second = election.start("second");
    second.stop.cancel();
    assert_eq!(second.task.await?, Ok(None));
    assert_eq!(election.holder().await?, "first");
    first.stop().await
}

async fn lease_lost_during_write_stops_the_write() -> Result<()> {
    let election = TestElection::open().await?;
    let began = Arc::new(Notify::new());
    let (api, reported): (Api<ConfigMap>, _) = (election.namespace.api(), Arc::clone(&began));
    let task = election.start_with("first", CancellationToken::new(), async move |leadership| {
        let outlives = leadership.clone();
        // A task like a stage: dropping the work does not end it.
        tokio::spawn(async move {
            let writes = async {
                for count in 0.. {
                    let name = Some(format!("write-{count}"));
                    let metadata = ObjectMeta { name, ..ObjectMeta::default() };
                    let map = ConfigMap { metadata, ..ConfigMap::default() };
                    api.create(&PostParams::default(), &map).await.expect("a write");
                    reported.notify_one();
                }
            };
            assert_eq!(outlives.write(writes).await, Err(LostLease));
        })
        .await
    });
    began.notified().await;
    election.overwrite("a rival").await?;
    assert_eq!(timeout(wait::DEFAULT_TIMEOUT, task).await??.err(), Some(LostLease));
    let maps: Api<ConfigMap> = election.namespace.api();
    let count = async || Ok::<_, kube::Error>(maps.list(&ListParams::default()).await?.items.len());
    // The last write may have been in flight.
    wait::until("writes to stop", async || {
        let before = count().await?;
        let _ = timeout(Duration::from_millis(300), std::future::pending::<()>()).await;
        Ok((count().await? == before).then_some(()))
    })
    .await?;
    assert_eq!(election.holder().await?, "a rival", "what is lost is not released");
    Ok(())
}

#[tokio::test]
async fn leader_that_cannot_renew_in_the_sandbox_stops_before_its_lease_ends() -> Result<()> {
    let election = TestElection::open().await?;
    let Some(sandbox) = election.cluster.fault_injection() else { return Ok(()) };
    let first = election.start("first");
    first.until_it_leads().await?;
    let down = Fault::delay(Duration::from_mins(10));
    sandbox.faults().add(down.resource("leases").verb("update"));
    let began = Instant::now();
    assert_eq!(timeout(wait::DEFAULT_TIMEOUT, first.task).await??, Err(LostLease));
    assert!(began.elapsed() < TIMING.lease, "it led for {:?}", began.elapsed());
    sandbox.faults().clear();
    let second = election.start("second");
    second.until_it_leads().await?;
    second.stop().await
}

#[tokio::test]
async fn leader_with_restarting_api_server_in_the_sandbox_stays() -> Result<()> {
    let cluster = TestCluster::shared().await?.over_tls().await?;
    let namespace = cluster.namespace("election").await?;
    let election = TestElection { cluster, namespace };
    let Some(sandbox) = election.cluster.fault_injection() else { return Ok(()) };
    let first = election.start("first");
    first.until_it_leads().await?;
    let faults = sandbox.faults();
    faults.add(Fault::drop_connection().resource("leases").times(2));
    sandbox.restart();
    wait::until("the faults to happen", async || Ok(faults.is_empty().then_some(()))).await?;
    let revision = async || {
        Ok::<_, anyhow::Error>(election.leases().get(NAME).await?.metadata.resource_version)
    };
    let before = revision().await?;
    wait::until("a renewal", async || Ok((revision().await? != before).then_some(()))).await?;
    assert!(!first.task.is_finished());
    assert_eq!(election.holder().await?, "first");
    first.stop().await
}

async fn lease_with_wrong_times_of_others_is_respected() -> Result<()> {
    for renewed in ["1999-01-01T00:00:00Z", "2199-01-01T00:00:00Z"] {
        let election = TestElection::open().await?;
        let lease = Lease {
            metadata: ObjectMeta { name: Some(NAME.to_owned()), ..ObjectMeta::default() },
            spec: Some(LeaseSpec {
                holder_identity: Some("a Go operator".to_owned()),
                lease_duration_seconds: Some(3),
                renew_time: Some(MicroTime(renewed.parse()?)),
                ..LeaseSpec::default()
            }),
        };
        election.leases().create(&PostParams::default(), &lease).await?;
        let began = Instant::now();
        let operator = election.start("ours");
        operator.until_it_leads().await?;
        let waited = began.elapsed();
        assert!(waited >= TIMING.lease && waited < TIMING.lease * 4, "{renewed}: {waited:?}");
        operator.stop().await?;
    }
    Ok(())
}

async fn lease_that_is_deleted_is_created_again() -> Result<()> {
    let election = TestElection::open().await?;
    let first = election.start("first");
    first.until_it_leads().await?;
    election.leases().delete(NAME, &DeleteParams::default()).await?;
    let leases = election.leases();
    wait::until("the lease", async || Ok(leases.get_opt(NAME).await?.map(drop))).await?;
    assert_eq!(election.holder().await?, "first");
    first.stop().await
}

async fn lease_is_never_held_by_two_candidates() -> Result<()> {
    let election = TestElection::open().await?;
    let leading = Arc::new(tokio::sync::Mutex::new(()));
    let terms = (0..5).map(|number| {
        let leading = Arc::clone(&leading);
        election.start_with(
            &format!("operator-{number}"),
            CancellationToken::new(),
            async move |_| {
                let _alone = leading.try_lock().expect("one leader at a time");
                let _ = timeout(TIMING.retry, std::future::pending::<()>()).await;
            },
        )
    });
    for term in terms.collect::<Vec<_>>() {
        assert_eq!(timeout(wait::DEFAULT_TIMEOUT, term).await??, Ok(Some(())));
    }
    Ok(())
}

/// A client without a server: requests fail at once.
fn unreachable_client() -> Client {
    let refuse = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("no server"))
    });
    Client::new(refuse, "default")
}

#[tokio::test(start_paused = true)]
async fn candidate_without_server_retries_and_stops() {
    let lease = LeaseName { namespace: "default".into(), name: NAME.into() };
    let settings = ElectionSettings { lease, identity: "first".into(), timing: Timing::default() };
    let stop = CancellationToken::new();
    let began = Instant::now();
    let ending = async {
        let _ = timeout(Duration::from_hours(1), std::future::pending::<()>()).await;
        stop.cancel();
    };
    let leading = lead(unreachable_client(), &settings, &stop, async |_| ());
    assert_eq!(tokio::join!(leading, ending).0, Ok(None));
    assert_eq!(began.elapsed(), Duration::from_hours(1));
}
