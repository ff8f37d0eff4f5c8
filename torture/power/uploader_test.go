package power

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/torture/workload"
)

// Files have 1 to smallFile bytes, and every eighth up to largeFile, or as much as a frame holds.
const (
	smallFile = 16 << 10
	largeFile = 600 << 10
	// filesEach is the number of files in a conversation, and filePace the number of appends of all
	// writers for each file.
	filesEach = 100
	filePace  = 40
)

// file is an uploaded file with its acknowledgement.
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

// uploader uploads files, and reads files that it uploaded before.
type uploader struct {
	world *world
	id    string
	files []*file
	open  *file // the last one, while it has no answer
}

func newUploader(w *world, i int) *uploader {
	return &uploader{world: w, id: fmt.Sprintf("files%d", i)}
}

func (u *uploader) Name() string { return u.id }

func (u *uploader) Step(c *workload.Caller) (done bool, err error) {
	switch {
	case u.open != nil:
		return false, u.put(c)
	case u.world.Stage() >= workload.Over:
		return true, nil
	}
	id := fmt.Sprintf("%s-%d", u.id, len(u.files)/filesEach)
	if err := u.world.Create(c, id, u.id); err != nil {
		return false, err
	}
	if int64(len(u.files))*filePace > u.world.Done() {
		return false, c.Away(u.world.Wait(c, u.id, id, u.world.Known(id))) // a pause
	}
	f := &file{conversation: id, seed: rand.Uint64(), size: 1 + rand.IntN(smallFile)}
	if len(u.files)%8 == 7 {
		f.size = 1 + rand.IntN(largeFile)
	}
	sum := sha256.Sum256(f.data())
	f.sha256 = hex.EncodeToString(sum[:])
	u.files, u.open = append(u.files, f), f
	if err := u.put(c); err != nil {
		return false, err
	}
	old := u.files[rand.IntN(len(u.files))]
	if old.seq == 0 {
		return false, nil
	}
	return false, c.Away(old.whole(c))
}

// put uploads the file that has no answer yet.
func (u *uploader) put(c *workload.Caller) error {
	var r parley.PutAttachmentResult
	f := u.open
	err := c.Call(methods.PutAttachment, parley.PutAttachmentParams{ConversationID: f.conversation, Data: f.data(), Name: "file"}, &r)
	switch {
	case err != nil:
		return c.Away(err)
	case r.SHA256 != f.sha256 || r.Size != int64(f.size):
		return fmt.Errorf("a file of %d bytes, %s, was acknowledged as %+v", f.size, f.sha256, r)
	}
	f.seq, f.life, u.open = r.Seq, c.Hub, nil
	u.world.Note(f.conversation, r.Seq)
	return nil
}

// errTorn means that a file differs from the upload.
var errTorn = errors.New("the file is not whole")

// whole reads the file, which must be all there.
func (f *file) whole(c *workload.Caller) error {
	var all []byte
	for {
		var r parley.GetAttachmentResult
		err := c.Call(methods.GetAttachment, parley.GetAttachmentParams{ConversationID: f.conversation, SHA256: f.sha256,
			Offset: int64(len(all))}, &r)
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
