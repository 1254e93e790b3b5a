//! What has to be confirmed before it is asked for.

use std::cell::RefCell;

use super::outcome::{Named, Outcome};
use super::unusual::UpdateCaution;
use crate::errors::{Refused, WrongUsage};
use crate::foreign_text::OneLine;
use crate::printer::Printer;
use crate::terminal;

/// What somebody has said yes to.
pub(super) struct Confirmation<'a> {
    printer: &'a Printer,
    /// Whether a flag says yes to everything.
    yes: bool,
    confirmed: RefCell<Vec<UpdateCaution>>,
}

impl<'a> Confirmation<'a> {
    pub(super) fn new(printer: &'a Printer, yes: bool) -> Self {
        Self { printer, yes, confirmed: RefCell::default() }
    }

    /// Goes on where nothing has to be confirmed, or all of it was. Who is asked once is asked again
    /// only about something else.
    pub(super) fn obtain(&self, outcome: &Outcome) -> anyhow::Result<()> {
        let mut confirmed = self.confirmed.borrow_mut();
        let open: Vec<&UpdateCaution> = outcome
            .cautions
            .iter()
            .filter(|unusual| unusual.has_to_be_confirmed() && !confirmed.contains(unusual))
            .collect();
        if open.is_empty() || self.yes {
            return Ok(());
        }
        let told: Vec<String> = open.iter().map(ToString::to_string).collect();
        let asked = terminal::confirm(self.printer, &question(outcome, &told))?;
        match asked {
            Some(true) => {
                confirmed.extend(open.into_iter().cloned());
                Ok(())
            }
            Some(false) => Err(declined().into()),
            None => Err(nobody_to_ask(&told).into()),
        }
    }

    /// What has not been read by whoever was asked.
    pub(super) fn not_told(&self, outcome: &Outcome) -> Vec<String> {
        let confirmed = self.confirmed.borrow();
        let unusual = outcome.cautions.iter().filter(|unusual| !confirmed.contains(unusual));
        let warnings = outcome.warnings.iter().cloned();
        unusual.map(ToString::to_string).chain(warnings).collect()
    }
}

fn question(outcome: &Outcome, told: &[String]) -> String {
    let name = outcome.release.as_ref().map_or("this release", Named::name);
    format!("Confirm the update to {}:\n  * {}\nContinue?", OneLine(name), told.join("\n  * "))
}

fn declined() -> Refused {
    Refused {
        message: "not confirmed, nothing changed".to_owned(),
        hint: "run `fairway upgrade` to list recommended updates".to_owned(),
    }
}

fn nobody_to_ask(told: &[String]) -> WrongUsage {
    WrongUsage(format!(
        "confirmation required, but there is no terminal: {}; add --yes to confirm",
        told.join("; ")
    ))
}
