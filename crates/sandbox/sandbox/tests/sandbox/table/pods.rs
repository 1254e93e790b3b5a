//! Pods in all states that tables distinguish.

use serde_json::{Value, json};

use super::objects::named;

pub(super) fn all() -> Vec<Value> {
    let waiting = |reason: &str| json!({ "waiting": { "reason": reason } });
    let ended = |code: i64, more: Value| {
        let mut state = json!({ "exitCode": code });
        state.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "terminated": state })
    };
    let (running, none) = (json!({ "running": {} }), json!([]));
    let ready = json!([{ "type": "Ready", "status": "True" }, { "type": "g/a", "status": "True" }]);
    let completed = ended(0, json!({ "reason": "Completed" }));
    [
        ("pending", json!({}), &none, &none),
        ("evicted", json!({ "phase": "Failed", "reason": "Evicted" }), &none, &none),
        (
            "running",
            json!({ "phase": "Running", "podIP": "192.0.2.7", "conditions": ready }),
            &none,
            &json!([running, running]),
        ),
        ("creating", json!({}), &none, &json!([waiting("ContainerCreating"), waiting("Other")])),
        (
            "crashing",
            json!({ "phase": "Running" }),
            &none,
            &json!([running, waiting("CrashLoopBackOff")]),
        ),
        ("succeeded", json!({ "phase": "Succeeded" }), &none, &json!([completed, completed])),
        (
            "failed",
            json!({ "phase": "Failed" }),
            &none,
            &json!([ended(1, json!({})), ended(2, json!({ "signal": 9 }))]),
        ),
        ("half", json!({ "phase": "Running" }), &none, &json!([completed, running])),
        (
            "half-ready",
            json!({ "phase": "Running", "conditions": ready }),
            &none,
            &json!([completed, running]),
        ),
        (
            "init",
            json!({}),
            &json!([ended(0, json!({})), running]),
            &json!([waiting("PodInitializing"), running]),
        ),
        ("init-waits", json!({}), &json!([waiting("PodInitializing")]), &none),
        ("init-pulls", json!({}), &json!([waiting("ImagePullBackOff")]), &none),
        ("init-failed", json!({}), &json!([ended(3, json!({}))]), &none),
        ("init-signal", json!({}), &json!([ended(3, json!({ "signal": 15 }))]), &none),
        ("init-error", json!({}), &json!([ended(3, json!({ "reason": "Error" }))]), &none),
        (
            "init-done",
            json!({ "phase": "Running" }),
            &json!([ended(0, json!({}))]),
            &json!([running, running]),
        ),
    ]
    .into_iter()
    .map(|(name, status, init, main)| pod(name, status, init, main))
    .collect()
}

/// A pod with a scheduler that does not exist, so that its status is not changed.
fn pod(name: &str, mut status: Value, init: &Value, main: &Value) -> Value {
    status["initContainerStatuses"] = statuses("i", init);
    status["containerStatuses"] = statuses("c", main);
    named(
        name,
        json!({
            "spec": {
                "schedulerName": "none",
                "initContainers": [{ "name": "i0", "image": "i" }, { "name": "i1", "image": "i" }],
                "containers": [{ "name": "c0", "image": "i" }, { "name": "c1", "image": "i" }],
                "readinessGates": [{ "conditionType": "g/a" }, { "conditionType": "g/b" }],
            },
            "status": status,
        }),
    )
}

fn statuses(prefix: &str, states: &Value) -> Value {
    let states = states.as_array().into_iter().flatten().enumerate();
    let container = |(number, state): (usize, &Value)| {
        json!({
            "name": format!("{prefix}{number}"), "image": "i", "imageID": "", "restartCount": number + 2,
            "ready": state.get("running").is_some(), "state": state,
        })
    };
    states.map(container).collect()
}
