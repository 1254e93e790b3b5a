//! 422: something that a client sent is not valid.

use crate::api::{Cause, Details, Refusal};

/// What is not valid, as the API server names it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Invalid<'a> {
    pub(super) kind: &'a str,
    pub(super) group: &'a str,
    pub(super) name: &'a str,
}

impl Invalid<'_> {
    /// Because a field has this value.
    pub(super) fn value(self, field: &str, value: &str, detail: &str) -> Refusal {
        let problem = format!("Invalid value: {value}: {detail}");
        self.because("FieldValueInvalid", field, problem)
    }

    /// Because of this problem with a field; the reason is the word for machines.
    pub(super) fn because(self, reason: &str, field: &str, problem: String) -> Refusal {
        let Self { kind, group, name } = self;
        let subject = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let message = format!("{subject} {name:?} is invalid: {field}: {problem}");
        let (reason, field) = (reason.to_owned(), field.to_owned());
        Refusal::new(422, "Invalid", message).about(Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: kind.to_owned(),
            causes: vec![Cause { reason, message: problem, field }],
            ..Details::default()
        })
    }
}
