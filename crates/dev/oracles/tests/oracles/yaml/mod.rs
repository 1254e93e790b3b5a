//! The decoder against Go's `sigs.k8s.io/yaml` from Debian's packages: the same JSON for everything
//! that Go accepts, and an error for everything that Go refuses.
//!
//! Exceptions:
//!
//! | class | Go | here |
//! | --- | --- | --- |
//! | nesting beyond 100 levels, more than 2,000,000 nodes, large anchors | accepted | refused: limits |
//! | keys that differ only in their type, such as `1` and `"1"` | one of the values at random | the last value |
//! | invalid characters behind the end of the document | refused if they are within the read-ahead of 512 bytes | ignored |
//! | U+FEFF behind the beginning | drops characters, depending on the state of the read buffer | text |

mod generate;
mod go;
mod payloads;

use fairway_yaml::{OddityKind, YamlProblem, decode, to_json};

use self::generate::Generator;
use self::go::{GoResult, Oracle};

/// The seed of generated inputs, an arbitrary number.
const SEED: u64 = 0x5eed_2026;

/// Number of inputs in a batch.
const BATCH: usize = 20_000;

/// Compares the two decoders and returns a report of every difference.
fn differences(oracle: &Oracle, inputs: &[Vec<u8>]) -> Vec<String> {
    let verdicts = oracle.decode(inputs);
    assert_eq!(verdicts.len(), inputs.len(), "the oracle answers every input");
    let compared = inputs.iter().zip(verdicts);
    compared.filter_map(|(input, verdict)| difference(input, &verdict)).collect()
}

fn difference(input: &[u8], go: &GoResult) -> Option<String> {
    let ours = decode(input);
    let shown = || String::from_utf8_lossy(&input[..input.len().min(400)]).into_owned();
    match (&ours, go) {
        (Err(_), GoResult::Error(_)) => None,
        (Ok(decoded), GoResult::Json(json)) => {
            let written = to_json(&decoded.value);
            if written == *json || is_ambiguous(&decoded.oddities) || has_inner_mark(input) {
                return None;
            }
            Some(format!("input {:?}\n  here {written}\n  Go   {json}", shown()))
        }
        (Err(error), GoResult::Json(json)) => {
            let is_limit = matches!(
                error.problem,
                YamlProblem::TooDeep
                    | YamlProblem::TooManyNodes
                    | YamlProblem::TooManyAliasNodes
                    | YamlProblem::TooManyAliasBytes
            );
            let report = || format!("input {:?}\n  here error: {error}\n  Go   {json}", shown());
            (!is_limit && !has_inner_mark(input)).then(report)
        }
        (Ok(decoded), GoResult::Error(error)) => {
            let is_read_ahead = error.contains("control characters") || error.contains("UTF-8");
            let is_behind = is_read_ahead
                && decoded.oddities.iter().any(|odd| odd.kind == OddityKind::IgnoredContent);
            let written = to_json(&decoded.value);
            let report = || format!("input {:?}\n  here {written}\n  Go   error: {error}", shown());
            (!is_behind && !has_inner_mark(input)).then(report)
        }
    }
}

/// Whether a key repeats with another type, where Go picks a value at random.
fn is_ambiguous(oddities: &[fairway_yaml::Oddity]) -> bool {
    oddities.iter().any(|oddity| {
        match &oddity.kind {
        OddityKind::DuplicateKey { key, .. } => oddities.iter().any(|other| {
            matches!(&other.kind, OddityKind::NonStringKey { key: number } if number == key)
        }),
        _ => false,
    }
    })
}

/// Whether U+FEFF is anywhere but at the beginning. go-yaml looks for it at the beginning of its
/// read buffer instead of the current position.
fn has_inner_mark(input: &[u8]) -> bool {
    let is_utf16 = input.starts_with(b"\xFF\xFE") || input.starts_with(b"\xFE\xFF");
    let inner = input.get(1..).unwrap_or_default();
    inner.windows(3).any(|three| three == b"\xEF\xBB\xBF")
        || is_utf16 && inner.windows(2).any(|two| matches!(two, b"\xFF\xFE" | b"\xFE\xFF"))
}

#[track_caller]
fn assert_same(differences: &[String], compared: usize) {
    let shown = differences.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(differences.is_empty(), "{} of {compared} differ:\n{shown}", differences.len());
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn decode_of_payload_manifests_matches_go() {
    let Some(documents) = payloads::documents() else { return };
    assert!(documents.len() > 2000, "only {} documents", documents.len());
    let oracle = Oracle::build();
    let found = differences(&oracle, &documents);
    assert_same(&found, documents.len());
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn decode_of_mutated_payload_manifests_matches_go() {
    let Some(documents) = payloads::documents() else { return };
    let oracle = Oracle::build();
    println!("seed {SEED:#x}");
    let generator = Generator::new(SEED);
    let small: Vec<_> = documents.iter().filter(|document| document.len() < 4000).collect();
    for _ in 0..generate::rounds() {
        let mutated: Vec<_> =
            (0..BATCH).map(|_| generator.mutated(small[generator.below(small.len())])).collect();
        let found = differences(&oracle, &mutated);
        assert_same(&found, BATCH);
    }
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn decode_of_generated_documents_matches_go() {
    let oracle = Oracle::build();
    println!("seed {SEED:#x}");
    let mut generator = Generator::new(SEED);
    let mut accepted = 0;
    for _ in 0..generate::rounds() {
        let inputs: Vec<_> = (0..BATCH).map(|_| generator.document()).collect();
        accepted += inputs.iter().filter(|input| decode(input).is_ok()).count();
        let found = differences(&oracle, &inputs);
        assert_same(&found, BATCH);
    }
    let all = generate::rounds() * BATCH;
    assert!(accepted * 3 > all, "only {accepted} of {all} documents are valid");
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn decode_of_random_tokens_matches_go() {
    let oracle = Oracle::build();
    println!("seed {SEED:#x}");
    let mut generator = Generator::new(SEED);
    for _ in 0..4 * generate::rounds() {
        let inputs: Vec<_> = (0..BATCH).map(|_| generator.tokens()).collect();
        let found = differences(&oracle, &inputs);
        assert_same(&found, BATCH);
    }
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn decode_of_scalars_matches_go() {
    let oracle = Oracle::build();
    println!("seed {SEED:#x}");
    let mut generator = Generator::new(SEED);
    for _ in 0..2 * generate::rounds() {
        let inputs: Vec<_> = (0..BATCH).map(|_| generator.scalar_document()).collect();
        let found = differences(&oracle, &inputs);
        assert_same(&found, BATCH);
    }
}
