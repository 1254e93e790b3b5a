use proptest::prelude::*;

use super::*;

fn log(log: &str, exit_code: i32) -> ContainerTermination<'_> {
    ContainerTermination { log: log.as_bytes(), exit_code, ..ContainerTermination::default() }
}

/// The outcome in one line.
fn rendered(container: &ContainerTermination<'_>) -> String {
    let CheckOutcome { status, message, findings, dropped } =
        interpret("cloud-credential", container);
    let findings =
        findings.iter().map(|Finding { name, message, .. }| format!("{name} ({message})"));
    let findings = findings.collect::<Vec<_>>().join(", ");
    format!("{status} | {message} | {findings} | {}", dropped.join(", "))
}

const NOTHING: &str = r#"{"format":"preflight-v1-json","executionStatus":"completed","risks":[]}"#;
const RISK: &str = r#"{"format":"preflight-v1-json","executionStatus":"completed","risks":[{"name":"A","message":"a"}]}"#;

#[test]
fn interpret_returns_last_complete_result_of_log() {
    let pretty = "{\n  \"format\": \"preflight-v1-json\",\n  \"executionStatus\": \"completed\",\n  \
                  \"risks\": [\n    {\"name\": \"B\"}\n  ]\n}\ndone\n";
    let cases = [
        ("first", format!("{NOTHING}\nlooking\n{RISK}\n{{\"level\":\"info\"}}\n")),
        ("last", format!("looking\n{RISK}\n{NOTHING}")),
        ("of several lines", format!("{NOTHING}\n{pretty}")),
        ("text behind it", format!("{RISK} and that is it\n")),
        ("a broken one behind it", format!("{RISK}\n{}", &NOTHING[..40])),
        ("within a line", format!("answer: {RISK}\n")),
        ("windows", format!("looking\r\n{RISK}\r\n")),
    ];
    let rendered: Vec<_> =
        cases.iter().map(|(case, text)| format!("{case}: {}", rendered(&log(text, 0)))).collect();
    insta::assert_snapshot!(rendered.join("\n"), @r"
    first: found |  | A (a) | 
    last: passed |  |  | 
    of several lines: found |  | B () | 
    text behind it: found |  | A (a) | 
    a broken one behind it: found |  | A (a) | 
    within a line: failed | cannot parse its result: it does not start at the beginning of a line |  | 
    windows: found |  | A (a) |
    ");
}

#[test]
fn interpret_result_fields() {
    let with = |status: &str, risks: &str| {
        format!(
            r#"{{"format":"preflight-v1-json","executionStatus":"{status}","message":"no way to the cloud","risks":{risks}}}"#
        )
    };
    let skew = r#"[{"name":"TooFar","reason":"PreflightVersionSkew"}]"#;
    let unsure = r#"[{"name":"A"},{"name":"Unknown","reason":"PreflightPartial"}]"#;
    let texts = [
        ("cannot tell", with("failed", "[]"), 4),
        ("too far apart", with("failed", skew), 4),
        ("done, but too far apart", with("completed", skew), 0),
        ("done, but not with all", with("completed", unsure), 0),
        ("found, and ended badly", with("completed", r#"[{"name":"A"}]"#), 139),
        ("nothing, and ended badly", with("completed", "[]"), 137),
        ("not done", with("running", r#"[{"name":"A"}]"#), 0),
        ("a new word", with("resting", "[]"), 0),
        (
            "no risks",
            r#"{"format":"preflight-v1-json","executionStatus":"completed"}"#.to_owned(),
            0,
        ),
        ("a new format", NOTHING.replace("v1", "v2"), 0),
        ("of another program", r#"{"format":"text","risks":7}"#.to_owned(), 0),
        ("broken off", NOTHING[..60].to_owned(), 0),
    ];
    let rendered: Vec<_> = texts
        .iter()
        .map(|(case, text, code)| format!("{case}: {}", rendered(&log(text, *code))))
        .collect();
    insta::assert_snapshot!(rendered.join("\n"), @r#"
    cannot tell: cannotTell | no way to the cloud |  | 
    too far apart: versionSkew | no way to the cloud | TooFar () | 
    done, but too far apart: versionSkew | no way to the cloud | TooFar () | 
    done, but not with all: cannotTell | no way to the cloud | A (), Unknown () | 
    found, and ended badly: found | no way to the cloud | A () | 
    nothing, and ended badly: failed | its result has no findings, but signal 9 terminated it |  | 
    not done: failed | it ended before completion: it exited with code 0 | A () | 
    a new word: cannotTell | no way to the cloud |  | 
    no risks: failed | cannot parse its result: field `risks` is missing |  | 
    a new format: failed | cannot parse its result: unsupported format "preflight-v2-json" |  | 
    of another program: passed |  |  | 
    broken off: failed | cannot parse its result: not a complete JSON object |  |
    "#);
}

#[test]
fn interpret_exit_code_without_result() {
    let started = |message| ContainerTermination {
        termination_message: message,
        exit_code: 128,
        reason: "StartError",
        ..ContainerTermination::default()
    };
    let command = ["sh", "-c", "/bin/preflight network"].map(str::to_owned);
    let shell =
        |output, exit_code| ContainerTermination { command: &command, ..log(output, exit_code) };
    let cases = [
        ("all is well", log("looks good\n", 0)),
        ("silently", log("", 0)),
        ("no", log("looking\nthe certificate is too weak\n", 1)),
        ("no, without a word", log("", 1)),
        ("no, as the command line says it", log("too weak", 3)),
        ("cannot tell", log("no permission", 4)),
        ("a panic", log("thread 'main' panicked", 101)),
        ("a signal", log("", 139)),
        ("no such command, says a shell", shell("sh: 1: /bin/preflight: not found\n", 127)),
        ("not executable", shell("sh: /bin/preflight: Permission denied", 126)),
        ("a script that misses its first", shell("/bin/preflight: line 3: oc: not found\n", 127)),
        ("no such command, without output", shell("", 127)),
        ("a script that misses a command", log("looking\nscript: oc: not found\n", 127)),
        (
            "no such command",
            started(
                "exec: \"/bin/preflight\": stat /bin/preflight: no such file or directory: unknown",
            ),
        ),
        ("another trouble of the runtime", started("failed to create shim")),
        (
            "memory",
            ContainerTermination { exit_code: 137, reason: "OOMKilled", ..log("looking", 137) },
        ),
        ("time", ContainerTermination { reason: "DeadlineExceeded", ..log("still looking", 143) }),
        (
            "rubbish",
            ContainerTermination { log: b"\xff\xfe\x00", ..ContainerTermination::default() },
        ),
        (
            "a message",
            ContainerTermination {
                termination_message: "too weak",
                exit_code: 1,
                ..ContainerTermination::default()
            },
        ),
        (
            "an answer as message",
            ContainerTermination { termination_message: RISK, ..log("looking", 0) },
        ),
    ];
    let rendered: Vec<_> =
        cases.iter().map(|(case, container)| format!("{case}: {}", rendered(container))).collect();
    insta::assert_snapshot!(rendered.join("\n"), @r#"
    all is well: passed |  |  | 
    silently: passed |  |  | 
    no: found |  | CloudCredentialCheckFailed (looking
    the certificate is too weak) | 
    no, without a word: found |  | CloudCredentialCheckFailed (it exited with code 1 without output) | 
    no, as the command line says it: found |  | CloudCredentialCheckFailed (too weak) | 
    cannot tell: cannotTell | no permission |  | 
    a panic: failed | it exited with code 101: thread 'main' panicked |  | 
    a signal: failed | signal 11 terminated it without output |  | 
    no such command, says a shell: skipped | its image does not contain the command: sh: 1: /bin/preflight: not found |  | 
    not executable: skipped | its image does not contain the command: sh: /bin/preflight: Permission denied |  | 
    a script that misses its first: failed | it exited with code 127: /bin/preflight: line 3: oc: not found |  | 
    no such command, without output: failed | it exited with code 127 without output |  | 
    a script that misses a command: failed | it exited with code 127: looking
    script: oc: not found |  | 
    no such command: skipped | its image does not contain the command: exec: "/bin/preflight": stat /bin/preflight: no such file or directory: unknown |  | 
    another trouble of the runtime: notStarted | failed to create shim |  | 
    memory: failed | it exceeded its memory limit |  | 
    time: timedOut | still looking |  | 
    rubbish: failed | its log is not UTF-8 text |  | 
    a message: found |  | CloudCredentialCheckFailed (too weak) | 
    an answer as message: found |  | A (a) |
    "#);
}

#[test]
fn interpret_log_beyond_limit_fails() {
    let megabytes = "x".repeat(MAX_LOG_BYTES) + "\n" + NOTHING;
    insta::assert_snapshot!(rendered(&log(&megabytes, 0)), @"failed | its log exceeds 1048576 bytes and contains no result |  |");
    let container = ContainerTermination { termination_message: RISK, ..log(&megabytes, 0) };
    assert_eq!(interpret("a", &container).status, CheckStatus::Found);
}

#[test]
fn interpret_nested_log_completes_in_time() {
    for line in [
        "{\"a\":[\n",
        "{\n",
        "{}\n",
        "{\"format\":\"preflight-v1-json\",\n",
        "{\"a\":[1,1,1,1,1,1,\n",
    ] {
        let log_text = line.repeat(MAX_LOG_BYTES / 8 / line.len());
        let outcome = interpret("a", &log(&log_text, 0));
        assert!(outcome.findings.is_empty(), "{line:?}");
    }
}

proptest! {
    #[test]
    fn interpret_any_log_does_not_panic(bytes: Vec<u8>, message: String, exit_code: i32, reason: String) {
        let (log, termination_message) = (&*bytes, &*message);
        let container =
            ContainerTermination { log, termination_message, exit_code, reason: &reason, ..ContainerTermination::default() };
        interpret("a", &container);
    }

    #[test]
    fn interpret_ignores_text_around_result(before in "[^{]*", after in "[^{]*") {
        let outcome = interpret("a", &log(&format!("{before}\n{RISK}\n{after}"), 0));
        prop_assert_eq!(outcome.status, CheckStatus::Found);
    }
}
