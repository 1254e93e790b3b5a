use super::*;

#[test]
fn write_takes_next_revision() {
    let store = Store::default();
    assert_eq!(store.revision(), 1);
    assert_eq!(version(&put(&store, "a", "x")), 2);
    assert_eq!(version(&put(&store, "b", "x")), 3);
    assert_eq!(version(&put(&store, "a", "y")), 4);
    let last = store.delete(&key("n", "a"), None).unwrap();
    assert_eq!(version(&last), 5);
    assert_eq!(store.get(&key("n", "a")), None);
    assert_eq!(store.revision(), 5);
}

#[test]
fn name_is_unique_per_resource_and_namespace() {
    let store = Store::default();
    let current = put(&store, "a", "x");
    let error = StoreError::AlreadyExists { key: key("n", "a"), current };
    assert_eq!(store.create(&key("n", "a"), json!({})), Err(error));
    put_in(&store, "m", "a", "x");
    let other = Key::new(&ResourceKey::new("", "secrets"), Some("n"), "a").unwrap();
    store.create(&other, json!({})).unwrap();
    let cluster_wide = Key::new(&configmaps(), None, "a").unwrap();
    store.create(&cluster_wide, json!({})).unwrap();
}

#[test]
fn update_requires_expected_version() {
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
fn update_without_change_is_not_written() {
    let store = Store::default();
    let key = key("n", "a");
    let before = put(&store, "a", "x");
    let mut watcher =
        store.watch(&configmaps(), Selection::default(), WatchFrom::After(2)).unwrap();
    let stale = with_resource_version(Value::clone(&before), "1");
    for expected in [None, Some("2")] {
        let same = store.update(&key, stale.clone(), expected).unwrap();
        assert!(Arc::ptr_eq(&same, &before));
    }
    assert_eq!(store.revision(), 2);
    assert_eq!(drain_events(&mut watcher), [""; 0]);
}

#[test]
fn delete_requires_expected_version() {
    let store = Store::default();
    let key = key("n", "a");
    assert!(matches!(store.delete(&key, None), Err(StoreError::NotFound { .. })));
    put(&store, "a", "x");
    assert!(matches!(store.delete(&key, Some("1")), Err(StoreError::Conflict { .. })));
    assert!(store.delete(&key, Some("2")).is_ok());
}

#[test]
fn key_refuses_invalid_path_segments() {
    for name in ["", ".", "..", "a/b", "a%b"] {
        assert!(Key::new(&configmaps(), Some("n"), name).is_err(), "{name}");
        assert!(Key::new(&configmaps(), Some(name), "a").is_err(), "{name}");
    }
    for name in ["a", "system:node", "...", "a b", "ü"] {
        assert!(Key::new(&configmaps(), Some("n"), name).is_ok(), "{name}");
    }
}

#[test]
fn any_value_can_be_written() {
    let store = Store::default();
    for (index, object) in
        [json!(null), json!([]), json!("x"), json!({ "metadata": 1 })].into_iter().enumerate()
    {
        let key = key("n", &index.to_string());
        store.create(&key, object).unwrap();
        store.update(&key, json!({ "metadata": null }), None).unwrap();
        store.delete(&key, None).unwrap();
    }
    assert_eq!(store.revision(), 13);
}
