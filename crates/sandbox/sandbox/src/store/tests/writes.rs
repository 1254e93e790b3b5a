use super::*;

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
