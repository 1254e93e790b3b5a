//! Generators of queries and samples.
//!
//! Without functions whose last digits depend on the implementation: a comparison or a label would turn
//! the rounding difference into another result.

use std::fmt::Write as _;

use fairway_promql::snapshot::{Snapshot, SnapshotLimits};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Values, of which half are special.
const VALUES: &str = "0 1 1 2 3 -1 0.5 -2.25 1000000 NaN +Inf -Inf";

/// Samples of states, with times relative to the query.
pub(crate) fn states(count: usize) -> impl Strategy<Value = Vec<Snapshot>> {
    prop::collection::vec(state(), count)
}

fn state() -> impl Strategy<Value = Snapshot> {
    let series = subsequence(all_series(), 4..24);
    let lines = series.prop_flat_map(|series| series.into_iter().map(samples).collect::<Vec<_>>());
    lines.prop_map(|lines| {
        Snapshot::parse(&lines.concat(), Timestamp::UNIX_EPOCH, &SnapshotLimits::default()).unwrap()
    })
}

fn all_series() -> Vec<String> {
    let mut series = vec!["a".to_owned(), "b".to_owned(), "counter_total".to_owned()];
    for metric in ["a", "b", "counter_total"] {
        for x in ["", "1", "2", "three"] {
            for y in ["", "p", "q"] {
                series.push(format!("{metric}{{x=\"{x}\",y=\"{y}\",only=\"{metric}\"}}"));
            }
        }
    }
    series
}

/// Samples about a minute apart, and never at the start or end of a window.
fn samples(series: String) -> impl Strategy<Value = String> {
    let sample = (words(VALUES), 17_000..37_000i64, prop::bool::weighted(0.8));
    prop::collection::vec(sample, 1..16).prop_map(move |samples| {
        (0..).zip(samples).fold(String::new(), |mut lines, (minute, (value, second, exists))| {
            if exists {
                writeln!(lines, "{series} {value} -{}", minute * 60_000 + second).unwrap();
            }
            lines
        })
    })
}

type Text = BoxedStrategy<String>;

/// One of some words.
fn words(words: &'static str) -> Text {
    one_of(words.split(' '))
}

fn one_of(texts: impl IntoIterator<Item = &'static str>) -> Text {
    select(texts.into_iter().map(str::to_owned).collect::<Vec<_>>()).boxed()
}

/// A template whose `#` are replaced.
fn fill<const N: usize>(template: &'static str, parts: [Text; N]) -> Text {
    let filled = move |parts: Vec<String>| {
        parts.iter().fold(template.to_owned(), |text, part| text.replacen('#', part, 1))
    };
    Vec::from(parts).prop_map(filled).boxed()
}

/// A query of the supported language.
pub(crate) fn query() -> impl Strategy<Value = String> {
    prop_oneof![9 => vector(), 1 => scalar(vector()), 1 => range()]
}

fn vector() -> Text {
    let nested = |inner: Text| {
        prop_oneof![
            3 => aggregate(inner.clone()),
            3 => between_vectors(inner.clone()),
            2 => between_sets(inner.clone()),
            2 => with_number(inner.clone()),
            3 => function(inner.clone()),
            2 => over_time(),
            1 => relabelled(inner.clone()),
            1 => fill("-(#)", [inner.clone()]),
            1 => fill("(#)", [inner]),
        ]
    };
    selector().prop_recursive(4, 24, 3, move |inner| nested(inner).boxed()).boxed()
}

fn selector() -> Text {
    fill("##", [selected(), when()])
}

fn range() -> Text {
    fill("###", [selected(), words("[1m] [2m] [5m] [10m] [1h]"), when()])
}

fn selected() -> Text {
    const MATCHERS: [&str; 9] = [
        r#"x="1""#,
        r#"x!="1""#,
        r#"x="""#,
        r#"y=~"p|q""#,
        r#"y!~"p.*""#,
        r#"x=~".+""#,
        r#"x=~"[12]?""#,
        r#"only="a""#,
        r#"z="none""#,
    ];
    let metric = words("a b counter_total missing");
    let matchers = subsequence(&MATCHERS[..], 0..3).prop_map(|matchers| matchers.join(","));
    prop_oneof![
        6 => metric.clone(),
        3 => fill("#{#}", [metric, matchers.boxed()]),
        2 => one_of([r#"{only="a"}"#, r#"{__name__=~"a|b",x!="1"}"#]),
    ]
    .boxed()
}

fn when() -> Text {
    prop_oneof![
        8 => Just(String::new()),
        1 => one_of([" offset 2m", " offset -1m", " offset 12m"]),
        1 => one_of([" @ end()", " @ start() offset 1m"]),
    ]
    .boxed()
}

/// Labels for grouping and matching.
fn labels() -> Text {
    let labels = subsequence(&["x", "y", "only", "__name__"][..], 0..3);
    labels.prop_map(|labels| labels.join(",")).boxed()
}

fn aggregate(inner: Text) -> Text {
    let group =
        prop_oneof![Just(String::new()), fill(" # (#) ", [words("by without"), labels()])].boxed();
    let plain = words("sum min max avg count group stddev stdvar");
    let count = words("0 1 2 3 -1 1.7 Inf NaN");
    let share = words("0.5 0.9 2 -1 NaN");
    let label = one_of(["v", "x", "a-b"]);
    prop_oneof![
        6 => fill("##(#)", [plain, group.clone(), inner.clone()]),
        2 => fill("##(#, #)", [words("topk bottomk"), group.clone(), count, inner.clone()]),
        1 => fill("quantile#(#, #)", [group.clone(), share, inner.clone()]),
        1 => fill("count_values#(\"#\", #)", [group, label, inner]),
    ]
    .boxed()
}

fn arithmetic() -> Text {
    words("+ - * / % ^")
}

fn comparison() -> Text {
    words("== != < <= > >=")
}

fn operator() -> Text {
    prop_oneof![arithmetic(), comparison(), fill("# bool", [comparison()])].boxed()
}

fn matching() -> Text {
    prop_oneof![Just(String::new()), fill("# (#)", [words("on ignoring"), labels()])].boxed()
}

fn grouping() -> Text {
    let on = one_of(["on (x)", "on ()", "ignoring (y, only)"]);
    fill(
        "# # (#)",
        [on, words("group_left group_right"), one_of(["", "y", "only", "y, only", "z"])],
    )
}

fn between_vectors(inner: Text) -> Text {
    let matching = prop_oneof![3 => matching(), 1 => grouping()].boxed();
    fill("(#) # # (#)", [inner.clone(), operator(), matching, inner])
}

fn between_sets(inner: Text) -> Text {
    fill("(#) # # (#)", [inner.clone(), words("and or unless"), matching(), inner])
}

fn with_number(inner: Text) -> Text {
    prop_oneof![
        fill("(#) # (#)", [inner.clone(), operator(), scalar(inner.clone())]),
        fill("(#) # (#)", [scalar(inner.clone()), operator(), inner]),
    ]
    .boxed()
}

fn scalar(vector: Text) -> Text {
    let simple = prop_oneof![
        words("0 1 2.5 -3 Inf NaN 1e6 0x10"),
        words("time() pi()"),
        fill("scalar(#)", [vector]),
    ];
    let operator = prop_oneof![arithmetic(), fill("# bool", [comparison()])];
    let simple = simple.boxed();
    prop_oneof![
        3 => simple.clone(),
        1 => fill("# # #", [simple.clone(), operator.boxed(), simple]),
    ]
    .boxed()
}

fn function(inner: Text) -> Text {
    let name = words("abs ceil floor round sgn sqrt sort sort_desc timestamp absent");
    let bounds = one_of(["1, 2", "2, 1", "NaN, 1", "-Inf, 0"]);
    let (clamp, bound) = (words("clamp_min clamp_max"), words("0 NaN Inf 1.5"));
    prop_oneof![
        6 => fill("#(#)", [name, inner.clone()]),
        1 => fill("round(#, 0.5)", [inner.clone()]),
        1 => fill("clamp(#, #)", [inner.clone(), bounds]),
        1 => fill("#(#, #)", [clamp, inner.clone(), bound]),
        1 => fill("vector(#)", [scalar(inner)]),
    ]
    .boxed()
}

fn over_time() -> Text {
    let of_what = words("avg sum min max count last present stddev stdvar absent");
    let change = words("rate increase delta irate idelta changes resets");
    let share = words("0 0.3 0.5 1 -1 NaN");
    prop_oneof![
        5 => fill("#_over_time(#)", [of_what, range()]),
        4 => fill("#(#)", [change, range()]),
        1 => fill("quantile_over_time(#, #)", [share, range()]),
    ]
    .boxed()
}

fn relabelled(inner: Text) -> Text {
    let replaced = one_of([
        r#""x", "$1-new", "y", "(.*)""#,
        r#""w", "${1}$$$2x", "only", "(.)(.*)""#,
        r#""y", "", "x", ".*""#,
        r#""only", "same", "", """#,
        r#""y", "$n", "x", "(?P<n>[0-9]).*""#,
        r#""__name__", "b", "x", "1|2""#,
        r#""a-b", "x", "x", ".*""#,
        r#""x", "y", "x", "(""#,
    ]);
    let joined = one_of([r#""x", "-", "x", "y""#, r#""w", ",", "missing", "only""#, r#""y", "/""#]);
    prop_oneof![
        fill("label_replace(#, #)", [inner.clone(), replaced]),
        fill("label_join(#, #)", [inner, joined]),
    ]
    .boxed()
}
