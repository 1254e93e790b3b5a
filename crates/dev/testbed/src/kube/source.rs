//! Debian's source package of Kubernetes, patched for Debian's Go compiler.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::build::VERSION;
use crate::command::run;
use crate::packages::REFLECT2;

/// Timeout of a download. The source package has 11 MB, the index of Debian's sources 9 MB.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_mins(10);

/// Fetches the source package into `scratch` and unpacks it into `source`.
pub(super) fn fetch(scratch: &Path, source: &Path) -> Result<()> {
    let archive = download(&scratch.join("apt")).context(
        "cannot download the source package `kubernetes`; the testbed builds from the Debian \
        sources in the apt configuration of this host",
    )?;
    fs::create_dir_all(source)?;
    run(
        Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(&archive)
            .arg("--strip-components=1")
            .arg("--directory")
            .arg(source),
        DOWNLOAD_TIMEOUT,
    )?;
    Ok(())
}

fn download(directory: &Path) -> Result<PathBuf> {
    for subdirectory in ["lists/partial", "cache/archives/partial", "sources"] {
        fs::create_dir_all(directory.join(subdirectory))?;
    }
    fs::write(directory.join("sources/debian.sources"), source_entries()?)?;
    for arguments in [&["update"] as &[&str], &["source", "--download-only", "kubernetes"]] {
        run(
            Command::new("apt-get")
                .current_dir(directory)
                .args(["-qq", "-o", "Dir::Etc::SourceList=/dev/null"])
                .arg("-o")
                .arg(setting("Dir::Etc::SourceParts", &directory.join("sources")))
                .arg("-o")
                .arg(setting("Dir::State::Lists", &directory.join("lists")))
                .arg("-o")
                .arg(setting("Dir::Cache", &directory.join("cache")))
                .args(arguments),
            DOWNLOAD_TIMEOUT,
        )?;
    }
    let archive = fs::read_dir(directory)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.to_string_lossy().contains(".orig.tar."))
        .context("apt-get downloaded no archive")?;
    if !archive.to_string_lossy().contains(VERSION) {
        bail!(
            "this Debian release has a Kubernetes version other than {VERSION}: {}",
            archive.display()
        );
    }
    Ok(archive)
}

fn setting(name: &str, path: &Path) -> String {
    format!("{name}={}", path.display())
}

/// The Debian archives of this host as archives of source packages.
fn source_entries() -> Result<String> {
    let mut entries = String::new();
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten();
    let files = parts.filter_map(|entry| Some(entry.ok()?.path()));
    for file in files.chain([PathBuf::from("/etc/apt/sources.list")]) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        entries += &match file.extension().and_then(|extension| extension.to_str()) {
            Some("sources") => entries_of_stanzas(&text),
            Some("list") => entries_of_lines(&text),
            _ => String::new(),
        };
    }
    if entries.is_empty() {
        bail!("apt has no Debian archive on this host");
    }
    Ok(entries)
}

/// Entries from the format of `*.sources`.
fn entries_of_stanzas(text: &str) -> String {
    let mut entries = String::new();
    for stanza in text.split("\n\n") {
        let field = |name: &str| {
            let mut values =
                stanza.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            values.next().unwrap_or("").trim()
        };
        let debian = field("URIs").split_whitespace().any(is_debian);
        if debian && field("Components").split_whitespace().any(|name| name == "main") {
            entries += &entry(field("URIs"), field("Suites"), field("Signed-By"));
        }
    }
    entries
}

/// Entries from the format of `*.list`.
fn entries_of_lines(text: &str) -> String {
    let mut entries = String::new();
    for line in text.lines() {
        let (options, rest) = match line.strip_prefix("deb ").map(str::trim_start) {
            Some(rest) if rest.starts_with('[') => rest.split_once(']').unwrap_or(("", "")),
            Some(rest) => ("", rest),
            None => continue,
        };
        let mut words = rest.split_whitespace();
        let (Some(uri), Some(suite)) = (words.next(), words.next()) else { continue };
        if !is_debian(uri) || !words.any(|component| component == "main") {
            continue;
        }
        let keyring = options.split_once("signed-by=").map_or("", |(_, keyring)| keyring);
        entries += &entry(uri, suite, keyring.split_whitespace().next().unwrap_or(""));
    }
    entries
}

fn entry(uris: &str, suites: &str, keyring: &str) -> String {
    let entry = format!("Types: deb-src\nURIs: {uris}\nSuites: {suites}\nComponents: main\n");
    if keyring.is_empty() { entry + "\n" } else { format!("{entry}Signed-By: {keyring}\n\n") }
}

/// Mirrors have the same last path segment: `debian`, `debian-security`.
fn is_debian(uri: &str) -> bool {
    uri.trim_end_matches('/').rsplit('/').next().is_some_and(|name| name.starts_with("debian"))
}

/// Replaces the vendored reflect2 1.0.1 by Debian's newer one: compiled by Go 1.18 or later, 1.0.1 crashes
/// the API server at the first custom resource.
pub(super) fn replace_reflect2(source: &Path) -> Result<()> {
    let is_code = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "go" || extension == "s")
    };
    let vendored = source.join("vendor/github.com/modern-go/reflect2");
    for old in paths_in(&vendored)?.into_iter().filter(is_code) {
        fs::remove_file(old)?;
    }
    for new in paths_in(Path::new(REFLECT2))?.into_iter().filter(is_code) {
        let name = new.file_name().context("a file without a name")?;
        fs::copy(&new, vendored.join(name))?;
    }
    Ok(())
}

/// Fixes the validation of empty strings in custom resources. It compares with the zero value by address,
/// which newer Go compilers share: an API server built by them refuses `""` for a string.
pub(super) fn patch_zero_values(source: &Path) -> Result<()> {
    const COMPARISON: &str =
        " || reflect.DeepEqual(reflect.Zero(reflect.TypeOf(data)), reflect.ValueOf(data))";
    for validator in
        ["github.com/go-openapi/validate", "k8s.io/kube-openapi/pkg/validation/validate"]
    {
        let path = source.join("vendor").join(validator).join("type.go");
        let code =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if !code.contains(COMPARISON) {
            bail!("{} does not contain the code to patch", path.display());
        }
        fs::write(&path, code.replace(COMPARISON, ""))?;
    }
    Ok(())
}

/// The packages whose types the generated `OpenAPI` definitions describe.
pub(super) fn openapi_packages(source: &Path) -> Result<String> {
    let mut packages = BTreeSet::new();
    for root in ["staging/src/k8s.io", "pkg", "cmd"] {
        collect_openapi_packages(source, &source.join(root), &mut packages)?;
    }
    if packages.is_empty() {
        bail!("no package of {} requests OpenAPI definitions", source.display());
    }
    Ok(packages.into_iter().collect::<Vec<_>>().join(","))
}

fn collect_openapi_packages(
    source: &Path,
    directory: &Path,
    packages: &mut BTreeSet<String>,
) -> Result<()> {
    for path in paths_in(directory)? {
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            collect_openapi_packages(source, &path, packages)?;
        } else if path.extension().is_some_and(|extension| extension == "go") && is_marked(&path)? {
            packages.insert(import_path(directory.strip_prefix(source)?));
        }
    }
    Ok(())
}

fn is_marked(file: &Path) -> Result<bool> {
    let text = fs::read(file)?;
    Ok(String::from_utf8_lossy(&text)
        .lines()
        .any(|line| line.starts_with("// +k8s:openapi-gen=true")))
}

/// The import path of a directory.
fn import_path(relative: &Path) -> String {
    let path = relative.to_string_lossy();
    match path.strip_prefix("staging/src/") {
        Some(staged) => format!("k8s.io/kubernetes/vendor/{staged}"),
        None => format!("k8s.io/kubernetes/{path}"),
    }
}

fn paths_in(directory: &Path) -> Result<Vec<PathBuf>> {
    fs::read_dir(directory)
        .with_context(|| format!("cannot list {}", directory.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_stanzas_are_debian_sources() {
        let text = "Types: deb\n# a comment\nURIs: http://mirror.example/debian\n\
                    Suites: bookworm bookworm-updates\nComponents: main contrib\n\
                    Signed-By: /keys/debian.gpg\n\n\
                    Types: deb\nURIs: https://example.com/tool\nSuites: any\nComponents: main\n";
        assert_eq!(
            entries_of_stanzas(text),
            "Types: deb-src\nURIs: http://mirror.example/debian\n\
             Suites: bookworm bookworm-updates\nComponents: main\n\
             Signed-By: /keys/debian.gpg\n\n"
        );
    }

    #[test]
    fn entries_of_lines_are_debian_sources() {
        let text = "deb [arch=amd64 signed-by=/k.gpg] http://m.example/debian-security/ s main\n\
                    deb https://example.com/apt tool main\n\
                    deb https://example.com/linux/debian bookworm stable\n\
                    deb-src http://m.example/debian s main\n";
        assert_eq!(
            entries_of_lines(text),
            "Types: deb-src\nURIs: http://m.example/debian-security/\nSuites: s\n\
             Components: main\nSigned-By: /k.gpg\n\n"
        );
    }

    #[test]
    fn import_path_of_staged_package_is_in_vendor() {
        assert_eq!(
            import_path(Path::new("staging/src/k8s.io/api/core/v1")),
            "k8s.io/kubernetes/vendor/k8s.io/api/core/v1"
        );
        assert_eq!(import_path(Path::new("pkg/version")), "k8s.io/kubernetes/pkg/version");
    }
}
