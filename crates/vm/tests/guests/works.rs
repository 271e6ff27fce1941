//! One guest, everything that it can do.

use std::time::Duration;

use lockgate_vm::image::Image;
use lockgate_vm::protocol::ChannelError;
use lockgate_vm::{Guest, GuestError, Run, Shape};
use serde_json::{Value, json};

use crate::common::{Lab, booting, printed, small};

#[test]
fn a_guest_does_what_it_is_asked() {
    booting(|lab| {
        let host_cpus = sys::affinity::allowed_cpus().unwrap();
        let shape = Shape {
            vcpus: 2,
            crypto_devices: 1,
            host_cpus: host_cpus.clone(),
            host_node: Some(0),
            kernel_arguments: vec!["lockgate.word=seven".to_owned()],
            ..small()
        };
        let image = Image::new(&lab.cache, lab.kernel())
            .module("virtio_crypto")
            .on_demand("xts")
            .build()
            .unwrap();
        let mut guest = Guest::boot(lab.qemu(), lab.kernel(), &image, &shape).unwrap();
        println!(
            "ready in {:?} on {:?}",
            guest.ready_in(),
            guest.accelerator()
        );
        has_its_shape(lab, &mut guest, &host_cpus);
        runs_scripts(&mut guest);
        keeps_limits(&mut guest);
        moves_files(&mut guest);
        has_modules(&mut guest);
        speaks_qmp(&mut guest);
        waits_for_its_port(&mut guest);
        assert!(guest.shutdown().unwrap().success());
    });
}

fn waits_for_its_port(guest: &mut Guest) {
    let script =
        "mkdir /tmp/ports && mount --bind /tmp/ports /sys/class/virtio-ports && : >/dev/late
        (sleep 1; mkdir /tmp/ports/late; echo lockgate.control >/tmp/ports/late/name) &
        LOCKGATE_STATE=/tmp/late sh /etc/lockgate/agent.sh
        umount /sys/class/virtio-ports; head -c 12 /dev/late";
    assert_eq!(printed(guest, script), "LG1 0 hello");
}

fn has_its_shape(lab: &Lab, guest: &mut Guest, host_cpus: &[usize]) {
    assert_eq!(guest.hello().release, lab.kernel().release);
    assert_eq!(guest.hello().cpus, 2);
    assert!((400 << 10..512 << 10).contains(&guest.hello().memory_kib));
    assert!(guest.hello().modules_failed.is_empty());
    assert_eq!(printed(guest, "nproc"), "2");
    assert_eq!(printed(guest, "uname -r"), lab.kernel().release);
    assert!(printed(guest, "cat /proc/cmdline").contains("lockgate.word=seven"));
    assert!(guest.kernel_arguments().ends_with("lockgate.word=seven"));
    assert!(!guest.accelerator_reason().is_empty());
    assert_eq!(guest.vcpu_threads().len(), 2);
    for (thread, cpu) in guest.vcpu_threads().iter().zip(host_cpus.iter().cycle()) {
        let path = format!("/proc/{}/task/{thread}/status", guest.process_id());
        let status = std::fs::read_to_string(path).unwrap();
        let expected = format!("Cpus_allowed_list:\t{cpu}\n");
        assert!(status.contains(&expected), "{status}");
    }
}

fn runs_scripts(guest: &mut Guest) {
    let script = "echo out; echo err >&2; exit 3";
    let outcome = guest.run(&Run::new(script).within(Duration::MAX)).unwrap();
    assert_eq!((outcome.status, outcome.text().as_ref()), (3, "out\nerr\n"));
    let mut live = Vec::new();
    let run = Run::new("seq 1 20000");
    let status = guest.run_live(&run, &mut |piece| live.extend_from_slice(piece));
    assert_eq!(status.unwrap(), 0);
    assert!(live.starts_with(b"1\n2\n") && live.ends_with(b"\n20000\n"));
    let value: Value = guest.json(r#"echo '{"a":[1,2]}'"#).unwrap();
    assert_eq!(value, json!({"a": [1, 2]}));
    let error = guest.json::<Value>("echo no").unwrap_err();
    testing::assert_matches!(error, GuestError::Json { output, .. } if output == "no");
    let error = guest.json::<Value>("echo why; exit 4").unwrap_err();
    testing::assert_matches!(error, GuestError::Script { status: 4, .. });
}

fn keeps_limits(guest: &mut Guest) {
    let endless = Run {
        output_bytes_max: 100_000,
        ..Run::new("yes")
    };
    let error = guest.run(&endless).unwrap_err();
    testing::assert_matches!(
        error,
        GuestError::Channel(ChannelError::TooLarge { limit: 100_000, .. })
    );
    let long = Run::new("sleep 1000").within(Duration::from_secs(1));
    let error = guest.run(&long).unwrap_err();
    testing::assert_matches!(error, GuestError::Channel(ChannelError::Timeout { .. }));
    assert_eq!(printed(guest, "echo still here"), "still here");
}

fn moves_files(guest: &mut Guest) {
    let content: Vec<u8> = (0..300_000_u32)
        .flat_map(|n| (n * 7919).to_le_bytes())
        .collect();
    guest.put("/tmp/a folder/file", 0o750, &content).unwrap();
    assert_eq!(
        printed(guest, "stat -c '%a %s' '/tmp/a folder/file'"),
        "750 1200000"
    );
    let back = guest.get("/tmp/a folder/file", 2_000_000).unwrap();
    assert!(back == content, "{} bytes came back otherwise", back.len());
    let error = guest.get("/tmp/a folder/file", 1000).unwrap_err();
    testing::assert_matches!(error, GuestError::Channel(ChannelError::TooLarge { .. }));
    let error = guest.get("/nowhere", 1000).unwrap_err();
    testing::assert_matches!(error, GuestError::Channel(ChannelError::Failed { .. }));
}

fn has_modules(guest: &mut Guest) {
    let crypto = printed(guest, "cat /proc/crypto");
    assert!(crypto.contains("virtio_crypto_aes_cbc"), "{crypto}");
    assert_eq!(printed(guest, "lsmod | grep -c '^xts ' || :"), "0");
    assert_eq!(printed(guest, "modprobe xts; lsmod | grep -c '^xts '"), "1");
}

fn speaks_qmp(guest: &mut Guest) {
    let status = guest.qmp("query-status", Value::Null).unwrap();
    assert_eq!(status["status"], "running");
    let error = guest.qmp("lockgate-no-such", json!({})).unwrap_err();
    assert!(error.to_string().contains("lockgate-no-such"), "{error}");
}
