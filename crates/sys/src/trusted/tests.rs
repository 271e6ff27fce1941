#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

use proptest::prelude::*;

use super::*;
use crate::temporary::Folder;

/// A user who is neither root nor the one that runs tests as `nobody`.
const OTHER: u32 = 12_345;

fn place() -> Folder {
    Folder::new("lockgate-test-").unwrap()
}

fn set(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn faulty(path: &Path) -> PathBuf {
    match check(path).unwrap_err() {
        Untrusted::Owner { part, .. } | Untrusted::Writable { part, .. } => part,
        error @ Untrusted::Unseen { .. } => panic!("{error}"),
    }
}

#[test]
fn what_only_we_can_write_is_trusted_by_its_real_path() {
    let place = place();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    symlink("../x/file", place.path().join("link")).unwrap();
    fs::create_dir(place.path().join("x")).unwrap();
    fs::rename(&file, place.path().join("x/file")).unwrap();
    let real = fs::canonicalize(place.path()).unwrap().join("x/file");
    fs::create_dir(place.path().join("y")).unwrap();
    symlink("../x/./file", place.path().join("y/link")).unwrap();
    assert_eq!(check(&place.path().join("y/link")).unwrap(), real);
    assert_eq!(check(Path::new("/")).unwrap(), Path::new("/"));
    let none = check(&place.path().join("none")).unwrap_err();
    assert!(none.is_missing() && !none.is_foreign(), "{none}");
    assert!(check(Path::new("")).is_err());
}

#[test]
fn a_file_or_a_folder_above_that_others_may_write_to_is_refused() {
    let place = place();
    let folder = fs::canonicalize(place.path()).unwrap().join("folder");
    let file = folder.join("file");
    fs::create_dir(&folder).unwrap();
    fs::write(&file, "").unwrap();
    for (path, mode) in [(&file, 0o646), (&folder, 0o757)] {
        let before = fs::metadata(path).unwrap().permissions().mode();
        set(path, mode);
        assert_eq!(&faulty(&file), path);
        let said = check(&file).unwrap_err().to_string();
        assert!(said.contains(&format!("`chmod go-w {}`", path.display())));
        set(path, before);
        check(&file).unwrap();
    }
    // A sticky one is passed through, and no end.
    set(&folder, 0o1757);
    check(&file).unwrap();
    assert_eq!(faulty(&folder), folder);
    check_shared(&folder).unwrap();
}

#[test]
fn a_parent_that_a_group_of_others_may_write_to_is_refused() {
    if !testing::is_root() {
        return;
    }
    let place = place();
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    set(place.path(), 0o770);
    check(&file).expect("root's own group is root's");
    chown(place.path(), None, Some(OTHER)).unwrap();
    assert_eq!(faulty(&file), place.path());
    set(place.path(), 0o750);
    check(&file).unwrap();
}

#[test]
fn a_file_or_a_folder_above_that_is_another_users_is_refused() {
    if !testing::is_root() {
        return;
    }
    let place = place();
    let file = place.path().join("above/file");
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, "").unwrap();
    for path in [&file, file.parent().unwrap()] {
        chown(path, Some(OTHER), None).unwrap();
        assert_eq!(faulty(&file), path);
        let said = check(&file).unwrap_err().to_string();
        let remedy =
            format!("belongs to uid {OTHER}, neither root nor this user; run as uid {OTHER}");
        assert!(said.contains(&remedy), "{said}");
        // To its owner it is theirs.
        walk(&file, OTHER, Place::End).unwrap();
        chown(path, Some(0), None).unwrap();
    }
    check(&file).unwrap();
}

#[test]
fn a_chain_of_links_is_followed_link_by_link() {
    if !testing::is_root() {
        return;
    }
    let place = place();
    let at = |name: &str| place.path().join(name);
    fs::write(at("file"), "").unwrap();
    fs::create_dir(at("foreign")).unwrap();
    symlink("foreign/second", at("first")).unwrap();
    symlink("../file", at("foreign/second")).unwrap();
    check(&at("first")).unwrap();
    chown(at("foreign"), Some(OTHER), None).unwrap();
    assert_eq!(faulty(&at("first")), at("foreign"));
    chown(at("foreign"), Some(0), None).unwrap();
    lchown(at("foreign/second"), Some(OTHER), None).unwrap();
    assert_eq!(faulty(&at("first")), at("foreign/second"));
    symlink("round", at("round")).unwrap();
    assert!(!check(&at("round")).unwrap_err().is_foreign());
}

#[derive(Clone, Debug)]
struct Node {
    above: usize,
    kind: Kind,
    owner: u32,
    group: u32,
    mode: u32,
}

#[derive(Clone, Debug)]
enum Kind {
    Folder,
    File,
    Link(bool, Vec<Step>),
}

type Step = Option<usize>;

const NODES: usize = 10;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![6 => (1..NODES).prop_map(Some), 1 => Just(None)];
    prop::collection::vec(step, 1..5)
}

fn node() -> impl Strategy<Value = Node> {
    let kind = prop_oneof![
        4 => Just(Kind::Folder),
        1 => Just(Kind::File),
        3 => (any::<bool>(), steps()).prop_map(|(absolute, steps)| Kind::Link(absolute, steps)),
    ];
    let owner = prop_oneof![14 => Just(0), 2 => Just(1), 1 => Just(OTHER)];
    let group = prop_oneof![Just(0), Just(OTHER)];
    let mode = prop_oneof![
        12 => Just(0o755), 1 => Just(0o775), 1 => Just(0o777), 1 => Just(0o1777), 1 => Just(0o700)
    ];
    (0..NODES, kind, owner, group, mode).prop_map(|(above, kind, owner, group, mode)| Node {
        above,
        kind,
        owner,
        group,
        mode,
    })
}

fn tree() -> impl Strategy<Value = Vec<Node>> {
    prop::collection::vec(node(), NODES).prop_map(|mut nodes| {
        nodes[0].kind = Kind::Folder;
        for index in 1..NODES {
            let mut above = nodes[index].above % index;
            while !matches!(nodes[above].kind, Kind::Folder) {
                above = nodes[above].above;
            }
            nodes[index].above = above;
        }
        nodes[0].above = 0;
        for index in 1..NODES {
            if let Kind::Link(absolute, steps) = nodes[index].kind.clone() {
                let from = if absolute { 0 } else { nodes[index].above };
                nodes[index].kind = Kind::Link(absolute, likely(&nodes, from, &steps));
            }
        }
        nodes
    })
}

fn likely(nodes: &[Node], from: usize, steps: &[Step]) -> Vec<Step> {
    let mut at = Some(from);
    let likely = |&step: &Step| {
        let (Some(here), Some(number)) = (at, step) else {
            return step;
        };
        let inside = |&index: &usize| nodes[index].above == here;
        let inside: Vec<usize> = (1..NODES).filter(inside).collect();
        let step = inside.get(number % (inside.len() + 1)).copied();
        let step = step.or_else(|| inside.first().copied()).or(Some(number));
        at = model(nodes, here, &[step], &mut Vec::new(), &mut 0).flatten();
        step
    };
    steps.iter().map(likely).collect()
}

fn path_of(nodes: &[Node], root: &Path, index: usize) -> PathBuf {
    if index == 0 {
        return root.to_owned();
    }
    path_of(nodes, root, nodes[index].above).join(index.to_string())
}

fn written(steps: &[Step]) -> PathBuf {
    let names = steps
        .iter()
        .map(|step| step.map_or("..".to_owned(), |index| index.to_string()));
    names.collect()
}

fn plant(nodes: &[Node], root: &Path) {
    for (index, node) in nodes.iter().enumerate() {
        let path = path_of(nodes, root, index);
        match &node.kind {
            Kind::Folder if index > 0 => fs::create_dir(&path).unwrap(),
            Kind::Folder => {}
            Kind::File => fs::write(&path, "").unwrap(),
            Kind::Link(true, steps) => symlink(root.join(written(steps)), &path).unwrap(),
            Kind::Link(false, steps) => symlink(written(steps), &path).unwrap(),
        }
        lchown(&path, Some(node.owner), Some(node.group)).unwrap();
        if !matches!(node.kind, Kind::Link(..)) {
            set(&path, node.mode);
        }
    }
}

/// Where the steps lead from a folder, and every node that is looked at on the way;
/// no end where nothing exists. `None` above the tree, or after too many links.
fn model(
    nodes: &[Node],
    from: usize,
    steps: &[Step],
    seen: &mut Vec<usize>,
    links: &mut usize,
) -> Option<Option<usize>> {
    let mut at = from;
    for step in steps {
        let Some(index) = *step else {
            if at == 0 {
                return None;
            }
            at = nodes[at].above;
            continue;
        };
        let is_there = nodes[index].above == at && matches!(nodes[at].kind, Kind::Folder);
        if !is_there {
            return Some(None);
        }
        seen.push(index);
        at = index;
        if let Kind::Link(absolute, target) = &nodes[index].kind {
            *links += 1;
            if *links > LINKS_MAX {
                return None;
            }
            let from = if *absolute { 0 } else { nodes[index].above };
            if *absolute {
                seen.push(0);
            }
            match model(nodes, from, target, seen, links)? {
                Some(end) => at = end,
                None => return Some(None),
            }
        }
    }
    Some(Some(at))
}

fn is_sound(node: &Node, us: u32, is_end: bool) -> bool {
    let is_owned = [0, us].contains(&node.owner);
    let bits = if node.group == 0 { 0o002 } else { 0o022 };
    let is_sticky = node.mode & 0o1000 != 0 && matches!(node.kind, Kind::Folder);
    let is_link = matches!(node.kind, Kind::Link(..));
    is_owned && (is_link || node.mode & bits == 0 || is_sticky && !is_end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(400, 20_000)))]

    #[test]
    fn the_walk_trusts_what_the_model_trusts(
        nodes in tree(),
        steps in steps(),
        us in prop_oneof![Just(0), Just(1)],
    ) {
        if !is_root() {
            return Ok(());
        }
        let steps = likely(&nodes, 0, &steps);
        let mut seen = vec![0];
        let led = model(&nodes, 0, &steps, &mut seen, &mut 0);
        prop_assume!(led.is_some());
        let end = led.flatten();
        let place = place();
        let root = fs::canonicalize(place.path()).unwrap();
        plant(&nodes, &root);
        let found = walk(&root.join(written(&steps)), us, Place::End);
        let way_is_sound = seen.iter().all(|&index| is_sound(&nodes[index], us, false));
        match end {
            _ if !way_is_sound => prop_assert!(found.unwrap_err().is_foreign()),
            None => prop_assert!(!found.unwrap_err().is_foreign()),
            Some(end) if is_sound(&nodes[end], us, true) => {
                prop_assert_eq!(found.unwrap(), path_of(&nodes, &root, end));
            }
            Some(_) => prop_assert!(found.unwrap_err().is_foreign()),
        }
    }
}

fn is_root() -> bool {
    static ROOT: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ROOT.get_or_init(testing::is_root)
}
