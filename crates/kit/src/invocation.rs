//! The command that runs a section again.

use serde::Serialize;

use probe::tier;

/// `lockgate run NAME`; where the table is not the default one, a scenario
/// with the keys that differ is written first.
pub fn command<T: Serialize + Default>(section: &str, table: &T) -> String {
    let program = tier::program();
    let differing = differing(table);
    if differing.is_empty() {
        return format!("{program} run {section}");
    }
    let keys: Vec<_> = differing
        .iter()
        .map(|(key, value)| format!("{key} = {value}\\n"))
        .collect();
    format!(
        "printf 'schema = 1\\n[{section}]\\n{}' > {section}.toml && {program} run {section}.toml",
        keys.concat()
    )
}

fn differing<T: Serialize + Default>(table: &T) -> toml::Table {
    let keys = |table: &T| toml::Table::try_from(table).unwrap_or_default();
    let usual = keys(&T::default());
    keys(table)
        .into_iter()
        .filter(|(key, value)| usual.get(key) != Some(value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Serialize)]
    struct Table {
        depth: usize,
        placements: Vec<String>,
    }

    #[test]
    fn says_only_what_differs() {
        let mut table = Table::default();
        assert_eq!(command("vcm-x", &table), "lockgate run vcm-x");
        table.placements = vec!["shared".to_owned()];
        assert_eq!(
            command("vcm-x", &table),
            r#"printf 'schema = 1\n[vcm-x]\nplacements = ["shared"]\n' > vcm-x.toml && lockgate run vcm-x.toml"#
        );
    }
}
