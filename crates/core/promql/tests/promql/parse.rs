//! Parse errors and their positions.

use fairway_promql::Query;
use proptest::prelude::*;

/// The query with the invalid part underlined, and the error.
fn error_of(query: &str) -> String {
    let error = Query::parse(query).unwrap_err();
    let (line, column) = (error.position.line, error.position.column);
    let text = query.lines().nth(line - 1).unwrap_or_default();
    let in_line = text.chars().count().saturating_sub(column - 1);
    let marked = query[error.span.clone()].chars().count().clamp(1, in_line.max(1));
    format!("{text}\n{}{} {error}", " ".repeat(column - 1), "^".repeat(marked))
}

/// Checks a table of queries, each followed by a line with the underlined part and the error.
fn check_errors(table: &str) {
    let mut query = Vec::new();
    for line in table.lines().skip(1).map(|line| line.strip_prefix("    ").unwrap_or(line)) {
        if line.trim_start().starts_with('^') {
            assert_eq!(error_of(&query.join("\n")).lines().last(), Some(line));
            query.clear();
        } else {
            query.push(line);
        }
    }
}

#[test]
fn unexpected_token_is_located() {
    check_errors(
        r#"
    group(up) or or group(down)
                    ^^^^^ 1:17: unexpected `group`
    group(up) or 0 * * group(down)
                     ^ 1:18: unexpected `*`
    sum by job (up)
           ^^^ 1:8: unexpected `job`
    sum by (job) up
                 ^^ 1:14: unexpected `up`
    up{job=a}
    ^^^^^^^^^ 1:1: expected a label matcher with a quoted value: name="value"
    up{job="a" instance="b"}
               ^^^^^^^^ 1:12: unexpected `instance`
    up{job=="a"}
    ^^^^^^^^^^^^ 1:1: expected a label matcher with a quoted value: name="value"
    up[5m:1m:1s]
    ^^^^^^^^^^^^ 1:1: a subquery range has one colon, between range and resolution
    up offset foo
              ^^^ 1:11: unexpected `foo`
    a + on (b) ignoring (c) d
               ^^^^^^^^ 1:12: unexpected `ignoring`
    up down
       ^^^^ 1:4: unexpected `down`
    topk(1 up)
           ^^ 1:8: unexpected `up`
    group(up)
    or
    0 * gruop by (x) (up)
              ^^ 3:11: unexpected `by`
    max(a))
          ^ 1:7: unmatched )
    "#,
    );
}

#[test]
fn incomplete_query_is_reported() {
    check_errors(
        r#"
    group(up) or
                ^ 1:13: unexpected end of the query
    1 +
       ^ 1:4: unexpected end of the query
    sum by (job)
                ^ 1:13: unexpected end of the query
    up offset
    ^^^^^^^^^ 1:1: expected a duration after `offset`
    (1 +
    ^ 1:1: unclosed (
    a{
     ^ 1:2: unclosed {
    a[5m
     ^ 1:2: unclosed [
    "abc
    ^^^^ 1:1: unterminated string, opened with "
    "#,
    );
}

#[test]
fn type_errors_are_located() {
    check_errors(
        r#"
    group(up) or rate(up)
                 ^^^^^^^^ 1:14: rate expects a range vector such as x[5m], got an instant vector
    1 + sum(up[5m])
        ^^^^^^^^^^^ 1:5: an aggregation expects an instant vector, got a range vector such as x[5m]
    a or 1
    ^^^^^^ 1:1: `and`, `or` and `unless` require vectors on both sides
    1 == 2
    ^^^^^^ 1:1: comparisons between scalars require `bool`, such as 1 == bool 2
    (foo(1) + 2) * up
     ^^^^^^ 1:2: unknown function "foo"
    max_over_time(up)
    ^^^^^^^^^^^^^^^^^ 1:1: max_over_time expects a range vector such as x[5m], got an instant vector
    sum(up, down)
    ^^^^^^^^^^^^^ 1:1: an aggregation expects 1 arguments, got 2
    label_replace(up, "a")
    ^^^^^^^^^^^^^^^^^^^^^^ 1:1: label_replace expects 5 arguments, got 2
    group({job=""}) or up
          ^^^^^^^^ 1:7: a selector requires a metric name or a matcher that does not match the empty string
    a * bool b
    ^^^^^^^^^^ 1:1: `bool` is valid only after comparisons
    a offset 5m offset 5m
    ^^^^^^^^^^^^^^^^^^^^^ 1:1: `offset` and `@` may be set only once
    a * on (x) group_left (x) b
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^ 1:1: a label in `on` must not be repeated in `group_left` or `group_right`
    a{b=~"("}
         ^^^ 1:6: "(" is not a supported regular expression: unclosed group
    a{b="\d"}
         ^^ 1:6: \d is not an escape sequence; use \\ for a backslash
    a{b=~"\\w{5000}"}
         ^^^^^^^^^^^ 1:6: "\\w{5000}" is not a supported regular expression: the compiled pattern is too large
    a{b="x\xe9"}
          ^^ 1:7: incomplete escape of a character; use the character itself, or \u and its code point
    a{b="\351"}
         ^^ 1:6: incomplete escape of a character; use the character itself, or \u and its code point
    ä
    ^ 1:1: unexpected character 'ä'
    # only a comment
    ^^^^^^^^^^^^^^^^ 1:1: the query is empty
    "#,
    );
    assert_eq!(error_of(""), "\n^ 1:1: the query is empty");
}

#[test]
fn extensions_of_other_languages_are_rejected() {
    check_errors(
        r#"
    a{b="1" or c="2"}
    ^^^^^^^^^^^^^^^^^ 1:1: `or` between label matchers is not valid PromQL; use =~ with alternatives
    limitk(1, a)
    ^^^^^^^^^^^^ 1:1: limitk is experimental; Prometheus rejects it by default
    a + fill(0) b
    ^^^^^^^^^^^^^ 1:1: fill is experimental; Prometheus rejects it by default
    mad_over_time(a[5m])
    ^^^^^^^^^^^^^^^^^^^^ 1:1: mad_over_time is experimental; Prometheus rejects it by default
    "#,
    );
}

#[test]
fn syntax_of_latest_prometheus_is_rejected() {
    check_errors(
        r#"
    a[300]
      ^^^ 1:3: "300" is not a duration such as 5m or 1h30m
    a offset 60
             ^^ 1:10: "60" is not a duration such as 5m or 1h30m
    a > 5m
        ^^ 1:5: older versions of Prometheus reject the duration "5m" here; use a number such as 300
    vector(1h30m)
           ^^^^^ 1:8: older versions of Prometheus reject the duration "1h30m" here; use a number such as 300
    offset + 5m
             ^^ 1:10: older versions of Prometheus reject the duration "5m" here; use a number such as 300
    {"a.b"}
     ^^^^^ 1:2: older versions of Prometheus reject a quoted name; remove the quotes
    a{"b"="1"}
      ^^^ 1:3: older versions of Prometheus reject a quoted name; remove the quotes
    sum by ("b") (a)
            ^^^ 1:9: older versions of Prometheus reject a quoted name; remove the quotes
    a * on ("b") a
            ^^^ 1:9: older versions of Prometheus reject a quoted name; remove the quotes
    "#,
    );
}

#[test]
fn unsupported_regex_syntax_is_rejected() {
    check_errors(
        r#"
    a{b=~"\\pL"}
         ^^^^^^ 1:6: "\\pL" is not a supported regular expression: \p is not supported
    a{b=~"x**"}
         ^^^^^ 1:6: "x**" is not a supported regular expression: a repetition is repeated without parentheses
    a{b=~"(?x)y"}
         ^^^^^^^ 1:6: "(?x)y" is not a supported regular expression: (?x is not supported
    a{b=~"x{2000}"}
         ^^^^^^^^^ 1:6: "x{2000}" is not a supported regular expression: a repetition exceeds the limit of 1000
    "#,
    );
}

#[test]
fn unary_signs_require_scalars_or_vectors() {
    check_errors(
        r#"
    +"x"
    ^^^^ 1:1: a sign is valid only before scalars and instant vectors
    -"x"
    ^^^^ 1:1: a sign is valid only before scalars and instant vectors
    abs(+a[5m])
    ^^^^^^^^^^^ 1:1: abs expects an instant vector, got a range vector such as x[5m]
    1 + +("x")
    ^^^^^^^^^^ 1:1: operators require scalars or instant vectors on both sides
    "#,
    );
    for query in ["+1", "+a", "1 + +a", "a offset +5m", "a @ +5", "+Inf"] {
        assert!(Query::parse(query).is_ok(), "{query}");
    }
}

#[test]
fn times_out_of_range_are_rejected() {
    check_errors(
        r#"
    a[1e300]
      ^^^^^ 1:3: "1e300" is not a duration such as 5m or 1h30m
    a[99999999999]
      ^^^^^^^^^^^ 1:3: "99999999999" is not a duration such as 5m or 1h30m
    a[1h9999999999s]
      ^^^^^^^^^^^^^ 1:3: "1h9999999999s" is not a duration such as 5m or 1h30m
    a offset 1e300
             ^^^^^ 1:10: "1e300" is not a duration such as 5m or 1h30m
    a offset -Inf
              ^^^ 1:11: "Inf" is not a duration such as 5m or 1h30m
    a offset NaN
             ^^^ 1:10: "NaN" is not a duration such as 5m or 1h30m
    a[5m:1e99]
         ^^^^ 1:6: "1e99" is not a duration such as 5m or 1h30m
    a[0x10]
      ^^^^ 1:3: "0x10" is not a duration such as 5m or 1h30m
    a[293y]
      ^^^^ 1:3: "293y" is not a duration such as 5m or 1h30m
    a @ 1e300
        ^^^^^ 1:5: "1e300" is not a Unix time in seconds
    "#,
    );
}

#[test]
fn input_beyond_limits_is_rejected() {
    let long = format!("group({})", "a".repeat(20_000));
    let deep = format!("{}a{}", "(".repeat(65), ")".repeat(65));
    let wide = vec!["a"; 65].join(" or ");
    let chain = vec!["1"; 300].join(" + ");
    let ranges = format!("a{}", "[5m:]".repeat(300));
    let labels = format!("a{{{}}}", vec!["b=\"c\""; 300].join(","));
    let errors: Vec<String> = [long, deep, wide, chain, ranges, labels]
        .iter()
        .map(|query| Query::parse(query).unwrap_err().to_string())
        .collect();
    insta::assert_snapshot!(errors.join("\n"), @"
    1:1: the query has 20007 bytes; the limit is 16384 bytes
    1:33: brackets are nested more than 32 levels deep
    1:1: more than 64 selectors
    1:403: more than 100 operators
    1:505: more than 100 operators
    1:1540: more than 256 label matchers
    ");
}

/// The deepest accepted trees, on half of the default stack.
#[test]
fn deepest_queries_fit_a_small_stack() {
    let brackets = format!("{}a{}", "(".repeat(32), ")".repeat(32));
    let chain = vec!["1"; 101].join(" ^ ");
    let negative = format!("{}a", "-".repeat(100));
    let calls = ("abs(-".repeat(32), ")".repeat(32));
    let mixed = format!("{}{}a{}", calls.0, "1 ^ ".repeat(68), calls.1);
    let parse = move || {
        for query in [brackets, chain, negative, mixed] {
            let query = Query::parse(&query).unwrap();
            fairway_promql::analysis::analyze(&query);
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(parse).unwrap().join().unwrap();
}

#[test]
fn selectors_contain_matchers_and_time_modifiers() {
    let query = Query::parse(
        r#"max_over_time(a:b{x="1",y!~"2.*"}[1h] offset 5m) or {__name__="c",z!=""} @ 10 or d @ end() offset -1m"#,
    );
    insta::assert_debug_snapshot!(query.unwrap().selectors().iter().map(|s| (s.to_string(), s.range, &s.when)).collect::<Vec<_>>(), @r#"
    [
        (
            "a:b{x=\"1\",y!~\"2.*\"}",
            Some(
                3600s,
            ),
            TimeModifiers {
                at: None,
                earlier: 300s,
                later: 0ns,
            },
        ),
        (
            "c{z!=\"\"}",
            None,
            TimeModifiers {
                at: Some(
                    Milliseconds(
                        10000,
                    ),
                ),
                earlier: 0ns,
                later: 0ns,
            },
        ),
        (
            "d",
            None,
            TimeModifiers {
                at: Some(
                    End,
                ),
                earlier: 0ns,
                later: 60s,
            },
        ),
    ]
    "#);
}

#[test]
fn matchers_are_anchored_and_match_missing_labels_as_empty() {
    let query = Query::parse(r#"a{x=~"b|c",y!="d",z!~".+"}"#).unwrap();
    let matches = |index: usize, value| query.selectors()[0].matchers[index].matches(value);
    assert!(matches(0, "b") && matches(0, "c") && !matches(0, "bc") && !matches(0, ""));
    assert!(matches(1, "") && matches(1, "e") && !matches(1, "d"));
    assert!(matches(2, "") && !matches(2, "x"));
}

/// Separated by whitespace.
const WORDS: &str = r#"
    a up group topk by without on ignoring group_left bool or and unless offset @ start end inf nan
    ( ) { } [ ] , = == =~ !~ != + - * ^ : 1 0x 1e9 5m 1h5s 99999999999 "x" '\x ` "(" # rate vector
    absent label_replace count_values fill ä . .. 0e 1.5.5
"#;

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn any_tokens_do_not_panic(words in prop::collection::vec(word(), 0..24), glue in "[ \n]?") {
        let text = words.join(&glue);
        match Query::parse(&text) {
            Ok(query) => { fairway_promql::analysis::analyze(&query); }
            Err(error) => {
                prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
                prop_assert!(text.is_char_boundary(error.span.start) && text.is_char_boundary(error.span.end));
            }
        }
    }

    #[test]
    fn any_text_does_not_panic(text in "\\PC{0,60}") {
        let _ = Query::parse(&text).map(|query| fairway_promql::analysis::analyze(&query));
    }
}

/// Locating an error takes many parser calls, but less than a second.
#[test]
fn errors_in_large_queries_are_located() {
    let labels = vec!["label=\"a value of some length that fills the query\""; 200].join(",");
    let query = format!("{}group(up{{{labels}}}) or *{}", "(".repeat(20), ")".repeat(20));
    let error = Query::parse(&query).unwrap_err();
    assert_eq!(&query[error.span], "*");
}
