//! What the guest's shell is told to do.

use crate::kspeed::catalogue::{Driver, UNLOAD_ORDER};
use crate::kspeed::module::Start;
use crate::kspeed::tcrypt::Call;

/// Where the module answers.
const MODULE: &str = "/sys/kernel/debug/lockgate_kspeed";

/// What the guest's kernel says of the speed of its cycle counter.
pub(super) fn clock() -> &'static str {
    "dmesg | grep -i 'tsc:'"
}

/// Makes a driver the one that tcrypt chooses: rivals out, with what uses
/// them, its own modules in. Ends with 0 where all of that worked.
pub(super) fn prepare(driver: &Driver) -> String {
    let mut script = String::from("here=\" $(cut -d' ' -f1 /proc/modules | tr '\\n' ' ')\"\n");
    for module in leaving(driver) {
        script += &format!("case \"$here\" in *\" {module} \"*) rmmod {module} || exit 1;; esac\n");
    }
    for module in driver.modules {
        script += &format!(
            "case \"$here\" in *\" {module} \"*) ;; *) modprobe {module} || exit 1;; esac\n"
        );
    }
    script
}

/// The modules to unload: rivals, and whatever stands on them.
fn leaving(driver: &Driver) -> impl Iterator<Item = &'static str> {
    let takes_cryptd = driver.rivals.contains(&"cryptd");
    let rivals = driver.rivals;
    UNLOAD_ORDER.into_iter().filter(move |module| {
        let stands_on_cryptd = matches!(*module, "aesni_intel" | "crypto_simd");
        rivals.contains(module) || (takes_cryptd && stands_on_cryptd)
    })
}

/// One run of the module; its answer is printed, also where it refused.
pub(super) fn run_module(start: &Start) -> String {
    format!(
        "echo \"{}\" > {MODULE}/control 2>/dev/null\ncat {MODULE}/result",
        start.line()
    )
}

/// Calls of tcrypt; what they printed. Each ends with an error, so that
/// nothing need be unloaded.
pub(super) fn run_tcrypt(call: Call, driver: &Driver) -> String {
    let one = format!("modprobe tcrypt {} 2>/dev/null\n", call.parameters(driver));
    format!("dmesg -c > /dev/null\n{}dmesg", one.repeat(call.times()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kspeed::catalogue::DRIVERS;

    #[test]
    fn nothing_a_driver_needs_is_unloaded() {
        for driver in DRIVERS {
            for module in leaving(driver) {
                assert!(!driver.modules.contains(&module), "{driver}: {module}");
            }
            // What uses a module goes before it.
            let order: Vec<_> = leaving(driver).collect();
            let place = |name| order.iter().position(|module| *module == name);
            if let (Some(user), Some(used)) = (place("aesni_intel"), place("cryptd")) {
                assert!(user < used);
                assert!(place("crypto_simd").is_some());
            }
        }
    }
}
