// Package timetable posts notes at times that are set, as cron tables say them.
//
//   - Each due time of an entry is posted at most once, by however many hubs and after however many restarts: it is the key of the note.
//   - Of due times that were missed, because nothing ran or could be posted, only the last one is posted, and only within the entry's CatchUp. What is less than a minute late
//     has not been missed.
//   - A note that cannot be posted is tried again until the next one is due. An entry whose conversation is closed has ended.
//
// There is nothing that it keeps: the log of the conversation is all.
package timetable
