package fold

import "github.com/parleyhub/parley"

// Usage is what limits bound.
type Usage struct {
	// Turns counts turns that participants ended. Events and Bytes count messages, traces, notes, attachments with their
	// files, approvals with their answers, and matches.
	Turns  int64
	Events int64
	Bytes  int64
	// ActiveAt is the time of the creation, or of the last message, trace, note, attachment, or request or end of an
	// approval or session.
	ActiveAt parley.Timestamp
}

func (u *Usage) count(size int) {
	u.Events++
	u.Bytes += int64(size)
}

// limitReached returns the limit that the counts have reached, or an empty string.
func (s *State) limitReached() string {
	l := s.Limits
	switch {
	case l.MaxTurns > 0 && s.Turns >= l.MaxTurns:
		return parley.ReasonMaxTurns
	case l.MaxEvents > 0 && s.Events >= l.MaxEvents:
		return parley.ReasonMaxEvents
	case l.MaxBytes > 0 && s.Bytes >= l.MaxBytes:
		return parley.ReasonMaxBytes
	case l.MaxAutonomousTurns > 0 && s.Autonomous >= l.MaxAutonomousTurns && !s.hasKind(parley.KindHuman):
		return parley.ReasonMaxAutonomousTurns
	}
	return ""
}

// closesAt returns the time at which a limit closes a quiet conversation, and the name of the limit. It returns 0 if no
// limit does. The idle timeout does not run while an approval is pending.
func (s *State) closesAt() (parley.Timestamp, string) {
	if s.Closed() || !s.Exists() {
		return 0, ""
	}
	var due parley.Timestamp
	var reason string
	if d := s.Limits.DeadlineMs; d > 0 {
		due, reason = s.CreatedAt+parley.Timestamp(d), parley.ReasonDeadline
	}
	if d := s.Limits.IdleTimeoutMs; d > 0 && !s.AwaitsApproval() {
		if at := s.ActiveAt + parley.Timestamp(d); due == 0 || at < due {
			due, reason = at, parley.ReasonIdleTimeout
		}
	}
	return due, reason
}

// NextDeadline returns the time at which a limit closes the conversation or an approval expires, whichever is first. It
// returns 0 if there is no such time.
func (s *State) NextDeadline() parley.Timestamp {
	at, _ := s.closesAt()
	if s.Closed() || !s.Exists() {
		return 0
	}
	if expiry := s.firstExpiry(s.CurrentTurn()); expiry > 0 && (at == 0 || expiry < at) {
		return expiry
	}
	return at
}
