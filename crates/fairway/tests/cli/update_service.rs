//! `fairway update-service`, as somebody at a terminal meets it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::{fairway, transcript};

#[test]
fn it_says_where_it_is_and_ends_when_it_is_told_to() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = fairway();
    command.current_dir(directory.path()).args(["update-service", "--address=127.0.0.1:0"]);
    command.args(["--graph-data=graph-data", "--releases=releases.json", "--drain=0s", "-q"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut greeting = String::new();
    while !greeting.contains("Ctrl-C") {
        assert!(stdout.read_line(&mut greeting).unwrap() > 0, "the service ended: {greeting}");
    }
    let address = greeting.split('/').nth(2).unwrap();
    insta::assert_snapshot!(greeting.replace(address, "ADDRESS"), @"
    Update graphs are served at http://ADDRESS/api/upgrades_info/graph.

      curl 'http://ADDRESS/api/upgrades_info/graph?channel=CHANNEL&arch=amd64'
      curl http://ADDRESS/readyz

    Ctrl-C ends it; it goes on answering for 0 s. Twice, and it ends at once.
    ");
    assert!(get(address, "/healthz").starts_with("HTTP/1.1 200 "));

    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

fn get(address: &str, path: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn what_keeps_it_from_starting() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = |arguments: &[&str]| {
        let inputs = ["update-service", "--graph-data=d", "--releases=r"];
        transcript(fairway().args(inputs).args(arguments)).replace(&address, "ADDRESS")
    };
    let said = [
        run(&["--address", &address]),
        run(&["--address=127.0.0.1:0", "--path-prefix=graphs/"]),
        run(&["--address=127.0.0.1:0", "--tls-cert=missing.crt", "--tls-key=missing.key"]),
        run(&["--tls-cert=tls.crt"]),
        run(&["--refresh=often"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    exit code: 1
    ----- stderr -----
    error: the update service cannot start
      caused by: cannot listen on ADDRESS
      caused by: Address already in use (os error 98)
    hint: choose another address with --address

    exit code: 1
    ----- stderr -----
    error: the update service cannot start
      caused by: the prefix "graphs/" has to begin with / and must not end with it
    hint: a prefix looks like /api/upgrades_info

    exit code: 1
    ----- stderr -----
    error: the update service cannot start
      caused by: cannot read missing.crt
      caused by: I/O error: No such file or directory (os error 2)
    hint: --tls-cert and --tls-key name PEM files that belong together

    exit code: 2
    ----- stderr -----
    error: the following required arguments were not provided:
      --tls-key <FILE>

    Usage: fairway update-service --graph-data <PATH> --releases <FILE> --tls-cert <FILE> --tls-key <FILE>

    For more information, try '--help'.

    exit code: 2
    ----- stderr -----
    error: invalid value 'often' for '--refresh <DURATION>': not a time such as 30s, 5m or 1h

    For more information, try '--help'.
    "#);
}
