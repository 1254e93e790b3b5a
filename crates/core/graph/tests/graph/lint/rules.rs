//! Findings of each rule, as `file:line:column-end: severity[rule]: message`.

use fairway_graph::Graph;
use fairway_graph::lint::lint;

use super::{block, block_with_query, compact, files, report_of, report_of_block, with};
use crate::support::{declare, release};

#[test]
fn schema() {
    insta::assert_snapshot!(report_of_block("from: .*\n"), @"blocked-edges/4.7.4-Risk.yaml: error[schema]: no `to`; assuming 4.7.4, from the file name");
    insta::assert_snapshot!(report_of_block("to: 4.7.4\nfrom: '4[.'\n"), @"
    blocked-edges/4.7.4-Risk.yaml:1:5-10: warning[unexplained]: this removes the update without an explanation
      help: set `url`, `name`, `message` and `matchingRules`
    blocked-edges/4.7.4-Risk.yaml:2:7-12: error[schema]: invalid `from`: unclosed character class; all updates to this version are blocked
    ");
    insta::assert_snapshot!(report_of_block("to: 4.7.4\nfrom: .*\nurl: https://example.com\n"), @"blocked-edges/4.7.4-Risk.yaml: error[schema]: no `name`, `message` and `matchingRules`; the update is blocked for all clusters");
    insta::assert_snapshot!(report_of_block("to: [4.7.4\n"), @"blocked-edges/4.7.4-Risk.yaml:1:5-11: error[schema]: invalid: field to: expected string scalar; all updates to 4.7.4 are blocked for all clusters");
    insta::assert_snapshot!(report_of(&[("version", "2.0.0\n")]), @"version: error[schema]: unsupported schema version 2.0.0 in version; the supported version is 1");
    insta::assert_snapshot!(report_of(&[("raw/metadata.json", "[]")]), @"raw/metadata.json: error[schema]: expected mapping start");
    insta::assert_snapshot!(report_of(&[("blocked-edges/4.7.4.yml", &block("4.7.4", "Risk")), ("blocked-edges/4.7.4.txt", "")]), @"
    blocked-edges/4.7.4.txt: note[schema]: skipped: not a .yaml file
    blocked-edges/4.7.4.yml: warning[schema]: rename the file to .yaml: other tools skip .yml files
    ");
}

#[test]
fn unknown_key() {
    insta::assert_snapshot!(report_of_block(&with("fixedin", "4.7.5")), @"
    blocked-edges/4.7.4-Risk.yaml:1:1-8: warning[unknown-key]: unknown key `fixedin`
      help: did you mean `fixedIn`?
    ");
    insta::assert_snapshot!(report_of_block(&with("reason", "none")), @"blocked-edges/4.7.4-Risk.yaml:1:1-7: warning[unknown-key]: unknown key `reason`");
    let misspelt =
        with("matchingRules", "[{type: PromQL, promql: {promql: vector(0) or up, query: x}}]");
    insta::assert_snapshot!(report_of_block(&misspelt.replace("- type: Always\n", "")), @"
    blocked-edges/4.7.4-Risk.yaml:1:49-64: warning[query-series]: the query may return any number of series
      help: the operator needs exactly one series: use topk(1, …), which prefers 1 over 0
    blocked-edges/4.7.4-Risk.yaml:1:66-71: warning[unknown-key]: unknown key `query`
    ");
    let other_type =
        with("matchingRules", "[{type: Platform, platform: {type: AWS}}, {type: Always}]");
    insta::assert_snapshot!(report_of_block(&other_type.replace("- type: Always\n", "")), @"blocked-edges/4.7.4-Risk.yaml:1:24-32: note[promql]: unknown type; clusters skip the rule");
}

#[test]
fn number() {
    insta::assert_snapshot!(report_of_block(&with("fixedIn", "4.10")), @"
    blocked-edges/4.7.4-Risk.yaml:1:10-14: error[number]: unquoted 4.10 is read as the number 4.1
      help: write '4.10'
    ");
    insta::assert_snapshot!(report_of_block(&with("fixedIn", "4.9")), @"
    blocked-edges/4.7.4-Risk.yaml:1:10-13: warning[number]: unquoted 4.9 is a number, not a string
      help: write '4.9'
    ");
    insta::assert_snapshot!(report_of(&[("channels/a.yaml", "name: fast-4.7\nversions:\n- 4.20\n- '4.7.4'\n")]), @r#"
    channels/a.yaml:3:3-7: error[number]: unquoted 4.20 is read as the number 4.2
      help: write '4.20'
    channels/a.yaml:3:3-7: error[schema]: "4.20" is not a version; skipped
    "#);
    assert_eq!(report_of_block(&with("fixedIn", "'4.10'")), "");
}

#[test]
fn unexplained() {
    insta::assert_snapshot!(report_of_block("to: 4.7.4\nfrom: .*\n"), @"
    blocked-edges/4.7.4-Risk.yaml:1:5-10: warning[unexplained]: this removes the update without an explanation
      help: set `url`, `name`, `message` and `matchingRules`
    ");
}

#[test]
fn url() {
    insta::assert_snapshot!(report_of_block(&with("url", "example.com/Risk")), @"blocked-edges/4.7.4-Risk.yaml:1:6-22: error[url]: not an absolute http or https URL");
    insta::assert_snapshot!(report_of_block(&with("url", "ftp://example.com/Risk")), @"blocked-edges/4.7.4-Risk.yaml:1:6-28: error[url]: not an absolute http or https URL");
    assert_eq!(report_of_block(&with("url", "http://example.com")), "");
}

#[test]
fn name() {
    insta::assert_snapshot!(report_of_block(&with("name", "snake_case_name")), @"
    blocked-edges/4.7.4-Risk.yaml:1:7-22: warning[name]: snake_case_name is not CamelCase
      help: use a name such as AuthOAuthProxyLeakedConnections
    ");
    insta::assert_snapshot!(report_of_block(&with("name", "\"Two Words\"")), @r#"
    blocked-edges/4.7.4-Risk.yaml:1:7-18: error[name]: "Two Words" is not CamelCase; the ClusterVersion API rejects it
      help: use a name such as AuthOAuthProxyLeakedConnections
    "#);
    assert_eq!(report_of_block(&with("name", "VSphereHW14")), "");
    insta::assert_snapshot!(report_of_block(&with("name", "AdminAck-ack-4.7-apis")), @"
    blocked-edges/4.7.4-Risk.yaml:1:7-28: error[name]: AdminAck-ack-4.7-apis is reserved for risks that clusters report; operators rename the risk to GraphRisk-AdminAck-ack-4.7-apis
      help: use a name such as AuthOAuthProxyLeakedConnections
    ");
}

#[test]
fn ambiguous_name() {
    let other = block("4.7.5", "Risk").replace("go wrong", "go very wrong");
    let third = block("4.7.3", "Risk");
    let report_with = |other: &str| {
        report_of(&[
            ("blocked-edges/4.7.3-Risk.yaml", &third),
            ("blocked-edges/4.7.4-Risk.yaml", &block("4.7.4", "Risk")),
            ("blocked-edges/4.7.5-Risk.yaml", other),
        ])
    };
    insta::assert_snapshot!(report_with(&other), @"
    blocked-edges/4.7.5-Risk.yaml:5:1-8: error[ambiguous-name]: Risk has a different `message` in blocked-edges/4.7.3-Risk.yaml
      help: rename one of the risks, or use the same content in both files
    ");
    let other = block("4.7.5", "Risk").replace("example.com/", "example.org/");
    insta::assert_snapshot!(report_with(&other), @"
    blocked-edges/4.7.5-Risk.yaml:3:1-4: error[ambiguous-name]: Risk has a different `url` in blocked-edges/4.7.3-Risk.yaml
      help: rename one of the risks, or use the same content in both files
    ");
    let other = block("4.7.5", "Risk").replace("type: Always", "type: Other");
    insta::assert_snapshot!(report_with(&other), @"
    blocked-edges/4.7.5-Risk.yaml:7:1-14: error[ambiguous-name]: Risk has a different `matchingRules` in blocked-edges/4.7.3-Risk.yaml
      help: rename one of the risks, or use the same content in both files
    blocked-edges/4.7.5-Risk.yaml:8:9-14: note[promql]: unknown type; clusters skip the rule
    ");
    assert_eq!(report_with(&block("4.7.5", "Risk")), "");
}

#[test]
fn tombstone() {
    let candidate = "name: candidate-4.7\nversions: ['4.7.3', '4.7.4']\ntombstones: ['4.7.4']\n";
    let fast = "name: fast-4.7\nfeeder: {name: candidate-4.7}\nversions:\n- 4.7.3\n- 4.7.4\n";
    let eus = "name: eus-4.7\nfeeder: {name: fast-4.7}\nversions:\n- 4.7.4\n";
    insta::assert_snapshot!(report_of(&[("channels/candidate-4.7.yaml", candidate), ("channels/fast-4.7.yaml", fast), ("channels/eus-4.7.yaml", eus)]), @"
    channels/eus-4.7.yaml:4:3-8: warning[tombstone]: candidate-4.7 has a tombstone for 4.7.4
    channels/fast-4.7.yaml:5:3-8: warning[tombstone]: candidate-4.7 has a tombstone for 4.7.4
    ");
    let other = candidate.replace("tombstones: ['4.7.4']", "tombstones: ['4.7.5']");
    assert_eq!(
        report_of(&[("channels/candidate-4.7.yaml", &other), ("channels/fast-4.7.yaml", fast)]),
        ""
    );
}

#[test]
fn feeders_in_a_cycle_terminate() {
    let one = "name: fast-4.7\nfeeder: {name: slow-4.7}\nversions: ['4.7.4']\n";
    let other = "name: slow-4.7\nfeeder: {name: fast-4.7}\nversions: ['4.7.4']\n";
    assert_eq!(report_of(&[("channels/a.yaml", one), ("channels/b.yaml", other)]), "");
}

#[test]
fn feeder() {
    let channel =
        |feeder: &str| format!("name: fast-4.7\nfeeder:\n  {feeder}\nversions: ['4.7.3']\n");
    let report_of_block = |feeder: &str| report_of(&[("channels/fast-4.7.yaml", &channel(feeder))]);
    insta::assert_snapshot!(report_of_block("name: fast-4.7"), @"channels/fast-4.7.yaml:3:9-17: warning[feeder]: a channel cannot feed itself");
    insta::assert_snapshot!(report_of_block("filter: .*"), @"channels/fast-4.7.yaml:2:1-7: warning[feeder]: a feeder needs the `name` of a channel");
    insta::assert_snapshot!(report_of_block("name: candidate-4.7"), @"channels/fast-4.7.yaml:3:9-22: warning[feeder]: channel candidate-4.7 does not exist");
    insta::assert_snapshot!(report_of_block("{name: stable, filter: '4[.]7[.'}"), @"channels/fast-4.7.yaml:3:26-35: error[feeder]: not a valid regular expression: unclosed character class");
    insta::assert_snapshot!(report_of_block("{name: stable, filter: '4[.]8[.].*'}"), @"channels/fast-4.7.yaml:3:26-38: warning[feeder]: no version of fast-4.7 matches the filter");
    insta::assert_snapshot!(report_of_block("{name: stable, delay: 48h}"), @r#"channels/fast-4.7.yaml:3:25-28: error[feeder]: "48h" is not an ISO 8601 duration such as PT48H or P1W"#);
    insta::assert_snapshot!(report_of_block("{name: stable, delay: PT}"), @r#"channels/fast-4.7.yaml:3:25-27: error[feeder]: "PT" is not an ISO 8601 duration such as PT48H or P1W"#);
    for delay in ["PT48H", "P1W", "P4D", "PT0H", "P1DT12H"] {
        let feeder = format!("{{name: stable-4.7, delay: {delay}, filter: '4[.]7[.].*'}}");
        assert_eq!(report_of_block(&feeder), "", "{delay}");
    }
}

#[test]
fn promql() {
    insta::assert_snapshot!(report_of_block(&block_with_query("group(up)\nor\n0 * gruop(up)")), @r#"blocked-edges/4.7.4-Risk.yaml:13:11-20: error[promql]: unknown function "gruop""#);
    insta::assert_snapshot!(report_of_block(&block_with_query("group(up) or")), @"blocked-edges/4.7.4-Risk.yaml:11:19-12:1: error[promql]: unexpected end of the query");
    insta::assert_snapshot!(report_of_block(&block_with_query("group(up) or (0 * group(up)")), @"blocked-edges/4.7.4-Risk.yaml:11:20-21: error[promql]: unclosed (");
    let quoted = block("4.7.4", "Risk").replace(
        "- type: Always",
        r#"- {type: PromQL, promql: {promql: "group(up{a=\"b\"}) or rate(up)"}}"#,
    );
    insta::assert_snapshot!(report_of_block(&quoted), @"blocked-edges/4.7.4-Risk.yaml:8:58-66: error[promql]: rate expects a range vector such as x[5m], got an instant vector");
    let folded = block("4.7.4", "Risk").replace("- type: Always", "- type: PromQL\n  promql:\n    promql: >-\n      group(up)\n      or\n      0 ** group(up)");
    insta::assert_snapshot!(report_of_block(&folded), @"blocked-edges/4.7.4-Risk.yaml:13:10-11: error[promql]: unexpected `*`");
}

#[test]
fn matching_rules_with_invalid_fields() {
    let rule =
        |rule: &str| report_of_block(&block("4.7.4", "Risk").replace("- type: Always", rule));
    insta::assert_snapshot!(rule("- type: PromQL"), @"blocked-edges/4.7.4-Risk.yaml:8:9-15: error[promql]: rules of this type require `promql.promql`");
    insta::assert_snapshot!(rule("- {type: PromQL, promql: {promql: [a]}}"), @"
    blocked-edges/4.7.4-Risk.yaml:8:35-36: error[promql]: the query must be a string
    blocked-edges/4.7.4-Risk.yaml:8:35-40: error[schema]: invalid: field matchingRules[0].promql.promql: expected string scalar; all updates to 4.7.4 are blocked for all clusters
    ");
    insta::assert_snapshot!(rule("- {type: Always, promql: {promql: vector(0) or up}}"), @"
    blocked-edges/4.7.4-Risk.yaml:8:10-16: warning[promql]: rules of this type have no query
    blocked-edges/4.7.4-Risk.yaml:8:35-50: warning[query-series]: the query may return any number of series
      help: the operator needs exactly one series: use topk(1, …), which prefers 1 over 0
    ");
    insta::assert_snapshot!(rule("- type: Platform\n- type: Always"), @"blocked-edges/4.7.4-Risk.yaml:8:9-17: note[promql]: unknown type; clusters skip the rule");
}

#[test]
fn query_result() {
    insta::assert_snapshot!(report_of_block(&block_with_query("1")), @"blocked-edges/4.7.4-Risk.yaml:11:7-8: error[query-result]: the query returns a scalar; expected an instant vector");
    insta::assert_snapshot!(report_of_block(&block_with_query("group(up) > 1")), @"blocked-edges/4.7.4-Risk.yaml:11:7-20: error[query-result]: the query never returns a sample");
}

#[test]
fn query_series() {
    insta::assert_snapshot!(report_of_block(&block_with_query("up > bool 3")), @"
    blocked-edges/4.7.4-Risk.yaml:11:7-18: warning[query-series]: the query may return any number of series
      help: the operator needs exactly one series: use topk(1, …), which prefers 1 over 0
    ");
    insta::assert_snapshot!(report_of_block(&block_with_query("group by (job) (up{job=~\"a|b\"}) or 0 * group(up)")), @"
    blocked-edges/4.7.4-Risk.yaml:11:7-55: note[query-series]: the query returns one series for each `job`
      help: the operator needs exactly one series: use topk(1, …), which prefers 1 over 0
    ");
}

#[test]
fn query_values() {
    insta::assert_snapshot!(report_of_block(&block_with_query("group(a) or on () -1 * group(b) or 0 * group(c)")), @"
    blocked-edges/4.7.4-Risk.yaml:11:7-54: warning[query-values]: the query can return -1, which the operator treats as a failed evaluation
      help: return 1 if the risk applies, 0 if it does not
    ");
    insta::assert_snapshot!(report_of_block(&block_with_query("0 * group(up)")), @"
    blocked-edges/4.7.4-Risk.yaml:11:7-20: warning[query-values]: the query never returns 1, so the risk never applies
      help: return 1 if the risk applies, 0 if it does not
    ");
}

#[test]
fn query_coverage() {
    insta::assert_snapshot!(report_of_block(&block_with_query("group(up{job=\"a\"})")), @"
    blocked-edges/4.7.4-Risk.yaml:11:7-25: warning[query-coverage]: the query returns no sample on clusters to which the risk does not apply
      help: add an alternative that returns 0: … or 0 * group(…)
    ");
    insta::assert_snapshot!(report_of_block(&block_with_query("group(up{job=\"a\"}) or 0 * group(up{job=\"b\"})")), @r#"
    blocked-edges/4.7.4-Risk.yaml:11:7-51: warning[query-coverage]: only clusters with certain samples of up{job="a"}, or up{job="b"} get a result
      help: add an alternative that returns 0: … or 0 * group(…)
    "#);
}

#[test]
fn literal_pattern() {
    insta::assert_snapshot!(report_of_block(&block_with_query("group(up{job=\"a|b\"})\nor\n0 * group(up)")), @r#"
    blocked-edges/4.7.4-Risk.yaml:11:16-25: warning[literal-pattern]: `job="a|b"` looks like a pattern, but = and != compare literal text
      help: use =~ or !~ to match a pattern
    "#);
}

#[test]
fn query_in_several_files_is_reported_once() {
    let query_block = block_with_query("group(up{job=\"a\"})");
    let others: Vec<(String, String)> =
        (0..5).map(|n| (format!("blocked-edges/4.7.4-{n}.yaml"), query_block.clone())).collect();
    let texts: Vec<(&str, &str)> = others.iter().map(|(path, text)| (&**path, &**text)).collect();
    insta::assert_snapshot!(report_of(&texts), @"
    blocked-edges/4.7.4-0.yaml:11:7-25: warning[query-coverage]: the query returns no sample on clusters to which the risk does not apply
      also in blocked-edges/4.7.4-1.yaml, blocked-edges/4.7.4-2.yaml, blocked-edges/4.7.4-3.yaml, blocked-edges/4.7.4-4.yaml
      help: add an alternative that returns 0: … or 0 * group(…)
    ");
}

/// 4.6.22 and 4.6.23 have updates to 4.7.4, which has an update to 4.7.5.
fn declared() -> Graph {
    declare(vec![
        release("4.6.22", "amd64", &[]),
        release("4.6.23", "amd64", &["4.6.22"]),
        release("4.7.3", "amd64", &["4.6.22"]),
        release("4.7.4", "amd64", &["4.6.22", "4.6.23"]),
        release("4.7.5", "amd64", &["4.7.4"]),
    ])
}

fn report_with_releases(texts: &[(&str, &str)]) -> String {
    compact(&lint(&files(texts), Some(&declared())))
}

#[test]
fn unknown_target() {
    insta::assert_snapshot!(report_of(&[("blocked-edges/a.yaml", &block("4.7.6", "Risk"))]), @"blocked-edges/a.yaml:1:5-10: warning[unknown-target]: 4.7.6 is in no channel");
    insta::assert_snapshot!(report_with_releases(&[("blocked-edges/a.yaml", &block("4.7.4+s390x", "Risk"))]), @"blocked-edges/a.yaml:1:5-16: warning[unknown-target]: release 4.7.4+s390x does not exist");
}

#[test]
fn idle_pattern() {
    insta::assert_snapshot!(report_of_block(&with("from", "4[.]5[.].*")), @"blocked-edges/4.7.4-Risk.yaml:1:7-17: warning[idle-pattern]: no version older than 4.7.4 matches");
    insta::assert_snapshot!(report_of_block(&with("from", "^4[.]6[.]22$")), @"
    blocked-edges/4.7.4-Risk.yaml:1:7-19: warning[idle-pattern]: no version older than 4.7.4 matches
      help: versions include their architecture, such as 5.1.0+amd64: end the pattern with [+].*$
    ");
    let from_4_7_3 = with("from", "4[.]7[.]3[+].*");
    insta::assert_snapshot!(report_with_releases(&[("blocked-edges/a.yaml", &from_4_7_3)]), @"blocked-edges/a.yaml:1:7-21: note[idle-pattern]: no version with an update to 4.7.4 matches");
    assert_eq!(report_of_block(&from_4_7_3), "");
    assert_eq!(report_of_block(&with("from", "^4[.]6[.]22[+].*$")), "");
}

#[test]
fn loose_pattern() {
    let versions = "name: fast-4.15\nversions: [4.14.7, 4.14.8, 4.14.18, 4.15.0]\n";
    let report_with_pattern = |from: &str| {
        let block = with("from", from).replace("to: 4.7.4", "to: 4.15.0");
        report_of(&[("channels/fast-4.15.yaml", versions), ("blocked-edges/a.yaml", &block)])
    };
    insta::assert_snapshot!(report_with_pattern("4[.]8|4[.]14[.]7"), @"
    blocked-edges/a.yaml:1:7-23: warning[loose-pattern]: the pattern also matches 4.14.8+amd64
      help: start with ^: patterns are not anchored
    ");
    insta::assert_snapshot!(report_with_pattern("4.1.*"), @"
    blocked-edges/a.yaml:1:7-12: warning[loose-pattern]: the pattern also matches 4.14.7+amd64
      help: use [.] for a dot: `.*` also matches digits
    ");
    insta::assert_snapshot!(report_with_pattern(r"^4\.1.*"), @"
    blocked-edges/a.yaml:1:7-14: warning[loose-pattern]: the pattern also matches 4.14.7+amd64
      help: use [.] for a dot: `.*` also matches digits
    ");
    assert_eq!(report_with_pattern("4[.]14[.].*"), "");
    assert_eq!(report_with_pattern("4.14.*"), "");
}

#[test]
fn not_extended() {
    let without_fix = |to: &str| block(to, "Risk").replace("fixedIn: 4.7.9\n", "");
    let (first, second) = (without_fix("4.7.3"), without_fix("4.7.4"));
    let (a, b) = ("blocked-edges/4.7.3-Risk.yaml", "blocked-edges/4.7.4-Risk.yaml");
    insta::assert_snapshot!(report_of(&[(a, &first)]), @"
    blocked-edges/4.7.3-Risk.yaml:1:5-10: warning[not-extended]: Risk covers 4.7.3, but not 4.7.4 and 1 more
      help: add a blocked edge for 4.7.4, or set `fixedIn: 4.7.4`
    ");
    insta::assert_snapshot!(report_of(&[(a, &first), (b, &second)]), @"
    blocked-edges/4.7.4-Risk.yaml:1:5-10: warning[not-extended]: Risk covers 4.7.4, but not 4.7.5
      help: add a blocked edge for 4.7.5, or set `fixedIn: 4.7.5`
    ");
    let last = without_fix("4.7.5");
    insta::assert_snapshot!(report_of(&[(a, &first), ("blocked-edges/4.7.5-Risk.yaml", &last)]), @"
    blocked-edges/4.7.3-Risk.yaml:1:5-10: warning[not-extended]: Risk covers 4.7.3, but not 4.7.4
      help: add a blocked edge for 4.7.4, or set `fixedIn: 4.7.4`
    ");
    assert_eq!(report_of(&[(b, &second), ("blocked-edges/4.7.5-Risk.yaml", &last)]), "");
    assert_eq!(report_of(&[(a, &first), (b, &block("4.7.4", "Risk"))]), "");
}

#[test]
fn not_extended_ignores_releases_after_pre_releases() {
    let channel = (
        "channels/candidate-4.8.yaml",
        "name: candidate-4.8\nversions: [4.8.0-rc.1, 4.8.0-rc.2, 4.8.0]\n",
    );
    let without_fix = |to: &str| {
        with("from", ".*")
            .replace("to: 4.7.4", &format!("to: {to}"))
            .replace("fixedIn: 4.7.9\n", "")
    };
    let last = without_fix("4.8.0-rc.2");
    assert_eq!(report_of(&[channel, ("blocked-edges/a.yaml", &last)]), "");
    let first = without_fix("4.8.0-rc.1");
    insta::assert_snapshot!(report_of(&[channel, ("blocked-edges/a.yaml", &first)]), @"
    blocked-edges/a.yaml:2:5-15: warning[not-extended]: Risk covers 4.8.0-rc.1, but not 4.8.0-rc.2
      help: add a blocked edge for 4.8.0-rc.2, or set `fixedIn: 4.8.0-rc.2`
    ");
}

#[test]
fn stranded() {
    let conditional = ("blocked-edges/a.yaml", &*with("from", "4[.]6[.]23[+].*"));
    insta::assert_snapshot!(report_with_releases(&[conditional]), @"channels/stable-4.7.yaml:2:20-26: note[stranded]: all updates from this version are conditional: 4.6.23 in stable-4.7");
    let removing = ("blocked-edges/a.yaml", "to: 4.7.5\nfrom: .*\n");
    insta::assert_snapshot!(report_with_releases(&[removing]), @"
    blocked-edges/a.yaml:1:5-10: warning[unexplained]: this removes the update without an explanation
      help: set `url`, `name`, `message` and `matchingRules`
    channels/stable-4.7.yaml:2:35-40: warning[stranded]: all updates from this version are blocked: 4.7.4 in stable-4.7
    ");
    let harmless = ("blocked-edges/a.yaml", &*with("from", "4[.]6[.]22[+].*"));
    assert_eq!(report_with_releases(&[harmless]), "");
}
