//! What is known of something that runs detached: the file that `up` writes and `down` reads.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::cell::Record;
use crate::run_dir::{self, Runs};
use crate::wait;

const FILE: &str = "state.json";

/// What runs, where and since when.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// Where it listens.
    pub address: String,
    /// How to reach it, if it is a cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig: Option<PathBuf>,
    /// When it was ready.
    pub since: Timestamp,
    /// What it consists of.
    pub cell: Record,
}

impl State {
    pub(crate) fn new(address: &str, kubeconfig: Option<&Path>, cell: &Record) -> Self {
        Self {
            address: address.to_owned(),
            kubeconfig: kubeconfig.map(Path::to_owned),
            since: wait::now(),
            cell: cell.clone(),
        }
    }

    pub(crate) fn write(&self, directory: &Path) -> Result<()> {
        Ok(fs::write(directory.join(FILE), serde_json::to_vec_pretty(self)?)?)
    }

    /// The state of a kind of component, if one was started detached and not stopped since.
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

    /// Whether everything it consists of still runs.
    pub fn is_whole(&self) -> bool {
        self.cell.is_alive()
            && self.cell.components.iter().all(|component| component.process().is_some())
    }
}

/// Ends what was started detached, and removes what it left. Whether there was anything to end.
pub fn stop(cache: &Cache, kind: &str) -> Result<bool> {
    let directory = cache.run().join(kind);
    let ran = run_dir::is_held(&directory);
    // After a reboot the numbers in the file belong to others, but nobody holds the directory.
    match State::read(cache, kind)?.filter(|_| ran) {
        Some(state) => {
            state.cell.stop()?;
            run_dir::until_released(&directory)?;
        }
        None if ran => bail!("another process is starting {kind}"),
        None => {}
    }
    if directory.exists() {
        Runs::take_turn(cache)?.remove(kind)?;
    }
    Ok(ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let cell = serde_json::json!({
            "holder": { "pid": 1, "startTime": 0 },
            "init": { "pid": 4_194_305, "startTime": 7 },
            "components": [],
        });
        State::new("127.96.0.1:443", None, &serde_json::from_value(cell).unwrap())
    }

    #[test]
    fn a_state_is_read_as_written() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        assert!(State::read(&cache, "kube").unwrap().is_none());
        fs::create_dir_all(cache.run().join("kube")).unwrap();
        state().write(&cache.run().join("kube")).unwrap();
        let read = State::read(&cache, "kube").unwrap().unwrap();
        assert_eq!(read.address, "127.96.0.1:443");
        assert!(!read.is_whole(), "no process has such a number");
    }

    #[test]
    fn a_damaged_file_is_named() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::at(root.path());
        fs::create_dir_all(cache.run().join("kube")).unwrap();
        fs::write(cache.run().join("kube/state.json"), "{").unwrap();
        let error = State::read(&cache, "kube").unwrap_err().to_string();
        assert!(error.contains("kube/state.json is damaged"), "{error}");
    }

    #[test]
    fn stopping_nothing_succeeds() {
        let root = tempfile::tempdir().unwrap();
        assert!(!stop(&Cache::at(root.path()), "kube").unwrap());
    }
}
