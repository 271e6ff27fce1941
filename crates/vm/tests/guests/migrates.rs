//! Guests that move between two QEMUs while they work.

use lockgate_vm::{Guest, Migration, Shape};

use crate::common::{booting, printed, small};

/// Hashes the same text again and again, and counts right and wrong answers.
const WORK: &str = "(n=0; while :; do
    sum=$(head -c 20000 /init | sha256sum)
    [ \"${first:=$sum}\" = \"$sum\" ] || echo wrong >>/tmp/wrong
    n=$((n + 1)); echo $n >/tmp/count
done) >/dev/null 2>&1 &
echo $! >/tmp/worker";

fn count(guest: &mut Guest) -> u32 {
    let text = printed(guest, "sleep 1; cat /tmp/count");
    text.parse().unwrap()
}

#[test]
fn a_busy_guest_moves_and_works_on() {
    booting(|lab| {
        let shape = Shape {
            cpu: "Nehalem,+aes,enforce".to_owned(),
            ..small()
        };
        let image = lab.image();
        let mut guest = Guest::boot(lab.qemu(), lab.kernel(), &image, &shape).unwrap();
        printed(&mut guest, WORK);
        let (process, before) = (guest.process_id(), count(&mut guest));
        let boot_id = printed(&mut guest, "cat /proc/sys/kernel/random/boot_id");

        // A target that does not start leaves the guest where it is.
        let wrong = Shape {
            cpu: "Nehalem,+avx512f,enforce".to_owned(),
            ..shape.clone()
        };
        let there = guest
            .migrate(lab.qemu(), lab.kernel(), &image, &wrong)
            .unwrap();
        let Migration::Stayed { guest, reason } = there else {
            panic!("an emulator without AVX-512 took it");
        };
        assert!(reason.contains("avx512f"), "{reason}");
        assert_eq!(guest.process_id(), process);

        // One with other memory takes nothing, and the guest runs on.
        let wrong = Shape {
            memory_mib: shape.memory_mib + 256,
            ..shape.clone()
        };
        let there = guest
            .migrate(lab.qemu(), lab.kernel(), &image, &wrong)
            .unwrap();
        let Migration::Stayed { mut guest, reason } = there else {
            panic!("a guest with less memory was taken");
        };
        assert!(!reason.is_empty());
        let middle = count(&mut guest);
        assert!(middle > before, "{middle} after {before}");

        let there = guest
            .migrate(lab.qemu(), lab.kernel(), &image, &shape)
            .unwrap();
        let Migration::Moved {
            mut guest,
            took,
            downtime,
        } = there
        else {
            panic!("{there:?}");
        };
        assert_ne!(guest.process_id(), process);
        assert!(downtime <= took);
        let after = count(&mut guest);
        assert!(after > middle, "{after} after {middle}");
        assert_eq!(
            printed(&mut guest, "cat /proc/sys/kernel/random/boot_id"),
            boot_id
        );
        assert_eq!(
            printed(&mut guest, "cat /tmp/wrong 2>/dev/null | wc -l"),
            "0"
        );
        guest.shutdown().unwrap();
    });
}
