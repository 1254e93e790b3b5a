//! Input of `fairway olm list`: a cluster, or objects in files.

use std::collections::BTreeMap;
use std::path::Path;

use fairway_api::ClusterVersion;
use fairway_compat::olm::apis::ApiUsage;
use fairway_compat::olm::catalog::{Catalogs, Package, Subscription};
use fairway_compat::olm::{ClusterVersions, MinorVersion, OlmOperator, is_copied};
use fairway_preflight::cluster::ClusterReadError;
use fairway_preflight::installed_operators::InstalledOperators;
use futures::join;
use serde::Deserialize as _;
use serde_json::Value;

use super::files;
use crate::args::olm::OlmListArgs;
use crate::cluster::kind::{
    CLUSTER_SERVICE_VERSIONS, CLUSTER_VERSIONS, PACKAGE_MANIFESTS, SUBSCRIPTIONS,
};
use crate::cluster::{Cluster, block_on};
use crate::errors::{CannotTell, WithHint};
use crate::source::{Recording, Source};

/// Operators and updates of a cluster.
#[derive(Default)]
pub(in crate::commands) struct State {
    pub(super) cluster: Option<ClusterVersion>,
    pub(in crate::commands) operators: Vec<OlmOperator>,
    /// Subscriptions of operators.
    subscriptions: Vec<Subscription>,
    /// Data that could not be read.
    pub(super) left_out: Vec<String>,
}

impl State {
    pub(super) fn read(args: &OlmListArgs) -> anyhow::Result<Self> {
        let mut state = block_on(async {
            match Source::open(&args.source).await? {
                Source::Live(cluster) => Self::from_cluster(&cluster).await,
                Source::Recorded(recording) => Self::of_recording(&recording),
            }
        })?;
        for catalog in &args.catalog {
            state.add_catalog(catalog.stands_for.as_deref(), &catalog.path)?;
        }
        Ok(state)
    }

    /// Adds the versions in the files of a catalog to the operators that were installed from it.
    pub(super) fn add_catalog(
        &mut self,
        replaces: Option<&str>,
        path: &Path,
    ) -> anyhow::Result<()> {
        let catalog = path.display().to_string();
        let catalogs = Catalogs::from_files(&catalog, files::read(path)?)?;
        let is_meant = |it: &Subscription| replaces.is_none_or(|name| name == it.catalog);
        let redirected = self
            .subscriptions
            .iter()
            .map(|it| if is_meant(it) { it.in_catalog(&catalog) } else { it.clone() });
        let subscriptions: Vec<Subscription> = redirected.collect();
        let operators = std::mem::take(&mut self.operators).into_iter();
        self.operators = operators.map(|it| catalogs.apply_to(it, &subscriptions)).collect();
        Ok(())
    }

    async fn from_cluster(connection: &Cluster) -> anyhow::Result<Self> {
        let cluster = fairway_preflight::cluster::Cluster::new(connection.client().clone());
        let asked = join!(connection.cluster_version(), InstalledOperators::read(&cluster));
        let mut state = Self::default();
        let mut seen = match asked {
            (Ok(version), Ok(seen)) => {
                state.cluster = Some(version);
                seen
            }
            (Err(why), Ok(seen)) => {
                state.left_out.push(format!("the version of the cluster: {why}"));
                seen
            }
            (Ok(_), Err(why)) => return Err(list_error(why)),
            // The error of ClusterVersion has the most useful hint.
            (Err(why), Err(_)) => return Err(why),
        };
        if let Some(running) = state.running() {
            seen.read_apis(&cluster, running).await;
        }
        state.operators = seen.operators;
        state.subscriptions = seen.subscriptions;
        state.left_out.extend(seen.unknown);
        Ok(state)
    }

    /// The state of files.
    pub(in crate::commands) fn of_recording(recording: &Recording) -> anyhow::Result<Self> {
        let operators = recording.every(CLUSTER_SERVICE_VERSIONS.all())?;
        let are_recorded = operators.is_some();
        let mut objects: Vec<Value> = operators.unwrap_or_default();
        for kind in [CLUSTER_VERSIONS, SUBSCRIPTIONS, PACKAGE_MANIFESTS] {
            objects.extend(recording.every(kind.all())?.unwrap_or_default());
        }
        let mut state = Self::from_objects(objects);
        if !are_recorded {
            let why = "operators: the recorded cluster contains no ClusterServiceVersions";
            state.left_out.push(why.to_owned());
        }
        Ok(state)
    }

    /// The state of objects.
    pub(super) fn from_objects(objects: Vec<Value>) -> Self {
        let mut kinds: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for object in objects {
            let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
            kinds.entry(kind).or_default().push(object);
        }
        let mut of_kind = |kind: &str| kinds.remove(kind).unwrap_or_default().into_iter();
        let cluster = of_kind("ClusterVersion").find_map(|it| ClusterVersion::deserialize(it).ok());
        let mut state = Self { cluster, ..Self::default() };
        state.subscriptions =
            of_kind("Subscription").filter_map(|it| Subscription::read(&it)).collect();
        let mut catalogs = Catalogs::default();
        for manifest in of_kind("PackageManifest") {
            if let Err(why) = Package::read(&manifest).and_then(|package| catalogs.add(package)) {
                state.left_out.push(why.to_string());
            }
        }
        let running = state.running();
        let operators = of_kind("ClusterServiceVersion").filter_map(|it| operator(&it, running));
        state.operators =
            operators.map(|operator| catalogs.apply_to(operator, &state.subscriptions)).collect();
        state
    }

    /// The running minor version.
    pub(super) fn running(&self) -> Option<MinorVersion> {
        self.cluster
            .as_ref()
            .and_then(|cluster| ClusterVersions::from_cluster_version(cluster).running())
    }
}

fn list_error(why: ClusterReadError) -> anyhow::Error {
    match why {
        ClusterReadError::NotServed(_) => CannotTell::new(
            "OLM is not installed: the cluster does not serve ClusterServiceVersions",
            "check the context with `kubectl config current-context`",
        )
        .into(),
        ClusterReadError::Unreadable { .. } | ClusterReadError::TooMany(_) => {
            anyhow::Error::new(why).context(WithHint::new(
                "cannot list OLM operators",
                "check your permissions with `kubectl auth can-i list clusterserviceversions \
                 --all-namespaces`",
            ))
        }
    }
}

/// The operator of a ClusterServiceVersion; `None` for a copy.
fn operator(object: &Value, running: Option<MinorVersion>) -> Option<OlmOperator> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let map = |pointer: &str| -> BTreeMap<String, String> {
        let map = object.pointer(pointer).and_then(|it| BTreeMap::deserialize(it).ok());
        map.unwrap_or_default()
    };
    let (namespace, name) = (text("/metadata/namespace")?, text("/metadata/name")?);
    let (labels, annotations) = (map("/metadata/labels"), map("/metadata/annotations"));
    if is_copied(namespace, &labels, &annotations, text("/status/reason")) {
        return None;
    }
    let operator = OlmOperator::read(namespace, name, &annotations);
    Some(match running {
        Some(running) => operator.using(&ApiUsage::read(object), running),
        None => operator,
    })
}
