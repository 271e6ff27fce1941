//! A whole capture, from its first byte to the summary.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use crypto::Backend;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Summary, Trace};
use crate::capture::{
    Capture, Datagrams, Item, KeyLog, KeyLogError, ReadError, Skipped, WriteError, Writer,
};

/// Of [`Document`], whose schema is committed.
pub const SCHEMA_VERSION: u32 = 1;

/// What a capture had in it.
#[derive(Debug)]
pub struct Traced {
    pub summary: Summary,
    /// Frames that are no UDP datagrams.
    pub skipped: Skipped,
    /// Why the capture was not read to its end. What was before is in the summary.
    pub broken: Option<ReadError>,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("the secrets in the capture are no key log")]
    Secrets(#[from] KeyLogError),
    #[error("cannot write the pcapng copy")]
    Copy(#[from] WriteError),
}

/// Opens all packets of a capture; what was captured goes into `copy`, too.
///
/// # Errors
/// [`TraceError`].
pub fn trace<R: Read, W: Write>(
    backend: &dyn Backend,
    keys: KeyLog,
    capture: Capture<R>,
    mut copy: Option<&mut Writer<W>>,
) -> Result<Traced, TraceError> {
    let mut trace = Trace::new(backend, keys);
    let mut datagrams = Datagrams::new();
    let mut broken = None;
    for item in capture {
        match item {
            Ok(Item::Packet(frame)) => {
                let Some(datagram) = datagrams.datagram(&frame) else {
                    continue;
                };
                if let Some(copy) = &mut copy {
                    copy.datagram(&datagram)?;
                }
                trace.take(&datagram);
            }
            Ok(Item::Secrets(secrets)) => {
                trace.keys().add(secrets.as_bytes())?;
                if let Some(copy) = &mut copy {
                    copy.secrets(secrets.as_bytes())?;
                }
            }
            Err(error) => broken = Some(error),
        }
    }
    Ok(Traced {
        summary: trace.finish(),
        skipped: datagrams.skipped(),
        broken,
    })
}

/// What is exported as JSON.
#[derive(Serialize, JsonSchema)]
pub struct Document<'t> {
    pub schema: u32,
    #[serde(flatten)]
    pub summary: &'t Summary,
    /// Frames that are no UDP datagrams, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Why the capture was not read to its end.
    pub broken: Option<String>,
}

impl Traced {
    pub fn document(&self) -> Document<'_> {
        let counts = self.skipped.counts();
        Document {
            schema: SCHEMA_VERSION,
            summary: &self.summary,
            skipped: counts
                .map(|(why, count)| (why.to_string(), count))
                .collect(),
            broken: self.broken.as_ref().map(ToString::to_string),
        }
    }
}

/// The schema of [`Document`], as it is committed.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Document<'static>);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text + "\n"
}
