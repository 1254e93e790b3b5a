//! Images that were verified, so that nobody asks for their signatures again.

use std::collections::VecDeque;

use crate::Digest;

/// Images that are remembered: a cluster looks at a few releases at a time.
const MOST: usize = 64;

/// The images that one [`Verifier`](super::Verifier) has verified last. Another verifier may trust
/// others: it begins with an empty memory.
#[derive(Clone, Debug, Default)]
pub struct Remembered(VecDeque<Digest>);

impl Remembered {
    /// Whether an image was verified.
    pub fn contains(&self, image: &Digest) -> bool {
        self.0.contains(image)
    }

    /// An image was verified; the one that was longest ago is forgotten for it.
    pub fn insert(&mut self, image: Digest) {
        self.0.retain(|known| *known != image);
        self.0.truncate(MOST - 1);
        self.0.push_front(image);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ones_are_remembered() {
        let image = |number: usize| Digest::of(&number.to_le_bytes());
        let mut remembered = Remembered::default();
        (0..=MOST).for_each(|number| remembered.insert(image(number)));
        assert!(!remembered.contains(&image(0)));
        remembered.insert(image(1));
        remembered.insert(image(0));
        assert!([0, 1, MOST].iter().all(|number| remembered.contains(&image(*number))));
        assert!(!remembered.contains(&image(2)));
        assert_eq!(remembered.0.len(), MOST);
    }
}
