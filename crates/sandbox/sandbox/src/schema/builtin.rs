//! Merge schemas of built-in kinds, from their [table](super::table).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::table::{ANY, KINDS, Keys, MergeRule, MergeRules, TYPES, WHOLE_ITEMS};
use super::{ListKind, ListSchema, ObjectSchema, Schema};

static SCHEMAS: LazyLock<BTreeMap<(&str, &str), Schema>> = LazyLock::new(|| {
    let schema = |rules: MergeRules| {
        let mut object = object(rules);
        object.fields.insert("metadata".to_owned(), object_meta());
        Schema::Object(object)
    };
    KINDS.iter().map(|&(group, kind, rules)| ((group, kind), schema(rules))).collect()
});

static OBJECT_META: LazyLock<Arc<Schema>> =
    LazyLock::new(|| Arc::new(Schema::Object(object(type_rules("ObjectMeta")))));

pub(super) fn find(group: &str, kind: &str) -> Option<Schema> {
    SCHEMAS.get(&(group, kind)).cloned()
}

/// The schema of `ObjectMeta`.
pub(super) fn object_meta() -> Arc<Schema> {
    OBJECT_META.clone()
}

fn type_rules(name: &str) -> MergeRules {
    let found = TYPES.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("the table has no type {name}")).1
}

fn object(rules: MergeRules) -> ObjectSchema {
    let mut object = open();
    for (path, rule) in rules {
        insert(&mut object, path, rule);
    }
    object
}

/// An object without declared fields.
fn open() -> ObjectSchema {
    ObjectSchema { others: Some(Arc::new(Schema::Deduced)), ..ObjectSchema::default() }
}

fn insert(object: &mut ObjectSchema, path: &str, rule: &MergeRule) {
    let Some((field, rest)) = path.split_once('.') else {
        object.fields.insert(path.to_owned(), Arc::new(schema(rule)));
        return;
    };
    let inner =
        object.fields.entry(field.to_owned()).or_insert_with(|| Schema::Object(open()).into());
    if let Schema::Object(inner) = Arc::make_mut(inner) {
        insert(inner, rest, rule);
    }
}

fn schema(rule: &MergeRule) -> Schema {
    match rule {
        MergeRule::Is(name) => Schema::Object(object(type_rules(name))),
        MergeRule::Whole => Schema::Object(ObjectSchema { atomic: true, ..open() }),
        MergeRule::WholeInPatches => {
            Schema::Object(ObjectSchema { atomic: true, ..Default::default() })
        }
        MergeRule::List { apply, patch, items } => Schema::List(ListSchema {
            items: Arc::new(items_of(items)),
            kind: kind(apply),
            patch_key: patch.map(str::to_owned),
        }),
    }
}

fn items_of(items: &str) -> Schema {
    match items {
        ANY => Schema::Deduced,
        WHOLE_ITEMS => schema(&MergeRule::Whole),
        name => Schema::Object(object(type_rules(name))),
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
