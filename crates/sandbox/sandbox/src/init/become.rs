//! Turning into the program of a container.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use super::channel::{Report, receive, send};
use super::plan::{Confinement, Plan};
use super::program::{self, Search};
use super::{mounts, plain, privileges, socket};

/// Returns only if it does not become the program.
pub(super) fn run() -> io::Result<ExitCode> {
    let supervisor = socket()?;
    let Some(plan) = receive::<Plan>(&supervisor)? else { return Ok(ExitCode::SUCCESS) };
    send(&supervisor, &Report::Running { process: own_number()? })?;
    if plan.command.is_empty() {
        return Ok(prepare(&plan)
            .map_or_else(|message| refuse(&supervisor, message), |()| ExitCode::SUCCESS));
    }
    let message = match prepare(&plan).and_then(|()| command(&plan)) {
        // The socket closes when the program is there.
        Ok(mut command) => program::failure(&plan.command[0], &command.exec()),
        Err(message) => message,
    };
    Ok(refuse(&supervisor, message))
}

fn refuse(supervisor: impl io::Write, message: String) -> ExitCode {
    // Without a supervisor there is nobody to tell.
    let _ = send(supervisor, &Report::Refused { message });
    ExitCode::FAILURE
}

/// The number of this process in the namespace of the sandbox, whose table of processes is still
/// the one that can be seen.
fn own_number() -> io::Result<i32> {
    let number = std::fs::read_link("/proc/self")?;
    let number = number.to_str().and_then(|number| number.parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn prepare(plan: &Plan) -> Result<(), String> {
    // A session of its own: what is meant for the sandbox's terminal is not for containers.
    rustix::process::setsid().map_err(|error| format!("cannot create a session: {error}"))?;
    if plan.confinement != Confinement::Plain {
        mounts::build(plan).map_err(|failure| failure.to_string())?;
        rustix::system::sethostname(plan.hostname.as_bytes())
            .map_err(|error| format!("cannot set the host name: {error}"))?;
    }
    enter_working_directory(plan)?;
    if plan.confinement != Confinement::Plain {
        privileges::give_up(plan)
            .map_err(|error| format!("cannot run as user {}: {error}", plan.user))?;
    }
    Ok(())
}

fn enter_working_directory(plan: &Plan) -> Result<(), String> {
    let directory = match plan.confinement {
        Confinement::Plain => plain::outside(plan, &plan.working_directory),
        Confinement::Root | Confinement::User => plan.working_directory.clone(),
    };
    // On a read-only root it has to be there already.
    let _ = std::fs::create_dir_all(&directory);
    std::env::set_current_dir(&directory).map_err(|error| {
        format!(
            "chdir to cwd ({:?}) set in config.json failed: {error}",
            plan.working_directory.to_string_lossy()
        )
    })
}

/// The program with its arguments and its environment.
pub(super) fn command(plan: &Plan) -> Result<Command, String> {
    let Some((name, arguments)) = plan.command.split_first() else {
        return Err("no command specified".to_owned());
    };
    let path = plan.environment.iter().rev().find(|(name, _)| name == "PATH");
    let search = Search { path: path.map_or("", |(_, path)| path), plan };
    let mut command = Command::new(search.find(name)?);
    command.arg0(name).args(arguments).env_clear().stdin(Stdio::null());
    if plan.confinement == Confinement::Plain {
        command.envs(plain::environment(plan));
    }
    command.envs(plan.environment.iter().map(|(name, value)| (name, value)));
    Ok(command)
}
