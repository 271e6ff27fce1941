//! An error in words, for operations whose callers only report it.

use std::error::Error;
use std::fmt;

/// What was being done, with the values and the remedy, and the cause.
#[derive(Debug)]
pub struct Failure {
    /// Empty where the cause speaks for itself.
    context: String,
    cause: Option<Box<dyn Error + Send + Sync>>,
}

impl Failure {
    pub fn new(context: impl Into<String>) -> Self {
        let (context, cause) = (context.into(), None);
        Self { context, cause }
    }

    /// For `map_err`.
    pub fn of<E: Error + Send + Sync + 'static>(
        context: impl Into<String>,
    ) -> impl FnOnce(E) -> Self {
        let context = context.into();
        move |cause| Self {
            context,
            cause: Some(Box::new(cause)),
        }
    }

    pub fn as_is<E: Error + Send + Sync + 'static>(error: E) -> Self {
        Self::of("")(error)
    }

    pub fn cause(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.cause.as_deref()?)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) if self.context.is_empty() => cause.fmt(text),
            _ => text.write_str(&self.context),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self.cause()? {
            cause if self.context.is_empty() => cause.source(),
            cause => Some(cause),
        }
    }
}

/// The error and its causes, joined by colons; a cause that the text before it
/// quotes already is left out.
pub fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in std::iter::successors(error.source(), |error| (*error).source()) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn causes_are_said_once() {
        let cause = Failure::of("the gate is stuck")(std::io::Error::other("no water"));
        let error = Failure::of("cannot lock: the gate is stuck")(cause);
        assert_eq!(
            with_causes(&error),
            "cannot lock: the gate is stuck: no water"
        );
    }
}
