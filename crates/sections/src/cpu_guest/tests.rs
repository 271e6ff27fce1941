//! The section without guests: a shell that answers as one does.

use std::time::Duration;

use kit::guest::{Shell, Stop};
use kit::plan;
use kit::section::run_with;
use kit::testing::{Collector, assert_has, assert_refused, comparisons, findings, points, section};
use sys::failure::Failure;
use trial::Validity;
use vm::Accelerator;

use super::*;

/// Each step is twice as fast as the one before.
struct Fake(Step, bool);

impl Shell for Fake {
    fn run(&mut self, script: &str, _: Duration) -> Result<vm::Outcome, Failure> {
        assert!(!self.1, "it is paused");
        let at = Step::ALL.iter().position(|step| *step == self.0);
        let at = at.expect("it is one");
        let text = match script.contains("/proc/crypto") {
            true => format!("name : sha256\ndriver : sha256-{}\npriority : 1\n", self.0),
            false => format!("AES-256-GCM  {}.00k\n", 100_000 << at),
        };
        let output = text.into();
        Ok(vm::Outcome { status: 0, output })
    }

    fn stop(&self) -> Stop {
        Box::new(|| ())
    }

    fn cpu_s(&self) -> f64 {
        0.0
    }

    fn pause(&mut self, pauses: bool) -> Result<(), Failure> {
        self.1 = pauses;
        Ok(())
    }
}

#[test]
fn a_step_that_cannot_be_shown_is_left_out_and_the_others_are_compared() {
    let section: CpuGuest = section("algorithms = ['aes-256-gcm']").expect("a configuration");
    let host = Host::default();
    let all = section.subjects(&host);
    let job = plan::job(&section, &all, Duration::from_secs(3600)).expect("it fits");
    let boot = |step: Step, _: &dyn Fn() -> bool| match step {
        Step::Avx512 => Err(Stopped::Failed("no avx512f\nmore words".into())),
        step => {
            let about = Spot::new().with("accelerator", "tcg", "emulated guest");
            Ok((Box::new(Fake(step, false)) as Box<dyn Shell>, about))
        }
    };
    let mut rig = OnGuests::new(section.clone(), &host, Box::new(boot));
    let mut sink = Collector::default();
    run_with(&section, &host, &job, &mut rig, &mut sink).expect("it ends well");
    let events = sink.events;
    for one in comparisons(&events) {
        let expected = if one.arm.contains("whole") { 32.0 } else { 2.0 };
        assert!((one.ratio / expected - 1.0).abs() < 0.01, "{one:?}");
    }
    assert_has(
        &findings(&events, Weight::Headline),
        ["+ AES-NI 2.00×", "+ AVX2 2.00×", "emulated guest"],
    );
    let own = |step: &str| {
        let has = |point: &&trial::Point| point.dimensions.get("step") == Some(&step.into());
        points(&events).into_iter().find(has).expect("it was tried")
    };
    let refused = &own("avx512").verdict;
    assert_eq!(refused.validity, Validity::NotSupported);
    assert!(refused.reason.contains("no avx512f") && !refused.reason.contains("more"));
    let avx = own("avx");
    assert_eq!(avx.dimensions["kernel_sha256"], "sha256-avx".into());
    assert_eq!(avx.dimensions["kernel_aes"], "none".into());
}

#[test]
fn each_step_shows_what_those_before_it_do() {
    let cpu = |step: Step| step.cpu(Accelerator::Tcg);
    assert_eq!(cpu(Step::Baseline), "qemu64,enforce");
    let avx = cpu(Step::Avx);
    assert!(
        avx.contains(",+aes,") && avx.contains(",+xsaveopt,+avx,enforce"),
        "{avx}"
    );
    assert_eq!(cpu(Step::Whole), "max");
    assert_eq!(Step::Whole.cpu(Accelerator::Kvm), "host");
}

#[test]
fn what_openssl_does_not_measure_is_refused() {
    let row = (
        "algorithms = ['rsa-2048-pss']",
        "algorithms",
        "rsa-2048-pss",
    );
    assert_refused::<CpuGuest>(&[row]);
}
