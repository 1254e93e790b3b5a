//! How fast values change.

use super::over_time::{Function, Window, count};

/// The function of that name.
pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "delta" => |window| extrapolated(window, Kind::Gauge, 1.0),
        "idelta" => |window| last_step(window).map(|step| step.change),
        "increase" => |window| extrapolated(window, Kind::Counter, 1.0),
        "irate" => |window| last_step(window).map(|step| step.increase / step.seconds),
        "rate" => |window| extrapolated(window, Kind::Counter, seconds(window.from, window.to)),
        _ => return None,
    })
}

/// What is known about how values change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Anything may happen.
    Gauge,
    /// They grow from nought, and begin there again.
    Counter,
}

/// The change over the whole window, of which the samples show only a part, divided.
fn extrapolated(window: &Window<'_>, kind: Kind, divisor: f64) -> Option<f64> {
    let [first, .., last] = window.samples else { return None };
    let difference = last.value - first.value;
    let change = match kind {
        Kind::Gauge => difference,
        Kind::Counter => lost_in_resets(window).fold(difference, |sum, lost| sum + lost),
    };
    let sampled = seconds(first.at, last.at);
    let apart = sampled / (count(window.samples.len()) - 1.0);
    let mut before = seconds(window.from, first.at);
    let after = seconds(last.at, window.to);
    if kind == Kind::Counter && change > 0.0 && first.value >= 0.0 {
        // It began at nought, not below.
        before = before.min(sampled * (first.value / change));
    }
    let reach = |gap: f64| if gap < apart * NEAR { gap } else { apart / 2.0 };
    Some(change * ((sampled + reach(before) + reach(after)) / sampled / divisor))
}

/// A series that has a sample within so many intervals of an end of the window probably lasts
/// until there; any other one probably ends halfway to the sample that is missing.
const NEAR: f64 = 1.1;

/// What a counter had each time it began again.
fn lost_in_resets(window: &Window<'_>) -> impl Iterator<Item = f64> {
    let pairs = window.samples.array_windows();
    pairs.filter(|[before, after]| after.value < before.value).map(|[before, _]| before.value)
}

struct Step {
    change: f64,
    /// What a counter grew by, which after a reset is all it has.
    increase: f64,
    seconds: f64,
}

fn last_step(window: &Window<'_>) -> Option<Step> {
    let [.., before, last] = window.samples else { return None };
    let change = last.value - before.value;
    let increase = if last.value < before.value { last.value } else { change };
    Some(Step { change, increase, seconds: seconds(before.at, last.at) })
}

#[expect(clippy::cast_precision_loss, reason = "differences of times are small enough")]
fn seconds(from: i64, to: i64) -> f64 {
    to.saturating_sub(from) as f64 / 1000.0
}
