package conv

import (
	"bytes"
	"encoding/gob"
	"sync"

	"github.com/parleyhub/parley/hub/fold"
)

// stateCoder encodes States as gobs and decodes them. Gob compiles a type for each stream, which is
// slow, so the streams are reused: each begins with types, which are the same in everything that one
// coder wrote, and continues with one state after another.
type stateCoder struct {
	types []byte // the beginning of the stream
	buf   bytes.Buffer
	enc   *gob.Encoder
	dec   *gob.Decoder
}

// encoders has the coders of this process. decoders has those for the types that were read last.
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

// encode returns the bytes of a state, which are valid until the next call.
func (c *stateCoder) encode(s *fold.State) []byte {
	c.buf.Reset()
	if err := c.enc.Encode(s); err != nil {
		panic(err) // gob can encode every field of a State
	}
	return c.buf.Bytes()
}

// newStateDecoder returns a decoder of streams that begin with types.
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

// decodeState decodes the state of a stream.
func decodeState(types, b []byte) (s fold.State, err error) {
	c, _ := decoders.Get().(*stateCoder)
	if c == nil || !bytes.Equal(c.types, types) {
		if c, err = newStateDecoder(types); err != nil {
			return s, err
		}
	}
	if err = c.decode(b, &s); err == nil {
		decoders.Put(c) // after an error it is not usable
	}
	return s, err
}
