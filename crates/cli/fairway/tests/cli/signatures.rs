//! `fairway release sign` and `verify`, with keys of `gpg`.

use std::fs;
use std::path::Path;

use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder, layout};
use fairway_testkit::environment;
use fairway_testkit::gpg::Signer;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{document, fairway, refusals, transcript};

const IDENTITY: &str = "--identity=registry.example/releases:5.1.0";

/// A directory with a release in an OCI layout, and the keys of two teams.
struct SigningFiles {
    directory: TempDir,
    image: Digest,
    team: Signer,
    partner: Signer,
}

impl SigningFiles {
    /// `None` without `gpg`.
    fn new() -> Option<Self> {
        let (Some(team), Some(partner)) = (Signer::new().unwrap(), Signer::new().unwrap()) else {
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        let layer = LayerBuilder::new().file("release", 0o644, "5.1.0").unwrap();
        let image = Image::new(vec![layer.build().unwrap()], &ImageConfig::default());
        layout::write(&directory.path().join("releases"), &image, "5.1.0").unwrap();
        let image = image.digest().clone();
        let files = Self { directory, image, team, partner };
        files.write("team.asc", &files.team.keyring().unwrap());
        files.write("team.secret.asc", &files.team.secret_key().unwrap());
        files.write("partner.asc", &files.partner.keyring().unwrap());
        Some(files)
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn write(&self, path: &str, content: &[u8]) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn signature(&self, store: &str, number: usize) -> String {
        format!("{store}/sha256={}/signature-{number}", self.image.hex())
    }

    /// The transcript of a command with placeholders for digests and keys.
    fn run(&self, arguments: &[&str]) -> String {
        let mut command = fairway();
        command.current_dir(self.path()).arg("release").args(arguments);
        let printed = transcript(&mut command).replace(self.image.hex(), "HEX");
        let printed = printed.replace(&self.path().display().to_string(), "DIR");
        let is_print =
            |word: &&str| word.len() == 40 && word.bytes().all(|digit| digit.is_ascii_hexdigit());
        let words = printed.split(|char: char| !char.is_ascii_alphanumeric()).filter(is_print);
        words.fold(printed.clone(), |text, key| text.replace(key, "KEY"))
    }

    fn sign(&self, arguments: &[&str]) -> String {
        let image = ["sign", "oci:releases:5.1.0", "--key=team.secret.asc", IDENTITY];
        self.run(&[&image, arguments].concat())
    }

    fn verify(&self, arguments: &[&str]) -> String {
        self.run(&[&["verify", "oci:releases:5.1.0"], arguments].concat())
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let mut command = fairway();
        document(command.current_dir(self.path()).arg("release").args(arguments))
    }
}

#[test]
fn signatures_of_fairway_and_gpg_are_interchangeable() {
    let Some(files) = SigningFiles::new() else { return };
    let printed = [
        files.verify(&["--keyring=team.asc", "--store=store"]),
        files.sign(&["--store=store"]),
        files.verify(&["--keyring=team.asc", "--store=store"]),
        files.verify(&["--keyring=team.asc", "--keyring=partner.asc", "--store=store"]),
    ];
    insta::assert_snapshot!(printed.join("\n"), @"
    exit code: 3
    ----- stdout -----
    releases@sha256:HEX is not verified: no valid signature for team.asc
      store: no signature

    exit code: 0
    ----- stdout -----
    releases@sha256:HEX is signed by KEY, as registry.example/releases:5.1.0
    wrote store/sha256=HEX/signature-1

    exit code: 0
    ----- stdout -----
    releases@sha256:HEX is verified
      team.asc: by KEY, as registry.example/releases:5.1.0 (signature-1 of store)

    exit code: 3
    ----- stdout -----
    releases@sha256:HEX is not verified: no valid signature for partner.asc
      signature-1 of store rejected for partner.asc: signed by KEY, not in the keyring
    ");
    let signature = fs::read(files.path().join(files.signature("store", 1))).unwrap();
    let claim: Value = serde_json::from_slice(&files.team.read(&signature).unwrap()).unwrap();
    assert_eq!(claim["critical"]["image"]["docker-manifest-digest"], files.image.as_str());
    assert!(files.partner.read(&signature).is_err());

    files.write(&files.signature("store", 2), &files.partner.sign(&files.image).unwrap());
    let both = ["--keyring=team.asc", "--keyring=partner.asc", "--store=store"];
    insta::assert_snapshot!(files.verify(&both), @"
    exit code: 0
    ----- stdout -----
    releases@sha256:HEX is verified
      partner.asc: by KEY, as registry.example/graph-data:latest (signature-2 of store)
      team.asc: by KEY, as registry.example/releases:5.1.0 (signature-1 of store)
    ");
    let report = files.json(&[&["verify", "oci:releases:5.1.0", "-o=json"], &both[..]].concat());
    assert_eq!(report["kind"], "ReleaseVerification");
    assert_eq!(report["verdict"], "verified");
    assert_eq!(report["signatures"][0]["keyring"], "partner.asc");
}

#[test]
fn sign_prints_a_config_map() {
    let Some(files) = SigningFiles::new() else { return };
    let image = ["sign", "oci:releases:5.1.0", "--key=team.secret.asc", IDENTITY, "--config-map"];
    let mut config_map = files.json(&[&image[..], &["-o=json"]].concat());
    let key = format!("sha256-{}-1", files.image.hex());
    assert!(config_map["binaryData"][&key].as_str().unwrap().len() > 100);
    config_map["binaryData"] = json!({ "key": key });
    let text = config_map.to_string().replace(files.image.hex(), "HEX");
    let name = config_map["metadata"]["name"].as_str().unwrap();
    let signer = name.rsplit('-').next().unwrap();
    insta::assert_snapshot!(text.replace(signer, "KEY"), @r#"{"apiVersion":"v1","binaryData":{"key":"sha256-HEX-1"},"kind":"ConfigMap","metadata":{"labels":{"release.openshift.io/verification-signatures":""},"name":"sha256-HEX-KEY","namespace":"openshift-config-managed"}}"#);
    let yaml = files.run(&image);
    assert!(yaml.contains("\nkind: ConfigMap\n"), "{yaml}");
}

#[test]
fn verify_uses_the_keys_of_the_previous_release() {
    let Some(files) = SigningFiles::new() else { return };
    let metadata = json!({ "kind": "cincinnati-metadata-v0", "version": "5.0.1" });
    let references = json!({
        "apiVersion": "image.openshift.io/v1", "kind": "ImageStream",
        "metadata": { "name": "5.0.1" },
    });
    let directory = "running/release-manifests";
    files.write(&format!("{directory}/release-metadata"), metadata.to_string().as_bytes());
    files.write(&format!("{directory}/image-references"), references.to_string().as_bytes());
    let mut printed = vec![files.verify(&["--from-release=running"])];
    let verification = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "verification", "namespace": "openshift-config-managed",
            "annotations": {
                "release.openshift.io/verification-config-map": "",
                "include.release.openshift.io/self-managed-high-availability": "true",
            },
        },
        "data": {
            "verifier-public-key-team": String::from_utf8(files.team.keyring().unwrap()).unwrap(),
            "store-here": format!("file://{}/store", files.path().display()),
        },
    });
    files.write(&format!("{directory}/0000_90_keys.yaml"), verification.to_string().as_bytes());
    printed.push(files.verify(&["--from-release=running"]));
    files.sign(&["--store=store", "-o=json"]);
    printed.push(files.verify(&["--from-release=running"]));
    printed.push(files.verify(&["--from-release=running", "--store=elsewhere"]));
    insta::assert_snapshot!(printed.join("\n"), @"
    exit code: 1
    ----- stderr -----
    error: running does not configure signature verification
      caused by: no ConfigMap with this annotation
    hint: add a ConfigMap with the annotation release.openshift.io/verification-config-map to its manifests, or specify keys with --keyring

    exit code: 3
    ----- stdout -----
    releases@sha256:HEX is not verified: no valid signature for verifier-public-key-team
      file://DIR/store: no signature

    exit code: 0
    ----- stdout -----
    releases@sha256:HEX is verified
      verifier-public-key-team: by KEY, as registry.example/releases:5.1.0 (signature-1 of file://DIR/store)

    exit code: 3
    ----- stdout -----
    releases@sha256:HEX is not verified: no valid signature for verifier-public-key-team
      elsewhere: no signature
    ");
}

/// The signature of a real OpenShift release. The registry does not exist: the digest is enough.
#[test]
fn verify_by_digest_does_not_read_the_image() {
    let Some(vectors) = environment::conformance("signatures") else { return };
    let digest = "sha256:e3f12513a4b22a2d7c0e7c9207f52128113758d9d68c7d06b11a0ac7672966f7";
    let mut command = fairway();
    command.current_dir(&vectors).args(["release", "verify", "--store=signatures"]);
    command.arg(format!("registry.invalid/releases@{digest}"));
    let printed = transcript(command.arg("--keyring=keyrings/redhat.txt"));
    assert!(printed.starts_with("exit code: 0\n"), "{printed}");
    let signer = "keyrings/redhat.txt: by 567E347AD0044ADE55BA8A5F199E2F91FD431D51";
    assert!(printed.contains(signer), "{printed}");
}

#[test]
fn verify_with_unreachable_store_has_no_result() {
    let Some(files) = SigningFiles::new() else { return };
    files.write("file", b"");
    insta::assert_snapshot!(files.verify(&["--keyring=team.asc", "--store=file"]), @"
    exit code: 4
    ----- stdout -----
    releases@sha256:HEX is not verified: no valid signature for team.asc
      file: cannot read signatures: cannot read file/sha256=HEX/signature-1: Not a directory (os error 20)
    ");
}

#[test]
fn sign_writes_at_most_nine_signatures() {
    let Some(files) = SigningFiles::new() else { return };
    for number in 1..=9 {
        files.write(&files.signature("store", number), b"another");
    }
    insta::assert_snapshot!(files.sign(&["--store=store"]), @"
    exit code: 1
    ----- stderr -----
    error: store/sha256=HEX already has 9 signatures
    hint: remove obsolete signatures; clusters ignore any further ones
    ");
}

#[test]
fn invalid_sign_and_verify_are_refused() {
    let Some(files) = SigningFiles::new() else { return };
    let sign = |arguments: &[&str]| files.run(&[&["sign"], arguments].concat());
    let printed = [
        sign(&["oci:releases:5.1.0", "--key=team.secret.asc", "--store=store"]),
        sign(&["oci:releases:5.2.0", "--key=team.secret.asc", IDENTITY, "--store=store"]),
        sign(&["oci:releases:5.1.0", "--key=team.asc", IDENTITY, "--store=store"]),
        sign(&["oci:releases:5.1.0", "--key=missing.asc", IDENTITY, "--store=store"]),
        sign(&["oci:releases:5.1.0", "--key=team.secret.asc", IDENTITY]),
        files.verify(&["--keyring=team.secret.asc", "--store=store"]),
        files.verify(&["--keyring=team.asc"]),
    ];
    insta::assert_snapshot!(refusals(printed), @"
    2: error: an image in an OCI image layout needs --identity
    1: error: cannot find the release oci:releases:5.2.0
      caused by: oci:releases:5.2.0 does not exist
    hint: check the image name and the credentials in --pull-secret
    1: error: cannot sign with the key in team.asc
      caused by: not an OpenPGP secret key: unexpected block type: PGP PUBLIC KEY BLOCK
    hint: export one key with `gpg --armor --export-secret-keys KEY > FILE`; specify its passphrase with --passphrase-file
    1: error: cannot sign with the key in missing.asc
      caused by: cannot read missing.asc
      caused by: No such file or directory (os error 2)
    hint: export one key with `gpg --armor --export-secret-keys KEY > FILE`; specify its passphrase with --passphrase-file
    2: error: the following required arguments were not provided:
      <--store <DIR>|--config-map>

    Usage: fairway release sign --key <FILE> --identity <NAME> <--store <DIR>|--config-map> <IMAGE>
    1: error: cannot verify signatures
      caused by: cannot use team.secret.asc
      caused by: keyring does not consist of OpenPGP public keys: expected PGP PUBLIC KEY BLOCK, found PGP PRIVATE KEY BLOCK
    hint: export the keys with `gpg --armor --export KEY > FILE`
    2: error: the following required arguments were not provided:
      --store <DIR|URL>

    Usage: fairway release verify --keyring <FILE> --store <DIR|URL> <IMAGE>
    ");
}

#[test]
fn help() {
    let helps =
        ["sign", "verify"].map(|name| transcript(fairway().args(["release", name, "--help"])));
    insta::assert_snapshot!(helps.join("\n"));
}
