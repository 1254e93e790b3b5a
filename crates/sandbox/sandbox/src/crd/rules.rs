//! CEL validation rules.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use fairway_schema::{ListKind, MAX_ERRORS, Schema, child, lists};
use kube_cel::{CompiledSchema, compile_schema, validate_compiled};
use serde_json::Value;

use super::expression;
use crate::field_error::{FieldError, FieldErrorKind};

/// Maximum rule evaluations per object, more than any real object needs.
const MAX_EVALUATIONS: usize = 10_000;

/// Message of the API server for skipped rules.
pub(super) const RULES_SKIPPED: &str = "some validation rules were not checked because the object \
    was invalid; correct the existing errors to complete validation";
const COST_BUDGET_EXCEEDED: &str = "validation failed due to running out of cost budget, no \
    further validation rules will be run";
const VALIDATIONS_FIELD: &str = "x-kubernetes-validations";

/// Compiled rules of a schema node and its children.
pub(super) struct CelRules {
    own: Option<CompiledSchema>,
    properties: BTreeMap<String, Self>,
    others: Option<Box<Self>>,
    items: Option<Box<Self>>,
}

impl fmt::Debug for CelRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("properties", &self.properties.keys()).finish_non_exhaustive()
    }
}

impl CelRules {
    /// Compiles the rules of a schema; `None` if there are none.
    pub(super) fn new(schema: &Value) -> Option<Self> {
        let has_own = schema.get(VALIDATIONS_FIELD).and_then(Value::as_array).is_some();
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

    /// Evaluates the rules and returns the violations.
    pub(super) fn violations(
        &self,
        object: &Value,
        old: Option<&Value>,
        schema: &Schema,
    ) -> Vec<FieldError> {
        let evaluate = || {
            let mut evaluation = RuleEvaluation { evaluations: 0, found: Vec::new() };
            evaluation.value(self, object, old, schema, "");
            evaluation.found.truncate(MAX_ERRORS);
            evaluation.found
        };
        expression::on_large_stack(evaluate).unwrap_or_else(|| {
            vec![FieldError::invalid("", Value::Null, "cannot evaluate the validation rules")]
        })
    }
}

/// The schema without the rules of its children, which are compiled separately.
fn without_rules_below(schema: &Value) -> Value {
    let mut own = schema.clone();
    own[VALIDATIONS_FIELD].as_array_mut().into_iter().flatten().for_each(rewrite_rule);
    for part in ["properties", "additionalProperties", "items"] {
        if let Some(part) = own.get_mut(part) {
            remove_rules(part);
        }
    }
    own
}

/// Rewrites a rule in standard CEL. Its default message quotes the original text.
pub(super) fn rewrite_rule(rule: &mut Value) {
    for part in ["rule", "messageExpression"] {
        let Some(written) = rule[part].as_str().map(str::to_owned) else { continue };
        let standard = expression::rewrite(&written);
        if part == "rule" && standard != written && rule["message"].is_null() {
            rule["message"] = format!("failed rule: {written}").into();
        }
        rule[part] = standard.into();
    }
}

fn remove_rules(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove(VALIDATIONS_FIELD);
            fields.values_mut().for_each(remove_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_rules),
        _ => {}
    }
}

struct RuleEvaluation {
    evaluations: usize,
    found: Vec<FieldError>,
}

impl RuleEvaluation {
    fn value(
        &mut self,
        rules: &CelRules,
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
                let before = items_by_key(old, schema.list());
                for (index, item) in items.iter().enumerate() {
                    let old = old_item(item, &before, schema.list());
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
                self.found.push(FieldError::forbidden("", COST_BUDGET_EXCEEDED));
            }
            return;
        }
        let Err(violations) = validate_compiled(rules, value, old) else { return };
        for error in violations {
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
            // The API server prints the type of lists and objects instead of their value.
            let shown = match value {
                Value::Object(_) => Value::from("object"),
                Value::Array(_) => Value::from("array"),
                scalar => scalar.clone(),
            };
            self.found.push(FieldError::of(kind, path, shown, error.message));
        }
    }
}

/// Items of the old list by key. Only list maps have keys.
fn items_by_key<'a>(old: Option<&'a Value>, list: &ListKind) -> HashMap<Value, &'a Value> {
    let ListKind::Map(keys) = list else { return HashMap::new() };
    let items = old.and_then(Value::as_array).into_iter().flatten();
    items.map(|item| (lists::key(item, keys), item)).collect()
}

fn old_item<'a>(
    item: &Value,
    before: &HashMap<Value, &'a Value>,
    list: &ListKind,
) -> Option<&'a Value> {
    let ListKind::Map(keys) = list else { return None };
    before.get(&lists::key(item, keys)).copied()
}
