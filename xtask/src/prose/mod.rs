//! `cargo xtask lint prose`: counts phrases that `docs/dev/style.md` rules out.
//!
//! Texts for users (strings, documents, schemas, deployed YAML) have none, except in the places of
//! [`ALLOWED`]. Comments and tests have a count for each crate, in `xtask/prose.json`, that only
//! falls: a commit that lowers it writes the new count with `--update`.

mod phrases;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use phrases::{Phrase, phrases};
use source::{Audience, Piece, pieces};

use crate::cargo::root;

/// The counts that are accepted, relative to the root.
const BASELINE: &str = "xtask/prose.json";

/// Places where a text may have a phrase: the start of a path, and its reason.
const ALLOWED: [(&str, &str); 3] = [
    ("CHANGELOG.md", "it lists old names of fields"),
    ("docs/dev/", "the style guide quotes what it rules out"),
    ("xtask/src/prose/", "this check names the phrases"),
];

/// Output that tests compare: recorded by 0.1, or by a test itself.
fn is_recorded(path: &str) -> bool {
    path.starts_with("fixtures/") || path.contains("/snapshots/")
}

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// List every place instead of the counts
    #[arg(long)]
    list: bool,
    /// Write the counts of comments and tests that have fallen
    #[arg(long)]
    update: bool,
}

/// Counts by area: a crate, or a top-level directory.
type Counts = BTreeMap<String, usize>;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let found = find(root())?;
    if arguments.list {
        print(&found);
    }
    if arguments.update {
        let lowered = lowered(&baseline(root())?, &count(&found, Audience::Developers));
        let text = serde_json::to_string_pretty(&lowered)? + "\n";
        fs::write(root().join(BASELINE), text).context(BASELINE)?;
    }
    evaluate(&found, &baseline(root())?)
}

/// Fails if texts have a phrase, or comments more than the baseline says.
pub(crate) fn check() -> Result<()> {
    evaluate(&find(root())?, &baseline(root())?)
}

/// A phrase, and where it was found.
struct Found {
    area: String,
    path: String,
    piece: Piece,
    phrase: &'static str,
}

#[expect(clippy::print_stdout, reason = "tasks print to the terminal")]
fn print(found: &[Found]) {
    for Found { path, piece, phrase, .. } in found {
        let audience = match piece.audience {
            Audience::Users => "text",
            Audience::Developers => "comment",
        };
        println!("{path}:{}: {audience}: {phrase}: {}", piece.line, piece.text.trim());
    }
}

fn evaluate(found: &[Found], baseline: &Counts) -> Result<()> {
    let texts: Vec<String> = found
        .iter()
        .filter(|it| it.piece.audience == Audience::Users)
        .map(|it| format!("{}:{}: {}: {}", it.path, it.piece.line, it.phrase, it.piece.text.trim()))
        .collect();
    let counts = count(found, Audience::Developers);
    let risen: Vec<String> = counts
        .iter()
        .map(|(area, &count)| (area, count, baseline.get(area).copied().unwrap_or_default()))
        .filter(|(_, count, accepted)| count > accepted)
        .map(|(area, count, accepted)| {
            format!("{area}: {count} in comments and tests, at most {accepted}")
        })
        .collect();
    if texts.is_empty() && risen.is_empty() {
        return Ok(());
    }
    bail!(
        "phrases that docs/dev/style.md rules out:\n{}\nhint: `cargo xtask lint prose --list` shows every place",
        [texts, risen].concat().join("\n")
    )
}

/// The baseline with each count that has fallen.
fn lowered(baseline: &Counts, counts: &Counts) -> Counts {
    let lower = |(area, &accepted): (&String, &usize)| {
        let count = counts.get(area).copied().unwrap_or_default().min(accepted);
        (count > 0).then(|| (area.clone(), count))
    };
    baseline.iter().filter_map(lower).collect()
}

fn baseline(root: &Path) -> Result<Counts> {
    let text = fs::read_to_string(root.join(BASELINE)).context(BASELINE)?;
    serde_json::from_str(&text).context(BASELINE)
}

fn count(found: &[Found], audience: Audience) -> Counts {
    let mut counts = Counts::new();
    for found in found.iter().filter(|it| it.piece.audience == audience) {
        *counts.entry(found.area.clone()).or_default() += 1;
    }
    counts
}

/// Every phrase in the files of the repository.
fn find(root: &Path) -> Result<Vec<Found>> {
    let phrases = phrases()?;
    let mut found = Vec::new();
    for path in files(root, &["rs", "md", "toml", "yaml", "json"])? {
        if is_recorded(&path) || ALLOWED.iter().any(|(start, _)| path.starts_with(start)) {
            continue;
        }
        let text = fs::read_to_string(root.join(&path)).with_context(|| path.clone())?;
        found.extend(find_in(&path, &text, &phrases));
    }
    Ok(found)
}

/// The files of the repository with one of these extensions, relative to its root, in order. Hidden
/// and build directories are skipped.
pub(crate) fn files(root: &Path, extensions: &[&str]) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).with_context(|| directory.display().to_string())? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            let name = entry.file_name();
            let is_skipped = name == "target" || name.to_string_lossy().starts_with('.');
            let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
            if kind.is_dir() && !is_skipped {
                directories.push(path);
            } else if kind.is_file() && extensions.contains(&extension) {
                files.push(path.strip_prefix(root)?.display().to_string());
            }
        }
    }
    files.sort();
    Ok(files)
}

fn find_in(path: &str, text: &str, phrases: &[Phrase]) -> Vec<Found> {
    let mut found = Vec::new();
    for piece in readable(path, text) {
        for phrase in phrases {
            for _ in 0..phrase.count(&piece.text) {
                let (area, path, mut piece) = (area(path), path.to_owned(), piece.clone());
                // A placeholder in a string is a name.
                if phrase.is_name {
                    piece.audience = Audience::Developers;
                }
                found.push(Found { area, path, piece, phrase: phrase.name });
            }
        }
    }
    found
}

/// The texts of a file.
fn readable(path: &str, text: &str) -> Vec<Piece> {
    let lines = || text.lines().enumerate().map(|(index, text)| (index + 1, text.to_owned()));
    if Path::new(path).extension().is_none_or(|it| it != "rs") {
        let is_text = !is_test(path) && !path.ends_with("Cargo.toml");
        let audience = if is_text { Audience::Users } else { Audience::Developers };
        return lines().map(|(line, text)| Piece { line, audience, text }).collect();
    }
    let mut pieces = pieces(text);
    // Names of constants count as comments.
    let audience = Audience::Developers;
    pieces.extend(lines().filter(|(_, text)| text.trim_start().contains("const ")).map(
        |(line, text)| {
            let text = text.split('=').next().unwrap_or_default().to_owned();
            Piece { line, audience, text }
        },
    ));
    for piece in pieces.iter_mut().filter(|_| is_test(path)) {
        piece.audience = Audience::Developers;
    }
    pieces
}

/// Whether a file has only tests, or tools of developers.
pub(crate) fn is_test(path: &str) -> bool {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    path.split('/').any(|part| matches!(part, "tests" | "benches" | "xtask" | "dev"))
}

/// The string literals of a Rust file outside of its tests, with their lines.
pub(crate) fn user_strings(source: &str) -> Vec<(usize, String)> {
    let pieces = pieces(source).into_iter().filter(|it| it.audience == Audience::Users);
    pieces.map(|it| (it.line, it.text)).collect()
}

/// The crate of a file, or its top-level directory.
fn area(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let length = if parts[0] == "crates" { 3 } else { 1 };
    parts[..length.min(parts.len())].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(String, Audience)> {
        let phrases = phrases().expect("regular expressions");
        find_in(path, text, &phrases).into_iter().map(|it| (it.area, it.piece.audience)).collect()
    }

    #[test]
    fn strings_and_documents_are_for_users_and_all_else_is_not() {
        let (users, developers) = (Audience::Users, Audience::Developers);
        let source = "// nobody\nlet a = \"nobody\";\n";
        let crate_ = || "crates/core/risk".to_owned();
        let path = "crates/core/risk/src/lib.rs";
        assert_eq!(found(path, source), [(crate_(), developers), (crate_(), users)]);
        let path = "crates/core/risk/tests/risk/main.rs";
        assert_eq!(found(path, source), [(crate_(), developers), (crate_(), developers)]);
        assert_eq!(found("docs/platform/graph.md", "nobody"), [("docs".to_owned(), users)]);
    }

    #[test]
    fn texts_fail_and_comments_fail_above_the_baseline() {
        let phrases = phrases().expect("regular expressions");
        let path = "crates/core/risk/src/lib.rs";
        let accepted = |count| Counts::from([("crates/core/risk".to_owned(), count)]);
        let comment = find_in(path, "// nobody", &phrases);
        assert!(evaluate(&comment, &accepted(1)).is_ok());
        assert!(evaluate(&comment, &accepted(0)).is_err());
        let text = find_in(path, "let a = \"nobody\";", &phrases);
        assert!(evaluate(&text, &accepted(1)).is_err());
    }

    #[test]
    fn baseline_only_falls() {
        let counts = |pairs: &[(&str, usize)]| -> Counts {
            pairs.iter().map(|&(area, count)| (area.to_owned(), count)).collect()
        };
        let old = counts(&[("a", 3), ("b", 2), ("c", 1)]);
        let now = counts(&[("a", 2), ("b", 5), ("d", 4)]);
        assert_eq!(lowered(&old, &now), counts(&[("a", 2), ("b", 2)]));
    }
}
