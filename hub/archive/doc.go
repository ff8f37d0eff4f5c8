// Package archive is the log as lines of text: exports and backups. It writes them, checks them, and puts them back into a journal.
//
// # The lines
//
// Every line is one JSON object, written in one way: the same content has the same bytes.
//
//	{"parleyBackup":1,"hubVersion":"...","at":"...","position":N}                the first line of a backup
//	{"attachment":"<sha256>","size":N,"data":"<base64>"}                         a file, right before the event that first names it
//	{"attachment":"<sha256>","size":N,"missing":true}                            in its place, where it was gone or damaged
//	{"conversationId":"...","seq":N,"hash":"<hash chain>","event":{...}}         an event, as stored
//	{"end":true,"records":N,"conversations":N,"sha256":"<of all bytes before>"}  the last line of a backup
//
// An export has some conversations, one after the other, and neither first nor last line. A backup has all, the hub's own ("~tokens"
// and "~runners") and those that adapters keep among them, in commit order up to a position; without its last line it is known to be cut off.
//
// # Guarantees
//
//   - Check takes nothing that was not written so: a changed byte, a line that is missing, twice, or in another place, an event
//     under another conversation's id, a fork whose events are not those of which it says the hash. Of an export that lost lines at its end it cannot know; of a backup it does.
//   - Import puts nothing into a journal that does not continue what is there, and nothing that a hub could not have written.
//   - Memory is bounded by the number of conversations and attachments, not by their size: lines are read one at a time, and none
//     longer than its kind may be.
package archive
