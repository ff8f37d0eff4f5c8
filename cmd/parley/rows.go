package main

import "iter"

// rows yields what a method answers in pages, one after the other. ask gives the page after a cursor, empty for the first, and the cursor of
// the next, empty for the last.
func rows[T any](ask func(cursor string) (page []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			page, next, err := ask(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range page {
				if !yield(row, nil) {
					return
				}
			}
			if next == "" {
				return
			}
			cursor = next
		}
	}
}
