//! A test case: a cluster and a namespace.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use fairway_testkit::{TestCluster, TestNamespace, wait};
use http::Method;
use serde_json::{Value, json};

use super::{ApiClient, ApiResponse, config_map};

/// A test case: a cluster and a namespace, with the client of an administrator.
pub(crate) struct Case {
    caller: ApiClient,
    // Paths of cluster-scoped objects to delete at the end.
    leftovers: Mutex<Vec<String>>,
    _namespace: TestNamespace,
    pub(crate) cluster: TestCluster,
}

impl Deref for Case {
    type Target = ApiClient;

    fn deref(&self) -> &ApiClient {
        &self.caller
    }
}

impl Case {
    /// A case with a namespace whose name starts with `name`.
    pub(crate) async fn begin(name: &str) -> Result<Self> {
        Self::on(TestCluster::shared().await?, name).await
    }

    /// The same, with exclusive use of objects that exist once in a cluster.
    pub(crate) async fn begin_exclusive(name: &str) -> Result<Self> {
        Self::on(TestCluster::exclusive().await?, name).await
    }

    async fn on(cluster: TestCluster, name: &str) -> Result<Self> {
        let namespace = cluster.namespace(name).await?;
        let caller = ApiClient {
            client: cluster.client(),
            namespace: namespace.name().to_owned(),
            headers: Vec::new(),
        };
        Ok(Self { caller, leftovers: Mutex::default(), _namespace: namespace, cluster })
    }

    /// The same namespace for another user.
    pub(crate) fn user(&self, name: &str) -> Result<ApiClient> {
        self.caller.with_header("impersonate-user", name)
    }

    /// The same namespace for the bearer of a token.
    pub(crate) async fn with_token(&self, token: &str) -> Result<ApiClient> {
        let client = self.cluster.client_with_token(token).await?;
        Ok(ApiClient { client, ..self.caller.clone() })
    }

    /// A token of a ServiceAccount.
    pub(crate) async fn token(&self, account: &str) -> Result<String> {
        self.until(&format!("serviceaccounts/{account}"), "to be there", |_| true).await?;
        let path = format!("serviceaccounts/{account}/token");
        let request = self.create(&path, &json!({ "spec": {} })).await?.object()?;
        Ok(request["status"]["token"].as_str().context("no token")?.to_owned())
    }

    /// Creates a cluster-scoped object, which is deleted with the case.
    pub(crate) async fn create_outside(&self, path: &str, object: &Value) -> Result<ApiResponse> {
        let answer = self.create(path, object).await?;
        if answer.succeeded() {
            let name = answer.json()?["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            self.delete_at_end(&format!("{path}/{name}"));
        }
        Ok(answer)
    }

    /// Deletes the object at this path at the end.
    pub(crate) fn delete_at_end(&self, path: &str) {
        let path = self.path(path);
        self.leftovers.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    }

    /// Creates a ConfigMap.
    pub(crate) async fn config_map(&self, name: &str, data: Value) -> Result<Value> {
        self.create("configmaps", &config_map(name, data)).await?.object()
    }

    /// Removes the finalizers of an object.
    pub(crate) async fn release(&self, path: &str) -> Result<Value> {
        self.merge(path, &json!({ "metadata": { "finalizers": null } })).await?.object()
    }

    /// Waits until an object satisfies a predicate.
    pub(crate) async fn until(
        &self,
        path: &str,
        what: &str,
        holds: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        wait::until(&format!("{path}: {what}"), || async {
            let answer = self.get(path).await?;
            Ok(if answer.succeeded() { answer.json().ok().filter(&holds) } else { None })
        })
        .await
    }

    /// Waits until an object is deleted.
    pub(crate) async fn until_gone(&self, path: &str) -> Result<()> {
        wait::until(&format!("{path} to go"), || async {
            Ok((self.get(path).await?.status == 404).then_some(()))
        })
        .await
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let leftovers =
            std::mem::take(&mut *self.leftovers.lock().unwrap_or_else(PoisonError::into_inner));
        if !leftovers.is_empty() {
            let caller = self.caller.clone();
            self.cluster.clean_up(move |client| async move {
                let caller = ApiClient { client, ..caller };
                for path in leftovers {
                    caller.send(Method::DELETE, &path, None, Vec::new()).await?;
                }
                Ok(())
            });
        }
    }
}
