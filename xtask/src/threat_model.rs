//! Check of the threat model: every test that it names exists.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use crate::cargo;

#[test]
fn threat_model_names_existing_tests() {
    let root = cargo::root();
    let page = fs::read_to_string(root.join("docs/dev/threat-model.md")).unwrap();
    let mut functions = BTreeSet::new();
    collect_functions(&root.join("crates"), &mut functions).unwrap();
    let missing: Vec<&str> =
        test_names(&page).into_iter().filter(|name| !functions.contains(*name)).collect();
    assert!(missing.is_empty(), "docs/dev/threat-model.md names unknown tests: {missing:?}");
}

/// Code spans of table cells that can only be names of tests: words joined by at least two underscores.
fn test_names(page: &str) -> BTreeSet<&str> {
    let is_name = |span: &&str| {
        span.matches('_').count() >= 2
            && span.bytes().all(|byte| byte.is_ascii_lowercase() || b"_0123456789".contains(&byte))
    };
    let rows = page.lines().filter(|line| line.starts_with('|'));
    rows.flat_map(|row| row.split('`').skip(1).step_by(2)).filter(is_name).collect()
}

/// Names of all functions in Rust files below a directory.
fn collect_functions(directory: &Path, functions: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_functions(&path, functions)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path)?;
            let names = source.lines().filter_map(|line| line.split_once("fn ")?.1.split_once('('));
            functions.extend(names.map(|(name, _)| name.to_owned()));
        }
    }
    Ok(())
}

#[test]
fn test_names_are_code_spans_of_rows() {
    let page =
        "`not_in_a_row`\n| `update` of `a_test_name`, `metrics_auth` | `another_test_name` |";
    assert_eq!(test_names(page), BTreeSet::from(["a_test_name", "another_test_name"]));
}
