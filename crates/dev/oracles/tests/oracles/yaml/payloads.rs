//! The documents of real payloads.

use std::fs::File;
use std::io::Read as _;
use std::path::PathBuf;

use fairway_fixtures::environment;
use flate2::read::GzDecoder;

/// All documents of all archives. `None` without a directory.
pub(crate) fn documents() -> Option<Vec<Vec<u8>>> {
    let directory = environment::payloads()?;
    let mut archives: Vec<PathBuf> = std::fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.to_string_lossy().ends_with(".tar.gz"))
        .collect();
    archives.sort();
    assert!(!archives.is_empty(), "no archives");
    let mut documents = Vec::new();
    for archive in archives {
        let mut archive = tar::Archive::new(GzDecoder::new(File::open(archive).expect("a file")));
        for entry in archive.entries().expect("an archive") {
            let mut entry = entry.expect("an entry");
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let mut content = Vec::new();
            entry.read_to_end(&mut content).expect("a file");
            documents.extend(split(&content));
        }
    }
    documents.sort();
    documents.dedup();
    Some(documents)
}

/// Splits a file before every line that starts with `---`.
fn split(content: &[u8]) -> Vec<Vec<u8>> {
    let mut documents = vec![Vec::new()];
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"---") {
            documents.push(Vec::new());
        }
        documents.last_mut().expect("a document").extend_from_slice(line);
    }
    documents
}
