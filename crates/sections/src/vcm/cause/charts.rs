//! Speed over the block size: of the loads, and of what was planted.

use trial::stats::median_interval;
use trial::{Axis, Chart, Dot, Scale, Series, SeriesKind};

use crate::vcm::cause::examine::Examination;
use crate::vcm::cause::points::Conditions;
use crate::vcm::cause::results::Examined;
use kit::drawing::block_axis;

pub(super) fn charts(examined: &[Examined], conditions: Conditions, command: &str) -> Vec<Chart> {
    let chart = |title: &str, note: &str, is_planted: bool| {
        let own = examined
            .iter()
            .filter(|one| one.plant().is_some() == is_planted);
        let series: Vec<_> = own.filter_map(|one| line(one, conditions)).collect();
        (!series.is_empty()).then(|| Chart {
            title: title.to_owned(),
            note: note.to_owned(),
            x: block_axis(),
            y: Axis {
                label: "speed".to_owned(),
                unit: "MB/s".to_owned(),
                scale: Scale::Log10,
            },
            places: Vec::new(),
            series,
            command: command.to_owned(),
        })
    };
    let real = chart(
        "Speed by block size, of the loads whose falls are examined",
        "Two short trials a size: enough to see where to look. Hollow: what is in flight exceeds L2, or the trial was disturbed.",
        false,
    );
    let planted = chart(
        "Speed by block size, of devices and clients with planted faults",
        "On one shared core; each but the sound one falls for another reason.",
        true,
    );
    real.into_iter().chain(planted).collect()
}

fn line(one: &Examined, conditions: Conditions) -> Option<Series> {
    let Examination { name, scan, .. } = &one.examination;
    let dots = scan.iter().filter_map(|(setting, readings)| {
        let speeds: Vec<_> = readings.iter().map(|reading| reading.mb_per_s).collect();
        let interval = median_interval(&speeds).ok()?;
        let verdict = conditions.verdict(&one.case, setting, readings);
        Some(Dot {
            x: setting.block_bytes as f64,
            y: interval.estimate,
            low: Some(interval.low),
            high: Some(interval.high),
            valid: verdict.is_valid(),
        })
    });
    let dots: Vec<_> = dots.collect();
    let name = name.trim_start_matches("planted: ").to_owned();
    (dots.len() > 1).then_some(Series {
        name,
        kind: SeriesKind::Measured,
        dots,
    })
}
