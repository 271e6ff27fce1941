use super::*;
use proptest::prelude::*;

const TWO: &str = r#"
schema = 1
[router.edge1]
path = "xdp"
threads = [3, 1]
bird = "edge1.conf"
[[router.edge1.port]]
name = "lan"
veth = "lan1"
addresses = ["192.0.2.1/30", "2001:db8::1/64"]
[[router.edge1.port]]
name = "core"
to = "edge2.core"
addresses = ["10.255.0.1/31"]
[[router.edge1.route]]
to = "198.18.0.0/16"
via = "192.0.2.2"
[router.edge2]
[[router.edge2.port]]
name = "core"
to = "edge1.core"
addresses = ["10.255.0.0/31"]
"#;

fn read(text: &str) -> Result<Plan, String> {
    Plan::read(text, Path::new("/etc/routers"))
}

#[test]
fn a_file_is_read_whole() {
    let plan = read(TWO).unwrap();
    let edge = &plan.routers["edge1"];
    assert_eq!(edge.path, Forwarding::Xdp);
    assert_eq!(edge.threads, BTreeSet::from([1, 3]));
    let control = Control::Bird(PathBuf::from("/etc/routers/edge1.conf"));
    assert_eq!(edge.control, Some(control));
    assert_eq!(edge.ports["lan"].source, Source::Veth("lan1".to_owned()));
    assert_eq!(edge.ports["lan"].addresses.len(), 2);
    assert_eq!(edge.routes.len(), 1);
    assert_eq!(edge.firewall, Firewall::Obey);
    let bypass = TWO.replace("path = \"xdp\"", "path = \"xdp\"\nfirewall = \"bypass\"");
    let bypass = read(&bypass).unwrap();
    assert_eq!(bypass.routers["edge1"].firewall, Firewall::Bypass);
    assert_eq!(plan.routers["edge2"].path, Forwarding::Kernel);
    assert_eq!(plan.sources().count(), 3);
}

#[test]
fn what_cannot_be_is_refused_with_its_value() {
    let cases = [
        ("schema = 1", "schema = 2", "schema 2"),
        ("path = \"xdp\"", "path = \"dpdk\"", "dpdk"),
        ("path = \"xdp\"", "paths = 1", "paths"),
        (
            "path = \"xdp\"",
            "path = \"xdp\"\nfirewall = \"ask\"",
            "unknown variant `ask`, expected `obey` or `bypass`",
        ),
        (
            "path = \"xdp\"",
            "firewall = \"bypass\"",
            "by path = \"kernel\" the kernel forwards",
        ),
        ("threads = [3, 1]", "threads = [-1]", "-1"),
        ("path = \"xdp\"", "frr = \"x\"", "bird and frr both"),
        ("[router.edge2]", "[router.Edge]", "'Edge'"),
        ("name = \"lan\"", "name = \"a/b\"", "'a/b'"),
        ("name = \"lan\"", "name = \"core\"", "core comes twice"),
        (
            "veth = \"lan1\"",
            "veth = \"lan1\"\ntap = true",
            "2 of veth",
        ),
        ("veth = \"lan1\"", "", "0 of veth"),
        (
            "veth = \"lan1\"",
            "device = \"eth7\"",
            "write name = \"eth7\"",
        ),
        (
            "veth = \"lan1\"",
            "macvlan = \"eth0\"",
            "macvlan, which takes no XDP",
        ),
        ("veth = \"lan1\"", "veth = \"lan1\"\nmtu = 67", "MTU of 67"),
        (
            "veth = \"lan1\"",
            "veth = \"lan1\"\nmtu = 1000",
            "IPv6 needs 1280",
        ),
        ("to = \"edge2.core\"", "to = \"edge2\"", "ROUTER.PORT"),
        ("to = \"edge2.core\"", "to = \"edge1.lan\"", "a loop"),
        (
            "to = \"edge2.core\"",
            "to = \"edge2.lan\"",
            "does not lead back",
        ),
        (
            "to = \"edge2.core\"",
            "to = \"edge2.core\"\nmtu = 1400",
            "different MTUs",
        ),
        ("192.0.2.1/30", "192.0.2.1", "'192.0.2.1'"),
        ("192.0.2.1/30", "224.0.0.1/30", "224.0.0.1/30 is no address"),
        ("192.0.2.1/30", "10.255.0.3/30", "overlap"),
        (
            "to = \"198.18.0.0/16\"",
            "to = \"198.18.0.1/16\"",
            "write 198.18.0.0/16",
        ),
        ("via = \"192.0.2.2\"", "via = \"192.0.3.2\"", "by 192.0.3.2"),
        ("via = \"192.0.2.2\"", "via = \"2001:db8::2\"", "one family"),
    ];
    for (from, to, says) in cases {
        assert!(TWO.contains(from), "{from}");
        let error = read(&TWO.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(says), "{to}: {error}");
    }
    let error = read("schema = 1").unwrap_err();
    assert!(error.contains("no router"), "{error}");
    let twice = format!("{TWO}\n[[router.edge2.port]]\nname = \"lan\"\nveth = \"lan1\"\n");
    let error = read(&twice).unwrap_err();
    assert!(error.contains("both want 'lan1'"), "{error}");
    let route = "[[router.edge1.route]]\nto = \"198.18.0.0/16\"\nvia = \"192.0.2.1\"\n";
    let error = read(&format!("{TWO}\n{route}")).unwrap_err();
    assert!(error.contains("two routes to 198.18.0.0/16"), "{error}");
}

/// Bridges in a row, and the last of them joined to the first where `is_ring`.
fn bridges(count: usize, is_ring: bool) -> String {
    let mut text = "schema = 1\n".to_owned();
    for index in 0..count {
        text += &format!("[router.b{index}]\npath = \"bridge\"\n");
        let mut port = |name: &str, other: usize, to: &str| {
            text +=
                &format!("[[router.b{index}.port]]\nname = \"{name}\"\nto = \"b{other}.{to}\"\n");
        };
        if index > 0 || is_ring {
            port("down", (index + count - 1) % count, "up");
        }
        if index + 1 < count || is_ring {
            port("up", (index + 1) % count, "down");
        }
    }
    text
}

#[test]
fn a_ring_of_bridges_is_refused() {
    for count in 3..6 {
        read(&bridges(count, false)).unwrap();
        let error = read(&bridges(count, true)).unwrap_err();
        assert!(error.contains("a loop of bridges"), "{error}");
        // One of them that routes breaks it.
        let one = bridges(count, true).replacen("path = \"bridge\"", "", 1);
        read(&one).unwrap();
    }
}

#[test]
fn a_bridge_has_no_layer_three() {
    let with = |more: &str| {
        let text = format!("schema = 1\n[router.b]\npath = \"bridge\"\n{more}");
        read(&text).unwrap_err()
    };
    let port = "[[router.b.port]]\nname = \"p\"\nveth = \"v\"\naddresses = [\"10.0.0.1/8\"]\n";
    assert!(with(port).contains("10.0.0.1/8"));
    assert!(with("bird = \"x\"").contains("no table"));
    let itself = "[[router.b.port]]\nname = \"bridge\"\ntap = true\n";
    assert!(with(itself).contains("the bridge itself"));
}

proptest! {
    #![proptest_config(crate::testing::cases())]

    /// A file with some of its bytes changed is read, or refused in words.
    #[test]
    fn any_text_is_read_or_refused(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut bytes = TWO.as_bytes().to_vec();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Err(error) = read(&text) {
            prop_assert!(!error.is_empty());
        }
    }
}
