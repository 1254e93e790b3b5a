//! Which fields the messages of built-in kinds have.

use std::collections::HashMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("messages.txt");

/// The fields of a message, by their numbers.
pub(super) type Message = HashMap<u32, Field>;

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// `None` where its content stands beside it in JSON.
    pub(super) name: Option<&'static str>,
    pub(super) form: Form,
    /// The type of the value, or of each of them.
    pub(super) type_: &'static str,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    One,
    List,
    Map,
}

/// The message of that name.
pub(super) fn find(name: &str) -> Option<&'static Message> {
    static MESSAGES: LazyLock<HashMap<&'static str, Message>> = LazyLock::new(|| {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(line).collect()
    });
    MESSAGES.get(name)
}

fn line(line: &'static str) -> Option<(&'static str, Message)> {
    let (name, fields) = line.split_once(':')?;
    Some((name, fields.split(',').filter_map(field).collect()))
}

fn field(text: &'static str) -> Option<(u32, Field)> {
    let mut words = text.split_whitespace();
    let (number, name, type_) = (words.next()?, words.next()?, words.next()?);
    let (form, type_) = match (type_.strip_prefix('['), type_.strip_prefix('{')) {
        (Some(list), _) => (Form::List, list.strip_suffix(']')?),
        (_, Some(map)) => (Form::Map, map.strip_suffix('}')?),
        _ => (Form::One, type_),
    };
    let name = Some(name).filter(|name| *name != "-");
    Some((number.parse().ok()?, Field { name, form, type_ }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_of_the_table_is_known() {
        let scalars = ["string", "bytes", "bool", "int32", "int64", "double"];
        let special = ["Time", "MicroTime", "Quantity", "IntOrString", "Json", "Texts"];
        for text in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let (name, message) = line(text).unwrap();
            assert_eq!(message.len(), text.split(',').count(), "{name}");
            for Field { type_, .. } in message.values() {
                let known = scalars.contains(type_) || special.contains(type_);
                assert!(known || find(type_).is_some(), "{name}: {type_}");
            }
        }
    }
}
