//! Notification policies as pure state machines.
