//! What `iperf3 --json` says (version 3.7 and later).

use std::time::Duration;

use serde::Deserialize;

/// Maximum number of bytes read of a report: one of 60 s has 50 KB.
pub const REPORT_BYTES_MAX: u64 = 4 << 20;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Mbit/s (10^6) that the receiver got.
    pub received_mbit_per_s: f64,
    pub retransmits: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub forth: Flow,
    pub back: Option<Flow>,
    /// The sender's congestion control; empty when the report does not say.
    pub congestion_control: String,
    pub cpu: Option<EndsCpu>,
}

/// CPU time of the two ends of a test while it ran, of user and system together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndsCpu {
    pub client: Duration,
    pub server: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("iperf3 says: {0}")]
    Failed(String),
    #[error("iperf3's report cannot be read; take version 3.7 or later")]
    Json(#[source] serde_json::Error),
    #[error("iperf3's report has no usable '{0}'; take version 3.7 or later")]
    Missing(&'static str),
}

#[derive(Deserialize)]
struct Document {
    error: Option<String>,
    #[serde(default)]
    end: End,
}

#[derive(Default, Deserialize)]
struct End {
    sum_sent: Option<Sum>,
    sum_received: Option<Sum>,
    sum_sent_bidir_reverse: Option<Sum>,
    sum_received_bidir_reverse: Option<Sum>,
    #[serde(default)]
    sender_tcp_congestion: String,
    cpu_utilization_percent: Option<Utilization>,
}

#[derive(Deserialize)]
struct Utilization {
    host_total: f64,
    remote_total: f64,
}

#[derive(Deserialize)]
struct Sum {
    seconds: Option<f64>,
    bits_per_second: f64,
    retransmits: Option<u64>,
}

pub fn parse(text: &[u8], two_way: bool) -> Result<Report, ReportError> {
    let document: Document = serde_json::from_slice(text).map_err(ReportError::Json)?;
    if let Some(reason) = document.error {
        return Err(ReportError::Failed(reason));
    }
    let end = document.end;
    let cpu = ends_cpu(&end);
    let forth = flow(end.sum_sent, end.sum_received, "end.sum_received")?;
    let back = two_way
        .then(|| {
            flow(
                end.sum_sent_bidir_reverse,
                end.sum_received_bidir_reverse,
                "end.sum_received_bidir_reverse",
            )
        })
        .transpose()?;
    Ok(Report {
        forth,
        back,
        congestion_control: end.sender_tcp_congestion,
        cpu,
    })
}

fn ends_cpu(end: &End) -> Option<EndsCpu> {
    let used = end.cpu_utilization_percent.as_ref()?;
    let seconds = end.sum_sent.as_ref()?.seconds?;
    let time = |percent: f64| Duration::try_from_secs_f64(percent / 100.0 * seconds).ok();
    Some(EndsCpu {
        client: time(used.host_total)?,
        server: time(used.remote_total)?,
    })
}

fn flow(sent: Option<Sum>, received: Option<Sum>, name: &'static str) -> Result<Flow, ReportError> {
    let received = received
        .map(|sum| sum.bits_per_second)
        .filter(|rate| rate.is_finite() && *rate >= 0.0)
        .ok_or(ReportError::Missing(name))?;
    Ok(Flow {
        received_mbit_per_s: received / 1e6,
        retransmits: sent.and_then(|sum| sum.retransmits).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO_WAY: &str = r#"{"start":{},"end":{
        "sum_sent":{"seconds":2.0,"bits_per_second":2e9,"retransmits":7},
        "sum_received":{"bits_per_second":1.9e9},
        "sum_sent_bidir_reverse":{"bits_per_second":1e9,"retransmits":0},
        "sum_received_bidir_reverse":{"bits_per_second":9e8},
        "cpu_utilization_percent":{"host_total":40.5,"remote_total":80.0},
        "sender_tcp_congestion":"cubic"}}"#;

    #[test]
    fn one_and_two_way() {
        let report = parse(TWO_WAY.as_bytes(), true).unwrap();
        assert!((report.forth.received_mbit_per_s - 1900.0).abs() < 1e-9);
        assert_eq!(report.forth.retransmits, 7);
        assert!((report.back.unwrap().received_mbit_per_s - 900.0).abs() < 1e-9);
        assert_eq!(report.congestion_control, "cubic");
        let cpu = report.cpu.unwrap();
        assert_eq!(cpu.client, Duration::from_millis(810));
        assert_eq!(cpu.server, Duration::from_millis(1600));
        assert_eq!(parse(TWO_WAY.as_bytes(), false).unwrap().back, None);
    }

    #[test]
    fn its_own_error_is_passed_on() {
        let text = br#"{"start":{},"end":{},"error":"unable to connect to server"}"#;
        let error = parse(text, false).unwrap_err().to_string();
        assert_eq!(error, "iperf3 says: unable to connect to server");
    }

    #[test]
    fn a_report_without_the_way_back_is_refused() {
        let text = br#"{"end":{"sum_received":{"bits_per_second":1}}}"#;
        assert!(parse(text, false).is_ok());
        let error = parse(text, true).unwrap_err();
        assert!(error.to_string().contains("bidir"), "{error}");
    }

    #[test]
    fn a_cpu_time_that_cannot_be_is_not_known() {
        let text = TWO_WAY.replace("40.5", "-1e300");
        assert_eq!(parse(text.as_bytes(), true).unwrap().cpu, None);
    }

    proptest! {
        #[test]
        fn damaged_reports_are_errors_or_numbers(at in 0..400_usize, byte: u8, cut in 0..500_usize) {
            let mut text = TWO_WAY.as_bytes().to_vec();
            if let Some(slot) = text.get_mut(at) { *slot = byte; }
            text.truncate(cut);
            if let Ok(report) = parse(&text, true) {
                prop_assert!(report.forth.received_mbit_per_s >= 0.0);
            }
        }
    }
}
