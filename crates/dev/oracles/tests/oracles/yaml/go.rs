//! The Go program that decodes the same inputs.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Debian's Go sources.
const GOPATH: &str = "/usr/share/gocode";

/// The result of Go for an input.
pub(crate) enum GoResult {
    Json(String),
    Error(String),
}

pub(crate) struct Oracle {
    binary: PathBuf,
    // Removes the binary with the last test.
    _directory: tempfile::TempDir,
}

impl Oracle {
    /// Installs the packages if they are missing, and builds the program.
    pub(crate) fn build() -> Self {
        fairway_testbed::install_yaml_oracle(&|_| {}).expect("packages");
        let directory = tempfile::tempdir().expect("a directory");
        let binary = directory.path().join("oracle");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracles/yaml/oracle.go");
        let built = Command::new("/usr/bin/go")
            .args(["build", "-o"])
            .args([&binary, &source])
            .env("GO111MODULE", "off")
            .env("GOPATH", GOPATH)
            .env("GOCACHE", std::env::temp_dir().join("fairway-oracle-cache"))
            .env("GOFLAGS", "")
            .status()
            .expect("Go runs");
        assert!(built.success(), "the oracle does not compile");
        Self { binary, _directory: directory }
    }

    /// Decodes inputs in one process.
    pub(crate) fn decode(&self, inputs: &[Vec<u8>]) -> Vec<GoResult> {
        let mut child = Command::new(&self.binary)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the oracle starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let mut framed = Vec::new();
        for input in inputs {
            framed.extend(u32::try_from(input.len()).expect("a small input").to_be_bytes());
            framed.extend(input);
        }
        let answers = std::thread::scope(|scope| {
            // Concurrently: either pipe may be full.
            scope.spawn(move || stdin.write_all(&framed).expect("the oracle reads"));
            let mut answers = Vec::new();
            let stdout = child.stdout.as_mut().expect("a pipe");
            stdout.read_to_end(&mut answers).expect("the oracle answers");
            answers
        });
        assert!(child.wait().expect("the oracle ends").success(), "the oracle failed");
        verdicts(&answers)
    }
}

fn verdicts(mut answers: &[u8]) -> Vec<GoResult> {
    let mut verdicts = Vec::new();
    while let Some((length, rest)) = answers.split_first_chunk::<4>() {
        let (answer, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        let text = String::from_utf8_lossy(&answer[1..]).into_owned();
        verdicts.push(match answer[0] {
            b'J' => GoResult::Json(normalise_escapes(&text)),
            _ => GoResult::Error(text),
        });
        answers = rest;
    }
    verdicts
}

/// Go 1.22 and later write `\b` and `\f`, and Debian's Go writes `\u0008` and `\u000c`. Both write
/// `\ufffd` for bytes of `!!binary` that are no text.
fn normalise_escapes(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (written, length) = [("\\u0008", "\\b"), ("\\u000c", "\\f"), ("\\ufffd", "\u{FFFD}")]
            .into_iter()
            .find(|(old, _)| rest.starts_with(old))
            .map_or((&rest[..2], 2), |(old, new)| (new, old.len()));
        out.push_str(written);
        rest = &rest[length..];
    }
    out + rest
}
