//! Results as documents for programs, and files written for people.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;

use crate::args::report::ReportFormat;
use crate::errors::WithHint;

/// Writes one document as JSON, readable by people too.
pub(crate) fn json(mut out: impl Write, document: &impl Serialize) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut out, document).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// What scripts can rely on: the version changes when a field changes its meaning or goes away.
#[derive(Serialize)]
struct Versioned<'a, R> {
    kind: &'static str,
    version: u32,
    #[serde(flatten)]
    report: &'a R,
}

/// Writes a report: its text for people, or a document of that kind for programs.
pub(crate) fn report(
    mut out: impl Write,
    format: ReportFormat,
    kind: &'static str,
    report: &(impl Serialize + Display),
) -> anyhow::Result<()> {
    let document = Versioned { kind, version: 1, report };
    match format {
        ReportFormat::Text => writeln!(out, "{report}")?,
        ReportFormat::Json => json(out, &document)?,
        ReportFormat::Yaml => out.write_all(yaml(&document)?.as_bytes())?,
    }
    Ok(())
}

/// One document as YAML, ending with one line break.
pub(crate) fn yaml(document: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_saphyr::to_string(document).context("cannot write the document as YAML")?;
    Ok(format!("{}\n", text.trim_end()))
}

/// Makes a directory ready to be written to.
pub(crate) fn directory(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| WithHint {
        message: format!("cannot make the directory {}", dir.display()),
        hint: "name a directory that you may write to".to_owned(),
    })
}

/// Writes a file whole.
pub(crate) fn file(path: &Path, content: impl AsRef<[u8]>) -> anyhow::Result<()> {
    std::fs::write(path, content).with_context(|| WithHint {
        message: format!("cannot write {}", path.display()),
        hint: "name a directory that you may write to".to_owned(),
    })
}
