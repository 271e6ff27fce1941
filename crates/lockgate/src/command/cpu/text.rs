//! Advice as people and programs read it.

use std::fmt::Write as _;

use cpu::guest::{
    Accelerator, Advice, CpuMap, Flags, Member, Pool, Pools, Question, Setting, other_obstacles,
    why_withheld,
};
use serde_json::{Value, json};

/// The widest bar of the curve, characters.
const BAR: usize = 30;
const NAMES_MAX: usize = 4;
/// QEMU gives a guest so many bits of physical addresses unless it is told.
const BITS: u32 = 40;

pub struct Shown<'a> {
    pub question: Question<'a>,
    pub advice: &'a Advice,
    pub mix: &'a str,
    pub map: &'a CpuMap,
    pub notes: &'a [String],
}

impl Shown<'_> {
    pub fn text(&self) -> String {
        let mut text = String::new();
        let hosts = self.question.hosts.len();
        let _ = writeln!(
            text,
            "{} for {}, of the models of {}.",
            match self.advice.pools.len() {
                1 => "One CPU".to_owned(),
                pools => format!("{pools} CPUs"),
            },
            counted(hosts, "host"),
            self.question.catalogue.origin
        );
        let _ = writeln!(text, "{}", self.loss());
        for note in self.notes {
            let _ = writeln!(text, "{note}");
        }
        if self.advice.worst > self.question.loss_max {
            let _ = writeln!(
                text,
                "No pools keep the loss within {}: these lose least.",
                percent(self.question.loss_max)
            );
        }
        text.push_str(&self.curve());
        for (index, pool) in self.advice.pools.iter().enumerate() {
            let name = match self.advice.pools.len() {
                1 => "Guests that move among all hosts".to_owned(),
                _ => format!("Pool {}, {}", index + 1, self.members(pool)),
            };
            let _ = write!(text, "\n{name}:\n{}", self.pool(pool));
        }
        let _ = write!(text, "\n{}", self.fastest());
        text
    }

    /// What it costs, and whose prices these are.
    fn loss(&self) -> String {
        let Advice { worst, mean, .. } = self.advice;
        let prices = self.question.prices;
        let mut text = format!(
            "A guest that computes '{}' loses {} of its speed on the worst host, {} in the mean. Prices: {}.",
            self.mix,
            percent(*worst),
            percent(*mean),
            prices.origin
        );
        let settings = self.advice.pools.iter().flat_map(|pool| &pool.members);
        let highest = settings.map(|member| member.whole.tier).max();
        if let (Some(highest), Some(known)) = (highest, prices.highest())
            && highest > known
        {
            let _ = write!(
                text,
                " They know nothing above {}: hiding {} counts as free.",
                known.label(),
                highest.label()
            );
        }
        text
    }

    /// What other numbers of pools would lose.
    fn curve(&self) -> String {
        let curve = &self.advice.curve;
        if curve.len() < 2 {
            return String::new();
        }
        let most = curve
            .iter()
            .map(|own| own.worst)
            .fold(f64::MIN_POSITIVE, f64::max);
        let mut text = String::from("\nPools  worst host loses                          mean\n");
        let mut before = None;
        for Pools {
            members,
            worst,
            mean,
        } in curve
        {
            // Pools that gain nothing that shows are no choice.
            let shown = (percent(*worst), percent(*mean));
            let is_advised = members.len() == self.advice.pools.len();
            if before.replace(shown.clone()) == Some(shown) && !is_advised {
                continue;
            }
            let bar = "━".repeat((worst / most * BAR as f64).round() as usize);
            let _ = writeln!(
                text,
                "{:5}  {bar:BAR$} {:>7} {:>8}{}",
                members.len(),
                percent(*worst),
                percent(*mean),
                match is_advised {
                    true => "  advised",
                    false => "",
                }
            );
        }
        text
    }

    fn pool(&self, pool: &Pool) -> String {
        let mut text = format!("  -cpu {}\n", self.line(pool));
        match self.xml(pool) {
            Some((xml, unnamed)) => {
                for line in xml.lines() {
                    let _ = writeln!(text, "  {line}");
                }
                if !unnamed.is_empty() {
                    let _ = writeln!(
                        text,
                        "  {} has no name for {}, and leaves it as its model has it.",
                        self.map.origin,
                        listed(&unnamed)
                    );
                }
            }
            None => {
                let _ = writeln!(text, "  {} knows no model that fits.", self.map.origin);
            }
        }
        for member in &pool.members {
            let _ = writeln!(text, "  {}", self.member(pool, member));
        }
        if !pool.choice.removed.is_empty() {
            let _ = writeln!(
                text,
                "  Not every host offers {}: it is taken from the model.",
                listed(&pool.choice.removed)
            );
        }
        for warning in self.warnings(pool) {
            let _ = writeln!(text, "  {warning}");
        }
        text
    }

    /// What hosts lose, and why.
    fn member(&self, pool: &Pool, member: &Member) -> String {
        let names = self.names(&member.hosts);
        let loss = match member.loss {
            0.0 => "loses nothing of that".to_owned(),
            loss => format!("loses {}", percent(loss)),
        };
        let shown = Setting::of(&pool.choice.shown);
        let mut text = format!("{names} {loss}");
        if shown.tier < member.whole.tier {
            let _ = write!(
                text,
                ": {} becomes {}",
                member.whole.tier.label(),
                shown.tier.label()
            );
        }
        let (kept, hidden): (Vec<_>, Vec<_>) = member
            .hidden
            .names()
            .partition(|name| why_withheld(name).is_some());
        if !hidden.is_empty() {
            let _ = write!(
                text,
                "; hidden, since another host lacks it: {}",
                hidden.join(" ")
            );
        }
        if !kept.is_empty() {
            let _ = write!(text, "; hidden for safety: {}", kept.join(" "));
        }
        text + "."
    }

    fn warnings(&self, pool: &Pool) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(bits) = pool.physical_bits.filter(|bits| *bits > BITS) {
            all.push(format!(
                "Guests with more than 1 TiB of memory: add phys-bits={bits}, the least of these hosts."
            ));
        }
        if pool.has_many_clocks {
            all.push(
                "The hosts' clocks (TSC) differ: a guest moves only where the processor scales it."
                    .to_owned(),
            );
        }
        if pool.oldest.is_none() && self.question.emulated.is_none() {
            all.push(
                "No host says which QEMU it has: the newest model is taken for known there."
                    .to_owned(),
            );
        }
        all
    }

    /// Most speed, and what it costs in freedom.
    fn fastest(&self) -> String {
        let (line, xml) = match self.question.accelerator {
            Accelerator::Kvm => ("host", "<cpu mode='host-passthrough' migratable='on'/>"),
            Accelerator::Tcg => ("max", "<cpu mode='maximum'/>"),
        };
        let mut text = format!("Most speed, for guests that stay:\n  -cpu {line}\n  {xml}\n");
        text.push_str("  Such a guest moves only to hosts with the same processor, microcode, kernel and QEMU.\n");
        let withheld: Flags = (self.advice.pools.iter().flat_map(|pool| &pool.members))
            .fold(Flags::default(), |all, member| all.or(member.hidden));
        for name in withheld.names() {
            if let ("invtsc" | "vmx" | "svm" | "hle", Some(why)) = (name, why_withheld(name)) {
                let _ = writeln!(text, "  It has {name}: {why}.");
            }
        }
        text.push_str("\nWhat else keeps a guest from moving:\n");
        for obstacle in other_obstacles(self.question.accelerator) {
            let _ = writeln!(text, "  {obstacle}");
        }
        text
    }

    fn line(&self, pool: &Pool) -> String {
        pool.choice.qemu()
    }

    fn xml(&self, pool: &Pool) -> Option<(String, Flags)> {
        let (catalogue, accelerator) = (self.question.catalogue, self.question.accelerator);
        self.map.xml(catalogue, accelerator, &pool.choice)
    }

    fn members(&self, pool: &Pool) -> String {
        let hosts: Vec<_> = pool
            .members
            .iter()
            .flat_map(|own| own.hosts.iter().copied())
            .collect();
        format!("{} ({})", counted(hosts.len(), "host"), self.names(&hosts))
    }

    fn names(&self, hosts: &[usize]) -> String {
        let name = |&host: &usize| self.question.hosts[host].name.as_str();
        let shown: Vec<_> = hosts.iter().take(NAMES_MAX).map(name).collect();
        match hosts.len() - shown.len() {
            0 => shown.join(", "),
            more => format!("{} and {more} more", shown.join(", ")),
        }
    }

    /// All of it, every host by name.
    pub fn json(&self) -> String {
        let curve: Vec<Value> = (self.advice.curve.iter())
            .map(|own| json!({"pools": own.members.len(), "worst_loss": own.worst, "mean_loss": own.mean}))
            .collect();
        let pools: Vec<Value> = self
            .advice
            .pools
            .iter()
            .map(|pool| self.pool_json(pool))
            .collect();
        let all = json!({
            "models": self.question.catalogue.origin,
            "libvirt": self.map.origin,
            "accelerator": self.question.accelerator.name(),
            "prices": self.question.prices.origin,
            "mix": self.mix,
            "worst_loss": self.advice.worst,
            "mean_loss": self.advice.mean,
            "curve": curve,
            "pools": pools,
            "notes": self.notes,
        });
        format!("{all:#}\n")
    }

    fn pool_json(&self, pool: &Pool) -> Value {
        let names = |flags: &Flags| flags.names().collect::<Vec<_>>();
        let member = |member: &Member| {
            let hosts = member
                .hosts
                .iter()
                .map(|&host| &self.question.hosts[host].name);
            json!({
                "hosts": hosts.collect::<Vec<_>>(),
                "loss": member.loss,
                "hidden": names(&member.hidden),
            })
        };
        let (xml, unnamed) = self.xml(pool).unzip();
        json!({
            "vendor": pool.vendor.name(),
            "cpu": self.line(pool),
            "model": pool.choice.model.name,
            "extras": names(&pool.choice.extras),
            "removed": names(&pool.choice.removed),
            "shown": names(&pool.choice.shown),
            "libvirt_xml": xml,
            "libvirt_lacks": unnamed.as_ref().map(names),
            "physical_bits": pool.physical_bits,
            "members": pool.members.iter().map(member).collect::<Vec<_>>(),
            "warnings": self.warnings(pool),
        })
    }
}

fn listed(flags: &Flags) -> String {
    flags.names().collect::<Vec<_>>().join(", ")
}

fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.05 => "0%".to_owned(),
        percent if percent < 10.0 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    }
}
