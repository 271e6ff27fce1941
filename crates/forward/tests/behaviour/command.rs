//! Commands of administrators in a DUT.

use std::process::{Command, Stdio};

use crate::behaviour::rig::Rig;

/// Whether a command was obeyed in a DUT; `IN` and `OUT` are its links of port 0 and 1.
/// What follows `nft` is one text, as its syntax has marks of the shell's.
pub fn is_obeyed(rig: &Rig, command: &str) -> bool {
    let [inner, outer] = rig.links.each_ref().map(|(name, _)| name.as_str());
    let words = command.split(' ').map(|word| match word {
        "IN" => inner,
        "OUT" => outer,
        other => other,
    });
    let words: Vec<_> = words.collect();
    let (program, rest) = words.split_first().expect("a program");
    let mut command = Command::new(program);
    match *program {
        "nft" => command.arg(rest.join(" ")),
        _ => command.args(rest),
    };
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let child = rig.dut.spawn_process(command);
    child
        .and_then(|mut child| child.wait())
        .is_ok_and(|status| status.success())
}
