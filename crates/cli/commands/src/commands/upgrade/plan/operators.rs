//! Operators that OLM has installed, where no guard in the cluster tells about them.

use fairway_api::{ClusterOperator, ClusterOperatorSpec, ClusterVersion};
use fairway_compat::olm::{ClusterVersions, Guard, Operator, Policy, Stream};
use fairway_preflight::cluster::{Cluster, Unseen};
use fairway_preflight::installed_operators::InstalledOperators;
use serde_json::Value;

use crate::commands::olm::state::State;
use crate::source::Source;

/// The component of the guard.
const COMPONENT: &str = "operator-lifecycle-manager";

/// Adds to what components say what the guard would; an error is why operators are not known.
pub(super) async fn tell(
    source: &Source,
    cluster_version: &ClusterVersion,
    components: &mut Vec<ClusterOperator>,
) -> Result<(), String> {
    let is_guard = |it: &ClusterOperator| it.metadata.name.as_deref() == Some(COMPONENT);
    let place = components.iter().position(is_guard);
    if place.is_some_and(|place| reports(&components[place])) {
        return Ok(());
    }
    let Some(running) = ClusterVersions::of(cluster_version).running() else { return Ok(()) };
    let (installed, unknown) = installed(source, running).await?;
    let published = Guard::new(installed, running, Policy::default()).published();
    let mut component = match place {
        Some(place) => components.swap_remove(place),
        None => ClusterOperator::new(COMPONENT, ClusterOperatorSpec::default()),
    };
    let status = component.status.get_or_insert_default();
    status.extension = published.extension;
    components.push(component);
    if unknown.is_empty() { Ok(()) } else { Err(unknown.join("; ")) }
}

fn reports(component: &ClusterOperator) -> bool {
    let extension = component.status.as_ref().and_then(|status| status.extension.as_ref());
    extension.and_then(|it| it.get("kind")).and_then(Value::as_str) == Some("RiskReport")
}

/// The operators, and what of them could not be looked at.
async fn installed(
    source: &Source,
    running: Stream,
) -> Result<(Vec<Operator>, Vec<String>), String> {
    let connection = match source {
        Source::Live(cluster) => cluster,
        Source::Recorded(recording) => {
            let state = State::of_recording(recording).map_err(|error| format!("{error:#}"))?;
            // Without a single one nobody knows whether there are none, or nobody wrote them down.
            if state.operators.is_empty() {
                return Err("not found in the recorded files".to_owned());
            }
            return Ok((state.operators, Vec::new()));
        }
    };
    let cluster = Cluster::new(connection.client().clone());
    match InstalledOperators::of(&cluster).await {
        Ok(mut seen) => {
            seen.look_at_apis(&cluster, running).await;
            Ok((seen.operators, seen.unknown))
        }
        Err(Unseen::NotServed(_)) => Ok((Vec::new(), Vec::new())),
        Err(error) => Err(error.to_string()),
    }
}
