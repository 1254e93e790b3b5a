//! Functions of one value.

/// The function of that name that makes one value of another.
pub(super) fn function(name: &str) -> Option<fn(f64) -> f64> {
    Some(match name {
        "abs" => f64::abs,
        "acos" => f64::acos,
        "acosh" => f64::acosh,
        "asin" => f64::asin,
        "asinh" => f64::asinh,
        "atan" => f64::atan,
        "atanh" => f64::atanh,
        "ceil" => f64::ceil,
        "cos" => f64::cos,
        "cosh" => f64::cosh,
        "deg" => f64::to_degrees,
        "exp" => f64::exp,
        "floor" => f64::floor,
        "ln" => f64::ln,
        "log10" => f64::log10,
        "log2" => f64::log2,
        "rad" => f64::to_radians,
        "sgn" => sign,
        "sin" => f64::sin,
        "sinh" => f64::sinh,
        "sqrt" => f64::sqrt,
        "tan" => f64::tan,
        "tanh" => f64::tanh,
        _ => return None,
    })
}

fn sign(value: f64) -> f64 {
    if value < 0.0 {
        -1.0
    } else if value > 0.0 {
        1.0
    } else {
        value
    }
}

/// The nearest multiple; halves go up. The multiple is inverted, as 0.1 is not exact, but 10 is.
pub(super) fn round(value: f64, nearest: f64) -> f64 {
    let inverse = 1.0 / nearest;
    (value * inverse + 0.5).floor() / inverse
}
