//! A namespace for one test.

use anyhow::{Context, Result, ensure};
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, DeleteParams, LogParams, ObjectMeta, PostParams};
use kube::{Client, Resource, ResourceExt};

use crate::access::Access;
use crate::cluster::block_on_in_thread;
use crate::wait;

/// A namespace for one test. Dropping it deletes the namespace.
pub struct TestNamespace {
    client: Client,
    access: Access,
    name: String,
}

impl TestNamespace {
    pub(crate) async fn create(client: Client, access: Access, prefix: &str) -> Result<Self> {
        let metadata =
            ObjectMeta { generate_name: Some(format!("{prefix}-")), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        let created = Api::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .context("cannot create a namespace for the test")?;
        Ok(Self { client, access, name: created.name_any() })
    }

    /// The name of the namespace.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The API of a kind in the namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.name)
    }

    /// Runs a pod until it succeeds and returns its log.
    pub async fn run(&self, pod: &Pod) -> Result<String> {
        self.wait_until_pods_are_admitted().await?;
        let pods: Api<Pod> = self.api();
        let name = pods.create(&PostParams::default(), pod).await?.name_any();
        let ended = wait::until(&format!("pod {name} to terminate"), || async {
            let status = pods.get(&name).await?.status.unwrap_or_default();
            let ended = matches!(status.phase.as_deref(), Some("Succeeded" | "Failed"));
            Ok(ended.then_some(status.phase))
        })
        .await;
        let phase = match ended {
            Ok(phase) => phase,
            Err(error) => return Err(error.context(describe(&pods.get(&name).await?))),
        };
        let log = pods.logs(&name, &LogParams::default()).await?;
        ensure!(phase.as_deref() == Some("Succeeded"), "pod {name} failed; it printed:\n{log}");
        Ok(log)
    }

    /// Waits until admission accepts pods: it needs the default ServiceAccount and, on old API servers,
    /// the token Secret of that account. Controllers create both after the namespace.
    pub async fn wait_until_pods_are_admitted(&self) -> Result<()> {
        let pods: Api<Pod> = self.api();
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        let pod: Pod = serde_json::from_value(serde_json::json!({
            "metadata": { "name": "admitted" },
            "spec": { "containers": [{ "name": "none", "image": "none" }] },
        }))?;
        wait::until(&format!("namespace {} to admit pods", self.name), || async {
            match pods.create(&dry, &pod).await {
                Ok(_) => Ok(Some(())),
                // 403 without the ServiceAccount, 500 without the token.
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 500) => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
        .await
    }
}

/// The reasons in the status of a pod that does not run. The namespace is deleted with the test, so
/// the error has to contain them.
fn describe(pod: &Pod) -> String {
    let status = pod.status.clone().unwrap_or_default();
    let containers = status.container_statuses.unwrap_or_default().into_iter();
    let waiting = containers.filter_map(|container| container.state?.waiting).map(|waiting| {
        [waiting.reason, waiting.message].into_iter().flatten().collect::<Vec<_>>().join(": ")
    });
    let conditions = status.conditions.unwrap_or_default().into_iter();
    let conditions = conditions.filter_map(|condition| condition.message);
    let reasons: Vec<String> = waiting.chain(conditions).collect();
    format!("the pod is {}: {}", status.phase.unwrap_or_default(), reasons.join("; "))
}

impl Drop for TestNamespace {
    fn drop(&mut self) {
        let (access, name) = (self.access.clone(), self.name.clone());
        block_on_in_thread(async move {
            let namespaces: Api<Namespace> = Api::all(access.client().await?);
            namespaces.delete(&name, &DeleteParams::default()).await?;
            Ok(())
        });
    }
}
