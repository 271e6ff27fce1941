//! A program's verdict on one frame, without sending anything.

use sys::failure::Failure;

use crate::attached::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Aborted,
    Drop,
    Pass,
    Transmit,
    Redirect,
}

const ROOM_BYTES: usize = 256;

/// Runs a path's program on a frame as if it had come in by the interface, in
/// whose network namespace the calling thread must be, and on which an XDP
/// program must run. What the program did to the frame comes with its verdict.
pub fn dry_run(
    path: &impl Path,
    ifindex: u32,
    frame: &[u8],
) -> Result<(Verdict, Vec<u8>), Failure> {
    let entries = path.entries();
    let entry = entries
        .iter()
        .find(|entry| entry.ifindex == ifindex)
        .ok_or_else(|| Failure::new(format!("the path has no program on interface {ifindex}")))?;
    let mut context = context(frame.len(), ifindex);
    let mut out = vec![0; frame.len() + ROOM_BYTES];
    let ran = entry.program.test_run(libbpf_rs::ProgramInput {
        context_in: Some(&mut context),
        data_in: Some(frame),
        data_out: Some(&mut out),
        ..Default::default()
    });
    let ran = ran.map_err(Failure::of(format!(
        "the kernel runs no program on this frame of {} bytes as from interface {ifindex}: it needs root, 14 bytes at least, and an interface of this network namespace that is up with XDP",
        frame.len()
    )))?;
    let verdict = match ran.return_value {
        0 => Verdict::Aborted,
        1 => Verdict::Drop,
        2 => Verdict::Pass,
        3 => Verdict::Transmit,
        4 => Verdict::Redirect,
        other => {
            let context = format!("the program answered {other}, which is not a verdict");
            return Err(Failure::new(context));
        }
    };
    let bytes = ran.data.map_or(0, |data| data.len());
    out.truncate(bytes);
    Ok((verdict, out))
}

/// `struct xdp_md`: data, its end, metadata, interface, queue, and none to leave by.
fn context(bytes: usize, ifindex: u32) -> Vec<u8> {
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let fields = [0, bytes, 0, ifindex, 0, 0];
    fields
        .iter()
        .flat_map(|field| field.to_ne_bytes())
        .collect()
}
