//! `fairway release extract`: the files of a release.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path};

use anyhow::Context;
use fairway_release::payload::Files;
use schemars::JsonSchema;
use serde::Serialize;

use super::input;
use crate::args::release::ExtractArgs;
use crate::args::report::ReportFormat;
use crate::errors::{CannotTell, HintExt as _, WithHint};
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

/// Extension of a file during the write.
const TEMPORARY_EXTENSION: &str = "part";

impl TypedReport for Extracted {
    const KIND: &'static str = "ReleaseFiles";
}

pub(crate) fn run(args: &ExtractArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let mut files = input::read(&args.release, &args.access)?.files;
    if let Some(wanted) = &args.file {
        let wanted = wanted.trim_start_matches("./").trim_start_matches('/');
        files.retain(|path, _| path == wanted);
        if files.is_empty() {
            return Err(missing(wanted, &args.release).into());
        }
    }
    let report =
        |extracted: Extracted| output::report(printer.stdout(), args.output.output, &extracted);
    match (&args.to, args.output.output) {
        (Some(directory), format) => {
            write_all(directory, &files, args.force)?;
            let written = Extracted::written(directory, &files);
            match format {
                ReportFormat::Text => printer.note(written),
                ReportFormat::Json | ReportFormat::Yaml => report(written)?,
            }
        }
        (None, ReportFormat::Text) => {
            files.values().try_for_each(|content| printer.stdout().write_all(content))?;
        }
        (None, ReportFormat::Json | ReportFormat::Yaml) => report(Extracted::shown(&files)?)?,
    }
    Ok(ExitStatus::Success)
}

/// Files of a release.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Extracted {
    /// Directory with the files, if they were written.
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<String>,
    /// Files, by path.
    files: Vec<ExtractedFile>,
}

/// File of a release.
#[derive(Serialize, JsonSchema)]
struct ExtractedFile {
    /// Path in the release.
    path: String,
    /// Size in bytes.
    bytes: usize,
    /// Content, if the file was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

impl Extracted {
    fn written(directory: &Path, files: &Files) -> Self {
        let file = |(path, content): (&String, &Vec<u8>)| ExtractedFile {
            path: path.clone(),
            bytes: content.len(),
            content: None,
        };
        let directory = Some(directory.display().to_string());
        Self { directory, files: files.iter().map(file).collect() }
    }

    fn shown(files: &Files) -> anyhow::Result<Self> {
        let file = |(path, content): (&String, &Vec<u8>)| {
            let text = String::from_utf8(content.clone())
                .with_hint(format!("{path} is not text"), "omit -o, or write the file with --to")?;
            Ok(ExtractedFile { path: path.clone(), bytes: content.len(), content: Some(text) })
        };
        let files = files.iter().map(file).collect::<anyhow::Result<_>>()?;
        Ok(Self { directory: None, files })
    }
}

impl fmt::Display for Extracted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wrote {} files", self.files.len())?;
        self.directory.iter().try_for_each(|directory| write!(f, " to {directory}"))
    }
}

fn missing(wanted: &str, release: &str) -> CannotTell {
    CannotTell::new(
        format!("{release} has no file {wanted}"),
        "specify a path such as release-manifests/release-metadata, or extract all files with \
         --to=DIR",
    )
}

fn write_all(directory: &Path, files: &Files, force: bool) -> anyhow::Result<()> {
    output::directory(directory)?;
    let hint = |path: &str| {
        WithHint::new(
            format!("cannot write {}", directory.join(path).display()),
            "specify a new or empty directory, or overwrite files with --force",
        )
    };
    // Check all files before the first write.
    let is_there = |path: &&String| fs::symlink_metadata(directory.join(path)).is_ok();
    if !force && let Some(path) = files.keys().find(is_there) {
        return Err(anyhow::anyhow!("file exists").context(hint(path)));
    }
    for (path, content) in files {
        let written = write(directory, Path::new(path), content, force);
        written.with_context(|| hint(path))?;
    }
    Ok(())
}

/// Writes a file below a directory. Fails if its path or a link leads out of the directory.
fn write(directory: &Path, path: &Path, content: &[u8], force: bool) -> io::Result<()> {
    let is_plain = |component| matches!(component, Component::Normal(_));
    if !path.components().all(is_plain) {
        return Err(io::Error::other("path is outside of the directory"));
    }
    let target = directory.join(path);
    let parents: Vec<&Path> = path.ancestors().skip(1).collect();
    for parent in parents.into_iter().rev().filter(|parent| *parent != Path::new("")) {
        make_directory(&directory.join(parent))?;
    }
    if !force {
        return OpenOptions::new().write(true).create_new(true).open(target)?.write_all(content);
    }
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{TEMPORARY_EXTENSION}"));
    let unfinished = target.with_file_name(name);
    // A leftover of an interrupted run may be a link.
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(&unfinished)?.write_all(content)?;
    fs::rename(unfinished, target)
}

/// Creates a directory. Fails for a link.
fn make_directory(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(io::Error::other(format!("{} is not a directory", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(path),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_refuses_links_and_existing_files() {
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("in"), place.path().join("out"));
        fs::create_dir_all(inside.join("b")).unwrap();
        fs::create_dir(&outside).unwrap();
        let link = |from: &str| std::os::unix::fs::symlink(&outside, inside.join(from)).unwrap();
        link("a");
        link("b/link");
        let write = |path: &str, force| write(&inside, Path::new(path), b"new", force);
        for path in ["../out/x", "/etc/x", "a/x"] {
            assert!(write(path, true).is_err(), "{path}");
        }
        write("b/x", false).unwrap();
        assert_eq!(write("b/x", false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(write("b/link", false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        for path in ["b/x", "b/link"] {
            write(path, true).unwrap();
            assert_eq!(fs::read(inside.join(path)).unwrap(), b"new");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}
