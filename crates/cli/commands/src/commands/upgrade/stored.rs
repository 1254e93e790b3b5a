//! The names of accepted risks, and the terms beside them, as ClusterVersion has them.

use std::collections::BTreeMap;

use fairway_api::cluster_version::{AcceptRisk, Update};
use fairway_api::{ClusterVersion, limits};
use fairway_risk::{ANNOTATION, ANNOTATION_BYTES, Acceptance, Terms};
use serde_json::{Value, json};

use super::{risks, terms};
use crate::errors::WithHint;
use crate::foreign_text::OneLine;

/// The names of accepted risks, and the terms beside them.
pub(super) struct Stored {
    pub(super) names: Vec<AcceptRisk>,
    terms: BTreeMap<String, Value>,
    /// The terms could not be read: none of them counts, and all are written anew.
    anew: bool,
}

/// What becomes of risks that are accepted and not named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Others {
    /// They stay accepted.
    Stay,
    /// They go.
    Go,
}

/// How a risk comes to be accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// It was not before.
    New,
    /// It was, on other terms.
    NewTerms,
    /// It was, on the same terms.
    Already,
}

impl Stored {
    /// What is stored. Where the terms cannot be read, nothing may be added to them: what limits
    /// the other risks would be lost.
    pub(super) fn of(cluster_version: &ClusterVersion, others: Others) -> anyhow::Result<Self> {
        let names = accepted(cluster_version).to_vec();
        match terms::read(risks::annotation(cluster_version)) {
            Ok(terms) => Ok(Self { names, terms, anew: false }),
            Err(_) if others == Others::Go => {
                Ok(Self { names, terms: BTreeMap::new(), anew: true })
            }
            Err(why) => Err(anyhow::anyhow!("{}", OneLine(&why)).context(unreadable())),
        }
    }

    /// Forgets all names but those, and all terms but theirs; which names that were.
    pub(super) fn retain(&mut self, stays: impl Fn(&str) -> bool) -> Vec<String> {
        let gone = self.names.extract_if(.., |risk| !stays(&risk.name));
        let gone = gone.map(|risk| risk.name).collect();
        self.terms.retain(|name, _| self.names.iter().any(|risk| risk.name == *name));
        gone
    }

    /// Accepts a risk; a new one comes last. That somebody else accepts it on the same terms is no
    /// change.
    pub(super) fn accept(&mut self, name: &str, terms: &Terms) -> serde_json::Result<How> {
        let is_new = self.names.iter().all(|risk| risk.name != name);
        if is_new {
            self.names.push(AcceptRisk { name: name.to_owned(), ..AcceptRisk::default() });
        }
        let before = self.terms_of(name);
        let is_same = before.is_some_and(|before| same_but_for_whom(&before, terms));
        if is_same && !is_new && !self.anew {
            return Ok(How::Already);
        }
        match serde_json::to_value(terms)? {
            Value::Object(nothing) if nothing.is_empty() => self.terms.remove(name),
            entry => self.terms.insert(name.to_owned(), entry),
        };
        Ok(if is_new { How::New } else { How::NewTerms })
    }

    /// The terms of an accepted risk; none where they cannot be understood.
    pub(super) fn terms_of(&self, name: &str) -> Option<Terms> {
        self.terms.get(name).map_or_else(|| Some(Terms::default()), terms::understood)
    }

    /// What the operator makes of it.
    pub(super) fn acceptance(&self) -> serde_json::Result<Acceptance> {
        let update = Update { accept_risks: self.names.clone(), ..Update::default() };
        Ok(Acceptance::read(Some(&update), self.annotation()?.as_deref()))
    }

    /// Refuses what the API server or the operator would refuse.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let refuse = |message: String| {
            let hint = "remove acceptances that are not needed; `fairway upgrade` marks accepted \
                        risks that no available update has";
            Err(WithHint { message, hint: hint.to_owned() }.into())
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

    /// A merge patch that stores it, and touches nothing else of what is asked for.
    pub(super) fn patch(&self, cluster_version: &ClusterVersion) -> serde_json::Result<Value> {
        let desired = cluster_version.spec.desired_update.as_ref();
        let mut patch = json!({ "metadata": self.metadata(cluster_version)? });
        if accepted(cluster_version) != self.names {
            patch["spec"]["desiredUpdate"] = desired_update(desired, &self.names);
        }
        Ok(patch)
    }

    /// What of such a patch is not about the spec.
    pub(super) fn metadata(&self, cluster_version: &ClusterVersion) -> serde_json::Result<Value> {
        Ok(json!({
            "resourceVersion": cluster_version.metadata.resource_version,
            "annotations": { ANNOTATION: self.annotation()? },
        }))
    }

    /// The annotation; without entries there is none.
    fn annotation(&self) -> serde_json::Result<Option<String>> {
        if self.terms.is_empty() { Ok(None) } else { serde_json::to_string(&self.terms).map(Some) }
    }
}

/// The names that are accepted.
pub(super) fn accepted(cluster_version: &ClusterVersion) -> &[AcceptRisk] {
    let desired = cluster_version.spec.desired_update.as_ref();
    desired.map(|update| update.accept_risks.as_slice()).unwrap_or_default()
}

fn same_but_for_whom(before: &Terms, terms: &Terms) -> bool {
    Terms { by: None, ..before.clone() } == Terms { by: None, ..terms.clone() }
}

/// The names in `desiredUpdate`. An empty list is refused by the server, and a `desiredUpdate` with
/// nothing in it is invalid: where it would name neither a release nor a risk, all of it goes.
fn desired_update(desired: Option<&Update>, names: &[AcceptRisk]) -> Value {
    let asks_for_more = |update: &Update| {
        update.names_a_release() || update.mode.is_some() || !update.unknown.is_empty()
    };
    match desired {
        _ if !names.is_empty() => json!({ "acceptRisks": names }),
        Some(update) if asks_for_more(update) => json!({ "acceptRisks": null }),
        _ => Value::Null,
    }
}

fn unreadable() -> WithHint {
    WithHint {
        message: format!(
            "cannot read annotation {ANNOTATION} with the terms of the accepted risks"
        ),
        hint: "correct it with `kubectl edit clusterversion version`, or set all risks again with \
               --replace"
            .to_owned(),
    }
}
