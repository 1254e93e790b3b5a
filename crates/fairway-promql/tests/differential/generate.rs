//! Queries that nobody would write, and states that no cluster is in.
//!
//! Functions whose last digits depend on who calculates them are left out here: a difference there
//! is none, but a comparison or a label makes it one.

use std::fmt::Write as _;

use fairway_promql::snapshot::{Limits, Snapshot};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// Values with which something special happens are as frequent as others.
const VALUES: [&str; 12] =
    ["0", "1", "1", "2", "3", "-1", "0.5", "-2.25", "1000000", "NaN", "+Inf", "-Inf"];

/// What a series may be, in any number of states.
pub(crate) fn states(count: usize) -> impl Strategy<Value = Vec<Snapshot>> {
    prop::collection::vec(state(), count)
}

fn state() -> impl Strategy<Value = Snapshot> {
    let series = subsequence(all_series(), 4..24);
    series.prop_flat_map(|series| {
        let samples: Vec<_> = series.into_iter().map(samples).collect();
        samples.prop_map(|lines| {
            let text = lines.concat();
            Snapshot::parse(&text, Timestamp::UNIX_EPOCH, &Limits::default()).unwrap()
        })
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

/// Samples about a minute apart, and never where a window begins or ends.
fn samples(series: String) -> impl Strategy<Value = String> {
    let sample = (select(&VALUES[..]), 17_000..37_000i64, prop::bool::weighted(0.8));
    prop::collection::vec(sample, 1..16).prop_map(move |samples| {
        (0..).zip(samples).fold(String::new(), |mut lines, (minute, (value, second, exists))| {
            if exists {
                writeln!(lines, "{series} {value} -{}", minute * 60_000 + second).unwrap();
            }
            lines
        })
    })
}

/// Any query of the language that is covered.
pub(crate) fn query() -> impl Strategy<Value = String> {
    prop_oneof![9 => vector(), 1 => scalar(vector()).boxed(), 1 => range()]
}

type Text = BoxedStrategy<String>;

fn one_of(words: &'static [&'static str]) -> Text {
    select(words).prop_map(str::to_owned).boxed()
}

fn vector() -> Text {
    selector()
        .prop_recursive(4, 24, 3, |inner| {
            prop_oneof![
                3 => aggregate(inner.clone()),
                3 => binary(inner.clone()),
                2 => set(inner.clone()),
                2 => with_number(inner.clone()),
                3 => function(inner.clone()),
                2 => over_time(),
                1 => relabelled(inner.clone()),
                1 => inner.clone().prop_map(|inner| format!("-({inner})")),
                1 => inner.prop_map(|inner| format!("({inner})")),
            ]
            .boxed()
        })
        .boxed()
}

fn selector() -> Text {
    (selected(), when()).prop_map(|(selected, when)| selected + &when).boxed()
}

fn range() -> Text {
    let range = one_of(&["[1m]", "[2m]", "[5m]", "[10m]", "[1h]"]);
    (selected(), range, when())
        .prop_map(|(selected, range, when)| selected + &range + &when)
        .boxed()
}

fn selected() -> Text {
    let metric = one_of(&["a", "b", "counter_total", "missing"]);
    let matchers = subsequence(MATCHERS, 0..3);
    prop_oneof![
        6 => metric.clone(),
        3 => (metric, matchers).prop_map(|(metric, matchers)| format!("{metric}{{{}}}", matchers.join(","))),
        1 => Just("{only=\"a\"}".to_owned()),
        1 => Just("{__name__=~\"a|b\",x!=\"1\"}".to_owned()),
    ]
    .boxed()
}

const MATCHERS: &[&str] = &[
    "x=\"1\"",
    "x!=\"1\"",
    "x=\"\"",
    "y=~\"p|q\"",
    "y!~\"p.*\"",
    "x=~\".+\"",
    "x=~\"[12]?\"",
    "only=\"a\"",
    "z=\"none\"",
];

fn when() -> Text {
    prop_oneof![
        8 => Just(String::new()),
        1 => one_of(&[" offset 2m", " offset -1m", " offset 12m"]),
        1 => one_of(&[" @ end()", " @ start() offset 1m"]),
    ]
    .boxed()
}

/// Labels in brackets, for what groups or matches by them.
fn labels() -> Text {
    subsequence(&["x", "y", "only", "__name__"], 0..3)
        .prop_map(|labels| format!("({})", labels.join(",")))
        .boxed()
}

fn aggregate(inner: Text) -> Text {
    let plain = one_of(&["sum", "min", "max", "avg", "count", "group", "stddev", "stdvar"]);
    let with_number = one_of(&["topk", "bottomk"]);
    let group = prop_oneof![
        Just(String::new()),
        (one_of(&[" by ", " without "]), labels()).prop_map(|(by, labels)| by + &labels + " "),
    ];
    let call = prop_oneof![
        6 => (plain, Just(String::new())),
        2 => (with_number, one_of(&["1, ", "2, ", "3, ", "0, ", "-1, ", "1.7, ", "Inf, ", "NaN, "])),
        1 => (one_of(&["quantile"]), one_of(&["0.5, ", "0.9, ", "2, ", "-1, ", "NaN, "])),
        1 => (one_of(&["count_values"]), one_of(&["\"v\", ", "\"x\", ", "\"a-b\", "])),
    ];
    (call, group, inner)
        .prop_map(|((operation, parameter), group, inner)| {
            format!("{operation}{group}({parameter}{inner})")
        })
        .boxed()
}

const ARITHMETIC: &[&str] = &["+", "-", "*", "/", "%", "^"];
const COMPARISONS: &[&str] = &["==", "!=", "<", "<=", ">", ">="];
const BOOL_COMPARISONS: &[&str] = &["== bool", "!= bool", "< bool", ">= bool"];

fn operator() -> Text {
    prop_oneof![one_of(ARITHMETIC), one_of(COMPARISONS), one_of(BOOL_COMPARISONS)].boxed()
}

fn matching() -> Text {
    prop_oneof![
        Just(String::new()),
        (one_of(&[" on ", " ignoring "]), labels()).prop_map(|(word, labels)| word + &labels),
    ]
    .boxed()
}

fn binary(inner: Text) -> Text {
    let grouping = prop_oneof![
        3 => Just(String::new()),
        1 => (one_of(&[" on (x) ", " on () ", " ignoring (y, only) "]), one_of(&["group_left", "group_right"]), one_of(&["()", "(y)", "(only)", "(y, only)", "(z)"]))
            .prop_map(|(on, word, labels)| on + &word + &labels),
    ];
    let matching = prop_oneof![matching(), grouping];
    (inner.clone(), operator(), matching, inner)
        .prop_map(|(left, operator, matching, right)| {
            format!("({left}) {operator}{matching} ({right})")
        })
        .boxed()
}

fn set(inner: Text) -> Text {
    (inner.clone(), one_of(&["and", "or", "unless"]), matching(), inner)
        .prop_map(|(left, operator, matching, right)| {
            format!("({left}) {operator}{matching} ({right})")
        })
        .boxed()
}

fn with_number(inner: Text) -> Text {
    (inner.clone(), operator(), scalar(inner), any::<bool>())
        .prop_map(|(vector, operator, scalar, swapped)| {
            if swapped {
                format!("({scalar}) {operator} ({vector})")
            } else {
                format!("({vector}) {operator} ({scalar})")
            }
        })
        .boxed()
}

fn scalar(vector: Text) -> Text {
    let leaf = prop_oneof![
        one_of(&["0", "1", "2.5", "-3", "Inf", "NaN", "1e6", "0x10"]),
        one_of(&["time()", "pi()"]),
        vector.prop_map(|vector| format!("scalar({vector})")),
    ];
    let operator = prop_oneof![one_of(ARITHMETIC), one_of(BOOL_COMPARISONS)];
    prop_oneof![
        3 => leaf.clone(),
        1 => (leaf.clone(), operator, leaf).prop_map(|(left, operator, right)| format!("{left} {operator} {right}")),
    ]
    .boxed()
}

fn function(inner: Text) -> Text {
    let name = one_of(&[
        "abs",
        "ceil",
        "floor",
        "round",
        "sgn",
        "sqrt",
        "sort",
        "sort_desc",
        "timestamp",
        "absent",
    ]);
    prop_oneof![
        6 => (name, inner.clone()).prop_map(|(name, inner)| format!("{name}({inner})")),
        1 => inner.clone().prop_map(|inner| format!("round({inner}, 0.5)")),
        1 => (inner.clone(), one_of(&["1, 2", "2, 1", "NaN, 1", "-Inf, 0"])).prop_map(|(inner, bounds)| format!("clamp({inner}, {bounds})")),
        1 => (inner.clone(), one_of(&["clamp_min", "clamp_max"]), one_of(&["0", "NaN", "Inf", "1.5"]))
            .prop_map(|(inner, name, bound)| format!("{name}({inner}, {bound})")),
        1 => scalar(inner).prop_map(|scalar| format!("vector({scalar})")),
    ]
    .boxed()
}

fn over_time() -> Text {
    const NAMES: &[&str] = &[
        "avg_over_time",
        "sum_over_time",
        "min_over_time",
        "max_over_time",
        "count_over_time",
        "last_over_time",
        "present_over_time",
        "stddev_over_time",
        "stdvar_over_time",
        "absent_over_time",
        "rate",
        "increase",
        "delta",
        "irate",
        "idelta",
        "changes",
        "resets",
    ];
    prop_oneof![
        9 => (one_of(NAMES), range()).prop_map(|(name, range)| format!("{name}({range})")),
        1 => (one_of(&["0.5", "0", "1", "0.3", "-1", "NaN"]), range())
            .prop_map(|(share, range)| format!("quantile_over_time({share}, {range})")),
    ]
    .boxed()
}

fn relabelled(inner: Text) -> Text {
    let replacement = one_of(&[
        r#""x", "$1-new", "y", "(.*)""#,
        r#""w", "${1}$$$2x", "only", "(.)(.*)""#,
        r#""y", "", "x", ".*""#,
        r#""only", "same", "", """#,
        r#""y", "$n", "x", "(?P<n>[0-9]).*""#,
        r#""__name__", "b", "x", "1|2""#,
        r#""a-b", "x", "x", ".*""#,
        r#""x", "y", "x", "(""#,
    ]);
    let joined =
        one_of(&[r#""x", "-", "x", "y""#, r#""w", ",", "missing", "only""#, r#""y", "/""#]);
    prop_oneof![
        (inner.clone(), replacement)
            .prop_map(|(inner, texts)| format!("label_replace({inner}, {texts})")),
        (inner, joined).prop_map(|(inner, texts)| format!("label_join({inner}, {texts})")),
    ]
    .boxed()
}
