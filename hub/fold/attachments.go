package fold

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// Attachment is a file that was added to a conversation: its hash, the seq of the event that did it, and its size in bytes.
type Attachment struct {
	Hash eventdata.AttachmentHash
	Seq  int64
	Size int64
}

func (s *State) searchAttachment(h eventdata.AttachmentHash) (int, bool) {
	return slices.BinarySearchFunc(s.Attachments, h, func(a Attachment, h eventdata.AttachmentHash) int { return bytes.Compare(a.Hash[:], h[:]) })
}

// Attachment finds a file by its hash.
func (s *State) Attachment(h eventdata.AttachmentHash) (Attachment, bool) {
	i, ok := s.searchAttachment(h)
	if !ok {
		return Attachment{}, false
	}
	return s.Attachments[i], true
}

// applyAttachment adds a file.
func (s *State) applyAttachment(e *parley.Event, sys *parley.System, size int) error {
	h, ok := eventdata.ParseAttachmentHash(sys.SHA256)
	if !ok || sys.Size < 1 {
		return fmt.Errorf("event %d: attachment_added without a hash and size", e.Seq)
	}
	i, twice := s.searchAttachment(h)
	if twice {
		return fmt.Errorf("event %d: the attachment %s was added before", e.Seq, h)
	}
	s.Attachments = slices.Insert(slices.Clone(s.Attachments), i, Attachment{Hash: h, Seq: e.Seq, Size: sys.Size})
	s.ActiveAt = e.At
	s.Events++
	s.Bytes += int64(size) + sys.Size
	return nil
}

// attached answers for a file that is there already, whatever else holds: a retry of what closed the conversation gets its first
// result. An offer of a file whose hash is not known yet passes when it may be such a one.
func (d *decision) findAttachment(offer *parley.System) bool {
	if !d.s.HasParticipant(d.c.From) {
		return false
	}
	if offer.SHA256 == "" {
		return slices.ContainsFunc(d.s.Attachments, func(a Attachment) bool { return offer.Size == 0 || offer.Size == a.Size })
	}
	h, _ := eventdata.ParseAttachmentHash(offer.SHA256) // the hub has written it
	a, ok := d.s.Attachment(h)
	if ok {
		d.out.Seq, d.out.Duplicate = a.Seq, true
	}
	return ok
}

func (a *OfferAttachment) decide(d *decision) { d.checkAttach(a.Attachment) }

func (a *AddAttachment) decide(d *decision) {
	if !d.checkAttach(a.Attachment) {
		return
	}
	file := *a.Attachment
	file.Kind = parley.KindAttachmentAdded
	if d.add(parley.Event{Type: parley.TypeSystem, From: d.c.From, Payload: eventdata.Encode(file)}) {
		d.closeAtLimit()
	}
}

// mayAttach refuses a file that the caller may not add, or for which the conversation has no room.
func (d *decision) checkAttach(file *parley.System) bool {
	if !d.checkParticipant() {
		return false
	}
	switch {
	case len(d.s.Attachments) >= parley.MaxAttachments:
		d.refuse(parley.ErrTooLarge, "the conversation has as many attachments as it can", fmt.Sprintf("at most %d", parley.MaxAttachments))
	case d.s.Limits.MaxBytes > 0 && file.Size > d.s.Limits.MaxBytes:
		d.refuse(parley.ErrTooLarge, fmt.Sprintf("the file has %d bytes, more than the conversation may have", file.Size),
			fmt.Sprintf("at most %d (limits.maxBytes)", d.s.Limits.MaxBytes))
	default:
		return true
	}
	return false
}

// refersToAttached refuses a message that refers to a file that was not added before.
func (d *decision) refersToAttached(refers []eventdata.AttachmentHash) bool {
	for i, h := range refers {
		if _, ok := d.s.Attachment(h); !ok {
			d.refuse(parley.ErrValidationFailed,
				fmt.Sprintf("payload.attachments[%d]: %s was not added to this conversation", i, h),
				"the sha256 of a file that was added to this conversation")
			return false
		}
	}
	return true
}
