//! What is refused, and in which words.

use std::time::Duration;

use lockgate_vm::{BootError, Guest, Kernel, Qemu, Shape};

use crate::common::{Lab, booting, small};

fn refused(lab: &Lab, shape: &Shape) -> BootError {
    Guest::boot(lab.qemu(), lab.kernel(), &[], shape).unwrap_err()
}

#[test]
fn qemu_s_words_come_back() {
    testing::timed(|| {
        let Some(lab) = Lab::find() else { return };
        let unknown_flag = Shape {
            cpu: "max,+nosuchflag".to_owned(),
            time_limit: Duration::MAX,
            ..small()
        };
        let error = refused(&lab, &unknown_flag);
        testing::assert_matches!(error, BootError::Refused { .. });
        assert!(error.to_string().contains("nosuchflag"), "{error}");
        let unknown_device = Shape {
            qemu_arguments: vec!["-device".to_owned(), "nosuchdevice".to_owned()],
            ..small()
        };
        let error = refused(&lab, &unknown_device);
        assert!(error.to_string().contains("nosuchdevice"), "{error}");
    });
}

#[test]
fn impossible_shapes_start_nothing() {
    let Some(lab) = Lab::find() else { return };
    let no_vcpus = Shape {
        vcpus: 0,
        ..small()
    };
    testing::assert_matches!(refused(&lab, &no_vcpus), BootError::Shape(_));
    let no_such_cpu = Shape {
        host_cpus: vec![100_000],
        ..small()
    };
    let error = refused(&lab, &no_such_cpu);
    testing::assert_matches!(error, BootError::Pin(_));
    assert!(error.to_string().contains("100000"), "{error}");
    let no_such_function = Shape {
        pci_functions: vec!["ffff:ff:1f.7".parse().unwrap()],
        ..small()
    };
    let error = refused(&lab, &no_such_function);
    testing::assert_matches!(error, BootError::Vfio(_));
    assert!(error.to_string().contains("ffff:ff:1f.7"), "{error}");
}

#[test]
fn a_missing_kernel_or_qemu_is_named() {
    let Some(lab) = Lab::find() else { return };
    let kernel = Kernel {
        image: "/nowhere/vmlinuz".into(),
        ..lab.kernel().clone()
    };
    let error = Guest::boot(lab.qemu(), &kernel, &[], &small()).unwrap_err();
    assert!(error.to_string().contains("/nowhere/vmlinuz"), "{error}");
    let qemu = Qemu {
        program: "/nowhere/qemu".into(),
        ..lab.qemu().clone()
    };
    let error = Guest::boot(&qemu, lab.kernel(), &[], &small()).unwrap_err();
    testing::assert_matches!(error, BootError::Start { .. });
}

#[test]
fn a_guest_that_is_not_ready_in_time_is_given_up() {
    booting(|lab| {
        let limit = Duration::from_millis(300);
        let error = Guest::boot_within(limit, lab.qemu(), lab.kernel(), &lab.image(), &small())
            .unwrap_err();
        testing::assert_matches!(error, BootError::NotReady { .. });
    });
}

#[test]
fn an_image_without_init_is_a_panic() {
    booting(|lab| {
        let error = refused(lab, &small());
        assert!(
            error
                .to_string()
                .contains("Kernel panic - not syncing: VFS"),
            "{error}"
        );
    });
}
