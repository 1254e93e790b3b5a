//! When a `CronJob` runs: five fields, as cron has them.

/// The smallest and the largest value of each field, and the words that stand for some.
const FIELDS: [(u32, u32, &[&str]); 5] =
    [(0, 59, &[]), (0, 23, &[]), (1, 31, &[]), (1, 12, &MONTHS), (0, 6, &DAYS)];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const NICKNAMES: [&str; 7] =
    ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// What is wrong with a schedule, in the API server's words.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    if schedule.starts_with('@') {
        return nickname(schedule);
    }
    let fields: Vec<_> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("Expected exactly 5 fields, found {}: {schedule}", fields.len()));
    }
    for (field, (least, most, words)) in fields.into_iter().zip(FIELDS) {
        field.split(',').try_for_each(|range| self::range(range, least, most, words))?;
    }
    Ok(())
}

fn nickname(schedule: &str) -> Result<(), String> {
    let is_period = schedule.strip_prefix("@every ").is_some_and(|period| !period.is_empty());
    if NICKNAMES.contains(&schedule) || is_period {
        Ok(())
    } else {
        Err(format!("Unrecognized descriptor: {schedule}"))
    }
}

fn range(range: &str, least: u32, most: u32, words: &[&str]) -> Result<(), String> {
    let (values, step) = match range.split_once('/') {
        Some((_, step)) if step.contains('/') => return Err(format!("Too many slashes: {range}")),
        Some((values, step)) => (values, Some(step)),
        None => (range, None),
    };
    let (start, end) = match values.split_once('-') {
        _ if values == "*" || values == "?" => (least, most),
        Some((_, end)) if end.contains('-') => return Err(format!("Too many hyphens: {range}")),
        Some((start, end)) => (number(start, least, words)?, number(end, least, words)?),
        None => {
            let start = number(values, least, words)?;
            (start, if step.is_some() { most } else { start })
        }
    };
    if let Some(step) = step
        && number(step, 0, &[])? == 0
    {
        return Err(format!("Step of range should be a positive number: {range}"));
    }
    if start < least {
        return Err(format!("Beginning of range ({start}) below minimum ({least}): {range}"));
    }
    if end > most {
        return Err(format!("End of range ({end}) above maximum ({most}): {range}"));
    }
    if start > end {
        return Err(format!("Beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    Ok(())
}

/// A number, or a word that stands for one.
fn number(text: &str, first: u32, words: &[&str]) -> Result<u32, String> {
    let word = (first..).zip(words).find(|(_, word)| text.eq_ignore_ascii_case(word));
    match (word, text.parse()) {
        (Some((number, _)), _) | (None, Ok(number)) => Ok(number),
        (None, Err(_)) => Err(format!(
            "Failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
        )),
    }
}
