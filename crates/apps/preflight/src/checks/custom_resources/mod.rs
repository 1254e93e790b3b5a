//! `custom-resources`: objects that the target's definitions would no longer accept.
//!
//! A definition may become stricter from one release to the next. An object that it accepts today
//! and would refuse then stays readable, but cannot be written any more, not even by its own
//! controller (`CustomResourcesNotAccepted`). The check reads every object of each definition that
//! the target changes, in the version in which the target stores it (or one that both have), prunes
//! it, fills in the defaults, and asks the schema. What the schema of today refuses as well is no
//! news and does not count. Where objects cannot be read, it cannot tell. Rules that are expressions
//! (CEL) are not evaluated; where the target brings new ones, the answer says so.

mod compare;

use std::mem;

use fairway_findings::Finding;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt as _;
use kube::api::DynamicObject;

use self::compare::Comparison;
use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::{Cluster, Resource, Unseen};
use crate::definitions::{DEFINITIONS, Intent, intents};
use crate::target::Target;
use crate::wording::{NAMED, counted, listed, quoted};
use fairway_text::chain;

/// Objects that the target's definitions would no longer accept.
pub(crate) struct CustomResources;

impl BuiltIn for CustomResources {
    fn name(&self) -> &'static str {
        "custom-resources"
    }

    fn looks_at(&self) -> &[Resource] {
        &[DEFINITIONS]
    }

    fn looks_also_at<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Vec<Resource>> {
        async move {
            let comparisons = comparisons(cluster, target).await.unwrap_or_default();
            comparisons.iter().map(|comparison| Resource::named(&comparison.resource)).collect()
        }
        .boxed()
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<Answer, CannotTell>> {
        look(cluster, target).boxed()
    }
}

async fn look(cluster: &Cluster, target: &Target) -> Result<Answer, CannotTell> {
    let mut seen = Seen::default();
    for comparison in comparisons(cluster, target).await? {
        let take = |object: DynamicObject| seen.add(&object, &comparison);
        match cluster.each_of(&comparison.resource, take).await {
            Ok(()) | Err(Unseen::NotServed(_)) => {}
            Err(why) => seen.unknown.push(format!("{}.", quoted(&chain(&why)))),
        }
        if comparison.has_new_rules {
            seen.with_new_rules.push(comparison.definition);
        }
    }
    Ok(seen.judge())
}

/// The definitions of the cluster that the target changes.
async fn comparisons(cluster: &Cluster, target: &Target) -> Result<Vec<Comparison>, Unseen> {
    let intents = intents(&target.manifests);
    let mut comparisons = Vec::new();
    let take = |now: CustomResourceDefinition| {
        if let Some(Intent::Defined(target)) = intents.get(&now.name_any()) {
            comparisons.extend(Comparison::new(&now, target));
        }
    };
    cluster.each(take).await?;
    Ok(comparisons)
}

/// What was seen so far. Only as much is kept as is said in the end.
#[derive(Default)]
struct Seen {
    /// How many objects would be refused.
    refused: usize,
    /// The first of them, and why.
    named: Vec<String>,
    /// How the first of them is edited.
    edit: String,
    /// Definitions with rules that were not evaluated.
    with_new_rules: Vec<String>,
    /// What could not be looked at, and why, as sentences.
    unknown: Vec<String>,
}

impl Seen {
    fn add(&mut self, object: &DynamicObject, comparison: &Comparison) {
        let Ok(value) = serde_json::to_value(object) else { return };
        let Some(refusal) = comparison.refusal(&value) else { return };
        self.refused += 1;
        let (kind, name) = (&comparison.resource.kind, object.name_any());
        let (full_name, place) = match object.namespace() {
            Some(namespace) => (format!("{namespace}/{name}"), format!(" -n {namespace}")),
            None => (name.clone(), String::new()),
        };
        if self.named.is_empty() {
            self.edit = format!("kubectl edit {} {name}{place}", comparison.definition);
        }
        if self.named.len() < NAMED {
            self.named.push(format!("{kind} {full_name} ({refusal})"));
        }
    }

    fn judge(mut self) -> Answer {
        let (unknown, left_out) = (mem::take(&mut self.unknown), self.left_out());
        Answer { findings: self.finding().into_iter().collect(), unknown, left_out }
    }

    fn finding(self) -> Option<Finding> {
        if self.refused == 0 {
            return None;
        }
        let more = match self.refused - self.named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let message = format!(
            "The CRDs of the target release do not accept {}: {}{more}. After the update, clients \
             cannot change these objects.",
            counted(self.refused, "custom resource"),
            self.named.join(", ")
        );
        let finding = Finding::critical("CustomResourcesNotAccepted", message);
        let remediation = format!(
            "Before the update, change these objects so that the current and the new CRDs accept \
             them: {}",
            self.edit
        );
        Some(finding.remediation(remediation))
    }

    fn left_out(&self) -> String {
        if self.with_new_rules.is_empty() {
            return String::new();
        }
        let definitions = listed(&self.with_new_rules);
        format!(
            "The check did not evaluate new CEL rules of CRDs of the target release: {definitions}."
        )
    }
}

#[cfg(test)]
mod tests;
