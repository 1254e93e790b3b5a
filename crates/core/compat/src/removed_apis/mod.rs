//! APIs of Kubernetes itself that a later version does not serve any more.

mod table;

use std::fmt;

pub use self::table::KNOWN_UP_TO;
use self::table::TABLE;
use crate::Minor;

/// An API of Kubernetes that is gone from some version on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovedApi {
    /// Its group.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// What it is called in paths.
    pub resource: &'static str,
    /// The kind of its objects.
    pub kind: &'static str,
    /// The first version of Kubernetes without it.
    pub removed_in: Minor,
    /// The group and version that took its place at that time; `None` if nothing did.
    pub replacement: Option<&'static str>,
}

impl RemovedApi {
    /// Its group and version, as objects name it.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// The group and version that a version of Kubernetes has in its place: what replaced it may be
    /// gone, too.
    pub fn replacement_in(&self, kubernetes: Minor) -> Option<&'static str> {
        let replacement = self.replacement?;
        let is_it =
            |gone: &&Self| gone.resource == self.resource && gone.api_version() == replacement;
        match gone_in(kubernetes).find(is_it) {
            Some(gone) => gone.replacement_in(kubernetes),
            None => Some(replacement),
        }
    }
}

impl fmt::Display for RemovedApi {
    /// As request counts are named: `ingresses.v1beta1.extensions`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.resource, self.version, self.group)
    }
}

/// The APIs that a version of Kubernetes does not serve, and earlier ones did.
pub fn gone_in(kubernetes: Minor) -> impl Iterator<Item = &'static RemovedApi> {
    TABLE.iter().filter(move |api| api.removed_in <= kubernetes)
}

/// One line of the table. Nothing takes the place of an API whose replacement is empty.
const fn api(
    minor: u32,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    kind: &'static str,
    replacement: &'static str,
) -> RemovedApi {
    let replacement = if replacement.is_empty() { None } else { Some(replacement) };
    RemovedApi { group, version, resource, kind, removed_in: Minor::one(minor), replacement }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_every_api_once() {
        let keys: Vec<_> = TABLE
            .iter()
            .map(|api| (api.removed_in, api.group, api.version, api.resource))
            .collect();
        assert!(keys.is_sorted_by(|one, next| one < next), "{keys:#?}");
        let mut names: Vec<_> = TABLE.iter().map(ToString::to_string).collect();
        let all = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn every_line_of_the_table_makes_sense() {
        for api in TABLE {
            let told = format!("{api:?}");
            assert!(api.removed_in <= KNOWN_UP_TO, "{told}");
            assert!(!api.group.is_empty() && api.version.starts_with('v'), "{told}");
            let singular = api.kind.to_lowercase();
            let stem = singular.trim_end_matches(['y', 's']);
            assert!(api.resource.starts_with(stem) && api.resource.ends_with('s'), "{told}");
            let later = |other: &&RemovedApi| {
                other.resource == api.resource
                    && Some(other.api_version()).as_deref() == api.replacement
            };
            let leads_on = TABLE.iter().find(later).is_none_or(|it| it.removed_in > api.removed_in);
            assert!(leads_on, "{told}");
        }
    }

    #[test]
    fn nothing_is_replaced_by_what_is_gone() {
        let find = |name: &str| TABLE.iter().find(|api| api.to_string() == name).unwrap();
        let flows = find("flowschemas.v1beta1.flowcontrol.apiserver.k8s.io");
        let policies = find("podsecuritypolicies.v1beta1.extensions");
        for (api, kubernetes, expected) in [
            (flows, 26, Some("flowcontrol.apiserver.k8s.io/v1beta3")),
            (flows, 32, Some("flowcontrol.apiserver.k8s.io/v1")),
            (policies, 16, Some("policy/v1beta1")),
            (policies, 25, None),
        ] {
            assert_eq!(api.replacement_in(Minor::one(kubernetes)), expected, "{api} {kubernetes}");
        }
    }

    #[test]
    fn what_is_gone_stays_gone() {
        let gone = |version: &str| -> Vec<String> {
            gone_in(Minor::parse(version).unwrap()).map(ToString::to_string).collect()
        };
        let hpa = "horizontalpodautoscalers.v2beta2.autoscaling".to_owned();
        assert!(gone("1.15").is_empty());
        assert!(!gone("1.25.9").contains(&hpa));
        assert!(gone("1.26.0").contains(&hpa) && gone("1.40").contains(&hpa));
    }

    #[test]
    fn an_api_is_named_as_its_request_count() {
        let api = gone_in(Minor::one(22)).find(|api| api.kind == "Ingress").unwrap();
        assert_eq!(api.to_string(), "ingresses.v1beta1.extensions");
        assert_eq!(api.api_version(), "extensions/v1beta1");
    }
}
