package priorauth

import (
	"fmt"
	"slices"
	"strings"
)

// Status is the status of a criterion.
type Status string

// The values of Status.
const (
	Met     Status = "met"
	Unmet   Status = "unmet"   // there is evidence, and it is not enough
	Missing Status = "missing" // there is no evidence
)

// Check is what was found about one criterion.
type Check struct {
	Criterion string `json:"criterion"`
	Status    Status `json:"status"`
	Because   string `json:"because"`
	// Evidence is the id of the entry that decided.
	Evidence string `json:"evidence,omitempty"`
}

// check judges a criterion, its exceptions included, by the evidence at the day of the request.
func (c *Criterion) check(all []Evidence, on Day) Check {
	own := c.checkOwn(all, on)
	if own.Status == Met {
		return own
	}
	for i := range c.Exceptions {
		if e := c.Exceptions[i].check(all, on); e.Status == Met {
			return Check{Criterion: c.ID, Status: Met, Because: "exception: " + e.Because, Evidence: e.Evidence}
		}
	}
	return own
}

func (c *Criterion) checkOwn(all []Evidence, on Day) Check {
	best := Check{Criterion: c.ID, Status: Missing, Because: "nothing was sent that shows " + c.Text}
	for _, e := range all {
		if !c.concerns(e) {
			continue
		}
		why, ok := c.judge(e, on)
		if ok {
			return Check{Criterion: c.ID, Status: Met, Because: why, Evidence: e.ID}
		}
		best = Check{Criterion: c.ID, Status: Unmet, Because: why, Evidence: e.ID}
	}
	return best
}

// concerns reports whether an entry is about what the criterion is about.
func (c *Criterion) concerns(e Evidence) bool {
	return e.Kind == c.Kind && slices.Contains(c.Codes, e.Code)
}

// judge says whether an entry shows what the criterion requires, and why.
func (c *Criterion) judge(e Evidence, on Day) (because string, ok bool) {
	what := words(e.Code)
	if e.Source == "" {
		return fmt.Sprintf("%s of %s names no source", what, e.Date), false
	}
	if e.Date.since(on) > 0 {
		return fmt.Sprintf("%s is dated %s, after the request", what, e.Date), false
	}
	if days := on.since(e.Date); c.WithinDays > 0 && days > c.WithinDays {
		return fmt.Sprintf("%s ended %s, %d days before the request, where at most %d count", what, e.Date, days,
			c.WithinDays), false
	}
	switch c.Kind {
	case Therapy:
		return c.judgeWeeks(e, what)
	case Measure:
		return c.judgeValue(e, what)
	}
	return fmt.Sprintf("%s is documented on %s", what, e.Date), true
}

func (c *Criterion) judgeWeeks(e Evidence, what string) (string, bool) {
	if e.From == nil {
		return what + " has no first day", false
	}
	weeks := e.Date.since(*e.From) / 7
	if weeks < c.MinWeeks {
		return fmt.Sprintf("%s was given for %s, where %d are required", what, count(weeks, "week"), c.MinWeeks), false
	}
	return fmt.Sprintf("%s was given for %s from %s to %s", what, count(weeks, "week"), *e.From, e.Date), true
}

func (c *Criterion) judgeValue(e Evidence, what string) (string, bool) {
	if e.Value == nil {
		return what + " has no value", false
	}
	value := strings.TrimSpace(fmt.Sprintf("%g %s", *e.Value, e.Unit))
	switch {
	case c.Min != nil && *e.Value < *c.Min:
		return fmt.Sprintf("%s is %s, where at least %g is required", what, value, *c.Min), false
	case c.Max != nil && *e.Value > *c.Max:
		return fmt.Sprintf("%s is %s, where at most %g is allowed", what, value, *c.Max), false
	}
	return fmt.Sprintf("%s was %s on %s", what, value, e.Date), true
}

// words makes a code readable.
func words(code string) string { return strings.ReplaceAll(code, "_", " ") }

// count is "1 week" or "2 weeks".
func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

// list is "a", "a and b" or "a, b and c".
func list(items []string) string {
	if len(items) < 2 {
		return strings.Join(items, "")
	}
	last := len(items) - 1
	return strings.Join(items[:last], ", ") + " and " + items[last]
}
