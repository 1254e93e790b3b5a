//! Accepted risks in ClusterVersion: names in `spec.desiredUpdate.acceptRisks`, terms in an annotation.

use std::collections::BTreeMap;
use std::fmt;

use fairway_api::cluster_version::{AcceptRisk, Update};
use fairway_api::{ClusterVersion, limits};
use fairway_risk::{ANNOTATION, ANNOTATION_BYTES, Acceptance, AcceptanceTerms};
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::risks;
use crate::errors::WithHint;
use crate::foreign_text::OneLine;

/// Names and terms of accepted risks.
pub(super) struct StoredAcceptances {
    pub(super) names: Vec<AcceptRisk>,
    terms: BTreeMap<String, Value>,
    /// Whether the stored terms are invalid and are replaced entirely.
    reset: bool,
}

/// What happens to accepted risks that the arguments do not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OtherRisks {
    /// They stay accepted.
    Keep,
    /// They are removed.
    Remove,
}

/// How the acceptance of a risk changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AcceptanceChange {
    /// The risk was not accepted.
    New,
    /// The risk was accepted with other terms.
    NewTerms,
    /// The risk was accepted with the same terms.
    Unchanged,
}

impl StoredAcceptances {
    /// Reads the accepted risks. If the annotation is invalid, risks can only be replaced: adding
    /// one would lose the terms of the others.
    pub(super) fn of(cluster_version: &ClusterVersion, others: OtherRisks) -> anyhow::Result<Self> {
        let names = accepted_risks(cluster_version).to_vec();
        match read_terms(risks::annotation(cluster_version)) {
            Ok(terms) => Ok(Self { names, terms, reset: false }),
            Err(_) if others == OtherRisks::Remove => {
                Ok(Self { names, terms: BTreeMap::new(), reset: true })
            }
            Err(why) => Err(anyhow::anyhow!("{}", OneLine(&why)).context(unreadable())),
        }
    }

    /// Keeps only some risks and their terms; returns the removed names.
    pub(super) fn retain(&mut self, stays: impl Fn(&str) -> bool) -> Vec<String> {
        let gone = self.names.extract_if(.., |risk| !stays(&risk.name));
        let gone = gone.map(|risk| risk.name).collect();
        self.terms.retain(|name, _| self.names.iter().any(|risk| risk.name == *name));
        gone
    }

    /// Accepts a risk; a new one is last. Acceptance by another user with the same terms is no
    /// change.
    pub(super) fn accept(
        &mut self,
        name: &str,
        terms: &AcceptanceTerms,
    ) -> serde_json::Result<AcceptanceChange> {
        let is_new = self.names.iter().all(|risk| risk.name != name);
        if is_new {
            self.names.push(AcceptRisk { name: name.to_owned(), ..AcceptRisk::default() });
        }
        let before = self.terms_of(name);
        let is_same = before.is_some_and(|before| is_same_except_user(&before, terms));
        if is_same && !is_new && !self.reset {
            return Ok(AcceptanceChange::Unchanged);
        }
        match serde_json::to_value(terms)? {
            Value::Object(nothing) if nothing.is_empty() => self.terms.remove(name),
            entry => self.terms.insert(name.to_owned(), entry),
        };
        Ok(if is_new { AcceptanceChange::New } else { AcceptanceChange::NewTerms })
    }

    /// Terms of an accepted risk, `None` if they are invalid.
    pub(super) fn terms_of(&self, name: &str) -> Option<AcceptanceTerms> {
        self.terms.get(name).map_or_else(|| Some(AcceptanceTerms::default()), parse_terms)
    }

    /// Acceptance as the operator evaluates it.
    pub(super) fn acceptance(&self) -> serde_json::Result<Acceptance> {
        let update = Update { accept_risks: self.names.clone(), ..Update::default() };
        Ok(Acceptance::read(Some(&update), self.annotation()?.as_deref()))
    }

    /// Refuses acceptances that exceed the limits of the API server or the operator.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let refuse = |message: String| {
            let hint = "remove acceptances that are not needed; `fairway upgrade` marks accepted \
                        risks that no available update has";
            Err(WithHint::new(message, hint).into())
        };
        let (count, most) = (self.names.len(), limits::ACCEPTED_RISKS);
        if count > most {
            return refuse(format!("cannot accept {count} risks: the maximum is {most}"));
        }
        let (bytes, most) = (self.annotation()?.map_or(0, |text| text.len()), ANNOTATION_BYTES);
        if bytes > most {
            return refuse(format!(
                "the acceptance terms have {bytes} bytes, more than the maximum of {most}"
            ));
        }
        Ok(())
    }

    /// Merge patch that stores the acceptances and no other field of the request.
    pub(super) fn patch(&self, cluster_version: &ClusterVersion) -> serde_json::Result<Value> {
        let desired = cluster_version.spec.desired_update.as_ref();
        let mut patch = json!({ "metadata": self.metadata(cluster_version)? });
        if accepted_risks(cluster_version) != self.names {
            patch["spec"]["desiredUpdate"] = desired_update(desired, &self.names);
        }
        Ok(patch)
    }

    /// Metadata of that patch.
    pub(super) fn metadata(&self, cluster_version: &ClusterVersion) -> serde_json::Result<Value> {
        Ok(json!({
            "resourceVersion": cluster_version.metadata.resource_version,
            "annotations": { ANNOTATION: self.annotation()? },
        }))
    }

    /// Annotation, `None` without terms.
    fn annotation(&self) -> serde_json::Result<Option<String>> {
        if self.terms.is_empty() { Ok(None) } else { serde_json::to_string(&self.terms).map(Some) }
    }
}

/// Accepted risks in the spec.
pub(super) fn accepted_risks(cluster_version: &ClusterVersion) -> &[AcceptRisk] {
    let desired = cluster_version.spec.desired_update.as_ref();
    desired.map(|update| update.accept_risks.as_slice()).unwrap_or_default()
}

fn is_same_except_user(before: &AcceptanceTerms, terms: &AcceptanceTerms) -> bool {
    AcceptanceTerms { by: None, ..before.clone() } == AcceptanceTerms { by: None, ..terms.clone() }
}

/// `desiredUpdate` with the names. The API server refuses an empty list, and a `desiredUpdate`
/// without fields is invalid, so it is removed if nothing else is requested.
fn desired_update(desired: Option<&Update>, names: &[AcceptRisk]) -> Value {
    let has_other_fields = |update: &Update| {
        update.names_a_release() || update.mode.is_some() || !update.unknown.is_empty()
    };
    match desired {
        _ if !names.is_empty() => json!({ "acceptRisks": names }),
        Some(update) if has_other_fields(update) => json!({ "acceptRisks": null }),
        _ => Value::Null,
    }
}

fn unreadable() -> WithHint {
    WithHint::new(
        format!("cannot read annotation {ANNOTATION} with the terms of the accepted risks"),
        "correct it with `kubectl edit clusterversion version`, or set all risks again with \
         --replace",
    )
}

/// Terms in the annotation by risk, as JSON.
pub(super) fn read_terms(annotation: Option<&str>) -> Result<BTreeMap<String, Value>, String> {
    match annotation {
        None => Ok(BTreeMap::new()),
        Some(text) if text.len() > ANNOTATION_BYTES => {
            Err(format!("{} bytes exceed the maximum of {ANNOTATION_BYTES}", text.len()))
        }
        Some(text) => serde_json::from_str(text).map_err(|error| error.to_string()),
    }
}

/// Terms of a risk, `None` if they are invalid.
pub(super) fn parse_terms(entry: &Value) -> Option<AcceptanceTerms> {
    AcceptanceTerms::deserialize(entry).ok()
}

/// Terms after the name of a risk: `, until 2026-12-31: reason`.
pub(super) struct TermsSuffix<'a>(pub(super) &'a AcceptanceTerms);

impl fmt::Display for TermsSuffix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AcceptanceTerms { reason, until, versions, by, definition: _ } = self.0;
        if let Some(versions) = versions {
            write!(f, ", for {}", OneLine(&versions.to_string()))?;
        }
        if let Some(until) = until {
            write!(f, ", until {}", OneLine(&until.to_string()))?;
        }
        if let Some(by) = by {
            write!(f, ", by {}", OneLine(by))?;
        }
        match reason {
            Some(reason) => write!(f, ": {}", OneLine(reason)),
            None => Ok(()),
        }
    }
}
