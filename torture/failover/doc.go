// Package failover runs three hubs, each a process of its own, on one log, with clients that know
// all three: it kills and freezes a hub under its clients, and puts new builds in the places of the
// old ones. Clients speak again within seconds, what was acknowledged is there once, and no turn is
// spoken twice.
package failover
