//! The command line as it was typed, so that it can be typed again.

pub fn this() -> String {
    let arguments = std::env::args_os().skip(1);
    let quoted = arguments.map(|argument| quote(&argument.to_string_lossy()));
    ["lockgate".to_owned()]
        .into_iter()
        .chain(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

/// `argument` as a POSIX shell reads it back.
fn quote(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        return argument.to_owned();
    }
    format!("'{}'", argument.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn arguments_are_quoted_only_where_a_shell_needs_it() {
        assert_eq!(quote("--size=64,16k"), "--size=64,16k");
        assert_eq!(quote("my runs"), "'my runs'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
    }
}
