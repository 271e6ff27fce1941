//! Guests whose agent is not ours.

use lockgate_vm::image::{GuestFile, Image};
use lockgate_vm::protocol::ChannelError;
use lockgate_vm::{BootError, Guest, GuestError, Run, Shape};

use crate::common::{Lab, booting, small};

const INIT: &str = "#!/bin/busybox sh
/bin/busybox sed s,/etc/lockgate/agent.sh,/hostile, /init >/init-hostile
exec /bin/busybox sh /init-hostile
";

const PORT: &str = "#!/bin/busybox sh
until name=$(grep -lx lockgate.control /sys/class/virtio-ports/*/name); do sleep 0.1; done
folder=${name%/name}
exec 9<>/dev/${folder##*/}
";

const HELLO: &str = r#"
hello='{"schema":1,"release":"x","cpus":1,"memory_kib":1,"uptime_s":1,"modules_failed":[]}'
printf 'LG1 0 hello 0 0 %s\n%s' ${#hello} "$hello" >&9
read -r request <&9
"#;

fn boot(lab: &Lab, agent: &str) -> Result<Guest, BootError> {
    let shape = Shape {
        kernel_arguments: vec!["rdinit=/init-first".to_owned()],
        ..small()
    };
    let image = Image::new(&lab.cache, lab.kernel())
        .file(GuestFile::bytes("/init-first", 0o755, INIT))
        .file(GuestFile::bytes(
            "/hostile",
            0o755,
            format!("{PORT}{agent}"),
        ))
        .build()
        .unwrap();
    Guest::boot(lab.qemu(), lab.kernel(), &image, &shape)
}

#[test]
fn garbage_for_a_hello_is_refused() {
    booting(|lab| {
        let error = boot(lab, "cat /dev/urandom >&9").unwrap_err();
        testing::assert_matches!(
            error,
            BootError::Guest(GuestError::Channel(ChannelError::Protocol(_)))
        );
    });
}

#[test]
fn a_promise_of_too_much_is_refused() {
    booting(|lab| {
        let agent =
            format!("{HELLO}printf 'LG1 1 output 0 0 99999999999\\n' >&9; cat /dev/zero >&9");
        let mut guest = boot(lab, &agent).unwrap();
        let error = guest.run(&Run::new("true")).unwrap_err();
        testing::assert_matches!(error, GuestError::Channel(ChannelError::Protocol(_)));
        let error = guest.run(&Run::new("true")).unwrap_err();
        testing::assert_matches!(error, GuestError::Channel(ChannelError::Broken));
    });
}
