//! How the built-in kinds merge, from their [table](super::table).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::table::{ANY, Fact, Facts, KINDS, Keys, TYPES, WHOLE_ITEMS};
use super::{ListKind, ListSchema, ObjectSchema, Schema};

static SCHEMAS: LazyLock<BTreeMap<(&str, &str), Schema>> = LazyLock::new(|| {
    let schema = |facts: Facts| {
        let mut object = object(facts);
        object.fields.insert("metadata".to_owned(), object_meta());
        Schema::Object(object)
    };
    KINDS.iter().map(|&(group, kind, facts)| ((group, kind), schema(facts))).collect()
});

static OBJECT_META: LazyLock<Arc<Schema>> =
    LazyLock::new(|| Arc::new(Schema::Object(object(facts_of("ObjectMeta")))));

pub(super) fn find(group: &str, kind: &str) -> Option<Schema> {
    SCHEMAS.get(&(group, kind)).cloned()
}

/// The `metadata` of every object.
pub(super) fn object_meta() -> Arc<Schema> {
    OBJECT_META.clone()
}

fn facts_of(name: &str) -> Facts {
    let found = TYPES.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("the table has no type {name}")).1
}

fn object(facts: Facts) -> ObjectSchema {
    let mut object = open();
    for (path, fact) in facts {
        insert(&mut object, path, fact);
    }
    object
}

/// An object of which nothing is known.
fn open() -> ObjectSchema {
    ObjectSchema { others: Some(Arc::new(Schema::Deduced)), ..ObjectSchema::default() }
}

fn insert(object: &mut ObjectSchema, path: &str, fact: &Fact) {
    let Some((field, rest)) = path.split_once('.') else {
        object.fields.insert(path.to_owned(), Arc::new(schema(fact)));
        return;
    };
    let inner =
        object.fields.entry(field.to_owned()).or_insert_with(|| Schema::Object(open()).into());
    if let Schema::Object(inner) = Arc::make_mut(inner) {
        insert(inner, rest, fact);
    }
}

fn schema(fact: &Fact) -> Schema {
    match fact {
        Fact::Is(name) => Schema::Object(object(facts_of(name))),
        Fact::Whole => Schema::Object(ObjectSchema { atomic: true, ..open() }),
        Fact::WholeInPatches => Schema::Object(ObjectSchema { atomic: true, ..Default::default() }),
        Fact::List { apply, patch, items } => Schema::List(ListSchema {
            items: Arc::new(items_of(items)),
            kind: kind(apply),
            patch_key: patch.map(str::to_owned),
        }),
    }
}

fn items_of(items: &str) -> Schema {
    match items {
        ANY => Schema::Deduced,
        WHOLE_ITEMS => schema(&Fact::Whole),
        name => Schema::Object(object(facts_of(name))),
    }
}

fn kind(keys: &Keys) -> ListKind {
    match keys {
        Keys::Atomic => ListKind::Atomic,
        Keys::Set => ListKind::Set,
        Keys::Field(key) => ListKind::Map(vec![((*key).to_owned(), None)]),
        Keys::Fields(keys) => {
            let keys =
                keys.iter().map(|(key, default)| ((*key).to_owned(), default.map(Value::from)));
            ListKind::Map(keys.collect())
        }
    }
}
