//! Rollout order of manifests.

use std::collections::BTreeMap;

use fairway_release::task_graph::{GraphExecution, RolloutMode, Task, TaskGraph};
use fairway_release::{Manifest, Release};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::{files, load};

/// Manifests in files of these names; a star makes it a Job. They keep the order of the names.
fn manifests(names: &[impl AsRef<str>]) -> Vec<Manifest> {
    let template = |api_version: &str, kind: &str| {
        let text = format!("{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: a}}}}");
        load(&files(&[("release-manifests/a.yaml", &text)])).unwrap().manifests.remove(0)
    };
    let (job, pod) = (template("batch/v1", "Job"), template("v1", "Pod"));
    let manifest = |name: &str| {
        let file = name.trim_start_matches('*');
        let mut manifest = if file == name { pod.clone() } else { job.clone() };
        file.clone_into(&mut manifest.file);
        manifest
    };
    names.iter().map(|name| manifest(name.as_ref())).collect()
}

/// The nodes with their files, dependencies and dependents.
fn drawn(names: &[&str], mode: RolloutMode) -> String {
    let graph = TaskGraph::new(&manifests(names), mode);
    let node = |(index, node): (usize, &fairway_release::task_graph::TaskNode)| {
        let files: Vec<&str> = node.tasks.iter().map(|task| task.file.as_str()).collect();
        format!("{:?} -> {index} [{}] -> {:?}", node.after, files.join(" "), node.before)
    };
    graph.nodes().iter().enumerate().map(node).collect::<Vec<_>>().join("\n")
}

#[test]
fn new_with_jobs_splits_the_list() {
    let lists: [&[&str]; 7] = [
        &[],
        &["a"],
        &["*a", "b"],
        &["a", "*b"],
        &["a", "b", "*c", "d"],
        &["a", "b", "*c", "d", "*e", "f"],
        &["*a", "b", "c", "*d"],
    ];
    insta::assert_snapshot!(lists.map(|names| drawn(names, RolloutMode::Updating)).join("\n\n"), @"
    [] -> 0 [] -> []

    [] -> 0 [a] -> []

    [] -> 0 [a] -> [1]
    [0] -> 1 [b] -> []

    [1] -> 0 [b] -> []
    [] -> 1 [a] -> [0]

    [1] -> 0 [c] -> [2]
    [] -> 1 [a b] -> [0]
    [0] -> 2 [d] -> []

    [1] -> 0 [c] -> [3]
    [] -> 1 [a b] -> [0]
    [3] -> 2 [e] -> [4]
    [0] -> 3 [d] -> [2]
    [2] -> 4 [f] -> []

    [] -> 0 [a] -> [2]
    [2] -> 1 [d] -> []
    [0] -> 2 [b c] -> [1]
    ");
}

#[test]
fn new_with_other_job_versions_does_not_split() {
    let mut manifests = manifests(&["a", "*b", "c"]);
    manifests[1].version = "v1beta1".to_owned();
    assert_eq!(TaskGraph::new(&manifests, RolloutMode::Updating).nodes().len(), 1);
}

#[test]
fn new_for_update_orders_by_level() {
    let lists: [&[&str]; 8] = [
        &["a", "b", "c"],
        &["0000_01_x-y_1", "0000_01_x-y_2"],
        &["a", "0000_01_x-y_1", "c"],
        &["0000_01_a_1", "0000_01_b_2"],
        &["0000_01_a_1", "0000_01_b_1", "0000_01_b_2", "c", "0000_01_b_2", "0000_01_b_3"],
        &[
            "0000_07_a_0",
            "0000_08_a_0",
            "0000_09_a_0",
            "0000_09_a_1",
            "0000_09_b_0",
            "0000_09_b_1",
            "0000_10_a_0",
            "0000_10_a_1",
            "0000_11_a_0",
            "0000_11_a_1",
        ],
        &["0000_01_a_0", "0000_01_b_0", "0000_02_a_0", "0000_02_b_0", "0000_2_a_0"],
        &["0000_01_a_0", "0000_01_b_0", "0000_01_a_1"],
    ];
    insta::assert_snapshot!(lists.map(|names| drawn(names, RolloutMode::Updating)).join("\n\n"), @"
    [] -> 0 [a b c] -> []

    [] -> 0 [0000_01_x-y_1 0000_01_x-y_2] -> []

    [] -> 0 [a 0000_01_x-y_1 c] -> []

    [] -> 0 [] -> [1, 2]
    [0] -> 1 [0000_01_a_1] -> []
    [0] -> 2 [0000_01_b_2] -> []

    [] -> 0 [] -> [1, 2]
    [0] -> 1 [0000_01_a_1] -> [3]
    [0] -> 2 [0000_01_b_1 0000_01_b_2] -> [3]
    [1, 2] -> 3 [c 0000_01_b_2 0000_01_b_3] -> []

    [] -> 0 [] -> [1]
    [0] -> 1 [0000_07_a_0 0000_08_a_0] -> [2, 3]
    [1] -> 2 [0000_09_a_0 0000_09_a_1] -> [4]
    [1] -> 3 [0000_09_b_0 0000_09_b_1] -> [4]
    [2, 3] -> 4 [0000_10_a_0 0000_10_a_1 0000_11_a_0 0000_11_a_1] -> []

    [] -> 0 [] -> [1, 2]
    [0] -> 1 [0000_01_a_0] -> [3]
    [0] -> 2 [0000_01_b_0] -> [3]
    [1, 2] -> 3 [] -> [4, 5]
    [3] -> 4 [0000_02_a_0] -> [6]
    [3] -> 5 [0000_02_b_0] -> [6]
    [4, 5] -> 6 [0000_2_a_0] -> []

    [] -> 0 [] -> [1, 2, 3]
    [0] -> 1 [0000_01_a_0] -> []
    [0] -> 2 [0000_01_b_0] -> []
    [0] -> 3 [0000_01_a_1] -> []
    ");
}

#[test]
fn new_with_jobs_separates_parallel_groups() {
    let lists: [&[&str]; 3] = [
        &["a", "*0000_50_a_0", "0000_50_a_1", "0000_50_a_2"],
        &["*a", "0000_50_a_0", "0000_50_b_0", "0000_50_b_1"],
        &["*a", "0000_50_a_0", "0000_50_b_0", "0000_50_b_1", "0000_50_c_0", "*b"],
    ];
    insta::assert_snapshot!(lists.map(|names| drawn(names, RolloutMode::Updating)).join("\n\n"), @"
    [1] -> 0 [0000_50_a_0] -> [2]
    [] -> 1 [a] -> [0]
    [0] -> 2 [0000_50_a_1 0000_50_a_2] -> []

    [] -> 0 [a] -> [1]
    [0] -> 1 [] -> [2, 3]
    [1] -> 2 [0000_50_a_0] -> []
    [1] -> 3 [0000_50_b_0 0000_50_b_1] -> []

    [] -> 0 [a] -> [2]
    [6] -> 1 [b] -> []
    [0] -> 2 [] -> [3, 4, 5]
    [2] -> 3 [0000_50_a_0] -> [6]
    [2] -> 4 [0000_50_b_0 0000_50_b_1] -> [6]
    [2] -> 5 [0000_50_c_0] -> [6]
    [3, 4, 5] -> 6 [] -> [1]
    ");
}

#[test]
fn new_for_installation_is_parallel() {
    let lists: [&[&str]; 6] = [
        &["a"],
        &["a", "b", "c"],
        &["0000_01_x-y_1", "0000_01_x-y_2"],
        &["a", "0000_01_x-y_1", "c"],
        &["0000_01_a_1", "0000_01_b_1", "0000_01_b_2", "c", "0000_01_b_2", "0000_01_b_3"],
        &[
            "0000_01_a_1",
            "0000_01_b_1",
            "0000_02_b_2",
            "0000_02_b_3",
            "*0000_03_c_1",
            "0000_04_c_2",
        ],
    ];
    insta::assert_snapshot!(lists.map(|names| drawn(names, RolloutMode::Initializing)).join("\n\n"), @"
    [] -> 0 [a] -> []

    [] -> 0 [] -> [1, 2, 3]
    [0] -> 1 [a] -> []
    [0] -> 2 [b] -> []
    [0] -> 3 [c] -> []

    [] -> 0 [0000_01_x-y_1 0000_01_x-y_2] -> []

    [] -> 0 [] -> [1, 2, 3]
    [0] -> 1 [a] -> []
    [0] -> 2 [0000_01_x-y_1] -> []
    [0] -> 3 [c] -> []

    [] -> 0 [] -> [1, 2, 3, 4]
    [0] -> 1 [0000_01_a_1] -> []
    [0] -> 2 [0000_01_b_1 0000_01_b_2] -> []
    [0] -> 3 [c] -> []
    [0] -> 4 [0000_01_b_2 0000_01_b_3] -> []

    [6] -> 0 [0000_03_c_1] -> [2]
    [] -> 1 [] -> [3, 4, 5]
    [0] -> 2 [0000_04_c_2] -> []
    [1] -> 3 [0000_01_a_1] -> [6]
    [1] -> 4 [0000_01_b_1] -> [6]
    [1] -> 5 [0000_02_b_2 0000_02_b_3] -> [6]
    [3, 4, 5] -> 6 [] -> [0]
    ");
}

#[test]
fn new_for_reconciliation_rotates_order() {
    let names: Vec<String> = (0..16).map(|number| format!("file{number:02}")).collect();
    let manifests = manifests(&names);
    let order = |attempt| -> Vec<usize> {
        let graph = TaskGraph::new(&manifests, RolloutMode::Reconciling { attempt });
        graph.nodes().iter().flat_map(|node| &node.tasks).map(|task| task.position).collect()
    };
    for epoch in 0..3 {
        let first = order(8 * epoch);
        for step in 1..8 {
            let mut rotated = first.clone();
            rotated.rotate_left(2 * step);
            assert_eq!(order(8 * epoch + step), rotated);
        }
        assert_ne!(order(8 * (epoch + 1)), first);
    }
}

#[test]
fn max_parallel_depends_on_mode() {
    let manifests = manifests(&["a", "b", "c"]);
    let at_once = |mode: RolloutMode| mode.max_parallel(&TaskGraph::new(&manifests, mode));
    assert_eq!(at_once(RolloutMode::Initializing), 4);
    assert_eq!(at_once(RolloutMode::Updating), 16);
    assert_eq!(at_once(RolloutMode::Reconciling { attempt: 3 }), 2);
}

fn example() -> Release {
    let object =
        |kind: &str, name: &str| format!("{{apiVersion: v1, kind: {kind}, metadata: {name}}}");
    load(&files(&[
        ("release-manifests/0000_10_network_00.yaml", &object("Namespace", "{name: network}")),
        (
            "release-manifests/0000_10_network_01.yaml",
            &object("ConfigMap", "{namespace: network, name: settings}"),
        ),
        ("release-manifests/0000_10_storage_00.yaml", &object("Namespace", "{name: storage}")),
        (
            "release-manifests/0000_20_migrate_00.yaml",
            "{apiVersion: batch/v1, kind: Job, metadata: {namespace: storage, name: migrate}}",
        ),
        (
            "release-manifests/the \"last\".yaml",
            &object("ConfigMap", "{namespace: storage, name: last}"),
        ),
    ]))
    .unwrap()
}

#[test]
fn display_and_dot_show_the_graph() {
    let graph = TaskGraph::new(&example().manifests, RolloutMode::Updating);
    insta::assert_snapshot!(graph, @r#"
    0: 20 migrate, 1 manifest; after 5
    1: nothing
    2: the "last".yaml, 1 manifest; after 0
    3: 10 network, 2 manifests; after 1
    4: 10 storage, 1 manifest; after 1
    5: nothing; after 3, 4
    "#);
    insta::assert_snapshot!(format!("{graph:#}"), @r#"
    0: 20 migrate, 1 manifest; after 5
       job "storage/migrate" (4 of 5) in 0000_20_migrate_00.yaml
    1: nothing
    2: the "last".yaml, 1 manifest; after 0
       configmap "storage/last" (5 of 5) in the "last".yaml
    3: 10 network, 2 manifests; after 1
       namespace "network" (1 of 5) in 0000_10_network_00.yaml
       configmap "network/settings" (2 of 5) in 0000_10_network_01.yaml
    4: 10 storage, 1 manifest; after 1
       namespace "storage" (3 of 5) in 0000_10_storage_00.yaml
    5: nothing; after 3, 4
    "#);
    insta::assert_snapshot!(graph.dot(), @r#"
    digraph tasks {
      node [shape=box fontname="sans-serif"];
      0 [label="20 migrate\n1 manifest" peripheries=2];
      1 [shape=point];
      2 [label="the \"last\".yaml\n1 manifest" peripheries=1];
      3 [label="10 network\n2 manifests" peripheries=1];
      4 [label="10 storage\n1 manifest" peripheries=1];
      5 [shape=point];
      0 -> 2;
      1 -> 3;
      1 -> 4;
      3 -> 5;
      4 -> 5;
      5 -> 0;
    }
    "#);
    insta::assert_snapshot!(serde_json::to_string(&graph.nodes()[0]).unwrap(), @r#"{"tasks":[{"position":3,"total":5,"file":"0000_20_migrate_00.yaml","group":"batch","kind":"Job","namespace":"storage","name":"migrate","isBarrier":true}],"after":[5],"before":[2]}"#);
}

/// Executes a graph, completing running nodes in the order of the choices, and returns the start
/// and end of each task.
fn times(graph: &TaskGraph, at_once: usize, choices: &[Index]) -> BTreeMap<usize, (usize, usize)> {
    let mut execution = GraphExecution::new(graph, at_once);
    let mut choices = choices.iter().cycle();
    let (mut now, mut running, mut times) = (0, Vec::new(), BTreeMap::new());
    while !execution.is_over() {
        while let Some(node) = execution.start() {
            now += 1;
            running.push((node, now));
        }
        assert!(running.len() <= at_once);
        let chosen = choices.next().map_or(0, |choice| choice.index(running.len()));
        let (node, began) = running.swap_remove(chosen);
        now += 1;
        for task in &graph.nodes()[node].tasks {
            assert_eq!(times.insert(task.position, (began, now)), None, "{task} is done twice");
        }
        execution.succeeded(node);
    }
    assert_eq!(execution.pending(), None);
    times
}

fn level(file: &str) -> Option<&str> {
    file.strip_prefix("0000_")?.split('_').next()
}

proptest! {
    #[test]
    fn execution_runs_every_task_once_and_in_order(
        names in proptest::collection::vec("\\*?(x|0000_0[1-3]_[abc]_[0-9])", 0..40),
        attempt in 0_usize..20,
        at_once in 1_usize..5,
        choices in proptest::collection::vec(any::<Index>(), 1..10),
    ) {
        let manifests = manifests(&names);
        for mode in [RolloutMode::Initializing, RolloutMode::Updating, RolloutMode::Reconciling { attempt }] {
            let graph = TaskGraph::new(&manifests, mode);
            for (index, node) in graph.nodes().iter().enumerate() {
                prop_assert!(node.after.iter().all(|other| graph.nodes()[*other].before.contains(&index)));
                prop_assert!(node.before.iter().all(|other| graph.nodes()[*other].after.contains(&index)));
                prop_assert!(node.tasks.is_sorted_by_key(|task| task.position));
            }
            let times = times(&graph, at_once, &choices);
            prop_assert_eq!(times.len(), names.len());
            let tasks: BTreeMap<usize, &Task> =
                graph.nodes().iter().flat_map(|node| &node.tasks).map(|task| (task.position, task)).collect();
            for (first, (_, ended)) in &times {
                for (second, (began, _)) in times.range(first + 1..) {
                    if times[first] == times[second] {
                        continue; // One node: its tasks are in order.
                    }
                    let (one, other) = (tasks[first], tasks[second]);
                    let levels = (level(&one.file), level(&other.file));
                    let same_level = levels.0.is_some() && levels.0 == levels.1;
                    let waits = one.is_barrier || other.is_barrier || (mode == RolloutMode::Updating && !same_level);
                    prop_assert!(!waits || ended < began, "{} is not done before {} begins", one, other);
                }
            }
        }
    }

    #[test]
    fn new_with_arbitrary_file_names_never_panics(names in proptest::collection::vec("\\*?(0000_)?[0-9_a-zü.-]{0,12}", 0..10)) {
        let manifests = manifests(&names);
        for mode in [RolloutMode::Initializing, RolloutMode::Updating, RolloutMode::Reconciling { attempt: 9 }] {
            let graph = TaskGraph::new(&manifests, mode);
            let _ = (graph.to_string(), graph.dot());
        }
    }
}

#[test]
fn steps_without_levels_returns_files_in_order() {
    let graph = |names: &[&str]| TaskGraph::new(&manifests(names), RolloutMode::Updating);
    assert_eq!(graph(&[]).steps(), []);
    insta::assert_snapshot!(graph(&["a", "b"]).text(), @"
    step 1
      a: 1 manifest
    step 2
      b: 1 manifest
    ");
}

#[test]
fn steps_with_level_runs_components_in_parallel_and_jobs_alone() {
    let names = [
        "0000_10_a_01",
        "0000_10_a_02",
        "0000_20_b_01",
        "0000_20_c_01",
        "0000_30_d_01",
        "0000_30_e_01",
        "*0000_30_e_02",
        "0000_30_e_03",
        "0000_30_f_01",
        "0000_40_g_01",
        "0000_50_h_01",
    ];
    let graph = TaskGraph::new(&manifests(&names), RolloutMode::Updating);
    insta::assert_snapshot!(graph.text(), @"
    step 1
      10 a: 2 manifests
    step 2
      20 b: 1 manifest
      20 c: 1 manifest
    step 3
      30 d: 1 manifest
      30 e: 1 manifest
    step 4
      30 e: 1 manifest, Job
    step 5
      30 e: 1 manifest
      30 f: 1 manifest
    step 6
      40 g: 1 manifest
    step 7
      50 h: 1 manifest
    ");
    let initializing = TaskGraph::new(&manifests(&names[..6]), RolloutMode::Initializing);
    assert_eq!(initializing.steps().len(), 1);
}

#[test]
fn svg_draws_a_box_for_each_component_and_escapes_text() {
    let long = format!("0000_50_{}_01", "a".repeat(50));
    let graph = TaskGraph::new(
        &manifests(&["0000_10_a_01", "b<\"&\u{7}>", "*c", &long]),
        RolloutMode::Updating,
    );
    insta::assert_snapshot!(graph.svg("5.1.0 <&>"), @r##"
    <svg xmlns="http://www.w3.org/2000/svg" width="847" height="144" viewBox="0 0 847 144" font-family="sans-serif" font-size="12">
    <rect width="847" height="144" fill="white"/>
    <text x="20" y="32" font-size="20">5.1.0 &lt;&amp;&gt;</text>
    <text x="20" y="54" fill="#555">The operator applies steps from left to right, and the components of a step in parallel.</text>
    <text x="20" y="78" font-weight="bold">step 1</text>
    <g><title>10 a: 1 manifest</title><rect x="20" y="90" width="128" height="26" rx="4" fill="#eef4fb" stroke="#4a78a8" stroke-width="1"/><text x="28" y="107">10 a: 1 manifest</text></g>
    <text x="176" y="78" font-weight="bold">step 2</text>
    <path d="M154 74h14m-5 -4l5 4l-5 4" fill="none" stroke="#555"/>
    <g><title>b&lt;&quot;&amp;�&gt;: 1 manifest</title><rect x="176" y="90" width="142" height="26" rx="4" fill="#eef4fb" stroke="#4a78a8" stroke-width="1"/><text x="184" y="107">b&lt;&quot;&amp;�&gt;: 1 manifest</text></g>
    <text x="346" y="78" font-weight="bold">step 3</text>
    <path d="M324 74h14m-5 -4l5 4l-5 4" fill="none" stroke="#555"/>
    <g><title>c: 1 manifest, Job</title><rect x="346" y="90" width="142" height="26" rx="4" fill="#eef4fb" stroke="#4a78a8" stroke-width="3"/><text x="354" y="107">c: 1 manifest, Job</text></g>
    <text x="516" y="78" font-weight="bold">step 4</text>
    <path d="M494 74h14m-5 -4l5 4l-5 4" fill="none" stroke="#555"/>
    <g><title>50 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: 1 manifest</title><rect x="516" y="90" width="303" height="26" rx="4" fill="#eef4fb" stroke="#4a78a8" stroke-width="1"/><text x="524" y="107">50 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…</text></g>
    </svg>
    "##);
}
