//! What is wrong, and where to read about it.

use std::fmt;

use fairway_insight::Span;
use fairway_insight::status::{Impact, Insight, Level};

use super::{Shown, write_said};
use crate::args::insight::Details;
use crate::foreign_text::OneLine;

impl Shown<'_> {
    pub(super) fn write_health(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_full = self.details.has(Details::Health);
        let insights = &self.status.insights;
        f.write_str("\n\nHealth")?;
        if insights.is_empty() {
            f.write_str("\n  No known issues.")?;
        }
        for insight in insights {
            write_insight(f, insight, in_full)?;
        }
        if !insights.is_empty() && !in_full {
            f.write_str("\n  Use --details=health for explanations and remediation.")?;
        }
        match &self.status.alerts.message {
            None => Ok(()),
            Some(why) => write!(f, "\n  Alerts are unknown: {}.", OneLine(why)),
        }
    }
}

fn write_insight(f: &mut fmt::Formatter<'_>, insight: &Insight, in_full: bool) -> fmt::Result {
    let level = match insight.level {
        Level::Warning => "Warning",
        Level::Error => "Error",
        Level::Critical => "Critical",
    };
    write!(f, "\n  {level}: {}", OneLine(&insight.summary))?;
    let since = insight.age_seconds.filter(|seconds| *seconds > 0);
    match (impact(insight), since) {
        (None, None) => {}
        (None, Some(seconds)) => write!(f, "\n    for {}", Span(seconds))?,
        (Some(impact), None) => write!(f, "\n    {impact}")?,
        (Some(impact), Some(seconds)) => write!(f, "\n    for {}; {impact}", Span(seconds))?,
    }
    if in_full {
        write_said(f, &insight.description, "    ", true)?;
        for resource in &insight.resources {
            write!(f, "\n    {}", OneLine(resource))?;
        }
        write!(f, "\n    {}", OneLine(&insight.reference))?;
    }
    Ok(())
}

fn impact(insight: &Insight) -> Option<&'static str> {
    match insight.impact {
        Impact::None | Impact::Unknown => None,
        Impact::ApiAvailability => Some("API availability may be reduced"),
        Impact::UpdateSpeed => Some("the update takes longer"),
        Impact::UpdateStalled if insight.transient => {
            Some("usual at first; if it persists, the update is stalled")
        }
        Impact::UpdateStalled => Some("the update is stalled"),
    }
}
