//! The text of the list.

use std::collections::BTreeMap;
use std::fmt;

use super::{List, MissingApis, Row, Target};
use crate::foreign_text::OneLine;

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cluster_version, operators, limitations } = self;
        match cluster_version {
            Some(version) => write!(f, "The cluster runs {version}.")?,
            None => write!(f, "The version of the cluster is unknown.")?,
        }
        if operators.is_empty() {
            let nothing = "No OLM operators are installed.";
            write!(
                f,
                "\n{}",
                if limitations.is_empty() { nothing } else { "OLM operators are unknown." }
            )?;
        }
        for operator in operators {
            write!(f, "\n\n{operator}")?;
        }
        let in_doubt = operators.iter().filter(|operator| operator.has_uncertain_apis()).count();
        if in_doubt > 0 {
            let operators = if in_doubt == 1 { "operator" } else { "operators" };
            write!(
                f,
                "\n\nFor {in_doubt} {operators} it is unknown whether all APIs stay available, \
                 because permissions contain wildcards or omit API versions. For details, use \
                 -o json."
            )?;
        }
        for part in limitations {
            write!(f, "\n\nSkipped: {}", OneLine(part))?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name, maximum, .. } = self;
        let exceeded = if self.maximum_exceeded { ", exceeded by the cluster version" } else { "" };
        write!(f, "{}/{}", OneLine(namespace), OneLine(name))?;
        match (maximum, &self.declaration_source, &self.declaration_error) {
            (Some(maximum), Some(origin), _) => {
                write!(f, "\n  supports up to {maximum} ({origin}){exceeded}")?;
            }
            (_, _, Some(why)) => {
                write!(f, "\n  declares an invalid maximum version: {}", OneLine(why))?;
            }
            _ => write!(f, "\n  declares no maximum version")?,
        }
        if let Some(before) = &self.superseded_declaration {
            write!(f, "\n  declared at installation: {}", OneLine(before))?;
        }
        for (verdict, targets) in by_verdict(&self.targets) {
            write!(f, "\n  {}: {verdict}", targets.join(", "))?;
        }
        if let Some(MissingApis { first_version, message }) = &self.missing_apis {
            write!(f, "\n  from {first_version} on: {}", OneLine(message))?;
        }
        Ok(())
    }
}

/// Versions with the same result, latest first.
fn by_verdict(targets: &[Target]) -> Vec<(String, Vec<String>)> {
    let mut order: Vec<String> = Vec::new();
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Target { version, verdict, remediation, apis: _ } in targets {
        let told = match remediation {
            Some(upgrade) => format!("{}; {}", verdict.as_str(), OneLine(&upgrade.to_string())),
            None => verdict.as_str().to_owned(),
        };
        if !versions.contains_key(&told) {
            order.push(told.clone());
        }
        versions.entry(told).or_default().push(version.to_string());
    }
    let rows = order.into_iter().filter_map(|told| versions.remove_entry(&told));
    rows.collect()
}
