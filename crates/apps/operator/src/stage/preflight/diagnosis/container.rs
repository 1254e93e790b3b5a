//! What the container of a run went through.

use fairway_api::reason::preflight_failed;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Event, Pod};

use super::{Trouble, pull, quoted};

/// What programs say that do not know what they are asked to do.
const NOT_KNOWN: [&str; 4] = [
    "unrecognized subcommand 'preflight'",
    "unknown command \"preflight\"",
    "unknown subcommand",
    "unexpected argument 'preflight'",
];

/// The exit code of a program that is called in a way that it does not understand.
const WRONG_USAGE: i32 = 2;

/// Signals that come from outside: the kernel's or an administrator's.
const KILLED: [i32; 2] = [128 + 9, 128 + 15];

/// Exit codes of those who start programs, where there is nothing to start.
const NOT_STARTED: [i32; 3] = [126, 127, 128];

/// The one container.
fn status(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

/// Whether the program has ever been started.
pub(super) fn has_started(pod: &Pod) -> bool {
    status(pod).is_some_and(|status| {
        let state = status.state.as_ref();
        status.restart_count > 0
            || state.is_some_and(|state| state.running.is_some() || state.terminated.is_some())
    })
}

/// How often it has ended. A program that waits to be started again has ended once more than it was
/// started again.
pub(super) fn crashes(pod: &Pod) -> u32 {
    let Some(status) = status(pod) else { return 0 };
    let restarts = u32::try_from(status.restart_count).unwrap_or_default();
    let is_down = status.state.as_ref().is_some_and(|state| {
        state.terminated.is_some()
            || state.waiting.as_ref().and_then(|waiting| waiting.reason.as_deref())
                == Some("CrashLoopBackOff")
    });
    restarts + u32::from(is_down)
}

/// What is wrong with it.
pub(super) fn trouble(pod: &Pod, events: &[&Event], has_results: bool) -> Option<Trouble> {
    let status = status(pod)?;
    let state = status.state.as_ref()?;
    if let Some(waiting) = &state.waiting {
        let reason = waiting.reason.as_deref().unwrap_or_default();
        let message = waiting.message.as_deref();
        if let Some(trouble) = pull::trouble(reason, message, events) {
            return Some(trouble);
        }
        if matches!(
            reason,
            "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError"
        ) {
            return Some(not_started(message));
        }
    }
    // Once it runs again and has spoken, how it ended before is no trouble any more.
    let is_well = state.running.is_some() && has_results;
    let last = status.last_state.as_ref().and_then(|state| state.terminated.as_ref());
    let ended = state.terminated.as_ref().or(last.filter(|_| !is_well));
    ended.map(|ended| ended_with(ended, has_results))
}

fn not_started(words: Option<&str>) -> Trouble {
    let message = format!("cannot start the target release: {}", quoted(words));
    Trouble::passing(preflight_failed::START_FAILED, message)
}

fn ended_with(ended: &ContainerStateTerminated, has_results: bool) -> Trouble {
    let words = ended.message.as_deref();
    let reason = ended.reason.as_deref().unwrap_or_default();
    if reason == "OOMKilled" {
        let message = "the target release exceeded the memory limit of the preflight".to_owned();
        return Trouble::passing(preflight_failed::OOM_KILLED, message);
    }
    if matches!(reason, "ContainerCannotRun" | "StartError")
        || (NOT_STARTED.contains(&ended.exit_code) && !has_results)
    {
        return not_started(words);
    }
    if !has_results && does_not_know(ended.exit_code, words.unwrap_or_default()) {
        let message = "the target release is too old to support preflights".to_owned();
        return Trouble::lasting(preflight_failed::PREFLIGHT_NOT_SUPPORTED, message);
    }
    if KILLED.contains(&ended.exit_code) {
        let signal = ended.exit_code - 128;
        let message = format!("signal {signal} terminated the target release");
        return Trouble::passing(preflight_failed::KILLED, message);
    }
    let (code, words) = (ended.exit_code, quoted(words));
    let message = format!("the target release exited with code {code}: {words}");
    Trouble::passing(preflight_failed::CRASH_LOOP_BACK_OFF, message)
}

/// Whether a program does not know what a preflight is. Its exit code alone does not tell: others
/// end with it when they crash.
fn does_not_know(code: i32, words: &str) -> bool {
    let lower = words.to_lowercase();
    NOT_KNOWN.iter().any(|sentence| lower.contains(sentence))
        || (code == WRONG_USAGE && lower.contains("usage:"))
}
