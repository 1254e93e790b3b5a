//! The state file of a detached service, which `up` writes and `down` reads.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::pid_namespace::NamespaceRecord;
use crate::run_dir::{self, RunDirs};
use crate::wait;

const FILE: &str = "state.json";

/// The state of a detached service.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The address of the service.
    pub address: String,
    /// The kubeconfig of a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<PathBuf>,
    /// The time at which the service was ready.
    pub since: Timestamp,
    /// The processes of the service. The file has an older name.
    #[serde(rename = "cell")]
    pub namespace: NamespaceRecord,
}

impl State {
    pub(crate) fn new(
        address: &str,
        kubeconfig: Option<&Path>,
        namespace: &NamespaceRecord,
    ) -> Self {
        Self {
            address: address.to_owned(),
            kubeconfig: kubeconfig.map(Path::to_owned),
            since: wait::now(),
            namespace: namespace.clone(),
        }
    }

    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        Ok(fs::write(directory.join(FILE), serde_json::to_vec_pretty(self)?)?)
    }

    /// The state of a detached service. `None` if it is not running.
    pub fn read(cache: &Cache, kind: &str) -> Result<Option<Self>> {
        let file = cache.run().join(kind).join(FILE);
        match fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .with_context(|| format!("{} is damaged; remove its directory", file.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
        }
    }

    /// Whether all components run.
    pub fn is_whole(&self) -> bool {
        self.namespace.is_alive()
            && self.namespace.components.iter().all(|component| component.process().is_some())
    }
}

/// Stops a detached service and removes its files. Returns whether it was running.
pub fn stop(cache: &Cache, kind: &str) -> Result<bool> {
    let directory = cache.run().join(kind);
    let ran = run_dir::is_held(&directory);
    // After a reboot, the PIDs in the file belong to other processes, and the lock is released.
    match State::read(cache, kind)?.filter(|_| ran) {
        Some(state) => {
            state.namespace.stop()?;
            run_dir::until_released(&directory)?;
        }
        None if ran => bail!("another process is starting {kind}"),
        None => {}
    }
    if directory.exists() {
        RunDirs::take_turn(cache)?.remove(kind)?;
    }
    Ok(ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let namespace = serde_json::json!({
            "holder": { "pid": 1, "startTime": 0 },
            "init": { "pid": 4_194_305, "startTime": 7 },
            "components": [],
        });
        State::new("127.96.0.1:443", None, &serde_json::from_value(namespace).unwrap())
    }

    #[test]
    fn read_after_write_returns_the_state() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        assert!(State::read(&cache, "kube").unwrap().is_none());
        fs::create_dir_all(cache.run().join("kube")).unwrap();
        state().write(&cache.run().join("kube")).unwrap();
        let read = State::read(&cache, "kube").unwrap().unwrap();
        assert_eq!(read.address, "127.96.0.1:443");
        assert!(!read.is_whole(), "no process has this PID");
    }

    #[test]
    fn read_of_damaged_file_names_it() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        fs::create_dir_all(cache.run().join("kube")).unwrap();
        fs::write(cache.run().join("kube/state.json"), "{").unwrap();
        let error = State::read(&cache, "kube").unwrap_err().to_string();
        assert!(error.contains("kube/state.json is damaged"), "{error}");
    }

    #[test]
    fn stop_without_service_succeeds() {
        let root = tempfile::tempdir().unwrap();
        assert!(!stop(&Cache::at(root.path()), "kube").unwrap());
    }
}
