//! Who the cluster is for registries: where that is known, and how it is told to others.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client};

use super::deployment::PULL_SECRET_KEY;

/// Namespace and name of the Secret.
const OF_CLUSTER: (&str, &str) = ("openshift-config", "pull-secret");

/// Who the cluster is for registries; nothing where nobody has said so.
pub(super) async fn of_cluster(client: &Client) -> kube::Result<Option<ByteString>> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), OF_CLUSTER.0);
    let data = secrets.get_opt(OF_CLUSTER.1).await?.and_then(|it| it.data);
    Ok(data.and_then(|mut data| data.remove(PULL_SECRET_KEY)))
}

/// A Secret that tells it.
pub(super) fn copy(metadata: ObjectMeta, bytes: ByteString) -> Secret {
    Secret {
        metadata,
        type_: Some("kubernetes.io/dockerconfigjson".to_owned()),
        data: Some([(PULL_SECRET_KEY.to_owned(), bytes)].into()),
        ..Secret::default()
    }
}
