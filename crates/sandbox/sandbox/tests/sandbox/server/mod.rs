//! The sandbox from outside: sockets, well-behaved and hostile clients, and `kubectl`.

mod audit;
mod authentication;
mod faults;
mod hostile;
mod kubectl;
mod raw;
mod watches;

use anyhow::Result;
use fairway_sandbox::rbac::User;
use fairway_sandbox::sandbox::{Sandbox, SandboxOptions};
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use tempfile::TempDir;

/// The sandbox of a test.
struct TestSandbox {
    sandbox: Sandbox,
    _directory: TempDir,
}

async fn start() -> Result<TestSandbox> {
    start_with(|options| options).await
}

async fn start_with(change: impl FnOnce(SandboxOptions) -> SandboxOptions) -> Result<TestSandbox> {
    let directory = tempfile::tempdir()?;
    let sandbox = Sandbox::start(change(SandboxOptions::new(directory.path()))).await?;
    Ok(TestSandbox { sandbox, _directory: directory })
}

impl TestSandbox {
    /// An in-process client for a user.
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

fn user(name: &str) -> User {
    User { name: name.to_owned(), groups: Vec::new() }
}

fn secret(name: &str) -> Secret {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    Secret { metadata, ..Secret::default() }
}
