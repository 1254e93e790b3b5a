//! File-based catalogs: files with packages, channels and bundles.

use std::collections::BTreeMap;

use fairway_api::Version;
use fairway_api::read::{self, InputLocation, ReadError};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use serde_saphyr::Spanned;

use super::super::declaration::parse_maximum;
use super::super::{
    DeclarationSource, MAX_OPENSHIFT_VERSION, MaximumError, MaximumVersion, MinorVersion,
};
use super::{Bundle, CatalogError, Catalogs, Package};

/// A file of a catalog.
#[derive(Clone, Debug, Default)]
pub struct CatalogFile {
    blobs: Vec<Blob>,
    /// Maximum versions that are numbers instead of strings.
    pub unquoted: Vec<UnquotedVersion>,
}

/// A maximum version that is a number: tools parse 4.10 as 4.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnquotedVersion {
    /// Name of the bundle.
    pub bundle: String,
    /// Position in the file.
    pub place: InputLocation,
    /// Text of the number.
    pub text: String,
    /// Whether parsing as a number changes the value.
    pub changes: bool,
}

#[derive(Clone, Debug)]
enum Blob {
    Package { name: String, default_channel: Option<String> },
    Channel { package: String, name: String, bundles: Vec<String> },
    Bundle { package: String, name: String, version: Option<Version>, found: Vec<FoundMaximum> },
}

impl Blob {
    fn package(&self) -> &str {
        match self {
            Self::Package { name, .. } => name,
            Self::Channel { package, .. } | Self::Bundle { package, .. } => package,
        }
    }

    fn add_to(self, package: &mut Package) {
        match self {
            Self::Package { default_channel, .. } => package.default_channel = default_channel,
            Self::Channel { name, bundles, .. } => {
                package.channels.entry(name).or_default().extend(bundles);
            }
            Self::Bundle { name, version, found, .. } => {
                let origin = || DeclarationSource::Catalog(package.catalog.clone());
                let found = found.into_iter().map(|found| (origin(), found));
                let declared = Some(MaximumVersion::combined(found));
                package.bundles.insert(name, Bundle { version, declared });
            }
        }
    }
}

/// A maximum version of a bundle.
type FoundMaximum = Result<MinorVersion, MaximumError>;

// One type for all blobs; `schema` determines the kind.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RawBlob {
    schema: String,
    name: String,
    package: String,
    default_channel: Option<String>,
    entries: Option<Vec<ChannelEntry>>,
    properties: Option<Vec<BundleProperty>>,
    #[serde(rename = "operators.coreos.com/maxOpenShiftVersion")]
    maximum: Option<Spanned<Value>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChannelEntry {
    name: String,
}

#[derive(Deserialize)]
struct BundleProperty {
    #[serde(rename = "type", default)]
    kind: String,
    value: Option<Spanned<Value>>,
}

impl CatalogFile {
    /// Reads a YAML or JSON file with any number of documents.
    pub fn read(name: &str, bytes: &[u8]) -> Result<Self, CatalogError> {
        let mut file = Self::default();
        // The reader rejects invalid UTF-8 with its position.
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        if text.is_empty() {
            file.add(&FilePart { name, text, lines_before: 0 }, bytes)?;
        }
        for (lines_before, text) in json_documents(text).unwrap_or_else(|| yaml_documents(text)) {
            file.add(&FilePart { name, text, lines_before }, text.as_bytes())?;
        }
        Ok(file)
    }

    fn add(&mut self, source: &FilePart<'_>, bytes: &[u8]) -> Result<(), CatalogError> {
        let documents = read::documents(source.name, bytes);
        let documents: Vec<RawBlob> = documents.map_err(|error| source.locate(error))?;
        for raw in documents {
            match raw.schema.as_str() {
                "olm.package" => self
                    .blobs
                    .push(Blob::Package { name: raw.name, default_channel: raw.default_channel }),
                "olm.channel" => self.blobs.push(Blob::Channel {
                    package: raw.package,
                    name: raw.name,
                    bundles: raw
                        .entries
                        .unwrap_or_default()
                        .into_iter()
                        .map(|it| it.name)
                        .collect(),
                }),
                "olm.bundle" => self.add_bundle(raw, source),
                _ => {}
            }
        }
        Ok(())
    }

    fn add_bundle(&mut self, raw: RawBlob, source: &FilePart<'_>) {
        let properties = raw.properties.unwrap_or_default();
        let of_type = |kind: &'static str| {
            let of_type = properties.iter().filter(move |property| property.kind == kind);
            of_type.map(|property| property.value.as_ref())
        };
        let mut values: Vec<Option<&Spanned<Value>>> = of_type(MAX_OPENSHIFT_VERSION).collect();
        let repeated = (values.len() > 1).then_some(Err(MaximumError::Repeated));
        values.extend(raw.maximum.as_ref().map(Some));
        for value in values.iter().flatten() {
            self.unquoted.extend(source.unquoted(&raw.name, value));
        }
        let values = values.iter().map(|value| match value {
            Some(value) => parse_maximum(&source.text_of(value)),
            None => Err(MaximumError::Empty),
        });
        let metadata = of_type("olm.csv.metadata").flatten();
        let annotations = metadata.filter_map(|it| it.value.get("annotations"));
        let annotations = annotations.filter_map(|it| BTreeMap::deserialize(it).ok());
        let annotated = annotations.filter_map(|it| match MaximumVersion::read(&it) {
            MaximumVersion::Missing => None,
            MaximumVersion::Maximum(maximum, _) => Some(Ok(maximum)),
            MaximumVersion::Invalid(why) => Some(Err(MaximumError::Unreadable(why.to_string()))),
        });
        let version = of_type("olm.package")
            .flatten()
            .find_map(|it| Version::parse_tolerant(it.value.get("version")?.as_str()?).ok());
        let found = repeated.into_iter().chain(values).chain(annotated).collect();
        let RawBlob { package, name, .. } = raw;
        self.blobs.push(Blob::Bundle { package, name, version, found });
    }
}

impl Catalogs {
    /// The packages of a file-based catalog with a name.
    pub fn from_files(
        catalog: &str,
        files: impl IntoIterator<Item = CatalogFile>,
    ) -> Result<Self, CatalogError> {
        let mut packages: BTreeMap<String, Package> = BTreeMap::new();
        for blob in files.into_iter().flat_map(|file| file.blobs) {
            let of = blob.package().to_owned();
            let package = packages.entry(of).or_insert_with_key(|name| Package::new(catalog, name));
            blob.add_to(package);
        }
        let mut catalogs = Self::default();
        for package in packages.into_values() {
            catalogs.add(package.within_limits()?)?;
        }
        Ok(catalogs)
    }
}

/// The documents of a JSON file, which are concatenated, each with the number of lines before it;
/// `None` if the file is not JSON.
fn json_documents(text: &str) -> Option<Vec<(u64, &str)>> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let (mut documents, mut lines, mut counted) = (Vec::new(), 0, 0);
    while let Some(document) = stream.next() {
        let document = document.ok()?.get();
        let start = stream.byte_offset() - document.len();
        lines += text[counted..start].matches('\n').count() as u64;
        counted = start;
        documents.push((lines, document));
    }
    (!documents.is_empty()).then_some(documents)
}

/// The documents of a YAML file, each with the number of lines before it. A catalog in one file is
/// larger than the size limit of a document.
fn yaml_documents(text: &str) -> Vec<(u64, &str)> {
    let (mut documents, mut start, mut lines_before) = (Vec::new(), 0, 0);
    let (mut end, mut lines) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_end() == "---" && !is_preamble(&text[start..end]) {
            documents.push((lines_before, &text[start..end]));
            (start, lines_before) = (end, lines);
        }
        end += line.len();
        lines += 1;
    }
    documents.push((lines_before, &text[start..]));
    documents.retain(|(_, text)| !text.trim().is_empty());
    documents
}

/// Whether a text contains only comments and directives such as `%YAML 1.2`, which belong to the
/// next document.
fn is_preamble(text: &str) -> bool {
    text.lines().all(|line| line.trim().is_empty() || line.starts_with(['#', '%']))
}

/// A part of a file, for the text of its values.
struct FilePart<'a> {
    name: &'a str,
    text: &'a str,
    lines_before: u64,
}

impl FilePart<'_> {
    /// Adds the lines before the part to the position of an error.
    fn locate(&self, mut error: ReadError) -> ReadError {
        if let ReadError::Malformed {
            place: InputLocation { position: Some((line, _)), .. }, ..
        } = &mut error
        {
            *line += self.lines_before;
        }
        error
    }

    /// Text of a value; a string without its quotes.
    fn text_of(&self, value: &Spanned<Value>) -> String {
        match &value.value {
            Value::String(text) => text.clone(),
            Value::Number(number) => {
                self.scalar(value).map_or_else(|| number.to_string(), str::to_owned)
            }
            other => other.to_string(),
        }
    }

    fn scalar(&self, value: &Spanned<Value>) -> Option<&str> {
        let start = usize::try_from(value.defined.span().byte_offset()?).ok()?;
        let rest = self.text.get(start..)?;
        let end = rest.find(|letter: char| letter.is_whitespace() || ",}]#".contains(letter));
        Some(&rest[..end.unwrap_or(rest.len())])
    }

    fn unquoted(&self, bundle: &str, value: &Spanned<Value>) -> Option<UnquotedVersion> {
        let Value::Number(number) = &value.value else { return None };
        let (text, at) = (self.text_of(value), value.defined);
        Some(UnquotedVersion {
            bundle: bundle.to_owned(),
            place: InputLocation {
                source: self.name.to_owned(),
                position: Some((self.lines_before + at.line(), at.column())),
            },
            changes: number.to_string() != text,
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `bundle version: declaration` for the only package.
    fn declarations(text: &str) -> (String, Vec<UnquotedVersion>) {
        let file = CatalogFile::read("catalog.yaml", text.as_bytes()).unwrap();
        let unquoted = file.unquoted.clone();
        let catalogs = Catalogs::from_files("catalog", [file]).unwrap();
        let [package] = catalogs.packages() else { panic!("{catalogs:?}") };
        let bundles = package.bundles.iter().map(|(name, bundle)| {
            let declared = match bundle.declared.as_ref().unwrap() {
                MaximumVersion::Missing => "nothing".to_owned(),
                MaximumVersion::Maximum(maximum, origin) => format!("{maximum} in {origin}"),
                MaximumVersion::Invalid(why) => why.to_string(),
            };
            let version = bundle.version.as_ref().map(ToString::to_string);
            format!("{name} {}: {declared}", version.unwrap_or_default())
        });
        (bundles.collect::<Vec<_>>().join("\n"), unquoted)
    }

    const YAML: &str = r#"---
schema: olm.package
name: etcd
defaultChannel: stable
---
schema: olm.channel
package: etcd
name: stable
entries:
- name: etcd.v1.0.0
- name: etcd.v1.1.0
  replaces: etcd.v1.0.0
---
schema: olm.bundle
package: etcd
name: etcd.v1.0.0
properties:
- type: olm.package
  value: {packageName: etcd, version: 1.0.0}
- type: olm.maxOpenShiftVersion
  value: "4.8"
---
schema: olm.bundle
package: etcd
name: etcd.v1.1.0
properties:
- type: olm.maxOpenShiftVersion
  value: 4.10 # the next one
- type: olm.package
  value: {packageName: etcd, version: 1.1.0}
---
schema: olm.bundle
package: etcd
name: etcd.v1.2.0
operators.coreos.com/maxOpenShiftVersion: 4.9
---
schema: olm.bundle
package: etcd
name: etcd.v1.3.0
properties:
- type: olm.maxOpenShiftVersion
  value: "4.8"
- type: olm.csv.metadata
  value: {annotations: {operators.coreos.com/maxOpenShiftVersion: "4.9"}}
---
schema: olm.bundle
package: etcd
name: etcd.v1.4.0
properties:
- {type: olm.maxOpenShiftVersion, value: "4.8"}
- {type: olm.maxOpenShiftVersion, value: "4.8"}
---
schema: olm.bundle
package: etcd
name: etcd.v1.5.0
---
schema: io.openshift.operators.lifecycles.v1alpha1
package: etcd
phases: []
"#;

    #[test]
    fn all_bundles_are_read() {
        let (bundles, unquoted) = declarations(YAML);
        insta::assert_snapshot!(bundles, @r#"
        etcd.v1.0.0 1.0.0: 4.8 in catalog catalog
        etcd.v1.1.0 1.1.0: 4.10 in catalog catalog
        etcd.v1.2.0 : 4.9 in catalog catalog
        etcd.v1.3.0 : the catalog catalog declares both 4.8 and 4.9
        etcd.v1.4.0 : defining more than one "olm.maxOpenShiftVersion" property is not allowed
        etcd.v1.5.0 : nothing
        "#);
        let unquoted: Vec<String> = unquoted
            .iter()
            .map(|it| format!("{}: {} {} {}", it.place, it.bundle, it.text, it.changes))
            .collect();
        insta::assert_snapshot!(unquoted.join("\n"), @"
        catalog.yaml:28:10: etcd.v1.1.0 4.10 true
        catalog.yaml:35:43: etcd.v1.2.0 4.9 false
        ");
    }

    #[test]
    fn json_catalogs_are_read() {
        let json = r#"{"schema":"olm.bundle","package":"e","name":"a","properties":[{"type":"olm.maxOpenShiftVersion","value":4.20}]}
{"schema":"olm.bundle","package":"e","name":"b","properties":[{"type":"olm.maxOpenShiftVersion","value": "4.20" }]}"#;
        let (bundles, unquoted) = declarations(json);
        insta::assert_snapshot!(bundles, @"
        a : 4.20 in catalog catalog
        b : 4.20 in catalog catalog
        ");
        assert_eq!(unquoted.len(), 1);
        assert!(unquoted[0].changes, "{unquoted:?}");
        assert_eq!(unquoted[0].place.to_string(), "catalog.yaml:1:105");
    }

    #[test]
    fn yaml_documents_are_split_with_line_numbers() {
        let lines = yaml_documents("# a catalog\n---\na: 1\n\n--- \nb: |\n  ---\n---\n");
        let expected =
            [(0, "# a catalog\n---\na: 1\n\n"), (4, "--- \nb: |\n  ---\n"), (7, "---\n")];
        assert_eq!(lines, expected);
    }

    #[test]
    fn preamble_belongs_to_next_document() {
        let bundle = "schema: olm.bundle\nname: a.v1\npackage: a\n";
        for before in
            ["", "---\n", "# a catalog\n---\n", "%YAML 1.2\n---\n", "\n# a\n%YAML 1.2\n---\n"]
        {
            let text = format!("{before}{bundle}---\nschema: olm.package\nname: a\n");
            assert!(CatalogFile::read("catalog", text.as_bytes()).is_ok(), "{before:?}");
        }
    }

    #[test]
    fn invalid_catalog_reports_position() {
        let declarations =
            |text: &str| CatalogFile::read("catalog", text.as_bytes()).unwrap_err().to_string();
        let all = [
            declarations("schema: olm.bundle\nproperties: 7\n"),
            declarations(
                "{\"schema\":\"olm.package\"}\n\n{\"schema\":\"olm.bundle\",\"properties\":7}",
            ),
            declarations("---\nschema: olm.package\n--- \nschema: olm.bundle\nproperties: 7\n"),
        ];
        insta::assert_snapshot!(all.join("\n"), @"
        catalog:2:13: expected sequence start
        catalog:3:37: expected sequence start
        catalog:5:13: expected sequence start
        ");
    }

    proptest! {
        #[test]
        fn any_value_does_not_panic(value in "\\PC{0,40}") {
            let text = format!(
                "schema: olm.bundle\nname: a\nproperties:\n- type: olm.maxOpenShiftVersion\n  value: {value}\n"
            );
            if let Ok(file) = CatalogFile::read("x", text.as_bytes()) {
                let _ = Catalogs::from_files("x", [file]);
            }
        }
    }
}
