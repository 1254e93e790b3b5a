//! Pod lifecycle.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Transcript, container, once, share_directory};

/// Terminated state of the only container.
fn terminated(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]["state"]["terminated"]
}

/// Phase and reason of a pod; exit code, reason and message of its container.
fn outcome(pod: &Value) -> String {
    let (status, end) = (&pod["status"], terminated(pod));
    let parts =
        [&status["phase"], &status["reason"], &end["exitCode"], &end["reason"], &end["message"]];
    json!(parts).to_string()
}

#[tokio::test]
async fn pod_phase_follows_exit_code() -> Result<()> {
    let case = Case::begin("pods").await?;
    let image = case.shell().await?;
    let pods = [("zero", "exit 0"), ("seven", "exit 7"), ("most", "exit 255")];
    let specs = pods.map(|(name, script)| (name, once(&image, script)));
    let mut transcript = Transcript::default();
    for ((_, script), pod) in pods.iter().zip(case.run_all(&specs).await?) {
        transcript.line(script, outcome(&pod));
    }
    assert_snapshot!(transcript, @r#"
    exit 0: ["Succeeded",null,0,"Completed",null]
    exit 7: ["Failed",null,7,"Error",null]
    exit 255: ["Failed",null,255,"Error",null]
    "#);
    Ok(())
}

#[tokio::test]
async fn finished_pod_has_complete_status() -> Result<()> {
    let case = Case::begin("pods").await?;
    let pod = case.run("p", &once(&case.shell().await?, "echo hello")).await?;
    let status = &pod["status"];
    let container = &status["containerStatuses"][0];
    for time in
        [&status["startTime"], &terminated(&pod)["startedAt"], &terminated(&pod)["finishedAt"]]
    {
        assert!(time.is_string(), "{status}");
    }
    for id in [
        &container["containerID"],
        &container["imageID"],
        &pod["spec"]["nodeName"],
        &status["hostIP"],
    ] {
        assert!(id.as_str().is_some_and(|id| !id.is_empty()), "{pod}");
    }
    assert_eq!(
        (&container["restartCount"], &container["ready"], &container["name"]),
        (&json!(0), &json!(false), &json!("main"))
    );
    let mut transcript = Transcript::default();
    for condition in status["conditions"].as_array().into_iter().flatten() {
        let known = ["Initialized", "Ready", "ContainersReady", "PodScheduled"];
        if known.iter().any(|known| condition["type"] == *known) {
            transcript.line(&condition["type"], json!([condition["status"], condition["reason"]]));
        }
    }
    assert_snapshot!(transcript, @r#"
    "Initialized": ["True","PodCompleted"]
    "Ready": ["False","PodCompleted"]
    "ContainersReady": ["False","PodCompleted"]
    "PodScheduled": ["True",null]
    "#);
    Ok(())
}

#[tokio::test]
async fn running_pod_is_ready() -> Result<()> {
    let case = Case::begin("pods").await?;
    case.start("p", &once(&case.shell().await?, "sleep 60")).await?;
    let pod = case.until("pods/p", "to run", |pod| pod["status"]["phase"] == "Running").await?;
    let container = &pod["status"]["containerStatuses"][0];
    assert_eq!((&container["ready"], &container["started"]), (&json!(true), &json!(true)));
    assert!(container["state"]["running"]["startedAt"].is_string());
    let ready = |pod: &Value| {
        let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        conditions.filter(|it| it["type"] == "Ready").any(|it| it["status"] == "True")
    };
    case.until("pods/p", "to be ready", ready).await?;
    Ok(())
}

#[tokio::test]
async fn termination_message_is_reported() -> Result<()> {
    let case = Case::begin("pods").await?;
    let image = case.shell().await?;
    let with = |script: &str, field: &str, value: &str| {
        let mut spec = once(&image, script);
        spec["containers"][0][field] = json!(value);
        spec
    };
    let (path, policy) = ("terminationMessagePath", "terminationMessagePolicy");
    let (log, fallback) = ("echo from the log", "FallbackToLogsOnError");
    let pods = [
        ("usual", once(&image, "printf 'last words' > /dev/termination-log; exit 1")),
        ("elsewhere", with("printf elsewhere > /tmp/message", path, "/tmp/message")),
        ("failing", with(&format!("{log}; exit 1"), policy, fallback)),
        ("succeeding", with(log, policy, fallback)),
    ];
    let mut transcript = Transcript::default();
    for ((name, _), pod) in pods.iter().zip(case.run_all(&pods).await?) {
        transcript.line(name, outcome(&pod));
    }
    assert_snapshot!(transcript, @r#"
    usual: ["Failed",null,1,"Error","last words"]
    elsewhere: ["Succeeded",null,0,"Completed","elsewhere"]
    failing: ["Failed",null,1,"Error","from the log\n"]
    succeeding: ["Succeeded",null,0,"Completed",null]
    "#);
    Ok(())
}

#[tokio::test]
async fn failed_container_is_restarted() -> Result<()> {
    let case = Case::begin("pods").await?;
    let mut spec = once(&case.shell().await?, "test -e /shared/x && exit 0; > /shared/x; exit 3");
    spec["restartPolicy"] = json!("OnFailure");
    share_directory(&mut spec);
    let pod = case.run("p", &spec).await?;
    assert_eq!(outcome(&pod), r#"["Succeeded",null,0,"Completed",null]"#);
    assert_eq!(pod["status"]["containerStatuses"][0]["restartCount"], 1);
    Ok(())
}

#[tokio::test]
async fn restart_policy_always_restarts_after_success() -> Result<()> {
    let case = Case::begin("pods").await?;
    let mut spec = once(&case.shell().await?, "exit 0");
    spec["restartPolicy"] = json!("Always");
    case.start("p", &spec).await?;
    let pod = case
        .until("pods/p", "a restart", |pod| {
            let container = &pod["status"]["containerStatuses"][0];
            container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
        })
        .await?;
    let container = &pod["status"]["containerStatuses"][0];
    assert!(container["restartCount"].as_u64().is_some_and(|count| count > 0), "{container}");
    assert_eq!(container["lastState"]["terminated"]["exitCode"], 0);
    assert_eq!(pod["status"]["phase"], "Running");
    Ok(())
}

#[tokio::test]
async fn init_containers_run_in_order_before_main_containers() -> Result<()> {
    let case = Case::begin("pods").await?;
    let image = case.shell().await?;
    let mut spec = once(&image, "cat /shared/order");
    let init = |name: &str| container(name, &image, &format!("echo {name} >> /shared/order"));
    spec["initContainers"] = json!([init("one"), init("two")]);
    share_directory(&mut spec);
    let pod = case.run("p", &spec).await?;
    assert_eq!(case.log("pods/p/log").await?, "one\ntwo\n");
    let inits = pod["status"]["initContainerStatuses"].as_array().into_iter().flatten();
    let inits: Vec<&Value> = inits.map(|init| &init["state"]["terminated"]["reason"]).collect();
    assert_eq!(inits, ["Completed", "Completed"]);
    Ok(())
}

#[tokio::test]
async fn failed_init_container_fails_pod_with_policy_never() -> Result<()> {
    let case = Case::begin("pods").await?;
    let image = case.shell().await?;
    let mut spec = once(&image, "echo never");
    spec["initContainers"] = json!([container("first", &image, "exit 4")]);
    let pod = case.run("p", &spec).await?;
    let (init, main) =
        (&pod["status"]["initContainerStatuses"][0], &pod["status"]["containerStatuses"][0]);
    assert_snapshot!(json!([
        pod["status"]["phase"], init["state"]["terminated"]["exitCode"], main["state"]["waiting"]["reason"],
    ]), @r#"["Failed",4,"PodInitializing"]"#);
    Ok(())
}

#[tokio::test]
async fn pod_fails_at_active_deadline() -> Result<()> {
    let case = Case::begin("pods").await?;
    let mut spec = once(&case.shell().await?, "sleep 60");
    spec["activeDeadlineSeconds"] = json!(1);
    let pod = case.run("p", &spec).await?;
    assert_snapshot!(json!([pod["status"]["phase"], pod["status"]["reason"], pod["status"]["message"]]), @r#"["Failed","DeadlineExceeded","Pod was active on the node longer than the specified deadline"]"#);
    Ok(())
}

#[tokio::test]
async fn deleted_pod_terminates_gracefully() -> Result<()> {
    let case = Case::begin("pods").await?;
    let script = "trap 'echo finishing; exit 0' TERM; echo ready; while true; do sleep 0.1; done";
    let mut spec = once(&case.shell().await?, script);
    spec["terminationGracePeriodSeconds"] = json!(20);
    case.start("p", &spec).await?;
    case.until("pods/p", "to run", |pod| pod["status"]["phase"] == "Running").await?;
    let follow = case.get("pods/p/log?follow=true");
    let delete = async {
        fairway_testkit::wait::until("the first line", || async {
            Ok(case.log("pods/p/log").await?.contains("ready").then_some(()))
        })
        .await?;
        let deleted = case.delete("pods/p").await?.object()?;
        assert_eq!(deleted["metadata"]["deletionGracePeriodSeconds"], 20);
        anyhow::Ok(deleted)
    };
    let (log, deleted) = futures::future::try_join(follow, delete).await?;
    // The log may end with a message about the removed container.
    assert!(log.text().starts_with("ready\nfinishing\n"), "{}", log.text());
    assert!(deleted["metadata"]["deletionTimestamp"].is_string());
    case.until_gone("pods/p").await
}

#[tokio::test]
async fn pod_is_killed_after_grace_period() -> Result<()> {
    let case = Case::begin("pods").await?;
    case.start("p", &once(&case.shell().await?, "trap '' TERM; while true; do sleep 0.1; done"))
        .await?;
    case.until("pods/p", "to run", |pod| pod["status"]["phase"] == "Running").await?;
    case.delete("pods/p?gracePeriodSeconds=1").await?.object()?;
    case.until_gone("pods/p").await
}

#[tokio::test]
async fn delete_without_grace_period_removes_pod_immediately() -> Result<()> {
    let case = Case::begin("pods").await?;
    case.start("p", &once(&case.shell().await?, "sleep 60")).await?;
    case.until("pods/p", "to run", |pod| pod["status"]["phase"] == "Running").await?;
    case.delete_with("pods/p", &json!({ "gracePeriodSeconds": 0 })).await?.object()?;
    assert_eq!(case.get("pods/p").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn pod_with_missing_image_waits() -> Result<()> {
    let case = Case::begin("pods").await?;
    let mut spec = once("localhost:1/none:none", "exit 0");
    spec["containers"][0]["imagePullPolicy"] = json!("Never");
    case.start("p", &spec).await?;
    let waiting = |pod: &Value| {
        pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ErrImageNeverPull"
    };
    let pod = case.until("pods/p", "ErrImageNeverPull", waiting).await?;
    assert_eq!(pod["status"]["phase"], "Pending");
    Ok(())
}

#[tokio::test]
async fn pod_with_missing_binary_fails() -> Result<()> {
    let case = Case::begin("pods").await?;
    let mut spec = once(&case.shell().await?, "");
    spec["containers"][0]["command"] = json!(["/no/such/program"]);
    let pod = case.run("p", &spec).await?;
    assert_snapshot!(json!([pod["status"]["phase"], terminated(&pod)["exitCode"], terminated(&pod)["reason"]]), @r#"["Failed",128,"StartError"]"#);
    Ok(())
}

#[tokio::test]
async fn unschedulable_pod_stays_pending() -> Result<()> {
    let case = Case::begin("pods").await?;
    let mut spec = once("image", "exit 0");
    spec["nodeSelector"] = json!({ "no": "such-node" });
    case.start("p", &spec).await?;
    let unschedulable = |pod: &Value| pod["status"]["conditions"][0]["reason"] == "Unschedulable";
    let pod = case.until("pods/p", "to be unschedulable", unschedulable).await?;
    assert_eq!(
        (&pod["status"]["phase"], &pod["spec"]["nodeName"]),
        (&json!("Pending"), &Value::Null)
    );
    assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
    case.delete("pods/p").await?.object()?;
    case.until_gone("pods/p").await
}

#[tokio::test]
async fn containers_of_pod_run_concurrently() -> Result<()> {
    let case = Case::begin("pods").await?;
    let image = case.shell().await?;
    let mut spec = once(&image, "while ! test -e /shared/x; do sleep 0.1; done; echo met");
    let other = container("other", &image, "> /shared/x; exit 5");
    spec["containers"] = json!([spec["containers"][0], other]);
    share_directory(&mut spec);
    let pod = case.run("p", &spec).await?;
    assert_eq!(pod["status"]["phase"], "Failed");
    assert_eq!(case.log("pods/p/log?container=main").await?, "met\n");
    let which = case.get("pods/p/log").await?;
    assert_snapshot!(which.shown(), @"400 BadRequest: a container name must be specified for pod p, choose one of: [main other]");
    let none = case.get("pods/p/log?container=none").await?;
    assert_snapshot!(none.shown(), @"400 BadRequest: container none is not valid for pod p");
    Ok(())
}

#[tokio::test]
async fn pod_lifecycle_is_recorded_in_events() -> Result<()> {
    let case = Case::begin("pods").await?;
    let pod = case.run("p", &once(&case.shell().await?, "exit 0")).await?;
    let path = format!(
        "events?fieldSelector=involvedObject.uid%3D{}",
        pod["metadata"]["uid"].as_str().unwrap_or_default()
    );
    let reasons = |list: &Value| -> Vec<String> {
        let events = list["items"].as_array().into_iter().flatten();
        let mut reasons: Vec<String> =
            events.map(|it| it["reason"].as_str().unwrap_or_default().to_owned()).collect();
        reasons.sort();
        reasons
    };
    let list = case
        .until(&path, "the start", |list| reasons(list).iter().any(|it| it == "Started"))
        .await?;
    for reason in ["Created", "Pulled", "Scheduled", "Started"] {
        assert!(reasons(&list).iter().any(|it| it == reason), "{reason}: {:?}", reasons(&list));
    }
    Ok(())
}
