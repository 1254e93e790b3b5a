//! Random operations, compared with a model that keeps every state.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Objects by path, at one revision.
type State = BTreeMap<String, Value>;

#[derive(Clone, Debug)]
enum Step {
    Put { namespace: usize, name: usize, app: usize },
    Delete { namespace: usize, name: usize },
    Watch { selection: usize, ago: u64 },
    WatchEverything { selection: usize },
    ListThenWatch { selection: usize, limit: usize },
    Read { watch: usize, events: usize },
    Page,
    Compact { ago: u64 },
}

const NAMESPACES: [&str; 2] = ["a", "a-b"];
const NAMES: [&str; 3] = ["x", "y", "z"];
const APPS: [&str; 3] = ["1", "2", "3"];

fn step() -> impl Strategy<Value = Step> {
    let put = (0..2_usize, 0..3_usize, 0..3_usize);
    prop_oneof![
        6 => put.prop_map(|(namespace, name, app)| Step::Put { namespace, name, app }),
        3 => (0..2_usize, 0..3_usize).prop_map(|(namespace, name)| Step::Delete { namespace, name }),
        2 => (0..4_usize, 0..9_u64).prop_map(|(selection, ago)| Step::Watch { selection, ago }),
        1 => (0..4_usize).prop_map(|selection| Step::WatchEverything { selection }),
        2 => (0..4_usize, 1..3_usize)
            .prop_map(|(selection, limit)| Step::ListThenWatch { selection, limit }),
        3 => (0..9_usize, 0..4_usize).prop_map(|(watch, events)| Step::Read { watch, events }),
        3 => Just(Step::Page),
        1 => (0..9_u64).prop_map(|ago| Step::Compact { ago }),
    ]
}

fn selection(index: usize) -> Selection {
    match index {
        0 => Selection::default(),
        1 => Selection::in_namespace("a"),
        2 => labelled("app in (1,2)"),
        _ => Selection { namespace: Some("a-b".to_owned()), ..labelled("app!=3") },
    }
}

/// A client that maintains a copy by watching.
struct Client {
    watcher: Watcher,
    selection: Selection,
    copy: State,
    seen: u64,
}

/// A client that lists in pages, then watches.
struct Pager {
    selection: Selection,
    limit: usize,
    token: String,
    items: Vec<Arc<Value>>,
    revision: u64,
}

struct World {
    store: Store,
    states: Vec<State>,
    oldest: u64,
    clients: Vec<Client>,
    pagers: Vec<Pager>,
}

fn path(object: &Value) -> String {
    format!("{}/{}", object["metadata"]["namespace"].as_str().unwrap(), name(object))
}

fn by_path(objects: impl IntoIterator<Item = Arc<Value>>) -> State {
    objects.into_iter().map(|object| (path(&object), Value::clone(&object))).collect()
}

fn selected(state: &State, selection: &Selection) -> State {
    let prefix = selection.prefix();
    let selected =
        |path: &str, object: &Value| path.starts_with(&prefix) && selection.matches(object);
    let kept = state.iter().filter(|(path, object)| selected(path, object));
    kept.map(|(path, object)| (path.clone(), object.clone())).collect()
}

impl Client {
    fn new(
        store: &Store,
        selection: Selection,
        from: WatchFrom,
        copy: State,
    ) -> Result<Self, ReadError> {
        let watcher = store.watch(&configmaps(), selection.clone(), from)?;
        let seen = match from {
            WatchFrom::After(revision) => revision,
            WatchFrom::Everything => store.revision(),
        };
        Ok(Self { watcher, selection, copy, seen })
    }

    /// Checks that an event follows from the copy.
    fn apply(&mut self, event: &WatchEvent, from_the_beginning: bool) {
        let revision = version(&event.object);
        if !from_the_beginning {
            assert!(revision > self.seen, "{} after {}", format_event(event), self.seen);
            self.seen = revision;
        }
        let path = path(&event.object);
        let before = match event.kind {
            EventKind::Deleted => self.copy.remove(&path),
            _ => self.copy.insert(path, Value::clone(&event.object)),
        };
        assert_eq!(before.is_none(), event.kind == EventKind::Added, "{}", format_event(event));
    }

    fn read(&mut self, most: usize) {
        for _ in 0..most {
            let Some(event) = self.watcher.try_next() else { break };
            self.apply(&event, false);
        }
    }
}

impl World {
    fn new(history: usize) -> Self {
        let states = vec![State::new(), State::new()];
        let store = Store::new(history);
        Self { store, states, oldest: 1, clients: vec![], pagers: vec![] }
    }

    fn remember(&mut self, path: String, object: Option<Arc<Value>>) {
        let mut state = self.states.last().unwrap().clone();
        match object {
            Some(object) => state.insert(path, Value::clone(&object)),
            None => state.remove(&path),
        };
        if self.store.revision() == self.states.len() as u64 {
            self.states.push(state);
        } else {
            assert_eq!(Some(&state), self.states.last(), "a change without a revision");
        }
        assert_eq!(self.store.revision() + 1, self.states.len() as u64);
    }

    fn at(&self, revision: u64) -> &State {
        &self.states[usize::try_from(revision).unwrap()]
    }

    fn take(&mut self, step: &Step) {
        let now = self.store.revision();
        match *step {
            Step::Put { namespace, name, app } => {
                let (namespace, name) = (NAMESPACES[namespace], NAMES[name]);
                let object = put_in(&self.store, namespace, name, APPS[app]);
                self.remember(format!("{namespace}/{name}"), Some(object));
            }
            Step::Delete { namespace, name } => {
                let key = key(NAMESPACES[namespace], NAMES[name]);
                if self.store.delete(&key, None).is_ok() {
                    self.remember(key.path(), None);
                }
            }
            Step::Watch { selection: index, ago } => {
                self.watch(index, now.saturating_sub(ago).max(1));
            }
            Step::WatchEverything { selection: index } => self.watch_everything(index),
            Step::ListThenWatch { selection: index, limit } => self.begin_list(index, limit),
            Step::Read { watch, events } => {
                if let Some(client) = self.clients.get_mut(watch) {
                    client.read(events);
                }
            }
            Step::Page => self.page(),
            Step::Compact { ago } => {
                let revision = now.saturating_sub(ago);
                self.oldest = self.oldest.max(revision);
                self.store.compact(revision);
            }
        }
    }

    fn watch(&mut self, index: usize, revision: u64) {
        let selection = selection(index);
        let copy = selected(self.at(revision), &selection);
        match Client::new(&self.store, selection, WatchFrom::After(revision), copy) {
            Ok(client) => self.clients.push(client),
            Err(ReadError::WatchExpired { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn watch_everything(&mut self, index: usize) {
        let (selection, now) = (selection(index), self.store.revision());
        let expected = selected(self.at(now), &selection);
        let client = Client::new(&self.store, selection, WatchFrom::Everything, State::new());
        let mut client = client.unwrap();
        for _ in 0..expected.len() {
            let event = client.watcher.try_next().unwrap();
            client.apply(&event, true);
        }
        assert_eq!(client.copy, expected);
        self.clients.push(client);
    }

    fn begin_list(&mut self, index: usize, limit: usize) {
        let selection = selection(index);
        let pager = Pager { selection, limit, token: String::new(), items: vec![], revision: 0 };
        self.pagers.push(pager);
        self.page();
    }

    /// Reads one more page. After the last one, watches.
    fn page(&mut self) {
        let Some(mut pager) = self.pagers.pop() else { return };
        let token = Some(pager.token.clone()).filter(|token| !token.is_empty());
        let first = token.is_none();
        let options = ListOptions {
            at: ListRevision::Newest,
            limit: Some(pager.limit),
            continue_token: token,
        };
        let list = match self.store.list(&configmaps(), &pager.selection, &options) {
            Err(ReadError::ContinueExpired { .. }) => return,
            list => list.unwrap(),
        };
        assert!(first || pager.revision == list.revision, "the list changed its time");
        assert!(list.items.len() <= pager.limit);
        pager.revision = list.revision;
        pager.items.extend(list.items);
        match list.continue_token {
            Some(token) => self.pagers.insert(0, Pager { token, ..pager }),
            None => self.end_list(pager),
        }
    }

    fn end_list(&mut self, pager: Pager) {
        let Pager { selection, items, revision, .. } = pager;
        let copy = by_path(items.iter().cloned());
        assert_eq!(copy.len(), items.len(), "listed twice");
        assert_eq!(copy, selected(self.at(revision), &selection));
        let from = WatchFrom::After(revision);
        if let Ok(client) = Client::new(&self.store, selection, from, copy) {
            self.clients.push(client);
        }
    }

    /// All clients that are still connected have the same objects.
    fn check(mut self) {
        let now = self.store.revision();
        for revision in self.oldest..=now {
            let options =
                ListOptions { at: ListRevision::Exact(revision), ..ListOptions::default() };
            match self.store.list(&configmaps(), &Selection::default(), &options) {
                Ok(list) => assert_eq!(&by_path(list.items), self.at(revision)),
                Err(error) => assert!(matches!(error, ReadError::ListExpired { .. }), "{error}"),
            }
        }
        let last = self.at(now).clone();
        for client in &mut self.clients {
            client.read(usize::MAX);
            if client.watcher.end().is_some() {
                continue;
            }
            assert_eq!(client.watcher.bookmark(), Some(now));
            assert_eq!(client.copy, selected(&last, &client.selection));
        }
    }
}

proptest! {
    #[test]
    fn lists_and_watches_agree_with_model(
        history in prop_oneof![3 => Just(1000_usize), 1 => 0..12_usize],
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut world = World::new(history);
        for step in &steps {
            world.take(step);
        }
        world.check();
    }
}
