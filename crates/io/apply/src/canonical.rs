//! Comparison of values in different notation: quantities, empty values and defaults.

use serde_json::Value;

/// Fields whose values, or the values in them, are quantities.
const QUANTITIES: [&str; 8] =
    ["averageValue", "capacity", "divisor", "hard", "limits", "podFixed", "requests", "sizeLimit"];

/// Whether a field holds quantities.
pub fn holds_quantities(field: &str) -> bool {
    QUANTITIES.contains(&field)
}

/// Whether a value equals an unset field: API servers drop such values, or add them.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
    }
}

/// Whether two scalars have the same meaning.
pub fn same(one: &Value, other: &Value, quantity: bool) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other))
            if one.as_i64().is_none() || other.as_i64().is_none() =>
        {
            one.as_f64() == other.as_f64()
        }
        _ if one == other => true,
        _ if quantity => match (amount(one), amount(other)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        },
        _ => is_empty(one) && is_empty(other),
    }
}

/// Whether the second value has everything of the first. Defaults of the API server are ignored.
pub fn is_part_of(part: &Value, whole: &Value, quantity: bool) -> bool {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part.iter().all(|(key, part)| {
            let quantity = quantity || holds_quantities(key);
            match whole.get(key) {
                Some(whole) => is_part_of(part, whole, quantity),
                None => is_empty(part),
            }
        }),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() == whole.len()
                && part.iter().zip(whole).all(|(part, whole)| is_part_of(part, whole, quantity))
        }
        _ => same(part, whole, quantity),
    }
}

/// A quantity in billionths, the smallest unit of Kubernetes.
fn amount(quantity: &Value) -> Option<i128> {
    let text = match quantity {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let (base, exponent) = scale(suffix)?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let places = i32::try_from(fraction.len()).ok()?;
    let value: i128 = format!("{whole}{fraction}").parse().ok()?;
    // Billionths of 10^exponent; a fraction has that many digits less.
    let shift = 9 - places;
    match base {
        10 => shifted(value, 10, shift + exponent),
        _ => shifted(shifted(value, 10, shift)?, 2, exponent),
    }
}

fn shifted(value: i128, base: i128, exponent: i32) -> Option<i128> {
    let factor = base.checked_pow(exponent.unsigned_abs())?;
    if exponent >= 0 { value.checked_mul(factor) } else { Some(value / factor) }
}

/// Base and exponent of a suffix.
fn scale(suffix: &str) -> Option<(u8, i32)> {
    let found = [
        ("", 10, 0),
        ("n", 10, -9),
        ("u", 10, -6),
        ("m", 10, -3),
        ("k", 10, 3),
        ("M", 10, 6),
        ("G", 10, 9),
        ("T", 10, 12),
        ("P", 10, 15),
        ("E", 10, 18),
        ("Ki", 2, 10),
        ("Mi", 2, 20),
        ("Gi", 2, 30),
        ("Ti", 2, 40),
        ("Pi", 2, 50),
        ("Ei", 2, 60),
    ];
    if let Some((_, base, exponent)) = found.into_iter().find(|(known, ..)| *known == suffix) {
        return Some((base, exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((10, exponent.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn same_compares_quantities_by_value() {
        for (one, other, expected) in [
            (json!("1"), json!(1), true),
            (json!("1000m"), json!("1"), true),
            (json!("0.5"), json!("500m"), true),
            (json!(0.5), json!("500m"), true),
            (json!("1Gi"), json!("1024Mi"), true),
            (json!("1e3"), json!("1k"), true),
            (json!("1.5Gi"), json!("1536Mi"), true),
            (json!("1G"), json!("1Gi"), false),
            (json!("100m"), json!("101m"), false),
            (json!("16Ei"), json!("16Ei"), true),
            (json!("a lot"), json!("more"), false),
            (json!("99999999999999999999999999999999999999999E"), json!("1"), false),
        ] {
            assert_eq!(same(&one, &other, true), expected, "{one} {other}");
        }
        assert!(!same(&json!("1000m"), &json!("1"), false), "the field has no quantities");
    }

    #[test]
    fn is_empty_of_zero_values_is_true() {
        for empty in [json!(null), json!(""), json!(0), json!(false), json!([]), json!({"a": {}})] {
            assert!(is_empty(&empty), "{empty}");
        }
        for value in [json!("a"), json!(1), json!(true), json!([0]), json!({"a": "b"})] {
            assert!(!is_empty(&value), "{value}");
        }
    }

    #[test]
    fn is_part_of_ignores_server_defaults() {
        let part = json!({"rules": [{"verbs": ["get"], "quiet": false}]});
        let whole = json!({"rules": [{"verbs": ["get"], "scope": "*"}], "more": 1});
        assert!(is_part_of(&part, &whole, false));
        assert!(!is_part_of(&whole, &part, false));
        assert!(!is_part_of(&json!(["a"]), &json!(["a", "b"]), false), "lists are atomic");
    }

    proptest! {
        #[test]
        fn same_of_any_text_is_symmetric(one in ".{0,40}", other in ".{0,40}") {
            let (one, other) = (json!(one), json!(other));
            prop_assert_eq!(same(&one, &other, true), same(&other, &one, true));
            prop_assert!(same(&one, &one, true));
        }

        #[test]
        fn same_of_thousandths_is_true(number in 0_u32..) {
            let thousandths = format!("{number}000m");
            prop_assert!(same(&json!(thousandths), &json!(number), true));
        }
    }
}
