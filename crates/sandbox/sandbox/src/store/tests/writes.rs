use super::*;

#[test]
fn each_write_takes_the_next_revision() {
    let store = Store::default();
    assert_eq!(store.revision(), 1);
    assert_eq!(version(&put(&store, "a", "x")), 2);
    assert_eq!(version(&put(&store, "b", "x")), 3);
    assert_eq!(version(&put(&store, "a", "y")), 4);
    let last = store.delete(&key("n", "a"), &Preconditions::default()).unwrap();
    assert_eq!(version(&last), 5);
    assert_eq!(store.get(&key("n", "a")), None);
    assert_eq!(store.revision(), 5);
}

#[test]
fn a_name_is_free_once_in_a_resource_and_namespace() {
    let store = Store::default();
    let current = put(&store, "a", "x");
    let error = StoreError::AlreadyExists { key: key("n", "a"), current };
    assert_eq!(store.create(&key("n", "a"), json!({})), Err(error));
    put_in(&store, "m", "a", "x");
    let other = Key::new(&Resource::new("", "secrets"), Some("n"), "a").unwrap();
    store.create(&other, json!({})).unwrap();
    let cluster_wide = Key::new(&configmaps(), None, "a").unwrap();
    store.create(&cluster_wide, json!({})).unwrap();
}

#[test]
fn only_the_expected_version_is_replaced() {
    let store = Store::default();
    let key = key("n", "a");
    let missing = StoreError::NotFound { key: key.clone() };
    assert_eq!(store.update(&key, json!({}), None), Err(missing));
    let current = put(&store, "a", "x");
    let expected = "1".to_owned();
    let error = StoreError::Conflict { key: key.clone(), expected, current };
    assert_eq!(store.update(&key, json!({ "data": {} }), Some("1")), Err(error));
    let updated = store.update(&key, json!({ "data": {} }), Some("2")).unwrap();
    assert_eq!(*updated, json!({ "data": {}, "metadata": { "resourceVersion": "3" } }));
}

#[test]
fn without_a_difference_nothing_is_written() {
    let store = Store::default();
    let key = key("n", "a");
    let before = put(&store, "a", "x");
    let mut watcher =
        store.watch(&configmaps(), Selection::default(), WatchFrom::After(2)).unwrap();
    let stale = with_resource_version(Value::clone(&before), "1");
    let same: [Result<_, StoreError>; 4] = [
        store.update(&key, stale.clone(), None),
        store.update(&key, stale.clone(), Some("2")),
        store.modify(&key, |_| Ok(None)),
        store.modify(&key, |_| Ok(Some(stale.clone()))),
    ];
    for result in same {
        assert!(Arc::ptr_eq(&result.unwrap(), &before));
    }
    assert_eq!(store.revision(), 2);
    assert_eq!(all_told(&mut watcher), [""; 0]);
}

#[test]
fn a_change_is_asked_for_again_when_somebody_was_faster() {
    let store = Store::default();
    put(&store, "a", "0");
    let mut seen = Vec::new();
    let change = |current: &Arc<Value>| -> Result<_, StoreError> {
        let app = current["metadata"]["labels"]["app"].clone();
        if seen.len() < 2 {
            put(&store, "a", &format!("{}", seen.len() + 1));
        }
        seen.push(app);
        let mut object = Value::clone(current);
        object["data"] = json!({});
        Ok(Some(object))
    };
    let written = store.modify(&key("n", "a"), change).unwrap();
    assert_eq!(seen, ["0", "1", "2"]);
    assert_eq!(written["metadata"]["labels"]["app"], "2");
}

#[test]
fn a_change_may_be_refused() {
    let store = Store::default();
    let refuse = |_: &Arc<Value>| Err(anyhow::anyhow!("no"));
    let missing = store.modify(&key("n", "a"), refuse).unwrap_err();
    assert_eq!(missing.to_string(), r#"configmaps "n/a" not found"#);
    put(&store, "a", "x");
    assert_eq!(store.modify(&key("n", "a"), refuse).unwrap_err().to_string(), "no");
    assert_eq!(store.revision(), 2);
}

#[test]
fn only_the_expected_object_is_deleted() {
    let store = Store::default();
    let key = key("n", "a");
    let delete = |uid: Option<&str>, version: Option<&str>| {
        let (uid, version) = (uid.map(str::to_owned), version.map(str::to_owned));
        store.delete(&key, &Preconditions { uid, resource_version: version })
    };
    assert!(matches!(delete(None, None), Err(StoreError::NotFound { .. })));
    store.create(&key, json!({ "metadata": { "uid": "u" } })).unwrap();
    assert!(matches!(delete(Some("v"), None), Err(StoreError::OtherUid { .. })));
    assert!(matches!(delete(Some("v"), Some("2")), Err(StoreError::OtherUid { .. })));
    assert!(matches!(delete(Some("u"), Some("1")), Err(StoreError::Conflict { .. })));
    assert!(delete(Some("u"), Some("2")).is_ok());
}

#[test]
fn names_that_paths_cannot_have() {
    for name in ["", ".", "..", "a/b", "a%b"] {
        assert!(Key::new(&configmaps(), Some("n"), name).is_err(), "{name}");
        assert!(Key::new(&configmaps(), Some(name), "a").is_err(), "{name}");
    }
    for name in ["a", "system:node", "...", "a b", "ü"] {
        assert!(Key::new(&configmaps(), Some("n"), name).is_ok(), "{name}");
    }
}

#[test]
fn whatever_is_written_does_not_panic() {
    let store = Store::default();
    for (index, object) in
        [json!(null), json!([]), json!("x"), json!({ "metadata": 1 })].into_iter().enumerate()
    {
        let key = key("n", &index.to_string());
        store.create(&key, object).unwrap();
        store.update(&key, json!({ "metadata": null }), None).unwrap();
        store.delete(&key, &Preconditions::default()).unwrap();
    }
    assert_eq!(store.revision(), 13);
}
