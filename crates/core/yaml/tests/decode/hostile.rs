//! Hostile input: no panic, no unbounded growth, no quadratic time.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use fairway_yaml::limits::{MAX_ALIAS_BYTES, MAX_ALIAS_NODES, MAX_DEPTH, MAX_ODDITIES};
use fairway_yaml::{decode, documents, to_json};
use proptest::prelude::*;

fn problem(text: &str) -> String {
    decode(text.as_bytes()).unwrap_err().problem.to_string()
}

#[test]
fn depth_beyond_limit_is_refused() {
    let flow = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(decode(flow(MAX_DEPTH).as_bytes()).is_ok());
    let block = |depth: usize| "- ".repeat(depth) + "a";
    assert!(decode(block(MAX_DEPTH).as_bytes()).is_ok());
    // Each anchor is within the limit, and the value is not.
    let alias = format!("a: &a {}\nb: {}*a{}\n", flow(90), "[".repeat(20), "]".repeat(20));
    let keys = "? ".repeat(100_000) + "a";
    for text in [flow(MAX_DEPTH + 1), flow(1_000_000), block(MAX_DEPTH + 1), alias, keys] {
        assert_eq!(problem(&text), "nested more than 100 levels deep");
    }
}

#[test]
fn alias_bombs_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(bomb, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    assert_eq!(problem(&bomb), "excessive aliasing");

    let wide = format!("a: &a [{}]\nb: [{}]\n", "x,".repeat(9_000), "*a,".repeat(20));
    assert_eq!(problem(&wide), format!("aliases repeat more than {MAX_ALIAS_NODES} nodes"));

    let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a,".repeat(20));
    assert_eq!(problem(&long), format!("aliases repeat more than {MAX_ALIAS_BYTES} bytes"));

    // Anchors inside anchors are copied, and count.
    let nested = ["&a [".repeat(90), "x,".repeat(5_000), "]".repeat(90)].concat();
    assert_eq!(problem(&nested), format!("aliases repeat more than {MAX_ALIAS_NODES} nodes"));
}

#[test]
fn oddities_beyond_the_limit_are_counted() {
    for count in [MAX_ODDITIES, MAX_ODDITIES + 1, 100_000] {
        let oddities = decode("- on\n".repeat(count).as_bytes()).unwrap().oddities;
        assert_eq!(oddities.len(), MAX_ODDITIES);
        let last = oddities.last().unwrap().kind.to_string();
        let omitted = count + 1 - MAX_ODDITIES;
        match count {
            MAX_ODDITIES => assert_eq!(last, "unquoted on is the boolean true"),
            _ => assert_eq!(last, format!("{omitted} more warnings omitted")),
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the time that decoding takes is what is tested")]
fn time_grows_with_the_size_of_the_input() {
    const SIZE: usize = 1 << 20;
    let patterns = [
        " ",
        "\n",
        "\t",
        "a",
        "-",
        "- ",
        "-\n",
        ": ",
        "a: ",
        "a:\n",
        "? ",
        "?\n",
        "[",
        "{",
        "[]",
        "{},",
        "[a,",
        "a,",
        "'",
        "''",
        "\"",
        "\\",
        "\"\\\n",
        "'\n",
        "&a ",
        "*a ",
        "! ",
        "!a",
        "|\n",
        ">\n ",
        "#",
        "# a\n",
        "---\n",
        "...\n",
        "%",
        "%YAML 1.1\n",
        "é",
        "\u{85}",
        "\u{2028}",
        "\r",
        "\r\n",
        "a\n\n",
        "a: b\n",
        "a: b\n ",
        "a: &a b\n",
        "<<: {}\n",
        "a: .nan\n",
        "1_",
        "0x",
        "1e",
        "\u{feff}",
        "{a: [",
        "{}{",
        "{} ",
    ];
    let frames = [("", ""), ("a: ", ""), ("[", "]"), ("{a: ", "}"), ("'", "'"), ("|\n ", "")];
    for pattern in patterns {
        for (head, tail) in frames {
            let text = format!("{head}{}{tail}", pattern.repeat(SIZE / pattern.len()));
            let start = Instant::now();
            let _ = decode(text.as_bytes());
            let _ = documents(text.as_bytes()).count();
            let elapsed = start.elapsed();
            // A quadratic step over a megabyte takes minutes.
            assert!(elapsed < Duration::from_secs(20), "{head:?} {pattern:?} {elapsed:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn decode_of_any_bytes_returns(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes);
        let _ = documents(&bytes).count();
    }

    #[test]
    fn decode_of_any_tokens_returns(
        text in "([-?:,\\[\\]{}#&*!|>'\"%@` \n\t\r.0-9a-c\u{85}\u{2028}\u{feff}é\\\\]|- |: |\\? |\n  |---\n|\\.\\.\\.\n|<<: |!!int |&a |\\*a ){0,60}",
    ) {
        if let Ok(decoded) = decode(text.as_bytes()) {
            // The value is JSON that reads back as itself.
            let json = to_json(&decoded.value);
            let again: serde_json::Value = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(to_json(&again), json);
        }
        let _ = documents(text.as_bytes()).count();
    }

    #[test]
    fn decode_of_encoded_json_returns_the_same(text in "[ -~é\n\t]{0,40}", number in any::<i64>()) {
        let value = serde_json::json!({"a": [text, number, null, true], "b": {}});
        let json = serde_json::to_string(&value).unwrap();
        let decoded = decode(json.as_bytes()).unwrap();
        prop_assert_eq!(decoded.value, value);
    }
}
