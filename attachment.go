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

// ErrDamaged is what a reader of [ReadAttachment] ends with when the bytes are not those of the hash.
var ErrDamaged = errors.New("the file is not the one that its hash names")

// ReadAttachment reads a whole file of a conversation, part by part. The reader ends with io.EOF only when the bytes had the hash; what
// was read before may be trusted only then. It fails with ErrDamaged, or as GetAttachment does.
func ReadAttachment(ctx context.Context, c Client, conversationID, sha256Hex string) io.Reader {
	return &attachmentReader{ctx: ctx, client: c, conversation: conversationID, want: sha256Hex, sum: sha256.New(), size: -1}
}

// attachmentReader reads parts as they are asked for.
type attachmentReader struct {
	ctx          context.Context // of the reads: an io.Reader takes none
	client       Client
	conversation string
	want         string
	sum          hash.Hash // of what was given

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

// next gets the next part, or says how it ended.
func (r *attachmentReader) next() error {
	if r.offset == r.size {
		if got := hex.EncodeToString(r.sum.Sum(nil)); got != r.want {
			return fmt.Errorf("attachment %s: %w", r.want, ErrDamaged)
		}
		return io.EOF
	}
	p, err := r.client.GetAttachment(r.ctx, &GetAttachmentParams{ConversationID: r.conversation, SHA256: r.want, Offset: r.offset})
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
