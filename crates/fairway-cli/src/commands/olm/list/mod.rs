//! `fairway olm list`: every operator, and what it means for updates.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fairway_api::{ClusterVersion, Version};
use fairway_compat::olm::catalog::WayOut;
use fairway_compat::olm::{Declaration, Guard, Operator, Origin, Policy, Stream, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

use super::state::State;
use crate::args::olm::OlmListArgs;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};

/// What documents of it are called.
const KIND: &str = "OperatorList";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<List>(KIND)
}

pub(crate) fn run(args: &OlmListArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let list = List::new(State::look(args)?, args.to.as_ref(), args.policy.policy());
    output::report(printer.stdout(), args.output.output, KIND, &list)?;
    Ok(list.status(args.to.as_ref()))
}

/// Every operator, and what it means for updates.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct List {
    /// The minor version that runs, if the cluster says.
    #[schemars(with = "Option<String>")]
    running: Option<Stream>,
    operators: Vec<Row>,
    /// What could not be looked at.
    left_out: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: String,
    name: String,
    #[schemars(with = "Option<String>")]
    maximum: Option<Stream>,
    /// Where it is declared.
    #[schemars(with = "Option<String>")]
    declared_in: Option<Origin>,
    /// Why what is declared cannot be used.
    invalid: Option<String>,
    /// What was declared when the operator was installed, where a catalog says something else.
    superseded: Option<String>,
    targets: Vec<Target>,
    missing_apis: Option<MissingApis>,
}

/// What an operator means for an update.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Target {
    version: Version,
    verdict: Verdict,
    way_out: Option<WayOut>,
}

/// What an operator would miss, from which version on.
#[derive(Serialize, JsonSchema)]
struct MissingApis {
    #[schemars(with = "String")]
    from: Stream,
    message: String,
}

impl List {
    fn new(state: State, to: Option<&Version>, policy: Policy) -> Self {
        let running = state.running();
        let mut targets: BTreeSet<Version> =
            state.cluster.as_ref().map(offered).unwrap_or_default();
        targets.extend(to.cloned());
        let base = running.unwrap_or(Stream::new(0, 0));
        let guard = Guard::new(state.operators, base, policy);
        // Nothing can be said about updates of a cluster that does not say which version it has.
        let targets = running.map(|running| (running, targets));
        let row = |operator: &Operator| Row::new(operator, targets.as_ref(), policy);
        let operators = guard.operators().iter().map(row).collect();
        Self { running, operators, left_out: state.left_out }
    }

    fn status(&self, to: Option<&Version>) -> ExitStatus {
        let Some(to) = to else { return ExitStatus::Yes };
        let fails = |it: &Target| it.version == *to && it.verdict == Verdict::WillNotRun;
        let loses = |it: &MissingApis| it.from <= Stream::of(to);
        let is_against = |operator: &Row| {
            operator.targets.iter().any(fails) || operator.missing_apis.as_ref().is_some_and(loses)
        };
        if self.running.is_none() {
            ExitStatus::CannotTell
        } else if self.operators.iter().any(is_against) {
            ExitStatus::No
        } else if self.left_out.is_empty() {
            ExitStatus::Yes
        } else {
            ExitStatus::CannotTell
        }
    }
}

/// The versions that the cluster is offered.
fn offered(cluster: &ClusterVersion) -> BTreeSet<Version> {
    let Some(status) = &cluster.status else { return BTreeSet::new() };
    let plain = status.available_updates.iter().flatten();
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    let versions = plain.chain(conditional).map(|release| release.version.as_str());
    versions.filter_map(|version| Version::parse(version).ok()).collect()
}

impl Row {
    fn new(
        operator: &Operator,
        targets: Option<&(Stream, BTreeSet<Version>)>,
        policy: Policy,
    ) -> Self {
        let target = |running: Stream, version: &Version| {
            let to = Stream::of(version);
            let verdict = policy.verdict(&operator.declared, running, to);
            let way_out =
                (verdict == Verdict::WillNotRun).then(|| operator.way_out(policy, running, to));
            Target { version: version.clone(), verdict, way_out: way_out.flatten().cloned() }
        };
        let targets = targets.map(|(running, versions)| {
            versions.iter().rev().map(|version| target(*running, version)).collect()
        });
        let (declared_in, invalid) = match &operator.declared {
            Declaration::Missing => (None, None),
            Declaration::Maximum(_, origin) => (Some(origin.clone()), None),
            Declaration::Invalid(why) => (None, Some(why.to_string())),
        };
        let missing_apis = operator
            .api_loss
            .as_ref()
            .map(|(from, outlook)| MissingApis { from: *from, message: outlook.to_string() });
        Self {
            namespace: operator.namespace.clone(),
            name: operator.name.clone(),
            maximum: operator.declared.maximum(),
            declared_in,
            invalid,
            superseded: operator.superseded.as_ref().map(before),
            targets: targets.unwrap_or_default(),
            missing_apis,
        }
    }
}

fn before(declared: &Declaration) -> String {
    match declared {
        Declaration::Missing => "nothing".to_owned(),
        Declaration::Maximum(maximum, origin) => format!("{maximum} in the {origin}"),
        Declaration::Invalid(why) => why.to_string(),
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { running, operators, left_out } = self;
        match running {
            Some(running) => write!(f, "The cluster runs {running}.")?,
            None => write!(f, "The cluster does not say which version of the platform it runs.")?,
        }
        if operators.is_empty() {
            let nothing = "OLM has installed no operators.";
            write!(
                f,
                "\n{}",
                if left_out.is_empty() { nothing } else { "No operators are known." }
            )?;
        }
        for operator in operators {
            write!(f, "\n\n{operator}")?;
        }
        for part in left_out {
            write!(f, "\n\nLeft out: {}", OneLine(part))?;
        }
        Ok(())
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, name, maximum, declared_in, invalid, superseded, .. } = self;
        write!(f, "{}/{}", OneLine(namespace), OneLine(name))?;
        match (maximum, declared_in, invalid) {
            (Some(maximum), Some(origin), _) => write!(f, "\n  runs up to {maximum} ({origin})")?,
            (_, _, Some(why)) => {
                write!(f, "\n  declares no version that makes sense: {}", OneLine(why))?;
            }
            _ => write!(f, "\n  does not declare up to which version it runs")?,
        }
        if let Some(before) = superseded {
            write!(f, "\n  declared when it was installed: {}", OneLine(before))?;
        }
        for (verdict, targets) in by_verdict(&self.targets) {
            write!(f, "\n  {}: {verdict}", targets.join(", "))?;
        }
        if let Some(MissingApis { from, message }) = &self.missing_apis {
            write!(f, "\n  from {from} on: {}", OneLine(message))?;
        }
        Ok(())
    }
}

/// Versions of which the same is to be said, the highest first.
fn by_verdict(targets: &[Target]) -> Vec<(String, Vec<String>)> {
    let mut order: Vec<String> = Vec::new();
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Target { version, verdict, way_out } in targets {
        let told = match way_out {
            Some(way_out) => format!("{}; {}", verdict.as_str(), OneLine(&way_out.to_string())),
            None => verdict.as_str().to_owned(),
        };
        if !versions.contains_key(&told) {
            order.push(told.clone());
        }
        versions.entry(told).or_default().push(version.to_string());
    }
    let rows = order.into_iter().filter_map(|told| versions.remove_entry(&told));
    rows.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn operator(name: &str, annotations: &Value) -> Value {
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": {"namespace": "team", "name": name, "annotations": annotations}, "spec": {},
        })
    }

    fn state() -> Vec<Value> {
        let maximum = |it: &str| json!({"operators.coreos.com/maxOpenShiftVersion": it});
        let release = |version: &str| json!({"version": version, "image": "x"});
        let number = r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":4.10}]}"#;
        let mut uses = operator("uses.v1", &maximum("4.20"));
        uses["spec"] = json!({"nativeAPIs": [
            {"group": "policy", "version": "v1beta1", "kind": "PodSecurityPolicy"},
        ]});
        let mut copy = operator("copy.v1", &json!({}));
        copy["status"] = json!({"reason": "Copied"});
        vec![
            json!({"kind": "ClusterVersion", "apiVersion": "config.openshift.io/v1",
            "metadata": {"name": "version"}, "spec": {"clusterID": ""},
            "status": {
                "desired": release("4.8.2"),
                "history": [{"state": "Completed", "version": "4.8.2"}],
                "availableUpdates": [release("4.8.5"), release("4.9.1"), release("4.9.0")],
                "conditionalUpdates": [{"release": release("4.10.0"), "risks": []}],
            }}),
            operator("etcd.v1.0.0", &maximum("4.7")),
            operator("number.v1", &json!({"operatorframework.io/properties": number})),
            operator("silent.v1", &json!({})),
            operator("wrong.v1", &maximum("4.x")),
            uses,
            copy,
            json!({"kind": "Subscription", "metadata": {"namespace": "team", "name": "etcd"},
                "spec": {"name": "etcd", "source": "main", "sourceNamespace": "market",
                         "channel": "stable", "installPlanApproval": "Manual"},
                "status": {"installedCSV": "etcd.v1.0.0"}}),
            json!({"kind": "PackageManifest", "status": {
            "packageName": "etcd", "catalogSource": "main", "catalogSourceNamespace": "market",
            "channels": [
                {"name": "stable", "currentCSV": "etcd.v1.1.0",
                 "currentCSVDesc": {"version": "1.1.0", "annotations": maximum("4.9")}},
                {"name": "old", "currentCSV": "etcd.v1.0.0",
                 "currentCSVDesc": {"version": "1.0.0", "annotations": maximum("4.8")}},
            ]}}),
        ]
    }

    fn list(to: Option<&Version>) -> List {
        List::new(State::of_objects(state()), to, Policy::default())
    }

    #[test]
    fn every_operator_has_its_say() {
        insta::assert_snapshot!(list(None), @r#"
        The cluster runs 4.8.

        team/etcd.v1.0.0
          runs up to 4.8 (catalog market/main)
          declared when it was installed: 4.7 in the annotation operators.coreos.com/maxOpenShiftVersion
          4.10.0: will not run
          4.9.1, 4.9.0: will not run; update to etcd.v1.1.0 in channel stable of market/main, which has to be approved
          4.8.5: upgradeable

        team/number.v1
          runs up to 4.10 (annotation operatorframework.io/properties)
          4.10.0, 4.9.1, 4.9.0, 4.8.5: upgradeable

        team/silent.v1
          does not declare up to which version it runs
          4.10.0, 4.9.1, 4.9.0: may not run
          4.8.5: upgradeable

        team/uses.v1
          runs up to 4.20 (annotation operators.coreos.com/maxOpenShiftVersion)
          4.10.0, 4.9.1, 4.9.0, 4.8.5: upgradeable
          from 4.12 on: it uses an API that would be gone: podsecuritypolicies.v1beta1.policy (it requires it; nothing takes its place)

        team/wrong.v1
          declares no version that makes sense: failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number
          4.10.0, 4.9.1, 4.9.0: may not run
          4.8.5: upgradeable
        "#);
    }

    #[test]
    fn programs_get_the_same() {
        let list = serde_json::to_string_pretty(&list(None).operators[0]).unwrap();
        insta::assert_snapshot!(list, @r#"
        {
          "namespace": "team",
          "name": "etcd.v1.0.0",
          "maximum": "4.8",
          "declaredIn": "catalog market/main",
          "invalid": null,
          "superseded": "4.7 in the annotation operators.coreos.com/maxOpenShiftVersion",
          "targets": [
            {
              "version": "4.10.0",
              "verdict": "willNotRun",
              "wayOut": null
            },
            {
              "version": "4.9.1",
              "verdict": "willNotRun",
              "wayOut": {
                "name": "etcd.v1.1.0",
                "version": "1.1.0",
                "channel": "stable",
                "catalog": "market/main",
                "otherChannel": false,
                "manualApproval": true
              }
            },
            {
              "version": "4.9.0",
              "verdict": "willNotRun",
              "wayOut": {
                "name": "etcd.v1.1.0",
                "version": "1.1.0",
                "channel": "stable",
                "catalog": "market/main",
                "otherChannel": false,
                "manualApproval": true
              }
            },
            {
              "version": "4.8.5",
              "verdict": "upgradeable",
              "wayOut": null
            }
          ],
          "missingApis": null
        }
        "#);
    }

    #[test]
    fn a_version_that_is_asked_about_decides_how_it_ends() {
        let status = |to: &str| {
            let to = Version::parse(to).unwrap();
            list(Some(&to)).status(Some(&to))
        };
        assert_eq!(status("4.8.9"), ExitStatus::Yes);
        assert_eq!(status("4.9.7"), ExitStatus::No);
        assert_eq!(list(None).status(None), ExitStatus::Yes);
        let to = Version::new(4, 9, 0);
        let unknown = List::new(State::default(), Some(&to), Policy::default());
        assert_eq!(unknown.status(Some(&to)), ExitStatus::CannotTell);
        insta::assert_snapshot!(unknown, @"
        The cluster does not say which version of the platform it runs.
        OLM has installed no operators.
        ");
    }

    /// A catalog whose stable channel has a bundle that a cluster does not show.
    const FILES: &str = r#"
{"schema":"olm.package","name":"etcd","defaultChannel":"stable"}
{"schema":"olm.channel","package":"etcd","name":"stable","entries":[{"name":"etcd.v1.0.0"},{"name":"etcd.v1.0.5"},{"name":"etcd.v1.1.0"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.0.0","properties":[{"type":"olm.package","value":{"version":"1.0.0"}}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.0.5","properties":[{"type":"olm.package","value":{"version":"1.0.5"}},{"type":"olm.maxOpenShiftVersion","value":"4.9"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.1.0","properties":[{"type":"olm.package","value":{"version":"1.1.0"}},{"type":"olm.maxOpenShiftVersion","value":"4.10"}]}
"#;

    #[test]
    fn the_files_of_a_catalog_know_nearer_ways_out() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("etcd.json"), FILES).unwrap();
        let etcd = |stands_for: Option<&str>| {
            let mut state = State::of_objects(state());
            state.ask(stands_for, directory.path()).unwrap();
            let list = List::new(state, None, Policy::default());
            list.operators[0].to_string().replace(&directory.path().display().to_string(), "DIR")
        };
        insta::assert_snapshot!(etcd(None), @"
        team/etcd.v1.0.0
          runs up to 4.8 (catalog market/main)
          declared when it was installed: 4.7 in the annotation operators.coreos.com/maxOpenShiftVersion
          4.10.0: will not run; update to etcd.v1.1.0 in channel stable of DIR, which has to be approved
          4.9.1, 4.9.0: will not run; update to etcd.v1.0.5 in channel stable of DIR, which has to be approved
          4.8.5: upgradeable
        ");
        assert_eq!(etcd(Some("market/main")), etcd(None));
        assert_eq!(etcd(Some("market/other")), list(None).operators[0].to_string());
    }

    #[test]
    fn what_would_be_missed_and_what_was_not_seen_count_too() {
        let status = |running: &str, left_out: &[&str], to: &str| {
            let missing_apis = MissingApis { from: Stream::new(4, 12), message: String::new() };
            let operator = Operator::read("team", "uses.v1", &BTreeMap::new());
            let row = Row::new(&operator, None, Policy::default());
            let list = List {
                running: Stream::parse(running),
                operators: vec![Row { missing_apis: Some(missing_apis), ..row }],
                left_out: left_out.iter().map(ToString::to_string).collect(),
            };
            list.status(Version::parse(to).ok().as_ref())
        };
        assert_eq!(status("4.11", &[], "4.12.0"), ExitStatus::No);
        assert_eq!(status("4.11", &["catalogs"], "4.12.0"), ExitStatus::No);
        assert_eq!(status("4.11", &[], "4.11.9"), ExitStatus::Yes);
        assert_eq!(status("4.11", &["catalogs"], "4.11.9"), ExitStatus::CannotTell);
    }
}
