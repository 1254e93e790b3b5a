//! The operators that OLM has installed in a cluster, and what their catalogs say by now.

use std::collections::BTreeSet;

use fairway_compat::olm::apis::Needs;
use fairway_compat::olm::catalog::{Catalogs, Package, Source, Subscription};
use fairway_compat::olm::{Operator, Stream, is_copied};
use fairway_text::chain;
use kube::api::{ApiResource, DynamicObject, ListParams};

use crate::cluster::{Cluster, Resource, Unseen};
use crate::wording::quoted;

/// Installed operators.
pub(crate) const OPERATORS: Resource = Resource::new(
    "operators.coreos.com",
    "v1alpha1",
    "ClusterServiceVersion",
    "clusterserviceversions",
);

/// Which channels they follow.
pub(crate) const SUBSCRIPTIONS: Resource =
    Resource::new("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions");

/// What catalogs have.
pub(crate) const PACKAGES: Resource =
    Resource::new("packages.operators.coreos.com", "v1", "PackageManifest", "packagemanifests");

/// Why nothing is asked about operators of OLM.
pub(crate) const NO_OLM: &str = "OLM is not installed: the cluster does not serve its kinds";

/// What was seen of them.
#[derive(Debug, Default)]
pub struct InstalledOperators {
    /// All of them, without copies.
    pub operators: Vec<Operator>,
    /// Which channels they follow.
    pub subscriptions: Vec<Subscription>,
    /// What could not be looked at, for people to read; empty otherwise.
    pub unknown: Vec<String>,
}

impl InstalledOperators {
    /// Looks at a cluster. Copies may be many, and operators large: only metadata is read of them.
    pub async fn of(cluster: &Cluster) -> Result<Self, Unseen> {
        let operators = Self::declaring(cluster).await?;
        let mut seen = Self { operators, ..Self::default() };
        seen.ask_catalogs(cluster).await;
        Ok(seen)
    }

    /// All operators by what they declare, whatever catalogs say.
    pub(crate) async fn declaring(cluster: &Cluster) -> Result<Vec<Operator>, Unseen> {
        let metadata = cluster.metadata_of(&OPERATORS.into()).await?;
        let operators = metadata.into_iter().filter_map(|metadata| {
            let (namespace, name) = (metadata.namespace?, metadata.name?);
            let annotations = metadata.annotations.unwrap_or_default();
            let labels = metadata.labels.unwrap_or_default();
            let is_copy = is_copied(&namespace, &labels, &annotations, None);
            (!is_copy).then(|| Operator::read(namespace, name, &annotations))
        });
        Ok(operators.collect())
    }

    /// Without catalogs, what operators declared when they were installed is all that is known.
    async fn ask_catalogs(&mut self, cluster: &Cluster) {
        let subscriptions = match subscriptions(cluster).await {
            Ok(subscriptions) => subscriptions,
            Err(why) => return self.leave_out(&why),
        };
        let installed = subscriptions.iter().filter(|it| it.installed.is_some());
        let wanted: BTreeSet<Source> = installed.filter_map(Source::of).collect();
        let mut catalogs = Catalogs::default();
        for source in &wanted {
            match cluster.some_of(&PACKAGES.into(), &source.namespace, selection(source)).await {
                Ok(manifests) => {
                    let packages = manifests.iter().map(|manifest| Package::read(&manifest.data));
                    let added = packages.map(|package| catalogs.add(package?));
                    if let Err(why) = added.collect::<Result<(), _>>() {
                        self.unknown.push(format!("package {}: {why}", source.package));
                    }
                }
                Err(why) => self.leave_out(&why),
            }
        }
        let operators = std::mem::take(&mut self.operators).into_iter();
        self.operators = operators.map(|it| catalogs.tell_about(it, &subscriptions)).collect();
        self.subscriptions = subscriptions;
    }

    /// Looks also at what every operator uses.
    pub async fn look_at_apis(&mut self, cluster: &Cluster, running: Stream) {
        let mut operators = Vec::with_capacity(self.operators.len());
        for operator in std::mem::take(&mut self.operators) {
            let Operator { namespace, name, .. } = &operator;
            operators.push(match cluster.one_of(&OPERATORS.into(), namespace, name).await {
                Ok(Some(csv)) => {
                    let csv = serde_json::to_value(csv).unwrap_or_default();
                    operator.using(&Needs::read(&csv), running)
                }
                Ok(None) => operator,
                Err(why) => {
                    self.leave_out(&why);
                    operator
                }
            });
        }
        self.operators = operators;
    }

    fn leave_out(&mut self, why: &Unseen) {
        if !matches!(why, Unseen::NotServed(_)) {
            self.unknown.push(quoted(&chain(why)));
        }
    }
}

fn selection(source: &Source) -> ListParams {
    ListParams::default().labels(&source.labels()).fields(&source.fields())
}

async fn subscriptions(cluster: &Cluster) -> Result<Vec<Subscription>, Unseen> {
    let mut subscriptions = Vec::new();
    let take = |object: DynamicObject| {
        let object = serde_json::to_value(object).unwrap_or_default();
        subscriptions.extend(Subscription::read(&object));
    };
    cluster.each_of(&ApiResource::from(SUBSCRIPTIONS), take).await?;
    Ok(subscriptions)
}
