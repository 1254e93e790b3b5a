use std::os::unix::fs::PermissionsExt;

use fairway_fixtures::skip;
use fairway_sandbox::init::{Attachment, Confinement, Mount, Plan, Root};
use fairway_sandbox::node::runtime::StartError;

use crate::machine::{Machine, plan};

#[tokio::test]
async fn a_program_runs_in_a_world_of_its_own() {
    let machine = Machine::new().await;
    println!("{:?}", machine.runtime.mode());
    if machine.runtime.mode().confinement == Confinement::Plain {
        skip::test("containers need namespaces, which this host does not permit");
        return;
    }
    let script = "echo $PATH; hostname; id -u; ls /; ls /dev; cat /proc/1/comm; pwd; exit 7";
    let (code, text) = machine.run(&machine.plan("a", script)).await.unwrap();
    println!("{text}");
    assert_eq!(code, 7);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..3], ["/bin", "box", "0"]);
    for expected in ["proc", "tmp", "null", "shm", "urandom"] {
        assert!(lines.contains(&expected), "{expected}");
    }
    assert!(!lines.contains(&"home"), "the machine's directories are not there");
}

#[tokio::test]
async fn volumes_are_mounted_and_read_only_ones_refuse() {
    let machine = Machine::new().await;
    if machine.runtime.mode().confinement == Confinement::Plain {
        skip::test("containers need namespaces, which this host does not permit");
        return;
    }
    let volume = machine.path("volume");
    std::fs::create_dir(&volume).unwrap();
    std::fs::write(volume.join("greeting"), "hello\n").unwrap();
    std::fs::set_permissions(&volume, PermissionsExt::from_mode(0o777)).unwrap();
    let mount = |target: &str, read_only| {
        let (source, target) = (volume.clone(), target.into());
        Mount { source, target, read_only }
    };
    let script = "cat /data/greeting; touch /data/new && echo wrote
        touch /fixed/x || echo fixed; touch /x || echo root";
    let mut plan = machine.plan("a", script);
    plan.mounts = vec![mount("/data", false), mount("/fixed", true)];
    plan.read_only_root = true;
    let (_, text) = machine.run(&plan).await.unwrap();
    let said: Vec<&str> = text.lines().filter(|line| !line.starts_with("touch")).collect();
    assert_eq!(said, ["hello", "wrote", "fixed", "root"], "{text}");
    assert!(volume.join("new").exists());
}

#[tokio::test]
async fn a_container_runs_as_whom_it_should() {
    let machine = Machine::new().await;
    if machine.runtime.mode().confinement == Confinement::Plain {
        skip::test("containers need namespaces, which this host does not permit");
        return;
    }
    let mut plan = machine.plan("a", "id -u; id -g; touch /proc/sys/kernel/hostname || echo no");
    (plan.user, plan.group) = (1234, 5678);
    let (_, text) = machine.run(&plan).await.unwrap();
    assert!(text.starts_with("1234\n5678\nno\n"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_run_is_said_as_container_engines_say_it() {
    let machine = Machine::new().await;
    for (name, command, expected) in [
        ("a", "nothing", r#"exec: "nothing": executable file not found in $PATH"#),
        ("b", "/nothing", r#"exec: "/nothing": stat /nothing: no such file or directory"#),
        ("c", "/tmp", r#"exec: "/tmp": permission denied"#),
    ] {
        let mut plan = machine.plan(name, "");
        plan.command = vec![command.to_owned()];
        match machine.run(&plan).await {
            Err(StartError::Refused(message)) => assert_eq!(message, expected),
            other => panic!("{command}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn without_namespaces_paths_are_told_by_the_environment() {
    let machine = Machine::new().await;
    let root = Root::Directory(machine.path("image"));
    let mut plan = plan(Confinement::Plain, root, "echo $FAIRWAY_ROOT $FAIRWAY_MOUNT_DATA_X; pwd");
    plan.mounts =
        vec![Mount { source: machine.path("volume"), target: "/data/x".into(), read_only: false }];
    let (code, text) = machine.run(&plan).await.unwrap();
    let (image, volume) = (machine.path("image"), machine.path("volume"));
    let expected = format!("{} {}\n{}\n", image.display(), volume.display(), image.display());
    assert_eq!((code, text), (0, expected));
}

#[tokio::test]
async fn another_program_can_join() {
    let machine = Machine::new().await;
    let plan = machine.plan("a", "touch /tmp/mine; sleep 100");
    let container = machine.runtime.start(&plan).await.unwrap();
    let command = ["/bin/sh", "-c", "until [ -e /tmp/mine ]; do :; done; hostname; exit 4"];
    let plan = Plan { command: command.map(str::to_owned).to_vec(), ..plan };
    let attachment = Attachment { process: container.process, plan };
    let (code, output) = machine.runtime.attach(&attachment).await.unwrap();
    assert_eq!((code, String::from_utf8(output).unwrap().as_str()), (4, "box\n"));
}
