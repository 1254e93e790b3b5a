//! `fairway sandbox`.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::{fairway, refusals, transcript};

/// A ready sandbox process.
struct Sandbox {
    child: Child,
    stdout: BufReader<ChildStdout>,
    greeting: String,
}

impl Sandbox {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C") {
            let read = stdout.read_line(&mut greeting).unwrap();
            assert!(read > 0, "the sandbox ended: {greeting}{}", rest(&mut child));
        }
        Self { child, stdout, greeting }
    }

    /// The greeting with placeholders.
    fn greeting(&self, directory: &Path) -> String {
        let text = self.greeting.replace(&directory.display().to_string(), "DIR");
        let mut lines: Vec<&str> = text.lines().collect();
        lines[0] = "(the address, and how long it took)";
        lines[1] = "(how pods run)";
        lines.join("\n")
    }

    /// Sends SIGINT. Returns the exit code and the remaining output.
    fn interrupt(mut self) -> (Option<i32>, String) {
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap();
        let code = self.child.wait().unwrap().code();
        let mut printed = String::new();
        self.stdout.read_to_string(&mut printed).unwrap();
        (code, printed + &rest(&mut self.child))
    }
}

fn rest(child: &mut Child) -> String {
    let mut printed = String::new();
    child.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
    printed
}

#[test]
fn start_prints_hints_and_sigint_stops_it() {
    let directory = tempfile::tempdir().unwrap();
    let sandbox =
        Sandbox::start(fairway().args(["sandbox", "--no-platform", "--dir"]).arg(directory.path()));
    insta::assert_snapshot!(sandbox.greeting(directory.path()), @"
    (the address, and how long it took)
    (how pods run)

    In another terminal:

      export KUBECONFIG=DIR/kubeconfig
      kubectl get crd,clusterversion
      kubectl create deployment hello --image=shell -- sh -c 'while :; do echo hello from $HOSTNAME; sleep 5; done'
      kubectl rollout status deployment hello
      kubectl logs deployment/hello

    Press Ctrl-C to stop the sandbox. Stopping keeps the pod files and the audit log.
    ");
    assert_eq!(sandbox.interrupt(), (Some(0), "stopping\n".to_owned()));
    assert!(directory.path().join("audit.log").exists());
}

#[test]
#[ignore = "needs kubectl: cargo xtask test"]
fn commands_of_the_greeting_create_a_running_deployment() {
    let sandbox = Sandbox::start(fairway().args(["sandbox", "--no-platform"]));
    let hints = sandbox.greeting.lines().filter_map(|line| line.strip_prefix("  "));
    let script: Vec<&str> = hints.collect();
    let followed = Command::new("sh").args(["-ec", &script.join("\n")]).output().unwrap();
    let printed = String::from_utf8(followed.stdout).unwrap();
    assert!(followed.status.success(), "{printed}{}", String::from_utf8_lossy(&followed.stderr));
    for expected in [
        "clusterversion.config.openshift.io/version",
        "successfully rolled out",
        "hello from hello-",
    ] {
        assert!(printed.contains(expected), "{expected} is missing in:\n{printed}");
    }
    assert_eq!(sandbox.interrupt(), (Some(0), "stopping\n".to_owned()));
}

#[test]
fn without_dir_no_files_remain() {
    let temporary = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::start(
        fairway().args(["sandbox", "--no-platform", "-q"]).env("TMPDIR", temporary.path()),
    );
    assert!(sandbox.greeting.ends_with("Stopping removes all files.\n"), "{}", sandbox.greeting);
    assert_eq!(sandbox.interrupt(), (Some(0), String::new()));
    let left: Vec<_> = temporary.path().read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn invalid_settings_are_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let printed = [
        transcript(fairway().args(["sandbox", "--port", &port])).replace(&port, "PORT"),
        transcript(fairway().args(["sandbox", "--dir", "/proc/nowhere"])),
        transcript(fairway().args(["sandbox", "--nodes", "100"])),
    ];
    insta::assert_snapshot!(refusals(printed), @"
    1: error: cannot start the sandbox
      caused by: cannot listen on 127.0.0.1:PORT
      caused by: Address already in use (os error 98)
    hint: omit --port to use a free port
    1: error: cannot create directory /proc/nowhere
      caused by: No such file or directory (os error 2)
    hint: use a writable directory
    2: error: invalid value '100' for '--nodes <COUNT>': 100 is not in 0..=20
    ");
}

#[test]
fn tour_updates_the_platform() {
    let toured = fairway().args(["sandbox", "--tour"]).output().unwrap();
    let printed = String::from_utf8(toured.stdout).unwrap();
    assert!(toured.status.success(), "{printed}{}", String::from_utf8_lossy(&toured.stderr));
    for expected in [
        "The operator accepted the release. Working towards 5.0.1",
        "error: 5.2.0 is not recommended for this cluster",
        "Cluster version is 5.2.0",
        "The tour is complete.",
    ] {
        assert!(printed.contains(expected), "{expected} is missing in:\n{printed}");
    }
}
