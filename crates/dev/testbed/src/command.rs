//! Running a program to its end, within a time, with its output in the error.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::wait;

/// Runs a command and returns what it wrote to its standard output.
pub(crate) fn run(command: &mut Command, timeout: Duration) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    // Files instead of pipes: nobody has to drain them while the deadline is watched.
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
    let said = wait::last_lines(&text_of(&mut stderr)?);
    match ended {
        Ok(status) if status.success() => text_of(&mut stdout),
        Ok(status) => bail!("{program} failed ({status}):\n{said}"),
        Err(error) => Err(error.context(said)),
    }
}

fn text_of(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Where a command is, by `PATH` and the directories of system commands that a user's `PATH`
/// often lacks.
pub(crate) fn find(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .map(|directory| directory.join(name.as_ref()))
        .find(|file| file.is_file())
}

/// Whether this process may do what only root may.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_secs(10);

    #[test]
    fn output_is_returned() {
        assert_eq!(run(Command::new("echo").arg("hello"), SOON).unwrap(), "hello\n");
    }

    #[test]
    fn an_error_carries_what_the_program_said() {
        let error = run(Command::new("sh").args(["-c", "echo no >&2; exit 3"]), SOON).unwrap_err();
        assert_eq!(error.to_string(), "sh failed (exit status: 3):\nno");
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let error = run(Command::new("sleep").arg("60"), Duration::ZERO).unwrap_err();
        assert!(format!("{error:#}").contains("for sleep to end"));
    }
}
