package hub_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

// put adds a file and fails the test if it is refused.
func put(t testing.TB, h *hub.Hub, p *hub.Principal, id string, data []byte, name string) parley.PutAttachmentResult {
	t.Helper()
	r, err := h.PutAttachment(t.Context(), p, &parley.PutAttachmentParams{ConversationID: id, Data: data, Name: name,
		MediaType: "text/plain"})
	if err != nil {
		t.Fatalf("%s puts %d bytes: %v", p.AgentID, len(data), err)
	}
	if sum := sha256.Sum256(data); r.SHA256 != hex.EncodeToString(sum[:]) || r.Size != int64(len(data)) {
		t.Fatalf("%+v for %d bytes", r, len(data))
	}
	return r
}

func putErr(t testing.TB, h *hub.Hub, p *hub.Principal, id, data string) error {
	t.Helper()
	_, err := h.PutAttachment(t.Context(), p, &parley.PutAttachmentParams{ConversationID: id, Data: []byte(data)})
	return err
}

func get(h *hub.Hub, p *hub.Principal, id, hash string) ([]byte, error) {
	return io.ReadAll(parley.ReadAttachment(context.Background(), h.Client(p), id, hash))
}

// hasBlob reports whether the journal keeps a file.
func hasBlob(t testing.TB, j journal.Journal, data string) bool {
	t.Helper()
	_, err := j.GetBlob(sha256.Sum256([]byte(data)))
	if err != nil && !errors.Is(err, journal.ErrNoBlob) {
		t.Fatal(err)
	}
	return err == nil
}

func refer(hash string) json.RawMessage {
	return json.RawMessage(`{"attachments":[{"sha256":"` + hash + `"}]}`)
}

// TestAttachmentSizes: files of all sizes are returned unchanged, also after a restart.
func TestAttachmentSizes(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, counted("a"))
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	id := create(t, h, a, open2("a", "b"))
	files := map[string][]byte{}
	sizes := []int{1, 1000, limits.MaxAttachmentPart - 1, limits.MaxAttachmentPart, limits.MaxAttachmentPart + 1,
		parley.MaxAttachmentBytes}
	if testing.Short() {
		sizes = sizes[:5]
	}
	for i, n := range sizes {
		data := bytes.Repeat([]byte{byte(i), 'x', '\n'}, n/3+1)[:n]
		r := put(t, h, b, id, data, "file")
		files[r.SHA256] = data
		if r.Seq != int64(i)+2 || r.Duplicate {
			t.Fatalf("%+v", r)
		}
	}
	for _, n := range []int{0, parley.MaxAttachmentBytes + 1} {
		want := map[bool]error{true: parley.ErrValidationFailed, false: parley.ErrTooLarge}[n == 0]
		refused(t, putErr(t, h, a, id, strings.Repeat("y", n)), want)
	}
	for _, h := range []*hub.Hub{h, startOn(t, j, counted("b"))} {
		for hash, data := range files {
			if got, err := get(h, a, id, hash); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%d bytes came back as %d, %v", len(data), len(got), err)
			}
		}
	}
	e := events(t, j, id)
	sys, err := e[2].System()
	if err != nil || len(e) != len(sizes)+1 || e[2].From != "b" || e[2].Turn != 0 ||
		sys.Kind != parley.KindAttachmentAdded || sys.Size != 1000 ||
		sys.Name != "file" || sys.MediaType != "text/plain" || files[sys.SHA256] == nil {
		t.Fatalf("%d events, %s %+v, %v", len(e), e[2].Payload, sys, err)
	}
}

// TestAttachmentParts: any part is given, and none beyond the file.
func TestAttachmentParts(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	hash := put(t, h, a, id, []byte("0123456789"), "").SHA256
	for _, c := range []struct {
		offset int64
		length int
		want   string
		err    error
	}{
		{0, 0, "0123456789", nil}, {3, 0, "3456789", nil}, {3, 4, "3456", nil}, {9, 1, "9", nil}, {8, 5, "89", nil}, {10, 0,
			"", nil}, {10, 1, "", nil},
		{11, 1, "", parley.ErrValidationFailed}, {-1, 1, "", parley.ErrValidationFailed}, {0, -1, "",
			parley.ErrValidationFailed},
		{0, limits.MaxAttachmentPart + 1, "", parley.ErrValidationFailed}, {1 << 60, 1, "", parley.ErrValidationFailed},
	} {
		r, err := h.GetAttachment(t.Context(), a, &parley.GetAttachmentParams{ConversationID: id, SHA256: hash,
			Offset: c.offset, Length: c.length})
		if c.err != nil {
			refused(t, err, c.err)
		} else if err != nil || string(r.Data) != c.want || r.Data == nil || r.Size != 10 {
			t.Errorf("%+v: %q, size %d, %v", c, r.Data, r.Size, err)
		}
	}
	for _, bad := range []string{
		"", hash[:63], hash + "0", strings.ToUpper(hash), "../" + hash[3:], "..%2f" + hash[5:], strings.Repeat("/",
			64), strings.Repeat("g", 64), hash[:63] + "\x00",
	} {
		_, err := h.GetAttachment(t.Context(), a, &parley.GetAttachmentParams{ConversationID: id, SHA256: bad})
		refused(t, err, parley.ErrValidationFailed)
	}
}

// TestAttachmentOfAnother: the bytes of a file open no other conversation that has them.
func TestAttachmentOfAnother(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	a, z := h.LocalPrincipal("a"), h.LocalPrincipal("z")
	mine, theirs := create(t, h, a, open2("a")), create(t, h, z, open2("z"))
	secret := put(t, h, z, theirs, []byte("theirs"), "")

	_, err := get(h, a, theirs, secret.SHA256)
	refused(t, err, parley.ErrNotFound)
	_, err = get(h, a, mine, secret.SHA256)
	refused(t, err, parley.ErrNotFound)
	_, err = h.Client(a).SendMessage(t.Context(), &parley.SendMessageParams{ConversationID: mine,
		Payload: refer(secret.SHA256), Finality: parley.FinalityTurn})
	refused(t, err, parley.ErrValidationFailed)
	refused(t, putErr(t, h, a, theirs, "theirs"), parley.ErrNotFound)

	// An upload of the same bytes to another conversation is no duplicate: that would reveal that
	// another caller has them.
	if r := put(t, h, a, mine, []byte("theirs"), ""); r.Duplicate || r.Seq != 2 {
		t.Fatalf("%+v", r)
	}
	if got, err := get(h, a, mine, secret.SHA256); err != nil || string(got) != "theirs" {
		t.Fatalf("%q, %v", got, err)
	}
	_, err = get(h, a, theirs, secret.SHA256)
	refused(t, err, parley.ErrNotFound)
}

// TestAttachmentRefused: a refused file is not stored, and its data is not requested.
func TestAttachmentRefused(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	a, maker := h.LocalPrincipal("a"), h.LocalPrincipal("maker")
	id, closed := create(t, h, maker, open2("a")), create(t, h, maker, open2("a"))
	small := open2("a")
	small.Limits = &parley.Limits{MaxBytes: 1024}
	full := create(t, h, maker, small)
	first := put(t, h, a, closed, []byte("1"), "")
	say(t, h, a, message(closed, "bye", parley.FinalityConversation, ""))
	for _, c := range []struct {
		what         string
		p            *hub.Principal
		conversation string
		name, kind   string
		size         int64
		want         error
	}{
		{"foreigner", h.LocalPrincipal("z"), id, "", "", 10, parley.ErrNotFound},
		{"absent", a, "absent", "", "", 10, parley.ErrNotFound},
		{"no participant", maker, id, "", "", 10, parley.ErrForbidden},
		{"reader", h.LocalPrincipal("a", parley.ScopeRead, parley.ScopeTrace), id, "", "", 10, parley.ErrForbidden},
		{"closed", a, closed, "", "", 10, parley.ErrConversationClosed},
		{"larger than the conversation", a, full, "", "", 1025, parley.ErrTooLarge},
		{"too large", a, id, "", "", parley.MaxAttachmentBytes + 1, parley.ErrTooLarge},
		{"empty", a, id, "", "", 0, parley.ErrValidationFailed},
		{"path", a, id, "../../etc/passwd", "", 10, parley.ErrValidationFailed},
		{"backslashes", a, id, `..\..\x`, "", 10, parley.ErrValidationFailed},
		{"dots", a, id, "..", "", 10, parley.ErrValidationFailed},
		{"dot", a, id, ".", "", 10, parley.ErrValidationFailed},
		{"control", a, id, "a\nb", "", 10, parley.ErrValidationFailed},
		{"NUL", a, id, "a\x00", "", 10, parley.ErrValidationFailed},
		{"no UTF-8", a, id, "a\xff", "", 10, parley.ErrValidationFailed},
		{"long", a, id, strings.Repeat("é", 128), "", 10, parley.ErrValidationFailed},
		{"type", a, id, "", "text/plain\r\nSet-Cookie: x", 10, parley.ErrValidationFailed},
		{"long type", a, id, "", strings.Repeat("t", 128), 10, parley.ErrValidationFailed},
	} {
		asked := false
		q := &parley.PutAttachmentParams{ConversationID: c.conversation, Name: c.name, MediaType: c.kind}
		_, err := h.UploadAttachment(t.Context(), c.p, q, c.size, func() ([]byte, error) {
			asked = true
			return bytes.Repeat([]byte{'r'}, int(c.size)), nil
		})
		if !errors.Is(err, c.want) || asked {
			t.Errorf("%s: %v, want %v; asked for the file: %t", c.what, err, c.want, asked)
		}
	}
	// In a closed conversation one that might be there already is looked at, but not kept.
	refused(t, putErr(t, h, a, closed, "2"), parley.ErrConversationClosed)
	if hasBlob(t, j, "rrrrrrrrrr") || hasBlob(t, j, "2") || !hasBlob(t, j, "1") {
		t.Error("a file that was refused is kept")
	}
	if r := put(t, h, a, closed, []byte("1"), "again"); !r.Duplicate || r.Seq != first.Seq {
		t.Errorf("%+v, first %+v", r, first)
	}
	refused(t, putErr(t, h, maker, closed, "1"), parley.ErrConversationClosed)
	if got, err := get(h, a, closed, first.SHA256); err != nil || string(got) != "1" {
		t.Errorf("after the close: %q, %v", got, err)
	}
}

// TestAttachmentReachesMaxBytes: the file counts, the hub closes in the same commit, and a retry finds the first result.
func TestAttachmentReachesMaxBytes(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	a := h.LocalPrincipal("a")
	q := open2("a")
	q.Limits = &parley.Limits{MaxBytes: 2000}
	id := create(t, h, a, q)
	put(t, h, a, id, bytes.Repeat([]byte{1}, 700), "")
	last := put(t, h, a, id, bytes.Repeat([]byte{2}, 1000), "")
	e := events(t, j, id)
	if len(e) != 4 || e[3].Outcome == nil || e[3].Outcome.Reason != parley.ReasonMaxBytes || e[3].At != e[2].At {
		t.Fatalf("%d events, the last is %+v", len(e), e[len(e)-1])
	}
	if r := put(t, h, a, id, bytes.Repeat([]byte{2}, 1000), ""); !r.Duplicate || r.Seq != last.Seq {
		t.Fatalf("%+v", r)
	}
}

// TestAttachmentCount: a conversation has as many files as it can, and then still takes messages.
func TestAttachmentCount(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	for i := range limits.MaxAttachments {
		put(t, h, a, id, fmt.Appendf(nil, "%d", i), "")
	}
	refused(t, putErr(t, h, a, id, "one too many"), parley.ErrTooLarge)
	if r := put(t, h, a, id, []byte("500"), ""); !r.Duplicate || r.Seq != 502 {
		t.Errorf("%+v", r)
	}
	say(t, h, a, message(id, "done", parley.FinalityTurn, ""))
}

// TestMessageWithAttachments: a message refers to what was added before it, and is refused for its turn first.
func TestMessageWithAttachments(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	id := create(t, h, a, &parley.CreateConversationParams{Participants: seats("a", "b")})
	sum := sha256.Sum256([]byte("later"))
	hash := hex.EncodeToString(sum[:])
	send := func(p *hub.Principal, key string) (*parley.SendResult, error) {
		return h.Client(p).SendMessage(t.Context(), &parley.SendMessageParams{
			ConversationID: id, Payload: refer(hash), Finality: parley.FinalityTurn, ClientRequestID: key,
		})
	}
	_, err := send(b, "")
	refused(t, err, parley.ErrNotYourTurn)
	_, err = send(a, "k")
	refused(t, err, parley.ErrValidationFailed)
	if !strings.Contains(err.Error(), "payload.attachments[0]") {
		t.Errorf("%v does not say which", err)
	}
	put(t, h, b, id, []byte("later"), "")
	r, err := send(a, "k")
	if err != nil || r.Seq != 3 || r.Duplicate {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = send(a, "k"); err != nil || !r.Duplicate {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestSameAttachmentAtOnce: many put the same bytes, and one event names them.
func TestSameAttachmentAtOnce(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	a := h.LocalPrincipal("a")
	id := create(t, h, a, open2("a"))
	results := make([]parley.PutAttachmentResult, 16)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() {
			r, err := h.PutAttachment(t.Context(), a, &parley.PutAttachmentParams{ConversationID: id, Data: []byte("same"), Name: fmt.Sprint(i)})
			if err != nil {
				t.Error(err)
			}
			results[i] = r
		})
	}
	wg.Wait()
	first := 0
	for _, r := range results {
		if r.Seq != 2 {
			t.Errorf("%+v", r)
		}
		if !r.Duplicate {
			first++
		}
	}
	if n := len(events(t, j, id)); first != 1 || n != 2 {
		t.Errorf("%d were first, %d events", first, n)
	}
}

// TestAttachmentLost: a fault between the file and its event leaves no event without a file; the same call again mends it.
func TestAttachmentLost(t *testing.T) {
	for name, fail := range map[string]struct {
		with error // of the commit; nil: it takes effect, but its outcome is unknown
		told error
	}{
		"no room":   {journal.ErrStorageFull, parley.ErrStorageFull},
		"lost":      {nil, parley.ErrOutcomeUnknown},
		"not there": {journal.ErrOutcomeUnknown, parley.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(t)
			h := startOn(t, j, counted("a"))
			a := h.LocalPrincipal("a")
			id := create(t, h, a, open2("a"))
			if fail.with == nil {
				j.LoseNext()
			} else {
				j.FailNext(fail.with)
			}
			refused(t, putErr(t, h, a, id, "file"), fail.told)
			if !hasBlob(t, j, "file") {
				t.Fatal("the event was written before the file")
			}
			if err := h.Close(); err != nil {
				t.Fatal(err)
			}
			h = startOn(t, crash(t, j), counted("b"))
			r := put(t, h, a, id, []byte("file"), "")
			if r.Seq != 2 || r.Duplicate != (fail.with == nil) {
				t.Errorf("%+v", r)
			}
			if got, err := get(h, a, id, r.SHA256); err != nil || string(got) != "file" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// TestAttachmentNotCommitted: a file cannot be read before its event is durable, and a repeated put
// waits for that.
func TestAttachmentNotCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		a := h.LocalPrincipal("a")
		id := create(t, h, a, open2("a"))
		j.Hold()
		defer j.Release() // also when the test fails, which waits for the commit
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- putErr(t, h, a, id, "file") }()
			synctest.Wait()
		}
		sum := sha256.Sum256([]byte("file"))
		_, err := get(h, a, id, hex.EncodeToString(sum[:]))
		if refused(t, err, parley.ErrNotFound); len(done) > 0 {
			t.Error("a put was answered before the commit")
		}
		j.Release()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// brokenBlobs is a journal whose files are damaged, missing or of another length.
type brokenBlobs struct {
	journal.Journal
	err  error
	data []byte
}

func (b *brokenBlobs) GetBlob(h journal.Hash) ([]byte, error) { return b.data, b.err }

func TestDamagedAttachment(t *testing.T) {
	j := newJournal(t)
	first := startOn(t, j, counted("a"))
	id := create(t, first, first.LocalPrincipal("a"), open2("a"))
	hash := put(t, first, first.LocalPrincipal("a"), id, []byte("whole"), "").SHA256
	damage := &journal.DamageError{File: "blobs/ab/cd", What: "hash of the blob"}
	for _, b := range []*brokenBlobs{{err: damage}, {err: journal.ErrNoBlob}, {data: []byte("whol")}} {
		b.Journal = j
		h := startOn(t, b, counted("b"))
		data, err := get(h, h.LocalPrincipal("a"), id, hash)
		if refused(t, err, parley.ErrInternal); len(data) > 0 || !strings.Contains(err.Error(), hash) || b.err != nil &&
			!errors.Is(err, b.err) {
			t.Errorf("%q, %v", data, err)
		}
		b.err = journal.ErrClosed
		if _, err := get(h, h.LocalPrincipal("a"), id, hash); !errors.Is(err, parley.ErrUnavailable) ||
			strings.Contains(err.Error(), "written") {
			t.Errorf("closed: %v", err)
		}
		if w := parley.ToWire(err); strings.Contains(w.Message, "blobs") {
			t.Errorf("the inside is told: %+v", w)
		}
	}
}

// fullOfBlobs is a journal that has no room for files, or fails.
type fullOfBlobs struct {
	journal.Journal
	err error
}

func (f fullOfBlobs) PutBlob([]byte) (journal.Hash, error) { return journal.Hash{}, f.err }

// TestAttachmentWithoutRoom: a file that cannot be kept is not added, and the hub says that it is full.
func TestAttachmentWithoutRoom(t *testing.T) {
	for err, want := range map[error]error{
		journal.ErrStorageFull: parley.ErrStorageFull, journal.ErrClosed: parley.ErrUnavailable, errors.New("disk on fire"): parley.ErrInternal,
	} {
		j := newJournal(t)
		h := startOn(t, fullOfBlobs{j, err}, nil)
		a := h.LocalPrincipal("a")
		id := create(t, h, a, open2("a"))
		got := putErr(t, h, a, id, "file")
		if parley.ErrorRowOf(got).Err != want || strings.Contains(parley.ToWire(got).Message, "fire") {
			t.Errorf("%v: %v", err, got)
		}
		if full := errors.Is(h.Ready(), parley.ErrStorageFull); full != (want == parley.ErrStorageFull) {
			t.Errorf("%v: ready says %v", err, h.Ready())
		}
		if n := len(events(t, j, id)); n != 1 {
			t.Errorf("%v: %d events", err, n)
		}
	}
}

// TestUploadsAreBounded: slow uploads of one token leave room for others, and an upload without
// room is refused.
func TestUploadsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), nil)
		ids := []string{"a", "b", "c"}
		id := create(t, h, h.LocalPrincipal("a"), open2(ids...))
		slow := make(chan struct{})
		reading, ended := 0, make(chan error, 8)
		upload := func(who string, i int) {
			_, err := h.UploadAttachment(t.Context(), h.LocalPrincipal(who), &parley.PutAttachmentParams{ConversationID: id},
				-1, func() ([]byte, error) {
					reading++ // one at a time: see Wait below
					<-slow
					return fmt.Appendf(nil, "%s%d", who, i), nil
				})
			ended <- err
		}
		for i, want := range []struct {
			who     string
			reading int
		}{{"a", 1}, {"a", 2}, {"a", 2}, {"b", 3}, {"b", 4}, {"c", 4}} {
			go upload(want.who, i)
			synctest.Wait()
			if reading != want.reading {
				t.Fatalf("%d uploads are read after that of %s, want %d", reading, want.who, want.reading)
			}
		}
		time.Sleep(10 * time.Second) // in the bubble
		synctest.Wait()
		for range 2 {
			refused(t, <-ended, parley.ErrUnavailable)
		}
		go upload("c", 9)
		synctest.Wait()
		close(slow)
		for range 5 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// TestDrainEndsWaitingUpload: an upload that waits for memory ends at once when the hub drains.
func TestDrainEndsWaitingUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), nil)
		id := create(t, h, h.LocalPrincipal("a"), open2("a"))
		arrived, ended := make(chan struct{}), make(chan error, 3)
		for range 3 { // two of them have all the memory of one token
			go func() {
				_, err := h.UploadAttachment(t.Context(), h.LocalPrincipal("a"),
					&parley.PutAttachmentParams{ConversationID: id}, -1, func() ([]byte, error) {
						<-arrived
						return []byte("x"), nil
					})
				ended <- err
			}()
		}
		synctest.Wait()
		h.Drain()
		synctest.Wait() // no time passes
		if len(ended) != 1 {
			t.Fatalf("%d uploads have ended", len(ended))
		}
		if err := <-ended; !errors.Is(err, parley.ErrUnavailable) || !strings.Contains(err.Error(), "about to stop") {
			t.Errorf("the waiting upload: %v", err)
		}
		close(arrived)
		for range 2 {
			refused(t, <-ended, parley.ErrUnavailable)
		}
	})
}
