package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/parleyhub/parley/hub/journal"
)

// Blobs are in a separate stream, NAME-blobs, in pieces: NAME.blob.HASH.0, .1, ..., and then
// NAME.blob.HASH.size with the number of bytes. A subject has one message. Whoever puts a blob
// again writes the same bytes to the same subjects, so a second put loses nothing and repairs
// damage. (The object store of nats.go replaces a whole object: an attempt that fails half-way can
// remove the previous one.)
const (
	blobPieceBytes = 256 << 10
	// blobPieces is the number of pieces that are sent at once.
	blobPieces = 8
	// blobPatience and blobRate bound the time for a blob.
	blobPatience = 10 * time.Second
	blobRate     = 2 << 20
)

type blobs struct {
	j      *Journal
	stream jetstream.Stream
	piece  int
}

func (j *Journal) openBlobs(ctx context.Context) error {
	want := j.wanted()
	c := jetstream.StreamConfig{
		Name: j.opts.Name + "-blobs", Subjects: []string{j.opts.Name + ".blob.*.*"}, Description: "Parley: blobs, by their SHA-256",
		Storage: want.Storage, Replicas: j.stream.CachedInfo().Config.Replicas, Retention: want.Retention, Discard: jetstream.DiscardOld,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: 1, MaxMsgSize: -1, MaxConsumers: -1, DenyDelete: true, DenyPurge: true,
	}
	asking, cancel := context.WithTimeout(ctx, requestTimeout) // as in findStream
	defer cancel()
	s, err := j.js.Stream(asking, c.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		s, err = j.js.CreateStream(asking, c)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s, err = j.js.Stream(asking, c.Name)
		}
	}
	if err != nil {
		return unavailable(err)
	}
	info := s.CachedInfo()
	f := info.Config
	if f.Storage != c.Storage || f.Retention != c.Retention || f.MaxAge != 0 || f.MaxMsgs > 0 || f.MaxBytes > 0 ||
		f.MaxMsgsPerSubject != 1 || !f.DenyDelete || !f.DenyPurge || f.NoAck ||
		j.opts.Replicas > 0 && f.Replicas != c.Replicas {
		return fmt.Errorf("%w: limits, storage, replicas, deny_delete or deny_purge of the stream %s", ErrConfig, c.Name)
	}
	j.blobs = &blobs{j: j, stream: s, piece: min(blobPieceBytes, int(j.nc.MaxPayload())/2)}
	return j.checkDurable(ctx, info)
}

func (b *blobs) subject(h journal.Hash, piece string) string {
	return b.j.opts.Name + ".blob." + hex.EncodeToString(h[:]) + "." + piece
}

// patience returns the time for a blob of a size.
func (b *blobs) patience(bytes int) time.Duration {
	return blobPatience + time.Duration(bytes/blobRate)*time.Second
}

// put stores data durably.
func (b *blobs) put(ctx context.Context, data []byte) (journal.Hash, error) {
	h := journal.Hash(sha256.Sum256(data))
	var waiting []jetstream.PubAckFuture
	await := func(n int) error {
		for len(waiting) > n {
			f := waiting[0]
			waiting = waiting[1:]
			select {
			case <-f.Ok():
			case err := <-f.Err():
				return b.named(err)
			case <-ctx.Done():
				return unavailable(ctx.Err())
			}
		}
		return nil
	}
	send := func(piece string, data []byte) error {
		f, err := b.j.js.PublishMsgAsync(&nats.Msg{Subject: b.subject(h, piece), Data: data})
		if err != nil {
			return b.named(err)
		}
		waiting = append(waiting, f)
		return await(blobPieces - 1)
	}
	for i := 0; i*b.piece < len(data); i++ {
		if err := send(strconv.Itoa(i), data[i*b.piece:min((i+1)*b.piece, len(data))]); err != nil {
			return h, err
		}
	}
	if err := await(0); err != nil {
		return h, err
	}
	if err := send("size", binary.BigEndian.AppendUint64(nil, uint64(len(data)))); err != nil {
		return h, err
	}
	return h, await(0)
}

func (b *blobs) named(err error) error {
	if full(err) {
		return fmt.Errorf("%w: %w", journal.ErrStorageFull, err)
	}
	return unavailable(err)
}

// get returns the data of a hash.
func (b *blobs) get(ctx context.Context, h journal.Hash) ([]byte, error) {
	size, err := b.last(ctx, b.subject(h, "size"))
	if err != nil {
		return nil, err
	}
	if len(size) != 8 {
		return nil, b.damaged(h)
	}
	want := binary.BigEndian.Uint64(size)
	var data []byte
	for i := 0; uint64(len(data)) < want; i++ {
		piece, err := b.last(ctx, b.subject(h, strconv.Itoa(i)))
		if err != nil && !errors.Is(err, journal.ErrNoBlob) {
			return nil, err
		}
		if len(piece) == 0 {
			return nil, b.damaged(h)
		}
		data = append(data, piece...)
	}
	if journal.Hash(sha256.Sum256(data)) != h {
		return nil, b.damaged(h)
	}
	return data, nil
}

func (b *blobs) damaged(h journal.Hash) error {
	return &journal.DamageError{File: fmt.Sprintf("stream %s-blobs, blob %x", b.j.opts.Name, h[:]),
		What: "hash of the blob"}
}

// last returns the message of a subject. It asks the leader, because other replicas of the stream
// may be behind.
func (b *blobs) last(ctx context.Context, subject string) ([]byte, error) {
	m, err := b.stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, journal.ErrNoBlob
	}
	if err != nil {
		return nil, unavailable(err)
	}
	return m.Data, nil
}
