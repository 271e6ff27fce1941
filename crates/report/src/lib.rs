//! Results to terminal, JSON, CSV, Markdown and HTML (pure).
