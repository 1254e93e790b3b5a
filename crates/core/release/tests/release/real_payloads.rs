//! Real OpenShift payloads, and releases built from the manifests of real operators.
//! `FAIRWAY_PAYLOADS` is the directory with the archives.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::sync::OnceLock;

use fairway_fixtures::environment;
use fairway_release::builder::{BuildWarning, Operator};
use fairway_release::inclusion::{DEFAULT_PROFILE, ManifestFilter};
use fairway_release::payload::{Files, PayloadWarning};
use fairway_release::task_graph::{RolloutMode, RolloutStep};
use fairway_release::{BuiltRelease, ReleaseBuilder, ReleaseMetadata, TaskGraph};
use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};
use tar::Archive;

use crate::support::load;

/// The operator that Fairway replaces.
const REPLACED: &str = "cluster-version-operator";

/// A release of OpenShift.
struct Example {
    /// The name of its files.
    name: &'static str,
    version: &'static str,
    kubernetes: &'static str,
    /// Images of its operators that its list of images lacks.
    unlisted: &'static [&'static str],
}

const EXAMPLES: [Example; 3] = [
    Example { name: "5.0", version: "5.0.0", kubernetes: "1.35.2", unlisted: &[] },
    Example {
        name: "4.20",
        version: "4.20.0",
        kubernetes: "1.30.0",
        unlisted: &["cluster-kube-cluster-api-operator"],
    },
    Example {
        name: "4.16",
        version: "4.16.0",
        kubernetes: "1.30.0",
        unlisted: &[
            "alibaba-cloud-controller-manager",
            "alibaba-machine-controllers",
            "cluster-kube-cluster-api-operator",
            "csi-driver-shared-resource",
            "csi-driver-shared-resource-operator",
            "csi-driver-shared-resource-webhook",
            "csi-snapshot-validation-webhook",
            "k8s-prometheus-adapter",
            "libvirt-machine-controllers",
            "olm-rukpak",
            "sdn",
        ],
    },
];

/// The files of an archive by path.
fn unpacked(archive: &Path) -> Files {
    let file = File::open(archive).unwrap_or_else(|error| panic!("{}: {error}", archive.display()));
    let mut archive = Archive::new(GzDecoder::new(file));
    let mut files = Files::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            let path = entry.path().unwrap().to_str().unwrap().trim_start_matches("./").to_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

impl Example {
    fn operators(&self, directory: &Path) -> Vec<Operator> {
        let mut operators: BTreeMap<String, Operator> = BTreeMap::new();
        for (path, bytes) in unpacked(&directory.join(format!("{}-operators.tar.gz", self.name))) {
            let (image, file) = path.strip_prefix("operators/").unwrap().split_once('/').unwrap();
            let operator = operators.entry(image.to_owned()).or_insert_with(|| Operator {
                image: image.to_owned(),
                directory: image.to_owned(),
                ..Operator::default()
            });
            operator.files.insert(file.to_owned(), bytes);
        }
        operators.into_values().filter(|operator| operator.image != REPLACED).collect()
    }

    fn images(&self, directory: &Path) -> BTreeMap<String, String> {
        let list = fs::read_to_string(directory.join(format!("{}-images.txt", self.name))).unwrap();
        let listed = list.lines().map(|line| line.split_once('=').unwrap());
        let listed = listed.map(|(name, image)| (name.to_owned(), image.to_owned()));
        listed.chain(self.unlisted.iter().map(|name| ((*name).to_owned(), made_up(name)))).collect()
    }

    fn draft(&self, directory: &Path, operators: Vec<Operator>) -> ReleaseBuilder {
        let mut metadata = ReleaseMetadata::new(self.version.parse().unwrap());
        let url = "https://example/5.0.0".to_owned();
        metadata.metadata =
            BTreeMap::from([("description".to_owned(), String::new()), ("url".to_owned(), url)]);
        let created = "2026-08-22T00:00:00Z".parse().unwrap();
        let mut draft = ReleaseBuilder::new(metadata, self.images(directory), Some(created));
        draft.set_version("kubernetes", self.kubernetes);
        for operator in operators {
            draft.add_operator(&operator);
        }
        draft
    }
}

/// The releases by name, built once because loading takes seconds.
fn drafted(directory: &Path) -> &'static [(&'static str, BuiltRelease)] {
    static DRAFTED: OnceLock<Vec<(&'static str, BuiltRelease)>> = OnceLock::new();
    DRAFTED.get_or_init(|| {
        let drafted = EXAMPLES.map(|example| {
            let operators = example.operators(directory);
            let drafted = example.draft(directory, operators).finish();
            (example.name, drafted.unwrap_or_else(|error| panic!("{}: {error}", example.name)))
        });
        drafted.into()
    })
}

/// An image as in the payloads: its digest is the hash of its name.
fn made_up(name: &str) -> String {
    let mut digits = String::new();
    for byte in Sha256::digest(name) {
        write!(digits, "{byte:02x}").unwrap();
    }
    format!("registry.example/ocp/{name}@sha256:{digits}")
}

#[test]
fn finish_with_real_operators_resolves_every_placeholder_and_image() {
    let Some(directory) = environment::payloads() else { return };
    for (name, drafted) in drafted(&directory) {
        let is_expected = |warning: &BuildWarning| matches!(warning, BuildWarning::Payload(_));
        assert!(drafted.warnings.iter().all(is_expected), "{name}: {:?}", drafted.warnings);
    }
}

/// A level, and how many manifests its components have. Files without a level stand alone.
type Level = (Option<String>, BTreeMap<String, usize>);

/// Levels by the names of files alone: `0000_LEVEL_COMPONENT_REST`, in the order of the names.
fn levels<'a>(files: impl Iterator<Item = &'a str>) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for file in files {
        let parts: Vec<&str> = file.splitn(4, '_').collect();
        let (level, component) = match parts[..] {
            ["0000", level, component, _] => (Some(level.to_owned()), component),
            _ => (None, file),
        };
        match levels.last_mut() {
            Some((last, components)) if level.is_some() && *last == level => {
                *components.entry(component.to_owned()).or_default() += 1;
            }
            _ => levels.push((level, BTreeMap::from([(component.to_owned(), 1)]))),
        }
    }
    levels
}

#[test]
fn steps_of_real_payloads_are_the_levels_of_file_names() {
    let Some(directory) = environment::payloads() else { return };
    for (name, BuiltRelease { release, .. }) in drafted(&directory) {
        let filter = ManifestFilter {
            profile: Some(DEFAULT_PROFILE.to_owned()),
            ..ManifestFilter::default()
        };
        let included = filter.select(&release.manifests).included;
        let graph = TaskGraph::new(included.iter().copied(), RolloutMode::Updating);
        let found = graph.steps().into_iter().map(|RolloutStep { components }| {
            let level = components[0].level.clone();
            assert!(components.iter().all(|component| component.level == level));
            let length = components.len();
            let counts = components.into_iter().map(|it| (it.component, it.manifests));
            let counts: BTreeMap<String, usize> = counts.collect();
            assert_eq!(counts.len(), length, "a component occurs once in a step");
            (level, counts)
        });
        let files = included.iter().map(|manifest| manifest.file.as_str());
        let expected = levels(files);
        assert!(expected.len() > 10, "{name}");
        assert_eq!(found.collect::<Vec<Level>>(), expected, "{name}");
    }
}

#[test]
fn load_of_real_payloads_finds_every_manifest() {
    let Some(directory) = environment::payloads() else { return };
    for (version, all, included) in [("5.0", 1295, 1241), ("4.20", 1091, 1040), ("4.16", 992, 943)]
    {
        let files = unpacked(&directory.join(format!("{version}-payload.tar.gz")));
        let files: Files = files
            .into_iter()
            .filter_map(|(path, bytes)| Some((path.strip_prefix("payload/")?.to_owned(), bytes)))
            .collect();
        let release = load(&files).unwrap_or_else(|error| panic!("{version}: {error}"));
        let filter = ManifestFilter {
            profile: Some(DEFAULT_PROFILE.to_owned()),
            ..ManifestFilter::default()
        };
        let selected = filter.select(&release.manifests).included.len();
        assert_eq!((release.manifests.len(), selected), (all, included), "{version}");
        for warning in &release.warnings {
            println!("{version}: {warning}");
        }
        assert!(release.warnings.iter().all(PayloadWarning::is_informational), "{version}");
        let duplicates =
            release.warnings.iter().filter(|warning| warning.to_string().contains("duplicate key"));
        assert!(duplicates.count() >= 2, "{version}");
    }
}
