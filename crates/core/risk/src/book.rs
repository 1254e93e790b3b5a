//! A ledger while risks are entered: every definition once, however many edges share it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use fairway_api::limits;

use crate::definition::Definition;
use crate::ledger::{Entry, Origins};
use crate::risk::{Risk, Source, Targets};

/// Definitions of risks that edges bring. A status has room for 500 names.
const MAX_EDGE_DEFINITIONS: usize = 4 * limits::CONDITIONAL_UPDATE_RISKS;

/// A ledger while risks are entered. Risks have numbers until it is closed.
#[derive(Default)]
pub(crate) struct Book<'a> {
    numbers: BTreeMap<Definition, usize>,
    origins: Vec<Origins>,
    /// The numbers of the risks of edges, by where these are in memory. They are held as long as
    /// the book, so that no address is used twice.
    shared: HashMap<*const Risk, (usize, &'a Arc<Risk>)>,
}

impl<'a> Book<'a> {
    /// Enters the risks of an edge; none of them where the book is full.
    pub(crate) fn edge(&mut self, risks: &'a [Arc<Risk>]) -> Option<Vec<usize>> {
        let new = risks.iter().filter(|risk| !self.shared.contains_key(&Arc::as_ptr(risk)));
        if self.origins.len() + new.count() > MAX_EDGE_DEFINITIONS {
            return None;
        }
        Some(risks.iter().map(|risk| self.on_an_edge(risk)).collect())
    }

    fn on_an_edge(&mut self, risk: &'a Arc<Risk>) -> usize {
        if let Some((number, _)) = self.shared.get(&Arc::as_ptr(risk)) {
            return *number;
        }
        let number = self.number(Definition::of(risk));
        self.origins[number].on_an_edge = true;
        self.shared.insert(Arc::as_ptr(risk), (number, risk));
        number
    }

    /// Enters a risk that something in the cluster reports.
    pub(crate) fn raised(&mut self, risk: &Risk, source: Source, targets: Targets) {
        let number = self.number(Definition::of(risk));
        self.origins[number].raised.insert((source, targets));
    }

    fn number(&mut self, definition: Definition) -> usize {
        let number = *self.numbers.entry(definition).or_insert(self.origins.len());
        if number == self.origins.len() {
            self.origins.push(Origins::default());
        }
        number
    }

    /// The entries in the order of their definitions, and the place of each by its number.
    pub(crate) fn close(mut self) -> (Vec<Entry>, Vec<usize>) {
        let mut places = vec![0; self.origins.len()];
        let mut entries = Vec::with_capacity(self.origins.len());
        for (definition, number) in self.numbers {
            places[number] = entries.len();
            let origins = std::mem::take(&mut self.origins[number]);
            entries.push(Entry { definition, origins });
        }
        (entries, places)
    }
}
