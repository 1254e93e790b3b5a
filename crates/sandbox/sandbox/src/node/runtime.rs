//! Container runtime: starts containers and waits for their exit.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::{fmt, io};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::files::remove_tree;
use crate::init::protocol::{MAX_MESSAGE_BYTES, encode};
use crate::init::{
    ARGUMENT, Attachment, Confinement, ContainerReport, ContainerRequest, ContainerSpec, Root,
    Stage,
};

/// Exit code if the supervisor is gone without a report, as after SIGKILL.
const SIGKILL_EXIT_CODE: i32 = 128 + 9;

/// Starts containers on this host.
#[derive(Clone, Debug)]
pub struct Runtime {
    program: PathBuf,
    mode: Mode,
}

/// Container isolation that the kernel allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode {
    /// Isolation from the host.
    pub confinement: Confinement,
    /// Whether containers share the files of their image through overlayfs; otherwise each has a
    /// copy.
    pub overlay: bool,
    /// Why no better isolation is possible.
    pub refusals: Vec<String>,
}

/// A sentence for the user of the sandbox.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.confinement {
            Confinement::Plain => {
                f.write_str(
                    "Pods run as processes without isolation, with all permissions of the current \
                     user",
                )?;
                self.refusals.iter().try_for_each(|why| write!(f, "; {why}"))?;
                f.write_str(".")
            }
            _ => f.write_str("Pods run as processes in separate namespaces."),
        }
    }
}

/// Error while starting a container.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The container reported an error.
    #[error("{0}")]
    Refused(String),
    /// The init process could not be started.
    #[error("cannot start the container's init process")]
    Io(#[from] io::Error),
}

/// A running container. Dropping it kills the container.
#[derive(Debug)]
pub struct Container {
    /// PID of the program on the host.
    pub process: i32,
    /// Output of the program.
    pub output: Option<Output>,
    /// Sends signals.
    pub orders: SignalSender,
    /// Waits for the exit.
    pub end: ExitWaiter,
}

/// Output of a container.
#[derive(Debug)]
pub struct Output {
    /// Standard output.
    pub stdout: ChildStdout,
    /// Standard error.
    pub stderr: ChildStderr,
}

/// Sends signals to a container.
#[derive(Debug)]
pub struct SignalSender(OwnedWriteHalf);

/// Waits for the exit of a container.
#[derive(Debug)]
pub struct ExitWaiter {
    reports: OwnedReadHalf,
    child: Child,
}

impl SignalSender {
    /// Sends a signal to the program, which may have exited already.
    pub async fn signal(&mut self, number: i32) {
        if let Ok(order) = encode(&ContainerRequest::Signal(number)) {
            let _ = self.0.write_all(&order).await;
        }
    }
}

impl ExitWaiter {
    /// Waits until all processes of the container have exited; returns the exit code of the
    /// program.
    pub async fn wait(mut self) -> i32 {
        let report = receive(&mut self.reports).await;
        // The stage process exits after PID 1, and so after all processes of the namespace.
        let _ = self.child.wait().await;
        match report {
            Ok(Some(ContainerReport::Ended { code })) => code,
            _ => SIGKILL_EXIT_CODE,
        }
    }
}

impl Runtime {
    /// Determines what the kernel allows by preparing an empty container in this directory.
    pub async fn probe(program: PathBuf, directory: &Path) -> io::Result<Self> {
        let mut refusals = Vec::new();
        for (confinement, overlay) in isolation_modes() {
            let mode = Mode { confinement, overlay, refusals: refusals.clone() };
            let runtime = Self { program: program.clone(), mode };
            let plan = empty_spec(confinement, &probe_root(directory, overlay)?);
            let result = runtime.launch(&plan, confinement.first_stage(), &plan).await;
            remove_tree(directory)?;
            match result {
                Ok(_) => return Ok(runtime),
                Err(StartError::Refused(why)) if !refusals.contains(&why) => refusals.push(why),
                Err(StartError::Refused(_)) => {}
                Err(StartError::Io(error)) => return Err(error),
            }
        }
        let mode = Mode { confinement: Confinement::Plain, overlay: false, refusals };
        Ok(Self { program, mode })
    }

    /// The isolation that the kernel allows.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Starts a container; returns when its program runs.
    pub async fn start(&self, plan: &ContainerSpec) -> Result<Container, StartError> {
        self.launch(plan, plan.confinement.first_stage(), plan).await
    }

    /// Runs an additional program in a container; returns its exit code and the start of its
    /// output.
    pub async fn attach(&self, attachment: &Attachment) -> Result<(i32, Vec<u8>), StartError> {
        let (mut socket, mut child) = self.spawn(Stage::Attach)?;
        socket.write_all(&encode(attachment)?).await?;
        let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
        let mut output = Vec::new();
        let read = async {
            // More than events and logs quote.
            const MAX_QUOTED_BYTES: u64 = 10 << 10;
            if let Some(stdout) = &mut stdout {
                let _ = stdout.take(MAX_QUOTED_BYTES).read_to_end(&mut output).await;
            }
            if let Some(stderr) = &mut stderr {
                let _ = stderr.take(MAX_QUOTED_BYTES).read_to_end(&mut output).await;
            }
        };
        let (report, ()) = tokio::join!(receive(&mut socket), read);
        match report? {
            Some(ContainerReport::Ended { code }) => Ok((code, output)),
            Some(ContainerReport::Refused { message }) => Err(StartError::Refused(message)),
            _ => Err(StartError::Refused("the container has exited".to_owned())),
        }
    }

    async fn launch(
        &self,
        plan: &ContainerSpec,
        stage: Stage,
        message: &impl serde::Serialize,
    ) -> Result<Container, StartError> {
        let (mut socket, mut child) = self.spawn(stage)?;
        socket.write_all(&encode(message)?).await?;
        let process = match receive(&mut socket).await? {
            Some(ContainerReport::Running { process }) => process,
            Some(ContainerReport::Ended { code: 0 }) if plan.command.is_empty() => 0,
            Some(ContainerReport::Refused { message }) => return Err(StartError::Refused(message)),
            other => {
                let message = format!("the container's init process has exited: {other:?}");
                return Err(StartError::Refused(message));
            }
        };
        let output = child.stdout.take().zip(child.stderr.take());
        let output = output.map(|(stdout, stderr)| Output { stdout, stderr });
        let (reports, orders) = socket.into_split();
        Ok(Container {
            process,
            output,
            orders: SignalSender(orders),
            end: ExitWaiter { reports, child },
        })
    }

    fn spawn(&self, stage: Stage) -> io::Result<(UnixStream, Child)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let child = Command::new(&self.program)
            .arg(ARGUMENT)
            .arg(stage.as_str())
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C of the sandbox's terminal must not reach containers.
            .process_group(0)
            .spawn()?;
        Ok((UnixStream::from_std(ours)?, child))
    }
}

/// Modes to try, from the strictest to the weakest.
fn isolation_modes() -> Vec<(Confinement, bool)> {
    let mut isolation_modes = Vec::new();
    if rustix::process::geteuid().is_root() {
        isolation_modes.extend([(Confinement::Root, true), (Confinement::Root, false)]);
    }
    isolation_modes.extend([(Confinement::User, true), (Confinement::User, false)]);
    isolation_modes
}

fn probe_root(directory: &Path, overlay: bool) -> io::Result<Root> {
    if !overlay {
        std::fs::create_dir_all(directory)?;
        return Ok(Root::Directory(directory.to_owned()));
    }
    let image = directory.join("image");
    std::fs::create_dir_all(&image)?;
    prepare_overlay(directory, &image)
}

/// Creates the directories of an overlay.
pub fn prepare_overlay(directory: &Path, image: &Path) -> io::Result<Root> {
    for name in ["upper", "work", "root"] {
        std::fs::create_dir_all(directory.join(name))?;
    }
    std::os::unix::fs::symlink(image, directory.join("lower"))?;
    Ok(Root::Overlay(directory.to_owned()))
}

fn empty_spec(confinement: Confinement, root: &Root) -> ContainerSpec {
    ContainerSpec {
        confinement,
        root: root.clone(),
        read_only_root: false,
        mounts: Vec::new(),
        hostname: "probe".to_owned(),
        command: Vec::new(),
        environment: Vec::new(),
        working_directory: PathBuf::from("/"),
        user: 0,
        group: 0,
        groups: Vec::new(),
        capabilities: Some(Vec::new()),
    }
}

async fn receive(from: &mut (impl AsyncReadExt + Unpin)) -> io::Result<Option<ContainerReport>> {
    let length = match from.read_u32().await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        length => length? as usize,
    };
    if length > MAX_MESSAGE_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text).await?;
    Ok(Some(serde_json::from_slice(&text)?))
}
