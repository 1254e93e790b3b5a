//! What can be done side by side. Tasks in a row become buckets in a row, and the groups of tasks in
//! one bucket do not wait for each other.

use super::Mode;
use super::task::Task;

/// Tasks that are done one after the other.
pub(super) type Group = Vec<Task>;

/// Groups that are done side by side.
pub(super) type Bucket = Vec<Group>;

/// While a cluster is reconciled, the order of groups changes with every attempt, so that one that
/// fails does not keep the same others from their turn. After this many attempts there is a new
/// order; until then, each begins elsewhere in it.
const STRIDE: usize = 8;

pub(super) fn buckets(tasks: &[Task], mode: Mode) -> Vec<Bucket> {
    match mode {
        Mode::Updating => by_level(tasks),
        Mode::Initializing => vec![flattened(tasks)],
        Mode::Reconciling { attempt } => vec![permuted(flattened(tasks), attempt)],
    }
}

/// Neighbours of one component on one level; what has no turn stands alone.
fn stretches(tasks: &[Task]) -> impl Iterator<Item = &[Task]> {
    tasks.chunk_by(|one, next| one.turn().is_some() && one.turn() == next.turn())
}

/// Components of one level side by side, levels one after the other. What has nothing beside it is
/// appended to what came before, if that stood alone too.
fn by_level(tasks: &[Task]) -> Vec<Bucket> {
    let stretches: Vec<&[Task]> = stretches(tasks).collect();
    let levels = stretches.chunk_by(|one, next| level(one).is_some() && level(one) == level(next));
    let mut buckets: Vec<Bucket> = Vec::new();
    for stretches in levels {
        match (stretches, buckets.last_mut().map(Vec::as_mut_slice)) {
            ([alone], Some([before])) => before.extend_from_slice(alone),
            _ => buckets.push(stretches.iter().map(|stretch| stretch.to_vec()).collect()),
        }
    }
    buckets
}

fn level(stretch: &[Task]) -> Option<&str> {
    stretch.first()?.turn().map(|turn| turn.level)
}

/// Everything side by side.
fn flattened(tasks: &[Task]) -> Bucket {
    stretches(tasks).map(<[Task]>::to_vec).collect()
}

fn permuted(mut bucket: Bucket, attempt: usize) -> Bucket {
    shuffle(&mut bucket, attempt / STRIDE);
    let rotation = rotation(bucket.len(), attempt % STRIDE);
    bucket.rotate_left(rotation);
    bucket
}

fn rotation(length: usize, step: usize) -> usize {
    match length {
        0 => 0,
        length if length < STRIDE => step % length,
        length => step * length / STRIDE % length,
    }
}

/// Shuffles by Fisher and Yates, with the numbers of `SplitMix64`: the same seed, the same order.
fn shuffle<T>(items: &mut [T], seed: usize) {
    let mut state = seed as u64;
    for last in (1..items.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = state;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^= number >> 31;
        let chosen = number % (last as u64 + 1);
        items.swap(last, usize::try_from(chosen).unwrap_or(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_attempts_rotate_one_order() {
        for (length, rotations) in [
            (0, [0; 8]),
            (1, [0; 8]),
            (3, [0, 1, 2, 0, 1, 2, 0, 1]),
            (7, [0, 1, 2, 3, 4, 5, 6, 0]),
            (8, [0, 1, 2, 3, 4, 5, 6, 7]),
            (10, [0, 1, 2, 3, 5, 6, 7, 8]),
            (16, [0, 2, 4, 6, 8, 10, 12, 14]),
        ] {
            let found: Vec<usize> = (0..STRIDE).map(|step| rotation(length, step)).collect();
            assert_eq!(found, rotations, "{length}");
        }
    }

    #[test]
    fn an_order_is_the_same_for_a_seed_and_loses_nothing() {
        let shuffled = |seed| {
            let mut items: Vec<usize> = (0..20).collect();
            shuffle(&mut items, seed);
            items
        };
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
        let mut items = shuffled(3);
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<_>>());
    }
}
