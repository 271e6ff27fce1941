//! How a section measures.
#![forbid(unsafe_code)]

pub mod apart;
pub mod closing;
pub mod config;
pub mod controllers;
pub mod crossing;
pub mod derived;
pub mod drawing;
pub mod evidence;
pub mod experiment;
pub mod fairness;
pub mod guest;
pub mod headline;
pub mod host;
pub mod judged;
pub mod load;
pub mod metric;
pub mod observe;
pub mod openssl;
pub mod place;
pub mod places;
pub mod plan;
pub mod prelude;
pub mod profile;
pub mod ratio;
pub mod rehearsal;
pub mod rounds;
pub mod routers;
pub mod section;
pub mod series;
pub mod spot;
pub mod stopping;
pub mod subject;
pub mod targets;
pub mod testing;
pub mod tiers;
pub mod told;
pub mod transfers;
pub mod view;
pub mod words;

pub use config::ConfigError;
