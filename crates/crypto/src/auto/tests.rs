//! The choice, and that a request gets the one who was chosen.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::*;
use crate::{Data, Operation, Slices, generate_key, process_slices};

struct Counting {
    name: &'static str,
    width: usize,
    inner: Arc<dyn Backend>,
    jobs: AtomicUsize,
}

impl Counting {
    fn new(name: &'static str, width: usize) -> Arc<Self> {
        Arc::new(Self {
            name,
            width,
            inner: crate::by_name("aws-lc").unwrap(),
            jobs: AtomicUsize::new(0),
        })
    }

    fn taken(&self) -> usize {
        self.jobs.swap(0, Ordering::Relaxed)
    }
}

impl Backend for Counting {
    fn name(&self) -> &'static str {
        self.name
    }
    fn version(&self) -> String {
        self.inner.version()
    }
    fn instructions(&self) -> String {
        self.inner.instructions()
    }
    fn supports(&self, kind: Kind) -> bool {
        kind.algorithm == CBC.algorithm && (self.width == 1 || kind == CBC)
    }
    fn width(&self, _kind: Kind) -> usize {
        self.width
    }
    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        self.inner.key(algorithm, material)
    }
    #[allow(unsafe_code, reason = "the trait's")]
    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        self.jobs.fetch_add(jobs.len(), Ordering::Relaxed);
        // SAFETY: forwarded from the caller.
        unsafe { self.inner.process(kind, jobs, statuses) };
    }
}

const CBC: Kind = Kind::new(Algorithm::Aes128Cbc, Operation::Encrypt);

fn measured(backend: &str, bytes: usize, jobs: usize, ns: f64) -> Measured {
    Measured {
        kind: CBC,
        bytes,
        jobs,
        backend: backend.to_owned(),
        ns,
    }
}

/// One stream is better alone and with small requests, the other in numbers.
fn calibration() -> Calibration {
    Calibration::from_measured(vec![
        measured("one", 4096, 1, 100.0),
        measured("many", 4096, 1, 300.0),
        measured("one", 4096, 12, 100.0),
        measured("many", 4096, 12, 20.0),
        measured("one", 64, 12, 10.0),
        measured("many", 64, 12, 9.9),
        measured("gone", 4096, 12, 1.0),
    ])
}

#[test]
fn requests_go_to_whom_the_calibration_names() {
    let (one, many) = (Counting::new("one", 1), Counting::new("many", 8));
    let auto = Auto::new(vec![one.clone(), many.clone()], calibration);
    assert_eq!(auto.width(CBC), 8);
    let key = auto
        .key(CBC.algorithm, &generate_key(CBC.algorithm))
        .unwrap();
    let process = |sizes: &[usize]| {
        let mut memory: Vec<Vec<u8>> = sizes.iter().map(|&bytes| vec![1; bytes]).collect();
        let jobs: Vec<_> = memory.iter_mut().map(|bytes| job(&*key, bytes)).collect();
        let mut statuses = vec![Status::Cancelled; jobs.len()];
        // SAFETY: the segments lie in `memory`, which nothing else touches.
        #[allow(unsafe_code, reason = "the trait's")]
        unsafe {
            auto.process(CBC, &jobs, &mut statuses);
        }
        assert!(statuses.iter().all(|status| *status == Status::Ok));
        (one.taken(), many.taken())
    };
    assert_eq!(process(&[4096]), (1, 0));
    assert_eq!(process(&[4096; 12]), (0, 12));
    // Not 5% faster, so that trust decides.
    assert_eq!(process(&[64; 12]), (12, 0));
    let mixed: Vec<_> = [[4096; 6], [64; 6], [4080; 6]].concat();
    assert_eq!(process(&mixed), (6, 12));
    // Nothing measured for one request of that size: the most trusted.
    assert_eq!(process(&[16]), (1, 0));
}

fn job<'k>(key: &'k dyn Key, bytes: &mut [u8]) -> Job<'k> {
    let both = crate::Segments::one(crate::Segment::new(bytes.as_mut_ptr(), bytes.len()));
    Job {
        key,
        source: both,
        destination: both,
        iv: [0; 16],
        aad: crate::Segment::EMPTY,
        tag: crate::Segment::EMPTY,
    }
}

#[test]
fn what_only_one_has_needs_no_measurement() {
    let (one, many) = (Counting::new("one", 1), Counting::new("many", 8));
    let auto = Auto::new(vec![one.clone(), many], calibration);
    let decrypt = Kind {
        operation: Operation::Decrypt,
        ..CBC
    };
    let hash = Kind::new(Algorithm::Sha256, Operation::Hash);
    assert!(auto.supports(decrypt) && !auto.supports(hash));
    let material = generate_key(Algorithm::Sha256);
    assert!(matches!(
        auto.key(Algorithm::Sha256, &material),
        Err(KeyError::Unsupported { .. })
    ));
    let key = auto
        .key(CBC.algorithm, &generate_key(CBC.algorithm))
        .unwrap();
    let mut text = [7; 32];
    let slices = Slices::plain(Data::InPlace(&mut text));
    assert_eq!(process_slices(&auto, &*key, decrypt, slices), Status::Ok);
    assert_eq!(one.taken(), 1);
}

#[test]
fn the_expected_choice_is_wide_only_in_numbers() {
    let candidates: Vec<Arc<dyn Backend>> = vec![Counting::new("one", 1), Counting::new("many", 8)];
    let expected = Calibration::expected(&candidates, &[CBC]).among(&candidates);
    assert_eq!(expected.choice(CBC, 4096, 1), Some(0));
    assert_eq!(expected.choice(CBC, 4096, 4), Some(1));
    let longer = Kind {
        algorithm: Algorithm::Aes192Cbc,
        ..CBC
    };
    assert_eq!(expected.choice(longer, 4096, 4), None, "never measured");
}

#[test]
fn a_calibration_measures_every_place_and_keeps_to_its_clock() {
    let candidates: Vec<Arc<dyn Backend>> = vec![Counting::new("one", 1), Counting::new("many", 8)];
    let clock = AtomicU64::new(0);
    // Every look costs a microsecond: a slice ends after a known count.
    let tick = || clock.fetch_add(1_000, Ordering::Relaxed);
    let kinds: Vec<_> = Kind::all().collect();
    let measured = calibrate(&candidates, &kinds, 1_000_000, tick);
    assert_eq!(
        measured.measured().len(),
        2 * grid::CELLS,
        "CBC encrypt alone is contested"
    );
    assert!(
        measured
            .measured()
            .iter()
            .all(|one| one.ns > 0.0 && one.ns.is_finite())
    );
    assert!(clock.into_inner() < 3_000_000);
    let here = measured.at(CBC, 4096, 12);
    assert_eq!(here.len(), 2);
    assert!(here[0].ns <= here[1].ns);
}

#[test]
fn a_key_of_no_candidate_is_unsupported() {
    let auto = Auto::new(vec![Counting::new("one", 1)], Calibration::default);
    let portable = crate::by_name("portable").unwrap();
    let material = generate_key(CBC.algorithm);
    let foreign = portable.key(CBC.algorithm, &material).unwrap();
    let mut text = [7; 32];
    let slices = Slices::plain(Data::InPlace(&mut text));
    let status = process_slices(&auto, &*foreign, CBC, slices);
    assert_eq!((status, text), (Status::Unsupported, [7; 32]));
}
