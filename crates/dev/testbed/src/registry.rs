//! An image registry: Debian's `docker-registry`.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result};

use crate::berth::Berth;
use crate::cache::Cache;
use crate::command::find;
use crate::packages::{self, Purpose};
use crate::port::start_on_free_port;
use crate::run_dir::Runs;
use crate::{Lifetime, Progress};

/// The name of the detached registry's directory and state.
pub const KIND: &str = "registry";

/// What registry to start.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// How long it lives.
    pub lifetime: Lifetime,
    /// Where its directory is; the cache of the environment if not given.
    pub cache: Option<Cache>,
}

/// A running registry, empty at first. It ends with this value, unless it is
/// detached: then [`state::stop`](crate::state::stop) ends it.
#[derive(Debug)]
pub struct Registry {
    berth: Berth,
    address: SocketAddr,
}

impl Registry {
    /// Starts a registry and waits until it answers.
    pub fn start(options: Options) -> Result<Self> {
        Self::start_with(options, &|_| {})
    }

    /// Like [`Registry::start`], telling what it is doing.
    pub fn start_with(options: Options, progress: Progress<'_>) -> Result<Self> {
        let cache = options.cache.map_or_else(Cache::from_env, Ok)?;
        packages::ensure(&[Purpose::Cell, Purpose::Registry], progress)?;
        let program = find("docker-registry").context("docker-registry is missing")?;
        let directory = Runs::take_turn(&cache)?.create(KIND, options.lifetime)?;
        let mut berth = Berth::new(&cache, directory)?;
        let file = berth.join("config.yaml");
        let storage = berth.join("storage");
        let address = start_on_free_port(&mut berth, "/v2/", |berth, address| {
            fs::write(&file, config(&storage, address))?;
            berth.spawn(KIND, &program, ["serve".as_ref(), file.as_os_str()])
        })?;
        if options.lifetime == Lifetime::Detached {
            berth.detach(&address.to_string(), None)?;
        }
        Ok(Self { berth, address })
    }

    /// Where it listens, as it stands in the name of an image. Plain HTTP, which clients accept of
    /// a loopback address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The directory of everything it writes; it goes with the registry.
    pub fn run_dir(&self) -> &Path {
        self.berth.path()
    }

    /// Ends it and removes its directory.
    pub fn stop(mut self) -> Result<()> {
        self.berth.stop()
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
    fn the_configuration_names_address_and_storage() {
        assert_eq!(
            config(Path::new("/run/r/storage"), "127.0.0.1:5000".parse().unwrap()),
            "version: 0.1\nstorage:\n  filesystem: {rootdirectory: /run/r/storage}\n  \
             delete: {enabled: true}\nhttp: {addr: \"127.0.0.1:5000\"}\n"
        );
    }
}
