use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::catalog::Catalog;

fn now() -> Timestamp {
    "2026-01-01T01:00:00Z".parse().unwrap()
}

fn metadata(name: &str) -> Value {
    json!({ "name": name, "creationTimestamp": "2026-01-01T00:00:00Z" })
}

/// The table as `kubectl get -o wide` would print it.
fn printed(group: &str, kind: &str, objects: &[Value]) -> String {
    let catalog = Catalog::default();
    let resource = catalog.kind(group, kind).unwrap();
    let table = Table::of(resource, objects, json!({}), IncludeObject::None, now());
    let names = table.column_definitions.iter().map(|column| column.name.clone());
    let mut lines = vec![names.collect::<Vec<_>>().join(" | ")];
    for row in table.rows {
        let cells = row.cells.iter().map(|it| it.as_str().map_or(it.to_string(), str::to_owned));
        lines.push(cells.collect::<Vec<_>>().join(" | "));
    }
    lines.join("\n")
}

#[test]
fn node_table_has_kubectl_columns() {
    let ready = |status: &str| json!([{ "type": "Ready", "status": status }]);
    let info = json!({ "kubeletVersion": "v1", "osImage": "os", "kernelVersion": "k", "containerRuntimeVersion": "r" });
    let mut labelled = metadata("full");
    labelled["labels"] = json!({
        "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/": "", "kubernetes.io/role": "master",
    });
    let addresses = json!([{ "type": "Hostname", "address": "h" }, { "type": "InternalIP", "address": "192.0.2.1" }]);
    let nodes = [
        json!({ "metadata": metadata("bare") }),
        json!({ "metadata": metadata("down"), "status": { "conditions": ready("Unknown") } }),
        json!({
            "metadata": labelled, "spec": { "unschedulable": true },
            "status": { "conditions": ready("True"), "nodeInfo": info, "addresses": addresses },
        }),
    ];
    insta::assert_snapshot!(printed("", "Node", &nodes), @r"
    Name | Status | Roles | Age | Version | Internal-IP | External-IP | OS-Image | Kernel-Version | Container-Runtime
    bare | Unknown | <none> | 60m |  | <none> | <none> | <unknown> | <unknown> | <unknown>
    down | NotReady | <none> | 60m |  | <none> | <none> | <unknown> | <unknown> | <unknown>
    full | Ready,SchedulingDisabled | master,worker | 60m | v1 | 192.0.2.1 | <none> | os | k | r
    ");
}

#[test]
fn table_of_deleting_objects_shows_terminating() {
    let mut leaving = metadata("leaving");
    leaving["deletionTimestamp"] = json!("2026-01-01T00:30:00Z");
    let running = json!({ "metadata": leaving, "status": { "phase": "Running" } });
    let lost =
        json!({ "metadata": leaving, "status": { "phase": "Running", "reason": "NodeLost" } });
    insta::assert_snapshot!(printed("", "Pod", &[running, lost]), @r"
    Name | Ready | Status | Restarts | Age | IP | Node | Nominated Node | Readiness Gates
    leaving | 0/0 | Terminating | 0 | 60m | <none> | <none> | <none> | <none>
    leaving | 0/0 | Unknown | 0 | 60m | <none> | <none> | <none> | <none>
    ");
}

#[test]
fn table_without_specific_columns_shows_age_or_creation_time() {
    let objects = [json!({ "metadata": metadata("r") }), json!({})];
    insta::assert_snapshot!(printed("rbac.authorization.k8s.io", "Role", &objects), @r"
    Name | Created At
    r | 2026-01-01T00:00:00Z
     | <unknown>
    ");
    insta::assert_snapshot!(printed("networking.k8s.io", "Ingress", &objects), @r"
    Name | Age
    r | 60m
     | <unknown>
    ");
}

#[test]
fn table_rows_have_a_cell_for_every_column() {
    let odd =
        [json!({}), json!(null), json!([1]), json!({ "metadata": 1, "spec": [], "status": "x" })];
    for resource in Catalog::default().resources() {
        let table = Table::of(resource, &odd, json!({}), IncludeObject::Metadata, now());
        for row in &table.rows {
            assert_eq!(row.cells.len(), table.column_definitions.len(), "{}", resource.kind);
        }
    }
}

#[test]
fn json_path_selects_values() {
    let object = json!({
        "a": { "b": [1, 2, 3], "c.d": "dotted" },
        "l": [{ "t": "x", "v": 1, "m": [{ "k": "p", "v": "deep" }] }, { "t": "y's", "v": 2 }],
    });
    let found: Vec<_> = [
        ".",
        "",
        ".a.b[0]",
        ".a.b[-1]",
        ".a.b[-9]",
        ".a.b[*]",
        ".a.*",
        "['a']['b'][1]",
        r".a.c\.d",
        r".a['c\.d']",
        ".a['c.d']",
        r#".l[?(@.t=="x")].v"#,
        r".l[?(@.t=='y\'s')].v",
        ".l[?(@.v!=1)].t",
        ".l[?( @.v == 2 )].t",
        ".l[?(@.m)].t",
        r#".l[?(@.m[?(@.k=="p")])].t"#,
        r#".l[?(@.t=="x")].m[?(@.k=="p")].v"#,
        ".none",
        ".a.b.none",
        ".a.b[9]",
    ]
    .into_iter()
    .map(|path| {
        let found = JsonPath::parse(path).unwrap();
        format!("{path} → {}", json!(found.find(&object)))
    })
    .collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    . → [{"a":{"b":[1,2,3],"c.d":"dotted"},"l":[{"m":[{"k":"p","v":"deep"}],"t":"x","v":1},{"t":"y's","v":2}]}]
     → [{"a":{"b":[1,2,3],"c.d":"dotted"},"l":[{"m":[{"k":"p","v":"deep"}],"t":"x","v":1},{"t":"y's","v":2}]}]
    .a.b[0] → [1]
    .a.b[-1] → [3]
    .a.b[-9] → []
    .a.b[*] → [1,2,3]
    .a.* → [[1,2,3],"dotted"]
    ['a']['b'][1] → [2]
    .a.c\.d → ["dotted"]
    .a['c\.d'] → ["dotted"]
    .a['c.d'] → []
    .l[?(@.t=="x")].v → [1]
    .l[?(@.t=='y\'s')].v → [2]
    .l[?(@.v!=1)].t → ["y's"]
    .l[?( @.v == 2 )].t → ["y's"]
    .l[?(@.m)].t → ["x"]
    .l[?(@.m[?(@.k=="p")])].t → ["x"]
    .l[?(@.t=="x")].m[?(@.k=="p")].v → ["deep"]
    .none → []
    .a.b.none → []
    .a.b[9] → []
    "#);
}

#[test]
fn json_path_parse_errors() {
    let deep = format!(".a{}", "[?(@.a".repeat(9));
    let refused: Vec<_> = [
        "a",
        ".a.",
        "..a",
        ".a[",
        ".a[]",
        ".a[x]",
        ".a[?(@.b==)]",
        ".a[?(@.b==\"x)]",
        ".a[?(b)]",
        ".a['b]",
        ".a[0",
        "{.a}",
        ".a\\",
        ".a[1:2]",
        ".a[99999999999999999999]",
        &deep,
    ]
    .into_iter()
    .map(|path| format!("{path} → {}", JsonPath::parse(path).unwrap_err()))
    .collect();
    insta::assert_snapshot!(refused.join("\n"), @r#"
    a → expected the end at "a"
    .a. → expected a name at ""
    ..a → expected a name at ".a"
    .a[ → expected an index at ""
    .a[] → expected an index at "]"
    .a[x] → expected an index at "x]"
    .a[?(@.b==)] → expected a string, a number or a boolean at ")]"
    .a[?(@.b=="x)] → expected a closing quote at "\"x)]"
    .a[?(b)] → expected @ at "b)]"
    .a['b] → expected ' at ""
    .a[0 → expected ] at ""
    {.a} → expected the end at "{.a}"
    .a\ → expected a character at ""
    .a[1:2] → expected ] at ":2]"
    .a[99999999999999999999] → expected an index at "]"
    .a[?(@.a[?(@.a[?(@.a[?(@.a[?(@.a[?(@.a[?(@.a[?(@.a[?(@.a → filters are nested more than 4 levels deep
    "#);
    assert_eq!(JsonPath::parse(&".a".repeat(600)), Err(JsonPathError::TooLong { length: 1200 }));
}

proptest! {
    #[test]
    fn json_path_never_panics(
        path in "((\\.[a-c]?|\\[|\\]|\\?\\(@|==|!=|'|\"|\\\\|\\*|-?[0-9]{0,20}|true|\\)| |\\PC)){0,20}",
    ) {
        let object = json!({ "a": { "b": ["c", { "a": 1 }] }, "b": null, "c": "" });
        if let Ok(path) = JsonPath::parse(&path) {
            path.find(&object);
        }
    }

    #[test]
    fn age_never_panics(time in "\\PC{0,30}|-?[0-9]{4,6}-01-01T00:00:00Z", seconds in any::<i64>()) {
        age(Some(&time), now());
        human_duration(seconds);
    }
}
