use kit::rehearsal::{Script, rehearse};
use kit::testing::{assert_refused, section};

use super::*;

#[test]
fn figures_of_the_paper_are_in_the_grid() {
    let own: VcmGuest = section("").unwrap();
    let grid = own.grid();
    let tasks: Vec<_> = grid
        .iter()
        .map(|place| place.tasks)
        .filter(|tasks| *tasks > 1)
        .collect();
    assert_eq!(tasks, [2, 4, 8]);
    assert!(
        grid.iter()
            .all(|place| place.tasks == 1 || place.block_bytes == TASKS_BYTES)
    );
    assert_refused::<VcmGuest>(&[
        ("cpu = '-x'", "cpu", "CPU model"),
        ("sizes_bytes = [20]", "sizes_bytes", "16"),
    ]);
}

/// What CPU time a request takes the device decides the target.
#[test]
fn a_device_that_takes_half_is_told() {
    let script = Script {
        speed: |point| match point.get("arm") {
            Some(arm) if arm.to_string() == "adaptive" => 2.0,
            _ => 1.0,
        },
        ..Script::default()
    };
    let run = rehearse::<VcmGuest>(&toml::Table::new(), &script).unwrap();
    assert!(format!("{:?}", run.events).contains("Our device against QEMU's"));
}
