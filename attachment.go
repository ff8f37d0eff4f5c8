package parley

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// ErrDamaged is the error of a reader of [ReadAttachment] if the bytes do not have the expected
// hash.
var ErrDamaged = errors.New("the file is not the one that its hash names")

// ReadAttachment returns a reader of a whole file of a conversation. It fetches one part at a time.
// The reader returns io.EOF only if the bytes have the hash sha256Hex. Do not use the bytes before
// that. Otherwise it returns ErrDamaged or an error of [Client.GetAttachment].
func ReadAttachment(ctx context.Context, c Client, conversationID, sha256Hex string) io.Reader {
	return &attachmentReader{
		ctx:          ctx,
		client:       c,
		conversation: conversationID,
		want:         sha256Hex,
		sum:          sha256.New(),
		size:         -1,
	}
}

// attachmentReader fetches the next part when the caller has read the one before.
type attachmentReader struct {
	ctx          context.Context // of the calls: io.Reader has no context
	client       Client
	conversation string
	want         string
	sum          hash.Hash // of the bytes that the caller has read

	offset, size int64 // size is -1 before the first part
	part         []byte
	err          error
}

func (r *attachmentReader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if len(r.part) == 0 && r.err == nil {
		r.err = r.next()
	}
	if len(r.part) == 0 {
		return 0, r.err
	}
	n := copy(b, r.part)
	r.sum.Write(b[:n])
	r.part = r.part[n:]
	return n, nil
}

// next fetches the next part. It returns io.EOF after the last part if the hash matches.
func (r *attachmentReader) next() error {
	if r.offset == r.size {
		if got := hex.EncodeToString(r.sum.Sum(nil)); got != r.want {
			return fmt.Errorf("attachment %s: %w", r.want, ErrDamaged)
		}
		return io.EOF
	}
	p, err := r.client.GetAttachment(
		r.ctx,
		&GetAttachmentParams{ConversationID: r.conversation, SHA256: r.want, Offset: r.offset},
	)
	if err != nil {
		return err
	}
	if len(p.Data) == 0 || r.size >= 0 && p.Size != r.size || r.offset+int64(len(p.Data)) > p.Size {
		return fmt.Errorf("attachment %s: %w", r.want, ErrDamaged)
	}
	r.part, r.size = p.Data, p.Size
	r.offset += int64(len(p.Data))
	return nil
}
