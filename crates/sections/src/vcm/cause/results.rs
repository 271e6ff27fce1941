//! Everything that the section found out.

use model::cause::{Cause, Diagnosis};

use crate::vcm::cause::diagnosis::{self, DiagnosisError};
use crate::vcm::cause::examine::Examination;
use crate::vcm::cause::planted::Plant;
use crate::vcm::cause::schedule::Case;

/// One subject, examined.
pub(super) struct Examined {
    pub(super) case: Case,
    pub(super) examination: Examination,
    /// None where the speed is highest at the largest size, or was measured
    /// too little to say.
    pub(super) diagnosis: Option<Diagnosis>,
}

impl Examined {
    pub(super) fn new(case: Case, examination: Examination) -> Result<Self, DiagnosisError> {
        let fall = examination.fall.as_ref().filter(|fall| fall.rounds() > 0);
        let diagnosis = fall.map(diagnosis::of).transpose()?;
        Ok(Self {
            case,
            examination,
            diagnosis,
        })
    }

    /// What was named; none where nothing was measured.
    pub(super) fn cause(&self) -> Option<Cause> {
        match &self.diagnosis {
            Some(diagnosis) => Some(diagnosis.cause),
            None if self.examination.is_scanned() && self.examination.fall.is_none() => {
                Some(Cause::None)
            }
            None => None,
        }
    }

    /// The fault that was planted.
    pub(super) fn plant(&self) -> Option<Plant> {
        match self.case {
            Case::Planted(plant) => Some(plant),
            Case::Real(_) => None,
        }
    }
}

/// How the diagnosis did on a planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SelfTest {
    Right,
    /// Nothing was named: the host was too noisy.
    Open,
    Wrong,
}

/// Holds what was named against what was planted.
pub(super) fn self_test(planted: Plant, named: Cause) -> SelfTest {
    match named {
        Cause::Unknown => SelfTest::Open,
        cause if cause == planted.cause() => SelfTest::Right,
        _ => SelfTest::Wrong,
    }
}
