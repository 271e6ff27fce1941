//! What is changed of a lent device is written down first.

use std::sync::{PoisonError, Weak};

use super::{Entry, Inner, Journal, JournalError, State};

/// Where changes of devices that are lent to one namespace are journalled. Other
/// links, and namespaces without a journal, are not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loans(Option<(Weak<Inner>, String)>);

impl Loans {
    pub fn to(namespace: &str, journal: &Journal) -> Self {
        // A socket or a file of a namespace does not keep the journal open.
        Self(Some((
            std::sync::Arc::downgrade(&journal.0),
            namespace.to_owned(),
        )))
    }

    /// Journals that a setting of this link is about to have that value.
    ///
    /// # Errors
    /// [`JournalError::Write`]: set nothing then.
    pub fn note(&self, link: &str, setting: &str, value: &str) -> Result<(), JournalError> {
        let Some((journal, to)) = &self.0 else {
            return Ok(());
        };
        let Some(journal) = journal.upgrade() else {
            return Ok(());
        };
        let mut state = journal.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { file, entries, .. } = &mut *state;
        let lent = entries.iter_mut().find_map(|(&number, entry)| match entry {
            Entry::Device {
                name, namespace, ..
            } if name == link && namespace == to => Some((number, entry)),
            _ => None,
        });
        let Some((number, entry)) = lent else {
            return Ok(());
        };
        let mut changed = entry.clone();
        if let Entry::Device { settings, .. } = &mut changed
            && settings.changes.note(setting, value)
        {
            journal.write(file, number, &changed)?;
            *entry = changed;
        }
        Ok(())
    }
}
