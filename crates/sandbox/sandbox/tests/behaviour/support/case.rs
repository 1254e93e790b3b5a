//! One case: a cluster, and a namespace in it.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use fairway_testkit::{TestCluster, TestNamespace, wait};
use http::Method;
use serde_json::{Value, json};

use super::{Answer, Caller, config_map};

/// One case: a cluster and a namespace in it, as an administrator sees them.
pub(crate) struct Case {
    caller: Caller,
    // Paths of objects outside the namespace, to be removed at the end.
    leftovers: Mutex<Vec<String>>,
    _namespace: TestNamespace,
    pub(crate) cluster: TestCluster,
}

impl Deref for Case {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.caller
    }
}

impl Case {
    /// A namespace whose name begins with `name`.
    pub(crate) async fn begin(name: &str) -> Result<Self> {
        Self::on(TestCluster::shared().await?, name).await
    }

    /// The same, with the objects that exist once in a cluster for the case alone.
    pub(crate) async fn begin_in_turn(name: &str) -> Result<Self> {
        Self::on(TestCluster::in_turn().await?, name).await
    }

    async fn on(cluster: TestCluster, name: &str) -> Result<Self> {
        let namespace = cluster.namespace(name).await?;
        let caller = Caller {
            client: cluster.client(),
            namespace: namespace.name().to_owned(),
            headers: Vec::new(),
        };
        Ok(Self { caller, leftovers: Mutex::default(), _namespace: namespace, cluster })
    }

    /// The same namespace, as somebody else sees it.
    pub(crate) fn user(&self, name: &str) -> Result<Caller> {
        self.caller.saying("impersonate-user", name)
    }

    /// The same namespace, as the bearer of a token sees it.
    pub(crate) async fn with_token(&self, token: &str) -> Result<Caller> {
        let client = self.cluster.client_with_token(token).await?;
        Ok(Caller { client, ..self.caller.clone() })
    }

    /// A token of a service account.
    pub(crate) async fn token(&self, account: &str) -> Result<String> {
        self.until(&format!("serviceaccounts/{account}"), "to be there", |_| true).await?;
        let path = format!("serviceaccounts/{account}/token");
        let request = self.create(&path, &json!({ "spec": {} })).await?.object()?;
        Ok(request["status"]["token"].as_str().context("no token")?.to_owned())
    }

    /// Creates something outside the namespace, which goes with the case.
    pub(crate) async fn create_outside(&self, path: &str, object: &Value) -> Result<Answer> {
        let answer = self.create(path, object).await?;
        if answer.succeeded() {
            let name = answer.json()?["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            self.goes_with_the_case(&format!("{path}/{name}"));
        }
        Ok(answer)
    }

    /// Removes what is at that path at the end.
    pub(crate) fn goes_with_the_case(&self, path: &str) {
        let path = self.path(path);
        self.leftovers.lock().unwrap_or_else(PoisonError::into_inner).push(path);
    }

    /// Creates a config map.
    pub(crate) async fn config_map(&self, name: &str, data: Value) -> Result<Value> {
        self.create("configmaps", &config_map(name, data)).await?.object()
    }

    /// Takes away whatever keeps an object.
    pub(crate) async fn release(&self, path: &str) -> Result<Value> {
        self.merge(path, &json!({ "metadata": { "finalizers": null } })).await?.object()
    }

    /// Waits until an object is so.
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

    /// Waits until something is not there.
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
                let caller = Caller { client, ..caller };
                for path in leftovers {
                    caller.send(Method::DELETE, &path, None, Vec::new()).await?;
                }
                Ok(())
            });
        }
    }
}
