//! Taking turns.

use std::cell::{Cell, RefCell};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whoever writes what others depend on as a whole takes turns: definitions, and Services, whose
/// addresses differ. Behind the lock is how many turns there were.
#[derive(Default)]
pub(super) struct Turns(Mutex<u64>);

/// The turn of one request, if it needs one.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    held: RefCell<Option<MutexGuard<'a, u64>>>,
    is_disturbed: Cell<bool>,
}

impl Turns {
    /// Waits for a turn, if one is needed.
    pub(super) fn turn(&self, is_needed: bool) -> Turn<'_> {
        let held = RefCell::new(is_needed.then(|| self.take()));
        Turn { turns: self, held, is_disturbed: Cell::new(false) }
    }

    fn take(&self) -> MutexGuard<'_, u64> {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *count = count.wrapping_add(1);
        count
    }
}

impl Turn<'_> {
    /// Lets others have their turns while something is done that may take long.
    pub(super) fn pause<T>(&self, work: impl FnOnce() -> T) -> T {
        let Some(held) = self.held.take() else { return work() };
        let count = *held;
        drop(held);
        let done = work();
        let held = self.turns.take();
        if *held != count.wrapping_add(1) {
            self.is_disturbed.set(true);
        }
        self.held.replace(Some(held));
        done
    }

    pub(super) fn is_held(&self) -> bool {
        self.held.borrow().is_some()
    }

    /// Whether others had their turns meanwhile, so that what was decided before may be wrong.
    pub(super) fn is_disturbed(&self) -> bool {
        self.is_disturbed.get()
    }
}
