//! The documentation lists all built-in checks.

use std::fs;
use std::path::{Path, PathBuf};

use fairway_preflight::checks;
use fairway_preflight::settings::ImageSettings;

/// Words in backticks.
fn words(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let inside = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.flat_map(inside).collect()
}

#[test]
fn documentation_lists_all_checks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("../../../docs/admin/preflight-checks.md")).unwrap();
    let rows: Vec<Vec<&str>> = page
        .lines()
        // Later tables have other subjects.
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split(" | ").collect())
        .collect();
    let rendered: Vec<(&str, Vec<&str>)> =
        rows.iter().map(|row| (words(row[0])[0], words(row[2]))).collect();
    let checks = checks::all(&ImageSettings::default());
    let kinds = |check: &dyn fairway_preflight::check::BuiltInCheck| {
        check.watched().iter().map(|kind| kind.plural).collect::<Vec<_>>()
    };
    let known: Vec<_> = checks.iter().map(|check| (check.name(), kinds(check.as_ref()))).collect();
    assert_eq!(rendered, known);

    // The operator checks images with the same code.
    let images = root.join("../../core/findings/src/images.rs");
    let files = sources(&root.join("src/checks")).into_iter().chain([images]);
    let source: String = files.map(|file| fs::read_to_string(file).unwrap()).collect();
    for finding in rows.iter().flat_map(|row| words(row[3])) {
        let name = finding.trim_end_matches("GATE");
        assert!(source.contains(&format!("\"{name}")), "no check finds {finding}");
    }
}
