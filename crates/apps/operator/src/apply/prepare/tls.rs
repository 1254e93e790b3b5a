//! The cluster's TLS settings, in the configuration of a server.

use serde_json::{Value, json};

use crate::cluster::TlsProfile;

/// The configurations that have them, by API version and kind.
const CONFIGURATIONS: [(&str, &str); 2] = [
    ("operator.openshift.io/v1alpha1", "GenericOperatorConfig"),
    ("config.openshift.io/v1", "GenericControllerConfig"),
];

/// As much as a ConfigMap can hold.
const LONGEST: usize = 1024 * 1024;

/// Sets what a configuration says about TLS, if the text is one; everything else stays as it is
/// written.
pub(super) fn inject(text: &mut Value, profile: &TlsProfile) {
    let Some(before) = text.as_str() else { return };
    let Some(configuration) = read(before) else { return };
    let wanted = with_profile(&configuration, profile);
    if wanted != configuration {
        let edited = edited(before, profile);
        // Whatever is written in another way than usual is written anew: JSON is YAML, too.
        *text = match read(&edited) {
            Some(read) if read == wanted => json!(edited),
            _ => json!(wanted.to_string()),
        };
    }
}

/// The text as a configuration that has TLS settings.
fn read(text: &str) -> Option<Value> {
    if text.len() > LONGEST {
        return None;
    }
    let value: Value = serde_saphyr::from_str(text).ok()?;
    let is_known = CONFIGURATIONS
        .iter()
        .any(|(version, kind)| value["apiVersion"] == *version && value["kind"] == *kind);
    is_known.then_some(value)
}

fn with_profile(configuration: &Value, profile: &TlsProfile) -> Value {
    let mut wanted = configuration.clone();
    let serving = &mut wanted["servingInfo"];
    if !serving.is_object() {
        *serving = json!({});
    }
    let Some(serving) = serving.as_object_mut() else { return wanted };
    serving.remove("minTLSVersion");
    serving.remove("cipherSuites");
    if !profile.min_version.is_empty() {
        serving.insert("minTLSVersion".to_owned(), json!(profile.min_version));
    }
    if !profile.cipher_suites.is_empty() {
        serving.insert("cipherSuites".to_owned(), json!(profile.cipher_suites));
    }
    wanted
}

/// The text with other lines for the settings, where it is written in lines.
fn edited(text: &str, profile: &TlsProfile) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let begin = lines.iter().position(|line| line.trim_end() == "servingInfo:");
    let (before, rest) = lines.split_at(begin.unwrap_or(lines.len()));
    let inside = rest.get(1..).unwrap_or_default();
    let length = inside.iter().position(|line| is_top_level(line)).unwrap_or(inside.len());
    let (inside, after) = inside.split_at(length);
    let indent = inside.iter().find(|line| !line.trim().is_empty()).map_or(2, |line| indent(line));
    let mut edited: Vec<String> = before.iter().map(|&line| line.to_owned()).collect();
    edited.push("servingInfo:".to_owned());
    edited.extend(without_settings(inside, indent).map(str::to_owned));
    edited.extend(settings(profile, indent));
    edited.extend(after.iter().map(|&line| line.to_owned()));
    edited.join("\n") + if text.ends_with('\n') { "\n" } else { "" }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn is_top_level(line: &str) -> bool {
    indent(line) == 0 && !line.trim().is_empty()
}

/// The lines of the section that say something else.
fn without_settings<'a>(
    inside: &[&'a str],
    indent_of_fields: usize,
) -> impl Iterator<Item = &'a str> {
    let mut in_settings = false;
    inside.iter().copied().filter(move |line| {
        let is_item = line.trim_start().starts_with("- ");
        if indent(line) <= indent_of_fields && !is_item {
            let field = line.trim_start();
            in_settings = field.starts_with("minTLSVersion:") || field.starts_with("cipherSuites:");
        }
        !in_settings
    })
}

fn settings(profile: &TlsProfile, indent: usize) -> Vec<String> {
    let pad = " ".repeat(indent);
    let mut lines = Vec::new();
    if !profile.min_version.is_empty() {
        lines.push(format!("{pad}minTLSVersion: {}", profile.min_version));
    }
    if !profile.cipher_suites.is_empty() {
        lines.push(format!("{pad}cipherSuites:"));
        lines.extend(profile.cipher_suites.iter().map(|cipher| format!("{pad}- {cipher}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> TlsProfile {
        TlsProfile {
            min_version: "VersionTLS12".to_owned(),
            cipher_suites: vec!["TLS_AES_128_GCM_SHA256".to_owned(), "TLS_B".to_owned()],
        }
    }

    fn injected(text: &str, profile: &TlsProfile) -> String {
        let mut text = json!(text);
        inject(&mut text, profile);
        text.as_str().unwrap().to_owned()
    }

    #[test]
    fn settings_are_set_and_everything_else_stays_as_it_is_written() {
        let text = "# ours\napiVersion: operator.openshift.io/v1alpha1\nkind: GenericOperatorConfig\n\
                    servingInfo:\n  bindAddress: \"0.0.0.0:8443\" # everywhere\n  cipherSuites:\n  - OLD\n\
                    leaderElection:\n  disable: true\n";
        insta::assert_snapshot!(injected(text, &profile()), @r#"
        # ours
        apiVersion: operator.openshift.io/v1alpha1
        kind: GenericOperatorConfig
        servingInfo:
          bindAddress: "0.0.0.0:8443" # everywhere
          minTLSVersion: VersionTLS12
          cipherSuites:
          - TLS_AES_128_GCM_SHA256
          - TLS_B
        leaderElection:
          disable: true
        "#);
        let once = injected(text, &profile());
        assert_eq!(injected(&once, &profile()), once);
        let cleared = injected(&once, &TlsProfile::default());
        assert!(!cleared.contains("TLS") && cleared.contains("# everywhere"), "{cleared}");
    }

    #[test]
    fn a_configuration_without_the_section_gets_one() {
        let text = "kind: GenericControllerConfig\napiVersion: config.openshift.io/v1\n";
        let expected = json!({
            "kind": "GenericControllerConfig", "apiVersion": "config.openshift.io/v1",
            "servingInfo": {
                "minTLSVersion": "VersionTLS12", "cipherSuites": ["TLS_AES_128_GCM_SHA256", "TLS_B"],
            },
        });
        assert_eq!(read(&injected(text, &profile())), Some(expected.clone()));
        let in_json = expected.to_string().replace("VersionTLS12", "VersionTLS10");
        assert_eq!(read(&injected(&in_json, &profile())), Some(expected));
    }

    #[test]
    fn what_is_no_such_configuration_stays() {
        for text in
            ["", "a: [", "kind: GenericControllerConfig\napiVersion: v1\n", "servingInfo:\n"]
        {
            assert_eq!(injected(text, &profile()), text);
        }
    }
}
