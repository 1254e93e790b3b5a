//! Lists, watches and selectors, in the store and on an API server.
//!
//! The objects are Leases, because no controller creates any in a namespace.

mod store_and_server;

use anyhow::{Result, ensure};
use fairway_sandbox::store::{ListQuery, WatchFrom};
use fairway_testkit::TestCluster;
use serde_json::json;

use store_and_server::{StoreAndServer, escaped, format_events, status_error, versions_increase};

#[rustfmt::skip] // One a line would be too many lines to compare.
const LABEL_SELECTORS: [&str; 75] = [
    "", " ", "app", "!app", "app=web", "app==web", "app = web", "app!=web", "app=", "app!=",
    "app==", "tier=", "app in (web)", "app in(web,db)", "app notin (web,db)", "app in ()",
    "app notin ()", "tier in (,)", "tier in (x,)", "app in (,db)", "app in (web,,db)", "n>5", "n<5",
    "n > 5 , n < 50", "n>5,app=web", "app>1", "app,tier", "app,!tier", "app=web,app=db",
    "example.com/x", "example.com/x=y", "in", "in=in", "in in (in)", "notin notin (notin)",
    "app\t=\r\nweb", "n>0009", "app\0", "\0app=", "app\0=web", "app=web\0", "app=web\0,tier",
    // Refused.
    ",", "app,", ",app", "app,,tier", "=", "!", "!!app", "!app=web", "app web", "app=!web",
    "app===web", "app>=1", "app in", "app in web", "app in (", "app in (web", "app in (web db)",
    "app in ((web))", "app in (web))", "(app)", "n>", "n>x", "n>-1", "n>+1", "n<1.5",
    "n>99999999999999999999", "-app", "a/b/c", "/app", "UP/x", "app=we/b", "app=ü", "a\0b",
];

#[rustfmt::skip] // One a line would be too many lines to compare.
const FIELD_SELECTORS: [&str; 29] = [
    "", ",", "metadata.name=b", "metadata.name==b", "metadata.name!=b", "metadata.name=",
    "metadata.name!=", "metadata.name=b,metadata.name=c", "metadata.name=b,metadata.name!=c",
    "metadata.name=b,", "metadata.name= b", r"metadata.name=a\,b", r"metadata.name!=a\=b",
    r"metadata.name!=\\", "metadata.namespace!=default", "metadata.namespace=default", "=", "!=",
    "==,metadata.name=b",
    // Refused.
    "metadata.name", "=b", "!=b", "metadata.name>b", "metadata.uid=b", "metadata.name =b",
    r"metadata.name=\b", r"metadata.name=b\", "metadata.name=a=b", "metadata.name===b",
];

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn selectors_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let both = StoreAndServer::new(&cluster, "selectors").await?;
    for (name, labels) in [
        ("a", json!({})),
        ("b", json!({ "app": "web" })),
        ("c", json!({ "app": "db" })),
        ("d", json!({ "app": "", "tier": "" })),
        ("e", json!({ "app": "web", "tier": "front" })),
        ("f", json!({ "app": "web", "n": "7" })),
        ("g", json!({ "n": "0010" })),
        ("h", json!({ "n": "99999999999999999999" })),
        ("i", json!({ "n": "x", "tier": "x" })),
        ("j", json!({ "example.com/x": "y" })),
        ("k", json!({ "in": "in" })),
        ("l", json!({ "notin": "notin" })),
    ] {
        both.put(name, labels).await?;
    }
    for labels in LABEL_SELECTORS {
        let theirs = both.their_names(labels, "").await?;
        assert_eq!(both.our_names(labels, ""), theirs, "label selector {labels:?}");
    }
    for fields in FIELD_SELECTORS {
        let theirs = both.their_names("", fields).await?;
        assert_eq!(both.our_names("", fields), theirs, "field selector {fields:?}");
    }
    let theirs = both.their_names("app=web", "metadata.name!=b").await?;
    assert_eq!(both.our_names("app=web", "metadata.name!=b"), theirs);
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn pages_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let both = StoreAndServer::new(&cluster, "pages").await?;
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "y"), ("e", "y")] {
        both.put(name, json!({ "app": app })).await?;
    }
    for (labels, fields, limit) in
        [("", "", 2), ("app=x", "", 1), ("app=x", "", 2), ("", "metadata.name=b", 1), ("", "", 5)]
    {
        let selection = both.selection(labels, fields).map_err(status_error)?;
        let (mut their_token, mut our_token) = (String::new(), String::new());
        loop {
            let (label_selector, field_selector) = (escaped(labels), escaped(fields));
            let query = format!(
                "limit={limit}&continue={their_token}&labelSelector={label_selector}&fieldSelector={field_selector}"
            );
            let theirs = both.their_page(&query).await?.map_err(status_error)?;
            let query = ListQuery { limit, continue_token: &our_token, ..ListQuery::default() };
            let ours = both.our_page(&selection, &query).map_err(status_error)?;
            assert_eq!(ours.0, theirs.0, "{labels} {fields} {limit}");
            (their_token, our_token) = (theirs.1, ours.1);
            if our_token.is_empty() {
                break;
            }
            // Later pages do not show it, because they have the revision of the first one.
            both.put("bb", json!({ "app": "x", "changed": our_token.len().to_string() })).await?;
            both.put("c", json!({ "app": "x", "limit": limit.to_string() })).await?;
        }
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn continue_tokens_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let both = StoreAndServer::new(&cluster, "tokens").await?;
    both.put("a", json!({})).await?;
    let selection = both.selection("", "").map_err(status_error)?;
    // Base64 of JSON like {"v":"meta.k8s.io/v1","rv":0,"start":"a"}.
    for token in [
        "garbage",
        "e30",
        "W10",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIuLi9hIn0",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6NSwic3RhcnQiOiIifQ",
        "eyJ2IjoidjIiLCJydiI6NSwic3RhcnQiOiJhIn0",
        "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYSJ9",
    ] {
        let theirs = both.their_page(&format!("continue={token}")).await?;
        let query = ListQuery { continue_token: token, ..ListQuery::default() };
        let ours = both.our_page(&selection, &query);
        assert_eq!(ours, theirs, "{token}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn resource_versions_of_lists_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let both = StoreAndServer::new(&cluster, "versions").await?;
    both.put("a", json!({})).await?;
    both.put("b", json!({})).await?;
    let (their_then, our_then) = both.now().await?;
    both.put("c", json!({})).await?;
    both.delete("a").await?;
    both.wait_for_cache().await?;
    let selection = both.selection("", "").map_err(status_error)?;
    let mut errors = 0;
    for (theirs, ours) in [("", ""), ("0", "0"), (&*their_then, &*our_then)] {
        for how in ["", "Exact", "NotOlderThan", "Bogus"] {
            for (limit, token) in [(0, ""), (1, ""), (0, "e30")] {
                let query = format!(
                    "resourceVersion={theirs}&resourceVersionMatch={how}&limit={limit}&continue={token}"
                );
                let theirs = both.their_page(&query).await?.map(|page| page.0);
                let query = ListQuery {
                    resource_version: ours,
                    resource_version_match: how,
                    continue_token: token,
                    limit,
                };
                let ours = both.our_page(&selection, &query).map(|page| page.0);
                assert_eq!(ours, theirs, "{query:?}");
                errors += usize::from(ours.is_err());
            }
        }
    }
    ensure!(errors > 0 && errors < 36, "{errors} of 36 were refused");

    let far = "resourceVersion=9000000000000000000";
    assert_eq!(both.their_page(far).await?, Err(504));
    let query = ListQuery { resource_version: "9000000000000000000", ..ListQuery::default() };
    assert_eq!(both.our_page(&selection, &query), Err(504));
    Ok(())
}

#[tokio::test]
#[ignore = "needs a cluster: cargo xtask test"]
async fn watches_match_api_server() -> Result<()> {
    let cluster = TestCluster::shared().await?;
    let both = StoreAndServer::new(&cluster, "watches").await?;
    both.put("before", json!({ "app": "x" })).await?;
    let (their_then, our_then) = both.now().await?;
    both.put("a", json!({ "app": "x" })).await?;
    both.put("a", json!({ "app": "x" })).await?;
    both.put("b", json!({ "app": "y" })).await?;
    both.put("a", json!({ "app": "y" })).await?;
    both.put("b", json!({ "app": "x" })).await?;
    both.put("b", json!({ "app": "x", "tier": "front" })).await?;
    both.delete("before").await?;
    both.delete("a").await?;
    both.put("a", json!({ "app": "x" })).await?;
    both.delete("b").await?;
    both.wait_for_cache().await?;

    let mut comparisons = Vec::new();
    for (labels, fields) in [
        ("", ""),
        ("app=x", ""),
        ("app=y", ""),
        ("!tier", ""),
        ("", "metadata.name=a"),
        ("", "metadata.name!=a"),
        ("app", "metadata.name=b"),
        ("none", ""),
    ] {
        let selectors =
            format!("labelSelector={}&fieldSelector={}", escaped(labels), escaped(fields));
        let theirs = both.their_events(&format!("resourceVersion={their_then}&{selectors}"));
        let selection = both.selection(labels, fields).map_err(status_error)?;
        let ours = both.our_events(selection, WatchFrom::parse(&our_then, "")?)?;
        comparisons.push((format!("{labels} {fields}"), ours, theirs));
    }
    for (what, ours, theirs) in comparisons {
        let theirs = theirs.await??;
        ensure!(versions_increase(&ours), "{what}: {ours:?}");
        ensure!(versions_increase(&theirs), "{what}: {theirs:?}");
        assert_eq!(format_events(&ours), format_events(&theirs), "{what}");
    }

    for version in ["", "0"] {
        let mut theirs =
            format_events(&both.their_events(&format!("resourceVersion={version}")).await??);
        theirs.sort_unstable();
        let selection = both.selection("", "").map_err(status_error)?;
        let ours = both.our_events(selection, WatchFrom::parse(version, "")?)?;
        assert_eq!(format_events(&ours), theirs, "from {version:?}");
    }
    Ok(())
}
