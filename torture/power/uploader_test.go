package power

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/parleyhub/parley"
)

// Files are of 1 to smallFile bytes, but for every eighth: up to largeFile, or as much as a frame holds. A season has at most seasonFiles of one uploader.
const (
	smallFile   = 16 << 10
	largeFile   = 600 << 10
	seasonFiles = 120
)

// file is one that was brought, and what was told of it.
type file struct {
	conversation string
	seed         uint64 // of its bytes
	size         int
	sha256       string
	seq          int64 // of the event that names it; 0 until it was acknowledged
	life         int
}

// data makes the bytes of the file.
func (f *file) data() []byte {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(f.seed >> (i % 8 * 8))
	}
	b := make([]byte, f.size)
	_, _ = rand.NewChaCha8(seed).Read(b) // never fails
	return b
}

// uploader brings files, and reads those that it has brought before.
type uploader struct {
	world  *world
	id     string
	season int
	n      int // files of this season
	files  []*file
	open   *file // the last one, while it has no answer
}

func (u *uploader) name() string { return u.id }

func (u *uploader) step(c *caller) (done bool, err error) {
	m, changed := u.world.look()
	switch {
	case u.open != nil:
		return false, u.put(c)
	case m.over:
		return true, nil
	case u.season != m.season:
		u.season, u.n = m.season, 0
	case u.n == seasonFiles:
		<-changed
		return false, nil
	}
	f := &file{conversation: filesID(u.season), seed: rand.Uint64(), size: 1 + rand.IntN(smallFile)}
	if u.n%8 == 7 {
		f.size = 1 + rand.IntN(largeFile)
	}
	sum := sha256.Sum256(f.data())
	f.sha256 = hex.EncodeToString(sum[:])
	u.n++
	u.files, u.open = append(u.files, f), f
	if err := u.put(c); err != nil {
		return false, err
	}
	old := u.files[rand.IntN(len(u.files))]
	if old.seq == 0 {
		return false, nil
	}
	return false, away(old.whole(c))
}

// put brings the file that has no answer yet.
func (u *uploader) put(c *caller) error {
	var r parley.PutAttachmentResult
	f := u.open
	err := c.Call(parley.MethodPutAttachment, parley.PutAttachmentParams{ConversationID: f.conversation, Data: f.data(), Name: "file"}, &r)
	switch {
	case err != nil:
		return away(err)
	case r.SHA256 != f.sha256 || r.Size != int64(f.size):
		return fmt.Errorf("a file of %d bytes, %s, was acknowledged as %+v", f.size, f.sha256, r)
	}
	f.seq, f.life, u.open = r.Seq, c.life, nil
	return nil
}

// errTorn: a file is not what was brought.
var errTorn = errors.New("the file is not whole")

// whole reads the file, which must be all there.
func (f *file) whole(c *caller) error {
	var all []byte
	for {
		var r parley.GetAttachmentResult
		err := c.Call(parley.MethodGetAttachment, parley.GetAttachmentParams{ConversationID: f.conversation, SHA256: f.sha256, Offset: int64(len(all))}, &r)
		if err != nil {
			return err
		}
		all = append(all, r.Data...)
		if len(all) >= f.size || len(r.Data) == 0 {
			break
		}
	}
	if !bytes.Equal(all, f.data()) {
		return fmt.Errorf("%s, %d of %d bytes: %w", f.sha256, len(all), f.size, errTorn)
	}
	return nil
}
