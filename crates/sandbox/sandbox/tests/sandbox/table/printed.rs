//! The compared tables, as text.

use fairway_sandbox::catalog::{Catalog, Resource};
use fairway_sandbox::table::{IncludeObject, Table};
use serde_json::{Value, json};

use super::{now, objects};

fn printed(resource: &Resource, objects: &[&Value]) -> String {
    let objects = objects.iter().copied();
    let table = Table::of(resource, objects, json!({}), IncludeObject::None, now());
    let rows = table.rows.iter().map(|row| {
        let cells = row.cells.iter().map(|it| it.as_str().map_or(it.to_string(), str::to_owned));
        cells.collect::<Vec<_>>().join(" | ")
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// Tables of all built-in resources with objects.
fn built_in_printed() -> String {
    let catalog = Catalog::default();
    let mut texts = Vec::new();
    let all: Vec<_> =
        objects::namespaced("ns").into_iter().chain(objects::cluster_wide("cw")).collect();
    for resource in catalog.resources() {
        let prefix = match &*resource.group {
            "" => "/api/".to_owned(),
            group => format!("/apis/{group}/"),
        };
        let is_of = |path: &str| {
            path.starts_with(&prefix) && path.rsplit('/').next() == Some(&resource.plural)
        };
        let objects: Vec<_> =
            all.iter().filter(|(path, _)| is_of(path)).map(|(_, object)| object).collect();
        if !objects.is_empty() {
            texts.push(format!("{}:\n{}", resource.plural, printed(resource, &objects)));
        }
    }
    texts.join("\n")
}

#[test]
fn tables_of_builtin_kinds() {
    insta::assert_snapshot!(built_in_printed(), @r"
    configmaps:
    empty | 0 | <unknown>
    full | 3 | <unknown>
    events:
    970y | Normal | Done | pod/p | spec.x | c, h | it is done | 970y | 3 | old
    <unknown> |  |  | pod/p | spec.x |  |  | <unknown> | 1 | bare
    970y |  |  | pod/p | spec.x |  |  | <unknown> | 6 | counted-twice
    <unknown> |  |  | node |  |  |  | <unknown> | 1 | anonymous
    pods:
    pending | 0/2 |  | 0 | <unknown> | <none> | <none> | <none> | 0/2
    evicted | 0/2 | Evicted | 0 | <unknown> | <none> | <none> | <none> | 0/2
    running | 2/2 | Running | 5 | <unknown> | 192.0.2.7 | <none> | <none> | 1/2
    creating | 0/2 | ContainerCreating | 5 | <unknown> | <none> | <none> | <none> | 0/2
    crashing | 1/2 | CrashLoopBackOff | 5 | <unknown> | <none> | <none> | <none> | 0/2
    succeeded | 0/2 | Completed | 5 | <unknown> | <none> | <none> | <none> | 0/2
    failed | 0/2 | ExitCode:1 | 5 | <unknown> | <none> | <none> | <none> | 0/2
    half | 1/2 | NotReady | 5 | <unknown> | <none> | <none> | <none> | 0/2
    half-ready | 1/2 | Running | 5 | <unknown> | <none> | <none> | <none> | 1/2
    init | 0/2 | Init:1/2 | 5 | <unknown> | <none> | <none> | <none> | 0/2
    init-waits | 0/2 | Init:0/2 | 2 | <unknown> | <none> | <none> | <none> | 0/2
    init-pulls | 0/2 | Init:ImagePullBackOff | 2 | <unknown> | <none> | <none> | <none> | 0/2
    init-failed | 0/2 | Init:ExitCode:3 | 2 | <unknown> | <none> | <none> | <none> | 0/2
    init-signal | 0/2 | Init:Signal:15 | 2 | <unknown> | <none> | <none> | <none> | 0/2
    init-error | 0/2 | Init:Error | 2 | <unknown> | <none> | <none> | <none> | 0/2
    init-done | 2/2 | Running | 5 | <unknown> | <none> | <none> | <none> | 0/2
    secrets:
    s | fairway.test/x | 0 | <unknown>
    services:
    plain |  | <none> | <none> | 80/TCP,53/UDP | <unknown> | a=b,b=c
    headless |  | None | <none> | <none> | <unknown> | <none>
    node | NodePort | <none> | <none> | 80/TCP,53/UDP | <unknown> | <none>
    name | ExternalName | <none> | fairway.test | <none> | <unknown> | <none>
    external |  | <none> | 192.0.2.1,192.0.2.2 | 80/TCP,53/UDP | <unknown> | <none>
    pending | LoadBalancer | <none> | <pending> | 80/TCP | <unknown> | <none>
    balanced | LoadBalancer | <none> | 192.0.2.9,a.fairway.test,192.0.2.3 | 80/TCP | <unknown> | <none>
    mutatingwebhookconfigurations:
    cw | 1 | <unknown>
    validatingwebhookconfigurations:
    cw | 1 | <unknown>
    daemonsets:
    d | 0 | 0 | 0 | 0 | 0 | no=where | <unknown> | x,y | i:x,i:y | a,b=c,c in (y,z),!d,e notin (x)
    deployments:
    d | 0/0 | 0 | 0 | <unknown> | x,y | i:x,i:y | a,b=c,c in (y,z),!d,e notin (x)
    replicasets:
    r | 0 | 0 | 0 | <unknown> | x,y | i:x,i:y | a,b=c,c in (y,z),!d,e notin (x)
    jobs:
    none | 0/1 |  | <unknown> | x | i | <none>
    counted | 3/3 | 2m5s | <unknown> | x | i | <none>
    parallel | 0/1 of 2 | 970y | <unknown> | x | i | <none>
    leases:
    free |  | <unknown>
    held | me | <unknown>
    events:
    970y | Warning | Bad | pod/p |  | fairway.test/c, i | it is bad | 970y | 1 | new
    970y | Warning | Bad | pod/p |  | fairway.test/c, i | it is bad | 970y | 6 | series
    rolebindings:
    b | Role/r | <unknown> | ann, bob | all | ns/robot
    roles:
    r | <unknown>
    storageclasses:
    cw (default) | fairway.test/none | Delete | Immediate | true | <unknown>
    ");
}
