use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;

fn watch(store: &Store, selection: Selection, from: WatchFrom) -> Watcher {
    store.watch(&configmaps(), selection, from).unwrap()
}

fn everything(store: &Store) -> Watcher {
    watch(store, Selection::default(), WatchFrom::Everything)
}

#[test]
fn watch_of_expired_revision_is_refused() {
    let store = Store::new(2);
    for name in ["a", "b", "c", "d"] {
        put(&store, name, "x");
    }
    let watch = |after| store.watch(&configmaps(), Selection::default(), WatchFrom::After(after));
    let error = watch(2).err();
    assert_eq!(error, Some(ReadError::WatchExpired { requested: 2, oldest: 3 }));
    assert_eq!(drain_events(&mut watch(3).unwrap()), ["ADDED c=x@4", "ADDED d=x@5"]);
    store.compact(4);
    assert!(watch(3).is_err());
    assert_eq!(drain_events(&mut watch(4).unwrap()), ["ADDED d=x@5"]);
    store.compact_all();
    assert!(watch(4).is_err());
    assert_eq!(drain_events(&mut watch(5).unwrap()), [""; 0]);
    assert_eq!(drain_events(&mut everything(&store)).len(), 4);
}

#[test]
fn compaction_applies_to_all_resources() {
    let store = Store::default();
    put(&store, "a", "x");
    store.compact_all();
    let pods = ResourceKey::new("", "pods");
    let error = store.watch(&pods, Selection::default(), WatchFrom::After(1)).err();
    assert_eq!(error, Some(ReadError::WatchExpired { requested: 1, oldest: 2 }));
}

#[test]
fn watch_of_future_revision_waits() {
    let store = Store::default();
    let mut watcher = watch(&store, Selection::default(), WatchFrom::After(3));
    assert_eq!(watcher.bookmark(), Some(3));
    for name in ["a", "b", "c"] {
        put(&store, name, "x");
    }
    assert_eq!(drain_events(&mut watcher), ["ADDED c=x@4"]);
}

#[tokio::test]
async fn slow_watch_ends_as_too_slow() {
    let store = Store::new(2);
    let (mut slow, mut quick) = (everything(&store), everything(&store));
    for name in ["a", "b", "c"] {
        put(&store, name, "x");
        assert!(quick.next().await.is_some());
    }
    assert_eq!(slow.next().await, None);
    assert_eq!(slow.end(), Some(WatchEnd::TooSlow));
    assert_eq!(slow.bookmark(), Some(1), "a client can resume there");
    assert_eq!(slow.next().await, None);
    assert_eq!(quick.end(), None);
}

#[tokio::test]
async fn compaction_ends_watches_with_unread_changes() {
    let store = Store::default();
    let (mut slow, mut quick) = (everything(&store), everything(&store));
    put(&store, "a", "x");
    quick.next().await.unwrap();
    store.compact_all();
    put(&store, "b", "x");
    assert_eq!(slow.next().await, None);
    assert_eq!(slow.end(), Some(WatchEnd::Compacted));
    assert_eq!(quick.next().await.as_ref().map(format_event).unwrap(), "ADDED b=x@3");
}

#[tokio::test]
async fn watch_ends_with_store() {
    let store = Store::default();
    put(&store, "a", "x");
    let mut watcher = everything(&store);
    let waiting = tokio::spawn(async move {
        while watcher.next().await.is_some() {}
        watcher.end()
    });
    tokio::task::yield_now().await;
    drop(store);
    assert_eq!(waiting.await.unwrap(), Some(WatchEnd::Closed));
}

#[test]
fn watch_next_is_cancel_safe() {
    let store = Store::default();
    let mut watcher = everything(&store);
    let mut context = Context::from_waker(Waker::noop());
    for name in ["a", "b", "c"] {
        assert!(pin!(watcher.next()).poll(&mut context).is_pending());
        put(&store, name, "x");
        let Poll::Ready(Some(event)) = pin!(watcher.next()).poll(&mut context) else {
            panic!("{name} was lost");
        };
        assert_eq!(super::name(&event.object), name);
    }
}

#[test]
fn bookmark_covers_all_returned_events() {
    let store = Store::default();
    put(&store, "a", "x");
    let mut watcher = watch(&store, labelled("app=x"), WatchFrom::Everything);
    assert_eq!(watcher.bookmark(), None, "initial objects are pending");
    watcher.try_next().unwrap();
    assert_eq!(watcher.bookmark(), Some(2));
    put(&store, "b", "y");
    put(&store, "c", "x");
    put(&store, "d", "y");
    assert_eq!(watcher.bookmark(), Some(3), "unselected changes are skipped");
    watcher.try_next().unwrap();
    assert_eq!(watcher.bookmark(), Some(5));
    store
        .create(&Key::new(&ResourceKey::new("", "secrets"), None, "a").unwrap(), json!({}))
        .unwrap();
    assert_eq!(watcher.bookmark(), Some(6), "other resources count as well");
}

#[tokio::test]
async fn watch_wakes_on_every_write() {
    let store = Store::default();
    let mut watcher = everything(&store);
    for name in ["a", "b", "c"] {
        let waiting = tokio::spawn(async move { (watcher.next().await, watcher) });
        tokio::task::yield_now().await;
        put(&store, name, "x");
        let event;
        (event, watcher) = waiting.await.unwrap();
        assert_eq!(super::name(&event.unwrap().object), name);
    }
}
