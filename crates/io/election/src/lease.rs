//! Requests for the Lease.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, ResourceExt as _};
use tokio::time::timeout;

use super::LeaseName;
use super::candidate::{LeaseRecord, LeaseResponse};

/// Duration of a released Lease: the minimum of the API, because no candidate has to wait.
const RELEASED_SECONDS: i32 = 1;

/// The Lease in the cluster.
pub(super) struct ClusterLease {
    api: Api<Lease>,
    name: LeaseName,
    /// Timeout of a request.
    request_timeout: Duration,
    /// The last seen Lease. Fields of other clients are kept.
    last: Option<Lease>,
}

impl ClusterLease {
    pub(super) fn new(client: Client, name: LeaseName, request_timeout: Duration) -> Self {
        let api = Api::namespaced(client, &name.namespace);
        Self { api, name, request_timeout, last: None }
    }

    /// Reads the Lease.
    pub(super) async fn read(&mut self) -> LeaseResponse {
        match timeout(self.request_timeout, self.api.get_opt(&self.name.name)).await {
            Ok(Ok(lease)) => {
                let seen = lease.as_ref().map(record);
                self.last = lease;
                LeaseResponse::Seen(seen)
            }
            Ok(Err(error)) => self.failed("read", &error),
            Err(elapsed) => self.failed("read", &elapsed),
        }
    }

    /// Writes an identity over the last seen revision.
    pub(super) async fn claim(&mut self, identity: &str, lasts: Duration) -> LeaseResponse {
        let claimed =
            claimed(&self.name, self.last.as_ref(), identity, lasts, fairway_clock::now());
        self.write(claimed).await
    }

    /// Removes the identity from the Lease, so that the next leader does not wait for its expiry.
    pub(super) async fn release(&mut self, identity: &str) {
        for _ in 0..2 {
            let Some(last) = &self.last else { return };
            let released = released(last, fairway_clock::now());
            match self.write(released).await {
                LeaseResponse::Claimed(_) => return,
                // A renewal may have been in flight when the work ended.
                LeaseResponse::Conflict => drop(self.read().await),
                LeaseResponse::Seen(_) | LeaseResponse::Failed => break,
            }
            if self.holder() != Some(identity) {
                return;
            }
        }
        tracing::warn!("cannot release lease; the next leader waits until it expires");
    }

    fn holder(&self) -> Option<&str> {
        self.last.as_ref()?.spec.as_ref()?.holder_identity.as_deref()
    }

    async fn write(&mut self, lease: Lease) -> LeaseResponse {
        let parameters = PostParams::default();
        let is_new = lease.metadata.resource_version.is_none();
        let written = async {
            if is_new {
                self.api.create(&parameters, &lease).await
            } else {
                self.api.replace(&self.name.name, &parameters, &lease).await
            }
        };
        match timeout(self.request_timeout, written).await {
            Ok(Ok(lease)) => {
                let written = record(&lease);
                self.last = Some(lease);
                LeaseResponse::Claimed(written)
            }
            // The revision changed, or the Lease was deleted.
            Ok(Err(kube::Error::Api(status)))
                if status.code == 409 || (status.code == 404 && !is_new) =>
            {
                LeaseResponse::Conflict
            }
            Ok(Err(error)) => self.failed("write", &error),
            Err(elapsed) => self.failed("write", &elapsed),
        }
    }

    fn failed(&self, verb: &str, error: &(dyn std::error::Error + 'static)) -> LeaseResponse {
        let LeaseName { namespace, name } = &self.name;
        tracing::warn!(namespace, name, verb, error, "lease request failed; retrying");
        LeaseResponse::Failed
    }
}

fn record(lease: &Lease) -> LeaseRecord {
    let spec = lease.spec.clone().unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    LeaseRecord {
        revision: lease.resource_version().unwrap_or_default(),
        holder: spec.holder_identity.unwrap_or_default(),
        lasts: seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs),
    }
}

/// The Lease with a holder. Its times are informational: no candidate relies on them.
fn claimed(
    name: &LeaseName,
    before: Option<&Lease>,
    identity: &str,
    lasts: Duration,
    now: Timestamp,
) -> Lease {
    let metadata = before.map_or_else(
        || ObjectMeta {
            name: Some(name.name.clone()),
            namespace: Some(name.namespace.clone()),
            ..ObjectMeta::default()
        },
        |lease| lease.metadata.clone(),
    );
    let spec = before.and_then(|lease| lease.spec.clone()).unwrap_or_default();
    let is_renewal = spec.holder_identity.as_deref() == Some(identity);
    let transitions = spec.lease_transitions.unwrap_or_default();
    // Rounded up: waiting longer is safe.
    let seconds = lasts.as_secs() + u64::from(lasts.subsec_nanos() > 0);
    let spec = LeaseSpec {
        holder_identity: Some(identity.to_owned()),
        lease_duration_seconds: Some(i32::try_from(seconds).unwrap_or(i32::MAX)),
        acquire_time: spec.acquire_time.filter(|_| is_renewal).or(Some(MicroTime(now))),
        renew_time: Some(MicroTime(now)),
        lease_transitions: Some(if is_renewal || before.is_none() {
            transitions
        } else {
            transitions.saturating_add(1)
        }),
        ..spec
    };
    Lease { metadata, spec: Some(spec) }
}

/// The Lease without a holder.
fn released(before: &Lease, now: Timestamp) -> Lease {
    let spec = LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(RELEASED_SECONDS),
        renew_time: Some(MicroTime(now)),
        ..before.spec.clone().unwrap_or_default()
    };
    Lease { metadata: before.metadata.clone(), spec: Some(spec) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> LeaseName {
        LeaseName { namespace: "openshift-cluster-version".into(), name: "version".into() }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn claim(before: Option<&Lease>, identity: &str, second: i64) -> Lease {
        claimed(&name(), before, identity, Duration::from_secs(137), at(second))
    }

    #[test]
    fn claimed_lease_counts_transitions() {
        let first = claim(None, "one", 0);
        let renewed = claim(Some(&first), "one", 26);
        let spec = renewed.spec.clone().unwrap();
        assert_eq!(spec.acquire_time, Some(MicroTime(at(0))));
        assert_eq!(spec.renew_time, Some(MicroTime(at(26))));
        assert_eq!(spec.lease_transitions, Some(0));

        let taken = claim(Some(&renewed), "two", 200);
        let spec = taken.spec.unwrap();
        assert_eq!(spec.acquire_time, Some(MicroTime(at(200))));
        assert_eq!(spec.lease_transitions, Some(1));
        assert_eq!(spec.lease_duration_seconds, Some(137));
    }

    #[test]
    fn released_lease_keeps_metadata() {
        let mut lease = claim(None, "one", 0);
        lease.metadata.labels = Some([("a".to_owned(), "b".to_owned())].into());
        let released = released(&lease, at(9));
        assert_eq!(record(&released).holder, "");
        assert_eq!(released.metadata, lease.metadata);
        assert_eq!(claim(Some(&released), "two", 10).spec.unwrap().lease_transitions, Some(1));
    }

    #[test]
    fn lease_of_v0_1_is_read_and_taken_over() {
        let recording = fairway_fixtures::recorded::v0_1();
        let mut holders = Vec::new();
        for file in ["olm-guard-lease.json", "operator-leases.json"] {
            for object in recording.objects(&format!("annotated-objects/{file}")) {
                let before: Lease = serde_json::from_value(object).unwrap();
                let seen = record(&before);
                assert!(seen.lasts.is_some() && !seen.revision.is_empty(), "{file}");
                let taken = claim(Some(&before), "new", 0);
                assert_eq!(record(&taken).holder, "new", "{file}");
                assert_eq!(taken.metadata, before.metadata, "{file}");
                holders.push(seen.holder);
            }
        }
        assert!(holders.iter().any(String::is_empty), "no released lease is recorded");
        assert!(holders.iter().any(|holder| !holder.is_empty()), "no held lease is recorded");
    }

    #[test]
    fn record_rounds_up_and_ignores_invalid_durations() {
        let mut lease = claimed(&name(), None, "one", Duration::from_millis(1500), at(0));
        assert_eq!(record(&lease).lasts, Some(Duration::from_secs(2)));
        for nonsense in [None, Some(0), Some(-7)] {
            lease.spec.as_mut().unwrap().lease_duration_seconds = nonsense;
            assert_eq!(record(&lease).lasts, None);
        }
        assert_eq!(record(&Lease::default()).holder, "");
    }
}
