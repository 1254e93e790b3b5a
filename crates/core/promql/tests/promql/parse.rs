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
                    ^^^^^ 1:17: `group` cannot stand here
    group(up) or 0 * * group(down)
                     ^ 1:18: `*` cannot stand here
    sum by job (up)
           ^^^ 1:8: `job` cannot stand here
    sum by (job) up
                 ^^ 1:14: `up` cannot stand here
    up{job=a}
    ^^^^^^^^^ 1:1: a label is compared with a quoted text: name="value"
    up{job="a" instance="b"}
               ^^^^^^^^ 1:12: `instance` cannot stand here
    up{job=="a"}
    ^^^^^^^^^^^^ 1:1: a label is compared with a quoted text: name="value"
    up[5m:1m:1s]
    ^^^^^^^^^^^^ 1:1: a range has one colon, between how long it is and how far samples are apart
    up offset foo
              ^^^ 1:11: `foo` cannot stand here
    a + on (b) ignoring (c) d
               ^^^^^^^^ 1:12: `ignoring` cannot stand here
    up down
       ^^^^ 1:4: `down` cannot stand here
    topk(1 up)
           ^^ 1:8: `up` cannot stand here
    0 * gruop by (x) (up)
              ^^ 3:11: `by` cannot stand here
    max(a))
          ^ 1:7: this ) closes nothing
    "#);
}

#[test]
fn a_query_that_breaks_off_says_so() {
    insta::assert_snapshot!(all_refused(&["group(up) or", "1 +", "sum by (job)", "up offset", "(1 +", "a{", "a[5m", "\"abc"]), @r#"
    group(up) or
                ^ 1:13: the query ends where something has to follow
    1 +
       ^ 1:4: the query ends where something has to follow
    sum by (job)
                ^ 1:13: the query ends where something has to follow
    up offset
    ^^^^^^^^^ 1:1: a duration has to follow `offset`
    (1 +
    ^ 1:1: this ( is never closed
    a{
     ^ 1:2: this { is never closed
    a[5m
     ^ 1:2: this [ is never closed
    "abc
    ^^^^ 1:1: the text that begins here with " never ends
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
                 ^^^^^^^^ 1:14: rate takes a range such as x[5m], and this is a vector
    1 + sum(up[5m])
        ^^^^^^^^^^^ 1:5: an aggregation takes a vector, and this is a range such as x[5m]
    a or 1
    ^^^^^^ 1:1: `and`, `or` and `unless` stand between vectors, not numbers
    1 == 2
    ^^^^^^ 1:1: two numbers are compared with `bool`, such as 1 == bool 2
    (foo(1) + 2) * up
     ^^^^^^ 1:2: there is no function "foo"
    max_over_time(up)
    ^^^^^^^^^^^^^^^^^ 1:1: max_over_time takes a range such as x[5m], and this is a vector
    sum(up, down)
    ^^^^^^^^^^^^^ 1:1: an aggregation takes 1 arguments, not 2
    label_replace(up, "a")
    ^^^^^^^^^^^^^^^^^^^^^^ 1:1: label_replace takes 5 arguments, not 2
    group({job=""}) or up
          ^^^^^^^^ 1:7: a selector needs a name, or a label that may not be empty
    a * bool b
    ^^^^^^^^^^ 1:1: `bool` can follow comparisons only
    a offset 5m offset 5m
    ^^^^^^^^^^^^^^^^^^^^^ 1:1: `offset` and `@` may be given once
    a * on (x) group_left (x) b
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^ 1:1: a label in `on` is copied anyway, and may not be in `group_left` too
    a{b=~"("}
         ^^^ 1:6: "(" is no regular expression that can be used: unclosed group
    a{b="\d"}
         ^^ 1:6: \d is no escape sequence; write \\ for a backslash
    a{b=~"\\w{5000}"}
         ^^^^^^^^^^^ 1:6: "\\w{5000}" is no regular expression that can be used: it is too large once it is compiled
    a{b="x\xe9"}
          ^^ 1:7: this escape is a part of a character; write the character itself, or \u and its number
    a{b="\351"}
         ^^ 1:6: this escape is a part of a character; write the character itself, or \u and its number
    ä
    ^ 1:1: 'ä' cannot stand here

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
    ^^^^^^^^^^^^^^^^^ 1:1: `or` between labels is not in PromQL; use =~ with alternatives
    limitk(1, a)
    ^^^^^^^^^^^^ 1:1: limitk is experimental, and a cluster's Prometheus refuses it
    a + fill(0) b
    ^^^^^^^^^^^^^ 1:1: fill is experimental, and a cluster's Prometheus refuses it
    mad_over_time(a[5m])
    ^^^^^^^^^^^^^^^^^^^^ 1:1: mad_over_time is experimental, and a cluster's Prometheus refuses it
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
      ^^^ 1:3: "300" is no duration such as 5m or 1h30m
    a offset 60
             ^^ 1:10: "60" is no duration such as 5m or 1h30m
    a > 5m
        ^^ 1:5: "5m" is a duration, and older Prometheus wants a number here, such as 300
    vector(1h30m)
           ^^^^^ 1:8: "1h30m" is a duration, and older Prometheus wants a number here, such as 300
    {"a.b"}
     ^^^^^ 1:2: a name in quotes is refused by older Prometheus; write it without quotes
    a{"b"="1"}
      ^^^ 1:3: a name in quotes is refused by older Prometheus; write it without quotes
    sum by ("b") (a)
            ^^^ 1:9: a name in quotes is refused by older Prometheus; write it without quotes
    a * on ("b") a
            ^^^ 1:9: a name in quotes is refused by older Prometheus; write it without quotes
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
         ^^^^^^ 1:6: "\\pL" is no regular expression that can be used: \p is not covered
    a{b=~"x**"}
         ^^^^^ 1:6: "x**" is no regular expression that can be used: a repetition is repeated without brackets
    a{b=~"(?x)y"}
         ^^^^^^^ 1:6: "(?x)y" is no regular expression that can be used: (?x is not covered
    a{b=~"x{2000}"}
         ^^^^^^^^^ 1:6: "x{2000}" is no regular expression that can be used: it repeats a part more than 1000 times
    "#);
}

#[test]
fn a_sign_stands_before_numbers_and_vectors_only() {
    insta::assert_snapshot!(all_refused(&["+\"x\"", "-\"x\"", "abs(+a[5m])", "1 + +(\"x\")"]), @r#"
    +"x"
    ^^^^ 1:1: a sign stands before numbers and vectors only
    -"x"
    ^^^^ 1:1: a sign stands before numbers and vectors only
    abs(+a[5m])
    ^^^^^^^^^^^ 1:1: abs takes a vector, and this is a range such as x[5m]
    1 + +("x")
    ^^^^^^^^^^ 1:1: an operator stands between numbers and vectors only
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
      ^^^^^ 1:3: "1e300" is no duration such as 5m or 1h30m
    a[99999999999]
      ^^^^^^^^^^^ 1:3: "99999999999" is no duration such as 5m or 1h30m
    a[1h9999999999s]
      ^^^^^^^^^^^^^ 1:3: "1h9999999999s" is no duration such as 5m or 1h30m
    a offset 1e300
             ^^^^^ 1:10: "1e300" is no duration such as 5m or 1h30m
    a offset -Inf
              ^^^ 1:11: "Inf" is no duration such as 5m or 1h30m
    a offset NaN
             ^^^ 1:10: "NaN" is no duration such as 5m or 1h30m
    a[5m:1e99]
         ^^^^ 1:6: "1e99" is no duration such as 5m or 1h30m
    a[0x10]
      ^^^^ 1:3: "0x10" is no duration such as 5m or 1h30m
    a[293y]
      ^^^^ 1:3: "293y" is no duration such as 5m or 1h30m
    a @ 1e300
        ^^^^^ 1:5: "1e300" is no time in seconds since 1970
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
    1:33: brackets are nested more than 32 deep here
    1:1: a query has at most 64 selectors
    1:403: a query has at most 100 operators
    1:505: a query has at most 100 operators
    1:1540: a query compares at most 256 labels
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
