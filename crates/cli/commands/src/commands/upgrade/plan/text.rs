//! Plans as administrators read them.

mod why;

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::reason::{failing, invalid};
use fairway_insight::plan::{
    Exposure, GraphSource, Hop, HopRisk, Limitation, MetricsSource, Plan, Prerequisite,
    SkippedTarget, Verdict, Way,
};
use fairway_risk::Standing;
use fairway_text::counted;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::report::text::Age;
use crate::foreign_text::{OneLine, lines};

/// Plan with its text output.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(super) struct Shown<'a>(pub(super) &'a Plan);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.0;
        match &plan.least_risk {
            None => why::write_no_way(f, plan)?,
            Some(way) => self.write_way(f, way)?,
        }
        self.write_shorter(f)?;
        for passed in &plan.skipped_targets {
            write!(f, "\n\n{}", Passed(passed))?;
        }
        self.write_sources(f)
    }
}

impl Shown<'_> {
    fn write_way(&self, f: &mut fmt::Formatter<'_>, way: &Way) -> fmt::Result {
        let plan = self.0;
        let to = OneLine(plan.target.as_deref().unwrap_or(&plan.goal));
        if way.hops.is_empty() && plan.in_progress {
            return write!(
                f,
                "The update to {to} is in progress. Run `fairway upgrade status` for details."
            );
        }
        if way.hops.is_empty() {
            return write!(f, "The cluster runs {to}.");
        }
        let hops = counted(way.hops.len(), "hop");
        write!(
            f,
            "From {} to {to} in {hops}. {}",
            OneLine(&plan.from),
            Outlook(plan.verdict(), way)
        )?;
        for (place, hop) in way.hops.iter().enumerate() {
            write!(f, "\n\n{}. {}", place + 1, Shape(hop))?;
        }
        match &plan.not_offered {
            Some(why) => write!(f, "\n\n{to} is not available now: {}", why::Told(plan, why)),
            None => Ok(()),
        }
    }

    /// The way with the fewest hops, where it is another one.
    fn write_shorter(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(safe), Some(short)) = (&self.0.least_risk, &self.0.fewest_hops) else {
            return Ok(());
        };
        if short.hops.len() >= safe.hops.len() {
            return Ok(());
        }
        let stops: Vec<&str> = short.hops.iter().map(|hop| hop.to.as_str()).collect();
        let hops = counted(short.hops.len(), "hop");
        write!(f, "\n\nFaster, in {hops}: {} -> ", OneLine(&self.0.from))?;
        write!(f, "{}, with {}.", OneLine(&stops.join(" -> ")), Names(unaccepted(short)))
    }

    fn write_sources(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\n")?;
        for gap in &self.0.limitations {
            write!(f, "\n{}", Unknown(gap))?;
        }
        match &self.0.graph_source {
            GraphSource::UpdateService { url, channels, .. } => {
                let channels = channels.iter().map(String::as_str).collect();
                write!(f, "\nSource of updates: {}, for {}.", OneLine(url), Names(channels))
            }
            GraphSource::File { file } => write!(f, "\nSource of updates: {}.", OneLine(file)),
            GraphSource::ClusterVersion { message } => {
                let message = message.trim_end_matches('.');
                write!(
                    f,
                    "\nSource of updates: ClusterVersion, next updates only ({}).",
                    OneLine(message)
                )
            }
        }?;
        match &self.0.metrics_source {
            None => Ok(()),
            Some(MetricsSource { file, observation_time: None }) => {
                write!(f, "\nSource of metrics: {}.", OneLine(file))
            }
            Some(MetricsSource { file, observation_time: Some(at) }) => {
                let (file, age) =
                    (OneLine(file), self.0.observation_time.duration_since(*at).as_secs());
                write!(f, "\nSource of metrics: {file}, as of {at}, {} ago.", Age(age))
            }
        }
    }
}

/// The risks that stand against a way, each once.
fn unaccepted(way: &Way) -> BTreeSet<&str> {
    way.unaccepted().map(|risk| risk.name.as_str()).collect()
}

/// Names of others, one after the other.
struct Names<'a>(BTreeSet<&'a str>);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(|name| OneLine(name).to_string()).collect();
        if names.is_empty() {
            return f.write_str("no unaccepted risks");
        }
        f.write_str(&names.join(", "))
    }
}

/// What a way means, in one sentence.
struct Outlook<'a>(Verdict, &'a Way);

impl fmt::Display for Outlook<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(verdict, way) = self;
        let names = unaccepted(way);
        let count = names.len();
        if let Some(first) = way.mends().next() {
            return write!(f, "{} before any update.", Mended(first));
        }
        match verdict {
            Verdict::Yes => f.write_str("No known issues."),
            Verdict::No if count == 1 => write!(f, "Blocked by {}.", Names(names)),
            Verdict::No => write!(f, "Blocked by {count} risks."),
            Verdict::CannotTell if count == 0 => {
                f.write_str("Compatibility of OLM operators is unknown.")
            }
            Verdict::CannotTell if count == 1 => {
                write!(f, "Exposure to {} is unknown.", Names(names))
            }
            Verdict::CannotTell => {
                write!(f, "Exposure to {count} risks is unknown.")
            }
        }
    }
}

/// What has to be mended.
struct Mended<'a>(&'a Prerequisite);

impl fmt::Display for Mended<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Prerequisite::Repair { condition, .. } if condition == failing::TYPE => {
                f.write_str("The cluster is failing and must be repaired")
            }
            Prerequisite::Repair { condition, .. } if condition == invalid::TYPE => {
                f.write_str("ClusterVersion is invalid and must be corrected")
            }
            _ => f.write_str("The cluster is not upgradeable and must be repaired"),
        }
    }
}

/// An update on the way.
struct Shape<'a>(&'a Hop);

impl fmt::Display for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hop = self.0;
        write!(f, "{} -> {}, {}", OneLine(&hop.from), OneLine(&hop.to), hop.step)?;
        for need in hop.prerequisites.iter().filter(|need| need.risk().is_none()) {
            if let Prerequisite::Repair { message, .. } = need {
                write!(f, "\n   {}", Mended(need))?;
                lines(message).try_for_each(|line| write!(f, "\n     {line}"))?;
            }
        }
        for risk in hop.unaccepted() {
            write_risk(
                f,
                risk,
                hop.prerequisites.iter().find(|need| need.risk() == Some(&risk.name)),
            )?;
        }
        let others = hop.risks.iter().filter(|risk| !risk.blocking && is_exposed(risk));
        let (accepted, advice): (Vec<_>, Vec<_>) = others.partition(|risk| is_accepted(risk));
        for (what, risks) in [("Accepted", accepted), ("Advisory", advice)] {
            if !risks.is_empty() {
                let names = risks.iter().map(|risk| risk.name.as_str()).collect();
                write!(f, "\n   {what}: {}", Names(names))?;
            }
        }
        hop.commands.iter().try_for_each(|command| write!(f, "\n   $ {}", OneLine(command)))
    }
}

fn is_exposed(risk: &HopRisk) -> bool {
    risk.exposure != Exposure::NotExposed
}

fn is_accepted(risk: &HopRisk) -> bool {
    risk.standing.is_accepted()
}

fn write_risk(
    f: &mut fmt::Formatter<'_>,
    risk: &HopRisk,
    need: Option<&Prerequisite>,
) -> fmt::Result {
    let name = OneLine(&risk.name);
    let mut message = risk.message.as_str();
    match need {
        Some(Prerequisite::Operator { operator, .. }) => {
            write!(f, "\n   Update operator {} first, or accept {name}", OneLine(operator))?;
        }
        Some(Prerequisite::Component { component, .. }) => {
            write!(
                f,
                "\n   Component {} is not ready: resolve this, or accept {name}",
                OneLine(component)
            )?;
        }
        Some(Prerequisite::Confirmation { message: asked, .. }) => {
            write!(f, "\n   Admin ack required: {name}")?;
            message = asked;
        }
        Some(need @ Prerequisite::Repair { .. }) => write!(f, "\n   {name}: {}", Mended(need))?,
        _ => write!(f, "\n   {name} {}", exposed(risk))?,
    }
    if risk.exposure == Exposure::Unknown {
        lines(&risk.exposure_message).try_for_each(|line| write!(f, "\n     {line}"))?;
    }
    for line in lines(message) {
        write!(f, "\n     {line}")?;
    }
    match need {
        Some(Prerequisite::Confirmation { .. }) => Ok(()),
        _ => write!(f, "\n     {}", OneLine(&risk.url)),
    }
}

fn exposed(risk: &HopRisk) -> &'static str {
    match (risk.exposure, &risk.standing) {
        (Exposure::NotEvaluated, _) => "may apply: not evaluated yet",
        (Exposure::Unknown, _) => "may apply: cannot be evaluated",
        (_, Standing::Expired(_)) => "applies, and its acceptance has expired",
        (_, Standing::OutOfScope(_)) => "applies, and is accepted only for other versions",
        (_, Standing::TermsUnreadable(_)) => "applies, and its acceptance terms are invalid",
        _ => "applies",
    }
}

/// A later version that is not planned for.
struct Passed<'a>(&'a SkippedTarget);

impl fmt::Display for Passed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SkippedTarget { version, risks } = self.0;
        let version = OneLine(version);
        let names: BTreeSet<&str> = risks.iter().map(String::as_str).collect();
        match names.len() {
            0 => write!(f, "{version} is later, but has no upgrade path."),
            1 => write!(f, "{version} is later, but blocked by {}.", Names(names)),
            _ => write!(f, "{version} is later, but blocked by these risks: {}.", Names(names)),
        }
    }
}

/// What could not be looked at.
struct Unknown<'a>(&'a Limitation);

impl fmt::Display for Unknown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Limitation::Operators { message } => {
                write!(f, "OLM operators are unknown: {}.", OneLine(message))
            }
            Limitation::Queries { message } => {
                write!(f, "PromQL rules cannot be evaluated: {}.", OneLine(message))
            }
            Limitation::Channels { channels, message } => {
                let channels = Names(channels.iter().map(String::as_str).collect());
                write!(f, "Updates of {channels} are unknown: {}.", OneLine(message))
            }
            Limitation::EmptyChannel { channel } => {
                write!(f, "Channel {} has no releases: check its name.", OneLine(channel))
            }
            Limitation::LaterReleases => {
                f.write_str("Releases on this path can add risks: plan again after each update.")
            }
        }
    }
}
