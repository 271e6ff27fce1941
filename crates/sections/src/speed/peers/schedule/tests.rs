use crate::speed::peers::config::configured;
use crate::speed::peers::grid::equipped;
use crate::speed::peers::schedule::*;

#[test]
fn keeps_within_any_budget_and_uses_it() {
    let config = configured("").unwrap();
    let (least, most) = Schedule::appetite(&config, &equipped());
    assert!(
        least < 20.0 && (100.0..=240.1).contains(&most),
        "{least} {most}"
    );
    let mut trials = 0;
    for budget_s in [least, 25.0, 40.0, 60.0, 80.0, 120.0, 180.0, 1000.0] {
        let budget = Duration::from_secs_f64(budget_s);
        let schedule = Schedule::new(&config, &equipped(), budget).unwrap();
        assert!(schedule.seconds() <= budget_s + 1e-6, "{budget_s}");
        assert!(
            schedule.trials() >= trials,
            "more time, no fewer trials: {budget_s}"
        );
        trials = schedule.trials();
    }
    let too_little = Duration::from_secs_f64(least * 0.8);
    assert!(matches!(
        Schedule::new(&config, &equipped(), too_little),
        Err(PlanError::Budget { .. })
    ));
}

#[test]
fn a_share_of_the_default_run_holds_the_pairs_of_the_claims() {
    let config = configured("").unwrap();
    let schedule = Schedule::new(&config, &equipped(), Duration::from_secs(80)).unwrap();
    let claims = schedule
        .rows
        .iter()
        .filter(|row| row.is_claim && is_main(row));
    for row in claims {
        let rounds = [Arm::Engine, Arm::OwnLoop, Arm::OpenSsl].map(|arm| row.rounds(arm));
        assert_eq!(rounds, [9; 3], "{}", row.name());
    }
    assert!(!schedule.left_out().is_empty());
    let all = Schedule::new(&config, &equipped(), Duration::from_secs(3600)).unwrap();
    assert!(all.left_out().is_empty(), "{:?}", all.left_out());
}

#[test]
fn little_time_is_shared_before_any_row_has_more() {
    let config = configured("").unwrap();
    for budget_s in [25, 30, 35] {
        let schedule = Schedule::new(&config, &equipped(), Duration::from_secs(budget_s)).unwrap();
        let claims = schedule
            .rows
            .iter()
            .filter(|row| row.is_claim && is_main(row))
            .map(|row| row.rounds(Arm::OpenSsl));
        let claims: Vec<_> = claims.collect();
        assert!(
            claims.iter().all(|&rounds| rounds > 0),
            "{budget_s}: {claims:?}"
        );
    }
}

#[test]
fn a_precision_takes_the_time_that_is_left_and_fixed_rounds_take_none() {
    let limits = |text: &str, budget_s| {
        let config = configured(text).unwrap();
        let schedule = Schedule::new(&config, &equipped(), Duration::from_secs(budget_s)).unwrap();
        (schedule.limits, schedule.seconds())
    };
    let (precise, planned_s) = limits("algorithms = ['sha256']\nprecision = 0.01", 600);
    assert_eq!(precise.precision, Some(0.01));
    assert!(
        precise.seconds > planned_s && precise.seconds <= 600.0,
        "{precise:?}"
    );
    assert_eq!((precise.rounds, precise.rounds_max), (9, ROUNDS_MAX));
    let (usual, planned_s) = limits("algorithms = ['sha256']", 600);
    assert_eq!((usual.seconds, usual.rounds_max), (planned_s, 9));
    assert_eq!(usual.precision, Some(PRECISION));
    let (fixed, _) = limits("algorithms = ['sha256']\npairs = 3", 600);
    assert_eq!((fixed.rounds_max, fixed.precision), (3, None));
}

#[test]
fn calls_that_rows_share_are_counted_once() {
    let seconds = |text: &str| {
        let config = configured(text).unwrap();
        Schedule::new(&config, &equipped(), Duration::from_secs(60))
            .unwrap()
            .seconds()
    };
    let sign = seconds("algorithms = ['rsa-2048']\noperations = ['sign']\npairs = 1");
    let both = seconds("algorithms = ['rsa-2048']\npairs = 1");
    assert!(both - sign < 1.0, "{both} {sign}");
}

#[test]
fn one_cpu_is_not_enough() {
    let mut peers = equipped();
    peers.host.cpus = vec![0];
    let config = configured("").unwrap();
    let error = Schedule::new(&config, &peers, Duration::from_secs(60)).unwrap_err();
    assert!(matches!(error, PlanError::NotSupported { .. }), "{error}");
}
