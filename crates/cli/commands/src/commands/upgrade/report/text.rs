//! Text of the report.

use std::fmt;

use fairway_api::reason::{
    failing, invalid, preflight_completed, preflight_failed, preflight_running, progressing,
    release_accepted, retrieved_updates, upgradeable,
};
use fairway_risk::AcceptanceState;

use super::super::acceptance::TermsSuffix;
use super::super::notes;
use super::super::risks::Exposure;
use super::{AcceptedRisk, Condition, NotRecommended, Report, Requested, Risk};
use crate::foreign_text::{OneLine, lines};

/// Width of the version column in `oc adm upgrade`; longer versions widen it.
const VERSION_WIDTH: usize = 12;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_version(f)?;
        self.write_preflight(f)?;
        self.write_conditions(f)?;
        self.write_source(f)?;
        self.write_recommended(f)?;
        self.write_not_recommended(f)?;
        notes::write(f, &self.notes)?;
        self.write_accepted(f)
    }
}

impl Report {
    fn write_version(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.current, &self.desired) {
            (Some(current), _) => write!(f, "Cluster version is {}", OneLine(current.name()))?,
            (None, Some(desired)) => write!(
                f,
                "No release is complete yet; the operator is applying {}.",
                OneLine(desired.name())
            )?,
            (None, None) => {
                return f.write_str(
                    "The version of this cluster is unknown: ClusterVersion has no status yet.",
                );
            }
        }
        if let Some(message) = self.progress() {
            write!(f, "\n\ninfo: An upgrade is in progress. {}", OneLine(message))?;
        }
        let shown_below =
            |request: &Requested| request.mode.is_some() && self.preflight().is_some();
        let requested = self.requested.as_ref();
        if let Some(requested) =
            requested.filter(|request| !self.has_started(request) && !shown_below(request))
        {
            write!(f, "\n\n{requested}")?;
        }
        if !self.spec_observed {
            f.write_str(
                "\n\nThe operator has not processed the latest change of ClusterVersion yet; this \
                 report shows the previous state.",
            )?;
        }
        Ok(())
    }

    /// Message of the update in progress.
    fn progress(&self) -> Option<&str> {
        let condition = self.condition(progressing::TYPE)?;
        (condition.status == "True").then(|| condition.message.as_deref().unwrap_or_default())
    }

    /// Writes the state or result of a preflight in one line.
    fn write_preflight(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(text) = self.preflight() else { return Ok(()) };
        let requested = self.requested.as_ref().filter(|request| request.mode.is_some());
        f.write_str("\n\nPreflight")?;
        if let Some(requested) = requested {
            write!(f, " of {}", OneLine(requested.target()))?;
        }
        write!(f, ": {} See `fairway upgrade --status-preflight`.", OneLine(text))
    }

    /// Message of the failure, result or progress of a preflight.
    fn preflight(&self) -> Option<&str> {
        let idle = [preflight_running::NOT_REQUESTED.code, preflight_running::TYPE];
        let failed = self.condition(preflight_failed::TYPE).filter(|one| one.status == "True");
        let types = [preflight_completed::TYPE, preflight_running::TYPE].into_iter();
        let mut conditions =
            failed.into_iter().chain(types.filter_map(|type_| self.condition(type_)));
        let condition =
            conditions.find(|one| !idle.contains(&one.reason.as_deref().unwrap_or_default()))?;
        condition.message.as_deref().or(condition.reason.as_deref())
    }

    fn has_started(&self, requested: &Requested) -> bool {
        let Some(desired) = &self.desired else { return false };
        let same_image = requested.image.as_ref().is_none_or(|image| *image == desired.image);
        let same_version = requested.version.is_none() || requested.version == desired.version;
        let fits = requested.fits_architecture && same_image && same_version;
        requested.mode.is_none() && fits
    }

    fn condition(&self, type_: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.type_ == type_)
    }

    /// Writes conditions that block updates.
    fn write_conditions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (type_, expected) in [
            (invalid::TYPE, "False"),
            (failing::TYPE, "False"),
            (release_accepted::TYPE, "True"),
            (upgradeable::TYPE, "True"),
        ] {
            if let Some(condition) = self.condition(type_).filter(|one| one.status != expected) {
                write!(f, "\n\n{condition}")?;
            }
        }
        Ok(())
    }

    fn write_source(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.channel, &self.upstream) {
            (None, _) => f.write_str(
                "\n\nNo channel is set, so the operator does not retrieve updates. Set one with\n  \
                 fairway upgrade channel CHANNEL",
            )?,
            (Some(_), Some(upstream)) => write!(f, "\n\nUpstream: {}", OneLine(upstream))?,
            (Some(_), None) => f.write_str(
                "\n\nUpstream is unset, so the cluster will use an appropriate default.",
            )?,
        }
        if let Some(channel) = &self.channel {
            write!(f, "\nChannel: {}", OneLine(channel))?;
            if !self.channels.is_empty() {
                let channels = self.channels.join(", ");
                write!(f, " (available channels: {})", OneLine(&channels))?;
            }
        }
        Ok(())
    }

    fn write_recommended(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let retrieved = self.condition(retrieved_updates::TYPE);
        if let Some(condition) = retrieved.filter(|one| one.status != "True") {
            write!(f, "\n\n{condition}")?;
            if let Some(age) = condition.age_seconds {
                let listed =
                    if self.updates_retrieved { "; the listed updates are older" } else { "" };
                write!(f, "\n  Since: {} ago{listed}", Age(age))?;
            }
        }
        if !self.updates_retrieved {
            return f.write_str("\n\nThe available updates are unknown.");
        }
        if self.recommended.is_empty() {
            return f.write_str("\n\nNo updates are recommended for this cluster.");
        }
        let longest = self.recommended.iter().map(|release| release.name().len()).max();
        let width = longest.unwrap_or_default().max(VERSION_WIDTH - 1) + 1;
        write!(f, "\n\nRecommended updates:\n\n  {:width$}IMAGE", "VERSION")?;
        for release in &self.recommended {
            let version = OneLine(release.name()).to_string();
            write!(f, "\n  {version:width$}{}", OneLine(&release.image))?;
        }
        Ok(())
    }

    fn write_not_recommended(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.in_full {
            return self.write_each_not_recommended(f);
        }
        if self.not_recommended.is_empty() {
            return Ok(());
        }
        let which = if self.not_recommended.iter().any(|update| update.recommended == "Unknown") {
            "not recommended, or where the recommended status is \"Unknown\", for your cluster configuration"
        } else {
            "not recommended based on your cluster configuration"
        };
        write!(
            f,
            "\n\nAdditional updates which are {which} are available, to view those re-run the command with --include-not-recommended."
        )
    }

    fn write_each_not_recommended(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.not_recommended.is_empty() && !self.updates_retrieved {
            return Ok(());
        }
        if self.not_recommended.is_empty() {
            return f.write_str(
                "\n\nNo updates which are not recommended based on your cluster configuration are available.",
            );
        }
        f.write_str("\n\nSupported but not recommended updates:")?;
        self.not_recommended.iter().try_for_each(|update| write!(f, "\n\n{update}"))
    }

    fn write_accepted(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.accepted_risks.is_empty() {
            return Ok(());
        }
        f.write_str("\n\nAccepted risks:\n")?;
        self.accepted_risks.iter().try_for_each(|risk| write!(f, "\n  {risk}"))
    }
}

impl fmt::Display for Requested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = OneLine(self.target());
        match &self.mode {
            Some(mode) => write!(f, "Requested: {} of {target}", OneLine(mode)),
            None if !self.fits_architecture => {
                write!(f, "Requested: {target} for multiple architectures, not started")
            }
            None => write!(f, "Requested: update to {target}, not started"),
        }
    }
}

impl Requested {
    /// Name of the requested release.
    fn target(&self) -> &str {
        self.version.as_deref().or(self.image.as_deref()).unwrap_or("no release")
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}={}:", OneLine(&self.type_), OneLine(&self.status))?;
        write_reason(f, self.reason.as_deref(), self.message.as_deref())
    }
}

impl fmt::Display for NotRecommended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "  Version: {}", OneLine(self.release.name()))?;
        write!(f, "\n  Image: {}", OneLine(&self.release.image))?;
        write!(f, "\n  Recommended: {}", OneLine(&self.recommended))?;
        write_reason(f, self.reason.as_deref(), self.message.as_deref())?;
        if !self.risks.is_empty() {
            f.write_str("\n  Risks:")?;
        }
        self.risks.iter().try_for_each(|risk| write!(f, "\n    {risk}"))
    }
}

/// Writes reason and message; a message of several lines starts on its own line.
pub(in super::super) fn write_reason(
    f: &mut fmt::Formatter<'_>,
    reason: Option<&str>,
    message: Option<&str>,
) -> fmt::Result {
    if let Some(reason) = reason.filter(|reason| !reason.is_empty()) {
        write!(f, "\n  Reason: {}", OneLine(reason))?;
    }
    let Some(message) = message.map(str::trim).filter(|message| !message.is_empty()) else {
        return Ok(());
    };
    if !message.contains('\n') {
        return write!(f, "\n  Message: {}", OneLine(message));
    }
    f.write_str("\n  Message:")?;
    for line in lines(message) {
        let line = line.to_string();
        if line.is_empty() { writeln!(f)? } else { write!(f, "\n    {line}")? }
    }
    Ok(())
}

impl fmt::Display for Risk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exposure = match self.exposure {
            Exposure::Exposed => "applies",
            Exposure::NotExposed => "does not apply",
            Exposure::Unknown => "may apply",
            Exposure::NotReported | Exposure::NotEvaluated => {
                "exposure not reported by the operator"
            }
        };
        write!(f, "{}: {exposure}{}", OneLine(&self.name), AcceptanceSuffix(&self.acceptance_state))
    }
}

impl fmt::Display for AcceptedRisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", OneLine(&self.name), TermsSuffix(&self.terms))?;
        f.write_str(match &self.acceptance_state {
            AcceptanceState::Expired(_) => " (expired)",
            AcceptanceState::TermsUnreadable(_) => " (no effect: invalid terms)",
            AcceptanceState::Accepted { changed: true } => " (the risk has changed since)",
            _ => "",
        })?;
        f.write_str(if self.updates.is_empty() { " (no available update has it)" } else { "" })
    }
}

/// State of the acceptance, after the text of a risk.
pub(in super::super) struct AcceptanceSuffix<'a>(pub(in super::super) &'a AcceptanceState);

impl fmt::Display for AcceptanceSuffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            AcceptanceState::NotAccepted => Ok(()),
            AcceptanceState::Accepted { changed: false } => f.write_str(", accepted"),
            AcceptanceState::Accepted { changed: true } => {
                f.write_str(", accepted before it changed")
            }
            AcceptanceState::Expired(until) => {
                write!(f, ", accepted until {} (expired)", OneLine(&until.to_string()))
            }
            AcceptanceState::OutOfScope(versions) => {
                write!(f, ", accepted only for {}", OneLine(&versions.to_string()))
            }
            AcceptanceState::TermsUnreadable(_) => f.write_str(", accepted with invalid terms"),
        }
    }
}

/// Seconds as text, in the two largest units.
pub(in crate::commands) struct Age(pub(in crate::commands) i64);

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.max(0);
        let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
        match (days, hours, minutes) {
            (0, 0, 0) => write!(f, "{seconds}s"),
            (0, 0, _) => write!(f, "{minutes}m"),
            (0, _, _) => write!(f, "{hours}h{}m", minutes % 60),
            _ => write!(f, "{days}d{}h", hours % 24),
        }
    }
}
