//! What a dead owner's journal says is to be removed, as root.

use std::path::Path;

use net::Entry;
use net::journal::left_in;

/// Reads a journal's text; whatever would be undone is one of Lockgate's own.
pub fn journal(data: &[u8]) {
    let left = left_in(data);
    for entry in left.entries.iter().filter(|entry| entry.is_ours()) {
        assert_is_ours(entry);
    }
    let lines = data.split(|&byte| byte == b'\n').count();
    assert!(
        left.entries.len() + left.damaged.len() <= lines,
        "a line says one thing"
    );
    for (line, error) in left.damaged {
        assert!((1..=lines).contains(&line) && !error.to_string().is_empty());
    }
}

fn assert_is_ours(entry: &Entry) {
    match entry {
        Entry::Namespace { name } | Entry::Container { name, .. } => {
            assert!(name.starts_with("lockgate-") && !name.contains(['/', '.', '\0']));
        }
        Entry::Device {
            name,
            namespace,
            settings,
            ..
        } => {
            assert!(namespace.starts_with("lockgate-") && !namespace.contains(['/', '.', '\0']));
            assert!(!name.contains('/'));
            let files = settings.changes.before.iter().chain(&settings.sysctls);
            files.for_each(|(file, value)| assert_is_setting(file, value));
            assert!(
                settings
                    .threads
                    .iter()
                    .all(|thread| thread.cpus.len() <= 256)
            );
        }
        Entry::Controllers { path, changes } => {
            assert!(path.starts_with("/sys/fs/cgroup") && !path.iter().any(|part| part == ".."));
            assert!(path.ends_with("cgroup.subtree_control"));
            let set = changes.set.keys();
            set.for_each(|controller| assert_is_setting(controller, ""));
        }
        Entry::Kept { said } => assert!(said.len() <= 4096 && !said.contains(char::is_control)),
        Entry::Link { name } => {
            assert!(name.starts_with("lg") && !name.contains(['/', '.', '\0']));
        }
        Entry::Cgroup { path } => {
            assert_is_plain(path);
            assert!(path.starts_with("/sys/fs/cgroup"));
        }
        Entry::Folder { path } | Entry::Mount { path } => assert_is_plain(path),
        Entry::Process { pid, .. } => assert!(*pid > 1),
    }
}

fn assert_is_setting(file: &str, value: &str) {
    assert!(file.len() <= 128 && value.len() <= 128 && !file.starts_with('/'));
    assert!(!file.split('/').any(|part| part == ".."), "{file}");
    assert!(!value.contains('\n'), "{value}");
}

fn assert_is_plain(path: &Path) {
    let text = path.to_string_lossy();
    assert!(
        text.starts_with('/') && text.contains("/lockgate-"),
        "{text}"
    );
    assert!(!path.iter().any(|part| part == ".."), "{text}");
}
