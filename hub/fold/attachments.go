package fold

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/internal/limits"
)

// Attachment is a file that was added to a conversation by the event at Seq. Size is in bytes.
type Attachment struct {
	Hash eventdata.AttachmentHash
	Seq  int64
	Size int64
}

// Attachments are the files of a conversation, sorted by hash.
type Attachments []Attachment

// Find returns the index of a file. If there is no such file, it returns the index at which to insert it, and false.
func (l Attachments) Find(h eventdata.AttachmentHash) (int, bool) {
	return slices.BinarySearchFunc(l, h, func(a Attachment, h eventdata.AttachmentHash) int {
		return bytes.Compare(a.Hash[:], h[:])
	})
}

func applyAttachment(s *State, e *parley.Event, sys *parley.System, size int) error {
	h, ok := eventdata.ParseAttachmentHash(sys.SHA256)
	if !ok || sys.Size < 1 {
		return errors.New("attachment_added without a hash and size")
	}
	i, twice := s.Attachments.Find(h)
	if twice {
		return fmt.Errorf("the attachment %s was added before", h)
	}
	s.Attachments = slices.Insert(slices.Clone(s.Attachments), i, Attachment{Hash: h, Seq: e.Seq, Size: sys.Size})
	s.ActiveAt = e.At
	s.count(size)
	s.Bytes += sys.Size
	return nil
}

// findAttachment reports whether the file was added before. Then it is the result, also after the close. An offer
// without a hash is accepted if a file of its size was added before.
func (d *decision) findAttachment(offer *parley.System) bool {
	if !d.s.HasParticipant(d.c.From) {
		return false
	}
	if offer.SHA256 == "" {
		return slices.ContainsFunc(d.s.Attachments, func(a Attachment) bool {
			return offer.Size == 0 || offer.Size == a.Size
		})
	}
	h, _ := eventdata.ParseAttachmentHash(offer.SHA256) // the hub wrote it
	i, ok := d.s.Attachments.Find(h)
	if ok {
		d.out.Seq, d.out.Duplicate = d.s.Attachments[i].Seq, true
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

// checkAttach refuses a file that the caller may not add, or for which the conversation has no room.
func (d *decision) checkAttach(file *parley.System) bool {
	if !d.checkParticipant() {
		return false
	}
	switch {
	case len(d.s.Attachments) >= limits.MaxAttachments:
		d.refuse(parley.ErrTooLarge, "the conversation has as many attachments as it can",
			fmt.Sprintf("at most %d", limits.MaxAttachments))
	case d.s.Limits.MaxBytes > 0 && file.Size > d.s.Limits.MaxBytes:
		d.refuse(parley.ErrTooLarge,
			fmt.Sprintf("the file has %d bytes, more than the conversation may have", file.Size),
			fmt.Sprintf("at most %d (limits.maxBytes)", d.s.Limits.MaxBytes))
	default:
		return true
	}
	return false
}

// checkAttachments refuses a message that refers to a file that was not added before.
func (m *Message) checkAttachments(d *decision) bool {
	for i, h := range m.Refers {
		if _, ok := d.s.Attachments.Find(h); !ok {
			d.refuse(parley.ErrValidationFailed,
				fmt.Sprintf("payload.attachments[%d]: %s was not added to this conversation", i, h),
				"the sha256 of a file that was added to this conversation")
			return false
		}
	}
	return true
}
