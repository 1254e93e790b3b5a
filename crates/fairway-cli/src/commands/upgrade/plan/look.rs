//! What a cluster says that a plan depends on.

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_insight::plan::{Gap, Gates, Outlook};
use fairway_risk::Outcomes;
use futures::try_join;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;

use super::operators;
use crate::cluster::kind::CONFIG_MAPS;
use crate::source::Source;

/// What a cluster says.
pub(super) struct Look {
    pub(super) cluster_version: ClusterVersion,
    components: Vec<ClusterOperator>,
    gates: Option<Gates>,
    now: Timestamp,
    /// What could not be looked at.
    pub(super) gaps: Vec<Gap>,
}

impl Look {
    pub(super) async fn at(source: &Source) -> anyhow::Result<Self> {
        let gates = async { Ok(gates(source).await) };
        let (cluster_version, mut components, gates) =
            try_join!(source.cluster_version(), source.components(), gates)?;
        let now = source.moment(&cluster_version, &components).now();
        let gap = operators::tell(source, &cluster_version, &mut components).await.err();
        let gaps = gap.map(|why| Gap::Operators { why }).into_iter().collect();
        Ok(Self { cluster_version, components, gates, now, gaps })
    }

    /// The time that it is about.
    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    /// The same for a plan. No query is answered yet.
    pub(super) fn outlook(&self) -> Outlook<'_> {
        static NOTHING: Outcomes = Outcomes::new();
        Outlook {
            cluster_version: &self.cluster_version,
            components: &self.components,
            gates: self.gates.as_ref(),
            outcomes: &NOTHING,
            now: self.now,
        }
    }
}

/// What administrators are asked to confirm; none where that cannot be read.
async fn gates(source: &Source) -> Option<Gates> {
    let data = async |namespace: &str, name: &str| {
        let found = source.one::<ConfigMap>(CONFIG_MAPS.all().within(namespace), name).await;
        found.ok().flatten().map(|map| map.data.unwrap_or_default())
    };
    let asked = data("openshift-config-managed", "admin-gates").await?;
    let confirmed = data("openshift-config", "admin-acks").await.unwrap_or_default();
    Some(Gates { asked, confirmed })
}
