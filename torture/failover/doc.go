// Package failover runs three hubs, each a separate process, on one log, with clients that know all
// three. The tests kill and freeze a hub and replace old builds with new ones. The clients continue
// within seconds, acknowledged events are in the log once, and no turn has two final messages.
package failover
