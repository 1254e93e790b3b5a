//! Accepted risks as a file, for import into other clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use anyhow::anyhow;
use fairway_api::{ClusterVersion, limits, read};
use fairway_risk::AcceptanceTerms;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::acceptance::{OtherRisks, StoredAcceptances};
use crate::args::report::ReportFormat;
use crate::errors::{HintExt as _, WithHint};
use crate::foreign_text::OneLine;
use crate::output::{API_VERSION, TypedReport};
use crate::{input, output};

impl TypedReport for AcceptedRisks {
    const KIND: &'static str = "AcceptedRisks";
}

/// Version of the file format. Fairway 0.1 requires it, so exports keep it beside `apiVersion`.
const VERSION: u32 = 1;

/// Accepted risks of a cluster, with their terms.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct AcceptedRisks {
    /// Missing in files of Fairway 0.1.
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    /// Version of the file format, kept because Fairway 0.1 requires it.
    #[schemars(extend("const" = VERSION))]
    version: u32,
    /// Accepted risks.
    risks: Vec<Entry>,
}

/// Accepted risk, with its terms.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct Entry {
    /// Name of the risk.
    name: String,
    #[serde(flatten)]
    terms: AcceptanceTerms,
    /// Unknown fields. They may restrict the acceptance, so the import refuses them.
    #[serde(flatten, skip_serializing)]
    #[schemars(skip)]
    unknown: BTreeMap<String, Value>,
}

impl AcceptedRisks {
    /// Accepted risks of a ClusterVersion.
    pub(super) fn of(cluster_version: &ClusterVersion) -> anyhow::Result<Self> {
        let stored = StoredAcceptances::of(cluster_version, OtherRisks::Keep)?;
        let mut risks = Vec::new();
        for risk in &stored.names {
            let name = risk.name.clone();
            let terms = stored.terms_of(&name).ok_or_else(|| invalid_terms(&name))?;
            risks.push(Entry { name, terms, unknown: BTreeMap::new() });
        }
        Ok(Self {
            api_version: API_VERSION.to_owned(),
            kind: Self::KIND.to_owned(),
            version: VERSION,
            risks,
        })
    }

    /// Reads a file.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = input::name(path);
        let bytes = input::bytes(path).with_hint(
            format!("cannot read {name}"),
            "run `fairway upgrade accept --export` to create such a file",
        )?;
        let document: Self = read::document(&name, &bytes)?;
        match document.error() {
            None => Ok(document),
            Some(error) => Err(anyhow!("{}", OneLine(&error)).context(WithHint::new(
                format!("{name} is not a valid {} document", Self::KIND),
                "run `fairway upgrade accept --export` to create such a file",
            ))),
        }
    }

    /// Writes the document, as YAML unless JSON is requested.
    pub(super) fn write(&self, mut out: impl Write, format: ReportFormat) -> anyhow::Result<()> {
        match format {
            ReportFormat::Json => output::json(out, self)?,
            ReportFormat::Text | ReportFormat::Yaml => {
                out.write_all(output::yaml(self)?.as_bytes())?;
            }
        }
        Ok(())
    }

    /// First error of the document.
    fn error(&self) -> Option<String> {
        if self.kind != Self::KIND {
            return Some(format!("expected kind: {}", Self::KIND));
        }
        // Exports of Fairway 0.1 have no apiVersion.
        if !["", API_VERSION].contains(&self.api_version.as_str()) {
            return Some(format!(
                "unsupported apiVersion {:?}: expected {API_VERSION}",
                self.api_version
            ));
        }
        if self.version != VERSION {
            return Some(format!("version {} is not supported, expected {VERSION}", self.version));
        }
        if self.risks.len() > limits::ACCEPTED_RISKS {
            let (count, most) = (self.risks.len(), limits::ACCEPTED_RISKS);
            return Some(format!("{count} risks exceed the maximum of {most}"));
        }
        let is_legal =
            |entry: &Entry| (1..=limits::RISK_NAME).contains(&entry.name.chars().count());
        let mut risks = self.risks.iter().enumerate();
        let mut names = BTreeSet::new();
        risks.find_map(|(number, entry)| match entry.unknown.keys().next() {
            Some(key) => Some(format!("risks[{number}]: unknown field {key:?}")),
            None if !is_legal(entry) => {
                Some(format!("risks[{number}]: the name is empty or too long"))
            }
            // The terms would be ambiguous.
            None if !names.insert(&entry.name) => {
                Some(format!("risks[{number}]: duplicate name {}", entry.name))
            }
            None => None,
        })
    }

    /// Risks whose acceptance has not expired, and warnings about the others.
    pub(super) fn valid(self, now: Timestamp) -> (BTreeMap<String, AcceptanceTerms>, Vec<String>) {
        let (mut valid, mut expired) = (BTreeMap::new(), Vec::new());
        for Entry { name, terms, .. } in self.risks {
            match terms.until.as_ref().filter(|until| until.end() <= now) {
                Some(until) => expired.push(format!(
                    "skipping {}: its acceptance expired on {}",
                    OneLine(&name),
                    OneLine(&until.to_string())
                )),
                None => drop(valid.insert(name, terms)),
            }
        }
        (valid, expired)
    }
}

fn invalid_terms(name: &str) -> WithHint {
    WithHint::new(
        format!("cannot read the acceptance terms of {}", OneLine(name)),
        "accept the risk again with `fairway upgrade accept`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::upgrade::fixtures::{accept, cluster_version, now};
    use crate::errors;

    fn exported() -> AcceptedRisks {
        let mut object = cluster_version();
        let terms = r#"{"SlowDisks": {"reason": "replaced soon", "until": "2026-12-31",
            "for": "5.2.x", "by": "alice", "definition": "0011"}}"#;
        accept(&mut object, &["SlowDisks", "NoisyLogs"], Some(terms));
        AcceptedRisks::of(&object).unwrap()
    }

    fn written(document: &AcceptedRisks, format: ReportFormat) -> String {
        let mut out = Vec::new();
        document.write(&mut out, format).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn read(text: &str) -> anyhow::Result<AcceptedRisks> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        AcceptedRisks::read(file.path())
    }

    #[test]
    fn export_and_import_round_trip() {
        let document = exported();
        insta::assert_snapshot!(written(&document, ReportFormat::Text), @r#"
        apiVersion: fairway.dev/v1alpha1
        kind: AcceptedRisks
        version: 1
        risks:
        - name: SlowDisks
          reason: replaced soon
          until: "2026-12-31"
          for: 5.2.x
          by: alice
          definition: "0011"
        - name: NoisyLogs
        "#);
        for format in [ReportFormat::Text, ReportFormat::Json, ReportFormat::Yaml] {
            let again = read(&written(&document, format)).unwrap();
            assert_eq!(written(&again, ReportFormat::Json), written(&document, ReportFormat::Json));
        }
    }

    #[test]
    fn read_with_and_without_api_version_returns_the_same_risks() {
        let export = fairway_fixtures::recorded::v0_1().bytes("cli/accepted-risks-export.json");
        let export = String::from_utf8(export).unwrap();
        assert!(!export.contains("apiVersion"), "{export}");
        let risks = |text: &str| serde_json::to_value(read(text).unwrap().risks).unwrap();
        let typed = export.replacen('{', "{\"apiVersion\": \"fairway.dev/v1alpha1\",", 1);
        assert_eq!(risks(&export).as_array().map(Vec::len), Some(2));
        assert_eq!(risks(&export), risks(&typed));
    }

    #[test]
    fn import_skips_expired_risks() {
        let text =
            "{kind: AcceptedRisks, version: 1, risks: [{name: A, until: 2025-12-31}, {name: B}]}";
        let (valid, expired) = read(text).unwrap().valid(now());
        assert_eq!(valid.into_keys().collect::<Vec<_>>(), ["B"]);
        insta::assert_snapshot!(expired.join("\n"), @"skipping A: its acceptance expired on 2025-12-31");
    }

    #[test]
    fn import_of_other_documents_is_refused() {
        let long = "A".repeat(limits::RISK_NAME + 1);
        let many = vec!["{name: A}"; limits::ACCEPTED_RISKS + 1].join(", ");
        let document =
            |risks: &str| format!("{{kind: AcceptedRisks, version: 1, risks: [{risks}]}}");
        let refused = [
            "{}".to_owned(),
            "{kind: UpgradeReport, version: 1}".to_owned(),
            "{kind: AcceptedRisks, version: 2}".to_owned(),
            "{apiVersion: fairway.dev/v2, kind: AcceptedRisks, version: 1}".to_owned(),
            document("{reason: none}"),
            document(&format!("{{name: A}}, {{name: {long}}}")),
            document("{name: A, untill: 2026-12-31}"),
            document("{name: A, for: 5.2.x}, {name: B}, {name: A}"),
            document(&many),
        ];
        let refused = refused.map(|text| errors::chain(&read(&text).unwrap_err())[1..].join(": "));
        insta::assert_snapshot!(refused.join("\n"), @r#"
        expected kind: AcceptedRisks
        expected kind: AcceptedRisks
        version 2 is not supported, expected 1
        unsupported apiVersion "fairway.dev/v2": expected fairway.dev/v1alpha1
        risks[0]: the name is empty or too long
        risks[1]: the name is empty or too long
        risks[0]: unknown field "untill"
        risks[2]: duplicate name A
        1001 risks exceed the maximum of 1000
        "#);
        assert!(read("risks: [").is_err());
        assert!(read(&document("{name: A, until: soon}")).is_err(), "no end is not any end");
    }

    #[test]
    fn export_with_invalid_terms_fails() {
        let mut object = cluster_version();
        accept(&mut object, &["SlowDisks"], Some(r#"{"SlowDisks": {"until": "soon"}}"#));
        let refused = AcceptedRisks::of(&object).unwrap_err().to_string();
        insta::assert_snapshot!(refused, @"cannot read the acceptance terms of SlowDisks");
    }
}
