//! Installs the operator of a release into a cluster that has none.
//!
//! [`Installation::carry_out`] applies the operator's own manifests and creates ClusterVersion. The
//! operator applies the rest of the release. The installation is idempotent, and refuses a cluster
//! with another release. [`manifests`] has the operator's manifests of `deploy/operator`, which
//! become part of every release.

pub mod manifests;

use std::time::Duration;

use fairway_api::cluster_version::ClusterVersionSpec;
use fairway_api::image::same_content;
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_apply::{FIELD_MANAGER, MANAGED, ObjectWriter, WriteError};
use fairway_election::Leadership;
use fairway_release::inclusion::ManifestFilter;
use fairway_release::{Manifest, ObjectId, Release};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use kube::runtime::wait::await_condition;
use kube::runtime::wait::conditions::is_crd_established;
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::{Instant, interval, timeout};

/// The operator's Deployment, and its component in a release.
const OPERATOR: &str = "cluster-version-operator";

/// Kinds that the operator needs to run. It applies its other manifests itself, once the cluster has
/// their kinds.
const REQUIRED_KINDS: [&str; 8] = [
    "Namespace",
    "CustomResourceDefinition",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Deployment",
];

/// Timeout of a request, the same as that of API servers.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum time until the API server of a busy cluster serves the kind of a CRD.
const ESTABLISH_TIMEOUT: Duration = Duration::from_mins(1);

/// Poll interval meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Duration of the leadership of the installation: longer than all its requests together.
const INSTALL_TIMEOUT: Duration = Duration::from_hours(1);

/// The operator of a release, to be installed.
pub struct Installation<'a> {
    /// The release, with the content of its image.
    pub release: &'a Release,
    /// Release image, by digest.
    pub image: &'a str,
    /// Filter of its manifests.
    pub filter: ManifestFilter,
    /// Spec of the new ClusterVersion. An empty cluster ID becomes the UID of the Namespace
    /// `kube-system`, which every cluster has.
    pub spec: ClusterVersionSpec,
}

/// Errors of an installation.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The release has no manifests of the operator.
    #[error("release {version} has no operator: no Deployment of {OPERATOR} in its manifests/")]
    NoOperator {
        /// The version of the release.
        version: String,
    },
    /// The cluster has another release.
    #[error("the cluster already has release {version}")]
    OtherRelease {
        /// Its version, or its image if that is unknown.
        version: String,
    },
    /// An object cannot be applied.
    #[error("cannot apply {object}")]
    Apply {
        /// The object.
        object: ObjectId,
        /// The cause.
        source: WriteError,
    },
    /// The API server does not serve the kind of a CRD.
    #[error("the API server does not serve the kind of {object}")]
    NotEstablished {
        /// The CRD.
        object: ObjectId,
    },
    /// ClusterVersion cannot be read or created.
    #[error("cannot create ClusterVersion")]
    ClusterVersion(#[source] kube::Error),
    /// A request timed out.
    #[error("request to the API server timed out after {} seconds", REQUEST_TIMEOUT.as_secs())]
    TooSlow,
}

impl Installation<'_> {
    /// The manifests of the operator, in the order of their application.
    pub fn manifests(&self) -> Vec<&Manifest> {
        let is_own = |manifest: &&Manifest| {
            manifest.component() == Some(OPERATOR)
                && REQUIRED_KINDS.contains(&manifest.id.kind.as_str())
                && self.filter.check(manifest).is_ok()
        };
        self.release.manifests.iter().filter(is_own).collect()
    }

    /// Applies the manifests in order, then creates ClusterVersion unless it exists. Calls `report`
    /// before each object. The installation is idempotent.
    pub async fn carry_out(
        &self,
        client: &Client,
        mut report: impl FnMut(&ObjectId),
    ) -> Result<(), InstallError> {
        let manifests = self.manifests();
        if !manifests.iter().any(|manifest| manifest.id.kind == "Deployment") {
            let version = self.release.metadata.version.to_string();
            return Err(InstallError::NoOperator { version });
        }
        let cluster_versions: Api<ClusterVersion> = Api::all(client.clone());
        self.refuse_another_release(&cluster_versions).await?;
        // A cluster without an operator has no other leader.
        let (_deadline, leadership) = Leadership::until(Instant::now() + INSTALL_TIMEOUT);
        for manifest in manifests {
            report(&manifest.id);
            apply(client, manifest, &leadership).await?;
        }
        report(&ObjectId {
            group: "config.openshift.io".to_owned(),
            kind: "ClusterVersion".to_owned(),
            namespace: String::new(),
            name: CLUSTER_VERSION_NAME.to_owned(),
        });
        self.make_cluster_version(client, &cluster_versions).await
    }

    /// Refuses a cluster with another release: the installation would downgrade its operator.
    async fn refuse_another_release(
        &self,
        cluster_versions: &Api<ClusterVersion>,
    ) -> Result<(), InstallError> {
        let found = existing(cluster_versions).await?;
        let status = found.and_then(|found| found.status).unwrap_or_default();
        match status.history.first() {
            Some(entry) if !same_content(&entry.image, self.image) => {
                let version = entry.version.clone().unwrap_or_else(|| entry.image.clone());
                Err(InstallError::OtherRelease { version })
            }
            _ => Ok(()),
        }
    }

    async fn make_cluster_version(
        &self,
        client: &Client,
        cluster_versions: &Api<ClusterVersion>,
    ) -> Result<(), InstallError> {
        let mut object = ClusterVersion::new(CLUSTER_VERSION_NAME, self.spec.clone());
        if object.spec.cluster_id.is_empty() {
            let system = within(Api::<Namespace>::all(client.clone()).get("kube-system")).await?;
            let system = system.map_err(InstallError::ClusterVersion)?;
            object.spec.cluster_id = system.metadata.uid.unwrap_or_default();
        }
        create(cluster_versions, &object).await
    }
}

/// ClusterVersion, if it exists. Without its CRD, the API server responds with a bare 404.
async fn existing(
    cluster_versions: &Api<ClusterVersion>,
) -> Result<Option<ClusterVersion>, InstallError> {
    match within(cluster_versions.get(CLUSTER_VERSION_NAME)).await? {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(refusal)) if refusal.code == 404 => Ok(None),
        Err(error) => Err(InstallError::ClusterVersion(error)),
    }
}

/// Creates ClusterVersion unless it exists. Retries a 404: a CRD of a new group is established before
/// the API server serves its path.
async fn create(
    cluster_versions: &Api<ClusterVersion>,
    object: &ClusterVersion,
) -> Result<(), InstallError> {
    let parameters =
        PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let deadline = Instant::now() + ESTABLISH_TIMEOUT;
    let mut tries = interval(POLL_INTERVAL);
    loop {
        tries.tick().await;
        match within(cluster_versions.create(&parameters, object)).await? {
            Ok(_) => return Ok(()),
            Err(kube::Error::Api(refusal)) if refusal.code == 409 => return Ok(()),
            Err(kube::Error::Api(refusal)) if refusal.code == 404 && Instant::now() < deadline => {}
            Err(error) => return Err(InstallError::ClusterVersion(error)),
        }
    }
}

async fn apply(
    client: &Client,
    manifest: &Manifest,
    leadership: &Leadership,
) -> Result<(), InstallError> {
    let id = &manifest.id;
    let failed = |source| InstallError::Apply { object: id.clone(), source };
    let kind = GroupVersionKind::gvk(&id.group, &manifest.version, &id.kind);
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = match id.namespace.as_str() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let mut object = manifest.object();
    mark(&mut object);
    let writer = ObjectWriter::new(&api, &id.name, leadership);
    match writer.make(object).await {
        Err(WriteError::Api(kube::Error::Api(refusal)))
            if refusal.code == 404 && is_for_later(id) =>
        {
            return Ok(());
        }
        applied => drop(applied.map_err(failed)?),
    }
    if id.kind == "CustomResourceDefinition" {
        let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
        let established = await_condition(crds, &id.name, is_crd_established());
        let not_established = || InstallError::NotEstablished { object: id.clone() };
        let answers =
            timeout(ESTABLISH_TIMEOUT, established).await.map_err(|_| not_established())?;
        answers.map_err(|_| not_established())?;
    }
    Ok(())
}

/// Whether an object may be in a namespace that the release creates later: the operator then applies
/// it.
fn is_for_later(id: &ObjectId) -> bool {
    !id.namespace.is_empty() && id.kind != "Deployment" && id.kind != "ServiceAccount"
}

/// Adds the managed label, by which the operator finds its objects.
fn mark(object: &mut Value) {
    let labels = &mut object["metadata"]["labels"];
    if !labels.is_object() {
        *labels = json!({});
    }
    let (label, value) = MANAGED;
    labels[label] = json!(value);
}

async fn within<T>(request: impl Future<Output = T>) -> Result<T, InstallError> {
    timeout(REQUEST_TIMEOUT, request).await.map_err(|_| InstallError::TooSlow)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;

    use super::*;

    /// Creates ClusterVersion at an API server that responds 404 a number of times; returns the number of
    /// requests.
    async fn create_after(misses: usize) -> (Result<(), InstallError>, usize) {
        let requests = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&requests);
        let answer = move |object: String| async move {
            if counter.fetch_add(1, Ordering::Relaxed) < misses {
                return (StatusCode::NOT_FOUND, "404 page not found".to_owned());
            }
            (StatusCode::CREATED, object)
        };
        let path = "/apis/config.openshift.io/v1/clusterversions";
        let client = Client::new(Router::new().route(path, post(answer)), "default");
        let object = ClusterVersion::new(CLUSTER_VERSION_NAME, ClusterVersionSpec::default());
        let created = create(&Api::all(client), &object).await;
        (created, requests.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn existing_without_crd_returns_none() {
        let nothing = Router::new().fallback((StatusCode::NOT_FOUND, "404 page not found"));
        let found = existing(&Api::all(Client::new(nothing, "default"))).await;
        assert!(matches!(found, Ok(None)), "{found:?}");
        let forbidden = Router::new().fallback((StatusCode::FORBIDDEN, "not you"));
        let found = existing(&Api::all(Client::new(forbidden, "default"))).await;
        assert!(matches!(found, Err(InstallError::ClusterVersion(_))), "{found:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn create_retries_until_kind_is_served() {
        let (created, requests) = create_after(3).await;
        assert!(created.is_ok(), "{created:?}");
        assert_eq!(requests, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn create_of_unserved_kind_fails() {
        let (created, requests) = create_after(usize::MAX).await;
        assert!(matches!(created, Err(InstallError::ClusterVersion(_))), "{created:?}");
        assert_eq!(requests, 241);
    }
}
