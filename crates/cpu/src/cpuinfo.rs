//! `/proc/cpuinfo`: what the kernel says about the processor.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    fields: BTreeMap<String, String>,
}

impl CpuInfo {
    /// Reads the first block; unknown or malformed lines are skipped, so any text
    /// gives a value.
    pub fn parse(text: &str) -> Self {
        let block = text.lines().skip_while(|line| line.trim().is_empty());
        let fields = block
            .take_while(|line| !line.trim().is_empty())
            .filter_map(|line| line.split_once(':'))
            .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
            .collect();
        Self { fields }
    }

    /// A field's text, e.g. `microcode`; `None` where empty.
    pub fn field(&self, key: &str) -> Option<&str> {
        self.fields
            .get(key)
            .map(String::as_str)
            .filter(|value| !value.is_empty())
    }

    /// A field as a number, decimal or after `0x` hexadecimal.
    pub fn number(&self, key: &str) -> Option<u32> {
        let text = self.field(key)?;
        match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    }

    /// The flags (`flags` on x86, `Features` on ARM); empty where not stated.
    pub fn flags(&self) -> BTreeSet<&str> {
        let list = self
            .field("flags")
            .or_else(|| self.field("Features"))
            .unwrap_or_default();
        list.split_whitespace().collect()
    }

    pub fn is_arm(&self) -> bool {
        self.field("CPU implementer").is_some()
    }
}
