//! What was run, and what was not and why.

use std::collections::BTreeMap;

#[derive(Debug)]
pub struct Tally {
    source: String,
    run: usize,
    left_out: BTreeMap<String, usize>,
}

impl Tally {
    pub fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            run: 0,
            left_out: BTreeMap::new(),
        }
    }

    pub fn runs(&mut self) {
        self.run += 1;
    }

    pub fn leaves_out(&mut self, why: impl Into<String>) {
        *self.left_out.entry(why.into()).or_default() += 1;
    }

    /// Prints both counts, and holds them to what the source is known to have.
    ///
    /// # Panics
    /// When they are others: a vector was skipped that should not be.
    pub fn settle(self, run: usize, left_out: usize) {
        let total: usize = self.left_out.values().sum();
        println!("{}: {} run, {total} left out", self.source, self.run);
        for (why, count) in &self.left_out {
            println!("    {count}: {why}");
        }
        assert_eq!((self.run, total), (run, left_out), "{}", self.source);
    }
}
