//! Signatures made with `gpg`, as release maintainers make them.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use fairway_fixtures::skip;
use fairway_registry::Digest;
use serde_json::json;
use tempfile::TempDir;

/// A key pair in its own `GnuPG` home directory. Dropping it deletes both.
pub struct Signer {
    home: TempDir,
}

impl Signer {
    /// Generates a key. Returns `None` and skips the test if `gpg` is not installed.
    pub fn new() -> Result<Option<Self>> {
        if Command::new("gpg").arg("--version").output().is_err() {
            skip::test("gpg is not installed");
            return Ok(None);
        }
        let signer = Self { home: tempfile::tempdir()? };
        let key = ["--quick-generate-key", "maintainer@example.com", "ed25519", "sign", "never"];
        signer.gpg(&key, b"")?;
        Ok(Some(signer))
    }

    /// The public key.
    pub fn keyring(&self) -> Result<Vec<u8>> {
        self.gpg(&["--armor", "--export"], b"")
    }

    /// The secret key.
    pub fn secret_key(&self) -> Result<Vec<u8>> {
        self.gpg(&["--armor", "--export-secret-keys"], b"")
    }

    /// The content of a signature that `gpg` verifies with this key.
    pub fn read(&self, signature: &[u8]) -> Result<Vec<u8>> {
        self.gpg(&["--decrypt"], signature)
    }

    /// The signature of an image, in the format of signature stores.
    pub fn sign(&self, image: &Digest) -> Result<Vec<u8>> {
        self.sign_with(&["--sign"], image)
    }

    /// Like [`Self::sign`], at another time: not before now, because the key is new.
    pub fn sign_at(&self, image: &Digest, unix_seconds: i64) -> Result<Vec<u8>> {
        let time = unix_seconds.to_string();
        self.sign_with(&["--faked-system-time", &time, "--sign"], image)
    }

    fn sign_with(&self, arguments: &[&str], image: &Digest) -> Result<Vec<u8>> {
        let claim = json!({ "critical": {
            "type": "atomic container signature",
            "image": { "docker-manifest-digest": image },
            "identity": { "docker-reference": "registry.example/graph-data:latest" },
        }});
        self.gpg(arguments, claim.to_string().as_bytes())
    }

    fn gpg(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>> {
        let mut command = Command::new("gpg");
        command.arg("--homedir").arg(self.home.path());
        command.args(["--batch", "--quiet", "--pinentry-mode", "loopback", "--passphrase", ""]);
        let mut child = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        child.stdin.take().context("cannot write to gpg")?.write_all(input)?;
        let output = child.wait_with_output()?;
        ensure!(output.status.success(), "gpg {arguments:?} failed");
        Ok(output.stdout)
    }
}

impl Drop for Signer {
    fn drop(&mut self) {
        // gpg has started an agent for this directory.
        let mut command = Command::new("gpgconf");
        let _ = command.arg("--homedir").arg(self.home.path()).args(["--kill", "all"]).status();
    }
}
