//! What QEMU and libvirt take for a guest with such a device.

use std::fmt::Write;
use std::path::Path;

/// One guest's device, by name.
pub struct Line<'a> {
    pub name: &'a str,
    pub socket: &'a Path,
    pub queues: usize,
}

impl Line<'_> {
    /// QEMU's arguments, but for the memory. Without `reconnect`: with it QEMU 7.2 and
    /// 10.0 die of a back-end that was gone, at the device's next stop.
    pub fn arguments(&self) -> Vec<String> {
        let Self { name, queues, .. } = self;
        // A comma in a value is written twice.
        let socket = self.socket.display().to_string().replace(',', ",,");
        vec![
            "-chardev".to_owned(),
            format!("socket,id=lockgate-{name},path={socket}"),
            "-object".to_owned(),
            format!(
                "cryptodev-vhost-user,id=crypto-{name},chardev=lockgate-{name},queues={queues}"
            ),
            "-device".to_owned(),
            format!("virtio-crypto-pci,id=vcrypto-{name},cryptodev=crypto-{name}"),
        ]
    }

    pub fn qemu(&self) -> String {
        let mut text = "  -object memory-backend-memfd,id=mem,size=2G,share=on -machine memory-backend=mem \\\n  ".to_owned();
        let arguments = self.arguments();
        let pairs: Vec<String> = arguments.chunks(2).map(|pair| pair.join(" ")).collect();
        let _ = writeln!(text, "{}", pairs.join(" \\\n  "));
        text
    }

    pub fn libvirt(&self) -> String {
        let mut text =
            "  <domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
    <memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>
    <qemu:commandline>
"
            .to_owned();
        for argument in self.arguments() {
            let _ = writeln!(text, "      <qemu:arg value='{}'/>", escaped(&argument));
        }
        text.push_str("    </qemu:commandline>\n  </domain>\n");
        text
    }
}

fn escaped(text: &str) -> String {
    let mut all = String::new();
    for c in text.chars() {
        match c {
            '&' => all.push_str("&amp;"),
            '<' => all.push_str("&lt;"),
            '\'' => all.push_str("&apos;"),
            c => all.push(c),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_each_reader() {
        let line = Line {
            name: "vm1",
            socket: Path::new("/run/a,b'c&d.sock"),
            queues: 2,
        };
        assert!(line.qemu().contains("path=/run/a,,b'c&d.sock"));
        assert!(line.libvirt().contains("path=/run/a,,b&apos;c&amp;d.sock"));
        assert!(line.qemu().contains("share=on") && line.libvirt().contains("memfd"));
    }
}
