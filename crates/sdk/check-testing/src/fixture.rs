//! A test cluster for a check.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_check::cluster::RequestPolicy;
use fairway_check::{Check, Cluster, Context, Settings, Version};
use fairway_sandbox::faults::Fault;
use fairway_sandbox::rbac::User;
use fairway_sandbox::sandbox::{Sandbox, SandboxOptions};
use kube::Client;
use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::{TestResult, objects};

/// Default timeout of a check, as in a cluster.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(5);

/// Requests without delays.
const REQUEST_POLICY: RequestPolicy = RequestPolicy {
    interval: Duration::ZERO,
    attempts: 6,
    first_delay: Duration::ZERO,
    max_delay: Duration::ZERO,
    timeout: Duration::from_secs(30),
};

/// Test cluster, target release and faults for a check. [`run`](Self::run) creates a new cluster
/// for every check.
#[derive(Clone, Debug)]
pub struct Fixture {
    source: String,
    target: String,
    objects: Vec<Value>,
    texts: Vec<String>,
    manifests: Vec<(String, String)>,
    faults: Vec<Fault>,
    arguments: Vec<String>,
    time: Duration,
}

impl Fixture {
    /// An empty cluster of a version.
    pub fn from(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            target: source.to_owned(),
            objects: Vec::new(),
            texts: Vec::new(),
            manifests: Vec::new(),
            faults: Vec::new(),
            arguments: Vec::new(),
            time: DEFAULT_TIMEOUT,
        }
    }

    /// Sets the version of the target release.
    #[must_use]
    pub fn to(self, target: &str) -> Self {
        Self { target: target.to_owned(), ..self }
    }

    /// Adds objects as YAML. Their namespaces are created, and CRDs may be in the same text as
    /// their objects.
    #[must_use]
    pub fn objects(mut self, yaml: &str) -> Self {
        self.texts.push(yaml.to_owned());
        self
    }

    /// Adds an object with `apiVersion` and `kind`.
    #[must_use]
    pub fn object(mut self, object: &impl Serialize) -> Self {
        self.objects.push(serde_json::to_value(object).unwrap_or_default());
        self
    }

    /// Adds a manifest file of the target release, as YAML.
    #[must_use]
    pub fn manifest(mut self, file: &str, yaml: &str) -> Self {
        self.manifests.push((file.to_owned(), yaml.to_owned()));
        self
    }

    /// Adds a fault of the API server, such as [`Fault::refuse`] or [`Fault::delay`].
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Makes the cluster not serve a resource, such as `nodes`.
    #[must_use]
    pub fn without(self, plural: &str) -> Self {
        self.fault(Fault::refuse(404).resource(plural))
    }

    /// Makes the cluster forbid a resource.
    #[must_use]
    pub fn forbidden(self, plural: &str) -> Self {
        self.fault(Fault::refuse(403).resource(plural))
    }

    /// Adds an argument of the check.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Sets the timeout of the check.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    /// Creates the cluster and runs the check.
    pub async fn run(&self, check: impl Check) -> Result<TestResult> {
        let directory = tempfile::tempdir()?;
        let sandbox = Sandbox::start(SandboxOptions::new(directory.path().join("cluster"))).await?;
        let client = client(&sandbox);
        let mut all = self.objects.clone();
        for text in &self.texts {
            all.extend(objects::parse(text).context("cannot parse the fixtures as YAML")?);
        }
        objects::create(&client, &all).await?;
        self.faults.iter().for_each(|fault| sandbox.faults().add(fault.clone()));
        let settings = self.settings(&directory)?;
        let context = Context::new(check.name(), settings, Cluster::new(client, REQUEST_POLICY));
        let result = fairway_check::run(check, context, self.time).await;
        sandbox.stop().await;
        Ok(TestResult::new(result))
    }

    fn settings(&self, directory: &TempDir) -> Result<Settings> {
        let manifests = directory.path().join("manifests");
        std::fs::create_dir(&manifests)?;
        for (file, text) in &self.manifests {
            std::fs::write(manifests.join(file), text).with_context(|| file.clone())?;
        }
        let version = |text: &str| Version::parse(text).with_context(|| text.to_owned());
        Ok(Settings {
            manifests: Some(manifests),
            arguments: self.arguments.clone(),
            ..Settings::new(version(&self.source)?, version(&self.target)?)
        })
    }
}

fn client(sandbox: &Sandbox) -> Client {
    let groups = ["system:masters", "system:authenticated"].map(str::to_owned).into();
    let user = User { name: "check".to_owned(), groups };
    Client::new(sandbox.client_service(user), "default")
}
