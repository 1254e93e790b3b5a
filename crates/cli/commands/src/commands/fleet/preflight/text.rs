//! The text of a fleet preflight: a row for each cluster.

use std::fmt;

use super::{ClusterPreflight, FleetPreflight};
use crate::foreign_text::OneLine;
use crate::table::Table;

impl fmt::Display for FleetPreflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["CLUSTER", "REQUEST", "RESULT"].map(str::to_owned).to_vec();
        let rows = self.clusters.iter().map(|cluster| row(cluster).to_vec());
        let table = Table(std::iter::once(head).chain(rows).collect());
        if self.width.is_none_or(|width| table.width() <= width) {
            write!(f, "{table}")?;
        } else {
            self.write_list(f)?;
        }
        self.write_hints(f)?;
        let (target, selection) = (OneLine(&self.target), OneLine(&self.selection));
        f.write_str("\n\nShow the state of each cluster with")?;
        write!(f, "\n  fairway fleet report {selection} --to={target}")
    }
}

impl FleetPreflight {
    fn write_list(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, cluster) in self.clusters.iter().enumerate() {
            let [name, request, result] = row(cluster);
            let gap = if number == 0 { "" } else { "\n\n" };
            write!(f, "{gap}{name}\n  {request}: {result}")?;
        }
        Ok(())
    }

    /// Hints for clusters without a request.
    fn write_hints(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gap = "\n";
        for cluster in &self.clusters {
            let hint = cluster.error.as_ref().and_then(|failed| failed.hint.as_ref());
            let Some(hint) = hint else { continue };
            write!(f, "{gap}\nhint for {}: {}", OneLine(&cluster.name), OneLine(hint))?;
            gap = "";
        }
        Ok(())
    }
}

/// Cluster, state of the request, and findings.
fn row(cluster: &ClusterPreflight) -> [String; 3] {
    let name = OneLine(&cluster.name).to_string();
    let (request, result) = match (&cluster.outcome, &cluster.error) {
        (Some(asked), _) => (asked.request(), asked.result()),
        (None, Some(failed)) => ("failed", OneLine(&failed.message).to_string()),
        (None, None) => ("not required", "the cluster is already at this version".to_owned()),
    };
    [name, request.to_owned(), result]
}

#[cfg(test)]
mod tests;
