//! The command lines of gpg, sq and Go.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

/// Runs a command with input. The caller checks the exit status.
fn feed(command: &mut Command, input: &[u8]) -> Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
    // A command that refuses its arguments does not read its input.
    let _ = child.stdin.take().context("no standard input")?.write_all(input);
    Ok(child.wait_with_output()?)
}

fn run(command: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    let Output { status, stdout, stderr } = feed(command, input)?;
    ensure!(status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&stderr));
    Ok(stdout)
}

/// A home directory of gpg with its own keys.
pub(crate) struct Gpg {
    home: TempDir,
}

/// Verdict of gpg on a message.
#[derive(Debug)]
pub(crate) struct GpgVerdict {
    /// At least one signature is good. The key may have expired since.
    pub(crate) is_valid: bool,
    /// gpg found nothing to object to.
    pub(crate) is_clean: bool,
    pub(crate) data: Vec<u8>,
    pub(crate) status: String,
}

impl GpgVerdict {
    /// Status words of gpg for each signature, in one line.
    pub(crate) fn signatures(&self) -> String {
        let words = self.status.lines().filter_map(|line| line.split(' ').nth(1));
        words.filter(|word| word.ends_with("SIG")).collect::<Vec<_>>().join(" ")
    }
}

impl Gpg {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { home: tempfile::tempdir()? })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("gpg");
        command.arg("--homedir").arg(self.home.path());
        command.args(["--batch", "--yes", "--quiet", "--no-auto-check-trustdb"]);
        command.args(["--pinentry-mode", "loopback", "--passphrase", ""]);
        command.args(["--trust-model", "always"]).args(arguments);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>> {
        run(&mut self.command(arguments), input)
    }

    /// Makes a key with the user ID `NAME@example.com`.
    pub(crate) fn key(&self, name: &str, algorithm: &str, options: &[&str]) -> Result<()> {
        let user = format!("{name}@example.com");
        let generate = ["--quick-generate-key", &user, algorithm, "sign,cert", "never"];
        self.run(&[options, &generate].concat(), b"").map(drop)
    }

    pub(crate) fn fingerprint(&self, name: &str) -> Result<String> {
        let list = self.run(&["--with-colons", "--list-keys", &format!("{name}@")], b"")?;
        let list = String::from_utf8(list)?;
        let line = list.lines().find(|line| line.starts_with("fpr:")).context("no such key")?;
        Ok(line.split(':').nth(9).context("no fingerprint")?.to_owned())
    }

    pub(crate) fn sign(&self, signer: &str, options: &[&str], data: &[u8]) -> Result<Vec<u8>> {
        let user = format!("{signer}@example.com");
        self.run(&[&["--local-user", &user], options, &["--sign"]].concat(), data)
    }

    pub(crate) fn export(&self, name: &str) -> Result<Vec<u8>> {
        self.run(&["--armor", "--export", name], b"")
    }

    pub(crate) fn secret_key(&self, name: &str) -> Result<Vec<u8>> {
        self.run(&["--armor", "--export-secret-keys", &format!("{name}@example.com")], b"")
    }

    /// The revocation that gpg has prepared for a key.
    pub(crate) fn revocation(&self, fingerprint: &str) -> Result<Vec<u8>> {
        let path = self.home.path().join(format!("openpgp-revocs.d/{fingerprint}.rev"));
        // A colon keeps it from being imported by mistake.
        Ok(fs::read_to_string(path)?.replace(":-----BEGIN", "-----BEGIN").into_bytes())
    }

    pub(crate) fn import(&self, keys: &[u8]) -> Result<()> {
        self.run(&["--import"], keys).map(drop)
    }

    pub(crate) fn verify(&self, message: &[u8]) -> Result<GpgVerdict> {
        let status = self.home.path().join("status");
        let mut command = self.command(&["--status-file"]);
        command.arg(&status).arg("--decrypt");
        let Output { status: exit, stdout: data, .. } = feed(&mut command, message)?;
        let status = String::from_utf8_lossy(&fs::read(&status)?).into_owned();
        let has = |word: &str| status.lines().any(|line| line.split(' ').nth(1) == Some(word));
        let is_valid = has("VALIDSIG") && (has("GOODSIG") || has("EXPKEYSIG"));
        Ok(GpgVerdict { is_valid, is_clean: exit.success(), data, status })
    }
}

impl Drop for Gpg {
    fn drop(&mut self) {
        // The agent that gpg has started for this directory.
        let mut command = Command::new("gpgconf");
        let _ = command.arg("--homedir").arg(self.home.path()).args(["--kill", "all"]).status();
    }
}

/// `oracle.go`, built.
pub(crate) struct Go {
    directory: TempDir,
}

impl Go {
    pub(crate) fn build() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/registry/signatures/oracle.go");
        let mut command = Command::new("/usr/bin/go");
        command.args(["build", "-o"]).arg(directory.path().join("oracle")).arg(source);
        // Debian's packages are sources in a GOPATH; nothing is downloaded.
        command.env("GO111MODULE", "off").env("GOPATH", "/usr/share/gocode").env("GOFLAGS", "");
        command.env("GOCACHE", directory.path().join("cache")).env("GOPROXY", "off");
        run(&mut command, b"")?;
        Ok(Self { directory })
    }

    fn command(&self) -> Command {
        Command::new(self.directory.path().join("oracle"))
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        let path = self.directory.path().join(name);
        fs::write(&path, content)?;
        Ok(path)
    }

    pub(crate) fn sign(&self, key: &[u8], hash: &str, mode: &str, data: &[u8]) -> Result<Vec<u8>> {
        let key = self.write("key", key)?;
        run(self.command().arg("sign").arg(key).args([hash, mode]), data)
    }

    /// Returns for each message whether its signature is valid.
    pub(crate) fn verify(&self, keyring: &[u8], messages: &[&[u8]]) -> Result<Vec<bool>> {
        let keyring = self.write("keyring", keyring)?;
        let mut command = self.command();
        command.arg("verify").arg(keyring);
        for (index, message) in messages.iter().enumerate() {
            command.arg(self.write(&format!("message-{index}"), message)?);
        }
        let output = String::from_utf8(run(&mut command, b"")?)?;
        let verdicts: Vec<bool> = output.lines().map(|line| line.starts_with("good ")).collect();
        ensure!(verdicts.len() == messages.len(), "{output}");
        Ok(verdicts)
    }
}

/// A directory with keys of sq.
pub(crate) struct Sq {
    directory: TempDir,
}

impl Sq {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { directory: tempfile::tempdir()? })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("sq");
        command.current_dir(self.directory.path()).args(arguments);
        command
    }

    /// Makes a key and returns its certificate.
    pub(crate) fn key(&self, name: &str, suite: &str, options: &[&str]) -> Result<Vec<u8>> {
        let user = format!("--userid={name}@example.com");
        let generate = ["key", "generate", "--cipher-suite", suite, &user, "--export", name];
        run(&mut self.command(&[&generate, options].concat()), b"")?;
        run(&mut self.command(&["key", "extract-cert", name]), b"")
    }

    pub(crate) fn sign(&self, key: &str, options: &[&str], data: &[u8]) -> Result<Vec<u8>> {
        run(&mut self.command(&[&["sign", "--signer-key", key], options].concat()), data)
    }
}
