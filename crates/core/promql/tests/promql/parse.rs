//! Reading queries: what is refused, and where.

use fairway_promql::Query;
use proptest::prelude::*;

/// The query with the wrong part underlined, and the error.
fn refused(query: &str) -> String {
    let error = Query::parse(query).unwrap_err();
    let (line, column) = (error.position.line, error.position.column);
    let text = query.lines().nth(line - 1).unwrap_or_default();
    let in_line = text.chars().count().saturating_sub(column - 1);
    let marked = query[error.span.clone()].chars().count().clamp(1, in_line.max(1));
    format!("{text}\n{}{} {error}", " ".repeat(column - 1), "^".repeat(marked))
}

fn all_refused(queries: &[&str]) -> String {
    queries.iter().map(|query| refused(query)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_misplaced_word_is_named() {
    insta::assert_snapshot!(all_refused(&[
        "group(up) or or group(down)",
        "group(up) or 0 * * group(down)",
        "sum by job (up)",
        "sum by (job) up",
        "up{job=a}",
        "up{job=\"a\" instance=\"b\"}",
        "up{job==\"a\"}",
        "up[5m:1m:1s]",
        "up offset foo",
        "a + on (b) ignoring (c) d",
        "up down",
        "topk(1 up)",
        "group(up)\nor\n0 * gruop by (x) (up)",
        "max(a))",
    ]), @r#"
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
    0 * gruop by (x) (up)
              ^^ 3:11: unexpected `by`
    max(a))
          ^ 1:7: unmatched )
    "#);
}

#[test]
fn a_query_that_breaks_off_says_so() {
    insta::assert_snapshot!(all_refused(&["group(up) or", "1 +", "sum by (job)", "up offset", "(1 +", "a{", "a[5m", "\"abc"]), @r#"
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
    "#);
}

#[test]
fn what_does_not_fit_together_is_underlined() {
    insta::assert_snapshot!(all_refused(&[
        "group(up) or rate(up)",
        "1 + sum(up[5m])",
        "a or 1",
        "1 == 2",
        "(foo(1) + 2) * up",
        "max_over_time(up)",
        "sum(up, down)",
        "label_replace(up, \"a\")",
        "group({job=\"\"}) or up",
        "a * bool b",
        "a offset 5m offset 5m",
        "a * on (x) group_left (x) b",
        "a{b=~\"(\"}",
        "a{b=\"\\d\"}",
        "a{b=~\"\\\\w{5000}\"}",
        "a{b=\"x\\xe9\"}",
        "a{b=\"\\351\"}",
        "ä",
        "",
        "# only a comment",
    ]), @r#"
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

    ^ 1:1: the query is empty
    # only a comment
    ^^^^^^^^^^^^^^^^ 1:1: the query is empty
    "#);
}

#[test]
fn what_other_systems_add_to_the_language_is_refused() {
    insta::assert_snapshot!(all_refused(&[
        "a{b=\"1\" or c=\"2\"}",
        "limitk(1, a)",
        "a + fill(0) b",
        "mad_over_time(a[5m])",
    ]), @r#"
    a{b="1" or c="2"}
    ^^^^^^^^^^^^^^^^^ 1:1: `or` between label matchers is not valid PromQL; use =~ with alternatives
    limitk(1, a)
    ^^^^^^^^^^^^ 1:1: limitk is experimental; Prometheus rejects it by default
    a + fill(0) b
    ^^^^^^^^^^^^^ 1:1: fill is experimental; Prometheus rejects it by default
    mad_over_time(a[5m])
    ^^^^^^^^^^^^^^^^^^^^ 1:1: mad_over_time is experimental; Prometheus rejects it by default
    "#);
}

#[test]
fn what_only_the_newest_prometheus_reads_is_refused() {
    insta::assert_snapshot!(all_refused(&[
        "a[300]",
        "a offset 60",
        "a > 5m",
        "vector(1h30m)",
        "{\"a.b\"}",
        "a{\"b\"=\"1\"}",
        "sum by (\"b\") (a)",
        "a * on (\"b\") a",
    ]), @r#"
    a[300]
      ^^^ 1:3: "300" is not a duration such as 5m or 1h30m
    a offset 60
             ^^ 1:10: "60" is not a duration such as 5m or 1h30m
    a > 5m
        ^^ 1:5: older versions of Prometheus reject the duration "5m" here; use a number such as 300
    vector(1h30m)
           ^^^^^ 1:8: older versions of Prometheus reject the duration "1h30m" here; use a number such as 300
    {"a.b"}
     ^^^^^ 1:2: older versions of Prometheus reject a quoted name; remove the quotes
    a{"b"="1"}
      ^^^ 1:3: older versions of Prometheus reject a quoted name; remove the quotes
    sum by ("b") (a)
            ^^^ 1:9: older versions of Prometheus reject a quoted name; remove the quotes
    a * on ("b") a
            ^^^ 1:9: older versions of Prometheus reject a quoted name; remove the quotes
    "#);
}

#[test]
fn what_another_dialect_of_expressions_reads_otherwise_is_refused() {
    insta::assert_snapshot!(all_refused(&[
        r#"a{b=~"\\pL"}"#,
        r#"a{b=~"x**"}"#,
        r#"a{b=~"(?x)y"}"#,
        r#"a{b=~"x{2000}"}"#,
    ]), @r#"
    a{b=~"\\pL"}
         ^^^^^^ 1:6: "\\pL" is not a supported regular expression: \p is not supported
    a{b=~"x**"}
         ^^^^^ 1:6: "x**" is not a supported regular expression: a repetition is repeated without parentheses
    a{b=~"(?x)y"}
         ^^^^^^^ 1:6: "(?x)y" is not a supported regular expression: (?x is not supported
    a{b=~"x{2000}"}
         ^^^^^^^^^ 1:6: "x{2000}" is not a supported regular expression: a repetition exceeds the limit of 1000
    "#);
}

#[test]
fn a_sign_stands_before_numbers_and_vectors_only() {
    insta::assert_snapshot!(all_refused(&["+\"x\"", "-\"x\"", "abs(+a[5m])", "1 + +(\"x\")"]), @r#"
    +"x"
    ^^^^ 1:1: a sign is valid only before scalars and instant vectors
    -"x"
    ^^^^ 1:1: a sign is valid only before scalars and instant vectors
    abs(+a[5m])
    ^^^^^^^^^^^ 1:1: abs expects an instant vector, got a range vector such as x[5m]
    1 + +("x")
    ^^^^^^^^^^ 1:1: operators require scalars or instant vectors on both sides
    "#);
    for query in ["+1", "+a", "1 + +a", "a offset +5m", "a @ +5", "+Inf"] {
        assert!(Query::parse(query).is_ok(), "{query}");
    }
}

#[test]
fn times_beyond_measure_are_refused() {
    insta::assert_snapshot!(all_refused(&[
        "a[1e300]",
        "a[99999999999]",
        "a[1h9999999999s]",
        "a offset 1e300",
        "a offset -Inf",
        "a offset NaN",
        "a[5m:1e99]",
        "a[0x10]",
        "a[293y]",
        "a @ 1e300",
    ]), @r#"
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
    "#);
}

#[test]
fn limits_are_named() {
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

/// The largest trees that are accepted, on half the stack that threads have.
#[test]
fn nothing_that_is_accepted_exhausts_a_small_stack() {
    let brackets = format!("{}a{}", "(".repeat(32), ")".repeat(32));
    let chain = vec!["1"; 101].join(" ^ ");
    let negative = format!("{}a", "-".repeat(100));
    let calls = ("abs(-".repeat(32), ")".repeat(32));
    let mixed = format!("{}{}a{}", calls.0, "1 ^ ".repeat(68), calls.1);
    let parse = move || {
        for query in [brackets, chain, negative, mixed] {
            let query = Query::parse(&query).unwrap();
            fairway_promql::analysis::outcome(&query);
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(parse).unwrap().join().unwrap();
}

#[test]
fn a_selector_says_what_is_read_and_when() {
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
            When {
                at: None,
                earlier: 300s,
                later: 0ns,
            },
        ),
        (
            "c{z!=\"\"}",
            None,
            When {
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
            When {
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
fn matchers_are_anchored_and_see_missing_labels_as_empty() {
    let query = Query::parse(r#"a{x=~"b|c",y!="d",z!~".+"}"#).unwrap();
    let fits = |index: usize, value| query.selectors()[0].matchers[index].fits(value);
    assert!(fits(0, "b") && fits(0, "c") && !fits(0, "bc") && !fits(0, ""));
    assert!(fits(1, "") && fits(1, "e") && !fits(1, "d"));
    assert!(fits(2, "") && !fits(2, "x"));
}

/// Separated by blanks.
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
    fn no_words_make_it_panic(words in prop::collection::vec(word(), 0..24), glue in "[ \n]?") {
        let text = words.join(&glue);
        match Query::parse(&text) {
            Ok(query) => { fairway_promql::analysis::outcome(&query); }
            Err(error) => {
                prop_assert!(error.span.start <= error.span.end && error.span.end <= text.len());
                prop_assert!(text.is_char_boundary(error.span.start) && text.is_char_boundary(error.span.end));
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}") {
        let _ = Query::parse(&text).map(|query| fairway_promql::analysis::outcome(&query));
    }
}

/// Looking for the place of an error takes many attempts; they stay within a second.
#[test]
fn the_place_of_an_error_is_found_in_large_queries_too() {
    let labels = vec!["label=\"a value of some length that fills the query\""; 200].join(",");
    let query = format!("{}group(up{{{labels}}}) or *{}", "(".repeat(20), ")".repeat(20));
    let error = Query::parse(&query).unwrap_err();
    assert_eq!(&query[error.span], "*");
}
