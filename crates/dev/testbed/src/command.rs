//! Commands with a timeout, whose errors contain their output.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::wait;

/// Runs a command and returns its standard output.
pub(crate) fn run(command: &mut Command, timeout: Duration) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    // Files instead of pipes, which this thread would have to drain while it waits.
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .spawn()
        .with_context(|| format!("cannot start {program}"))?;
    let ended = wait::until(&format!("{program} to end"), timeout, || Ok(child.try_wait()?));
    if ended.is_err() {
        child.kill().ok();
        child.wait().ok();
    }
    let output = wait::last_lines(&read_text(&mut stderr)?);
    match ended {
        Ok(status) if status.success() => read_text(&mut stdout),
        Ok(status) => bail!("{program} failed ({status}):\n{output}"),
        Err(error) => Err(error.context(output)),
    }
}

fn read_text(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The path of a command in `PATH` or in the directories of system commands, which the `PATH` of a user
/// often lacks.
pub(crate) fn find(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .map(|directory| directory.join(name.as_ref()))
        .find(|file| file.is_file())
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[test]
    fn run_returns_stdout() {
        assert_eq!(run(Command::new("echo").arg("hello"), TIMEOUT).unwrap(), "hello\n");
    }

    #[test]
    fn run_of_failing_command_returns_stderr_in_the_error() {
        let error =
            run(Command::new("sh").args(["-c", "echo no >&2; exit 3"]), TIMEOUT).unwrap_err();
        assert_eq!(error.to_string(), "sh failed (exit status: 3):\nno");
    }

    #[test]
    fn run_after_timeout_kills_the_command() {
        let error = run(Command::new("sleep").arg("60"), Duration::ZERO).unwrap_err();
        assert!(format!("{error:#}").contains("for sleep to end"));
    }
}
