// Package rule names the rules that make turns safe and live. Each closes a hole that was found before there was a hub. All of them hold, always; only
// tests switch one off, to see the hole come back.
package rule

// Rule is one of the rules.
type Rule uint8

// The rules.
const (
	StaleRef    Rule = iota // an append that names a claim is taken only while that claim stands
	ResetAtomic             // the end of a claim and the withdrawal of its words are one event
	FreshID                 // the id of a claim is used once, for its turn
	AutoClaim               // an unfinished message of an agent takes the claim
	PullOnce                // who has lost a turn does not take it again unasked while another is asked
	RenewCap                // renewals end
	KeyClaim                // an idempotency key that is used under a claim belongs to that claim
	TurnEnd                 // who yields or is skipped has ended the turn
	CloseClears             // a final message ends the claim
	AvoidFailed             // the executor that has lost the fewest claims of a turn is asked first
	LateOK                  // an offer is of use until the turn is claimed, whoever else was asked
	FloorTimer              // a turn that nobody takes has its time too
	GraceShort              // of several hubs, none ends a claim whose holder another may have
	FreshRefuse             // of several hubs, none answers by a state that another has moved on
	WatchTime               // a claim ends when a hub has watched its time, whatever clocks say
	RenewLog                // a renewal is an event: every hub sees it
	count
)

var off [count]bool

// Holds reports whether a rule holds.
func (r Rule) Holds() bool { return !off[r] }

// Switch switches a rule off, or on again. It is for tests that run alone.
func Switch(r Rule, holds bool) { off[r] = !holds }
