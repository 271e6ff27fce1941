//! A virtual function as a controller sees it: its lanes together.

use std::sync::Arc;

use policy::{Counters, Settings};

use super::shared::Function;
use crate::pool::Control;
use crate::watch::{Observed, Watch};

struct AllLanes<R> {
    function: Arc<Function<R>>,
    controls: Arc<[Arc<Control<R>>]>,
}

impl<R: Copy + Send> Observed for AllLanes<R> {
    fn settings(&self) -> Settings {
        self.function.state().settings
    }

    fn set(&self, settings: Settings) {
        let mut state = self.function.state();
        if state.settings == settings {
            return;
        }
        state.settings = settings;
        for member in &state.members {
            member.shared.set_settings(settings);
            self.controls[member.worker].call_for(member.shared.slot);
        }
    }

    fn counters(&self) -> Counters {
        let workers: Vec<usize> = {
            let state = self.function.state();
            state.members.iter().map(|member| member.worker).collect()
        };
        let of = |(worker, control): (usize, &Arc<Control<R>>)| {
            let busy_ns = || control.busy_ns();
            workers.contains(&worker).then(busy_ns).unwrap_or(0)
        };
        Counters {
            busy_ns: self.controls.iter().enumerate().map(of).sum(),
            ..self.function.totals()
        }
    }

    fn held_alone(&self) -> u64 {
        self.function.held_alone()
    }
}

pub(crate) fn watch<R: Copy + Send + 'static>(
    function: Arc<Function<R>>,
    controls: Arc<[Arc<Control<R>>]>,
) -> Watch {
    Watch::of(AllLanes { function, controls })
}
