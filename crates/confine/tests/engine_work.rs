//! A confined worker does all that the back-ends can do: libraries were loaded before.

use std::process::Command;
use std::sync::Arc;

use crypto::{Algorithm, Backend, Kind, RawLoop, Workload};
use lockgate_confine::{Calls, Capabilities, Confinement, Files, User};
use sys::role::Role;

const WHAT: &str = "LOCKGATE_TEST_BACK_END";

#[test]
fn a_confined_worker_does_all_algorithms_of_every_back_end() {
    if !testing::is_root() {
        return;
    }
    for backend in crypto::backends() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "engine_work::child", "--nocapture"])
            .env(WHAT, backend.name())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}{told}", backend.name());
        let kinds = kinds(&*backend).len();
        let words = format!("{} did {kinds} kinds", backend.name());
        assert!(kinds >= 10 && said.contains(&words), "{said}");
    }
}

fn kinds(backend: &dyn Backend) -> Vec<Kind> {
    Kind::all()
        .filter(|kind| backend.supports(*kind) && Workload::check(*kind, 4096).is_ok())
        .collect()
}

/// Not a test of its own: what the one above starts.
#[test]
fn child() {
    let Ok(name) = std::env::var(WHAT) else {
        return;
    };
    let backend = crypto::by_name(&name).unwrap();
    let kinds = kinds(&*backend);
    let mut keys: Vec<(Algorithm, Vec<u8>)> = Vec::new();
    let work: Vec<Workload> = kinds
        .iter()
        .map(|kind| {
            let algorithm = kind.algorithm;
            if keys.last().is_none_or(|last| last.0 != algorithm) {
                let key = crypto::generate_key(algorithm);
                keys.push((algorithm, key.expose().to_vec()));
            }
            let mut key = keys.last().unwrap().1.clone();
            let key = crypto::KeyMaterial::take(&mut key);
            Workload::with_key(&backend, *kind, 4096, key).unwrap()
        })
        .collect();
    let confinement = Confinement {
        user: Some(User::of_service()),
        keep: Capabilities::empty(),
        files: Some(Files::default()),
        has_network: false,
        files_max: None,
        calls: Calls::Roles,
    };
    let confined = confinement.enter_process().unwrap();
    let own = Arc::clone(&backend);
    let thread = std::thread::spawn(move || {
        confined.enter_thread(Role::Worker).unwrap();
        for one in &work {
            // Keys are made anew, and freed.
            let mut pass = RawLoop::new(Arc::clone(&own), one, 4).unwrap();
            pass.pass().unwrap();
        }
    });
    thread.join().unwrap();
    println!("{name} did {} kinds", kinds.len());
    // SAFETY: it ends the process; the harness's other threads have nothing to finish.
    unsafe { libc::_exit(0) };
}
