// Package desk is the part of a hub's reasoning about turns that is kept in memory: which executors were asked to take a turn, what time has
// been watched, and what is to be done next. Like package fold it is pure: no clock, no I/O, no lock. What it knows may be lost; it is found
// again from the log.
//
// # Guarantees
//
//   - Durations, not clock times, decide: what a Desk ends it has watched for its whole duration, from when it saw the event that began it.
//   - An offer is never taken back. It is of use until the turn is claimed.
//   - Of the executors that may be asked, the one that has lost the fewest claims of this turn is asked first; the next one too when a window
//     has passed without a claim.
//   - Step names the time of the next step, unless nothing will change by itself.
package desk
