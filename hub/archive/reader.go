package archive

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// lineReader reads lines up to the maximum length for their kind.
type lineReader struct {
	in   *bufio.Reader
	line []byte
}

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, 64<<10)}
}

var errHalfLine = errors.New("the line has no end: the rest is cut off")

// next returns a line with its line feed, which is valid until the next call. At the end it returns
// io.EOF.
func (r *lineReader) next() ([]byte, error) {
	r.line = r.line[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.line = append(r.line, part...)
		bound := maxEventLine
		if bytes.HasPrefix(r.line, attachmentStart) {
			bound = maxAttachmentLine
		}
		switch {
		case len(r.line) > bound:
			return nil, fmt.Errorf("the line is longer than %d bytes", bound)
		case err == nil:
			return r.line, nil
		case err == io.EOF && len(r.line) > 0:
			return nil, errHalfLine
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}
