//! The unsafe floor: clocks, affinity, eventfd, mapped memory, rings and the notifier.
