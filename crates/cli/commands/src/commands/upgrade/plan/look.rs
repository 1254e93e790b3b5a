//! What a cluster says that a plan depends on.

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_insight::plan::{Gates, Limitation, Outlook};
use fairway_risk::Outcomes;
use fairway_risk::sources::ConfigData;
use futures::{join, try_join};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;

use super::operators;
use crate::cluster::kind::{CLUSTER_OPERATORS, CONFIG_MAPS};
use crate::source::Source;

/// What a cluster says.
pub(super) struct Look {
    pub(super) cluster_version: ClusterVersion,
    components: Vec<ClusterOperator>,
    /// Why they could not be listed.
    unlisted: Option<String>,
    gates: Gates,
    now: Timestamp,
    /// What could not be looked at.
    pub(super) gaps: Vec<Limitation>,
}

impl Look {
    pub(super) async fn at(source: &Source) -> anyhow::Result<Self> {
        let others = async { Ok(join!(components(source), gates(source))) };
        let (cluster_version, (components, gates)) = try_join!(source.cluster_version(), others)?;
        let unlisted = components.as_ref().err().cloned();
        let mut components = components.unwrap_or_default();
        let now = source.moment(&cluster_version, &components).now();
        let gap = operators::tell(source, &cluster_version, &mut components).await.err();
        let gaps = gap.map(|why| Limitation::Operators { message: why }).into_iter().collect();
        Ok(Self { cluster_version, components, unlisted, gates, now, gaps })
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
            unlisted: self.unlisted.as_deref(),
            gates: &self.gates,
            outcomes: &NOTHING,
            now: self.now,
        }
    }
}

/// The components; an error is why they are not known.
async fn components(source: &Source) -> Result<Vec<ClusterOperator>, String> {
    let found = source.every(CLUSTER_OPERATORS.all()).await;
    let found = found.map_err(|error| in_words(&error))?;
    found.ok_or_else(|| match source {
        Source::Live(_) => "the cluster has no such API".to_owned(),
        Source::Recorded(_) => "not found in the recorded files".to_owned(),
    })
}

const ADMIN_GATES: &str = "admin-gates";

/// What administrators are asked to confirm.
async fn gates(source: &Source) -> Gates {
    let data = async |namespace: &str, name: &str| {
        let found = source.one::<ConfigMap>(CONFIG_MAPS.all().within(namespace), name).await;
        match (found, source) {
            (Ok(Some(map)), _) => Ok(map.data.unwrap_or_default()),
            // A platform without gates has no ConfigMap for them.
            (Ok(None), Source::Live(_)) if name == ADMIN_GATES => Ok(ConfigData::new()),
            (Ok(None), Source::Live(_)) => Err("ConfigMap not found".to_owned()),
            (Ok(None), Source::Recorded(_)) => Err("not found in the recorded files".to_owned()),
            (Err(error), _) => Err(in_words(&error)),
        }
    };
    let (asked, confirmed) = join!(
        data("openshift-config-managed", ADMIN_GATES),
        data("openshift-config", "admin-acks"),
    );
    Gates { asked, confirmed }
}

/// An error within a sentence.
fn in_words(error: &anyhow::Error) -> String {
    format!("{error:#}").trim_end_matches('.').to_owned()
}
