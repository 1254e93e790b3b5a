//! What becomes of the APIs that an operator uses, version by version.

use std::collections::BTreeSet;

use super::super::Stream;
use super::lost::{kubernetes_of, platform_with};
use super::{Lost, Needs, Outlook};
use crate::Minor;
use crate::removed_apis::{self, KNOWN_UP_TO};

/// What becomes of the APIs that an operator uses on the way to later versions, as far as that can
/// be told without the releases: by the APIs of Kubernetes that go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prospect {
    running: Stream,
    /// The versions from which something else is to be said than before, the earliest first.
    turns: Vec<(Stream, Outlook)>,
}

impl Prospect {
    /// What is ahead of an operator; `None` where the Kubernetes of the running version is not
    /// known.
    pub fn of(needs: &Needs, running: Stream) -> Option<Self> {
        let kubernetes = kubernetes_of(running)?;
        let mut turns: Vec<(Stream, Outlook)> = Vec::new();
        for removal in removals_after(kubernetes) {
            let Some(platform) = platform_with(removal) else { continue };
            let outlook = Outlook::of(needs, &Lost::between(kubernetes, removal));
            let before = turns.last().map_or(&Outlook::AllPresent, |(_, before)| before);
            if outlook != *before {
                turns.push((platform, outlook));
            }
        }
        Some(Self { running, turns })
    }

    /// What is known of a target. What is lost stays so; otherwise nothing is known of versions
    /// whose Kubernetes is not.
    pub fn on(&self, target: Stream) -> Option<&Outlook> {
        let turns = self.turns.iter().rev();
        let outlook = turns.clone().find(|(from, _)| *from <= target);
        let outlook = outlook.map_or(&Outlook::AllPresent, |(_, outlook)| outlook);
        let is_known = target <= self.running
            || kubernetes_of(target).is_some()
            || matches!(outlook, Outlook::Missing(_));
        is_known.then_some(outlook)
    }

    /// The first version without an API that the operator is known to use.
    pub fn loss(&self) -> Option<(Stream, &Outlook)> {
        self.first(|outlook| matches!(outlook, Outlook::Missing(_)))
    }

    /// The first version of which it cannot be told.
    pub fn doubt(&self) -> Option<(Stream, &Outlook)> {
        self.first(|outlook| matches!(outlook, Outlook::CannotTell { .. }))
    }

    fn first(&self, is_it: fn(&Outlook) -> bool) -> Option<(Stream, &Outlook)> {
        let found = self.turns.iter().find(|(_, outlook)| is_it(outlook))?;
        Some((found.0, &found.1))
    }
}

/// The first version of Kubernetes without an API that an operator is known to use.
pub(in super::super) fn first_loss_after(
    needs: &Needs,
    running: Minor,
) -> Option<(Minor, Outlook)> {
    removals_after(running).find_map(|removal| {
        let outlook = Outlook::of(needs, &Lost::between(running, removal));
        matches!(outlook, Outlook::Missing(_)).then_some((removal, outlook))
    })
}

/// The versions of Kubernetes with which APIs go.
fn removals_after(running: Minor) -> impl Iterator<Item = Minor> {
    let removals = removed_apis::gone_in(KNOWN_UP_TO).map(|api| api.removed_in);
    let removals: BTreeSet<Minor> = removals.filter(|removal| *removal > running).collect();
    removals.into_iter()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn prospect(spec: &Value, running: Stream) -> Prospect {
        let csv = json!({"metadata": {"namespace": "team", "name": "etcd.v1"}, "spec": spec});
        Prospect::of(&Needs::read(&csv), running).unwrap()
    }

    fn permitting(group: &str, resource: &str) -> Value {
        let rules = json!([{"apiGroups": [group], "resources": [resource], "verbs": ["get"]}]);
        let permissions = json!([{"serviceAccountName": "etcd", "rules": rules}]);
        json!({"install": {"spec": {"clusterPermissions": permissions}}})
    }

    #[test]
    fn the_first_version_without_it() {
        let first = |spec: &Value, running| {
            prospect(spec, running).loss().map(|(first, _)| first.to_string())
        };
        let policies = permitting("policy", "podsecuritypolicies");
        assert_eq!(first(&policies, Stream::new(4, 8)).as_deref(), Some("4.12"));
        assert_eq!(first(&policies, Stream::new(4, 12)), None, "it is gone already");
        assert_eq!(first(&json!({}), Stream::new(4, 8)), None);
        let flows = json!({"nativeAPIs": [
            {"group": "flowcontrol.apiserver.k8s.io", "version": "v1beta3", "kind": "FlowSchema"},
        ]});
        assert_eq!(first(&flows, Stream::new(4, 16)).as_deref(), Some("4.19"));
    }

    #[test]
    fn every_target_has_its_own_answer() {
        let mut spec = permitting("batch", "*");
        spec["nativeAPIs"] = json!([
            {"group": "autoscaling", "version": "v2beta2", "kind": "HorizontalPodAutoscaler"},
        ]);
        let prospect = prospect(&spec, Stream::new(4, 11));
        let on = |target: &str| match prospect.on(Stream::parse(target).unwrap()) {
            Some(outlook) => format!("{target}: {outlook}"),
            None => format!("{target}: nothing is known"),
        };
        let told = ["4.11", "4.12", "4.13", "5.1"].map(on).join("\n");
        insta::assert_snapshot!(told, @"
        4.11: all APIs that it names are served
        4.12: unknown: its permissions contain the wildcards *.batch
        4.13: it uses an API that the target does not serve: horizontalpodautoscalers.v2beta2.autoscaling (required; replaced by autoscaling/v2)
        5.1: it uses an API that the target does not serve: horizontalpodautoscalers.v2beta2.autoscaling (required; replaced by autoscaling/v2)
        ");
        assert_eq!(prospect.doubt().map(|(first, _)| first), Some(Stream::new(4, 12)));
    }

    #[test]
    fn nothing_is_known_of_versions_whose_kubernetes_is_not() {
        let wild = prospect(&permitting("*", "*"), Stream::new(4, 11));
        assert_eq!(wild.on(Stream::new(4, 22)).map(|it| *it == Outlook::AllPresent), Some(false));
        assert_eq!(wild.on(Stream::new(5, 1)), None);
        assert_eq!(wild.on(Stream::new(4, 11)), Some(&Outlook::AllPresent));
        assert_eq!(Prospect::of(&Needs::default(), Stream::new(5, 1)), None);
    }
}
