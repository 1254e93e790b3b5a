//! The stage with inputs that a test sets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fairway_api::{ClusterVersion, ClusterVersionSpec, OperatorCondition};
use fairway_cincinnati::connection::ProxySettings;
use fairway_cincinnati::fetch::FetchTimeouts;
use fairway_cincinnati::query::{RunningRelease, UpdateServices};
use fairway_operator::cluster::Objects;
use fairway_operator::metrics::Metrics;
use fairway_operator::stage::updates::{Inputs, RequestIntervals, Settings, Updates, run};
use fairway_testkit::wait::DEFAULT_TIMEOUT;
use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Settings with short intervals.
pub(crate) fn short_intervals() -> Settings {
    Settings {
        services: UpdateServices { instead: None, default: None },
        pace: RequestIntervals {
            every: Duration::from_millis(20)..=Duration::from_millis(40),
            retry: Duration::from_millis(10),
            gap: Duration::from_millis(1),
        },
        // Long enough for a busy host.
        timeouts: FetchTimeouts {
            connect: Duration::from_secs(20),
            silence: Duration::from_secs(20),
            answer: Duration::from_mins(1),
        },
    }
}

/// Settings with one request, unless an input changes.
pub(crate) fn single_request() -> Settings {
    let hour = Duration::from_hours(1);
    let pace = RequestIntervals { every: hour..=hour, retry: hour, ..short_intervals().pace };
    Settings { pace, ..short_intervals() }
}

/// The running stage. It stops when it is dropped.
pub(crate) struct Stage {
    cluster_version: watch::Sender<Option<Objects<ClusterVersion>>>,
    proxy: watch::Sender<Option<ProxySettings>>,
    trusted: watch::Sender<Option<Objects<ConfigMap>>>,
    pub(crate) updates: watch::Receiver<Option<Arc<Updates>>>,
    metrics: Metrics,
    task: JoinHandle<()>,
}

impl Stage {
    /// A cluster at 5.1.0 in channel `stable-5.1`.
    pub(crate) fn start(upstream: &str, settings: Settings) -> Self {
        Self::of("5.1.0", "stable-5.1", upstream, settings)
    }

    pub(crate) fn of(version: &str, channel: &str, upstream: &str, settings: Settings) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (cluster_version, versions) = watch::channel(None);
        let (proxy, proxies) = watch::channel(Some(ProxySettings::default()));
        let (trusted, trusted_ca) = watch::channel(Some(Objects::default()));
        let (out, updates) = watch::channel(None);
        let current = RunningRelease {
            version: version.to_owned(),
            architecture: "amd64".to_owned(),
            ..RunningRelease::default()
        };
        let inputs = Inputs {
            current: Arc::new(current),
            cluster_version: versions,
            proxy: proxies,
            trusted_ca,
        };
        let metrics = Metrics::default();
        let task = tokio::spawn(run(inputs, settings, metrics.updates(), out));
        let stage = Self { cluster_version, proxy, trusted, updates, metrics, task };
        stage.edit(|spec| {
            "5c4c9b2a-9d5c-4f0e-8d53-0d4a3b2f7a10".clone_into(&mut spec.cluster_id);
            spec.upstream = Some(upstream.to_owned());
            spec.channel = Some(channel.to_owned());
        });
        stage
    }

    /// Changes the spec.
    pub(crate) fn edit(&self, edit: impl FnOnce(&mut ClusterVersionSpec)) {
        self.cluster_version.send_modify(|seen| {
            let before = seen.as_ref().and_then(|seen| seen.values().next());
            let mut object = before.map(|object| ClusterVersion::clone(object)).unwrap_or_default();
            edit(&mut object.spec);
            let generation = object.metadata.generation.unwrap_or_default() + 1;
            object.metadata.generation = Some(generation);
            *seen = Some(named("version", object));
        });
    }

    pub(crate) fn set_proxy(&self, http: &str, no_proxy: &str) {
        self.proxy.send_replace(Some(ProxySettings {
            http_proxy: http.to_owned(),
            https_proxy: http.to_owned(),
            no_proxy: no_proxy.to_owned(),
        }));
    }

    pub(crate) fn trust(&self, pem: &str) {
        let data = BTreeMap::from([("ca-bundle.crt".to_owned(), pem.to_owned())]);
        let map = ConfigMap { data: Some(data), ..ConfigMap::default() };
        self.trusted.send_replace(Some(named("trusted-ca-bundle", map)));
    }

    /// Waits for a published state.
    pub(crate) async fn until(&self, what: impl Fn(&Updates) -> bool) -> Arc<Updates> {
        let mut updates = self.updates.clone();
        let is_so = |updates: &Option<Arc<Updates>>| updates.as_deref().is_some_and(&what);
        let found = timeout(DEFAULT_TIMEOUT, updates.wait_for(is_so)).await;
        let found = found.unwrap_or_else(|_| panic!("only {:?}", self.updates.borrow()));
        found.expect("the stage runs").clone().expect("it was found")
    }

    /// Waits until these versions are offered.
    pub(crate) async fn until_offered(&self, expected: &[&str]) -> Arc<Updates> {
        self.until(|updates| is_retrieved(updates) && versions(updates) == expected).await
    }

    /// Waits for a reason of `RetrievedUpdates=False`.
    pub(crate) async fn until_failed(&self, reason: &str) -> Arc<Updates> {
        self.until(|updates| updates.retrieved.reason.as_deref() == Some(reason)).await
    }

    /// Number of requests with an outcome.
    pub(crate) fn count(&self, outcome: &str) -> u64 {
        let text = self.metrics.text();
        let label = format!("fairway_operator_graph_fetches_total{{outcome=\"{outcome}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&label));
        line.map_or(0, |count| count.parse().unwrap())
    }

    /// Waits for a number of requests with an outcome.
    pub(crate) async fn until_counted(&self, outcome: &str, times: u64) {
        fairway_testkit::wait::until(outcome, async || {
            Ok((self.count(outcome) >= times).then_some(()))
        })
        .await
        .unwrap();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn named<K>(name: &str, object: K) -> Objects<K> {
    Arc::new(BTreeMap::from([(name.to_owned(), Arc::new(object))]))
}

pub(crate) fn is_retrieved(updates: &Updates) -> bool {
    updates.retrieved == OperatorCondition::new("RetrievedUpdates", true)
}

pub(crate) fn versions(updates: &Updates) -> Vec<&str> {
    updates.candidates.iter().map(|candidate| candidate.release.version.as_str()).collect()
}

/// The message without parts that differ between runs.
pub(crate) fn message(updates: &Updates, address: std::net::SocketAddr) -> String {
    let message = updates.retrieved.message.clone().unwrap_or_default();
    let message = message.replace(&address.to_string(), "SERVICE");
    let Some((text, _)) = message.split_once(" The listed updates are from 2") else {
        return message;
    };
    format!("{text} The listed updates are from …")
}
