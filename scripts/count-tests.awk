# Counts tests: each once, however many stages ran it. Reads of each stage what its
# tests noted (STAGE.notes: kind, program, test, text, with tabs between) and what it
# printed (STAGE.log). A test that failed anywhere has failed; one that passed
# anywhere has passed; others were skipped, and are listed with the reason.
# The caller may start from `failed` and `skipped`, and says how the command `ended`.

function stage_of(file) {
    sub(/.*\//, "", file)
    sub(/\.[a-z]*$/, "", file)
    return file
}

# Higher outranks lower.
function ranks(test, rank) {
    if (!(test in best)) order[++tests] = test
    if (rank > best[test]) best[test] = rank
}

function list(title, kind,    what, begun, i) {
    for (i = 1; i <= notes; i++) {
        if (note_kind[i] != kind) continue
        what = note_test[i] ": " note_text[i]
        if (kind ~ /skipped|inconclusive/) {
            # Elsewhere it did what it could not do here.
            if (best[note_test[i]] != SKIPPED) continue
            # Of its reasons the first.
            if ((kind, note_test[i]) in listed) continue
            listed[kind, note_test[i]]
        }
        if (what in listed) continue
        listed[what]
        if (!begun++) print title ":"
        print "  " what
    }
}

BEGIN {
    SKIPPED = 1
    PASSED = 2
    FAILED = 3
}

FILENAME ~ /\.notes$/ {
    if (split($0, part, "\t") < 4) next
    notes++
    note_kind[notes] = part[1]
    note_test[notes] = part[2] " " part[3]
    note_text[notes] = part[4]
    if (part[1] == "skipped" || part[1] == "inconclusive")
        not_done[stage_of(FILENAME), part[2] " " part[3]]
    next
}

# Cargo's words, and those of scripts/run-programs.sh.
/^ *Running .*-[0-9a-f]+\)$/ {
    program = $NF
    sub(/.*\//, "", program)
    sub(/-[0-9a-f]+\)$/, "", program)
    next
}
/^ *Doc-tests / {
    program = "doc " $2
    next
}
/^test .* \.\.\. (ok|FAILED|ignored)/ {
    test = $0
    sub(/^test /, "", test)
    sub(/( - should panic| - compile( fail)?)? \.\.\. .*/, "", test)
    test = program " " test
    if (/ \.\.\. FAILED/) ranks(test, FAILED)
    else if (/ \.\.\. ignored/ || (stage_of(FILENAME), test) in not_done) ranks(test, SKIPPED)
    else ranks(test, PASSED)
}

END {
    for (i = 1; i <= tests; i++) {
        if (best[order[i]] == PASSED) passed++
        else if (best[order[i]] == SKIPPED) skipped++
        else {
            failed++
            if (!begun++) print "failed:"
            print "  " order[i]
        }
    }
    list("inconclusive, since the host was busy", "inconclusive")
    list("skipped", "skipped")
    list("parts left out", "left out")
    list("held at the second try only", "repeated")
    list("warnings", "warning")
    # A command that failed without a failed test did not even compile.
    if (ended && !failed) failed = 1
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
}
