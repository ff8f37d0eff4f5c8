package parley

// ProtocolVersion is the version of the protocol that authenticate reports. See protocol.md. It is
// independent of the version of the module.
const ProtocolVersion = "1"

// Limits of calls. The hub refuses a larger value with [ErrTooLarge] or [ErrValidationFailed],
// except where the constant says otherwise. The reference documentation lists the other limits of
// the hub.
const (
	// MaxFrameBytes is the maximum size of one WebSocket message or HTTP body, in bytes. The hub
	// closes the WebSocket with code 1009, or answers with HTTP status 413.
	MaxFrameBytes = 1 << 20
	// MaxEventBytes is the maximum size of one encoded event, in bytes.
	MaxEventBytes = 900 << 10
	// MaxWaitMs is the maximum timeoutMs of a call that waits, in milliseconds. The hub reduces a
	// larger value to it.
	MaxWaitMs = 60_000
	// MaxPage is the maximum limit of a call that returns a page, in rows.
	MaxPage = 1000
	// MaxTitleBytes is the maximum size of a title, in bytes.
	MaxTitleBytes = 256
	// MaxReasonBytes is the maximum size of a reason or comment, in bytes.
	MaxReasonBytes = 1 << 10
	// MaxKeyBytes is the maximum size of an idempotency key, and of the key of an approval, in bytes.
	MaxKeyBytes = 128
	// MaxDeltaBytes is the maximum size of the text of one [Delta], in bytes.
	MaxDeltaBytes = 16 << 10
	// MaxAttachmentBytes is the maximum size of one file, in bytes.
	MaxAttachmentBytes = 16 << 20
	// MaxMessageAttachments is the maximum number of attachments of one message.
	MaxMessageAttachments = 16
	// MaxEventsLimit is the maximum of [Limits].MaxEvents.
	MaxEventsLimit = 1_000_000
	// MaxBytesLimit is the maximum of [Limits].MaxBytes, in bytes.
	MaxBytesLimit = 1 << 30
	// DefaultMaxHops is the value of [Limits].MaxHops if it is absent.
	DefaultMaxHops = 8
)
