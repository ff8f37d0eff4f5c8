package fold

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
)

// AttachmentHash is the SHA-256 of a file.
type AttachmentHash [sha256.Size]byte

// ParseAttachmentHash reads a hash as the protocol writes it: 64 lower-case hex digits.
func ParseAttachmentHash(s string) (AttachmentHash, bool) {
	var h AttachmentHash
	if len(s) != hex.EncodedLen(len(h)) || s != strings.ToLower(s) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(s))
	return h, err == nil
}

// String writes the hash as the protocol does.
func (h AttachmentHash) String() string { return hex.EncodeToString(h[:]) }

// Attachment is a file that was added to a conversation: its hash, the seq of the event that did it, and its size in bytes.
type Attachment struct {
	Hash AttachmentHash
	Seq  int64
	Size int64
}

func (s *State) searchAttachment(h AttachmentHash) (int, bool) {
	return slices.BinarySearchFunc(s.Attachments, h, func(a Attachment, h AttachmentHash) int { return bytes.Compare(a.Hash[:], h[:]) })
}

// Attachment finds a file by its hash.
func (s *State) Attachment(h AttachmentHash) (Attachment, bool) {
	i, ok := s.searchAttachment(h)
	if !ok {
		return Attachment{}, false
	}
	return s.Attachments[i], true
}

// applyAttachment adds a file.
func (s *State) applyAttachment(e *parley.Event, sys *parley.System, size int) error {
	h, ok := ParseAttachmentHash(sys.SHA256)
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
func (d *decision) attached() bool {
	if d.c.Verb != AddAttachment && d.c.Verb != OfferAttachment || !d.s.HasParticipant(d.c.From) {
		return false
	}
	offer := d.c.Attachment
	if offer.SHA256 == "" {
		return slices.ContainsFunc(d.s.Attachments, func(a Attachment) bool { return offer.Size == 0 || offer.Size == a.Size })
	}
	h, _ := ParseAttachmentHash(offer.SHA256) // the hub has written it
	a, ok := d.s.Attachment(h)
	if ok {
		d.out.Seq, d.out.Duplicate = a.Seq, true
	}
	return ok
}

// attach adds a file, and closes the conversation if that reaches a limit. An offer only finds out whether it would be refused.
func (d *decision) attach() {
	if !d.takesPart() {
		return
	}
	file := *d.c.Attachment
	switch {
	case len(d.s.Attachments) >= parley.MaxAttachments:
		d.refuse(parley.ErrTooLarge, "the conversation has as many attachments as it can", fmt.Sprintf("at most %d", parley.MaxAttachments))
	case d.s.Limits.MaxBytes > 0 && file.Size > d.s.Limits.MaxBytes:
		d.refuse(parley.ErrTooLarge, fmt.Sprintf("the file has %d bytes, more than the conversation may have", file.Size),
			fmt.Sprintf("at most %d (limits.maxBytes)", d.s.Limits.MaxBytes))
	case d.c.Verb == AddAttachment:
		file.Kind = parley.KindAttachmentAdded
		if d.add(parley.Event{Type: parley.TypeSystem, From: d.c.From, Payload: marshal(file)}) {
			d.closeAtLimit()
		}
	}
}

// refersToAttached holds a message against the files that were added before it.
func (d *decision) refersToAttached() bool {
	for i, h := range d.c.Refers {
		if _, ok := d.s.Attachment(h); !ok {
			d.out.Err = invalid("the sha256 of a file that was added to this conversation",
				"payload.attachments[%d]: %s was not added to this conversation", i, h)
			return false
		}
	}
	return true
}

// CheckAttachment holds what an author says of a file against the rules; empty is nothing said.
func CheckAttachment(name, mediaType string) error {
	if err := checkName("name", name); err != nil {
		return err
	}
	return checkText("mediaType", mediaType, parley.MaxMediaTypeBytes)
}

// CheckAttachmentSize holds the size of a file against the rules.
func CheckAttachmentSize(size int64) error {
	switch {
	case size < 1:
		return invalid("1 byte or more", "the file is empty")
	case size > parley.MaxAttachmentBytes:
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("the file has %d bytes", size), fmt.Sprintf("at most %d", parley.MaxAttachmentBytes))
	}
	return nil
}

// checkName refuses names that could be taken for paths.
func checkName(what, name string) error {
	if strings.ContainsAny(name, `/\`) || name == "." || name == ".." {
		return invalid("a name without / and \\", "%s %q is a path", what, policy.Clip(name))
	}
	return checkText(what, name, parley.MaxNameBytes)
}

// checkAttachmentsMember holds the attachments of a message against the rules and gives their hashes.
func checkAttachmentsMember(raw json.RawMessage) ([]AttachmentHash, error) {
	if raw == nil {
		return nil, nil
	}
	var members []json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || raw[0] != '[' {
		return nil, invalid("an array of objects", "payload.attachments is %s", jsonKind(raw))
	}
	if n := len(members); n < 1 || n > parley.MaxMessageAttachments {
		return nil, invalid(fmt.Sprintf("1 to %d", parley.MaxMessageAttachments), "payload.attachments: there are %d", n)
	}
	hashes := make([]AttachmentHash, len(members))
	for i, m := range members {
		var err error
		if hashes[i], err = checkAttachmentMember(fmt.Sprintf("attachments[%d]", i), m); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

func checkAttachmentMember(at string, raw json.RawMessage) (h AttachmentHash, err error) {
	if k := jsonKind(raw); k != "an object" {
		return h, invalid("an object with sha256", "payload.%s is %s", at, k)
	}
	members := map[string]json.RawMessage{}
	if err := eachMember(raw, func(name, value []byte) { members[string(name)] = value }); err != nil {
		return h, err
	}
	name, err := stringMember(at+".name", members["name"], parley.MaxNameBytes)
	if err == nil {
		err = checkName("payload."+at+".name", name)
	}
	if err == nil {
		_, err = stringMember(at+".mediaType", members["mediaType"], parley.MaxMediaTypeBytes)
	}
	if err != nil {
		return h, err
	}
	if members["sha256"] == nil {
		return h, invalid("64 lower-case hex digits", "payload.%s.sha256 is missing", at)
	}
	text, err := stringMember(at+".sha256", members["sha256"], hex.EncodedLen(sha256.Size))
	if err != nil {
		return h, err
	}
	h, ok := ParseAttachmentHash(text)
	if !ok {
		return h, invalid("64 lower-case hex digits", "payload.%s.sha256 is %q", at, policy.Clip(text))
	}
	return h, nil
}
