//! Who asked for which APIs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Which accounts asked for which APIs within a day, as `APIRequestCount` objects say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(BTreeMap<String, BTreeSet<String>>);

impl Requests {
    /// Takes down what an `APIRequestCount` says. Only accounts of pods can be those of an operator.
    pub fn add(&mut self, count: &Value) {
        let Some(api) = count.pointer("/metadata/name").and_then(Value::as_str) else { return };
        let hours = list(count.pointer("/status/last24h"));
        let nodes = hours.flat_map(|hour| list(hour.get("byNode")));
        let users = nodes.flat_map(|node| list(node.get("byUser")));
        let names = users.filter_map(|user| user.get("username")?.as_str());
        let accounts = names.filter(|name| name.starts_with("system:serviceaccount:"));
        let accounts: BTreeSet<String> = accounts.map(str::to_owned).collect();
        if !accounts.is_empty() {
            self.0.entry(api.to_owned()).or_default().extend(accounts);
        }
    }

    /// Takes over what was known of an API.
    pub fn keep(&mut self, api: &str, before: &Self) {
        if let Some(accounts) = before.0.get(api) {
            self.0.insert(api.to_owned(), accounts.clone());
        }
    }

    /// Which accounts asked for each API.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &str>)> {
        self.0.iter().map(|(api, users)| (api.as_str(), users.iter().map(String::as_str)))
    }
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn accounts_count_whenever_and_wherever_they_asked() {
        let asked = |users: &[&str]| {
            let users: Vec<Value> = users.iter().map(|name| json!({"username": name})).collect();
            json!({"byNode": [{"byUser": users}]})
        };
        let [one, other] =
            ["one", "other"].map(|name| format!("system:serviceaccount:team:{name}"));
        let mut requests = Requests::default();
        requests.add(&json!({
            "metadata": {"name": "cronjobs.v1beta1.batch"},
            "status": {"last24h": [asked(&[&one, "admin"]), asked(&[&other, &one])]},
        }));
        requests.add(&json!({
            "metadata": {"name": "events.v1beta1.events.k8s.io"},
            "status": {"last24h": [asked(&["admin"])]},
        }));
        for nonsense in [json!(null), json!({"metadata": {"name": 7}}), json!({"status": []})] {
            requests.add(&nonsense);
        }
        let told: Vec<_> =
            requests.iter().map(|(api, users)| (api, users.collect::<Vec<_>>())).collect();
        assert_eq!(told, [("cronjobs.v1beta1.batch", vec![one.as_str(), other.as_str()])]);
    }
}
