//! Numbers that may be given as a percentage.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// What becomes of a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Up,
    Down,
}

/// A number, or so many percent of the total. What is neither, and what is negative, is nothing.
pub(super) fn share(value: &IntOrString, total: i32, rounding: Rounding) -> i32 {
    let percent = match value {
        IntOrString::Int(number) => return (*number).max(0),
        IntOrString::String(text) => text.strip_suffix('%').and_then(|text| text.parse().ok()),
    };
    let percent: i64 =
        percent.filter(|percent: &i64| (0..=1_000_000).contains(percent)).unwrap_or(0);
    let hundredths = percent * i64::from(total.max(0));
    let whole = match rounding {
        Rounding::Up => (hundredths + 99) / 100,
        Rounding::Down => hundredths / 100,
    };
    i32::try_from(whole).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_rounded_as_told() {
        for (text, total, up, down) in [
            ("25%", 10, 3, 2),
            ("25%", 4, 1, 1),
            ("25%", 1, 1, 0),
            ("0%", 10, 0, 0),
            ("100%", 7, 7, 7),
            ("150%", 3, 5, 4),
            ("1%", 0, 0, 0),
            ("-5%", 10, 0, 0),
            ("99999999999999999999%", 10, 0, 0),
            ("many", 10, 0, 0),
            ("", 10, 0, 0),
        ] {
            let value = IntOrString::String(text.to_owned());
            assert_eq!(share(&value, total, Rounding::Up), up, "{text} of {total}, up");
            assert_eq!(share(&value, total, Rounding::Down), down, "{text} of {total}, down");
        }
        assert_eq!(share(&IntOrString::Int(3), 1, Rounding::Up), 3);
        assert_eq!(share(&IntOrString::Int(-3), 1, Rounding::Up), 0);
    }
}
