//! BPF programs that forward, generate and count frames, and AF_XDP sockets.
