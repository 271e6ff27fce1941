//! The vectors of one source: those that are run, and those that are not and why.

use std::collections::BTreeMap;

use super::Case;
use super::run::run;

pub struct Suite {
    source: String,
    run: usize,
    cases: Vec<Case>,
    left_out: BTreeMap<String, usize>,
}

impl Suite {
    pub fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            run: 0,
            cases: Vec::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// Adds one vector, which may be several cases.
    pub fn add(&mut self, cases: impl IntoIterator<Item = Case>) {
        self.run += 1;
        self.cases.extend(cases);
    }

    pub fn leaves_out(&mut self, why: impl Into<String>) {
        *self.left_out.entry(why.into()).or_default() += 1;
    }

    /// What fits; the rest is left out.
    pub fn fitting<T: Clone>(&mut self, fit: &Result<T, String>) -> Option<T> {
        fit.clone().map_err(|why| self.leaves_out(why)).ok()
    }

    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Runs all on each back-end that has their kinds, once both counts are those that
    /// the source is known to have.
    ///
    /// # Panics
    /// When the counts are others (a vector was skipped that should not be), or a case
    /// fails.
    pub fn finish(self, run_count: usize, left_out: usize) {
        let total: usize = self.left_out.values().sum();
        println!("{}: {} run, {total} left out", self.source, self.run);
        for (why, count) in &self.left_out {
            println!("    {count}: {why}");
        }
        assert_eq!((self.run, total), (run_count, left_out), "{}", self.source);
        run(&self.cases);
    }
}
