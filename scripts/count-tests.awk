# Adds up cargo's test summaries. The caller may start from `failed` and `skipped`.
/^test result: / {
    for (word = 2; word <= NF; word++) {
        if ($word ~ /^passed/) passed += $(word - 1)
        if ($word ~ /^failed/) failed += $(word - 1)
        if ($word ~ /^ignored/) skipped += $(word - 1)
    }
}
END {
    # A command that failed without a failed test did not even compile.
    if (ended && !failed) failed = 1
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
}
