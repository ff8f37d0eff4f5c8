package check

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

// Attachment checks the name and the media type of a file. Both may be empty.
func Attachment(name, mediaType string) error {
	if err := checkName("name", name); err != nil {
		return err
	}
	return checkText("mediaType", mediaType, limits.MaxMediaTypeBytes)
}

// AttachmentSize checks the size of a file. It returns ErrTooLarge for too many bytes.
func AttachmentSize(size int64) error {
	switch {
	case size < 1:
		return invalid("1 byte or more", "the file is empty")
	case size > parley.MaxAttachmentBytes:
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("the file has %d bytes", size),
			fmt.Sprintf("at most %d", parley.MaxAttachmentBytes))
	}
	return nil
}

// checkName refuses names that could be taken for paths.
func checkName(what, name string) error {
	if strings.ContainsAny(name, `/\`) || name == "." || name == ".." {
		return invalid("a name without / and \\", "%s %q is a path", what, policy.Clip(name))
	}
	return checkText(what, name, limits.MaxNameBytes)
}

// checkAttachmentsMember checks the attachments of a message and returns their hashes.
func checkAttachmentsMember(raw json.RawMessage) ([]eventdata.AttachmentHash, error) {
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
	hashes := make([]eventdata.AttachmentHash, len(members))
	for i, m := range members {
		var err error
		if hashes[i], err = checkAttachmentMember(fmt.Sprintf("attachments[%d]", i), m); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

func checkAttachmentMember(at string, raw json.RawMessage) (h eventdata.AttachmentHash, err error) {
	if k := jsonKind(raw); k != "an object" {
		return h, invalid("an object with sha256", "payload.%s is %s", at, k)
	}
	members := map[string]json.RawMessage{}
	if err := eachMember(raw, func(name, value []byte) { members[string(name)] = value }); err != nil {
		return h, err
	}
	name, err := stringMember(at+".name", members["name"], limits.MaxNameBytes)
	if err == nil {
		err = checkName("payload."+at+".name", name)
	}
	if err == nil {
		_, err = stringMember(at+".mediaType", members["mediaType"], limits.MaxMediaTypeBytes)
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
	h, ok := eventdata.ParseAttachmentHash(text)
	if !ok {
		return h, invalid("64 lower-case hex digits", "payload.%s.sha256 is %q", at, policy.Clip(text))
	}
	return h, nil
}
