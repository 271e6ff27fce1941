//! What a run will do, in words, before it does it.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use lab::schedule::Scheduled;
use lab::store::FILE_BYTES_MAX;
use trial::Plan;

const MIB: usize = 1 << 20;

pub fn plan(scheduled: &[Scheduled], budget: Duration, out: &Path) -> String {
    let mut text = format!(
        "Plan: {:.0} s of measuring, budget {:.0} s\n",
        // The sum of nothing is -0.
        seconds(scheduled) + 0.0,
        budget.as_secs_f64()
    );
    for each in scheduled {
        push_section(&mut text, each);
    }
    push(
        &mut text,
        &format!(
            "\nWrites a new folder in {} ({}); changes no setting.",
            out.display(),
            limits()
        ),
    );
    text
}

fn push_section(text: &mut String, Scheduled { section, plan }: &Scheduled) {
    push(text, &format!("\n{}: {}", section.name(), section.title()));
    match plan {
        Err(why) => push(text, &format!("  not run: {why}")),
        Ok(plan) => push_plan(text, plan, &section.command()),
    }
}

fn push_plan(text: &mut String, plan: &Plan, command: &str) {
    push(text, &format!("  seconds: {:.1}", plan.seconds));
    push(text, &format!("  privileges: {}", list(&plan.privileges)));
    push(text, &format!("  creates: {}", list(&plan.creates)));
    push(text, &format!("  downloads: {}", list(&plan.downloads)));
    push(text, &format!("  alone: {command}"));
    for step in &plan.steps {
        push(text, &format!("  - {step}"));
    }
}

/// Said on stderr before measuring: seconds, where it writes, what it creates
/// and downloads, and what is left out.
pub fn notice(scheduled: &[Scheduled], folder: &Path) -> String {
    let plans: Vec<_> = scheduled
        .iter()
        .filter_map(|each| each.plan.as_ref().ok().map(|plan| (each, plan)))
        .collect();
    let names: Vec<_> = plans.iter().map(|(each, _)| each.section.name()).collect();
    let creates: Vec<_> = plans
        .iter()
        .flat_map(|(_, plan)| plan.creates.clone())
        .collect();
    let downloads: Vec<_> = plans
        .iter()
        .flat_map(|(_, plan)| plan.downloads.clone())
        .collect();
    let mut text = format!(
        "Measures for about {:.0} s: {}.\n",
        seconds(scheduled),
        names.join(", ")
    );
    push(
        &mut text,
        &format!("Writes to {} ({}).", folder.display(), limits()),
    );
    push(
        &mut text,
        &format!(
            "Creates: {}. Downloads: {}. Changes no setting.",
            list(&creates),
            list(&downloads)
        ),
    );
    for each in scheduled {
        if let Err(why) = &each.plan {
            let name = each.section.name();
            push(&mut text, &format!("Leaves out {name}: {why}."));
        }
    }
    text.trim_end().to_owned()
}

fn limits() -> String {
    format!(
        "result.json and report.html, each at most {} MiB",
        FILE_BYTES_MAX / MIB
    )
}

fn seconds(scheduled: &[Scheduled]) -> f64 {
    scheduled
        .iter()
        .filter_map(|each| each.plan.as_ref().ok())
        .map(|plan| plan.seconds)
        .sum()
}

fn list(items: &[String]) -> String {
    if items.is_empty() {
        "nothing".to_owned()
    } else {
        items.join(", ")
    }
}

fn push(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("a String takes every text");
}
