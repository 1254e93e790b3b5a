//! A cluster that somebody wrote down: an object or a list in each file.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use fairway_api::{ClusterOperator, ClusterVersion, read};
use fairway_insight::objects::Deployment;
use fairway_insight::{Alerts, Cluster, Moment, alerts};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::Outlook;
use crate::errors::{CannotTell, WithHint};

/// How the name of the file with ClusterVersion ends; the others are found by it.
const CLUSTER_VERSION: &str = "-cv.yaml";

/// The files of a recorded cluster.
pub(in super::super) struct Recording {
    path: PathBuf,
    /// The path of all of them, without what tells them apart.
    stem: Option<String>,
}

impl Recording {
    pub(in super::super) fn at(path: &Path) -> Self {
        let text = path.to_str();
        let stem = text.and_then(|text| text.strip_suffix(CLUSTER_VERSION)).map(str::to_owned);
        Self { path: path.to_owned(), stem }
    }

    /// Everything that is told about an update, and when.
    pub(in super::super) fn cluster(&self) -> anyhow::Result<(Cluster, Moment)> {
        let version = self.version()?;
        let operators = self.list("-co.yaml")?.ok_or_else(|| self.no_operators())?;
        let moment = Moment::of_recording(&version, &operators);
        let deployment: Option<Vec<Deployment>> = self.list("-mco-deployment.yaml")?;
        let mut deployments = deployment.into_iter().flatten();
        let cluster = Cluster {
            version,
            operators,
            pools: self.list("-mcp.yaml")?.unwrap_or_default(),
            configs: self.list("-mc.yaml")?.unwrap_or_default(),
            nodes: self.list("-node.yaml")?.unwrap_or_default(),
            node_operator_image: deployments.find_map(super::live::node_operator_image),
            alerts: self.alerts()?,
        };
        Ok((cluster, moment))
    }

    /// What tells which updates there are, and when it was recorded.
    pub(in super::super) fn outlook(&self) -> anyhow::Result<(Outlook, Moment)> {
        let version = self.version()?;
        let components: Vec<ClusterOperator> = self.list("-co.yaml")?.unwrap_or_default();
        let moment = Moment::of_recording(&version, &components);
        Ok((Outlook { version, components, alerts: self.alerts()? }, moment))
    }

    fn version(&self) -> anyhow::Result<ClusterVersion> {
        let versions = objects(&self.path)?.with_context(|| WithHint {
            message: format!("{} is not there", self.path.display()),
            hint: "`kubectl get clusterversion version -o yaml > X-cv.yaml` writes one".to_owned(),
        })?;
        versions.into_iter().next().with_context(|| CannotTell {
            message: format!("{} has no ClusterVersion", self.path.display()),
            hint: "`kubectl get clusterversion version -o yaml > X-cv.yaml` writes one".to_owned(),
        })
    }

    fn alerts(&self) -> anyhow::Result<Alerts> {
        let Some(path) = self.beside("-alerts.json") else { return Ok(Alerts::NotRecorded) };
        let Some(bytes) = bytes(&path)? else { return Ok(Alerts::NotRecorded) };
        let alerts = alerts::read(&bytes);
        Ok(Alerts::Known(alerts.with_context(|| format!("{} has no alerts", path.display()))?))
    }

    /// The objects of a file beside it; none where there is no such file.
    fn list<T: DeserializeOwned>(&self, ending: &str) -> anyhow::Result<Option<Vec<T>>> {
        self.beside(ending).map_or(Ok(None), |path| objects(&path))
    }

    fn beside(&self, ending: &str) -> Option<PathBuf> {
        self.stem.as_ref().map(|stem| PathBuf::from(format!("{stem}{ending}")))
    }

    fn no_operators(&self) -> anyhow::Error {
        let (message, hint) = match self.beside("-co.yaml") {
            Some(path) => (
                format!("{} is not there: nobody says how far components are", path.display()),
                "`kubectl get clusteroperators -o yaml` writes one",
            ),
            None => (
                format!("the name of {} does not end with {CLUSTER_VERSION}", self.path.display()),
                "other objects of the cluster are found by that name: X-co.yaml is beside X-cv.yaml",
            ),
        };
        CannotTell { message, hint: hint.to_owned() }.into()
    }
}

/// Whether a document is a list.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shape {
    items: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
}

/// The objects of a file, which has one or a list; none where there is no such file.
fn objects<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Option<Vec<T>>> {
    let Some(bytes) = bytes(path)? else { return Ok(None) };
    let name = path.display().to_string();
    let shape: Shape = read::document(&name, &bytes)?;
    Ok(Some(match shape.items {
        Some(_) => read::document::<List<T>>(&name, &bytes)?.items,
        None => vec![read::document(&name, &bytes)?],
    }))
}

/// What is in a file; none where there is no such file.
fn bytes(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    let name = path.display().to_string();
    let read = File::open(path).and_then(|file| read::bytes(&name, file));
    match read {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {name}")),
    }
}
