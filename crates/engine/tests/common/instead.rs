//! A back-end whose work is done otherwise.

use std::sync::Arc;

use crypto::{Algorithm, Backend, Between, Job, Key, KeyError, KeyMaterial, Kind, Status};

/// Behaves as AWS-LC except for `process`, which also sees each piece, then without a
/// status.
pub struct Instead<F>(Arc<dyn Backend>, F);

impl<F> Instead<F>
where
    F: Fn(&dyn Backend, Kind, &[Job<'_>], &mut [Status]) + Send + Sync + 'static,
{
    pub fn of_aws_lc(process: F) -> Arc<dyn Backend> {
        Arc::new(Self(crypto::by_name("aws-lc").unwrap(), process))
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
        self.0.version()
    }

    fn instructions(&self) -> String {
        self.0.instructions()
    }

    fn supports(&self, kind: Kind) -> bool {
        self.0.supports(kind)
    }

    fn width(&self, kind: Kind) -> usize {
        self.0.width(kind)
    }

    fn key(&self, algorithm: Algorithm, material: &KeyMaterial) -> Result<Box<dyn Key>, KeyError> {
        self.0.key(algorithm, material)
    }

    unsafe fn process(&self, kind: Kind, jobs: &[Job<'_>], statuses: &mut [Status]) {
        (self.1)(&*self.0, kind, jobs, statuses);
    }

    fn continues(&self, kind: Kind) -> bool {
        self.0.continues(kind)
    }

    unsafe fn process_piece(
        &self,
        kind: Kind,
        job: &Job<'_>,
        between: &mut Between,
        is_last: bool,
    ) -> Status {
        (self.1)(&*self.0, kind, std::slice::from_ref(job), &mut []);
        // SAFETY: forwarded from the caller.
        unsafe { self.0.process_piece(kind, job, between, is_last) }
    }
}
