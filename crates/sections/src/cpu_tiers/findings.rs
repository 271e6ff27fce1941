//! What the ratios mean: a price of each feature.

use cpu::{Feature, Numbers, Tier};
use kit::drawing::{column, text};
use kit::experiment::Results;
use kit::headline::Answer;
use kit::series::Told;
use kit::tiers::{hidden, whole};
use kit::words::{finding, listed, percent};
use probe::tier::Choice;
use trial::stats::{Interval, PAIRS_FOR_A_CLAIM};
use trial::{Finding, Outcome, Table, Weight};

use super::{CpuTiers, Work};

/// Generations of registers, as the source compares them: the wider, the narrower.
pub(super) const STEPS: [(Tier, Tier); 2] = [(Tier::Avx2, Tier::Aesni), (Tier::Avx512, Tier::Avx2)];
/// A price that is no more than this beyond another says nothing new.
const NEWS: f64 = 0.03;
const NAMED_MAX: usize = 6;

/// What a guest loses of a kind of work, 0 to 1, with its interval.
struct Cost<'r> {
    choice: Choice,
    hides: String,
    work: Work,
    told: &'r Told<Work, Choice>,
}

impl Cost<'_> {
    fn share(&self) -> f64 {
        1.0 - self.told.ratio.value()
    }

    /// `58% (57 to 59)`; wider where it was picked among several.
    fn words(&self, picked_of: usize) -> String {
        let comparison = &self.told.ratio.comparison;
        let share = |ratio: f64| (1.0 - ratio) * 100.0;
        match comparison.picked_of(picked_of) {
            Some(Interval { low, high, .. }) => {
                let decimals = usize::from(share(comparison.ratio) >= 95.0);
                format!(
                    "{:.decimals$}% ({:.decimals$} to {:.decimals$})",
                    share(comparison.ratio),
                    share(high),
                    share(low)
                )
            }
            None => percent(self.share()),
        }
    }
}

/// Everything over the whole CPU that rests on enough valid pairs.
fn all<'r>(results: &'r Results<'_, CpuTiers>) -> Vec<Cost<'r>> {
    let Some(whole) = whole(results.subjects.iter().map(|own| own.arm)) else {
        return Vec::new();
    };
    let cost = |told: &'r Told<Work, Choice>| {
        let (work, choice) = told.pair.arm;
        let is_shown = told.ratio.is_believed
            && told.ratio.comparison.pairs.len() >= PAIRS_FOR_A_CLAIM
            && told.pair.reference.1 == whole;
        let hides = hidden(choice, whole).filter(|_| is_shown)?;
        Some(Cost {
            choice,
            hides,
            work,
            told,
        })
    };
    results.told().iter().filter_map(cost).collect()
}

/// AWS-LC has software for many blocks at once, but not for these modes: what
/// these cost without AES-NI says more of it than of the CPU.
fn is_one_by_one(cost: &Cost<'_>) -> bool {
    let is_software = cost.choice.reached() < Tier::Aesni;
    is_software
        && match cost.work {
            Work::Sectors { .. } => true,
            Work::Crypto { kind, .. } => {
                let modes = ["-ecb", "-xts", "-cbc"];
                modes
                    .iter()
                    .any(|mode| kind.algorithm.name().ends_with(mode))
            }
            Work::Vector(_) => false,
        }
}

/// What each feature costs where it costs most, in the order in which they are hidden.
fn worst<'r>(costs: &'r [Cost<'r>]) -> Vec<(&'r Cost<'r>, usize)> {
    let mut choices: Vec<Choice> = Vec::new();
    for cost in costs {
        if !choices.contains(&cost.choice) {
            choices.push(cost.choice);
        }
    }
    let most = |choice: Choice| {
        let is_own = move |cost: &&Cost<'_>| cost.choice == choice && !is_one_by_one(cost);
        let own = || costs.iter().filter(is_own);
        let most = own().reduce(|a, b| if b.share() > a.share() { b } else { a })?;
        let is_evident = most.told.ratio.comparison.outcome == Outcome::Slower;
        is_evident.then_some((most, own().count()))
    };
    choices.into_iter().filter_map(most).collect()
}

pub(super) fn answer(results: &Results<'_, CpuTiers>) -> Option<Answer> {
    let costs = all(results);
    if costs.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    let (mut place, mut above) = (None, 0.0);
    for (cost, places) in worst(&costs) {
        // What hides a tier hides those above: only what it adds is news.
        let is_tier = matches!(cost.choice.alone(), None | Some(Feature::Aes));
        if cost.share() < if is_tier { above + NEWS } else { NEWS } {
            continue;
        }
        if is_tier {
            above = cost.share();
        }
        let at = match place.replace(cost.work) {
            before if before == Some(cost.work) => String::new(),
            _ => format!(" of {}", cost.work.short()),
        };
        parts.push(format!("{} {}{at}", cost.hides, cost.words(places)));
    }
    let text = match parts.as_slice() {
        [] => {
            "Hiding a feature of this CPU from a guest costs nothing that was measured.".to_owned()
        }
        parts => format!(
            "Hidden from a guest, a CPU feature costs up to: {}.",
            parts.join("; ")
        ),
    };
    let remedy = "Show guests what they use; `lockgate cpu price` has every price. `-cpu host` shows all, and ties a guest to CPUs like this.";
    Some(Answer::new(text, remedy))
}

pub(super) fn findings(results: &Results<'_, CpuTiers>) -> Vec<Finding> {
    let steps = [Numbers::Integers, Numbers::Floats].into_iter();
    let steps = steps.filter_map(|numbers| registers(results, numbers));
    let all = steps.chain(faster(results)).chain(one_by_one(results));
    all.collect()
}

/// What the prices of disk sectors without AES-NI are worth.
fn one_by_one(results: &Results<'_, CpuTiers>) -> Option<Finding> {
    let is_there = all(results).iter().any(is_one_by_one);
    let text = "Without AES-NI AWS-LC encrypts disk sectors and XTS, ECB and CBC a block at a time: other software may be several times as fast.";
    let remedy = "`lockgate run disk-guest` measures the kernel's dm-crypt with AES-NI hidden.";
    is_there.then(|| finding(Weight::Note, text.to_owned(), remedy))
}

/// The source has 60% to 2.35× a generation, of multimedia work.
fn registers(results: &Results<'_, CpuTiers>, numbers: Numbers) -> Option<Finding> {
    let work = Work::Vector(numbers);
    let step = |(wide, narrow): (Tier, Tier)| {
        let [wide, narrow] = [wide, narrow].map(Choice::whole);
        let ratio = results.ratio((&work, &wide), (&work, &narrow), super::REQUESTS)?;
        let (to, from) = (wide.tier.label(), narrow.tier.registers());
        ratio
            .is_believed
            .then(|| format!("{to} over {from} {}", ratio.words()))
    };
    let steps: Vec<_> = STEPS.into_iter().filter_map(step).collect();
    let text = format!(
        "Wider registers alone, {}: {}. The book chapter quotes 1.6 to 2.35× a generation.",
        work.words(),
        steps.join("; ")
    );
    (!steps.is_empty()).then(|| finding(Weight::Note, text, ""))
}

/// What runs faster without a feature.
fn faster(results: &Results<'_, CpuTiers>) -> Option<Finding> {
    let costs = all(results);
    let is_faster = |cost: &&Cost<'_>| cost.told.ratio.comparison.low > 1.0 + NEWS;
    let named = costs.iter().filter(is_faster);
    let named: Vec<_> = named
        .map(|cost| {
            format!(
                "{} without {}: {}",
                cost.work.words(),
                cost.hides,
                cost.told.ratio.words()
            )
        })
        .collect();
    let text = format!("Faster with less: {}.", listed(&named, NAMED_MAX));
    let remedy = "The library takes the newest code that it has, which is not the fastest here: report it upstream, or hide the feature from that program.";
    (!named.is_empty()).then(|| finding(Weight::Advice, text, remedy))
}

/// A row for each kind of work, a column for each feature.
pub(super) fn costs(results: &Results<'_, CpuTiers>) -> Option<Table> {
    let costs = all(results);
    let mut hidden: Vec<&str> = Vec::new();
    let mut works: Vec<Work> = Vec::new();
    for cost in &costs {
        if !hidden.contains(&cost.hides.as_str()) {
            hidden.push(&cost.hides);
        }
        if !works.contains(&cost.work) {
            works.push(cost.work);
        }
    }
    let entry = |work: Work, hides: &str| {
        let own = costs
            .iter()
            .find(|cost| cost.work == work && cost.hides == hides);
        text(own.map_or_else(
            String::new,
            |cost| match cost.told.ratio.comparison.outcome {
                Outcome::NoEvidence => "no evidence".to_owned(),
                _ => cost.words(1),
            },
        ))
    };
    let row = |work: &Work| {
        let cells = hidden.iter().map(|hides| entry(*work, hides));
        std::iter::once(text(work.words())).chain(cells).collect()
    };
    let columns = hidden.iter().map(|hides| column(*hides, ""));
    (!works.is_empty()).then(|| Table {
        title: "What hiding each feature costs".to_owned(),
        note: "The share of its speed that the work loses, with its interval of 95% or more; below 0% it gains. A feature is hidden with all tiers above it, or alone.".to_owned(),
        columns: std::iter::once(column("work", "")).chain(columns).collect(),
        rows: works.iter().map(row).collect(),
        command: results.command.to_owned(),
    })
}
