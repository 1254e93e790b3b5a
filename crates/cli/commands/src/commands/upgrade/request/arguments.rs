//! Requests of the command line, and the confirmation that some of them need.

use std::cell::RefCell;

use fairway_api::cluster_version::Release;

use super::super::release::{ReleaseReference, RequestTarget};
use super::cautions::UpdateCaution;
use super::outcome::UpdateOutcome;
use crate::args::upgrade::RequestArgs;
use crate::errors::{Refused, WrongUsage};
use crate::foreign_text::OneLine;
use crate::printer::Printer;
use crate::terminal;

/// Request of the command line.
#[derive(Debug)]
pub(super) enum UpdateRequest {
    /// Update to a release.
    Release(ReleaseRequest),
    /// Multi-architecture release of the same version.
    MultiArch(MultiArchRequest),
    /// Rollback to the previous release.
    Rollback,
    /// Withdrawal of the request.
    Clear,
}

/// Update to a release, with the checks that are waived.
#[expect(clippy::struct_excessive_bools, reason = "each waives one check")]
#[derive(Debug)]
pub(super) struct ReleaseRequest {
    pub(super) target: RequestTarget,
    /// Whether the update may be not recommended; its risks are accepted.
    pub(super) allow_not_recommended: bool,
    /// Whether the image may be unlisted.
    pub(super) allow_explicit: bool,
    /// Whether the cluster may be failing or updating.
    pub(super) allow_warnings: bool,
    /// Whether signature and preconditions are waived.
    pub(super) force: bool,
    /// User who accepts the risks.
    pub(super) user: Option<String>,
    /// Metadata of an unlisted image, or why it could not be read.
    pub(super) image_metadata: Option<Result<Box<Release>, String>>,
}

/// Change to the multi-architecture release, with the checks that are waived.
#[derive(Debug)]
pub(super) struct MultiArchRequest {
    /// Whether the cluster may be failing or updating.
    pub(super) allow_warnings: bool,
    /// Whether signature and preconditions are waived.
    pub(super) force: bool,
}

impl UpdateRequest {
    /// The request of the arguments.
    pub(super) fn of(args: &RequestArgs) -> Result<Self, WrongUsage> {
        let (allow_warnings, force) = (args.allow_upgrade_with_warnings, args.force);
        if args.to_multi_arch {
            return Ok(Self::MultiArch(MultiArchRequest { allow_warnings, force }));
        }
        let Some(target) = RequestTarget::of(args)? else { return Ok(Self::Clear) };
        Ok(Self::Release(ReleaseRequest {
            target,
            allow_not_recommended: args.allow_not_recommended,
            allow_explicit: args.allow_explicit_upgrade,
            allow_warnings,
            force,
            user: None,
            image_metadata: None,
        }))
    }
}

impl ReleaseRequest {
    /// Image of unknown version that may be unlisted. Its metadata is read from the registry.
    pub(super) fn unknown_image(&self) -> Option<&str> {
        match &self.target {
            RequestTarget::Image { image, version: None } if self.allow_explicit => Some(image),
            _ => None,
        }
    }
}

/// Confirmation of cautions by the user.
pub(super) struct Confirmation<'a> {
    printer: &'a Printer,
    /// Whether `--yes` confirms everything.
    yes: bool,
    confirmed: RefCell<Vec<UpdateCaution>>,
}

impl<'a> Confirmation<'a> {
    pub(super) fn new(printer: &'a Printer, yes: bool) -> Self {
        Self { printer, yes, confirmed: RefCell::default() }
    }

    /// Asks for confirmation of the cautions that need one. After a conflict, the change is decided
    /// again, and only new cautions need a confirmation.
    pub(super) fn obtain(&self, outcome: &UpdateOutcome) -> anyhow::Result<()> {
        let mut confirmed = self.confirmed.borrow_mut();
        let open: Vec<&UpdateCaution> = outcome
            .cautions
            .iter()
            .filter(|caution| caution.needs_confirmation() && !confirmed.contains(caution))
            .collect();
        if open.is_empty() || self.yes {
            return Ok(());
        }
        let texts: Vec<String> = open.iter().map(ToString::to_string).collect();
        match terminal::confirm(self.printer, &query(outcome, &texts))? {
            Some(true) => {
                confirmed.extend(open.into_iter().cloned());
                Ok(())
            }
            Some(false) => Err(declined().into()),
            None => Err(no_terminal(&texts).into()),
        }
    }

    /// Cautions and warnings that the query did not show.
    pub(super) fn warnings(&self, outcome: &UpdateOutcome) -> Vec<String> {
        let confirmed = self.confirmed.borrow();
        let cautions = outcome.cautions.iter().filter(|caution| !confirmed.contains(caution));
        let warnings = outcome.warnings.iter().cloned();
        cautions.map(ToString::to_string).chain(warnings).collect()
    }
}

fn query(outcome: &UpdateOutcome, cautions: &[String]) -> String {
    let name = outcome.release.as_ref().map_or("this release", ReleaseReference::name);
    format!("Confirm the update to {}:\n  * {}\nContinue?", OneLine(name), cautions.join("\n  * "))
}

fn declined() -> Refused {
    Refused::new(
        "not confirmed, nothing changed",
        "run `fairway upgrade` to list recommended updates",
    )
}

fn no_terminal(cautions: &[String]) -> WrongUsage {
    WrongUsage(format!(
        "confirmation required, but there is no terminal: {}; add --yes to confirm",
        cautions.join("; ")
    ))
}
