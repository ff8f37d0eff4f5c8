package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
)

// The bounds of the pages in which a backup reads the journal.
const (
	backupPage  = 500
	backupBytes = 1 << 20
)

// WriteBackup writes all records that j has at the start of the call. It uses no lock and no
// transaction while it writes, so out may be slow. hubVersion is informational. If lost is not nil,
// it is called for each missing or damaged file. The backup marks such a file as missing and
// continues.
func WriteBackup(ctx context.Context, out io.Writer, j journal.Journal, hubVersion string,
	lost func(h journal.Hash, err error)) (Trailer, error) {
	header := Header{Version: Version, HubVersion: hubVersion, At: parley.TimestampOf(time.Now()), Position: j.Last()}
	sum := sha256.New()
	b := &backup{w: NewWriter(io.MultiWriter(out, sum), FromJournal(j))}
	b.w.Lost = lost
	if err := b.object(header); err != nil {
		return Trailer{}, err
	}
	for b.at < header.Position {
		if err := ctx.Err(); err != nil {
			return Trailer{}, context.Cause(ctx)
		}
		page, err := j.Scan(b.at, int(min(header.Position-b.at, backupPage)), backupBytes)
		if err != nil {
			return Trailer{}, err
		}
		if err := b.page(page); err != nil {
			return Trailer{}, err
		}
	}
	t := Trailer{End: true, Records: b.w.Events, Conversations: b.conversations, SHA256: hex.EncodeToString(sum.Sum(nil))}
	return t, b.object(t)
}

// backup is a backup that is being written.
type backup struct {
	w             *Writer
	at            journal.Position
	conversations int64
}

func (b *backup) object(v any) error {
	line, err := encodeLine(v)
	if err != nil {
		return err
	}
	return b.w.line(line)
}

func (b *backup) page(page []journal.Record) error {
	if len(page) == 0 {
		return fmt.Errorf("the log ends at position %d, before its last", b.at)
	}
	for _, r := range page {
		if r.Position != b.at+1 {
			return fmt.Errorf("position %d follows %d", r.Position, b.at)
		}
		if err := b.w.Event(r.Conversation, r.Seq, r.Hash, r.Data); err != nil {
			return err
		}
		if b.at = r.Position; r.Seq == 1 {
			b.conversations++
		}
	}
	return nil
}
