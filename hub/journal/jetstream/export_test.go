package jetstream

import (
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// Pause keeps the stream from the replica until Resume: the node lags.
func (j *Journal) Pause() {
	j.follower.mu.Lock()
	defer j.follower.mu.Unlock()
	j.follower.paused = make(chan struct{})
}

// Resume ends Pause.
func (j *Journal) Resume() {
	j.follower.mu.Lock()
	defer j.follower.mu.Unlock()
	close(j.follower.paused)
	j.follower.paused = nil
}

// Applied is how far the stream is in the replica.
func (j *Journal) Applied() uint64 {
	applied, _ := j.follower.position()
	return applied
}

// Records is the replica's journal.
func (j *Journal) Records() *bolt.Journal { return j.replica.records }

// Moved is closed when the replica has more.
func (j *Journal) Moved() <-chan struct{} {
	_, moved := j.follower.position()
	return moved
}

// MaxParts bounds the parts of a message.
func (j *Journal) MaxParts() int { return j.maxParts }

// Written returns the stored form of a message with one event.
func Written(conversation string, on journal.Head, event []byte) []byte {
	p := part{conversation: conversation, first: true, on: on, events: [][]byte{event}}
	return encodeMessage(&message{}, encodeParts([]part{p}))
}

// SetVersion sets the version of a message.
func SetVersion(b []byte, v byte) { b[0] = v }

// ReplicaFile is the name of the file that says what a replica is of.
const ReplicaFile = replicaFile
