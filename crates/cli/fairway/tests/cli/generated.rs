//! Manual pages and the reference.

use std::collections::BTreeSet;

use crate::robustness::commands::every;
use crate::{fairway, transcript};

#[test]
fn manual_pages() {
    let dir = tempfile::tempdir().unwrap();
    let printed = transcript(fairway().arg("man").arg(dir.path()));
    assert!(printed.starts_with("exit code: 0\n"), "{printed}");
    let pages: BTreeSet<String> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    let commands = every().into_iter().map(|(words, _)| {
        let words: Vec<&str> = ["fairway"].into_iter().chain(words).collect();
        format!("{}.1", words.join("-"))
    });
    assert_eq!(pages, commands.collect());
    let root = std::fs::read_to_string(dir.path().join("fairway.1")).unwrap();
    assert!(root.contains(".TH fairway 1"), "{root}");
    let channel = std::fs::read_to_string(dir.path().join("fairway-upgrade-channel.1")).unwrap();
    insta::assert_snapshot!(channel);
}
