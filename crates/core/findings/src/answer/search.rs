//! Finding an answer in what a check printed.

use serde::Deserialize as _;

use super::Answer;
use crate::json;
use crate::reading::{self, ReadError};

/// How formats of answers begin, whatever their version is.
const FORMATS: &str = "preflight-v";

/// What was found in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// An answer.
    Answer(Answer),
    /// Something that was meant to be one.
    Broken(String),
    /// None.
    Nothing,
    /// The text is too long to be searched.
    TooLong,
}

/// The last complete answer that starts a line.
pub(super) fn last_answer(text: &str) -> Found {
    let mut broken = Found::Nothing;
    for begin in beginnings(text).rev() {
        match answer_at(&text[begin..]) {
            found @ Found::Answer(_) => return found,
            Found::Broken(why) if broken == Found::Nothing => broken = Found::Broken(why),
            _ => {}
        }
    }
    match broken {
        Found::Nothing if text.contains(FORMATS) => {
            Found::Broken("it does not start at the beginning of a line".to_owned())
        }
        other => other,
    }
}

/// Where the lines begin that begin with an object.
fn beginnings(text: &str) -> impl DoubleEndedIterator<Item = usize> {
    let first = std::iter::once(0);
    let others = text.match_indices('\n').map(|(at, _)| at + 1);
    first.chain(others).filter(|begin| text[*begin..].starts_with('{'))
}

/// The answer that a text begins with.
fn answer_at(text: &str) -> Found {
    let Some(length) = json::object_length(text) else {
        let line = text.lines().next().unwrap_or_default();
        if line.contains(FORMATS) {
            return Found::Broken("not a complete JSON object".to_owned());
        }
        return Found::Nothing;
    };
    let object = &text[..length];
    if !object.contains(FORMATS) {
        return Found::Nothing;
    }
    match read(object) {
        Ok(answer) => Found::Answer(answer),
        Err(why) => Found::Broken(why),
    }
}

fn read(object: &str) -> Result<Answer, String> {
    let value = json::parse(object.as_bytes()).map_err(|why| why.to_string())?;
    reading::has_findings(&value).map_err(|error| match error {
        ReadError::UnknownFormat(format) => format!("unsupported format {format:?}"),
        ReadError::Invalid(why) => why,
        other => other.to_string(),
    })?;
    Answer::deserialize(&value).map_err(|why| why.to_string())
}
