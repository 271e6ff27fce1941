//! Every controller, unchanged, in a simulated closed loop.

mod adaptive;
mod equation;
mod phases;
mod properties;
mod traces;
