package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
)

// Figures are what a plan is made from.
type Figures struct {
	Load     Load     `json:"load"`
	Measured Measured `json:"measured"`
	Machines Machines `json:"machines"`
	Prices   Prices   `json:"prices"`
}

// Load is what there is to carry.
type Load struct {
	Conversations          int     `json:"conversations"` // at once
	SecondsBetweenEvents   float64 `json:"secondsBetweenEvents"`
	BytesPerEvent          float64 `json:"bytesPerEvent"`
	SocketsPerConversation float64 `json:"socketsPerConversation"` // each of which hears every event
	PeakToMean             float64 `json:"peakToMean"`
	DaysKept               float64 `json:"daysKept"`
}

// Figure is a number and the command that gave it.
type Figure struct {
	Value float64 `json:"value"`
	From  string  `json:"from"`
}

// Measured is what a part carries; each figure says where it is from, or that it is assumed.
type Measured struct {
	EventsPerSecondOfALog      Figure `json:"eventsPerSecondOfALog"`
	AppliedPerSecondOfAHub     Figure `json:"appliedPerSecondOfAHub"`
	CPUMicrosecondsOfAnAppend  Figure `json:"cpuMicrosecondsOfAnAppend"`
	CPUMicrosecondsOfADelivery Figure `json:"cpuMicrosecondsOfADelivery"`
	BytesOfMemoryOfASocket     Figure `json:"bytesOfMemoryOfASocket"`
	BytesOnDiskOfAnEvent       Figure `json:"bytesOnDiskOfAnEvent"`
	EventsPerSecondOfAStream   Figure `json:"eventsPerSecondOfAStream"`
}

// Machines are what one would buy.
type Machines struct {
	ProcessorsOfAHub  float64 `json:"processorsOfAHub"`
	MemoryOfAHubGB    float64 `json:"memoryOfAHubGB"`
	UseAtMost         float64 `json:"useAtMost"` // part of the measured rate to use at the peak
	NATSServersOfALog float64 `json:"natsServersOfALog"`
	HubsToSpare       float64 `json:"hubsToSpare"` // of each log: one may be gone, or be renewed
}

// Prices are for a month, in whatever money.
type Prices struct {
	HubPerMonth        float64 `json:"hubPerMonth"`
	NATSServerPerMonth float64 `json:"natsServerPerMonth"`
	DiskPerGBMonth     float64 `json:"diskPerGBMonth"`
}

// Row is a line of a plan.
type Row struct {
	What    string
	Value   float64
	Unit    string
	Formula string
}

// Plan is a deployment that carries a load. Each log is a stream with its own hubs and NATS
// servers. A conversation belongs to one of them by the hash of its id.
type Plan struct {
	Rows       []Row
	Logs, Hubs int // Hubs are those of one log
	Peak       float64
	LogCarries float64
}

func read(r io.Reader) (*Figures, error) {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	f := new(Figures)
	if err := d.Decode(f); err != nil {
		return nil, err
	}
	return f, f.check()
}

func (f *Figures) check() error {
	for name, v := range map[string]float64{
		"conversations": float64(f.Load.Conversations), "secondsBetweenEvents": f.Load.SecondsBetweenEvents,
		"socketsPerConversation": f.Load.SocketsPerConversation,
		"peakToMean":             f.Load.PeakToMean, "daysKept": f.Load.DaysKept, "bytesPerEvent": f.Load.BytesPerEvent,
		"eventsPerSecondOfALog":      f.Measured.EventsPerSecondOfALog.Value,
		"appliedPerSecondOfAHub":     f.Measured.AppliedPerSecondOfAHub.Value,
		"cpuMicrosecondsOfAnAppend":  f.Measured.CPUMicrosecondsOfAnAppend.Value,
		"cpuMicrosecondsOfADelivery": f.Measured.CPUMicrosecondsOfADelivery.Value,
		"bytesOfMemoryOfASocket":     f.Measured.BytesOfMemoryOfASocket.Value,
		"bytesOnDiskOfAnEvent":       f.Measured.BytesOnDiskOfAnEvent.Value,
		"processorsOfAHub":           f.Machines.ProcessorsOfAHub, "memoryOfAHubGB": f.Machines.MemoryOfAHubGB,
		"useAtMost":                f.Machines.UseAtMost,
		"eventsPerSecondOfAStream": f.Measured.EventsPerSecondOfAStream.Value,
		"natsServersOfALog":        f.Machines.NATSServersOfALog,
	} {
		if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			return fmt.Errorf("%s: expected more than 0", name)
		}
	}
	switch {
	case f.Machines.UseAtMost > 1:
		return errors.New("useAtMost: expected at most 1")
	case f.Load.PeakToMean < 1:
		return errors.New("peakToMean: expected at least 1")
	case f.Machines.HubsToSpare < 0:
		return errors.New("hubsToSpare: expected 0 or more")
	}
	return nil
}

// plan makes a plan.
func plan(f *Figures) *Plan {
	p := &Plan{}
	l, m, k := &f.Load, &f.Measured, &f.Machines
	add := func(what string, v float64, unit, formula string) float64 {
		p.Rows = append(p.Rows, Row{what, v, unit, formula})
		return v
	}
	mean := add("events, mean", float64(l.Conversations)/l.SecondsBetweenEvents, "/s",
		"conversations / secondsBetweenEvents")
	p.Peak = add("events, peak", mean*l.PeakToMean, "/s", "mean x peakToMean")
	add("deliveries, peak", p.Peak*l.SocketsPerConversation, "/s", "peak x socketsPerConversation: the fan-out")
	p.LogCarries = add("one log carries", k.UseAtMost*min(m.EventsPerSecondOfALog.Value, m.AppliedPerSecondOfAHub.Value,
		m.EventsPerSecondOfAStream.Value), "events/s",
		"useAtMost x the least of: what a log takes, what a replica applies, what the stream takes. Every hub of a log applies all of it")
	p.Logs = int(add("logs", math.Ceil(p.Peak/p.LogCarries), "",
		"peak / capacity of one log; each is a separate cluster, and a conversation belongs to one"))

	logs := float64(p.Logs)
	append1 := p.Peak / logs * m.CPUMicrosecondsOfAnAppend.Value / 1e6
	fan := p.Peak / logs * l.SocketsPerConversation * m.CPUMicrosecondsOfADelivery.Value / 1e6
	add("processors for a log's appends", append1, "", "peak / logs x cpuMicrosecondsOfAnAppend, spread over its hubs")
	add("processors for its deliveries", fan, "",
		"peak / logs x sockets x cpuMicrosecondsOfADelivery, spread over its hubs")
	apply := add("processors of each hub that apply", p.Peak/logs/m.AppliedPerSecondOfAHub.Value, "",
		"peak / logs / appliedPerSecondOfAHub: the same at every hub")
	sockets := add("sockets of a log", float64(l.Conversations)*l.SocketsPerConversation/logs, "",
		"conversations x socketsPerConversation / logs")
	byCPU := math.Ceil((append1 + fan) / max(k.UseAtMost*k.ProcessorsOfAHub-apply, 0.1))
	byMemory := math.Ceil(sockets * m.BytesOfMemoryOfASocket.Value / (k.UseAtMost * k.MemoryOfAHubGB * 1e9))
	p.Hubs = int(add("hubs of a log", max(byCPU, byMemory)+k.HubsToSpare, "",
		"the more of: by processors, by memory for sockets; and hubsToSpare"))
	hubs := add("hubs", float64(p.Hubs)*logs, "", "hubs of a log x logs")
	servers := add("NATS servers", k.NATSServersOfALog*logs, "", "natsServersOfALog x logs")

	day := add("disk for a day, one copy", mean*86400*m.BytesOnDiskOfAnEvent.Value/1e9, "GB",
		"mean x 86400 x bytesOnDiskOfAnEvent; nothing is deleted from a stream")
	kept := day * l.DaysKept
	disk := add("disk, all copies", kept*(k.NATSServersOfALog+float64(p.Hubs)), "GB",
		"a day x daysKept x (natsServersOfALog + hubs of a log): every server and every replica has all of its log. After daysKept a new stream, and an export of the old")
	add("network of each hub, in", p.Peak/logs*m.BytesOnDiskOfAnEvent.Value*8/1e6, "Mbit/s",
		"peak / logs x bytesOnDiskOfAnEvent: the log itself")
	cost := add("cost", hubs*f.Prices.HubPerMonth+servers*f.Prices.NATSServerPerMonth+disk*f.Prices.DiskPerGBMonth,
		"a month", "hubs, servers and disk by their prices")
	add("cost of 1,000 conversations", cost/float64(l.Conversations)*1000, "a month", "cost / conversations x 1,000")
	return p
}
