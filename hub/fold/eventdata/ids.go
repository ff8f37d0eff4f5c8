package eventdata

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/parleyhub/parley"
)

// AttachmentHash is the SHA-256 of a file.
type AttachmentHash [sha256.Size]byte

// ParseAttachmentHash reads a hash as the protocol writes it: 64 lower-case hex digits.
func ParseAttachmentHash(s string) (AttachmentHash, bool) {
	var h AttachmentHash
	if len(s) != hex.EncodedLen(len(h)) || s != strings.ToLower(s) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(s))
	return h, err == nil
}

// String writes the hash as the protocol does.
func (h AttachmentHash) String() string { return hex.EncodeToString(h[:]) }

// ClaimHash is the SHA-256 of the id of a claim. The id is the secret of the claim.
type ClaimHash [sha256.Size]byte

// HashClaim returns the hash of an id.
func HashClaim(id string) ClaimHash { return sha256.Sum256([]byte(id)) }

// String writes the hash as events do.
func (h ClaimHash) String() string { return hex.EncodeToString(h[:]) }

// ParseClaimHash reads what String writes.
func ParseClaimHash(s string) (ClaimHash, bool) {
	h, ok := ParseAttachmentHash(s) // both have the same text form
	return ClaimHash(h), ok
}

// claimPrefix begins the ids of claims, clm_<turn>_<random>, so that claimTurn need not name the turn.
const claimPrefix = "clm_"

// ClaimID returns the id of a claim of a turn.
func ClaimID(turn int64, random string) string {
	return claimPrefix + strconv.FormatInt(turn, 10) + "_" + random
}

// ErrNoClaimID refuses an id that no hub makes for a claim.
var ErrNoClaimID = parley.Refuse(parley.ErrValidationFailed,
	"claimId is not acceptable", "the id of a claim, as the hub has given it")

// ClaimTurn returns the turn of the id of a claim.
func ClaimTurn(id string) (int64, bool) {
	rest, ok := strings.CutPrefix(id, claimPrefix)
	number, _, found := strings.Cut(rest, "_")
	turn, err := strconv.ParseInt(number, 10, 64)
	return turn, ok && found && err == nil && turn > 0 && len(id) <= parley.MaxKeyBytes
}

// approvalMark separates the two parts of the id of an approval. No id of a conversation contains it.
const approvalMark = "."

// ApprovalID returns the id of the approval that was requested at a seq of a conversation.
func ApprovalID(conversation string, seq int64) string {
	return conversation + approvalMark + strconv.FormatInt(seq, 10)
}

// ParseApprovalID reads what ApprovalID writes.
func ParseApprovalID(id string) (conversation string, seq int64, ok bool) {
	conversation, number, ok := strings.Cut(id, approvalMark)
	seq, err := strconv.ParseInt(number, 10, 64)
	return conversation, seq, ok && err == nil && seq > 0 && ApprovalID(conversation, seq) == id
}
