//! Functions that change labels.

use regex::Captures;

use crate::expr::Expr;
use crate::go_regex;
use crate::labels::is_label_name;

use super::functions::unsupported;
use super::value::VectorSample;
use super::{Evaluation, EvaluationError};

impl Evaluation<'_> {
    pub(super) fn label_replace(
        &mut self,
        of: &Expr,
        texts: &[Expr],
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let [Expr::Text(label), Expr::Text(template), Expr::Text(source), Expr::Text(pattern)] =
            texts
        else {
            return Err(unsupported("label_replace"));
        };
        let regex = go_regex::compile(pattern)
            .map_err(|reason| EvaluationError::Regex { pattern: pattern.clone(), reason })?;
        check_name("label_replace", label)?;
        let mut vector = self.vector(of)?;
        for element in &mut vector {
            let value = element.labels.get(source);
            self.budget.text(value.len())?;
            let Some(captures) = regex.captures(value) else { continue };
            let pieces = expand(template, &captures);
            self.budget.text(pieces.iter().map(|piece| piece.len()).sum())?;
            element.labels = element.labels.with(label, &pieces.concat());
        }
        Ok(vector)
    }

    pub(super) fn label_join(
        &mut self,
        of: &Expr,
        texts: &[Expr],
    ) -> Result<Vec<VectorSample>, EvaluationError> {
        let [Expr::Text(label), Expr::Text(separator), sources @ ..] = texts else {
            return Err(unsupported("label_join"));
        };
        let mut names = Vec::with_capacity(sources.len());
        for source in sources {
            let Expr::Text(name) = source else { return Err(unsupported("label_join")) };
            check_name("label_join", name)?;
            names.push(name.as_str());
        }
        check_name("label_join", label)?;
        let mut vector = self.vector(of)?;
        for element in &mut vector {
            let values: Vec<&str> = names.iter().map(|name| element.labels.get(name)).collect();
            let bytes: usize = values.iter().map(|value| value.len() + separator.len()).sum();
            self.budget.text(bytes)?;
            element.labels = element.labels.with(label, &values.join(separator));
        }
        Ok(vector)
    }
}

fn check_name(function: &'static str, name: &str) -> Result<(), EvaluationError> {
    if is_label_name(name) {
        return Ok(());
    }
    Err(EvaluationError::LabelName { function, name: name.to_owned() })
}

/// Expands a template: `$1`, `${1}`, `$name`, `${name}`, and `$$` for a dollar sign. Other `$` are
/// kept, and unknown groups are empty.
fn expand<'a>(template: &'a str, captures: &Captures<'a>) -> Vec<&'a str> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        let (piece, after) = match group(after) {
            Some((name, after)) => (captured(captures, name), after),
            None => ("$", after.strip_prefix('$').unwrap_or(after)),
        };
        pieces.extend([before, piece]);
        rest = after;
    }
    pieces.push(rest);
    pieces
}

/// The name of a group and the rest of the template.
fn group(text: &str) -> Option<(&str, &str)> {
    let (text, is_braced) = text.strip_prefix('{').map_or((text, false), |text| (text, true));
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let end = text.find(|character| !is_name(character)).unwrap_or(text.len());
    let (name, after) = text.split_at(end);
    let after = if is_braced { after.strip_prefix('}')? } else { after };
    (!name.is_empty()).then_some((name, after))
}

fn captured<'a>(captures: &Captures<'a>, name: &str) -> &'a str {
    let has_leading_zero = name.len() > 1 && name.starts_with('0');
    let number = name.parse().ok().filter(|_| !has_leading_zero);
    let found = match number {
        Some(number) => captures.get(number),
        None => captures.name(name),
    };
    found.map_or("", |found| found.as_str())
}
