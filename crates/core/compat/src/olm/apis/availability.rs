//! Availability of the APIs that an operator uses.

use std::collections::BTreeSet;
use std::fmt;

use super::super::{MinorVersion, text};
use super::{ApiUsage, LostApi, UsageEvidence, kubernetes_of, platform_with};
use crate::KubernetesMinor;
use crate::removed_apis::{self, KNOWN_UP_TO};

/// Availability on a target of the APIs that an operator uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiAvailability {
    /// The target serves all APIs that the operator names. It may use others.
    AllPresent,
    /// The target does not serve some APIs.
    Missing(Vec<MissingApi>),
    /// Unknown.
    CannotTell {
        /// Wildcard permissions that may include a removed API, such as `*.batch`.
        wildcards: BTreeSet<String>,
        /// Removed APIs that the operator may use, with another version that remains.
        possible: Vec<LostApi>,
    },
}

/// A removed API that an operator uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingApi {
    /// The API.
    pub api: LostApi,
    /// Evidence of the use.
    pub uses: BTreeSet<UsageEvidence>,
}

impl ApiAvailability {
    /// Determines whether a target without the `lost` APIs serves all APIs of an operator.
    pub fn new(usage: &ApiUsage, lost: &[LostApi]) -> Self {
        let losses = lost.iter().filter_map(|api| {
            let uses = usage.evidence(api);
            (!uses.is_empty()).then(|| MissingApi { api: api.clone(), uses })
        });
        let losses: Vec<MissingApi> = losses.collect();
        if !losses.is_empty() {
            return Self::Missing(losses);
        }
        let wildcards: BTreeSet<String> = lost.iter().flat_map(|it| usage.wildcards(it)).collect();
        let possible: Vec<LostApi> = lost.iter().filter(|it| usage.permits(it)).cloned().collect();
        if wildcards.is_empty() && possible.is_empty() {
            return Self::AllPresent;
        }
        Self::CannotTell { wildcards, possible }
    }
}

impl fmt::Display for ApiAvailability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllPresent => f.write_str("all APIs that it names are served"),
            Self::Missing(losses) => {
                let apis = if losses.len() == 1 { "an API" } else { "APIs" };
                write!(
                    f,
                    "it uses {apis} that the target does not serve: {}",
                    text::list(losses, ", ")
                )
            }
            Self::CannotTell { wildcards, possible } => {
                f.write_str("unknown: ")?;
                let wildcards: Vec<&String> = wildcards.iter().collect();
                let named = format!(
                    "its permissions contain the wildcards {}",
                    text::list(&wildcards, ", ")
                );
                let may = text::list(possible, ", ");
                let may =
                    format!("it may use {may}, which the target serves only in another version");
                match (wildcards.is_empty(), possible.is_empty()) {
                    (false, false) => write!(f, "{named}; {may}"),
                    (false, true) => f.write_str(&named),
                    _ => f.write_str(&may),
                }
            }
        }
    }
}

impl fmt::Display for MissingApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uses: Vec<String> = self.uses.iter().map(ToString::to_string).collect();
        write!(f, "{} ({}", self.api, uses.join(", "))?;
        match &self.api.instead {
            Some(instead) => write!(f, "; replaced by {instead})"),
            None => f.write_str("; no replacement)"),
        }
    }
}

/// Availability of an operator's APIs on later cluster versions, as far as the removed Kubernetes
/// APIs determine it without the releases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiForecast {
    running: MinorVersion,
    /// Versions at which the availability changes, in ascending order.
    changes: Vec<(MinorVersion, ApiAvailability)>,
}

impl ApiForecast {
    /// Computes the availability; `None` if the Kubernetes version of the running version is
    /// unknown.
    pub fn new(usage: &ApiUsage, running: MinorVersion) -> Option<Self> {
        let kubernetes = kubernetes_of(running)?;
        let mut changes: Vec<(MinorVersion, ApiAvailability)> = Vec::new();
        for removal in removals_after(kubernetes) {
            let Some(platform) = platform_with(removal) else { continue };
            let outlook = ApiAvailability::new(usage, &LostApi::between(kubernetes, removal));
            let before = changes.last().map_or(&ApiAvailability::AllPresent, |(_, before)| before);
            if outlook != *before {
                changes.push((platform, outlook));
            }
        }
        Some(Self { running, changes })
    }

    /// The availability on a target. Missing APIs stay missing; otherwise it is unknown if the
    /// target's Kubernetes version is.
    pub fn on(&self, target: MinorVersion) -> Option<&ApiAvailability> {
        let changes = self.changes.iter().rev();
        let outlook = changes.clone().find(|(from, _)| *from <= target);
        let outlook = outlook.map_or(&ApiAvailability::AllPresent, |(_, outlook)| outlook);
        let is_known = target <= self.running
            || kubernetes_of(target).is_some()
            || matches!(outlook, ApiAvailability::Missing(_));
        is_known.then_some(outlook)
    }

    /// The first version without an API that the operator uses.
    pub fn loss(&self) -> Option<(MinorVersion, &ApiAvailability)> {
        self.first(|outlook| matches!(outlook, ApiAvailability::Missing(_)))
    }

    /// The first version on which the availability is unknown.
    pub fn doubt(&self) -> Option<(MinorVersion, &ApiAvailability)> {
        self.first(|outlook| matches!(outlook, ApiAvailability::CannotTell { .. }))
    }

    fn first(
        &self,
        is_it: fn(&ApiAvailability) -> bool,
    ) -> Option<(MinorVersion, &ApiAvailability)> {
        let found = self.changes.iter().find(|(_, outlook)| is_it(outlook))?;
        Some((found.0, &found.1))
    }
}

/// The first Kubernetes version without an API that the operator uses.
pub(in super::super) fn first_loss_after(
    usage: &ApiUsage,
    running: KubernetesMinor,
) -> Option<(KubernetesMinor, ApiAvailability)> {
    removals_after(running).find_map(|removal| {
        let outlook = ApiAvailability::new(usage, &LostApi::between(running, removal));
        matches!(outlook, ApiAvailability::Missing(_)).then_some((removal, outlook))
    })
}

/// The Kubernetes versions after `running` that remove APIs.
fn removals_after(running: KubernetesMinor) -> impl Iterator<Item = KubernetesMinor> {
    let removals = removed_apis::gone_in(KNOWN_UP_TO).map(|api| api.removed_in);
    let removals: BTreeSet<KubernetesMinor> =
        removals.filter(|removal| *removal > running).collect();
    removals.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KubernetesMinor;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn lost(from: u32, to: u32) -> Vec<LostApi> {
        LostApi::between(KubernetesMinor::one(from), KubernetesMinor::one(to))
    }

    fn usage(spec: &Value) -> ApiUsage {
        ApiUsage::read(&json!({"metadata": {"namespace": "team", "name": "etcd.v1"}, "spec": spec}))
    }

    fn with_permissions(groups: &[&str], resources: &[&str]) -> Value {
        let rules = json!([{"apiGroups": groups, "resources": resources, "verbs": ["get"]}]);
        let permissions = json!([{"serviceAccountName": "etcd", "rules": rules}]);
        json!({"install": {"spec": {"clusterPermissions": permissions}}})
    }

    #[test]
    fn availability_has_three_results() {
        let native =
            json!({"nativeAPIs": [{"group": "batch", "version": "v1beta1", "kind": "CronJob"}]});
        let owned = json!({"customresourcedefinitions": {
            "owned": [{"name": "etcds.example.com", "version": "v1", "kind": "Etcd"}],
            "required": [{"name": "cronjobs.batch", "version": "v1beta1", "kind": "CronJob"}],
        }});
        let webhook = json!({"webhookdefinitions": [{"rules": [
            {"apiGroups": ["policy"], "apiVersions": ["v1beta1"], "resources": ["poddisruptionbudgets"]},
            {"apiGroups": ["batch"], "apiVersions": ["v1", "v1beta1"], "resources": ["cronjobs"]},
        ]}]});
        let all = [
            ("nothing", json!({})),
            ("native", native),
            ("required", owned),
            ("webhook", webhook),
            ("all versions go", with_permissions(&["policy"], &["podsecuritypolicies/status"])),
            ("another version stays", with_permissions(&["batch"], &["cronjobs"])),
            ("resources", with_permissions(&["batch"], &["*"])),
            ("groups", with_permissions(&["*"], &["cronjobs/status"])),
            ("everything", with_permissions(&["*"], &["*/scale"])),
            ("a wildcard elsewhere", with_permissions(&["apps"], &["*"])),
            ("the group of the oldest kinds", with_permissions(&[""], &["pods", "secrets"])),
        ];
        let texts = all.map(|(what, spec)| {
            format!("{what}: {}", ApiAvailability::new(&usage(&spec), &lost(24, 25)))
        });
        insta::assert_snapshot!(texts.join("\n"), @"
        nothing: all APIs that it names are served
        native: it uses an API that the target does not serve: cronjobs.v1beta1.batch (required; replaced by batch/v1)
        required: it uses an API that the target does not serve: cronjobs.v1beta1.batch (required; replaced by batch/v1)
        webhook: it uses an API that the target does not serve: poddisruptionbudgets.v1beta1.policy (used by its webhook; replaced by policy/v1)
        all versions go: it uses an API that the target does not serve: podsecuritypolicies.v1beta1.policy (named in its permissions; no replacement)
        another version stays: unknown: it may use cronjobs.v1beta1.batch, which the target serves only in another version
        resources: unknown: its permissions contain the wildcards *.batch
        groups: unknown: its permissions contain the wildcards cronjobs.*
        everything: unknown: its permissions contain the wildcards *.*
        a wildcard elsewhere: all APIs that it names are served
        the group of the oldest kinds: all APIs that it names are served
        ");
    }

    #[test]
    fn requests_count_for_own_service_accounts() {
        let mut usage = usage(&with_permissions(&["batch"], &["cronjobs"]));
        let api = "cronjobs.v1beta1.batch";
        usage.add_request(
            api,
            ["system:serviceaccount:team:other", "system:serviceaccount:x:etcd", "etcd"],
        );
        assert!(matches!(
            ApiAvailability::new(&usage, &lost(24, 25)),
            ApiAvailability::CannotTell { .. }
        ));
        usage.add_request(api, ["system:serviceaccount:team:etcd"]);
        insta::assert_snapshot!(ApiAvailability::new(&usage, &lost(24, 25)), @"it uses an API that the target does not serve: cronjobs.v1beta1.batch (requested within the last 24 hours; replaced by batch/v1)");
    }

    #[test]
    fn wildcards_without_removed_apis_are_ignored() {
        let usage = usage(&with_permissions(&["*"], &["*"]));
        assert_eq!(ApiAvailability::new(&usage, &lost(22, 24)), ApiAvailability::AllPresent);
        assert!(matches!(
            ApiAvailability::new(&usage, &lost(21, 22)),
            ApiAvailability::CannotTell { .. }
        ));
    }

    #[test]
    fn large_rules_are_not_expanded() {
        let many: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
        let mut groups: Vec<&str> = many.iter().map(String::as_str).collect();
        groups.push("policy");
        let mut resources = groups.clone();
        resources.push("podsecuritypolicies");
        let mut spec = with_permissions(&groups, &resources);
        let mut rule = spec["install"]["spec"]["clusterPermissions"][0]["rules"][0].clone();
        rule["apiVersions"] = json!(["v1beta1"]);
        spec["webhookdefinitions"] = json!([{"rules": [rule]}]);
        let texts = ApiAvailability::new(&usage(&spec).about(&LostApi::ever()), &lost(24, 25));
        insta::assert_snapshot!(texts, @"it uses an API that the target does not serve: podsecuritypolicies.v1beta1.policy (used by its webhook, named in its permissions; no replacement)");
    }

    proptest! {
        #[test]
        fn about_keeps_availability(
            groups in proptest::sample::subsequence(vec!["", "*", "apps", "batch", "policy"], 0..5),
            resources in proptest::sample::subsequence(
                vec!["*", "cronjobs", "pods/log", "podsecuritypolicies", "poddisruptionbudgets/status"], 0..5,
            ),
            versions in proptest::sample::subsequence(vec!["v1", "v1beta1", "*"], 0..3),
            kind in proptest::sample::select(vec!["CronJob", "Pod", "PodSecurityPolicy"]),
        ) {
            let mut spec = with_permissions(&groups, &resources);
            spec["webhookdefinitions"] = json!([{"rules": [
                {"apiGroups": groups, "apiVersions": versions, "resources": resources},
            ]}]);
            spec["nativeAPIs"] = json!([{"group": "batch", "version": "v1beta1", "kind": kind}]);
            let usage = usage(&spec);
            for lost in [lost(21, 22), lost(24, 25), lost(15, 32)] {
                prop_assert_eq!(
                    ApiAvailability::new(&usage.clone().about(&LostApi::ever()), &lost),
                    ApiAvailability::new(&usage, &lost)
                );
            }
        }

        #[test]
        fn any_operator_does_not_panic(text in "\\PC{0,20}", number in 0u64..9) {
            for value in [json!(text), json!(number), json!([text]), json!({"rules": [text, {"apiGroups": text}]})] {
                let spec = json!({
                    "nativeAPIs": value, "webhookdefinitions": [value], "customresourcedefinitions": {"owned": [value]},
                    "install": {"spec": {"permissions": [value]}},
                });
                let mut usage = usage(&spec);
                usage.add_request(&text, [text.as_str()]);
                let _ = ApiAvailability::new(&usage, &lost(15, 32)).to_string();
            }
        }
    }

    fn forecast(spec: &Value, running: MinorVersion) -> ApiForecast {
        ApiForecast::new(&usage(spec), running).unwrap()
    }

    #[test]
    fn loss_returns_first_version_without_api() {
        let first = |spec: &Value, running| {
            forecast(spec, running).loss().map(|(first, _)| first.to_string())
        };
        let policies = with_permissions(&["policy"], &["podsecuritypolicies"]);
        assert_eq!(first(&policies, MinorVersion::new(4, 8)).as_deref(), Some("4.12"));
        assert_eq!(first(&policies, MinorVersion::new(4, 12)), None, "already removed");
        assert_eq!(first(&json!({}), MinorVersion::new(4, 8)), None);
        let flows = json!({"nativeAPIs": [
            {"group": "flowcontrol.apiserver.k8s.io", "version": "v1beta3", "kind": "FlowSchema"},
        ]});
        assert_eq!(first(&flows, MinorVersion::new(4, 16)).as_deref(), Some("4.19"));
    }

    #[test]
    fn availability_depends_on_target() {
        let mut spec = with_permissions(&["batch"], &["*"]);
        spec["nativeAPIs"] = json!([
            {"group": "autoscaling", "version": "v2beta2", "kind": "HorizontalPodAutoscaler"},
        ]);
        let forecast = forecast(&spec, MinorVersion::new(4, 11));
        let on = |target: &str| match forecast.on(MinorVersion::parse(target).unwrap()) {
            Some(outlook) => format!("{target}: {outlook}"),
            None => format!("{target}: nothing is known"),
        };
        let texts = ["4.11", "4.12", "4.13", "5.1"].map(on).join("\n");
        insta::assert_snapshot!(texts, @"
        4.11: all APIs that it names are served
        4.12: unknown: its permissions contain the wildcards *.batch
        4.13: it uses an API that the target does not serve: horizontalpodautoscalers.v2beta2.autoscaling (required; replaced by autoscaling/v2)
        5.1: it uses an API that the target does not serve: horizontalpodautoscalers.v2beta2.autoscaling (required; replaced by autoscaling/v2)
        ");
        assert_eq!(forecast.doubt().map(|(first, _)| first), Some(MinorVersion::new(4, 12)));
    }

    #[test]
    fn forecast_without_kubernetes_version_is_unknown() {
        let wild = forecast(&with_permissions(&["*"], &["*"]), MinorVersion::new(4, 11));
        assert_eq!(
            wild.on(MinorVersion::new(4, 22)).map(|it| *it == ApiAvailability::AllPresent),
            Some(false)
        );
        assert_eq!(wild.on(MinorVersion::new(5, 1)), None);
        assert_eq!(wild.on(MinorVersion::new(4, 11)), Some(&ApiAvailability::AllPresent));
        assert_eq!(ApiForecast::new(&ApiUsage::default(), MinorVersion::new(5, 1)), None);
    }
}
