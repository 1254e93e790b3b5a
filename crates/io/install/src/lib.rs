//! Installs the operator of a release into a cluster that has none.
//!
//! Only the operator's own manifests are applied. The operator applies the rest of the release.

pub mod manifests;

use std::time::Duration;

use fairway_api::cluster_version::ClusterVersionSpec;
use fairway_api::image::same_content;
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use fairway_apply::{FIELD_MANAGER, MANAGED, ObjectWriter, WriteError};
use fairway_election::Leadership;
use fairway_release::inclusion::Filter;
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

/// What an operator needs to run. The rest of its manifests it brings by itself, once there are the
/// kinds that they are of.
const NEEDED: [&str; 8] = [
    "Namespace",
    "CustomResourceDefinition",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Deployment",
];

/// How long a request may take; API servers give up after that time, too.
const PATIENCE: Duration = Duration::from_mins(1);

/// How long a definition takes on a busy cluster until the API server answers for it.
const ESTABLISHING: Duration = Duration::from_mins(1);

/// How often the API server is asked meanwhile: seldom enough not to keep it from that.
const PAUSE: Duration = Duration::from_millis(250);

/// Longer than all requests of an installation take together.
const LONGEST: Duration = Duration::from_hours(1);

/// What is installed.
pub struct Installation<'a> {
    /// The release, with the content that its image has.
    pub release: &'a Release,
    /// Its image, by digest.
    pub image: &'a str,
    /// Which of its manifests count.
    pub filter: Filter,
    /// What ClusterVersion asks for, where there is none yet. Without an identity, the cluster gets
    /// that of the one namespace that every cluster has and never loses.
    pub spec: ClusterVersionSpec,
}

/// Why an operator cannot be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The release has no manifests of the operator.
    #[error("release {version} has no operator: no Deployment of {OPERATOR} in its manifests/")]
    NoOperator {
        /// The version of the release.
        version: String,
    },
    /// There is a release already.
    #[error("the cluster already has release {version}")]
    OtherRelease {
        /// Its version, or its image where that is not known.
        version: String,
    },
    /// The API server does not take an object.
    #[error("cannot apply {object}")]
    Apply {
        /// The object.
        object: ObjectId,
        /// Why not.
        source: WriteError,
    },
    /// The API server does not answer for a kind.
    #[error("the API server does not serve the kind of {object}")]
    NotEstablished {
        /// The definition.
        object: ObjectId,
    },
    /// ClusterVersion cannot be read or created.
    #[error("cannot create ClusterVersion")]
    ClusterVersion(#[source] kube::Error),
    /// The API server says nothing.
    #[error("request to the API server timed out after {} seconds", PATIENCE.as_secs())]
    TooSlow,
}

impl Installation<'_> {
    /// The manifests of the operator, in the order in which they are applied.
    pub fn manifests(&self) -> Vec<&Manifest> {
        let is_own = |manifest: &&Manifest| {
            manifest.component() == Some(OPERATOR)
                && NEEDED.contains(&manifest.id.kind.as_str())
                && self.filter.check(manifest).is_ok()
        };
        self.release.manifests.iter().filter(is_own).collect()
    }

    /// Applies them one after the other, and then makes ClusterVersion, unless there is one. Each
    /// object is told before it is applied. Doing it twice changes nothing.
    pub async fn carry_out(
        &self,
        client: &Client,
        mut tell: impl FnMut(&ObjectId),
    ) -> Result<(), InstallError> {
        let manifests = self.manifests();
        if !manifests.iter().any(|manifest| manifest.id.kind == "Deployment") {
            let version = self.release.metadata.version.to_string();
            return Err(InstallError::NoOperator { version });
        }
        let cluster_versions: Api<ClusterVersion> = Api::all(client.clone());
        self.refuse_another_release(&cluster_versions).await?;
        // Before there is an operator, nobody else leads.
        let (_term, leadership) = Leadership::until(Instant::now() + LONGEST);
        for manifest in manifests {
            tell(&manifest.id);
            apply(client, manifest, &leadership).await?;
        }
        tell(&ObjectId {
            group: "config.openshift.io".to_owned(),
            kind: "ClusterVersion".to_owned(),
            namespace: String::new(),
            name: CLUSTER_VERSION_NAME.to_owned(),
        });
        self.make_cluster_version(client, &cluster_versions).await
    }

    /// An installation would turn back what an operator has brought since.
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

/// ClusterVersion, if there is one. Where nobody has defined its kind, an API server has no such path,
/// and says so by the code of its answer alone.
async fn existing(
    cluster_versions: &Api<ClusterVersion>,
) -> Result<Option<ClusterVersion>, InstallError> {
    match within(cluster_versions.get(CLUSTER_VERSION_NAME)).await? {
        Ok(found) => Ok(Some(found)),
        Err(kube::Error::Api(refusal)) if refusal.code == 404 => Ok(None),
        Err(error) => Err(InstallError::ClusterVersion(error)),
    }
}

/// Creates ClusterVersion, unless there is one. Of a new group, a definition is established before
/// the API server has a path for its objects.
async fn create(
    cluster_versions: &Api<ClusterVersion>,
    object: &ClusterVersion,
) -> Result<(), InstallError> {
    let parameters =
        PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let deadline = Instant::now() + ESTABLISHING;
    let mut tries = interval(PAUSE);
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
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let established = await_condition(definitions, &id.name, is_crd_established());
        let not_established = || InstallError::NotEstablished { object: id.clone() };
        let answers = timeout(ESTABLISHING, established).await.map_err(|_| not_established())?;
        answers.map_err(|_| not_established())?;
    }
    Ok(())
}

/// Whether an object is in a namespace that the platform may bring later: then the operator brings
/// the object as well.
fn is_for_later(id: &ObjectId) -> bool {
    !id.namespace.is_empty() && id.kind != "Deployment" && id.kind != "ServiceAccount"
}

/// By its label the operator finds what is its own.
fn mark(object: &mut Value) {
    let labels = &mut object["metadata"]["labels"];
    if !labels.is_object() {
        *labels = json!({});
    }
    let (label, value) = MANAGED;
    labels[label] = json!(value);
}

async fn within<T>(request: impl Future<Output = T>) -> Result<T, InstallError> {
    timeout(PATIENCE, request).await.map_err(|_| InstallError::TooSlow)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::Router;
    use axum::http::StatusCode;
    use axum::routing::post;

    use super::*;

    /// An API server that has no path for ClusterVersion for so many requests; how many there were.
    async fn create_after(misses: usize) -> (Result<(), InstallError>, usize) {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
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
        (created, asked.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn a_cluster_that_does_not_know_the_kind_has_none() {
        let nothing = Router::new().fallback((StatusCode::NOT_FOUND, "404 page not found"));
        let found = existing(&Api::all(Client::new(nothing, "default"))).await;
        assert!(matches!(found, Ok(None)), "{found:?}");
        let nobody = Router::new().fallback((StatusCode::FORBIDDEN, "not you"));
        let found = existing(&Api::all(Client::new(nobody, "default"))).await;
        assert!(matches!(found, Err(InstallError::ClusterVersion(_))), "{found:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_served_a_moment_later_is_waited_for() {
        let (created, asked) = create_after(3).await;
        assert!(created.is_ok(), "{created:?}");
        assert_eq!(asked, 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_is_never_served_is_an_error() {
        let (created, asked) = create_after(usize::MAX).await;
        assert!(matches!(created, Err(InstallError::ClusterVersion(_))), "{created:?}");
        assert_eq!(asked, 241);
    }
}
