//! Execution of containers.

use std::os::unix::fs::PermissionsExt;

use fairway_fixtures::skip;
use fairway_sandbox::init::{Attachment, Confinement, ContainerSpec, Mount, Root};
use fairway_sandbox::node::runtime::StartError;

use crate::runtime::{TestRuntime, plan};

#[tokio::test]
async fn container_has_its_own_filesystem_hostname_and_processes() {
    let runtime = TestRuntime::start().await;
    println!("{:?}", runtime.inner.mode());
    if runtime.inner.mode().confinement == Confinement::Plain {
        skip::test("containers need namespaces, which this host does not permit");
        return;
    }
    let script = "echo $PATH; hostname; id -u; ls /; ls /dev; cat /proc/1/comm; pwd; exit 7";
    let (code, text) = runtime.run(&runtime.plan("a", script)).await.unwrap();
    println!("{text}");
    assert_eq!(code, 7);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..3], ["/bin", "box", "0"]);
    for expected in ["proc", "tmp", "null", "shm", "urandom"] {
        assert!(lines.contains(&expected), "{expected}");
    }
    assert!(!lines.contains(&"home"), "directories of the host are visible");
}

#[tokio::test]
async fn read_only_volumes_and_root_refuse_writes() {
    let runtime = TestRuntime::start().await;
    if runtime.inner.mode().confinement == Confinement::Plain {
        skip::test("containers need namespaces, which this host does not permit");
        return;
    }
    let volume = runtime.path("volume");
    std::fs::create_dir(&volume).unwrap();
    std::fs::write(volume.join("greeting"), "hello\n").unwrap();
    std::fs::set_permissions(&volume, PermissionsExt::from_mode(0o777)).unwrap();
    let mount = |target: &str, read_only| {
        let (source, target) = (volume.clone(), target.into());
        Mount { source, target, read_only }
    };
    let script = "cat /data/greeting; touch /data/new && echo wrote
        touch /fixed/x || echo fixed; touch /x || echo root";
    let mut plan = runtime.plan("a", script);
    plan.mounts = vec![mount("/data", false), mount("/fixed", true)];
    plan.read_only_root = true;
    let (_, text) = runtime.run(&plan).await.unwrap();
    let printed: Vec<&str> = text.lines().filter(|line| !line.starts_with("touch")).collect();
    assert_eq!(printed, ["hello", "wrote", "fixed", "root"], "{text}");
    assert!(volume.join("new").exists());
}

#[tokio::test]
async fn container_runs_as_the_user_and_group_of_the_plan() {
    let runtime = TestRuntime::start().await;
    if runtime.inner.mode().confinement == Confinement::Plain {
        skip::test("containers need namespaces, which this host does not permit");
        return;
    }
    let mut plan = runtime.plan("a", "id -u; id -g; touch /proc/sys/kernel/hostname || echo no");
    (plan.user, plan.group) = (1234, 5678);
    let (_, text) = runtime.run(&plan).await.unwrap();
    assert!(text.starts_with("1234\n5678\nno\n"), "{text}");
}

#[tokio::test]
async fn start_with_invalid_command_fails_with_the_message_of_runc() {
    let runtime = TestRuntime::start().await;
    for (name, command, expected) in [
        ("a", "nothing", r#"exec: "nothing": executable file not found in $PATH"#),
        ("b", "/nothing", r#"exec: "/nothing": stat /nothing: no such file or directory"#),
        ("c", "/tmp", r#"exec: "/tmp": permission denied"#),
    ] {
        let mut plan = runtime.plan(name, "");
        plan.command = vec![command.to_owned()];
        match runtime.run(&plan).await {
            Err(StartError::Refused(message)) => assert_eq!(message, expected),
            other => panic!("{command}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn plain_container_has_paths_in_its_environment() {
    let runtime = TestRuntime::start().await;
    let root = Root::Directory(runtime.path("image"));
    let mut plan = plan(Confinement::Plain, root, "echo $FAIRWAY_ROOT $FAIRWAY_MOUNT_DATA_X; pwd");
    plan.mounts =
        vec![Mount { source: runtime.path("volume"), target: "/data/x".into(), read_only: false }];
    let (code, text) = runtime.run(&plan).await.unwrap();
    let (image, volume) = (runtime.path("image"), runtime.path("volume"));
    let expected = format!("{} {}\n{}\n", image.display(), volume.display(), image.display());
    assert_eq!((code, text), (0, expected));
}

#[tokio::test]
async fn attached_command_shares_the_container() {
    let runtime = TestRuntime::start().await;
    let plan = runtime.plan("a", "touch /tmp/mine; sleep 100");
    let container = runtime.inner.start(&plan).await.unwrap();
    let command = ["/bin/sh", "-c", "until [ -e /tmp/mine ]; do :; done; hostname; exit 4"];
    let plan = ContainerSpec { command: command.map(str::to_owned).to_vec(), ..plan };
    let attachment = Attachment { process: container.process, plan };
    let (code, output) = runtime.inner.attach(&attachment).await.unwrap();
    assert_eq!((code, String::from_utf8(output).unwrap().as_str()), (4, "box\n"));
}
