//! Starting containers, and looking after them from the sandbox's side.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::files::remove_tree;
use crate::init::channel::{LONGEST_MESSAGE, encode};
use crate::init::{ARGUMENT, Attachment, Confinement, Order, Plan, Report, Root, Stage};

/// What a container's end is called if nobody is left to tell it: as if it had been killed.
const KILLED: i32 = 128 + 9;

/// How containers are started on this machine.
#[derive(Clone, Debug)]
pub struct Runtime {
    program: PathBuf,
    mode: Mode,
}

/// What the kernel lets this process do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mode {
    /// How containers are kept apart.
    pub confinement: Confinement,
    /// Whether they share the files of their image; else each has a copy.
    pub overlay: bool,
    /// Why not better.
    pub refusals: Vec<String>,
}

/// What somebody who runs pods wants to know of it.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.confinement {
            Confinement::Plain => {
                f.write_str(
                    "Pods run as processes without isolation, with all permissions of this user",
                )?;
                self.refusals.iter().try_for_each(|why| write!(f, "; {why}"))?;
                f.write_str(".")
            }
            _ => f.write_str("Pods run as processes in separate namespaces."),
        }
    }
}

/// Why a container did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The container said why.
    #[error("{0}")]
    Refused(String),
    /// It could not even be asked.
    #[error("cannot start the container's init process")]
    Io(#[from] io::Error),
}

/// A container that runs. It ends when this is dropped.
#[derive(Debug)]
pub struct Container {
    /// Its program, as a process of this machine.
    pub process: i32,
    /// What it writes.
    pub output: Option<Output>,
    /// How it can be told something.
    pub orders: Orders,
    /// How it ends.
    pub end: End,
}

/// What a container writes.
#[derive(Debug)]
pub struct Output {
    /// Standard output.
    pub stdout: ChildStdout,
    /// Standard error.
    pub stderr: ChildStderr,
}

/// Signals for a container.
#[derive(Debug)]
pub struct Orders(OwnedWriteHalf);

/// The end of a container.
#[derive(Debug)]
pub struct End {
    reports: OwnedReadHalf,
    child: Child,
}

impl Orders {
    /// Sends a signal to the program. It may have ended already.
    pub async fn signal(&mut self, number: i32) {
        if let Ok(order) = encode(&Order::Signal(number)) {
            let _ = self.0.write_all(&order).await;
        }
    }
}

impl End {
    /// Waits until nothing is left of the container, and tells how its program ended.
    pub async fn wait(mut self) -> i32 {
        let report = receive(&mut self.reports).await;
        // What is in a namespace is gone when the process that waits for its first one is.
        let _ = self.child.wait().await;
        match report {
            Ok(Some(Report::Ended { code })) => code,
            _ => KILLED,
        }
    }
}

impl Runtime {
    /// Finds out what the kernel allows, by starting a container of nothing in that directory.
    pub async fn probe(program: PathBuf, directory: &Path) -> io::Result<Self> {
        let mut refusals = Vec::new();
        for (confinement, overlay) in candidates() {
            let mode = Mode { confinement, overlay, refusals: refusals.clone() };
            let runtime = Self { program: program.clone(), mode };
            let plan = nothing(confinement, &probe_root(directory, overlay)?);
            let answer = runtime.launch(&plan, confinement.first_stage(), &plan).await;
            remove_tree(directory)?;
            match answer {
                Ok(_) => return Ok(runtime),
                Err(StartError::Refused(why)) if !refusals.contains(&why) => refusals.push(why),
                Err(StartError::Refused(_)) => {}
                Err(StartError::Io(error)) => return Err(error),
            }
        }
        let mode = Mode { confinement: Confinement::Plain, overlay: false, refusals };
        Ok(Self { program, mode })
    }

    /// What the kernel allows.
    pub fn mode(&self) -> &Mode {
        &self.mode
    }

    /// Starts a container; returns when its program runs.
    pub async fn start(&self, plan: &Plan) -> Result<Container, StartError> {
        self.launch(plan, plan.confinement.first_stage(), plan).await
    }

    /// Runs another program in a container; returns its exit code and the beginning of its output.
    pub async fn attach(&self, attachment: &Attachment) -> Result<(i32, Vec<u8>), StartError> {
        let (mut socket, mut child) = self.spawn(Stage::Attach)?;
        socket.write_all(&encode(attachment)?).await?;
        let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
        let mut output = Vec::new();
        let read = async {
            // More than this no event and no log quotes.
            const QUOTED: u64 = 10 << 10;
            if let Some(stdout) = &mut stdout {
                let _ = stdout.take(QUOTED).read_to_end(&mut output).await;
            }
            if let Some(stderr) = &mut stderr {
                let _ = stderr.take(QUOTED).read_to_end(&mut output).await;
            }
        };
        let (report, ()) = tokio::join!(receive(&mut socket), read);
        match report? {
            Some(Report::Ended { code }) => Ok((code, output)),
            Some(Report::Refused { message }) => Err(StartError::Refused(message)),
            _ => Err(StartError::Refused("the container has exited".to_owned())),
        }
    }

    async fn launch(
        &self,
        plan: &Plan,
        stage: Stage,
        message: &impl serde::Serialize,
    ) -> Result<Container, StartError> {
        let (mut socket, mut child) = self.spawn(stage)?;
        socket.write_all(&encode(message)?).await?;
        let process = match receive(&mut socket).await? {
            Some(Report::Running { process }) => process,
            Some(Report::Ended { code: 0 }) if plan.command.is_empty() => 0,
            Some(Report::Refused { message }) => return Err(StartError::Refused(message)),
            other => {
                let message = format!("the container's init process has exited: {other:?}");
                return Err(StartError::Refused(message));
            }
        };
        let output = child.stdout.take().zip(child.stderr.take());
        let output = output.map(|(stdout, stderr)| Output { stdout, stderr });
        let (reports, orders) = socket.into_split();
        Ok(Container { process, output, orders: Orders(orders), end: End { reports, child } })
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
            // Keys that end the sandbox are not for containers.
            .process_group(0)
            .spawn()?;
        Ok((UnixStream::from_std(ours)?, child))
    }
}

/// From the most to the least that the kernel could allow.
fn candidates() -> Vec<(Confinement, bool)> {
    let mut candidates = Vec::new();
    if rustix::process::geteuid().is_root() {
        candidates.extend([(Confinement::Root, true), (Confinement::Root, false)]);
    }
    candidates.extend([(Confinement::User, true), (Confinement::User, false)]);
    candidates
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

/// Makes what an overlay needs.
pub fn prepare_overlay(directory: &Path, image: &Path) -> io::Result<Root> {
    for name in ["upper", "work", "root"] {
        std::fs::create_dir_all(directory.join(name))?;
    }
    std::os::unix::fs::symlink(image, directory.join("lower"))?;
    Ok(Root::Overlay(directory.to_owned()))
}

fn nothing(confinement: Confinement, root: &Root) -> Plan {
    Plan {
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

async fn receive(from: &mut (impl AsyncReadExt + Unpin)) -> io::Result<Option<Report>> {
    let length = match from.read_u32().await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        length => length? as usize,
    };
    if length > LONGEST_MESSAGE {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text).await?;
    Ok(Some(serde_json::from_slice(&text)?))
}
