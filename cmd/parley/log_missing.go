package main

import (
	"fmt"
	"strings"

	"github.com/parleyhub/parley/hub/journal"
)

// namedMissing is how many files that are missing are named.
const namedMissing = 3

// incompleteError says that everything was written but for some attachments.
type incompleteError struct{ missing []journal.Hash }

// incomplete is nil where nothing is missing.
func incomplete(missing []journal.Hash) error {
	if len(missing) == 0 {
		return nil
	}
	return withHint(&incompleteError{missing}, "the rest was written; 'parley log import' of a backup that has them brings them back into the log")
}

// report names it incomplete.
func (e *incompleteError) report() failure {
	return failure{What: e.Error(), Reason: "incomplete", exit: exitFailure}
}

func (e *incompleteError) Error() string {
	var names []string
	for _, h := range e.missing[:min(len(e.missing), namedMissing)] {
		names = append(names, fmt.Sprintf("%x", h))
	}
	if more := len(e.missing) - namedMissing; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s gone or damaged where the log is: %s", count(int64(len(e.missing)), "attachment"), strings.Join(names, ", "))
}
