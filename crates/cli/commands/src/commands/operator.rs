//! `fairway operator`: the cluster-version operator.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use fairway_cincinnati::query::UpdateServices;
use fairway_election::{ElectionSettings, Identity, LeaseName};
use fairway_operator::OperatorError;
use fairway_operator::endpoint::{self, EndpointError, EndpointSettings, TlsFiles};
use fairway_operator::settings::{
    self, MetricsSource, PreflightPod, PreflightSettings, PrometheusSettings, ReleaseSettings,
    ResultsDirectory, RiskSettings, SelectionSettings, Settings, TargetSettings,
};
use fairway_operator::stage::updates;
use fairway_risk::QueryPolicy;
use fairway_watch::{READ_TIMEOUT, with_read_timeout};
use http::HeaderValue;
use http::header::USER_AGENT;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::stop_signals::StopSignals;
use crate::args::lease;
use crate::args::operator::{
    CheckNetwork, ElectionArgs, EndpointArgs, MetricsArgs, MetricsAuth, OnUpdate, OperatorArgs,
    PreflightArgs, ReleaseArgs, UnacceptedRisks,
};
use crate::cluster::{PROGRAM, account};
use crate::errors::{HintExt as _, WithHint, WrongUsage};
use crate::exit::ExitStatus;
use crate::mounted;
use crate::printer::Printer;

/// The Lease has the name of ClusterVersion, as that of the Go operator, so that both never lead.
const LEASE: &str = "version";

/// Poll interval of certificate files: the kubelet updates mounted files about once a minute.
const CERTIFICATE_POLL_INTERVAL: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &OperatorArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the operator")?;
    runtime.block_on(operate(args, printer))
}

async fn operate(args: &OperatorArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let signals = StopSignals::new()?;
    let identity = identity(&args.election)?;
    let settings = settings(args, identity.name())?;
    let client = client(args.kubeconfig.as_deref()).await?;
    let stop = CancellationToken::new();
    let running = fairway_operator::run(client, settings, stop.clone());
    Box::pin(signals.run(running, &stop, printer)).await.map_err(advise)?;
    Ok(ExitStatus::Success)
}

fn settings(args: &OperatorArgs, identity: &str) -> Result<Settings, WrongUsage> {
    Ok(Settings {
        node_name: args.node_name.clone(),
        release: ReleaseSettings {
            image: args.release_image.clone(),
            payload: args.payload.clone(),
        },
        election: election(&args.election, identity),
        endpoint: endpoint(&args.endpoint),
        probes: args.endpoint.probe_listen.0,
        updates: updates::Settings {
            services: UpdateServices {
                instead: args.updates.update_service.clone(),
                ..UpdateServices::default()
            },
            ..updates::Settings::default()
        },
        risks: RiskSettings {
            metrics: metrics(&args.metrics)?,
            min_interval: args.updates.promql_min_interval,
            burst: args.updates.promql_burst,
            policy: QueryPolicy { metrics: args.updates.promql_allow.clone() },
        },
        target: target(&args.releases),
        preflight: preflight(&args.preflight),
        max_watch_age: fairway_watch::MAX_WATCH_AGE,
    })
}

fn target(args: &ReleaseArgs) -> TargetSettings {
    TargetSettings {
        unaccepted_risks: match args.unaccepted_risks {
            UnacceptedRisks::Gate => settings::UnacceptedRiskPolicy::Gate,
            UnacceptedRisks::Record => settings::UnacceptedRiskPolicy::Record,
        },
        images: args.content.layouts(),
        selection: SelectionSettings {
            profile: args.content.profile(),
            exclude: args.content.exclude(),
            always_enabled: args
                .always_enable_capabilities
                .iter()
                .filter(|name| !name.is_empty())
                .cloned()
                .collect(),
        },
    }
}

fn preflight(args: &PreflightArgs) -> PreflightSettings {
    PreflightSettings {
        enabled: !args.disable_preflight,
        on_update: match args.preflight_on_update {
            // Without preflights, an update would wait for their results forever.
            _ if args.disable_preflight => settings::OnUpdate::Off,
            OnUpdate::Off => settings::OnUpdate::Off,
            OnUpdate::Report => settings::OnUpdate::Report,
            OnUpdate::Require => settings::OnUpdate::Require,
        },
        results: ResultsDirectory {
            here: mounted::at(&args.preflight_results_dir),
            on_node: args.preflight_results_dir.clone(),
        },
        timeout: args.preflight_timeout,
        egress: args.preflight_egress.clone(),
        grant_secrets: args.preflight_grant_secrets,
        check_network: network(args.preflight_check_network),
        pod: PreflightPod {
            memory_limit: args.preflight_memory_limit.clone(),
            cpu_limit: args.preflight_cpu_limit.clone(),
            tolerations: args.preflight_tolerations.clone(),
            node_selector: args.preflight_node_selector.iter().cloned().collect(),
            priority_class: args.preflight_priority_class.clone(),
            network: network(args.preflight_network),
        },
    }
}

fn network(network: CheckNetwork) -> settings::CheckNetwork {
    match network {
        CheckNetwork::Pod => settings::CheckNetwork::Pod,
        CheckNetwork::Host => settings::CheckNetwork::Host,
    }
}

fn election(args: &ElectionArgs, identity: &str) -> ElectionSettings {
    ElectionSettings {
        lease: LeaseName { namespace: args.namespace.clone(), name: LEASE.to_owned() },
        identity: identity.to_owned(),
        timing: args.lease.timing(),
    }
}

fn endpoint(args: &EndpointArgs) -> Option<EndpointSettings> {
    let files = args.serving_cert_file.clone().zip(args.serving_key_file.clone());
    let tls = files.map(|(certificate, key)| TlsFiles {
        certificate,
        key,
        every: CERTIFICATE_POLL_INTERVAL,
    });
    args.listen.0.map(|listen| EndpointSettings {
        listen,
        tls,
        client_ca: args.client_ca_file.clone(),
        auth: metrics_auth(args.metrics_auth),
    })
}

pub(super) fn metrics_auth(auth: MetricsAuth) -> endpoint::MetricsAuth {
    match auth {
        MetricsAuth::Token => endpoint::MetricsAuth::Token,
        MetricsAuth::None => endpoint::MetricsAuth::None,
    }
}

fn metrics(args: &MetricsArgs) -> Result<MetricsSource, WrongUsage> {
    if let Some(file) = &args.metrics_snapshot {
        return Ok(MetricsSource::Snapshot(file.clone()));
    }
    let names_a_user = |url: &Url| !url.username().is_empty() || url.password().is_some();
    if args.metrics_url.as_ref().is_some_and(names_a_user) {
        // Checked here: an error of the argument parser would print the password.
        return Err(WrongUsage(
            "--metrics-url must not contain a user or a password; write a token to a file and \
             specify it with --metrics-token-file"
                .to_owned(),
        ));
    }
    Ok(MetricsSource::Prometheus(PrometheusSettings {
        url: args.metrics_url.clone(),
        namespace: args.metrics_namespace.clone(),
        service: args.metrics_service.clone(),
        use_dns: args.use_dns_for_services,
        ca_bundle: args.metrics_ca_bundle_file.clone(),
        token: args.metrics_token_file.clone(),
    }))
}

fn identity(args: &ElectionArgs) -> anyhow::Result<Identity> {
    if let Some(uid) = args.pod_uid.as_deref().filter(|uid| !uid.is_empty()) {
        return Ok(Identity::of_pod(uid));
    }
    let file = args.identity_file.clone().unwrap_or_else(|| state_file("operator-identity"));
    Identity::of_host(&file).with_hint(
        format!("cannot store the identity of the operator in {}", file.display()),
        "specify a writable file with --identity-file; in a pod, set POD_UID to its UID",
    )
}

/// Path of a file with persistent state.
pub(super) fn state_file(name: &str) -> PathBuf {
    let of = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    state_directory(of("XDG_STATE_HOME"), of("HOME")).join(name)
}

fn state_directory(state: Option<PathBuf>, home: Option<PathBuf>) -> PathBuf {
    let state = state.or_else(|| Some(home?.join(".local/state")));
    state.unwrap_or_else(|| PathBuf::from("/var/lib")).join("fairway")
}

/// Creates a client of a long-running command, from a pod or with a kubeconfig.
pub(super) async fn client(kubeconfig: Option<&Path>) -> anyhow::Result<Client> {
    connect(config(kubeconfig).await?)
}

/// Creates a client for a configuration.
pub(super) fn connect(config: Config) -> anyhow::Result<Client> {
    Client::try_from(config).with_context(no_configuration)
}

/// Loads the client configuration of a long-running command, from a pod or with a kubeconfig.
pub(super) async fn config(kubeconfig: Option<&Path>) -> anyhow::Result<Config> {
    let config = match kubeconfig {
        None => account::infer().await,
        Some(path) => from_kubeconfig(path).await,
    };
    let mut config = config.with_context(no_configuration)?;
    config.headers.push((USER_AGENT, HeaderValue::from_static(PROGRAM)));
    Ok(with_read_timeout(config, READ_TIMEOUT))
}

fn no_configuration() -> WithHint {
    WithHint::new(
        "cannot load the cluster configuration",
        "specify a kubeconfig with --kubeconfig or KUBECONFIG; in a pod, use a ServiceAccount",
    )
}

async fn from_kubeconfig(path: &Path) -> anyhow::Result<Config> {
    let read = Kubeconfig::read_from(path)?;
    Ok(Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?)
}

/// Adds a hint to an error.
fn advise(error: OperatorError) -> anyhow::Error {
    let hint = match &error {
        OperatorError::OwnRelease(_) => {
            "run the operator in its release image, or specify the directory of a payload with \
             --payload"
        }
        OperatorError::TaskFailed(_) => "this is a bug in Fairway; see the log for details",
        OperatorError::Timing(_) => lease::ADVICE,
        OperatorError::Endpoint(EndpointError::Tls(_)) => {
            "check that --serving-cert-file and --serving-key-file are matching PEM files"
        }
    };
    let message = match &error {
        OperatorError::TaskFailed(_) => "the operator stopped unexpectedly",
        _ => "cannot start the operator",
    };
    let message = message.to_owned();
    anyhow::Error::from(error).context(WithHint::new(message, hint))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use fairway_election::Timing;
    use k8s_openapi::api::core::v1::Toleration;

    use super::*;
    use crate::args::{Args, Command};

    fn parse(arguments: &[&str]) -> Settings {
        try_parse(arguments).unwrap()
    }

    fn try_parse(arguments: &[&str]) -> Result<Settings, WrongUsage> {
        let given =
            ["fairway", "operator", "--node-name=node", "--release-image=registry.example/a"];
        let Command::Operator(args) = Args::parse_from(given.iter().chain(arguments)).command
        else {
            panic!("another command");
        };
        settings(&args, "identity")
    }

    #[test]
    fn defaults_match_existing_clusters() {
        insta::assert_debug_snapshot!(parse(&[]), @r#"
        Settings {
            node_name: "node",
            release: ReleaseSettings {
                image: "registry.example/a",
                payload: "/",
            },
            election: ElectionSettings {
                lease: LeaseName {
                    namespace: "openshift-cluster-version",
                    name: "version",
                },
                identity: "identity",
                timing: Timing {
                    lease: 137s,
                    renew: 107s,
                    retry: 26s,
                },
            },
            endpoint: Some(
                EndpointSettings {
                    listen: 0.0.0.0:9099,
                    tls: None,
                    client_ca: None,
                    auth: Token,
                },
            ),
            probes: Some(
                127.0.0.1:9098,
            ),
            updates: Settings {
                services: UpdateServices {
                    instead: None,
                    default: Some(
                        "https://api.openshift.com/api/upgrades_info/v1/graph",
                    ),
                },
                pace: RequestIntervals {
                    every: 120s..=240s,
                    retry: 10s,
                    gap: 1s,
                },
                timeouts: FetchTimeouts {
                    connect: 10s,
                    silence: 15s,
                    answer: 60s,
                },
            },
            risks: RiskSettings {
                metrics: Prometheus(
                    PrometheusSettings {
                        url: None,
                        namespace: "openshift-monitoring",
                        service: "thanos-querier",
                        use_dns: false,
                        ca_bundle: "/etc/tls/service-ca/service-ca.crt",
                        token: "/var/run/secrets/kubernetes.io/serviceaccount/token",
                    },
                ),
                min_interval: 1s,
                burst: 8,
                policy: QueryPolicy {
                    metrics: None,
                },
            },
            target: TargetSettings {
                unaccepted_risks: Gate,
                images: [],
                selection: SelectionSettings {
                    profile: "self-managed-high-availability",
                    exclude: None,
                    always_enabled: {},
                },
            },
            preflight: PreflightSettings {
                enabled: true,
                on_update: Off,
                results: ResultsDirectory {
                    here: "/var/lib/fairway/preflight",
                    on_node: "/var/lib/fairway/preflight",
                },
                timeout: 3600s,
                check_network: Pod,
                egress: [],
                grant_secrets: false,
                pod: PreflightPod {
                    memory_limit: "512Mi",
                    cpu_limit: "500m",
                    tolerations: None,
                    node_selector: {},
                    priority_class: None,
                    network: Pod,
                },
            },
            max_watch_age: 600s,
        }
        "#);
    }

    #[test]
    fn update_and_risk_options_are_applied() {
        let settings = parse(&[
            "--update-service=https://updates.example/graph",
            "--promql-min-interval=10m",
            "--promql-burst=1",
            "--promql-allow=cluster_*,up",
        ]);
        let service = settings.updates.services.instead.unwrap();
        assert_eq!(service.as_str(), "https://updates.example/graph");
        let RiskSettings { min_interval, burst, policy, .. } = settings.risks;
        assert_eq!((min_interval, burst), (Duration::from_mins(10), 1));
        assert_eq!(policy.metrics.unwrap(), ["cluster_*", "up"]);
    }

    #[test]
    fn release_options_are_applied() {
        let settings = parse(&[
            "--unaccepted-risks=record",
            "--image-layouts=/images,/more",
            "--cluster-profile=single-node",
            "--exclude-manifests=internal",
            "--always-enable-capabilities=Ingress,Console",
        ]);
        let expected = TargetSettings {
            unaccepted_risks: settings::UnacceptedRiskPolicy::Record,
            images: vec!["/images".into(), "/more".into()],
            selection: SelectionSettings {
                profile: "single-node".to_owned(),
                exclude: Some("internal".to_owned()),
                always_enabled: ["Ingress", "Console"].map(str::to_owned).into(),
            },
        };
        assert_eq!(settings.target, expected);
        let nothing = parse(&["--exclude-manifests=", "--always-enable-capabilities="]);
        assert_eq!(nothing.target, TargetSettings::default());
    }

    #[test]
    fn preflight_options_are_applied() {
        assert_eq!(parse(&[]).preflight, PreflightSettings::default());
        let settings = parse(&[
            "--preflight-on-update=require",
            "--preflight-results-dir=/data/preflight",
            "--preflight-timeout=10m",
            "--preflight-memory-limit=1Gi",
            "--preflight-cpu-limit=2",
            "--preflight-tolerations=dedicated=infra:NoSchedule,slow",
            "--preflight-node-selector=disk=large,zone=a",
            "--preflight-priority-class=low",
            "--preflight-check-network=host",
            "--preflight-grant-secrets",
            "--preflight-network=host",
            "--preflight-egress=192.0.2.0/24",
        ]);
        let toleration =
            |key: &str, operator: &str, value: Option<&str>, effect: Option<&str>| Toleration {
                key: Some(key.to_owned()),
                operator: Some(operator.to_owned()),
                value: value.map(str::to_owned),
                effect: effect.map(str::to_owned),
                toleration_seconds: None,
            };
        let expected = PreflightSettings {
            enabled: true,
            on_update: settings::OnUpdate::Require,
            results: ResultsDirectory::at("/data/preflight"),
            timeout: Duration::from_mins(10),
            check_network: settings::CheckNetwork::Host,
            egress: vec!["192.0.2.0/24".to_owned()],
            grant_secrets: true,
            pod: PreflightPod {
                memory_limit: "1Gi".to_owned(),
                cpu_limit: "2".to_owned(),
                tolerations: Some(vec![
                    toleration("dedicated", "Equal", Some("infra"), Some("NoSchedule")),
                    toleration("slow", "Exists", None, None),
                ]),
                node_selector: [("disk", "large"), ("zone", "a")]
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .into(),
                priority_class: Some("low".to_owned()),
                network: settings::CheckNetwork::Host,
            },
        };
        assert_eq!(settings.preflight, expected);
    }

    #[test]
    fn disabled_preflights_are_not_required() {
        for on_update in ["off", "report", "require"] {
            let on_update = format!("--preflight-on-update={on_update}");
            let given = parse(&["--disable-preflight", &on_update]).preflight;
            let expected = PreflightSettings { enabled: false, ..PreflightSettings::default() };
            assert_eq!(given, expected, "{on_update}");
        }
    }

    #[test]
    fn metrics_options_are_applied() {
        let settings = parse(&[
            "--metrics-url=https://prometheus.example",
            "--metrics-ca-bundle-file=ca.crt",
            "--metrics-token-file=token",
            "--metrics-namespace=monitoring",
            "--metrics-service=prometheus",
            "--use-dns-for-services",
        ]);
        let expected = PrometheusSettings {
            url: Some("https://prometheus.example".parse().unwrap()),
            namespace: "monitoring".into(),
            service: "prometheus".into(),
            use_dns: true,
            ca_bundle: "ca.crt".into(),
            token: "token".into(),
        };
        assert_eq!(settings.risks.metrics, MetricsSource::Prometheus(expected));
    }

    #[test]
    fn metrics_url_with_credentials_is_refused() {
        for url in ["https://me:secret@a.example", "https://me@a.example", "https://:secret@a"] {
            let WrongUsage(why) = try_parse(&[&format!("--metrics-url={url}")]).unwrap_err();
            assert!(why.starts_with("--metrics-url ") && !why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn lease_and_endpoint_options_are_applied() {
        let settings = parse(&[
            "--namespace=here",
            "--lease-duration=270s",
            "--lease-renew-deadline=240s",
            "--lease-retry-period=1m",
            "--listen=127.0.0.1:0",
            "--probe-listen=127.0.0.1:1",
            "--serving-cert-file=tls.crt",
            "--serving-key-file=tls.key",
            "--client-ca-file=ca.crt",
            "--metrics-auth=none",
        ]);
        let seconds = Duration::from_secs;
        let timing = Timing { lease: seconds(270), renew: seconds(240), retry: seconds(60) };
        assert_eq!(settings.election.timing, timing);
        assert_eq!(settings.election.lease.namespace, "here");
        let EndpointSettings { listen, tls, client_ca, auth } = settings.endpoint.unwrap();
        assert_eq!(listen, "127.0.0.1:0".parse().unwrap());
        assert_eq!(settings.probes, Some("127.0.0.1:1".parse().unwrap()));
        assert_eq!((client_ca, auth), (Some("ca.crt".into()), endpoint::MetricsAuth::None));
        assert_eq!(tls.map(|files| files.certificate), Some("tls.crt".into()));
    }

    #[test]
    fn empty_listen_address_disables_the_endpoint() {
        assert!(parse(&["--listen="]).endpoint.is_none());
        assert!(parse(&["--probe-listen="]).probes.is_none());
    }

    #[tokio::test]
    async fn config_has_read_timeout() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kubeconfig");
        let cluster =
            serde_json::json!({"name": "a", "cluster": {"server": "https://127.0.0.1:1"}});
        let context = serde_json::json!({"name": "a", "context": {"cluster": "a", "user": ""}});
        let kubeconfig = serde_json::json!({
            "clusters": [cluster], "contexts": [context], "current-context": "a",
        });
        std::fs::write(&file, kubeconfig.to_string()).unwrap();
        let config = config(Some(&file)).await.unwrap();
        assert_eq!(config.read_timeout, Some(READ_TIMEOUT));
    }

    #[test]
    fn metrics_snapshot_replaces_prometheus() {
        let metrics = parse(&["--metrics-snapshot=samples.txt"]).risks.metrics;
        assert_eq!(metrics, MetricsSource::Snapshot("samples.txt".into()));
    }

    #[test]
    fn state_directory_follows_xdg() {
        let path = |text: &str| Some(PathBuf::from(text));
        for (state, home, expected) in [
            (path("/state"), path("/home"), "/state/fairway"),
            (None, path("/home"), "/home/.local/state/fairway"),
            (None, None, "/var/lib/fairway"),
        ] {
            assert_eq!(state_directory(state, home), PathBuf::from(expected));
        }
    }
}
