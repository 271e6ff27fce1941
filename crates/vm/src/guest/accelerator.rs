//! KVM or emulation: only what a stock guest really boots on.

use std::fs::OpenOptions;
use std::io;
use std::sync::Mutex;
use std::time::Duration;

use crate::{Accelerator, AcceleratorChoice};

const DEVICE: &str = "/dev/kvm";

/// A stock guest on KVM is ready in about a second; one that hangs never reports.
pub(super) const KVM_TRIAL_LIMIT: Duration = Duration::from_secs(15);

/// The result of booting on KVM, remembered for the life of this process.
static FOUND: Mutex<Option<Result<(), String>>> = Mutex::new(None);

/// KVM was demanded and cannot run a guest here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "KVM was asked for, but {reason}; enable virtualisation (on the outer hypervisor, if this is a guest) and give this user {DEVICE}, or let emulation do (`tcg`)"
)]
pub struct AcceleratorError {
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Plan {
    Settled(Accelerator, String),
    TryKvm,
}

/// The result of `choice` on this host, as far as is known without a boot.
pub(super) fn plan(choice: AcceleratorChoice) -> Result<Plan, AcceleratorError> {
    let found = FOUND.lock().ok().and_then(|found| found.clone());
    decide(choice, found, || judge(&cpu_flags(), open()))
}

/// The accelerator of a guest here, and why, without booting one: KVM means that
/// nothing speaks against it, or that a guest of this process has booted on it.
pub fn accelerator_here() -> (Accelerator, String) {
    match plan(AcceleratorChoice::Auto) {
        Ok(Plan::Settled(accelerator, reason)) => (accelerator, reason),
        Ok(Plan::TryKvm) => {
            let reason = format!("{DEVICE} opens and the processor virtualises");
            (Accelerator::Kvm, reason)
        }
        Err(error) => (Accelerator::Tcg, error.reason),
    }
}

pub(super) fn remember(trial: Result<(), String>) {
    if let Ok(mut found) = FOUND.lock() {
        *found = Some(trial);
    }
}

fn decide(
    choice: AcceleratorChoice,
    found: Option<Result<(), String>>,
    look: impl Fn() -> Result<(), String>,
) -> Result<Plan, AcceleratorError> {
    use Accelerator::{Kvm, Tcg};
    let asked = "asked for".to_owned();
    match choice {
        AcceleratorChoice::Only(Tcg) => Ok(Plan::Settled(Tcg, asked)),
        AcceleratorChoice::Only(Kvm) => look()
            .map(|()| Plan::Settled(Kvm, asked))
            .map_err(|reason| AcceleratorError { reason }),
        AcceleratorChoice::Auto => Ok(match found {
            Some(Ok(())) => Plan::Settled(Kvm, "a guest boots on it".to_owned()),
            Some(Err(reason)) => Plan::Settled(Tcg, reason),
            None => look().map_or_else(|reason| Plan::Settled(Tcg, reason), |()| Plan::TryKvm),
        }),
    }
}

/// The device alone proves nothing: without vmx or svm another layer imitates it, and
/// stock kernels hang on it.
fn judge(flags: &str, opened: io::Result<()>) -> Result<(), String> {
    opened.map_err(|error| format!("{DEVICE} cannot be used: {error}"))?;
    let virtualises = |flag| flag == "vmx" || flag == "svm";
    if flags.split_ascii_whitespace().any(virtualises) {
        return Ok(());
    }
    Err(format!(
        "the processor shows neither vmx nor svm, so that stock guests hang on {DEVICE}"
    ))
}

fn cpu_flags() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("flags"));
    line.unwrap_or_default().to_owned()
}

fn open() -> io::Result<()> {
    let device = OpenOptions::new().read(true).write(true).open(DEVICE);
    device.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUTO: AcceleratorChoice = AcceleratorChoice::Auto;

    #[test]
    fn the_device_without_the_flags_is_not_enough() {
        assert_eq!(judge("flags : fpu vmx sse", Ok(())), Ok(()));
        assert_eq!(judge("flags : fpu svm", Ok(())), Ok(()));
        let reason = judge("flags : fpu svm_lock vmxoff", Ok(())).unwrap_err();
        assert!(reason.contains("neither vmx nor svm"), "{reason}");
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let reason = judge("flags : vmx", Err(denied)).unwrap_err();
        assert!(reason.contains(DEVICE), "{reason}");
    }

    #[test]
    fn what_a_trial_found_stands() {
        let unasked = || panic!("the finding answers");
        let failed = Some(Err("it hung".to_owned()));
        let plan = decide(AUTO, failed, unasked).unwrap();
        assert_eq!(plan, Plan::Settled(Accelerator::Tcg, "it hung".to_owned()));
        let plan = decide(AUTO, Some(Ok(())), unasked).unwrap();
        testing::assert_matches!(plan, Plan::Settled(Accelerator::Kvm, _));
        assert_eq!(decide(AUTO, None, || Ok(())), Ok(Plan::TryKvm));
    }

    #[test]
    fn a_demand_for_kvm_is_met_or_refused() {
        let kvm = AcceleratorChoice::Only(Accelerator::Kvm);
        let error = decide(kvm, None, || Err("there is no device".to_owned())).unwrap_err();
        assert!(error.to_string().contains("no device"));
        testing::assert_matches!(
            decide(kvm, None, || Ok(())),
            Ok(Plan::Settled(Accelerator::Kvm, _))
        );
    }
}
