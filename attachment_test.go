package parley_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/parleyhub/parley"
)

// parts is a client that returns a file in parts of a few bytes.
type parts struct {
	parley.Client
	get func(offset int64) (*parley.GetAttachmentResult, error)
}

func (p parts) GetAttachment(_ context.Context, q *parley.GetAttachmentParams) (*parley.GetAttachmentResult, error) {
	return p.get(q.Offset)
}

func TestReadAttachment(t *testing.T) {
	const file = "a file that is given in parts"
	sum := sha256.Sum256([]byte(file))
	hash := hex.EncodeToString(sum[:])
	serve := func(data string, size int, most int) parts {
		return parts{get: func(offset int64) (*parley.GetAttachmentResult, error) {
			return &parley.GetAttachmentResult{
				Data: []byte(data[offset:min(len(data), int(offset)+most)]),
				Size: int64(size),
			}, nil
		}}
	}
	for _, most := range []int{1, 4, 100} {
		if err := iotest.TestReader(parley.ReadAttachment(t.Context(), serve(file, len(file), most), "c", hash),
			[]byte(file)); err != nil {
			t.Error(err)
		}
	}
	for what, c := range map[string]parts{
		"another file":    serve("A file that is given in parts", len(file), 4),
		"too short":       serve(file[:20], len(file), 4),
		"shorter":         serve(file[:20], 20, 4),
		"longer":          serve(file+"!", len(file)+1, 4),
		"more than it is": serve(file, 10, 100),
	} {
		if data, err := io.ReadAll(parley.ReadAttachment(t.Context(), c, "c", hash)); !errors.Is(err, parley.ErrDamaged) {
			t.Errorf("%s: %q, %v", what, data, err)
		}
	}
	broken := parts{get: func(offset int64) (*parley.GetAttachmentResult, error) {
		if offset > 0 {
			return nil, parley.ErrUnavailable
		}
		return &parley.GetAttachmentResult{Data: []byte(file[:5]), Size: int64(len(file))}, nil
	}}
	r := parley.ReadAttachment(t.Context(), broken, "c", hash)
	for range 2 { // and it stays so
		if _, err := io.ReadAll(r); !errors.Is(err, parley.ErrUnavailable) {
			t.Errorf("a broken one: %v", err)
		}
	}
}

// TestMessageAttachments: members count by their exact names, so that no two readers see another
// file.
func TestMessageAttachments(t *testing.T) {
	e := parley.Event{
		Payload: json.RawMessage(
			`{"attachments":[{"sha256":"a","SHA256":"b","Name":"c","mediaType":"d","more":{}},{}],"Attachments":[]}`,
		),
	}
	m, err := e.Message()
	if err != nil || len(m.Attachments) != 2 || m.Attachments[0] != (parley.Attachment{SHA256: "a", MediaType: "d"}) {
		t.Errorf("%+v, %v", m, err)
	}
}
