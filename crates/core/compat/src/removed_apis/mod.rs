//! APIs that Kubernetes removes.

mod table;

use std::fmt;

pub use self::table::KNOWN_UP_TO;
use self::table::TABLE;
use crate::KubernetesMinor;

/// An API that Kubernetes removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemovedApi {
    /// Group of the API.
    pub group: &'static str,
    /// Version of the API.
    pub version: &'static str,
    /// Resource name.
    pub resource: &'static str,
    /// Kind of the objects.
    pub kind: &'static str,
    /// First Kubernetes version without the API.
    pub removed_in: KubernetesMinor,
    /// Group and version of the replacement at that time.
    pub replacement: Option<&'static str>,
}

impl RemovedApi {
    /// `apiVersion` of its objects.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    /// The replacement in a Kubernetes version; the original replacement may be removed too.
    pub fn replacement_in(&self, kubernetes: KubernetesMinor) -> Option<&'static str> {
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
    /// Name of an `APIRequestCount`: `ingresses.v1beta1.extensions`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.resource, self.version, self.group)
    }
}

/// The APIs that are removed in a Kubernetes version or before.
pub fn gone_in(kubernetes: KubernetesMinor) -> impl Iterator<Item = &'static RemovedApi> {
    TABLE.iter().filter(move |api| api.removed_in <= kubernetes)
}

/// A row of the table; an empty replacement means none.
const fn api(
    minor: u32,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    kind: &'static str,
    replacement: &'static str,
) -> RemovedApi {
    let replacement = if replacement.is_empty() { None } else { Some(replacement) };
    RemovedApi {
        group,
        version,
        resource,
        kind,
        removed_in: KubernetesMinor::one(minor),
        replacement,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_is_sorted_and_unique() {
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
    fn table_rows_are_consistent() {
        for api in TABLE {
            let row = format!("{api:?}");
            assert!(api.removed_in <= KNOWN_UP_TO, "{row}");
            assert!(!api.group.is_empty() && api.version.starts_with('v'), "{row}");
            let singular = api.kind.to_lowercase();
            let stem = singular.trim_end_matches(['y', 's']);
            assert!(api.resource.starts_with(stem) && api.resource.ends_with('s'), "{row}");
            let later = |other: &&RemovedApi| {
                other.resource == api.resource
                    && Some(other.api_version()).as_deref() == api.replacement
            };
            let leads_on = TABLE.iter().find(later).is_none_or(|it| it.removed_in > api.removed_in);
            assert!(leads_on, "{row}");
        }
    }

    #[test]
    fn replacement_in_skips_removed_apis() {
        let find = |name: &str| TABLE.iter().find(|api| api.to_string() == name).unwrap();
        let flows = find("flowschemas.v1beta1.flowcontrol.apiserver.k8s.io");
        let policies = find("podsecuritypolicies.v1beta1.extensions");
        for (api, kubernetes, expected) in [
            (flows, 26, Some("flowcontrol.apiserver.k8s.io/v1beta3")),
            (flows, 32, Some("flowcontrol.apiserver.k8s.io/v1")),
            (policies, 16, Some("policy/v1beta1")),
            (policies, 25, None),
        ] {
            assert_eq!(
                api.replacement_in(KubernetesMinor::one(kubernetes)),
                expected,
                "{api} {kubernetes}"
            );
        }
    }

    #[test]
    fn gone_in_includes_earlier_removals() {
        let gone = |version: &str| -> Vec<String> {
            gone_in(KubernetesMinor::parse(version).unwrap()).map(ToString::to_string).collect()
        };
        let hpa = "horizontalpodautoscalers.v2beta2.autoscaling".to_owned();
        assert!(gone("1.15").is_empty());
        assert!(!gone("1.25.9").contains(&hpa));
        assert!(gone("1.26.0").contains(&hpa) && gone("1.40").contains(&hpa));
    }

    #[test]
    fn display_is_request_count_name() {
        let api = gone_in(KubernetesMinor::one(22)).find(|api| api.kind == "Ingress").unwrap();
        assert_eq!(api.to_string(), "ingresses.v1beta1.extensions");
        assert_eq!(api.api_version(), "extensions/v1beta1");
    }
}
