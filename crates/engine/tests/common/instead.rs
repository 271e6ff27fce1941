//! A back-end whose work is done otherwise.

use std::sync::Arc;

use crypto::{Algorithm, Backend, Between, Job, Key, KeyError, KeyMaterial, Kind, Status};

type Held = Box<dyn Fn(Box<dyn Key>) -> Box<dyn Key> + Send + Sync>;

/// Behaves as another, mostly AWS-LC, except for `process`, which also sees each piece, then without a
/// status, and for what holds its keys.
pub struct Instead<F> {
    inner: Arc<dyn Backend>,
    process: F,
    held: Held,
}

impl<F> Instead<F>
where
    F: Fn(&dyn Backend, Kind, &[Job<'_>], &mut [Status]) + Send + Sync + 'static,
{
    pub fn of(inner: Arc<dyn Backend>, process: F) -> Arc<dyn Backend> {
        let held = Box::new(|key| key);
        Arc::new(Self {
            inner,
            process,
            held,
        })
    }

    pub fn of_aws_lc(process: F) -> Arc<dyn Backend> {
        Self::with_keys_held(|key| key, process)
    }

    pub fn with_keys_held(
        held: impl Fn(Box<dyn Key>) -> Box<dyn Key> + Send + Sync + 'static,
        process: F,
    ) -> Arc<dyn Backend> {
        Arc::new(Self {
            inner: crypto::by_name("aws-lc").unwrap(),
            process,
            held: Box::new(held),
        })
    }
}

impl<F> Backend for Instead<F>
where
    F: Fn(&dyn Backend, Kind, &[Job<'_>], &mut [Status]) + Send + Sync,
{
    fn name(&self) -> &'static str {
        "instead"
    }

    fn version(&self) -> String {
        self.inner.version()
    }

    fn instructions(&self) -> String {
        self.inner.instructions()
    }

    fn supports(&self, kind: Kind) -> bool {
        self.inner.supports(kind)
    }

    fn width(&self, kind: Kind) -> usize {
        self.inner.width(kind)
    }

    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        self.inner.key(algorithm, material).map(&self.held)
    }

    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        (self.process)(&*self.inner, kind, jobs, statuses);
    }

    fn continues(&self, kind: Kind) -> bool {
        self.inner.continues(kind)
    }

    unsafe fn process_piece(
        &self,
        kind: Kind,
        job: &Job<'_>,
        between: &mut Between,
        is_last: bool,
    ) -> Status {
        (self.process)(&*self.inner, kind, std::slice::from_ref(job), &mut []);
        // SAFETY: forwarded from the caller.
        unsafe { self.inner.process_piece(kind, job, between, is_last) }
    }
}
