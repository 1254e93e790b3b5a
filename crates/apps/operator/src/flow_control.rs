//! Priority of the operator's requests at a busy API server (API Priority and Fairness).
//!
//! Without a `FlowSchema`, the operator competes with the pods of users. The objects are no part of a
//! release, because its rollout would wait for their kind on clusters that do not serve it.

use std::time::Duration;

use fairway_apply::FIELD_MANAGER;
use fairway_backoff::Backoff;
use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use tokio::time::{Instant, timeout};

use crate::election::Leadership;
use crate::text;

/// The objects, also for clusters in which the operator may not write them.
const MANIFEST: &str = include_str!("../../../../deploy/operator/flowcontrol.yaml");

/// The API version of the objects. Earlier ones are not served any more by current API servers.
const API_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";

/// Timeout of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Delay after a failure. Nothing depends on the objects.
const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(10), max: Duration::from_mins(10) };

#[derive(Debug, thiserror::Error)]
enum FlowControlError {
    #[error("request to the API server timed out after {} seconds", REQUEST_TIMEOUT.as_secs())]
    TimedOut,
    #[error("request to the API server failed")]
    Api(#[from] kube::Error),
}

/// Applies the objects once, if the API server serves their kind. Never returns.
pub(crate) async fn keep(client: &Client, leadership: &Leadership) {
    let mut failures = 0;
    while let Err(error) = apply_if_served(client, leadership).await {
        failures += 1;
        let why = text::chain(&error);
        tracing::warn!(error = why, "cannot apply flow schemas; retrying");
        fairway_clock::sleep_until(Some(Instant::now() + RETRY_BACKOFF.after(failures))).await;
    }
    std::future::pending::<()>().await;
}

async fn apply_if_served(client: &Client, leadership: &Leadership) -> Result<(), FlowControlError> {
    match within(client.list_api_group_resources(API_VERSION)).await {
        Ok(_) => {}
        Err(FlowControlError::Api(kube::Error::Api(refusal))) if refusal.code == 404 => {
            tracing::debug!("the API server does not serve flow schemas");
            return Ok(());
        }
        Err(error) => return Err(error),
    }
    let api: Api<FlowSchema> = Api::all(client.clone());
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    for schema in flow_schemas() {
        let name = schema.name_any();
        let patch = Patch::Apply(&schema);
        let write = within(api.patch(&name, &parameters, &patch));
        // After a lost Lease, election drops this future; until then it writes nothing.
        let Ok(written) = leadership.write(write).await else {
            return std::future::pending().await;
        };
        written?;
    }
    Ok(())
}

async fn within<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, FlowControlError> {
    Ok(timeout(REQUEST_TIMEOUT, request).await.map_err(|_| FlowControlError::TimedOut)??)
}

fn flow_schemas() -> Vec<FlowSchema> {
    serde_saphyr::from_multiple(MANIFEST).expect("a manifest of this crate's tests")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flow_schemas_match_requests_of_the_operator() {
        let schemas = flow_schemas();
        let levels: Vec<_> = schemas
            .iter()
            .map(|schema| {
                let spec = schema.spec.as_ref().unwrap();
                let level = spec.priority_level_configuration.name.as_str();
                (schema.metadata.name.as_deref().unwrap(), level, spec.matching_precedence)
            })
            .collect();
        assert_eq!(
            levels,
            [
                ("fairway-operator-leases", "leader-election", Some(200)),
                // Before the default of service accounts, 9000.
                ("fairway-operator", "workload-high", Some(1000)),
            ]
        );
        for schema in schemas {
            let rules = schema.spec.unwrap().rules.unwrap();
            let subject = rules[0].subjects[0].service_account.clone().unwrap();
            assert_eq!(subject.name, "cluster-version-operator");
            assert_eq!(subject.namespace, "openshift-cluster-version");
        }
    }
}
