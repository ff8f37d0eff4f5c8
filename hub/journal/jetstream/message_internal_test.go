// These tests are in the package because the layout of a message is internal.
package jetstream

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
)

var goldenMessage = message{
	writer: [16]byte{1, 2, 3}, number: 7,
	parts: []part{
		{conversation: "c", first: true, on: journal.Head{Seq: 300, Hash: journal.Hash{0xaa}}, labels: []string{"l", "m"},
			events: [][]byte{[]byte("one"), {}}},
		{conversation: "d", first: true, events: [][]byte{[]byte("x")}, final: true},
		{conversation: "c", events: [][]byte{[]byte("two")}},
	},
}

// golden is goldenMessage as version 1 is stored. It never changes: streams have it.
const golden = "0100" + "01020300000000000000000000000000" + "0000000000000007" + "03" +
	"020163" + "ac02" + "aa00000000000000000000000000000000000000000000000000000000000000" + "02016c016d" + "02036f6e6500" +
	"030164" + "00" + "0000000000000000000000000000000000000000000000000000000000000000" + "00" + "010178" +
	"000163" + "00" + "010374776f" + "CRC"

func TestGoldenMessage(t *testing.T) {
	t.Parallel()
	b := encodeMessage(&goldenMessage, encodeParts(goldenMessage.parts))
	if got, want := hex.EncodeToString(b[:len(b)-4]), strings.TrimSuffix(golden, "CRC"); got != want {
		t.Errorf("stored as\n%s, expected\n%s", got, want)
	}
	m, err := decodeMessage(b)
	if err != nil || !reflect.DeepEqual(m, goldenMessage) {
		t.Errorf("%+v, %v", m, err)
	}
	h := journal.Hash{1}
	elsewhere := message{number: 1, blob: &h}
	if m, err := decodeMessage(encodeMessage(&elsewhere, nil)); err != nil || !reflect.DeepEqual(m, elsewhere) {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := decodeMessage(encodeMessage(&message{}, encodeParts(nil))); err != nil || len(m.parts) != 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestChangedMessage: a message that has lost its end, or has one bit changed, is refused.
func TestChangedMessage(t *testing.T) {
	t.Parallel()
	b := encodeMessage(&goldenMessage, encodeParts(goldenMessage.parts))
	for i := range b {
		if _, err := decodeMessage(b[:i]); err == nil {
			t.Errorf("%d of %d bytes are taken", i, len(b))
		}
		for bit := range 8 {
			c := bytes.Clone(b)
			c[i] ^= 1 << bit
			if _, err := decodeMessage(c); err == nil {
				t.Errorf("bit %d of byte %d is not looked at", bit, i)
			}
		}
	}
}

// FuzzParts: whatever the parts are, they are refused, or are what they are encoded as.
func FuzzParts(f *testing.F) {
	f.Add(encodeParts(goldenMessage.parts))
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, b []byte) {
		parts, err := decodeParts(b)
		if err != nil {
			if !errors.Is(err, errLayout) && !errors.Is(err, journal.ErrFormat) {
				t.Errorf("error %v", err)
			}
			return
		}
		again, err := decodeParts(encodeParts(parts))
		if err != nil || !reflect.DeepEqual(again, parts) {
			t.Errorf("%+v came back as %+v, %v", parts, again, err)
		}
	})
}
