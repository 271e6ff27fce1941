//! What may be said of any such section: its answer first, then what was not
//! measured, what spoils the numbers, and how it ended.

use trial::Finding;

use crate::router::throughput::case::Case;
use crate::router::throughput::context::Context;
use kit::headline::{Answer, Question};
use kit::routers::end::End;
use kit::told::{Tried, told};

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
