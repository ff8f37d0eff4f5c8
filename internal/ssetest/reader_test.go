package ssetest_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/parleyhub/parley/internal/sse"
	"github.com/parleyhub/parley/internal/ssetest"
)

const most = 1 << 20

// readAll returns the messages of a stream, its last id and the error at its end.
func readAll(r io.Reader, most int) (messages []string, last string, err error) {
	reader := ssetest.NewReader(r, most)
	for {
		m, err := reader.Next()
		if err != nil {
			return messages, reader.LastID(), err
		}
		messages = append(messages, fmt.Sprintf("%s|%s|%s", m.ID, m.Name, m.Data))
	}
}

// TestReader reads the examples of the HTML standard, and what it says of odd lines.
func TestReader(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		want         []string
		last         string
	}{
		{"three", "data: YHOO\ndata: +2\ndata: 10\n\n", []string{"||YHOO\n+2\n10"}, ""},
		{"comments and ids", ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
			[]string{"1||first event", "||second event", "|| third event"}, ""},
		{"empty data, and one cut off", "data\n\ndata\ndata\n\ndata:", []string{"||", "||\n"}, ""},
		{"spaces", "data:test\n\ndata: test\n\n", []string{"||test", "||test"}, ""},
		{"names", "event: guidance\ndata: {}\n\ndata: x\n\n", []string{"|guidance|{}", "||x"}, ""},
		{"a name without data", "event: lost\n\ndata: x\n\n", []string{"||x"}, ""},
		{"an id without data", "id: 7\n\n", nil, "7"},
		{"an id with NUL", "id: 7\ndata: a\n\nid: 8\x00\ndata: b\n\n", []string{"7||a", "7||b"}, "7"},
		{"cut off behind an id", "id: 7\ndata: a\n\nid: 8\n", []string{"7||a"}, "7"},
		{"cut off in an id", "id: 7\ndata: a\n\nid: 8", []string{"7||a"}, "7"},
		{"cut off behind data", "id: 7\ndata: a\n\nid: 8\ndata: b\n", []string{"7||a"}, "7"},
		{"cut off behind the first id", "id: 8\n", nil, ""},
		{"line ends", "data: a\r\rdata: b\r\n\r\ndata: c\n\n", []string{"||a", "||b", "||c"}, ""},
		{"byte order mark", "\ufeffdata: a\n\n", []string{"||a"}, ""},
		{"unknown fields", "color: red\ndata: a\nData: b\n\n", []string{"||a"}, ""},
	} {
		for _, r := range []io.Reader{strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream))} {
			got, last, err := readAll(r, most)
			if !slices.Equal(got, c.want) || last != c.last || err != io.EOF {
				t.Errorf("%s: %q, last id %q, %v", c.name, got, last, err)
			}
		}
	}
}

// TestReaderIsBounded: a stream that does not end its line or its message is given up.
func TestReaderIsBounded(t *testing.T) {
	for name, unit := range map[string]string{"line": "a", "message": "data: aaaaaaaaa\n", "name": "event:a"} {
		endless := iotest.TimeoutReader(strings.NewReader(strings.Repeat(unit, 1000)))
		if _, _, err := readAll(endless, 100); !errors.Is(err, bufio.ErrTooLong) {
			t.Errorf("%s without end: %v", name, err)
		}
	}
	exact := sse.Append(nil, sse.Message{Data: bytes.Repeat([]byte("a"), 100)})
	if got, _, err := readAll(bytes.NewReader(exact), 100); len(got) != 1 || err != io.EOF {
		t.Errorf("a message just as long as it may be: %d, %v", len(got), err)
	}
}

// FuzzReader: however a stream is cut into reads it says the same, and never more than a message
// may have.
func FuzzReader(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "id: 1\r\nevent: x\rdata\n\r\n", "\ufeff:\n\nretry: 5\ndata:a\ndata: b\n\n",
		"data: a", "\r\n\r\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		const most = 64
		whole, last, err := readAll(bytes.NewReader(stream), most)
		bytewise, last1, err1 := readAll(iotest.OneByteReader(bytes.NewReader(stream)), most)
		if !slices.Equal(whole, bytewise) || last != last1 || err.Error() != err1.Error() {
			t.Errorf("%q, %q, %v is, byte by byte, %q, %q, %v", whole, last, err, bytewise, last1, err1)
		}
		for _, m := range whole {
			if len(m) > 3*most+16 {
				t.Errorf("a message of %d bytes", len(m))
			}
		}
	})
}

// FuzzRoundTrip checks that the reader returns the written messages.
func FuzzRoundTrip(f *testing.F) {
	f.Add("7", "", []byte(`{"seq":7}`))
	f.Add("", "guidance", []byte("a\n\nb"))
	f.Fuzz(func(t *testing.T, id, name string, data []byte) {
		if strings.ContainsAny(id+name, "\r\n\x00") || bytes.ContainsRune(data, '\r') || data == nil {
			t.Skip("what Append does not take")
		}
		stream := sse.Append(sse.AppendComment(sse.AppendRetry(nil, 1)), sse.Message{ID: id, Name: name, Data: data})
		r := ssetest.NewReader(bytes.NewReader(stream), most)
		m, err := r.Next()
		if err != nil || m.ID != id || m.Name != name || !bytes.Equal(m.Data, data) {
			t.Errorf("%q is read as %+v, %v", stream, m, err)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Errorf("more than one message: %v", err)
		}
	})
}
