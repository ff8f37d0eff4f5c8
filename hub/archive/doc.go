// Package archive writes, checks and imports the log as lines of text: exports and backups.
//
// # Lines
//
// Every line is one JSON object. Equal content has equal bytes.
//
//	{"parleyBackup":1,"hubVersion":"...","at":"...","position":N}                the first line of a backup
//	{"attachment":"<sha256>","size":N,"data":"<base64>"}                         a file, before the first event that names it
//	{"attachment":"<sha256>","size":N,"missing":true}                            instead, for a missing or damaged file
//	{"conversationId":"...","seq":N,"hash":"<hash chain>","event":{...}}         an event, as stored
//	{"end":true,"records":N,"conversations":N,"sha256":"<of all bytes before>"}  the last line of a backup
//
// An export has some conversations, one after the other, and neither the first nor the last line. A
// backup has all conversations in commit order, up to a position. It includes those of the hub
// ("~tokens" and "~runners") and of adapters. A backup without its last line is incomplete.
//
// # Guarantees
//
//   - Check refuses everything that was not written in this form: a changed byte, a missing,
//     repeated or moved line, an event under another conversation id, and a fork whose events do
//     not have the hash that the fork names. It detects missing lines at the end of a backup, but
//     not at the end of an export.
//   - Import appends only events that continue the journal and that a hub can write.
//   - Memory is bounded by the number of conversations and attachments, not by their size. Lines
//     are read one at a time, up to a maximum length for their kind.
package archive
