//! Network namespaces, links, addresses, routes and limits, made over netlink
//! and named `lockgate-…`; whatever outlives a process is journalled first, and
//! swept by the next start if its owner died.
#![forbid(unsafe_code)]
