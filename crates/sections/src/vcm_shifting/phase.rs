//! A part of a course with a steady load.

use kit::config::value::Value;
use kit::prelude::{Bytes, Count};
use kit::words::size;
use toml::Value as Toml;

const FIELDS: [&str; 3] = ["block_bytes", "depth", "tenants"];

/// So many tenants, each with this many requests in flight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    pub block_bytes: usize,
    pub depth: usize,
    pub tenants: usize,
}

impl Phase {
    /// In words: `4 KiB × 16, 2 tenants`.
    pub fn label(&self) -> String {
        let tenants = match self.tenants {
            1 => String::new(),
            many => format!(", {many} tenants"),
        };
        format!("{} × {}{tenants}", size(self.block_bytes), self.depth)
    }
}

impl From<&str> for Phase {
    /// # Panics
    /// Where it is none: for defaults.
    fn from(text: &str) -> Self {
        Self::parse(&text.into()).expect("a default is allowed")
    }
}

impl Value for Phase {
    /// Either form has every field, and nothing else.
    fn parse(value: &Toml) -> Result<Self, String> {
        let number = |text: &str| text.parse().map_or_else(|_| text.into(), Toml::Integer);
        let fields: Vec<Toml> = match value {
            Toml::Table(table) if table.len() == FIELDS.len() => {
                let field = |name| table.get(name).cloned();
                FIELDS.into_iter().filter_map(field).collect()
            }
            Toml::String(text) => text.split('x').map(number).collect(),
            _ => Vec::new(),
        };
        let [block_bytes, depth, tenants] = &fields[..] else {
            return Err(format!("{value} is no phase; {}", Self::allowed()));
        };
        // A tenant is a thread with memory of its own.
        Ok(Self {
            block_bytes: Bytes::<1, { 1 << 20 }>::parse(block_bytes)?.get(),
            depth: Count::<1, 1024>::parse(depth)?.get(),
            tenants: Count::<1, 16>::parse(tenants)?.get(),
        })
    }

    fn read(text: &str) -> Toml {
        Toml::from(text)
    }

    /// As flags have it: a table has no place on a command line.
    fn written(&self) -> Toml {
        let Self {
            block_bytes,
            depth,
            tenants,
        } = self;
        Toml::String(format!("{block_bytes}x{depth}x{tenants}"))
    }

    fn allowed() -> String {
        "BYTESxDEPTHxTENANTS, as 4KiBx16x2, or { block_bytes, depth, tenants }".to_owned()
    }
}
