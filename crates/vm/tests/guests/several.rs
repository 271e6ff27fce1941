//! Several guests at once; every QEMU and every kernel.

use lockgate_vm::Guest;
use lockgate_vm::image::Image;

use crate::common::{booting, printed, small};

#[test]
fn three_guests_do_not_know_of_each_other() {
    booting(|lab| {
        let image = lab.image();
        let mut guests: Vec<Guest> = (0..3)
            .map(|_| Guest::boot(lab.qemu(), lab.kernel(), &image, &small()).unwrap())
            .collect();
        for (number, guest) in guests.iter_mut().enumerate() {
            let name = number.to_string();
            guest.put("/tmp/name", 0o644, name.as_bytes()).unwrap();
        }
        guests.remove(1).shutdown().unwrap();
        for (guest, name) in guests.iter_mut().zip(["0", "2"]) {
            assert_eq!(printed(guest, "cat /tmp/name"), name);
        }
    });
}

#[test]
fn every_qemu_and_every_kernel_boots() {
    booting(|lab| {
        let kernels = lab.cache.kernels();
        // The first of both is booted by most other tests.
        for number in 1..lab.qemus.len().max(kernels.len()) {
            let qemu = &lab.qemus[number.min(lab.qemus.len() - 1)];
            let kernel = &kernels[number.min(kernels.len() - 1)];
            let image = Image::new(&lab.cache, kernel).build().unwrap();
            let mut guest = Guest::boot(qemu, kernel, &image, &small()).unwrap();
            println!(
                "QEMU {:?}, kernel {}: ready in {:?}",
                qemu.version,
                kernel.release,
                guest.ready_in()
            );
            assert_eq!(printed(&mut guest, "uname -r"), kernel.release);
            guest.shutdown().unwrap();
        }
    });
}
