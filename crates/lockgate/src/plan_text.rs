//! What a run will do, in words, before it does it.

use std::path::Path;
use std::time::Duration;

use lab::schedule::Scheduled;
use lab::store::FILE_BYTES_MAX;
use trial::Plan;

const MIB: usize = 1 << 20;

pub fn plan(scheduled: &[Scheduled], budget: Duration, out: &Path) -> String {
    // The sum of nothing is -0.
    let seconds = seconds(scheduled) + 0.0;
    let budget = budget.as_secs_f64();
    let mut lines = vec![format!(
        "Plan: {seconds:.0} s of measuring, budget {budget:.0} s"
    )];
    lines.extend(scheduled.iter().flat_map(of_section));
    lines.push(format!(
        "\nWrites a new folder in {} ({}). {}\n",
        out.display(),
        limits(),
        changes(scheduled)
    ));
    lines.join("\n")
}

fn of_section(Scheduled { section, plan }: &Scheduled) -> Vec<String> {
    let mut lines = vec![format!("\n{}: {}", section.name(), section.title())];
    match plan {
        Err(why) => lines.push(format!("  not run: {why}")),
        Ok(plan) => {
            lines.extend([
                format!("  seconds: {:.1}", plan.seconds),
                format!("  privileges: {}", list(&plan.privileges)),
                format!("  creates: {}", list(&plan.creates)),
                format!("  downloads: {}", list(&plan.downloads)),
                format!("  alone: {}", section.command()),
            ]);
            lines.extend(plan.steps.iter().map(|step| format!("  - {step}")));
        }
    }
    lines
}

/// Printed on stderr before measuring: seconds, where it writes, what it creates
/// and downloads, and what is left out.
pub fn notice(scheduled: &[Scheduled], folder: &Path) -> String {
    let planned = scheduled.iter().filter(|each| each.plan.is_ok());
    let names: Vec<_> = planned.map(|each| each.section.name()).collect();
    let all = |of: fn(&Plan) -> &[String]| {
        list(&plans(scheduled).flat_map(of).cloned().collect::<Vec<_>>())
    };
    let mut lines = vec![
        format!(
            "Measures for about {:.0} s: {}.",
            seconds(scheduled),
            names.join(", ")
        ),
        format!("Writes to {} ({}).", folder.display(), limits()),
        format!(
            "Creates: {}. Downloads: {}. {}",
            all(|plan| &plan.creates),
            all(|plan| &plan.downloads),
            changes(scheduled)
        ),
    ];
    let left_out = |each: &Scheduled| {
        let why = each.plan.as_ref().err()?;
        Some(format!("Leaves out {}: {why}.", each.section.name()))
    };
    lines.extend(scheduled.iter().filter_map(left_out));
    lines.join("\n")
}

fn changes(scheduled: &[Scheduled]) -> String {
    let all: Vec<String> = plans(scheduled)
        .flat_map(|plan| plan.changes.clone())
        .collect();
    match all.is_empty() {
        true => "Changes no setting.".to_owned(),
        false => format!(
            "Changes, until it ends, also by a crash: {}. All of it is journalled and comes back.",
            all.join("; ")
        ),
    }
}

fn plans(scheduled: &[Scheduled]) -> impl Iterator<Item = &Plan> {
    scheduled.iter().filter_map(|each| each.plan.as_ref().ok())
}

fn limits() -> String {
    let mib = FILE_BYTES_MAX / MIB;
    format!("result.json and report.html, each at most {mib} MiB")
}

fn seconds(scheduled: &[Scheduled]) -> f64 {
    plans(scheduled).map(|plan| plan.seconds).sum()
}

fn list(items: &[String]) -> String {
    if items.is_empty() {
        "nothing".to_owned()
    } else {
        items.join(", ")
    }
}
