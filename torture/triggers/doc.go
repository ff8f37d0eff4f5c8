// Package triggers kills a hub again and again while notes and messages wake agents: commands by
// sessions, whose answers wake more of them, and two agents that take their turns.
//
// Afterwards the log says of each event whom it has woken, in the commit that has brought it, and
// each of these matches has been consumed by one finished turn or session that was given it; no
// command was started twice.
package triggers
