//! QEMU's command line.

use std::path::Path;

use crate::protocol::PORT_NAME;
use crate::{Accelerator, Shape};

/// The numbers under which QEMU inherits its files.
pub(super) const KERNEL_FD: i32 = 3;
pub(super) const IMAGE_FD: i32 = 4;
pub(super) const CONTROL_FD: i32 = 5;
pub(super) const QMP_FD: i32 = 6;
pub(super) const CONSOLE_FD: i32 = 7;
pub(super) const INCOMING_FD: i32 = 8;

/// Always on the kernel's command line. The console gets only important messages. A
/// panic ends the guest, since `-no-reboot` does not start it again. Entropy comes
/// from the processor, so that nothing waits for it. The timer's ticks are not
/// checked at boot: a busy host is late with them and the kernel would panic.
const KERNEL_ARGUMENTS: [&str; 5] = [
    "console=ttyS0",
    "quiet",
    "panic=-1",
    "random.trust_cpu=on",
    "no_timer_check",
];

/// Forbids what a guest must not do to its host, should it take QEMU over.
const SANDBOX: &str = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

/// The parts of one start of QEMU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start<'a> {
    pub(super) shape: &'a Shape,
    pub(super) accelerator: Accelerator,
    pub(super) version: (u32, u32, u32),
    pub(super) node: Option<u32>,
    pub(super) sandbox: bool,
    pub(super) pvh: bool,
    /// Whether the guest comes from another QEMU.
    pub(super) is_incoming: bool,
}

impl Start<'_> {
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut list =
            Vec::from(["-nodefaults", "-no-user-config", "-no-reboot"].map(String::from));
        let mut add = |name: &str, value: String| list.extend([name.to_owned(), value]);
        add("-display", "none".to_owned());
        if self.sandbox {
            add("-sandbox", SANDBOX.to_owned());
        }
        add("-accel", self.accel().to_owned());
        add("-cpu", self.shape.cpu.clone());
        add("-smp", self.processors());
        self.memory(&mut add);
        add("-kernel", inherited(KERNEL_FD));
        add("-initrd", inherited(IMAGE_FD));
        add("-append", self.kernel_arguments().join(" "));
        channels(&mut add);
        if self.is_incoming {
            add("-incoming", format!("fd:{INCOMING_FD}"));
        }
        (0..self.shape.crypto_devices).for_each(|device| crypto(&mut add, device));
        for (device, socket) in self.shape.crypto_sockets.iter().enumerate() {
            self.crypto_socket(&mut add, device, socket);
        }
        for function in &self.shape.pci_functions {
            add("-device", format!("vfio-pci,host={function}"));
        }
        list.extend(self.shape.qemu_arguments.iter().cloned());
        list
    }

    pub(super) fn kernel_arguments(&self) -> Vec<String> {
        let always = KERNEL_ARGUMENTS.into_iter().map(str::to_owned);
        always
            .chain(self.shape.kernel_arguments.iter().cloned())
            .collect()
    }

    /// One thread a vCPU also under emulation: otherwise pinning has no effect.
    fn accel(&self) -> &'static str {
        match self.accelerator {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg,thread=multi",
        }
    }

    /// Room for a second vCPU that never comes. Where there can be only one, QEMU's
    /// emulation omits the guest's barriers and locked instructions. But devices run
    /// in threads of their own, and a virtio queue then sometimes loses a
    /// notification for good.
    fn processors(&self) -> String {
        match (self.accelerator, self.shape.vcpus) {
            (Accelerator::Tcg, 1) => "1,maxcpus=2".to_owned(),
            (_, vcpus) => vcpus.to_string(),
        }
    }

    fn memory(&self, add: &mut impl FnMut(&str, String)) {
        let mib = self.shape.memory_mib;
        add("-m", format!("{mib}M"));
        let mut memory = format!("memory-backend-memfd,id=memory,size={mib}M");
        if let Some(node) = self.node {
            memory.push_str(&format!(",host-nodes={node},policy=bind"));
        }
        if !self.shape.crypto_sockets.is_empty() {
            memory.push_str(",share=on");
        } else if self.node.is_none() {
            add("-machine", "q35".to_owned());
            return;
        }
        add("-object", memory);
        add("-machine", "q35,memory-backend=memory".to_owned());
    }

    fn crypto_socket(&self, add: &mut impl FnMut(&str, String), device: usize, socket: &Path) {
        // A comma in a value is written twice.
        let socket = socket.display().to_string().replace(',', ",,");
        add("-chardev", format!("socket,id=vhost{device},path={socket}"));
        add(
            "-object",
            format!("cryptodev-vhost-user,id=cryptovhost{device},chardev=vhost{device}"),
        );
        // QEMU 7.2 dies of this device's MSI-X under emulation.
        let is_fragile = self.accelerator == Accelerator::Tcg && self.version < (8, 0, 0);
        let vectors = if is_fragile { ",vectors=0" } else { "" };
        add(
            "-device",
            format!("virtio-crypto-pci,id=vcrypto{device},cryptodev=cryptovhost{device}{vectors}"),
        );
    }
}

fn inherited(fd: i32) -> String {
    format!("/proc/self/fd/{fd}")
}

/// Console, control port and QMP over inherited sockets, so that nothing has a name
/// anywhere.
fn channels(add: &mut impl FnMut(&str, String)) {
    for (id, fd) in [
        ("console", CONSOLE_FD),
        ("control", CONTROL_FD),
        ("qmp", QMP_FD),
    ] {
        add("-chardev", format!("socket,id={id},fd={fd}"));
    }
    add("-serial", "chardev:console".to_owned());
    add("-device", "virtio-serial-pci".to_owned());
    add(
        "-device",
        format!("virtserialport,chardev=control,name={PORT_NAME}"),
    );
    add("-mon", "chardev=qmp,mode=control".to_owned());
}

fn crypto(add: &mut impl FnMut(&str, String), device: u32) {
    add(
        "-object",
        format!("cryptodev-backend-builtin,id=cryptodev{device}"),
    );
    add(
        "-device",
        format!("virtio-crypto-pci,id=crypto{device},cryptodev=cryptodev{device}"),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(shape: &Shape, node: Option<u32>) -> String {
        let start = Start {
            shape,
            accelerator: Accelerator::Tcg,
            version: (7, 2, 22),
            node,
            sandbox: true,
            pvh: true,
            is_incoming: false,
        };
        start.arguments().join(" ")
    }

    #[test]
    fn the_shape_is_in_the_command_line() {
        let shape = Shape {
            vcpus: 3,
            memory_mib: 777,
            cpu: "Nehalem,+aes".to_owned(),
            crypto_devices: 2,
            pci_functions: vec!["65:01.3".parse().unwrap()],
            qemu_arguments: vec!["-device".to_owned(), "igb".to_owned()],
            kernel_arguments: vec!["slub_debug=FZPU".to_owned()],
            ..Shape::default()
        };
        let line = line(&shape, None);
        for part in [
            "-smp 3 ",
            "-m 777M ",
            "-cpu Nehalem,+aes ",
            "-accel tcg,thread=multi ",
            "id=crypto1,cryptodev=cryptodev1",
            "-device vfio-pci,host=0000:65:01.3 ",
            "panic=-1 random.trust_cpu=on no_timer_check slub_debug=FZPU ",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
        assert!(line.ends_with(" -device igb"), "{line}");
        assert!(!line.contains("crypto2") && !line.contains("netdev"));
    }

    #[test]
    fn devices_of_others_share_the_memory() {
        let shape = Shape {
            crypto_sockets: vec!["/run/a,b".into()],
            ..Shape::default()
        };
        let line = line(&shape, None);
        for part in [
            "size=2048M,share=on ",
            "memory-backend=memory ",
            "path=/run/a,,b ",
            "cryptodev=cryptovhost0,vectors=0",
        ] {
            assert!(line.contains(part), "{part} in {line}");
        }
    }

    #[test]
    fn one_emulated_processor_keeps_its_barriers() {
        let line = line(&Shape::default(), None);
        assert!(line.contains("-smp 1,maxcpus=2 "), "{line}");
    }

    #[test]
    fn memory_is_bound_where_there_is_a_node() {
        assert!(!line(&Shape::default(), None).contains("host-nodes"));
        let bound = line(&Shape::default(), Some(1));
        assert!(bound.contains("size=2048M,host-nodes=1,policy=bind"));
        assert!(bound.contains("memory-backend=memory"));
    }
}
