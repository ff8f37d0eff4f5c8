package generate

import (
	"github.com/invopop/jsonschema"

	"github.com/parleyhub/parley"
)

// lines has the names of the line schemas by noun: the lines of an export, and the two lines that
// only a backup has.
var lines = map[string]string{
	"export.line": "ExportLine", "export.event": "ExportEvent", "export.attachment": "ExportAttachment",
	"export.missing": "ExportMissing",
	"backup.line":    "BackupLine", "backup.header": "BackupHeader", "backup.trailer": "BackupTrailer",
}

// addLines adds the schemas of the lines of exports and backups. The types are those of package
// archive, which this package may not import.
func (d *definitions) addLines() {
	count := func(description string) *jsonschema.Schema {
		s := &jsonschema.Schema{Type: "integer", Description: description}
		between(0, maxInteger)(s)
		return s
	}
	hash := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: sha256Pattern, Description: description}
	}
	yes := &jsonschema.Schema{Const: true}
	size := count("Of the file, in bytes.")
	size.Maximum = number(parley.MaxAttachmentBytes)
	seq := count("That of the event.")
	seq.Minimum = number(1)

	d.line("ExportEvent", "An event of a conversation, with the hash of the chain up to it.", members(
		"conversationId", &jsonschema.Schema{Type: "string", Description: "One that begins with ~ is the hub's own; only " +
			"backups have it."},
		"seq", seq, "hash", hash("SHA-256 of the hash before it and the bytes of event. Before the first it is SHA-256 of "+
			"conversationId."), "event", ref("Event"),
	))
	d.line("ExportAttachment", "A file, right before the first event that names it.", members(
		"attachment", hash("SHA-256 of the file."), "size", size,
		"data", &jsonschema.Schema{Type: "string", ContentEncoding: "base64", Pattern: base64Pattern},
	))
	d.line("ExportMissing", "A file that was gone or damaged when the line was written.",
		members("attachment", hash("SHA-256 of the file."), "size", size, "missing", yes))
	d.line("BackupHeader", "The first line of a backup.", members(
		"parleyBackup", &jsonschema.Schema{Const: 1, Description: "The version of backups."},
		"hubVersion", &jsonschema.Schema{Type: "string", Description: "That of the program that wrote it."},
		"at", d.scalar(timestampType, false), "position", count("How many events the hub had when the backup began."),
	))
	d.line("BackupTrailer", "The last line of a backup. Without it the backup was cut off.", members(
		"end", yes, "records", count("Lines of events."), "conversations", count(""), "sha256",
		hash("SHA-256 of all bytes before this line."),
	))
	export := []*jsonschema.Schema{ref("ExportEvent"), ref("ExportAttachment"), ref("ExportMissing")}
	d.line("ExportLine", "Any line of an export (application/x-ndjson).", &jsonschema.Schema{AnyOf: export})
	d.line("BackupLine", "Any line of a backup (application/x-ndjson).", &jsonschema.Schema{
		AnyOf: append([]*jsonschema.Schema{ref("BackupHeader"), ref("BackupTrailer")}, export...),
	})
}

func (d *definitions) line(name, description string, s *jsonschema.Schema) {
	s.Description = description
	d.schemas[name] = s
}
