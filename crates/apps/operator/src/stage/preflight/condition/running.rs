//! `PreflightRunning`: whether the target release is examining this cluster.

use std::fmt::Write as _;

use fairway_api::OperatorCondition;
use fairway_api::reason::{Reason, preflight_running as reason};
use fairway_findings::{CheckKind, Document, ExecutionStatus, Progress};

use super::{Named, Phase, Situation};

pub(super) fn condition(situation: &Situation) -> OperatorCondition {
    let (runs, reason, message) = said(situation);
    super::condition(reason::TYPE, runs, reason, &message)
}

fn said(situation: &Situation) -> (bool, Reason, String) {
    match situation.phase {
        Phase::NotRequested => {
            (false, reason::NOT_REQUESTED, "No preflight is requested.".to_owned())
        }
        Phase::Held(held) => {
            let message = format!("The operator runs neither the preflight nor an update: {held}.");
            (false, reason::HELD, message)
        }
        Phase::LookingUp(version) => {
            (true, reason::STARTING, format!("Looking up release {version}."))
        }
        Phase::Retrieving(target) => {
            (true, reason::STARTING, format!("Retrieving and verifying release {target}."))
        }
        Phase::Clearing(target) => {
            let message =
                format!("Removing the previous preflight before starting that of {target}.");
            (true, reason::STARTING, message)
        }
        Phase::Starting(target) => (true, reason::STARTING, starting(target)),
        Phase::Restarting(target, node) => {
            let message = format!(
                "The operator now runs on node {node}; restarting the preflight of {target} there."
            );
            (true, reason::RESTARTING, message)
        }
        Phase::Running(target) => match situation.document {
            Some(document) if document.execution_status == ExecutionStatus::Completed => {
                (true, reason::MONITORING, monitoring(target, document))
            }
            Some(document) => (true, reason::CHECKING, checking(target, document)),
            None => (true, reason::STARTING, starting(target)),
        },
        Phase::Stopped(target) => {
            let message = format!(
                "The preflight of {target} stopped; see the condition PreflightFailed. Run \
                 `fairway upgrade --clear-preflight` to withdraw the request."
            );
            (false, reason::STOPPED, message)
        }
    }
}

fn starting(target: Named) -> String {
    let unverified = target
        .unverified
        .map(|why| format!(" Its signature is not verified, but the request is forced: {why}."));
    format!("Starting the preflight of {target}.{}", unverified.unwrap_or_default())
}

fn checking(target: Named, document: &Document) -> String {
    format!("The preflight of {target} checks this cluster, read-only: {}.", progress(document))
}

fn monitoring(target: Named, document: &Document) -> String {
    format!(
        "The preflight of {target} has checked this cluster ({}) and repeats checks when the \
         cluster changes. Run `fairway upgrade --clear-preflight` to end it, or \
         `fairway upgrade --to={target}` to start the update.",
        progress(document)
    )
}

/// How far it is: operators first, for they are what people wait for.
pub(super) fn progress(document: &Document) -> String {
    let operators = document.progress(CheckKind::Operator);
    let own = document.progress(CheckKind::BuiltIn);
    let mut told = format!("{} of {} operators checked", operators.answered, operators.total);
    if own.total > 0 {
        let _ = write!(told, ", {} of {} built-in checks done", own.answered, own.total);
    }
    let unanswered = operators.failed + own.failed;
    if unanswered > 0 {
        let _ = write!(told, ", {unanswered} without a result");
    }
    if remaining(operators, own) > 0 {
        let _ = write!(told, ", {} remaining", remaining(operators, own));
    }
    told
}

fn remaining(operators: Progress, own: Progress) -> usize {
    operators.remaining() + own.remaining()
}
