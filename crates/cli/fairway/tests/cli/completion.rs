//! Shell completion.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;
use fairway_testkit::{TestCluster, skip};
use tempfile::TempDir;

use crate::upgrade::create_cluster_version;
use crate::{fairway, kubeconfig};

/// Longer than the default of completion, for a busy host.
const LONG_TIMEOUT: &str = "--request-timeout=60s";

/// The completions after `fairway upgrade`.
fn completions(words: &[&str], kubeconfig: &Path) -> String {
    let mut command = fairway();
    command.args(["__complete", "upgrade"]).args(words).env("KUBECONFIG", kubeconfig);
    let output = tokio::task::block_in_place(|| command.output()).unwrap();
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]), "{words:?}");
    String::from_utf8(output.stdout).unwrap().replace('\t', "  ")
}

/// A directory with the binary under another name.
fn binary_named(name: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join(name);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fairway"), program).unwrap();
    directory
}

/// The output of a shell that sources the completion script and runs another one. `None` if the shell is
/// not installed.
fn in_shell(shell: &str, script: &str, kubeconfig: &Path) -> Option<String> {
    let directory = binary_named("fairway");
    let mut command = Command::new(shell);
    let search = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    command.env("PATH", search).env("KUBECONFIG", kubeconfig).env("HOME", directory.path());
    command.arg("-c").arg(script).stdin(Stdio::null());
    let output = match tokio::task::block_in_place(|| command.output()) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            skip::test(&format!("{shell} is not installed"));
            return None;
        }
        output => output.unwrap(),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&output.stderr), "", "{shell}");
    Some(text(&output.stdout))
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_the_cluster_are_completed() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let kubeconfig = cluster.kubeconfig();
    let answers = [
        completions(&[LONG_TIMEOUT, "--to", ""], kubeconfig),
        completions(&[LONG_TIMEOUT, "--to=5.1"], kubeconfig),
        completions(&["compare", LONG_TIMEOUT, "5.1.1", "5.2"], kubeconfig),
        completions(&["accept", LONG_TIMEOUT, "NoisyLogs,S"], kubeconfig),
        completions(&["status", "--context", ""], kubeconfig),
    ];
    insta::assert_snapshot!(answers.join("\n"), @"
    5.2.0  not recommended: SlowDisks
    5.1.1  recommended
    :4

    --to=5.1.1  recommended
    :4

    5.2.0  not recommended: SlowDisks
    :4

    NoisyLogs,SlowDisks  Nodes with slow disks may miss leases.
    :4

    fairway-sandbox
    :4
    ");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn completion_in_every_shell() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let bash = r#"
        source <(fairway completion bash)
        type_() {
            COMP_WORDS=(fairway "$@"); COMP_CWORD=$#
            _fairway fairway
            echo "${COMPREPLY[@]}"
        }
        type_ cr
        type_ upgrade --request-timeout = 60s --to ''
        type_ upgrade --request-timeout = 60s --to =
        type_ upgrade --request-timeout = 60s --to = 5.2
        type_ upgrade accept --request-timeout = 60s Slow
        type_ upgrade --request-timeout = 60s --to nonsense
    "#;
    let bash = in_shell("bash", bash, cluster.kubeconfig());
    assert_eq!(bash.as_deref(), Some("crds\n5.2.0 5.1.1\n5.2.0 5.1.1\n5.2.0\nSlowDisks\n\n"));

    let fish = format!(
        "fairway completion fish | source; complete --do-complete 'fairway upgrade {LONG_TIMEOUT} --to=5'"
    );
    if let Some(fish) = in_shell("fish", &fish, cluster.kubeconfig()) {
        let told = "--to=5.2.0\tnot recommended: SlowDisks\n--to=5.1.1\trecommended\n";
        assert_eq!(fish, told);
    }

    // The menu of zsh needs a terminal, so its entries are printed instead.
    let zsh = r#"
        compdef() { }; _describe() { print -rl -- "$@" "${candidates[@]}" }
        source <(fairway completion zsh)
        words=(fairway upgrade --request-timeout=60s --to ''); CURRENT=5
        _fairway
    "#;
    if let Some(zsh) = in_shell("zsh", zsh, cluster.kubeconfig()) {
        let told = "5.2.0:not recommended: SlowDisks\n5.1.1:recommended\n";
        assert_eq!(zsh, format!("-V\nfairway\ncandidates\n{told}"));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn completion_for_kubectl_and_oc_plugins() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    for name in ["kubectl_complete-fairway", "oc_complete-fairway"] {
        let directory = binary_named(name);
        let mut command = Command::new(directory.path().join(name));
        command
            .args(["upgrade", LONG_TIMEOUT, "--to", "5.1"])
            .env("KUBECONFIG", cluster.kubeconfig());
        let output = tokio::task::block_in_place(|| command.output())?;
        assert_eq!(String::from_utf8(output.stdout)?, "5.1.1\trecommended\n:4\n", "{name}");
    }
    Ok(())
}

#[test]
fn completion_with_unresponsive_cluster_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = kubeconfig(&format!("http://{}", listener.local_addr().unwrap()));
    let missing = Path::new("/nonexistent/kubeconfig");
    for kubeconfig in [silent.path(), missing] {
        let output = fairway()
            .args(["__complete", "upgrade", "--to", ""])
            .env("KUBECONFIG", kubeconfig)
            .output()
            .unwrap();
        let said = (String::from_utf8(output.stdout).unwrap(), output.stderr);
        assert_eq!(said, (":4\n".to_owned(), Vec::new()), "{}", kubeconfig.display());
    }
}

#[test]
fn static_completion_has_the_commands() {
    for shell in ["elvish", "powershell"] {
        let output = fairway().args(["completion", shell]).output().unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        for word in ["crds", "completion", "--color"] {
            assert!(script.contains(word), "{shell} knows nothing of {word}");
        }
    }
}
