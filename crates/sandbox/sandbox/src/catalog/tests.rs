use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn definition(plural: &str, kind: &str, more: &Value) -> CustomResourceDefinition {
    let version = |name: &str, served: bool| json!({ "name": name, "served": served, "storage": name == "v1" });
    let mut names = json!({ "kind": kind, "plural": plural });
    names.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "metadata": { "name": format!("{plural}.x.test") },
        "spec": {
            "group": "x.test", "scope": "Namespaced", "names": names,
            "versions": [version("v1beta1", true), version("v1", true), version("v2", false)],
        },
    }))
    .unwrap()
}

fn with_gadgets() -> Catalog {
    let mut catalog = Catalog::default();
    catalog.define(&definition("gadgets", "Gadget", &json!({ "shortNames": ["gd"] }))).unwrap();
    catalog
}

#[test]
fn builtin_resources_have_unique_names() {
    let catalog = Catalog::default();
    for group in catalog.groups().into_iter().chain([""]) {
        let of_group: Vec<_> = catalog.in_version(group, "v1").collect();
        for (number, resource) in of_group.iter().enumerate() {
            for other in &of_group[..number] {
                assert_eq!(check_conflict(resource, other), Ok(()));
            }
        }
    }
}

#[test]
fn define_and_undefine_custom_resources() {
    let mut catalog = with_gadgets();
    assert_eq!(catalog.versions("x.test"), ["v1", "v1beta1"]);
    assert_eq!(catalog.kind("x.test", "Gadget").unwrap().version, "v1");
    let beta = catalog.resource("x.test", "v1beta1", "gadgets").unwrap();
    assert_eq!((beta.singular.as_str(), beta.list_kind.as_str()), ("gadget", "GadgetList"));
    assert!(catalog.resource("x.test", "v2", "gadgets").is_none());
    assert!(!catalog.undefine("gadgets"));
    assert!(catalog.undefine("gadgets.x.test"));
    assert_eq!(catalog.groups(), Catalog::default().groups());
}

#[test]
fn define_twice_replaces_resources() {
    let mut catalog = with_gadgets();
    let count = catalog.resources().count();
    catalog.define(&definition("gadgets", "Gadget", &json!({ "shortNames": ["gg"] }))).unwrap();
    assert_eq!(catalog.resources().count(), count);
    assert_eq!(catalog.kind("x.test", "Gadget").unwrap().short_names, ["gg"]);
}

#[test]
fn define_with_conflicting_names_is_refused() {
    let mut refused = Vec::new();
    for (plural, kind, more) in [
        ("others", "Gadget", json!({})),
        ("others", "Other", json!({ "shortNames": ["gd"] })),
        ("others", "Other", json!({ "singular": "gadgets" })),
        ("others", "Other", json!({ "listKind": "GadgetList" })),
        ("gadget", "Other", json!({})),
        ("others", "gadgets", json!({})),
    ] {
        let mut catalog = with_gadgets();
        let before = format!("{catalog:?}");
        let error = catalog.define(&definition(plural, kind, &more)).unwrap_err();
        assert_eq!(format!("{catalog:?}"), before);
        refused.push(error.to_string());
    }
    insta::assert_snapshot!(refused.join("\n"), @r#"
    "gadget" is already in use by gadgets in the group "x.test"
    "gd" is already in use by gadgets in the group "x.test"
    "gadgets" is already in use by gadgets in the group "x.test"
    "GadgetList" is already in use by gadgets in the group "x.test"
    "gadget" is already in use by gadgets in the group "x.test"
    "gadgets" is already in use by gadgets in the group "x.test"
    "#);
}

#[test]
fn define_of_inconsistent_crd_is_refused() {
    let mut misnamed = definition("gadgets", "Gadget", &json!({}));
    misnamed.metadata.name = Some("widgets.x.test".to_owned());
    let mut nowhere = definition("gadgets", "Gadget", &json!({}));
    nowhere.spec.scope = "Universe".to_owned();
    let errors = [misnamed, nowhere].map(|it| Catalog::default().define(&it).unwrap_err());
    insta::assert_snapshot!(errors.map(|error| error.to_string()).join("\n"), @r#"
    CRD "widgets.x.test" must be named "gadgets.x.test", without empty parts
    the scope of CRD "gadgets.x.test" must be `Namespaced` or `Cluster`, not "Universe"
    "#);
}

#[test]
fn aggregated_discovery_documents() {
    let catalog = with_gadgets();
    let groups = catalog.aggregated_groups();
    assert_eq!(groups["items"].as_array().unwrap().len(), catalog.groups().len());
    let core = catalog.aggregated_core();
    let resources = core["items"][0]["versions"][0]["resources"].as_array().unwrap();
    let accounts = resources.iter().find(|it| it["resource"] == "serviceaccounts").unwrap();
    insta::assert_snapshot!(accounts, @r#"{"resource":"serviceaccounts","responseKind":{"group":"","kind":"ServiceAccount","version":"v1"},"scope":"Namespaced","shortNames":["sa"],"singularResource":"serviceaccount","subresources":[{"responseKind":{"group":"authentication.k8s.io","kind":"TokenRequest","version":"v1"},"subresource":"token","verbs":["create"]}],"verbs":["create","delete","deletecollection","get","list","patch","update","watch"]}"#);
    let gadgets = groups["items"].as_array().unwrap().last().unwrap();
    insta::assert_snapshot!(gadgets, @r#"{"metadata":{"name":"x.test"},"versions":[{"freshness":"Current","resources":[{"resource":"gadgets","responseKind":{"group":"x.test","kind":"Gadget","version":"v1"},"scope":"Namespaced","shortNames":["gd"],"singularResource":"gadget","verbs":["create","delete","deletecollection","get","list","patch","update","watch"]}],"version":"v1"},{"freshness":"Current","resources":[{"resource":"gadgets","responseKind":{"group":"x.test","kind":"Gadget","version":"v1beta1"},"scope":"Namespaced","shortNames":["gd"],"singularResource":"gadget","verbs":["create","delete","deletecollection","get","list","patch","update","watch"]}],"version":"v1beta1"}]}"#);
}

#[test]
fn parse_by_method_path_and_query() {
    let mut catalog = with_gadgets();
    let mut cluster_wide = definition("worlds", "World", &json!({}));
    cluster_wide.spec.scope = "Cluster".to_owned();
    catalog.define(&cluster_wide).unwrap();
    let shown: Vec<_> = [
        ("GET", "/api/v1/namespaces/x/pods/y/log", ""),
        ("GET", "/api/v1/namespaces/x/pods", "limit=1&watch=true"),
        ("GET", "/api/v1/pods", "watch=0"),
        ("GET", "/api/v1/pods", "watch=False"),
        ("GET", "/api/v1/pods", "watch="),
        ("GET", "/api/v1/watch/pods", ""),
        ("GET", "/api/v1/namespaces/x", ""),
        ("PUT", "/api/v1/namespaces/x/finalize", ""),
        ("GET", "/api/v1/namespaces//pods", ""),
        ("GET", "/api/v1/namespaces/%c3%a4/pods", ""),
        ("GET", "/api/v1/namespaces/%ff/pods", ""),
        ("GET", "/api/v1/namespaces/%4", ""),
        ("GET", "/api/v1/namespaces/%zz", ""),
        ("GET", "/api/v1/namespaces/../pods", ""),
        ("POST", "/apis/x.test/v1/namespaces/x/gadgets/", ""),
        ("POST", "/apis/x.test/v1/gadgets", ""),
        ("GET", "/apis/x.test/v1/gadgets/x/status", ""),
        ("DELETE", "/apis/x.test/v1/worlds", ""),
        ("PATCH", "/apis/x.test/v1/worlds/x", ""),
        ("GET", "/apis/x.test/v1/namespaces/x/worlds", ""),
        ("GET", "/apis/x.test/v1/namespaces/x", ""),
        ("GET", "/apis/x.test", ""),
        ("GET", "/apis//v1/worlds", ""),
        ("GET", "/healthz", ""),
        ("POST", "/", ""),
        ("GET", "", ""),
        ("GET", "//api/v1/pods", ""),
        ("GET", "api/v1", ""),
    ]
    .into_iter()
    .map(|(method, path, query)| {
        let target = Target::parse(&catalog, method, path, query);
        format!("{method} {path} {query} → {}", shown(target))
    })
    .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    GET /api/v1/namespaces/x/pods/y/log  → get pods x y log
    GET /api/v1/namespaces/x/pods limit=1&watch=true → watch pods x - -
    GET /api/v1/pods watch=0 → list pods - - -
    GET /api/v1/pods watch=False → list pods - - -
    GET /api/v1/pods watch= → watch pods - - -
    GET /api/v1/watch/pods  → the server could not find the requested resource
    GET /api/v1/namespaces/x  → get namespaces - x -
    PUT /api/v1/namespaces/x/finalize  → update namespaces - x finalize
    GET /api/v1/namespaces//pods  → the server could not find the requested resource
    GET /api/v1/namespaces/%c3%a4/pods  → list pods ä - -
    GET /api/v1/namespaces/%ff/pods  → the server could not find the requested resource
    GET /api/v1/namespaces/%4  → invalid URL escape
    GET /api/v1/namespaces/%zz  → invalid URL escape
    GET /api/v1/namespaces/../pods  → Name parameter invalid: "..": may not be '..'
    POST /apis/x.test/v1/namespaces/x/gadgets/  → create gadgets x - -
    POST /apis/x.test/v1/gadgets  → the server could not find the requested resource
    GET /apis/x.test/v1/gadgets/x/status  → the server could not find the requested resource
    DELETE /apis/x.test/v1/worlds  → deletecollection worlds - - -
    PATCH /apis/x.test/v1/worlds/x  → patch worlds - x -
    GET /apis/x.test/v1/namespaces/x/worlds  → the server could not find the requested resource
    GET /apis/x.test/v1/namespaces/x  → the server could not find the requested resource
    GET /apis/x.test  → Group("x.test")
    GET /apis//v1/worlds  → the server could not find the requested resource
    GET /healthz  → Other("/healthz")
    POST /  → Other("/")
    GET   → Other("")
    GET //api/v1/pods  → Other("//api/v1/pods")
    GET api/v1  → Other("api/v1")
    "#);
    let long = format!("/api/v1/namespaces/{}", "x".repeat(5000));
    assert_eq!(Target::parse(&catalog, "GET", &long, ""), Err(PathError::NotFound));
}

fn shown(target: Result<Target, PathError>) -> String {
    match target {
        Ok(Target::Objects { resource, namespace, name, subresource, verb }) => {
            let subresource = subresource.map(Subresource::as_str);
            let parts = [namespace.as_deref(), name.as_deref(), subresource];
            let parts = parts.map(|part| part.unwrap_or("-")).join(" ");
            format!("{} {} {parts}", verb.as_str(), resource.plural)
        }
        Ok(other) => format!("{other:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn preference_orders_stable_beta_alpha_other() {
    #[rustfmt::skip]
    let sorted = [
        "v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1",
        "foo10", "v01", "v1beta", "v1gamma1",
    ];
    let mut versions = sorted;
    versions.reverse();
    versions.sort_by(|left, right| compare_versions(left, right));
    assert_eq!(versions, sorted);
}

proptest! {
    #[test]
    fn parse_of_any_path_does_not_panic(
        method in "GET|PUT|POST|DELETE|PATCH|[A-Z]{0,5}",
        path in "(/|/api/v1/|/apis/apps/v1/)?((namespaces|pods|deployments|status|%2f|%|\\.\\.|[a-z]{0,3}|\\PC)/?){0,8}",
        query in "(watch=)?\\PC{0,10}",
    ) {
        let _ = Target::parse(&Catalog::default(), &method, &path, &query);
    }
}
