//! The program that a check is.

use std::error::Error;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fairway_findings::answer::Answer;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::cluster::{Cluster, Patience};
use crate::settings::{Settings, USAGE};
use crate::{CannotTell, Check, Context, answer, delivery, memory, run};

/// Beyond the time that it has, a check that never gives up its thread gets this.
const RELUCTANCE: Duration = Duration::from_secs(2);

/// Who asks, in audit logs.
const USER_AGENT: &str = concat!("fairway-check/", env!("CARGO_PKG_VERSION"));

/// How a check ended. What it found is in its answer: the code only says whether there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// There is an answer: nothing was found, something was, or the check cannot tell.
    Answered,
    /// The answer could not be written.
    NotWritten,
    /// The check was not told what it has to know; its answer says so.
    NotTold,
}

impl Ending {
    /// The exit code of the program.
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

/// Runs a check as a program: with the arguments and the environment of this process, against the
/// cluster in whose pod it is or that the kubeconfig names. [`Ending`] has the exit codes.
pub fn main(check: impl Check) -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    main_with(check, arguments, connect).into()
}

/// The same with other arguments, and with another way to reach the cluster: it is told the
/// kubeconfig if there is one.
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
        return end(delivery::print(&format!("{}: {USAGE}", check.name())), Ending::Answered);
    }
    let name = check.name().to_owned();
    match Settings::parse(arguments, |variable| std::env::var(variable).ok()) {
        Ok(settings) => deliver(&in_time(check, settings, connect), Ending::Answered),
        Err(error) => {
            let why = CannotTell::because(error.to_string());
            deliver(&answer::of(&name, None, Err(why)), Ending::NotTold)
        }
    }
}

/// The check has a thread of its own: whatever it does with it, there is an answer in time.
fn in_time<F>(
    check: impl Check,
    settings: Settings,
    connect: impl FnOnce(Option<PathBuf>) -> F + Send + 'static,
) -> Answer
where
    F: Future<Output = Result<Client, Box<dyn Error + Send + Sync>>>,
{
    let (name, target, time) =
        (check.name().to_owned(), settings.target.clone(), settings.time(fairway_clock::now()));
    let no_answer = |why| answer::of(&name, Some(&target), Err(why));
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(look(check, settings, time, connect)));
    match told.recv_timeout(time + RELUCTANCE) {
        Ok(Ok(answer)) => answer,
        Ok(Err(why)) => no_answer(why),
        Err(RecvTimeoutError::Timeout) => no_answer(CannotTell::TimedOut(time)),
        Err(RecvTimeoutError::Disconnected) => {
            no_answer(CannotTell::Panicked("thread ended without a result".to_owned()))
        }
    }
}

fn look<F>(
    check: impl Check,
    settings: Settings,
    time: Duration,
    connect: impl FnOnce(Option<PathBuf>) -> F,
) -> Result<Answer, CannotTell>
where
    F: Future<Output = Result<Client, Box<dyn Error + Send + Sync>>>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CannotTell::because(error.to_string()))?;
    runtime.block_on(async {
        let client = connect(settings.kubeconfig.clone()).await;
        let client = client.map_err(|error| unreachable(error.as_ref()))?;
        let cluster = Cluster::new(client, Patience::default()).within(memory::GUARD);
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
    // The cluster is asked again by those who know how much time there is.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

fn unreachable(error: &(dyn Error + 'static)) -> CannotTell {
    CannotTell::because(format!("cannot connect to the cluster: {error}"))
}

fn deliver(answer: &Answer, ending: Ending) -> Ending {
    let delivered = delivery::line(answer).and_then(|line| {
        delivery::leave(&line, Path::new(delivery::TERMINATION_LOG));
        delivery::print(&line)
    });
    end(delivered, ending)
}

fn end(delivered: std::io::Result<()>, ending: Ending) -> Ending {
    let Err(error) = delivered else { return ending };
    // Where even this cannot be written, the code alone tells.
    let _ = writeln!(std::io::stderr(), "cannot write the result: {error}");
    Ending::NotWritten
}
