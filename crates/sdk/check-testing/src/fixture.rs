//! A cluster made of fixtures, and who looks at it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use fairway_check::cluster::Patience;
use fairway_check::{Check, Cluster, Context, Settings, Version};
use fairway_sandbox::faults::Fault;
use fairway_sandbox::rbac::User;
use fairway_sandbox::sandbox::{Options, Sandbox};
use kube::Client;
use serde::Serialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::{Said, objects};

/// As long as a check has in a cluster: no test should need it.
const TIME: Duration = Duration::from_mins(5);

/// Nobody waits in a test: a request that fails is sent again at once.
const PATIENCE: Patience = Patience {
    between: Duration::ZERO,
    attempts: 6,
    first_pause: Duration::ZERO,
    longest_pause: Duration::ZERO,
    answer: Duration::from_secs(30),
};

/// A cluster made of fixtures, and the release that looks at it. [`run`](Self::run) makes it anew for
/// every check.
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
    /// A cluster of that version, with nothing in it.
    pub fn from(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            target: source.to_owned(),
            objects: Vec::new(),
            texts: Vec::new(),
            manifests: Vec::new(),
            faults: Vec::new(),
            arguments: Vec::new(),
            time: TIME,
        }
    }

    /// The version of the release that the check is from.
    #[must_use]
    pub fn to(self, target: &str) -> Self {
        Self { target: target.to_owned(), ..self }
    }

    /// Objects of the cluster, as YAML. Their namespaces are made; a definition may come with its
    /// objects.
    #[must_use]
    pub fn objects(mut self, yaml: &str) -> Self {
        self.texts.push(yaml.to_owned());
        self
    }

    /// An object of the cluster, with its `apiVersion` and `kind`.
    #[must_use]
    pub fn object(mut self, object: &impl Serialize) -> Self {
        self.objects.push(serde_json::to_value(object).unwrap_or_default());
        self
    }

    /// A file of the release's manifests, as YAML.
    #[must_use]
    pub fn manifest(mut self, file: &str, yaml: &str) -> Self {
        self.manifests.push((file.to_owned(), yaml.to_owned()));
        self
    }

    /// Something goes wrong while the check looks: [`Fault::refuse`], [`Fault::delay`] and others.
    #[must_use]
    pub fn fault(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// The cluster does not serve such objects, such as `nodes`.
    #[must_use]
    pub fn without(self, plural: &str) -> Self {
        self.fault(Fault::refuse(404).resource(plural))
    }

    /// The check may not read such objects.
    #[must_use]
    pub fn forbidden(self, plural: &str) -> Self {
        self.fault(Fault::refuse(403).resource(plural))
    }

    /// An argument of the check's own.
    #[must_use]
    pub fn argument(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// The check has only that long.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        Self { time, ..self }
    }

    /// Makes the cluster, and runs the check against it.
    pub async fn run(&self, check: impl Check) -> Result<Said> {
        let directory = tempfile::tempdir()?;
        let sandbox = Sandbox::start(Options::new(directory.path().join("cluster"))).await?;
        let client = client(&sandbox);
        let mut all = self.objects.clone();
        for text in &self.texts {
            all.extend(objects::parse(text).context("cannot parse the fixtures as YAML")?);
        }
        objects::create(&client, &all).await?;
        self.faults.iter().for_each(|fault| sandbox.faults().add(fault.clone()));
        let settings = self.settings(&directory)?;
        let context = Context::new(check.name(), settings, Cluster::new(client, PATIENCE));
        let answer = fairway_check::run(check, context, self.time).await;
        sandbox.stop().await;
        Ok(Said::new(answer))
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
    let everybody = User { name: "check".to_owned(), groups };
    Client::new(sandbox.client_service(everybody), "default")
}
