//! The language: what we answer, Prometheus answers the same. We may refuse more.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRunner};

use crate::generate;
use crate::oracle::Oracle;

/// Few of them make a query that has to be asked.
const WORDS_PER_CASE: u32 = 40;

/// Queries at the edges of the language, one a line.
const QUERIES: &str = r#"
1h
a > 5m
a[300]
a offset 60
a[5m] offset 60s
a[1h30m]
a[30m1h]
a[1.5m]
a[0s]
a[1m1m]
a[500y]
a offset 500y
a offset -500y
{"a"}
{"a", x="1"}
{a, x="1"}
a{"x"="1"}
a{x="1",}
a{,}
a{}
{__name__="a"}
a{__name__="a"}
a{__name__="b"}
{__name__="a",__name__="b"}
{__name__!="a"}
{x=~".*"}
{x=~".+"}
{x!=""}
sum by ("x") (a)
sum by (x,) (a)
sum by () (a)
sum(a) by (x)
SUM(a)
sum by (sum, by, bool) (a)
a * on () group_left b
a * on () group_left () b
on
bool
by
offset
start
end
start + end
inf
nan
Inf
NaN
+Inf
-Inf
- - a
-+a
+a
1_000
0b11
0x1F
0X1f
0o17
017
1e3
1e+3
1E-3
.5
5.
1.5e
"text"
'text'
`text`
"a\x41"
"a\u00e4"
"\101"
`a\n`
'a"b'
"a'b"
-"text"
((a))
a[5m]
a[5m:]
a[5m:1m]
a[5m:1m] offset 1m
sum_over_time(a[5m:1m])
a @ 1700000000
a @ 1700000000.5
a @ -1
a @ 1e300
a @ Inf
a @ NaN
a @ start()
a @ start
a @ end() offset 1m
a offset 1m @ end()
a @ 1 @ 2
a[5m] @ end()
a[5m] @ 1700000000 offset -1m
(a) offset 1m
sum(a) offset 1m
1 == 1
1 == bool 1
1 and 2
a == bool b
a and bool b
a + bool b
a and on (x) group_left (y) b
a or ignoring (x) b
a unless b
a UNLESS b
a atan2 b
a % 0
a ^ 2 ^ 3
2 ^ 3 ^ 2
-2 ^ 2
-a ^ 2
2 * -a
1 - 2 - 3
a == b == 1
a < b < 3
a or b and b
a + b * 2
a unless b or b
1 + 2 > bool 2
vector(1) == 1
vector(1) > bool 0
scalar(a) > bool 0
time() - 1
pi() * 2
vector(time())
time
time{}
sum
sum{x="1"}
rate
rate(a[5m])
rate(counter_total[5m] offset 1m)
rate(a)
sum(a[5m])
abs(1)
abs(a, b)
abs()
round(a, 5)
round(a, 0)
round(a, -1)
round(a, NaN)
clamp(a, 0, 1)
clamp(a, b, 1)
clamp(a, scalar(b), 1)
day_of_month()
hour(a)
minute(vector(1e9))
days_in_month()
deriv(a[5m])
predict_linear(a[5m], 60)
holt_winters(a[5m], 0.5, 0.5)
double_exponential_smoothing(a[5m], 0.5, 0.5)
histogram_quantile(0.9, a)
histogram_count(a)
histogram_avg(a)
mad_over_time(a[5m])
sort_by_label(a, "x")
info(a)
limitk(1, a)
first_over_time(a[5m])
topk(1, a)
topk(a, b)
topk(1)
topk by (x) (1, a)
topk(1, a) by (x)
topk("1", a)
quantile(0.5, a)
count_values("v", a)
count_values("__name__", a)
count_values by (x) ("v", a)
count_values without (x) ("v", a)
count_values(v, a)
count_values("", a)
absent(a)
absent(missing{x="1",y=~"p",z!="1"})
absent(missing{x="1",x="2",y="p"})
absent(missing{x=""})
absent(sum(missing))
absent((missing{x="1"}))
absent(missing{x="1"} @ end())
absent_over_time(missing{x="1"}[5m])
absent_over_time(a[5m])
label_replace(a, "w", "$1", "x", "(.*)")
label_replace(a, "w", "$0", "x", "t(h)ree|1")
label_replace(a, "w", "${1}b", "x", "(.*)")
label_replace(a, "w", "$1b", "x", "(.*)")
label_replace(a, "w", "$01", "x", "(.*)")
label_replace(a, "w", "$", "x", "(.*)")
label_replace(a, "w", "${", "x", "(.*)")
label_replace(a, "w", "${a-b}", "x", "(.*)")
label_replace(a, "w", "$-", "x", "(.*)")
label_replace(a, "w", "$é", "x", "(.*)")
label_replace(a, "w", "$1é", "x", "(.*)")
label_replace(a, "w", "$n", "x", "(?P<n>.*)")
label_replace(a, "w", "é", "x", "\\w+")
label_replace(a, "w", "v", "x", "a**")
label_replace(a, "w", "v", "x", "a)(b")
label_replace(a, "w", "v", "x", "[[:digit:]]")
label_replace(a, "w", "v", "x", "[a&&b]")
label_replace(a, "w", "v", "é", "")
label_replace(a, "é", "v", "x", "")
label_replace(a, "__name__", "", "x", "")
label_replace(a, "__name__", "é", "x", "")
label_replace(a, "x", "", "x", ".*")
label_replace(sum by (y) (a), "x", "", "y", ".*")
label_join(a, "w", "-", "x", "y")
label_join(a, "w", "-")
label_join(a, "w", "", "x", "x")
label_join(a, "é", "-", "x")
label_join(a, "w", "-", "é")
a{x=~"1|2"}
a{x=~"(?i)THREE"}
a{x=~"(?x)1"}
a{x=~"\\d"}
a{x=~"\\pL+"}
a{x=~"t.*e"}
a{x=~"^1$"}
a{x=~"1{1}"}
a{x=~"1{1,1001}"}
a{x=~"(1{40}){40}"}
a{x=~"[^t]"}
a{x=~"[\\w-]+"}
a{x=~"\\Bx"}
a{x=~"[[:alpha:]]+"}
a{x=~"[[:word:]]"}
a{x=~"[a-z&&[^t]]+"}
a{x=~"(?s).*"}
a{x=~"(?P<n>1)"}
a{x=~"(?<n>1)"}
a{x=~"\\Q1\\E"}
a{x=~"\\x31"}
a{x=~"\\x{31}"}
a{x=~"\\u0031"}
a{x=~"x*?"}
a{x=~"()|1"}
a{x=~"(|1)"}
a{x=~"|1"}
a{x=~"1|"}
a{x=~"[\\d]"}
a{x=~"[]1]"}
a{x=~"1{"}
a{x=~"1{,2}"}
a{x=~"\\<1\\>"}
a{x=~"\\b1\\b"}
a{x="1"}{y="p"}
a # comment
"a # no comment"
sin(a)
cos(a) + tan(a)
asin(a)
acos(a)
atan(a)
sinh(a)
cosh(a)
tanh(a)
asinh(a)
acosh(a)
atanh(a)
exp(a)
ln(a)
log2(a)
log10(a)
deg(a)
rad(a)
a ^ 0.5
a ^ b
a atan2 2
-7 % 3
7 % -3
-0
0 * -1
1 / (0 * -1)
0 / 0
1 / 0
a / 0
count_values("v", a * -0)
count_values("v", a * 1e300)
count_values("v", a / 3)
sgn(a)
sort(a)
sort_desc(a)
timestamp(a)
timestamp((a))
timestamp(a offset 1m)
timestamp(a @ end())
timestamp(a @ 1700000000)
timestamp(abs(a))
timestamp(-a)
timestamp(vector(1))
scalar(missing)
scalar(a)
-missing
missing == missing
missing * on () a
a * on () missing
sum(missing)
count(missing)
group(missing) or vector(0)
topk(0, a)
topk(-1, a)
topk(1e30, a)
topk(NaN, a)
bottomk(1.99, a)
quantile(NaN, a)
stddev(a)
stdvar by (x) (a)
a > a
a >= bool a
1 < a
1 < bool a
a != a
a == NaN
a == bool NaN
last_over_time(a[5m])
last_over_time({__name__=~"a|b"}[5m])
max_over_time({__name__=~"a|b"}[5m])
abs({__name__=~"a|b"})
{__name__=~"a|b"} * 1
{__name__=~"a|b"} == 1
{__name__=~"a|b"} == bool 1
-{__name__=~"a|b"}
{__name__=~"a|b"} and on (x) a
a == on (x, y) b
a == on (__name__, x, y) a
a == bool on (__name__, x, y) a
a + on (__name__, x, y) a
a == ignoring (x) b
a == ignoring (only) b
a == bool ignoring (only) b
a * ignoring (only) group_left (__name__) b
a * ignoring (only) group_left (only) b
a * ignoring (only) group_right (only) b
a > bool ignoring (only) group_left (__name__) b
a - ignoring (only) group_right () b
sum by (__name__) ({__name__=~"a|b"})
sum without (__name__) (a)
count_values without (v) ("v", a)
"#;

/// Separated by blanks.
const WORDS: &str = r#"
    a b up sum topk by without on ignoring group_left bool or and unless offset @ start end inf nan
    ( ) { } [ ] , = == =~ !~ != + - * ^ : 1 0x1 1e9 5m 1h5s .5 "x" 'y' rate( vector( time( abs(
    (a) {x="1"} [5m] [5m:] sum(a) by(x) 1d 1_0 "1" =~"x" true start() end() info( label_replace(
"#;

/// Words in any order.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>());
    prop::collection::vec(word, 1..7).prop_map(|words| words.join(" "))
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn what_is_answered_prometheus_answers_the_same() {
    const STATES: usize = 4;
    let states = generate::states(STATES);
    let states = states.new_tree(&mut TestRunner::deterministic()).unwrap().current();
    let oracle = Oracle::start(&states);
    let mut refused = Vec::new();
    for query in QUERIES.lines().filter(|line| !line.is_empty()) {
        match oracle.refusal(query) {
            Some(refusal) if oracle.theirs(0, query).is_ok() => {
                refused.push(format!("{query}: {refusal}"));
            }
            Some(_) => {}
            None => (0..STATES).for_each(|state| drop(oracle.same(state, query))),
        }
    }
    // What only Prometheus answers.
    insta::assert_snapshot!(refused.join("\n"), @r#"
    a[5m:]: a subquery cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    a[5m:1m]: a subquery cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    a[5m:1m] offset 1m: a subquery cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    sum_over_time(a[5m:1m]): a subquery cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    a atan2 b: atan2 cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    day_of_month(): the function day_of_month cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    hour(a): the function hour cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    minute(vector(1e9)): the function minute cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    days_in_month(): the function days_in_month cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    deriv(a[5m]): the function deriv cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    predict_linear(a[5m], 60): the function predict_linear cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    holt_winters(a[5m], 0.5, 0.5): 1:1: there is no function "holt_winters"
    histogram_quantile(0.9, a): the function histogram_quantile cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    histogram_count(a): the function histogram_count cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    a{x=~"\\pL+"}: 1:6: "\\pL+" is no regular expression that can be used: \p is not covered
    a{x=~"\\Bx"}: 1:6: "\\Bx" is no regular expression that can be used: \B is not covered
    a{x=~"\\Q1\\E"}: 1:6: "\\Q1\\E" is no regular expression that can be used: unrecognized escape sequence
    a{x=~"1{"}: 1:6: "1{" is no regular expression that can be used: unclosed counted repetition
    a{x=~"1{,2}"}: 1:6: "1{,2}" is no regular expression that can be used: repetition quantifier expects a valid decimal
    a atan2 2: atan2 cannot be evaluated over a snapshot; ask a Prometheus, or write the query without it
    "#);
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn what_is_read_prometheus_reads_too() {
    let oracle = Oracle::start(&[]);
    let config = Config::default();
    let cases = config.cases * WORDS_PER_CASE;
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..config });
    let read = Cell::new(0);
    let outcome = runner.run(&words(), |query| {
        if oracle.refusal(&query).is_some() {
            return Ok(());
        }
        read.set(read.get() + 1);
        match oracle.theirs(0, &query) {
            Err(error) if error.contains("parse error") => Err(TestCaseError::fail(error)),
            _ => Ok(()),
        }
    });
    println!("of {cases} texts {} are queries", read.get());
    outcome.unwrap();
}
