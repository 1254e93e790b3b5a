//! APIs that a cluster serves, and a target does not.

use std::fmt;

use super::super::Stream;
use crate::Minor;
use crate::removed_apis::{self, KNOWN_UP_TO};

/// An API that goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lost {
    /// Its group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// What it is called in paths.
    pub resource: String,
    /// The kind of its objects.
    pub kind: String,
    /// The group and version that takes its place.
    pub instead: Option<String>,
}

impl Lost {
    /// The APIs of Kubernetes that go on the way from one version to another.
    pub fn between(running: Minor, target: Minor) -> Vec<Self> {
        let gone = removed_apis::gone_in(target).filter(|api| api.removed_in > running);
        let lost = gone.map(|api| Self {
            group: api.group.to_owned(),
            version: api.version.to_owned(),
            resource: api.resource.to_owned(),
            kind: api.kind.to_owned(),
            instead: api.replacement_in(target).map(str::to_owned),
        });
        lost.collect()
    }

    /// The APIs that go some time after a version of Kubernetes, as far as that is known.
    pub fn after(running: Minor) -> Vec<Self> {
        Self::between(running, KNOWN_UP_TO)
    }

    /// All APIs of which it is known that they go or went.
    pub fn ever() -> Vec<Self> {
        Self::after(Minor::one(0))
    }

    /// Whether no version of it stays: whoever uses it at all uses what goes.
    pub fn is_whole(&self) -> bool {
        let group_of = |instead: &str| instead.split_once('/').map(|(group, _)| group.to_owned());
        self.instead.as_deref().and_then(group_of).as_deref() != Some(&self.group)
    }
}

impl fmt::Display for Lost {
    /// As request counts are named: `cronjobs.v1beta1.batch`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.resource, self.version, self.group)
    }
}

/// How far ahead of the platform's minor version that of Kubernetes is, from 4.12 with 1.25 on.
const AHEAD: u64 = 13;

/// The versions of the platform whose Kubernetes is known by that: later ones say it themselves.
const KNOWN: std::ops::RangeInclusive<u64> = 3..=22;

/// The Kubernetes of a version of the platform, where it is known.
pub fn kubernetes_of(platform: Stream) -> Option<Minor> {
    let minor = KNOWN.clone().find(|minor| Stream::new(4, *minor) == platform)?;
    u32::try_from(minor + AHEAD).ok().map(Minor::one)
}

/// The version of the platform with which a version of Kubernetes came, where it is known.
pub(super) fn platform_with(kubernetes: Minor) -> Option<Stream> {
    let minor = u64::from(kubernetes.minor).checked_sub(AHEAD)?;
    (kubernetes.major == 1 && KNOWN.contains(&minor)).then(|| Stream::new(4, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_cluster_still_has_can_go() {
        let names = |from, to| -> Vec<String> {
            let lost = Lost::between(Minor::one(from), Minor::one(to));
            lost.iter().map(|it| format!("{it} {}", it.is_whole())).collect()
        };
        assert!(names(25, 25).is_empty());
        let expected = [
            "horizontalpodautoscalers.v2beta1.autoscaling false",
            "cronjobs.v1beta1.batch false",
            "endpointslices.v1beta1.discovery.k8s.io false",
            "events.v1beta1.events.k8s.io false",
            "runtimeclasses.v1beta1.node.k8s.io false",
            "poddisruptionbudgets.v1beta1.policy false",
            "podsecuritypolicies.v1beta1.policy true",
        ];
        assert_eq!(names(24, 25), expected);
        assert!(names(21, 22).contains(&"ingresses.v1beta1.extensions true".to_owned()));
    }

    #[test]
    fn which_kubernetes_a_platform_has() {
        for (platform, kubernetes) in [("4.12", 25), ("4.13", 26), ("4.14", 27), ("4.22", 35)] {
            let platform = Stream::parse(platform).unwrap();
            assert_eq!(kubernetes_of(platform), Some(Minor::one(kubernetes)));
            assert_eq!(platform_with(Minor::one(kubernetes)), Some(platform));
        }
        assert_eq!(kubernetes_of(Stream::new(5, 0)), None, "it is in the release's metadata");
        assert_eq!(platform_with(Minor::one(36)), None);
    }
}
