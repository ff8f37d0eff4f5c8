package hub

import (
	"bytes"
	"encoding/gob"
	"sync"

	"github.com/parleyhub/parley/hub/fold"
)

// stateCoder turns States into gobs and back. Gob takes long to compile what it does with a type, and does so for each stream; so the streams are used again: each begins with
// types, which are the same in all that one has written, and goes on with one state after another.
type stateCoder struct {
	types []byte // what begins the stream
	buf   bytes.Buffer
	enc   *gob.Encoder
	dec   *gob.Decoder
}

// encoders have those of this process, and decoders those that have read what was kept last.
var (
	encoders = sync.Pool{New: func() any { return newStateEncoder() }}
	decoders sync.Pool
)

func newStateEncoder() *stateCoder {
	c := &stateCoder{}
	c.enc = gob.NewEncoder(&c.buf)
	c.types = bytes.Clone(c.encode(&fold.State{}))
	return c
}

// encode gives the bytes of a state until the next call.
func (c *stateCoder) encode(s *fold.State) []byte {
	c.buf.Reset()
	if err := c.enc.Encode(s); err != nil {
		panic(err) // nothing in a State is of a kind that gob does not take
	}
	return c.buf.Bytes()
}

// newStateDecoder gives one of streams that begin with types.
func newStateDecoder(types []byte) (*stateCoder, error) {
	c := &stateCoder{types: bytes.Clone(types)}
	c.dec = gob.NewDecoder(&c.buf)
	var none fold.State
	return c, c.decode(types, &none)
}

func (c *stateCoder) decode(b []byte, s *fold.State) error {
	c.buf.Reset()
	c.buf.Write(b)
	if err := c.dec.Decode(s); err != nil {
		return err
	}
	if c.buf.Len() > 0 {
		return errSaved
	}
	return nil
}

// decodeState gives the state of a stream.
func decodeState(types, b []byte) (s fold.State, err error) {
	c, _ := decoders.Get().(*stateCoder)
	if c == nil || !bytes.Equal(c.types, types) {
		if c, err = newStateDecoder(types); err != nil {
			return s, err
		}
	}
	if err = c.decode(b, &s); err == nil {
		decoders.Put(c) // after an error it is of no use
	}
	return s, err
}
