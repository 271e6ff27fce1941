//! Registers the sections, budgets a run, stores it.
