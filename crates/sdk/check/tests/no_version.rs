//! Whoever writes a check chooses the version of Kubernetes whose types it uses.

use std::process::Command;

#[test]
fn no_version_of_kubernetes_is_forced_on_anybody() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "--manifest-path", manifest])
        .args(["--edges=normal", "--prefix=none", "--format={p} {f}"])
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let tree = String::from_utf8(tree.stdout).unwrap();
    let types = tree.lines().find(|line| line.starts_with("k8s-openapi ")).unwrap();
    assert!(!types.contains("v1_"), "{types}");
}
