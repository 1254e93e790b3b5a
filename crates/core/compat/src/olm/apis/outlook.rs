//! Whether the APIs that an operator uses are there on a target.

use std::collections::BTreeSet;
use std::fmt;

use super::super::text;
use super::{Lost, Needs, Use};

/// Whether the APIs that an operator uses are there on a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// All that it names are. It may use others.
    AllPresent,
    /// Some are not.
    Missing(Vec<Loss>),
    /// Nobody can tell.
    CannotTell {
        /// Permissions that may mean an API that goes, such as `*.batch`.
        wildcards: BTreeSet<String>,
        /// APIs that go and that it may use, of which another version stays.
        possible: Vec<Lost>,
    },
}

/// An API that an operator uses, and a target does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The API.
    pub api: Lost,
    /// How it is known that the operator uses it.
    pub uses: BTreeSet<Use>,
}

impl Outlook {
    /// What becomes of the APIs that an operator uses, when some go.
    pub fn of(needs: &Needs, lost: &[Lost]) -> Self {
        let losses = lost.iter().filter_map(|api| {
            let uses = needs.certain(api);
            (!uses.is_empty()).then(|| Loss { api: api.clone(), uses })
        });
        let losses: Vec<Loss> = losses.collect();
        if !losses.is_empty() {
            return Self::Missing(losses);
        }
        let wildcards: BTreeSet<String> = lost.iter().flat_map(|it| needs.wildcards(it)).collect();
        let possible: Vec<Lost> = lost.iter().filter(|it| needs.permits(it)).cloned().collect();
        if wildcards.is_empty() && possible.is_empty() {
            return Self::AllPresent;
        }
        Self::CannotTell { wildcards, possible }
    }
}

impl fmt::Display for Outlook {
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
                let may = format!("it may use {may}, of which another version remains");
                match (wildcards.is_empty(), possible.is_empty()) {
                    (false, false) => write!(f, "{named}; {may}"),
                    (false, true) => f.write_str(&named),
                    _ => f.write_str(&may),
                }
            }
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uses: Vec<String> = self.uses.iter().map(ToString::to_string).collect();
        write!(f, "{} ({}", self.api, uses.join(", "))?;
        match &self.api.instead {
            Some(instead) => write!(f, "; replaced by {instead})"),
            None => f.write_str("; no replacement)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::Minor;

    fn lost(from: u32, to: u32) -> Vec<Lost> {
        Lost::between(Minor::one(from), Minor::one(to))
    }

    fn needs(spec: &Value) -> Needs {
        Needs::read(&json!({"metadata": {"namespace": "team", "name": "etcd.v1"}, "spec": spec}))
    }

    fn permitting(groups: &[&str], resources: &[&str]) -> Value {
        let rules = json!([{"apiGroups": groups, "resources": resources, "verbs": ["get"]}]);
        let permissions = json!([{"serviceAccountName": "etcd", "rules": rules}]);
        json!({"install": {"spec": {"clusterPermissions": permissions}}})
    }

    #[test]
    fn there_are_three_answers() {
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
            ("all versions go", permitting(&["policy"], &["podsecuritypolicies/status"])),
            ("another version stays", permitting(&["batch"], &["cronjobs"])),
            ("resources", permitting(&["batch"], &["*"])),
            ("groups", permitting(&["*"], &["cronjobs/status"])),
            ("everything", permitting(&["*"], &["*/scale"])),
            ("a wildcard elsewhere", permitting(&["apps"], &["*"])),
            ("the group of the oldest kinds", permitting(&[""], &["pods", "secrets"])),
        ];
        let told = all
            .map(|(what, spec)| format!("{what}: {}", Outlook::of(&needs(&spec), &lost(24, 25))));
        insta::assert_snapshot!(told.join("\n"), @"
        nothing: all APIs that it names are served
        native: it uses an API that the target does not serve: cronjobs.v1beta1.batch (required; replaced by batch/v1)
        required: it uses an API that the target does not serve: cronjobs.v1beta1.batch (required; replaced by batch/v1)
        webhook: it uses an API that the target does not serve: poddisruptionbudgets.v1beta1.policy (used by its webhook; replaced by policy/v1)
        all versions go: it uses an API that the target does not serve: podsecuritypolicies.v1beta1.policy (named in its permissions; no replacement)
        another version stays: unknown: it may use cronjobs.v1beta1.batch, of which another version remains
        resources: unknown: its permissions contain the wildcards *.batch
        groups: unknown: its permissions contain the wildcards cronjobs.*
        everything: unknown: its permissions contain the wildcards *.*
        a wildcard elsewhere: all APIs that it names are served
        the group of the oldest kinds: all APIs that it names are served
        ");
    }

    #[test]
    fn what_was_seen_counts_for_the_accounts_of_the_operator() {
        let mut needs = needs(&permitting(&["batch"], &["cronjobs"]));
        let api = "cronjobs.v1beta1.batch";
        needs.observed(
            api,
            ["system:serviceaccount:team:other", "system:serviceaccount:x:etcd", "etcd"],
        );
        assert!(matches!(Outlook::of(&needs, &lost(24, 25)), Outlook::CannotTell { .. }));
        needs.observed(api, ["system:serviceaccount:team:etcd"]);
        insta::assert_snapshot!(Outlook::of(&needs, &lost(24, 25)), @"it uses an API that the target does not serve: cronjobs.v1beta1.batch (requested within the last 24 hours; replaced by batch/v1)");
    }

    #[test]
    fn where_nothing_goes_wildcards_do_not_matter() {
        let needs = needs(&permitting(&["*"], &["*"]));
        assert_eq!(Outlook::of(&needs, &lost(22, 24)), Outlook::AllPresent);
        assert!(matches!(Outlook::of(&needs, &lost(21, 22)), Outlook::CannotTell { .. }));
    }

    #[test]
    fn a_rule_costs_what_is_written_in_it() {
        let many: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
        let mut groups: Vec<&str> = many.iter().map(String::as_str).collect();
        groups.push("policy");
        let mut resources = groups.clone();
        resources.push("podsecuritypolicies");
        let mut spec = permitting(&groups, &resources);
        let mut rule = spec["install"]["spec"]["clusterPermissions"][0]["rules"][0].clone();
        rule["apiVersions"] = json!(["v1beta1"]);
        spec["webhookdefinitions"] = json!([{"rules": [rule]}]);
        let told = Outlook::of(&needs(&spec).about(&Lost::ever()), &lost(24, 25));
        insta::assert_snapshot!(told, @"it uses an API that the target does not serve: podsecuritypolicies.v1beta1.policy (used by its webhook, named in its permissions; no replacement)");
    }

    proptest! {
        #[test]
        fn what_does_not_matter_can_be_left_out(
            groups in proptest::sample::subsequence(vec!["", "*", "apps", "batch", "policy"], 0..5),
            resources in proptest::sample::subsequence(
                vec!["*", "cronjobs", "pods/log", "podsecuritypolicies", "poddisruptionbudgets/status"], 0..5,
            ),
            versions in proptest::sample::subsequence(vec!["v1", "v1beta1", "*"], 0..3),
            kind in proptest::sample::select(vec!["CronJob", "Pod", "PodSecurityPolicy"]),
        ) {
            let mut spec = permitting(&groups, &resources);
            spec["webhookdefinitions"] = json!([{"rules": [
                {"apiGroups": groups, "apiVersions": versions, "resources": resources},
            ]}]);
            spec["nativeAPIs"] = json!([{"group": "batch", "version": "v1beta1", "kind": kind}]);
            let needs = needs(&spec);
            for lost in [lost(21, 22), lost(24, 25), lost(15, 32)] {
                prop_assert_eq!(
                    Outlook::of(&needs.clone().about(&Lost::ever()), &lost),
                    Outlook::of(&needs, &lost)
                );
            }
        }

        #[test]
        fn no_operator_makes_it_panic(text in "\\PC{0,20}", number in 0u64..9) {
            for value in [json!(text), json!(number), json!([text]), json!({"rules": [text, {"apiGroups": text}]})] {
                let spec = json!({
                    "nativeAPIs": value, "webhookdefinitions": [value], "customresourcedefinitions": {"owned": [value]},
                    "install": {"spec": {"permissions": [value]}},
                });
                let mut needs = needs(&spec);
                needs.observed(&text, [text.as_str()]);
                let _ = Outlook::of(&needs, &lost(15, 32)).to_string();
            }
        }
    }
}
