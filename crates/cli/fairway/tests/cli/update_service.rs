//! `fairway update-service`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use fairway_testbed::process::resident_bytes;
use fairway_testbed::wait::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::graph::{GRAPH, GraphFiles, IMAGES};
use crate::{fairway, refusals, transcript};

/// Longer than any step of these tests.
const STEP_TIMEOUT: Duration = Duration::from_mins(2);

/// Options for the served files.
pub(crate) const FILES: [&str; 2] = ["--graph-data=graph-data", "--releases=releases.json"];

/// A ready update service. Dropping it kills the process.
pub(crate) struct UpdateServiceProcess {
    child: Child,
    greeting: String,
    /// The addresses in the order of the greeting.
    pub(crate) addresses: Vec<String>,
}

impl UpdateServiceProcess {
    pub(crate) fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = fairway();
        command.current_dir(directory).args(["update-service", "--address=127.0.0.1:0"]);
        command
            .args(["--drain=0s", "-q"])
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        while !greeting.contains("Ctrl-C") {
            assert!(stdout.read_line(&mut greeting).unwrap() > 0, "the service ended: {greeting}");
        }
        let mut addresses: Vec<String> = Vec::new();
        for after in greeting.split("http://").skip(1) {
            let address = after.split('/').next().unwrap().to_owned();
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        Self { child, greeting, addresses }
    }

    /// Waits for a graph. Returns its nodes.
    pub(crate) fn nodes(&self, channel: &str) -> Vec<Value> {
        let path = format!("/api/upgrades_info/v1/graph?channel={channel}");
        let body = until("a graph", STEP_TIMEOUT, || {
            let answer = get(&self.addresses[0], &path);
            let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
            Ok(body.filter(|_| answer.starts_with("HTTP/1.1 200 ")))
        });
        let graph: Value = serde_json::from_str(&body.unwrap()).unwrap();
        graph["nodes"].as_array().unwrap().clone()
    }
}

impl Drop for UpdateServiceProcess {
    fn drop(&mut self) {
        // An error means that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn start_prints_addresses_and_sigterm_stops_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut service = UpdateServiceProcess::start(directory.path(), &FILES);
    let address = &service.addresses[0];
    insta::assert_snapshot!(service.greeting.replace(address, "ADDRESS"), @"
    Serving update graphs at http://ADDRESS/api/upgrades_info/graph.

      curl 'http://ADDRESS/api/upgrades_info/graph?channel=CHANNEL&arch=amd64'
      curl http://ADDRESS/readyz

    Press Ctrl-C to stop; the grace period is 0 s. Press it twice to stop immediately.
    ");
    assert!(get(address, "/healthz").starts_with("HTTP/1.1 200 "));

    kill_process(Pid::from_child(&service.child), Signal::INT).unwrap();
    assert_eq!(service.child.wait().unwrap().code(), Some(0));
}

/// Writes a graph with a number of risks.
fn write_graph(directory: &Path, risks: usize, length: usize) {
    for folder in ["channels", "blocked-edges"] {
        fs::create_dir_all(directory.join("graph-data").join(folder)).unwrap();
    }
    let write = |path: &str, text: String| fs::write(directory.join(path), text).unwrap();
    write("graph-data/version", "1.1.0".to_owned());
    write("graph-data/channels/c.yaml", "name: stable-5.1\nversions: [5.1.0, 5.1.1]\n".to_owned());
    for risk in 0..risks {
        let message = "x".repeat(length);
        let text = format!(
            "to: 5.1.1\nfrom: .*\nurl: https://example.com\nname: Risk{risk}\nmessage: {message}\nmatchingRules: [{{type: Always}}]\n"
        );
        write(&format!("graph-data/blocked-edges/{risk}.yaml"), text);
    }
    let release = |version: &str, previous: &str| {
        format!(
            r#"{{"image":"example/release@sha256:{version}","arch":"amd64","release-metadata":{{"kind":"cincinnati-metadata-v0","version":"{version}","previous":[{previous}]}}}}"#
        )
    };
    let list = [release("5.1.0", ""), release("5.1.1", r#""5.1.0""#)].join(",");
    write("releases.json", format!("[{list}]"));
}

#[test]
fn memory_is_bounded_with_malicious_clients() {
    let directory = tempfile::tempdir().unwrap();
    write_graph(directory.path(), 12, 900 << 10);
    let arguments = ["--max-connections=64", "--status-address=127.0.0.1:0"];
    let service = UpdateServiceProcess::start(directory.path(), &[&FILES[..], &arguments].concat());
    let [address, probes] = &service.addresses[..] else { panic!("{}", service.greeting) };
    let until = |what: &str, reached: &dyn Fn() -> bool| {
        until(what, STEP_TIMEOUT, || Ok(reached().then_some(()))).unwrap();
    };
    until("a graph", &|| get(probes, "/readyz").starts_with("HTTP/1.1 200 "));
    let graph = "/api/upgrades_info/graph?channel=stable-5.1";
    assert!(get(address, graph).len() > 10 << 20);
    let before = resident_bytes(service.child.id()).unwrap();

    // Some clients pipeline requests and read nothing, others never finish their headers.
    let asked = format!("GET {graph} HTTP/1.1\r\nhost: x\r\n\r\n").repeat(100);
    let endless = format!("GET / HTTP/1.1\r\nx: {}", "x".repeat(30 << 10));
    let mut clients = Vec::new();
    for number in 0..200 {
        let mut client = TcpStream::connect(address).unwrap();
        let request = if number % 2 == 0 { &asked } else { &endless };
        // The service may have closed the connection.
        client.set_nonblocking(true).unwrap();
        let _ = client.write(request.as_bytes());
        clients.push(client);
    }
    let crowded = |line: &str| {
        let count = line.strip_prefix("fairway_update_service_connections ");
        count.is_some_and(|count| count.parse::<u32>().unwrap() >= 64)
    };
    until("all places to be taken", &|| get(probes, "/metrics").lines().any(crowded));
    // Each pending response has ten of these.
    let grown = resident_bytes(service.child.id()).unwrap().saturating_sub(before);
    assert!(grown < 100 << 20, "{} MiB more", grown >> 20);
    assert!(get(probes, "/readyz").starts_with("HTTP/1.1 200 "));
    drop(clients);
    until("the others to be served", &|| get(address, graph).starts_with("HTTP/1.1 200 "));
}

#[test]
fn graph_of_files_is_served() {
    let files = GraphFiles::new();
    let service = UpdateServiceProcess::start(files.path(), &GRAPH);
    assert_eq!(service.nodes("stable-5.1").len(), 4);
    assert_eq!(service.nodes("fast-5.1").len(), 5);
}

#[test]
fn graph_of_images_is_served() {
    let files = GraphFiles::new();
    files.images();
    let service = UpdateServiceProcess::start(files.path(), &IMAGES);
    let nodes = service.nodes("stable-5.1");
    assert_eq!(nodes.len(), 1);
    let payload = nodes[0]["payload"].as_str().unwrap();
    assert!(payload.starts_with("registry.example/releases@sha256:"), "{payload}");
}

fn get(address: &str, path: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    // A connection that the service refuses may be reset.
    let _ = connection.read_to_string(&mut answer);
    answer
}

#[test]
fn invalid_settings_are_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = |arguments: &[&str]| {
        let inputs = ["update-service", "--graph-data=d", "--releases=r"];
        transcript(fairway().args(inputs).args(arguments)).replace(&address, "ADDRESS")
    };
    let printed = [
        run(&["--address", &address]),
        run(&["--address=127.0.0.1:0", "--path-prefix=graphs/"]),
        run(&["--address=127.0.0.1:0", "--tls-cert=missing.crt", "--tls-key=missing.key"]),
        run(&["--tls-cert=tls.crt"]),
        run(&["--refresh=often"]),
        run(&["--registry=registry.example/releases"]),
        run(&["--graph-data-image=registry.example/graph-data"]),
        transcript(fairway().args(["update-service", "--graph-data=d"])),
    ];
    insta::assert_snapshot!(refusals(printed), @r#"
    1: error: cannot start the update service
      caused by: cannot listen on ADDRESS
      caused by: Address already in use (os error 98)
    hint: specify another address with --address or --status-address
    1: error: cannot start the update service
      caused by: prefix "graphs/" must start with / and must not end with /
    hint: specify a prefix such as /api/upgrades_info
    1: error: cannot start the update service
      caused by: cannot read missing.crt
      caused by: I/O error: No such file or directory (os error 2)
    hint: check that --tls-cert and --tls-key are matching PEM files
    2: error: the following required arguments were not provided:
      --tls-key <FILE>

    Usage: fairway update-service --tls-cert <FILE> --tls-key <FILE> <--graph-data <PATH>|--graph-data-image <IMAGE>> <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>>
    2: error: invalid value 'often' for '--refresh <DURATION>': not a duration such as 30s, 5m or 1h
    2: error: the argument '--releases <FILE>' cannot be used with '--registry <REPOSITORY>'

    Usage: fairway update-service <--graph-data <PATH>|--graph-data-image <IMAGE>> <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>>
    2: error: the argument '--graph-data <PATH>' cannot be used with '--graph-data-image <IMAGE>'

    Usage: fairway update-service <--graph-data <PATH>|--graph-data-image <IMAGE>> <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>>
    2: error: the following required arguments were not provided:
      <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>>

    Usage: fairway update-service <--graph-data <PATH>|--graph-data-image <IMAGE>> <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>>
    "#);
}
