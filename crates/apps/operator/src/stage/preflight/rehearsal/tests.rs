use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn said() -> Document {
    let execution_status = ExecutionStatus::Completed;
    let check = CheckReport { name: "nodes".to_owned(), ..CheckReport::default() };
    Document { execution_status, checks: vec![check], ..Document::default() }
}

/// One that ends at once, and counts.
fn counted(status: CheckStatus) -> (Rehearsal, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let stage = move |_| {
        counter.fetch_add(1, Ordering::SeqCst);
        let finding = Finding { name: "ManifestDenied".to_owned(), ..Finding::default() };
        let report = CheckReport { status, ..under_way() };
        futures::future::ready((report, vec![finding])).boxed()
    };
    let run = RunId::random().unwrap();
    (Rehearsal::on(Box::new(stage), run, Play::default(), Instant::now()), count)
}

/// What is tried where that manifest is left to the administrator.
fn other(profile: &str) -> Play {
    let filter = Filter { exclude: Some(profile.to_owned()), ..Filter::default() };
    Play { filter, ..Play::default() }
}

/// Whether what it says is out of date.
fn is_stale(rehearsal: &Rehearsal) -> bool {
    let mut document = said();
    Rehearsal::add_to(&mut document, Some(rehearsal));
    document.checks[0].stale
}

#[tokio::test]
async fn the_pass_is_not_over_before_the_dry_run_is() {
    let stage: Stage = Box::new(|_| futures::future::pending().boxed());
    let run = RunId::random().unwrap();
    let running = Rehearsal::on(stage, run, Play::default(), Instant::now());
    for rehearsal in [Some(&running), None] {
        let mut document = said();
        Rehearsal::add_to(&mut document, rehearsal);
        assert_eq!(document.execution_status, ExecutionStatus::Running);
        assert_eq!(document.checks[0].status, CheckStatus::Running);
    }
}

#[test]
fn nobody_else_speaks_for_the_dry_run() {
    let mut document = said();
    document.checks.push(CheckReport { status: CheckStatus::Passed, ..under_way() });
    let check = dry_run::NAME.to_owned();
    document.risks.push(Finding { check, ..Finding::default() });
    Rehearsal::add_to(&mut document, None);
    let checks: Vec<_> = document.checks.iter().map(|it| (&*it.name, it.status)).collect();
    assert_eq!(checks[0], ("dry-run", CheckStatus::Running), "{checks:?}");
    assert_eq!((checks.len(), document.risks.len()), (2, 0));
}

#[tokio::test]
async fn what_the_dry_run_finds_is_found() {
    let (mut rehearsal, _) = counted(CheckStatus::Found);
    rehearsal.step().await;
    let mut document = said();
    Rehearsal::add_to(&mut document, Some(&rehearsal));
    assert_eq!(document.execution_status, ExecutionStatus::Completed);
    let names: Vec<&str> = document.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!((names, document.risks.len()), (vec!["dry-run", "nodes"], 1));
}

#[tokio::test(start_paused = true)]
async fn it_is_made_again_when_its_answer_is_old() {
    use CheckStatus::{CannotTell, Found, Passed};
    let hour = (EVERY, EVERY + EVERY / 10);
    for (status, (least, most)) in
        [(Passed, hour), (Found, hour), (CannotTell, (RETRY, RETRY + Duration::from_secs(1)))]
    {
        let (mut rehearsal, count) = counted(status);
        rehearsal.step().await;
        for round in 2..5 {
            let began = Instant::now();
            rehearsal.step().await;
            let after = began.elapsed();
            assert!(least <= after && after <= most, "{status:?} {after:?}");
            assert_eq!(count.load(Ordering::SeqCst), round);
            assert!(!is_stale(&rehearsal), "nothing is known to have changed");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_made_again_when_what_is_tried_changes() {
    let (mut rehearsal, count) = counted(CheckStatus::Passed);
    let began = Instant::now();
    rehearsal.step().await;
    assert!(!rehearsal.consider(Play::default()), "nothing has changed");
    for profile in ["one", "two"] {
        assert!(rehearsal.consider(other(profile)));
        assert!(is_stale(&rehearsal));
    }
    rehearsal.step().await;
    assert!(!is_stale(&rehearsal));
    assert_eq!((count.load(Ordering::SeqCst), began.elapsed().as_secs()), (2, BETWEEN.as_secs()));
}

#[tokio::test(start_paused = true)]
async fn what_changes_meanwhile_is_tried_afterwards() {
    let (mut rehearsal, count) = counted(CheckStatus::Passed);
    assert!(rehearsal.consider(other("one")));
    rehearsal.step().await;
    assert!(is_stale(&rehearsal));
    rehearsal.step().await;
    assert_eq!((is_stale(&rehearsal), count.load(Ordering::SeqCst)), (false, 2));
}
