//! The SDK does not select a Kubernetes version of `k8s-openapi`; authors of checks do.

use std::process::Command;

#[test]
fn k8s_openapi_has_no_version_feature() {
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
