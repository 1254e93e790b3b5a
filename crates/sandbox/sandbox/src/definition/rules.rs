//! The rules of a schema that are expressions (CEL).

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use fairway_schema::{ListKind, MAX_ERRORS, Schema, child, lists};
use kube_cel::{CompiledSchema, compile_schema, validate_compiled};
use serde_json::Value;

use super::{expression, optional};
use crate::field_error::{FieldError, FieldErrorKind};

/// How often rules are evaluated for one object: more than any real object needs.
const MAX_EVALUATIONS: usize = 10_000;

/// What the API server says instead of rules that it cannot check.
pub(super) const NOT_CHECKED: &str = "some validation rules were not checked because the object \
    was invalid; correct the existing errors to complete validation";

const TOO_MANY_EVALUATIONS: &str = "validation failed due to running out of cost budget, no \
    further validation rules will be run";

const EXPRESSIONS: &str = "x-kubernetes-validations";

/// The rules of one node of a schema, and of what lies below it.
pub(super) struct Rules {
    own: Option<CompiledSchema>,
    properties: BTreeMap<String, Self>,
    others: Option<Box<Self>>,
    items: Option<Box<Self>>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("properties", &self.properties.keys()).finish_non_exhaustive()
    }
}

impl Rules {
    /// The rules in a schema as it is written, or nothing where there are none.
    pub(super) fn new(schema: &Value) -> Option<Self> {
        let has_own = schema.get(EXPRESSIONS).and_then(Value::as_array).is_some();
        let properties = schema.get("properties").and_then(Value::as_object);
        let below = |name: &str| schema.get(name).and_then(Self::new).map(Box::new);
        let rules = Self {
            own: has_own.then(|| compile_schema(&without_rules_below(schema))),
            properties: properties
                .into_iter()
                .flatten()
                .filter_map(|(name, schema)| Some((name.clone(), Self::new(schema)?)))
                .collect(),
            others: below("additionalProperties"),
            items: below("items"),
        };
        let any = rules.own.is_some() || !rules.properties.is_empty();
        (any || rules.others.is_some() || rules.items.is_some()).then_some(rules)
    }

    /// The rules that an object breaks.
    pub(super) fn broken(
        &self,
        object: &Value,
        old: Option<&Value>,
        schema: &Schema,
    ) -> Vec<FieldError> {
        let evaluate = || {
            let mut walk = Walk { evaluations: 0, found: Vec::new() };
            walk.value(self, object, old, schema, "");
            walk.found.truncate(MAX_ERRORS);
            walk.found
        };
        expression::with_room(evaluate).unwrap_or_else(|| {
            vec![FieldError::invalid("", Value::Null, "cannot evaluate the validation rules")]
        })
    }
}

/// A rule sees what lies below it, whose rules are evaluated by themselves.
fn without_rules_below(schema: &Value) -> Value {
    let mut own = schema.clone();
    own[EXPRESSIONS].as_array_mut().into_iter().flatten().for_each(without_optionals);
    for part in ["properties", "additionalProperties", "items"] {
        if let Some(part) = own.get_mut(part) {
            remove_rules(part);
        }
    }
    own
}

/// Writes a rule in standard CEL. Where it says nothing else, its failure quotes it as written.
pub(super) fn without_optionals(rule: &mut Value) {
    for part in ["rule", "messageExpression"] {
        let Some(written) = rule[part].as_str().map(str::to_owned) else { continue };
        let standard = optional::translated(&written);
        if part == "rule" && standard != written && rule["message"].is_null() {
            rule["message"] = format!("failed rule: {written}").into();
        }
        rule[part] = standard.into();
    }
}

fn remove_rules(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove(EXPRESSIONS);
            fields.values_mut().for_each(remove_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_rules),
        _ => {}
    }
}

struct Walk {
    evaluations: usize,
    found: Vec<FieldError>,
}

impl Walk {
    fn value(
        &mut self,
        rules: &Rules,
        value: &Value,
        old: Option<&Value>,
        schema: &Schema,
        path: &str,
    ) {
        if self.found.len() >= MAX_ERRORS {
            return;
        }
        if let Some(own) = &rules.own {
            self.own(own, value, old, path);
        }
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    let below = rules.properties.get(name).or(rules.others.as_deref());
                    let (Some(below), Some(known)) = (below, schema.field(name)) else { continue };
                    let old = old.and_then(|old| old.get(name));
                    self.value(below, field, old, known, &child(path, name));
                }
            }
            Value::Array(items) => {
                let (Some(below), Some(known)) = (&rules.items, schema.items()) else { return };
                let before = by_key(old, schema.list());
                for (index, item) in items.iter().enumerate() {
                    let old = before_of(item, &before, schema.list());
                    self.value(below, item, old, known, &format!("{path}[{index}]"));
                }
            }
            _ => {}
        }
    }

    fn own(&mut self, rules: &CompiledSchema, value: &Value, old: Option<&Value>, path: &str) {
        self.evaluations += 1;
        if self.evaluations > MAX_EVALUATIONS {
            if self.evaluations == MAX_EVALUATIONS + 1 {
                self.found.push(FieldError::forbidden("", TOO_MANY_EVALUATIONS));
            }
            return;
        }
        let Err(broken) = validate_compiled(rules, value, old) else { return };
        for error in broken {
            let path = match error.field_path.trim_start_matches('.') {
                "" => path.to_owned(),
                item if item.starts_with('[') => format!("{path}{item}"),
                below => child(path, below),
            };
            let kind = match error.reason.as_deref() {
                Some("FieldValueRequired") => FieldErrorKind::Required,
                Some("FieldValueForbidden") => FieldErrorKind::Forbidden,
                Some("FieldValueDuplicate") => FieldErrorKind::Duplicate,
                _ => FieldErrorKind::Invalid,
            };
            // The API server names the type of a list or an object instead of printing it.
            let shown = match value {
                Value::Object(_) => Value::from("object"),
                Value::Array(_) => Value::from("array"),
                scalar => scalar.clone(),
            };
            self.found.push(FieldError::of(kind, path, shown, error.message));
        }
    }
}

/// The items of the old list; only a list that is a map knows which is which.
fn by_key<'a>(old: Option<&'a Value>, list: &ListKind) -> HashMap<Value, &'a Value> {
    let ListKind::Map(keys) = list else { return HashMap::new() };
    let items = old.and_then(Value::as_array).into_iter().flatten();
    items.map(|item| (lists::key(item, keys), item)).collect()
}

fn before_of<'a>(
    item: &Value,
    before: &HashMap<Value, &'a Value>,
    list: &ListKind,
) -> Option<&'a Value> {
    let ListKind::Map(keys) = list else { return None };
    before.get(&lists::key(item, keys)).copied()
}
