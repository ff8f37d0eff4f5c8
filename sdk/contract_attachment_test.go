package sdk_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

func fileOf(n int) []byte { return bytes.Repeat([]byte("a file\n"), n/7+1)[:n] }

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TestContractAttachments: a file of any size goes in and comes out the same at each door, and so
// do the refusals.
func TestContractAttachments(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		put := func(c parley.Client, data []byte, name, mediaType string) (*parley.PutAttachmentResult, error) {
			return c.PutAttachment(
				t.Context(),
				&parley.PutAttachmentParams{ConversationID: s.id, Data: data, Name: name, MediaType: mediaType},
			)
		}
		for i, n := range []int{1, limits.MaxAttachmentPart, limits.MaxAttachmentPart + 1, 760 << 10, 760<<10 + 1,
			parley.MaxAttachmentBytes} {
			data := fileOf(n)
			r, err := put(s.b, data, "größe & <name>?.txt", "text/plain; charset=utf-8")
			if err != nil || *r != (parley.PutAttachmentResult{SHA256: sumOf(data), Size: int64(n), Seq: int64(i) + 2}) {
				t.Fatalf("%d bytes: %+v, %v", n, r, err)
			}
			if r, err = put(s.a, data, "", ""); err != nil || !r.Duplicate || r.Seq != int64(i)+2 {
				t.Fatalf("%d bytes again: %+v, %v", n, r, err)
			}
			got, err := io.ReadAll(parley.ReadAttachment(t.Context(), s.a, s.id, r.SHA256))
			if err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes came back as %d, %v", n, len(got), err)
			}
		}
		page, err := s.a.Tail(t.Context(), &parley.TailParams{ConversationID: s.id, SinceSeq: 1})
		if err != nil || len(page.Events) != 6 {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, e := range page.Events {
			sys, err := e.System()
			if err != nil || e.From != "b" || sys.Kind != parley.KindAttachmentAdded || sys.Name != "größe & <name>?.txt" ||
				sys.MediaType != "text/plain; charset=utf-8" {
				t.Errorf("%s, %v", e.Payload, err)
			}
		}
		large := fileOf(800 << 10)
		large[0] = '!'
		for _, c := range []struct {
			what      string
			client    parley.Client
			data      []byte
			name      string
			mediaType string
			want      error
		}{
			{"nil", s.a, nil, "", "", parley.ErrValidationFailed},
			{"empty", s.a, []byte{}, "", "", parley.ErrValidationFailed},
			{"too large", s.a, make([]byte, parley.MaxAttachmentBytes+1), "", "", parley.ErrTooLarge},
			{"path", s.a, []byte("x"), "../x", "", parley.ErrValidationFailed},
			{"large, path", s.a, large, "../x", "", parley.ErrValidationFailed},
			{"large, control", s.a, large, "a\nb", "", parley.ErrValidationFailed},
			{"large, header", s.a, large, "", "a\r\nX-Evil: 1", parley.ErrValidationFailed},
			{"large, long", s.a, large, strings.Repeat("n", 256), "", parley.ErrValidationFailed},
			{"foreigner", s.door.client(t, s.hub, "z"), []byte("x"), "", "", parley.ErrNotFound},
			{"large, foreigner", s.door.client(t, s.hub, "z"), large, "", "", parley.ErrNotFound},
			{"large, reader", s.door.client(t, s.hub, "a", parley.ScopeRead), large, "", "", parley.ErrForbidden},
		} {
			if r, err := put(c.client, c.data, c.name, c.mediaType); r != nil || !errors.Is(err, c.want) {
				t.Errorf("%s: %+v, %v, want %v", c.what, r, err, c.want)
			}
		}
		for _, hash := range []string{sumOf([]byte("absent")), "../x", ""} {
			want := map[bool]error{true: parley.ErrNotFound, false: parley.ErrValidationFailed}[len(hash) == 64]
			if r, err := s.a.GetAttachment(t.Context(), &parley.GetAttachmentParams{ConversationID: s.id, SHA256: hash}); r != nil ||
				!errors.Is(err, want) {
				t.Errorf("%q: %+v, %v", hash, r, err)
			}
		}
		end, err := s.a.GetAttachment(
			t.Context(),
			&parley.GetAttachmentParams{ConversationID: s.id, SHA256: sumOf(fileOf(1)), Offset: 1},
		)
		if err != nil || len(end.Data) != 0 || end.Size != 1 {
			t.Errorf("at the end: %+v, %v", end, err)
		}
	})
}

// TestLargeUploadOverRestarts: an upload whose answer is lost is sent again, and added once.
func TestLargeUploadOverRestarts(t *testing.T) {
	t.Parallel()
	s := newScene(t, doors[1])
	data := fileOf(3 << 20)
	for i := range 5 {
		data[0] = byte(i)
		type answer struct {
			r   *parley.PutAttachmentResult
			err error
		}
		answered := make(chan answer, 1)
		go func() {
			r, err := s.a.PutAttachment(t.Context(), &parley.PutAttachmentParams{ConversationID: s.id, Data: data})
			answered <- answer{r, err}
		}()
		s.hub.Restart(t)
		if a := <-answered; a.err != nil || a.r.Seq != int64(i)+2 {
			t.Fatalf("%+v, %v", a.r, a.err)
		}
	}
	if err := s.a.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.a.PutAttachment(t.Context(), &parley.PutAttachmentParams{ConversationID: s.id, Data: data})
	if !errors.Is(err, parley.ErrUnavailable) || errors.Is(err, parley.ErrOutcomeUnknown) {
		t.Errorf("after Close: %v", err)
	}
}
