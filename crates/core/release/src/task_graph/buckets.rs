//! Parallel groups of tasks. Tasks become a sequence of buckets; the groups of a bucket run in
//! parallel.

use super::{RolloutMode, Task};

/// Tasks that run one after the other.
pub(super) type Group = Vec<Task>;

/// Groups that run in parallel.
pub(super) type Bucket = Vec<Group>;

/// Number of reconciliation attempts after which the groups are shuffled again; until then, each
/// attempt rotates their order. So a failing group does not always delay the same others.
const STRIDE: usize = 8;

pub(super) fn buckets(tasks: &[Task], mode: RolloutMode) -> Vec<Bucket> {
    match mode {
        RolloutMode::Updating => by_level(tasks),
        RolloutMode::Initializing => vec![flattened(tasks)],
        RolloutMode::Reconciling { attempt } => vec![permuted(flattened(tasks), attempt)],
    }
}

/// Consecutive tasks of one component and level. Files without a level are separate.
fn components_of(tasks: &[Task]) -> impl Iterator<Item = &[Task]> {
    tasks.chunk_by(|one, next| one.file_name().is_some() && one.file_name() == next.file_name())
}

/// Components of one level in parallel, levels one after the other. A level with a single component
/// is appended to the previous one if that also has a single component.
fn by_level(tasks: &[Task]) -> Vec<Bucket> {
    let components_of: Vec<&[Task]> = components_of(tasks).collect();
    let levels =
        components_of.chunk_by(|one, next| level(one).is_some() && level(one) == level(next));
    let mut buckets: Vec<Bucket> = Vec::new();
    for components_of in levels {
        match (components_of, buckets.last_mut().map(Vec::as_mut_slice)) {
            ([alone], Some([before])) => before.extend_from_slice(alone),
            _ => buckets.push(components_of.iter().map(|stretch| stretch.to_vec()).collect()),
        }
    }
    buckets
}

fn level(stretch: &[Task]) -> Option<&str> {
    stretch.first()?.file_name().map(|name| name.level)
}

/// All components in parallel.
fn flattened(tasks: &[Task]) -> Bucket {
    components_of(tasks).map(<[Task]>::to_vec).collect()
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

/// Fisher-Yates shuffle with `SplitMix64`, so that the order depends only on the seed.
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
    fn rotation_of_eight_attempts_covers_the_order() {
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
    fn shuffle_is_deterministic_and_complete() {
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
