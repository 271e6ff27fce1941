//! The answer from planted speeds; `tests/host.rs` has a run of the real rig.

use kit::rehearsal::{Script, rehearse};
use trial::Dimension;

use super::VcmDevice;

#[test]
fn planted_speeds_are_told() {
    let script = Script {
        speed: |point| match point.get("block_bytes") {
            Some(&Dimension::Number(64)) => 2.5e6,
            _ => 1e5,
        },
        ..Script::default()
    };
    let run = rehearse::<VcmDevice>(&toml::Table::new(), &script).unwrap();
    let told = format!("{:?}", run.events);
    assert!(told.contains("2.50 million requests/s of 64 B"), "{told}");
}
