//! Documents and files.

use std::fmt::{Display, Write as _};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::report::ReportFormat;
use crate::errors::HintExt as _;
use crate::foreign_text::steers;
use crate::printer::Output;

/// Writes a document as indented JSON. Characters that a terminal interprets are escaped, which JSON
/// parsers undo.
pub(crate) fn json(mut out: impl Write, document: &impl Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(document).map_err(std::io::Error::from)?;
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        if char != '\n' && steers(char) {
            write!(escaped, "\\u{:04x}", u32::from(char))?;
        } else {
            escaped.push(char);
        }
    }
    writeln!(out, "{escaped}")?;
    Ok(())
}

/// Version of the JSON and YAML documents. Fields may change between minor versions of Fairway, and
/// the changelog lists these changes.
pub(crate) const API_VERSION: &str = "fairway.dev/v1alpha1";

/// A report that is printed as text or as a document of a kind.
pub(crate) trait TypedReport: Serialize + JsonSchema {
    /// `kind` of its documents.
    const KIND: &'static str;
}

/// A document with the fields by which scripts recognise it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TypedDocument<'a, R> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    report: &'a R,
}

impl<'a, R: TypedReport> TypedDocument<'a, R> {
    fn new(report: &'a R) -> Self {
        Self { api_version: API_VERSION, kind: R::KIND, report }
    }
}

/// Writes a report as text or as a document.
pub(crate) fn report(
    out: impl Output,
    format: ReportFormat,
    report: &(impl TypedReport + Display),
) -> anyhow::Result<()> {
    match format {
        ReportFormat::Text => writeln!(out.into_text(), "{report}")?,
        ReportFormat::Json => document(out, report)?,
        ReportFormat::Yaml => yaml_document(out, report)?,
    }
    Ok(())
}

/// Writes the document of a report as JSON.
pub(crate) fn document(out: impl Write, report: &impl TypedReport) -> anyhow::Result<()> {
    json(out, &TypedDocument::new(report))
}

/// Writes the document of a report as YAML.
pub(crate) fn yaml_document(mut out: impl Write, report: &impl TypedReport) -> anyhow::Result<()> {
    out.write_all(yaml(&TypedDocument::new(report))?.as_bytes())?;
    Ok(())
}

/// A document as YAML with one trailing line break.
pub(crate) fn yaml(document: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_saphyr::to_string(document).context("cannot write the document as YAML")?;
    Ok(format!("{}\n", text.trim_end()))
}

/// Creates a directory.
pub(crate) fn directory(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir)
        .with_hint(format!("cannot create directory {}", dir.display()), "use a writable directory")
}

/// Writes a file.
pub(crate) fn file(path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    std::fs::write(path, content)
        .with_hint(format!("cannot write {}", path.display()), "use a writable directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_escapes_control_characters_without_loss() {
        let hostile = "\u{1b}[2J \u{9b}2J \u{7f} \u{202e} \u{2028}\n\u{0}";
        let (mut json, yaml) = (Vec::new(), yaml(&hostile).unwrap());
        super::json(&mut json, &hostile).unwrap();
        let json = String::from_utf8(json).unwrap();
        assert!(!json.contains(|char| char != '\n' && steers(char)), "{json:?}");
        assert!(!yaml.contains(|char: char| char != '\n' && char.is_control()), "{yaml:?}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), hostile);
        assert_eq!(serde_saphyr::from_str::<String>(&yaml).unwrap(), hostile);
    }
}
