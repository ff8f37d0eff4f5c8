// Package eventdata encodes events, and reads from one event what does not depend on its conversation: its readers,
// the labels that it adds, and the ids and hashes in it. Everything in it is a pure function.
//
//	b = eventdata.AppendEvent(b, &e)
//	if viewer.Sees(eventdata.MetaOf(&e)) { ... }
package eventdata
