//! OLM operators of a cluster, with the current data of their catalogs.

use std::collections::BTreeSet;

use fairway_compat::olm::apis::ApiUsage;
use fairway_compat::olm::catalog::{Catalogs, Package, PackageSource, Subscription};
use fairway_compat::olm::{MinorVersion, OlmOperator, is_copied};
use fairway_text::chain;
use kube::api::{ApiResource, DynamicObject, ListParams};

use crate::cluster::{Cluster, ClusterReadError, Resource};
use crate::wording::quoted;

/// ClusterServiceVersions.
pub(crate) const OPERATORS: Resource = Resource::new(
    "operators.coreos.com",
    "v1alpha1",
    "ClusterServiceVersion",
    "clusterserviceversions",
);

/// Subscriptions, with the channels of operators.
pub(crate) const SUBSCRIPTIONS: Resource =
    Resource::new("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions");

/// PackageManifests of catalogs.
pub(crate) const PACKAGES: Resource =
    Resource::new("packages.operators.coreos.com", "v1", "PackageManifest", "packagemanifests");

/// Message for clusters without OLM.
pub(crate) const NO_OLM: &str =
    "OLM is not installed: the cluster does not serve ClusterServiceVersions";

/// OLM operators of a cluster.
#[derive(Debug, Default)]
pub struct InstalledOperators {
    /// All operators, without copied ClusterServiceVersions.
    pub operators: Vec<OlmOperator>,
    /// Subscriptions of the operators.
    pub subscriptions: Vec<Subscription>,
    /// What could not be read, as messages.
    pub unknown: Vec<String>,
}

impl InstalledOperators {
    /// Reads the operators of a cluster. Reads only metadata first, because copies may be many and
    /// objects large.
    pub async fn read(cluster: &Cluster) -> Result<Self, ClusterReadError> {
        let operators = Self::declaring(cluster).await?;
        let mut installed = Self { operators, ..Self::default() };
        installed.read_catalogs(cluster).await;
        Ok(installed)
    }

    /// Operators with what they declare, without data of catalogs.
    pub(crate) async fn declaring(cluster: &Cluster) -> Result<Vec<OlmOperator>, ClusterReadError> {
        let metadata = cluster.metadata_of(&OPERATORS.into()).await?;
        let operators = metadata.into_iter().filter_map(|metadata| {
            let (namespace, name) = (metadata.namespace?, metadata.name?);
            let annotations = metadata.annotations.unwrap_or_default();
            let labels = metadata.labels.unwrap_or_default();
            let is_copy = is_copied(&namespace, &labels, &annotations, None);
            (!is_copy).then(|| OlmOperator::read(namespace, name, &annotations))
        });
        Ok(operators.collect())
    }

    /// Without catalogs, only the declarations at installation are known.
    async fn read_catalogs(&mut self, cluster: &Cluster) {
        let subscriptions = match subscriptions(cluster).await {
            Ok(subscriptions) => subscriptions,
            Err(why) => return self.leave_out(&why),
        };
        let installed = subscriptions.iter().filter(|it| it.installed.is_some());
        let sources: BTreeSet<PackageSource> =
            installed.filter_map(PackageSource::from_subscription).collect();
        let mut catalogs = Catalogs::default();
        for source in &sources {
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
        self.operators = operators.map(|it| catalogs.apply_to(it, &subscriptions)).collect();
        self.subscriptions = subscriptions;
    }

    /// Reads the APIs that operators use.
    pub async fn read_apis(&mut self, cluster: &Cluster, running: MinorVersion) {
        let mut operators = Vec::with_capacity(self.operators.len());
        for operator in std::mem::take(&mut self.operators) {
            let OlmOperator { namespace, name, .. } = &operator;
            operators.push(match cluster.one_of(&OPERATORS.into(), namespace, name).await {
                Ok(Some(csv)) => {
                    let csv = serde_json::to_value(csv).unwrap_or_default();
                    operator.using(&ApiUsage::read(&csv), running)
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

    fn leave_out(&mut self, why: &ClusterReadError) {
        if !matches!(why, ClusterReadError::NotServed(_)) {
            self.unknown.push(quoted(&chain(why)));
        }
    }
}

fn selection(source: &PackageSource) -> ListParams {
    ListParams::default().labels(&source.labels()).fields(&source.fields())
}

async fn subscriptions(cluster: &Cluster) -> Result<Vec<Subscription>, ClusterReadError> {
    let mut subscriptions = Vec::new();
    let take = |object: DynamicObject| {
        let object = serde_json::to_value(object).unwrap_or_default();
        subscriptions.extend(Subscription::read(&object));
    };
    cluster.each_of(&ApiResource::from(SUBSCRIPTIONS), take).await?;
    Ok(subscriptions)
}
