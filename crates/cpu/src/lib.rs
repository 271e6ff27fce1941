//! CPU feature probe: CPUID, XCR0, caches, topology.
