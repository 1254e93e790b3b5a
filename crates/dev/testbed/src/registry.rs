//! An image registry: Debian's `docker-registry`.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result};

use crate::cache::Cache;
use crate::command::find;
use crate::managed_run::ManagedRun;
use crate::packages::{self, Purpose};
use crate::port::start_on_free_port;
use crate::run_dir::RunDirs;
use crate::{Lifetime, Progress};

/// The name of the detached registry's directory and state.
pub const KIND: &str = "registry";

/// Options of a registry.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The lifetime of the registry.
    pub lifetime: Lifetime,
    /// The cache with its directory; by default that of the environment.
    pub cache: Option<Cache>,
}

/// A running registry, empty at first. Dropping it stops it, unless it is detached:
/// [`state::stop`](crate::state::stop) stops that.
#[derive(Debug)]
pub struct Registry {
    run: ManagedRun,
    address: SocketAddr,
}

impl Registry {
    /// Starts a registry and waits until it is ready.
    pub fn start(options: Options) -> Result<Self> {
        Self::start_with(options, &|_| {})
    }

    /// [`Registry::start`] with progress.
    pub fn start_with(options: Options, progress: Progress<'_>) -> Result<Self> {
        let cache = options.cache.map_or_else(Cache::from_env, Ok)?;
        packages::ensure(&[Purpose::Namespace, Purpose::Registry], progress)?;
        let program = find("docker-registry").context("docker-registry is missing")?;
        let directory = RunDirs::take_turn(&cache)?.create(KIND, options.lifetime)?;
        let mut run = ManagedRun::new(&cache, directory)?;
        let file = run.join("config.yaml");
        let storage = run.join("storage");
        let address = start_on_free_port(&mut run, "/v2/", |run, address| {
            fs::write(&file, config(&storage, address))?;
            run.spawn(KIND, &program, ["serve".as_ref(), file.as_os_str()])
        })?;
        if options.lifetime == Lifetime::Detached {
            run.detach(&address.to_string(), None)?;
        }
        Ok(Self { run, address })
    }

    /// The address, as in a pull spec. Plain HTTP, which clients accept for loopback addresses.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The directory of all its files, which is removed with the registry.
    pub fn run_dir(&self) -> &Path {
        self.run.path()
    }

    /// Stops the registry and removes its directory.
    pub fn stop(mut self) -> Result<()> {
        self.run.stop()
    }
}

fn config(storage: &Path, address: SocketAddr) -> String {
    format!(
        "version: 0.1\n\
         storage:\n  filesystem: {{rootdirectory: {}}}\n  delete: {{enabled: true}}\n\
         http: {{addr: \"{address}\"}}\n",
        storage.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_has_address_and_storage() {
        assert_eq!(
            config(Path::new("/run/r/storage"), "127.0.0.1:5000".parse().unwrap()),
            "version: 0.1\nstorage:\n  filesystem: {rootdirectory: /run/r/storage}\n  \
             delete: {enabled: true}\nhttp: {addr: \"127.0.0.1:5000\"}\n"
        );
    }
}
