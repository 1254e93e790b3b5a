//! Releases and graph-data in images.

use std::fs;

use super::{GraphFiles, IMAGES};
use crate::refusals;

#[test]
fn build_from_images() {
    let files = GraphFiles::new();
    files.images();
    // A tag without a release is skipped with a warning.
    let index = files.path().join("release-images/index.json");
    let text = fs::read_to_string(&index).unwrap();
    let digest = text.split('"').find(|part| part.starts_with("sha256:")).unwrap().to_owned();
    let missing = text.replace(&digest, &format!("sha256:{}", "0".repeat(64)));
    let entry = missing.split_once('[').unwrap().1.rsplit_once(']').unwrap().0;
    let entry = entry.replace("5.1.1", "broken");
    fs::write(&index, text.replacen('[', &format!("[{entry},"), 1)).unwrap();

    let printed = files.run(&[&["show", "--channel=stable-5.1"][..], &IMAGES].concat());
    let printed = printed.replace(&files.path().display().to_string(), "DIR");
    insta::assert_snapshot!(printed, @"
    exit code: 0
    ----- stdout -----
    stable-5.1, amd64
    releases: 1, recommended updates: 0, conditional updates: 0

    5.1
      5.1.1  no updates to this release
    ----- stderr -----
    releases in registry.example/releases: 1 found, 1 skipped
    warning: registry.example/releases:broken omitted: release-images/blobs/sha256/0000000000000000000000000000000000000000000000000000000000000000 does not exist
    ");
    let why = files.run(&[&["why", "5.0.1", "5.1.1", "-q"][..], &IMAGES].concat());
    insta::assert_snapshot!(why, @"
    exit code: 3
    ----- stdout -----
    5.0.1+amd64 -> 5.1.1+amd64: other releases reference 5.0.1+amd64, but it does not exist
    ");
    let lint = files.run(&["lint", "graph-data", "--oci-layout=release-images"]);
    assert!(lint.contains("1 found, 1 skipped"), "{lint}");
}

#[test]
fn invalid_images_are_refused() {
    let files = GraphFiles::new();
    files.images();
    files.write("secret.json", "{}");
    files.write("keys.gpg", "keys");
    files.write("ca.pem", "none");
    let build = |arguments: &[&str]| files.run(&[&["build"], arguments].concat());
    let layout = "--oci-layout=release-images";
    let printed = [
        build(&["--registry=releases"]),
        build(&["--registry=user:password@registry.example/releases"]),
        build(&["--registry=http://registry.example/releases"]),
        build(&["--registry=127.0.0.1:1/releases", "--pull-secret=secret.json"]),
        build(&["--registry=127.0.0.1:1/releases", "--registry-ca=ca.pem"]),
        build(&["--oci-layout=graph-data"]),
        build(&[layout, "--graph-data-image=oci:graph-data"]),
        build(&[layout, "--graph-data-image=oci:release-images"]),
        build(&[layout, "--graph-data-image=oci:graph-data-image:other"]),
        build(&[
            layout,
            "--graph-data-image=oci:graph-data-image",
            "--graph-data-keyring=keys.gpg",
            "--graph-data-signatures=signatures",
        ]),
    ];
    let printed = without_digests(&refusals(printed));
    assert!(!printed.contains("password@"), "{printed}");
    insta::assert_snapshot!(printed, @r#"
    1: error: cannot read releases
      caused by: "releases" is not a repository such as registry.example/team/releases
    hint: specify the repository without a tag or password; set credentials with --pull-secret
    1: error: cannot read releases
      caused by: "…@registry.example/releases" is not a repository such as registry.example/team/releases
    hint: specify the repository without a tag or password; set credentials with --pull-secret
    1: error: cannot read releases
      caused by: refusing to connect to registry.example without TLS: it is not a loopback address
    hint: use --plain-http to connect without TLS
    1: error: cannot read pull secret secret.json
      caused by: the pull secret is not valid JSON with `auths`: line 1, column 2
    hint: use a Docker config.json: {"auths": {"registry.example": {"auth": …}}}
    1: error: cannot read the CA certificates in ca.pem
      caused by: no PEM certificate in the file
    hint: specify a file with PEM certificates
    1: error: cannot read releases
      caused by: cannot read graph-data/oci-layout
      caused by: No such file or directory (os error 2)
    hint: specify an OCI image layout, such as one that `skopeo copy docker://… oci:DIR:NAME` writes
    1: error: cannot read graph-data
      caused by: cannot read graph-data/oci-layout
      caused by: No such file or directory (os error 2)
    hint: specify an image in a registry, or oci:DIR:NAME in an OCI image layout
    1: error: cannot read graph-data image oci:release-images
      caused by: DIGEST contains no graph-data, neither in /var/lib/cincinnati-graph-data nor in its root directory
    hint: check the image name, the credentials in --pull-secret, and with a keyring the signatures
    1: error: cannot read graph-data image oci:graph-data-image:other
      caused by: oci:graph-data-image:other does not exist
    hint: check the image name, the credentials in --pull-secret, and with a keyring the signatures
    1: error: cannot read the keys in keys.gpg
      caused by: keyring does not consist of OpenPGP public keys: not an OpenPGP packet
    hint: export the keys with `gpg --export KEY > FILE`
    "#);
}

#[test]
fn unused_image_options_are_refused() {
    let files = GraphFiles::new();
    let build = |arguments: &[&str]| files.run(&[&["build", "--oci-layout=l"], arguments].concat());
    let printed = [
        build(&["--graph-data-image=oci:g", "--graph-data-keyring=keys.gpg"]),
        build(&["--graph-data=graph-data", "--graph-data-image=oci:g"]),
        build(&["--releases=releases.json"]),
    ];
    insta::assert_snapshot!(refusals(printed), @"
    2: error: the following required arguments were not provided:
      --graph-data-signatures <DIR|URL>

    Usage: fairway graph build --graph-data-image <IMAGE> --graph-data-keyring <FILE> --graph-data-signatures <DIR|URL> <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>|--from-graph <FILE>>
    2: error: the argument '--graph-data <DIR>' cannot be used with '--graph-data-image <IMAGE>'

    Usage: fairway graph build --graph-data <DIR> <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>|--from-graph <FILE>>
    2: error: the argument '--oci-layout <DIR>' cannot be used with '--releases <FILE>'

    Usage: fairway graph build <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>|--from-graph <FILE>>
    ");
}

#[test]
fn unsigned_graph_data_is_refused() {
    let files = GraphFiles::new();
    files.images();
    let keys = include_str!("../../../../../io/registry/src/signature/fixtures/plain.asc");
    files.write("keys.asc", keys);
    let signed = ["--graph-data-keyring=keys.asc", "--graph-data-signatures=signatures"];
    let printed = files.run(&[&["build"][..], &IMAGES, &signed].concat());
    insta::assert_snapshot!(without_digests(&printed), @"
    exit code: 1
    ----- stderr -----
    error: cannot read graph-data image oci:graph-data-image:latest
      caused by: DIGEST is not signed
    hint: check the image name, the credentials in --pull-secret, and with a keyring the signatures
    ");
}

/// The text without digests, which depend on how layers are compressed.
fn without_digests(text: &str) -> String {
    let mut parts = text.split("sha256:");
    let mut without_digests = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        without_digests.push_str("DIGEST");
        without_digests.push_str(part.trim_start_matches(|digit: char| digit.is_ascii_hexdigit()));
    }
    without_digests
}
