//! The bar on stderr.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sys::plain::one_line;

use crate::console::Console;

/// Parts of a section's progress; more would not be seen.
const STEPS: u64 = 1000;

/// A bar for the section that runs. It moves only when the section says so: a
/// thread that ticks would take time from what is measured.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A bar that is drawn only where a person sees it.
    pub fn new(console: &Console) -> Self {
        let target = if console.shows_progress() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        let template = "{prefix} [{bar:30}] {percent:>3}% {elapsed} {wide_msg}";
        let style = ProgressStyle::with_template(template)
            .expect("the template names only keys that indicatif has");
        Self {
            bar: bar.with_style(style.progress_chars("=> ")),
        }
    }

    pub fn begin(&self, section: &str, seconds: f64) {
        self.bar.reset();
        self.bar
            .set_prefix(one_line(&format!("{section}, about {seconds:.0} s")));
        self.bar.set_message(String::new());
    }

    /// The section is `share` (0 to 1) done and does `now`.
    pub fn advance(&self, share: f64, now: &str) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of 0 to 1 of 1000"
        )]
        self.bar.set_position((share * STEPS as f64) as u64);
        self.bar.set_message(one_line(now));
    }

    /// Runs `act`, which writes to stderr, without tearing the bar.
    pub fn suspend(&self, act: impl FnOnce()) {
        self.bar.suspend(act);
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
