//! `router-bgp`: two routers, of which one learns a large table from the other by real
//! BGP, and frames that pass both while the table loads, flaps and is withdrawn.
//!
//! A load happens once: its phases follow each other, and no pair of arms is measured
//! side by side. So this is no experiment of the kit, and claims no ratio.

mod bird;
mod phases;
mod told;

use std::time::Duration;

use kit::ConfigError;
use kit::config::keys;
use trial::{Job, Plan, PlanError, Probe, Section};

pub use phases::Path;

pub const NAME: &str = "router-bgp";

/// The routes that a table may have: all /28 networks of 10.0.0.0/8.
const ROUTES_RANGE: std::ops::RangeInclusive<u64> = 1_000..=1 << 20;
const ROUTES: u64 = 1_000_000;
/// Seconds of one path with a million routes: loading, withdrawing, and what is between.
const PATH_S: f64 = 45.0;
const PATH_LEAST_S: f64 = 15.0;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    pub routes: u64,
    pub paths: Vec<Path>,
}

/// Reads the table `[router-bgp]`: `routes` and `paths`.
///
/// # Errors
/// [`ConfigError`] names the key and the limit.
pub fn parse(mut table: toml::Table) -> Result<Box<dyn Section>, ConfigError> {
    // Nothing here is random.
    table.remove("seed");
    let mut config = Config {
        routes: ROUTES,
        paths: vec![Path::Kernel, Path::Xdp],
    };
    if let Some(value) = table.remove("routes") {
        let routes = value
            .as_integer()
            .and_then(|count| u64::try_from(count).ok());
        config.routes = routes
            .filter(|count| ROUTES_RANGE.contains(count))
            .ok_or_else(|| {
                ConfigError::value(
                    "routes",
                    format!(
                        "{value}: {} to {} are possible",
                        ROUTES_RANGE.start(),
                        ROUTES_RANGE.end()
                    ),
                )
            })?;
    }
    if let Some(value) = table.remove("paths") {
        let names = value.as_array().into_iter().flatten();
        let paths: Option<Vec<Path>> = names
            .map(|name| Path::of(name.as_str().unwrap_or_default()))
            .collect();
        config.paths = paths.filter(|paths| !paths.is_empty()).ok_or_else(|| {
            ConfigError::value(
                "paths",
                format!("{value}: a list of \"kernel\" and \"xdp\""),
            )
        })?;
    }
    if let Some(key) = table.keys().next() {
        return Err(keys::unknown(key, Vec::new()));
    }
    Ok(Box::new(RouterBgp { config }))
}

struct RouterBgp {
    config: Config,
}

impl Config {
    /// Of one path.
    fn seconds(&self) -> f64 {
        let share = self.routes as f64 / ROUTES as f64;
        PATH_LEAST_S + (PATH_S - PATH_LEAST_S) * share
    }

    fn command(&self) -> String {
        format!("lockgate run {NAME}")
    }
}

impl Section for RouterBgp {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Routing while a table comes by BGP"
    }

    fn command(&self) -> String {
        self.config.command()
    }

    fn resolved(&self) -> serde_json::Value {
        let paths: Vec<_> = self.config.paths.iter().map(|path| path.name()).collect();
        serde_json::json!({ "routes": self.config.routes, "paths": paths })
    }

    fn appetite(&self) -> (Duration, Duration) {
        let all = self.config.seconds() * self.config.paths.len() as f64;
        let all = Duration::from_secs_f64(all);
        (all, all)
    }

    fn plan(&self, probe: &Probe, _: Duration) -> Result<Plan, PlanError> {
        kit::routers::ground::check(probe)?;
        bird::needs()?;
        let config = self.config.clone();
        Ok(Plan {
            seconds: self.appetite().0.as_secs_f64(),
            steps: vec![
                format!(
                    "{} routes by BGP from one router to the other: loaded, a hundredth of them taken and given each 200 ms, all withdrawn",
                    config.routes
                ),
                "frames pass both routers meanwhile, at half of what they carry".to_owned(),
            ],
            privileges: vec![kit::routers::ground::PRIVILEGES.to_owned()],
            creates: vec![kit::routers::ground::CREATES.to_owned()],
            job: Job::new(move |sink| told::run(&config, sink)),
            ..Plan::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<serde_json::Value, String> {
        let section = parse(text.parse().unwrap()).map_err(|error| error.to_string())?;
        Ok(section.resolved())
    }

    #[test]
    fn a_table_is_read_or_refused_with_its_value() {
        let all = read("").unwrap();
        assert_eq!(all["routes"], 1_000_000);
        assert_eq!(all["paths"][1], "xdp");
        assert_eq!(
            read("routes = 5000\npaths = [\"xdp\"]").unwrap()["routes"],
            5000
        );
        for (text, says) in [
            ("routes = 999", "999: 1000 to 1048576"),
            ("routes = \"many\"", "many"),
            ("paths = [\"dpdk\"]", "dpdk"),
            ("paths = []", "a list of"),
            ("peers = 2", "peers"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
