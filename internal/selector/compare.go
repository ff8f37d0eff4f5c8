package selector

import "strings"

// equal reports whether two values are the same JSON: numbers by value, strings by their bytes, and
// objects in any order.
func (w *walk) equal(a, b *value) bool {
	if a.kind != b.kind || !w.step(costOf(a, b)) {
		return false
	}
	switch a.kind {
	case number:
		if a.raw == b.raw {
			return true
		}
		c, ok := compareNumbers(a.raw, b.raw)
		return ok && c == 0
	case text:
		return a.text == b.text
	case list:
		return len(a.items) == len(b.items) && w.equalItems(a, b)
	case object:
		return len(a.members) == len(b.members) && w.equalMembers(a, b)
	}
	return a.raw == b.raw
}

// costOf returns the steps to compare two values without their children.
func costOf(a, b *value) int {
	switch a.kind {
	case number:
		return 1 + (len(a.raw)+len(b.raw))/bytesOfStep
	case text:
		return 1 + min(len(a.text), len(b.text))/bytesOfStep
	}
	return 1
}

func (w *walk) equalItems(a, b *value) bool {
	for i := range a.items {
		if !w.equal(&a.items[i], &b.items[i]) {
			return false
		}
	}
	return true
}

func (w *walk) equalMembers(a, b *value) bool {
	for i := range a.members {
		m := &a.members[i]
		other := b.get(m.name)
		if other == nil || !w.equal(&m.value, other) {
			return false
		}
	}
	return true
}

// order compares two numbers, or two strings by their bytes. It returns false for other values.
func (w *walk) order(a, b *value) (int, bool) {
	if a.kind != b.kind || !w.step(costOf(a, b)) {
		return 0, false
	}
	switch a.kind {
	case number:
		return compareNumbers(a.raw, b.raw)
	case text:
		return strings.Compare(a.text, b.text), true
	}
	return 0, false
}

// contains reports whether a string has another as a substring, or a list has a value as an
// element.
func (w *walk) contains(in, v *value) bool {
	switch {
	case in.kind == text && v.kind == text:
		return w.step(1+len(in.text)/bytesOfStep) && strings.Contains(in.text, v.text)
	case in.kind == list:
		for i := range in.items {
			if w.equal(&in.items[i], v) {
				return true
			}
			if !w.step(1) {
				return false
			}
		}
	}
	return false
}
