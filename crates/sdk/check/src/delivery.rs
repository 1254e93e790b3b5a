//! Where the answer of a check goes.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;

use fairway_findings::answer::Answer;

/// Where Kubernetes looks for the last words of a container.
pub(crate) const TERMINATION_LOG: &str = "/dev/termination-log";

/// As much of them as Kubernetes keeps.
const TERMINATION_BYTES: usize = 4096;

/// The answer as one line.
pub(crate) fn line(answer: &Answer) -> io::Result<String> {
    let mut line = serde_json::to_string(answer)?;
    line.push('\n');
    Ok(line)
}

/// Writes the line at once, so that nothing gets between its letters.
pub(crate) fn print(line: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(line.as_bytes())?;
    output.flush()
}

/// Leaves the line where it outlives the log, if it fits and there is such a place: outside of a
/// container there is none.
pub(crate) fn leave(line: &str, file: &Path) {
    if line.len() > TERMINATION_BYTES {
        return;
    }
    // It is the log that counts; this is for those who cannot read it.
    let _ = OpenOptions::new()
        .write(true)
        .open(file)
        .and_then(|mut file| file.write_all(line.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_left_where_there_is_a_place_and_they_fit() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("termination-log");
        leave("{}\n", &file);
        assert!(!file.exists(), "outside of a container nobody reads it");
        std::fs::write(&file, "").unwrap();
        leave(&"x".repeat(TERMINATION_BYTES + 1), &file);
        leave("{}\n", &file);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{}\n");
    }
}
