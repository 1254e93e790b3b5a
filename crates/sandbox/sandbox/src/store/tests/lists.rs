use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;

use super::*;

fn names(list: &List) -> Vec<&str> {
    list.items.iter().map(|object| name(object)).collect()
}

fn query(resource_version: &str, resource_version_match: &str, limit: i64) -> ListOptions {
    let query =
        ListQuery { resource_version, resource_version_match, limit, ..ListQuery::default() };
    ListOptions::parse(&query).unwrap()
}

fn continued(token: &str, limit: i64) -> ListOptions {
    let query = ListQuery { continue_token: token, limit, ..ListQuery::default() };
    ListOptions::parse(&query).unwrap()
}

fn list(store: &Store, options: &ListOptions) -> Result<List, ReadError> {
    store.list(&configmaps(), &Selection::default(), options)
}

/// `a` to `e` in namespace `n`, at revisions 2 to 6.
fn five() -> Store {
    let store = Store::default();
    for (name, app) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "y"), ("e", "y")] {
        put(&store, name, app);
    }
    store
}

#[test]
fn list_by_name_has_one_page() {
    let store = five();
    let of = |selection| store.list(&configmaps(), &selection, &query("", "", 1)).unwrap();
    let one = of(named(Some("n"), "b"));
    assert_eq!((names(&one), &one.continue_token), (vec!["b"], &None));
    let anywhere = of(named(None, "b"));
    assert_eq!((names(&anywhere), anywhere.continue_token.is_some()), (vec!["b"], true));
    let missing = of(named(Some("n"), "z"));
    assert_eq!((names(&missing), &missing.continue_token), (vec![], &None));
}

#[test]
fn expired_page_continues_with_current_objects() {
    let store = five();
    let token = list(&store, &query("", "", 2)).unwrap().continue_token.unwrap();
    put(&store, "bb", "x");
    store.compact_all();
    let Err(ReadError::ContinueExpired { token }) = list(&store, &continued(&token, 2)) else {
        panic!("it has not expired");
    };
    let second = list(&store, &continued(&token, 2)).unwrap();
    assert_eq!((names(&second), second.revision), (vec!["bb", "c"], 7));
}

#[test]
fn list_by_resource_version_and_match() {
    let store = five();
    store.compact(4);
    let of = |options: ListOptions| {
        list(&store, &options).map(|list| (names(&list).concat(), list.revision))
    };
    let all = Ok(("abcde".to_owned(), 6));
    let expired = |requested| Err(ReadError::ListExpired { requested, oldest: 4 });
    let too_large = Err(ReadError::TooLarge { requested: 7, current: 6 });
    assert_eq!(of(query("", "", 0)), all);
    assert_eq!(of(query("0", "", 0)), all);
    assert_eq!(of(query("0", "", 2)), all, "the watch cache ignores limits");
    assert_eq!(of(query("0", "NotOlderThan", 0)), all);
    assert_eq!(of(query("3", "NotOlderThan", 0)), all);
    assert_eq!(of(query("6", "NotOlderThan", 0)), all);
    assert_eq!(of(query("7", "NotOlderThan", 0)), too_large);
    assert_eq!(of(query("3", "", 0)), all);
    assert_eq!(of(query("3", "", 1)), expired(3));
    assert_eq!(of(query("4", "", 1)), Ok(("a".to_owned(), 4)));
    assert_eq!(of(query("3", "Exact", 0)), expired(3));
    assert_eq!(of(query("4", "Exact", 0)), Ok(("abc".to_owned(), 4)));
    assert_eq!(of(query("6", "Exact", 0)), all);
    assert_eq!(of(query("7", "Exact", 0)), too_large);
    assert_eq!(of(query("7", "", 0)), too_large);
}

#[test]
fn history_evicts_oldest_changes() {
    let store = Store::new(2);
    for name in ["a", "b", "c", "d"] {
        put(&store, name, "x");
    }
    let expired = Err(ReadError::ListExpired { requested: 2, oldest: 3 });
    assert_eq!(list(&store, &query("2", "Exact", 0)), expired);
    assert_eq!(names(&list(&store, &query("3", "Exact", 0)).unwrap()), ["a", "b"]);
}

#[test]
fn continue_token_errors() {
    let store = five();
    let encode = |json: &str| URL_SAFE_NO_PAD.encode(json);
    let of = |rv: &str, start: &str| {
        encode(&format!(r#"{{"v":"meta.k8s.io/v1","rv":{rv},"start":"{start}"}}"#))
    };
    let tokens = [
        "garbage".to_owned(),
        " ".to_owned(),
        "=".to_owned(),
        "a".repeat(100_000),
        encode("[]"),
        encode("{}"),
        encode(r#"{"v":"v2","rv":5,"start":"a"}"#),
        of("0", "a"),
        of("-2", "a"),
        of("7", "a"),
        of("99999999999999999999", "a"),
        of("5.5", "a"),
        of("5", ""),
        of("5", "../secrets/a"),
        of("5", "n//a"),
        of("5", "/n"),
        of("5", "n/"),
    ];
    let errors = tokens.iter().map(|token| {
        let error = list(&store, &continued(token, 0)).expect_err(token);
        assert!(matches!(error, ReadError::InvalidContinue { .. }), "{error}");
        error.to_string()
    });
    insta::assert_snapshot!(errors.collect::<Vec<_>>().join("\n"));
}

#[test]
fn continue_token_stays_in_namespace() {
    let store = five();
    put_in(&store, "o", "secret", "x");
    let token = URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":6,"start":"o/a"}"#);
    let options = continued(&token, 0);
    let list = store.list(&configmaps(), &Selection::in_namespace("n"), &options).unwrap();
    assert_eq!(names(&list), [""; 0]);
}

proptest! {
    #[test]
    fn any_continue_token_does_not_panic(
        text in "\\PC{0,40}",
        v in "(meta.k8s.io/v1|\\PC{0,9})",
        rv in any::<i64>(),
        start in "[a-e./\0]{0,9}",
    ) {
        let store = five();
        let _ = list(&store, &continued(&text, 1));
        let json = json!({ "v": v, "rv": rv, "start": start }).to_string();
        let _ = list(&store, &continued(&URL_SAFE_NO_PAD.encode(&json), 1));
        let small = json!({ "v": "meta.k8s.io/v1", "rv": rv.rem_euclid(9) - 1, "start": start });
        let _ = list(&store, &continued(&URL_SAFE_NO_PAD.encode(small.to_string()), 1));
    }
}
