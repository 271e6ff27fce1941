//! The integration tests of `engine` in one program; those that need a process of
//! their own are beside it and say why.
#![allow(clippy::unwrap_used, reason = "a failed set-up is a failed test")]

mod common;
mod crypto;
mod functions;
mod functions_adverse;
mod functions_crypto;
mod functions_keys;
mod functions_life;
mod functions_pieces;
mod functions_prices;
mod hybrid;
mod lanes;
mod moderation;
mod overseer;
mod packets;
mod pieces;
mod relief;
mod residents;
mod sectors;
mod tenants;
mod tenants_memory;
mod tenants_work;
