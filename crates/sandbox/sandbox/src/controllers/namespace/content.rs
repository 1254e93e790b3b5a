//! Remaining objects of a namespace that is being deleted.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::NamespaceCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

/// Remaining objects of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NamespaceContent {
    /// Number of objects by resource.
    resources: BTreeMap<String, usize>,
    /// Number of objects by finalizer.
    finalizers: BTreeMap<String, usize>,
    /// Errors of deletions.
    failures: Vec<String>,
}

impl NamespaceContent {
    /// Adds an object; resources are named like `deployments.apps`, and `pods.` in the core group.
    pub(super) fn add(&mut self, plural: &str, group: &str, object: &Value) {
        *self.resources.entry(format!("{plural}.{group}")).or_default() += 1;
        let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
        for finalizer in finalizers.into_iter().flatten().filter_map(Value::as_str) {
            *self.finalizers.entry(finalizer.to_owned()).or_default() += 1;
        }
    }

    /// Adds an error.
    pub(super) fn add_failure(&mut self, failure: String) {
        self.failures.push(failure);
    }

    /// Whether nothing remains.
    pub(super) fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.failures.is_empty()
    }

    /// Conditions of the namespace; transition times change only with the status.
    pub(super) fn conditions(
        &self,
        old: &[NamespaceCondition],
        now: Timestamp,
    ) -> Vec<NamespaceCondition> {
        let texts = [
            ("NamespaceDeletionDiscoveryFailure", discovered()),
            ("NamespaceDeletionGroupVersionParsingFailure", parsed()),
            ("NamespaceDeletionContentFailure", self.deleted()),
            ("NamespaceContentRemaining", self.remaining()),
            ("NamespaceFinalizersRemaining", self.finalizing()),
        ];
        let ours = |type_: &str| texts.iter().any(|(known, _)| *known == type_);
        let others = old.iter().filter(|condition| !ours(&condition.type_)).cloned();
        let mut conditions: Vec<_> = others.collect();
        for (type_, (status, reason, message)) in texts {
            let condition = NamespaceCondition {
                type_: type_.to_owned(),
                status: if status { "True" } else { "False" }.to_owned(),
                reason: Some(reason.to_owned()),
                message: Some(message),
                last_transition_time: Some(Time(now)),
            };
            let known = old.iter().find(|known| known.type_ == type_);
            let same = known.filter(|known| {
                known.status == condition.status && known.message == condition.message
            });
            conditions.push(same.cloned().unwrap_or(condition));
        }
        conditions
    }

    fn deleted(&self) -> (bool, &'static str, String) {
        match self.failures.as_slice() {
            [] => {
                let message = "All content successfully deleted, may be waiting on finalization";
                (false, "ContentDeleted", message.to_owned())
            }
            failures => {
                let (count, all) = (failures.len(), failures.join(", "));
                let message =
                    format!("Failed to delete all resource types, {count} remaining: {all}");
                (true, "ContentDeletionFailed", message)
            }
        }
    }

    fn remaining(&self) -> (bool, &'static str, String) {
        if self.resources.is_empty() {
            return (false, "ContentRemoved", "All content successfully removed".to_owned());
        }
        let each = self.resources.iter();
        let each = each.map(|(name, count)| format!("{name} has {count} resource instances"));
        let message = format!("Some resources are remaining: {}", join(each));
        (true, "SomeResourcesRemain", message)
    }

    fn finalizing(&self) -> (bool, &'static str, String) {
        if self.finalizers.is_empty() {
            let message = "All content-preserving finalizers finished";
            return (false, "ContentHasNoFinalizers", message.to_owned());
        }
        let each = self.finalizers.iter();
        let each = each.map(|(name, count)| format!("{name} in {count} resource instances"));
        let what = "Some content in the namespace has finalizers remaining";
        (true, "SomeFinalizersRemain", format!("{what}: {}", join(each)))
    }
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// The condition for discovery, which never fails in the sandbox.
fn discovered() -> (bool, &'static str, String) {
    (false, "ResourcesDiscovered", "All resources successfully discovered".to_owned())
}

/// The condition for legacy group versions, which never fail to parse in the sandbox.
fn parsed() -> (bool, &'static str, String) {
    (false, "ParsedGroupVersions", "All legacy kube types successfully parsed".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn describe(conditions: &[NamespaceCondition]) -> String {
        let line = |it: &NamespaceCondition| {
            let word = |word: &Option<String>| word.clone().unwrap_or_default();
            format!("{}={} {}: {}", it.type_, it.status, word(&it.reason), word(&it.message))
        };
        conditions.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn conditions_report_remaining_content() {
        let now = Timestamp::UNIX_EPOCH;
        let mut content = NamespaceContent::default();
        assert!(content.is_empty());
        insta::assert_snapshot!(describe(&content.conditions(&[], now)), @r"
        NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: All resources successfully discovered
        NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions: All legacy kube types successfully parsed
        NamespaceDeletionContentFailure=False ContentDeleted: All content successfully deleted, may be waiting on finalization
        NamespaceContentRemaining=False ContentRemoved: All content successfully removed
        NamespaceFinalizersRemaining=False ContentHasNoFinalizers: All content-preserving finalizers finished
        ");
        content.add("configmaps", "", &json!({ "metadata": { "finalizers": ["a.b/c", "d.e/f"] } }));
        content.add("configmaps", "", &json!({ "metadata": { "finalizers": ["a.b/c"] } }));
        content.add("deployments", "apps", &json!({ "metadata": {} }));
        content.add_failure("it is stuck".to_owned());
        assert!(!content.is_empty());
        insta::assert_snapshot!(describe(&content.conditions(&[], now)), @r"
        NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered: All resources successfully discovered
        NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions: All legacy kube types successfully parsed
        NamespaceDeletionContentFailure=True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: it is stuck
        NamespaceContentRemaining=True SomeResourcesRemain: Some resources are remaining: configmaps. has 2 resource instances, deployments.apps has 1 resource instances
        NamespaceFinalizersRemaining=True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: a.b/c in 2 resource instances, d.e/f in 1 resource instances
        ");
    }

    #[test]
    fn conditions_keep_transition_time_without_change() {
        let (early, late) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(60).unwrap());
        let mut content = NamespaceContent::default();
        let first = content.conditions(&[], early);
        assert_eq!(content.conditions(&first, late), first);
        content.add("pods", "", &json!({}));
        let second = content.conditions(&first, late);
        let changed: Vec<_> = second.iter().filter(|it| !first.contains(it)).collect();
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].last_transition_time, Some(Time(late)));
    }
}
