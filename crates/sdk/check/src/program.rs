//! Entry point of check programs.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fairway_findings::check_result::CheckResult;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::cluster::{Cluster, RequestPolicy};
use crate::settings::{Settings, USAGE};
use crate::{CannotTell, Check, Context, memory, result, run};

/// Time beyond the timeout for a check that blocks its thread.
const BLOCKED_GRACE_PERIOD: Duration = Duration::from_secs(2);

/// User agent in audit logs.
const USER_AGENT: &str = concat!("fairway-check/", env!("CARGO_PKG_VERSION"));

/// Exit status of a check program. It only says whether there is a result, not whether there are
/// findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The result is written: no findings, findings, or no result with a reason.
    Answered,
    /// The result could not be written.
    NotWritten,
    /// Required settings are missing; the result says so.
    NotTold,
}

impl Ending {
    /// Exit code of the program.
    pub fn code(self) -> u8 {
        match self {
            Self::Answered => 0,
            Self::NotWritten => 1,
            Self::NotTold => 2,
        }
    }
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        Self::from(ending.code())
    }
}

/// Runs a check as a program, with the arguments and environment of the process, against the
/// cluster of its pod or kubeconfig. [`Ending`] has the exit codes.
pub fn main(check: impl Check) -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    main_with(check, arguments, connect).into()
}

/// Like [`main`], with other arguments and another way to create the client. `connect` gets the
/// kubeconfig, if there is one.
pub fn main_with<F>(
    check: impl Check,
    arguments: impl IntoIterator<Item = String>,
    connect: impl FnOnce(Option<PathBuf>) -> F + Send + 'static,
) -> Ending
where
    F: Future<Output = Result<Client, Box<dyn Error + Send + Sync>>>,
{
    let arguments: Vec<String> = arguments.into_iter().collect();
    if arguments.iter().any(|argument| argument == "--help") {
        return end(print(&format!("{}: {USAGE}", check.name())), Ending::Answered);
    }
    let name = check.name().to_owned();
    match Settings::parse(arguments, |variable| std::env::var(variable).ok()) {
        Ok(settings) => deliver(&in_time(check, settings, connect), Ending::Answered),
        Err(error) => {
            let why = CannotTell::because(error.to_string());
            deliver(&result::check_result(&name, None, Err(why)), Ending::NotTold)
        }
    }
}

/// Runs the check in its own thread, so that there is a result in time even if the check blocks.
fn in_time<F>(
    check: impl Check,
    settings: Settings,
    connect: impl FnOnce(Option<PathBuf>) -> F + Send + 'static,
) -> CheckResult
where
    F: Future<Output = Result<Client, Box<dyn Error + Send + Sync>>>,
{
    let (name, target, time) =
        (check.name().to_owned(), settings.target.clone(), settings.time(fairway_clock::now()));
    let no_result = |why| result::check_result(&name, Some(&target), Err(why));
    let (tell, rendered) = mpsc::channel();
    thread::spawn(move || tell.send(look(check, settings, time, connect)));
    match rendered.recv_timeout(time + BLOCKED_GRACE_PERIOD) {
        Ok(Ok(result)) => result,
        Ok(Err(why)) => no_result(why),
        Err(RecvTimeoutError::Timeout) => no_result(CannotTell::TimedOut(time)),
        Err(RecvTimeoutError::Disconnected) => {
            no_result(CannotTell::Panicked("thread ended without a result".to_owned()))
        }
    }
}

fn look<F>(
    check: impl Check,
    settings: Settings,
    time: Duration,
    connect: impl FnOnce(Option<PathBuf>) -> F,
) -> Result<CheckResult, CannotTell>
where
    F: Future<Output = Result<Client, Box<dyn Error + Send + Sync>>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CannotTell::because(error.to_string()))?;
    runtime.block_on(async {
        let client = connect(settings.kubeconfig.clone()).await;
        let client = client.map_err(|error| unreachable(error.as_ref()))?;
        let cluster = Cluster::new(client, RequestPolicy::default()).within(memory::GUARD);
        let context = Context::new(check.name(), settings, cluster);
        Ok(run(check, context, time).await)
    })
}

async fn connect(kubeconfig: Option<PathBuf>) -> Result<Client, Box<dyn Error + Send + Sync>> {
    let mut config = match kubeconfig {
        Some(path) => {
            let read = Kubeconfig::read_from(path)?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await?,
    };
    config.headers.push(("user-agent".parse()?, USER_AGENT.parse()?));
    // Requests are retried by `Cluster`, which knows the deadline.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

fn unreachable(error: &(dyn Error + 'static)) -> CannotTell {
    CannotTell::because(format!("cannot connect to the cluster: {error}"))
}

fn deliver(result: &CheckResult, ending: Ending) -> Ending {
    let delivered = line(result).and_then(|line| {
        leave(&line, Path::new(TERMINATION_LOG));
        print(&line)
    });
    end(delivered, ending)
}

fn end(delivered: io::Result<()>, ending: Ending) -> Ending {
    let Err(error) = delivered else { return ending };
    // If this fails, too, the exit code remains.
    let _ = writeln!(io::stderr(), "cannot write the result: {error}");
    Ending::NotWritten
}

/// Termination message path of Kubernetes containers.
const TERMINATION_LOG: &str = "/dev/termination-log";

/// Maximum bytes of a termination message.
const TERMINATION_BYTES: usize = 4096;

/// The result as one line.
fn line(result: &CheckResult) -> io::Result<String> {
    let mut line = serde_json::to_string(result)?;
    line.push('\n');
    Ok(line)
}

/// Writes the line with one call, so that no other output interrupts it.
fn print(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(line.as_bytes())?;
    output.flush()
}

/// Writes the line to the termination message, which outlives the log, if it fits. Outside of a
/// container the file does not exist.
fn leave(line: &str, file: &Path) {
    if line.len() > TERMINATION_BYTES {
        return;
    }
    // Errors are ignored: the log contains the result, too.
    let _ = OpenOptions::new()
        .write(true)
        .open(file)
        .and_then(|mut file| file.write_all(line.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leave_writes_existing_file_if_line_fits() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("termination-log");
        leave("{}\n", &file);
        assert!(!file.exists(), "not created");
        std::fs::write(&file, "").unwrap();
        leave(&"x".repeat(TERMINATION_BYTES + 1), &file);
        leave("{}\n", &file);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}\n");
    }
}
