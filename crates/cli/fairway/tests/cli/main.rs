//! Output and exit codes of the binary.

mod completion;
mod crds;
mod fleet;
mod generated;
mod graph;
mod help;
mod in_a_pod;
mod olm;
mod operator;
mod preflight;
mod release;
mod requests;
mod robustness;
mod sandbox;
mod schema;
mod signatures;
mod tour;
mod unique_keys;
mod update_service;
mod upgrade;

use std::fmt::Write;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::NamedTempFile;

/// The binary, without environment variables that affect its output.
fn fairway() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fairway"));
    // All servers of tests are on loopback.
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(proxy).env_remove(proxy.to_lowercase());
    }
    command
        .env_remove("FAIRWAY_LOG")
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null());
    command
}

/// Exit code, standard output and standard error of a run, as one text.
fn transcript(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let mut text = format!("exit code: {}\n", output.status.code().unwrap_or(-1));
    for (name, stream) in [("stdout", output.stdout), ("stderr", output.stderr)] {
        let stream = String::from_utf8(stream).expect("the program prints text");
        if name == "stdout" {
            schema::check_printed(command, &stream);
        }
        if !stream.is_empty() {
            write!(text, "----- {name} -----\n{stream}").unwrap();
        }
    }
    text
}

/// A kubeconfig without a CA.
fn kubeconfig(server: &str) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, \
         clusters: [{{name: k, cluster: {{server: '{server}'}}}}], \
         users: [{{name: u, user: {{}}}}], \
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]}}"
    );
    std::fs::write(file.path(), text).unwrap();
    file
}

/// The errors of refused commands, each with its exit code, and without the reference to the help.
fn refusals(transcripts: impl IntoIterator<Item = String>) -> String {
    let refusal = |text: String| {
        let (code, error) = text.split_once("\n----- stderr -----\n").expect("an error");
        let error = error.replace("\n\nFor more information, try '--help'.\n", "\n");
        format!("{}: {error}", code.trim_start_matches("exit code: "))
    };
    transcripts.into_iter().map(refusal).collect()
}

/// The standard output of a run as JSON.
fn document(command: &mut Command) -> Value {
    let output = command.output().expect("the program starts");
    let (text, printed) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    schema::check_printed(command, &text);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {printed}"))
}
