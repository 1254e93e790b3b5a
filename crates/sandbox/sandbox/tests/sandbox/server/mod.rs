//! The sandbox from outside: over sockets, with clients that are kind, hostile, or `kubectl`.

mod audit;
mod authentication;
mod faults;
mod hostile;
mod kubectl;
mod raw;
mod watches;

use anyhow::Result;
use fairway_sandbox::rbac::User;
use fairway_sandbox::sandbox::{Options, Sandbox};
use tempfile::TempDir;

/// A sandbox of one test.
struct Started {
    sandbox: Sandbox,
    _directory: TempDir,
}

async fn start() -> Result<Started> {
    start_with(|options| options).await
}

async fn start_with(change: impl FnOnce(Options) -> Options) -> Result<Started> {
    let directory = tempfile::tempdir()?;
    let sandbox = Sandbox::start(change(Options::new(directory.path()))).await?;
    Ok(Started { sandbox, _directory: directory })
}

impl Started {
    /// A client without a socket, for this user.
    fn client_of(&self, user: User) -> kube::Client {
        kube::Client::new(self.sandbox.client_service(user), "default")
    }

    fn client(&self) -> kube::Client {
        self.client_of(admin())
    }
}

fn admin() -> User {
    User { name: "admin".to_owned(), groups: vec!["system:masters".to_owned()] }
}

fn nobody(name: &str) -> User {
    User { name: name.to_owned(), groups: Vec::new() }
}
