//! Removal of a platform from a cluster that other tests use next.

use std::fmt::Debug;

use anyhow::Result;
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use crate::wait;

/// Selects the objects of releases.
const MANAGED: &str = "fairway.dev/managed=true";

/// Deletes the objects of all releases.
pub(crate) async fn remove(client: Client) -> Result<()> {
    // RBAC first: without permissions, the operator cannot create the objects again.
    delete_all::<ClusterRoleBinding>(&client).await?;
    delete_all::<ClusterRole>(&client).await?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    for namespace in namespaces.list(&managed()).await? {
        let name = namespace.name_any();
        ignore_missing(namespaces.delete(&name, &DeleteParams::background()).await)?;
        let at_once = DeleteParams::background().grace_period(0);
        let pods: Api<Pod> = Api::namespaced(client.clone(), &name);
        pods.delete_collection(&at_once, &ListParams::default()).await?;
    }
    until_gone::<Namespace>(&client).await?;
    let cluster_versions: Api<ClusterVersion> = Api::all(client.clone());
    let background = DeleteParams::background();
    ignore_missing(cluster_versions.delete(CLUSTER_VERSION_NAME, &background).await)?;
    delete_all::<CustomResourceDefinition>(&client).await?;
    until_gone::<CustomResourceDefinition>(&client).await
}

fn managed() -> ListParams {
    ListParams::default().labels(MANAGED)
}

async fn delete_all<K>(client: &Client) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    Api::<K>::all(client.clone())
        .delete_collection(&DeleteParams::background(), &managed())
        .await?;
    Ok(())
}

async fn until_gone<K>(client: &Client) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    wait::until(&format!("each {} of the platform to be deleted", K::kind(&())), || async {
        Ok(api.list(&managed()).await?.items.is_empty().then_some(()))
    })
    .await
}

fn ignore_missing<T>(deleted: kube::Result<T>) -> Result<()> {
    match deleted {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        deleted => Ok(deleted.map(drop)?),
    }
}
