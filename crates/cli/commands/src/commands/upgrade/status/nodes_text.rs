//! Text of nodes and pools.

use std::fmt;

use fairway_insight::status::{
    ControlPlane, NodeAssessment, NodeStatus, Phase, PoolAssessment, PoolStatus,
};

use super::text::{StatusText, write_message};
use crate::args::insight::Details;
use crate::foreign_text::OneLine;

/// Rows per pool; after them, only nodes with problems.
const MAX_NODES: usize = 10;

impl StatusText<'_> {
    pub(super) fn write_nodes(
        &self,
        f: &mut fmt::Formatter<'_>,
        control_plane: &ControlPlane,
    ) -> fmt::Result {
        let masters = match control_plane {
            ControlPlane::Completed(completed) => completed.nodes,
            ControlPlane::Updating(updating) => updating.nodes,
        };
        if let Some(counts) = masters {
            let (updated, total) = (counts.updated, counts.total);
            write!(f, "\n\nControl plane nodes: {updated} of {total} updated")?;
            self.write_nodes_of(f, |node| !self.is_in_a_shown_pool(node))?;
        }
        for pool in &self.status.pools {
            write_pool(f, pool)?;
            self.write_nodes_of(f, |node| node.pool == pool.name)?;
        }
        Ok(())
    }

    fn is_in_a_shown_pool(&self, node: &NodeStatus) -> bool {
        self.status.pools.iter().any(|pool| pool.name == node.pool)
    }

    /// Writes a row for each node. Names are last because they may be longer than a line.
    fn write_nodes_of(
        &self,
        f: &mut fmt::Formatter<'_>,
        is_one: impl Fn(&NodeStatus) -> bool,
    ) -> fmt::Result {
        let in_full = self.details.has(Details::Nodes);
        let nodes: Vec<&NodeStatus> =
            self.status.nodes.iter().filter(|node| is_one(node)).collect();
        let urgent = |node: &NodeStatus| {
            matches!(node.assessment, NodeAssessment::Degraded | NodeAssessment::Unavailable)
        };
        let numbered = nodes.iter().enumerate();
        let (shown, omitted): (Vec<_>, Vec<_>) =
            numbered.partition(|(index, node)| in_full || *index < MAX_NODES || urgent(node));
        if shown.is_empty() {
            return Ok(());
        }
        let width = |cell: fn(&NodeStatus) -> String, head: &str| {
            let cells = shown.iter().map(|(_, node)| cell(node).chars().count());
            cells.max().unwrap_or_default().max(head.len())
        };
        let (a, p) = (width(assessment, "ASSESSMENT"), width(phase, "PHASE"));
        let v = width(version, "VERSION");
        write!(f, "\n  {:a$}  {:p$}  {:v$}  {:4}  NAME", "ASSESSMENT", "PHASE", "VERSION", "EST")?;
        for (_, node) in &shown {
            let (assessment, phase, version) = (assessment(node), phase(node), version(node));
            let (estimate, name) = (node.estimate, OneLine(&node.name));
            write!(f, "\n  {assessment:a$}  {phase:p$}  {version:v$}  {estimate:4}  {name}")?;
            if let Some(message) = &node.message {
                write_message(f, message, "    ", in_full)?;
            }
        }
        let omitted: Vec<&NodeStatus> = omitted.into_iter().map(|(_, node)| *node).collect();
        if omitted.is_empty() { Ok(()) } else { write_omitted(f, &omitted) }
    }
}

fn assessment(node: &NodeStatus) -> String {
    format!("{:?}", node.assessment)
}

fn phase(node: &NodeStatus) -> String {
    format!("{:?}", node.phase)
}

fn version(node: &NodeStatus) -> String {
    OneLine(&node.version).to_string()
}

fn write_omitted(f: &mut fmt::Formatter<'_>, nodes: &[&NodeStatus]) -> fmt::Result {
    write!(f, "\n  {} more", nodes.len())?;
    let mut sign = ':';
    for phase in [
        Phase::Draining,
        Phase::Updating,
        Phase::Rebooting,
        Phase::Paused,
        Phase::Pending,
        Phase::Updated,
    ] {
        let number = nodes.iter().filter(|node| node.phase == phase).count();
        if number > 0 {
            write!(f, "{sign} {number} {}", format!("{phase:?}").to_lowercase())?;
            sign = ',';
        }
    }
    f.write_str("; use --details=nodes to show them")
}

fn write_pool(f: &mut fmt::Formatter<'_>, pool: &PoolStatus) -> fmt::Result {
    write!(f, "\n\nWorker pool {}: ", OneLine(&pool.name))?;
    if pool.assessment == PoolAssessment::Empty {
        return f.write_str("no nodes");
    }
    let counts = pool.nodes;
    let assessment = match pool.assessment {
        PoolAssessment::Empty => "empty",
        PoolAssessment::Completed => "completed",
        PoolAssessment::Pending => "pending",
        PoolAssessment::Degraded => "degraded",
        PoolAssessment::Excluded => "paused",
        PoolAssessment::Progressing => "progressing",
    };
    write!(f, "{assessment}, {} of {} updated ({}%)", counts.updated, counts.total, pool.percent)?;
    write!(
        f,
        "\n  {} available, {} progressing, {} draining",
        counts.available, counts.progressing, counts.draining
    )?;
    for (number, word) in [(counts.excluded, "excluded"), (counts.degraded, "degraded")] {
        if number > 0 {
            write!(f, ", {number} {word}")?;
        }
    }
    Ok(())
}
