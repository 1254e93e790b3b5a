//! Number formats, comparisons and sums of Prometheus.

use std::cmp::Ordering;
use std::fmt;

/// A number in a message, with an exponent if it is long.
pub(super) struct Number(pub(super) f64);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        let is_handy = size == 0.0 || (1e-5..1e16).contains(&size) || !size.is_finite();
        if is_handy { f.write_str(&as_label(self.0)) } else { write!(f, "{:e}", self.0) }
    }
}

/// A number as Prometheus writes it to a label: without an exponent.
pub(super) fn as_label(number: f64) -> String {
    match number {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        number => number.to_string(),
    }
}

/// The larger number, where +Inf is larger than NaN and NaN larger than all others.
pub(super) fn larger(left: f64, right: f64) -> f64 {
    if left == f64::INFINITY || right == f64::INFINITY {
        f64::INFINITY
    } else if left.is_nan() || right.is_nan() {
        f64::NAN
    } else {
        left.max(right)
    }
}

/// The smaller number, where -Inf is smaller than NaN and NaN smaller than all others.
pub(super) fn smaller(left: f64, right: f64) -> f64 {
    -larger(-left, -right)
}

/// Order for quantiles: NaN first.
pub(super) fn nan_first(left: f64, right: f64) -> Ordering {
    left.partial_cmp(&right).unwrap_or_else(|| right.is_nan().cmp(&left.is_nan()))
}

/// Compensated sum (Kahan summation with Neumaier's improvement).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
    pub(super) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let (large, small) =
            if self.sum.abs() >= value.abs() { (self.sum, value) } else { (value, self.sum) };
        self.lost += (large - sum) + small;
        self.sum = sum;
    }

    /// The sum with the compensation.
    pub(super) fn exact(self) -> f64 {
        self.sum + self.lost
    }

    /// The sum without the compensation.
    pub(super) fn rough(self) -> f64 {
        self.sum
    }

    /// The sum with the compensation, unless it is infinite.
    pub(super) fn total(self) -> f64 {
        if self.sum.is_infinite() { self.sum } else { self.exact() }
    }
}

/// Whether a value does not change the mean: an infinite mean changes only with NaN or the opposite
/// infinity.
#[allow(clippy::float_cmp, reason = "both are infinite")]
pub(super) fn ignores(mean: f64, value: f64) -> bool {
    mean.is_infinite() && !value.is_nan() && (value.is_finite() || value == mean)
}

/// The quantile of values, with linear interpolation.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the rank is between 0 and the number of values"
)]
pub(super) fn quantile(share: f64, mut values: Vec<f64>) -> f64 {
    if values.is_empty() || share.is_nan() {
        return f64::NAN;
    }
    if !(0.0..=1.0).contains(&share) {
        return share.signum() * f64::INFINITY;
    }
    values.sort_by(|left, right| nan_first(*left, *right));
    let rank = share * (values.len() - 1) as f64;
    let lower = rank.floor() as usize;
    let upper = (lower + 1).min(values.len() - 1);
    let weight = rank - rank.floor();
    values[lower] * (1.0 - weight) + values[upper] * weight
}
