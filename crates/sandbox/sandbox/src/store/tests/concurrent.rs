//! Concurrent writers, watches and lists.

use std::collections::BTreeMap;

use super::*;

const WRITERS: usize = 4;
const WRITES: usize = 300;
const LAST: &str = "last";

/// Each writer changes its own objects and a shared one, and deletes some.
fn write(store: &Store, writer: usize) {
    for count in 0..WRITES {
        let own = format!("own-{writer}-{}", count % 5);
        if count % 7 == 0 && store.get(&key("n", &own)).is_some() {
            delete(store, &own);
        } else {
            put(store, &own, &count.to_string());
        }
        increment(store);
    }
}

/// Increments the shared counter. Retries after concurrent writes.
fn increment(store: &Store) {
    let shared = key("n", "shared");
    loop {
        let current = store.get(&shared).unwrap();
        let number: usize = current["metadata"]["labels"]["app"].as_str().unwrap().parse().unwrap();
        let mut object = Value::clone(&current);
        object["metadata"]["labels"]["app"] = (number + 1).to_string().into();
        match store.update(&shared, object, Some(resource_version(&current))) {
            Err(StoreError::Conflict { .. }) => {}
            result => return drop(result.unwrap()),
        }
    }
}

/// Lists in pages, then watches up to the last object. Returns its copy.
async fn follow(store: Store) -> BTreeMap<String, Arc<Value>> {
    let mut options = ListOptions { limit: Some(3), ..ListOptions::default() };
    let mut copy = BTreeMap::new();
    let revision = loop {
        let list = store.list(&configmaps(), &Selection::default(), &options).unwrap();
        copy.extend(list.items.into_iter().map(|object| (name(&object).to_owned(), object)));
        options.continue_token = list.continue_token;
        if options.continue_token.is_none() {
            break list.revision;
        }
        tokio::task::yield_now().await;
    };
    let from = WatchFrom::After(revision);
    let mut watcher = store.watch(&configmaps(), Selection::default(), from).unwrap();
    let mut seen = revision;
    while !copy.contains_key(LAST) {
        let event = watcher.next().await.expect("the watch continues");
        let (name, revision) = (name(&event.object).to_owned(), version(&event.object));
        assert!(revision > seen, "{revision} after {seen}");
        seen = revision;
        let before = match event.kind {
            EventKind::Deleted => copy.remove(&name),
            _ => copy.insert(name, event.object.clone()),
        };
        assert_eq!(before.is_none(), event.kind == EventKind::Added, "{}", format_event(&event));
    }
    copy
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_readers_see_the_same_objects() {
    let store = Store::new(2 * WRITERS * WRITES + 2);
    put(&store, "shared", "0");
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = store.clone();
            tokio::task::spawn_blocking(move || write(&store, writer))
        })
        .collect();
    let readers: Vec<_> = (0..8).map(|_| tokio::spawn(follow(store.clone()))).collect();
    for writer in writers {
        writer.await.unwrap();
    }
    put(&store, LAST, "");
    let expected =
        store.list(&configmaps(), &Selection::default(), &ListOptions::default()).unwrap();
    let shared = store.get(&key("n", "shared")).unwrap();
    assert_eq!(shared["metadata"]["labels"]["app"], (WRITERS * WRITES).to_string());
    for reader in readers {
        let copy = reader.await.unwrap();
        assert_eq!(copy.into_values().collect::<Vec<_>>(), expected.items);
    }
}
