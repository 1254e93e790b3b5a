//! What a cluster serves, and the target does not.

use fairway_compat::Minor;
use fairway_compat::olm::apis::Lost;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;

use crate::cluster::{Cluster, Unseen};
use crate::definitions::{Intent, intents};
use crate::target::Target;

/// Before all versions of Kubernetes: what a cluster does not serve, it cannot lose.
const BEFORE_ALL: Minor = Minor { major: 0, minor: 0 };

/// Everything that goes.
pub(super) async fn all(
    cluster: &Cluster,
    target: &Target,
    kubernetes: Option<Minor>,
) -> Result<Vec<Lost>, Unseen> {
    let served = cluster.served().await?;
    let gone = kubernetes.map_or_else(Vec::new, |it| Lost::between(BEFORE_ALL, it)).into_iter();
    let mut lost: Vec<Lost> =
        gone.filter(|it| served.contains(&format!("{}/{}", it.group, it.version))).collect();
    let intents = intents(&target.manifests);
    let take = |now: CustomResourceDefinition| {
        if let Some(intent) = intents.get(&now.name_any()) {
            lost.extend(of_definition(&now, intent));
        }
    };
    cluster.each(take).await?;
    Ok(lost)
}

/// The versions that a definition serves, and the target's does not.
fn of_definition(now: &CustomResourceDefinition, intent: &Intent) -> Vec<Lost> {
    let kept: Vec<&str> = match intent {
        Intent::Deleted => Vec::new(),
        Intent::Defined(target) => {
            let served = target.spec.versions.iter().filter(|version| version.served);
            served.map(|version| version.name.as_str()).collect()
        }
    };
    let spec = &now.spec;
    let served = spec.versions.iter().filter(|version| version.served);
    let gone = served.filter(|version| !kept.contains(&version.name.as_str()));
    let lost = gone.map(|version| Lost {
        group: spec.group.clone(),
        version: version.name.clone(),
        resource: spec.names.plural.clone(),
        kind: spec.names.kind.clone(),
        instead: kept.last().map(|kept| format!("{}/{kept}", spec.group)),
    });
    lost.collect()
}
