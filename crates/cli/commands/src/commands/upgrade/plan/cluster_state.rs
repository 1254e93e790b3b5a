//! State of a cluster that a plan depends on.

use fairway_api::{ClusterOperator, ClusterOperatorSpec, ClusterVersion};
use fairway_compat::olm::{ClusterVersions, MinorVersion, OlmCheck, OlmOperator, OlmPolicy};
use fairway_insight::plan::{AdminGates, ClusterState, Limitation};
use fairway_preflight::cluster::{Cluster, ClusterReadError};
use fairway_preflight::installed_operators::InstalledOperators;
use fairway_risk::QueryOutcomes;
use fairway_risk::sources::ConfigMapData;
use futures::{join, try_join};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;

use crate::cluster::kind::{CLUSTER_OPERATORS, CONFIG_MAPS};
use crate::commands::olm::state::State;
use crate::source::Source;

/// Objects of a cluster for a plan.
pub(super) struct ClusterInput {
    pub(super) cluster_version: ClusterVersion,
    components: Vec<ClusterOperator>,
    /// Why the ClusterOperators could not be listed.
    operators_error: Option<String>,
    gates: AdminGates,
    now: Timestamp,
    /// Data that could not be read.
    pub(super) limitations: Vec<Limitation>,
}

impl ClusterInput {
    pub(super) async fn read(source: &Source) -> anyhow::Result<Self> {
        let others = async { Ok(join!(components(source), admin_gates(source))) };
        let (cluster_version, (components, gates)) = try_join!(source.cluster_version(), others)?;
        let operators_error = components.as_ref().err().cloned();
        let mut components = components.unwrap_or_default();
        let now = source.observation_time(&cluster_version, &components).now();
        let limitation = add_olm_report(source, &cluster_version, &mut components).await.err();
        let limitations =
            limitation.map(|message| Limitation::Operators { message }).into_iter().collect();
        Ok(Self { cluster_version, components, operators_error, gates, now, limitations })
    }

    /// Observation time.
    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    /// State for a plan, without query results.
    pub(super) fn state(&self) -> ClusterState<'_> {
        static NOTHING: QueryOutcomes = QueryOutcomes::new();
        ClusterState {
            cluster_version: &self.cluster_version,
            components: &self.components,
            operators_error: self.operators_error.as_deref(),
            gates: &self.gates,
            outcomes: &NOTHING,
            now: self.now,
        }
    }
}

/// ClusterOperators, or why they could not be listed.
async fn components(source: &Source) -> Result<Vec<ClusterOperator>, String> {
    let found = source.every(CLUSTER_OPERATORS.all()).await;
    let found = found.map_err(|error| error_text(&error))?;
    found.ok_or_else(|| match source {
        Source::Live(_) => "the cluster has no such API".to_owned(),
        Source::Recorded(_) => "not found in the recorded files".to_owned(),
    })
}

const ADMIN_GATES: &str = "admin-gates";

/// Admin gates and their acknowledgements.
async fn admin_gates(source: &Source) -> AdminGates {
    let data = async |namespace: &str, name: &str| {
        let found = source.one::<ConfigMap>(CONFIG_MAPS.all().within(namespace), name).await;
        match (found, source) {
            (Ok(Some(map)), _) => Ok(map.data.unwrap_or_default()),
            // A platform without admin gates has no such ConfigMap.
            (Ok(None), Source::Live(_)) if name == ADMIN_GATES => Ok(ConfigMapData::new()),
            (Ok(None), Source::Live(_)) => Err("ConfigMap not found".to_owned()),
            (Ok(None), Source::Recorded(_)) => Err("not found in the recorded files".to_owned()),
            (Err(error), _) => Err(error_text(&error)),
        }
    };
    let (gates, acks) = join!(
        data("openshift-config-managed", ADMIN_GATES),
        data("openshift-config", "admin-acks"),
    );
    AdminGates { gates, acks }
}

/// Error without a full stop, for use within a sentence.
fn error_text(error: &anyhow::Error) -> String {
    format!("{error:#}").trim_end_matches('.').to_owned()
}

/// ClusterOperator of the OLM guard.
const OLM_COMPONENT: &str = "operator-lifecycle-manager";

/// Adds the risk report of the OLM guard, if it does not run in the cluster. The error is why OLM
/// operators are unknown.
async fn add_olm_report(
    source: &Source,
    cluster_version: &ClusterVersion,
    components: &mut Vec<ClusterOperator>,
) -> Result<(), String> {
    let is_guard = |it: &ClusterOperator| it.metadata.name.as_deref() == Some(OLM_COMPONENT);
    let index = components.iter().position(is_guard);
    if index.is_some_and(|index| has_risk_report(&components[index])) {
        return Ok(());
    }
    let Some(running) = ClusterVersions::from_cluster_version(cluster_version).running() else {
        return Ok(());
    };
    let (installed, unknown) = installed(source, running).await?;
    let published = OlmCheck::new(installed, running, OlmPolicy::default()).published();
    let mut component = match index {
        Some(index) => components.swap_remove(index),
        None => ClusterOperator::new(OLM_COMPONENT, ClusterOperatorSpec::default()),
    };
    let status = component.status.get_or_insert_default();
    status.extension = published.extension;
    components.push(component);
    if unknown.is_empty() { Ok(()) } else { Err(unknown.join("; ")) }
}

fn has_risk_report(component: &ClusterOperator) -> bool {
    let extension = component.status.as_ref().and_then(|status| status.extension.as_ref());
    extension.and_then(|it| it.get("kind")).and_then(Value::as_str) == Some("RiskReport")
}

/// OLM operators, and what could not be read about them.
async fn installed(
    source: &Source,
    running: MinorVersion,
) -> Result<(Vec<OlmOperator>, Vec<String>), String> {
    let connection = match source {
        Source::Live(cluster) => cluster,
        Source::Recorded(recording) => {
            let state = State::of_recording(recording).map_err(|error| format!("{error:#}"))?;
            // Without any object, the recording may not include OLM operators.
            if state.operators.is_empty() {
                return Err("not found in the recorded files".to_owned());
            }
            return Ok((state.operators, Vec::new()));
        }
    };
    let cluster = Cluster::new(connection.client().clone());
    match InstalledOperators::read(&cluster).await {
        Ok(mut seen) => {
            seen.read_apis(&cluster, running).await;
            Ok((seen.operators, seen.unknown))
        }
        Err(ClusterReadError::NotServed(_)) => Ok((Vec::new(), Vec::new())),
        Err(error) => Err(error.to_string()),
    }
}
