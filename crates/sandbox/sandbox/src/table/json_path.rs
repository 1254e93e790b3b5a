//! The part of `JSONPath` that CRDs use for printer columns.

use serde_json::Value;

/// Maximum length of a path in bytes.
const MAX_LENGTH: usize = 1024;
/// Maximum depth of nested filters.
const MAX_DEPTH: usize = 4;

/// A path to values in an object, such as `.status.conditions[?(@.type=="Ready")].status`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Index(i64),
    Each,
    Filter(Filter),
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    path: JsonPath,
    /// `None` tests for existence.
    test: Option<Test>,
}

#[derive(Clone, Debug, PartialEq)]
struct Test {
    equal: bool,
    value: Value,
}

/// Parse error of a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonPathError {
    /// The path is too long.
    #[error("the path has {length} bytes; the limit is {MAX_LENGTH} bytes")]
    TooLong {
        /// Length in bytes.
        length: usize,
    },
    /// Filters are nested too deeply.
    #[error("filters are nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// Unexpected input.
    #[error("expected {expected} at {rest:?}")]
    Expected {
        /// The expected token.
        expected: &'static str,
        /// The rest of the path.
        rest: String,
    },
}

impl JsonPath {
    /// Parses a path.
    pub fn parse(text: &str) -> Result<Self, JsonPathError> {
        if text.len() > MAX_LENGTH {
            return Err(JsonPathError::TooLong { length: text.len() });
        }
        let mut parser = Parser { rest: text };
        let path = parser.path(MAX_DEPTH)?;
        if parser.rest.is_empty() { Ok(path) } else { Err(parser.expected("the end")) }
    }

    /// The values that the path selects.
    pub fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        self.steps.iter().fold(vec![object], |values, step| {
            values.into_iter().flat_map(|value| step.apply(value)).collect()
        })
    }
}

impl Step {
    fn apply<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Self::Field(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => item(value, *index).into_iter().collect(),
            Self::Each => children(value),
            Self::Filter(filter) => {
                children(value).into_iter().filter(|child| filter.matches(child)).collect()
            }
        }
    }
}

impl Filter {
    fn matches(&self, value: &Value) -> bool {
        match (&self.test, &*self.path.find(value)) {
            (None, found) => !found.is_empty(),
            (Some(test), [found]) => (**found == test.value) == test.equal,
            (Some(_), _) => false,
        }
    }
}

fn item(list: &Value, index: i64) -> Option<&Value> {
    let items = list.as_array()?;
    let from_end = || usize::try_from(index.unsigned_abs()).ok();
    let position = match usize::try_from(index) {
        Ok(position) => position,
        Err(_) => items.len().checked_sub(from_end()?)?,
    };
    items.get(position)
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn expected(&self, expected: &'static str) -> JsonPathError {
        JsonPathError::Expected { expected, rest: self.rest.to_owned() }
    }

    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn require(&mut self, token: &'static str) -> Result<(), JsonPathError> {
        if self.take(token) { Ok(()) } else { Err(self.expected(token)) }
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|character| !accept(character)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    /// Parses steps. `.` alone is the object itself.
    fn path(&mut self, depth: usize) -> Result<JsonPath, JsonPathError> {
        let mut steps = Vec::new();
        loop {
            if self.take("[") {
                steps.extend(self.bracket(depth)?);
            } else if self.take(".*") {
                steps.push(Step::Each);
            } else if steps.is_empty() && self.rest == "." {
                self.rest = "";
            } else if self.take(".") {
                steps.push(Step::Field(self.name()?));
            } else {
                return Ok(JsonPath { steps });
            }
        }
    }

    /// Parses a name; a backslash escapes the next character.
    fn name(&mut self) -> Result<String, JsonPathError> {
        let mut name = String::new();
        loop {
            name +=
                self.take_while(|it| it.is_alphanumeric() || matches!(it, '_' | '-' | '/' | '$'));
            if !self.take("\\") {
                break;
            }
            let escaped = self.rest.chars().next().ok_or_else(|| self.expected("a character"))?;
            name.push(escaped);
            self.rest = &self.rest[escaped.len_utf8()..];
        }
        if name.is_empty() { Err(self.expected("a name")) } else { Ok(name) }
    }

    /// Parses the content of brackets, after the opening one.
    fn bracket(&mut self, depth: usize) -> Result<Vec<Step>, JsonPathError> {
        let steps = if self.take("*") {
            vec![Step::Each]
        } else if self.take("?(") {
            let depth = depth.checked_sub(1).ok_or(JsonPathError::TooDeep)?;
            let filter = self.filter(depth)?;
            self.require(")")?;
            vec![Step::Filter(filter)]
        } else if self.take("'") {
            // The API server parses a path here, not a name: dots have to be escaped.
            let path = self.take_while(|it| it != '\'');
            self.require("'")?;
            Self::names(path)?
        } else {
            let digits = self.take_while(|it| it.is_ascii_digit() || it == '-');
            vec![Step::Index(digits.parse().map_err(|_| self.expected("an index"))?)]
        };
        self.require("]")?;
        Ok(steps)
    }

    /// Names separated by dots.
    fn names(path: &str) -> Result<Vec<Step>, JsonPathError> {
        let mut parser = Parser { rest: path };
        let mut steps = vec![Step::Field(parser.name()?)];
        while parser.take(".") {
            steps.push(Step::Field(parser.name()?));
        }
        if parser.rest.is_empty() { Ok(steps) } else { Err(parser.expected("a closing quote")) }
    }

    fn filter(&mut self, depth: usize) -> Result<Filter, JsonPathError> {
        self.skip_blanks();
        self.require("@")?;
        let path = self.path(depth)?;
        self.skip_blanks();
        let equal = self.take("==");
        let test = if equal || self.take("!=") {
            self.skip_blanks();
            let value = self.literal()?;
            self.skip_blanks();
            Some(Test { equal, value })
        } else {
            None
        };
        Ok(Filter { path, test })
    }

    fn skip_blanks(&mut self) {
        self.take_while(|character| character == ' ');
    }

    fn literal(&mut self) -> Result<Value, JsonPathError> {
        if let Some(text) = self.quoted()? {
            return Ok(Value::String(text));
        }
        let before = Parser { rest: self.rest };
        let word =
            self.take_while(|it| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '+'));
        let value: Option<Value> = serde_json::from_str(word).ok();
        let scalar = value.filter(|value| value.is_boolean() || value.is_number());
        scalar.ok_or_else(|| before.expected("a string, a number or a boolean"))
    }

    /// Parses a string in single or double quotes, if there is one.
    fn quoted(&mut self) -> Result<Option<String>, JsonPathError> {
        let Some(quote) = self.rest.chars().next().filter(|it| matches!(it, '\'' | '"')) else {
            return Ok(None);
        };
        let (mut text, mut escaped) = (String::new(), false);
        for (position, character) in self.rest.char_indices().skip(1) {
            match character {
                '\\' if !escaped => escaped = true,
                _ if character == quote && !escaped => {
                    self.rest = &self.rest[position + 1..];
                    return Ok(Some(text));
                }
                _ => {
                    text.push(character);
                    escaped = false;
                }
            }
        }
        Err(self.expected("a closing quote"))
    }
}
