package bolt

import (
	"context"

	"github.com/parleyhub/parley/hub/journal"
)

// Verify reads every record and blob: positions and seqs without gap, checksums, hash chains, and that index.db finds each record where it
// is. Appends continue meanwhile; what they add is not looked at.
func (j *Journal) Verify(ctx context.Context) (journal.Report, error) {
	var rep journal.Report
	if j.isClosed() {
		return rep, journal.ErrClosed
	}
	known := newHeadCache(cachedHeads)
	last := j.Last()
	for after := journal.Position(0); after < last; {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		page, err := j.scan(after, last, viewRecords, 4<<20, known)
		if err != nil {
			return rep, err
		}
		for _, r := range page {
			found, err := j.index.positions(r.Conversation, r.Seq, 1)
			if err != nil {
				return rep, err
			}
			if len(found) != 1 || found[0] != r.Position {
				return rep, &journal.DamageError{
					File: indexFile, Position: r.Position, Conversation: r.Conversation, Seq: r.Seq, What: "position of the record",
				}
			}
			rep.Records++
			rep.Bytes += int64(len(r.Data))
			if r.Seq == 1 {
				rep.Conversations++
			}
		}
		after += journal.Position(len(page))
	}
	return rep, j.verifyBlobs(ctx)
}
