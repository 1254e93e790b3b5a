//! Amounts of cpu and memory, as the API writes them.

/// What the letters after a number stand for. Sums are compared, so rounding makes no difference.
const UNITS: [(&str, f64); 15] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
];

/// The amount that a text such as `500m` or `8Gi` stands for; nothing if it stands for none.
pub(crate) fn amount(text: &str) -> Option<f64> {
    let scaled = UNITS.iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * scale)
    });
    scaled.or_else(|| text.parse().ok()).filter(|amount| amount.is_finite() && *amount >= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_as_the_api_writes_them() {
        for (text, expected) in [
            ("2", Some(2.0)),
            ("500m", Some(0.5)),
            ("1.5", Some(1.5)),
            ("128Mi", Some(134_217_728.0)),
            ("1e3", Some(1000.0)),
            ("2E", Some(2e18)),
            ("12k", Some(12_000.0)),
            ("", None),
            ("Gi", None),
            ("-1", None),
            ("inf", None),
            ("NaN", None),
            ("many", None),
        ] {
            assert_eq!(amount(text), expected, "{text}");
        }
    }
}
