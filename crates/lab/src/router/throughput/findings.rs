//! What may be said of any such section: its answer first, then what was not
//! measured, what spoils the numbers, and how it ended.

use trial::Finding;

use super::case::Case;
use super::context::Context;
use crate::router::end::End;
use crate::router::headline::{Answer, Question};
use crate::router::told::{Tried, told};

pub(crate) fn findings(
    context: &Context<'_>,
    (question, answer): (Question, Option<Answer>),
    own: Vec<Finding>,
    end: &End,
) -> Vec<Finding> {
    let tried: Vec<Tried> = context.cases.iter().flat_map(Case::tried).collect();
    std::iter::once(question.headline(answer, &tried))
        .chain(own)
        .chain(told(&tried))
        .chain(end.finding())
        .collect()
}
