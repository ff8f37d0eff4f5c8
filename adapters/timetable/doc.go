// Package timetable posts notes at scheduled times, written as in cron tables. [New] creates a
// timetable, and its method Run posts.
//
//   - Each due time of an entry is posted at most once, by any number of hubs and after any number
//     of restarts: it is the key of the note.
//   - Of missed due times, only the last one is posted, and only within the CatchUp of the entry. A
//     due time that is less than a minute late is not missed.
//   - A note that cannot be posted is retried until the next one is due. An entry ends when its
//     conversation is closed.
//
// The package stores nothing: the log of the conversation is its only state.
package timetable
