use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace};
use serde_json::{Value, json};

use super::{Component, EventRecorder, Severity, object_reference};
use crate::api::Api;
use crate::store::Store;

fn read<K: serde::de::DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).unwrap()
}

/// A cluster with the namespace `n` and a controlled clock.
fn cluster(time: &Arc<Mutex<Timestamp>>) -> Component {
    let time = Arc::clone(time);
    let api = Api::new(Store::default(), Box::new(move || *time.lock().unwrap()));
    let component = Component::new(&api, "test");
    let namespace: Namespace = read(json!({ "metadata": { "name": "n" } }));
    component.client().create(&namespace).unwrap();
    component
}

fn describe(component: &Component) -> Vec<String> {
    let events: Vec<Event> = component.client().list("n").unwrap();
    let tell = |event: &Event| {
        let seconds = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
            time.as_ref().map_or(-1, |time| time.0.as_second())
        };
        format!(
            "{} {}: {} x{} {}-{}",
            event.type_.as_deref().unwrap(),
            event.reason.as_deref().unwrap(),
            event.message.as_deref().unwrap(),
            event.count.unwrap(),
            seconds(&event.first_timestamp),
            seconds(&event.last_timestamp),
        )
    };
    events.iter().map(tell).collect()
}

#[test]
fn recorder_repeated_event_increments_count() {
    let time = Arc::new(Mutex::new(Timestamp::from_second(10).unwrap()));
    let component = cluster(&time);
    let mut recorder = EventRecorder::new(component.client(), "tester");
    let subject: ConfigMap =
        read(json!({ "metadata": { "name": "a", "namespace": "n", "uid": "1" } }));
    let mut say = |message: &str, second: i64| {
        *time.lock().unwrap() = Timestamp::from_second(second).unwrap();
        recorder.publish(&object_reference(&subject), Severity::Warning, "Odd", message);
    };
    say("one", 10);
    say("one", 20);
    say("two", 30);
    say("one", 40);
    assert_eq!(describe(&component), ["Warning Odd: one x3 10-40", "Warning Odd: two x1 30-30"]);

    let events: Vec<Event> = component.client().list("n").unwrap();
    for event in &events {
        component.client().delete(event, crate::api::Propagation::Background).unwrap();
    }
    say("one", 50);
    assert_eq!(describe(&component), ["Warning Odd: one x1 50-50"], "what is gone is said anew");
    say(&"ä".repeat(1000), 60);
    assert_eq!(describe(&component).len(), 2, "long messages are cut, between letters");
}
